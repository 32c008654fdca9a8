"""Document completion: hide part of each document, infer its topics from the rest, predict the part."""

import math
import warnings
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import UndefinedMetricWarning

from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._kernels.documents._completion import hide_tokens
from sktopic._kernels.inference._proportions import log_predictive
from sktopic._kernels.random._rng import combine_keys, content_keys
from sktopic._runtime._exact_sum import ExactSum

# Names the streams that choose hidden words: the same for every model.
HIDING_KEY = combine_keys(0, 0x68696465)
HIDDEN_FRACTION = 0.2


def hide(X, hidden_fraction=HIDDEN_FRACTION, key=HIDING_KEY):
    """Split documents into an observed and a hidden part of the same shape.

    Which tokens are hidden depends on the key and on the document's own words and counts.
    """
    X = canonical_counts(X)
    indptr = X.indptr.astype(np.int64)
    cell_count = X.data.astype(np.float64)
    keys = content_keys(key, indptr, X.indices.astype(np.int32, copy=False), cell_count)
    hidden = hide_tokens(indptr, cell_count, keys, hidden_fraction)
    parts = []
    for data in (cell_count - hidden, hidden):
        part = sp.csr_array((data, X.indices, X.indptr), shape=X.shape).copy()
        part.eliminate_zeros()
        parts.append(part)
    return parts


def hidden_log_likelihood(X, topics, proportions, workers, hidden_fraction=HIDDEN_FRACTION, key=HIDING_KEY):
    """Log-likelihoods, in nats, of the hidden words of documents, and these words.

    Parameters
    ----------
    X : CSR matrix or array from as_documents, of few documents
    topics : TopicProbabilities
    proportions : callable
        From an observed csr_array to theta of shape (n_documents, n_components), float64.

    Returns
    -------
    log_likelihood, n_words : ndarray of shape (n_documents,)
        Of the hidden words of each document, and how many these are.
    hidden : csr_array
        Their counts.
    """
    observed, hidden = hide(X, hidden_fraction, key)
    theta = proportions(observed)
    batch = DocumentReader(hidden).batch(np.arange(hidden.shape[0]))
    rows = topics.rows(batch.words)
    pieces = [(*batch.cells(a, b), theta[a:b], rows) for a, b in batch.chunks(workers.n_jobs)]
    return np.concatenate(workers.map_here(log_predictive, pieces)), batch.lengths, hidden


def log_word_shares(blocks):
    """Logarithm of the share of each word in all tokens of CSR matrices; 0 for those that do not occur."""
    counts = None
    for X in blocks:
        counts = np.zeros(X.shape[1]) if counts is None else counts
        np.add.at(counts, X.indices, X.data.astype(np.float64))
    log_shares = np.zeros(len(counts))
    np.log(counts / (counts.sum() or 1.0), out=log_shares, where=counts > 0)
    return log_shares


def mean_log_predictive(groups, topics, proportions, workers, hidden_fraction=HIDDEN_FRACTION):
    """The PerWord of what `hidden_log_likelihood` takes.

    groups : iterable of (X, DocumentValues)
    proportions : as there; if documents have covariates, these are its second argument
    """
    total = PerWord()
    for X, (sample_weight, covariates) in groups:
        infer = proportions if covariates is None else partial(proportions, covariates=covariates)
        log_likelihood, n_words, _ = hidden_log_likelihood(X, topics, infer, workers, hidden_fraction)
        if sample_weight is not None:
            log_likelihood, n_words = sample_weight * log_likelihood, sample_weight * n_words
        total.add(log_likelihood, n_words)
    return total


class PerWord:
    """Mean nats per word of documents: two exact sums, so that their order leaves no trace."""

    def __init__(self):
        self._log_likelihood, self._n_words = ExactSum(), ExactSum()

    def add(self, log_likelihood, n_words):
        """Add those of each document, ndarrays of shape (n_documents,); returns self."""
        self._log_likelihood.add(log_likelihood)
        self._n_words.add(n_words)
        return self

    def merge(self, other):
        """Add what another one has; returns self."""
        self._log_likelihood.merge(other._log_likelihood)
        self._n_words.merge(other._n_words)
        return self

    def n_words(self):
        """Return the number of words."""
        return self._n_words.value()

    def value(self):
        """Mean nats per word; NaN, with a warning, where there are no words."""
        n_words = self.n_words()
        if n_words > 0:
            return self._log_likelihood.value() / n_words
        warnings.warn(
            "X has no words to predict: the score of empty documents is not defined, and NaN is returned. "
            "Does the vocabulary have their words?",
            UndefinedMetricWarning,
            stacklevel=2,
        )
        return math.nan
