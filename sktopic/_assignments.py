"""What the batch samplers share: keys of their streams, and counts of tokens that are added and removed."""

import numpy as np
from scipy.special import gammaln

from sktopic._topic_word import row_blocks

# Tell the streams of one seed apart.
ASSIGNMENT_KEY = 0x61737369676E
SWEEP_KEY = 0x7377656570
# Sums of whole numbers below this are exact, whatever is added and removed.
LARGEST_EXACT_TOTAL = 2.0**53


def counts_exactly(values, before):
    """Whether adding tokens of these counts to counts of before, and removing them, rounds nothing."""
    return values.sum(dtype=np.float64) < LARGEST_EXACT_TOTAL and _whole(values) and _whole(before)


def _whole(values):
    return all(np.array_equal(values[rows], np.rint(values[rows])) for rows in row_blocks(values))


def log_rising(counts, beta):
    """The sum of log Gamma(count + beta) - log Gamma(beta)."""
    present = counts[counts > 0]
    return (gammaln(present + beta) - gammaln(beta)).sum()
