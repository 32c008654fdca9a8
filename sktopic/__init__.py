"""Topic models with a scikit-learn interface."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from sktopic._loading import load
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

if TYPE_CHECKING:
    from sktopic import datasets, distributed, features, inspection, metrics, model_selection, seeding

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
    "datasets",
    "distributed",
    "features",
    "hdp",
    "inspection",
    "lda",
    "load",
    "metrics",
    "model_selection",
    "moment_matching",
    "seeding",
]

# Imported when they are first asked for: they need more than the models do.
_MODULES = "datasets", "distributed", "features", "inspection", "metrics", "model_selection", "seeding"


def __getattr__(name):
    if name in _MODULES:
        return _import_module(f"sktopic.{name}")
    raise AttributeError(f"module 'sktopic' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
