"""Weights of documents: what users may give, and sums in which a document counts as often as they say."""

import numpy as np

from sktopic._runtime._arrays import real_numbers

# Of documents that all count as one, where kernels take an array.
NO_WEIGHTS = np.empty(0)
# Largest total_samples, and largest sum of weights. Powers of its product with the largest count stay below
# 1e308: see digamma_exponent in _kernels/numbers/_vector.h.
LARGEST_CORPUS = 1e14
# Smallest total_samples too. A document of less would vanish beside the others.
SMALLEST_WEIGHT = 1e-12


def weighted_sum(values, sample_weight):
    """The sum of values over their first axis, each as often as its weight says; weights may be None."""
    if sample_weight is None:
        return values.sum(axis=0)
    # Not a product of matrices, whose sums may depend on the threads that it takes.
    return (values.T * sample_weight).T.sum(axis=0)


def check_sample_weight(sample_weight, n_samples):
    """Return the weights of documents as ndarray of shape (n_samples,), float64; None where all are one.

    Raises ValueError, which names the parameter, for what are no weights.
    """
    if sample_weight is None:
        return None
    try:
        weights = real_numbers(sample_weight)
    except (TypeError, ValueError):
        raise ValueError(
            "sample_weight is no array of numbers: a number, or one for each of the "
            f"{n_samples} samples of X, is allowed."
        ) from None
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; with the {n_samples} samples of X, a number or "
            f"({n_samples},) is allowed."
        )
    allowed = (weights == 0.0) | ((weights >= SMALLEST_WEIGHT) & (weights < np.inf))  # no NaN
    if not allowed.all():
        first = np.flatnonzero(~allowed)[0]
        raise ValueError(
            f"sample_weight has {weights[first]:g} for sample {first}; 0 and finite numbers from "
            f"{SMALLEST_WEIGHT:g} on are allowed."
        )
    total = weights.sum()
    if total == 0.0:
        raise ValueError("sample_weight is zero for all samples; at least one has to count.")
    if total > LARGEST_CORPUS:
        raise ValueError(f"sample_weight sums to {total:g}; at most {LARGEST_CORPUS:g} is allowed.")
    return None if np.all(weights == 1.0) else weights
