"""Streaming Gibbs sampling: running counts of one draw a token, with and without fading."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic.lda import StreamingGibbsLDA

from .lda_models import BATCHES, ETA, X, new, smoothed


def make_model(n_components=4, **params):
    return new(StreamingGibbsLDA, n_components, **{"batch_size": 100, **params})


@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_counts_are_one_topic_a_token_and_fade_in_a_geometric_series(decay):
    """Exact in binary: a batch weighs the decay times as much after each update. The noise of the start is
    discarded, as words without tokens show."""
    model, seen, before = make_model(decay=decay), np.zeros(25), np.zeros((4, 25))
    for batch in (batch.toarray() * (np.arange(25) != 7) for batch in BATCHES):
        counts, seen = model.partial_fit(batch).topic_word_counts_, decay * seen + batch.sum(axis=0)
        assert_allclose(counts.sum(axis=0), seen, rtol=1e-12)
        added = counts - decay * before
        assert_allclose(added, np.abs(added.round()), atol=1e-9 if decay < 1 else 0)
        assert_allclose(model.components_, smoothed(counts, ETA), rtol=1e-12)
        before = counts


def test_several_passes_count_each_document_as_often():
    model = make_model(max_iter=3, batch_size=7).fit(X)
    assert_array_equal(model.topic_word_counts_.sum(axis=0), 3 * X.sum(axis=0))


@pytest.mark.slow
def test_fading_for_hundreds_of_updates_leaves_no_trace_of_rounding():
    """The scale of the counts falls below any float, and they stay what they are."""
    model = make_model(decay=0.3, batch_size=1, max_iter=12).fit(X)
    assert model.n_batch_iter_ == 720
    lengths = np.tile(X.sum(axis=1), 12)
    assert model.topic_word_counts_.sum() == pytest.approx(lengths @ 0.3 ** np.arange(719, -1, -1), rel=1e-9)
