"""Writing a corpus block by block, into a folder that is complete or not there.

Until it is complete, the folder has another name, beside where it will be: one that nobody can foretell, or
a fixed one if a later call is to find it. Each array is a file that grows, in the smallest type that holds
what has been written so far, and is copied to a larger one if a block needs it. progress.json says how much
is whole and on the disk; it is written when the folder is created, and again from time to time if a later
call is to continue.

Others may have put files, links or folders at any of these names. A folder that is there already is used or
removed only if an earlier call of this user can have written all that is in it.
"""

import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import reduce
from itertools import islice
from numbers import Integral
from operator import and_
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from sktopic._array_archive import CHUNK, HEADER, description, npy_header, parse_json
from sktopic._block_order import BLOCK_SIZE
from sktopic._corpus import (
    BYTES,
    COUNTS,
    DOC_IDS,
    ENDS,
    FEATURE_NAMES,
    FILES,
    FORMAT,
    IDS,
    LARGE,
    MATRIX,
    MOST_HEADER_BYTES,
    SCHEMA,
    Corpus,
    ends_of,
    file_of,
    files_of,
    index_type,
)
from sktopic._documents import (
    COUNT_TYPES,
    MOST_WORDS,
    as_documents,
    canonical_counts,
    check_counts,
    check_sparse_structure,
    rows_of_documents,
)
from sktopic._files import exchange, is_own, open_regular, pass_on, real_path, sync_folder, write_file
from sktopic._interrupt import uninterrupted
from sktopic._surrogates import encoded
from sktopic._typing import MatrixLike

try:
    import fcntl
except ImportError:  # where the system itself lets nobody else write an open file
    fcntl = None  # type: ignore[assignment]

PROGRESS = "progress.json"
# Seconds after which progress is kept.
PROGRESS_INTERVAL = 2.0
# Types of the arrays that grow.
INDEX_TYPES = [index_type(0), index_type(LARGE)]
DTYPES = {
    "indptr": INDEX_TYPES,
    "indices": INDEX_TYPES,
    "data": COUNTS,
    DOC_IDS: [BYTES, IDS],
    ends_of(DOC_IDS): [ENDS],
}
# At the end of the name of a file to which an array is copied.
WIDER = ".wider"
# The files of a corpus that is not finished, and what a file is called while `write_file` writes it.
UNFINISHED = (FILES - {HEADER}) | {PROGRESS} | {file_of(name) + WIDER for name in DTYPES}
INCOMPLETE = re.compile(r"\.[0-9a-f]{16}\.incomplete")
# Entries of a block of a dense matrix.
DENSE_BLOCK = 1 << 22
# Bytes of the header of a .npy file with one dimension.
NPY_HEADER_BYTES = len(npy_header(BYTES, (0,)))


