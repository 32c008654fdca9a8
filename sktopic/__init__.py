"""Topic models with a scikit-learn interface."""

from sktopic.lda import (
    CollapsedGibbsLDA,
    HybridLDA,
    LangevinLDA,
    OnlineEMLDA,
    OnlineVariationalLDA,
    SinglePassLDA,
    StreamingGibbsLDA,
    StreamingVariationalLDA,
)

__version__ = "0.1.0"

__all__ = [
    "CollapsedGibbsLDA",
    "HybridLDA",
    "LangevinLDA",
    "OnlineEMLDA",
    "OnlineVariationalLDA",
    "SinglePassLDA",
    "StreamingGibbsLDA",
    "StreamingVariationalLDA",
]
