"""Expected counts that are a product of a document's part, a word's part and a number for each cell."""

from dataclasses import dataclass

import numpy as np

from sktopic._documents._matrices import DocumentBatch
from sktopic._kernels.topics._statistics import add_factored_counts
from sktopic._topics._topic_rows import GatheredTopics
from sktopic._topics._word_counts import word_cells


@dataclass
class FactoredCounts:
    """Expected counts share[cell] * expectation[document, k] * rows[word, k] of the cells."""

    batch: DocumentBatch
    topics: GatheredTopics
    expectation: np.ndarray
    share: np.ndarray

    def work(self):
        return len(self.share) * self.expectation.shape[1]

    def add_to(self, target, words, factor, workers):
        add_factored_counts(
            words=word_cells(self.batch, words),
            cell_document=self.batch.cell_document(),
            expectation=self.expectation,
            share=self.share,
            rows=self.topics.rows,
            factor=factor,
            target=target,
            team=workers.team,
        )

    def topic_weights(self, document):
        rows = self.topics.rows[self.batch.cell_word[self.batch.cells_of(document)]]
        return np.multiply(self.expectation[document], rows, dtype=np.float64)


@dataclass
class WeightedCounts(FactoredCounts):
    """Expected counts from unnormalized weights of topics in documents."""

    weights: np.ndarray

    @classmethod
    def of(cls, batch, topics, weights, share):
        return cls(batch, topics, weights.astype(topics.rows.dtype), share, weights)

    def proportions(self):
        return self.weights / self.weights.sum(axis=1, keepdims=True)
