"""Online OPE: its steps through the estimator."""

import numpy as np
from numpy.testing import assert_allclose

from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._estimators._fitted_inference import TRANSFORM_KEY
from sktopic._kernels.random._rng import combine_keys
from sktopic._training._minibatches import FIT_KEY
from sktopic.lda import OnlineOPELDA

from .lda_models import ALPHA, ETA, X, new, smoothed
from .reference import ope as reference


def solved(X, phi, key, p):
    """Proportions of documents by the reference, vertex by vertex, from draws that their content names."""
    keys = DocumentReader(canonical_counts(X)).batch(np.arange(X.shape[0])).content_keys(key)
    start, choices = reference.draw_choices(keys, len(phi), 50, p)
    return np.array(
        [
            reference.maximize(phi[:, words].T, row[words], np.full(len(phi), ALPHA), *draws, p)[0]
            for row, *draws in zip(X.toarray(), start, choices)
            for words in [np.flatnonzero(row)]
        ]
    )


def test_updates_and_transform_are_those_of_the_paper():
    """lambda <- (1 - rho) lambda + rho (eta + D / |C| sum of counts times theta_k phi_kj / x_j).

    Topic rows are float32: a near tie of vertices may fall the other way, in one of the documents.
    """
    settings = {"learning_decay": 0.9, "learning_offset": 1.0, "bernoulli_p": 0.3}
    model = new(OnlineOPELDA, total_samples=60, **settings).partial_fit(X[:20])
    lambda_, batch = model.topic_word_counts_ + ETA, X[20:40]
    phi = smoothed(lambda_, 0.0)
    assert_allclose(phi, model.components_, rtol=1e-12)
    theta = solved(batch, phi, combine_keys(model._seed, FIT_KEY, 1), 0.3)
    responsibilities = theta[:, :, None] * phi / (theta @ phi)[:, None, :]
    counts = 60 / 20 * np.einsum("dj,dkj->kj", batch.toarray(), responsibilities)
    rho = (1.0 + 2) ** -0.9
    found = model.partial_fit(batch).topic_word_counts_ + ETA
    assert_allclose(found, (1 - rho) * lambda_ + rho * (ETA + counts), rtol=1e-5, atol=1e-7)
    expected = solved(X, model.components_, combine_keys(model._seed, TRANSFORM_KEY), 0.3)
    assert np.isclose(model.transform(X), expected, rtol=1e-9).all(axis=1).sum() >= X.shape[0] - 1


def test_extreme_p_is_finite():
    for p in (5e-324, 1 - 2**-53):
        model = new(OnlineOPELDA, bernoulli_p=p).fit(X)
        assert np.isfinite(model.components_).all() and np.isfinite(model.score(X))
