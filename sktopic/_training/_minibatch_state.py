"""What every model has that is trained on mini-batches."""

from dataclasses import dataclass

import numpy as np

from sktopic._state._fields import State, array, count, number, part
from sktopic._topics._word_counts import WordCounts


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
    total_samples: float = number()
    corpus_size: float = number()
    n_samples_seen: float = number()
    n_passes: int = count()
    n_updates: int = count()
    n_topic_updates: int = count()
    seed: int = count()
    validation_scores: np.ndarray | None = array(np.float64, None, optional=True)
