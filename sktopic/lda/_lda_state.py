"""The state of a mini-batch method for LDA."""

from dataclasses import dataclass

import numpy as np

from sktopic._state._fields import array, count, name, number, part
from sktopic._topics._prior import check_used_prior
from sktopic._topics._sparse_word_counts import SparseWordCounts
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
        Rule that learns doc_topic_prior (see DocPrior). None if it is fixed.
    prior_averages : ndarray of shape (n_topics,), or (n_topics + 1,) if the rule is 'gamma'
        Averages that doc_topic_prior is learned from.
    n_prior_updates : int
        Number of updates that learned doc_topic_prior.
    n_tokens_seen : float
        Number of tokens seen, by weight, including later passes.
    n_lengths_seen : float
        Number of documents in batches with words, by weight, including later passes.
    """

    doc_topic_prior: np.ndarray = array(np.float64, "topics")
    word_prior: TopicWordPrior = part(TopicWordPrior)
    prior_rule: str | None = name()
    prior_averages: np.ndarray = array(np.float64, None, starts_empty=True)
    n_prior_updates: int = count(0)
    n_tokens_seen: float = number(0.0)
    n_lengths_seen: float = number(0.0)

    def check(self):
        """Raise ValueError if parts do not fit together."""
        n_topics, n = len(self.doc_topic_prior), len(self.prior_averages)
        if self.prior_rule is not None and n != n_topics + (self.prior_rule == "gamma"):
            raise ValueError(f"prior_averages has {n} numbers, but there are {n_topics} topics")
        check_used_prior(self.doc_topic_prior)
        self.word_prior.check(self.words.n_features, n_topics)


@dataclass(frozen=True, eq=False, kw_only=True)
class ListedLDAState(LDAState):
    """The state of a model with topics_per_word."""

    words: SparseWordCounts = part(SparseWordCounts)  # type: ignore[assignment]

    def check(self):
        """Raise ValueError if parts do not fit together."""
        super().check()
        self.words.check()