def save_corpus(
    path: str | PathLike[str],
    X: MatrixLike | Corpus | Iterable[MatrixLike] | Callable[[int], Iterable[MatrixLike]],
    feature_names: ArrayLike | None = None,
    doc_ids: Iterable[Any] | None = None,
    *,
    overwrite: bool = False,
    resume: bool = False,
) -> Corpus:
    """Write counts to a folder, block by block, and return them as a corpus.

    The folder appears when it is complete. One block at a time is in memory. Counts are stored in the
    smallest of uint8, uint16 and uint32 that holds them all, whatever type they come in. Fractions are stored
    in float32 if they come in it and no other count is above 65535; these, and counts of 2**32 and more, in
    float64 otherwise.

    Read more in :doc:`/guide/large_corpora`.

    Parameters
    ----------
    path : str or path-like
        The folder, inside one that is there.
    X : matrix, Corpus, iterable of blocks, or function
        Counts of words, non-negative. A matrix may be sparse or dense, or anything that has a shape and
        slices of rows, as datasets of h5py have, and the sparse ones of anndata. Blocks are matrices of some
        documents each, in their order. A function is called with the number of documents that have been
        written, 0 unless `resume` finds some, and returns an iterable of the blocks that follow these.
    feature_names : array-like of str of shape (n_features,), default=None
        The words. By default those of a corpus, and the columns of a data frame if these are strings.
    doc_ids : iterable of str or of int, one for each document, default=None
        Names of the documents. By default those of a corpus. They are drawn along with the blocks.
    overwrite : bool, default=False
        Whether a corpus that is there is replaced, when the new one is complete. Who has it open goes on with
        it. For a moment between the two there is none, but on Linux, where they exchange their names. The new
        corpus has the permissions of the old one. A folder that holds anything else is not replaced.
    resume : bool, default=False
        Whether to keep what has been written if the call fails or is killed, all but the last seconds, and to
        go on behind what an earlier call has kept. Of an iterable, as many documents are drawn once more and
        passed over, unchecked: they have to be those that were written, and so have `doc_ids`. Without
        `resume`, nothing is kept, and what an earlier call has kept is removed. The unfinished folder, which
        is next to `path`, must belong to you and hold no other files.

    Returns
    -------
    corpus : Corpus
        The corpus, open.

    Raises
    ------
    ValueError
        For counts that are not valid, with the number of the block, from 0, among those that this call has
        drawn; for names that do not fit; for a folder at `path` that holds other files than a corpus; if the
        unfinished folder next to `path` contains unknown files.
    FileExistsError
        If there is something at `path` and it is not to be replaced.
    OSError
        If the folder cannot be written, or another process is writing it, or `path` is a symbolic link of
        another user.

    See Also
    --------
    open_corpus : Open a corpus.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sktopic.datasets import save_corpus
    >>> texts = ["red green red", "green blue", "blue blue red"]
    >>> vectorizer = CountVectorizer().fit(texts)
    >>> corpus = save_corpus(
    ...     os.path.join(tempfile.mkdtemp(), "colours"),
    ...     (vectorizer.transform(texts[i : i + 2]) for i in range(0, 3, 2)),
    ...     feature_names=vectorizer.get_feature_names_out(),
    ... )
    >>> corpus[:].toarray()
    array([[0, 1, 2],
           [1, 1, 0],
           [2, 0, 1]], dtype=uint8)
    """
    path = real_path(path)
    replaces = _modes_of(path, overwrite) is not None
    feature_names = _feature_names(X, feature_names)
    if doc_ids is None and isinstance(X, Corpus):
        doc_ids = X.doc_ids
    with _working_folder(path, keep=resume, is_private=replaces) as folder:
        if not os.path.exists(os.path.join(folder, HEADER)):  # or only its name was missing
            _write(folder, X, feature_names, doc_ids, resume)
        Corpus(folder)  # raises if it cannot be opened, before it replaces another
        _publish(folder, path, overwrite)
    return Corpus(path)


def _modes_of(path, overwrite):
    """Permissions of the folder and of the files that are replaced, and its group; None if nothing is there.

    Raises FileExistsError or ValueError if what is there is not to be replaced.
    """
    if not os.path.lexists(path):
        return None
    if not overwrite:
        raise FileExistsError(f"{path} is there already; overwrite=True replaces a corpus.")
    while True:
        before = os.lstat(path)
        try:
            return stat.S_IMODE(before.st_mode), _mode_of_files(path), before.st_gid
        except (OSError, ValueError):
            if os.path.samestat(before, os.lstat(path)):  # or another call has just replaced it
                raise


def _mode_of_files(path):
    """The permissions that all files of a corpus have; ValueError for a folder with other files."""
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
    return stat.S_IMODE(reduce(and_, modes.values()))


def _feature_names(X, names):
    """The words as an array of objects, or None."""
    if names is None and isinstance(X, Corpus):
        return X.feature_names
    if names is None and all(isinstance(name, str) for name in getattr(X, "columns", [None])):
        names = X.columns
    if names is None:
        return None
    names = np.array(names, dtype=object)
    if names.ndim != 1 or not all(isinstance(name, str) for name in names):
        raise ValueError("feature_names are to be strings, one for each word.")
    return names


