"""Lanes: mini-batches that are processed in parallel from the same state, and merged.

A round has L lanes. Each processes H mini-batches in order, and adds their counts to its own copy of the
statistics of its words; other learned values do not change. A merge is one ordinary update with the counts of
all lanes (`LaneCounts`) and the step size of H updates (`step_size`). With one update per lane, the result
equals one update by all documents, up to rounding.

The functions are pure. The rows of words may be split into independent shards, and a small `RoundStart` holds
everything else.

A method has a rule for lanes (`LaneMethod`) if its statistics have a `LinearUpdate`. Other learned values may
depend only on the BatchCounts of all documents together (numbers and prior statistics) and on totals of
topics. A learned prior of topics may also use a mean over all words. Estimators that allow lanes define
`_check_lanes`, which rejects options that break this rule.
"""

import json
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from sktopic._documents._matrices import DocumentReader, as_documents
from sktopic._estimators._lane_updates import LaneCounts, LaneSums, LaneUpdate, RowsMerge
from sktopic._estimators._minibatch_estimator import MinibatchEstimator
from sktopic._estimators._model_files import described, digest_of_text
from sktopic._estimators._topic_model import TopicModel, start_training
from sktopic._estimators._vocabulary import checked_feature_names
from sktopic._kernels.random._rng import combine_keys
from sktopic._kernels.topics._statistics import take_changes
from sktopic._runtime._attributes import twin
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import arrays_of, duplicate, values_of
from sktopic._topics._prior import PriorStatistics
from sktopic._topics._topic_word_prior import is_matrix
from sktopic._topics._word_count_views import digamma_sums, mean_log_of_sums
from sktopic._topics._word_counts import INITIAL_KEY, SMALLEST_SCALE, WordCounts
from sktopic._training._minibatch_state import counted
from sktopic._training._minibatches import LaneMethod, Update, counts_of_batch, expected_size
from sktopic._training._statistics_updates import BatchCounts

# Sums over words are taken within these parts, then over parts, so that they do not depend on shards.
N_WORD_PARTS = 64
# The array that a RoundStart lacks.
ROWS = "words.store"
# The estimators that can be trained in lanes.
WITH_LANES = (
    "OnlineEMLDA, HybridLDA, OnlineVariationalLDA, OnlineCVB0LDA, OnlineOPELDA, StreamingVariationalLDA, "
    "StreamingGibbsLDA or HybridHDP"
)
# Parameters that may differ between the merging model and lanes, because no update reads them. Exceptions are
# batch_size, which each lane gets, and random_state, which the seed replaces.
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
    """Raise ValueError or TypeError for an estimator without a rule for lanes; name an alternative."""
    if not isinstance(estimator, TopicModel):
        raise TypeError(
            f"{type(estimator).__name__} is not a topic model of sktopic. For a pipeline, give its last "
            "step, pipeline[-1], and counts of words as X."
        )
    if not isinstance(estimator, MinibatchEstimator) or estimator._check_lanes is None:
        serves = "HybridHDP" if estimator._infers_number_of_topics else "OnlineEMLDA"
        raise ValueError(
            f"{type(estimator).__name__} does not support lanes: the estimator must be "
            f"{WITH_LANES}. Use {serves} instead."
        )
    if estimator.early_stopping:
        raise ValueError(
            "early_stopping=True does not support lanes: no documents are held out for all lanes."
            " Set max_iter, and call score after training."
        )
    if estimator.components_init is not None and not estimator._starts_from_documents:
        raise ValueError(
            "components_init does not support lanes. Call partial_fit with some documents to "
            "start from these topics, then set components_init=None and continue with that model."
        )
    state = estimator._state
    has_entries = any(name.startswith("word_prior.entries") for name in arrays_of(state)) if state else False
    if has_entries or is_matrix(estimator.topic_word_prior):
        raise ValueError("topic_word_prior as a matrix does not support lanes. Use a number.")
    if state is not None and state.words.frozen is not None:
        raise ValueError(
            "frozen topics do not support lanes: call freeze_topics([]), or train with partial_fit of"
            " the estimator."
        )
    estimator._check_lanes()


