"""Words that are added to a fitted model, and columns of DataFrames in the order of a model."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer

import sktopic
from sktopic._estimators import _concurrency
from sktopic.datasets import make_bars
from sktopic.features import align_features
from sktopic.hdp import HybridHDP, OnlineEMHDP
from sktopic.lda import (
    LangevinLDA,
    OnlineCVB0LDA,
    OnlineEMLDA,
    OnlineOPELDA,
    SinglePassLDA,
    StreamingGibbsLDA,
)
from sktopic.moment_matching import DegenerateDirichletLDA

from .conftest import fingerprint, quick, words_of

# What pandas 2.0 makes of columns of several types is deprecated in NumPy 1.25.
pytestmark = pytest.mark.filterwarnings("ignore:np.find_common_type:DeprecationWarning")

X = make_bars(30, random_state=0).data
N_WORDS, N_NEW = X.shape[1], 3
NAMES = [f"word {w}" for w in range(N_WORDS)]
ESTIMATORS = [
    getattr(sktopic, name)(n_components=3, random_state=0)
    for name in sktopic.__all__
    if hasattr(getattr(sktopic, name), "partial_fit")
]


def wider(X, n=N_NEW):
    """X with columns of zeros for new words."""
    return sp.csr_matrix(sp.hstack([X, sp.csr_matrix((X.shape[0], n))]))


@pytest.fixture(scope="module", params=ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def fitted(request):
    return quick(request.param).fit(X)


@pytest.fixture
def model(fitted):
    return copy.deepcopy(fitted)


def pseudo_counts(model):
    """Parameters of the topics: expected counts and the prior."""
    if hasattr(model, "topic_word_posterior_"):
        return model.topic_word_posterior_
    if isinstance(model, LangevinLDA):
        return words_of(model).store.T
    return model.topic_word_counts_ + model.topic_word_prior_


def test_new_words_weigh_the_prior_and_nothing_else_changes(model):
    before = pseudo_counts(model)
    assert model.add_features(N_NEW) is model
    after = pseudo_counts(model)
    assert_allclose(after[:, :N_WORDS], before, rtol=1e-12)
    assert_allclose(after[:, N_WORDS:], model.topic_word_prior_, rtol=1e-12)
    assert_allclose(model.components_, after / after.sum(axis=1, keepdims=True), rtol=1e-12)
    assert model.n_features_in_ == N_WORDS + N_NEW


def test_model_goes_on_with_the_wider_matrix(model, tmp_path):
    model.add_features(N_NEW)
    for refused in (model.transform, model.partial_fit):
        with pytest.raises(ValueError, match=f"expecting {N_WORDS + N_NEW} features"):
            refused(X)
    model.save(tmp_path / "model.zip")
    others = sktopic.load(tmp_path / "model.zip", mmap_mode="r"), pickle.loads(pickle.dumps(model))
    news = wider(X).tolil()
    news[:, N_WORDS:] = 4
    news = news.tocsr()
    before = model.components_[:, N_WORDS:].max()
    state = fingerprint(vars(model.partial_fit(news)))
    assert model.components_[:, N_WORDS:].max() > before
    for other in others:
        assert fingerprint(vars(other.partial_fit(news))) == state
    assert_allclose(model.transform(news).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "estimator",
    [
        OnlineEMLDA(topic_word_prior=0, batch_size=7),
        OnlineEMLDA(topic_word_prior=0, average=True, doc_topic_prior="auto"),
        OnlineEMLDA(topic_word_prior=0, inference="variational", boost=True),
        SinglePassLDA(topic_word_prior=0),
        StreamingGibbsLDA(topic_word_prior=0),
        OnlineOPELDA(topic_word_prior=0),
        OnlineCVB0LDA(topic_word_prior=0),
        HybridHDP(topic_word_prior=0),
        OnlineEMHDP(topic_word_prior=0, max_births=0),  # a new topic has the words of all columns
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_same_as_a_wide_matrix_from_the_start(estimator):
    """Bit for bit without a prior of words, under which training depends on the number of words.

    Random initial topics would differ: both start from those of a batch without words.
    """
    nothing = sp.csr_matrix((1, N_WORDS))
    early = clone(estimator).set_params(n_components=3, random_state=0).partial_fit(nothing)
    late = copy.deepcopy(early).partial_fit(X)
    early.add_features(N_NEW).partial_fit(wider(X))
    late.add_features(N_NEW)
    assert fingerprint(vars(late)) == fingerprint(vars(early))
    assert_array_equal(late.components_[:, N_WORDS:], 0.0)


def test_one_topic_by_moment_matching_is_as_with_a_wide_matrix_from_the_start():
    """With one topic the filter is exact, and a word without tokens keeps the prior."""
    model = DegenerateDirichletLDA(n_components=1, topic_word_prior=0.3, random_state=0)
    late = clone(model).fit(X).add_features(N_NEW).partial_fit(wider(X))
    early = clone(model).fit(wider(X)).partial_fit(wider(X))
    assert_allclose(late.topic_word_posterior_, early.topic_word_posterior_, rtol=1e-10)


def test_default_prior_of_moment_matching_is_that_of_the_new_number_of_words():
    model = DegenerateDirichletLDA(n_components=3, random_state=0).fit(X).add_features(N_NEW)
    assert model.topic_word_prior_ == (N_WORDS + N_NEW) ** -0.5
    model.partial_fit(wider(X))


def test_names_are_needed_where_there_were_names():
    frame = pd.DataFrame(X.toarray(), columns=NAMES)
    model = OnlineEMLDA(n_components=3, random_state=0).fit(frame)
    for wrong, error, message in [
        (["new", "word 3", "word 5"], ValueError, "already has these features: 'word 3', 'word 5'"),
        (["new", "newer", "new"], ValueError, "repeated: 'new'"),
        ([], ValueError, "at least one new word"),
        (["new", 3], TypeError, "3 are not"),
        (2, TypeError, "must be a list of the new words"),
        ("new", TypeError, "must be a list"),
    ]:
        state = fingerprint(vars(model))
        with pytest.raises(error, match=message):
            model.add_features(wrong)
        assert fingerprint(vars(model)) == state
    model.add_features(np.array(["new", "newer"]))
    assert model.feature_names_in_.tolist() == [*NAMES, "new", "newer"]
    model.partial_fit(frame.assign(new=1, newer=0))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame.assign(newer=0, new=1))


def test_number_is_needed_where_there_were_no_names():
    model = OnlineEMLDA(n_components=3, random_state=0)
    with pytest.raises(NotFittedError):
        model.add_features(1)
    model.fit(X)
    for wrong, error in [(0, ValueError), (-1, ValueError), (True, TypeError), (["a"], TypeError)]:
        with pytest.raises(error):
            model.add_features(wrong)
    with pytest.raises(MemoryError):
        model.add_features(2**50)
    assert model.n_features_in_ == N_WORDS
    assert model.transform(X).shape == (30, 3)


def test_only_one_call_changes_a_model():
    model = OnlineEMLDA(n_components=3, random_state=0).fit(X)
    with _concurrency._guard_of(model).training, pytest.raises(RuntimeError, match="is being trained"):
        model.add_features(1)
    assert model.add_features(1).n_features_in_ == N_WORDS + 1


def test_frames_are_aligned():
    model = OnlineEMLDA(n_components=3, random_state=0).fit(pd.DataFrame(X.toarray(), columns=NAMES))
    frame = pd.DataFrame(X.toarray(), columns=NAMES)[NAMES[::-1]].drop(columns="word 3")
    aligned = align_features(frame, model)
    assert aligned.columns.tolist() == NAMES
    assert (aligned["word 3"] == 0).all()
    assert_array_equal(aligned["word 7"], frame["word 7"])
    model.transform(aligned)
    strange = frame.assign(moon=1)
    with pytest.raises(ValueError, match="does not know these columns: 'moon'"):
        align_features(strange, model)
    pd.testing.assert_frame_equal(align_features(strange, model, unknown="drop"), aligned)
    with pytest.raises(ValueError, match="column names of X are repeated: 'word 0'"):
        align_features(frame[["word 0", "word 0"]], model)
    with pytest.raises(ValueError, match="'error' or 'drop'"):
        align_features(frame, model, unknown="ignore")
    with pytest.raises(TypeError, match="ndarray"):
        align_features(X.toarray(), model)
    with pytest.raises(ValueError, match="has no feature names"):
        align_features(frame, OnlineEMLDA(n_components=3, random_state=0).fit(X))


def test_stream_of_texts_with_new_words():
    """The recipe of the user guide."""
    words, model = [], OnlineEMLDA(n_components=2, random_state=0)
    for texts in (["the moon is near"] * 3, ["the moon is far"] * 3, ["near and far"] * 3):
        new = sorted(set(CountVectorizer().fit(texts).vocabulary_).difference(words))
        if words and new:
            model.add_features(len(new))
        words += new
        model.partial_fit(CountVectorizer(vocabulary=words).transform(texts))
    assert words == ["is", "moon", "near", "the", "far", "and"]
    assert model.components_.shape == (2, 6)
