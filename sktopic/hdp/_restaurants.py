"""Documents for Gibbs samplers of the HDP: restaurants with tables for topics."""

from dataclasses import dataclass, replace

import numpy as np

from sktopic._kernels._groups import NumberedCells, RootTopics, SweepSettings, TableLists
from sktopic._kernels.documents._reading import clump_bounds
from sktopic._kernels.documents._topic_lists import TOPIC_TABLES
from sktopic._kernels.hdp._gibbs import SEAT_RATIOS, list_topics, sweep_cells, weigh_lists
from sktopic._kernels.random._rng import combine_keys
from sktopic._runtime._arrays import row_blocks

# Numbers of the samplers in the kernel.
SAMPLERS = {"direct_assignment": 0, "table_indicator": 1, "sparse_table_indicator": 2}
# Separate the random streams of one seed.
TABLE_KEY = 0x7461626C65
WEIGHT_KEY = 0x776569676874
# The number of added spare columns is a multiple of this.
SPARE = 16
# Smallest weight of a topic at the root. Kernels divide by weights, but spare columns have zero, and gamma
# variates of tiny concentrations underflow.
SMALLEST_WEIGHT = 1e-290


def generator_of(*values):
    """Return a RandomState for a key, whose numbers are the same in all NumPy versions."""
    key = combine_keys(*values)
    return np.random.RandomState([key >> 32, key & 0xFFFFFFFF])


def padded(array, width):
    """Return the array with its last axis extended by zeros."""
    wider = np.zeros((*array.shape[:-1], width), dtype=array.dtype)
    for rows in row_blocks(wider) if array.ndim > 1 else [...]:
        wider[rows][..., : array.shape[-1]] = array[rows]
    return wider


def wider(topics, size):
    """Return RootTopics extended by empty columns to this size."""
    wide = RootTopics(*(padded(each, size) for each in topics))
    wide.ids[len(topics.ids) :] = -1
    return wide


def sweep_settings(state, sampler, common=0):
    """Return SweepSettings with the parameters of a state; sampler: its name."""
    return SweepSettings(
        sampler=SAMPLERS[sampler],
        common=common,
        topic_concentration=state.topic_concentration,
        doc_concentration=state.doc_concentration,
        topic_word_prior=state.topic_word_prior,
        n_features=state.words.n_features,
    )


def empty_lists(batch):
    """Return TableLists of the documents of a DocumentBatch, with capacity for one topic per token."""
    entries = np.zeros(batch.n_clumps, dtype=TOPIC_TABLES)
    return TableLists(batch.clump_indptr, entries, np.zeros(batch.n_documents, dtype=np.int32))


@dataclass
class Restaurants:
    """Some documents with the topics of their tokens, word by word (see _kernels.hdp._gibbs)."""

    word_indptr: np.ndarray
    words: np.ndarray
    cell_document: np.ndarray
    cell_count: np.ndarray
    cell_start: np.ndarray
    n_customers: np.ndarray
    lists: TableLists
    ratios: np.ndarray
    z: np.ndarray

    @classmethod
    def of(cls, batch):
        """Return the documents of a DocumentBatch, without topics."""
        cell_count = batch.cell_count[batch.word_cell]
        return cls(
            word_indptr=batch.word_indptr,
            words=batch.words,
            cell_document=batch.cell_document()[batch.word_cell],
            cell_count=cell_count,
            cell_start=clump_bounds(cell_count),
            n_customers=np.diff(batch.clump_indptr),
            lists=empty_lists(batch),
            ratios=np.zeros(batch.n_clumps, dtype=SEAT_RATIOS),
            z=batch.unassigned(),
        )

    @classmethod
    def of_words(cls, batch):
        """Return the same for counts that only have rows for the words of the batch."""
        return replace(cls.of(batch), words=np.arange(batch.n_words, dtype=np.int32))

    @property
    def cell_word(self):
        return np.repeat(self.words, np.diff(self.word_indptr))

    @property
    def cells(self):
        return NumberedCells(self.cell_word, self.cell_document, self.cell_count, self.cell_start)

    def assign(self, z):
        """Assign a topic to each token, and one table to each topic of a document."""
        self.z[:] = z
        self.lists.n_entries[:] = 0
        list_topics(cell_document=self.cell_document, cell_count=self.cell_count, lists=self.lists, z=self.z)

    def weigh(self, indicators):
        """Compute the seat ratios, with table indicators or without."""
        weigh_lists(lists=self.lists, ratios=self.ratios, indicators=indicators)

    def sweep(self, topics, rest, settings, key):
        """Draw all tokens; return the topics, in wider arrays if new topics need more columns.

        Parameters
        ----------
        topics : RootTopics
        rest, settings, key : as of _kernels.hdp._gibbs.sweep_cells
        """
        cell, cells = 0, self.cells
        while True:
            cell, rest = sweep_cells(
                first_cell=cell,
                cells=cells,
                topics=topics,
                rest=rest,
                settings=settings,
                lists=self.lists,
                ratios=self.ratios,
                z=self.z,
                key=key,
            )
            if cell == len(self.cell_document):
                return topics
            topics = wider(topics, 2 * len(topics.root) + 4 * SPARE)

    def used(self):
        """Whether each entry of the lists is in use."""
        first, _, n_entries = self.lists
        document = np.repeat(np.arange(len(n_entries)), np.diff(first))
        return np.arange(len(document)) - first[document] < n_entries[document]

    def tables(self, n_topics):
        """Return the number of tables of each topic."""
        entries = self.lists.entries[self.used()]
        return np.bincount(entries["topic"], weights=entries["tables"], minlength=n_topics)

    def rename(self, position):
        """Renumber topics: topic k becomes position[k]."""
        used, topic = self.used(), self.lists.entries["topic"]
        topic[used] = position[topic[used]]
        assigned = self.z >= 0
        self.z[assigned] = position[self.z[assigned]]
