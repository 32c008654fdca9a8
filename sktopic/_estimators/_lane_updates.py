"""What lanes send, and what a merge makes of it."""

from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy.sparse as sp

from sktopic._kernels.topics._statistics import add_rows
from sktopic._topics._prior import PriorStatistics
from sktopic._topics._word_counts import no_average


@dataclass(frozen=True)
class LaneSums:
    """What a merge has to know of a lane, beside rows of words.

    Attributes
    ----------
    lane : number of the lane
    of : the identity of the RoundStart that it began with
    n_updates : updates that the lane has made
    n_documents, n_tokens : of its documents
    totals : (n_topics,) sums over words of what it adds
    prior : PriorStatistics of its documents, where the model learns from these; or None
    """

    lane: int
    of: dict
    n_updates: int
    n_documents: int
    n_tokens: float
    totals: np.ndarray
    prior: PriorStatistics | None


@dataclass(frozen=True)
class LaneUpdate:
    """What a lane has found in a round.

    Attributes
    ----------
    summary : LaneSums
        What is not of single words; small.
    words : ndarray of shape (n_words,), int64
        The words of its documents, ascending.
    added : ndarray or csr_array of shape (n_words, n_topics), float64 or float32
        What it adds to their statistics, as if it were alone.
    """

    summary: LaneSums
    words: np.ndarray
    added: np.ndarray | sp.csr_array

    def part_for(self, first, last):
        """The part for a shard, the words first to last, last not included: `words` are positions in it."""
        a, b = np.searchsorted(self.words, [first, last])
        return LaneUpdate(self.summary, self.words[a:b] - first, self.added[a:b])

    def add_to(self, rows, weight):
        """Add weight times it to all rows (C order, float64) of which `words` are positions."""
        if sp.issparse(self.added):
            row = np.repeat(self.words, np.diff(self.added.indptr))
            rows[row, self.added.indices] += weight * self.added.data.astype(np.float64, copy=False)
        else:
            averaged, average_weight = no_average(rows.shape[1])
            added = self.added.astype(np.float64, copy=False)
            words = self.words.astype(np.int32)
            add_rows(0, len(words), added, weight, words, rows, averaged, average_weight)

    @property
    def nbytes(self):
        """Bytes of its arrays."""
        added = self.added
        arrays = (added.data, added.indices, added.indptr) if sp.issparse(added) else (added,)
        return sum(array.nbytes for array in (self.summary.totals, self.words, *arrays))


@dataclass(frozen=True)
class RowsMerge:
    """What merging does to any row of words: it is multiplied by kept, then weights times what lanes add.

    word_prior_step : step size at which the prior of topics is still to be learned from all rows, or None
    """

    kept: float
    weights: tuple[float, ...]
    word_prior_step: float | None = None


@dataclass(frozen=True)
class LaneCounts:
    """The counts of all lanes of a round, as those of one batch that has no words but the totals of topics.

    A lane has multiplied its counts as if it were alone, by its factor; that of the round takes its place.

    Attributes
    ----------
    totals : (n_topics,) of each lane
    factors : of each lane; 0 of those without documents
    priors : PriorStatistics of each lane, where the model learns from these
    """

    totals: list[np.ndarray]
    factors: list[float]
    priors: list[PriorStatistics]

    def weights(self, factor):
        """What is to be added of each lane, where counts are multiplied by a factor."""
        return tuple(factor / own if own > 0.0 else 0.0 for own in self.factors)

    def add_to(self, target, words, factor, workers):
        for totals, weight in zip(self.totals, self.weights(factor)):
            target.totals[0] += weight * totals

    def prior_statistics(self):
        return reduce(PriorStatistics.plus, self.priors)
