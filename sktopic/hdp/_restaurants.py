"""Documents as Gibbs samplers of the HDP have them: restaurants with tables for topics."""

from dataclasses import dataclass

import numpy as np

from sktopic._arrays import row_blocks
from sktopic._kernels._collapsed_gibbs import move_counts
from sktopic._kernels._documents import clump_bounds
from sktopic._kernels._hdp_gibbs import list_topics, sweep_cells, weigh_lists
from sktopic._kernels._rng import combine_keys

# The numbers of the samplers in the kernel.
SAMPLERS = {"direct_assignment": 0, "table_indicator": 1, "sparse_table_indicator": 2}
# Tell the streams of one seed apart.
TABLE_KEY = 0x7461626C65
WEIGHT_KEY = 0x776569676874
# Room for topics comes in multiples of this.
ROOM = 16


def generator_of(*values):
    """A generator of its own for a key; RandomState, whose numbers no version of NumPy changes."""
    key = combine_keys(*values)
    return np.random.RandomState([key >> 32, key & 0xFFFFFFFF])


def padded(array, width):
    """The array, its last axis made wider with zeros."""
    wider = np.zeros((*array.shape[:-1], width), dtype=array.dtype)
    for rows in row_blocks(wider) if array.ndim > 1 else [...]:
        wider[rows][..., : array.shape[-1]] = array[rows]
    return wider


@dataclass
class Restaurants:
    """Some documents with the topics of their tokens, as _kernels._hdp_gibbs has them: word by word."""

    word_indptr: np.ndarray
    words: np.ndarray
    cell_document: np.ndarray
    cell_count: np.ndarray
    cell_start: np.ndarray
    n_customers: np.ndarray
    slot_start: np.ndarray
    slots: np.ndarray
    gains: np.ndarray
    n_slots: np.ndarray
    z: np.ndarray

    @classmethod
    def of(cls, batch):
        """The documents of a DocumentBatch, with no topics yet."""
        cell_count = batch.cell_count[batch.word_cell]
        room = batch.n_clumps
        return cls(
            batch.word_indptr,
            batch.words,
            batch.cell_document()[batch.word_cell],
            cell_count,
            clump_bounds(cell_count),
            np.diff(batch.clump_indptr),
            batch.clump_indptr,
            np.zeros((room, 3), dtype=np.int32),
            np.zeros((room, 2)),
            np.zeros(batch.n_documents, dtype=np.int32),
            np.full(room, -1, dtype=np.int32),
        )

    @property
    def cell_word(self):
        return np.repeat(self.words, np.diff(self.word_indptr))

    @property
    def cells(self):
        return self.cell_word, self.cell_document, self.cell_count, self.cell_start

    @property
    def lists(self):
        return self.slot_start, self.slots, self.n_slots

    def assign(self, z):
        """Give every token a topic, and every topic of a document a table."""
        self.z[:] = z
        self.n_slots[:] = 0
        list_topics(self.cell_document, self.cell_count, *self.lists, self.z)

    def weigh(self, indicators):
        weigh_lists(self.slot_start, self.slots, self.gains, self.n_slots, indicators)

    def sweep(self, arrays, root, rest, settings, key, make_room):
        """Draw all tokens; returns weights of topics at the root, and their rest.

        Parameters
        ----------
        arrays : function that gives counts, totals and ids, with as many places as root
        root, rest, settings, key : as of _kernels._hdp_gibbs.sweep_cells
        make_room : function that makes so many places, where there are too few for new topics
        """
        cell, lists = 0, (self.slot_start, self.slots, self.gains, self.n_slots)
        while True:
            counts, totals, ids = arrays()
            state = counts, totals, root, rest, ids
            cell, rest = sweep_cells(cell, *self.cells, *state, *settings, *lists, self.z, key)
            if cell == len(self.cell_document):
                return root, rest
            size = 2 * len(root) + 4 * ROOM
            make_room(size)
            root = padded(root, size)

    def used(self):
        """Which entries of the lists are in use."""
        document = np.repeat(np.arange(len(self.n_slots)), np.diff(self.slot_start))
        return np.arange(len(document)) - self.slot_start[document] < self.n_slots[document]

    def tables(self, n_topics):
        """Tables of each topic."""
        topic, _, tables = self.slots[self.used()].T
        return np.bincount(topic, weights=tables, minlength=n_topics)

    def rename(self, place):
        """Let topic k be place[k] from now on."""
        used = self.used()
        self.slots[used, 0] = place[self.slots[used, 0]]
        assigned = self.z >= 0
        self.z[assigned] = place[self.z[assigned]]

    def add_to(self, counts):
        """Count the tokens of each word in each topic."""
        nowhere = np.full_like(self.z, -1)
        move_counts(self.word_indptr, self.words, self.cell_count, nowhere, self.z, counts)
