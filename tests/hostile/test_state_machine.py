"""Random programs over all estimators: what a call answers, refuses, and leaves as it was.

A program is an estimator with parameters up to and beyond their bounds, and a sequence of calls with
documents of all sizes, values, dtypes and containers. It is drawn by hypothesis, which shrinks one that fails
and prints it; ``Program(...).run()`` runs what was printed again. Programs run in child processes, since one
that crashes should be printed too.
"""

import pickle
import re
import resource
import tempfile
import time
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import sktopic

from .tools import (
    ESTIMATORS,
    check_distributions,
    check_resources,
    differences,
    fingerprint,
    fitted_state,
    in_child,
    new,
    note,
    share,
)

# What a call of a tiny model may take. Memory: growth of the process's peak.
MOST_SECONDS = 3.0
MOST_MEMORY = 150e6
# Values of these cost time or memory, which is what they are for: kept small, or refused.
COSTLY = {
    "n_components": 9,
    "max_iter": 3,
    "doc_burn_in": 3,
    "doc_sweeps": 3,
    "transform_burn_in": 3,
    "transform_sweeps": 3,
    "max_doc_update_iter": 20,
    "doc_n_components": 9,
    "n_proposals": 4,
    "max_births": 4,
    "verbose": 1,
}
# Exceptions that are documented, and wordings that are those of an internal error.
DOCUMENTED = (ValueError, TypeError, NotFittedError)
INTERNAL = re.compile(
    r"broadcast|(?i:buffer)|memoryview|NoneType|has no attribute|cannot convert|unsupported operand"
    r"|out of bounds|negative dimensions|shape mismatch|invalid entry|object is not|too large to convert"
)
LONGEST_MESSAGE = 4000


# Documents


@dataclass
class Documents:
    """A matrix of counts; columns None is what the model was fitted to, or 5."""

    rows: int = 4
    columns: int | None = None
    values: str = "tokens"
    dtype: str = "float64"
    container: str = "ndarray"
    seed: int = 0

    def make(self, columns):
        """The matrix in its container."""
        rng = np.random.default_rng(self.seed)
        shape = self.rows, columns if self.columns is None else self.columns
        with np.errstate(all="ignore"):
            values = VALUES[self.values](rng, shape).astype(self.dtype)
        return CONTAINERS[self.container](values)


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
    "tiny": lambda rng, shape: _sparsely(rng, shape, 10.0 ** rng.uniform(-323, -250, shape)),
    "large": lambda rng, shape: _sparsely(rng, shape, 10.0 ** rng.uniform(3, 20, shape)),
    "any size": lambda rng, shape: _sparsely(rng, shape, 10.0 ** rng.uniform(-320, 20, shape)),
    "one largest": _one_bad(1e20),
    "too large": _one_bad(1e300),
    "NaN": _one_bad(np.nan),
    "infinite": _one_bad(np.inf),
    "negative": _one_bad(-1.0),
    "negative zero": _one_bad(-0.0),
}
DTYPES = ["float64", "float32", "float16", "longdouble", "bool", "complex128", "object", "str"]
DTYPES += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


def _memory_map(values):
    with tempfile.NamedTemporaryFile() as file:
        mapped = np.memmap(file, values.dtype, "w+", shape=values.shape) if values.size else values
        mapped[:] = values
        return mapped


def _read_only(values):
    values.flags.writeable = False
    return values


def _read_only_csr(values):
    matrix = sp.csr_matrix(values)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


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


def _wide_indices(values):
    matrix = sp.csr_array(values)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def _explicit_zeros(values):
    matrix = sp.csr_matrix(np.ones_like(values))
    matrix.data = values.ravel().copy()
    return matrix


CONTAINERS = {
    "ndarray": lambda values: values,
    "Fortran": np.asfortranarray,
    "every second row": lambda values: np.repeat(values, 2, axis=0)[::2],
    "backwards": lambda values: values[::-1, ::-1],
    "read-only": _read_only,
    "memory map": _memory_map,
    "list": lambda values: values.tolist(),
    "data frame": lambda values: pd.DataFrame(values, columns=[f"w{i}" for i in range(values.shape[1])]),
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "lil_matrix": sp.lil_matrix,
    "dok_matrix": sp.dok_matrix,
    "unsorted": _unsorted,
    "duplicated": _duplicated,
    "int64 indices": _wide_indices,
    "explicit zeros": _explicit_zeros,
    "read-only csr": _read_only_csr,
    "one-dimensional": np.ravel,
    "three-dimensional": lambda values: values[:, :, None],
    "generator": lambda values: (row for row in values),
}


