"""Corpora on disk: a folder of .npy files, mapped into memory, and a JSON header that describes them.

The files indptr.npy, indices.npy and data.npy are the arrays of a CSR matrix of counts, words ascending,
without duplicates or zeros. Strings are the bytes of their UTF-8 (NAME.npy) and where each ends
(NAME_ends.npy).

What is read may be hostile or damaged. Opening takes memory and time for the header alone: it compares the
header of each .npy file, and its size, with what header.json says, and parses none. Documents are checked
when they are read, block by block, and pages of the files are read then.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sktopic._documents._block_order import blocks_of
from sktopic._documents._matrices import MOST_WORDS, check_counts
from sktopic._runtime._array_archive import (
    HEADER,
    described_arrays,
    digest_of,
    dtype_name,
    parse_json,
    read_npy,
)

FORMAT = "sktopic corpus"
# Raised when folders change such that older versions cannot read them.
SCHEMA = 1
KEYS = {"format", "schema", "shape", "nnz", "arrays"}
MOST_HEADER_BYTES = 1 << 20
# Numbers of entries from which indices have 64 bits.
LARGE = 2**31
MATRIX = "indptr", "indices", "data"
FEATURE_NAMES, DOC_IDS = "feature_names", "doc_ids"
BYTES, ENDS = np.dtype(np.uint8), np.dtype(np.int64)
IDS = np.dtype(np.int64)
# Types of counts, from the smallest; their common type is that of NumPy.
COUNTS = [np.dtype(name) for name in ("u1", "u2", "u4", "f4", "f8")]


def index_type(nnz):
    """The type of both index arrays of a corpus."""
    return np.dtype(np.int32 if nnz < LARGE else np.int64)


def ends_of(name):
    """The name of the array that says where strings end."""
    return f"{name}_ends"


def file_of(name):
    """The file of an array."""
    return f"{name}.npy"


FILES = {HEADER, *map(file_of, (*MATRIX, FEATURE_NAMES, ends_of(FEATURE_NAMES), DOC_IDS, ends_of(DOC_IDS)))}


class Corpus:
    """Word counts of documents in a folder written by `save_corpus`, read-only.

    The files are mapped, so memory does not grow with the corpus, and processes share the file cache of the
    system. ``corpus[10:20]`` returns documents as a csr_array in memory.

    A corpus is pickled as the path of its folder. You may replace or delete the folder while a corpus is
    open, but do not change its files in place.

    Parameters
    ----------
    path : str or path-like
        The folder.
    verify : bool, default=False
        Whether to check the digests of all arrays. This reads all files once.

    Attributes
    ----------
    path : str
        The folder, absolute.
    shape : tuple of int
        Number of documents and number of words.
    nnz : int
        Number of entries: distinct words of each document, summed over documents.
    dtype : dtype
        Type of the counts.
    counts : csr_array of shape (n_documents, n_features)
        All counts, as unchecked views of the mapped files. Check the indices before you pass them to code
        that trusts them. Slices and blocks of the corpus are checked.
    feature_names : ndarray of str of shape (n_features,), dtype object, or None
        The words, if they were given.
    doc_ids : ndarray of str (dtype object) or int of shape (n_documents,), or None
        Names of documents, if given. Strings are read at the first access; integers are mapped.

    Raises
    ------
    ValueError
        If the folder or documents are damaged, or a later version wrote them. The message names the file or
        the folder.
    OSError
        If a file cannot be read.

    See Also
    --------
    save_corpus : Write a corpus.

    Examples
    --------
    >>> import os, tempfile
    >>> from sktopic.datasets import make_bars, open_corpus, save_corpus
    >>> path = os.path.join(tempfile.mkdtemp(), "bars")
    >>> _ = save_corpus(path, make_bars(100, random_state=0).data)
    >>> corpus = open_corpus(path)
    >>> corpus.shape, corpus.dtype
    ((100, 25), dtype('uint8'))
    >>> corpus[10:20].shape
    (10, 25)
    """

    path: str
    shape: tuple[int, int]
    nnz: int
    dtype: np.dtype[Any]

    def __init__(self, path: str | PathLike[str], verify: bool = False) -> None:
        self.path = os.path.abspath(os.fsdecode(path))
        while not self._is_mapped(verify):
            pass
        with naming(self._file("indptr.npy")):
            first, last = (int(self._arrays["indptr"][i]) for i in (0, -1))
            if (first, last) != (0, self.nnz):
                raise ValueError(f"rows are from entry {first} to {last}, and should be from 0 to {self.nnz}")
        self.dtype = self._arrays["data"].dtype

    def _is_mapped(self, verify):
        """Map the files of the folder; whether they could be, before another took its name."""
        with _opened(self.path) as (folder, is_replaced):
            try:
                text = _read_header(folder, self._file(HEADER))
                self._digest = sha256(text).hexdigest()
                with naming(self._file(HEADER)):
                    self.shape, self.nnz, declared = _parsed(text)
                self._arrays = {}
                for name, array in declared.items():
                    with naming(self._file(file_of(name))):
                        self._arrays[name] = _mapped(folder, self._file(file_of(name)), array, verify)
            except FileNotFoundError:
                if not is_replaced():
                    raise
                return False
        return True

    def _file(self, name):
        return os.path.join(self.path, name)

    def __repr__(self) -> str:
        n_documents, n_features = self.shape
        return f"<Corpus of {n_documents} documents, {n_features} words and {self.nnz} entries: {self.path}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self.path, self._digest)

    @cached_property
    def counts(self) -> sp.csr_array:
        # Set, since scipy's constructor looks through large index arrays, and may copy them.
        counts = sp.csr_array(self.shape, dtype=self.dtype)
        for name in MATRIX:
            setattr(counts, name, self._arrays[name])
        return counts

    @cached_property
    def feature_names(self) -> NDArray[np.object_] | None:
        return self._strings(FEATURE_NAMES) if FEATURE_NAMES in self._arrays else None

    @cached_property
    def doc_ids(self) -> NDArray[Any] | None:
        if DOC_IDS not in self._arrays:
            return None
        return self._strings(DOC_IDS) if ends_of(DOC_IDS) in self._arrays else self._arrays[DOC_IDS]

    def __getitem__(self, rows: slice) -> sp.csr_array:
        """Documents of a slice, in memory: csr_array, checked."""
        if not isinstance(rows, slice):
            raise TypeError(
                f"a corpus is read by slices of documents, such as corpus[10:20], not by {rows!r:.40}; "
                "corpus.counts is a matrix, of which rows are taken by numbers, as for cross-validation"
            )
        first, last, step = rows.indices(self.shape[0])
        if step != 1:
            raise ValueError(f"slices of a corpus have no step, this one has {step}")
        return self._documents(first, max(first, last))

    def blocks(self) -> Iterator[sp.csr_array]:
        """Iterate over all documents in their order, block by block: csr_array of each, in memory."""
        return (self._documents(first, last) for first, last in blocks_of(self.shape[0]))

    def _documents(self, first, last):
        with naming(f"{self.path}: documents {first} to {last} are damaged"):
            bounds = self._arrays["indptr"][first : last + 1].astype(np.int64)
            start, stop = int(bounds[0]), int(bounds[-1])
            if not 0 <= start <= stop <= self.nnz or np.any(bounds[1:] < bounds[:-1]):
                raise ValueError("their bounds do not ascend within the entries")
            index = index_type(stop - start)
            indices = self._arrays["indices"][start:stop].astype(index)
            if len(indices) and not 0 <= indices.min() <= indices.max() < self.shape[1]:
                raise ValueError(f"they have words outside 0 to {self.shape[1] - 1}")
            arrays = self._arrays["data"][start:stop].copy(), indices, (bounds - start).astype(index)
            documents = sp.csr_array(arrays, shape=(last - first, self.shape[1]))
            check_counts(documents, "a corpus")
            if not documents.has_canonical_format or np.count_nonzero(documents.data) < documents.nnz:
                raise ValueError("their words do not ascend, or have counts of zero")
            return documents

    def _strings(self, name):
        """Strings as an array of objects, checked."""
        text, ends = self._arrays[name], self._arrays[ends_of(name)]
        with naming(self._file(file_of(ends_of(name)))):
            if ends[0] < 0 or np.any(ends[1:] < ends[:-1]) or ends[-1] != len(text):
                raise ValueError(f"ends of strings do not ascend from 0 to {len(text)}")
        text = text.tobytes()
        strings = np.empty(len(ends), dtype=object)
        with naming(self._file(file_of(name))):
            strings[:] = [text[start:end].decode() for start, end in pairwise([0, *ends.tolist()])]
        return strings


def open_corpus(path: str | PathLike[str], *, verify: bool = False) -> Corpus:
    """Return the corpus in a folder written by `save_corpus`.

    Opening reads only the header, and checks the size of each file and the data type of each array. The
    contents are checked block by block when documents are read.

    Read more on the guide page "Train on data larger than memory".

    Parameters
    ----------
    path : str or path-like
        The folder.
    verify : bool, default=False
        Whether to check the digests of all arrays. This reads all files once.

    Returns
    -------
    corpus : Corpus
        The corpus, read-only.

    Raises
    ------
    ValueError
        If the folder is damaged or was written by a later version. The message names the file.
    OSError
        If a file cannot be read.

    See Also
    --------
    save_corpus : Write a corpus.

    Examples
    --------
    >>> import os, tempfile
    >>> from sktopic.datasets import make_bars, open_corpus, save_corpus
    >>> path = os.path.join(tempfile.mkdtemp(), "bars")
    >>> _ = save_corpus(path, make_bars(100, random_state=0).data)
    >>> open_corpus(path, verify=True).shape
    (100, 25)
    """
    return Corpus(path, verify)


def _reopened(path, digest):
    """The corpus that a pickle stands for, on a machine that sees its folder."""
    corpus = Corpus(path)
    if corpus._digest != digest:
        raise ValueError(f"{path} holds another corpus than when it was pickled")
    return corpus


def files_of(path):
    """Names of the files of a corpus, of which the header alone is read; errors as of `open_corpus`."""
    header = os.path.join(path, HEADER)
    with _opened(path) as (folder, _):
        text = _read_header(folder, header)
    with naming(header):
        _, _, declared = _parsed(text)
    return {HEADER, *map(file_of, declared)}


@contextmanager
def naming(place):
    """Let messages of errors begin with the place of what is wrong."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from error


