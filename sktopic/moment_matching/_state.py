"""The state of a filter: posteriors of the topics and, in a mixture, of their number."""

from dataclasses import dataclass

import numpy as np

from sktopic._runtime._arrays import by_blocks, columns_of, row_blocks, rows_and_more
from sktopic._state._fields import State, array, count, number, part
from sktopic._topics._prior import check_parameters, check_used_prior
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic.moment_matching._numbers import is_distribution, most_probable, probabilities


@dataclass(frozen=True, eq=False)
class FilteredTopics(State):
    """Dirichlet posteriors of the topics, one row per word. A token changes only the row of its word.

    Attributes
    ----------
    store, scale : ndarray of shape (n_features, n_topics) and (n_topics,)
        The means are store * scale.
    sums : ndarray of shape (n_topics,)
        Sums of the Dirichlet parameters of each topic.
    spread : ndarray of shape (n_topics,)
        One minus the sum of the squared means.
    """

    store: np.ndarray = array(np.float64, "features", "topics")
    scale: np.ndarray = array(np.float64, "topics")
    sums: np.ndarray = array(np.float64, "topics")
    spread: np.ndarray = array(np.float64, "topics")

    @classmethod
    def of_means(cls, store, sums):
        """Return the posteriors with these means and sums of parameters."""
        spread = 1.0 - by_blocks(np.square, store).sum(axis=0)
        return cls(store=store, scale=np.ones(len(sums)), sums=sums, spread=spread)

    @property
    def n_features(self):
        return len(self.store)

    @property
    def n_topics(self):
        return len(self.sums)

    def leading(self, n_topics):
        """Return the means of the first topics, a TopicProbabilities."""
        store = self.store if n_topics == self.n_topics else columns_of(self.store, slice(n_topics))
        return TopicProbabilities(store, self.scale[:n_topics], np.zeros(n_topics))

    def with_words(self, n_words, parameter):
        """Return the posteriors with more words of this Dirichlet parameter. No array changes in place."""
        sums = self.sums + n_words * parameter
        store = rows_and_more(self.store, n_words)
        factor = self.scale * self.sums / sums
        for rows in row_blocks(store):
            store[rows] *= factor
        store[-n_words:] = parameter / sums
        return FilteredTopics.of_means(store, sums)


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberPosterior(State):
    """The posterior of the number of topics, and a trace of the most probable number.

    Attributes
    ----------
    gamma, lag : ndarray of shape (n_topics,)
        ``gamma * 2 ** (-LAG * lag)`` is proportional to the probabilities of 1 to n_topics topics (see
        _numbers).
    prior : ndarray of shape (n_topics,)
        The probabilities before the first token.
    n_tokens : int
        Number of tokens since the start, whatever their weight.
    next_note : int
        The value of n_tokens at which the trace gets its next entry.
    tokens_trace, topics_trace : ndarray of shape (n_notes,)
        Total weight of the tokens seen, and the most probable number of topics, at each entry of the trace.
    """

    gamma: np.ndarray = array(np.float64, "topics")
    lag: np.ndarray = array(np.float64, "topics")
    prior: np.ndarray = array(np.float64, "topics")
    n_tokens: int = count(0)
    next_note: int = count(1)
    tokens_trace: np.ndarray = array(np.float64, "notes", starts_empty=True)
    topics_trace: np.ndarray = array(np.int64, "notes", starts_empty=True)

    @property
    def posterior(self):
        """The probabilities of 1 to n_topics topics, ndarray of shape (n_topics,)."""
        return probabilities(self.gamma, self.lag)

    @property
    def most_probable(self):
        """The most probable number of topics."""
        return most_probable(self.gamma, self.lag)


@dataclass(frozen=True, eq=False)
class PriorMoments(State):
    """Moments from which the prior of the proportions is learned (see _prior).

    Attributes
    ----------
    averages : ndarray of shape (n_topics + 1,)
        Averages over groups of documents for the topics in use. () if the prior is not learned.
    group : ndarray of shape (n_topics + 2,)
        Sums over the documents of the present group. (1,) if the prior is not learned.
    n_updates : int
        Number of groups in the averages.
    """

    averages: np.ndarray = array(np.float64, None)
    group: np.ndarray = array(np.float64, None)
    n_updates: int = count(0)

    @property
    def n_topics(self):
        return len(self.averages) - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class FilterState(State):
    """The posterior given all tokens so far. The arrays of the topics change in place.

    Attributes
    ----------
    topics : FilteredTopics
    doc_topic_prior : ndarray of shape (n_topics,)
    topic_word_prior : float
    moments : PriorMoments
    log_marginal_likelihood, n_tokens_seen : float
    n_documents : int
    seed : int
    """

    topics: FilteredTopics = part(FilteredTopics)
    doc_topic_prior: np.ndarray = array(np.float64, "topics")
    topic_word_prior: float = number()
    moments: PriorMoments = part(PriorMoments)
    log_marginal_likelihood: float = number(0.0)
    n_tokens_seen: float = number(0.0)
    n_documents: int = count(0)
    seed: int = count()

    def check(self):
        """Raise ValueError if parts do not fit together, as in a damaged file."""
        averages, group = self.moments.averages, self.moments.group
        is_learned, n_topics = len(averages) > 0, self.moments.n_topics
        if len(group) != len(averages) + 1 or (is_learned and not 0 < n_topics <= self.topics.n_topics):
            raise ValueError(
                f"moments of the prior have {len(averages)} averages and {len(group)} sums, but there are "
                f"{self.topics.n_topics} topics"
            )
        check_used_prior(self.prior_in_use)
        check_parameters(np.array([self.topic_word_prior]), "topic_word_prior")

    @property
    def n_in_use(self):
        """Number of topics in use. They are the first topics."""
        return self.topics.n_topics

    @property
    def prior_in_use(self):
        """The prior of the topics in use, a copy."""
        return self.doc_topic_prior[: self.n_in_use].copy()

    def topics_in_use(self):
        """Return the TopicProbabilities of the topics in use."""
        return self.topics.leading(self.n_in_use)


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureState(FilterState):
    """The state of a model with a posterior of the number of topics."""

    numbers: NumberPosterior = part(NumberPosterior)

    def check(self):
        """See FilterState."""
        if not is_distribution(self.numbers.gamma, self.numbers.lag):
            raise ValueError("gamma and lag are no probabilities of the number of topics")
        super().check()

    @property
    def n_in_use(self):
        return self.numbers.most_probable
