"""Values of parameters inside their bounds, at them and beyond, from the constraints of estimators."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from sktopic.seeding import seed_prior
from tests.registry import options_of

# Values of these cost time or memory, which is what they are for: kept small, or refused.
COSTLY = {"n_components": 9, "doc_n_components": 9, "max_iter": 3, "max_doc_update_iter": 20, "verbose": 1}
COSTLY |= {"n_proposals": 4, "max_births": 4}
COSTLY |= dict.fromkeys(["doc_burn_in", "doc_sweeps", "transform_burn_in", "transform_sweeps"], 3)


@dataclass(frozen=True)
class Topics:
    """A parameter with an entry for each word of each topic; the defaults fit the models of `tools.new`."""

    values: str = "tokens"
    rows: int = 3
    columns: int = 5

    def make(self):
        return TOPICS[self.values](np.random.default_rng(0), (self.rows, self.columns))


def _seeds(weight):
    def make(_, shape):
        names = [f"w{i}" for i in range(shape[1])]
        return seed_prior({"first": names[:2], shape[0] - 1: names[-1:]}, names, shape[0], weight=weight)

    return make


def _with(value):
    def make(rng, shape):
        topics = rng.random(shape) + 0.01
        topics[-1, -1] = value
        return topics

    return make


TOPICS = {
    "tokens": lambda rng, shape: rng.integers(1, 9, shape),
    "list": lambda rng, shape: (rng.random(shape) + 0.01).tolist(),
    "seeds": _seeds(150.0),
    "seeds of little weight": _seeds(1e-12),
    "all sizes": lambda rng, shape: 10.0 ** rng.uniform(-320, 300, shape),
    "float32, Fortran": lambda rng, shape: np.asfortranarray(rng.random(shape), dtype=np.float32),
    "csc": lambda rng, shape: sp.csc_matrix(np.where(rng.random(shape) < 0.5, 0, 2.0)),
    "coo twice": lambda rng, shape: sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=shape),
    "zeros": lambda rng, shape: np.zeros(shape),
    "a topic of zeros": lambda rng, shape: np.arange(1.0, shape[0] + 1)[:, None] % shape[0] * np.ones(shape),
    **{str(value): _with(value) for value in (np.nan, np.inf, -1.0, 1e308)},
    "strings": lambda rng, shape: np.full(shape, "x"),
}


def made(parameters):
    """Parameters as an estimator gets them."""
    return {name: v.make() if isinstance(v, Topics) else v for name, v in parameters.items()}


def values_of(name, constraints):
    """Values that each constraint of a parameter allows, and a few that may be beyond all of them."""
    allowed = [value for constraint in constraints for value in _allowed(name, constraint)]
    odd = ["none of these", -1, 0, float("nan"), float("inf"), None, (), 2**70, True]
    odd = [value for value in odd if not (name in COSTLY and value == 2**70)]
    return allowed * 4 + odd


def _allowed(name, constraint):
    kind = type(constraint).__name__
    if kind == "Interval":
        return _of_interval(name, constraint)
    if kind in ("Options", "StrOptions"):
        return sorted(constraint.options) * 3
    if isinstance(constraint, str) or constraint is None or isinstance(constraint, type):
        return VALUES[constraint]
    raise NotImplementedError(f"{name}: values of {constraint}")


VALUES = {
    None: [None] * 2,
    "boolean": [True, False, np.bool_(True)],
    "random_state": [0, 1, 2**32 - 1, np.int64(5)],
    "verbose": [0, 1, True],
    "array-like": [
        *([1.0] * 3, [0.1, 1e-12, 1e12], (1, 2, 3), [1.0, float("nan"), 1.0], [], [[1.0] * 3]),
        *(Topics(values) for values in TOPICS),
        *(Topics("list", 2), Topics("seeds", 3, 4)),
    ],
    "sparse matrix": [Topics(values) for values in ("seeds", "seeds of little weight", "csc", "coo twice")],
    tuple: [
        *((1.0, 1.0), (1.0, 0.01), (1e-12, 1e12), (5.0, 1e-300), (1e300, 1.0), (0, 1)),
        *((1,), (1j, 1.0), ("1", 1.0), (10**400, 1.0)),
    ],
    list: [[1.0, 1.0], [1e-300, 5.0], [1.0, float("nan")], [1.0, 1.0, 1.0], ["a", "b"]],
}


def _of_interval(name, interval):
    """Ends of an interval, numbers next to them, and some between."""
    ends = [end for end in (interval.left, interval.right) if end is not None]
    if name in COSTLY:
        return [*range(int(interval.left), COSTLY[name] + 1), np.int8(2)]
    if interval.type is Integral:
        steps = (-1, 0, 1, 2, 3)
        values = [int(end) + step for end in ends for step in steps]
        values += [2**31, 2**63, np.int16(4), np.uint8(2)]
        return [value for value in values if value in interval] * 2
    values = [*ends, *(np.nextafter(end, 1.0).item() for end in ends)]
    values += [0.5, 1, 1.5, 1e-3, 10, 1e-12, 1e12, 1e-300, 1e300, 5e-324, 1.7e308]
    values += [np.float32(0.3), 10**400]
    return [value for value in values if value in interval]


def all_values(estimator):
    """The values of each parameter of a class."""
    constraints = estimator._parameter_constraints
    return {name: values_of(name, constraints[name]) for name in estimator().get_params()}


def modes_of(estimator):
    """The parameters of a class that choose between methods."""
    options = {name: options_of(estimator, name) for name in estimator().get_params()}
    return {name: values for name, values in options.items() if len(values) > 1}


@st.composite
def some_of(draw, values, largest):
    """A few of the parameters of which a dict has the values."""
    names = draw(st.lists(st.sampled_from(sorted(values)), max_size=largest, unique=True))
    return {name: draw(st.sampled_from(values[name])) for name in names}
