"""Lanes: mini-batches that are treated side by side, from the same state, and merged.

A round is of L lanes, each of which treats H mini-batches one after the other: it lets their counts enter
its own copy of the statistics, those of the words that its documents have, while all else that is learned
stays what it was. What the lanes have added is then merged, lane by lane, in an update like any other, whose
batch counts are those of all of them (`LaneCounts`) and whose step size is that of H updates
(`step_size`). So one update of each lane is, up to rounding, one update by all their documents.

The functions are pure and know nothing of who calls them where. The rows of words may be in shards, none of
which needs the others; what is not of words is in a small `RoundStart`.

A method has a rule for lanes where its statistics have a `LinearUpdate`, and all else that an update learns
follows from what BatchCounts say of all documents together (numbers, and prior statistics), from totals of
topics and, where the prior of topics is learned, from a mean over all words. `_check_lanes` of its estimator
refuses options for which that is not so.
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
from sktopic._estimators._minibatch_estimator import MinibatchEstimator
from sktopic._estimators._model_files import checked_feature_names, described, digest_of_text
from sktopic._estimators._topic_model import TopicModel, start_training
from sktopic._kernels._rng import combine_keys
from sktopic._kernels._statistics import add_rows, take_changes
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import arrays_of, duplicate, values_of
from sktopic._topics._prior import PriorStatistics
from sktopic._topics._topic_word_prior import is_matrix
from sktopic._topics._word_count_views import digamma_sums, mean_log_of_sums
from sktopic._topics._word_counts import INITIAL_KEY, SMALLEST_SCALE, WordCounts, no_average
from sktopic._training._minibatch_state import counted
from sktopic._training._minibatches import Update, counts_of_batch
from sktopic._training._statistics_updates import BatchCounts

# Parts of the vocabulary: sums over words are of the words of parts, then of parts, whatever the shards are.
N_WORD_PARTS = 64
# What a RoundStart is without.
ROWS = "words.store"
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


def check_lanes(estimator):
    """Raise ValueError, or TypeError, for an estimator without a rule for lanes; say what serves instead."""
    if not isinstance(estimator, TopicModel):
        raise TypeError(f"{estimator!r:.80} is no topic model of sktopic.")
    if not isinstance(estimator, MinibatchEstimator) or estimator._check_lanes is None:
        serves = "HybridHDP" if estimator._infers_number_of_topics else "OnlineEMLDA"
        raise ValueError(
            f"{type(estimator).__name__} cannot be trained in lanes, on a cluster or elsewhere: the "
            f"estimator must be {WITH_LANES}. Take {serves} instead."
        )
    if estimator.early_stopping:
        raise ValueError(
            "early_stopping=True has no rule for lanes: no lane has documents that are held out for all. "
            "Set max_iter, and call score after training."
        )
    if estimator.components_init is not None:
        raise ValueError(
            "components_init has no rule for lanes: call partial_fit with some documents, which starts "
            "from them, set components_init=None and go on with that model."
        )
    state = estimator._state
    has_entries = any(name.startswith("word_prior.entries") for name in arrays_of(state)) if state else False
    if has_entries or is_matrix(estimator.topic_word_prior):
        raise ValueError("topic_word_prior as a matrix has no rule for lanes. A number has.")
    if state is not None and state.words.frozen is not None:
        raise ValueError("frozen topics have no rule for lanes: call freeze_topics([]), or partial_fit.")
    estimator._check_lanes()


@dataclass(frozen=True)
class RoundStart:
    """What all lanes of a round begin with, but for the rows of words: small, and safe to pickle.

    Attributes
    ----------
    estimator : the parameters and names, without a state
    state : its statistics have no rows; their scale is one
    """

    estimator: MinibatchEstimator
    state: object

    @classmethod
    def of(cls, estimator, state=None):
        """That of an estimator, and of a state if it is not the estimator's own."""
        bare, _ = estimator._unfitted()
        state = bare._state if state is None else state
        bare._state = None
        if hasattr(bare, "_skl_callbacks"):
            del bare._skl_callbacks
        return cls(bare, with_rows(state, np.empty((0, state.words.n_topics))))

    def followed_by(self, state):
        """That of the same estimator with another state."""
        return RoundStart(self.estimator, with_rows(state, np.empty((0, state.words.n_topics))))

    def with_more(self, n_documents):
        """That of a model whose corpus has grown."""
        return replace(self, state=replace(self.state, corpus_size=self.state.corpus_size + n_documents))

    @property
    def seed(self):
        return self.state.seed

    @property
    def n_features(self):
        return self.state.words.n_features

    @property
    def n_topics(self):
        return self.state.words.n_topics

    @property
    def n_updates(self):
        """Updates made so far; the very first is a round of its own."""
        return self.state.n_updates

    @property
    def fitted(self):
        """The arrays and values of the state by name, without the rows of words."""
        found = arrays_of(self.state) | values_of(self.state)
        return {name: value for name, value in found.items() if name != ROWS}

    @property
    def identity(self):
        """What tells this model and state from all others: dict of numbers, strings and digests by name."""
        parameters = {
            name: value
            for name, value in self.estimator.get_params(deep=False).items()
            if name not in NOT_OF_AN_UPDATE
        }
        names = getattr(self.estimator, "feature_names_in_", None)
        return {
            "class": type(self.estimator).__name__,
            "n_features": self.n_features,
            "feature_names_in_": None if names is None else digest_of_text("\0".join(map(str, names))),
            "number of topics": self.n_topics,
            "seed": self.seed,
            "number of updates": self.n_updates,
            **described(parameters),
            "fitted state": digest_of_text(json.dumps(described(self.fitted), sort_keys=True)),
        }

    @property
    def learns_word_prior(self):
        """Whether each merge ends with `learn_from_rows`: the same for all rounds of a model."""
        return self.estimator._method().learns_word_prior

    def update(self, number, n_updates=1, is_first_visit=True):
        """The Update that a lane makes, or that a merge stands for."""
        return Update(
            number=number,
            is_first_visit=is_first_visit,
            is_whole_corpus=False,
            total_samples=self.estimator.total_samples or self.state.corpus_size,
            n_updates=n_updates,
        )


