"""OnlineEMLDA with topics_per_word: counts of words as lists of topics."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sktopic
from sktopic._runtime._parallel import Workers
from sktopic._topics._topic_rows import left_out_of
from sktopic.datasets import make_bars
from sktopic.distributed import start_model
from sktopic.lda import OnlineEMLDA

from .conftest import assert_raises, fingerprint, set_attribute, words_of
from .registry import call_function, functions_with_data

X = make_bars(60, random_state=0).data
N_WORDS, N_TOPICS = X.shape[1], 6


def make_model(topics_per_word=2, **settings):
    settings = {"batch_size": 20, "max_iter": 2, "random_state": 0, **settings}
    return OnlineEMLDA(N_TOPICS, topics_per_word=topics_per_word, **settings)


@pytest.mark.parametrize("topics_per_word", [1, 2, 6, 9])
@pytest.mark.parametrize("topic_word_prior", [0.0, 0.02])
def test_topics_are_those_of_counts_and_prior(topics_per_word, topic_word_prior):
    model = make_model(topics_per_word, topic_word_prior=topic_word_prior).fit(X)
    words, topics = words_of(model), model._method().topics(model._state)
    assert words.topic.shape == (N_WORDS, min(topics_per_word, N_TOPICS))
    used = np.arange(words.topic.shape[1]) < words.length[:, None]
    lists = np.zeros((N_WORDS, N_TOPICS))
    lists[np.nonzero(used)[0], words.topic[used]] = words.value[used]
    assert_allclose(words.listed, lists.sum(axis=0), rtol=1e-6)
    assert_allclose(words.rest_total, words.rest.sum(), rtol=1e-9)
    s = lists + words.rest[:, None] * lists.sum(axis=0) / lists.sum()
    assert_allclose(words.rows(), s, rtol=1e-6)
    assert_allclose(words.totals, s.sum(axis=0), rtol=1e-6)
    # Statistics are a mean over documents, and no token is lost.
    assert_allclose(model.topic_word_counts_.sum(), X.sum(), rtol=1e-5)
    assert_allclose(model.topic_word_counts_, 60 * words.scale * s.T, rtol=1e-6)
    phi = model.topic_word_counts_ + topic_word_prior
    assert_allclose(model.components_, phi / phi.sum(axis=1, keepdims=True), rtol=1e-6)
    some, prior = np.array([3, 0, 24], dtype=np.int32), model.doc_topic_prior_
    assert_allclose(topics.rows(some), model.components_.T[some], rtol=1e-6)
    with Workers(1) as workers:
        dense, listed = topics.gather_rows(some, prior, workers), topics.gather(some, prior, workers)
    assert_allclose(listed.dense_rows(), dense.rows, rtol=1e-5)
    assert_allclose(listed.log_norm, dense.log_norm, atol=1e-5)
    left_out = left_out_of(topics, np.ones(3), listed.log_norm)
    token = 1.0 / (60 * words.scale * words.totals + N_WORDS * topic_word_prior)
    assert_allclose(left_out.token, token, rtol=1e-6)
    assert np.all(left_out.smoothing >= topic_word_prior * token * (1 - 1e-6))
    assert np.all(left_out.smoothing > 0.0)


def test_lists_of_all_topics_learn_what_arrays_do():
    """Draws are others; the best of four fits finds the same bars."""

    def best(n):
        fits = (OnlineEMLDA(10, topics_per_word=n, max_iter=20, random_state=i) for i in range(4))
        return max(fit.fit(X).score(X) for fit in fits)

    assert best(10) == pytest.approx(best(None), rel=0.02)


def test_training_depends_on_documents_and_their_batches_alone(tmp_path):
    """Bit for bit, but for the order of documents, in which sums are rounded."""
    batches = [X[:20], X[20:40], X[40:]]
    fitted = make_model(shuffle=False, max_iter=1).fit(X)
    model, permuted = make_model(total_samples=60, n_jobs=2), make_model(total_samples=60)
    for i, batch in enumerate(batches):
        model.partial_fit(batch)
        permuted.partial_fit(batch[np.random.default_rng(i).permutation(20)])
    assert fingerprint(words_of(fitted)) == fingerprint(words_of(model))
    assert_array_equal(words_of(permuted).topic, words_of(model).topic)
    assert_allclose(permuted.components_, model.components_, rtol=1e-5)
    model.save(tmp_path / "model.zip")
    for again in (sktopic.load(tmp_path / "model.zip"), sktopic.load(tmp_path / "model.zip", mmap_mode="r")):
        assert_array_equal(again.transform(X), model.transform(X))
        again.partial_fit(batches[0])
        assert fingerprint(vars(again)) == fingerprint(vars(copy.deepcopy(model).partial_fit(batches[0])))


def test_new_words_start_with_empty_lists():
    model = make_model().fit(X)
    before = model.topic_word_counts_
    words = words_of(model.add_features(2))
    assert_array_equal(words.length[N_WORDS:], 0)
    assert_allclose(model.topic_word_counts_, np.hstack([before, np.zeros((N_TOPICS, 2))]))
    model.partial_fit(np.full((3, N_WORDS + 2), 5))
    assert words_of(model).length[N_WORDS:].min() > 0


@pytest.mark.usefixtures("plt")
def test_functions_take_models_with_lists():
    """And answer as for an array of the same topics, if nothing is drawn."""
    model = OnlineEMLDA(4, topics_per_word=2, random_state=0).fit(X[:30])
    before = fingerprint(vars(model))
    for function in functions_with_data():
        name = function.__name__
        if name not in ("align_features", "local_update", "save_corpus"):
            answer = call_function(function, model, X[:30])
            assert not isinstance(answer, float) or np.isfinite(answer), name
        if name in ("coherence", "topic_diversity"):
            assert function(model.components_, X[:30]) == answer, name
    assert fingerprint(vars(model)) == before


def test_what_lists_do_not_support_is_refused(tmp_path):
    model = make_model().fit(X)
    answer = model.transform(X)
    before = fingerprint(vars(model))
    for name, value in [
        ("inference", "variational"),
        ("boost", True),
        ("average", True),
        ("topic_word_prior", np.full((N_TOPICS, N_WORDS), 0.1)),
        ("components_init", np.full((2, N_WORDS), 0.1)),
    ]:
        other = make_model(**{name: value})
        assert_raises(ValueError, f"topics_per_word=2 is invalid.*{name}", other.fit, X, case=name)
    for edit, given in [
        (model.merge_topics, [[0, 1]]),
        (model.drop_topics, [0]),
        (model.freeze_topics, [0]),
        (lambda _: start_model(make_model(), N_WORDS, 60), None),
    ]:
        assert_raises(ValueError, "topics_per_word=2 .*(merge_topics|lanes)", edit, given, case=edit)
    for value in (None, 3):
        model.set_params(topics_per_word=value)
        assert_raises(ValueError, f"topics_per_word={value} differs", model.partial_fit, X, case=value)
        model.save(tmp_path / "model")
        assert_array_equal(sktopic.load(tmp_path / "model").transform(X), answer)
    model.set_params(topics_per_word=2)
    assert fingerprint(vars(model)) == before
    assert hasattr(words_of(model.set_params(topics_per_word=None).fit(X)), "store")


def test_damaged_lists_are_refused():
    for name, at, value in [
        ("length", 3, -1),
        ("length", 3, 3),
        ("topic", (3, 0), N_TOPICS),
        ("topic", (3, 0), -1),
        ("topic", (3, 0), 5),
    ]:
        model = make_model().fit(X)
        array = getattr(words_of(model), name).copy()
        array[at] = value
        set_attribute(model, f"_state.words.{name}", array)
        for call in (model.transform, model.partial_fit):
            assert_raises(ValueError, "lists", call, X, case=(name, value, call))


@pytest.mark.parametrize("topic_word_prior", [0.0, 1e-9])
def test_topics_that_die_leave_no_negative_or_infinite_number(topic_word_prior):
    """They fall out of all lists while the scale is folded in several times."""
    settings = {"topic_word_prior": topic_word_prior, "learning_decay": 0.1, "batch_size": 2, "max_iter": 40}
    model = OnlineEMLDA(200, topics_per_word=2, random_state=0, **settings).fit(X)
    assert np.isfinite(model.components_).all() and (model.topic_word_counts_ >= 0.0).all()
    assert np.isfinite(model.transform(X)).all()
