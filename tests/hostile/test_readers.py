"""Damaged and hostile files: a reader gives what a plain parser gives, or a ValueError that names the file.

Valid small files are mutated with seeded random numbers, plain and compressed, and read again. The plain
parsers below say what each mutated file holds, or that it holds nothing valid.
"""

import gzip
import os
import random
import re
import time
import tracemalloc
import zlib
from collections import Counter
from itertools import accumulate

import numpy as np
import pytest

from sktopic.datasets import read_ldac, read_uci

from .mutations import BYTES
from .tools import check_resources, share

N_CASES = share(0.1)  # of each format
MAX_BYTES = 1 << 28  # of memory, for one file
MAX_SECONDS = 20
MAX_MESSAGE = 500  # characters, without the path
MAX_COUNT = 2**31 - 1


# Plain parsers: (counts as Counter, shape), or None for files that are not valid


def lines_of(content, longest):
    """The lines without the one that a final line end begins; None if one is too long."""
    lines = [line + b"\n" for line in content.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    return None if any(len(line) > longest for line in lines) else lines


def counted(entries, shape):
    counts = Counter()
    for document, word, count in entries:
        if not (0 <= document < shape[0] and 0 <= word < shape[1] and 1 <= count <= MAX_COUNT):
            return None
        counts[document, word] += count
    return None if max(counts.values(), default=0) > MAX_COUNT else (counts, shape)


def parsed_uci(content):
    lines = lines_of(content, 1000)
    if lines is None or len(lines) < 3:
        return None
    header, body = lines[:3], lines[3:]
    if not all(re.fullmatch(rb"\s*[0-9]{1,18}\s*", line) for line in header):
        return None
    n_documents, n_words, n_entries = map(int, header)
    if not (1 <= n_documents <= min(MAX_COUNT, n_entries + 10**7) and 1 <= n_words <= 2**24):
        return None
    entries = [line.split() for line in body if line.strip()]
    surplus = accumulate(1 if line.strip() else -1 for line in body)
    if len(entries) != n_entries or min(surplus, default=0) < -1000:
        return None
    for entry in entries:
        if len(entry) != 3 or not all(re.fullmatch(rb"-?[0-9]{1,18}", field) for field in entry):
            return None
    triples = ((int(d) - 1, int(w) - 1, int(c)) for d, w, c in entries)
    return counted(triples, (n_documents, n_words))


def parsed_ldac(content):
    lines = lines_of(content, 2**24)
    n_lines = len(lines)
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines or n_lines - len(lines) > 1000:
        return None
    triples = []
    for document, line in enumerate(lines):
        fields = line.split()
        if not fields or not re.fullmatch(rb"[0-9]{1,18}", fields[0]) or int(fields[0]) != len(fields) - 1:
            return None
        for field in fields[1:]:
            pair = re.fullmatch(rb"([0-9]{1,18}):([0-9]{1,18})", field)
            if not pair:
                return None
            triples.append((document, int(pair[1]), int(pair[2])))
    n_words = max((word for _, word, _ in triples), default=-1) + 1
    return None if n_words > 2**24 else counted(triples, (len(lines), n_words))


def decompressed(content):
    """None for a damaged file."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return None


# Valid files


def valid_entries(rng):
    n_documents, n_words = rng.randint(1, 9), rng.randint(1, 12)
    cells = [(d, w) for d in range(n_documents) for w in range(n_words) if rng.random() < 0.4]
    return [(d, w, rng.choice([1, 1, 2, 7, 1000])) for d, w in cells], (n_documents, n_words)


def valid_uci(rng):
    entries, shape = valid_entries(rng)
    if rng.random() < 0.3:
        rng.shuffle(entries)
    space = rng.choice([b" ", b" ", b"\t", b"  "])
    lines = [str(number).encode() for number in (*shape, len(entries))]
    lines += [b"%d%s%d%s%d" % (d + 1, space, w + 1, space, c) for d, w, c in entries]
    return b"\n".join(lines) + rng.choice([b"\n", b"", b"\n\n"])


def valid_ldac(rng):
    entries, (n_documents, _) = valid_entries(rng)
    lines = []
    for document in range(n_documents):
        pairs = [b" %d:%d" % (w, c) for d, w, c in entries if d == document]
        lines.append(b"%d" % len(pairs) + b"".join(pairs))
    return b"\n".join(lines) + rng.choice([b"\n", b"", b"\n\n"])


# Mutations

TOKENS = [
    *(b"\0", b"-", b"-1", b"+1", b"0", b"1", b"01", b"1.5", b"1e5", b"0x10", b"1_0", b"nan", b":", b"::"),
    *(b" ", b"\t", b"\n", b"\r", b"\r\n", b"\n\n", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\xa0", b"\xff\xfe"),
    *("\u0661".encode(), "\u3000".encode(), "\ufeff".encode(), "\ud800".encode("utf-8", "surrogatepass")),
    *(b"16777216", b"16777217", b"2147483647", b"2147483648", b"4294967297", b"9223372036854775808"),
    *(b"18446744073709551617", b"1" * 18, b"1" * 19, b"9" * 400, b"10000000", b"10000009", b"\x1f\x8b"),
]


def insert(content, rng):
    """A token, or a long run of something."""
    at = rng.randint(0, len(content))
    run = rng.choice([b"\0", b" ", b"1", b"x", b"\n", b"1 1 1\n", b"0\n", b"1 0:1 "])
    run *= rng.choice([90, 995, 1000, 1005, 40_000])
    return content[:at] + rng.choice([*TOKENS, *[run] * 20]) + content[at:]


def edit_lines(content, rng):
    """In another order, one less or one twice."""
    lines = content.split(b"\n")
    i = rng.randrange(len(lines))
    kind = rng.randrange(3)
    if kind == 0:
        rng.shuffle(lines)
    else:
        lines[i : i + 1] = [lines[i]] * (0, 0, 2)[kind]
    return b"\n".join(lines)


def change_number(content, rng):
    numbers = list(re.finditer(rb"\d+", content))
    if not numbers:
        return content
    number = rng.choice(numbers[:3] if rng.random() < 0.4 else numbers)
    small = b"%d" % (int(number[0][:18]) + rng.choice([-1, 1]))
    return content[: number.start()] + rng.choice([small, *TOKENS]) + content[number.end() :]


def change_encoding(content, rng):
    return content.decode("latin-1").encode(rng.choice(["utf-8", "utf-16", "utf-16-be", "utf-32"]))


def change_line_ends(content, rng):
    return content.replace(b"\n", rng.choice([b"\r\n", b"\r", b"\n\r", b"\n\n", b"\x85"]))


MUTATIONS = [*BYTES, insert, insert, edit_lines, change_number, change_number, change_encoding]
MUTATIONS += [change_line_ends]


def mutated(content, rng):
    for _ in range(rng.choice([0, 0, 1, 1, 1, 1, 2, 3])):
        content = rng.choice(MUTATIONS)(content, rng)
    return content


def compressed(content, rng):
    """A gzip file of the content, or one that is damaged itself."""
    content = gzip.compress(content, compresslevel=rng.choice([0, 1, 9]), mtime=0)
    if rng.random() < 0.5:
        content = rng.choice(BYTES)(content, rng)
    elif rng.random() < 0.1:
        member = gzip.compress(rng.choice([b"", b"\n", b"\0" * 4_000_000, b"x", b" " * 100]), mtime=0)
        content += rng.choice([member, member[:-4], b"\0" * 50, b"\0x"])
    return content


# The properties


@pytest.fixture
def bounded(tmp_path):
    """Call a reader with a file in the folder; what it returns, or None after a proper ValueError."""

    def call(read, name, place):
        tracemalloc.reset_peak()
        start, base = time.process_time(), tracemalloc.get_traced_memory()[0]
        try:
            result = read()
        except ValueError as error:
            result, text = None, str(error)
            assert name in text, place
            assert text.isprintable() and len(text.replace(str(tmp_path), "")) <= MAX_MESSAGE, (text, place)
        check_resources(time.process_time() - start, MAX_SECONDS)
        assert tracemalloc.get_traced_memory()[1] - base < MAX_BYTES, place
        return result

    tracemalloc.start()
    try:
        yield call
    finally:
        tracemalloc.stop()


def n_open_files():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def assert_holds(result, expected, place):
    counts, shape = expected
    X, feature_names = result
    assert feature_names is None, place
    assert X.shape == shape and X.dtype == np.int32 and X.has_canonical_format, place
    X.check_format()
    found = X.tocoo()
    found = zip(zip(found.row.tolist(), found.col.tolist()), found.data.tolist())
    assert dict(found) == dict(counts), place


def read_vocabulary(path):
    corpus = path.with_name("corpus.ldac")
    corpus.write_bytes(b"2 0:1 3:2\n0\n")
    return read_ldac(corpus, path)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("valid", "parse", "read"),
    [(valid_uci, parsed_uci, read_uci), (valid_ldac, parsed_ldac, read_ldac)],
    ids=["uci", "ldac"],
)
def test_a_mutated_file_is_read_rightly_or_refused(tmp_path, bounded, valid, parse, read, packed):
    path = tmp_path / "mutated"
    before, n_read = n_open_files(), 0
    for case in range(N_CASES):
        rng = random.Random(f"{parse.__name__}-{packed}-{case}")
        content = mutated(valid(rng), rng)
        if packed:
            content = compressed(content, rng)
        path.write_bytes(content)
        place, text = (case, content[:100]), decompressed(content)
        expected = None if text is None else parse(text)
        result = bounded(lambda: read(path), "mutated", place)
        assert (result is None) == (expected is None), place
        if expected is not None:
            assert_holds(result, expected, place)
            n_read += 1
    assert n_open_files() == before
    assert 0.05 * N_CASES < n_read < 0.8 * N_CASES  # both outcomes are looked at


def test_half_a_gigabyte_in_a_small_file_is_refused_early(tmp_path, bounded):
    member = gzip.compress(b"1" * (1 << 24), compresslevel=1)
    path = tmp_path / "bomb.gz"
    readers = (read_uci, b"3\n4\n2\n1 1 1\n"), (read_ldac, b"1 0:1\n"), (read_vocabulary, b"word\n")
    for read, head in readers:
        path.write_bytes(gzip.compress(head) + member * 32)
        assert bounded(lambda read=read: read(path), "bomb.gz", read) is None
