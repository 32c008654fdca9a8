"""Mean-field inference of documents under direct assignment, from several starts."""

from dataclasses import dataclass, replace

import numpy as np

from sktopic._inference import VariationalStep
from sktopic._runtime._arrays import columns_of
from sktopic._topics._word_count_views import geometric, probabilities

# Part of a word's tokens, the loss of which lets a document start from equal shares of the topics left.
LARGE_LOSS = 0.5


@dataclass(frozen=True)
class DocumentInference:
    """Mean-field inference of the documents of a batch, given a DirectAssignmentState.

    Attributes
    ----------
    max_iter, tol : limits of the iterations
    expectation : of topics: "geometric" means, exp E[log phi], or "mean", E[phi]
    """

    max_iter: int
    tol: float
    expectation: str = "geometric"

    def step(self, rest):
        return VariationalStep(self.max_iter, self.tol, rest)

    def with_bound(self):
        """The one whose results bound the evidence, under posteriors of topics."""
        return replace(self, expectation="geometric")

    def topics(self, state, words):
        """The topics of some WordCounts as documents read them."""
        view = probabilities if self.expectation == "mean" else geometric
        return view(words, state.unit, state.topic_word_prior)

    def __call__(self, batch, state, workers, tokens=None, dtype=np.float32):
        """VariationalCounts of a DocumentBatch, from equal shares or from tokens (n_documents, n_topics)."""
        prior = state.prior
        gathered = self.topics(state, state.words).gather(batch.words, prior, workers, dtype)
        start = None if tokens is None else prior + tokens
        return self.step(state.rest)(batch, gathered, prior, None, workers, gamma=start)

    def started(self, start, batch, state, workers, tokens=None):
        """The same with the start that is named: 'cold', 'warm' or, of both, for each document the 'better'.

        tokens : those of an earlier visit; None: there was none, and the start is cold
        """
        if start == "cold" or tokens is None:
            return self(batch, state, workers)
        warm = self(batch, state, workers, tokens)
        if start == "warm":
            return warm
        return self.step(state.rest).better(warm, self(batch, state, workers), workers)

    def without(self, counts, kept, workers):
        """Inference of the same documents with some of their topics only, from where they are."""
        # log_norm still tells how the rows were scaled; mean-field inference reads no cumulative sums.
        topics = replace(counts.topics, rows=columns_of(counts.topics.rows, kept))
        prior, rest = counts.prior[kept], counts.rest + counts.prior[~kept].sum()
        start = start_without(counts.batch, counts.tokens, kept)
        return self.step(rest)(counts.batch, topics, prior, None, workers, gamma=prior + start)


def merged(tokens, into):
    """Tokens (n_documents, n_topics) after some topics became part of others (see with_merged)."""
    tokens = tokens.copy()
    for k in np.flatnonzero(into != np.arange(len(into))):
        tokens[:, into[k]] += tokens[:, k]
    return tokens


def start_without(batch, tokens, kept):
    """Tokens (n_documents, n_left) of some of the topics, for documents to start from without the others.

    Where what the others leave may be all tokens of a word, those kept start equal: from where they are,
    inference might be far from words that none of them has.
    """
    lost, smallest = tokens[:, ~kept].sum(axis=1), np.full(batch.n_documents, np.inf)
    np.minimum.at(smallest, batch.cell_document(), batch.cell_count)
    even = np.broadcast_to(batch.lengths[:, None] / kept.sum(), (batch.n_documents, kept.sum()))
    return np.where((lost > LARGE_LOSS * smallest)[:, None], even, tokens[:, kept])
