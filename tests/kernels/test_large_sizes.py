"""Numbers that 32 bits do not hold: word ids up to the largest, and places in arrays beyond 2 ** 31.

The arrays are address space of which only the pages that a test writes to are memory.
"""

import mmap
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktopic._kernels._groups import CountsTarget, WordCells
from sktopic._kernels.documents._reading import copy_rows, number_words
from sktopic._kernels.topics._gathering import gather_geometric, gather_topics
from sktopic._kernels.topics._statistics import add_cell_counts, add_rows, take_changes
from tests.kernels.tools import ALONE
from tests.reference import topics as reference

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs memory that is not reserved")

LARGE = 2**31
N_TOPICS = 1030
# The last rows lie behind 2 ** 31 entries.
N_WORDS = LARGE // N_TOPICS + 100
WORDS = np.array([0, 17, N_WORDS - 1, N_WORDS - 40], dtype=np.int32)


def zeros(shape, dtype=np.float64):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    not_reserved = getattr(mmap, "MAP_NORESERVE", 0x4000)  # which Python 3.12 does not name
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | not_reserved
    try:
        memory = mmap.mmap(-1, size, flags=flags)
    except OSError:
        pytest.skip(f"no address space of {size} bytes")
    return np.frombuffer(memory, dtype).reshape(shape)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_word_ids_up_to_the_largest(dtype):
    indices = np.array([3, LARGE - 3, LARGE - 2, 0, LARGE - 2], dtype=dtype)
    local_word = zeros(LARGE - 1, np.int32)
    matrix = np.array([0, 3, 5], dtype=dtype), indices, np.arange(1.0, 6.0)
    indptr, word, count, _ = copy_rows(*matrix, np.array([1, 0]), LARGE - 1, 1e20)
    assert number_words(indptr, word, count, local_word)[1].tolist() == [0, LARGE - 2, 3, LARGE - 3]
    assert word.tolist() == [0, 1, 2, 3, 1]
    assert not local_word[indices].any()


def test_entries_beyond_two_to_the_31():
    start = LARGE + 12345
    indices, data = zeros(start + 3, np.int64), zeros(start + 3, np.uint8)
    indices[start:], data[start:] = [1, 4, 6], [7, 8, 9]
    matrix = np.array([0, start, start + 1, start + 3]), indices, data
    *cells, _ = copy_rows(*matrix, np.array([2, 1]), 7, 1e20)
    assert [array.tolist() for array in cells] == [[0, 2, 3], [4, 6, 1], [8, 9, 7]]


@pytest.mark.parametrize("gather", [gather_topics, gather_geometric])
def test_topics_beyond_two_to_the_31_entries(gather):
    rng = np.random.default_rng(0)
    store = zeros((N_WORDS, N_TOPICS))
    store[WORDS] = rng.random((len(WORDS), N_TOPICS))
    vectors = [rng.random(N_TOPICS) + 0.1 for _ in range(2 if gather is gather_topics else 3)]
    prior = rng.random(N_TOPICS)
    rows, sums = np.empty((len(WORDS), N_TOPICS)), np.empty((len(WORDS), -(-N_TOPICS // 16)))
    log_norm = np.empty(len(WORDS))
    assert gather(store, WORDS, *vectors, prior, rows, sums, log_norm, ALONE)
    expected = getattr(reference, gather.__name__)(store, WORDS, *vectors, prior)
    for ours, theirs in zip((rows, sums, log_norm), expected):
        assert_allclose(ours, theirs, rtol=1e-9)


def test_statistics_beyond_two_to_the_31_entries():
    rng = np.random.default_rng(0)
    target, averaged = zeros((N_WORDS, N_TOPICS)), zeros((N_WORDS, N_TOPICS))
    counts, average_weight = rng.random((len(WORDS), N_TOPICS)), rng.random(N_TOPICS)
    totals, each = np.zeros((1, N_TOPICS)), np.arange(len(WORDS) + 1)
    words = WordCells(each[[0, -1]], each, each[:-1], np.empty(0), WORDS)
    statistics = CountsTarget(target, totals, averaged, average_weight)
    add_cell_counts(words, counts, 0.5, statistics, ALONE)
    assert_allclose(target[WORDS], 0.5 * counts)
    assert_allclose(averaged[WORDS], 0.5 * counts * average_weight)
    assert_allclose(totals[0], 0.5 * counts.sum(axis=0))
    add_rows(0, len(WORDS), counts, 0.5, WORDS, target, averaged, average_weight)
    assert_allclose(target[WORDS], counts)
    after, change = 3 * counts, np.empty(N_TOPICS)
    assert take_changes(target, WORDS.astype(np.int64), 2.0, 1.0, after, change) == counts.size
    assert_allclose(after, counts)
    assert_allclose(change, counts.sum(axis=0))
