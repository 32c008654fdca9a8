"""Names of words, words that are added to a fitted model, and columns in the order of a model."""

import copy
import pickle
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

import sktopic
from sktopic._estimators import _concurrency, _vocabulary
from sktopic.datasets import make_bars, save_corpus
from sktopic.features import align_features, grow_vocabulary
from sktopic.lda import LangevinLDA, OnlineEMLDA
from sktopic.metrics import document_completion

from .conftest import assert_raises, fingerprint, words_of
from .registry import LOOPS, defaults, each, having, is_minibatch, is_unsmoothed, new, variants

X = make_bars(30, random_state=0).data
N_WORDS, N_NEW = X.shape[1], 3
NAMES = [f"word {w}" for w in range(N_WORDS)]


def wider(X, n=N_NEW):
    """X with columns of zeros for new words."""
    return sp.csr_matrix(sp.hstack([X, sp.csr_matrix((X.shape[0], n))]))


def pseudo_counts(model):
    """Parameters of the topics: expected counts and the prior."""
    if hasattr(model, "topic_word_posterior_"):
        return model.topic_word_posterior_
    if isinstance(model, LangevinLDA):
        return words_of(model).store.T
    return model.topic_word_counts_ + model.topic_word_prior_


@each(defaults())
def test_new_words_weigh_the_prior_and_training_goes_on_with_them(estimator, tmp_path):
    model = new(estimator, n_components=3).fit(X)
    before = pseudo_counts(model)
    assert model.add_features(N_NEW) is model
    after = pseudo_counts(model)
    assert_allclose(after[:, :N_WORDS], before, rtol=1e-12)
    assert_allclose(after[:, N_WORDS:], model.topic_word_prior_, rtol=1e-12)
    assert_allclose(model.components_, after / after.sum(axis=1, keepdims=True), rtol=1e-12)
    assert model.n_features_in_ == N_WORDS + N_NEW
    for refused in (model.transform, model.partial_fit):
        assert_raises(ValueError, f"expecting {N_WORDS + N_NEW} features", refused, X, case=refused)
    model.save(tmp_path / "model.zip")
    others = sktopic.load(tmp_path / "model.zip", mmap_mode="r"), pickle.loads(pickle.dumps(model))
    news = sp.csr_matrix(np.hstack([X.toarray(), np.full((30, N_NEW), 4.0)]))
    before = model.components_[:, N_WORDS:].max()
    state = fingerprint(vars(model.partial_fit(news)))
    assert model.components_[:, N_WORDS:].max() > before
    for other in others:
        assert fingerprint(vars(other.partial_fit(news))) == state


@each(variants(is_unsmoothed))
def test_same_as_a_wide_matrix_from_the_start(estimator):
    """Bit for bit without a prior of words, under which training depends on the number of words.

    Random initial topics would differ: both start from those of a batch without words.
    """
    nothing = sp.csr_matrix((1, N_WORDS))
    # A new topic has the words of all columns.
    settings = {"topic_word_prior": 0.0, "batch_size": 7, **having(estimator, max_births=0)}
    early = new(estimator, **settings).partial_fit(nothing)
    late = copy.deepcopy(early).partial_fit(X)
    early.add_features(N_NEW).partial_fit(wider(X))
    late.add_features(N_NEW)
    assert fingerprint(vars(late)) == fingerprint(vars(early))
    assert_array_equal(late.components_[:, N_WORDS:], 0.0)


