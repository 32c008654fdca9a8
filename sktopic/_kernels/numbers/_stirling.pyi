import numpy as np
from numpy.typing import NDArray

def stirling_ratios(
    n: NDArray[np.intp],  # (n_pairs,)
    m: NDArray[np.intp],  # (n_pairs,)
) -> tuple[
    NDArray[np.float64],  # S(n + 1, m) / S(n, m)  (n_pairs,)
    NDArray[np.float64],  # S(n + 1, m + 1) / S(n, m)  (n_pairs,)
]:
    """For 1 <= m <= n."""
