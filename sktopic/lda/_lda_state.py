"""What a mini-batch method for LDA has learned."""

from dataclasses import dataclass

import numpy as np

from sktopic._state._fields import array, count, name, number, part
from sktopic._topics._topic_word_prior import TopicWordPrior
from sktopic._training._minibatch_state import MinibatchState


@dataclass(frozen=True, eq=False, kw_only=True)
class LDAState(MinibatchState):
    """The state after some updates.

    Attributes
    ----------
    doc_topic_prior : ndarray of shape (n_topics,)
    word_prior : TopicWordPrior
    prior_rule : str or None
        How doc_topic_prior is learned (see DocPrior), if it is.
    prior_averages : ndarray of shape (n_topics,), with the rule 'gamma' (n_topics + 1,)
        What it is learned from.
    n_prior_updates : int
        Updates that it was learned in.
    n_tokens_seen : float
        Tokens seen, by weight, those of later passes too.
    n_lengths_seen : float
        Documents that these are of, by weight: batches without words left out.
    """

    doc_topic_prior: np.ndarray = array(np.float64, "topics")
    word_prior: TopicWordPrior = part(TopicWordPrior)
    prior_rule: str | None = name()
    prior_averages: np.ndarray = array(np.float64, None)
    n_prior_updates: int = count()
    n_tokens_seen: float = number()
    n_lengths_seen: float = number()

    def check(self):
        """Raise ValueError for parts that do not fit together."""
        n_topics, n = len(self.doc_topic_prior), len(self.prior_averages)
        if self.prior_rule is not None and n != n_topics + (self.prior_rule == "gamma"):
            raise ValueError(f"prior_averages has {n} numbers, for {n_topics} topics")
        self.word_prior.check(self.words.n_features, n_topics)
