"""Topics of a fitted model that are merged, dropped or held fixed by whoever looks at them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TypeVar

import numpy as np
from scipy.special import digamma
from sklearn.utils.validation import check_is_fitted

from sktopic._estimators._concurrency import take_over, trains
from sktopic._estimators._topic_model import TopicModel
from sktopic._runtime._arrays import columns_of
from sktopic._runtime._attributes import twin

Model = TypeVar("Model", bound=TopicModel)


@dataclass(frozen=True)
class TopicEdit:
    """Topics that go: into others, or altogether.

    Attributes
    ----------
    into : (n_topics,) the topic that each goes into, itself if it stays, or -1
    keeps_columns : whether the columns of topics that go stay, with nothing in them
    """

    into: np.ndarray
    keeps_columns: bool = False

    @classmethod
    def merging(cls, n_topics, groups):
        """Groups of topics, each of which becomes one, in the place of its first."""
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
        """The same for arrays with n_columns columns, of which these are the topics'."""
        into = np.arange(n_columns)
        into[columns] = np.where(self.into < 0, -1, np.asarray(columns)[self.into])
        return TopicEdit(into, keeps_columns)

    @property
    def stays(self):
        """(n_topics,) whether each topic stays."""
        return self.into == np.arange(len(self.into))

    @property
    def n_left(self):
        return int(self.stays.sum())

    @property
    def merged(self):
        """(n_topics,) whether others go into each topic."""
        gains = np.zeros(len(self.into), dtype=bool)
        gains[self.into[~self.stays & (self.into >= 0)]] = True
        return gains

    @property
    def columns(self):
        """The column of each topic after the edit, of the one that it goes into, or -1."""
        place = np.arange(len(self.into)) if self.keeps_columns else np.cumsum(self.stays) - 1
        return np.where(self.into < 0, -1, place[self.into])

    def left(self, array, gone=0):
        """The last axis without the topics that go; where columns stay, with ``gone`` in theirs."""
        if self.keeps_columns:
            array = np.array(array)
            array[..., ~self.stays] = gone
            return array
        return columns_of(array, self.stays) if array.ndim == 2 else array[self.stays]

    def sums(self, array):
        """The same, with what was of topics that go into others added to these."""
        out, columns = self.left(array), self.columns
        for k in np.flatnonzero(~self.stays & (self.into >= 0)):
            out[..., columns[k]] += array[..., k]
        return out

    def log_means(self, log_theta, prior):
        """E[log theta], which a Dirichlet prior was fitted to, for what is left.

        Of proportions without some topics it changes by the same for all; of those that were added up it is
        what the sum of their parameters says.
        """
        after, merged = self.sums(prior), self.left(self.merged)
        log_means = self.left(log_theta) + digamma(prior.sum()) - digamma(after.sum())
        log_means[merged] = digamma(after[merged]) - digamma(after.sum())
        return log_means


# Methods of estimators whose topics can be edited. A class has them by their names in its body, and defines
# `_has_topics()`: whether the topics are learned from words, and not still those of the start. Its
# method has `edited(state, edit)` and `frozen(state, columns)`, which change no array in place.


@trains
def merge_topics(self: Model, groups: Iterable[Sequence[int]]) -> Model:
    """Merge topics of the fitted model: each group becomes one topic, in the place of its first.

    Its statistics, and its parameter of the documents' prior, are the sums of theirs; its name is that of
    the first. The other topics move up, in their order. Training goes on with fewer topics:
    ``n_components_`` is their number, and the parameter n_components stays what it is:
    `sklearn.base.clone` and `fit` start anew with that, and without the edits. Samplers of a corpus keep
    no tokens from call to call, so that those of merged topics are together from now on.

    Parameters
    ----------
    groups : iterable of sequences of int
        Topics by their rows in components\\_: ``[[2, 7]]`` merges two topics, ``[[2, 7], [0, 1, 5]]``
        five into two.

    Returns
    -------
    self : object
        The estimator.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        For numbers that are no topics or there twice, groups of fewer than two, topics that are frozen,
        and a model that has seen no words; also with ``average=True``, since averages cannot be merged.
    RuntimeError
        If another thread is training this object.
    """

    def merge(edited):
        each = groups if np.iterable(groups) else ()
        numbers = [_topics(group, edited.n_components_) for group in each]
        if not numbers or min(map(len, numbers)) < 2:
            raise ValueError(f"groups={groups!r:.80}: lists of at least two topics are needed, as [[2, 7]].")
        every = [k for group in numbers for k in group]
        _check_distinct(every)
        frozen = _frozen_topics(edited)
        if frozen[every].any():
            k = next(k for k in every if frozen[k])
            raise ValueError(f"topic {k} is frozen: merge before freeze_topics, or after freeze_topics([]).")
        _edit(edited, TopicEdit.merging(edited.n_components_, numbers))

    return _edited(self, merge)


