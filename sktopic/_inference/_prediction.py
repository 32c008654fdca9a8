"""What a step infers of documents, with all else held fixed: proportions, draws of them, topics of words.

Each document is treated by the step with the topics (TopicProbabilities) and the prior held fixed; its
stream is named by the key and its own content, so no result depends on other documents.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sktopic._documents._matrices import answer_dtype, cells_of_entries, document_groups
from sktopic._kernels.inference._top_topics import choose_topics
from sktopic._kernels.random._dirichlet_draws import draw_dirichlets
from sktopic._kernels.random._rng import combine_each
from sktopic._runtime._progress import NOT_SHOWN


class FixedTopics(NamedTuple):
    """What documents are inferred with, which does not change meanwhile.

    Attributes
    ----------
    topics : TopicProbabilities
    prior : (n_components,) Dirichlet parameters of proportions
    step : InferenceStep
    key : of the streams of random numbers
    covariates : (n_documents, n_covariates) of the documents, which the step may read, or None
    """

    topics: Any
    prior: np.ndarray
    step: Any
    key: int
    covariates: np.ndarray | None = None


# Tells the streams of draws of proportions from those that topics are drawn from.
DRAW_KEY = 0x64726177
# Numbers that are computed for the cells of some documents at once.
MOST_WEIGHTS = 1 << 24
# Sums that sparse Gibbs sampling keeps of some documents at once: one for each cell and each topic that its
# document had in a counted sweep. If topics say little about words, these are nearly all topics.
MOST_SUMS = 1 << 27


def infer_proportions(X, fixed, workers, progress=NOT_SHOWN):
    """theta of documents X, ndarray of shape (n_documents, n_components), float32 where X is."""
    topics, prior, step, key, covariates = fixed
    theta = np.empty((X.shape[0], len(prior)), dtype=answer_dtype(X))
    for first, last, batch in _groups(X, covariates, len(prior)):
        gathered = topics.gather(batch.words, prior, workers)
        theta[first:last] = step(batch, gathered, prior, batch.content_keys(key), workers).proportions()
        _check(math.isfinite(theta[first:last].sum()))
        progress.advance(last - first)
    return theta


def draw_proportions(X, n_draws, fixed, workers, progress=NOT_SHOWN):
    """Draws of theta from what the step says is its posterior, (n_documents, n_draws, n_components)."""
    topics, prior, step, key, covariates = fixed
    theta = np.empty((X.shape[0], n_draws, len(prior)), dtype=answer_dtype(X))
    for first, last, batch in _groups(X, covariates, len(prior)):
        gathered, keys = topics.gather(batch.words, prior, workers), batch.content_keys(key)
        drawn, pieces = np.empty((batch.n_documents, len(prior))), workers.ranges(batch.n_documents)
        posteriors = step.posteriors(batch, gathered, prior, keys, n_draws, workers)
        for i, parameters in enumerate(posteriors):
            totals = parameters.sum(axis=1)
            _check(parameters.min() >= 0 and totals.min() > 0 and totals.max() < np.inf)
            streams = combine_each(keys, DRAW_KEY + i)
            parts = [(parameters[a:b], streams[a:b], drawn[a:b]) for a, b in pieces]
            workers.map_here(draw_dirichlets, parts)
            theta[first:last, i] = drawn
        progress.advance(last - first)
    return theta


def infer_word_topics(X, n_topics, fixed, workers, progress=NOT_SHOWN):
    """The most probable topics of each entry of X, and their probabilities.

    Returns
    -------
    topics : (n_entries, n_topics) int32, the most probable first; -1 for a stored zero
    probabilities : (n_entries, n_topics) of these, float32 where X is; 0 for a stored zero
    """
    topics, prior, step, key, covariates = fixed
    chosen = np.full((len(X.indices), n_topics), -1, dtype=np.int32)
    probabilities = np.zeros(chosen.shape, dtype=answer_dtype(X))
    for first, last, batch in document_groups(X, covariates, max(1, MOST_WEIGHTS // len(prior))):
        gathered = topics.gather(batch.words, prior, workers)
        inferred = step.by_cell(batch, gathered, prior, batch.content_keys(key), workers)
        shape = len(batch.cell_word), n_topics
        found = np.empty(shape, dtype=np.int32), np.empty(shape)
        choose = partial(_choose_in_documents, inferred, batch, *found)
        workers.map_here(choose, workers.ranges(batch.n_documents))
        _check(math.isfinite(found[1].sum()))
        entries, cells = cells_of_entries(X, first, last, batch)
        chosen[entries], probabilities[entries] = (of_cells[cells] for of_cells in found)
        progress.advance(last - first)
    return chosen, probabilities


def _groups(X, covariates, n_topics):
    """Groups of documents of which sampling keeps at most MOST_SUMS, or one document."""
    return document_groups(X, covariates, max(1, MOST_SUMS // max(1, n_topics)))


def _choose_in_documents(inferred, batch, topics, probabilities, first, last):
    """Fill the rows of the cells of documents first to last."""
    for document in range(first, last):
        cells = batch.cells_of(document)
        choose_topics(inferred.topic_weights(document), topics[cells], probabilities[cells])


def _check(are_valid):
    if not are_valid:
        raise ValueError("the fitted state gives proportions that are not finite; call fit.")
