"""Hierarchical Dirichlet processes: models whose number of topics is inferred."""

from sktopic.hdp._collapsed_gibbs import CollapsedGibbsHDP
from sktopic.hdp._hybrid import HybridHDP
from sktopic.hdp._online_variational import OnlineVariationalHDP

__all__ = ["CollapsedGibbsHDP", "HybridHDP", "OnlineVariationalHDP"]
