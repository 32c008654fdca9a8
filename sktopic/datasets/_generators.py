"""Generators of corpora with known topics."""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import softmax
from sklearn.utils import Bunch, check_random_state, check_scalar

from sktopic._runtime._compat import as_configured
from sktopic._typing import RandomState

# Number of words drawn at a time, which bounds the memory beyond the result.
_BLOCK_TOKENS = 1 << 20

# Lower bound on a document-topic prior: keeps the logarithms of the proportions finite.
_TINY = 1e-300


def make_bars(
    n_samples: int = 1000,
    *,
    size: int = 5,
    doc_length: int = 100,
    doc_topic_prior: ArrayLike = 0.1,
    random_state: RandomState = None,
) -> Bunch:
    """Draw documents from the bars model: images that overlay rows and columns of a grid.

    The vocabulary is the pixels of a square grid. Each topic is uniform on one row or one column.
    Documents follow latent Dirichlet allocation with these topics [1]_. To view a fitted topic, use
    ``components_[k].reshape(size, size)``.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of documents.
    size : int, default=5
        Side of the grid: ``size**2`` words and ``2 * size`` topics.
    doc_length : int, default=100
        Number of words per document.
    doc_topic_prior : float or array-like of shape (2 * size,), default=0.1
        Dirichlet parameters of the topic proportions, > 0 (alpha in the literature). With small values,
        documents have few bars.
    random_state : int, RandomState instance or None, default=None
        Seed. Pass an int for reproducible documents.

    Returns
    -------
    bunch : Bunch
        data : csr_matrix or csr_array of shape (n_samples, size**2), dtype int32
            Word counts; a csr_array if scikit-learn has ``sparse_interface="sparray"``.
        components : ndarray of shape (2 * size, size**2)
            Topic-word probabilities: grid rows from top to bottom, then grid columns from left to right.
        doc_topic_prior : ndarray of shape (2 * size,)
            Prior of each topic.
        doc_topic_distr : ndarray of shape (n_samples, 2 * size)
            Topic proportions of each document.

    References
    ----------
    .. [1] T. L. Griffiths and M. Steyvers, "Finding scientific topics", Proceedings of the National
       Academy of Sciences 101 (suppl. 1), 2004, figure 1.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> bars = make_bars(n_samples=20, size=3, random_state=0)
    >>> bars.data.shape, bars.components.shape
    ((20, 9), (6, 9))
    >>> bars.components[0].reshape(3, 3).round(2)
    array([[0.33, 0.33, 0.33],
           [0.  , 0.  , 0.  ],
           [0.  , 0.  , 0.  ]])
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    check_scalar(size, "size", Integral, min_val=1)
    check_scalar(doc_length, "doc_length", Integral, min_val=0)
    prior = _check_prior(doc_topic_prior, "doc_topic_prior", 2 * size)
    rng = check_random_state(random_state)

    line = np.eye(size).repeat(size, axis=1) / size
    components = np.concatenate([line, line.reshape(size, size, size).swapaxes(1, 2).reshape(size, -1)])
    return _draw_corpus(rng, components, prior, np.full(n_samples, doc_length))


def make_lda_documents(
    n_samples: int = 1000,
    *,
    n_features: int = 1000,
    n_components: int = 10,
    mean_length: float = 60,
    doc_topic_prior: ArrayLike = 0.1,
    topic_word_prior: ArrayLike = 0.05,
    components: ArrayLike | None = None,
    random_state: RandomState = None,
) -> Bunch:
    """Draw documents from latent Dirichlet allocation.

    Topics are given or drawn from a Dirichlet distribution. Documents have Poisson lengths and Dirichlet
    topic proportions.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of documents.
    n_features : int, default=1000
        Number of words in the vocabulary (V). Ignored if `components` is given.
    n_components : int, default=10
        Number of topics (K). Ignored if `components` is given.
    mean_length : float, default=60
        Mean of the Poisson distribution of document lengths, >= 0. Documents without words are empty rows.
    doc_topic_prior : float or array-like of shape (n_components,), default=0.1
        Dirichlet parameters of the topic proportions, > 0 (alpha in the literature).
    topic_word_prior : float or array-like of shape (n_features,), default=0.05
        Dirichlet parameters of the topics, > 0 (eta or beta in the literature). With small values, topics
        have few words. Ignored if `components` is given.
    components : array-like of shape (n_components, n_features), default=None
        Topic-word probabilities; each row sums to one. If None, topics are drawn.
    random_state : int, RandomState instance or None, default=None
        Seed. Pass an int for reproducible documents.

    Returns
    -------
    bunch : Bunch
        data : csr_matrix or csr_array of shape (n_samples, n_features), dtype int32
            Word counts; a csr_array if scikit-learn has ``sparse_interface="sparray"``.
        components : ndarray of shape (n_components, n_features)
            Topic-word probabilities.
        doc_topic_prior : ndarray of shape (n_components,)
            Prior of each topic.
        doc_topic_distr : ndarray of shape (n_samples, n_components)
            Topic proportions of each document.

    See Also
    --------
    make_hdp_documents : Draw documents from a model without a fixed number of topics.

    Notes
    -----
    Time is proportional to ``n_samples * n_components`` plus the number of words. Besides the result, a
    bounded amount of memory is used.

    Examples
    --------
    >>> from sktopic.datasets import make_lda_documents
    >>> corpus = make_lda_documents(n_samples=50, n_features=30, n_components=4, random_state=0)
    >>> corpus.data.shape, corpus.components.shape, corpus.doc_topic_distr.shape
    ((50, 30), (4, 30), (50, 4))

    Draw held-out documents from the same topics:

    >>> held_out = make_lda_documents(n_samples=10, components=corpus.components, random_state=1)
    >>> held_out.data.shape
    (10, 30)
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    _check_real(mean_length, "mean_length", include_zero=True)
    if components is None:
        check_scalar(n_features, "n_features", Integral, min_val=1)
        check_scalar(n_components, "n_components", Integral, min_val=1)
        word_prior = _check_prior(topic_word_prior, "topic_word_prior", n_features)
    else:
        checked = _check_components(components)
        components, n_components = checked, len(checked)
    prior = _check_prior(doc_topic_prior, "doc_topic_prior", n_components)
    rng = check_random_state(random_state)

    if components is None:
        components = _shares(_log_gammas(rng, word_prior, n_components))
    return _draw_corpus(rng, components, prior, rng.poisson(mean_length, n_samples))


