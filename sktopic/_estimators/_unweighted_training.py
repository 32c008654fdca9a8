"""`fit` and `partial_fit` of estimators whose documents cannot have weights.

A subclass of MinibatchEstimator assigns these functions to the same names in its body.
"""

from __future__ import annotations

from typing import TypeVar

from sktopic._estimators._concurrency import fits, trains
from sktopic._estimators._minibatch_estimator import MinibatchEstimator
from sktopic._runtime._compat import with_callbacks
from sktopic._typing import DocumentsLike

Model = TypeVar("Model", bound=MinibatchEstimator)


@fits
@with_callbacks
def fit(self: Model, X: DocumentsLike, y: object = None) -> Model:
    """Learn the topics of a corpus from scratch.

    Parameters
    ----------
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts, non-negative, real values allowed. Each block holds some of the rows, and every pass
        iterates over the blocks again. Corpora on disk and blocks need little memory (see the guide page
        "Train on data larger than memory", also for ``shuffle``).
    y : None
        Ignored.

    Returns
    -------
    self : object
        The fitted estimator.

    Raises
    ------
    ValueError
        If a parameter is out of range, or X is not a valid count matrix or changes during the call. After any
        error the estimator keeps its earlier fit.
    RuntimeError
        If another thread is training this object, or a parameter is set during the call.
    KeyboardInterrupt
        If you interrupt the call. The model keeps the last complete update.
    """
    return self._fit(X, y, sample_weight=None)


@trains
def partial_fit(self: Model, X: DocumentsLike, y: object = None) -> Model:
    """Continue training on more documents, in batches of ``batch_size``.

    Parameters
    ----------
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts, non-negative, real values allowed. Blocks are read once, so an iterator is allowed. If a
        block is invalid, the model keeps what it learned from the blocks before it.
    y : None
        Ignored.

    Returns
    -------
    self : object
        The estimator.

    Raises
    ------
    ValueError, RuntimeError
        As in `fit`. Also if n_components has changed, unless the model uses it only as the initial number of
        topics. After an error, the model keeps the last complete update.
    """
    return self._partial_fit(X, sample_weight=None)


class NoRequest:
    """Replacement for the inherited `set_fit_request`, because fit takes no sample_weight."""

    def __get__(self, model, owner):
        if model is None:
            return self
        raise AttributeError(
            f"fit and partial_fit of {owner.__name__} take no sample_weight, so metadata cannot be requested."
        )
