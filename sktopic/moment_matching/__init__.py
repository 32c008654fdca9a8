"""Bayesian moment matching: posteriors of topics and of their number, updated after each token."""

from sktopic.moment_matching._degenerate import DegenerateDirichletLDA
from sktopic.moment_matching._lda import MomentMatchingLDA
from sktopic.moment_matching._triangular import TriangularDirichletLDA

__all__ = ["DegenerateDirichletLDA", "MomentMatchingLDA", "TriangularDirichletLDA"]
