"""Readers of text formats for word counts, at once or in blocks."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from numbers import Integral
from os import PathLike
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_scalar

from sktopic._runtime._compat import Counts, as_configured

_BLOCK_BYTES = 1 << 24  # size of the blocks in which a UCI file is parsed
_LDAC_BLOCK_BYTES = 1 << 20

File: TypeAlias = str | PathLike[str]
# Word counts, and the words if they are known.
CountsAndWords: TypeAlias = tuple[Counts, NDArray[np.object_] | None]
# Limits far above the largest corpora in use, against damaged and hostile files.
_MAX_COUNT = np.iinfo(np.int32).max
_MAX_ENTRIES = np.iinfo(np.int32).max
_MAX_ITERATED_ENTRIES = 10**18 - 1
_MAX_EMPTY_DOCUMENTS = 10_000_000
_MAX_WORDS = 1 << 24
_MAX_LINE_BYTES = 1000  # a UCI entry, a word of a vocabulary
_MAX_LDAC_LINE_BYTES = 1 << 24  # a document
_MAX_VOCABULARY_BYTES = 1 << 28
_MAX_BLANK_LINES = 1000

_SIZES = "documents", "words", "entries"
_ENTRY = "document number", "word number", "count"
_HEADER_LINE = re.compile(rb"\s*+\d{1,18}+\s*+")
# Possessive quantifiers do not backtrack, so that memory stays bounded.
_LDAC_LINE = re.compile(rb"\s*+\d{1,18}+(?:\s++\d{1,18}+:\d{1,18}+)*+\s*+")
_MATRIX_MARKET_LINE = re.compile(
    rb"%%MatrixMarket\s++matrix\s++coordinate\s++(?:integer|real)\s++general\s*+", re.I
)
_REAL_LINE = re.compile(
    rb"\s*+(-?\d{1,18}+)\s++(-?\d{1,18}+)\s++(-?\d{1,18}+(?:\.\d{0,18}+)?+(?:[eE][+-]?\d{1,3}+)?+)\s*+"
)
_UCI_LINE = re.compile(rb"\s*+(-?\d{1,18}+)\s++(-?\d{1,18}+)\s++(-?\d{1,18}+)\s*+")
_REGULAR_LINES = re.compile(rb"(?:\d{1,18}+ \d{1,18}+ \d{1,18}+\n)*+")


class _Header(NamedTuple):
    """The sizes in the header of a file, and how entries follow it.

    Attributes
    ----------
    first_line : number of the first line after the header
    pattern : matches an entry
    other_reader : reads files that are not sorted
    """

    n_samples: int
    n_features: int
    n_entries: int
    first_line: int
    pattern: re.Pattern[bytes]
    other_reader: str

    @property
    def sizes(self):
        return self.n_samples, self.n_features, self.n_entries


def read_uci(docword: File, vocab: File | None = None) -> CountsAndWords:
    """Read a corpus in the UCI bag-of-words format.

    The first three lines hold the numbers of documents D, of words W and of entries NNZ. Each of the
    following NNZ lines holds a document number from 1 to D, a word number from 1 to W and a count.

    Parameters
    ----------
    docword : str or path-like
        File of counts, plain or compressed with gzip.
    vocab : str or path-like, default=None
        File of words, one per line, plain or compressed with gzip. Line i is word number i.

    Returns
    -------
    X : csr_matrix or csr_array of shape (D, W), dtype int32
        Word counts. Documents without entries are empty rows. Repeated entries are added.
    feature_names : ndarray of str of shape (W,), dtype object, or None
        The words, or None without `vocab`.

    Raises
    ------
    ValueError
        If a file violates the format or exceeds a limit (see Notes). The message names the file and, if
        known, the line.

    Notes
    -----
    If lines are sorted by document, memory beyond the result is needed for one block only. Memory grows with
    the entries in the file, not with the sizes in the header.

    Limits:

    - 2**31 - 1 for a count and for NNZ;
    - 2**24 words;
    - 10,000,000 documents without entries: D may exceed NNZ by at most this number;
    - 1000 bytes per line and 2**28 bytes per vocabulary;
    - 1000 more empty lines than entries.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sktopic.datasets import read_uci
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "docword.txt")
    ...     _ = path.write_text("3\\n4\\n3\\n1 1 2\\n1 4 1\\n3 2 5\\n")
    ...     X, feature_names = read_uci(path)
    >>> X.toarray()
    array([[2, 0, 0, 1],
           [0, 0, 0, 0],
           [0, 5, 0, 0]], dtype=int32)
    """
    counts = parse_docword(docword)
    return counts, None if vocab is None else parse_vocabulary(
        vocab, counts.shape[1], "the header of docword"
    )


def read_ldac(path: File, vocab: File | None = None, n_features: int | None = None) -> CountsAndWords:
    """Read a corpus in the format of LDA-C.

    Each line is a document: its number N of distinct words, then N pairs ``word:count``. Words are numbered
    from 0.

    Parameters
    ----------
    path : str or path-like
        File of counts, plain or compressed with gzip.
    vocab : str or path-like, default=None
        File of words, one per line, plain or compressed with gzip.
    n_features : int, default=None
        Vocabulary size. If None, the number of words in `vocab`; without `vocab`, the largest word number
        in the file plus one.

    Returns
    -------
    X : csr_matrix or csr_array of shape (n_samples, n_features), dtype int32
        Word counts. Documents without words (lines that hold only 0) are empty rows. Repeated words of a
        document are added.
    feature_names : ndarray of str of shape (n_features,), dtype object, or None
        The words, or None without `vocab`.

    Raises
    ------
    ValueError
        If a file violates the format or exceeds a limit (see Notes), or if `vocab` contradicts
        `n_features`. The message names the file and, if known, the line.

    Notes
    -----
    Memory beyond the result is needed for one block or one document only.

    Limits:

    - 2**31 - 1 for a count and for the number of entries;
    - 2**24 words;
    - 10,000,000 documents without words;
    - 2**24 bytes per document, 2**28 bytes per vocabulary and 1000 bytes per word;
    - 1000 empty lines at the end.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sktopic.datasets import read_ldac
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "corpus.ldac")
    ...     _ = path.write_text("2 0:2 3:1\\n0\\n1 1:5\\n")
    ...     X, feature_names = read_ldac(path)
    >>> X.toarray()
    array([[2, 0, 0, 1],
           [0, 0, 0, 0],
           [0, 5, 0, 0]], dtype=int32)
    """
    if n_features is not None:
        check_scalar(n_features, "n_features", Integral, min_val=1, max_val=_MAX_WORDS)
    feature_names = None
    if vocab is not None:
        feature_names = parse_vocabulary(vocab, n_features, "n_features")
        n_features = len(feature_names)

    words, counts, lengths = array("i"), array("i"), array("i")
    for numbers in _ldac_documents(path, _MAX_WORDS if n_features is None else n_features):
        _extend((words, counts, lengths), numbers)
        _check_total(len(words), _MAX_ENTRIES, "pairs", path, len(lengths))
    if n_features is None:
        n_features = int(np.max(words, initial=-1)) + 1
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    shape = len(lengths), n_features
    return _canonical_csr(np.asarray(counts), np.asarray(words), indptr, shape, path), feature_names


def iter_uci(docword: File) -> Iterator[Counts]:
    """Iterate over a corpus in the UCI bag-of-words format, block by block.

    Memory is needed for one block and the longest document. Unlike in `read_uci`, lines must be sorted by
    document, and there may be more than 2**31 - 1 entries. As a guard against damaged files, the
    document number of entry i = 1, 2, ... must be at most i + 10,000,000.

    Parameters
    ----------
    docword : str or path-like
        File of counts, plain or compressed with gzip.

    Yields
    ------
    X : csr_matrix or csr_array of shape (n_documents, n_features), dtype int32
        Word counts of the next documents, from about 16 MB of the file. Documents without entries are empty
        rows. Repeated entries are added.

    Raises
    ------
    ValueError
        If the file violates the format, is not sorted, or has too large a document number. Also if the file
        exceeds a limit of `read_uci` (except 2**31 - 1 entries). The message names the file and, if known,
        the line.

    See Also
    --------
    read_uci : Read all documents at once, and optionally the words.
    save_corpus : Write blocks to a corpus on disk.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import scipy.sparse as sp
    >>> from sktopic.datasets import iter_uci
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "docword.txt")
    ...     _ = path.write_text("3\\n4\\n3\\n1 1 2\\n1 4 1\\n3 2 5\\n")
    ...     X = sp.vstack(list(iter_uci(path)))
    >>> X.toarray()
    array([[2, 0, 0, 1],
           [0, 0, 0, 0],
           [0, 5, 0, 0]], dtype=int32)
    """
    with _opened(docword) as file:
        yield from _sorted_documents(file, docword, _parse_header(file, docword, _MAX_ITERATED_ENTRIES))


def iter_matrix_market(path: File) -> Iterator[Counts]:
    """Iterate over a corpus in the MatrixMarket format, block by block.

    The matrix is in coordinate format, "integer general" or "real general", with one row per document and
    integer values, as written by gensim and `scipy.io.mmwrite`. Entries must be sorted by row. For unsorted
    files, use `scipy.io.mmread`. Memory is needed for one block and the longest document.

    Parameters
    ----------
    path : str or path-like
        File, plain or compressed with gzip.

    Yields
    ------
    X : csr_matrix or csr_array of shape (n_documents, n_features), dtype int32
        Word counts of the next documents, from about 16 MB of the file. Documents without entries are empty
        rows. Repeated entries are added.

    Raises
    ------
    ValueError
        If the file violates the format, is not sorted, or exceeds the limits of `iter_uci`. The message
        names the file and, if known, the line.

    See Also
    --------
    save_corpus : Write blocks to a corpus on disk.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import scipy.sparse as sp
    >>> from scipy.io import mmwrite
    >>> from sktopic.datasets import iter_matrix_market
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "counts.mtx")
    ...     mmwrite(path, sp.csr_array([[2, 0, 0, 1], [0, 0, 0, 0], [0, 5, 0, 0]]))
    ...     X = sp.vstack(list(iter_matrix_market(path)))
    >>> X.toarray()
    array([[2, 0, 0, 1],
           [0, 0, 0, 0],
           [0, 5, 0, 0]], dtype=int32)
    """
    with _opened(path) as file:
        yield from _sorted_documents(file, path, _parse_matrix_market_header(file, path))


def iter_ldac(path: File, n_features: int) -> Iterator[Counts]:
    """Iterate over a corpus in the format of LDA-C, block by block.

    Memory is needed for one block and the longest document. Unlike in `read_ldac`, there may be more than
    2**31 - 1 entries.

    Parameters
    ----------
    path : str or path-like
        File of counts, plain or compressed with gzip.
    n_features : int
        Vocabulary size.

    Yields
    ------
    X : csr_matrix or csr_array of shape (n_documents, n_features), dtype int32
        Word counts of the next documents, from about 1 MB of the file. Documents without words are empty
        rows. Repeated words of a document are added.

    Raises
    ------
    ValueError
        If the file violates the format or exceeds a limit of `read_ldac`. The message names the file and, if
        known, the line.

    See Also
    --------
    read_ldac : Read all documents at once, and optionally the words.
    save_corpus : Write blocks to a corpus on disk.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import scipy.sparse as sp
    >>> from sktopic.datasets import iter_ldac
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "corpus.ldac")
    ...     _ = path.write_text("2 0:2 3:1\\n0\\n1 1:5\\n")
    ...     X = sp.vstack(list(iter_ldac(path, n_features=4)))
    >>> X.toarray()
    array([[2, 0, 0, 1],
           [0, 0, 0, 0],
           [0, 5, 0, 0]], dtype=int32)
    """
    check_scalar(n_features, "n_features", Integral, min_val=1, max_val=_MAX_WORDS)
    first = 1
    for words, counts, lengths in _ldac_documents(path, n_features):
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        yield _canonical_csr(counts, words, indptr, (len(lengths), n_features), path, first)
        first += len(lengths)


@contextmanager
def _opened(path):
    """Open a plain or gzip-compressed file for reading bytes.

    Decompression errors, also those while reading in the context, are raised as ValueError.
    """
    path = os.fspath(path)  # raises for an int, which open() would take for a file descriptor
    with open(path, "rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(path, "rb") if compressed else open(path, "rb") as file:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is truncated or damaged: {error}") from error


def parse_vocabulary(path, n_features, source):
    """Read one word per line; unless None, `n_features` from `source` must be the number of words."""
    lines, n_bytes = [], 0
    with _opened(path) as file:
        for number, line in _numbered_lines(file, path, _MAX_LINE_BYTES):
            n_bytes += len(line)
            if number > _MAX_WORDS or n_bytes > _MAX_VOCABULARY_BYTES:
                allowed = f"at most {_MAX_WORDS} words and {_MAX_VOCABULARY_BYTES} bytes are allowed."
                raise _error(path, number, f"the vocabulary is too long; {allowed}")
            if b"\0" in line:
                message = f"{_shown(line)} holds a null byte; a vocabulary must be text in UTF-8 or Latin-1."
                raise _error(path, number, message)
            lines.append(line.rstrip(b"\r\n"))
    text = b"\n".join(lines).rstrip(b"\n")
    if not text:
        raise ValueError(f"{path} has no words.")
    try:
        words = text.decode("utf-8-sig").split("\n")  # without the mark that editors of Windows put first
    except UnicodeDecodeError:
        words = text.decode("latin-1").split("\n")
    if n_features is not None and len(words) != n_features:
        raise ValueError(f"{path} has {len(words)} words, but {source} says {n_features}.")
    return np.array(words, dtype=object)


def parse_docword(path, expected=None):
    """Read a UCI file of counts; raise ValueError if the header differs from `expected` (D, W, NNZ)."""
    with _opened(path) as file:
        header = _parse_header(file, path)
        if expected is not None and header.sizes != tuple(expected):
            raise ValueError(
                f"{path}: the header says (documents, words, entries) = {header.sizes}, the published "
                f"figures are {tuple(expected)}."
            )
        return _parse_body(file, path, header)


def _error(path, line, message):
    """Return a ValueError that names the file and the line."""
    return ValueError(f"{path}, line {line}: {message}")


def _numbered_lines(file, path, max_bytes, first=1):
    """Yield (number, line) for the lines of a file; a line has at most `max_bytes` with its end."""
    for number in count(first):
        line = file.readline(max_bytes + 1)
        if not line:
            return
        if len(line) > max_bytes:
            message = f"more than {max_bytes} bytes, which is the longest line allowed: {_shown(line)}."
            raise _error(path, number, message)
        yield number, line


def _parse_header(file, path, most_entries=_MAX_ENTRIES):
    """Return the _Header of a UCI file."""
    sizes = []
    lines = _numbered_lines(file, path, _MAX_LINE_BYTES)
    for number, meaning in enumerate(_SIZES, start=1):
        _, line = next(lines, (number, b""))
        if not _HEADER_LINE.fullmatch(line):
            raise _error(path, number, f"expected the number of {meaning}, got {_shown(line)}.")
        sizes.append(int(line))
    _check_sizes(sizes, path, (1, 2, 3), most_entries)
    return _Header(*sizes, first_line=4, pattern=_UCI_LINE, other_reader="read_uci")


def _parse_matrix_market_header(file, path):
    """Return the _Header of a MatrixMarket file, whose sizes follow its comments."""
    for number, line in _numbered_lines(file, path, _MAX_LINE_BYTES):
        if number == 1:
            if not _MATRIX_MARKET_LINE.fullmatch(line):
                expected = "'%%MatrixMarket matrix coordinate integer general', or real"
                raise _error(path, 1, f"expected {expected}, got {_shown(line)}.")
        elif found := _UCI_LINE.fullmatch(line):
            sizes = [int(size) for size in found.groups()]
            _check_sizes(sizes, path, (number,) * 3, _MAX_ITERATED_ENTRIES)
            return _Header(*sizes, number + 1, pattern=_REAL_LINE, other_reader="scipy.io.mmread")
        elif number > _MAX_BLANK_LINES or not (line.startswith(b"%") or line.isspace()):
            raise _error(path, number, f"expected a comment or three sizes, got {_shown(line)}.")
    raise ValueError(f"{path} is truncated: the line with three sizes is missing.")


def _check_sizes(sizes, path, lines, most_entries):
    """Raise ValueError unless D, W and NNZ are within their limits; `lines` are their line numbers."""
    limits = (1, _MAX_COUNT), (1, _MAX_WORDS), (0, most_entries)
    for size, meaning, number, (low, high) in zip(sizes, _SIZES, lines, limits):
        if not low <= size <= high:
            raise _error(path, number, f"{size} {meaning}, must be in {low}..{high}.")
    n_samples, _, n_entries = sizes
    if n_samples > n_entries + _MAX_EMPTY_DOCUMENTS:
        announced = f"{n_samples} documents, but line {lines[2]} announces {n_entries} entries"
        allowed = f"at most {_MAX_EMPTY_DOCUMENTS} documents may have no entries."
        raise _error(path, lines[0], f"{announced}; {allowed}")


def _parse_body(file, path, header):
    """Read the entries after the header block by block."""
    # Arrays grow with the entries read, so that a wrong header does not cost memory.
    columns = [array("i") for _ in range(4)]
    for entries, _ in _entries_of(file, path, header):
        starts = np.flatnonzero(np.diff(entries[:, 0], prepend=0))
        runs = np.diff(starts, append=len(entries))
        _extend(columns, (entries[:, 1] - 1, entries[:, 2], entries[starts, 0], runs))
    words, counts, documents, lengths = map(np.asarray, columns)  # the last two: runs of one document
    if np.any(documents[1:] < documents[:-1]):
        order = np.argsort(np.repeat(documents, lengths), kind="stable")
        words, counts = words[order], counts[order]
    indptr = np.zeros(header.n_samples + 1, dtype=np.int64)
    np.add.at(indptr, documents, lengths)
    np.cumsum(indptr, out=indptr)
    return _canonical_csr(counts, words, indptr, (header.n_samples, header.n_features), path)


def _extend(columns, numbers):
    """Append integers to arrays of int32 in place."""
    for column, values in zip(columns, numbers):
        column.frombytes(values.astype(np.int32).tobytes())


def _sorted_documents(file, path, header):
    """Yield blocks of documents from sorted entries after the header."""
    first, kept = 1, [np.empty((0, 3), dtype=np.int64)]  # the next document, and its entries so far
    n_before = 0
    for entries, lines in _entries_of(file, path, header):
        documents = entries[:, 0]
        falls = np.flatnonzero(np.diff(documents, prepend=first) < 0)
        if len(falls):
            i = falls[0]
            advice = f"use {header.other_reader} for files that are not sorted."
            raise _error(path, lines[i], f"document {documents[i]} after later ones; {advice}")
        numbers = n_before + np.arange(len(documents))  # number of preceding entries
        beyond = np.flatnonzero(documents > numbers + _MAX_EMPTY_DOCUMENTS + 1)
        if len(beyond):
            i = beyond[0]
            allowed = f"at most {_MAX_EMPTY_DOCUMENTS} documents may have no entries."
            raise _error(path, lines[i], f"document {documents[i]} after {numbers[i]} entries; {allowed}")
        n_before += len(documents)
        last = documents[-1]  # may continue in the next block
        n_complete = int(np.searchsorted(documents, last))
        if last > first:
            complete = np.concatenate([*kept, entries[:n_complete]])
            yield _block_of(complete, first, last, header.n_features, path)
            first, kept = last, []
        kept.append(entries[n_complete:])
    yield _block_of(np.concatenate(kept), first, header.n_samples + 1, header.n_features, path)


def _block_of(entries, first, stop, n_features, path):
    """Return the documents from `first` to `stop` (exclusive) from their sorted entries."""
    indptr = np.searchsorted(entries[:, 0], np.arange(first, stop + 1))
    words, counts = (column.astype(np.int32) for column in (entries[:, 1] - 1, entries[:, 2]))
    return _canonical_csr(counts, words, indptr, (stop - first, n_features), path, first)


def _entries_of(file, path, header):
    """Yield blocks of checked entries after the header, at least one entry each, and their line numbers."""
    filled, n_blank, first_line = 0, 0, header.first_line
    while block := file.read(_BLOCK_BYTES):
        block += file.readline(_MAX_LINE_BYTES + 1)
        entries, lines, n_lines = _parse_block(block, path, first_line, filled - n_blank, header.pattern)
        first_line += n_lines
        _check_entries(entries, lines, path, (1, 1, 1), (header.n_samples, header.n_features, _MAX_COUNT))
        size = len(entries)
        n_blank += n_lines - size
        if filled + size > header.n_entries:
            message = f"the header announces {header.n_entries} entries, but there are more."
            raise _error(path, lines[header.n_entries - filled], message)
        filled += size
        if size:
            yield entries, lines
    if filled < header.n_entries:
        raise ValueError(
            f"{path} is truncated: it ends after {filled} of the {header.n_entries} entries in its header."
        )


def _parse_block(block, path, first_line, surplus, pattern):
    """Parse whole lines of three integers, of which the last may be written as a real number.

    `surplus` is the number of entries minus the number of empty lines so far; `pattern` matches an entry.
    Returns the integers of shape (n, 3), the line number of each triple, and the number of lines.
    """
    ended = block if block.endswith(b"\n") else block + b"\n"
    n_lines = ended.count(b"\n")
    if _REGULAR_LINES.fullmatch(ended):
        entries = np.fromstring(ended.decode("ascii"), dtype=np.int64, sep=" ").reshape(-1, 3)
        return entries, range(first_line, first_line + n_lines), n_lines

    # Other white space, real numbers, empty lines or an error: parse line by line.
    entries, lines = array("q"), array("q")
    for number, line in _numbered_lines(io.BytesIO(block), path, _MAX_LINE_BYTES, first_line):
        found = pattern.fullmatch(line)
        if found and (integers := _integers(found.groups())):
            entries.extend(integers)
            lines.append(number)
            surplus += 1
        elif not line.isspace():
            raise _error(path, number, f"expected three integers, got {_shown(line)}.")
        else:
            surplus -= 1
            if surplus < -_MAX_BLANK_LINES:
                most = f"more than {_MAX_BLANK_LINES} empty lines over the number of entries"
                raise _error(path, number, f"empty; {most} are not allowed.")
    return np.array(entries, dtype=np.int64).reshape(-1, 3), lines, n_lines


def _integers(numbers):
    """Return the integers of a line, or None if the last number is no integer of at most 18 digits."""
    try:
        return tuple(map(int, numbers))
    except ValueError:  # of a real number
        *place, last = map(float, numbers)
    return (*map(int, place), int(last)) if last.is_integer() and abs(last) < 1e18 else None


def _check_entries(entries, lines, path, lowest, highest):
    """Raise ValueError for the first number out of range; columns are the last columns of _ENTRY."""
    outside = (entries < lowest) | (entries > highest)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        found = f"{_ENTRY[-entries.shape[1] :][column]} {entries[row, column]}"
        raise _error(path, lines[row], f"{found} is outside {lowest[column]}..{highest[column]}.")


def _ldac_documents(path, n_features):
    """Yield the words, their counts and the number of words of each document, block by block."""
    n_documents, n_empty = 0, 0
    with _opened(path) as file:
        for block in _ldac_blocks(file, path):
            numbers = _parse_ldac_block(block, path, n_documents + 1, n_features)
            n_documents += len(block)
            n_empty += len(block) - np.count_nonzero(numbers[2])
            _check_total(n_empty, _MAX_EMPTY_DOCUMENTS, "documents without words", path, n_documents)
            yield numbers
    if not n_documents:
        raise ValueError(f"{path} has no documents.")


def _check_total(found, allowed, meaning, path, line):
    if found > allowed:
        raise _error(path, line, f"{found} {meaning} up to here, at most {allowed} are allowed.")


def _ldac_blocks(file, path):
    """Yield blocks of lines that match the format."""
    block, n_bytes, n_blank = [], 0, 0
    for number, line in _numbered_lines(file, path, _MAX_LDAC_LINE_BYTES):
        if line.isspace():
            n_blank += 1
            if n_blank > _MAX_BLANK_LINES:
                message = f"empty; at most {_MAX_BLANK_LINES} empty lines are allowed, at the end."
                raise _error(path, number, message)
            continue
        if n_blank:
            message = "empty; a document without words is a line holding 0."
            raise _error(path, number - n_blank, message)
        if not _LDAC_LINE.fullmatch(line):
            raise _error(path, number, f"expected 'N word:count word:count ...', got {_shown(line)}.")
        block.append(line)
        n_bytes += len(line)
        if n_bytes >= _LDAC_BLOCK_BYTES:
            yield block
            block, n_bytes = [], 0
    if block:
        yield block


def _parse_ldac_block(block, path, first_line, n_features):
    """Return the words, their counts and the number of words of each document."""
    text = b" ".join(block).replace(b":", b" ").decode("ascii")
    numbers = np.fromstring(text, dtype=np.int64, sep=" ")
    lengths = np.array([line.count(b":") for line in block])
    starts = np.cumsum(2 * lengths + 1) - (2 * lengths + 1)
    announced, lines = numbers[starts], first_line + np.arange(len(block))
    pairs, line_of_pair = np.delete(numbers, starts).reshape(-1, 2), np.repeat(lines, lengths)
    wrong = np.flatnonzero(announced != lengths)
    i = wrong[0] if len(wrong) else len(lines)
    before = slice(lengths[:i].sum())  # the error of the first line is reported
    _check_entries(pairs[before], line_of_pair[before], path, (0, 1), (n_features - 1, _MAX_COUNT))
    if len(wrong):
        raise _error(path, lines[i], f"{announced[i]} words are announced, but there are {lengths[i]}.")
    return pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32), lengths


def _canonical_csr(counts, words, indptr, shape, path, first=1):
    """Build a CSR matrix of int32 with sorted indices and no duplicates; `first` numbers its first row."""
    result = sparse.csr_matrix((counts, words, indptr), shape=shape)
    result.sort_indices()
    if not result.has_canonical_format:
        result = result.astype(np.int64)
        result.sum_duplicates()
        if result.data.max() > _MAX_COUNT:
            row = first - 1 + np.searchsorted(result.indptr, result.data.argmax(), side="right")
            raise ValueError(
                f"{path}: counts of one word in document {row} add up to {result.data.max()}; at "
                f"most {_MAX_COUNT} is allowed."
            )
        result = result.astype(np.int32)
    return as_configured(result)


def _shown(line):
    """Quote the beginning of a line for an error message."""
    text = line[:1000].strip()[:240].decode("utf-8", errors="replace")
    return repr(text if len(text) <= 60 else text[:57] + "...")