def make_hdp_documents(
    n_samples: int = 1000,
    *,
    n_features: int = 1000,
    mean_length: float = 60,
    topic_concentration: float = 1.0,
    doc_concentration: float = 1.0,
    topic_word_prior: ArrayLike = 0.05,
    max_components: int = 1000,
    random_state: RandomState = None,
) -> Bunch:
    """Draw documents from a hierarchical Dirichlet process over topics.

    Topic weights come from the stick-breaking construction, topic proportions from a Dirichlet process
    centered at these weights, and topics from a Dirichlet distribution [1]_. The number of topics is random.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of documents.
    n_features : int, default=1000
        Number of words in the vocabulary (V).
    mean_length : float, default=60
        Mean of the Poisson distribution of document lengths, >= 0.
    topic_concentration : float, default=1.0
        Concentration of the corpus-level topic weights, > 0 (gamma_0 in the literature; gamma in [1]_).
        The number of topics grows with it.
    doc_concentration : float, default=1.0
        Concentration of the proportions of a document around the weights, > 0 (alpha_0 in the literature).
        The number of topics in a document grows with it.
    topic_word_prior : float or array-like of shape (n_features,), default=0.05
        Dirichlet parameters of the topics, > 0 (eta or beta in the literature).
    max_components : int, default=1000
        Maximum number of sticks.
    random_state : int, RandomState instance or None, default=None
        Seed. Pass an int for reproducible documents.

    Returns
    -------
    bunch : Bunch
        data : csr_matrix or csr_array of shape (n_samples, n_features), dtype int32
            Word counts; a csr_array if scikit-learn has ``sparse_interface="sparray"``.
        components : ndarray of shape (n_components, n_features)
            Topic-word probabilities of the topics that occur in the documents, heaviest first.
        topic_weights : ndarray of shape (n_components,)
            Corpus-level weights of these topics. The remaining mass belongs to topics that do not occur.
        doc_topic_prior : ndarray of shape (n_components,)
            ``doc_concentration * topic_weights``: the Dirichlet parameters of the proportions.
        doc_topic_distr : ndarray of shape (n_samples, n_components)
            Topic proportions of each document, rescaled over these topics to sum to one.

    See Also
    --------
    make_lda_documents : Draw documents from a fixed number of topics.

    Notes
    -----
    - Sticks are broken until less than 1e-6 of the weight remains or `max_components` is reached. The last
      stick takes the remainder. The mean number of sticks is about ``2 + 14 * topic_concentration``.
    - Topics without words are dropped. If no document has words, the heaviest topic is kept.
    - `topic_weights` and `doc_topic_prior` are not rescaled. Proportions rescaled over some topics still have
      a Dirichlet distribution, with unchanged parameters.

    References
    ----------
    .. [1] Y. W. Teh, M. I. Jordan, M. J. Beal and D. M. Blei, "Hierarchical Dirichlet processes", Journal
       of the American Statistical Association 101 (476), 2006, section 4.1.

    Examples
    --------
    >>> from sktopic.datasets import make_hdp_documents
    >>> corpus = make_hdp_documents(n_samples=50, n_features=30, random_state=0)
    >>> n_components = len(corpus.topic_weights)
    >>> corpus.components.shape == (n_components, 30)
    True
    >>> bool(0 < corpus.topic_weights.sum() <= 1)
    True
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    check_scalar(n_features, "n_features", Integral, min_val=1)
    check_scalar(max_components, "max_components", Integral, min_val=1)
    _check_real(mean_length, "mean_length", include_zero=True)
    _check_real(topic_concentration, "topic_concentration")
    _check_real(doc_concentration, "doc_concentration")
    word_prior = _check_prior(topic_word_prior, "topic_word_prior", n_features)
    rng = check_random_state(random_state)

    weights = _break_sticks(rng, topic_concentration, max_components)
    lengths = rng.poisson(mean_length, n_samples)
    log_gammas = _log_gammas(rng, doc_concentration * weights, n_samples)
    topic_counts = _draw_topic_counts(rng, _shares(log_gammas), lengths)
    occurs = topic_counts.any(axis=0)
    occurs[0] |= not occurs.any()

    components = _shares(_log_gammas(rng, word_prior, int(occurs.sum())))
    return Bunch(
        data=_draw_words(rng, topic_counts[:, occurs], components),
        components=components,
        topic_weights=weights[occurs],
        doc_topic_prior=doc_concentration * weights[occurs],
        doc_topic_distr=_shares(log_gammas[:, occurs]),
    )


def _draw_corpus(rng, components, prior, lengths):
    """Draw documents of the given lengths on known topics."""
    doc_topic_distr = _shares(_log_gammas(rng, prior, len(lengths)))
    topic_counts = _draw_topic_counts(rng, doc_topic_distr, lengths)
    return Bunch(
        data=_draw_words(rng, topic_counts, components),
        components=components,
        doc_topic_prior=prior,
        doc_topic_distr=doc_topic_distr,
    )


def _break_sticks(rng, concentration, max_components):
    """Draw GEM weights in decreasing order; the last stick takes the remainder."""
    weights = []
    remaining = 1.0
    while remaining >= 1e-6 and len(weights) < max_components - 1:
        weights.append(remaining * rng.beta(1.0, concentration))
        remaining -= weights[-1]
    weights.append(remaining)
    return np.sort(weights)[::-1]


def _log_gammas(rng, shape_parameters, n_rows):
    """Draw rows of log gamma variables; their softmax is Dirichlet, without underflow at small parameters.

    If G is gamma with shape a + 1 and U is uniform, G * U ** (1 / a) is gamma with shape a.
    """
    size = (n_rows, len(shape_parameters))
    logs = np.log(rng.standard_gamma(shape_parameters + 1.0, size))
    logs += np.log1p(-rng.random_sample(size)) / np.maximum(shape_parameters, _TINY)
    return logs


def _shares(log_gammas):
    """Return the softmax of each row: a draw from a Dirichlet distribution."""
    with np.errstate(under="ignore"):  # with small parameters, most entries underflow to zero
        return softmax(log_gammas, axis=1)


def _draw_topic_counts(rng, doc_topic_distr, lengths):
    """Draw the number of words of each document from each topic, shape (n_samples, n_components)."""
    counts = np.empty(doc_topic_distr.shape, dtype=np.int32)
    for row, (length, distr) in enumerate(zip(lengths, doc_topic_distr)):
        counts[row] = rng.multinomial(length, distr)
    return counts


def _draw_words(rng, topic_counts, components):
    """Draw the words behind `topic_counts` as a canonical CSR matrix of int32 counts."""
    cumulative = np.cumsum(components, axis=1)
    with np.errstate(under="ignore"):  # the first words may have negligible probabilities
        cumulative /= cumulative[:, -1:]
    ends = np.cumsum(topic_counts.sum(axis=1, dtype=np.int64))
    cuts = np.searchsorted(ends, np.arange(_BLOCK_TOKENS, ends[-1], _BLOCK_TOKENS))
    cuts = np.unique(np.concatenate([[0], cuts, [len(ends)]]))
    blocks = []
    for start, stop in pairwise(cuts):
        rows, words = [], []
        for k, counts in enumerate(topic_counts[start:stop].T):
            rows.append(np.repeat(np.arange(stop - start, dtype=np.int32), counts))
            # side="right" skips words of probability zero.
            words.append(cumulative[k].searchsorted(rng.random_sample(len(rows[-1])), side="right"))
        rows, words = np.concatenate(rows), np.concatenate(words).astype(np.int32)
        ones = np.ones(len(rows), dtype=np.int32)
        block = sparse.coo_matrix((ones, (rows, words)), shape=(stop - start, components.shape[1])).tocsr()
        block.sort_indices()
        blocks.append(block)
    return as_configured(blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csr"))


def _check_real(value, name, *, include_zero=False):
    """Raise unless `value` is a finite number that is positive, or zero if `include_zero`."""
    check_scalar(value, name, Real)
    if not np.isfinite(value) or value < 0 or (value == 0 and not include_zero):
        allowed = "not negative" if include_zero else "positive"
        raise ValueError(f"{name} must be a finite number that is {allowed}, got {value}.")


def _check_prior(prior, name, length):
    """Return a scalar or vector prior as a vector of `length` positive numbers."""
    vector = np.asarray(prior, dtype=np.float64)
    if vector.ndim > 1 or (vector.ndim == 1 and len(vector) != length):
        raise ValueError(f"{name} must be a number or of shape ({length},), got shape {vector.shape}.")
    if not np.all(np.isfinite(vector) & (vector > 0)):
        raise ValueError(f"{name} must be finite and positive, got {prior!r}.")
    return np.array(np.broadcast_to(vector, length))


def _check_components(components):
    """Return a copy of the given topics; each row must sum to one."""
    components = np.array(components, dtype=np.float64)
    if components.ndim != 2 or components.size == 0:
        raise ValueError(
            f"components must be of shape (n_components, n_features), got shape {components.shape}."
        )
    if not np.all(np.isfinite(components) & (components >= 0)):
        raise ValueError("components must be finite and not negative.")
    sums = components.sum(axis=1)
    worst = np.abs(sums - 1).argmax()
    if abs(sums[worst] - 1) > 1e-6:
        raise ValueError(f"components must have rows that sum to one, but row {worst} sums to {sums[worst]}.")
    return components
