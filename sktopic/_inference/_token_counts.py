"""Counts that tokens are added to and removed from, as Gibbs samplers of a corpus do it."""

from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
from scipy.special import digamma, gammaln

from sktopic._kernels.documents._reading import clump_bounds
from sktopic._kernels.lda._collapsed_gibbs import transfer_counts
from sktopic._runtime._arrays import row_blocks

# Words whose sums are taken together. A sum over all words is that of such blocks in their order.
WORDS_TOGETHER = 1024
# Sums of tokens below this are exact, whatever is added and removed: large counts are divided by 64.
LARGEST_EXACT_TOTAL = 2.0**53 / 64


def leaves_none_negative(values):
    """Whether tokens of these counts can be added to counts and removed without leaving any below zero.

    Whole numbers may round sums with counts that are none, but never to less than themselves.
    """
    return values.sum(dtype=np.float64) < LARGEST_EXACT_TOTAL and are_whole(values)


def counts_exactly(values, before):
    """Whether adding tokens of these counts to counts of before, and removing them, rounds nothing."""
    return leaves_none_negative(values) and are_whole(before)


def are_whole(values):
    """Whether all are whole numbers."""
    return all(np.array_equal(values[rows], np.rint(values[rows])) for rows in row_blocks(values))


def log_rising_change(counts, before, beta):
    """By how much the sum of log Gamma(count + beta) - log Gamma(beta) exceeds that of the counts before."""
    changed = np.flatnonzero(counts != before)  # few: numbers are faster than a mask
    return log_rising(counts.take(changed), beta) - log_rising(before.take(changed), beta)


def log_rising(counts, beta):
    """The sum of log Gamma(count + beta) - log Gamma(beta)."""
    present = counts[counts > 0]
    return (gammaln(present + beta) - gammaln(beta)).sum()


def word_blocks(words):
    """Slices of ascending words, one for every WORDS_TOGETHER words of the vocabulary that has any."""
    cuts = np.flatnonzero(np.diff(words // WORDS_TOGETHER)) + 1
    return [slice(*bounds) for bounds in pairwise([0, *cuts.tolist(), len(words)])]


def prior_gains(counts, beta):
    """What Minka's fixed point sums over the words of topics: psi(n_kw + beta) - psi(beta)."""
    present = counts[counts > 0]
    return (digamma(present + beta) - digamma(beta)).sum()


def in_order(terms, start=0.0):
    """The sum of terms, one after the other."""
    return reduce(add, terms, start)


def column_sums(rows):
    """The sums of columns, row after row."""
    sums = np.zeros(rows.shape[1])
    for some in row_blocks(rows):
        block = np.concatenate([sums[None], rows[some]])
        # NumPy would add the numbers of a single column in pairs.
        sums = block.sum(axis=0) if block.shape[1] > 1 else np.add.accumulate(block)[-1]
    return sums


def tokens_of_words(documents):
    """Numbers of tokens (clumps) of each word of documents."""
    return np.diff(clump_bounds(documents.cell_count)[documents.word_indptr])


def transfer_tokens(documents, before, counts):
    """Count tokens in the topics that they have (z), and no longer in those of before; in place."""
    transfer_counts(
        word_indptr=documents.word_indptr,
        words=documents.words,
        cell_count=documents.cell_count,
        before=before,
        z=documents.z,
        counts=counts,
    )


def add_tokens(documents, counts):
    """Add the tokens of documents that have topics (z) to counts of words in topics, in place."""
    transfer_tokens(documents, np.full_like(documents.z, -1), counts)
