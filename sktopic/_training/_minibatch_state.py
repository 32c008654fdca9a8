"""What every model has that is trained on mini-batches."""

from dataclasses import dataclass

import numpy as np

from sktopic._kernels.random._rng import combine_keys
from sktopic._state._fields import State, array, changed, count, number, part
from sktopic._topics._topic_rows import check_components_init
from sktopic._topics._word_counts import INITIAL_KEY, WordCounts


@dataclass(frozen=True, eq=False, kw_only=True)
class MinibatchState(State):
    """The state after some updates.

    Attributes
    ----------
    words : WordCounts
        The statistics of words in topics.
    total_samples : float
        Size of the corpus at the last update, by weight.
    corpus_size : float
        Documents given to `fit`, and to `partial_fit` since, by weight.
    is_corpus : int
        1 if training began with a corpus of known size, 0 if it began with a stream.
    n_samples_seen : int or float
        Documents seen, by weight, those of later passes too.
    n_passes, n_updates : int
        Passes of `fit`; updates.
    n_topic_updates : int
        Updates by batches that had words.
    seed : int
    validation_scores : ndarray of shape (n_passes,) or None
        Held-out scores, with early stopping.
    """

    words: WordCounts = part(WordCounts)
    total_samples: float = number(0.0)
    corpus_size: float = number(0)
    is_corpus: int = count(0)
    n_samples_seen: float = number(0)
    n_passes: int = count(0)
    n_updates: int = count(0)
    n_topic_updates: int = count(0)
    seed: int = count()
    validation_scores: np.ndarray | None = array(np.float64, None, optional=True)


def random_words(n_features, n_topics, seed, components=None, *, average=False):
    """WordCounts of random topics; those of components, an array or None, come first.

    average : whether topics are averaged over updates
    """
    if components is not None:
        components = check_components_init(components, n_features, most=n_topics)
    words = WordCounts.random(n_features, n_topics, combine_keys(seed, INITIAL_KEY), average=average)
    if components is not None:
        words.start_from(components)
    return words


def counted(state, update, n_documents, n_new=0):
    """The state that counts an Update by so many documents; n_new : those by which the corpus has grown."""
    return changed(
        state,
        n_updates=state.n_updates + update.n_updates,
        n_samples_seen=state.n_samples_seen + n_documents,
        corpus_size=state.corpus_size + n_new,
    )
