"""Streaming Gibbs and streaming variational Bayes: running counts, with and without fading."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sktopic.lda import StreamingGibbsLDA, StreamingVariationalLDA

from .lda_models import ALPHA, BATCHES, ETA, X, mean_logs, new, smoothed, start_of
from .reference.variational import mean_field

# A word that no document has keeps no noise of the start.
WITHOUT_A_WORD = [batch.toarray() * (np.arange(25) != 7) for batch in BATCHES]
SETTLED = {"max_doc_update_iter": 3000, "mean_change_tol": 1e-8}


@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_counts_are_one_topic_a_token_and_fade_in_a_geometric_series(decay):
    """Exact in binary: a batch weighs the decay times as much after each update."""
    model, seen, before = new(StreamingGibbsLDA, batch_size=100, decay=decay), np.zeros(25), np.zeros((4, 25))
    for batch in WITHOUT_A_WORD:
        counts, seen = model.partial_fit(batch).topic_word_counts_, decay * seen + batch.sum(axis=0)
        assert_allclose(counts.sum(axis=0), seen, rtol=1e-12)
        added = counts - decay * before
        assert_allclose(added, np.abs(added.round()), atol=1e-9 if decay < 1 else 0)
        assert_allclose(model.components_, smoothed(counts, ETA), rtol=1e-12)
        before = counts


def test_variational_posterior_is_the_prior_plus_the_counts_of_all_batches():
    """Each batch's counts under the posterior before it: the topics drawn at random, for the first.

    Documents without words change nothing, and do not count as the first batch.
    """
    model, total = new(StreamingVariationalLDA, batch_size=100, components_init=None, **SETTLED), 0.0
    lambda_ = ETA + start_of(model)
    for batch in WITHOUT_A_WORD:
        total = total + mean_field(batch, np.exp(mean_logs(lambda_)), ALPHA)[1]
        lambda_ = ETA + total
        model.partial_fit(sp.csr_array((4, 25))).partial_fit(batch)
        assert_allclose(model.topic_word_posterior_, lambda_, rtol=1e-4, atol=1e-5)
        assert_array_equal(model.topic_word_posterior_, model.topic_word_counts_ + ETA)
        assert_allclose(model.components_, smoothed(lambda_, 0.0), rtol=1e-4, atol=1e-6)
    assert_array_equal(model.topic_word_counts_[:, 7], 0.0)


def test_several_passes_count_each_document_as_often():
    for cls, n_components, rtol in (
        (StreamingGibbsLDA, 4, 0),
        (StreamingVariationalLDA, 1, 1e-6),
        (StreamingVariationalLDA, 4, 1e-6),
    ):
        counts = new(cls, n_components, max_iter=3, batch_size=7).fit(X).topic_word_counts_
        assert_allclose(counts.sum(axis=0), 3 * X.sum(axis=0), rtol=rtol, err_msg=cls.__name__)


@pytest.mark.slow
def test_fading_for_hundreds_of_updates_leaves_no_trace_of_rounding():
    """The scale of the counts falls below any float, and they stay what they are."""
    model = new(StreamingGibbsLDA, decay=0.3, batch_size=1, max_iter=12).fit(X)
    assert model.n_batch_iter_ == 720
    lengths = np.tile(X.sum(axis=1), 12)
    assert model.topic_word_counts_.sum() == pytest.approx(lengths @ 0.3 ** np.arange(719, -1, -1), rel=1e-9)
