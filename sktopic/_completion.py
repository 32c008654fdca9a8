"""Document completion: hide part of each document, infer its topics from the rest, predict the part."""

import math
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import UndefinedMetricWarning

from sktopic._documents import GROUP_SIZE, DocumentReader, canonical_counts
from sktopic._kernels._completion import hide_tokens
from sktopic._kernels._proportions import log_predictive
from sktopic._kernels._rng import combine_keys, content_keys

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
    """Log-likelihood, in nats, of the hidden words of each document, and the number of these words.

    Parameters
    ----------
    X : CSR matrix or array from as_documents
    topics : TopicProbabilities
    proportions : callable
        From an observed csr_array to theta of shape (n_documents, n_components), float64.
    """
    log_likelihood, weight = [], []
    for first in range(0, X.shape[0], GROUP_SIZE):
        observed, hidden = hide(X[first : first + GROUP_SIZE], hidden_fraction, key)
        theta = proportions(observed)
        batch = DocumentReader(hidden).batch(np.arange(hidden.shape[0]))
        rows = topics.rows(batch.words)
        pieces = [(*batch.cells(a, b), theta[a:b], rows) for a, b in batch.chunks(workers.n_jobs)]
        log_likelihood.extend(workers.map_here(log_predictive, pieces))
        weight.append(batch.lengths)
    return np.concatenate(log_likelihood), np.concatenate(weight)


def unigram_log_likelihood(X, hidden_fraction, key):
    """That of the same hidden words of each document under the frequencies of words in all of X."""
    counts = np.bincount(X.indices, X.data, minlength=X.shape[1])
    log_share = np.zeros(X.shape[1])
    np.log(counts / (counts.sum() or 1.0), out=log_share, where=counts > 0)
    groups = (X[first : first + GROUP_SIZE] for first in range(0, X.shape[0], GROUP_SIZE))
    return np.concatenate([hide(group, hidden_fraction, key)[1] @ log_share for group in groups])


def mean_log_predictive(X, sample_weight, topics, proportions, workers):
    """Mean nats per hidden word, of what `hidden_log_likelihood` takes.

    sample_weight : (n_documents,) as how many each document counts, or None: as one
    """
    log_likelihood, n_words = hidden_log_likelihood(X, topics, proportions, workers)
    if sample_weight is not None:
        log_likelihood, n_words = sample_weight * log_likelihood, sample_weight * n_words
    return per_word(log_likelihood, n_words)


def per_word(log_likelihood, n_words):
    """Mean nats per word, from those of each document; NaN, with a warning, where there are no words."""
    # Exactly rounded sums: the order of the rows leaves no trace.
    total = math.fsum(n_words)
    if total > 0:
        return math.fsum(log_likelihood) / total
    warnings.warn(
        "X has no words to predict: the score of empty documents is not defined, and NaN is returned. Does "
        "the vocabulary have their words?",
        UndefinedMetricWarning,
        stacklevel=2,
    )
    return math.nan
