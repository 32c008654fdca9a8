"""Mean-field inference of documents under direct assignment, from several starts."""

from dataclasses import dataclass, replace

import numpy as np

from sktopic._inference._variational import VariationalStep
from sktopic._runtime._arrays import columns_of
from sktopic._topics._word_count_views import geometric, probabilities

# A document that loses this part of a word's tokens starts from equal shares of the remaining topics.
LARGE_LOSS = 0.5


@dataclass(frozen=True)
class DocumentInference:
    """Mean-field inference of the documents of a batch, given a DirectAssignmentState.

    With "mean", the share of topic k in a token of word w is proportional to exp(psi(alpha beta_k + N_jk))
    (eta + N_kw) / (V eta + N_k): topics are integrated out to order zero. The bound that moves raise is valid
    for any shares.

    Attributes
    ----------
    max_iter, tol : limits of the iterations
    expectation : "geometric" means of topics, exp E[log phi], or "mean", E[phi]
    """

    max_iter: int
    tol: float
    expectation: str = "geometric"

    def step(self, rest):
        return VariationalStep(self.max_iter, self.tol, rest)

    def with_bound(self):
        """Return the inference whose results bound the evidence, under posteriors of topics."""
        return replace(self, expectation="geometric")

    def topics(self, state, words):
        """Return the topics of some WordCounts in the form for documents."""
        view = probabilities if self.expectation == "mean" else geometric
        return view(words, state.unit, state.topic_word_prior)

    def __call__(self, batch, state, workers, tokens=None, dtype=np.float32):
        """Return VariationalCounts of a batch, from equal shares or tokens (n_documents, n_topics)."""
        prior = state.prior
        gathered = self.topics(state, state.words).gather(batch.words, prior, workers, dtype)
        start = None if tokens is None else prior + tokens
        return self.step(state.rest)(batch, gathered, prior, None, workers, gamma=start)

    def better(self, batch, state, workers, tokens):
        """Return the better result of each document from equal shares and from tokens of an earlier visit."""
        ends = (self(batch, state, workers, start) for start in (tokens, None))
        return self.step(state.rest).better(*ends, workers)

    def without(self, counts, kept, workers):
        """Infer the same documents with some of their topics only, from their present result."""
        # log_norm still has the scale of the rows. Mean-field inference reads no cumulative sums.
        topics = replace(counts.topics, rows=columns_of(counts.topics.rows, kept))
        prior, rest = counts.prior[kept], counts.rest + counts.prior[~kept].sum()
        start = start_without(counts.batch, counts.tokens, kept)
        return self.step(rest)(counts.batch, topics, prior, None, workers, gamma=prior + start)


def merged(tokens, into):
    """Return tokens (n_documents, n_topics) after topics became part of others (see with_merged)."""
    tokens = tokens.copy()
    for k in np.flatnonzero(into != np.arange(len(into))):
        tokens[:, into[k]] += tokens[:, k]
    return tokens


def start_without(batch, tokens, kept):
    """Return tokens (n_documents, n_left) of some topics, to start documents without the others.

    If the removed topics may have all tokens of a word, the kept topics start with equal shares. From their
    present shares, inference might start far from words that none of them has.
    """
    lost, smallest = tokens[:, ~kept].sum(axis=1), np.full(batch.n_documents, np.inf)
    np.minimum.at(smallest, batch.cell_document(), batch.cell_count)
    even = np.broadcast_to(batch.lengths[:, None] / kept.sum(), (batch.n_documents, kept.sum()))
    return np.where((lost > LARGE_LOSS * smallest)[:, None], even, tokens[:, kept])
