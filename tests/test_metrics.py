"""The measures of held-out likelihood: exact values, and what they do not depend on."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic._inference._completion import HIDING_KEY, hide
from sktopic._kernels._groups import Particles
from sktopic._kernels.random._rng import combine_keys, content_keys
from sktopic.datasets import make_lda_documents
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import coherence, document_completion, left_to_right, perplexity, relative_score
from sktopic.metrics._held_out import PARTICLE_KEY
from tests.reference import left_to_right as reference
from tests.reference.enumeration import Enumeration

from .conftest import assert_raises

METRICS = [document_completion, left_to_right, perplexity, relative_score]

CORPUS = make_lda_documents(120, n_features=40, n_components=4, mean_length=25, random_state=0)
X = make_lda_documents(20, components=CORPUS.components, mean_length=25, random_state=1).data
TRUTH = {"doc_topic_prior": CORPUS.doc_topic_prior}
# A prior that tells the topics apart
PRIOR = np.array([0.4, 0.3, 0.2, 0.1])


@pytest.fixture(scope="module")
def model():
    return OnlineEMLDA(4, doc_topic_prior=0.1, max_iter=5, batch_size=20, random_state=0).fit(CORPUS.data)


# What is accepted


@pytest.mark.parametrize("metric", METRICS)
def test_a_model_is_its_topics_and_its_prior(metric, model):
    arrays = metric(model.components_, X, doc_topic_prior=model.doc_topic_prior_)
    assert metric(model, X) == pytest.approx(arrays, rel=1e-6)
    given = metric(model, X, doc_topic_prior=PRIOR)
    assert given == pytest.approx(metric(model.components_, X, doc_topic_prior=PRIOR), rel=1e-6)
    assert given != metric(model, X)
    assert metric(model, X, doc_topic_prior=0.3) == metric(model, X, doc_topic_prior=np.full(4, 0.3))
    # That of scikit-learn has pseudo-counts, and a number as its prior.
    theirs = LatentDirichletAllocation(4, max_iter=1, random_state=0).fit(CORPUS.data[:20])
    components = theirs.components_ / theirs.components_.sum(axis=1, keepdims=True)
    expected = metric(components, X, doc_topic_prior=theirs.doc_topic_prior_)
    assert metric(theirs, X) == pytest.approx(expected, rel=1e-12)
    # Pipelines are scored on what their last step sees.
    texts = ["one two two three", "three four five", "one five five two", "four four one"] * 3
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(2, max_iter=1, random_state=0)).fit(texts)
    assert metric(pipe, texts) == metric(pipe[-1], pipe[0].transform(texts))


@pytest.mark.parametrize("metric", [document_completion, left_to_right, relative_score])
def test_the_form_and_the_order_of_what_is_given_do_not_matter(metric):
    components, counts, prior = CORPUS.components * 7.0, X.toarray() * 1.0, PRIOR.copy()
    value = metric(CORPUS.components, X, doc_topic_prior=PRIOR)
    assert type(value) is float
    scaled = components * [[0.5], [3.0], [100.0], [1e-3]]
    assert metric(scaled, counts, doc_topic_prior=prior) == pytest.approx(value, rel=1e-6)
    for array, before in ((components, CORPUS.components * 7.0), (counts, X.toarray()), (prior, PRIOR)):
        assert_array_equal(array, before)
    assert metric(CORPUS.components.tolist(), counts.tolist(), doc_topic_prior=PRIOR.tolist()) == value
    given, order = {"doc_topic_prior": PRIOR}, np.random.RandomState(0).permutation(20)
    for n_jobs, form in (
        *((1, X[order]), (2, sp.coo_array(X)), (3, sp.csc_matrix(X))),
        *((2, X.toarray()), (3, X.astype(np.float32))),
    ):
        assert metric(CORPUS.components, form, n_jobs=n_jobs, **given) == value
    padded, options = sp.vstack([X, sp.csr_matrix((5, 40))]), given
    if metric is relative_score:  # for which they count
        value, options = metric(CORPUS.components, X, per="word", **given), {**given, "per": "word"}
    assert metric(CORPUS.components, padded, **options) == value
    # Documents are read in groups: the mean of 1100 of them is that of the eleven that they repeat.
    few = metric(CORPUS.components, X[:11], **given)
    assert metric(CORPUS.components, sp.vstack([X[:11]] * 100), **given) == pytest.approx(few, rel=1e-12)


def test_likelihood_of_a_document_does_not_depend_on_the_others():
    each = left_to_right(CORPUS.components, X, per_document=True, **TRUTH)
    assert each.shape == (20,)
    alone = [left_to_right(CORPUS.components, X[[i]], per_document=True, **TRUTH)[0] for i in range(20)]
    assert_array_equal(each, alone)
    assert left_to_right(CORPUS.components, X, **TRUTH) == pytest.approx(each.sum() / X.sum(), rel=1e-12)


# Values


def hidden_words(documents, hidden_fraction, repeat=0):
    key = HIDING_KEY if repeat == 0 else combine_keys(HIDING_KEY, repeat)
    return hide(documents, hidden_fraction, key)[1].toarray()


def test_completion_is_the_mean_over_choices_of_hidden_words():
    """Exact for one topic, for which nothing is left to infer, and so for topics that are all the same."""
    unigram, choices = CORPUS.components[:1], [hidden_words(X, 0.4, repeat) for repeat in range(3)]
    of_each = [(hidden @ np.log(unigram[0])).sum() / hidden.sum() for hidden in choices]
    options = {"doc_topic_prior": 0.5, "hidden_fraction": 0.4}
    assert document_completion(unigram, X, **options) == pytest.approx(of_each[0], rel=1e-6)
    options["n_repeats"] = 3
    assert document_completion(unigram, X, **options) == pytest.approx(np.mean(of_each), rel=1e-6)
    assert perplexity(unigram, X, **options) == pytest.approx(np.exp(-np.mean(of_each)), rel=1e-6)
    same = np.tile(unigram, (4, 1))
    assert document_completion(same, X, **options) == pytest.approx(np.mean(of_each), rel=1e-5)
    # The score of a model hides the same words.
    alone = OnlineEMLDA(1, max_iter=1, random_state=0).fit(X)
    assert alone.score(X) == pytest.approx(document_completion(alone, X), rel=1e-6)
    expected = (X @ np.log(unigram[0])).sum() / X.sum()
    assert left_to_right(unigram, X, doc_topic_prior=0.5) == pytest.approx(expected, rel=1e-6)
    assert left_to_right(same, X, doc_topic_prior=0.5) == pytest.approx(expected, rel=1e-6)


def test_completion_with_many_topics_bounds_memory(monkeypatch):
    """If topics are all the same, tokens change topics in every sweep, and a document has sums of nearly all.

    Only NumPy's arrays are seen: the kernel's own buffers are as large.
    """
    topics, documents, found = np.ones((2000, 200)), np.ones((40, 200)), []
    for most in (1 << 30, 1 << 20):
        monkeypatch.setattr("sktopic._inference._prediction.MOST_SUMS", most)
        tracemalloc.start()
        score = document_completion(topics, documents, doc_topic_prior=1.0, burn_in=0, sweeps=20)
        found.append((score, tracemalloc.get_traced_memory()[1]))
        tracemalloc.stop()
    (together, much), (apart, little) = found
    assert apart == together == pytest.approx(-np.log(200), rel=1e-6)
    assert little < much / 3 and little < 3 * topics.nbytes + 4e6


def test_a_single_word_has_its_prior_probability():
    """It is hidden as a whole, and predicted from the prior mean."""
    single = np.eye(40)[[0, 3, 9]]
    expected = np.log(PRIOR @ CORPUS.components)[[0, 3, 9]].mean()
    for metric in (document_completion, left_to_right):
        assert metric(CORPUS.components, single, doc_topic_prior=PRIOR) == pytest.approx(expected, rel=1e-6)


TOPICS = np.random.RandomState(0).dirichlet(np.full(6, 0.5), size=3)
TOPIC_PRIOR = np.array([0.2, 0.5, 0.8])
COUNTS = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 2, 1, 0, 0], [1, 1, 1, 1, 1, 0], [2, 1, 0, 0, 0, 3]])


def test_completion_is_that_of_the_posterior_mean_of_proportions():
    """Up to the error of 40,000 sweeps, some 0.003 nats."""
    expected = 0.0
    hidden = hidden_words(sp.csr_array(COUNTS), 0.5)
    for words, taken in zip(COUNTS, hidden):
        observed = np.repeat(np.arange(6), (words - taken).astype(int))
        theta = Enumeration(observed, TOPICS.T, TOPIC_PRIOR).mean_theta()
        expected += taken @ np.log(theta @ TOPICS)
    options = {"hidden_fraction": 0.5, "sweeps": 40_000, "doc_topic_prior": TOPIC_PRIOR}
    value = document_completion(TOPICS, COUNTS, **options)
    assert value == pytest.approx(expected / hidden.sum(), abs=0.01)


@pytest.mark.parametrize("estimator", ["wallach", "unbiased"])
def test_left_to_right_is_that_of_the_reference(estimator):
    documents, settings = sp.csr_array(COUNTS), {"n_particles": 4, "n_resampling": 3, "random_state": 7}
    rows = documents.indptr.astype(np.int64), documents.indices.astype(np.int32), documents.data.astype(float)
    keys = content_keys(combine_keys(PARTICLE_KEY, 7), *rows)
    unbiased = estimator == "unbiased"
    particles = Particles(4, 50, 0 if unbiased else 3, unbiased)
    given = TOPICS.T, TOPIC_PRIOR, keys, np.zeros(len(COUNTS), dtype=np.int64), particles
    settings |= {"per_document": True, "return_standard_error": True}
    found = left_to_right(TOPICS, COUNTS, doc_topic_prior=TOPIC_PRIOR, estimator=estimator, **settings)
    assert_allclose(found, reference.left_to_right(*rows, *given), rtol=1e-4, atol=1e-6)


def test_hidden_words_have_their_joint_probability():
    """By enumeration of the topics of all words, up to the error of 4000 particles."""
    documents = sp.csr_array(COUNTS)
    joint, marginal = np.zeros(len(COUNTS)), np.zeros(len(COUNTS))
    hidden = hidden_words(documents, 0.5)
    for d, (words, taken) in enumerate(zip(COUNTS, hidden.astype(int))):
        given = Enumeration(np.repeat(np.arange(6), words - taken), TOPICS.T, TOPIC_PRIOR)
        whole = Enumeration(np.repeat(np.arange(6), words), TOPICS.T, TOPIC_PRIOR)
        joint[d] = np.log(whole.evidence / given.evidence)
        marginal[d] = taken @ np.log(given.mean_theta() @ TOPICS)
    assert np.abs(joint - marginal).max() > 0.1
    options = {"doc_topic_prior": TOPIC_PRIOR, "hidden_fraction": 0.5, "n_particles": 4000}
    options |= {"per_document": True, "return_standard_error": True}
    for given in ({"estimator": "unbiased"}, {"n_resampling": 10}):
        value, error = left_to_right(TOPICS, COUNTS, **options, **given)
        assert_allclose(value, joint, atol=0.02)
        assert np.all(error < 0.01) and np.all(np.abs(value - joint) < 4 * error + 0.005)
        options["per_document"] = False
        score, of_score = left_to_right(TOPICS, COUNTS, **options, **given)
        assert score == pytest.approx(value.sum() / hidden.sum(), rel=1e-12)
        assert of_score == pytest.approx(np.sqrt(np.sum(error**2)) / hidden.sum(), rel=1e-12)
        options["per_document"] = True
    # One hidden word has its marginal probability.
    single = documents[[0]]
    options = {"doc_topic_prior": TOPIC_PRIOR, "hidden_fraction": 0.5, "n_particles": 9000}
    for burn_in in (50, 100):
        value = left_to_right(TOPICS, single, burn_in=burn_in, **options)
        assert value == pytest.approx(marginal[0], abs=0.01)


def test_standard_errors_do_not_change_scores_and_are_undefined_for_what_has_none():
    score, error = left_to_right(CORPUS.components, X, return_standard_error=True, **TRUTH)
    assert score == left_to_right(CORPUS.components, X, **TRUTH)
    assert 0 < error < 0.05
    components = CORPUS.components.copy()
    components[:, 7] = 0
    given = {"per_document": True, "return_standard_error": True, "doc_topic_prior": 0.1}
    scores, errors = left_to_right(components, np.eye(40)[[7, 8]] * 3, **given)
    assert scores[0] == -np.inf and np.isnan(errors[0]) and errors[1] >= 0
    message = "n_particles=1 is invalid: must be at least 2 for standard errors"
    assert_raises(ValueError, message, left_to_right, components, X, n_particles=1, **given)


def test_left_to_right_takes_any_random_state():
    def value(random_state):
        return left_to_right(CORPUS.components, X[:9], random_state=random_state, **TRUTH)

    assert value(3) == value(np.int64(3)) != value(4)
    assert value(np.random.RandomState(3)) == value(np.random.RandomState(3))
    generator = np.random.RandomState(3)
    assert value(generator) != value(generator)
    assert value(None) != value(None)


def unigram_log_likelihood(documents, hidden_fraction, repeat=0):
    """The sum over the hidden words of each document, written out, and their number."""
    hidden = hidden_words(documents, hidden_fraction, repeat)
    share = documents.sum(axis=0) / documents.sum()
    terms = [sum(n * np.log(share[word]) for word, n in enumerate(row) if n > 0) for row in hidden]
    return np.array(terms), hidden.sum(axis=1)


def test_relative_score_is_completion_less_that_of_the_unigram_model(model):
    counts, options = sp.csr_array(0.7 * X), {"hidden_fraction": 0.4, "burn_in": 5, "sweeps": 10}
    found = [unigram_log_likelihood(counts, 0.4, repeat) for repeat in range(2)]
    gains = [unigram.sum() / n_words.sum() for unigram, n_words in found]
    for n_repeats in (1, 2):
        given = {**options, "n_repeats": n_repeats}
        gain = document_completion(model, counts, **given) - np.mean(gains[:n_repeats])
        assert relative_score(model, counts, per="word", **given) == pytest.approx(gain, rel=1e-12)
    unigram, n_words = found[0]
    of_each = [  # the unigram model is that of all documents
        document_completion(model, counts[[row]], **options) - unigram[row] / n_words[row]
        for row in range(counts.shape[0])
    ]
    per_document = np.mean(of_each * counts.sum(axis=1))
    assert relative_score(model, counts, **options) == pytest.approx(per_document, rel=1e-10)
    # Documents without words are documents, too.
    padded = sp.vstack([counts, sp.csr_array(counts.shape)])
    assert relative_score(model, padded, **options) == pytest.approx(per_document / 2, rel=1e-12)


# Limits


def test_impossible_words_give_minus_infinity_without_warnings():
    components = CORPUS.components.copy()
    components[:, 7] = 0
    impossible = np.zeros((3, 40))
    impossible[:, 7] = 10
    impossible[:, 3] = 1
    kept = X.toarray()
    kept[:, 7] = 0
    given = {"doc_topic_prior": 0.1}
    assert perplexity(components, impossible, **given) == np.inf
    for metric in (document_completion, left_to_right):
        assert metric(components, impossible, **given) == -np.inf
        assert metric(components, sp.vstack([X, sp.csr_matrix(impossible)]), **given) == -np.inf
        # Words that no topic has and no document either do no harm.
        assert np.isfinite(metric(components, kept, **given))
    mixed = np.vstack([kept[:1], impossible[:1], kept[1:2]])
    each = left_to_right(components, mixed, per_document=True, **given)
    assert_array_equal(each == -np.inf, [False, True, False])
    assert np.isfinite(each[[0, 2]]).all()


def test_huge_counts_are_cheap_and_numbers_that_kernels_cannot_hold_are_refused(model):
    huge = X.toarray().astype(float)
    huge[0, 0] = 1e9
    for metric in METRICS:
        assert np.isfinite(metric(CORPUS.components, huge, **TRUTH))
    for metric, names in (
        (document_completion, ("burn_in", "sweeps")),
        (left_to_right, ("n_resampling", "n_particles")),
    ):
        for name in names:
            assert_raises(ValueError, f"'{name}' .* range .* Got {2**31}", metric, model, X, **{name: 2**31})


def test_tables_are_arrays_of_topics_and_what_is_neither_is_refused():
    components, documents = np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([[3, 1], [0, 4]])
    table = pd.DataFrame(components, columns=["fit", "transform"])
    given = {"doc_topic_prior": 0.5}
    value = document_completion(components, documents, **given)
    assert document_completion(table, documents, **given) == value
    assert_raises(TypeError, "n_components, n_features", document_completion, object(), documents)


def test_columns_of_a_data_frame_in_another_order_are_refused():
    frame = pd.DataFrame(np.eye(25), columns=[f"w{i}" for i in range(25)])
    model = OnlineEMLDA(4, max_iter=1, random_state=0).fit(frame)
    for metric in (document_completion, left_to_right, coherence):
        assert np.isfinite(metric(model, frame))
        message = "X has 'w24' in column 0, but the topics have 'w0'"
        assert_raises(ValueError, message, metric, model, frame.iloc[:, ::-1])
