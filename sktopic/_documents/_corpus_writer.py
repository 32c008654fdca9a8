"""Writing a corpus block by block, into a folder that is complete or not there.

The files are written in a folder with a random name beside the target, `.NAME.HEX.incomplete`, which only
its user can enter. It is renamed when it is complete. An old corpus is renamed to `.NAME.HEX.replaced` just
before, and removed afterwards. A process that is killed leaves folders with these names, which the user may
remove.

Each array is a file that grows, in the smallest type that holds what has been written so far. It is converted
to a larger type if a block needs one.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from contextlib import closing, contextmanager, suppress
from functools import reduce
from itertools import islice
from numbers import Integral
from operator import and_
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from sktopic._documents._block_order import BLOCK_SIZE, blocks_of
from sktopic._documents._corpus import (
    BYTES,
    COUNTS,
    DOC_IDS,
    ENDS,
    FEATURE_NAMES,
    FILES,
    FORMAT,
    IDS,
    SCHEMA,
    Corpus,
    ends_of,
    file_of,
    files_of,
    index_type,
)
from sktopic._documents._feature_names import check_same_names, distinct_names, text_columns
from sktopic._documents._input_messages import check_block, checked_documents
from sktopic._documents._matrices import canonical_counts, rows_of_documents
from sktopic._runtime._array_archive import CHUNK, HEADER, description, npy_header
from sktopic._runtime._files import pass_on, real_path, sync_folder
from sktopic._runtime._interrupt import uninterrupted
from sktopic._runtime._surrogates import encoded
from sktopic._typing import MatrixLike

# Permissions of a folder while it is written. On Windows, `chmod` could not lift them again.
PRIVATE = 0o777 if os.name == "nt" else 0o700
# Entries of a block of a dense matrix.
DENSE_BLOCK = 1 << 22
# Bytes of the header of a .npy file with one dimension.
NPY_HEADER_BYTES = len(npy_header(BYTES, (0,)))


def save_corpus(
    path: str | PathLike[str],
    X: MatrixLike | Corpus | Iterable[MatrixLike],
    feature_names: ArrayLike | None = None,
    doc_ids: Iterable[Any] | None = None,
    *,
    overwrite: bool = False,
) -> Corpus:
    """Write counts to a folder, block by block, and return them as a corpus.

    The folder appears when it is complete. Only one block at a time is in memory. Integer counts are stored
    in the smallest of uint8, uint16 and uint32 that holds all of them. Fractions of a float32 X are stored
    in float32, unless a block of integers has a count above 65535. Other fractions, and counts of 2**32 and
    more, are stored in float64.

    Read more on the guide page "Train on data larger than memory".

    Parameters
    ----------
    path : str or path-like
        The new folder. Its parent must exist.
    X : matrix, Corpus or iterable of blocks
        Word counts, non-negative. A matrix may be sparse or dense. It may also be an object that has a
        shape and can be sliced by rows, such as a dataset of h5py or a sparse dataset of anndata. Each block
        holds the next documents.
    feature_names : array-like of str of shape (n_features,), default=None
        The words. If None, the words of X if it is a Corpus, or the column names of data frames if they are
        strings. All data frames must have the same words in the same order. Words must not repeat.
    doc_ids : iterable of str or of int, one for each document, default=None
        Names of the documents, read together with the blocks. If None, those of X if it is a Corpus.
    overwrite : bool, default=False
        Whether to replace a corpus at `path` when the new one is complete. Processes that have the old corpus
        open keep reading it. The path is missing for a moment during the replacement. The new corpus gets
        the permissions of the old one. A folder with other files is not replaced.

    Returns
    -------
    corpus : Corpus
        The corpus, open.

    Raises
    ------
    ValueError
        If counts or column names are invalid (the message gives the number of the block, from 0), names do
        not fit, or the folder at `path` has files that are not a corpus.
    FileExistsError
        If `path` exists and `overwrite` is False.
    OSError
        If the folder cannot be written, or `path` is a symbolic link of another user.

    See Also
    --------
    open_corpus : Open a corpus.

    Notes
    -----
    An error or Ctrl-C removes the unfinished folder and keeps the old corpus. A killed process can leave the
    unfinished folder next to `path` as ``.NAME.*.incomplete``, and the old corpus as ``.NAME.*.replaced``.
    If `path` is missing, rename the ``.replaced`` folder to `path`, or the ``.incomplete`` folder if
    `open_corpus` opens it. You may delete the remaining folders.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sktopic.datasets import save_corpus
    >>> texts = ["red green red", "green blue", "blue blue red"]
    >>> vectorizer = CountVectorizer().fit(texts)
    >>> corpus = save_corpus(
    ...     os.path.join(tempfile.mkdtemp(), "colors"),
    ...     (vectorizer.transform(texts[i : i + 2]) for i in range(0, 3, 2)),
    ...     feature_names=vectorizer.get_feature_names_out(),
    ... )
    >>> corpus[:].toarray()
    array([[0, 1, 2],
           [1, 1, 0],
           [2, 0, 1]], dtype=uint8)
    """
    path = real_path(path)
    _check_target(path, overwrite)
    if feature_names is None and isinstance(X, Corpus):
        feature_names = X.feature_names
    if feature_names is not None:
        feature_names = distinct_names(feature_names, "feature_names")
    if doc_ids is None and isinstance(X, Corpus):
        doc_ids = X.doc_ids
    with _new_folder(path) as folder:
        with closing(_Writer(folder, feature_names, doc_ids)) as writer:
            for number, block in enumerate(_blocks(X)):
                try:
                    writer.append(_counts(block), text_columns(block))
                except (ValueError, OverflowError, TypeError) as error:
                    kind = TypeError if isinstance(error, TypeError) else ValueError
                    raise kind(f"block {number}: {error}") from error
            writer.finish()
        Corpus(folder)  # raises if it cannot be opened, before it replaces another
        _publish(folder, path, overwrite)
    return Corpus(path)


# The target and the folder beside it


def _check_target(path, overwrite):
    """Permissions of the folder that is replaced and of its files, and its group; None if nothing is there.

    Raises FileExistsError or ValueError if what is there is not to be replaced.
    """
    if not os.path.lexists(path):
        return None
    if not overwrite:
        raise FileExistsError(f"{path} is there already; overwrite=True replaces a corpus.")
    folder = os.lstat(path)
    if not stat.S_ISDIR(folder.st_mode):  # also for a link that has come since `real_path`
        raise ValueError(f"{path} is not replaced: it is not a folder.")
    modes = {name: os.lstat(os.path.join(path, name)).st_mode for name in os.listdir(path)}
    others = {name for name, mode in modes.items() if not stat.S_ISREG(mode)}
    if not others:
        try:
            others = modes.keys() - files_of(path)
        except (FileNotFoundError, ValueError) as error:
            raise ValueError(f"{path} is not replaced: it is not a corpus. {error}") from error
    if others:
        raise ValueError(
            f"{path} is not replaced: it holds other files than a corpus, as {min(others)!r:.80}."
        )
    return stat.S_IMODE(folder.st_mode), stat.S_IMODE(reduce(and_, modes.values())), folder.st_gid


@contextmanager
def _new_folder(path):
    """A new folder beside the target, which no other user can enter; removed after errors."""
    folder, is_made = _name_beside(path, "incomplete"), False
    try:
        with uninterrupted():
            os.mkdir(folder, PRIVATE)
            is_made = True
        yield folder
    except BaseException:
        if is_made:
            with uninterrupted():
                _remove(folder)  # unless it has been renamed
        raise


def _name_beside(path, ending):
    """A name in the same folder that nobody can foretell."""
    parent, name = os.path.split(path)
    return os.path.join(parent, f".{name}.{secrets.token_hex(8)}.{ending}")


def _publish(folder, path, overwrite):
    """Give the complete folder its name, and the permissions of the corpus that it replaces."""
    replaced = _check_target(path, overwrite)
    if replaced is None:
        probe = os.path.join(folder, "probe")
        with uninterrupted():
            os.mkdir(probe)  # with the permissions that this process gives to new folders
            mode = stat.S_IMODE(os.lstat(probe).st_mode)
            os.rmdir(probe)
        os.chmod(folder, mode)
    else:
        mode, mode_of_files, gid = replaced
        for name in os.listdir(folder):
            pass_on(os.path.join(folder, name), mode_of_files, gid)
        pass_on(folder, mode, gid)
    sync_folder(folder)
    aside = _name_beside(path, "replaced")
    with uninterrupted():
        if replaced is not None:
            os.rename(path, aside)
        try:
            os.rename(folder, path)
        except BaseException:
            if replaced is not None:
                os.rename(aside, path)
            raise
        sync_folder(os.path.dirname(path))
        if replaced is not None:
            _remove(aside)


def _remove(folder):
    """Remove the files of a corpus and their folder, which stays if it holds more."""
    with suppress(OSError):
        if not stat.S_ISDIR(os.lstat(folder).st_mode):  # a link leads to files of others
            return
        os.chmod(folder, 0o700)  # it may be read-only
        for name in sorted(FILES):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


# Blocks


def _blocks(X):
    """Iterate over the blocks of X."""
    if getattr(X, "shape", ()) == ():
        if hasattr(X, "shape") or not isinstance(X, Iterable) or isinstance(X, (str, bytes, Mapping)):
            raise TypeError(
                f"X is a {type(X).__name__}; a matrix, a Corpus or an iterable of matrices is allowed."
            )
        yield from X
    elif sp.issparse(X):
        X = _documents(X)
        for first, last in blocks_of(X.shape[0]):
            yield rows_of_documents(X, np.arange(first, last))
    else:
        size = BLOCK_SIZE
        if not isinstance(X, Corpus):
            size = max(1, min(size, DENSE_BLOCK // max(1, X.shape[-1])))
        rows = getattr(X, "iloc", X)
        for first, last in blocks_of(X.shape[0], size):
            yield rows[first:last]


def _counts(block):
    """A block as canonical CSR, of valid counts."""
    if isinstance(block, (str, bytes)):
        raise TypeError(
            "it is a text; matrices of counts are allowed, which sktopic.datasets.iter_counts(vectorizer, X) "
            "makes of texts."
        )
    check_block(block)
    return canonical_counts(_documents(block))


def _documents(X):
    """A matrix as_documents, checked."""
    return checked_documents(X, "save_corpus", ensure_min_samples=0)


def _count_type(data):
    """The type that counts need."""
    if data.dtype.kind == "f" and not np.array_equal(data, np.floor(data)):
        return np.dtype(np.float32 if data.dtype == np.float32 else np.float64)
    largest = data.max(initial=0)
    fitting = (dtype for dtype in COUNTS if dtype.kind == "u" and largest <= np.iinfo(dtype).max)
    return next(fitting, np.dtype(np.float64))


# Files


class _Writer:
    """The files of a corpus that is being written.

    Parameters
    ----------
    folder : str
    feature_names : ndarray or None
    doc_ids : iterable or None
    """

    def __init__(self, folder, feature_names, doc_ids):
        self._folder, self._feature_names = folder, feature_names
        self._n_features = None if feature_names is None else len(feature_names)
        self._known = "the blocks before have" if feature_names is None else "feature_names has"
        if doc_ids is not None and not isinstance(doc_ids, Iterable):
            raise TypeError(f"doc_ids={doc_ids!r:.80}: an iterable of strings or of integers is allowed.")
        self._doc_ids = None if doc_ids is None else iter(doc_ids)
        self._arrays, self._n_documents, self._nnz = {}, 0, 0

    def close(self):
        for array in self._arrays.values():
            array.close()

    def append(self, counts, names):
        """Add a block (from _counts) whose columns have names, or None."""
        n_features = counts.shape[1]
        if self._n_features is None:
            self._n_features = n_features
        elif n_features != self._n_features:
            raise ValueError(f"X has {n_features} columns, but {self._known} {self._n_features}.")
        check_same_names(self._feature_names, names, "X", self._known)
        if self._feature_names is None and names is not None:
            self._feature_names = distinct_names(names, "columns")
        ends = counts.indptr.astype(np.int64) + self._nnz
        index = index_type(self._nnz + counts.nnz)
        self._append("indptr", ends[1:] if "indptr" in self._arrays else ends, index)
        self._append("indices", counts.indices, index)
        self._append("data", counts.data, _count_type(counts.data))
        if self._doc_ids is not None:
            self._append_ids(counts.shape[0])
        self._n_documents += counts.shape[0]
        self._nnz += counts.nnz

    def _append(self, name, items, dtype):
        """Add to an array, which is converted if the dtype asks for a larger one."""
        if name not in self._arrays:
            self._arrays[name] = _GrowingArray(os.path.join(self._folder, file_of(name)), dtype)
        self._arrays[name].append(items, dtype)

    def _append_ids(self, n_documents):
        ids = list(islice(self._doc_ids, n_documents))
        if len(ids) < n_documents:
            raise ValueError(f"doc_ids end {n_documents - len(ids)} documents too early.")
        if not ids:
            return
        if ends_of(DOC_IDS) in self._arrays or (
            DOC_IDS not in self._arrays and all(isinstance(name, str) for name in ids)
        ):
            self._append_strings(DOC_IDS, ids)
            return
        for name in ids:
            if not isinstance(name, Integral) or not -(2**63) <= name < 2**63:
                raise ValueError(f"doc_ids has {name!r:.80}; strings, or 64-bit integers, are allowed.")
        self._append(DOC_IDS, np.array(ids, IDS), IDS)

    def _append_strings(self, name, strings):
        if not all(isinstance(string, str) for string in strings):
            raise ValueError(f"{name} are to be strings.")
        texts = [encoded(string, name) for string in strings]
        self._append(name, np.frombuffer(b"".join(texts), BYTES), BYTES)
        lengths = np.array([len(text) for text in texts], ENDS)
        first = self._arrays[name].length - lengths.sum()
        self._append(ends_of(name), first + np.cumsum(lengths), ENDS)

    def finish(self):
        """Write what is the same for all blocks, and the header."""
        if self._n_documents == 0:
            raise ValueError("X has no documents.")
        if self._doc_ids is not None and next(self._doc_ids, None) is not None:
            raise ValueError(f"there are more doc_ids than the {self._n_documents} documents.")
        if self._feature_names is not None:
            self._append_strings(FEATURE_NAMES, self._feature_names)
        header = {
            "format": FORMAT,
            "schema": SCHEMA,
            "shape": [self._n_documents, self._n_features],
            "nnz": self._nnz,
            "arrays": {name: array.finish() for name, array in self._arrays.items()},
        }
        with open(os.path.join(self._folder, HEADER), "xb") as file:
            file.write(json.dumps(header).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())


class _GrowingArray:
    """A new .npy file of one dimension that grows; its header is written when it is finished."""

    def __init__(self, path, dtype):
        self._file = open(path, "xb+")  # noqa: SIM115 (until close); "x" follows no link
        self._file.seek(NPY_HEADER_BYTES)
        self._dtype, self.length = dtype, 0

    def append(self, items, dtype):
        """Add items, and convert all if the dtype asks for a larger one."""
        self._widen(np.promote_types(self._dtype, dtype))
        self._file.write(np.ascontiguousarray(items, self._dtype))
        self.length += len(items)

    def _widen(self, dtype):
        """Convert the items in place, from the last to the first, since each moves towards the end."""
        if dtype == self._dtype:
            return
        n_items = CHUNK // dtype.itemsize
        for last in range(self.length, 0, -n_items):
            first = max(0, last - n_items)
            self._file.seek(NPY_HEADER_BYTES + first * self._dtype.itemsize)
            items = np.frombuffer(self._file.read((last - first) * self._dtype.itemsize), self._dtype)
            self._file.seek(NPY_HEADER_BYTES + first * dtype.itemsize)
            self._file.write(items.astype(dtype))
        self._dtype = dtype
        self._file.seek(NPY_HEADER_BYTES + self.length * dtype.itemsize)

    def close(self):
        with suppress(OSError):  # of a disk that is full: the error has been raised before
            self._file.close()

    def finish(self):
        """Write the header; returns the description of the file, with the digest of all that it holds."""
        self._file.seek(0)
        self._file.write(npy_header(self._dtype, (self.length,)))
        self._file.flush()
        os.fsync(self._file.fileno())
        digest = hashlib.file_digest(self._file, "sha256").hexdigest()
        return description(self._dtype, (self.length,), digest)
