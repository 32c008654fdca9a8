"""Documents of all sizes, values, dtypes and containers, their weights and covariates, as can be printed."""

import os
import tempfile
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse as sp
from hypothesis import strategies as st

from sktopic.datasets import save_corpus


@dataclass
class Documents:
    """A matrix of counts; columns None is what the model was fitted to, or 5."""

    rows: int = 4
    columns: int | None = None
    values: str = "tokens"
    dtype: str = "float64"
    container: str = "ndarray"
    seed: int = 0
    weights: str | None = None
    covariates: str | None = None

    def make(self, columns):
        """The matrix in its container."""
        rng = np.random.default_rng(self.seed)
        shape = self.rows, columns if self.columns is None else self.columns
        with np.errstate(all="ignore"):
            values = VALUES[self.values](rng, shape).astype(self.dtype)
        return CONTAINERS[self.container](values)

    def sample_weight(self):
        """A weight for each document, or what is none."""
        return WEIGHTS[self.weights](np.random.default_rng(self.seed), self.rows)

    def values_of(self, parameters):
        """What these parameters of a method are given of weights and covariates, a dict by their names."""
        given = {}
        if self.weights and "sample_weight" in parameters:
            given["sample_weight"] = self.sample_weight()
        if self.covariates and "covariates" in parameters:
            make = COVARIATES[self.covariates]
            given["covariates"] = make(np.random.default_rng(self.seed).normal(size=(self.rows, 2)))
        return given


def _sparsely(rng, shape, values):
    return np.where(rng.random(shape) < 0.4, 0.0, values)


def _one_bad(value):
    def make(rng, shape):
        counts = rng.poisson(1.0, shape).astype(float)
        if counts.size:
            counts.flat[rng.integers(counts.size)] = value
        return counts

    return make


VALUES = {
    "tokens": lambda rng, shape: rng.poisson(0.8, shape).astype(float),
    "fractions": lambda rng, shape: _sparsely(rng, shape, rng.exponential(2.0, shape)),
    "zeros": lambda rng, shape: np.zeros(shape),
    "tiny": lambda rng, shape: _sparsely(rng, shape, 10.0 ** rng.uniform(-12, -9, shape)),
    "large": lambda rng, shape: _sparsely(rng, shape, 10.0 ** rng.uniform(3, 12, shape)),
    "any size": lambda rng, shape: _sparsely(rng, shape, 10.0 ** rng.uniform(-12, 12, shape)),
    "one largest": _one_bad(1e12),
    "too small": _one_bad(5e-324),
    "too large": _one_bad(1e300),
    "NaN": _one_bad(np.nan),
    "infinite": _one_bad(np.inf),
    "negative": _one_bad(-1.0),
    "negative zero": _one_bad(-0.0),
}
DTYPES = ["float64", "float32", "float16", "longdouble", "bool", "complex128", "object", "str"]
DTYPES += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


WEIGHTS = {
    None: lambda rng, n: None,
    "ones": lambda rng, n: np.ones(n),
    "integers": lambda rng, n: rng.integers(0, 4, n),
    "fractions": lambda rng, n: rng.random(n),
    "list": lambda rng, n: rng.random(n).tolist(),
    "a number": lambda rng, n: 0.5,
    "zeros": lambda rng, n: np.zeros(n),
    "all sizes": lambda rng, n: 10.0 ** rng.uniform(-12, 12, n),
    "too large": lambda rng, n: np.full(n, 1e300),
    "tiny": lambda rng, n: np.full(n, 5e-324),
    "too many": lambda rng, n: np.ones(n + 1),
    "a column": lambda rng, n: np.ones((n, 1)),
    "negative": lambda rng, n: -np.ones(n),
    "NaN": lambda rng, n: np.full(n, np.nan),
    "strings": lambda rng, n: np.full(n, "x"),
}


COVARIATES = {
    None: None,
    "numbers": lambda x: x,
    "bool": lambda x: x > 0,
    "all sizes": lambda x: x * 10.0 ** (50 * x).clip(-300, 99),
    "large": lambda x: np.where(x > 0, 1e100, -1e100),
    "tiny": lambda x: x * 5e-324,
    "constant": np.ones_like,
    "zeros": np.zeros_like,
    "twice the same": lambda x: x[:, [0, 0]],
    "data frame": lambda x: pd.DataFrame(x, columns=["age", "year"]),
    "other columns": lambda x: pd.DataFrame(x, columns=["year", "age"]),
    "sparse": lambda x: sp.coo_array(np.where(x > 0, x, 0.0)),
    "Fortran": np.asfortranarray,
    "list": lambda x: x.tolist(),
    "one column": lambda x: x[:, :1],
    "no column": lambda x: x[:, :0],
    "a row more": lambda x: np.concatenate([x, x[:1]]),
    "one-dimensional": np.ravel,
    "NaN": lambda x: np.where(x > 0, np.nan, x),
    "too large": lambda x: x * 1e101,
    "complex": lambda x: x + 1j,
    "strings": lambda x: x.astype(str),
}


def _unsorted(values):
    """With the entries of each row in descending order of their columns."""
    matrix = sp.csr_matrix(values[:, ::-1])
    indices = (values.shape[1] - 1 - matrix.indices).astype(matrix.indices.dtype)
    return sp.csr_matrix((matrix.data, indices, matrix.indptr), shape=matrix.shape)


def _duplicated(values):
    """Every entry twice."""
    matrix = sp.csr_matrix(values)
    parts = np.repeat(matrix.data, 2), np.repeat(matrix.indices, 2), matrix.indptr * 2
    return sp.csr_matrix(parts, shape=matrix.shape)


def _corpus(values):
    """On disk, in a folder that is deleted while it is open."""
    with tempfile.TemporaryDirectory() as folder:
        return save_corpus(os.path.join(folder, "corpus"), sp.csr_array(values))


def _blocks(values):
    """One document, and the others, if there are any."""
    matrix = sp.csr_array(values)
    return [matrix[:1], matrix[1:]]


# X that is gone once it has been read, and X of which partial_fit learns what comes before a bad part.
ONCE = "generator", "generator of blocks"
BLOCKS = "blocks", "generator of blocks"

CONTAINERS = {
    "ndarray": lambda values: values,
    "Fortran": np.asfortranarray,
    "backwards": lambda values: values[::-1, ::-1],
    "list": lambda values: values.tolist(),
    "data frame": lambda values: pd.DataFrame(values, columns=[f"w{i}" for i in range(values.shape[1])]),
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_array": sp.coo_array,
    "dok_matrix": sp.dok_matrix,
    "unsorted": _unsorted,
    "duplicated": _duplicated,
    "one-dimensional": np.ravel,
    "three-dimensional": lambda values: values[:, :, None],
    "generator": lambda values: (row for row in values),
    "corpus": _corpus,
    "blocks": _blocks,
    "generator of blocks": lambda values: (block for block in _blocks(values)),
}


documents = st.builds(
    Documents,
    rows=st.sampled_from([4, 1, 2, 3, 5, 9, 0]),
    columns=st.sampled_from([None] * 8 + [1, 6, 0]),
    values=st.sampled_from(["tokens"] * 6 + list(VALUES)),
    dtype=st.sampled_from(["float64"] * 8 + DTYPES),
    container=st.sampled_from(["csr_matrix"] * 4 + list(CONTAINERS)),
    seed=st.integers(0, 2**16),
    weights=st.sampled_from([None] * len(WEIGHTS) + list(WEIGHTS)),
    covariates=st.sampled_from(["numbers"] * len(COVARIATES) + list(COVARIATES)),
)
