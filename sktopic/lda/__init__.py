"""Latent Dirichlet allocation: models with a given number of topics."""

from sktopic.lda._collapsed_gibbs import CollapsedGibbsLDA
from sktopic.lda._cvb0 import OnlineCVB0LDA
from sktopic.lda._dmr import DMRLDA
from sktopic.lda._hybrid import HybridLDA
from sktopic.lda._langevin import LangevinLDA
from sktopic.lda._online_em import OnlineEMLDA
from sktopic.lda._online_variational import OnlineVariationalLDA
from sktopic.lda._ope import OnlineOPELDA
from sktopic.lda._single_pass import SinglePassLDA
from sktopic.lda._streaming_gibbs import StreamingGibbsLDA
from sktopic.lda._streaming_variational import StreamingVariationalLDA

__all__ = [
    "DMRLDA",
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
