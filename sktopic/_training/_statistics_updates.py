"""How the expected counts of a batch enter the topic-word statistics.

A rule is called with the statistics, the BatchCounts of a batch, the step size rho and whether the update is
the first; its `unit` says what one unit of the statistics stands for. A new rule is a class here, or in the
module of its method; most are a `LinearUpdate`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sktopic._inference._protocol import ExpectedCounts
from sktopic._runtime._parallel import Workers
from sktopic._topics._word_counts import WordCounts


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


class LinearUpdate(ABC):
    """Base class of rules that multiply every entry by one number, and add the counts times another.

    Such updates can be made side by side from the same state, and merged (see _lanes.py).
    """

    # Whether the statistics are an average over updates.
    is_average = False
    # Passes over all entries that an update takes beside its own.
    n_passes = 0

    def of(self, state) -> "LinearUpdate":
        """Return the rule of the next update from a state."""
        return self

    def started(self, words: WordCounts, topic_word_prior: float) -> WordCounts:
        """Return the statistics to start from, words being noise of mean 1."""
        return words

    def grown(self, words: WordCounts, n_words: int, topic_word_prior: float) -> WordCounts:
        """Return the statistics, whose last rows are those of n_words new words and zero."""
        return words

    @abstractmethod
    def kept(self, rho: float, is_first: bool) -> float:
        """What every entry is multiplied by."""

    @abstractmethod
    def factor(self, rho: float, n_documents: float, n_tokens: float) -> float:
        """What the counts of a batch of so many documents and tokens are multiplied by."""

    def combined(self, n_updates: int) -> "LinearUpdate":
        """Return the rule of so many updates as one, whose rho is their combined step size."""
        return self

    @abstractmethod
    def unit(self, total_samples: float) -> float:
        """What one unit of the statistics stands for, in tokens of a corpus of total_samples documents."""

    def __call__(
        self, statistics: WordCounts, batch_counts: BatchCounts, rho: float, is_first: bool, workers: Workers
    ) -> WordCounts:
        """Let the counts of a batch enter, at the rows of its words; return the statistics to go on with."""
        statistics = statistics.decayed(self.kept(rho, is_first))
        factor = self.factor(rho, batch_counts.n_documents, batch_counts.n_tokens)
        statistics.expect(factor * batch_counts.n_tokens)
        statistics = statistics.add(batch_counts.expected, batch_counts.words, factor, workers)
        statistics.count_average()
        return statistics

    def discards(self, rho: float, is_first: bool) -> bool:
        """Whether the update begins with setting every entry to zero."""
        return self.kept(rho, is_first) == 0.0


@dataclass(frozen=True)
class DocumentAverage(LinearUpdate):
    """Statistics are a mean over documents: s <- (1 - rho) s + rho s_hat, s_hat being that of the batch."""

    is_average = True

    def __call__(self, statistics, batch_counts, rho, is_first, workers):
        if is_first and statistics.totals.any():
            # The initial noise weighs what one document (or token, where those are averaged) does.
            n_documents, n_tokens = batch_counts.n_documents, batch_counts.n_tokens
            statistics = statistics.with_total(n_tokens / self.divisor(n_documents, n_tokens))
        return super().__call__(statistics, batch_counts, rho, is_first, workers)

    def kept(self, rho, is_first):
        return 1.0 - rho

    def factor(self, rho, n_documents, n_tokens):
        return rho / self.divisor(n_documents, n_tokens)

    def divisor(self, n_documents, n_tokens):
        """What the counts of a batch are divided by."""
        return n_documents

    def unit(self, total_samples):
        return total_samples


@dataclass(frozen=True)
class TokenAverage(DocumentAverage):
    """The same with a mean over tokens; the corpus has total_samples times mean_length of them."""

    mean_length: float = 1.0

    def of(self, state):
        return TokenAverage(state.n_tokens_seen / state.n_lengths_seen if state.n_lengths_seen else 1.0)

    def divisor(self, n_documents, n_tokens):
        return n_tokens

    def unit(self, total_samples):
        return total_samples * self.mean_length


@dataclass(frozen=True)
class RunningSum(LinearUpdate):
    """Statistics are the sum of all batches: s <- decay s + s_hat; the size of the corpus plays no part.

    The first batch is inferred under the random initial topics, which are then discarded.
    """

    decay: float = 1.0

    def kept(self, rho, is_first):
        return 0.0 if is_first else self.decay

    def combined(self, n_updates):
        return RunningSum(self.decay**n_updates)

    def factor(self, rho, n_documents, n_tokens):
        return 1.0

    def unit(self, total_samples):
        return 1.0