def test_names_are_needed_where_there_were_names_and_else_a_number():
    frame = pd.DataFrame(X.toarray(), columns=NAMES)
    unnamed = OnlineEMLDA(n_components=3, random_state=0)
    for call in (lambda: unnamed.add_features(1), lambda: unnamed.set_feature_names(NAMES)):
        with pytest.raises(NotFittedError):
            call()
    named, unnamed = clone(unnamed).fit(frame), unnamed.fit(X)
    too_many = "must be at most 2147483622 new words, but there are"
    no_list = "names is invalid: must be a list with one string for each feature"
    for change, given, error, message in [
        (named.add_features, ["new", "word 3", "word 5"], ValueError, "these features: 'word 3', 'word 5'"),
        (named.add_features, ["new", "newer", "new"], ValueError, "epeated: 'new'"),
        (named.add_features, [], ValueError, "at least one new word"),
        (named.add_features, ["new", 3], TypeError, "3 are not"),
        *(
            (named.add_features, other, TypeError, "must be a list of the names of the new words")
            for other in (2, None, {"new", "newer"}, np.array("new"), "new")
        ),
        (unnamed.add_features, -1, ValueError, "must be at least 1"),
        (unnamed.add_features, 0, ValueError, "must be at least 1"),
        (unnamed.add_features, True, TypeError, "must be the number of new words"),
        (unnamed.add_features, ["a"], TypeError, "must be the number of new words"),
        (unnamed.add_features, 10**12, ValueError, f"{too_many} {10**12}"),
        (unnamed.add_features, 2**31 - N_WORDS, ValueError, f"{too_many} {2**31 - N_WORDS}"),
        (named.set_feature_names, NAMES[:-1], ValueError, "names has 24 names, but there are 25 features"),
        (named.set_feature_names, [*NAMES[:-1], "word 3"], ValueError, "distinct names. Repeated: 'word 3'"),
        *(
            (named.set_feature_names, names, ValueError, no_list)
            for names in ([*NAMES[:-1], 3], [NAMES], "words", {*NAMES}, dict.fromkeys(NAMES), None)
        ),
    ]:
        before = fingerprint([vars(named), vars(unnamed)])
        assert_raises(error, message, change, given)
        assert fingerprint([vars(named), vars(unnamed)]) == before, message
    named.set_feature_names(pd.Series(NAMES[::-1], index=range(25, 0, -1)))
    assert named.feature_names_in_.tolist() == NAMES[::-1]
    named.set_feature_names(NAMES)
    named.add_features(np.array(["new", "newer"]))
    assert named.feature_names_in_.tolist() == [*NAMES, "new", "newer"]
    named.partial_fit(frame.assign(new=1, newer=0))
    with pytest.raises(ValueError, match="feature names"):
        named.transform(frame.assign(newer=0, new=1))


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

    class DataFrame:
        """As that of polars."""

        def to_pandas(self):
            return frame

    with pytest.raises(TypeError, match=r"X is a DataFrame; .* names\. Call X\.to_pandas\(\)\."):
        align_features(DataFrame(), model)
    with pytest.raises(ValueError, match="has no feature names"):
        align_features(frame, OnlineEMLDA(n_components=3, random_state=0).fit(X))


# Names of words


def no_warnings():
    return warnings.catch_warnings(action="error")


@each(LOOPS)
def test_names_of_a_corpus_are_those_of_the_model(estimator, tmp_path):
    corpus = save_corpus(tmp_path / "named", X, feature_names=NAMES)
    other = save_corpus(tmp_path / "other", X, feature_names=NAMES[::-1])
    plain = save_corpus(tmp_path / "plain", X)
    in_order = {"shuffle": False} if is_minibatch(estimator) else {}
    model = new(estimator, **in_order).fit(corpus)
    assert model.feature_names_in_.tolist() == NAMES
    assert_array_equal(model.components_, clone(model).fit(X).components_)
    assert clone(model).partial_fit(corpus).feature_names_in_.tolist() == NAMES
    with no_warnings():  # of X that cannot have names
        for known in (corpus, plain, X):
            assert_array_equal(model.transform(known), model.transform(X))
            model.partial_fit(known)
    before = fingerprint(vars(model))
    for function in (model.transform, model.score, model.partial_fit, partial(document_completion, model)):
        with pytest.raises(ValueError, match="X has 'word 24' in column 0, but the topics have 'word 0'"):
            function(other)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(pd.DataFrame(X.toarray(), columns=NAMES[::-1]))
    assert fingerprint(vars(model)) == before
    assert model.fit(other).feature_names_in_.tolist() == NAMES[::-1]
    assert not hasattr(model.fit(plain), "feature_names_in_")


