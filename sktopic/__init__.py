"""Topic models with a scikit-learn interface."""

from sktopic.hdp import (
    CollapsedGibbsHDP,
    DirectAssignmentHDP,
    HybridHDP,
    OnlineEMHDP,
    OnlineVariationalHDP,
    TruncationFreeHDP,
)
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
from sktopic.moment_matching import DegenerateDirichletLDA, MomentMatchingLDA, TriangularDirichletLDA

__version__ = "0.1.0"

__all__ = [
    "CollapsedGibbsHDP",
    "CollapsedGibbsLDA",
    "DegenerateDirichletLDA",
    "DirectAssignmentHDP",
    "HybridHDP",
    "HybridLDA",
    "LangevinLDA",
    "MomentMatchingLDA",
    "OnlineCVB0LDA",
    "OnlineEMHDP",
    "OnlineEMLDA",
    "OnlineOPELDA",
    "OnlineVariationalHDP",
    "OnlineVariationalLDA",
    "SinglePassLDA",
    "StreamingGibbsLDA",
    "StreamingVariationalLDA",
    "TriangularDirichletLDA",
    "TruncationFreeHDP",
]
