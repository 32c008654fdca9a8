"""Evidence lower bound of a corpus, for estimators whose method can compute it."""

from __future__ import annotations

from sktopic._documents._matrices import document_groups
from sktopic._documents._sample_weight import LARGEST_CORPUS, SMALLEST_WEIGHT
from sktopic._estimators._constraints import checked_number
from sktopic._runtime._exact_sum import ExactSum
from sktopic._typing import DocumentsLike


def elbo(self, X: DocumentsLike, y: object = None, *, total_samples: float | None = None) -> float:
    """Return the evidence lower bound of a corpus under the fitted posterior of the topics, in nats.

    It bounds the log marginal likelihood of X, with topic proportions, topics and (if they have a posterior)
    topic weights integrated out. The bound depends on the number of documents. To compare the predictions of
    models, use `score`.

    Parameters
    ----------
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts, non-negative.
    y : None
        Ignored.
    total_samples : float or None, default=None
        Size of the corpus, from 1e-12 to 1e14, if X is a sample of it. The documents' part of the bound is
        scaled to this size. If None, X is the corpus. After training by `partial_fit`, use `total_samples_`,
        the corpus size of the posterior of the topics.

    Returns
    -------
    elbo : float
        Bound in nats, summed over all documents.
    """
    if total_samples is not None:
        total_samples = checked_number("total_samples", total_samples, LARGEST_CORPUS, SMALLEST_WEIGHT)

    def bound(inference, documents, workers, progress):
        model = inference.model
        method, state, total, n_documents = model._method(), model._state, ExactSum(), 0
        for first, last, batch in (group for block in documents.blocks() for group in document_groups(block)):
            total.add(method.document_bounds(state, batch, workers))
            n_documents += last - first
            progress.advance(last - first)
        found = (1.0 if total_samples is None else total_samples / n_documents) * total.value()
        for part in method.topic_bounds(state):
            found += part
        return found

    return self._answer(X, bound, "elbo")
