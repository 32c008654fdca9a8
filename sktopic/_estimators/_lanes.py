"""Lanes: mini-batches that are treated side by side, from the same state, and merged.

A round is of L lanes, each of which treats H mini-batches one after the other: it lets their counts enter
its own copy of the statistics, those of the words that its documents have, while all else that is learned
stays what it was. What the lanes have added is then merged, lane by lane, in a global step like any other,
whose batch counts are those of all of them (`LaneCounts`) and whose step size is that of H updates
(`combined_step`). So one update of each lane is, up to rounding, one update by all their documents.

The functions are pure and know nothing of who calls them where. The rows of words may be in shards, none of
which needs the others; what is not of words is in a small `Head`.
"""

import json
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from sktopic._documents._matrices import DocumentReader, as_documents
from sktopic._estimators._concurrency import snapshot
from sktopic._estimators._fitted_arrays import fitted_of
from sktopic._estimators._minibatch_model import FIT_KEY, INITIAL_KEY, Update, WeightedMinibatchModel
from sktopic._estimators._model_files import checked_feature_names, described, digest_of_text
from sktopic._estimators._topic_model import TopicModel
from sktopic._kernels._rng import combine_keys
from sktopic._kernels._statistics import add_rows, take_changes
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import duplicate
from sktopic._topics._prior import PriorStatistics
from sktopic._topics._topic_word_prior import is_matrix
from sktopic._topics._word_count_views import digamma_sums, mean_log_of_sums
from sktopic._topics._word_counts import WordCounts, no_average
from sktopic._training._statistics_updates import BatchCounts

# Parts of the vocabulary: sums over words are of the words of parts, then of parts, whatever the shards are.
N_WORD_PARTS = 64
# What a head is without.
ROWS = "_statistics.store"
# The estimators that can be trained in lanes.
WITH_LANES = (
    "OnlineEMLDA, HybridLDA, OnlineVariationalLDA, OnlineCVB0LDA, OnlineOPELDA, StreamingVariationalLDA, "
    "StreamingGibbsLDA or HybridHDP"
)
# No sum of numbers of documents or tokens comes near this.
TOO_LARGE = 1e100
# Relative rounding errors of statistics, which are differences in part.
ROUNDING = 1e-9
# Parameters in which the model that merges may differ from those of lanes: no update reads them, but for its
# batch_size, which each lane is given, and random_state, of which the seed is left.
NOT_OF_AN_UPDATE = {
    "batch_size",
    "max_iter",
    "n_iter_no_change",
    "n_jobs",
    "random_state",
    "shuffle",
    "tol",
    "transform_burn_in",
    "transform_sweeps",
    "validation_fraction",
    "verbose",
}


class LaneModel(WeightedMinibatchModel):
    """Base class of models whose mini-batches can be treated in lanes.

    Its statistics have a `LinearUpdate`; all else that its global step learns follows from what BatchCounts
    say of all documents together (numbers, and prior statistics), from totals of topics and, where
    `_learns_topic_word_prior`, from a mean over all words. A subclass with options for which that is not so
    refuses them in `_check_lanes`.
    """

    # Whether each update learns topic_word_prior_ from the mean log probability of words in topics; then
    # there is `_learn_topic_word_prior`, which takes that mean and a step size.
    _learns_topic_word_prior = False

    def _check_lanes(self):
        """Raise ValueError for options without a rule, and say what serves in their place."""
        if self.early_stopping:
            raise ValueError(
                "early_stopping=True has no rule for lanes: no lane has documents that are held out for all. "
                "Set max_iter, and call score after training."
            )
        if self.components_init is not None:
            raise ValueError(
                "components_init has no rule for lanes: call partial_fit with some documents, which starts "
                "from them, set components_init=None and go on with that model."
            )
        entries = "_prior_indptr" in vars(self)
        if entries or is_matrix(getattr(self, "topic_word_prior", None)):
            raise ValueError("topic_word_prior as a matrix has no rule for lanes. A number has.")
        if "_statistics" in vars(self) and self._statistics.frozen is not None:
            raise ValueError("frozen topics have no rule for lanes: call freeze_topics([]), or partial_fit.")


def check_lanes(estimator):
    """Raise ValueError, or TypeError, for an estimator without a rule for lanes; say what serves instead."""
    if not isinstance(estimator, TopicModel):
        raise TypeError(f"{estimator!r:.80} is no topic model of sktopic.")
    if not isinstance(estimator, LaneModel):
        serves = "HybridHDP" if estimator._infers_number_of_topics else "OnlineEMLDA"
        raise ValueError(
            f"{type(estimator).__name__} cannot be trained in lanes, on a cluster or elsewhere: the "
            f"estimator must be {WITH_LANES}. Take {serves} instead."
        )
    estimator._check_lanes()