# The folder before and when it is complete


@contextmanager
def _working_folder(path, keep, is_private):
    """The folder in which the corpus is written, for this process alone; removed after errors unless kept."""
    parent, name = os.path.split(path)
    unique = "" if keep else f".{secrets.token_hex(8)}"
    folder = os.path.join(parent, f".{name}{unique}.incomplete")
    is_ours, is_new = False, True
    with ExitStack() as stack:
        try:
            with uninterrupted():
                try:
                    os.mkdir(folder, 0o700 if is_private else 0o777)
                except FileExistsError:
                    if not keep:
                        raise
                    is_new = False
                    _check_owner(folder)
                stack.enter_context(_locked(folder))
                is_ours = True
            names = set() if is_new else _check_unfinished(folder)
            _remove_leftovers(path, "incomplete", but=folder)
            if not is_new:  # it may have been left wider, or read-only
                mode = stat.S_IMODE(os.lstat(folder).st_mode)
                os.chmod(folder, 0o700 if is_private else mode | 0o700)
            if not names & {HEADER, PROGRESS}:
                _write_progress(folder, None, {})
            yield folder
        except BaseException:
            with uninterrupted():  # after an error behind its end it has its name already
                if is_ours and not keep:
                    _remove(folder)
                elif is_ours:
                    with suppress(OSError):  # unless it is empty
                        os.rmdir(folder)
            raise


def _check_owner(folder):
    """ValueError for a link, a file, or a folder of another user."""
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or not is_own(status):
        raise ValueError(f"{folder} is not a folder of this user. Remove it, or give another path.")


@contextmanager
def _locked(folder):
    """Raise BlockingIOError if another process has the folder, and keep it from others."""
    if fcntl is None:
        yield
        return
    with ExitStack() as stack:
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(descriptor), os.lstat(folder)):  # who had it has just finished
                raise BlockingIOError
        except (BlockingIOError, FileNotFoundError):
            raise BlockingIOError(f"another process is writing {folder}") from None
        yield


def _check_unfinished(folder):
    """Names of the files in a folder that an earlier call has not finished, or that is empty.

    ValueError for any other folder: with files that no call makes, or that are also elsewhere.
    """
    names = set(os.listdir(folder))
    others = {name for name in names if not _is_alone(os.lstat(os.path.join(folder, name)))}
    if not others:
        known = set(filter(INCOMPLETE.fullmatch, names))
        if HEADER in names:
            known = {PROGRESS, *files_of(folder)}
        elif PROGRESS in names:
            _read_progress(folder)
            known |= UNFINISHED
        others = names - known
    if others:
        raise ValueError(
            f"{folder} is not what an earlier call has written: it holds {min(others)!r:.80}. Remove it, or "
            "give another path."
        )
    return names


