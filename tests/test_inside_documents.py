"""Topics of the words of documents, and draws of their proportions."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import psi

from sktopic._documents._matrices import DocumentReader
from sktopic._inference._gibbs import GibbsInference
from sktopic._runtime._parallel import Workers
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic.hdp import OnlineVariationalHDP
from sktopic.lda import OnlineCVB0LDA, OnlineEMLDA, OnlineOPELDA, OnlineVariationalLDA

from .conftest import assert_raises
from .kernels.tools import TINY, TINY_COUNTS, TINY_TOKENS, assert_within
from .reference.enumeration import Enumeration
from .registry import STEPS, defaults, each, is_filter, new
from .test_common import EMPTY, HELD_OUT, SPARSE, X, every_step, fitted

FIRST = defaults()[0]
VARIATIONAL = [OnlineEMLDA(inference="variational"), OnlineVariationalLDA()]
DOCUMENT = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))


def is_sampled(estimator):
    return hasattr(estimator, "transform_sweeps")


def has_posterior(estimator):
    return estimator._no_posterior is None


def is_plain(estimator):
    """Whether words have the proportions times the topics, normalized."""
    return is_filter(estimator) or isinstance(estimator, (OnlineOPELDA, OnlineCVB0LDA))


def all_probabilities(model, X):
    """Probabilities of all topics in their order, (n_entries, n_components_)."""
    topics, chosen = model.word_topics(X, model.n_components_)
    assert np.all(np.diff(chosen, axis=1) <= 0)
    probabilities = np.empty(chosen.shape)
    np.put_along_axis(probabilities, topics, chosen, axis=1)
    return probabilities


def normalized(weights):
    return weights / weights.sum(axis=1, keepdims=True)


# Which probabilities these are


@each(filter(is_sampled, STEPS))
def test_sampled_topics_of_words_add_up_to_the_proportions(estimator):
    model = fitted(estimator)
    theta = np.tile(model.doc_topic_prior_, (X.shape[0], 1))
    np.add.at(theta, DOCUMENT, X.data[:, None] * all_probabilities(model, X))
    assert_allclose(normalized(theta), model.transform(X), atol=1e-6)


@each(filter(is_plain, STEPS))
def test_topics_of_words_are_proportions_times_topics(estimator):
    model = fitted(estimator)
    expected = normalized(model.transform(X)[DOCUMENT] * model.components_.T[X.indices])
    assert_allclose(all_probabilities(model, X), expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("estimator", VARIATIONAL, ids=repr)
def test_topics_of_words_are_those_of_the_variational_distribution(estimator):
    model = fitted(estimator)
    prior = model.doc_topic_prior_
    gamma = model.transform(X) * (prior.sum() + X.sum(axis=1))[:, None]
    log_topics = np.log(model.components_)
    if hasattr(model, "topic_word_posterior_"):
        posterior = model.topic_word_posterior_
        log_topics = psi(posterior) - psi(posterior.sum(axis=1, keepdims=True))
    expected = normalized(np.exp(psi(gamma)[DOCUMENT] + log_topics.T[X.indices]))
    assert_allclose(all_probabilities(model, X), expected, rtol=1e-4, atol=1e-9)


def test_topics_of_words_are_those_of_atoms():
    model = fitted(OnlineVariationalHDP())
    batch = DocumentReader(X).batch(np.arange(X.shape[0]))
    with Workers() as workers:
        topics = model._inference_topics().gather(batch.words, None, workers)
        found = model._transform_step()(batch, topics, model.doc_topic_prior_, None, workers)
    atoms = np.einsum("it,itk->ik", found.zeta, found.varphi[batch.cell_document()])
    assert_allclose(all_probabilities(model, X), normalized(atoms[:, found.used]), atol=1e-12)


# Tiny documents, against the sum over all topics of their tokens


def test_sampled_topics_of_words_have_the_exact_mean():
    """Of 4000 documents of the same words, each with a stream of its own."""
    phi, prior = TINY[3]
    batch = DocumentReader(sp.csr_array([TINY_COUNTS] * 4000)).batch(np.arange(4000))
    with Workers() as workers:
        topics = TopicProbabilities.from_components(phi.T).gather(batch.words, prior, workers)
        keys = np.arange(4000, dtype=np.uint64)
        inferred = GibbsInference(9, 1).by_cell(batch, topics, prior, keys, workers)
        (drawn,) = GibbsInference(9, 1).posteriors(batch, topics, prior, keys, 1, workers)
    weights = np.array([normalized(inferred.topic_weights(d)) for d in range(4000)])
    expected = Enumeration(TINY_TOKENS, *TINY[3]).expected_counts()
    assert_within(weights, expected[[0, 3, 4]], 4)  # the first word is that of three tokens
    assert_within(drawn, prior + expected.sum(axis=0), 4)


@pytest.mark.slow
def test_draws_of_a_chain_have_the_exact_moments():
    """From the public method: the draws of one document, which depend on each other no more than little."""
    _, prior = TINY[2]
    model = OnlineEMLDA(2, doc_topic_prior=prior, transform_burn_in=10, random_state=0)
    model.partial_fit(sp.csr_array([TINY_COUNTS]))
    theta = model.sample_proportions(sp.csr_array([TINY_COUNTS]), 4000)[0]
    exact = Enumeration(TINY_TOKENS, model.components_.T, prior)
    assert_within(theta, exact.mean_theta(), 4)
    assert_within(theta[:, :, None] * theta[:, None, :], exact.second_moments(), 4)


@each(estimator for estimator in STEPS if has_posterior(estimator) and not is_sampled(estimator))
def test_draws_have_the_moments_of_the_dirichlet_of_the_document(estimator):
    model = fitted(estimator)
    theta, mean = model.sample_proportions(X[:3], 4000), model.transform(X[:3])
    total = (model.doc_topic_prior_.sum() + X[:3].sum(axis=1))[:, None]
    for draws, its_mean, its_total in zip(theta, mean, total):
        assert_within(draws, its_mean, 4)
        if not is_filter(model):  # which count tokens of doubtful topics for less
            assert_within((draws - its_mean) ** 2, its_mean * (1 - its_mean) / (its_total + 1), 5)


# What they do not depend on


@every_step
def test_answers_depend_on_the_document_alone(estimator):
    model, order = fitted(estimator), np.random.default_rng(0).permutation(X.shape[0])
    rows, few = [X[[i]] for i in range(8)], X[:8].nnz
    topics, probabilities = model.word_topics(X)
    alone = [model.word_topics(row) for row in rows]
    assert_array_equal(topics[:few], np.concatenate([one for one, _ in alone]))
    assert_array_equal(probabilities[:few], np.concatenate([one for _, one in alone]))
    threaded = new(estimator, n_jobs=2)
    vars(threaded).update({**vars(model), "n_jobs": 2})
    assert_array_equal(threaded.word_topics(X)[1], probabilities)
    blocks = list(threaded.iter_word_topics(X, block_size=7))
    assert [rows.start for rows, _, _ in blocks] == list(range(0, X.shape[0], 7))
    assert_array_equal(np.concatenate([block for _, block, _ in blocks]), topics)
    assert_array_equal(np.concatenate([block for _, _, block in blocks]), probabilities)
    if has_posterior(estimator):
        theta = model.sample_proportions(X, 3)
        assert_allclose(theta.sum(axis=2), 1.0, rtol=1e-12)
        assert_array_equal(theta[:8], np.concatenate([model.sample_proportions(row, 3) for row in rows]))
        assert_array_equal(theta[order], threaded.sample_proportions(X[order], 3))
        assert_array_equal(theta[:, :2], model.sample_proportions(X, 2))


def test_answers_depend_neither_on_groups_nor_on_which_cells_are_together(monkeypatch):
    model = fitted(FIRST)
    topics, probabilities = model.word_topics(X)
    monkeypatch.setattr("sktopic._inference._prediction.MOST_WEIGHTS", 50)
    assert_array_equal(model.word_topics(X)[0], topics)
    many = X[np.arange(1100) % X.shape[0]]
    drawn = model.sample_proportions(X, 1)
    monkeypatch.setattr("sktopic._inference._prediction.MOST_SUMS", 50)
    assert_array_equal(model.sample_proportions(X, 1), drawn)
    assert_array_equal(model.word_topics(many)[1][: X.nnz], probabilities)
    assert_array_equal(model.sample_proportions(many, 1)[-1], model.sample_proportions(many[[-1]], 1)[0])


@pytest.mark.parametrize("container", ["explicit zeros", "unsorted duplicates", "longer arrays of csc"])
def test_topics_are_in_the_order_of_the_entries(container):
    model = fitted(FIRST)
    given = SPARSE[container](X)
    topics, probabilities = model.word_topics(given)
    assert_array_equal(model.sample_proportions(given, 2), model.sample_proportions(X, 2))
    expected = dict(zip(zip(DOCUMENT, X.indices), zip(*model.word_topics(X))))
    entries = given if given.format == "csr" else sp.csr_array(given.copy())
    row = np.repeat(np.arange(X.shape[0]), np.diff(entries.indptr))
    assert len(topics) == len(row) >= X.nnz
    for i in range(len(row)):
        if entries.data[i] == 0:
            assert_array_equal(topics[i], -1)
            assert_array_equal(probabilities[i], 0.0)
        else:
            assert_array_equal(topics[i], expected[row[i], entries.indices[i]][0])
            assert_array_equal(probabilities[i], expected[row[i], entries.indices[i]][1])


# Limits


def test_more_topics_than_there_are_give_all_and_documents_without_words_none():
    model = fitted(FIRST)
    assert model.word_topics(X, 100)[0].shape == (X.nnz, 4)
    nothing = sp.csr_array((3, X.shape[1]))
    assert model.word_topics(nothing, 2)[0].shape == (0, 2)
    stored_zero = sp.csr_array((np.zeros(1), [2], [0, 1]), shape=(1, X.shape[1]))
    assert_array_equal(model.word_topics(stored_zero, 2)[0], [[-1, -1]])
    assert_within(model.sample_proportions(X[[EMPTY]], 500)[0], model.transform(X[[EMPTY]])[0], 4)


def test_without_a_posterior_there_is_no_method_and_the_reason_is_told():
    for estimator in defaults(lambda estimator: not has_posterior(estimator)):
        assert not hasattr(estimator, "sample_proportions")
        with pytest.raises(AttributeError) as caught:
            _ = estimator.sample_proportions
        assert "no sample_proportions: " in str(caught.value.__cause__)


def test_parameters_are_checked():
    model = fitted(FIRST)
    for call in (model.word_topics, model.iter_word_topics, model.sample_proportions):
        assert_raises(ValueError, "must be an int in the range", call, X, 0, case=call)
    assert_raises(ValueError, "n_samples", model.sample_proportions, X, 2**70)
    with pytest.raises(ValueError, match="features"):
        model.iter_word_topics(X[:, :5])  # at once, not with the first block
    blocks = model.iter_word_topics(HELD_OUT, block_size=5)
    next(blocks)
    with pytest.raises(ValueError, match="block_size"):
        model.iter_word_topics(X, block_size=0)
