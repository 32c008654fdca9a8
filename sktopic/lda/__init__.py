"""Latent Dirichlet allocation: models with a given number of topics."""

from sktopic.lda._online_em import OnlineEMLDA

__all__ = ["OnlineEMLDA"]
