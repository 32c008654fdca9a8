"""Training in lanes, by whatever runs functions side by side: start, local updates, and their merge.

A round begins with a model that all lanes share. Each lane treats mini-batches of its own documents by
`local_update`; `merge_updates` lets what all of them have found enter the model. The functions are pure: they
change nothing, and the same arguments give the same bits wherever they run.
"""

from numbers import Integral
from typing import TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from sktopic import _lanes
from sktopic._lanes import LaneModel, LaneUpdate
from sktopic._typing import MatrixLike

Model = TypeVar("Model", bound=LaneModel)

__all__ = ["LaneUpdate", "local_update", "merge_updates", "start_model"]


def start_model(
    estimator: Model,
    n_features: int,
    total_samples: float,
    feature_names: ArrayLike | None = None,
) -> Model:
    """Return a model as it is before its first update, from which lanes start.

    Parameters
    ----------
    estimator : OnlineEMLDA, HybridLDA, OnlineVariationalLDA, OnlineCVB0LDA, OnlineOPELDA, HybridHDP, \
StreamingVariationalLDA or StreamingGibbsLDA
        The parameters; it is not changed. Options without a rule for lanes raise an error that says so.
    n_features : int
        Number of words.
    total_samples : float
        Documents of the corpus, unless the estimator's total_samples says it.
    feature_names : array-like of str or None, default=None
        Names of the words.

    Returns
    -------
    model : estimator of the same class
        With random topics, the same that `fit` starts from.

    Raises
    ------
    ValueError, TypeError
        For parameters out of range, and for methods and options without a rule for lanes.

    Examples
    --------
    One round of two lanes, by hand:

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
    head = _lanes.begin(estimator, n_features, total_samples, feature_names)
    rows, sums = _lanes.initial_rows(head, 0, head.n_features)
    return cast(Model, _lanes.finish(_lanes.set_initial_totals(head, [sums]), [rows]))


def local_update(
    model: LaneModel,
    X: MatrixLike,
    *,
    lane: int,
    n_updates: int = 1,
    batch_size: int | None = None,
    dtype: str = "float64",
) -> LaneUpdate:
    """Treat mini-batches of one lane, beginning with the model that all lanes share.

    Parameters
    ----------
    model : estimator
        From `start_model` or `merge_updates`, or fitted. It is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts of the lane's documents: at most ``n_updates * batch_size``, cut into batches in their
        order.
    lane : int
        Number of the lane, from 0 on. With its batch_size it says which random numbers documents get: no two
        lanes of a round have the same.
    n_updates : int, default=1
        Mini-batches before the merge, the same for all lanes; 1 before the first merge of a model, which
        replaces its random start.
    batch_size : int or None, default=None
        Documents of a batch; None: that of the model.
    dtype : {'float64', 'float32'}, default='float64'
        What is added to the statistics is rounded to this.

    Returns
    -------
    update : LaneUpdate
        To pickle and to hand to `merge_updates`; its ``nbytes`` says how large it is.

    Raises
    ------
    ValueError
        For more documents than fit, other numbers than these, or X that is no valid count matrix.
    """
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype={dtype!r}: 'float64' and 'float32' are allowed.")
    batch_size = model.batch_size if batch_size is None else batch_size
    for name, value, least in (("lane", lane, 0), ("n_updates", n_updates, 1), ("batch_size", batch_size, 1)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name}={value!r}: an integer from {least} on is allowed.")
    head = _lanes.head_of(model)
    X = sp.csr_array(model._validate_documents(X, reset=False))
    if X.shape[0] > n_updates * batch_size:
        raise ValueError(
            f"X has {X.shape[0]} samples; n_updates={n_updates} with batch_size={batch_size} are for "
            f"{n_updates * batch_size} at most."
        )
    batches = [X[i * batch_size : (i + 1) * batch_size] for i in range(n_updates)]
    words, batches = _lanes.narrowed(batches)
    rows = _lanes.rows_of(model, words)
    return _lanes.local_update(head, words, rows, batches, lane, batch_size, np.dtype(dtype))


def merge_updates(model: Model, updates: list[LaneUpdate], *, is_first_visit: bool = True) -> Model:
    """Let what the lanes of a round have found enter the model that they began with.

    Parameters
    ----------
    model : estimator
        That was given to `local_update`. It is not changed.
    updates : list of LaneUpdate
        Of all lanes that had documents, in any order: they are merged in the order of their numbers, which
        are 0, 1, and so on.
    is_first_visit : bool, default=True
        Whether the documents may be new to the model. The doc_concentration of `HybridHDP` is learned from
        new documents alone: say False in a second pass.

    Returns
    -------
    model : estimator of the same class
        A plain fitted model: to answer, to save, to train on by `partial_fit` or in another round.

    Raises
    ------
    ValueError
        If a lane is missing or there twice, or if the updates are of another model or of different rounds.
    """
    head = _lanes.head_of(model)
    updates = sorted(updates, key=lambda update: update.summary.lane)
    head, merge = _lanes.merge_heads(head, [update.summary for update in updates], is_first_visit)
    n_features = head.n_features
    rows = _lanes.rows_of(model, slice(None))
    rows = _lanes.merge_rows(rows, merge, [update.rows_of(0, n_features) for update in updates])
    if head.wants_row_sums:
        head = _lanes.learn_from_rows(head, [_lanes.row_sums(head, 0, n_features, rows)])
    return cast(Model, _lanes.finish(head, [rows]))
