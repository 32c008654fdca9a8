"""Topic models with a scikit-learn interface."""

from sktopic.lda import OnlineEMLDA

__version__ = "0.1.0"

__all__ = ["OnlineEMLDA"]
