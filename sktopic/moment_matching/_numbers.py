"""Distributions over the number of topics, 1 to n_components."""

from numbers import Real

import numpy as np

from sktopic._runtime._arrays import real_numbers

# The prior decays by exp(-rate) per topic. The rate of None was chosen on synthetic data: with few words,
# topics separate later, and a steep prior would leave only one of them. The rate makes up for the losses of
# the triangular filter on its first tokens if there are few topics.
STEEPEST, WORDS_OF_ONE = 2.0, 100
RATES = {"uniform": 0.0, "exponential": 1.0}
# The probability of a number of topics is gamma * 2 ** (-LAG * lag): see _kernels/moments/_token_update.h.
LAG = 512.0
MOST_LAG = np.finfo(np.float64).max / LAG  # times LAG, it does not overflow
# Probabilities with a smaller relative difference count as equal.
TIE = 1e-9


def check_number_prior(value, n_components, n_features=WORDS_OF_ONE):
    """Return the logarithms of the prior of 1 ... n_components topics, up to a constant."""
    rate = RATES[value] if isinstance(value, str) else value
    if rate is None:
        rate = min(STEEPEST, n_features / WORDS_OF_ONE)
    if isinstance(rate, Real):
        return -np.arange(n_components) * float(rate)
    try:
        prior = real_numbers(value, booleans=False)
    except (TypeError, ValueError):
        prior = np.empty(0)
    if prior.shape != (n_components,):
        raise ValueError(
            f"n_components_prior={value!r} is invalid: must be 'uniform', 'exponential', a number,"
            f" or {n_components} numbers (one for each number of topics from 1 to n_components)."
        )
    if not (np.all(prior >= 0) and np.all(np.isfinite(prior)) and prior.max() > 0):
        raise ValueError(
            f"n_components_prior={value!r} is invalid: entries must be finite and non-negative, "
            "and at least one positive."
        )
    with np.errstate(divide="ignore"):
        return np.log(prior)


def as_gamma(log_prior):
    """Return gamma and lag of a distribution with these logarithms, up to a constant."""
    with np.errstate(under="ignore"):  # improbable numbers of topics add nothing to the sum
        exponent = (log_prior - np.logaddexp.reduce(log_prior)) / np.log(2.0)
    lag = np.where(np.isfinite(exponent), np.floor(-exponent / LAG), 0.0)
    return 2.0 ** (exponent + LAG * lag), lag


def is_distribution(gamma, lag):
    """Whether gamma and lag may come from `as_gamma` and updates: the largest probability has no lag."""
    are_valid = (gamma >= 0.0) & (gamma < np.inf) & (lag >= 0.0) & (lag <= MOST_LAG)
    return bool(np.all(are_valid) and np.any(gamma[lag == 0.0] > 0.0))


def probabilities(gamma, lag):
    """Return the distribution of gamma and lag."""
    with np.errstate(under="ignore"):  # most numbers of topics have a probability that underflows to zero
        gamma = gamma * 2.0 ** (-LAG * lag)
        return gamma / gamma.sum()


def logarithms(gamma, lag):
    """Return the logarithms of the distribution of gamma and lag, up to a constant."""
    return np.log(gamma) - lag * LAG * np.log(2.0)


def most_probable(gamma, lag):
    """Return the most probable number of topics, the smallest if several are equally probable."""
    posterior = probabilities(gamma, lag)
    return int(np.argmax(posterior >= (1.0 - TIE) * posterior.max())) + 1
