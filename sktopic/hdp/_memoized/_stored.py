"""Summaries of batches as they are stored: a few long arrays of all batches."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sktopic._state._fields import State, array
from sktopic.hdp._memoized._summaries import INDEX, BatchSummary, edited

# Arrays of a summary with an entry for each word and topic, and for each document and topic.
ENTRIES = ("word", "topic", "tokens")
DOCUMENT_ENTRIES = ("document_topic", "document_tokens")


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredSummaries(State):
    """The arrays of BatchSummary, each of all batches, and where batches and documents begin.

    Attributes
    ----------
    lengths : (n_documents,) entries of each document
    bounds : (n_batches + 1, 3) entries, entries of documents, and documents there are up to each batch
    """

    word: np.ndarray = array(INDEX, "word entries")
    topic: np.ndarray = array(INDEX, "word entries")
    tokens: np.ndarray = array(np.float64, "word entries")
    document_topic: np.ndarray = array(INDEX, "document entries")
    document_tokens: np.ndarray = array(np.float64, "document entries")
    sample_weight: np.ndarray = array(np.float64, "documents")
    lengths: np.ndarray = array(np.int64, "documents")
    entropy: np.ndarray = array(np.float64, "batches", "topics")
    bounds: np.ndarray = array(np.int64, None, 3)


def no_summaries(n_topics):
    """The StoredSummaries of no batches."""
    return StoredSummaries(
        word=np.empty(0, dtype=INDEX),
        topic=np.empty(0, dtype=INDEX),
        tokens=np.empty(0),
        document_topic=np.empty(0, dtype=INDEX),
        document_tokens=np.empty(0),
        sample_weight=np.empty(0),
        lengths=np.empty(0, dtype=np.int64),
        entropy=np.empty((0, n_topics)),
        bounds=np.zeros((1, 3), dtype=np.int64),
    )


def stored(summaries):
    """The StoredSummaries of some BatchSummary, at least one."""
    sizes = [[len(s.tokens), len(s.document_tokens), s.n_documents] for s in summaries]
    ends = np.cumsum(np.array(sizes, dtype=np.int64).reshape(-1, 3), axis=0)
    names = (*ENTRIES, *DOCUMENT_ENTRIES, "sample_weight")
    return StoredSummaries(
        **{name: np.concatenate([getattr(s, name) for s in summaries]) for name in names},
        lengths=np.concatenate([np.diff(s.bounds) for s in summaries]),
        entropy=np.stack([s.entropy for s in summaries]),
        bounds=np.concatenate([np.zeros((1, 3), dtype=np.int64), ends]),
    )


def restored(held):
    """The BatchSummary of each batch, on the arrays of StoredSummaries."""
    summaries = []
    for b, (first, last) in enumerate(pairwise(held.bounds.tolist())):
        entries, of_documents, documents = (slice(*ends) for ends in zip(first, last))
        summaries.append(
            BatchSummary(
                **{name: getattr(held, name)[entries] for name in ENTRIES},
                **{name: getattr(held, name)[of_documents] for name in DOCUMENT_ENTRIES},
                entropy=held.entropy[b],
                bounds=np.concatenate([[0], np.cumsum(held.lengths[documents])]),
                sample_weight=held.sample_weight[documents],
            )
        )
    return summaries


def checked(held, n_features):
    """StoredSummaries, or ValueError for arrays that do not fit together: they may come from a file."""
    if _fit_together(held, n_features):
        return held
    raise ValueError(
        "the fitted state is damaged: the sums that batches have left behind do not fit together. Load it "
        "from a file that is whole, or call fit."
    )


def _fit_together(held, n_features):
    bounds, lengths, n_topics = held.bounds, held.lengths, held.entropy.shape[1]
    ends = [len(held.tokens), len(held.document_tokens), len(held.sample_weight)]
    if len(bounds) != len(held.entropy) + 1 or bounds[0].any() or bounds[-1].tolist() != ends:
        return False
    if np.any(np.diff(bounds, axis=0) < 0) or np.any(lengths < 0):
        return False
    if not np.array_equal(np.append(0, np.cumsum(lengths))[bounds[:, 2]], bounds[:, 1]):
        return False
    numbers = (held.word, n_features), (held.topic, n_topics), (held.document_topic, n_topics)
    return all(((array >= 0) & (array < n)).all() for array, n in numbers)


def after_edit(held, edit):
    """StoredSummaries after a TopicEdit."""
    summaries = [edited(summary, edit) for summary in restored(held)]
    return stored(summaries) if summaries else no_summaries(edit.n_left)
