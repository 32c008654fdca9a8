"""The distribution over topics that all documents share (the root), from the tables of documents."""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from sktopic._state._fields import State, array, number, total
from sktopic._topics._prior import LARGEST, SMALLEST

# Smallest weight of a topic at the root. Kernels take logarithms of weights and divide by them.
SMALLEST_WEIGHT = 1e-100


def log_root(tables, topic_concentration):
    """Return the log probability of the topics of tables: of b0 ** K prod Gamma(M_k) / (b0)_M."""
    b0, present = topic_concentration, tables[tables > 0]
    return len(present) * np.log(b0) + gammaln(present).sum() + gammaln(b0) - gammaln(b0 + present.sum())


@dataclass(frozen=True, eq=False)
class Root(State):
    """Statistics of tables in documents, and values that follow from them for a corpus of n_documents.

    Attributes
    ----------
    tables : (n_topics,) mean number of tables of each topic in a document
    growth : mean growth of a document's number of tables with the concentration
    """

    tables: np.ndarray = array(np.float64, "topics", merge=total)
    growth: float = number()

    def weights(self, n_documents, concentration, *, exact=True, shared=True):
        """Return r of each topic, the probability that a new table in a document has this topic.

        exact : whether to use the weights of the literature instead of the published approximation
        shared : whether the concentration is divided equally among the topics
        """
        tables = self.tables * max(n_documents, 1.0)
        weights = tables if exact else tables**2 / (tables + 1.0)
        if shared:
            weights = weights + concentration / len(tables)
        return np.maximum(weights / (tables.sum() + concentration), SMALLEST_WEIGHT)

    def doc_concentration(self, n_documents, shape, rate):
        """Return the mode of the concentration of documents under a Gamma prior."""
        above = shape - 1.0 + n_documents * self.tables.sum()
        return _mode(above, rate + n_documents * self.growth)

    def concentration(self, n_documents, value, shape, rate):
        """Return the mode of the root's concentration, whose present value is given."""
        n_tables = n_documents * self.tables.sum()
        n_topics = np.minimum(n_documents * self.tables, 1.0).sum()
        growth = digamma(value + n_tables) - digamma(value)
        return _mode(shape - 1.0 + n_topics, rate + growth)


def _mode(above, below):
    """Return the mode of a Gamma density of shape 1 + above and rate below, within the allowed range."""
    return float(np.clip(above / below, SMALLEST, LARGEST))