@trains
def drop_topics(self: Model, topics: Sequence[int]) -> Model:
    """Drop topics of the fitted model.

    Their statistics are forgotten, and the other topics move up, in their order; what documents had of
    them, `transform` gives to the others. Training goes on with fewer topics, and meets what they were
    about again where its documents have it; ``n_components_`` is the number left, and the parameter
    n_components stays what it is: `sklearn.base.clone` and `fit` start anew with that. A method that
    makes topics, or uses those again that fell out of use, may learn a like one once more. Samplers of a
    corpus do not have the documents of earlier calls any more: tokens of dropped topics leave the counts.

    Parameters
    ----------
    topics : sequence of int
        Topics by their rows in components\\_.

    Returns
    -------
    self : object
        The estimator.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        For numbers that are no topics or there twice, if no topic is left, and for a model that has seen
        no words.
    RuntimeError
        If another thread is training this object.
    """

    def drop(edited):
        numbers = _topics(topics, edited.n_components_)
        _check_distinct(numbers)
        if len(numbers) == edited.n_components_:
            raise ValueError(f"topics={topics!r:.80} are all there are; one at least has to be left.")
        if numbers:
            _edit(edited, TopicEdit.dropping(edited.n_components_, numbers))

    return _edited(self, drop)


@trains
def freeze_topics(self: Model, topics: Sequence[int]) -> Model:
    """Let `partial_fit` leave some topics as they are: their rows of components\\_, to the last bit.

    Documents still have them, a prior of proportions that is learned counts them, and the other topics
    learn beside them. The call replaces an earlier one: ``freeze_topics([])`` lets all topics learn
    again, from the counts that they have. `fit` starts anew, without frozen topics; `add_features` gives
    frozen topics the new words, too.

    Parameters
    ----------
    topics : sequence of int
        Topics by their rows in components\\_.

    Returns
    -------
    self : object
        The estimator.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        For numbers that are no topics or there twice, and for a model that has seen no words; also with
        ``average=True``, where what is reported is the mean of past topics.
    RuntimeError
        If another thread is training this object.
    """

    def freeze(edited):
        numbers = _topics(topics, edited.n_components_)
        _check_distinct(numbers)
        columns = edited._columns()[numbers]
        edited._state = edited._present_method().frozen(edited._state, columns)

    return _edited(self, freeze)


def _frozen_topics(model):
    """Whether each topic that is reported is frozen."""
    return np.isin(model._columns(), model._state.words.frozen_columns)


def _edit(model, edit):
    """Carry out a TopicEdit of the topics, of which those that stay keep their names."""
    given, before = model._given_topic_names(), set(model._topic_identities())
    model._state = model._present_method().edited(model._state, edit)
    if not model._topic_names:
        return
    identities = model._topic_identities()
    others = tuple(pair for pair in model._topic_names if pair[0] not in before)
    stay = [(identities[edit.columns[k]], name) for k, name in given.items() if edit.stays[k]]
    model._topic_names = (*others, *stay)


def _edited(model, change):
    """Let change(copy of the model) happen to the model, all of it or nothing."""
    check_is_fitted(model)
    model._checked()
    if not model._has_topics():
        raise ValueError(f"this {type(model).__name__} has seen no words so far: its topics are random.")
    edited = twin(model)
    change(edited)
    take_over(model, edited)
    return model


def _topics(topics, n_topics):
    """Numbers of topics as a list of int."""
    if isinstance(topics, (str, Integral)) or not isinstance(topics, Iterable):
        raise TypeError(f"topics={topics!r:.80}: a list of numbers of topics is needed.")
    numbers = list(topics)
    for k in numbers:
        if not isinstance(k, Integral) or isinstance(k, bool):
            raise TypeError(f"{k!r:.80} is no number of a topic.")
        if not 0 <= k < n_topics:
            raise ValueError(f"there is no topic {k}: the model has topics 0 to {n_topics - 1}.")
    return [int(k) for k in numbers]


def _check_distinct(numbers):
    twice = [k for i, k in enumerate(numbers) if k in numbers[:i]]
    if twice:
        raise ValueError(f"topic {twice[0]} is there more than once.")
