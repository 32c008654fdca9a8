"""Concentrations of hierarchical Dirichlet processes as parameters: given, or learned under Gamma priors."""

from numbers import Real

from sktopic._compat import Interval, StrOptions
from sktopic._prior import LARGEST, SMALLEST

NAMES = ("topic_concentration", "doc_concentration")
CONSTRAINTS = {
    **{name: [Interval(Real, SMALLEST, LARGEST, closed="both"), StrOptions({"auto"})] for name in NAMES},
    **{f"{name}_prior": [tuple, list] for name in NAMES},
}


def check_concentration_priors(model):
    """Raise ValueError for priors that are not a shape and a rate."""
    for name in NAMES:
        prior = getattr(model, f"{name}_prior")
        numbers = len(prior) == 2 and all(isinstance(x, Real) and not isinstance(x, bool) for x in prior)
        if not (numbers and all(SMALLEST <= x <= LARGEST for x in prior)):
            raise ValueError(
                f"{name}_prior={prior!r}: shape and rate, two numbers between {SMALLEST:g} and "
                f"{LARGEST:g}, are allowed."
            )


def adopt_concentrations(model):
    """Go on with the concentrations that are given."""
    for name in NAMES:
        if getattr(model, name) != "auto":
            setattr(model, f"{name}_", float(getattr(model, name)))
