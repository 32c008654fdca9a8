"""Constraints for scikit-learn's validation of parameters that several estimators share."""

from numbers import Integral, Real

import numpy as np

from sktopic._documents._sample_weight import LARGEST_CORPUS, SMALLEST_WEIGHT
from sktopic._runtime._compat import Interval, Options, StrOptions, as_python, make_constraint
from sktopic._topics._prior import LARGEST, LEARNED, SMALLEST

# Largest integer of the kernels.
MOST_TOPICS = 2**31 - 1
# The sum of two values below this limit does not overflow.
MOST_SWEEPS = 2**30
# Bits of the largest integers that a float can represent.
MOST_BITS = 1023

POSITIVE = Interval(Real, 0, None, closed="neither")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
# Parameters of Dirichlet distributions and Gamma priors.
PRIOR = Interval(Real, SMALLEST, LARGEST, closed="both")
ZERO = Options(Real, {0})
AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
ANY_NUMBER = Interval(Integral, 0, None, closed="left")
# Numbers of sweeps or iterations.
SOME_SWEEPS = Interval(Integral, 1, MOST_SWEEPS, closed="both")
ANY_SWEEPS = Interval(Integral, 0, MOST_SWEEPS, closed="both")

# Numbers of threads or processes.
N_JOBS = [AT_LEAST_ONE, Interval(Integral, None, -1, closed="right"), None]

# Dirichlet parameters of words in topics.
MATRIX = ["array-like", "sparse matrix"]

# An estimator has some of these parameters, and may override their constraints.
SHARED = {
    "n_components": [Interval(Integral, 1, MOST_TOPICS, closed="both")],
    # The model
    "doc_topic_prior": [None, StrOptions(set(LEARNED)), PRIOR, "array-like"],
    "topic_word_prior": [ZERO, PRIOR, None],
    # The start
    "components_init": ["array-like", None],
    # The loop over mini-batches
    "learning_decay": [Interval(Real, 0, 1, closed="both")],
    "learning_offset": [NON_NEGATIVE],
    "max_iter": [AT_LEAST_ONE],
    "batch_size": [AT_LEAST_ONE],
    "total_samples": [Interval(Real, SMALLEST_WEIGHT, LARGEST_CORPUS, closed="both"), None],
    "shuffle": ["boolean"],
    # Inference of documents
    "doc_burn_in": [ANY_SWEEPS],
    "doc_sweeps": [SOME_SWEEPS],
    "transform_burn_in": [ANY_SWEEPS],
    "transform_sweeps": [SOME_SWEEPS],
    "max_doc_update_iter": [SOME_SWEEPS],
    "mean_change_tol": [NON_NEGATIVE],
    # The call
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [AT_LEAST_ONE],
    "tol": [NON_NEGATIVE],
    "n_jobs": N_JOBS,
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
# A prior of topic proportions that cannot be learned.
FIXED_DOC_TOPIC_PRIOR = [None, PRIOR, "array-like"]


def check_numbers(model):
    """Raise ValueError for integers too large for a float, and for booleans in place of numbers."""
    constraints = model._parameter_constraints
    for name, value in model.get_params(deep=False).items():
        kind = type(value)
        if isinstance(value, int) and value.bit_length() > MOST_BITS and name in constraints:
            raise ValueError(f"{name} has {value.bit_length()} bits; at most {MOST_BITS} bits are allowed.")
        if (kind is bool or kind is np.bool_) and name in constraints:
            _check_bool(name, value, constraints[name])


def _check_bool(name, value, constraints):
    """Raise ValueError for a boolean that scikit-learn would accept as 1 or 0."""
    if "boolean" not in constraints and "verbose" not in constraints:
        allowed = " or ".join(str(make_constraint(constraint)) for constraint in constraints)
        raise ValueError(f"{name}={value} is invalid: must be {allowed}.")


# Parameters of functions, whose messages have the value first


def checked_integer(name, value, least, most=None, advice=""):
    """Return an integer parameter as int; ValueError for any other value."""
    fits = isinstance(value, Integral) and not isinstance(value, bool) and value >= least
    if not fits or (most is not None and value > most):
        allowed = f"from {least} on" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}={value!r:.80} is invalid: must be an integer {allowed}. {advice}".rstrip())
    return int(value)


def checked_number(name, value, most, least=0.0):
    """Return a number from least to most as float; ValueError for any other value."""
    number = as_python(value)  # NumPy would cast `most` to its type
    if not isinstance(number, Real) or isinstance(number, bool) or not least <= number <= most:
        raise ValueError(f"{name}={value!r:.40} is invalid: must be a number from {least:g} to {most:g}.")
    return float(number)
