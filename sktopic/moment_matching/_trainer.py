"""One pass of a filter over the tokens of a call."""

from dataclasses import dataclass

import numpy as np

from sktopic._documents._matrices import DocumentReader
from sktopic._documents._sources import MatrixDocuments
from sktopic._estimators._concurrency import updating
from sktopic._estimators._topic_model import TopicModel
from sktopic._kernels.random._rng import combine_keys, position_keys
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import changed
from sktopic._training._monitor import FitMonitor, FitTasks
from sktopic.moment_matching._method import GROUP_SIZE, FilterMethod
from sktopic.moment_matching._prior import with_documents
from sktopic.moment_matching._tokens import NO_KEYS, Tokens, count_tokens

# Keys that separate the random streams of one seed.
DOCUMENT_KEY = 0x646F63
CORPUS_KEY = 0x636F72707573
# Largest number of tokens in one random order.
MOST_MIXED = 2**32


def documents_to_filter(documents, method):
    """Return the Documents as a filter reads them: a matrix if all tokens come in one random order."""
    if method.shuffle != "corpus":
        return documents
    documents = MatrixDocuments(documents.matrix())
    n_tokens = count_tokens(documents.matrix())
    if n_tokens >= MOST_MIXED:
        raise ValueError(
            f"shuffle='corpus' with {n_tokens:.0f} tokens in X is invalid: must be fewer than {MOST_MIXED}. "
            "Call partial_fit with parts of X, or set shuffle='document'."
        )
    return documents


def n_updates(documents, method):
    """Return the number of updates that a call reports to callbacks."""
    return 1 if method.shuffle == "corpus" else max(1, -(-documents.n_documents // GROUP_SIZE))


def filter_stream(model, method, documents, tasks):
    """Update the state of a model by the tokens of Documents. An interrupted call keeps the tokens seen.

    tasks : FitTasks
    """
    is_mixed = method.shuffle == "corpus"
    # For the proportions of the documents that are read at once.
    n_at_once = documents.n_documents if is_mixed else GROUP_SIZE
    alpha = np.empty((n_at_once, method.form.size(int(method.n_components))))
    tasks.begin_epoch()
    with FitMonitor(model) as monitor:
        monitor.begin(documents.n_documents)
        call = _Call(model, method, tasks, monitor)
        if is_mixed:
            call.filter_mixed(documents.matrix(), alpha)
        else:
            call.filter_in_order(documents, alpha)
    tasks.end_epoch()
    tasks.end()


@dataclass(frozen=True)
class _Call:
    """A call that trains a model. Ctrl-C and readers see the state only after complete steps.

    Attributes
    ----------
    model : the estimator, whose ``_state`` is the FilterState
    method : FilterMethod
    tasks : FitTasks
    monitor : FitMonitor
    """

    model: TopicModel
    method: FilterMethod
    tasks: FitTasks
    monitor: FitMonitor

    def filter_in_order(self, documents, alpha):
        """Filter document by document until a callback asks to stop."""
        for X in documents.blocks():
            reader, first = DocumentReader(X), 0
            while first < X.shape[0]:
                # Groups end at the same documents for any number of calls and blocks.
                n_left = GROUP_SIZE - self.model._state.n_documents % GROUP_SIZE
                last = min(first + n_left, X.shape[0])
                self.tasks.begin_update()
                self.model._check_undisturbed()
                self._filter_group(reader.batch(np.arange(first, last)), alpha)
                self.monitor.after_update(last - first)
                first = last
                if self.tasks.end_update():
                    return

    def _filter_group(self, batch, alpha):
        model, method = self.model, self.method
        keys = NO_KEYS
        if method.shuffle is not None:
            key = combine_keys(model._state.seed, DOCUMENT_KEY)
            keys = position_keys(key, model._state.n_documents, batch.n_documents)
        tokens = Tokens.in_order(batch, keys)
        for some, ended in tokens.document_parts(batch.n_documents, alpha.shape[1]):
            with updating(model):
                self._absorb(some, alpha)
                if ended is not None:
                    model._state = method.end_documents(model._state, alpha[ended], batch.lengths[ended])

    def _absorb(self, tokens, alpha):
        """Set the state after each call of `absorb`, so that an error in the next call leaves it intact."""
        model, method, first = self.model, self.method, 0
        while first < len(tokens):
            last = min(len(tokens), first + method.most_tokens(model._state))
            model._state = method.absorb(model._state, tokens.part(slice(first, last)), alpha)
            first = last

    def filter_mixed(self, X, alpha):
        """Filter the tokens of all documents X in one random order."""
        model, method, n_documents = self.model, self.method, X.shape[0]
        self.tasks.begin_update()
        model._check_undisturbed()
        reader = DocumentReader(X)
        key = combine_keys(model._state.seed, CORPUS_KEY, model._state.n_documents)
        tokens = Tokens.mixed(reader.batch(np.arange(n_documents)), key)
        for some in tokens.parts(alpha.shape[1]):
            with updating(model):
                self._absorb(some, alpha)
            self.monitor.after_update(n_documents * len(some) / len(tokens))
        with updating(model):
            model._state = changed(model._state, n_documents=model._state.n_documents + n_documents)
        if method.learns_prior:
            self._learn_prior(reader, n_documents)
        self.tasks.end_update()

    def _learn_prior(self, reader, n_documents):
        """Infer all documents again with fixed topics, and learn the prior group by group."""
        model, method = self.model, self.method
        with updating(model):
            model._state = method.for_topics_in_use(model._state)
        topics, step = model._state.topics_in_use(), method.prediction()
        key = combine_keys(model._state.seed, DOCUMENT_KEY)
        with Workers(1) as workers:
            for first in range(0, n_documents, GROUP_SIZE):
                batch = reader.batch(np.arange(first, min(first + GROUP_SIZE, n_documents)))
                prior = model._state.prior_in_use
                gathered = topics.gather(batch.words, prior, workers)
                keys = position_keys(key, first, batch.n_documents)
                alpha = step(batch, gathered, prior, keys, workers, with_parameters=True).alpha
                with updating(model):
                    moments = with_documents(model._state.moments, alpha[batch.lengths > 0])
                    state = changed(model._state, moments=moments)
                    if state.moments.group[-1] >= GROUP_SIZE:
                        state = method.with_learned_prior(state)
                    model._state = state
