"""Bayesian moment matching: posteriors that follow a stream of tokens, of topics and of their number."""

from sktopic.moment_matching._degenerate import DegenerateDirichletLDA
from sktopic.moment_matching._lda import MomentMatchingLDA
from sktopic.moment_matching._triangular import TriangularDirichletLDA

__all__ = ["DegenerateDirichletLDA", "MomentMatchingLDA", "TriangularDirichletLDA"]
