"""Hierarchical Dirichlet processes: models whose number of topics is inferred."""

from sktopic.hdp._collapsed_gibbs import CollapsedGibbsHDP
from sktopic.hdp._direct_assignment import DirectAssignmentHDP
from sktopic.hdp._hybrid import HybridHDP
from sktopic.hdp._online_em import OnlineEMHDP
from sktopic.hdp._online_variational import OnlineVariationalHDP
from sktopic.hdp._truncation_free import TruncationFreeHDP

__all__ = [
    "CollapsedGibbsHDP",
    "DirectAssignmentHDP",
    "HybridHDP",
    "OnlineEMHDP",
    "OnlineVariationalHDP",
    "TruncationFreeHDP",
]
