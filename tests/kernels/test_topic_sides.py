"""Two topics compared with one, against the NumPy twin, the full joint probability and enumeration."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sktopic._kernels._groups import TokensByDocument
from sktopic._kernels.hdp._topic_sides import compare_topics
from tests.reference import topic_sides as reference

ETA, N_FEATURES = 0.3, 9


def tokens(seed=0, n=60, n_documents=7, whole=True):
    """document, word, size, document_weight, side."""
    rng = np.random.default_rng(seed)
    document = np.sort(np.append(np.arange(n_documents), rng.integers(0, n_documents, n - n_documents)))
    word = rng.integers(0, N_FEATURES - 1, n).astype(np.int32)
    size = np.ones(n) if whole else rng.choice([0.25, 1.0, 3.0], n)
    weight = np.ones(n_documents) if whole else rng.choice([0.5, 1.0, 2.0], n_documents)
    return document, word, size, weight, rng.integers(0, 2, n).astype(np.int8)


def side_tokens(document, word, size, weight):
    """TokensByDocument."""
    documents, first = np.unique(document, return_index=True)
    weight = weight[documents]
    bounds = np.append(first, len(document))
    return TokensByDocument(documents, bounds, word, size, weight, np.minimum(weight, 1.0))


def compared(document, word, size, weight, side, prior, share):
    of_tokens = document, word, size
    sides = [side_tokens(*(each[side == s] for each in of_tokens), weight) for s in (0, 1)]
    return compare_topics(*sides, prior, share, ETA, N_FEATURES)


@pytest.mark.parametrize(
    ("whole", "size"),
    [
        (True, {}),
        (False, {}),
        # The probability of the sides of so many tokens of one document is less than the smallest number.
        (True, {"n": 1300, "n_documents": 1}),
    ],
)
def test_sides_are_compared_as_in_the_reference(whole, size):
    given = *tokens(whole=whole, **size), 2.5, 0.4
    for one, other in zip(compared(*given), reference.compare_sides(*given, ETA, N_FEATURES)):
        assert np.all(np.isfinite(one))
        assert_allclose(one, other, rtol=1e-10)


def test_ratio_is_the_change_of_the_full_joint_probability():
    given = *tokens(1, whole=False), 1.7, 0.3
    document, word, size, weight, side, prior, _ = given
    two = reference.Sides(*given, ETA, N_FEATURES)
    two.share_out()
    one = reference.Sides(document, word, size, weight, 0 * side, prior, 1.0 - 1e-13, ETA, N_FEATURES)
    assert compared(*given)[0] == pytest.approx(two.log_joint() - one.log_joint(), abs=1e-8)


def test_conditionals_are_those_of_the_joint_probability():
    """In all states of six tokens; the kernel computes what the reference does (see above)."""
    document, word = np.array([0, 0, 1, 1, 1, 2]), np.array([0, 1, 0, 1, 2, 0], dtype=np.int32)
    for states in product((0, 1), repeat=6):
        sides = reference.Sides(document, word, np.ones(6), np.ones(3), states, 1.3, 0.4, ETA, N_FEATURES)
        for i in range(6):
            p, logs = sides.conditional(i), []
            for side in (0, 1):
                sides.side[i] = side
                logs.append(sides.log_joint())
            sides.side[i] = states[i]
            assert np.log(p) == pytest.approx(logs[1] - np.logaddexp(*logs), abs=1e-10)
