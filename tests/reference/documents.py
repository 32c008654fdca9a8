"""Documents and clumps (the twin of _kernels.documents._reading and _clumps.pxd)."""

import numpy as np

MAX_CLUMPS = 64


def clump_weights(count, most=MAX_CLUMPS):
    """The weights of a count's clumps: units and a remainder, or 64 (most) equal ones above that."""
    if count > most:
        return np.full(most, count / most)
    n = int(np.ceil(count))
    return np.array([1.0] * (n - 1) + [count - (n - 1)] if n else [])


def cells_of(indptr, d):
    """The numbers of a document's cells, counted from the first document's first cell."""
    return range(indptr[d] - indptr[0], indptr[d + 1] - indptr[0])


def clumps_of(indptr, cell_count, d, most=MAX_CLUMPS):
    """(cell, weight) of each clump of a document, in order."""
    return [(cell, w) for cell in cells_of(indptr, d) for w in clump_weights(cell_count[cell], most)]


def clumps(cell_count):
    """Cell and weight of each clump of some cells, in order."""
    parts = [clump_weights(c) for c in cell_count]
    return np.repeat(np.arange(len(parts)), [len(part) for part in parts]), np.concatenate(parts)


class Assignments:
    """Which clumps of a document are in which topic.

    order lists the topics as the kernels' lists do, new ones at the end, emptied ones included; it has no
    part in the probabilities, only in which draw a uniform makes.
    """

    def __init__(self, n_topics):
        self.members = np.zeros(n_topics, dtype=int)
        self.n = np.zeros(n_topics)
        self.order = []

    def put(self, k, w):
        if k not in self.order:
            self.order.append(k)
        self.members[k] += 1
        self.n[k] += w

    def take(self, k, w):
        self.members[k] -= 1
        self.n[k] = self.n[k] - w if self.members[k] else 0.0

    def drop_empty(self):
        self.order = [k for k in self.order if self.members[k]]


class Seating:
    """Customers n and tables m of the topics of a document, in the order of the kernels' lists."""

    def __init__(self):
        self.order, self.n, self.m = [], {}, {}

    def put(self, k, opens):
        if k not in self.order:
            self.order.append(k)
            self.n[k] = self.m[k] = 0
        self.n[k] += 1
        self.m[k] += opens

    def take(self, k, head):
        self.n[k] -= 1
        self.m[k] -= head
        if self.n[k] == 0:
            fill_gap(self.order, k)


def fill_gap(order, k):
    """Remove k: the last entry takes its place."""
    last = order.pop()
    if last != k:
        order[order.index(k)] = last


def number_words(indptr, cell_word, cell_count):
    """The words of cells numbered as they first appear, and what the kernel returns."""
    first = {}
    number = np.array([first.setdefault(word, len(first)) for word in cell_word.tolist()], dtype=np.int32)
    n_clumps = np.cumsum([0, *(len(clump_weights(count)) for count in cell_count)])
    return (
        number,
        n_clumps[indptr],
        np.array(list(first), dtype=np.int32),
        np.concatenate([[0], np.cumsum(np.bincount(number, minlength=len(first)))]).astype(np.int64),
        np.argsort(number, kind="stable"),
        np.array([cell_count[list(cells_of(indptr, d))].sum() for d in range(len(indptr) - 1)]),
    )
