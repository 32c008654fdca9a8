"""split_merge=True of HybridHDP: topics that are split and merged by what is sampled for tokens."""

from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from sktopic._documents._matrices import DocumentBatch
from sktopic._estimators._concurrency import changing
from sktopic._estimators._fitted_arrays import FLOAT, INT, damaged
from sktopic._inference import WithPriorStatistics
from sktopic._runtime._interrupt import complete_or_undone
from sktopic._topics._word_count_edits import divided_topics, joined_topics, of_topics
from sktopic._topics._word_counts import WordCounts
from sktopic._training._statistics_updates import BatchCounts
from sktopic.hdp._corpus_chain import CorpusChain, KeptDocuments, Visit, can_be_kept
from sktopic.hdp._minibatch import MOVE, MinibatchHDP
from sktopic.hdp._restaurants import SPARE, padded
from sktopic.hdp._root import expected_topics
from sktopic.hdp._window import Window
from sktopic.hdp._window_moves import LEAST_GAIN, Judge, WindowMoves

# Documents of the first window; each is twice as large as the one before it, up to the whole corpus or so
# many tokens.
FIRST_WINDOW, MOST_TOKENS = 250, 1 << 22
# Operations that moves take for a token of the window, roughly.
MOVE_WORK = 2000
# Sweeps over a document before those of doc_burn_in: after few of them small topics are still in documents
# where they do not belong, and look as if they were not needed.
MIXING_SWEEPS = 16
# Random topics that are added at most to those that a fit is to start from.
MOST_RANDOM_TOPICS = 1000
# Tell the streams of one seed apart.
WINDOW_KEY, SEAT_KEY, MORE_KEY = 0x77696E646F77, 0x73656174, 0x6D6F7265
# What the memory of a call of fit calls the topics that the tokens of a corpus have.
CHAIN = "chain"
# What topic_word_prior=None stands for with moves, which have no number of topics that it might follow from.
DEFAULT_TOPIC_WORD_PRIOR = 0.05
# What training with moves leaves beside what other training does.
SPLIT_MERGE = {
    "_window_word": (np.dtype(np.int32), "window tokens"),
    "_window_topic": (np.dtype(np.int32), "window tokens"),
    "_window_size": (FLOAT, "window tokens"),
    "_window_length": (INT, "window documents"),
    "_window_document_weight": (FLOAT, "window documents"),
    "_window_used": (INT, 2),
    "_window_target": (FLOAT, 1),
    "move_history_": (MOVE, None),
}


def are_moves_due(n_passes, max_iter):
    """Whether topics are split and merged after so many passes: a power of two, and one before the last."""
    return n_passes & (n_passes - 1) == 0 or n_passes == max_iter - 1


@dataclass
class DrawnCounts:
    """Expected counts of a batch, the topics that its clumps were drawn to last, and its documents."""

    expected: WithPriorStatistics
    batch: DocumentBatch
    topic: np.ndarray
    rows: np.ndarray | None = None

    def work(self):
        return self.expected.work()

    def add_to(self, target, words, factor, workers):
        self.expected.add_to(target, words, factor, workers)

    def prior_statistics(self):
        return self.expected.prior_statistics()


