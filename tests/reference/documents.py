"""Documents and clumps (the twin of sktopic._kernels._documents and _clumps.pxd)."""

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


def structure_bounds(indptr, indices):
    """Whether bounds ascend from 0 within the indices; the smallest and largest of rows, or 0 and -1."""
    ascends = indptr[0] == 0 and indptr[-1] <= len(indices) and np.all(np.diff(indptr) >= 0)
    indices = indices[: indptr[-1]] if ascends else indices
    return bool(ascends), min(indices, default=0), max(indices, default=-1)


def gather_documents(x_indptr, x_indices, x_data, rows, local_word):
    """Rows of a CSR matrix as a batch; words are numbered as they first appear. local_word is not used."""
    number = {}
    indptr, clump_indptr, cell_word, cell_count, lengths = [0], [0], [], [], []
    for row in rows:
        cells = slice(x_indptr[row], x_indptr[row + 1])
        counts = x_data[cells].astype(np.float64)
        cell_word += [number.setdefault(int(w), len(number)) for w in x_indices[cells]]
        cell_count += counts.tolist()
        lengths.append(counts.sum())
        indptr.append(len(cell_word))
        clump_indptr.append(clump_indptr[-1] + sum(len(clump_weights(c)) for c in counts))
    cell_word = np.array(cell_word, dtype=np.int32)
    return (
        np.array(indptr, dtype=np.int64),
        np.array(clump_indptr, dtype=np.int64),
        cell_word,
        np.array(cell_count, dtype=np.float64),
        np.array(list(number), dtype=np.int32),
        np.concatenate([[0], np.cumsum(np.bincount(cell_word, minlength=len(number)))]).astype(np.int64),
        np.argsort(cell_word, kind="stable"),
        np.array(lengths, dtype=np.float64),
    )