@dataclass(frozen=True)
class Head:
    """A model without its rows of words: small, and safe to pickle.

    Attributes
    ----------
    kind : class of the estimator
    state : its attributes; its statistics, of which the scale is one, have no rows
    rho : the step size at which topic_word_prior is still to be learned from row sums, or None
    """

    kind: type
    state: dict
    rho: float | None = None

    @classmethod
    def of(cls, model, rho=None):
        state = {name: value for name, value in vars(model).items() if name != "_skl_callbacks"}
        without_rows = replace(model._statistics, store=np.empty((0, model._n_trained)))
        return cls(type(model), state | {"_statistics": without_rows}, rho)

    def model(self, store):
        """An estimator of its own with these rows of words, which it may change."""
        model = object.__new__(self.kind)
        vars(model).update(
            {
                name: np.copy(value) if type(value) is np.ndarray else value
                for name, value in self.state.items()
            }
        )
        model._statistics = replace(duplicate(self.state["_statistics"]), store=store)
        return model

    @property
    def seed(self):
        """The seed of the model."""
        return self.state["_seed"]

    def with_more(self, n_documents):
        """The Head of a model whose corpus has grown."""
        return replace(self, state={**self.state, "_corpus_size": self.state["_corpus_size"] + n_documents})

    @property
    def n_features(self):
        return self.state["n_features_in_"]

    @property
    def n_topics(self):
        return self.state["_statistics"].n_topics

    @property
    def n_updates(self):
        """Updates made so far; the very first is a round of its own."""
        return self.state["n_batch_iter_"]

    @property
    def fitted(self):
        """The arrays and values that training has set, by name, without the rows of words."""
        return {name: value for name, value in fitted_of(self.kind, self.state).items() if name != ROWS}

    @property
    def identity(self):
        """What tells this state of a model from all others: dict of numbers, strings and digests by name."""
        state = self.state
        parameters = {
            name: state[name] for name in self.kind._get_param_names() if name not in NOT_OF_AN_UPDATE
        }
        names = state.get("feature_names_in_")
        return {
            "class": self.kind.__name__,
            "n_features": self.n_features,
            "feature_names_in_": None if names is None else digest_of_text("\0".join(map(str, names))),
            "number of topics": self.n_topics,
            "seed": self.seed,
            "number of updates": self.n_updates,
            **described(parameters),
            "fitted state": digest_of_text(json.dumps(described(self.fitted), sort_keys=True)),
        }

    @property
    def wants_row_sums(self):
        """Whether each merge ends with `learn_from_rows`: the same for all heads of a model."""
        return self.model(None)._learns_topic_word_prior


@dataclass(frozen=True)
class LaneSums:
    """What the head has to know of a lane.

    Attributes
    ----------
    lane : number of the lane
    of : the identity of the Head that it began with
    n_updates : updates that the lane has made
    n_documents, n_tokens : of its documents
    totals : (n_topics,) sums over words of what it adds
    prior : PriorStatistics of its documents, where the model learns from these; or None
    """

    lane: int
    of: dict
    n_updates: int
    n_documents: int
    n_tokens: float
    totals: np.ndarray
    prior: PriorStatistics | None


@dataclass(frozen=True)
class RowsUpdate:
    """What a lane adds to the rows of some words.

    Attributes
    ----------
    lane : number of the lane
    words : (n_words,) rows that it adds to, ascending
    added : (n_words, n_topics) ndarray or csr_array, float64 or float32
    """

    lane: int
    words: np.ndarray
    added: np.ndarray | sp.csr_array

    def add_to(self, rows, weight):
        """Add weight times it to all rows (C order, float64) of which `words` are positions."""
        if sp.issparse(self.added):
            row = np.repeat(self.words, np.diff(self.added.indptr))
            rows[row, self.added.indices] += weight * self.added.data.astype(np.float64, copy=False)
        else:
            given = weight, self.words.astype(np.int32), rows, *no_average(rows.shape[1])
            add_rows(0, len(self.words), self.added.astype(np.float64, copy=False), *given)

    @property
    def nbytes(self):
        added = self.added
        arrays = (added.data, added.indices, added.indptr) if sp.issparse(added) else (added,)
        return sum(array.nbytes for array in (self.words, *arrays))


