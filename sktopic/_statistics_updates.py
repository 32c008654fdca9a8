"""How the expected counts of a batch enter the topic-word statistics.

A rule is called with the statistics, the BatchCounts of a batch, the step size rho and whether the update is
the first; its `unit` says what one unit of the statistics stands for. A new rule is a class here, or in the
module of its method, which an estimator returns from ``_statistics_update``.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sktopic._document_steps import ExpectedCounts
from sktopic._parallel import Workers
from sktopic._statistics import TopicWordStatistics


@dataclass(frozen=True)
class BatchCounts:
    """What a document step has found of a batch.

    Attributes
    ----------
    expected : expected counts of words in topics
    words : (n_words,) the columns that the words of these belong to
    n_documents, n_tokens : of the batch, each document as often as its weight says
    """

    expected: ExpectedCounts
    words: np.ndarray
    n_documents: float
    n_tokens: float


class StatisticsUpdate(Protocol):
    """A rule by which batches enter the statistics."""

    # Batches of no more tokens are passed over.
    negligible: float

    def __call__(
        self,
        statistics: TopicWordStatistics,
        batch_counts: BatchCounts,
        rho: float,
        is_first: bool,
        workers: Workers,
    ) -> None:
        """Let the expected counts of a batch enter, at the rows of its words."""

    def discards(self, rho: float, is_first: bool) -> bool:
        """Whether the update begins with setting every entry to zero."""

    def unit(self, total_samples: float) -> float:
        """What one unit of the statistics stands for, in tokens of a corpus of total_samples documents."""


@dataclass(frozen=True)
class DocumentAverage:
    """Statistics are a mean over documents: s <- (1 - rho) s + rho s_hat, s_hat being that of the batch."""

    negligible = 0.0

    def __call__(self, statistics, batch_counts, rho, is_first, workers):
        divisor = self.divisor(batch_counts)
        if is_first and statistics.totals.any():
            # The initial noise weighs what one document (or token, where those are averaged) does.
            statistics.set_total(batch_counts.n_tokens / divisor)
        statistics.decay(1.0 - rho)
        statistics.add(batch_counts.expected, batch_counts.words, rho / divisor, workers)
        statistics.count_average()

    def discards(self, rho, is_first):
        return rho == 1.0

    def divisor(self, batch_counts):
        """What the counts of a batch are divided by."""
        return batch_counts.n_documents

    def unit(self, total_samples):
        return total_samples


@dataclass(frozen=True)
class TokenAverage(DocumentAverage):
    """The same with a mean over tokens; the corpus has total_samples times mean_length of them."""

    mean_length: float

    # Division by fewer tokens might overflow.
    negligible = 1e-200

    def divisor(self, batch_counts):
        return batch_counts.n_tokens

    def unit(self, total_samples):
        return total_samples * self.mean_length


@dataclass(frozen=True)
class RunningSum:
    """Statistics are the sum of all batches: s <- decay s + s_hat; the size of the corpus plays no part.

    The first batch is inferred under the random initial topics, which are then discarded.
    """

    decay: float = 1.0

    negligible = 0.0

    def __call__(self, statistics, batch_counts, rho, is_first, workers):
        statistics.decay(0.0 if is_first else self.decay)
        statistics.add(batch_counts.expected, batch_counts.words, 1.0, workers)

    def discards(self, rho, is_first):
        return is_first or self.decay == 0.0

    def unit(self, total_samples):
        return 1.0