def with_rows(state, rows):
    """The state whose statistics have these rows; all other arrays are copies."""
    none = np.empty((0, state.words.n_topics))
    state = duplicate(replace(state, words=replace(state.words, store=none)))
    return replace(state, words=replace(state.words, store=rows))


@dataclass(frozen=True)
class LaneSums:
    """What a merge has to know of a lane, beside rows of words.

    Attributes
    ----------
    lane : number of the lane
    of : the identity of the RoundStart that it began with
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
            averaged, average_weight = no_average(rows.shape[1])
            added = self.added.astype(np.float64, copy=False)
            words = self.words.astype(np.int32)
            add_rows(0, len(words), added, weight, words, rows, averaged, average_weight)

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
    """What merging does to any row of words: it is multiplied by kept, then weights times what lanes add.

    word_prior_step : step size at which the prior of topics is still to be learned from all rows, or None
    """

    kept: float
    weights: tuple[float, ...]
    word_prior_step: float | None = None


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
    """Return the RoundStart of a model before its first update.

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
    start_training(model, 0)  # without rows
    state = model._state
    words = replace(state.words, n_features=n_features)
    return RoundStart.of(model, replace(state, words=words, corpus_size=total_samples))


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


def initial_rows(start, first, last):
    """Rows (n_words, n_topics) of a shard of word_bounds at the start; and sums, for set_initial_totals."""
    key = combine_keys(start.seed, INITIAL_KEY)
    rows = WordCounts.random(last - first, start.n_topics, key, first=first).store
    bounds = _parts_of(start.n_features, first, last)
    return rows, np.array([rows[a:b].sum(axis=0) for a, b in pairwise(bounds)])


