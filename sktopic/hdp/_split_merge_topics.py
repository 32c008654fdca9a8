"""split_merge=True of HybridHDP: topics of a window of documents are split, merged and dropped."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from sktopic._documents._matrices import DocumentBatch
from sktopic._inference import GibbsStep, WithPriorStatistics
from sktopic._kernels.random._rng import combine_keys
from sktopic._state._fields import changed
from sktopic.hdp._hdp_state import MOVE, columns_in_use, noted_moves
from sktopic.hdp._hybrid_topics import HybridTopics, divided_columns
from sktopic.hdp._window import FIRST_WINDOW, Window
from sktopic.hdp._window_moves import Judge, WindowMoves

# Operations that moves take for a token of the window, roughly.
MOVE_WORK = 2000
# Tells the streams of one seed apart.
WINDOW_KEY = 0x77696E646F77


@dataclass
class DrawnCounts:
    """Expected counts of a batch, the topics that its clumps were drawn to last, and its documents."""

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
    """HybridTopics whose number changes.

    Attributes
    ----------
    kept_inference : document step, with no topic of a token known before, where those of all are kept
    has_window : whether documents enter the window of the state, and moves are made at its end
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
        """Whether documents enter the window now; the very first batch reads random topics."""
        return self.has_window and state.n_topic_updates > 0

    def _learns_root(self, state, update):
        """Always: topics come and go between passes."""
        return True

    def learned(self, state, counts, update, workers):
        """As of HybridTopics; and at the end of a window, topics are moved."""
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
        """The state after moves of topics that the window speaks for."""
        movable = np.ones(state.words.n_topics, dtype=bool)
        movable[state.words.frozen_columns] = False
        key = combine_keys(state.seed, WINDOW_KEY, update.number)
        state.window.check_tokens(state.words.n_features, state.words.n_topics)
        moves = self.new_moves(state, state.window, update.total_samples, movable, key)
        moves.merge()
        moves.drop()
        edit = moves.edit()
        after = self.edited_columns(state, edit)
        if not update.is_last_pass:  # what is new then has not been judged
            moves.split()
            division = moves.division()
            after = divided_columns(after, replace(division, topics=edit.columns[division.topics]))
        ids = np.append(state.ids, after.ids[edit.n_left :])
        return self.noted(after, named_moves(moves, ids))

    def new_moves(self, state, window, total_samples, movable, key):
        """WindowMoves of the topics in all columns.

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
        """The state with moves in its history, which is that after them."""
        return changed(state, move_history=noted_moves(state, moves, len(columns_in_use(state))))


def named_moves(moves, ids):
    """The moves made, of identities; ids: of the topics by their numbers in the moves."""
    ids = np.append(ids, -1)  # where there is no other topic
    return [(kind, ids[topic], ids[other], gain) for kind, topic, other, gain in moves.made]
