import numpy as np
from numpy.typing import NDArray

def hide_tokens(
    indptr: NDArray[np.int64],  # (n_documents + 1,)
    cell_count: NDArray[np.float64],  # (n_cells,)
    keys: NDArray[np.uint64],  # (n_documents,)
    hidden_fraction: float,
) -> NDArray[np.float64]:
    """hidden (n_cells,), the weight hidden of each cell."""
