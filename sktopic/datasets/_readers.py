"""Readers of the two text formats in which corpora of counts are handed around."""

import gzip
import re
import zlib
from array import array
from contextlib import contextmanager
from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.utils import check_scalar

_BLOCK_BYTES = 1 << 24
_MAX_COUNT = np.iinfo(np.int32).max
_LDAC_LINE = re.compile(rb"\s*\d{1,18}(\s+\d{1,18}:\d{1,18})*\s*")
_UCI_LINE = re.compile(rb"\s*(-?\d{1,18})\s+(-?\d{1,18})\s+(-?\d{1,18})\s*")


def read_uci(docword, vocab=None):
    """Read a corpus in the UCI bag-of-words format.

    The file starts with three lines, the number of documents D, of words W and of entries NNZ. Each of the
    NNZ lines that follow holds a document number from 1 to D, a word number from 1 to W and a count.

    Parameters
    ----------
    docword : str or path-like
        The file of counts, plain or compressed with gzip.
    vocab : str or path-like, default=None
        The file of words, one a line, plain or compressed with gzip. Line i is word number i.

    Returns
    -------
    X : csr_matrix of shape (D, W), dtype int32
        Word counts. Documents without any entry are empty rows. Entries given twice are added up.
    feature_names : ndarray of str of shape (W,), dtype object, or None
        The words, None without `vocab`.

    Raises
    ------
    ValueError
        If a file does not keep to the format: the message names the file and, where there is one, the
        line.

    Notes
    -----
    The file is parsed in blocks. Beyond the result, memory is needed for one block only, as long as lines
    are sorted by document.

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


def read_ldac(path, vocab=None, n_features=None):
    """Read a corpus in the format of LDA-C.

    Each line is a document: the number N of its distinct words, then N pairs ``word:count``. Words are
    numbered from 0.

    Parameters
    ----------
    path : str or path-like
        The file of counts, plain or compressed with gzip.
    vocab : str or path-like, default=None
        The file of words, one a line, plain or compressed with gzip.
    n_features : int, default=None
        Size of the vocabulary. By default the number of words in `vocab` or, without it, one more than the
        greatest word number in the file.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features), dtype int32
        Word counts. Documents without words, lines that hold just 0, are empty rows. Words given twice in
        a document are added up.
    feature_names : ndarray of str of shape (n_features,), dtype object, or None
        The words, None without `vocab`.

    Raises
    ------
    ValueError
        If a file does not keep to the format, or `vocab` and `n_features` contradict one another: the
        message names the file and, where there is one, the line.

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
        check_scalar(n_features, "n_features", Integral, min_val=1)
    feature_names = None
    if vocab is not None:
        feature_names = parse_vocabulary(vocab, n_features, "n_features")
        n_features = len(feature_names)

    limit = _MAX_COUNT if n_features is None else n_features
    words, counts, indptr = array("i"), array("i"), array("q", [0])
    blank = None
    with open_corpus(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                blank = blank or number
                continue
            if blank:
                raise ValueError(
                    f"{path}, line {blank}: empty; a document without words is a line holding 0."
                )
            numbers = _parse_ldac_line(line, limit, f"{path}, line {number}")
            words.extend(numbers[0])
            counts.extend(numbers[1])
            indptr.append(len(words))
    if len(indptr) == 1:
        raise ValueError(f"{path} holds no document.")

    words = np.array(words, dtype=np.int32)
    if n_features is None:
        n_features = int(words.max(initial=-1)) + 1
    shape = (len(indptr) - 1, n_features)
    return _canonical_csr(np.array(counts, dtype=np.int32), words, np.array(indptr), shape), feature_names


@contextmanager
def open_corpus(path):
    """Open a file that is plain or compressed with gzip for reading bytes.

    Failures to decompress, also while reading in the context, are raised as ValueError.
    """
    with open(path, "rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(path, "rb") if compressed else open(path, "rb") as file:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is truncated or damaged: {error}") from error


def parse_vocabulary(path, n_features, source):
    """Read one word a line; their number must be `n_features`, unless None, which `source` announced."""
    with open_corpus(path) as file:
        content = file.read()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    words = [line.rstrip("\r") for line in text.rstrip("\r\n").split("\n")]
    if n_features is not None and len(words) != n_features:
        raise ValueError(f"{path} holds {len(words)} words, {source} says {n_features}.")
    names = np.empty(len(words), dtype=object)
    names[:] = words
    return names


def parse_docword(path, expected=None):
    """Read a UCI file of counts; a header that differs from `expected` (D, W, NNZ) is refused."""
    with open_corpus(path) as file:
        header = _parse_header(file, path)
        if expected is not None and header != tuple(expected):
            raise ValueError(
                f"{path}: the header says (documents, words, entries) = {header}, the published figures are "
                f"{tuple(expected)}."
            )
        return _parse_body(file, path, *header)


def _parse_header(file, path):
    """Read D, W and NNZ."""
    header = []
    for number, meaning in enumerate(("documents", "words", "entries"), start=1):
        line = file.readline(100).strip()
        if not line.isdigit():
            raise ValueError(f"{path}, line {number}: expected the number of {meaning}, got {_shown(line)}.")
        header.append(int(line))
    n_samples, n_features, n_entries = header
    for number, value, meaning in ((1, n_samples, "documents"), (2, n_features, "words")):
        if not 1 <= value <= _MAX_COUNT:
            raise ValueError(f"{path}, line {number}: {value} {meaning}, must be in 1..{_MAX_COUNT}.")
    return n_samples, n_features, n_entries


def _parse_body(file, path, n_samples, n_features, n_entries):
    """Read the entries after the header block by block."""
    # Both grow up to n_entries, so that a header that promises too much does not cost memory.
    words = np.empty(min(n_entries, 1 << 20), dtype=np.int32)
    counts = np.empty_like(words)
    row_lengths = np.zeros(n_samples, dtype=np.int64)
    rows = None  # kept from the first block that is not sorted by document
    filled, last, first_line = 0, 0, 4
    while block := file.read(_BLOCK_BYTES):
        block += file.readline()
        entries, lines, n_lines = _parse_block(block, path, first_line)
        first_line += n_lines
        _check_entries(entries, lines, path, n_samples, n_features)
        size = len(entries)
        if filled + size > n_entries:
            raise ValueError(
                f"{path}, line {lines[n_entries - filled]}: the header announces {n_entries} entries, "
                "but here are more."
            )
        if filled + size > len(words):
            capacity = min(n_entries, max(2 * len(words), filled + size))
            words.resize(capacity, refcheck=False)
            counts.resize(capacity, refcheck=False)
        words[filled : filled + size] = entries[:, 1] - 1
        counts[filled : filled + size] = entries[:, 2]
        documents = entries[:, 0] - 1
        if size:
            if rows is None and (documents[0] < last or np.any(documents[1:] < documents[:-1])):
                rows = [np.repeat(np.arange(n_samples, dtype=np.int32), row_lengths)]
            if rows is not None:
                rows.append(documents.astype(np.int32))
            low = documents.min()
            lengths = np.bincount(documents - low)
            row_lengths[low : low + len(lengths)] += lengths
            last = documents[-1]
        filled += size
    if filled < n_entries:
        raise ValueError(
            f"{path} is truncated: it ends after {filled} of the {n_entries} entries its header announces."
        )
    if rows is not None:
        order = np.argsort(np.concatenate(rows), kind="stable")
        words, counts = words[order], counts[order]
    indptr = np.concatenate([[0], np.cumsum(row_lengths)])
    return _canonical_csr(counts, words, indptr, (n_samples, n_features))


def _parse_block(block, path, first_line):
    """Parse whole lines of three integers.

    Returns the integers, shape (n, 3), the line number of each triple, and the number of lines.
    """
    if not block.endswith(b"\n"):
        block += b"\n"
    characters = np.frombuffer(block, dtype=np.uint8)
    is_digit = (characters >= ord("0")) & (characters <= ord("9"))
    separators = np.flatnonzero(~is_digit)
    n_lines = block.count(b"\n")
    regular = (
        len(separators) == 3 * n_lines
        and separators[0] > 0
        and np.all(np.diff(separators) > 1)
        and np.all(characters[separators].reshape(-1, 3) == np.frombuffer(b"  \n", dtype=np.uint8))
        and np.diff(separators, prepend=-1).max() <= 18  # digits: nothing overflows int64
    )
    if regular:
        entries = np.fromstring(block.decode("ascii"), dtype=np.int64, sep=" ").reshape(-1, 3)
        return entries, range(first_line, first_line + n_lines), n_lines

    # Other white space, empty lines or an error: slowly, line by line.
    entries, lines = [], []
    for number, line in enumerate(block.split(b"\n")[:-1], start=first_line):
        if not line.strip():
            continue
        found = _UCI_LINE.fullmatch(line)
        if not found:
            raise ValueError(f"{path}, line {number}: expected three integers, got {_shown(line)}.")
        entries.append([int(field) for field in found.groups()])
        lines.append(number)
    return np.array(entries, dtype=np.int64).reshape(-1, 3), lines, n_lines


def _check_entries(entries, lines, path, n_samples, n_features):
    """Raise for the first entry that is out of range."""
    upper = np.array([n_samples, n_features, _MAX_COUNT])
    bad = (entries < 1) | (entries > upper)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        meaning = ("document number", "word number", "count")[column]
        raise ValueError(
            f"{path}, line {lines[row]}: {meaning} {entries[row, column]} is outside 1..{upper[column]}."
        )


def _parse_ldac_line(line, limit, place):
    """Return the words and counts of one document."""
    if not _LDAC_LINE.fullmatch(line):
        raise ValueError(f"{place}: expected 'N word:count word:count ...', got {_shown(line)}.")
    announced, *numbers = map(int, line.replace(b":", b" ").split())
    words, counts = numbers[::2], numbers[1::2]
    if len(words) != announced:
        raise ValueError(f"{place}: {announced} words are announced, {len(words)} are there.")
    if words and max(words) >= limit:
        raise ValueError(f"{place}: word number {max(words)} is outside 0..{limit - 1}.")
    if counts and not 1 <= min(counts) <= max(counts) <= _MAX_COUNT:
        worst = min(counts) if min(counts) < 1 else max(counts)
        raise ValueError(f"{place}: count {worst} is outside 1..{_MAX_COUNT}.")
    return words, counts


def _canonical_csr(counts, words, indptr, shape):
    """Build a CSR matrix of int32 with sorted indices and no duplicates."""
    result = sparse.csr_matrix((counts, words, indptr), shape=shape)
    if not result.has_sorted_indices:
        result.sort_indices()
    if not result.has_canonical_format:
        result = result.astype(np.int64)
        result.sum_duplicates()
        if result.data.max() > _MAX_COUNT:
            raise ValueError(f"Counts of one word in one document add up to more than {_MAX_COUNT}.")
        result = result.astype(np.int32)
    return result


def _shown(line):
    """Quote the beginning of a line for an error message."""
    text = line.strip().decode("utf-8", errors="replace")
    return repr(text if len(text) <= 60 else text[:57] + "...")
