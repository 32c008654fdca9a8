"""CSR matrices whose parts do not fit together, made past scipy's checks: a ValueError, never a crash."""

import numpy as np
import scipy.sparse as sp

from tests.conftest import all_attributes

from .tools import ESTIMATORS, corpus, differences, failures, new, outcome, share, some

GOOD = sp.csr_array(corpus(4, 6))
NNZ = GOOD.nnz


def parts(shape=GOOD.shape, **arrays):
    """GOOD with other arrays in it; functions change those of GOOD."""
    matrix = sp.csr_array(shape)
    for name in ("data", "indices", "indptr"):
        value, present = arrays.get(name), getattr(GOOD, name).copy()
        setattr(matrix, name, present if value is None else value(present) if callable(value) else value)
    return matrix


def entry(position, value, dtype=None):
    """A function that sets an entry of an array."""

    def change(array):
        array = array.astype(dtype) if dtype else array
        array[position] = value
        return array

    return change


# Name of an array: what becomes of it
BAD = {
    "indptr": {
        "beyond the entries": entry(1, 10**6),
        "far beyond the entries": entry(1, 2**62, np.int64),
        "ends beyond the entries": entry(-1, NNZ + 1),
        "ends far beyond the entries": entry(-1, 2**31 - 1),
        "falls": entry(1, NNZ),
        "falls at the end": entry(-1, 0),
        "has a negative entry": entry(2, -5),
        "begins with a negative entry": entry(0, -1),
        "begins above zero": entry(0, 1),
        "is short": lambda indptr: indptr[:-1],
        "is long": lambda indptr: np.append(indptr, NNZ),
        "is empty": np.empty(0, dtype=np.int32),
        "has two dimensions": lambda indptr: indptr[None],
        "is of floats": lambda indptr: indptr + 0.5,
        "has NaN": entry(1, np.nan, np.float64),
    },
    "indices": {
        "have a negative one": entry(0, -1),
        "have a hugely negative one": entry(0, -(2**31)),
        "have the width": entry(-1, GOOD.shape[1]),
        "have a huge one": entry(3, 2**31 - 1),
        "have a huge one of 64 bits": entry(3, 2**62, np.int64),
        "are short": lambda indices: indices[:-1],
        "are of floats": lambda indices: indices + 0.5,
        "have two dimensions": lambda indices: indices[None],
    },
    "data": {
        "are short": lambda data: data[:-1],
        "are empty": np.empty(0),
        "have two dimensions": lambda data: data[None],
        "have NaN": entry(0, np.nan),
        "have a count that is too large": entry(0, 1e21),
    },
    "shape": {"has more rows": (10**6, 6), "has fewer columns": (4, 1)},
}
FAULTS = {f"{name} {what}": {name: value} for name, faults in BAD.items() for what, value in faults.items()}
FAULTS["duplicates are too large together"] = {
    "data": np.full(5, 9e19),
    "indices": np.zeros(5, dtype=np.int32),
    "indptr": np.array([0, 5, 5, 5, 5], dtype=np.int32),
}
GOOD_AFTER_ALL = {
    "surplus entries": {
        "data": lambda data: np.append(data, 7.0),
        "indices": lambda indices: np.append(indices, 2).astype(np.int32),
    },
    "indptr of 64 bits, indices of 32": {"indptr": lambda indptr: indptr.astype(np.int64)},
    "indptr of 32 bits, indices of 64": {"indices": lambda indices: indices.astype(np.int64)},
}


def use_bad(name, fault, method):
    """Runs in a child process."""
    model = new(name).fit(GOOD) if method != "fit" else new(name)
    matrix = parts(**(FAULTS | GOOD_AFTER_ALL)[fault])
    before = all_attributes(model)
    _, error = outcome(getattr(model, method), matrix)
    if fault in FAULTS:
        assert isinstance(error, ValueError), f"{type(error).__name__}: {error}"
        assert not differences(before, all_attributes(model)), "the state was changed"
    else:
        assert error is None, f"{type(error).__name__}: {error}"


def test_matrix_of_bad_parts_is_refused():
    methods = "fit", "partial_fit", "transform", "score"
    cases = [(n, fault, m) for n in ESTIMATORS for fault in FAULTS | GOOD_AFTER_ALL for m in methods]
    found = failures(use_bad, some(cases, share(0.2), 1, 2))
    assert not found, "\n".join(found)
