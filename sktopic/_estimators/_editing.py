"""Merging, dropping and freezing topics of a fitted model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.special import digamma

from sktopic._estimators._concurrency import take_over, trains
from sktopic._estimators._topic_model import TopicModel
from sktopic._estimators._topic_names import check_distinct_topics, handles_of, topic_numbers
from sktopic._runtime._arrays import columns_of
from sktopic._runtime._attributes import twin
from sktopic._typing import TopicsLike

Model = TypeVar("Model", bound=TopicModel)


@dataclass(frozen=True)
class TopicEdit:
    """Topics to remove, by merging them into other topics or dropping them.

    Attributes
    ----------
    into : (n_topics,) the topic that each topic is merged into, itself if it stays, or -1
    keeps_columns : whether the columns of removed topics stay as empty columns
    """

    into: np.ndarray
    keeps_columns: bool = False

    @classmethod
    def merging(cls, n_topics, groups):
        """Return the edit that merges each group of topics into its first."""
        into = np.arange(n_topics)
        for group in groups:
            into[group] = group[0]
        return cls(into)

    @classmethod
    def dropping(cls, n_topics, topics):
        into = np.arange(n_topics)
        into[topics] = -1
        return cls(into)

    def of_columns(self, columns, n_columns, keeps_columns):
        """Return the same edit for arrays with n_columns columns; columns: where the topics are."""
        into = np.arange(n_columns)
        into[columns] = np.where(self.into < 0, -1, np.asarray(columns)[self.into])
        return TopicEdit(into, keeps_columns)

    @property
    def stays(self):
        """Whether each topic stays, (n_topics,)."""
        return self.into == np.arange(len(self.into))

    @property
    def n_left(self):
        return int(self.stays.sum())

    @property
    def merged(self):
        """Whether other topics are merged into each topic, (n_topics,)."""
        gains = np.zeros(len(self.into), dtype=bool)
        gains[self.into[~self.stays & (self.into >= 0)]] = True
        return gains

    @property
    def columns(self):
        """The column after the edit of each topic or the topic it is merged into; -1 if dropped."""
        place = np.arange(len(self.into)) if self.keeps_columns else np.cumsum(self.stays) - 1
        return np.where(self.into < 0, -1, place[self.into])

    def left(self, array, gone=0):
        """Return the array without removed topics on the last axis, or with ``gone`` in kept columns."""
        if self.keeps_columns:
            array = np.array(array)
            array[..., ~self.stays] = gone
            return array
        return columns_of(array, self.stays) if array.ndim == 2 else array[self.stays]

    def sums(self, array):
        """Return the result of `left` with the values of merged topics added."""
        out, columns = self.left(array), self.columns
        for k in np.flatnonzero(~self.stays & (self.into >= 0)):
            out[..., columns[k]] += array[..., k]
        return out

    def log_means(self, log_theta, prior):
        """Return E[log theta] of the remaining topics, to which a Dirichlet prior was fitted.

        Dropping topics changes all values by the same number. The value of a merged topic follows from the
        sum of the parameters.
        """
        after, merged = self.sums(prior), self.left(self.merged)
        log_means = self.left(log_theta) + digamma(prior.sum()) - digamma(after.sum())
        log_means[merged] = digamma(after[merged]) - digamma(after.sum())
        return log_means


def _listed(groups):
    """Return groups as lists. What is not a group becomes an empty one."""
    if not np.iterable(groups):
        return []
    return [list(group) if np.iterable(group) and not isinstance(group, str) else [] for group in groups]


# Methods of estimators whose topics can be edited. A class has them by their names in its body, and defines
# `_has_topics()`: whether the topics are learned from words, instead of the initial topics. Its
# method has `edited(state, edit)` and `frozen(state, columns)`, which change no array in place.


@trains
def merge_topics(self: Model, groups: Iterable[TopicsLike]) -> Model:
    r"""Merge groups of topics of the fitted model into one topic each.

    A merged topic takes the place and the name of the first topic of its group. Its statistics and its entry
    of ``doc_topic_prior_`` are the sums over the group; HDPs compute this prior anew from the merged
    statistics, which may change the entries of other topics a little. The other topics move up in order.
    Training continues with ``n_components_`` topics. `fit` and `sklearn.base.clone` start from the unchanged
    parameter n_components, without the edits. The collapsed Gibbs samplers never resample tokens of earlier
    calls, so merged tokens stay together.

    Parameters
    ----------
    groups : iterable of sequences of int or str
        Topics by their rows in components\_ or by name: ``[[2, 7]]`` merges two topics,
        ``[["left", 7], [0, 1, 5]]`` merges five into two.

    Returns
    -------
    self : object
        The estimator.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If an index or name is unknown or repeated, a group has fewer than two topics, a topic is frozen, the
        model has seen no words, or ``average=True``.
    TypeError
        If a topic is neither a number nor a name.
    RuntimeError
        If another thread is training this object.
    """

    def merge(edited):
        members = _listed(groups)
        if not members or min(map(len, members)) < 2:
            raise ValueError(
                f"groups={groups!r:.80} is invalid: must be lists of at least two topics, such as [[2, 7]]."
            )
        names = handles_of(edited)
        numbers = [topic_numbers(group, names, f"groups[{i}]") for i, group in enumerate(members)]
        every = [k for group in numbers for k in group]
        check_distinct_topics(every, "groups")
        frozen = _frozen_topics(edited)
        if frozen[every].any():
            k = next(k for k in every if frozen[k])
            raise ValueError(f"topic {k} is frozen. Call freeze_topics([]) before merging it.")
        _edit(edited, TopicEdit.merging(edited.n_components_, numbers))

    return _edited(self, merge)


@trains
def drop_topics(self: Model, topics: TopicsLike) -> Model:
    r"""Drop topics of the fitted model.

    Their statistics are deleted, and the other topics move up in order. `transform` divides their share of a
    document among the other topics. Training continues with ``n_components_`` topics. If new documents
    contain the theme, these topics may adopt it. HDPs may also create a topic for it, with a new identity and
    without the name. `fit` and `sklearn.base.clone` start from the unchanged parameter n_components. The
    collapsed Gibbs samplers remove the tokens of dropped topics from their counts.

    Parameters
    ----------
    topics : iterable of int or str
        Topics by their rows in components\_, or by name.

    Returns
    -------
    self : object
        The estimator.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If an index or name is unknown or repeated, no topic is left, or the model has seen no words.
    RuntimeError
        If another thread is training this object.
    """

    def drop(edited):
        numbers = topic_numbers(topics, handles_of(edited))
        check_distinct_topics(numbers)
        if len(numbers) == edited.n_components_:
            raise ValueError(f"topics={topics!r:.80} is invalid: at least one topic must stay.")
        if numbers:
            _edit(edited, TopicEdit.dropping(edited.n_components_, numbers))

    return _edited(self, drop)


@trains
def freeze_topics(self: Model, topics: TopicsLike) -> Model:
    r"""Freeze topics, so that `partial_fit` leaves their rows of components\_ unchanged, to the last bit.

    Documents still use frozen topics, a learned prior of proportions counts them, and the other topics keep
    learning. A call replaces earlier calls: ``freeze_topics([])`` lets all topics learn again, from their
    present counts. `fit` starts without frozen topics. `add_features` also adds words to frozen topics.

    Parameters
    ----------
    topics : iterable of int or str
        Topics by their rows in components\_, or by name.

    Returns
    -------
    self : object
        The estimator.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If an index or name is unknown or repeated, the model has seen no words, or ``average=True``.
    RuntimeError
        If another thread is training this object.
    """

    def freeze(edited):
        numbers = topic_numbers(topics, handles_of(edited))
        check_distinct_topics(numbers)
        columns = edited._columns()[numbers]
        edited._state = edited._present_method().frozen(edited._state, columns)

    return _edited(self, freeze)


def _frozen_topics(model):
    """Whether each reported topic is frozen."""
    return np.isin(model._columns(), model._state.words.frozen_columns)


def _edit(model, edit):
    """Apply a TopicEdit. Topics that stay keep their names."""
    given, before = model._given_topic_names(), set(model._topic_identities())
    model._state = model._present_method().edited(model._state, edit)
    if not model._topic_names:
        return
    identities = model._topic_identities()
    others = tuple(pair for pair in model._topic_names if pair[0] not in before)
    stay = [(identities[edit.columns[k]], name) for k, name in given.items() if edit.stays[k]]
    model._topic_names = (*others, *stay)


def _edited(model, change):
    """Apply change to a copy of the model, then take the copy over as a whole."""
    model._check_fitted()
    model._checked()
    if not model._has_topics():
        raise ValueError(
            f"this {type(model).__name__} has seen no words: its topics are random. Train it first."
        )
    edited = twin(model)
    change(edited)
    take_over(model, edited)
    return model