@contextmanager
def _opened(path):
    """Functions that open files of a folder, and say whether another has taken its name meanwhile."""
    folder = None
    if os.open in os.supports_dir_fd:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def opener(file, flags):
        name = file if folder is None else os.path.basename(file)
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0), dir_fd=folder)  # pipes are not waited for

    def open_file(file):
        try:
            return open(file, "rb", opener=opener)
        except FileNotFoundError as error:
            raise FileNotFoundError(error.errno, error.strerror, file) from None

    def is_replaced():
        return folder is not None and not os.path.samestat(os.fstat(folder), os.stat(path))

    try:
        yield open_file, is_replaced
    finally:
        if folder is not None:
            os.close(folder)


def _regular_size(file, path):
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path} is no regular file")
    return status.st_size


def _read_header(folder, path):
    with folder(path) as file:
        size = _regular_size(file, path)
        if size > MOST_HEADER_BYTES:
            raise ValueError(f"{path} has {size} bytes; {MOST_HEADER_BYTES} are allowed")
        return file.read(size)


def _parsed(text):
    """Shape, number of entries, and dtype, shape and digest of each array, by name."""
    header = parse_json(text)
    if header.get("format") != FORMAT:
        raise ValueError("it is not the header of a corpus")
    schema = header.get("schema")
    if type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise ValueError(f"its schema is {schema!r:.40}; this version reads those up to {SCHEMA}")
    if header.keys() != KEYS:
        raise ValueError(f"it lacks, or should not have, {sorted(header.keys() ^ KEYS)[:5]!r:.200}")
    shape, nnz, declared = header["shape"], header["nnz"], described_arrays(header["arrays"])
    numbers = type(shape) is list and len(shape) == 2 and all(type(n) is int for n in (*shape, nnz))
    if not numbers or not (0 < shape[0] < 2**63 and 0 < shape[1] <= MOST_WORDS and 0 <= nnz < 2**63):
        raise ValueError(f"its shape {shape!r:.80} or nnz {nnz!r:.40} is not one of a corpus")
    expected = _expected(*shape, nnz, declared)
    names = sorted(declared.keys() ^ expected.keys())
    if names:
        raise ValueError(f"arrays are missing, or should not be there: {names[:5]!r:.200}")
    return tuple(shape), nnz, {name: _typed(name, declared[name], *expected[name]) for name in expected}


