"""Online OPE: its steps through the estimator, and what its parameters do."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._estimators._fitted_inference import TRANSFORM_KEY
from sktopic._kernels.random._rng import combine_keys
from sktopic.datasets import make_bars, make_lda_documents
from sktopic.lda import OnlineOPELDA
from sktopic.lda._minibatch_method import MinibatchLDA
from sktopic.metrics import document_completion

from .reference import ope as reference

ALPHA, ETA = 0.2, 0.05
X = sp.csr_array(
    make_lda_documents(60, n_features=25, n_components=4, mean_length=20, random_state=0).data,
    dtype=np.float64,
)


def make_model(n_components=4, **params):
    settings = {
        "doc_topic_prior": ALPHA,
        "topic_word_prior": ETA,
        "batch_size": 20,
        "shuffle": False,
        "random_state": 0,
    }
    return OnlineOPELDA(n_components, **{**settings, **params})


def test_updates_are_those_of_the_paper(monkeypatch):
    """lambda <- (1 - rho) lambda + rho (eta + D / |C| sum of counts times theta_k phi_kj / x_j)."""
    model = make_model(total_samples=60, learning_decay=0.9, learning_offset=1.0).partial_fit(X[:20])
    lambda_ = model.topic_word_counts_ + ETA
    phi = lambda_ / lambda_.sum(axis=1, keepdims=True)
    assert_allclose(phi, model.components_, rtol=1e-12)
    steps = []
    infer = MinibatchLDA.infer
    monkeypatch.setattr(
        MinibatchLDA, "infer", lambda *arguments: steps.append(infer(*arguments)) or steps[-1]
    )
    batch = X[20:40].toarray()
    model.partial_fit(batch)
    theta = steps[0].proportions()
    responsibilities = theta[:, :, None] * phi / (theta @ phi)[:, None, :]
    counts = 60 / 20 * np.einsum("dj,dkj->kj", batch, responsibilities)
    rho = (1.0 + 2) ** -0.9
    assert_allclose(
        model.topic_word_counts_ + ETA, (1 - rho) * lambda_ + rho * (ETA + counts), rtol=1e-5, atol=1e-7
    )


def test_transform_solves_each_document_with_the_fitted_topics():
    """Vertex by vertex as the reference does, from draws that the document's content names."""
    model = make_model(bernoulli_p=0.3).fit(X)
    theta, phi = model.transform(X), model.components_
    batch = DocumentReader(canonical_counts(X)).batch(np.arange(X.shape[0]))
    keys = batch.content_keys(combine_keys(model._seed, TRANSFORM_KEY))
    start, choices = reference.draw_choices(keys, 4, 50, 0.3)
    same = 0
    for d in range(X.shape[0]):
        cells = slice(X.indptr[d], X.indptr[d + 1])
        words, counts = X.indices[cells], X.data[cells]
        expected, _ = reference.maximize(
            phi[:, words].T, counts, np.full(4, ALPHA), start[d], choices[d], 0.3
        )
        same += np.allclose(theta[d], expected, rtol=1e-9)
    assert same >= X.shape[0] - 1  # topic rows are float32: a near tie may fall the other way


@pytest.mark.parametrize("alpha", [0.01, 1.0, 3.0])
def test_more_iterations_and_the_prior_do_what_they_say(alpha):
    model = make_model(doc_topic_prior=alpha).fit(X)
    largest = [
        model.set_params(max_doc_update_iter=n_iter).transform(X).max(axis=1).mean()
        for n_iter in (1, 50, 500)
    ]
    assert largest[0] < largest[1]
    model._state = replace(model._state, doc_topic_prior=model.doc_topic_prior_ + 5.0)
    assert model.transform(X).max(axis=1).mean() < largest[2]


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("alpha", [0.1, 1.5])
def test_bars_are_found(alpha, p):
    bars = make_bars(800, random_state=0)
    test = make_bars(200, random_state=1)
    model = OnlineOPELDA(15, bernoulli_p=p, doc_topic_prior=alpha, random_state=1).fit(bars.data)
    truth = document_completion(test.components, test.data, doc_topic_prior=test.doc_topic_prior)
    assert document_completion(model, test.data, doc_topic_prior=0.1) > truth - 0.1


def test_p_changes_the_draws_and_nothing_else():
    """One iteration draws the likelihood whatever p is."""
    one = make_model(bernoulli_p=0.2, max_doc_update_iter=1).fit(X)
    other = make_model(bernoulli_p=0.8, max_doc_update_iter=1).fit(X)
    assert_array_equal(one.components_, other.components_)
    assert np.any(
        make_model(bernoulli_p=0.2).fit(X).components_ != make_model(bernoulli_p=0.8).fit(X).components_
    )


def test_reference_objective_rises_on_average():
    """The search is a maximization: more iterations, a better objective, with a prior above one."""
    model = make_model(doc_topic_prior=1.5).fit(X)
    phi = model.components_

    def mean_objective(n_iter):
        theta = model.set_params(max_doc_update_iter=n_iter).transform(X)
        values = []
        for d in range(X.shape[0]):
            words = X.indices[X.indptr[d] : X.indptr[d + 1]]
            counts = X.data[X.indptr[d] : X.indptr[d + 1]]
            values.append(reference.objective(phi[:, words].T, counts, np.full(4, 1.5), theta[d]))
        return np.mean(values)

    assert mean_objective(5) < mean_objective(50) < mean_objective(2000)


@pytest.mark.parametrize("p", [5e-324, 1e-300, 1 - 2**-53])
def test_extreme_p_is_finite(p):
    model = make_model(bernoulli_p=p).fit(X)
    assert np.isfinite(model.components_).all() and np.isfinite(model.score(X))
