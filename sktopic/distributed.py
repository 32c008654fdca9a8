"""Training in lanes with any parallel framework: start, local updates and merge.

All lanes of a round share a model. Each lane trains on mini-batches of its own documents by `local_update`.
`merge_updates` combines the updates into a new model. The functions are pure: they modify nothing, and the
same arguments give the same bits everywhere. The module is experimental.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from sktopic._documents._matrices import MOST_WORDS, rows_of_documents
from sktopic._documents._sample_weight import LARGEST_CORPUS, SMALLEST_WEIGHT
from sktopic._estimators import _lanes
from sktopic._estimators._constraints import checked_integer, checked_number
from sktopic._estimators._lane_updates import LaneUpdate
from sktopic._estimators._minibatch_estimator import MinibatchEstimator
from sktopic._runtime._attributes import attributes_of
from sktopic._typing import MatrixLike

Model = TypeVar("Model", bound=MinibatchEstimator)
# Maximum number of updates per lane between merges. Each takes some time, also without documents.
MOST_UPDATES = 2**16

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
        With the random topics that `fit` starts from if components_init is None.

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
    n_features = checked_integer("n_features", n_features, 1, MOST_WORDS)
    total_samples = checked_number("total_samples", total_samples, LARGEST_CORPUS, SMALLEST_WEIGHT)
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

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.distributed import local_update, start_model
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(50, random_state=0).data
    >>> model = start_model(OnlineEMLDA(n_components=10, random_state=0), X.shape[1], total_samples=50)
    >>> update = local_update(model, X, lane=0)
    >>> update.nbytes > 0
    True
    """
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype={dtype!r} is invalid: must be 'float64' or 'float32'.")
    lane = checked_integer("lane", lane, 0)
    n_updates = checked_integer("n_updates", n_updates, 1, MOST_UPDATES, "Merge more often.")
    start = _lanes.start_of(model)
    batch_size = checked_integer(
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
    update = _lanes.local_update(start, words, _lanes.rows_of(model, words), batches, lane, dtype)
    return replace(update, digest=_digest_of(update))


def merge_updates(model: Model, updates: list[LaneUpdate], *, is_first_visit: bool = True) -> Model:
    """Return the model after merging the updates of all lanes of a round.

    Parameters
    ----------
    model : estimator
        The model that was passed to `local_update`. It is not changed.
    updates : list of LaneUpdate
        Updates of all lanes that had documents, in any order. Their digests are checked, then they are merged
        in the order of their lane numbers 0, 1, and so on. Loading a pickle can run code before this check:
        load only pickles from your own workers.
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

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.distributed import local_update, merge_updates, start_model
    >>> from sktopic.lda import OnlineEMLDA
    >>> X = make_bars(50, random_state=0).data
    >>> model = start_model(OnlineEMLDA(n_components=10, random_state=0), X.shape[1], total_samples=50)
    >>> merge_updates(model, [local_update(model, X, lane=0)]).n_samples_seen_
    50
    """
    start, updates = _lanes.start_of(model), list(updates)
    identity = start.identity
    for update in updates:
        _check_update(update, identity)
    start, rows = _lanes.merge_whole(start, _lanes.rows_of(model), updates, is_first_visit)
    return cast(Model, _lanes.finish(start, [rows]))


def _check_update(update, identity):
    """Raise ValueError unless an update is from `local_update`, unchanged, for the model of this identity."""
    if not isinstance(update, LaneUpdate):
        raise ValueError(f"updates has {update!r:.80}: each must be a LaneUpdate from local_update.")
    try:
        is_intact = bool(update.digest == _digest_of(update))
    except (AttributeError, TypeError, ValueError):  # parts of other types
        is_intact = False
    if not is_intact:
        lane = getattr(update.summary, "lane", None)
        raise ValueError(
            f"the update of lane {lane!r:.40} is damaged: its digest is wrong. Call local_update again for "
            "this lane."
        )
    _lanes.check_same_model(update.summary, identity)


def _digest_of(update):
    """Return a digest of the numbers and arrays of an update."""
    summary, added = update.summary, update.added
    numbers = summary.lane, summary.n_updates, summary.n_documents, summary.n_tokens
    prior = () if summary.prior is None else attributes_of(summary.prior).values()
    parts = (added.shape, added.data, added.indices, added.indptr) if sp.issparse(added) else (added,)
    digest = hashlib.blake2b(json.dumps(summary.of).encode(), digest_size=16)
    for value in (*numbers, summary.totals, *prior, update.words, *parts):
        kind = "array" if isinstance(value, np.ndarray) else type(value).__name__
        array = np.asarray(value)
        digest.update(f"{kind} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()
