"""Concentrations and the prior of topics as parameters: given, or learned, some with Gamma priors."""

from dataclasses import dataclass

import numpy as np

from sktopic._estimators._constraints import PRIOR
from sktopic._runtime._compat import StrOptions
from sktopic._state._fields import changed
from sktopic._topics._prior import LARGEST, SMALLEST

CONCENTRATIONS = ("topic_concentration", "doc_concentration")
LEARNED_CONCENTRATIONS = {
    **{name: [PRIOR, StrOptions({"auto"})] for name in CONCENTRATIONS},
    **{f"{name}_prior": [tuple, list] for name in CONCENTRATIONS},
}


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a model: numbers, or "auto" for learned parameters.

    Attributes
    ----------
    topic_concentration, doc_concentration, topic_word_prior : those of the model
    topic_concentration_prior, doc_concentration_prior : shape and rate of Gamma priors
    """

    topic_concentration: float | str
    doc_concentration: float | str
    topic_word_prior: float | str
    topic_concentration_prior: tuple[float, float]
    doc_concentration_prior: tuple[float, float]

    def learns(self, name):
        return getattr(self, name) == "auto"

    def adopted(self, state):
        """Return the state with the given parameters; learned parameters do not change."""
        names = [name for name in (*CONCENTRATIONS, "topic_word_prior") if not self.learns(name)]
        return changed(state, **{name: float(getattr(self, name)) for name in names})


def priors_of_concentrations(model):
    """Return an estimator's Gamma priors by name, which matter only for learned concentrations."""
    return {f"{name}_prior": getattr(model, f"{name}_prior", (1.0, 1.0)) for name in CONCENTRATIONS}


def parameters_of(model, default):
    """Return the Parameters of an estimator; default: topic_word_prior if it is None."""
    return Parameters(
        topic_concentration=model.topic_concentration,
        doc_concentration=model.doc_concentration,
        topic_word_prior=default if model.topic_word_prior is None else model.topic_word_prior,
        **{name: tuple(map(float, prior)) for name, prior in priors_of_concentrations(model).items()},
    )


def check_in_use(state):
    """Raise ValueError if a concentration of a state is not positive, or its prior of topics is negative."""
    for name in CONCENTRATIONS:
        if not getattr(state, name) > 0.0:
            raise ValueError(f"{name} must be positive, but is {getattr(state, name):g}")
    if state.topic_word_prior < 0.0:  # some methods allow 0
        raise ValueError(f"topic_word_prior must not be negative, but is {state.topic_word_prior:g}")


def check_concentration_priors(model):
    """Raise ValueError for priors that are not a shape and a rate."""
    for name, prior in priors_of_concentrations(model).items():
        if len(prior) != 2 or not all(PRIOR.is_satisfied_by(x) and not isinstance(x, bool) for x in prior):
            raise ValueError(
                f"{name}={prior!r} is invalid: must be a tuple (shape, rate) of numbers between "
                f"{SMALLEST:g} and {LARGEST:g}."
            )


def draw_concentration(value, prior, *, n_tables, sizes, times, generator):
    """Draw the concentration of Chinese restaurants under a Gamma prior (Teh et al., 2006).

    Parameters
    ----------
    value : the present concentration
    prior : (shape, rate) of the Gamma distribution
    n_tables : number of tables in all restaurants
    sizes, times : numbers of customers, and numbers of restaurants of these sizes
    generator : RandomState
    """
    (shape, rate), some = prior, sizes > 0
    n = np.repeat(sizes[some], times[some].astype(np.int64)).astype(np.float64)
    log_share = np.log(np.maximum(generator.beta(value + 1.0, n), 1e-300)).sum()
    ahead = np.count_nonzero(generator.uniform(size=len(n)) * (n + value) < n)
    drawn = generator.gamma(shape + n_tables - ahead) / (rate - log_share)
    return float(np.clip(drawn, SMALLEST, LARGEST))