def set_initial_totals(start, totals):
    """Return the RoundStart with the sums of the initial rows of all shards, in their order."""
    words = replace(start.state.words, totals=np.concatenate(totals).sum(axis=0))
    return start.followed_by(replace(start.state, words=words))


# A round


def local_update(start, words, rows, batches, lane, dtype=np.float64, at=None):
    """Treat mini-batches of a lane.

    Parameters
    ----------
    start : RoundStart
    words : (n_words,) the words that its documents have, ascending
    rows : (n_rows, n_topics) of these at least, as the last merge left them; not changed
    batches : csr_arrays of documents, whose columns are positions in words; one, in the first round of all
    lane : number of the lane
    dtype : float64 or float32, to which what is added is rounded
    at : (n_words,) where in rows those of the words are; None: they are these, in their order

    Returns
    -------
    update : LaneUpdate
    """
    if start.n_updates == 0 and len(batches) != 1:
        raise ValueError(
            f"n_updates={len(batches)}: the first update, which replaces the start, is to be merged at once."
        )
    at = np.arange(len(words)) if at is None else at.astype(np.int64, copy=False)
    own = np.empty((len(words), start.n_topics))
    np.take(rows, at, axis=0, out=own, mode="clip")  # which needs no copy in between
    state, method = with_rows(start.state, own), start.estimator._method()
    rule, is_first = method.rule.of(state), state.n_topic_updates == 0
    sums = LaneSums(
        lane=lane,
        of=start.identity,
        n_updates=len(batches),
        n_documents=0,
        n_tokens=0.0,
        totals=np.zeros(start.n_topics),
        prior=PriorStatistics.none(start.n_topics) if method.learns_from_gains else None,
    )
    left = 1.0  # of each entry of the start, in the store: the scale says the rest
    with Workers(start.estimator.n_jobs) as workers:
        for i, X in enumerate(batches):
            update = start.update(start.n_updates + i)
            rho = method.step_size(state, update, state.n_topic_updates + 1 + i)
            kept = rule.kept(rho, is_first)
            sums = replace(sums, n_documents=sums.n_documents + X.shape[0])
            if not X.data.any():
                if not is_first:  # other lanes may have words
                    left *= _left_by(state.words, kept)
                    state = replace(state, words=state.words.decayed(kept))
                continue
            reader = DocumentReader(as_documents(X), word_numbers=words)
            counts = counts_of_batch(method, state, reader, np.arange(X.shape[0]), update, workers)
            left *= _left_by(state.words, kept)
            state = replace(state, words=rule(state.words, counts, rho, is_first, workers))
            is_first = False
            sums = _with_counts(sums, counts)
    added, totals, n_added = _added(state.words, rows, at, left, np.dtype(dtype))
    return LaneUpdate(replace(sums, totals=totals), words, _smaller(added, n_added))


def _with_counts(sums, counts):
    """LaneSums after the BatchCounts of one more batch."""
    prior = None if sums.prior is None else sums.prior.plus(counts.expected.prior_statistics())
    return replace(sums, n_tokens=sums.n_tokens + counts.n_tokens, prior=prior)


def _left_by(words, kept):
    """What decaying all entries by the factor kept leaves of an entry in the store (see WordCounts)."""
    if kept == 0.0:
        return 0.0
    scale = words.scale * kept
    return scale if scale < SMALLEST_SCALE else 1.0


def _added(words, rows, at, left, dtype):
    """What was added to statistics that began with these rows, of which so much is left in their store.

    Returns an ndarray, zero where nothing was added, its sums over words, and how many entries are not zero.
    """
    added, totals = words.store, np.empty(words.n_topics)
    n_added = take_changes(rows, at, left, words.scale, added, totals)
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