@dataclass(frozen=True)
class RoundStart:
    """The common start of all lanes of a round, without the rows of words. Small, and safe to pickle.

    Attributes
    ----------
    estimator : the parameters and names, without a state
    state : state whose statistics have no rows and the scale one
    """

    estimator: MinibatchEstimator
    state: Any

    @classmethod
    def of(cls, estimator, state):
        """Return the RoundStart of an estimator with another state."""
        bare = twin(estimator)
        bare._state = None
        if hasattr(bare, "_skl_callbacks"):
            del bare._skl_callbacks
        return cls(bare, state)

    def state_with(self, rows):
        """Return the state with these rows of words, whose arrays may be changed in place."""
        state = duplicate(self.state)
        return replace(state, words=replace(state.words, store=rows))

    @property
    def method(self) -> LaneMethod:
        return self.estimator._method()

    @property
    def n_features(self):
        return self.state.words.n_features

    @property
    def n_topics(self):
        return self.state.words.n_topics

    @property
    def identity(self):
        """Identity of this model and state: dict of numbers, strings and digests by name."""
        parameters = {
            name: value
            for name, value in self.estimator.get_params(deep=False).items()
            if name not in NOT_OF_AN_UPDATE
        }
        names = getattr(self.estimator, "feature_names_in_", None)
        fitted = arrays_of(self.state) | values_of(self.state)
        del fitted[ROWS]
        return {
            "class": type(self.estimator).__name__,
            "n_features": self.n_features,
            "feature_names_in_": None if names is None else digest_of_text("\0".join(map(str, names))),
            "number of topics": self.n_topics,
            "seed": self.state.seed,
            "number of updates": self.state.n_updates,
            **described(parameters),
            "fitted state": digest_of_text(json.dumps(described(fitted), sort_keys=True)),
        }

    def update(self, n_before=0, n_updates=1, is_first_visit=True):
        """Return the Update that a lane makes after n_before others, or that a merge makes."""
        return Update(
            number=self.state.n_updates + n_before,
            is_first_visit=is_first_visit,
            is_whole_corpus=False,
            total_samples=float(self.estimator.total_samples or expected_size(self.method, self.state)),
            n_updates=n_updates,
        )


def without_rows(state):
    """Return the state without rows of words; the other arrays are copies."""
    none = np.empty((0, state.words.n_topics))
    return duplicate(replace(state, words=replace(state.words, store=none)))


# The start


