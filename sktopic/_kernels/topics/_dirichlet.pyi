import numpy as np
from numpy.typing import NDArray

def fit_dirichlet(
    mean_log: NDArray[np.float64],  # (n_topics,)
    alpha: NDArray[np.float64],  # (n_topics,) IN/OUT
    max_iter: int,
    tol: float,
) -> int:
    """The number of iterations; alpha is updated in place."""

def fit_symmetric_dirichlet(mean_log: float, n: int, alpha: float, max_iter: int, tol: float) -> float:
    """The value of all n entries."""

def sum_digamma(
    first: int,
    last: int,
    store: NDArray[np.float64],  # (n_features, n_topics)
    scale: NDArray[np.float64],  # (n_topics,)
    offset: float,
) -> float:
    """The sum over rows first to last and all columns."""

def special_functions(x: float) -> tuple[float, float, float]:
    """digamma(x), trigamma(x), inverse_digamma(x)."""