@dataclass(frozen=True)
class LaneUpdate:
    """What a lane has found in a round.

    Attributes
    ----------
    summary : LaneSums
        What is not of single words; small.
    words : ndarray of shape (n_words,), int64
        The words of its documents, ascending.
    added : ndarray or csr_array of shape (n_words, n_topics), float64 or float32
        What it adds to their statistics, as if it were alone.
    """

    summary: LaneSums
    words: np.ndarray
    added: np.ndarray | sp.csr_array

    def rows_of(self, first, last):
        """The part for the words first to last, last not included."""
        a, b = np.searchsorted(self.words, [first, last])
        return RowsUpdate(self.summary.lane, self.words[a:b] - first, self.added[a:b])

    @property
    def nbytes(self):
        """Bytes of its arrays."""
        return self.summary.totals.nbytes + RowsUpdate(self.summary.lane, self.words, self.added).nbytes


@dataclass(frozen=True)
class RowsMerge:
    """What merging does to any row of words: it is multiplied by kept, then weights times what lanes add."""

    kept: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class LaneCounts:
    """The counts of all lanes of a round, as those of one batch that has no words but the totals of topics.

    A lane has multiplied its counts as if it were alone, by its factor; that of the round takes its place.

    Attributes
    ----------
    totals : (n_topics,) of each lane
    factors : of each lane; 0 of those without documents
    prior : PriorStatistics of all, or None
    """

    totals: list[np.ndarray]
    factors: list[float]
    prior: PriorStatistics | None

    def weights(self, factor):
        """What is to be added of each lane, where counts are multiplied by a factor."""
        return tuple(factor / own if own > 0.0 else 0.0 for own in self.factors)

    def add_to(self, target, words, factor, workers):
        for totals, weight in zip(self.totals, self.weights(factor)):
            target.totals[0] += weight * totals

    def prior_statistics(self):
        return self.prior


# The start


def begin(estimator, n_features, total_samples, feature_names=None):
    """Return the Head of a model before its first update.

    Parameters
    ----------
    estimator : with a rule for lanes; it is copied, without what it has learned
    n_features : number of words
    total_samples : documents of the corpus, where the estimator does not say
    feature_names : names of the words, or None
    """
    model = clone(estimator)
    check_lanes(model)
    model._check_settings()
    model.n_features_in_ = n_features
    if feature_names is not None:
        model.feature_names_in_ = checked_feature_names(feature_names, n_features, "feature_names")
    model._start(0)  # without rows
    model._statistics = replace(model._statistics, n_features=n_features)
    model._corpus_size = total_samples
    return Head.of(model)


