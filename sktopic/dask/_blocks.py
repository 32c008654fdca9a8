"""Input that DaskTopicModel accepts, and tasks that read its documents."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp

from sktopic._documents._block_order import BLOCK_SIZE, blocks_of, random_order
from sktopic._documents._corpus import Corpus
from sktopic._documents._input_messages import checked_documents
from sktopic._documents._matrices import canonical_counts, check_sparse_structure
from sktopic._runtime._optional import import_dask, import_dask_array, import_pyarrow
from sktopic.dask._cluster import TaskFailed
from sktopic.datasets._blocks import check_columns, check_n_features, counts_of_lists

# Number of pieces of a corpus on disk per task that computes digests.
PIECES_OF_TASK = 64
# DaskTopicModel takes no pipeline that begins with a vectorizer.
BY_BAG = "count a bag of them first, bag.map_partitions(lambda part: [vectorizer.transform(list(part))])"
REMEDIES = dict.fromkeys(["texts", "words", "dicts", "paths"], BY_BAG)
REMEDIES["a column of texts"] = f"make it a bag, frame[column].to_bag(), and {BY_BAG}"


class BlockError(ValueError):
    """A block of X, which the message names, is invalid or could not be computed."""


@dataclass(frozen=True)
class Documents:
    """The documents of X in pieces of BLOCK_SIZE, independent of the blocks of X.

    Attributes
    ----------
    n_documents, n_features : int
    digest : digest of all documents, independent of the blocks
    handles : objects that tasks slice for rows: one for all documents, or one future per piece
    """

    n_documents: int
    n_features: int
    digest: str
    handles: tuple[Any, ...]

    def window(self, tasks, name, ranges, key, number):
        """Return a task for the documents of some ranges, each within a piece.

        key : key of a random order, or None for the original order
        """
        size = self.n_documents if len(self.handles) == 1 else BLOCK_SIZE
        pieces = [first // size for first, _ in ranges]
        handles = [self.handles[piece] for piece in pieces]
        bounds = [(a - piece * size, b - piece * size) for (a, b), piece in zip(ranges, pieces)]
        return tasks.submit(name, in_window, handles, bounds, key, number)


def documents_of(X: Any, tasks: Any, owner: str, n_features: int | None = None) -> Documents:
    """Return the Documents of X after checking them.

    Parameters
    ----------
    X : as in `DaskTopicModel.fit`
    tasks : Here or Cluster
    owner : name of the estimator, for messages
    n_features : required number of columns, if known

    Raises
    ------
    BlockError, TypeError, ValueError
        If X has another type, or its blocks are not count matrices with the same number of words.
    """
    if isinstance(X, Corpus):
        documents = _sliced(X, tasks)
    elif is_matrix(X):
        if tasks.client is not None:
            raise _in_memory(X)
        documents = _sliced(checked_block(X, None, owner, n_features), tasks)
    else:
        documents = _in_pieces(X, tasks, owner, n_features)
    if not documents.n_documents:
        raise ValueError(f"X has no documents; {owner} expects at least one.")
    if n_features is not None and documents.n_features != n_features:
        raise ValueError(
            f"X has {documents.n_features} features, but {owner} is expecting {n_features} features as input."
        )
    return documents


def is_matrix(X):
    """Return whether X is a matrix in memory."""
    return sp.issparse(X) or isinstance(X, np.ndarray) or (hasattr(X, "iloc") and not is_collection(X))


def is_collection(X):
    """Return whether X is a dask collection."""
    return hasattr(X, "__dask_graph__")


def blocks_to_compute(X):
    """Return the blocks of X in order: delayed objects, futures or matrices; TypeError if it has none."""
    # Check types: a delayed object seems to have any attribute. An item of a bag is one object.
    if is_collection(X) and (hasattr(type(X), "numblocks") or hasattr(type(X), "map_partitions")):
        if hasattr(X, "numblocks"):
            if X.ndim != 2:
                raise ValueError(f"X is a dask array with {X.ndim} dimensions; must have 2.")
            if X.numblocks[1] != 1:
                raise ValueError(
                    f"X has {X.numblocks[1]} blocks of columns; each block must have all words. "
                    "Call X.rechunk({1: -1})."
                )
            return X.to_delayed().ravel().tolist()
        if hasattr(X, "map_partitions") and not hasattr(X, "columns"):
            X = X.map_partitions(stacked)  # a bag; its partitions may be iterators
        return list(X.to_delayed())
    if isinstance(X, (list, tuple)) and X and all(map(_is_block, X)):
        return list(X)
    raise TypeError(
        f"X is a {type(X).__name__}; must be a corpus on disk, a dask array, a bag of matrices, or"
        " a list of delayed matrices."
    )


def _is_block(block):
    return is_collection(block) or hasattr(block, "key") or is_matrix(block)


def computed_blocks(X, tasks):
    """Return the computed blocks of X: futures on a cluster, else matrices."""
    blocks = blocks_to_compute(X)
    if tasks.client is None:
        return [_computed_here(block, i) for i, block in enumerate(blocks)]
    for block in blocks:
        if is_matrix(block):
            raise _in_memory(block)
    collections = [i for i, block in enumerate(blocks) if is_collection(block)]
    for i, future in zip(collections, tasks.compute([blocks[i] for i in collections])):
        blocks[i] = future
    return blocks


def _in_pieces(X, tasks, owner, n_features):
    """Return the Documents of blocks that must be computed."""
    computed = enumerate(computed_blocks(X, tasks))
    checked = [
        tasks.submit(("block", i), checked_block, block, i, owner, n_features) for i, block in computed
    ]
    shapes = block_results(
        [tasks.submit(("shape", i), np.shape, block) for i, block in enumerate(checked)], tasks
    )
    n_features = shapes[0][1]
    for i, (_, n_columns) in enumerate(shapes):
        if n_columns != n_features:
            raise BlockError(f"block {i} of X has {n_columns} features, but block 0 has {n_features}.")
    ends = np.cumsum([0, *(n_rows for n_rows, _ in shapes)])
    pieces = tuple(
        _piece(checked, ends, rows, tasks, number) for number, rows in enumerate(blocks_of(int(ends[-1])))
    )
    digests = tasks.results(tasks.submit(("digest", i), digest_of, piece) for i, piece in enumerate(pieces))
    return Documents(int(ends[-1]), n_features, _combined(digests), pieces)


def _in_memory(X):
    return TypeError(
        f"X is a {type(X).__name__} in the memory of this process. On a cluster, pass a corpus on "
        "disk (sktopic.datasets.save_corpus), a dask array, a bag or delayed blocks. To train in "
        "this process, set client=False."
    )


def _computed_here(block, number):
    try:
        return block.compute(scheduler="synchronous") if is_collection(block) else block
    except Exception as error:
        raise _not_computed(number, error) from error


def block_results(tasks_of_blocks, tasks):
    """Return the results of one task per block; BlockError names the first block that fails."""
    try:
        return tasks.results(tasks_of_blocks)
    except TaskFailed as failed:
        if isinstance(failed.error, BlockError):
            raise failed.error from None
        raise _not_computed(failed.position, failed.error) from failed.error


def _not_computed(number, error):
    return BlockError(f"block {number} of X could not be computed: {type(error).__name__}: {error!s:.500}")


def rows_in_parts(ends, first, last):
    """Locate rows first to last in parts: the number of each part, first and last row within it.

    ends : 0, followed by the end of each part
    """
    some = range(int(np.searchsorted(ends, first, "right")) - 1, int(np.searchsorted(ends, last, "left")))
    return [(i, int(max(first - ends[i], 0)), int(min(last, ends[i + 1]) - ends[i])) for i in some]


def _piece(checked, ends, rows, tasks, number):
    """Return a task that returns rows (first, last) of the blocks."""
    parts = rows_in_parts(ends, *rows)
    (i, first, last), *others = parts
    if not others and (first, last) == (0, ends[i + 1] - ends[i]):
        return checked[i]
    handles, bounds = [checked[i] for i, _, _ in parts], [(a, b) for _, a, b in parts]
    return tasks.submit(("piece", number), in_window, handles, bounds, None, 0)


def _sliced(handle, tasks):
    """Return the Documents of a handle that tasks can slice."""
    n_documents, n_features = handle.shape
    parts = blocks_of(n_documents, PIECES_OF_TASK * BLOCK_SIZE)
    looks = [tasks.submit(("digests", i), digests_of, handle, *part) for i, part in enumerate(parts)]
    try:
        digests = [digest for found in tasks.results(looks) for digest in found]
    except TaskFailed as failed:
        raise failed.error from None
    return Documents(n_documents, n_features, _combined(digests), (handle,))


# Tasks


def stacked(partition):
    """Return the matrix of a partition: the partition itself, or its blocks stacked."""
    if is_matrix(partition):
        return partition
    blocks = list(partition)
    if blocks and all(map(is_matrix, blocks)):
        return sp.vstack([sp.csr_array(check_sparse_structure(block)) for block in blocks], format="csr")
    return blocks


def checked_block(block, number, owner, n_features=None):
    """Return a block as CSR with ascending words; BlockError if it is not a valid count matrix."""
    try:
        block = checked_documents(block, owner, ensure_min_samples=0, remedies=REMEDIES)
        if n_features not in (None, block.shape[1]):
            raise ValueError(
                f"X has {block.shape[1]} features, but {owner} is expecting {n_features} features."
            )
        return canonical_counts(block)
    except (TypeError, ValueError) as error:
        where = "" if number is None else f"block {number} of X: "
        raise BlockError(f"{where}{error}") from error


def in_window(handles, bounds, key, number):
    """Return rows first to last of each handle, in random order if there is a key."""
    rows = [handle[first:last] for handle, (first, last) in zip(handles, bounds)]
    X = rows[0] if len(rows) == 1 else sp.vstack(rows, format="csr")
    return X if key is None else X[random_order(X.shape[0], key, number)]


def digest_of(X):
    """Return a digest of the lengths, words and counts of documents."""
    digest = hashlib.blake2b(digest_size=16)
    for array, dtype in ((np.diff(X.indptr), "<i8"), (X.indices, "<i4"), (X.data, "<f8")):
        digest.update(np.ascontiguousarray(array, dtype=dtype))
    return digest.digest()


def digests_of(handle, first, last):
    """Return the digests of pieces. Slices of a corpus are checked."""
    return [digest_of(handle[first + begin : first + end]) for begin, end in blocks_of(last - first)]


def _combined(digests):
    return hashlib.blake2b(b"".join(digests), digest_size=16).hexdigest()


# Parquet


def read_parquet(
    paths: str | PathLike[str] | list[Any],
    n_features: int,
    *,
    indices: str = "indices",
    counts: str = "counts",
) -> Any:
    """Return the documents of parquet files as a lazy dask array of CSR blocks.

    Parameters
    ----------
    paths : str, path-like or list of these
        Files. All workers must be able to read them.
    n_features : int
        Vocabulary size.
    indices, counts : str
        Names of the columns that list the word indices of each document, from 0, and their counts.

    Returns
    -------
    X : dask array of shape (n_documents, n_features)
        One block per row group.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from sktopic.dask import read_parquet
    >>> table = pa.table({"indices": [[0, 2], [1]], "counts": [[1, 3], [2]]})
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "documents.parquet")
    ...     parquet.write_table(table, path)
    ...     read_parquet(path, n_features=3).compute().toarray()
    array([[1., 0., 3.],
           [0., 2., 0.]])
    """
    check_n_features(n_features)
    da, parquet = import_dask_array(), import_pyarrow("parquet")
    paths = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    read = import_dask().delayed(_row_group, pure=True)
    meta, blocks = sp.csr_array((0, n_features), dtype=np.float64), []
    for path in map(str, paths):
        metadata = parquet.read_metadata(path)
        check_columns(metadata.schema.to_arrow_schema(), indices, counts)
        for group in range(metadata.num_row_groups):
            shape = metadata.row_group(group).num_rows, n_features
            blocks.append(da.from_delayed(read(path, group, n_features, indices, counts), shape, meta=meta))
    if not blocks:
        raise ValueError(f"there are no documents in {', '.join(map(str, paths)) or 'no files'}.")
    return da.concatenate(blocks)


def _row_group(path, group, n_features, indices, counts):
    """Return the documents of a row group as a csr_array."""
    with import_pyarrow("parquet").ParquetFile(path) as file:
        batches = file.read_row_group(group, columns=[indices, counts]).to_batches()
    place = f"row group {group} of {path}"
    blocks = [counts_of_lists(batch, n_features, indices, counts, place) for batch in batches]
    return sp.vstack([sp.csr_array((0, n_features)), *blocks], format="csr")
