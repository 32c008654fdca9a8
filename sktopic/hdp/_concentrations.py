"""Concentrations of hierarchical Dirichlet processes as parameters: given, or learned under Gamma priors."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from sktopic._estimators._constraints import PRIOR
from sktopic._runtime._compat import StrOptions
from sktopic._topics._prior import LARGEST, SMALLEST

NAMES = ("topic_concentration", "doc_concentration")
LEARNED_CONCENTRATIONS = {
    **{name: [PRIOR, StrOptions({"auto"})] for name in NAMES},
    **{f"{name}_prior": [tuple, list] for name in NAMES},
}


@dataclass(frozen=True)
class Concentration:
    """A concentration as a parameter.

    Attributes
    ----------
    value : a number, or 'auto' if it is learned
    shape, rate : of its Gamma prior
    """

    value: Any
    shape: float = 1.0
    rate: float = 1.0

    @property
    def is_learned(self):
        return self.value == "auto"


def check_concentration_priors(model):
    """Raise ValueError for priors that are not a shape and a rate."""
    for name in NAMES:
        prior = getattr(model, f"{name}_prior", (1.0, 1.0))  # not all models learn them
        numbers = len(prior) == 2 and all(isinstance(x, Real) and not isinstance(x, bool) for x in prior)
        if not (numbers and all(SMALLEST <= x <= LARGEST for x in prior)):
            raise ValueError(
                f"{name}_prior={prior!r}: shape and rate, two numbers between {SMALLEST:g} and "
                f"{LARGEST:g}, are allowed."
            )


def draw_concentration(value, prior, *, n_tables, sizes, times, generator):
    """A draw of the concentration of Chinese restaurants under a Gamma prior (Teh et al., 2006).

    Parameters
    ----------
    value : the present concentration
    prior : (shape, rate) of the Gamma distribution
    n_tables : number of tables in all restaurants
    sizes, times : numbers of customers, and of the restaurants with each of these numbers
    generator : RandomState
    """
    (shape, rate), some = prior, sizes > 0
    n = np.repeat(sizes[some], times[some].astype(np.int64)).astype(np.float64)
    log_share = np.log(np.maximum(generator.beta(value + 1.0, n), 1e-300)).sum()
    ahead = np.count_nonzero(generator.uniform(size=len(n)) * (n + value) < n)
    drawn = generator.gamma(shape + n_tables - ahead) / (rate - log_share)
    return float(np.clip(drawn, SMALLEST, LARGEST))