def merge_lanes(start, summaries, is_first_visit=True):
    """Merge the lanes of a round; returns the RoundStart after it, and the RowsMerge for all shards.

    is_first_visit : whether documents may be new to the model, as in a first pass
    """
    lanes = sorted(summaries, key=lambda summary: summary.lane)
    n_updates = lanes[0].n_updates if lanes else 0
    if [summary.lane for summary in lanes] != list(range(len(lanes))) or n_updates < 1:
        raise ValueError(f"the lanes {[s.lane for s in lanes]} are no round: each from 0 on is needed, once.")
    _check_one_round(lanes, start.identity)
    state, method = duplicate(start.state), start.estimator._method()
    update = start.update(start.n_updates, n_updates, is_first_visit)
    n_documents, n_tokens = (sum(getattr(s, name) for s in lanes) for name in ("n_documents", "n_tokens"))
    merge = RowsMerge(kept=1.0, weights=(0.0,) * len(lanes))
    # Factors of counts are those of one update, whatever it stands for; what is kept is that of all of them.
    rule, rho, kept = method.rule.of(state), method.step_size(state, update), method.kept(state, update)
    counts = LaneCounts(
        [summary.totals for summary in lanes],
        [rule.factor(rho, s.n_documents, s.n_tokens) if s.n_tokens > 0.0 else 0.0 for s in lanes],
        _summed([summary.prior for summary in lanes]),
    )
    if n_tokens > 0.0:
        weights = counts.weights(rule.factor(rho, n_documents, n_tokens))
        left = _left_by(state.words, kept)  # by the scale before the update; that after it says the rest
    with Workers(None) as workers:
        words = np.empty(0, dtype=np.int32)
        found = BatchCounts(counts, words, n_documents, n_tokens)
        state = method.absorb_counts(state, found, update, workers)
    state = counted(state, update, n_documents)
    if n_tokens > 0.0:
        step = rho if method.learns_word_prior else None
        merge = RowsMerge(kept=float(left * state.words.scale), weights=weights, word_prior_step=step)
        state = replace(state, words=state.words.folded())
    return start.followed_by(state), merge


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


def row_sums(start, first, last, rows):
    """What learn_from_rows wants of the merged rows of the shard first to last: small."""
    state, method = with_rows(start.state, rows), start.estimator._method()
    bounds = _parts_of(start.n_features, first, last)
    with Workers(start.estimator.n_jobs) as workers:
        sums = digamma_sums(state.words, bounds, method.unit(state), state.word_prior.base, workers)
    return np.array(sums)


def learn_from_rows(start, merge, sums):
    """Return the RoundStart after learning from the row_sums of all shards, in their order.

    merge : RowsMerge, whose word_prior_step is None if there is nothing to learn
    """
    if merge.word_prior_step is None:
        return start
    state, method = start.state, start.estimator._method()
    mean = mean_log_of_sums(state.words, np.concatenate(sums), method.unit(state), state.word_prior.base)
    return start.followed_by(method.learn_word_prior(state, mean, merge.word_prior_step))


def end_pass(start):
    """Return the RoundStart after one more pass over the corpus."""
    return start.followed_by(replace(start.state, n_passes=start.state.n_passes + 1))


# From and to plain models


def finish(start, rows):
    """Return the fitted estimator with the rows of all shards, in their order."""
    model, _ = start.estimator._unfitted()
    model._state = with_rows(start.state, np.concatenate(rows))
    return model


def start_of(estimator):
    """Return the RoundStart of a fitted estimator, whose parameters are adopted."""
    check_lanes(estimator)
    check_is_fitted(estimator)
    model = snapshot(estimator)._checked()
    model._check_settings()
    method, state = model._method(), model._state
    method.check_continuation(state)
    state = method.adopted(with_rows(state, np.empty((0, state.words.n_topics))))
    return RoundStart.of(model, replace(state, words=state.words.folded()))


def rows_of(estimator, words):
    """The rows of some words of a fitted estimator, as its RoundStart goes on with them."""
    counts = estimator._state.words
    return counts.store[words] * counts.scale


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