class SplitMergeSampler(MinibatchHDP):
    """Base class of `HybridHDP`: what split_merge=True does, beside the document step that it shares with it.

    `fit` keeps the topics of all tokens of a corpus in memory (`CorpusChain`), where the concentrations are
    given: the first pass assigns them, the later ones sample them, with moves between passes. Everything else
    has the topics of the documents seen last (`Window`), and moves when there are enough of them.
    """

    split_merge: bool
    doc_burn_in: int
    doc_sweeps: int
    sampler: str

    _statistics: WordCounts
    _tables: np.ndarray

    def _check_settings(self):
        super()._check_settings()
        if self.split_merge and self.sampler != "collapsed":
            raise ValueError(f"split_merge=True with sampler={self.sampler!r}: 'collapsed' is allowed.")
        if self.split_merge and self.topic_word_prior == 0:
            raise ValueError(
                f"topic_word_prior={self.topic_word_prior!r} is invalid with split_merge=True: must be above "
                "0, or None."
            )

    def _check_continuation(self):
        if not self.split_merge:
            super()._check_continuation()

    def _weighted(self, documents, sample_weight):
        if self.split_merge and sample_weight is not None:
            raise ValueError(
                "sample_weight must be None with split_merge=True, whose moves give each copy of a document "
                "topics of its own. Repeat the rows of X, or set split_merge=False."
            )
        return super()._weighted(documents, sample_weight)

    # Updates

    @property
    def _reads_whole_batches(self):
        return self.split_merge

    def _drawn(self, batch, prior, keys, update, workers):
        """Expected counts of documents, with the topics that their tokens were drawn to last."""
        step = self._training_step(0 if CHAIN in update.memory else MIXING_SWEEPS)
        topic = batch.unassigned()
        counts = self._sampled(partial(step, assignments=topic), batch, prior, keys, update, workers)
        return DrawnCounts(counts, batch, topic)

    def _batch_counts(self, reader, rows, key, update, workers):
        chain = update.memory.get(CHAIN)
        if chain is not None and not update.is_first_visit:
            n_sweeps = self.doc_burn_in + self.doc_sweeps
            visit = chain.visit(reader, rows, self._statistics, self._chain_settings(), n_sweeps, key)
            return BatchCounts(visit, visit.words, len(rows), float(len(visit.z)))
        counts = super()._batch_counts(reader, rows, key, update, workers)
        return counts if chain is None else replace(counts, expected=replace(counts.expected, rows=rows))

    def _global_work(self, batch_counts, update):
        if isinstance(batch_counts.expected, Visit):
            return batch_counts.expected.work()
        work = super()._global_work(batch_counts, update)
        if self._judges_by_window(update):
            window = self._window
            n_documents = window.n_documents + batch_counts.n_documents
            n_tokens = window.n_tokens + len(batch_counts.expected.topic)
            if self._ends_window(n_documents, n_tokens, update):
                work += MOVE_WORK * n_tokens
        return work

    def _takes_as_sampled(self, batch_counts, update):
        """Note the topics of a kept corpus; returns whether sampling it has made all there is to update."""
        chain, expected = update.memory.get(CHAIN), batch_counts.expected
        is_visit = isinstance(expected, Visit)
        if is_visit:
            self._take_visit(expected, chain)
        elif chain is not None:
            chain.assign(expected.rows, expected.topic)
        return is_visit

    # The corpus that fit keeps the topics of

    def _begin_passes(self, documents):
        learns = "auto" in (self.topic_concentration, self.doc_concentration)
        if not self.split_merge or learns or self.max_iter == 1 or not can_be_kept(documents):
            return super()._begin_passes(documents)
        X = documents.matrix()
        chain = CorpusChain(X)
        n_topics = expected_topics(chain.lengths(), self.topic_concentration_, self.doc_concentration_)
        with changing(self), complete_or_undone(self, waits=True):
            self._add_random_topics(min(int(n_topics), MOST_RANDOM_TOPICS) - self._n_trained)
        return KeptDocuments(X, chain), {CHAIN: chain}

    def _add_random_topics(self, n_more):
        if n_more <= 0:
            return
        key = self._key(MORE_KEY)
        self._statistics = joined_topics(
            self._statistics, WordCounts.random(self.n_features_in_, n_more, key)
        )
        n = self._n_trained
        self._tables, self._ids, self._next_id = np.full(n, 1.0 / n), np.arange(n), n
        self._in_use = np.arange(n)
        self._report_topics()

    def _chain_settings(self):
        return {
            "topic_concentration": self.topic_concentration_,
            "doc_concentration": self.doc_concentration_,
            "topic_word_prior": self.topic_word_prior_,
            "n_features": self.n_features_in_,
        }

    def _after_pass(self, memory):
        chain, n_passes = memory.get(CHAIN), self.n_iter_ + 1
        if chain is None or n_passes >= self.max_iter or not len(chain.z):
            return
        if np.any(chain.z < 0):  # a callback has ended the first pass
            del memory[CHAIN]
            return
        with changing(self), complete_or_undone(self):
            made = []
            if n_passes == 1:
                weights = self._doc_topic_prior(self._root_weights(self.total_samples_))
                chain.seat(weights, self._key(SEAT_KEY, n_passes))
            elif are_moves_due(n_passes, self.max_iter):
                made = self._move_corpus(chain, n_passes)
            self._count_anew(chain)
            self._report_topics()
            self._note_moves(made)
            if are_moves_due(n_passes + 1, self.max_iter):
                chain.log_joint_before = self._log_joint(chain)

    def _count_anew(self, chain):
        """Let what is stored be the tokens and tables of the chain."""
        counts = chain.counts(self.n_features_in_, len(chain.tables))
        self._statistics = WordCounts.of(counts, scale=1.0 / chain.n_documents)
        self._tables = chain.tables / chain.n_documents

    def _log_joint(self, chain):
        return chain.log_joint(self._statistics.store, self._chain_settings())

    def _take_visit(self, visit, chain):
        """Let what is stored be what sampling a batch has made of it."""
        n, n_more = len(visit.tables), len(visit.tables) - self._n_trained
        if n_more > 0:
            self._statistics = of_topics(self._statistics, slice(None), n_spare=n_more)
            self._ids = padded(self._ids, n)
        statistics = self._statistics
        statistics.store[visit.words], statistics.totals[:] = visit.counts, visit.totals
        self._tables = visit.tables / chain.n_documents
        self._in_use = self._in_use[visit.made[self._in_use] == 0]  # what was made there has another name
        chain.take(visit)

    def _move_corpus(self, chain, n_passes):
        """Split and merge topics as the whole corpus says, and let its tokens go with them; returns moves."""
        window, n = chain.window(), self._n_trained
        key = self._key(WINDOW_KEY, self.n_batch_iter_)
        moves = self._new_moves(window, chain.n_documents, chain.tables > 0.0, key)
        moves.merge()
        if n_passes < self.max_iter - 1:
            # Before sampling has settled, what it finds for two topics it might as well have found for one.
            settling = self._log_joint(chain) - chain.log_joint_before
            moves.split(max(LEAST_GAIN, settling / np.count_nonzero(chain.tables)))
        else:  # not before: small topics that are dropped come back slowly
            moves.drop()
        numbers = [k for k, topic in sorted(moves.topics.items()) if len(topic.tokens)]
        column = np.zeros(max(numbers) + 1, dtype=np.int32)
        column[numbers] = np.arange(len(numbers))
        chain.z[:] = column[moves.assigned(len(chain.z))]
        weights = padded(np.array([moves.topics[k].prior for k in numbers]), len(numbers) + SPARE)
        chain.seat(weights, self._key(SEAT_KEY, n_passes))
        n_new = moves.n_numbers - n
        ids = np.append(self._ids, self._next_id + np.arange(n_new))
        self._next_id += n_new
        self._ids, self._in_use = padded(ids[numbers], len(weights)), np.arange(len(numbers))
        return named_moves(moves, ids)

    # The documents seen last

    @property
    def _window(self):
        return Window(*(getattr(self, f"_window_{field.name}") for field in fields(Window)))

    @_window.setter
    def _window(self, window):
        for field in fields(Window):
            setattr(self, f"_window_{field.name}", getattr(window, field.name))

    def _begin_window(self, target):
        """Begin a window of so many documents."""
        self._window, self._window_target = Window.empty(), np.array([target], dtype=np.float64)

    def _adopt_window(self):
        if "_window_target" not in vars(self):
            self._begin_window(FIRST_WINDOW)
            self.move_history_ = np.empty(0, dtype=MOVE)

    def _begin_window_anew(self):
        """Forget the documents seen last, whose tokens have the topics before an edit."""
        if "_window_target" in vars(self):
            self._begin_window(self._window_target[0])

    def _judges_by_window(self, update):
        """Whether documents of an update enter the window; the very first batch reads random topics."""
        return self.split_merge and CHAIN not in update.memory and self._n_topic_updates > 0

    def _ends_window(self, n_documents, n_tokens, update):
        """Whether a window of so many documents and tokens is large enough for moves."""
        return n_documents >= min(self._window_target[0], update.total_samples) or n_tokens >= MOST_TOKENS

    def _look_at(self, drawn, update):
        """Let the documents of a batch enter the window; at its end, split and merge topics."""
        self._window = window = self._window.with_batch(drawn.batch, drawn.topic)
        if self._ends_window(window.n_documents, window.n_tokens, update):
            self._window_target = 2.0 * self._window_target
            self._move(window, update)

    def _move(self, window, update):
        """Move topics as the window says."""
        if not window.is_consistent(self.n_features_in_, self._n_trained):
            raise damaged(self, "the topics of the documents seen last do not fit")
        ids = self._ids
        movable = np.ones(self._n_trained, dtype=bool)
        movable[self._statistics.frozen_columns] = False
        key = self._key(WINDOW_KEY, update.number)
        moves = self._new_moves(window, update.total_samples, movable, key)
        moves.merge()
        moves.drop()
        edit = moves.edit()
        self._edit_columns(edit)
        if not update.is_last_pass:  # what is new then has not been judged
            moves.split()
            root, *parts = moves.division()
            self._divide(edit.columns[root], *parts)
        self._note_moves(named_moves(moves, np.append(ids, self._ids[edit.n_left :])))

    def _new_moves(self, window, total_samples, movable, key):
        prior = self._doc_topic_prior(self._root_weights(total_samples))
        judge = Judge(self.topic_concentration_, self.topic_word_prior_, self.n_features_in_)
        times = max(1.0, total_samples / window.n_documents)
        return WindowMoves(window.topics(self._n_trained), prior, movable, judge, key, times)

    def _divide(self, topics, share, of_words):
        """Let parts of topics be topics of their own, behind the others.

        topics : (n_new,) columns; share : (n_new,) of their tables; of_words : (n_features, n_new) of what is
        stored of each word
        """
        n_new, tables = len(topics), self._tables[topics] * share
        self._statistics = divided_topics(self._statistics, topics, of_words)
        left = self._tables - np.bincount(topics, tables, minlength=len(self._tables))
        self._tables = np.append(np.maximum(left, 0.0), tables)
        self._ids = np.append(self._ids, self._next_id + np.arange(n_new))
        self._next_id += n_new
        self._in_use = np.arange(len(self._ids))


def named_moves(moves, ids):
    """The moves made, of identities; ids: of the topics by their numbers in the moves."""
    ids = np.append(ids, -1)  # where there is no other topic
    return [(kind, ids[topic], ids[other], gain) for kind, topic, other, gain in moves.made]