def begin(estimator, n_features, total_samples, feature_names=None, *, is_corpus=True):
    """Return the RoundStart of a model before its first update.

    Parameters
    ----------
    estimator : estimator with a rule for lanes; it is cloned
    n_features : number of words
    total_samples : number of documents in the corpus, if the estimator does not give it
    feature_names : names of the words, or None
    is_corpus : whether these are all documents, and not the first of a stream
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
    state = replace(state, words=words, corpus_size=total_samples, is_corpus=int(is_corpus))
    return RoundStart.of(model, state)


def word_bounds(n_features, n_shards):
    """Cut the words into shards (first, last), last not included; sizes differ by at most one part."""
    parts = _part_bounds(n_features)
    return list(pairwise(int(parts[N_WORD_PARTS * i // n_shards]) for i in range(n_shards + 1)))


def _part_bounds(n_features):
    return np.arange(N_WORD_PARTS + 1) * n_features // N_WORD_PARTS


def _parts_of(n_features, first, last):
    """Return the bounds of the parts of words in a shard, relative to its start."""
    bounds = _part_bounds(n_features)
    return bounds[(bounds >= first) & (bounds <= last)] - first


def initial_rows(start, first, last):
    """Return initial rows (n_words, n_topics) of a shard of word_bounds, and sums for set_initial_totals."""
    key = combine_keys(start.state.seed, INITIAL_KEY)
    rows = WordCounts.random(last - first, start.n_topics, key, first=first).store
    bounds = _parts_of(start.n_features, first, last)
    return rows, np.array([rows[a:b].sum(axis=0) for a, b in pairwise(bounds)])


def set_initial_totals(start, totals):
    """Return the RoundStart with the sums of the initial rows of all shards, in order."""
    words = replace(start.state.words, totals=np.concatenate(totals).sum(axis=0))
    return replace(start, state=replace(start.state, words=words))


# A round


def local_update(start, words, rows, batches, lane, dtype=np.float64, at=None):
    """Process the mini-batches of a lane.

    Parameters
    ----------
    start : RoundStart
    words : (n_words,) words of its documents, ascending
    rows : (n_rows, n_topics) rows after the last merge, which include those of words; not changed
    batches : csr_arrays of documents, with positions in words as columns. The very first round allows only
        one.
    lane : number of the lane
    dtype : float64 or float32, the type of the result
    at : (n_words,) positions of the words in rows. If None, rows are those of words, in order.

    Returns
    -------
    update : LaneUpdate
    """
    if start.state.n_updates == 0 and len(batches) != 1:
        raise ValueError(
            f"n_updates={len(batches)} is invalid in the first round: must be 1, because the first"
            " update replaces the initial topics."
        )
    at = np.arange(len(words)) if at is None else at.astype(np.int64, copy=False)
    own = np.empty((len(words), start.n_topics))
    np.take(rows, at, axis=0, out=own, mode="clip")  # avoids a temporary copy
    state, method = start.state_with(own), start.method
    rule, is_first = method.rule.of(state), state.n_topic_updates == 0
    n_documents, n_tokens = 0, 0.0
    prior = PriorStatistics.none(start.n_topics) if method.learns_from_gains else None
    left = 1.0  # factor of stored initial entries; the scale has the rest
    with Workers(start.estimator.n_jobs) as workers:
        for i, X in enumerate(batches):
            n_documents += X.shape[0]
            if is_first and not X.data.any():  # nothing decays before the first words
                continue
            update = start.update(i)
            rho = method.step_size(state, update, state.n_topic_updates + 1 + i)
            kept = rule.kept(rho, is_first)
            left *= _left_by(state.words, kept)
            if not X.data.any():  # other lanes may have words
                state = replace(state, words=state.words.decayed(kept))
                continue
            reader = DocumentReader(as_documents(X), word_numbers=words)
            counts = counts_of_batch(method, state, reader, np.arange(X.shape[0]), update, workers)
            state = replace(state, words=rule(state.words, counts, rho, is_first, workers))
            is_first = False
            n_tokens += counts.n_tokens
            if prior is not None:
                prior = prior.plus(counts.expected.prior_statistics())
    added, totals = _added(state.words, rows, at, left, np.dtype(dtype))
    sums = LaneSums(
        lane=lane,
        of=start.identity,
        n_updates=len(batches),
        n_documents=n_documents,
        n_tokens=n_tokens,
        totals=totals,
        prior=prior,
    )
    return LaneUpdate(sums, words, added)


def _left_by(words, kept):
    """Return the factor by which stored entries change when entries decay by kept (see WordCounts)."""
    if kept == 0.0:
        return 0.0
    scale = words.scale * kept
    return scale if scale < SMALLEST_SCALE else 1.0


def _added(words, rows, at, left, dtype):
    """Return the change of statistics since these rows, whose stored entries were multiplied by left.

    Returns a csr_array if that is smaller than an ndarray, and its sums over words.
    """
    added, totals = words.store, np.empty(words.n_topics)
    n_added = take_changes(rows, at, left, words.scale, added, totals)
    if dtype != added.dtype:
        added = added.astype(dtype)
        totals, n_added = added.sum(axis=0, dtype=np.float64), np.count_nonzero(added)
    if n_added * (added.itemsize + np.dtype(np.int32).itemsize) < added.nbytes:
        added = sp.csr_array(added)
    return added, totals


def merge_lanes(start, summaries, is_first_visit=True):
    """Merge the lanes of a round; return the next RoundStart, and the RowsMerge for all shards.

    is_first_visit : whether documents may be new to the model, as in a first pass
    """
    lanes = sorted(summaries, key=lambda summary: summary.lane)
    _check_round(lanes, start.identity)
    state, method = duplicate(start.state), start.method
    update = start.update(n_updates=lanes[0].n_updates, is_first_visit=is_first_visit)
    n_documents, n_tokens = sum(s.n_documents for s in lanes), sum(s.n_tokens for s in lanes)
    # Factors of counts are those of one update. The kept share is that of all updates.
    rule, rho = method.rule.of(state), method.step_size(state, update)
    counts = LaneCounts(
        totals=[summary.totals for summary in lanes],
        factors=[rule.factor(rho, s.n_documents, s.n_tokens) if s.n_tokens > 0.0 else 0.0 for s in lanes],
        priors=[summary.prior for summary in lanes],
    )
    weights, left, word_prior_step = (0.0,) * len(lanes), 1.0, None
    if n_tokens > 0.0:
        weights = counts.weights(rule.factor(rho, n_documents, n_tokens))
        # Uses the scale before the update. The scale after it has the rest.
        left = _left_by(state.words, method.kept(state, update))
        word_prior_step = rho if method.learns_word_prior else None
    found = BatchCounts(counts, np.empty(0, dtype=np.int32), n_documents, n_tokens)
    with Workers(None) as workers:
        state = counted(method.absorb_counts(state, found, update, workers), update, n_documents)
    merge = RowsMerge(float(left * state.words.scale), weights, word_prior_step)
    return replace(start, state=replace(state, words=state.words.folded())), merge


def check_same_model(summary, identity):
    """Raise ValueError if LaneSums belong to a model with another identity."""
    for name, value in identity.items():
        if summary.of.get(name) != value:
            raise ValueError(
                f"the update of lane {summary.lane} was computed from another model or state: its "
                f"{name} is {summary.of.get(name)!r:.80}, but this model has {value!r:.80}. Merge "
                "it into the model that was given to local_update."
            )


def _check_round(lanes, identity):
    """Raise ValueError unless LaneSums, sorted by lane, form one round."""
    if not lanes or [summary.lane for summary in lanes] != list(range(len(lanes))):
        raise ValueError(
            f"the lanes {[s.lane for s in lanes]} are not a round: must be 0, 1, 2, ..., each once."
        )
    first = lanes[0]
    for summary in lanes:
        check_same_model(summary, identity)
        if summary.n_updates != first.n_updates:
            raise ValueError(
                f"the lanes belong to different rounds: lane {summary.lane} has "
                f"n_updates={summary.n_updates}, and lane {first.lane} has "
                f"n_updates={first.n_updates}. Use the same number in all lanes of a round."
            )


def merge_rows(rows, merge, updates):
    """Return the rows (n_words, n_topics) of a shard after a round.

    Parameters
    ----------
    rows : rows before the round, not changed
    merge : RowsMerge of the round
    updates : part for the shard of each LaneUpdate
    """
    merged = rows * merge.kept
    for update in sorted(updates, key=lambda update: update.summary.lane):
        update.add_to(merged, merge.weights[update.summary.lane])
    return merged


def row_sums(start, first, last, rows):
    """Return the input of learn_from_rows from merged rows of the shard first to last; small, or None."""
    state, method = start.state, start.method
    if not method.learns_word_prior:
        return None
    words, bounds = replace(state.words, store=rows), _parts_of(start.n_features, first, last)
    with Workers(start.estimator.n_jobs) as workers:
        return np.array(digamma_sums(words, bounds, method.unit(state), state.word_prior.base, workers))


def learn_from_rows(start, merge, sums, ends_pass=False):
    """Return the RoundStart at the end of a round.

    merge : RowsMerge of the round
    sums : the row_sums of all shards, in order
    ends_pass : whether this round is the last of a pass over the corpus
    """
    state, method = start.state, start.method
    if merge.word_prior_step is not None:
        mean = mean_log_of_sums(state.words, np.concatenate(sums), method.unit(state), state.word_prior.base)
        state = method.learn_word_prior(state, mean, merge.word_prior_step)
    return replace(start, state=replace(state, n_passes=state.n_passes + ends_pass))


def merge_whole(start, rows, updates, is_first_visit=True, ends_pass=False):
    """Merge the LaneUpdates of a round if rows has all words; return the RoundStart and the rows."""
    start, merge = merge_lanes(start, [update.summary for update in updates], is_first_visit)
    rows = merge_rows(rows, merge, updates)
    return learn_from_rows(start, merge, [row_sums(start, 0, len(rows), rows)], ends_pass), rows


# From and to plain models


def finish(start, rows):
    """Return the fitted estimator with the rows of all shards, in order."""
    model = twin(start.estimator)
    model._state = start.state_with(np.concatenate(rows))
    return model


def start_of(estimator, n_new=0):
    """Return the RoundStart of a fitted estimator, whose parameters are adopted.

    n_new : number of documents by which its corpus has grown
    """
    check_lanes(estimator)
    model = estimator._read()
    model._check_settings()
    method = model._method()
    method.check_continuation(model._state)
    state = method.adopted(without_rows(model._state))
    words, corpus_size = state.words.folded(), state.corpus_size + n_new
    return RoundStart.of(model, replace(state, words=words, corpus_size=corpus_size))


def rows_of(estimator, words=slice(None)):
    """Return the rows of words of a fitted estimator, in the scale of its RoundStart."""
    counts = estimator._state.words
    return counts.store[words] * counts.scale


def narrowed(batches):
    """Return the words that occur in batches (csr_arrays), and the batches with only these columns."""
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
