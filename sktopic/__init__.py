"""Topic models with a scikit-learn interface."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sktopic import (
        datasets,
        distributed,
        exceptions,
        features,
        hdp,
        inspection,
        lda,
        metrics,
        model_selection,
        moment_matching,
        seeding,
    )
    from sktopic._loading import load
    from sktopic.hdp import CollapsedGibbsHDP, DirectAssignmentHDP, HybridHDP
    from sktopic.lda import CollapsedGibbsLDA, OnlineEMLDA, OnlineVariationalLDA

__version__ = "0.1.0"

# The estimators that most people need, by the page "Which model"; the modules have all of them.
__all__ = [
    "CollapsedGibbsHDP",
    "CollapsedGibbsLDA",
    "DirectAssignmentHDP",
    "HybridHDP",
    "OnlineEMLDA",
    "OnlineVariationalLDA",
    "datasets",
    "distributed",
    "exceptions",
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

_MODULES = [name for name in __all__ if name.islower() and name != "load"]


# Everything is imported on first use. Imports of kernels wait until this module is imported. If this module
# waited for them in turn, threads that import different parts at once would find incomplete modules.
def __getattr__(name):
    if name in _MODULES:
        return _import_module(f"sktopic.{name}")
    if name in __all__:
        loading = _import_module("sktopic._loading")
        globals()[name] = found = loading.load if name == "load" else loading.CLASSES[name]
        return found
    raise AttributeError(f"module 'sktopic' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