# Programs


@dataclass
class Program:
    """An estimator with its parameters, and calls (name, argument) on it."""

    estimator: str
    parameters: dict = field(default_factory=dict)
    calls: list = field(default_factory=list)

    def run(self):
        """Raise AssertionError where a call breaks a promise; other exceptions are broken promises too."""
        np.random.seed(0)
        model = new(self.estimator, **self.parameters)
        for name, argument in self.calls:
            model = Call(model, name, argument).run()


class Call:
    """One call on a model, checked."""

    # These may change the model's fitted state.
    TRAINING = ("fit", "fit_transform", "partial_fit", "edit")

    def __init__(self, model, name, argument):
        self.model = model
        self.name = name
        self.argument = argument

    def run(self):
        """Returns the model to go on with."""
        model = self.model
        X, X_before = self.argument, None
        if isinstance(X, Documents):
            width = getattr(model, "n_features_in_", 5)
            if not _can_be_made(X, width):
                return model
            X = X.make(width)
            # A generator is used up; the unused bytes of a long double may be anything.
            if self.argument.container != "generator" and self.argument.dtype != "longdouble":
                X_before = fingerprint(X)
        before = {name: _copied(value) for name, value in vars(model).items()}
        started, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        result, refusal = model, None
        try:
            result = getattr(self, self.name, self.plainly)(X)
        except DOCUMENTED as error:
            refusal = error
        if refusal is not None:
            check_readable(refusal)
            changed = differences(before, vars(model))
            assert not changed, f"the call failed ({refusal}) and changed {changed}"
        seconds = time.process_time() - started
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024
        check_resources(seconds, MOST_SECONDS, grown, MOST_MEMORY)
        assert X_before is None or fingerprint(X) == X_before, "the input was changed"
        if self.name not in (*self.TRAINING, "set_params"):
            changed = differences(before, vars(model))
            assert not changed, f"the call changed {changed}"
        return result

    def plainly(self, X):
        """A call that has a number or an array for its answer."""
        method = getattr(self.model, self.name, None)
        if method is not None:
            answer = method(X)
            # A word without smoothing that was never seen has probability 0.
            scored = self.name in ("score", "perplexity")
            if scored and np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64).sum() == 0:
                assert np.isnan(answer), f"{self.name} of no words: {answer}"
                return self.model
            unseen = scored and getattr(self.model, "topic_word_prior", 1) == 0
            assert unseen or np.isfinite(answer).all(), f"{self.name}: {answer}"
            assert not np.isnan(answer).any(), f"{self.name}: {answer}"
        return self.model

    def fit(self, X):
        assert self.model.fit(X) is self.model
        return self.trained()

    def partial_fit(self, X):
        assert self.model.partial_fit(X) is self.model
        return self.trained()

    def trained(self):
        for name, value in fitted_state(self.model).items():
            # Scores of held-out documents are NaN where these have no words.
            is_number = isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind == "f"
            if is_number and name != "validation_scores_":
                assert not np.isnan(value).any(), f"{name} has NaN"
        check_distributions(self.model.components_, (self.model.n_components_, self.model.n_features_in_))
        return self.model

    def edit(self, edit):
        """A method with its argument: words or topics."""
        name, argument = edit
        if hasattr(self.model, name):
            assert getattr(self.model, name)(argument) is self.model
            return self.trained()
        return self.model

    def fit_transform(self, X):
        twin = clone(self.model)
        theta = self.model.fit_transform(X)
        check_distributions(theta, (len_of(X), self.model.n_components_))
        if self.reproducible():
            again = twin.set_params(n_jobs=3 if twin.n_jobs in (None, 1) else 1).fit(X)
            changed = differences(fitted_state(self.model), fitted_state(again))
            assert not changed, f"with another n_jobs: {changed}"
            assert fingerprint(again.transform(X)) == fingerprint(theta), "transform after fit, other n_jobs"
        return self.trained()

    def reproducible(self):
        return self.model.random_state is not None and self.argument.container != "generator"

    def transform(self, X):
        """Also in another order and in other containers."""
        model = self.model
        theta = model.transform(X)
        check_distributions(theta, (len_of(X), model.n_components_))
        if self.argument.container in ("generator", "data frame", "list"):
            return model
        # As numbers first: duplicates of bools or small integers do not add up.
        counts = X.astype(np.float64).toarray() if sp.issparse(X) else np.asarray(X)
        counts = counts.astype(theta.dtype)
        order = np.random.default_rng(0).permutation(len(counts))
        assert fingerprint(model.transform(counts[order])) == fingerprint(theta[order]), "in another order"
        assert fingerprint(model.transform(sp.csc_array(counts))) == fingerprint(theta), "as csc_array"
        other = pickle.loads(pickle.dumps(model)).set_params(n_jobs=2)
        assert fingerprint(other.transform(counts)) == fingerprint(theta), "with n_jobs=2"
        return model

    def word_topics(self, X):
        """Of documents alone and together."""
        model = self.model
        n_components = getattr(model, "n_components_", 1)
        topics, probabilities = model.word_topics(X, n_components)
        of_words = topics[:, 0] >= 0  # not of zeros
        check_distributions(probabilities[of_words], (np.count_nonzero(of_words), n_components))
        if self.argument.container != "generator":
            blocks = [block for _, _, block in model.iter_word_topics(X, n_components, block_size=1)]
            assert fingerprint(np.concatenate(blocks)) == fingerprint(probabilities), "in blocks"
        return model

    def sample_proportions(self, X):
        model = self.model
        if hasattr(model, "sample_proportions"):
            theta = model.sample_proportions(X, 2)
            check_distributions(theta.reshape(-1, model.n_components_), (2 * len_of(X), model.n_components_))
        return model

    def attributes(self, _):
        for name in dir(type(self.model)):
            # Nobody has given names to the topics.
            if name.endswith("_") and not name.startswith("_") and name != "topic_names_":
                assert np.isfinite(getattr(self.model, name)).all(), name
        assert len(self.model.get_feature_names_out()) == self.model.n_components_
        return self.model

    def set_params(self, parameters):
        known = self.model.get_params()
        return self.model.set_params(**{name: parameters[name] for name in parameters if name in known})

    def pickle(self, _):
        return pickle.loads(pickle.dumps(self.model))

    def clone(self, _):
        return clone(self.model)


