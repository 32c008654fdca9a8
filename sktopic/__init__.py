"""Topic models with a scikit-learn interface."""

from sktopic.lda import (
    CollapsedGibbsLDA,
    HybridLDA,
    LangevinLDA,
    OnlineCVB0LDA,
    OnlineEMLDA,
    OnlineOPELDA,
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
    "OnlineCVB0LDA",
    "OnlineEMLDA",
    "OnlineOPELDA",
    "OnlineVariationalLDA",
    "SinglePassLDA",
    "StreamingGibbsLDA",
    "StreamingVariationalLDA",
]
