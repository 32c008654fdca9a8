"""split_merge=True of HybridHDP: many random topics, of which training merges and drops the superfluous ones.

Topics cannot appear within a few passes where the random start has too few of them, but superfluous ones are
found quickly. So `fit` begins with more topics than a corpus of its size supports. A window keeps the drawn
topics of the documents seen last. When it is complete, topics are merged and dropped by the evidence of its
tokens. Their columns stay, as in HybridTopics, and new topics may take them.

In `fit`, this happens at the end of passes 1, 4, 16, ..., or 2, 8, 32, ... if a pass is one batch: topics of
the first batch are random. In a stream, it happens after 250, 1000, 4000, ... documents, but not before
total_samples of them, and after each total_samples if older ones are forgotten. A window has about 2 ** 22
tokens at most. If it is smaller than the corpus, each document stands for several.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from sktopic._documents._matrices import DocumentBatch, canonical_counts
from sktopic._documents._sample_weight import weighted_sum
from sktopic._inference._gibbs import GibbsStep
from sktopic._inference._protocol import WithPriorStatistics
from sktopic._state._fields import changed
from sktopic.hdp._hdp_state import MOVE, columns_in_use, noted_moves
from sktopic.hdp._hybrid_topics import HybridTopics
from sktopic.hdp._window import FIRST_WINDOW, MOST_TOKENS, Window
from sktopic.hdp._window_moves import Judge, WindowMoves

# Approximate number of operations of moves per token of the window.
MOVE_WORK = 2000
# Random topics at the start of `fit` per square root of the number of tokens, and the largest number.
TOPICS_PER_ROOT, MOST_RANDOM_TOPICS = 0.7, 1000
# Tokens per entry of X, on average, that may raise this number. Larger counts and weights would raise it to
# 1000 on a tiny corpus, where moves drop too few of these topics.
TOKENS_PER_ENTRY = 10
# How many times as many documents are seen at the next moves.
RARER = 4.0


def enough_topics(documents):
    """Return a number of random topics that is larger than the number that Documents support."""
    n_tokens = n_entries = 0.0
    for X, values in documents.groups():
        X = canonical_counts(X)
        n_tokens += float(weighted_sum(X.sum(axis=1, dtype=np.float64), values.sample_weight))
        n_entries += X.nnz
    n_topics = math.ceil(TOPICS_PER_ROOT * math.sqrt(min(n_tokens, TOKENS_PER_ENTRY * n_entries)))
    return min(max(n_topics, 1), MOST_RANDOM_TOPICS)


@dataclass
class DrawnCounts:
    """Expected counts of a batch, its documents, and the last drawn topics of its clumps."""

    expected: WithPriorStatistics
    batch: DocumentBatch
    topic: np.ndarray

    def work(self):
        return self.expected.work()

    def add_to(self, target, words, factor, workers):
        self.expected.add_to(target, words, factor, workers)

    def prior_statistics(self):
        return self.expected.prior_statistics()


@dataclass(frozen=True, kw_only=True)
class SplitMergeTopics(HybridTopics):
    """HybridTopics that merges and drops superfluous topics."""

    inference: GibbsStep

    reads_whole_batches: ClassVar[bool] = True

    def begun(self, state, n_topics):
        """Return the state before training, with this number of topics, or more if more are given."""
        n_given = 0 if self.components is None else len(self.components)
        return replace(self, n_components=max(n_topics, n_given)).start(state.words.n_features, state.seed)

    def check_continuation(self, state):
        """Accept any number of topics, because `fit` chooses it."""

    def adopted(self, state):
        state = super().adopted(state)
        if state.window is not None:
            return state
        return changed(state, window=Window.empty(0.0), move_history=np.empty(0, dtype=MOVE))

    def infer(self, state, batch, keys, update, workers):
        topic = batch.unassigned()
        step = partial(self.inference, assignments=topic)
        return DrawnCounts(self._sampled(step, state, batch, keys, update, workers), batch, topic)

    def work(self, state, counts, update):
        work = super().work(state, counts, update)
        if _are_moves_due(state, counts, update):
            work += MOVE_WORK * (state.window.n_tokens + len(counts.expected.topic))
        return work

    def _enters_window(self, state, counts, update):
        """Whether documents enter the window: the last ones before moves, if not of the first batch."""
        mean_length = state.words.scale * state.words.totals.sum()
        # Fractions of tokens, and documents of small weight, take as much memory as others.
        n_tokens = state.window.n_tokens + len(counts.expected.topic)
        mean_length = max(mean_length, n_tokens / (state.window.total_weight + counts.n_documents))
        n_documents = min(update.pass_size or update.total_samples, MOST_TOKENS / max(mean_length, 1.0))
        is_late = state.n_samples_seen >= _next_moves(state, update) - n_documents
        return is_late and state.n_topic_updates > 0

    def _learns_root(self, state, update):
        """Always, because topics come and go between passes."""
        return True

    def absorb(self, state, counts, update, workers):
        """Absorb as HybridTopics does; keep the range of the number of topics in use since the last moves."""
        after = super().absorb(state, counts, update, workers)
        n, before = len(after.in_use), state.n_components_range
        begins = before is None or after.window.last_moves > state.window.last_moves
        low, high = (n, n) if begins else before
        return changed(after, n_components_range=np.array([min(low, n), max(high, n)]))

    def learned(self, state, counts, update, workers):
        """Learn as HybridTopics does; move topics when a window is complete."""
        drawn, window = counts.expected, state.window
        if self._enters_window(state, counts, update):
            window = window.with_batch(drawn.batch, drawn.topic)
        moves = window.n_documents > 0 and _are_moves_due(state, counts, update)
        state = changed(super().learned(state, counts, update, workers), window=window)
        return self._moved(state, counts.n_documents, update, workers) if moves else state

    def _moved(self, state, n_documents, update, workers):
        """Return the state after moves of topics by the evidence of the window, which then is empty."""
        window, columns = state.window, columns_in_use(state)
        window.check_tokens(state.words.n_features, state.words.n_topics)
        topics = window.topics(state.words.n_topics)
        moves = WindowMoves(
            [topics[k] for k in columns],
            prior=self.doc_topic_prior(state, self.root_weights(state, update.total_samples))[columns],
            movable=~np.isin(columns, state.words.frozen_columns),
            judge=Judge(state.topic_concentration, state.topic_word_prior, state.words.n_features),
            workers=workers,
            times=max(1.0, update.total_samples / window.total_weight),
        )
        moves.merge()
        moves.drop()
        after = self.edited_columns(state, moves.edit().of_columns(columns, state.words.n_topics, True))
        ids = np.append(state.ids[columns], -1)  # the last for moves without another topic
        made = [(kind, ids[topic], ids[other], gain) for kind, topic, other, gain in moves.made]
        return changed(
            after,
            window=Window.empty(state.n_samples_seen + n_documents),
            move_history=noted_moves(after, made, len(columns_in_use(after))),
        )


def _are_moves_due(state, counts, update):
    """Whether topics move after a batch."""
    return state.n_samples_seen + counts.n_documents >= _next_moves(state, update)


def _next_moves(state, update):
    """Number of documents to be seen at the next moves."""
    last, total_samples = state.window.last_moves, update.total_samples
    if update.pass_size is not None:
        return max(RARER * last, update.pass_size)
    if state.corpus_size > total_samples:  # older documents are forgotten
        return last + max(total_samples, FIRST_WINDOW)
    return max(RARER * last, total_samples, FIRST_WINDOW)
