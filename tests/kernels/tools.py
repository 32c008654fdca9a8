"""What the kernel tests share: seeds, corpora as kernels see them, and chi-square."""

import os
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chisquare

from sktopic._kernels._groups import DocumentCells, LeftOut
from sktopic._kernels.threads._team import Team
from tests.reference.documents import clump_weights
from tests.reference.topics import gather_topics

# Stochastic tests run once for each of these; a release asks for more.
N_SEEDS = int(os.environ.get("SKTOPIC_TEST_SEEDS", "1"))

# No thread but the calling one.
ALONE = Team()

for_each_seed = pytest.mark.parametrize("seed", range(N_SEEDS))
for_both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])

# Largest relative error of sums of products of a few factors.
ROUNDING = {np.float32: 2e-6, np.float64: 1e-12}


def golden(name):
    """The arrays of a file in tests/golden."""
    with np.load(Path(__file__).parent.parent / "golden" / f"{name}_golden.npz") as arrays:
        return dict(arrays)


@dataclass
class Corpus:
    """Documents, topics and stream keys, in the arrays that the kernels read.

    phi (n_words, n_topics) are topic-word probabilities; rows, cumulative and log_norm are gathered
    from them by the reference.
    """

    indptr: np.ndarray
    cell_word: np.ndarray
    cell_count: np.ndarray
    phi: np.ndarray
    prior: np.ndarray
    dtype: type = np.float64
    key: int = 0

    def __post_init__(self):
        n_words, n_topics = self.phi.shape
        rows, cumulative, self.log_norm = gather_topics(
            self.phi, np.arange(n_words), np.ones(n_topics), np.zeros(n_topics), self.prior
        )
        self.rows, self.cumulative = rows.astype(self.dtype), cumulative.astype(self.dtype)
        self.keys = np.arange(self.n_documents, dtype=np.uint64) + np.uint64(self.key << 32)

    @property
    def n_documents(self):
        return len(self.indptr) - 1

    @cached_property
    def cell_document(self):
        return np.repeat(np.arange(self.n_documents, dtype=np.int32), np.diff(self.indptr))

    @cached_property
    def lengths(self):
        return np.bincount(self.cell_document, weights=self.cell_count, minlength=self.n_documents)

    @cached_property
    def clump_indptr(self):
        clumps = np.concatenate([[0], np.cumsum([len(clump_weights(c)) for c in self.cell_count])])
        return clumps[self.indptr].astype(np.int64)

    @property
    def documents(self):
        return DocumentCells(self.indptr, self.cell_word, self.cell_count)

    def unassigned(self):
        return np.full(self.clump_indptr[-1], -1, dtype=np.int32)

    def own_tokens(self, seed):
        """LeftOut: some documents are in topics of some tokens, and less or more."""
        rng, n_topics = np.random.default_rng(seed), len(self.prior)
        own = np.maximum(rng.normal(0.5, 0.5, self.n_documents), 0.0)
        token, smoothing = rng.gamma(1.0, 0.1, n_topics), rng.gamma(1.0, 0.01, n_topics)
        return LeftOut(own, token, smoothing, np.exp(-self.log_norm))

    def clumps(self, first, last):
        return slice(self.clump_indptr[first], self.clump_indptr[last])

    def piece(self, first, last):
        """Some of the documents, without copying."""
        cells = slice(self.indptr[first], self.indptr[last])
        return DocumentCells(self.indptr[first : last + 1], self.cell_word[cells], self.cell_count[cells])

    @property
    def pieces(self):
        """Bounds of pieces, in which kernels do what they do with the whole; in random ones, the second has
        no words."""
        n = self.n_documents
        return list(pairwise([0, min(1, n), min(2, n), max(n // 2, min(2, n)), n]))


def joined(pieces):
    """Results of a kernel for pieces of a corpus, as it returns them for the whole."""
    return [np.concatenate(arrays) for arrays in zip(*pieces)]


def random_topics(rng, n_words, n_topics, concentration=0.3):
    return np.ascontiguousarray(rng.dirichlet(np.full(n_words, concentration), n_topics).T)


def with_zeros(rng, topics):
    """The same in which most words are impossible in most topics, but for one topic."""
    topics = topics * (rng.random(topics.shape) < 0.3)
    topics[:, topics.shape[1] // 2] += 0.01
    return topics


def random_corpus(
    seed, n_documents=8, n_words=30, n_topics=7, n_cells=10, counts="mixed", dtype=np.float64, prior=None
):
    """Documents of up to n_cells cells, every fourth one empty; counts "unit", "small" or "mixed"."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, min(n_cells, n_words) + 1, n_documents)
    sizes[1::4] = 0
    words = [np.sort(rng.choice(n_words, size, replace=False)) for size in sizes]
    n = sizes.sum()
    if counts == "unit":
        cell_count = np.ones(n)
    elif counts == "small":
        cell_count = rng.integers(1, 6, n).astype(float)
    else:
        # At least one of each kind: whole, fractional, below one, exactly 64, above 64, huge.
        kinds = np.array([1.0, 3.0, 2.75, 0.3, 64.0, 63.5, 70.1, 1e9])
        cell_count = rng.permutation(np.resize(kinds, n))
    return Corpus(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate(words).astype(np.int32),
        cell_count,
        random_topics(rng, n_words, n_topics),
        rng.gamma(1.0, 0.5, n_topics) + 0.05 if prior is None else prior,
        dtype,
        seed,
    )


def repeated(counts, phi, prior, n_copies, dtype=np.float64, key=0):
    """The same document n_copies times, each with its own stream; counts of words 0, 1, ..."""
    n_cells = len(counts)
    return Corpus(
        np.arange(n_copies + 1, dtype=np.int64) * n_cells,
        np.tile(np.arange(n_cells, dtype=np.int32), n_copies),
        np.tile(np.asarray(counts, dtype=np.float64), n_copies),
        np.asarray(phi, dtype=np.float64),
        np.asarray(prior, dtype=np.float64),
        dtype,
        key,
    )


# Five tokens, one word three times; K = 2 and K = 3; priors that favor one topic.
TINY_COUNTS = [3.0, 1.0, 1.0]
TINY_TOKENS = [0, 0, 0, 1, 2]
TINY = {
    2: (np.array([[0.6, 0.2], [0.3, 0.3], [0.1, 0.5]]), np.array([0.3, 1.1])),
    3: (np.array([[0.5, 0.2, 0.1], [0.3, 0.3, 0.3], [0.2, 0.5, 0.6]]), np.array([0.2, 0.7, 1.5])),
}


def assert_teams_agree(run):
    """The arrays that run(team) returns do not depend on the number of threads, to the bit."""
    alone = run(ALONE)
    for n_helpers in (1, 3):
        for _ in range(5):
            for array, other in zip(run(Team(n_helpers)), alone, strict=True):
                assert_array_equal(array, other)


def assert_within(samples, expected, n_standard_errors):
    """The mean of samples (n_samples, ...) agrees with what is expected, entry by entry."""
    error = samples.mean(axis=0) - expected
    standard_error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    assert np.all(np.abs(error) <= n_standard_errors * standard_error + 1e-12), error / standard_error


def assert_distributed(observed, probabilities, smallest_p=1e-4):
    """Chi-square of counts against probabilities; bins that expect less than five are merged."""
    observed, expected = np.asarray(observed, dtype=float), probabilities * np.sum(observed)
    assert not np.any(observed[probabilities == 0])
    order = np.argsort(expected)
    observed, expected = observed[order], expected[order]
    merged = np.searchsorted(np.cumsum(expected), 5.0) + 1 if expected[0] < 5 else 1
    observed = np.concatenate([[observed[:merged].sum()], observed[merged:]])
    expected = np.concatenate([[expected[:merged].sum()], expected[merged:]])
    assert len(observed) > 1
    assert chisquare(observed, expected).pvalue > smallest_p