def test_words_are_named_until_the_next_fit():
    model = OnlineEMLDA(n_components=3, random_state=0)
    unnamed = fingerprint(vars(model.fit(X)))
    assert model.set_feature_names(np.array(NAMES)) is model
    assert model.feature_names_in_.dtype == object and model.feature_names_in_.tolist() == NAMES
    with no_warnings():  # of sparse matrices, which cannot have names
        for known in (X, X.tocsc()):
            model.transform(known)
    model.set_feature_names(NAMES[::-1]).add_features(["new"])
    assert model.feature_names_in_.tolist() == [*NAMES[::-1], "new"]
    assert not hasattr(clone(model), "feature_names_in_")
    assert fingerprint(vars(model.fit(X))) == unnamed


# Vocabularies that grow

TEXTS = ["the moon is near", "the moon is far", "near and far"] * 5
MORE = ["the comet is near", "the comet and the moon", "a comet", "Dust"]


def pipeline_of(vectorizer=None, texts=TEXTS):
    vectorizer = vectorizer or CountVectorizer(stop_words=["the", "is", "and"])
    return make_pipeline(vectorizer, OnlineEMLDA(n_components=2, random_state=0)).fit(texts)


def states_of(pipeline):
    return [fingerprint(vars(step)) for step in pipeline]


def test_vectorizer_and_model_grow_together():
    pipeline = pipeline_of()
    vectorizer, model = pipeline
    by_hand = copy.deepcopy(model).add_features(2)
    counts = vectorizer.transform(TEXTS).toarray()
    assert grow_vocabulary(pipeline, (text for text in MORE)).tolist() == ["comet", "dust"]
    words = ["far", "moon", "near", "comet", "dust"]
    assert vectorizer.get_feature_names_out().tolist() == model.feature_names_in_.tolist() == words
    assert_array_equal(vectorizer.transform(TEXTS).toarray()[:, :3], counts)
    assert vectorizer.transform(MORE).toarray()[:, 3:].tolist() == [[1, 0], [1, 0], [1, 0], [0, 1]]
    assert fingerprint(vars(model)) == fingerprint(vars(by_hand.set_feature_names(words)))
    with no_warnings():
        model.partial_fit(vectorizer.transform(MORE))
        pipeline.transform(MORE)
    before = states_of(pipeline)
    assert grow_vocabulary(pipeline, [*MORE, ""]).shape == (0,)  # nothing is new
    assert states_of(pipeline) == before
    assert pipeline.fit(TEXTS)[0].get_feature_names_out().tolist() == words[:3]


def test_new_words_are_those_that_the_vectorizer_would_learn():
    for vectorizer, min_df, expected in [
        (CountVectorizer(), 2, ["comet"]),
        (CountVectorizer(), 0.5, ["comet"]),
        (CountVectorizer(min_df=2), None, ["comet"]),
        (CountVectorizer(min_df=2), 1, ["comet", "dust"]),
        (CountVectorizer(), 5, []),  # of four texts
        (CountVectorizer(max_df=0.7), None, ["dust"]),  # "comet" is in three of four texts
        (CountVectorizer(binary=True, dtype=np.float32), None, ["comet", "dust"]),
        (CountVectorizer(analyzer=str.split), None, ["Dust", "a", "comet"]),
        (CountVectorizer(vocabulary=["near", "moon"]), 3, ["comet"]),
    ]:
        pipeline = pipeline_of(clone(vectorizer))
        known = pipeline[0].get_feature_names_out().tolist()
        assert grow_vocabulary(pipeline, MORE, min_df=min_df).tolist() == expected, vectorizer
        assert pipeline[0].get_feature_names_out().tolist() == known + expected
        assert pipeline[-1].n_features_in_ == len(known) + len(expected)
        assert pipeline[0].get_params() == vectorizer.get_params()


