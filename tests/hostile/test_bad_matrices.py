"""CSR matrices whose parts do not fit together, made past scipy's checks: a ValueError, never a crash."""

import itertools
import random

import numpy as np
import scipy.sparse as sp

from .tools import ESTIMATORS, all_attributes, corpus, differences, failures, new, outcome, share

GOOD = sp.csr_array(corpus(4, 6))
NNZ = GOOD.nnz


def parts(data=None, indices=None, indptr=None, shape=GOOD.shape):
    """GOOD with other arrays in it; functions change those of GOOD."""
    matrix = sp.csr_array(shape)
    given = {"data": data, "indices": indices, "indptr": indptr}
    for name, value in given.items():
        present = getattr(GOOD, name).copy()
        setattr(matrix, name, present if value is None else value(present) if callable(value) else value)
    return matrix


def entry(position, value, dtype=None):
    """A function that sets an entry of an array."""

    def change(array):
        array = array.astype(dtype) if dtype else array
        array[position] = value
        return array

    return change


BAD = {
    "indptr beyond the entries": lambda: parts(indptr=entry(1, 10**6)),
    "indptr far beyond the entries": lambda: parts(indptr=entry(1, 2**62, np.int64)),
    "indptr ends beyond the entries": lambda: parts(indptr=entry(-1, NNZ + 1)),
    "indptr ends far beyond the entries": lambda: parts(indptr=entry(-1, 2**31 - 1)),
    "indptr falls": lambda: parts(indptr=entry(1, NNZ)),
    "indptr falls at the end": lambda: parts(indptr=entry(-1, 0)),
    "indptr has a negative entry": lambda: parts(indptr=entry(2, -5)),
    "indptr begins with a negative entry": lambda: parts(indptr=entry(0, -1)),
    "indptr begins above zero": lambda: parts(indptr=entry(0, 1)),
    "indptr is short": lambda: parts(indptr=lambda indptr: indptr[:-1]),
    "indptr is long": lambda: parts(indptr=lambda indptr: np.append(indptr, NNZ)),
    "indptr is empty": lambda: parts(indptr=np.empty(0, dtype=np.int32)),
    "indptr has two dimensions": lambda: parts(indptr=lambda indptr: indptr[None]),
    "indptr is of floats": lambda: parts(indptr=lambda indptr: indptr + 0.5),
    "indptr has NaN": lambda: parts(indptr=entry(1, np.nan, np.float64)),
    "a negative index": lambda: parts(indices=entry(0, -1)),
    "a hugely negative index": lambda: parts(indices=entry(0, -(2**31))),
    "an index of the width": lambda: parts(indices=entry(-1, GOOD.shape[1])),
    "a huge index": lambda: parts(indices=entry(3, 2**31 - 1)),
    "a huge index of 64 bits": lambda: parts(indices=entry(3, 2**62, np.int64)),
    "indices are short": lambda: parts(indices=lambda indices: indices[:-1]),
    "indices are of floats": lambda: parts(indices=lambda indices: indices + 0.5),
    "indices have two dimensions": lambda: parts(indices=lambda indices: indices[None]),
    "data is short": lambda: parts(data=lambda data: data[:-1]),
    "data is empty": lambda: parts(data=np.empty(0)),
    "data has two dimensions": lambda: parts(data=lambda data: data[None]),
    "data has NaN": lambda: parts(data=entry(0, np.nan)),
    "data is negative": lambda: parts(data=entry(0, -1.0)),
    "data is infinite": lambda: parts(data=entry(0, np.inf)),
    "data is too large": lambda: parts(data=entry(0, 1e21)),
    "duplicates are too large together": lambda: parts(
        np.full(5, 9e19), np.zeros(5, dtype=np.int32), np.array([0, 5, 5, 5, 5], dtype=np.int32)
    ),
    "fewer rows than the shape says": lambda: parts(shape=(10**6, 6)),
    "fewer columns than the shape says": lambda: parts(shape=(4, 1)),
}
GOOD_AFTER_ALL = {
    "surplus entries": lambda: parts(
        lambda data: np.append(data, 7.0), lambda indices: np.append(indices, 2).astype(np.int32)
    ),
    "indptr of 64 bits, indices of 32": lambda: parts(indptr=lambda indptr: indptr.astype(np.int64)),
    "indptr of 32 bits, indices of 64": lambda: parts(indices=lambda indices: indices.astype(np.int64)),
}
METHODS = ("fit", "partial_fit", "transform", "score")


def use_bad(name, fault, method):
    """Runs in a child process."""
    model = new(name).fit(GOOD) if method != "fit" else new(name)
    matrix = {**BAD, **GOOD_AFTER_ALL}[fault]()
    before = all_attributes(model)
    _, error = outcome(getattr(model, method), matrix)
    if fault in BAD:
        assert isinstance(error, ValueError), f"{type(error).__name__}: {error}"
        assert not differences(before, all_attributes(model)), "the state was changed"
    else:
        assert error is None, f"{type(error).__name__}: {error}"


def test_matrix_of_bad_parts_is_refused():
    cases = list(itertools.product(ESTIMATORS, [*BAD, *GOOD_AFTER_ALL], METHODS))
    found = failures(use_bad, random.Random(0).sample(cases, min(len(cases), share(0.5))))
    assert not found, "\n".join(found)