def _is_alone(status):
    """Whether it is a file of this user, and has no other name, in a folder of others."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and is_own(status)


def _empty(folder, keep):
    for name in set(os.listdir(folder)) - keep:
        os.unlink(os.path.join(folder, name))


def _remove(folder, names=None):
    """Remove a folder and files in it, by default all; it stays if it holds more."""
    with suppress(OSError):  # of another user
        os.chmod(folder, 0o700)  # it may be read-only
    with suppress(OSError):
        names = os.listdir(folder) if names is None else names
        for name in sorted(names, key=lambda name: name in (HEADER, PROGRESS)):  # which say what the rest is
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def _publish(folder, path, overwrite):
    """Give the complete folder its name, and the permissions of the one that it replaces."""
    modes = _modes_of(path, overwrite)
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, PROGRESS))
    sync_folder(folder)
    if modes is not None:
        mode, mode_of_files, gid = modes
        for name in os.listdir(folder):
            pass_on(os.path.join(folder, name), mode_of_files, gid)
        pass_on(folder, mode, gid)
    with uninterrupted():
        if modes is None:
            os.rename(folder, path)
            sync_folder(os.path.dirname(path))
        else:
            aside = _name_aside(path)
            _replace(folder, path, aside)
            sync_folder(os.path.dirname(path))
            _remove(aside, FILES)
    _remove_leftovers(path, "replaced")


def _name_aside(path):
    """A new name, beside a corpus, for a folder that is to be removed."""
    parent, name = os.path.split(path)
    return os.path.join(parent, f".{name}.{secrets.token_hex(8)}.replaced")


def _replace(folder, path, aside):
    """Give a folder the name of another, which is put aside."""
    exchanged = False
    os.rename(folder, aside)
    try:
        exchanged = exchange(aside, path)
    finally:
        if not exchanged:
            os.rename(aside, folder)
    if exchanged:
        return
    os.rename(path, aside)
    try:
        os.rename(folder, path)
    except BaseException:
        os.rename(aside, path)
        raise


def _remove_leftovers(path, ending, but=None):
    """Remove what calls that were killed have left beside a corpus, as far as that is allowed.

    Raises BlockingIOError if another call is writing the corpus.
    """
    parent, name = os.path.split(path)
    pattern = re.compile(rf"\.{re.escape(name)}(\.[0-9a-f]{{16}})?\.{ending}")
    for folder in (os.path.join(parent, other) for other in os.listdir(parent) if pattern.fullmatch(other)):
        if folder == but:
            continue
        try:
            _check_owner(folder)
            with _locked(folder):
                names, aside = _check_unfinished(folder), _name_aside(path)
                os.rename(folder, aside)  # so that no call continues half of it
                _remove(aside, names)
        except BlockingIOError:
            if ending == "incomplete":
                raise
        except (OSError, ValueError):  # somebody else has put it there
            pass


# Blocks


def _write(folder, X, feature_names, doc_ids, resume):
    with _Writer(folder, feature_names, doc_ids) as writer:
        writer.begin()
        kept = time.monotonic()
        try:
            for number, block in enumerate(_blocks(X, writer.n_documents)):
                try:
                    writer.append(_counts(block))
                except (ValueError, OverflowError, TypeError) as error:
                    kind = TypeError if isinstance(error, TypeError) else ValueError
                    raise kind(f"block {number}: {error}") from error
                if resume and time.monotonic() - kept >= PROGRESS_INTERVAL:
                    writer.keep_progress()
                    kept = time.monotonic()
            writer.finish()
        except BaseException:
            if resume:
                with uninterrupted(), suppress(OSError):  # the disk may be full: what was kept before stays
                    writer.keep_progress()
            raise


def _blocks(X, first):
    """The blocks of documents from the first on."""
    is_scalar = getattr(X, "shape", None) == ()
    if hasattr(X, "shape") and not is_scalar:
        return _blocks_of_rows(X, first)
    blocks = X(first) if callable(X) else X
    if is_scalar or not isinstance(blocks, Iterable) or isinstance(blocks, (str, bytes, Mapping)):
        whose = "the function X has returned" if callable(X) else "X is"
        raise TypeError(
            f"{whose} a {type(blocks).__name__}; a matrix, a Corpus, an iterable of matrices or a function "
            "that returns one is allowed."
        )
    return blocks if callable(X) else _after(blocks, first)


def _blocks_of_rows(X, first):
    size = BLOCK_SIZE
    if sp.issparse(X):
        X = _documents(X)
        for start in range(first, X.shape[0], size):
            yield rows_of_documents(X, np.arange(start, min(start + size, X.shape[0])))
        return
    if not isinstance(X, Corpus):
        size = max(1, min(size, DENSE_BLOCK // max(1, X.shape[-1])))
    rows = getattr(X, "iloc", X)
    for start in range(first, X.shape[0], size):
        yield rows[start : start + size]


def _after(blocks, n_documents):
    """The blocks of what follows so many documents."""
    for block in blocks:
        if n_documents == 0:
            yield block
            continue
        size = np.shape(block)[0]
        if size > n_documents:
            block = check_sparse_structure(block)
            yield check_array(block, accept_sparse="csr", dtype=None, ensure_all_finite=False)[n_documents:]
        n_documents = max(0, n_documents - size)
    if n_documents:
        raise ValueError(f"X ends {n_documents} documents before what an earlier call has written of it.")


def _counts(block):
    """A block as canonical CSR, of valid counts."""
    if isinstance(block, (str, bytes)):
        raise TypeError(
            "it is a text; matrices of counts are allowed, which sktopic.datasets.iter_counts(vectorizer, X) "
            "makes of texts."
        )
    return canonical_counts(_documents(block))


def _documents(X):
    """A matrix as_documents, checked."""
    X = check_array(
        check_sparse_structure(X),
        accept_sparse="csr",
        dtype=COUNT_TYPES,
        ensure_all_finite=False,
        ensure_min_samples=0,
        input_name="X",
    )
    X = as_documents(X)
    check_counts(X, "save_corpus")
    return X


def _count_type(data):
    """The type that counts need."""
    if data.dtype.kind == "f" and not np.array_equal(data, np.floor(data)):
        return np.dtype(np.float32 if data.dtype == np.float32 else np.float64)
    largest = data.max(initial=0)
    fitting = (dtype for dtype in COUNTS if dtype.kind == "u" and largest <= np.iinfo(dtype).max)
    return next(fitting, np.dtype(np.float64))


# Files


def _write_json(folder, name, content):
    text = json.dumps(content).encode("ascii")
    write_file(os.path.join(folder, name), lambda file: file.write(text), follow=False)


def _write_progress(folder, n_features, lengths):
    """Keep how much of each array is whole and on the disk; None and {} before there is any."""
    _write_json(folder, PROGRESS, {"n_features": n_features, "lengths": lengths})


def _read_progress(folder):
    """What `_write_progress` was given; ValueError for anything else."""
    path = os.path.join(folder, PROGRESS)
    with open_regular(path) as file:
        text = file.read(MOST_HEADER_BYTES)
    try:
        progress = parse_json(text, PROGRESS)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error!s:.800}. Delete its folder.") from error
    if not _is_progress(progress):
        raise ValueError(f"{path} is damaged. Delete its folder.")
    return progress["n_features"], progress["lengths"]


class _Writer:
    """The arrays of a corpus that is being written.

    Parameters
    ----------
    folder : str
    feature_names : ndarray or None
    doc_ids : iterable or None
    """

    def __init__(self, folder, feature_names, doc_ids):
        self._folder, self._feature_names = folder, feature_names
        self._n_features = None if feature_names is None else len(feature_names)
        if doc_ids is not None and not isinstance(doc_ids, Iterable):
            raise TypeError(f"doc_ids={doc_ids!r:.80}: an iterable of strings or of integers is allowed.")
        self._doc_ids = None if doc_ids is None else iter(doc_ids)
        self._arrays, self._lengths = {}, {}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for array in self._arrays.values():
            array.close()

    def begin(self):
        """Open the files that an earlier call has kept, and remove what else is in the folder.

        Nothing is changed before all of them have been checked.
        """
        n_features, lengths = _read_progress(self._folder)
        for name, length in lengths.items():
            self._arrays[name] = _GrowingArray.found(self._path(name), DTYPES[name], length)
        for name, ends in ("indices", "indptr"), (DOC_IDS, ends_of(DOC_IDS)):
            if ends in lengths and self._arrays[ends].last() != lengths[name]:
                raise ValueError(f"{os.path.join(self._folder, PROGRESS)} is damaged. Delete its folder.")
        if self._arrays:
            self._check_width(n_features)
            self._pass_over_ids()
        _empty(self._folder, keep={PROGRESS, *map(file_of, lengths)})
        for array in self._arrays.values():
            array.cut()
        if not self._arrays:
            for name, dtype in zip(MATRIX, (index_type(0), index_type(0), COUNTS[0])):
                self._append(name, np.empty(0, dtype))
            self._append("indptr", np.zeros(1, index_type(0)))
        self._note_lengths()

    @property
    def n_documents(self):
        return self._lengths["indptr"] - 1

    @property
    def nnz(self):
        return self._lengths["indices"]

    def _note_lengths(self):
        """Those of whole blocks."""
        self._lengths = {name: array.length for name, array in self._arrays.items()}

    def append(self, counts):
        """Add a block (from _counts)."""
        self._check_width(counts.shape[1])
        if self._doc_ids is not None:  # which may not fit: before types are widened
            self._append_ids(counts.shape[0])
        index = index_type(self.nnz + counts.nnz)
        self._append("indptr", counts.indptr[1:].astype(np.int64) + self.nnz, index)
        self._append("indices", counts.indices, index)
        self._append("data", counts.data, _count_type(counts.data))
        self._note_lengths()

    def _append(self, name, items, dtype=None):
        """Add to an array, which is widened so that it has the dtype, or a larger one."""
        dtype = items.dtype if dtype is None else dtype
        if name not in self._arrays:
            self._arrays[name] = _GrowingArray.new(self._path(name), dtype)
        array = self._arrays[name]
        array.widen(np.promote_types(array.dtype, dtype))
        array.append(items)

    def _path(self, name):
        return os.path.join(self._folder, file_of(name))

    def _check_width(self, n_features):
        if self._n_features is None:
            self._n_features = n_features
        elif n_features != self._n_features:
            source = (
                "the blocks before have" if self._feature_names is None else "there are feature_names for"
            )
            raise ValueError(f"X has {n_features} columns, but {source} {self._n_features}.")

    def _pass_over_ids(self):
        if (DOC_IDS in self._arrays) != (self._doc_ids is not None):
            raise ValueError("doc_ids were given to the earlier call, or are given now, but not both.")
        if self._doc_ids is not None:
            self._drawn_ids(self._arrays["indptr"].length - 1)

    def _drawn_ids(self, n_documents):
        ids = list(islice(self._doc_ids, n_documents))
        if len(ids) < n_documents:
            raise ValueError(f"doc_ids end {n_documents - len(ids)} documents too early.")
        return ids

    def _append_ids(self, n_documents):
        ids = self._drawn_ids(n_documents)
        if not ids:
            return
        if ends_of(DOC_IDS) in self._arrays or (
            DOC_IDS not in self._arrays and all(isinstance(name, str) for name in ids)
        ):
            self._append_strings(DOC_IDS, ids)
        else:
            for name in ids:
                if not isinstance(name, Integral) or not -(2**63) <= name < 2**63:
                    raise ValueError(f"doc_ids has {name!r:.80}; strings, or 64-bit integers, are allowed.")
            self._append(DOC_IDS, np.array(ids, IDS))

    def _append_strings(self, name, strings):
        if not all(isinstance(string, str) for string in strings):
            raise ValueError(f"{name} are to be strings.")
        texts = [encoded(string, name) for string in strings]
        self._append(name, np.frombuffer(b"".join(texts), BYTES))
        lengths = np.array([len(text) for text in texts], ENDS)
        self._append(ends_of(name), self._arrays[name].length - lengths.sum() + np.cumsum(lengths))

    def keep_progress(self):
        """Keep what has been written of whole blocks, if there are any, for a later call."""
        if self.n_documents == 0:
            return
        for array in self._arrays.values():
            array.synchronise()
        _write_progress(self._folder, self._n_features, self._lengths)

    def finish(self):
        """Write what is the same for all blocks, and the header."""
        if self.n_documents == 0:
            raise ValueError("X has no documents.")
        if self._doc_ids is not None and next(self._doc_ids, None) is not None:
            raise ValueError(f"there are more doc_ids than the {self.n_documents} documents.")
        if self._feature_names is not None:
            self._append_strings(FEATURE_NAMES, self._feature_names)
        header = {
            "format": FORMAT,
            "schema": SCHEMA,
            "shape": [self.n_documents, self._n_features],
            "nnz": self.nnz,
            "arrays": {name: array.finish() for name, array in self._arrays.items()},
        }
        _write_json(self._folder, HEADER, header)


def _is_progress(progress):
    """Whether a dict says how much of whole blocks is written."""
    lengths = progress.get("lengths")
    if progress == {"n_features": None, "lengths": {}}:
        return True
    if progress.keys() != {"n_features", "lengths"}:
        return False
    if type(lengths) is not dict or not set(MATRIX) <= lengths.keys() <= DTYPES.keys():
        return False
    if not all(type(n) is int and 0 <= n < 2**63 for n in (progress.get("n_features"), *lengths.values())):
        return False
    if not 1 <= progress["n_features"] <= MOST_WORDS:
        return False
    n_documents, ids = lengths["indptr"] - 1, ends_of(DOC_IDS) if ends_of(DOC_IDS) in lengths else DOC_IDS
    return (
        n_documents > 0
        and lengths["indices"] == lengths["data"]
        and (DOC_IDS in lengths) == (ids in lengths)
        and lengths.get(ids, n_documents) == n_documents
    )


class _GrowingArray:
    """A .npy file of one dimension that grows; its header has the right length when it is finished."""

    def __init__(self, path, file, dtype, length):
        self._path, self._file, self.dtype, self.length = path, file, dtype, length

    @classmethod
    def new(cls, path, dtype):
        """An empty one, in a file that is not there yet."""
        file = open(path, "xb+")  # noqa: SIM115 (until close)
        file.write(npy_header(dtype, (0,)))
        return cls(path, file, dtype, 0)

    @classmethod
    def found(cls, path, dtypes, length):
        """One that is there, of one of some dtypes, of which so many items stay when it is `cut`."""
        file = open_regular(path, "rb+")
        header = file.read(NPY_HEADER_BYTES)
        shape = re.search(rb"\((\d{1,19}),\)", header)
        headers = {npy_header(dtype, (int(shape[1]),)): dtype for dtype in dtypes} if shape else {}
        array = cls(path, file, headers.get(header, BYTES), length)
        if header not in headers or os.fstat(file.fileno()).st_size < array._end:
            file.close()
            raise ValueError(f"{path} is not what an earlier call has written. Delete its folder.")
        return array

    def last(self):
        """The last of the items that are kept."""
        self._file.seek(self._end - self.dtype.itemsize)
        return int(np.frombuffer(self._file.read(self.dtype.itemsize), self.dtype)[0])

    def cut(self):
        """Drop what follows the items that are kept."""
        self._file.truncate(self._end)
        self._file.seek(self._end)

    @property
    def _end(self):
        return NPY_HEADER_BYTES + self.length * self.dtype.itemsize

    def append(self, items):
        self._file.write(np.ascontiguousarray(items, self.dtype))
        self.length += len(items)

    def widen(self, dtype):
        """Copy the file to one of another dtype that has all values, if it is another."""
        if dtype == self.dtype:
            return
        wider = _GrowingArray.new(self._path + WIDER, dtype)
        try:
            self._file.seek(NPY_HEADER_BYTES)
            while wider.length < self.length:
                n_items = min(CHUNK // dtype.itemsize, self.length - wider.length)
                wider.append(np.frombuffer(self._file.read(n_items * self.dtype.itemsize), self.dtype))
            wider.synchronise()
        finally:
            wider.close()
        with uninterrupted():
            self.close()
            os.replace(wider._path, self._path)
            self._file, self.dtype = open_regular(self._path, "rb+"), dtype
            self._file.seek(self._end)

    def synchronise(self):
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self):
        with suppress(OSError):  # of a disk that is full; what is to last has been synchronised
            self._file.close()

    def finish(self):
        """Complete the file; returns its description, with the digest of what can be read of it."""
        self._file.seek(0)
        self._file.write(npy_header(self.dtype, (self.length,)))
        self.synchronise()
        digest = hashlib.file_digest(self._file, "sha256").hexdigest()
        return description(self.dtype, (self.length,), digest)