def word_bounds(n_features, n_shards):
    """Cut the words into shards (first, last), last not included; of equal size, up to one part of words."""
    if not 1 <= n_shards <= N_WORD_PARTS:
        raise ValueError(f"n_shards={n_shards!r}: 1 to {N_WORD_PARTS} are allowed.")
    parts = _part_bounds(n_features)
    return list(pairwise(int(parts[N_WORD_PARTS * i // n_shards]) for i in range(n_shards + 1)))


def _part_bounds(n_features):
    return np.arange(N_WORD_PARTS + 1) * n_features // N_WORD_PARTS


def _parts_of(n_features, first, last):
    """Bounds of the parts of words of a shard, within it."""
    bounds = _part_bounds(n_features)
    return bounds[(bounds >= first) & (bounds <= last)] - first


def initial_rows(head, first, last):
    """Rows (n_words, n_topics) of a shard of word_bounds at the start; and sums, for set_initial_totals."""
    key = combine_keys(head.state["_seed"], INITIAL_KEY)
    rows = WordCounts.random(last - first, head.n_topics, key, first=first).store
    bounds = _parts_of(head.n_features, first, last)
    return rows, np.array([rows[a:b].sum(axis=0) for a, b in pairwise(bounds)])


def set_initial_totals(head, totals):
    """Return the Head with the sums of the initial rows of all shards, in their order."""
    model = head.model(None)
    model._statistics = replace(model._statistics, totals=np.concatenate(totals).sum(axis=0))
    return Head.of(model)


# A round


def local_update(head, words, rows, batches, lane, batch_size, dtype=np.float64, at=None):
    """Treat mini-batches of a lane.

    Parameters
    ----------
    head : Head
    words : (n_words,) the words that its documents have, ascending
    rows : (n_rows, n_topics) of these at least, as the last merge left them; not changed
    batches : csr_arrays of documents, whose columns are positions in words; one, in the first round of all
    lane : number of the lane
    batch_size : documents of a batch, at most
    dtype : float64 or float32, to which what is added is rounded
    at : (n_words,) where in rows those of the words are; None: they are these, in their order

    Returns
    -------
    update : LaneUpdate
    """
    if head.n_updates == 0 and len(batches) != 1:
        raise ValueError(
            f"n_updates={len(batches)}: the first update, which replaces the start, is to be merged at once."
        )
    at = np.arange(len(words)) if at is None else at.astype(np.int64, copy=False)
    store = np.empty((len(words) + 1, head.n_topics))
    np.take(rows, at, axis=0, out=store[:-1], mode="clip")  # which needs no copy in between
    store[-1] = 1.0  # becomes what is left of each entry of the start
    model = head.model(store)
    rule, number = model._statistics_update(), model.n_batch_iter_
    n_documents, n_tokens, prior, is_first = 0, 0.0, None, model._n_topic_updates == 0
    if model._wants_prior_statistics:
        prior = PriorStatistics.none(head.n_topics)
    with Workers(model.n_jobs) as workers:
        for i, X in enumerate(batches):
            if X.shape[0] > batch_size:
                raise ValueError(f"a batch has {X.shape[0]} documents; batch_size={batch_size}.")
            update = _update(model, number + i)
            rho = model._rho(update, model._n_topic_updates + 1 + i)
            n_documents += X.shape[0]
            if not X.data.any():
                if not is_first:  # other lanes may have words
                    model._statistics = model._statistics.decayed(rule.kept(rho, is_first))
                continue
            key, in_order = model._key(FIT_KEY, update.number), np.arange(X.shape[0])
            reader = DocumentReader(as_documents(X), word_numbers=words)
            counts = model._batch_counts(reader, in_order, key, update, workers)
            model._statistics = rule(model._statistics, counts, rho, is_first, workers)
            is_first = False
            if prior is not None:
                prior = prior.plus(counts.expected.prior_statistics())
            n_tokens += counts.n_tokens
    added, totals, n_added = _added(model._statistics, rows, at, np.dtype(dtype))
    summary = LaneSums(lane, head.identity, len(batches), n_documents, n_tokens, totals, prior)
    return LaneUpdate(summary, words, _smaller(added, n_added))


def _update(model, number, n_updates=1, is_first_visit=True):
    """The Update that a lane makes, or that a merge stands for."""
    return Update(
        number,
        is_first_visit=is_first_visit,
        is_last_pass=False,
        is_whole_corpus=False,
        total_samples=model.total_samples or model._corpus_size,
        n_updates=n_updates,
    )


def _added(statistics, rows, at, dtype):
    """What was added to statistics that began with these rows and one of ones, and is left in their store.

    Returns an ndarray, zero where nothing was added, its sums over words, and how many entries are not zero.
    """
    added, totals = statistics.store[:-1], np.empty(statistics.store.shape[1])
    left, scale = statistics.store[-1, 0], statistics.scale
    n_added = take_changes(rows, at, left, scale, added, totals)
    if dtype == added.dtype:
        return added, totals, n_added
    added = added.astype(dtype)
    return added, added.sum(axis=0, dtype=np.float64), np.count_nonzero(added)


def _smaller(added, n_added):
    """A matrix with so many entries as csr_array where that is smaller."""
    index = np.dtype(np.int32)
    if n_added * (added.itemsize + index.itemsize) < added.nbytes:
        return sp.csr_array(added)
    return added


def merge_heads(head, summaries, is_first_visit=True):
    """Merge the lanes of a round; returns the Head after it, and the RowsMerge for all shards.

    is_first_visit : whether documents may be new to the model, as in a first pass
    """
    lanes = sorted(summaries, key=lambda summary: summary.lane)
    n_updates = lanes[0].n_updates if lanes else 0
    if [summary.lane for summary in lanes] != list(range(len(lanes))) or n_updates < 1:
        raise ValueError(f"the lanes {[s.lane for s in lanes]} are no round: each from 0 on is needed, once.")
    _check_one_round(lanes, head.identity)
    model = head.model(np.ones((1, head.n_topics)))
    rule, update = model._statistics_update(), _update(model, head.n_updates, n_updates, is_first_visit)
    n_documents, n_tokens = (sum(getattr(s, name) for s in lanes) for name in ("n_documents", "n_tokens"))
    rho = model._rho(update)
    is_told = n_tokens > 0.0
    counts = LaneCounts(
        [summary.totals for summary in lanes],
        [rule.factor(rho, s.n_documents, s.n_tokens) if s.n_tokens > 0.0 else 0.0 for s in lanes],
        _summed([summary.prior for summary in lanes]),
    )
    merge = RowsMerge(1.0, (0.0,) * len(lanes))
    if is_told:
        weights = counts.weights(rule.factor(rho, n_documents, n_tokens))
    with Workers(None) as workers:
        words = np.empty(0, dtype=np.int32)
        model._global_step(BatchCounts(counts, words, n_documents, n_tokens), update, workers)
    model.n_batch_iter_ += n_updates
    model.n_samples_seen_ += n_documents
    if is_told:
        model._statistics = model._statistics.folded()
        merge = RowsMerge(float(model._statistics.store[0, 0]), weights)
    return Head.of(model, rho if is_told and model._learns_topic_word_prior else None), merge


def check_same_model(summary, identity):
    """Raise ValueError for LaneSums of another model than the one of an identity."""
    for name, value in identity.items():
        if summary.of.get(name) != value:
            raise ValueError(
                f"the update of lane {summary.lane} was computed from another model or state: its {name} is "
                f"{summary.of.get(name)!r:.80}, that of this model is {value!r:.80}. Merge it into the model "
                "that was given to local_update."
            )


def _check_one_round(lanes, identity):
    """Raise ValueError for LaneSums of different rounds."""
    first = lanes[0]
    for summary in lanes:
        check_same_model(summary, identity)
        if summary.n_updates != first.n_updates:
            raise ValueError(
                f"the lanes are of different rounds: lane {summary.lane} has n_updates={summary.n_updates}, "
                f"lane {first.lane} has n_updates={first.n_updates}. Give all lanes of a round the same."
            )


def _summed(statistics):
    """The sum of PriorStatistics, in their order; None if there are none."""
    if statistics[0] is None:
        return None
    total = statistics[0]
    for one in statistics[1:]:
        total = total.plus(one)
    return total


def merge_rows(rows, merge, updates):
    """Merge what lanes add to the rows of a shard.

    Parameters
    ----------
    rows : (n_words, n_topics) of the shard; not changed
    merge : RowsMerge of the round
    updates : RowsUpdate of each lane

    Returns
    -------
    rows : ndarray of shape (n_words, n_topics)
    """
    merged = rows * merge.kept
    for update in sorted(updates, key=lambda update: update.lane):
        update.add_to(merged, merge.weights[update.lane])
    return merged


def row_sums(head, first, last, rows):
    """What learn_from_rows wants of the merged rows of the shard first to last: small."""
    model = head.model(rows)
    bounds = _parts_of(head.n_features, first, last)
    given = model._unit(model.total_samples_), model.topic_word_prior_
    with Workers(model.n_jobs) as workers:
        return np.array(digamma_sums(model._statistics, bounds, *given, workers))


def learn_from_rows(head, sums):
    """Return the Head after learning from the row_sums of all shards, in their order; see wants_row_sums."""
    if head.rho is None:
        return head
    model = head.model(np.empty((0, head.n_topics)))
    given = model._unit(model.total_samples_), model.topic_word_prior_
    mean = mean_log_of_sums(model._statistics, np.concatenate(sums), *given)
    model._learn_topic_word_prior(mean, head.rho)
    return Head.of(model)


def end_pass(head):
    """Return the Head after one more pass over the corpus."""
    model = head.model(None)
    model.n_iter_ += 1
    return Head.of(model, head.rho)


# From and to plain models


def finish(head, rows):
    """Return the fitted estimator with the rows of all shards, in their order."""
    return head.model(np.concatenate(rows))


def head_of(estimator):
    """Return the Head of a fitted estimator, whose training goes on in lanes; its parameters are adopted."""
    check_lanes(estimator)
    check_is_fitted(estimator)
    model = snapshot(estimator)._checked()
    model._check_settings()
    model._check_continuation()
    model = Head.of(model).model(np.empty((0, model._n_trained)))
    model._adopt_settings()
    model._statistics = model._statistics.folded()
    return Head.of(model)


def rows_of(estimator, words):
    """The rows of some words of a fitted estimator, as its head goes on with them."""
    statistics = estimator._statistics
    return statistics.store[words] * statistics.scale


def narrowed(batches):
    """Return the words that batches (csr_arrays of all words) have, and the same batches of these alone."""
    n_features = batches[0].shape[1]
    present = np.zeros(n_features, dtype=bool)
    for X in batches:
        present[X.indices] = True
    words = np.flatnonzero(present)
    position = np.zeros(n_features, dtype=batches[0].indices.dtype)
    position[words] = np.arange(len(words))
    shape = len(words)
    return words, [
        sp.csr_array((X.data, position[X.indices], X.indptr), shape=(X.shape[0], shape)) for X in batches
    ]
