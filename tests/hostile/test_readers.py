"""Damaged and hostile files: a reader gives what a plain parser gives, or a ValueError that names the file.

Valid small files are mutated with seeded random numbers, plain and compressed, and read again. The plain
parsers below say what each mutated file holds, or that it holds nothing valid.
"""

import gzip
import io
import os
import random
import re
import zlib
from collections import Counter
from functools import partial
from itertools import accumulate

import numpy as np
import pytest

from sktopic.datasets import read_ldac, read_uci
from tests.conftest import outcome

from .mutations import BYTES
from .tools import SPARE_BYTES, at_most, check_error, share, within

N_CASES = share(0.1)  # of each format
MAX_SECONDS, MAX_MESSAGE = 20, 500
MAX_COUNT = 2**31 - 1


# Plain parsers: (counts as Counter, shape), or AssertionError for files that are not valid


def lines_of(content, longest):
    lines = io.BytesIO(content).readlines()
    assert max(map(len, lines), default=0) <= longest
    return lines


def numbers(pattern, text):
    """The groups of a pattern that the whole text matches."""
    found = re.fullmatch(pattern, text)
    assert found
    return [int(each) for each in found.groups()]


def counted(entries, shape):
    counts = Counter()
    for document, word, count in entries:
        assert 0 <= document < shape[0] and 0 <= word < shape[1] and 1 <= count <= MAX_COUNT
        counts[document, word] += count
    assert max(counts.values(), default=0) <= MAX_COUNT
    return counts, shape


def parsed_uci(content):
    lines = lines_of(content, 1000)
    header, body = lines[:3], [line.strip() for line in lines[3:]]
    assert len(header) == 3
    n_documents, n_words, n_entries = (numbers(rb"\s*(\d{1,18})\s*", line)[0] for line in header)
    assert 1 <= n_documents <= min(MAX_COUNT, n_entries + 10**7) and 1 <= n_words <= 2**24
    surplus = accumulate(1 if line else -1 for line in body)
    assert min(surplus, default=0) >= -1000
    entry = rb"(-?\d{1,18})\s+(-?\d{1,18})\s+(-?\d{1,18})"
    entries = [numbers(entry, line) for line in body if line]
    assert len(entries) == n_entries
    return counted([(d - 1, w - 1, c) for d, w, c in entries], (n_documents, n_words))


def parsed_ldac(content):
    lines = lines_of(content, 2**24)
    n_lines = len(lines)
    while lines and not lines[-1].strip():
        lines.pop()
    assert lines and n_lines - len(lines) <= 1000
    entries = []
    for document, line in enumerate(lines):
        first, *pairs = line.split() or [b""]
        assert numbers(rb"(\d{1,18})", first) == [len(pairs)]
        entries += [(document, *numbers(rb"(\d{1,18}):(\d{1,18})", pair)) for pair in pairs]
    n_words = max((word for _, word, _ in entries), default=-1) + 1
    assert n_words <= 2**24
    return counted(entries, (len(lines), n_words))


def held(content, parse):
    """What a file, which may be compressed, holds; None if it is not valid."""
    try:
        return parse(gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content)
    except (AssertionError, EOFError, gzip.BadGzipFile, zlib.error):
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
    if rng.randrange(3) == 0:
        rng.shuffle(lines)
    else:
        i = rng.randrange(len(lines))
        lines[i : i + 1] = [lines[i]] * rng.choice([0, 2])
    return b"\n".join(lines)


def change_number(content, rng):
    numbers = list(re.finditer(rb"\d+", content))
    if not numbers:
        return content
    number = rng.choice(numbers[:3] if rng.random() < 0.4 else numbers)
    small = b"%d" % (int(number[0][:18]) + rng.choice([-1, 1]))
    return content[: number.start()] + rng.choice([small, *TOKENS]) + content[number.end() :]


def recode(content, rng):
    """In another encoding, or with other line ends."""
    if rng.random() < 0.5:
        return content.decode("latin-1").encode(rng.choice(["utf-8", "utf-16", "utf-16-be", "utf-32"]))
    return content.replace(b"\n", rng.choice([b"\r\n", b"\r", b"\n\r", b"\n\n", b"\x85"]))


MUTATIONS = [*BYTES, insert, insert, edit_lines, change_number, change_number, recode, recode]


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


def read_within_bounds(read, path, place):
    """What a reader returns, or None after a proper ValueError."""
    with within(MAX_SECONDS), at_most(4 * SPARE_BYTES):
        result, error = outcome(read, path)
    if error is not None:
        check_error(error, path, place, longest=MAX_MESSAGE)
    return result


def assert_holds(result, expected, place):
    counts, shape = expected
    X, feature_names = result
    assert feature_names is None, place
    assert X.shape == shape and X.dtype == np.int32 and X.has_canonical_format, place
    X.check_format()
    found = X.tocoo()
    found = zip(zip(found.row.tolist(), found.col.tolist()), found.data.tolist())
    assert dict(found) == dict(counts), place


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("valid", "parse", "read"),
    [(valid_uci, parsed_uci, read_uci), (valid_ldac, parsed_ldac, read_ldac)],
    ids=["uci", "ldac"],
)
def test_a_mutated_file_is_read_rightly_or_refused(tmp_path, valid, parse, read, packed):
    path = tmp_path / "mutated"
    before, n_read = len(os.listdir("/proc/self/fd")), 0
    for case in range(N_CASES):
        rng = random.Random(f"{parse.__name__}-{packed}-{case}")
        content = mutated(valid(rng), rng)
        if packed:
            content = compressed(content, rng)
        path.write_bytes(content)
        place, expected = f"{case}: {content[:100]}", held(content, parse)
        result = read_within_bounds(read, path, place)
        assert (result is None) == (expected is None), place
        if expected is not None:
            assert_holds(result, expected, place)
            n_read += 1
    assert len(os.listdir("/proc/self/fd")) == before
    assert 0.05 * N_CASES < n_read < 0.8 * N_CASES  # both outcomes are looked at


def test_half_a_gigabyte_in_a_small_file_is_refused_early(tmp_path):
    member = gzip.compress(b"1" * (1 << 24), compresslevel=1)
    path, corpus = tmp_path / "bomb.gz", tmp_path / "corpus.ldac"
    corpus.write_bytes(b"2 0:1 3:2\n0\n")
    words = partial(read_ldac, corpus)
    for read, head in ((read_uci, b"3\n4\n2\n1 1 1\n"), (read_ldac, b"1 0:1\n"), (words, b"word\n")):
        path.write_bytes(gzip.compress(head) + member * 32)
        assert read_within_bounds(read, path, read) is None
