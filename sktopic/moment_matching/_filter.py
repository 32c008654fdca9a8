"""What the moment-matching models share: a posterior that tokens update one after the other."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

import numpy as np
from sklearn.utils import check_random_state

from sktopic._documents._matrices import DocumentReader
from sktopic._documents._sources import Documents, MatrixDocuments
from sktopic._estimators._concurrency import changing, fits, trains, updating
from sktopic._estimators._constraints import PRIOR, SHARED
from sktopic._estimators._fitted_arrays import COUNT, FLOAT, NUMBER
from sktopic._estimators._topic_posteriors import TopicPosteriors
from sktopic._kernels._groups import MatchedTopics, TokenStream
from sktopic._kernels._moment_matching import (
    FIRST,
    FIXED,
    MAX_TOKENS,
    SECOND,
    SUM,
    filter_tokens,
    list_tokens,
    permutation,
)
from sktopic._kernels._rng import combine_keys, position_keys, uniforms
from sktopic._runtime._arrays import BLOCK_ENTRIES, by_blocks, columns_of, row_blocks, rows_and_more
from sktopic._runtime._compat import CallbackSupportMixin, StrOptions, with_callbacks
from sktopic._runtime._interrupt import complete_or_undone
from sktopic._runtime._parallel import Workers
from sktopic._topics._prior import check_prior
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic._training._monitor import FitMonitor, FitTasks
from sktopic._typing import DocumentsLike
from sktopic.moment_matching._document_step import MomentMatchingStep
from sktopic.moment_matching._prior import added, document_moments, matched_prior, moved, prior_moments

MATCHES = {"first": FIRST, "second": SECOND, "sum": SUM}
# Tell the streams of one seed apart.
TOPICS_KEY = 0x746F70696373
DOCUMENT_KEY = 0x646F63
CORPUS_KEY = 0x636F72707573
# Documents whose proportions are in memory at once, unless the tokens of all are mixed; also those between
# two updates of a prior that is learned.
GROUP_SIZE = 64
# Topics that are equal would stay so, unless the number of topics tells them apart.
NOISE = 0.5
# Tokens that one random order can have.
MOST_MIXED = 2**32
# Tokens times parameters of a document between two looks for Ctrl-C: some milliseconds.
SLICE_WORK = 5_000_000
# ... and inside a document.
LONGEST_WORK = 2 * SLICE_WORK


@dataclass(frozen=True)
class Stream:
    """The documents of a call, in the way their tokens are visited.

    Attributes
    ----------
    documents : Documents, a matrix if is_mixed
    alpha : (n, n_parameters) float64, space for the proportions of the n documents that are read at once
    is_mixed : whether the tokens of all documents come in one random order
    """

    documents: Documents
    alpha: np.ndarray
    is_mixed: bool

    def n_updates(self):
        """Updates that a call reports to callbacks."""
        return 1 if self.is_mixed else max(1, -(-self.documents.n_documents // len(self.alpha)))


class MomentMatchingModel(CallbackSupportMixin, TopicPosteriors):
    """Base class: fits the topics' Dirichlet posteriors by one pass over the tokens.

    A subclass sets ``_model``, which tells the kernel what it is.
    """

    _model = FIXED

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "topic_word_prior": [PRIOR, None],
        "second_moment": [StrOptions(set(MATCHES))],
        "shuffle": [StrOptions({"corpus", "document"}), None],
    }

    _fitted_arrays = {  # noqa: RUF012
        "_store": (FLOAT, "features", "topics"),
        "_scale": (FLOAT, "topics"),
        "_sums": (FLOAT, "topics"),
        "_spread": (FLOAT, "topics"),
        "_prior": (FLOAT, "topics"),
        "_gamma": (FLOAT, "numbers"),
        "_lag": (FLOAT, "numbers"),
        "_marginal": (FLOAT, 2),
        "_average_moments": (FLOAT, None),
        "_group_moments": (FLOAT, None),
        "doc_topic_prior_": (FLOAT, "components"),
    }
    _fitted_values = {  # noqa: RUF012
        **TopicPosteriors._fitted_values,
        "n_components_": COUNT,
        "n_tokens_seen_": NUMBER,
        "log_marginal_likelihood_": NUMBER,
        "_n_prior_updates": COUNT,
    }

    @fits
    @with_callbacks
    def fit(self, X: DocumentsLike, y: object = None) -> Self:
        """Learn the topics of a corpus from scratch, by one pass over its tokens.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. A corpus on disk, or blocks, are read bit by bit,
            unless ``shuffle='corpus'`` mixes all tokens.
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
            Is passed on; the state is the posterior given the tokens seen so far.
        """
        self._check_settings()
        stream = self._begin(X, streamed=False)
        tasks = FitTasks(self, X, y, 1, stream.n_updates())
        tasks.begin_epoch()
        self._observe(stream, tasks)
        tasks.end_epoch()
        tasks.end()
        self._warn_at_limit()
        return self

    @trains
    def partial_fit(self, X: DocumentsLike, y: object = None) -> Self:
        """Update the posterior by the tokens of more documents.

        With ``shuffle='document'`` or None, several calls are the same, bit for bit, as one with all the
        documents.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. A row is a whole document.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError, RuntimeError
            As in `fit`, or if n_components or one of the priors that the first call began with was changed.
            After an error the state is the posterior given the tokens seen so far.
        """
        self._check_settings()
        if not hasattr(self, "n_samples_seen_"):
            stream = self._begin(X, streamed=True)
        else:
            self._checked()._check_continuation()
            stream = self._stream(self._documents(X), len(self._sums))
            self._check_undisturbed()
            with changing(self), complete_or_undone(self, waits=True):
                self._adopt_settings()
        self._observe(stream, FitTasks(self, X, y, 1, 1, reporting=False))
        return self

    def _warn_at_limit(self):
        """Warn where n_components is the largest number of topics that may be inferred, and was."""

    def _posterior_parameters(self):
        return self.components_ * self._sums[: self.n_components_, None]

    def _check_settings(self):
        super()._check_settings()
        check_prior(self.doc_topic_prior, self.n_components)

    def _check_continuation(self):
        """Raise ValueError for parameters that cannot change once there is a posterior."""
        self._check_same_number(len(self._sums))
        if self._given_topic_word_prior(self.n_features_in_) != self.topic_word_prior_:
            raise ValueError(
                f"topic_word_prior={self.topic_word_prior!r} differs from {self.topic_word_prior_:g}, with "
                "which training began; set it back, or call fit to start anew."
            )

    def _given_topic_word_prior(self, n_features):
        return n_features**-0.5 if self.topic_word_prior is None else float(self.topic_word_prior)

    def _topic_probabilities(self):
        return self._leading_topics(self.n_components_)

    def _leading_topics(self, n_components):
        """The first topics, a TopicProbabilities."""
        store = self._store
        if n_components < store.shape[1]:
            store = columns_of(store, slice(n_components))
        return TopicProbabilities(store, self._scale[:n_components], np.zeros(n_components))

    def _transform_step(self):
        """That under the topics in use, which are then a fixed number."""
        return self._step(FIXED, np.ones(1))

    def _step(self, model, gamma):
        return MomentMatchingStep(model, MATCHES[self.second_moment], self.shuffle is not None, gamma)

    # The state

    def _begin(self, X, streamed):
        """Set the state to the prior, all or nothing; returns the Stream of X."""
        stream = []

        def select(begun, documents):
            stream.append(begun._stream(documents, int(begun.n_components)))  # which may raise
            return stream[0].documents

        documents = self._begin_anew(X, select, streamed=streamed)
        return replace(stream[0], documents=documents)

    def _start(self, n_features):
        vars(self).update(self._prior_state(n_features))
        self._start_learning()
        self._report()

    def _prior_state(self, n_features):
        """The fitted state that the first token finds."""
        n_components = self.n_components
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        gamma, lag = self._number_prior(n_features)
        shape, noise = (n_features, n_components), self._initial_noise(gamma)
        store = uniforms(combine_keys(seed, TOPICS_KEY), math.prod(shape)) if noise else np.empty(shape)
        store = store.reshape(shape)
        for rows in row_blocks(store):
            store[rows] = 1.0 + noise * (2.0 * store[rows] - 1.0) if noise else 1.0
        masses, topic_word_prior = store.sum(axis=0), self._given_topic_word_prior(n_features)
        for rows in row_blocks(store):
            store[rows] /= masses
        return {
            "_seed": seed,
            "_gamma": gamma,
            "_lag": lag,
            "_store": store,
            "_scale": np.ones(n_components),
            "_sums": topic_word_prior * masses,
            "_spread": 1.0 - by_blocks(np.square, store).sum(axis=0),
            "_prior": check_prior(self.doc_topic_prior, n_components),
            "_marginal": np.zeros(2),
            "n_samples_seen_": 0,
            "topic_word_prior_": topic_word_prior,
        }

    def _initial_noise(self, gamma):
        """Half the width of the uniform noise around one that the initial topics are multiplied by."""
        return NOISE

    def _adopt_settings(self):
        """Let partial_fit go on with parameters that were changed since the last call."""
        for name in ("_store", "_scale", "_sums", "_spread", "_gamma", "_lag", "_marginal"):
            setattr(self, name, np.require(getattr(self, name), requirements="W"))
        if not self._learns_prior:
            self._prior = check_prior(self.doc_topic_prior, len(self._sums))
        if self._learns_prior != (len(self._average_moments) > 0):
            self._start_learning()

    def _add_words(self, n):
        """Of a new word, the parameter is topic_word_prior; None stands for that of all words together."""
        self.topic_word_prior_ = self._given_topic_word_prior(self.n_features_in_ + n)
        sums = self._sums + n * self.topic_word_prior_
        store = rows_and_more(self._store, n)
        factor = self._scale * self._sums / sums
        for rows in row_blocks(store):
            store[rows] *= factor
        store[-n:] = self.topic_word_prior_ / sums
        self._store, self._scale, self._sums = store, np.ones_like(self._scale), sums
        self._spread = 1.0 - by_blocks(np.square, store).sum(axis=0)

    def _number_prior(self, n_features):
        """gamma and lag (see _kernels._moment_matching) before the first token."""
        return np.ones(1), np.zeros(1)

    def _number_in_use(self):
        return len(self._sums)

    def _report(self):
        """Set the attributes that follow from the state."""
        self.n_components_ = self._number_in_use()
        self.doc_topic_prior_ = self._prior[: self.n_components_].copy()
        self.log_marginal_likelihood_, self.n_tokens_seen_ = self._marginal.tolist()

    # The pass over the tokens

    def _observe(self, stream, tasks):
        with FitMonitor(self) as monitor:
            monitor.begin(stream.documents.n_documents)
            try:
                if stream.is_mixed:
                    self._observe_mixed(stream.documents.matrix(), stream.alpha, tasks, monitor)
                else:
                    for X in stream.documents.blocks():
                        if self._observe_in_order(X, stream.alpha, tasks, monitor):
                            break
            finally:  # an interrupted call keeps what it has seen
                self._report()

    def _observe_in_order(self, documents, alpha, tasks, monitor):
        """Document by document; groups end at the same documents however many calls and blocks there are.

        Returns whether a callback asks to end.
        """
        reader, first = DocumentReader(documents), 0
        key, no_keys = combine_keys(self._seed, DOCUMENT_KEY), np.empty(0, dtype=np.uint64)
        while first < documents.shape[0]:
            tasks.begin_update()
            self._check_undisturbed()
            last = min(first + GROUP_SIZE - self.n_samples_seen_ % GROUP_SIZE, documents.shape[0])
            batch = reader.batch(np.arange(first, last))
            keys = position_keys(key, self.n_samples_seen_, last - first) if self.shuffle else no_keys
            document, word, weight = list_tokens(batch.indptr, batch.cell_word, batch.cell_count, keys)
            tokens = document, batch.words[word], weight, _begins(document)
            for some in _slices(document, last - first, alpha.shape[1]):
                begin, end = np.searchsorted(document, (some.start, some.stop))
                for bounds in _pieces(begin, end, alpha.shape[1]):
                    with updating(self):
                        self._filter(*(array[bounds] for array in tokens), alpha)
                        if bounds.stop == end:
                            self._end_documents(alpha[some], batch.lengths[some])
                        self._report()
            monitor.after_update(last - first)
            first = last
            if tasks.end_update():
                return True
        return False

    def _observe_mixed(self, documents, alpha, tasks, monitor):
        """The tokens of all documents of the call in one random order."""
        tasks.begin_update()
        self._check_undisturbed()
        n_documents = documents.shape[0]
        reader = DocumentReader(documents)
        batch = reader.batch(np.arange(n_documents))
        in_order = np.empty(0, dtype=np.uint64)
        document, word, weight = list_tokens(batch.indptr, batch.cell_word, batch.cell_count, in_order)
        order = permutation(combine_keys(self._seed, CORPUS_KEY, self.n_samples_seen_), len(word))
        tokens = document[order], batch.words[word[order]], weight[order], _begins(document[order])
        size = max(1, SLICE_WORK // alpha.shape[1])
        for first in range(0, len(word), size):
            piece = slice(first, first + size)
            with updating(self):
                self._filter(*(array[piece] for array in tokens), alpha)
                self._report()
            monitor.after_update(n_documents * len(word[piece]) / len(word))
        self.n_samples_seen_ += n_documents
        if self._learns_prior:
            self._learn_prior_afterwards(reader, n_documents)
        tasks.end_update()

    def _stream(self, documents, n_topics):
        """The Stream of Documents for a model of so many topics."""
        if self.shuffle != "corpus":
            return Stream(documents, np.empty((GROUP_SIZE, self._document_size(n_topics))), is_mixed=False)
        documents, n_tokens = MatrixDocuments(documents.matrix()), 0.0
        data = documents.matrix().data
        for first in range(0, len(data), BLOCK_ENTRIES):
            tokens = np.ceil(data[first : first + BLOCK_ENTRIES], dtype=np.float64)
            n_tokens += np.minimum(tokens, MAX_TOKENS).sum()
        if n_tokens >= MOST_MIXED:
            raise ValueError(
                f"shuffle='corpus' with {n_tokens:.0f} tokens in X: fewer than {MOST_MIXED} are allowed; "
                "call partial_fit with parts of X, or take shuffle='document'."
            )
        alpha = np.empty((documents.n_documents, self._document_size(n_topics)))
        return Stream(documents, alpha, is_mixed=True)

    def _document_size(self, n_topics):
        """Parameters of the proportions of one document."""
        return n_topics

    def _start_of_document(self):
        """The parameters of the proportions of a document that has no tokens yet."""
        return self._prior

    def _filter(self, document, word, weight, begins, alpha):
        """Update the posterior by some tokens."""
        filter_tokens(
            model=self._model,
            match=MATCHES[self.second_moment],
            tokens=TokenStream(document, word, weight, begins),
            start=self._start_of_document(),
            alpha=alpha,
            gamma=self._gamma,
            lag=self._lag,
            topics=MatchedTopics(self._store, self._scale, self._sums, self._spread),
            marginal=self._marginal,
            predictive=np.empty(0),  # not wanted
        )

    # The prior of the proportions

    @property
    def _learns_prior(self):
        return isinstance(self.doc_topic_prior, str)

    def _start_learning(self):
        """Let the averages begin at the present prior, of the topics in use; they are always of these."""
        averages = prior_moments(self._prior[: self._number_in_use()]) if self._learns_prior else np.empty(0)
        self._average_moments = averages
        self._group_moments = np.zeros(len(self._average_moments) + 1)
        self._n_prior_updates = 0

    def _end_documents(self, alpha, lengths):
        """Count documents that were read in order, and learn from the parameters of their proportions."""
        self.n_samples_seen_ += len(lengths)
        if self._learns_prior:
            self._learn_prior(self._alpha_under(alpha[lengths > 0], len(self._average_moments) - 1))
            if self.n_samples_seen_ % GROUP_SIZE == 0:
                self._update_prior()

    def _alpha_under(self, alpha, n_topics):
        """Of the parameters of documents' proportions, those under a number of topics."""
        return alpha

    def _learn_prior(self, alpha):
        """Take in the proportions of finished documents, given by their parameters."""
        self._group_moments = added(self._group_moments, document_moments(alpha))

    def _update_prior(self):
        """Follow what a group of documents has told; where the topics in use have changed, begin anew."""
        if len(self._average_moments) != self._number_in_use() + 1:
            self._start_learning()
            return
        if self._group_moments[-1] == 0.0:
            return
        self._average_moments = moved(self._average_moments, self._group_moments, self._n_prior_updates)
        self._group_moments = np.zeros_like(self._group_moments)
        self._n_prior_updates += 1
        self._prior = matched_prior(self._average_moments, self.doc_topic_prior, self._prior)

    def _learn_prior_afterwards(self, reader, n_documents):
        """Where all documents end at once: infer them again, topics held fixed, and learn group by group."""
        if len(self._average_moments) != self._number_in_use() + 1:
            self._start_learning()
        topics, step = self._topic_probabilities(), self._transform_step()
        key = combine_keys(self._seed, DOCUMENT_KEY)
        with Workers(1) as workers:
            for first in range(0, n_documents, GROUP_SIZE):
                batch = reader.batch(np.arange(first, min(first + GROUP_SIZE, n_documents)))
                prior = self._prior[: len(topics.scale)]
                gathered = topics.gather(batch.words, prior, workers)
                keys = position_keys(key, first, batch.n_documents)
                alpha = step(batch, gathered, prior, keys, workers, with_parameters=True).alpha
                with updating(self):
                    self._learn_prior(alpha[batch.lengths > 0])
                    if self._group_moments[-1] >= GROUP_SIZE:
                        self._update_prior()
                    self._report()


def _begins(document):
    """Whether each token is the first of its document, uint8."""
    begins = np.zeros(len(document), dtype=np.uint8)
    begins[np.unique(document, return_index=True)[1]] = 1
    return begins


def _pieces(begin, end, size):
    """Ranges of tokens: usually all of them; a document that is long by itself has several."""
    most = max(1, LONGEST_WORK // size)
    return [slice(first, min(first + most, end)) for first in range(begin, max(end, begin + 1), most)]


def _slices(document, n_documents, size):
    """Ranges of documents between two looks for Ctrl-C; document: that of each token, in order."""
    work = np.cumsum(np.bincount(document, minlength=n_documents)) * size // SLICE_WORK
    bounds = [0, *(np.flatnonzero(np.diff(work)) + 1).tolist(), n_documents]
    return [slice(first, last) for first, last in pairwise(bounds)]