def test_what_cannot_grow_is_refused_and_stays():
    """Among texts that are none, steps of other pipelines, and models that cannot be trained."""
    vectorizer, model = pipeline = pipeline_of()
    wider, tfidf = CountVectorizer().fit(TEXTS), TfidfVectorizer().fit(TEXTS)
    other = copy.deepcopy(model).set_feature_names(["moon", "far", "near"])
    weights = TfidfTransformer().fit(vectorizer.transform(TEXTS))
    limited, rare = (
        pipeline_of(CountVectorizer(**given)) for given in ({"max_features": 2}, {"max_df": 0.6})
    )
    strange = pipeline_of(CountVectorizer(analyzer=list), [["a"]] * 9)
    late = make_pipeline(vectorizer, copy.deepcopy(model).set_params(n_jobs="all"))  # when it is found out
    for grown, texts, error, message in [
        (pipeline, "the comet", TypeError, "texts is a str; an iterable of texts is allowed"),
        (pipeline, pd.DataFrame({"moon": MORE}), TypeError, "texts is a DataFrame; an iterable"),
        (pipeline, [], ValueError, "texts is invalid: must have at least one text"),
        (pipeline, [*MORE, np.nan], ValueError, "texts has nan at number 4, .* np.nan is an invalid"),
        (pipeline, ["moon", None], ValueError, "texts has None at number 1, which is invalid: must"),
        (limited, MORE, ValueError, "max_features=2 of the vectorizer"),
        (rare, ["comet"], ValueError, "max_df=0.6 of the vectorizer is .* in at most 0 of the 1 texts"),
        (strange, [["a", 3]], TypeError, "returns 3"),
        (late, MORE, ValueError, "n_jobs"),
        *(
            (make_pipeline(*steps), MORE, error, message)
            for steps, error, message in [
                ([vectorizer, weights, model], TypeError, "and TfidfTransformer and OnlineEMLDA is invalid"),
                ([tfidf, model], TypeError, "pipeline=TfidfVectorizer and OnlineEMLDA is .*: must be a Pip"),
                ([vectorizer, LatentDirichletAllocation()], TypeError, "CountVectorizer and a topic model"),
                ([wider, model], ValueError, "the CountVectorizer has 6 and the OnlineEMLDA 3"),
                ([vectorizer, other], ValueError, "has 'far' in column 0, but the topics have 'moon'"),
                ([vectorizer, clone(model)], NotFittedError, "not fitted yet"),
            ]
        ),
    ]:
        before = states_of(grown)
        assert_raises(error, message, grow_vocabulary, grown, texts)
        assert states_of(grown) == before, message
    with pytest.raises(TypeError, match=r"pipeline=CountVectorizer is invalid: .* make_pipeline"):
        grow_vocabulary(vectorizer, MORE)
    with pytest.raises(NotFittedError, match="Vocabulary not fitted"):
        grow_vocabulary(make_pipeline(CountVectorizer(), model), MORE)
    for min_df in (0, 1.5, -1, np.nan, "all", True):
        assert_raises(ValueError, "min_df", grow_vocabulary, pipeline, MORE, min_df=min_df, case=min_df)
    before = states_of(pipeline)
    with _concurrency._guard_of(model).training, pytest.raises(RuntimeError, match="is being trained"):
        grow_vocabulary(pipeline, MORE)
    assert states_of(pipeline) == before


def test_ctrl_c_waits_until_both_have_grown(monkeypatch):
    def interrupted(*arguments):
        _concurrency.take_over(*arguments)
        signal.raise_signal(signal.SIGINT)

    vectorizer, model = pipeline = pipeline_of()
    monkeypatch.setattr(_vocabulary, "take_over", interrupted)
    with pytest.raises(KeyboardInterrupt):
        grow_vocabulary(pipeline, MORE)
    assert vectorizer.get_feature_names_out()[3:].tolist() == ["comet", "dust"]
    assert model.transform(vectorizer.transform(MORE)).shape == (4, 2)


def test_words_that_change_while_texts_are_read():
    """Otherwise two words would get the same column, or names would be lost."""

    def texts(pipeline, change, in_thread):
        yield "beta"
        if in_thread:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(change, pipeline).result()
        else:
            change(pipeline)
        states.append(states_of(pipeline))

    for change in [
        lambda pipeline: grow_vocabulary(pipeline, ["alpha"]),
        lambda pipeline: pipeline[-1].add_features(1),
        lambda pipeline: pipeline[-1].set_feature_names(["a", "b", "c"]),
        lambda pipeline: pipeline[0].fit(["near and far, the moon and the sun"]),
    ]:
        for in_thread in (False, True):
            pipeline, states = pipeline_of(), []
            with pytest.raises(RuntimeError, match="words of the pipeline changed while texts was read, so"):
                grow_vocabulary(pipeline, texts(pipeline, change, in_thread))
            assert [states_of(pipeline)] == states
