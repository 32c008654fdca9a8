"""The topics, parameters and batch summaries of a corpus, and their updates."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma

from sktopic._documents._matrices import DocumentReader
from sktopic._runtime._arrays import columns_of
from sktopic._runtime._parallel import Workers
from sktopic._state._fields import changed, duplicate
from sktopic._topics._prior import SMALLEST
from sktopic._topics._word_count_edits import of_topics
from sktopic._topics._word_count_views import geometric, posterior_bound
from sktopic.hdp._direct_assignment_state import SMALLEST_WEIGHT, weights_bound, with_kept
from sktopic.hdp._document_inference import DocumentInference, start_without
from sktopic.hdp._memoized._bound import TopicWords, best_topic_word_prior, topics_of_documents
from sktopic.hdp._memoized._summaries import CellTopics
from sktopic.hdp._shared_parameters import best_concentration, best_topic_concentration, best_weights

# Number of fits of weights and concentrations to all documents per pass.
FITS = 4
# Iterations of the weights per fit. They continue from the last fit.
WEIGHT_ITERATIONS = 5


class MemoizedCorpus:
    """The topics of a corpus and the summaries of its batches.

    Parameters
    ----------
    topics : DirectAssignmentState, whose statistics are tokens, not means, and change with visits
    summaries : list of BatchSummary
    parameters : Parameters
    has_start : whether the topics were found in the documents; then they stay until the next recount
    """

    def __init__(self, topics, summaries, parameters, has_start=False):
        self.topics, self.summaries, self._parameters = topics, summaries, parameters
        self._unfitted, self._has_start = 0.0, has_start
        self.has_tokens = any(len(s.words.tokens) for s in summaries)

    @property
    def n_topics(self):
        return self.topics.n_topics

    def free(self):
        """Return the columns of topics that are not frozen."""
        return np.flatnonzero(~self.topics.are_frozen)

    def recount(self):
        """Recompute the statistics as sums over the batches, without the rounding errors of visits."""
        self._has_start = False
        words, free = self.topics.words, self.free()
        tokens = np.zeros_like(words.store)
        for summary in self.summaries:
            tokens[summary.words.row, summary.words.topic] += summary.words.tokens
        if len(free) == self.n_topics:
            self.topics = changed(self.topics, words=changed(words, store=tokens))
        else:
            words.store[:, free] = tokens[:, free]
        words.totals[free] = tokens[:, free].sum(axis=0)

    # The bound

    def bound(self):
        """Return the bound of the corpus, plus the log densities of log alpha and log gamma if learned.

        The statistics must be the sums over the batches.
        """
        topics, parameters = self.topics, self._parameters
        bound = self._bound_of_topics() + sum(float(s.entropy.sum()) for s in self.summaries)
        bound += topics_of_documents(self.summaries).bound(topics.doc_concentration, self._weights())
        bound += weights_bound(topics)
        for name in ("doc_concentration", "topic_concentration"):
            if parameters.learns(name):
                value, (shape, rate) = getattr(topics, name), getattr(parameters, f"{name}_prior")
                bound += shape * math.log(value) - rate * value
        return bound

    def _bound_of_topics(self):
        words, eta, free = self.topics.words, self.topics.topic_word_prior, self.free()
        bound = float(TopicWords(words.store[:, free]).bounds(eta).sum())
        if len(free) < self.n_topics:
            frozen = self.topics.are_frozen
            bound += posterior_bound(of_topics(words, frozen), 1.0, eta)
            for summary in self.summaries:
                data = self._log_words(summary) * summary.words.tokens
                bound += float(data[frozen[summary.words.topic]].sum())
        return bound

    def _weights(self):
        """Return beta such that alpha beta are the parameters of documents."""
        return self.topics.prior / self.topics.doc_concentration

    def geometric_topics(self):
        """Return the topics in the form for inference of documents."""
        return geometric(self.topics.words, 1.0, self.topics.topic_word_prior)

    def _log_words(self, summary):
        """Return E[log phi] of the entries of a summary."""
        topics, k = self.geometric_topics(), summary.words.topic
        lambda_ = topics.store[summary.words.row, k] * topics.scale[k] + topics.offset[k]
        return digamma(lambda_) - topics.norm[k]

    def part(self, summary):
        """Return the part of the bound from a batch under the present topics, without terms of lengths."""
        documents = topics_of_documents([summary])
        data = float((self._log_words(summary) * summary.words.tokens).sum())
        return data + float(summary.entropy.sum() + documents.gains(self.topics.prior).sum())

    # Visits

    def replace(self, b, summary):
        """Replace the summary of a batch, or append that of a new batch."""
        if not self.has_tokens and len(summary.words.tokens):
            if not self._has_start:
                self.topics.words.clear(self.free())  # they are random
            self.has_tokens = True
        if b < len(self.summaries):
            self._change(self.summaries[b].words, -1.0)
        self.summaries[b : b + 1] = [summary]
        self._change(summary.words, 1.0)
        self._unfitted += summary.n_documents
        if self._has_start or not self.has_tokens:
            return  # the first batches do not have all topics
        if self._unfitted * FITS >= sum(s.n_documents for s in self.summaries):
            self.fit_weights()

    def _change(self, sums, sign):
        """Add the Sums of words, times a sign, to the statistics of topics that are not frozen."""
        words, free = self.topics.words, ~self.topics.are_frozen
        some = free[sums.topic]
        word, topic, tokens = sums.row[some], sums.topic[some], sign * sums.tokens[some]
        words.store[word, topic] = np.maximum(words.store[word, topic] + tokens, 0.0)
        changes = np.bincount(topic, weights=tokens, minlength=self.n_topics)
        words.totals[free] = np.maximum(words.totals + changes, 0.0)[free]

    # Parameters

    def fit(self):
        """Maximize the bound over each learned parameter in turn."""
        self.fit_weights()
        topics, free = self.topics, self.free()
        if self._parameters.learns("topic_word_prior") and len(free):
            tokens = TopicWords(topics.words.store[:, free])
            best = best_topic_word_prior(tokens, topics.topic_word_prior)
            self.topics = changed(topics, topic_word_prior=best)

    def fit_weights(self):
        """Maximize the bound over the weights of topics and the concentrations."""
        topics, documents = self.topics, topics_of_documents(self.summaries)
        alpha, gamma, parameters = topics.doc_concentration, topics.topic_concentration, self._parameters
        self._unfitted = 0.0

        def bound(weights):
            rest = max(1.0 - float(weights.sum()), SMALLEST_WEIGHT)
            prior = np.maximum(alpha * weights, SMALLEST)
            return float(documents.gains(prior).sum()) + (gamma - 1.0) * math.log(rest)

        before, rest = topics.weights, topics.weight_left
        found = best_weights(documents, before, alpha, gamma, WEIGHT_ITERATIONS)
        # With gamma below 1 what is left to other topics is not at the maximum, which has nothing left.
        same_rest = found * ((1.0 - rest) / found.sum())
        self.topics = changed(topics, weights=max((before, found, same_rest), key=bound))
        if parameters.learns("doc_concentration"):
            prior = parameters.doc_concentration_prior
            best = best_concentration(documents, self._weights(), alpha, prior)
            self.topics = changed(self.topics, doc_concentration=best)
        if parameters.learns("topic_concentration"):
            best = best_topic_concentration(self.topics, parameters.topic_concentration_prior)
            self.topics = changed(self.topics, topic_concentration=best)

    # Moves

    def with_summaries(self, others):
        """Return a copy with other summaries of some batches (a dict), which shares nothing that changes."""
        topics = changed(self.topics, words=duplicate(self.topics.words))
        return self._replaced(topics, [others.get(b, s) for b, s in enumerate(self.summaries)])

    def without_empty(self):
        """Return the corpus without unused topics. Frozen topics and the largest topic always stay."""
        kept = self.topics.are_frozen
        kept[self.topics.weights.argmax()] = True
        for summary in self.summaries:
            kept[summary.words.topic] = True
        if kept.all():
            return self
        columns = np.where(kept, np.cumsum(kept) - 1, -1)
        moved = [s.moved(columns, s.entropy[kept]) for s in self.summaries]
        return self._replaced(with_kept(self.topics, kept), moved)

    def _replaced(self, topics, summaries):
        corpus = MemoizedCorpus(topics, summaries, self._parameters)
        corpus.has_tokens = self.has_tokens
        corpus.recount()
        return corpus

    def merge(self, merges):
        """Merge pairs of topics; each keeps its first topic, and no topic is the second of two pairs.

        The proposal of a Move is a dict from batches to the loss of their entropy. Returns tuples ("merge",
        topic, other, gain) of identities and nats.
        """
        topics, into = self.topics, np.arange(self.n_topics)
        for merge in merges:
            into[merge.topics[1]] = merge.topics[0]
        kept = into == np.arange(self.n_topics)
        columns = (np.cumsum(kept) - 1)[into]
        for b, summary in enumerate(self.summaries):
            entropy = np.bincount(columns, weights=summary.entropy)
            for merge in merges:
                entropy[columns[merge.topics[0]]] -= merge.proposal[b]
            self.summaries[b] = summary.moved(columns, entropy)
        names, weights = topics.ids.tolist(), np.bincount(columns, weights=topics.weights)
        self.topics = changed(with_kept(topics, kept), weights=weights)
        self.recount()
        return [("merge", *(names[k] for k in merge.topics), merge.gain) for merge in merges]


@dataclass(frozen=True)
class Visit:
    """A batch after inference in a pass.

    Attributes
    ----------
    number : number of the batch
    reader, rows : DocumentReader, and the numbers of its documents
    cells : CellTopics
    corpus : MemoizedCorpus before the visit
    infer : DocumentInference
    workers : Workers
    """

    number: int
    reader: DocumentReader
    rows: np.ndarray
    cells: CellTopics
    corpus: MemoizedCorpus
    infer: DocumentInference
    workers: Workers

    def without(self, topics, anew):
        """Return CellTopics of documents, inferred without topics. anew : (n_documents,) selects them."""
        state, cells = self.corpus.topics, self.cells
        kept = ~np.isin(np.arange(cells.n_topics), topics)
        batch, prior = self.reader.batch(self.rows[anew]), state.prior
        gathered = self.corpus.geometric_topics().gather(batch.words, prior, self.workers)
        gathered = replace(gathered, rows=columns_of(gathered.rows, kept))
        tokens = cells.by_document().dense(cells.batch.n_documents, cells.n_topics)[anew]
        start = prior[kept] + start_without(batch, tokens, kept)
        step = self.infer.step(state.rest + prior[~kept].sum())
        counts = step(batch, gathered, prior[kept], None, self.workers, gamma=start)
        found = CellTopics.of(counts, self.workers)
        return replace(found, topic=np.flatnonzero(kept)[found.topic], n_topics=len(kept))
