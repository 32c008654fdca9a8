"""The batch samplers: sweeps over all documents of a call, each of whose tokens has a topic."""

from abc import abstractmethod
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from sktopic._estimators._concurrency import changing, fits, trains, updating
from sktopic._estimators._editing import drop_topics, freeze_topics, merge_topics
from sktopic._estimators._fitted_arrays import COUNT, FLOAT
from sktopic._estimators._topic_model import TopicModel
from sktopic._inference._token_counts import add_tokens, tokens_of_words
from sktopic._kernels._rng import combine_keys
from sktopic._runtime._compat import CallbackSupportMixin, with_callbacks
from sktopic._runtime._interrupt import complete_or_undone
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import writable
from sktopic._topics._topic_rows import check_components_init
from sktopic._topics._word_count_edits import frozen_topics
from sktopic._topics._word_counts import WordCounts
from sktopic._training._monitor import FitMonitor, FitTasks
from sktopic._typing import DocumentsLike, MatrixLike

# Times that the counts of frozen topics are as large during a sweep: with any prior that is allowed, they are
# far beyond the tokens of a corpus then.
MANY = 2.0**200
# Tell the streams of one seed apart.
ASSIGNMENT_KEY = 0x61737369676E
SWEEP_KEY = 0x7377656570


class BatchSampler(CallbackSupportMixin, TopicModel):
    """Base class of the Gibbs samplers of a corpus.

    Documents of one call are swept ``max_iter`` times; those of earlier calls are in the counts, and never
    sampled again. A call is all or nothing up to its first complete sweep: if it fails before, the state is
    that before the call; after it, the state is that of the last complete sweep. `fit` leaves that only where
    it was interrupted.

    A subclass defines `_allocate`, `_adopt_settings`, `_begin_call`, `_assign_at_random`, `_sweep`, `_undo`
    and `_trace`.
    """

    max_iter: int
    evaluate_every: int
    topic_word_prior: float | MatrixLike | str | None
    verbose: int
    components_init: ArrayLike | None

    _statistics: WordCounts
    _fitted_states = {"_statistics": WordCounts}  # noqa: RUF012
    _fitted_arrays = {"log_likelihood_": (FLOAT, None)}  # noqa: RUF012
    _fitted_values = {**TopicModel._fitted_values, "n_iter_": COUNT, "_n_sweeps": COUNT}  # noqa: RUF012

    # Fitted arrays with an entry for every evaluate_every sweeps of a call.
    _traces: ClassVar[tuple[str, ...]] = ("log_likelihood_",)

    @abstractmethod
    def _allocate(self, n_features):
        """Set the state before the first document; allocate before anything is set."""

    @abstractmethod
    def _adopt_settings(self):
        """Let partial_fit go on with parameters that were changed since the last call."""

    @abstractmethod
    def _begin_call(self, X):
        """Return what stands for the documents of X, changing nothing.

        It has ``n_documents``, and ``entered``: whether they are in the counts.
        """

    @abstractmethod
    def _assign_at_random(self, call):
        """Let the tokens of the first documents start from uniformly random topics."""

    @abstractmethod
    def _sweep(self, call, workers):
        """Draw the topic of every token of the call once, and all that depends on them."""

    @abstractmethod
    def _undo(self, call):
        """Return a function that undoes, in arrays, what a sweep from now on has done."""

    @abstractmethod
    def _trace(self, call):
        """Return what is added to the traces, in the order of ``_traces``."""

    @fits
    @with_callbacks
    def fit(self, X: DocumentsLike, y: object = None) -> Self:
        """Sample the topics of a corpus, from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. All of them are held in memory, with the topics of
            their tokens, at 50 to 84 bytes a token (see :doc:`/guide/large_corpora`): a corpus on disk, or
            blocks, save but the memory of the matrix.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is out of range, or X is not a valid count matrix or changes meanwhile. If `fit`
            raises this or any other error, the estimator keeps its earlier fit.
        RuntimeError
            If another thread is training this object, or a parameter is set during the call.
        KeyboardInterrupt
            Is passed on. The state is that of the last complete sweep, or the mean of the draws collected so
            far; before the first complete sweep, that before the call.
        """
        self._check_settings()
        self._sample(X, y, self._begin_anew, reporting=True)
        return self

    @trains
    def partial_fit(self, X: DocumentsLike, y: object = None) -> Self:
        """Add documents: sample their topics given the counts of all earlier ones, which stay as they are.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. All of them are held in memory, with the topics of
            their tokens, at 50 to 84 bytes a token (see :doc:`/guide/large_corpora`): a corpus on disk, or
            blocks, save but the memory of the matrix.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError, RuntimeError, KeyboardInterrupt
            As in `fit`; ValueError also for a parameter that cannot change once sampling has begun. After an
            error the state is that of the last complete sweep; before the first one, that before the call.
        """
        self._check_settings()
        is_first = not hasattr(self, "n_samples_seen_")
        begin = partial(self._begin_anew, streamed=True) if is_first else self._go_on
        self._sample(X, y, begin, reporting=False)
        return self

    def _start(self, n_features):
        self._allocate(n_features)
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.n_samples_seen_ = self._n_sweeps = self.n_iter_ = 0
        self._clear_traces()
        self._adopt_settings()

    def _go_on(self, X):
        """Let the state go on with the present parameters; returns the Documents of X."""
        self._checked()._check_continuation()
        documents = self._documents(X)
        for name in self._fitted_arrays:  # sweeps change those that a memory map may protect
            setattr(self, name, np.require(getattr(self, name), requirements="W"))
        self._statistics = writable(self._statistics)
        self._adopt_settings()
        return documents

    def _check_continuation(self):
        """Raise ValueError for parameters that cannot change once sampling has begun."""

    def _sample(self, X, y, begin, reporting):
        """All sweeps over the documents of a call, which enter the counts with the first of them.

        begin : function of X that lets the state be that before the first sweep, and returns its documents
        reporting : whether callbacks are told
        """
        call, undo_first_sweep = None, []

        def undo():
            stack.enter_context(changing(self))  # until the attributes are restored, too
            for undo_sweep in undo_first_sweep:  # which may be complete already
                undo_sweep()
            if call is not None:
                call.entered = False

        try:
            try:
                with Workers(self.n_jobs) as workers, FitMonitor(self) as monitor:
                    # Up to the first complete sweep, nothing has happened.
                    with ExitStack() as stack, complete_or_undone(self, undo):
                        with changing(self):
                            documents = begin(X).matrix()
                            self._check_undisturbed()  # by an iterator that has given them
                            call = self._begin_call(documents)
                            undo_first_sweep.append(self._undo(call))
                        max_iter = int(self.max_iter)
                        monitor.begin(call.n_documents * max_iter, passes=("sweep", max_iter))
                        tasks = FitTasks(self, X, y, self.max_iter, 1, reporting)
                        self._complete_sweep(1, call, tasks, workers)
                    sweep = 1
                    while True:
                        self._after_sweep(sweep, call)
                        if self.evaluate_every and sweep % self.evaluate_every == 0:
                            self._note(call)
                        monitor.begin_pass()
                        monitor.after_update(call.n_documents)
                        stop = tasks.end_update()
                        if tasks.end_epoch() or stop or sweep == self.max_iter:
                            break
                        self._complete_sweep(sweep + 1, call, tasks, workers)
                        sweep += 1
            finally:
                self._leave(call)
        finally:  # where Ctrl-C came before the other had begun
            self._leave(call)
        tasks.end()

    def _complete_sweep(self, sweep, call, tasks, workers):
        """One sweep; or none, if it fails."""
        tasks.begin_epoch()
        tasks.begin_update()
        self._check_undisturbed()
        with changing(self), complete_or_undone(self, self._undo(call)):
            if sweep == 1:
                if self.n_samples_seen_ == 0:
                    self._assign_at_random(call)
                self._enter(call)
                self._clear_traces()
            self._raise(call)
            self._sweep(call, workers)
            self._hold(call)
            self.n_iter_ = sweep
            self._n_sweeps += 1

    def _initial_topics(self, documents, draws):
        """Topics (n_clumps,) of the tokens of documents, sorted by words, from uniform random numbers."""
        n_topics = self._n_first_topics()
        if self.components_init is None:
            return (draws * n_topics).astype(np.int32)
        given = check_components_init(self.components_init, len(self._statistics.store), n_topics)
        z, first = np.empty(len(draws), dtype=np.int32), 0
        for w, n in zip(documents.words, tokens_of_words(documents)):
            weights = given[:, w] if given[:, w].any() else np.ones(len(given))
            cumulative = np.cumsum(weights)
            tokens = slice(first, first + n)
            z[tokens] = np.searchsorted(cumulative[:-1], draws[tokens] * cumulative[-1], side="right")
            first += n
        return z

    def _n_first_topics(self):
        """The number of topics that tokens start from: no more than the counts have columns."""
        return len(self._statistics.totals)

    def _sweep_key(self):
        return combine_keys(self._seed, SWEEP_KEY, self._n_sweeps)

    def _enter(self, call):
        """Note that the documents are in the counts from now on."""
        self.n_samples_seen_ += call.n_documents
        call.entered = True

    def _leave(self, call):
        """End a call, once; one that was interrupted keeps the documents it has swept."""
        if call is not None and call.entered:
            with updating(self):
                self._end_call(call)
                call.entered = False

    def _after_sweep(self, sweep, call):
        """Do what comes after a sweep, if there is anything."""

    def _end_call(self, call):
        """Do what comes after the last complete sweep, if there is anything."""

    # Edits of topics

    merge_topics = merge_topics
    drop_topics = drop_topics
    freeze_topics = freeze_topics

    def _columns(self):
        return np.arange(self.n_components_)

    def _frozen_columns(self):
        return self._statistics.frozen_columns

    def _has_topics(self):
        return bool(self._statistics.totals.any())

    def _freeze_columns(self, columns):
        self._statistics = frozen_topics(self._statistics, columns, 1.0, self.topic_word_prior_)

    @property
    def _held(self):
        """The columns of frozen topics."""
        return self._statistics.frozen_columns

    def _hold(self, call):
        """Let the counts of frozen topics be those of before the call."""
        held = self._held
        if len(held):
            self._statistics.store[call.words[:, None], held] = call.counts_before[:, held]
            self._statistics.totals[held] = call.totals_before[held]

    def _raise(self, call):
        """Let frozen topics have so many tokens that those of the call are nothing beside them.

        Numbers that are larger by more than 2 ** 53 do not change when tokens are added or removed. What a
        word weighs in these topics, (n_kw + beta) / (n_k + V beta), is then what it was, since the factor is
        a power of two.
        """
        held = self._held
        if len(held):
            beta, sums = self._frozen_parameters(call.words)
            self._statistics.store[call.words[:, None], held] = MANY * (call.counts_before[:, held] + beta)
            self._statistics.totals[held] = MANY * (call.totals_before[held] + sums)

    def _frozen_parameters(self, words):
        """Dirichlet parameters of words in frozen topics, and their sums over all words."""
        beta = self._statistics.frozen[1, self._held]
        return beta, len(self._statistics.store) * beta

    def _log_frozen(self, call, documents):
        """Log probability of the words in frozen topics; documents: a list of what has their tokens."""
        held = self._held
        if not len(held):
            return 0.0
        beta, sums = self._frozen_parameters(call.words)
        column = np.full(len(self._statistics.totals), -1, dtype=np.int32)
        column[held] = np.arange(len(held))
        tokens = np.zeros((len(self._statistics.store), len(held)))
        for some in documents:
            add_tokens(replace(some, z=column[some.z]), tokens)
        tokens, counts = tokens[call.words], self._statistics.store[call.words][:, held]
        present = tokens > 0
        log_phi = np.log(counts + beta) - np.log(self._statistics.totals[held] + sums)
        return float((tokens[present] * log_phi[present]).sum())

    # Traces

    def _clear_traces(self):
        for name in self._traces:
            setattr(self, name, np.empty(0, dtype=self._fitted_arrays[name][0]))

    def _note(self, call):
        values = self._trace(call)
        with updating(self):
            for name, value in zip(self._traces, values):
                trace = getattr(self, name)
                setattr(self, name, np.append(trace, np.array(value, dtype=trace.dtype)))
