"""Training in lanes with any parallel framework: start, local updates and merge.

All lanes of a round share a model. Each lane trains on mini-batches of its own documents by `local_update`.
`merge_updates` combines the updates into a new model. The functions are pure: they modify nothing, and the
same arguments give the same bits everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from types import NoneType
from typing import TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from sktopic._documents._matrices import MOST_WORDS, check_sparse_structure, rows_of_documents
from sktopic._documents._sample_weight import LARGEST_CORPUS
from sktopic._estimators import _lanes
from sktopic._estimators._lane_updates import LaneSums, LaneUpdate
from sktopic._estimators._lanes import ROUNDING, TOO_LARGE
from sktopic._estimators._minibatch_estimator import MinibatchEstimator
from sktopic._topics._prior import PriorStatistics
from sktopic._typing import MatrixLike

Model = TypeVar("Model", bound=MinibatchEstimator)
# Maximum number of updates per lane between merges. Each takes some time, also without documents.
MOST_UPDATES = 2**16
# Rounding error if numbers were rounded to float32.
SINGLE_ROUNDING = 1e-6

__all__ = ["LaneUpdate", "local_update", "merge_updates", "start_model"]


def start_model(
    estimator: Model,
    n_features: int,
    total_samples: float,
    feature_names: ArrayLike | None = None,
) -> Model:
    """Return the model before its first update, from which lanes start.

    Parameters
    ----------
    estimator : OnlineEMLDA, HybridLDA, OnlineVariationalLDA, OnlineCVB0LDA, OnlineOPELDA, HybridHDP, \