def len_of(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _copied(value):
    return value.copy() if isinstance(value, np.ndarray) else value


def _can_be_made(documents, columns):
    """Whether numpy and scipy have such a matrix."""
    try:
        documents.make(columns)
    except (TypeError, ValueError, NotImplementedError):
        return False
    return True


def check_readable(error):
    text = str(error)
    assert 0 < len(text) <= LONGEST_MESSAGE, f"{len(text)} characters: {text[:200]}"
    assert not INTERNAL.search(text), f"an internal error: {type(error).__name__}: {text}"


# Strategies


class BeyondFloat(int):
    """An integer that no float holds."""

    def __new__(cls, value=10**400):
        return super().__new__(cls, value)

    def __repr__(self):
        return "BeyondFloat()"


documents = st.builds(
    Documents,
    rows=st.sampled_from([4, 1, 2, 3, 5, 9, 0]),
    columns=st.sampled_from([None] * 8 + [1, 6, 0]),
    values=st.sampled_from(["tokens"] * 6 + list(VALUES)),
    dtype=st.sampled_from(["float64"] * 8 + DTYPES),
    container=st.sampled_from(["csr_matrix"] * 4 + list(CONTAINERS)),
    seed=st.integers(0, 2**16),
)


topics = st.lists(st.sampled_from([0, 1, 2, 5, -1]), max_size=3)
edits = st.one_of(
    st.tuples(st.just("add_features"), st.sampled_from([1, 2, 0, ["new"], ["new", "w1"]])),
    st.tuples(st.sampled_from(["drop_topics", "freeze_topics", "freeze_topics"]), topics),
    st.tuples(st.just("merge_topics"), st.lists(topics, max_size=2)),
)


def values_of(name, constraints):
    """Values of a parameter: inside its bounds, at them, and beyond."""
    allowed, odd = [], ["none of these", -1, 0, float("nan"), float("inf"), None, (), 2**70, True]
    for constraint in constraints:
        kind = type(constraint).__name__
        if kind == "Interval":
            allowed += _of_interval(name, constraint)
        elif kind == "StrOptions":
            allowed += sorted(constraint.options) * 3
        elif constraint is None:
            allowed += [None] * 2
        elif constraint == "boolean":
            allowed += [True, False, np.bool_(True)]
        elif constraint == "random_state":
            allowed += [0, 1, 2**32 - 1, np.int64(5)]
        elif constraint == "verbose":
            allowed += [0, 1, True]
        elif constraint == "array-like":
            allowed += [[1.0] * 3, [0.1, 1e-12, 1e12], (1, 2, 3), [1.0, float("nan"), 1.0], [], [[1.0] * 3]]
        elif constraint is tuple:
            allowed += [(1.0, 1.0), (1.0, 0.01), (1e-12, 1e12), (5.0, 1e-300), (1e300, 1.0), (0, 1), (1,)]
    odd = [value for value in odd if not (name in COSTLY and isinstance(value, int) and value == 2**70)]
    return st.sampled_from(allowed * 4 + odd)


def _of_interval(name, interval):
    """Ends of an interval, numbers next to them, and some between."""
    ends = [end for end in (interval.left, interval.right) if end is not None]
    if name in COSTLY:
        return [*range(int(interval.left), COSTLY[name] + 1), np.int8(2)]
    if interval.type is Integral:
        steps = (-1, 0, 1, 2, 3)
        values = [int(end) + step for end in ends for step in steps] + [
            2**31,
            2**63,
            np.int16(4),
            np.uint8(2),
        ]
        return [value for value in values if value in interval] * 2
    values = [*ends, *(np.nextafter(end, 1.0).item() for end in ends)]
    values += [0.5, 1, 1.5, 1e-3, 10, 1e-12, 1e12, 1e-300, 1e300, 5e-324, 1.7e308]
    values += [np.float32(0.3), BeyondFloat()]
    return [value for value in values if value in interval]


@st.composite
def parameters(draw, constraints, largest):
    names = draw(st.lists(st.sampled_from(sorted(constraints)), max_size=largest, unique=True))
    return {name: draw(constraints[name]) for name in names}


def programs(name):
    """Programs with one estimator."""
    estimator = getattr(sktopic, name)
    known = estimator().get_params()
    constraints = {key: values_of(key, estimator._parameter_constraints[key]) for key in known}
    calls = st.one_of(
        st.tuples(st.sampled_from(["partial_fit", "fit", "transform", "fit_transform"]), documents),
        st.tuples(st.sampled_from(["partial_fit", "transform", "score", "elbo", "perplexity"]), documents),
        st.tuples(st.sampled_from(["word_topics", "sample_proportions"]), documents),
        st.tuples(st.sampled_from(["attributes", "pickle", "predict_mixture", "clone"]), documents).map(
            lambda call: call if call[0] == "predict_mixture" else (call[0], None)
        ),
        st.tuples(st.just("set_params"), parameters(constraints, 2)),
        st.tuples(st.just("edit"), edits),
    )
    first = st.tuples(st.sampled_from(["fit", "partial_fit", "fit_transform"]), documents)
    sequence = st.tuples(first, st.lists(calls, max_size=6)).map(lambda pair: [pair[0], *pair[1]])
    return st.builds(Program, st.just(name), parameters(constraints, 4), sequence)


def run_programs(name, n_programs):
    """Runs in a child process."""

    @settings(
        max_examples=n_programs,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(name))
    def run(program):
        note(program)
        program.run()

    run()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_random_programs_keep_all_promises(name):
    in_child(run_programs, name, share(1 / len(ESTIMATORS)))
