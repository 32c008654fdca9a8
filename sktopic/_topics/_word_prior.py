"""The Dirichlet prior of topics as a fitted model keeps it, from update to update and edit to edit."""

from dataclasses import dataclass, replace

import numpy as np

from sktopic._state._fields import State, array, number, part
from sktopic._topics._prior import check_prior
from sktopic._topics._topic_word_prior import PriorEntries, is_matrix, split_topic_word_prior


@dataclass(frozen=True, eq=False, kw_only=True)
class TopicWordPrior(State):
    """Parameters of words in topics: a number, and the entries of a matrix that have another value.

    Attributes
    ----------
    base : float
        What most entries are.
    entries : PriorEntries or None
        Those that are something else.
    topic_of_start : ndarray of shape (n_topics_of_start,) or None
        Of each topic at the start, the one that it is in by now, or -1; once some were merged or dropped. A
        parameter that has a value a topic is of those at the start.
    words_of_start : ndarray of shape (1,) or None
        The number of words at the start, once there are more.
    """

    base: float = number()
    entries: PriorEntries | None = part(PriorEntries, optional=True)
    topic_of_start: np.ndarray | None = array(np.int64, None, optional=True)
    words_of_start: np.ndarray | None = array(np.int64, 1, optional=True)

    @property
    def is_edited(self):
        return self.topic_of_start is not None

    def check(self, n_features, n_topics):
        """Raise ValueError for arrays that do not fit together: kernels trust them."""
        if self.entries is not None:
            try:
                self.entries.check(n_features)
            except ValueError as error:
                raise ValueError(f"of its topic_word_prior, {error}") from None
        topics = np.empty(0) if self.topic_of_start is None else self.topic_of_start
        if topics.min(initial=0) < -1 or topics.max(initial=-1) >= n_topics:
            raise ValueError(f"topic_of_start has other topics than the {n_topics} there are")


def adopted_word_prior(prior, value, default, counts):
    """The TopicWordPrior after a parameter was set.

    Parameters
    ----------
    prior : TopicWordPrior so far
    value : the parameter, a number, a matrix or None
    default : what None stands for
    counts : WordCounts, whose frozen topics keep the parameters that they have
    """
    n_features, n_topics = counts.n_features, counts.n_topics
    # A matrix may be that of the start, before words were added and topics edited.
    n_words = np.shape(value)[1] if is_matrix(value) else 0
    if prior.words_of_start is None or n_words not in prior.words_of_start:
        n_words = n_features
    n_start = n_topics if prior.topic_of_start is None else len(prior.topic_of_start)
    base, entries = split_topic_word_prior(value, n_start, n_words, default)
    if entries is not None:
        entries = entries.wider(n_features)
        if prior.topic_of_start is not None:
            entries = entries.edited(prior.topic_of_start, n_topics, base)
    if counts.frozen is not None:
        none = PriorEntries.none(n_features, n_topics)
        entries = (entries or none).taking(counts.frozen[0] > 0.0, prior.entries or none)
    return replace(prior, base=base, entries=entries if entries is not None and len(entries.values) else None)


def edited_word_prior(prior, edit):
    """The TopicWordPrior after a TopicEdit."""
    topics = np.arange(len(edit.into)) if prior.topic_of_start is None else prior.topic_of_start
    entries = prior.entries
    if entries is not None:
        entries = entries.edited(edit.columns, edit.n_left, prior.base)
    topics = np.where(topics < 0, -1, edit.columns[topics])
    return replace(prior, entries=entries, topic_of_start=topics)


def wider_word_prior(prior, n_features, n_words):
    """The TopicWordPrior of n_features words once there are so many more."""
    start = np.array([n_features]) if prior.words_of_start is None else prior.words_of_start
    entries = None if prior.entries is None else prior.entries.wider(n_features + n_words)
    return replace(prior, entries=entries, words_of_start=start)


def given_doc_topic_prior(value, n_components, prior, n_topics):
    """doc_topic_prior, a parameter of n_components topics, of the topics that there are now.

    prior : TopicWordPrior, which knows what became of the topics; of merged ones parameters are sums
    """
    given, topics = check_prior(value, n_components), prior.topic_of_start
    if topics is None:
        return given
    left = topics >= 0
    return np.bincount(topics[left], weights=given[left], minlength=n_topics)


def check_number_of_topics(n_components, prior, n_topics):
    """Raise ValueError if the parameter n_components is no longer that of the start."""
    n_start = n_topics if prior.topic_of_start is None else len(prior.topic_of_start)
    if n_components != n_start:
        when = "at the start, before some were merged or dropped" if prior.is_edited else "in training"
        raise ValueError(
            f"n_components={n_components!r} differs from the {n_start} topics {when}; set it back, or call "
            "fit to start anew."
        )