StreamingVariationalLDA or StreamingGibbsLDA
        Estimator with the parameters. It is not changed. Options that do not support lanes raise an error.
    n_features : int
        Number of words.
    total_samples : float
        Number of documents of the corpus. The estimator's total_samples takes precedence.
    feature_names : array-like of str or None, default=None
        Names of the words.

    Returns
    -------
    model : estimator of the same class
        With the same random topics that `fit` starts from.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range, or a method or option does not support lanes.

    Examples
    --------
    Run one round of two lanes:

    >>> from sktopic.datasets import make_bars
    >>> from sktopic.distributed import local_update, merge_updates, start_model
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(200, random_state=0).data
    >>> model = start_model(OnlineEMLDA(n_components=10, random_state=0), X.shape[1], total_samples=200)
    >>> updates = [local_update(model, X[50 * lane : 50 * lane + 50], lane=lane) for lane in range(2)]
    >>> model = merge_updates(model, updates)
    >>> model.n_samples_seen_
    100
    >>> model.transform(X).shape
    (200, 10)
    """
    n_features = _checked_integer("n_features", n_features, 1, MOST_WORDS)
    total_samples = _checked_number("total_samples", total_samples, LARGEST_CORPUS)
    start = _lanes.begin(estimator, n_features, total_samples, feature_names)
    rows, sums = _lanes.initial_rows(start, 0, start.n_features)
    return cast(Model, _lanes.finish(_lanes.set_initial_totals(start, [sums]), [rows]))


def local_update(
    model: MinibatchEstimator,
    X: MatrixLike,
    *,
    lane: int,
    n_updates: int = 1,
    batch_size: int | None = None,
    dtype: str = "float64",
) -> LaneUpdate:
    """Train on mini-batches of one lane, starting from the model that all lanes share.

    Parameters
    ----------
    model : estimator
        Model from `start_model` or `merge_updates`, or a fitted model. It is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of at most ``n_updates * batch_size`` documents of the lane. They are divided into batches
        in order.
    lane : int
        Number of the lane, from 0. Updates are merged in this order. Each lane of a round needs a different
        number.
    n_updates : int from 1 to 65536, default=1
        Number of mini-batches before the merge, the same for all lanes. A lane with too few documents ends
        with empty updates. Must be 1 before the first merge of a model, because this merge replaces the
        random start.
    batch_size : int or None, default=None
        Number of documents per mini-batch. If None, ``batch_size`` of the model, or 50.
    dtype : {'float64', 'float32'}, default='float64'
        Type to which the update of the statistics is rounded.

    Returns
    -------
    update : LaneUpdate
        Update for `merge_updates`. It can be pickled; ``nbytes`` is its size.

    Raises
    ------
    ValueError
        If a parameter is out of range, X has more than ``n_updates * batch_size`` documents, or X is not a
        valid count matrix.
    """
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype={dtype!r} is invalid: must be 'float64' or 'float32'.")
    lane = _checked_integer("lane", lane, 0)
    n_updates = _checked_integer("n_updates", n_updates, 1, MOST_UPDATES, "Merge more often.")
    start = _lanes.start_of(model)
    batch_size = _checked_integer(
        "batch_size", model._documents_per_update() if batch_size is None else batch_size, 1
    )
    X = model._validate_documents(X, reset=False)
    if X.shape[0] > n_updates * batch_size:
        raise ValueError(
            f"X has {X.shape[0]} samples; n_updates={n_updates} with batch_size={batch_size} are for "
            f"{n_updates * batch_size} at most."
        )
    n_batches = -(-X.shape[0] // batch_size)
    documents = np.arange(X.shape[0])
    batches = [rows_of_documents(X, documents[i * batch_size :][:batch_size]) for i in range(n_batches)]
    words, batches = _lanes.narrowed(batches)
    batches += [batches[0][:0]] * (n_updates - n_batches)
    return _lanes.local_update(start, words, _lanes.rows_of(model, words), batches, lane, dtype)


def merge_updates(model: Model, updates: list[LaneUpdate], *, is_first_visit: bool = True) -> Model:
    """Return the model after merging the updates of all lanes of a round.

    Parameters
    ----------
    model : estimator
        The model that was passed to `local_update`. It is not changed.
    updates : list of LaneUpdate
        Updates of all lanes that had documents, in any order. They are checked, then merged in the order of
        their lane numbers 0, 1, and so on. Loading a pickle can run code before this check: load only
        pickles from your own workers.
    is_first_visit : bool, default=True
        Whether the documents may be new to the model. `HybridHDP` learns doc_concentration from new documents
        only: pass False in a second pass.

    Returns
    -------
    model : estimator of the same class
        A fitted model. You can use it, save it, or continue training with `partial_fit` or another round.

    Raises
    ------
    ValueError
        If a lane is missing or repeated, an update is damaged, or updates belong to another model or to
        different rounds. The message names the lane.
    """
    start = _lanes.start_of(model)
    identity = start.identity
    updates = [_checked_update(update, start, identity) for update in updates]
    start, rows = _lanes.merge_whole(start, _lanes.rows_of(model), updates, is_first_visit)
    return cast(Model, _lanes.finish(start, [rows]))


def _checked_integer(name, value, least, most=None, advice=""):
    """Return an integer parameter as int; ValueError for any other value."""
    fits = isinstance(value, Integral) and not isinstance(value, bool) and value >= least
    if not fits or (most is not None and value > most):
        allowed = f"from {least} on" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}={value!r:.80} is invalid: must be an integer {allowed}. {advice}".rstrip())
    return int(value)


# Updates may be damaged or come from another program. Kernels rely on these checks.


def _checked_update(update, start, identity):
    """Return a LaneUpdate that is consistent and fits the RoundStart; ValueError otherwise.

    Its arrays are plain ndarrays: a mask would hide numbers from checks, but not from kernels. Its numbers
    are Python numbers, so that their sums do not overflow.
    """
    if not isinstance(update, LaneUpdate):
        raise ValueError(f"updates has {update!r:.80}: each must be a LaneUpdate from local_update.")
    summary = update.summary
    if not isinstance(summary, LaneSums) or type(summary.of) is not dict:
        raise ValueError("updates has an entry that does not name its lane and model.")
    lane = _checked_integer("the lane of an update", summary.lane, 0)
    _lanes.check_same_model(summary, identity)
    try:
        summary = _checked_summary(replace(summary, lane=lane), start)
        return _checked_rows(replace(update, summary=summary), start)
    except ValueError as error:
        raise ValueError(
            f"the update of lane {lane} is damaged: {error!s:.800}. Call local_update again for this lane."
        ) from error


def _checked_summary(summary, start):
    """Return checked LaneSums, except for their totals, which `_checked_rows` compares with rows."""
    n_updates = _checked_integer("n_updates", summary.n_updates, 1, MOST_UPDATES)
    n_documents = _checked_integer("n_documents", summary.n_documents, 0, int(LARGEST_CORPUS))
    n_tokens = _checked_number("n_tokens", summary.n_tokens, TOO_LARGE)
    if n_tokens > 0.0 and n_documents == 0:
        raise ValueError(f"it has {n_tokens} tokens, but no documents")
    prior = summary.prior
    if type(prior) is not (PriorStatistics if start.method.learns_from_gains else NoneType):
        raise ValueError(
            f"its prior statistics are {type(prior).__name__}, which the model does not learn from"
        )
    if prior is not None:
        of_topics = np.float64, (start.n_topics,)
        prior = PriorStatistics(
            log_theta=_checked_array("log_theta", prior.log_theta, *of_topics, least=-TOO_LARGE),
            topic_gains=_checked_array("topic_gains", prior.topic_gains, *of_topics),
            total_gain=_checked_number("total_gain", prior.total_gain, TOO_LARGE),
            n_documents=_checked_number(
                "the n_documents of the prior statistics", prior.n_documents, n_documents
            ),
        )
        if (prior.n_documents > 0) != (n_tokens > 0.0):
            raise ValueError(f"it has {n_tokens} tokens, in {prior.n_documents} documents")
    return replace(summary, n_updates=n_updates, n_documents=n_documents, n_tokens=n_tokens, prior=prior)


def _checked_rows(update, start):
    """Return a LaneUpdate with checked additions to rows; a sparse matrix is rebuilt."""
    summary, added = update.summary, update.added
    words = _checked_array("words", update.words, np.int64, (None,), most=start.n_features - 1)
    if np.any(np.diff(words) <= 0):
        raise ValueError("its words do not ascend")
    shape = len(words), start.n_topics
    most = max(1.0, summary.n_tokens)
    slack = ROUNDING * (start.state.words.totals.max() + most)
    totals = _checked_array(
        "totals", summary.totals, np.float64, shape[1:], least=-slack * max(1, len(words))
    )
    if sp.issparse(added):
        added = _checked_sparse(added, shape, least=-slack)
        # The sum method of the matrix would use single precision.
        sums = np.bincount(added.indices, weights=added.data, minlength=start.n_topics)
    else:
        added = _checked_entries(added, shape, least=-slack)
        sums = added.sum(axis=0, dtype=np.float64)
    if not np.all(np.abs(sums - totals) <= SINGLE_ROUNDING * np.abs(totals) + slack):
        raise ValueError("its totals are not the sums of what it adds")
    if totals.sum() > (1.0 + SINGLE_ROUNDING) * most + slack:
        raise ValueError(f"it adds {totals.sum():g} to the topics, for {summary.n_tokens:g} tokens")
    return LaneUpdate(replace(summary, totals=totals), words, added)


def _checked_entries(entries, shape, least):
    """Return additions as an ndarray of float32 or float64; the upper limit is checked by their sums."""
    dtype = np.float32 if getattr(entries, "dtype", None) == np.float32 else np.float64
    return _checked_array("added", entries, dtype, shape, least=least, most=None)


def _checked_sparse(added, shape, least):
    """Return additions as a csr_array rebuilt from its arrays."""
    parts = added.data, added.indices, added.indptr
    if added.format != "csr" or added.shape != shape:
        raise ValueError(f"added is {added.format} of shape {added.shape}, where csr {shape} is needed")
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
        raise ValueError("the arrays of added do not form a sparse matrix")
    added = check_sparse_structure(added)
    entries = _checked_entries(added.data, (None,), least)
    added = sp.csr_array((entries, np.asarray(added.indices), np.asarray(added.indptr)), shape=shape)
    if not added.has_canonical_format:
        raise ValueError("added has topics of a word that are repeated or not ascending")
    return added


def _checked_array(name, array, dtype, shape, least=-ROUNDING, most=TOO_LARGE):
    """Return an array as ndarray; ValueError for another type, size (None is any) or range."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype or not array.flags.c_contiguous:
        found = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(f"{name} is {found}, where an array of {np.dtype(dtype)} is needed")
    array = np.asarray(array)
    if len(array.shape) != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape)):
        raise ValueError(f"{name} has shape {array.shape}, where {shape} is needed")
    if not array.min(initial=0) >= least or (most is not None and not array.max(initial=0) <= most):  # or NaN
        raise ValueError(f"{name} has numbers from {array.min()} to {array.max()}")
    return array


def _checked_number(name, value, most):
    """Return a number from 0 to most as float; ValueError for any other value."""
    number = value.item() if isinstance(value, np.generic) else value  # NumPy would cast `most` to its type
    if not isinstance(number, Real) or isinstance(number, bool) or not 0.0 <= number <= most:
        raise ValueError(f"{name}={value!r:.40} is invalid: must be a number from 0 to {most:g}.")
    return float(number)
