"""Where documents are read from: a matrix, a corpus on disk, or blocks that come one after the other.

All of them are visited in batches by training, and in blocks by what reads each document once. A matrix is in
memory, and may be visited in any order. The arrays of a corpus are mapped, and blocks may be computed while
they are read: of these, no more than what `_block_order` mixes is held at a time, and nothing in memory grows
with the number of documents but their weights and covariates, where these are given, and a byte per document
if some are held out.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise

import numpy as np
import scipy.sparse as sp

from sktopic._documents._block_order import blocks_of, mixed, permuted, random_order, windows
from sktopic._documents._corpus import Corpus, naming
from sktopic._documents._document_values import NO_VALUES, DocumentValues
from sktopic._documents._input_messages import CorpusSummary, check_block
from sktopic._documents._matrices import GROUP_SIZE, DocumentReader, rows_of_documents
from sktopic._documents._sample_weight import check_sample_weight
from sktopic._kernels.random._rng import combine_keys
from sktopic._runtime._attributes import twin


def are_blocks(X):
    """Whether X is an iterable of matrices, and not itself one, nor a list of anything else."""
    if sp.issparse(X) or isinstance(X, (str, bytes, Mapping, Corpus)) or not isinstance(X, Iterable):
        return False
    if any(hasattr(X, name) for name in ("__array__", "columns", "shape", "__dataframe__")):
        return False
    if isinstance(X, Sequence):
        return len(X) > 0 and getattr(X[0], "ndim", None) == 2
    return True


def documents_of(X, check, once=False):
    """Return the Documents of X.

    Parameters
    ----------
    X : matrix, Corpus, or iterable of blocks
    check : function of a matrix that returns it as_documents, or raises
    once : whether they are to be read only once, so that an iterator will do
    """
    if isinstance(X, Corpus):
        with naming(X.path):
            return CorpusDocuments(check(X.counts))
    if are_blocks(X) and (once or not isinstance(X, Iterator)):
        return BlockDocuments(X, check)
    return MatrixDocuments(check(X))


class Documents(ABC):
    """Documents, with weights and covariates or without; those of weight 0 are left out.

    Attributes
    ----------
    n_documents : int or None
        Those that count; None where blocks have not been read before.
    """

    n_documents: int | None

    @abstractmethod
    def weighted(self, sample_weight):
        """The same with the weights that users give, or None; ValueError for what are no weights of them."""

    @abstractmethod
    def described(self, covariates):
        """The same with covariates, one row a document, before weights are given; ValueError if not so."""

    @abstractmethod
    def split(self, fraction, key):
        """Return a part to train on and a part to be held out, of this fraction, as Documents."""

    @abstractmethod
    def blocks_with_values(self) -> Iterator[tuple[sp.csr_array, DocumentValues]]:
        """Iterate over all documents in order, as CSR from as_documents, and their DocumentValues."""

    @abstractmethod
    def total_weight(self):
        """As how many documents all of them count."""

    @abstractmethod
    def batches(self, size, key=None) -> Iterator[tuple[DocumentReader, np.ndarray]]:
        """Iterate over batches in random order, or in the order there is without a key.

        Yields a DocumentReader, and the rows that it is to read.
        """

    def blocks(self):
        """Iterate over all documents in order, as CSR from as_documents."""
        return (X for X, _ in self.blocks_with_values())

    def groups(self):
        """The same with their values, at most GROUP_SIZE documents at a time, on arrays of their own."""
        for X, values in self.blocks_with_values():
            for first in range(0, X.shape[0], GROUP_SIZE):
                yield _rows_of(X, values, np.arange(first, min(first + GROUP_SIZE, X.shape[0])))

    def matrix(self):
        """All documents as one CSR matrix: in memory, unless its arrays are mapped."""
        return _stacked(list(self.blocks()))

    def summary(self):
        """A CorpusSummary of all documents, or of those known so far."""
        summary = CorpusSummary()
        for X in self.blocks():
            summary.include(X)
        return summary

    # A matrix is checked, and known, from the beginning.

    def survey(self):
        """Read all blocks, to check them and to know how many documents there are."""
        return self

    def begin(self):
        """Read the first block, to check it, if that was not done."""
        return self

    def first_block(self):
        """Return the Documents of the first block; a matrix is one block."""
        return self

    def checked_by(self, check):
        """Let blocks that are read from now on be checked by another function."""
        return self


class MatrixDocuments(Documents):
    """The rows of a CSR matrix.

    Parameters
    ----------
    X : CSR matrix from as_documents
    values : DocumentValues of its rows
    rows : ndarray of int64, those that there are, or None: all
    """

    def __init__(self, X, values=NO_VALUES, rows=None):
        self._X, self._values, self._rows = X, values, rows
        self.n_documents = X.shape[0] if rows is None else len(rows)

    def _all_rows(self):
        return np.arange(self._X.shape[0]) if self._rows is None else self._rows

    def weighted(self, sample_weight):
        weights = check_sample_weight(sample_weight, self.n_documents)
        rows = None if weights is None or weights.all() else np.flatnonzero(weights)
        if rows is not None and np.all(weights[rows] == 1.0):
            weights = None
        return type(self)(self._X, self._values._replace(sample_weight=weights), rows)

    def described(self, covariates):
        check_rows(covariates, self.n_documents)
        return type(self)(self._X, self._values._replace(covariates=covariates))

    def split(self, fraction, key):
        n_held_out = _number_held_out(fraction, self.n_documents)
        permuted_rows = np.random.RandomState(key % 2**32).permutation(self.n_documents)
        parts = np.sort(permuted_rows[n_held_out:]), np.sort(permuted_rows[:n_held_out])
        rows = self._all_rows()
        return tuple(MatrixDocuments(self._X, self._values, rows[part]) for part in parts)

    def blocks_with_values(self):
        if self._rows is None:
            yield self._X, self._values
        else:
            yield from self._selected(self._rows)

    def _selected(self, rows):
        for first in range(0, len(rows), GROUP_SIZE):
            some = rows[first : first + GROUP_SIZE]
            yield _rows_of(self._X, self._values, some)

    def total_weight(self):
        weights = self._values.sample_weight
        return self.n_documents if weights is None else float(weights[self._all_rows()].sum())

    def batches(self, size, key=None):
        rows, reader = self._all_rows(), DocumentReader(self._X, self._values)
        if key is not None:
            rows = rows.copy()
            np.random.RandomState(key % 2**32).shuffle(rows)
        for first in range(0, len(rows), size):
            yield reader, rows[first : first + size]


class CorpusDocuments(MatrixDocuments):
    """The rows of a CSR matrix on mapped arrays, which are visited block by block (see `_block_order`).

    Parameters
    ----------
    X, values, rows : as of MatrixDocuments
    part : ndarray of bool, which of these rows there are, or None: all
    """

    def __init__(self, X, values=NO_VALUES, rows=None, part=None):
        super().__init__(X, values, rows)
        self._part, self._n_rows = part, self.n_documents
        if part is not None:
            self.n_documents = np.count_nonzero(part)

    def split(self, fraction, key):
        is_held_out = held_out(self._n_rows, fraction, key)
        parts = ~is_held_out, is_held_out
        return tuple(CorpusDocuments(self._X, self._values, self._rows, part) for part in parts)

    def blocks_with_values(self):
        if self._part is None:
            yield from super().blocks_with_values()
        else:
            for rows in self._windows(None):
                yield from self._selected(rows)

    def total_weight(self):
        weights = self._values.sample_weight
        if self._part is None or weights is None:
            return super().total_weight()
        return sum(float(weights[rows].sum()) for rows in self._windows(None))

    def _windows(self, key):
        """Rows, some thousands at a time."""
        for positions in visited(blocks_of(self._n_rows), key):
            if self._part is not None:
                positions = positions[self._part[positions]]
            yield positions if self._rows is None else self._rows[positions]

    def batches(self, size, key=None):
        reader, left = DocumentReader(self._X, self._values), [np.empty(0, dtype=np.int64)]
        for rows in self._windows(key):
            left.append(rows)
            if sum(map(len, left)) < size:
                continue
            rows = np.concatenate(left)
            end = len(rows) - len(rows) % size
            for first in range(0, end, size):
                yield reader, rows[first : first + size]
            left = [rows[end:]]
        rows = np.concatenate(left)
        if len(rows):
            yield reader, rows


class BlockDocuments(Documents):
    """The rows of matrices that are read one after the other, again in each pass.

    A sequence of blocks is visited in random order, and another iterable in its own; both are mixed. The
    blocks of all passes must be of the same sizes, which `survey` notes: it comes before all that needs to
    know the number of documents.

    Parameters
    ----------
    source : iterable of matrices
    check : function of a matrix that returns it as_documents, or raises
    """

    def __init__(self, source, check):
        self._source, self._check = source, check
        # Rows of each block, and where it begins among those that count; None until they have been read once.
        self._sizes = self._begins = None
        self._values, self._part = NO_VALUES, None
        self._summary = CorpusSummary()

    def checked_by(self, check):
        self._check = check
        return self

    def begin(self):
        if self._sizes is None:
            self._summary.include(self._first())
        return self

    def first_block(self):
        X = self._first()
        values = self._values.of(slice(X.shape[0]))
        weights = values.sample_weight
        return MatrixDocuments(X, values, None if weights is None else np.flatnonzero(weights))

    def _first(self):
        """Return the first block, checked. Blocks that are read once will begin with it."""
        blocks = iter(self._source)
        for block in blocks:
            with naming("block 0 of X"):
                first = self._checked(block)
            if self._sizes is None:
                self._source = chain([block], blocks)  # as it was given: what is read is checked then
            return first
        raise _no_blocks()

    def _checked(self, block):
        check_block(block)
        return self._check(block)

    def survey(self):
        if self._sizes is not None:
            return self
        sizes, summary = [], CorpusSummary()
        for _, X in self._read():
            sizes.append(X.shape[0])
            summary.include(X)
        self._sizes, self._begins, self._summary = sizes, _bounds(sizes), summary
        return self

    def summary(self):
        return self._summary

    @property
    def n_documents(self):
        if self._part is not None:
            return np.count_nonzero(self._part)
        return None if self._begins is None else int(self._begins[-1])

    def weighted(self, sample_weight):
        if sample_weight is None:
            return self
        bounds = self._known_bounds("sample_weight")
        weights = check_sample_weight(sample_weight, bounds[-1])
        if weights is None:
            return self
        counted = [np.count_nonzero(weights[first:last]) for first, last in pairwise(bounds)]
        values = self._values._replace(sample_weight=weights)
        return twin(self, _values=values, _begins=_bounds(counted))

    def described(self, covariates):
        check_rows(covariates, self._known_bounds("covariates")[-1])
        return twin(self, _values=self._values._replace(covariates=covariates))

    def _known_bounds(self, parameter):
        """Return the bounds of blocks, for a parameter with a row a document; ValueError for an iterator."""
        if isinstance(self._source, Iterator):
            raise ValueError(
                f"{parameter} is given, but X is an iterator, whose number of documents is not known before "
                f"it has been read; give each block and its {parameter} in a call of their own."
            )
        return _bounds(self.survey()._sizes)

    def split(self, fraction, key):
        is_held_out = held_out(self.n_documents, fraction, key)
        return twin(self, _part=~is_held_out), twin(self, _part=is_held_out)

    def total_weight(self):
        weights = self._values.sample_weight
        if weights is None:
            return self.n_documents
        counted, part = weights[weights > 0.0], self._part
        if part is None:
            return float(counted.sum())
        return sum(float(counted[a:b][part[a:b]].sum()) for a, b in blocks_of(len(counted)))

    def _read(self, order=None):
        """Iterate over the numbers of blocks and the blocks, checked; order: the numbers of a sequence."""
        number, known = -1, self._sizes
        numbered = enumerate(self._source) if order is None else ((i, self._source[i]) for i in order)
        for number, block in numbered:
            with naming(f"block {number} of X"):
                X = self._checked(block)
                if known is not None and [X.shape[0]] != known[number : number + 1]:
                    raise ValueError(
                        f"it has {X.shape[0]} rows, and not as many as when it was read before; X has to "
                        "give the same blocks each time."
                    )
            yield number, X
        if known is None and number < 0:
            raise _no_blocks()
        if known is not None and order is None and number + 1 < len(known):
            raise ValueError(
                f"X has given {number + 1} blocks, and {len(known)} when it was read before; it has to give "
                "the same blocks each time: a list, say, or an object whose __iter__ begins anew."
            )

    def _counted(self, order=None):
        """Iterate over blocks of documents that count: CSR, DocumentValues, and position of the first."""
        bounds = None if self._sizes is None else _bounds(self._sizes)
        for number, X in self._read(order):
            begin = 0 if self._begins is None else int(self._begins[number])
            values, rows = NO_VALUES, np.arange(X.shape[0])
            if bounds is not None:
                values = self._values.of(slice(bounds[number], bounds[number + 1]))
            if values.sample_weight is not None:
                rows = np.flatnonzero(values.sample_weight > 0.0)
            # Copies, since the next block may come in the arrays of this one.
            yield *_rows_of(X, values, rows), begin

    def blocks_with_values(self):
        for X, values, begin in self._counted():
            if self._part is not None:
                some = np.flatnonzero(self._part[begin : begin + X.shape[0]])
                X, values = _rows_of(X, values, some)
            yield X, values

    def batches(self, size, key=None):
        pending, n_pending = [], 0
        for part in self._windows(key):
            pending.append(part)
            n_pending += part[0].shape[0]
            if n_pending < size:
                continue
            X, values = _joined(pending)
            reader, end = DocumentReader(X, values), n_pending - n_pending % size
            for first in range(0, end, size):
                yield reader, np.arange(first, first + size)
            n_pending -= end
            pending = [_rows_of(X, values, np.arange(end, end + n_pending))]
        if n_pending:
            yield DocumentReader(*_joined(pending)), np.arange(n_pending)

    def _windows(self, key):
        """Iterate over CSR matrices of mixed documents, and their DocumentValues."""
        if key is None:
            yield from self.blocks_with_values()
            return
        order = None
        if isinstance(self._source, Sequence):
            order = permuted(range(len(self._sizes)), key)
        held = []  # the blocks of a window

        def ranges():
            for block in self._counted(order):
                held.append(block)
                yield 0, block[0].shape[0]

        for number, window in enumerate(windows(ranges())):
            rows = random_order(sum(n for _, n in window), combine_keys(key, 0), number)
            if self._part is not None:
                part = [self._part[begin : begin + X.shape[0]] for X, _, begin in held]
                rows = rows[np.concatenate(part)[rows]]
            joined = _joined([(X, values) for X, values, _ in held])
            held.clear()
            yield _rows_of(*joined, rows)


def held_out(n, fraction, key):
    """Return which of n documents are held out, ndarray of bool: as many of each block, up to one."""
    found, total = np.empty(n, dtype=bool), _number_held_out(fraction, n)
    for number, (first, last) in enumerate(blocks_of(n)):
        before, until = (total if end == n else min(round(fraction * end), total) for end in (first, last))
        found[first:last] = random_order(last - first, key, number) < until - before
    return found


def _number_held_out(fraction, n):
    return min(max(1, round(fraction * n)), n - 1)


def visited(blocks, key):
    """Iterate over the numbers of all rows, some at a time, in the order that a key names, or in theirs."""
    if key is None:
        return (np.arange(first, last, dtype=np.int64) for first, last in blocks)
    return mixed(permuted(blocks, key), combine_keys(key, 0))


def joined(results):
    """Results of blocks of documents, one below the other."""
    return results[0] if len(results) == 1 else np.concatenate(results)


def _bounds(sizes):
    return np.cumsum([0, *sizes], dtype=np.int64)


def check_rows(covariates, n_documents):
    """Raise ValueError unless covariates have a row for each document."""
    if len(covariates) != n_documents:
        raise ValueError(
            f"covariates is invalid: must have one row for each of the {n_documents} samples of X, but has "
            f"{len(covariates)} rows."
        )


def _rows_of(X, values, rows):
    return rows_of_documents(X, rows), values.of(rows)


def _joined(parts):
    """Stack matrices, and join their values."""
    return _stacked([X for X, _ in parts]), DocumentValues.joined([values for _, values in parts])


def _stacked(blocks):
    """Blocks from as_documents as one of them."""
    return blocks[0] if len(blocks) == 1 else sp.vstack(blocks, format="csr")


def _no_blocks():
    return ValueError("X has no blocks; at least one, of at least one document, is needed.")