def _expected(n_documents, n_features, nnz, names):
    """Dtypes and length of each array; the length of the bytes of strings is None."""
    index = [index_type(nnz)]
    expected = {"indptr": (index, n_documents + 1), "indices": (index, nnz), "data": (COUNTS, nnz)}
    if FEATURE_NAMES in names:
        expected |= {FEATURE_NAMES: ([BYTES], None), ends_of(FEATURE_NAMES): ([ENDS], n_features)}
    if ends_of(DOC_IDS) in names:
        expected |= {DOC_IDS: ([BYTES], None), ends_of(DOC_IDS): ([ENDS], n_documents)}
    elif DOC_IDS in names:
        expected |= {DOC_IDS: ([IDS], n_documents)}
    return expected


def _typed(name, array, dtypes, length):
    """dtype, shape and digest of an array that has to be of one of these types, and of this length."""
    dtype = next((dtype for dtype in dtypes if dtype_name(dtype) == array.dtype), None)
    if dtype is None:
        allowed = ", ".join(map(dtype_name, dtypes))
        raise ValueError(f"the array {name} is {array.dtype!r:.40}; {allowed} is allowed")
    if len(array.shape) != 1 or length not in (None, array.shape[0]):
        raise ValueError(f"the array {name} has shape {list(array.shape)}; [{length}] is allowed")
    return dtype, array.shape, array.sha256


def _mapped(folder, path, declared, verify):
    """A .npy file as an array, read-only, checked."""
    dtype, shape, digest = declared
    with folder(path) as file:
        array = read_npy(file, 0, _regular_size(file, path), dtype, shape, mapped=True)
    array.flags.writeable = False
    if verify and digest_of(array) != digest:
        raise ValueError("its SHA-256 digest is wrong")
    return array
