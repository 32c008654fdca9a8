"""The distribution over topics that all documents share (the root), by the tables that documents have."""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from sktopic._state._fields import State, array, number, total
from sktopic._topics._prior import LARGEST, SMALLEST

# Kernels take logarithms of the weights of topics at the root, and divide by them.
SMALLEST_WEIGHT = 1e-100


def expected_topics(lengths, topic_concentration, doc_concentration):
    """How many topics documents of these lengths have under the prior, roughly."""
    b0, b1 = topic_concentration, doc_concentration
    tables = b1 * (digamma(b1 + lengths) - digamma(b1)).sum()
    return b0 * (digamma(b0 + tables) - digamma(b0))


def log_root(tables, topic_concentration):
    """log probability of the topics of tables: of b0 ** K prod Gamma(M_k) / (b0)_M."""
    b0, present = topic_concentration, tables[tables > 0]
    return len(present) * np.log(b0) + gammaln(present).sum() + gammaln(b0) - gammaln(b0 + present.sum())


@dataclass(frozen=True, eq=False)
class Root(State):
    """What is known of the tables in documents, and what follows for a corpus of n_documents.

    Attributes
    ----------
    tables : (n_topics,) mean number of tables of each topic in a document
    growth : mean over documents of how the number of their tables grows with the concentration
    """

    tables: np.ndarray = array(np.float64, "topics", merge=total)
    growth: float = number()

    def weights(self, n_documents, concentration, *, exact=True, shared=True):
        """r of each topic: the probability that a new table in a document is of it.

        exact : whether weights are those of the literature, not the published approximation
        shared : whether the concentration is shared out among the topics
        """
        tables = self.tables * max(n_documents, 1.0)
        weights = tables if exact else tables**2 / (tables + 1.0)
        if shared:
            weights = weights + concentration / len(tables)
        return np.maximum(weights / (tables.sum() + concentration), SMALLEST_WEIGHT)

    def doc_concentration(self, n_documents, shape, rate):
        """The mode of the concentration of documents under a Gamma prior."""
        above = shape - 1.0 + n_documents * self.tables.sum()
        return _mode(above, rate + n_documents * self.growth)

    def concentration(self, n_documents, value, shape, rate):
        """The same of the root's own, which is value now."""
        n_tables = n_documents * self.tables.sum()
        n_topics = np.minimum(n_documents * self.tables, 1.0).sum()
        growth = digamma(value + n_tables) - digamma(value)
        return _mode(shape - 1.0 + n_topics, rate + growth)


def _mode(above, below):
    """The mode of a Gamma density of shape 1 + above and rate below, within the range of concentrations."""
    return float(np.clip(above / below, SMALLEST, LARGEST))
