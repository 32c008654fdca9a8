"""split_merge=True of HybridHDP in online training: a window of documents splits, merges and drops topics.

The first window has 250 documents after the first batch. Each later window has twice as many, up to the
corpus size or 2 ** 22 tokens. In a smaller window, each document stands for several of the corpus, at most
four for splits. When a window is complete, topics are merged, dropped and, except in the last pass, split.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from sktopic._documents._matrices import DocumentBatch
from sktopic._inference._gibbs import GibbsStep
from sktopic._inference._protocol import WithPriorStatistics
from sktopic._kernels.random._rng import combine_keys
from sktopic._state._fields import changed
from sktopic.hdp._hdp_state import MOVE, columns_in_use, noted_moves
from sktopic.hdp._hybrid_topics import HybridTopics, divided_columns
from sktopic.hdp._window import FIRST_WINDOW, Window
from sktopic.hdp._window_moves import Judge, WindowMoves

# Approximate number of operations of moves per token of the window.
MOVE_WORK = 2000
# Separates the random streams of one seed.
WINDOW_KEY = 0x77696E646F77


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
    """HybridTopics with a changing number of topics.

    Attributes
    ----------
    kept_inference : document step if the topics of all tokens are kept
    has_window : whether documents enter the window of the state, which moves topics when it is complete
    """

    inference: GibbsStep
    kept_inference: GibbsStep
    has_window: bool = True

    reads_whole_batches: ClassVar[bool] = True
    keeps_columns: ClassVar[bool] = False

    def adopted(self, state):
        state = super().adopted(state)
        if state.window is not None:
            return state
        return changed(state, window=Window.empty(FIRST_WINDOW), move_history=np.empty(0, dtype=MOVE))

    def infer(self, state, batch, keys, update, workers):
        topic = batch.unassigned()
        step = partial(self.inference, assignments=topic)
        return DrawnCounts(self._sampled(step, state, batch, keys, update, workers), batch, topic)

    def work(self, state, counts, update):
        work = super().work(state, counts, update)
        if self._enters_window(state):
            n_new = len(counts.expected.topic)
            if state.window.is_large(update.total_samples, counts.n_documents, n_new):
                work += MOVE_WORK * (state.window.n_tokens + n_new)
        return work

    def _enters_window(self, state):
        """Whether documents enter the window. The first batch is inferred with random topics and does not."""
        return self.has_window and state.n_topic_updates > 0

    def _learns_root(self, state, update):
        """Always, because topics come and go between passes."""
        return True

    def learned(self, state, counts, update, workers):
        """Learn as HybridTopics does; move topics when a window is complete."""
        drawn = counts.expected
        enters = self._enters_window(state)
        state = super().learned(state, counts, update, workers)
        if not enters:
            return state
        window = state.window.with_batch(drawn.batch, drawn.topic)
        if not window.is_large(update.total_samples):
            return changed(state, window=window)
        return self._moved(changed(state, window=changed(window, target=2.0 * window.target)), update)

    def _moved(self, state, update):
        """Return the state after moves of topics by the evidence of the window."""
        movable = np.ones(state.words.n_topics, dtype=bool)
        movable[state.words.frozen_columns] = False
        key = combine_keys(state.seed, WINDOW_KEY, update.number)
        state.window.check_tokens(state.words.n_features, state.words.n_topics)
        moves = self.new_moves(state, state.window, update.total_samples, movable, key)
        moves.merge()
        moves.drop()
        edit = moves.edit()
        after = self.edited_columns(state, edit)
        if not update.is_last_pass:  # new topics of the last pass would not be judged
            moves.split()
            division = moves.division()
            after = divided_columns(after, replace(division, topics=edit.columns[division.topics]))
        ids = np.append(state.ids, after.ids[edit.n_left :])
        return self.noted(after, named_moves(moves, ids))

    def new_moves(self, state, window, total_samples, movable, key):
        """Return WindowMoves of the topics in all columns.

        window : Window, a sample of a corpus of total_samples documents
        movable, key : as of WindowMoves
        """
        return WindowMoves(
            window.topics(state.words.n_topics),
            prior=self.doc_topic_prior(state, self.root_weights(state, total_samples)),
            movable=movable,
            judge=Judge(state.topic_concentration, state.topic_word_prior, state.words.n_features),
            key=key,
            times=max(1.0, total_samples / window.total_weight),
        )

    def noted(self, state, moves):
        """Return the state with its last moves added to the history."""
        return changed(state, move_history=noted_moves(state, moves, len(columns_in_use(state))))


def named_moves(moves, ids):
    """Return the moves by identities; ids: identities of the topics by their numbers in the moves."""
    ids = np.append(ids, -1)  # for moves without another topic
    return [(kind, ids[topic], ids[other], gain) for kind, topic, other, gain in moves.made]
