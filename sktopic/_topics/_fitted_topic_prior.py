"""The prior of topics as a fitted model keeps it, while topics are edited and words are added."""

from dataclasses import dataclass, replace

import numpy as np

from sktopic._state._fields import State, array, number, part
from sktopic._topics._prior import check_prior
from sktopic._topics._topic_word_prior import PriorEntries, is_matrix, split_topic_word_prior


@dataclass(frozen=True, eq=False)
class TopicWordPrior(State):
    """Dirichlet parameters of topics: a number, and the entries of a matrix that have another value.

    A matrix that is given later may be one for the topics and words at the start. So it is known which topics
    these are in by now.

    Attributes
    ----------
    base : float
    entries : PriorEntries, or None if there are none
    topic_of_start : (n_topics at the start,) the topic that each of these is in by now, or -1; None before
        the first edit
    words_of_start : (1,) the number of words at the start; None until words are added
    """

    base: float = number()
    entries: PriorEntries | None = part(PriorEntries, optional=True)
    topic_of_start: np.ndarray | None = array(np.int64, None, optional=True)
    words_of_start: np.ndarray | None = array(np.int64, 1, optional=True)

    def check(self, n_features, n_topics):
        """Raise ValueError for numbers that do not fit together: kernels trust them."""
        if self.entries is not None:
            try:
                self.entries.check(n_features)
            except ValueError as error:
                raise ValueError(f"of its topic_word_prior, {error}") from None
        topics = self.topic_of_start
        if topics is not None and not (topics.min(initial=0) >= -1 and topics.max(initial=-1) < n_topics):
            raise ValueError(f"topic_of_start has other topics than the {n_topics} there are")


def n_topics_of_start(prior, n_topics):
    """The number of topics at the start, of which n_topics are left; and what a message adds to it."""
    if prior.topic_of_start is None:
        return n_topics, "in training"
    return len(prior.topic_of_start), "at the start, before some were merged or dropped"


def check_number_of_topics(n_components, n_trained, when="in training"):
    """Raise ValueError if n_components is no longer the number of topics with which training began."""
    if n_components != n_trained:
        raise ValueError(
            f"n_components={n_components!r} differs from the {n_trained} topics {when}; set it back, or call "
            "fit to start anew."
        )


def adopted_prior(prior, value, default, n_components, word_counts):
    """The prior after the parameter topic_word_prior was taken over.

    prior : TopicWordPrior
    value, default : the parameter, and the number that None stands for
    n_components : number of topics at the start, which a matrix has
    word_counts : WordCounts; frozen topics keep the entries that they have
    """
    present, n_topics = word_counts.n_features, word_counts.n_topics
    # A matrix may be that of the start, before words were added and topics edited.
    n_features = np.shape(value)[1] if is_matrix(value) else present
    if prior.words_of_start is None or n_features not in prior.words_of_start:
        n_features = present
    base, entries = split_topic_word_prior(value, n_components, n_features, default)
    if entries is not None:
        entries = entries.wider(present)
        if prior.topic_of_start is not None:
            entries = entries.edited(prior.topic_of_start, n_topics, base)
    if word_counts.frozen is not None:
        none = PriorEntries.none(present, n_topics)
        entries = (entries or none).taking(word_counts.frozen[0] > 0.0, prior.entries or none)
    has_entries = entries is not None and len(entries.values) > 0
    return replace(prior, base=base, entries=entries if has_entries else None)


def edited_prior(prior, edit):
    """The prior after a TopicEdit."""
    topics = np.arange(len(edit.into)) if prior.topic_of_start is None else prior.topic_of_start
    entries = prior.entries
    return replace(
        prior,
        entries=None if entries is None else entries.edited(edit.columns, edit.n_left, prior.base),
        topic_of_start=np.where(topics < 0, -1, edit.columns[topics]),
    )


def prior_of_more_words(prior, n_features, n_more):
    """The prior after n_more words were added to n_features."""
    start, entries = prior.words_of_start, prior.entries
    return replace(
        prior,
        entries=None if entries is None else entries.wider(n_features + n_more),
        words_of_start=np.array([n_features]) if start is None else start,
    )


def given_doc_topic_prior(value, n_components, prior, n_topics):
    """The parameter doc_topic_prior for the topics that are left; merged ones have the sums.

    n_components : number of topics at the start
    prior : TopicWordPrior, which knows where these are by now
    """
    given, topics = np.array(check_prior(value, n_components)), prior.topic_of_start
    if topics is None:
        return given
    left = topics >= 0
    return np.bincount(topics[left], weights=given[left], minlength=n_topics)
