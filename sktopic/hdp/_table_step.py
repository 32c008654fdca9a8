"""Gibbs sampling of documents of the HDP with table indicators."""

from dataclasses import dataclass

import numpy as np

from sktopic._inference._pieces import document_pieces, joined
from sktopic._inference._sparse_gibbs import SampledCounts, joined_indptr
from sktopic._kernels._groups import AliasTables, SparseSums
from sktopic._kernels.hdp._table_indicators import sweep_tables
from sktopic._kernels.random._alias import build_alias_tables
from sktopic._topics._prior import PriorStatistics

# Number of draws of a word above which an alias table pays, for any number of topics.
MANY_DRAWS = 300
# Parts of a batch whose documents have fractional weights.
N_PIECES = 16


@dataclass
class TableCounts(SampledCounts):
    """Sums over sweeps of drawn topics, and of the tables of each topic in all documents, by weight."""

    tables: np.ndarray

    def prior_statistics(self):
        """Return the tables in place of their expectation (see PriorStatistics.topic_gains)."""
        gains = self.tables / self.n_sweeps / self.prior
        return PriorStatistics.from_gains(self.prior, gains, *self.batch.with_words())


@dataclass
class TableStep:
    """Gibbs sampling of each document's topics and table indicators (see _kernels.hdp._table_indicators).

    Attributes
    ----------
    burn_in, sweeps : number of discarded sweeps, then of counted sweeps
    sparse : whether a draw visits the topics of the document instead of all topics
    """

    burn_in: int
    sweeps: int
    sparse: bool

    def __call__(self, batch, topics, prior, keys, workers, with_prior_statistics=False):
        settings = {
            "rows": topics.rows,
            "cumulative": topics.cumulative,
            "alpha": prior,
            "n_burn_in": self.burn_in,
            "n_sweeps": self.sweeps,
            "tables_of_words": self.alias_tables(batch, topics, prior, workers) if self.sparse else None,
        }
        weights = batch.document_weight()
        # Sums of fractions depend on where they are divided, which must not depend on the workers.
        is_whole = not np.any(weights % 1.0)
        ranges = document_pieces(batch, workers) if is_whole else batch.chunks(N_PIECES)
        pieces = [(batch.cells(a, b), keys[a:b], weights[a:b], settings) for a, b in ranges]
        indptr, column_topic, values, tables = zip(*workers.map(_sweep, pieces))
        fixed, log_theta = np.zeros(len(batch.cell_word)), np.empty(0)  # unused by draws
        sums = SparseSums(joined_indptr(indptr), joined(column_topic), joined(values), fixed, log_theta)
        return TableCounts(batch, topics, prior, self.sweeps, sums, np.sum(tables, axis=0))

    def alias_tables(self, batch, topics, prior, workers):
        """Return AliasTables of the words that are drawn often enough to pay for one."""
        n_words, n_topics = topics.rows.shape
        of_word = np.full(n_words, -1, dtype=np.int32)
        n_draws = (self.burn_in + self.sweeps) * batch.documents_of_words()
        words = np.flatnonzero(n_draws >= MANY_DRAWS).astype(np.int32)
        of_word[words] = np.arange(len(words))
        threshold = np.empty((len(words), n_topics))
        alias = np.empty((len(words), n_topics), dtype=np.int32)
        pieces = [
            (words[a:b], topics.rows, prior, threshold[a:b], alias[a:b])
            for a, b in workers.ranges(len(words))
        ]
        workers.map_here(build_alias_tables, pieces)
        return AliasTables(of_word, threshold, alias)


def _sweep(cells, keys, sample_weight, settings):
    """Return the kernel for some documents."""
    return sweep_tables(cells, keys=keys, sample_weight=sample_weight, **settings)
