"""Streaming variational Bayes: sums of batches, and nothing but sums."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sktopic.lda import StreamingVariationalLDA

from .lda_models import ALPHA, BATCHES, ETA, X, mean_logs, new, smoothed, start_of
from .reference.variational import mean_field

NO_WORDS = sp.csr_array((4, 25))


def make_model(n_components=4, **params):
    settings = {"batch_size": 100, "max_doc_update_iter": 3000, "mean_change_tol": 1e-8}
    return new(StreamingVariationalLDA, n_components, **settings | params)


def test_posterior_is_the_prior_plus_the_counts_of_all_batches():
    """Each batch's counts under the posterior before it: the topics drawn at random, for the first.

    Documents without words change nothing, and do not count as the first batch. Words that no document has
    keep no noise of the start.
    """
    batches = [batch.toarray() * (np.arange(25) != 7) for batch in BATCHES]
    model, total = make_model(), 0.0
    lambda_ = ETA + start_of(model)
    for batch in batches:
        total = total + mean_field(batch, np.exp(mean_logs(lambda_)), ALPHA)[1]
        lambda_ = ETA + total
        model.partial_fit(NO_WORDS).partial_fit(batch)
        assert_allclose(model.topic_word_posterior_, lambda_, rtol=1e-4, atol=1e-5)
        assert_array_equal(model.topic_word_posterior_, model.topic_word_counts_ + ETA)
        assert_allclose(model.components_, smoothed(lambda_, 0.0), rtol=1e-4, atol=1e-6)
    assert_array_equal(model.topic_word_counts_[:, 7], 0.0)


def test_counts_add_up_to_the_words_seen():
    """In many passes of fit, each a copy of the corpus; of one topic."""
    for n_components in (1, 4):
        counts = make_model(n_components, max_iter=3, batch_size=7).fit(X).topic_word_counts_
        assert_allclose(counts.sum(axis=0), 3 * X.sum(axis=0), rtol=1e-6)
