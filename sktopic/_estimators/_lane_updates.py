"""Messages from lanes, and the inputs of a merge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy.sparse as sp

from sktopic._kernels.topics._statistics import add_rows
from sktopic._topics._prior import PriorStatistics
from sktopic._topics._word_counts import no_average


@dataclass(frozen=True)
class LaneSums:
    """Summary of a lane for a merge, without rows of words.

    Attributes
    ----------
    lane : number of the lane
    of : identity of the RoundStart of the lane
    n_updates : number of updates of the lane
    n_documents, n_tokens : numbers of its documents and tokens
    totals : (n_topics,) sums over words of what it adds
    prior : PriorStatistics of its documents if the model learns from them, or None
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
    """Result of a lane in a round.

    Attributes
    ----------
    summary : LaneSums
        Small values that do not belong to single words.
    words : ndarray of shape (n_words,), int64
        Words of its documents, ascending.
    added : ndarray or csr_array of shape (n_words, n_topics), float64 or float32
        Change of their statistics, as if there were no other lanes.
    digest : str
        Digest of all of these, which `sktopic.distributed` checks.
    """

    summary: LaneSums
    words: np.ndarray
    added: np.ndarray | sp.csr_array
    digest: str = ""

    def part_for(self, first, last):
        """Return the part for the shard of words first to last - 1; its `words` are positions in it."""
        a, b = np.searchsorted(self.words, [first, last])
        return LaneUpdate(self.summary, self.words[a:b] - first, self.added[a:b])

    def add_to(self, rows, weight):
        """Add weight times the update to the rows at positions `words` (C order, float64), in place."""
        if sp.issparse(self.added):
            row = np.repeat(self.words, np.diff(self.added.indptr))
            rows[row, self.added.indices] += weight * self.added.data.astype(np.float64, copy=False)
        else:
            averaged, average_weight = no_average(rows.shape[1])
            added = np.ascontiguousarray(self.added, dtype=np.float64)
            words = self.words.astype(np.int32)
            add_rows(0, len(words), added, weight, words, rows, averaged, average_weight)

    @property
    def nbytes(self):
        """Size of the arrays in bytes."""
        added = self.added
        arrays = (added.data, added.indices, added.indptr) if sp.issparse(added) else (added,)
        return sum(array.nbytes for array in (self.summary.totals, self.words, *arrays))


@dataclass(frozen=True)
class RowsMerge:
    """Merge of rows of words: multiply by kept, then add weights times the updates of lanes.

    word_prior_step : step size for a prior of topics that is still to be learned from all rows, or None
    """

    kept: float
    weights: tuple[float, ...]
    word_prior_step: float | None = None


@dataclass(frozen=True)
class LaneCounts:
    """Counts of all lanes of a round as counts of one batch, which has topic totals but no words.

    Each lane has multiplied its counts by its own factor. The merge uses the factor of the round instead.

    Attributes
    ----------
    totals : (n_topics,) totals of each lane
    factors : factor of each lane, 0 if it has no documents
    priors : PriorStatistics of each lane, if the model learns from them
    """

    totals: list[np.ndarray]
    factors: list[float]
    priors: list[PriorStatistics]

    def weights(self, factor):
        """Return the weight of each lane if counts are multiplied by factor."""
        return tuple(factor / own if own > 0.0 else 0.0 for own in self.factors)

    def add_to(self, target, words, factor, workers):
        for totals, weight in zip(self.totals, self.weights(factor)):
            target.totals[0] += weight * totals

    def prior_statistics(self):
        return reduce(PriorStatistics.plus, self.priors)
