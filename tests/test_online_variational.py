"""Online variational Bayes: against scikit-learn's own inference, plain NumPy, and its bound."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.decomposition._lda import _update_doc_distribution

from sktopic.lda import OnlineVariationalLDA

from .lda_models import ALPHA, ETA, X, mean_logs, new, smoothed, start_of, with_counts
from .reference.variational import mean_field

# Iterations over a document go on until nothing changes.
CONVERGED = {"max_doc_update_iter": 3000, "mean_change_tol": 1e-8}
NO_WORDS = sp.csr_array((2, 25))


def make_model(n_components=4, **params):
    settings = {"learning_decay": 0.7, "learning_offset": 3.0, "batch_size": 15, **CONVERGED}
    return new(OnlineVariationalLDA, n_components, **settings | params)


def in_training(model, total_samples):
    """A model with random posteriors of topics, and their parameters."""
    counts = np.random.RandomState(0).gamma(1.0, 10.0, (4, 25))
    return with_counts(model, counts, total_samples), counts + ETA


def numpy_counts(counts, lambda_, prior):
    """gamma and the expected counts of words in topics."""
    return mean_field(counts.toarray(), np.exp(mean_logs(lambda_)), prior)


def bounds_by_numpy(counts, gamma, lambda_, prior, eta):
    """Equation 4 of Hoffman et al., term by term: that of all documents, and that of topics."""
    total = 0.0
    for document, row in zip(counts.toarray(), mean_logs(gamma)):
        logits = row[:, None] + mean_logs(lambda_)
        phi = np.exp(logits - logits.max(axis=0))
        phi /= phi.sum(axis=0)
        total += (document * (phi * (logits - np.log(phi))).sum(axis=0)).sum()
    terms = []
    for parameters, p in ((gamma, prior), (lambda_, eta)):
        p, logs = np.broadcast_to(p, parameters.shape), mean_logs(parameters)
        norms = [gammaln(a.sum(axis=1)) - gammaln(a).sum(axis=1) for a in (p, parameters)]
        terms.append((norms[0] - norms[1] + ((p - parameters) * logs).sum(axis=1)).sum())
    return np.array([total + terms[0], terms[1]])


def test_online_updates_equal_those_by_numpy():
    """lambda <- (1 - rho) lambda + rho (eta + D / |B| counts), over batches of several sizes.

    Documents see float32 topics, which sets the tolerance.
    """
    total, prior = 500.0, np.array([0.1, 0.2, 0.5, 1.1])
    model, lambda_ = in_training(make_model(doc_topic_prior=prior), total)
    for t, batch in enumerate([X[:15], X[15:22], X[22:23], X[23:38], X[38:50]], start=2):
        counts = numpy_counts(batch, lambda_, prior)[1]
        rho = (3.0 + t) ** -0.7
        lambda_ = (1 - rho) * lambda_ + rho * (ETA + total / batch.shape[0] * counts)
        model.partial_fit(batch)
        assert_allclose(model.topic_word_posterior_, lambda_, rtol=1e-4, atol=1e-5)
        assert np.abs(model.components_ - smoothed(lambda_, 0.0)).max() < 1e-6
    gamma = numpy_counts(X, lambda_, prior)[0]
    assert_allclose(model.transform(X), smoothed(gamma, 0.0), rtol=1e-4, atol=1e-6)


# The bound


def test_elbo_equals_its_terms_by_numpy():
    """With documents that have no words; and beyond one group of documents, of real-valued counts."""
    prior = np.array([0.1, 0.2, 0.5, 1.1])
    model, lambda_ = in_training(make_model(doc_topic_prior=prior), 60.0)
    # Of proportions that have not settled, the bound is with the best topics for them.
    hasty, _ = in_training(make_model(doc_topic_prior=prior, max_doc_update_iter=2), 60.0)
    gamma = mean_field(X.toarray(), np.exp(mean_logs(lambda_)), prior, 2)[0]
    assert hasty.elbo(X) == pytest.approx(bounds_by_numpy(X, gamma, lambda_, prior, ETA).sum(), rel=1e-7)
    padded, few = sp.csr_array(sp.vstack([X, NO_WORDS])), X[:11] * 0.7
    many = sp.csr_array(sp.vstack([few] * 100))
    for counts, distinct, n_copies, rtol in ((padded, padded, 1, 1e-7), (many, few, 100, 1e-6)):
        gamma = numpy_counts(distinct, lambda_, prior)[0]
        of_documents, of_topics = bounds_by_numpy(distinct, gamma, lambda_, prior, ETA)
        for total, times in ((None, n_copies), (5 * counts.shape[0], 5 * n_copies)):
            expected = times * of_documents + of_topics
            assert model.elbo(counts, total_samples=total) == pytest.approx(expected, rel=rtol)
    assert model.set_params(n_jobs=3).elbo(many) == model.set_params(n_jobs=1).elbo(many.toarray())


def test_elbo_of_one_topic_is_the_log_evidence():
    """Of a document of two tokens."""
    counts = np.array([[1.0, 1.0, 0.0]])
    model = make_model(1, learning_method="batch", max_iter=3).fit(counts)
    exact = 2 * np.log(ETA) - np.log(3 * ETA) - np.log(3 * ETA + 1)
    assert model.elbo(counts) == pytest.approx(exact, rel=1e-6)


# learning_method="batch"


def test_batch_learning_equals_full_updates_with_the_inference_of_scikit_learn():
    """Steps of one: lambda is eta plus the counts expected in all documents, whatever sizes are given."""
    model = make_model(learning_method="batch", max_iter=4, batch_size=7, components_init=None)
    lambda_ = ETA + start_of(clone(model).set_params(total_samples=60))
    for _ in range(4):
        topics = np.exp(mean_logs(lambda_))
        given = sp.csr_matrix(X), topics, ALPHA, 20_000, 1e-11, True, None
        lambda_ = ETA + _update_doc_distribution(*given)[1] * topics
    model.fit(X)
    assert model.n_batch_iter_ == model.n_iter_ == 4
    assert_allclose(model.topic_word_counts_.sum(axis=0), X.sum(axis=0), rtol=1e-6)
    assert np.abs(model.components_ - smoothed(lambda_, 0.0)).max() < 1e-5
    other = clone(model).set_params(batch_size=1, learning_decay=0.5, learning_offset=9.0).fit(X)
    assert_array_equal(other.components_, model.components_)
