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


def copy_rows(x_indptr, x_indices, x_data, rows, n_features, largest_count):
    """Rows of a CSR matrix: bounds, words and counts, and whether these are in order; None if not valid."""
    indptr, words, counts, in_order = [0], [], [], True
    for row in rows:
        start, end = int(x_indptr[row]), int(x_indptr[row + 1])
        if not 0 <= start <= end <= min(len(x_indices), len(x_data)):
            return None
        word, count = x_indices[start:end].tolist(), x_data[start:end].astype(np.float64).tolist()
        in_order = in_order and word == sorted(set(word)) and 0 not in count
        words, counts = words + word, counts + count
        indptr.append(len(words))
    if not all(0 <= w < n_features for w in words) or not all(0 <= c <= largest_count for c in counts):
        return None
    indptr = np.array(indptr, dtype=np.int64)
    return indptr, np.array(words, dtype=np.int32), np.array(counts, dtype=np.float64), in_order


def number_words(indptr, cell_word, cell_count, local_word):
    """Words numbered as they first appear, in place, and what follows. local_word is not used."""
    number, clump_indptr, lengths = {}, [0], []
    for d in range(len(indptr) - 1):
        counts = cell_count[indptr[d] : indptr[d + 1]]
        lengths.append(counts.sum())
        clump_indptr.append(clump_indptr[-1] + sum(len(clump_weights(c)) for c in counts))
    cell_word[:] = [number.setdefault(int(w), len(number)) for w in cell_word]
    return (
        np.array(clump_indptr, dtype=np.int64),
        np.array(list(number), dtype=np.int32),
        np.concatenate([[0], np.cumsum(np.bincount(cell_word, minlength=len(number)))]).astype(np.int64),
        np.argsort(cell_word, kind="stable"),
        np.array(lengths, dtype=np.float64),
    )
