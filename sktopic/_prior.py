"""The Dirichlet priors: their defaults, checks, and learning that of the topic proportions."""

import numpy as np

from sktopic._kernels._dirichlet import fit_dirichlet, fit_symmetric_dirichlet

# Fixed-point iterations after one update: the next update goes on from there.
MAX_ITER = 30
TOL = 1e-4

# With these and the largest count (see _documents), draws stay inside the range of float32.
SMALLEST, LARGEST = 1e-12, 1e12

LEARNED = ("auto", "auto-symmetric")


# Measured over five corpora at 20, 100 and 1000 topics: see doc/benchmarks.rst.
def default_prior(n_components):
    """The default Dirichlet parameter of topic proportions: n_components ** -0.55."""
    return n_components**-0.55


def default_smoothing(n_components):
    """The default pseudo-count of a word in a topic: 2 / n_components, at most 0.1."""
    return min(0.1, 2.0 / n_components)


def check_prior(value, n_components, name="doc_topic_prior"):
    """Return a prior as ndarray of shape (n_components,), float64.

    value: None (the default), a positive number, an array of n_components positive numbers, or one of
    the strings that ask for learning, which start from the default.
    """
    if value is None or isinstance(value, str):
        value = default_prior(n_components)
    try:
        prior = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}={value!r}: a number or an array of shape ({n_components},) is allowed."
        ) from None
    if prior.ndim == 0:
        prior = np.full(n_components, float(prior))
    if prior.shape != (n_components,):
        raise ValueError(
            f"{name} has shape {prior.shape}; a number or an array of shape ({n_components},) is allowed."
        )
    if not np.all((prior >= SMALLEST) & (prior <= LARGEST)):
        raise ValueError(
            f"{name}={value!r}: every entry must be positive finite, between {SMALLEST:g} and {LARGEST:g}."
        )
    return prior.copy()


def learned_prior(kind, mean_log_theta, prior):
    """The Dirichlet parameters of greatest likelihood given E[log theta], starting from a prior.

    Minka's fixed point (2000), as in equation 8 of Dupuy and Bach (2017); 'auto' learns one parameter a
    topic, 'auto-symmetric' one for all.
    """
    if kind == "auto":
        updated = prior.copy()
        fit_dirichlet(mean_log_theta, updated, MAX_ITER, TOL)
        return updated
    value = fit_symmetric_dirichlet(mean_log_theta.mean(), len(prior), prior.mean(), MAX_ITER, TOL)
    return np.full(len(prior), value)
