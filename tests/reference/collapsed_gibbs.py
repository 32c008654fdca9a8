"""Collapsed Gibbs sampling, word by word (the twin of _collapsed_gibbs and _dense_collapsed_gibbs in
sktopic._kernels)."""

from collections import Counter
from itertools import product

import numpy as np
from scipy.special import gammaln

from tests.reference.documents import Assignments, clumps, fill_gap
from tests.reference.gibbs import draw
from tests.reference.rng import Stream, combine

# Of lists and of rows, and the tokens of a word between which none is pending in rows.
LIST_LANES, ROW_LANES, AT_ONCE = 4, 16, 256


class TopicList(Assignments):
    """The topics present in a document, in the order of the kernel's list."""

    def take(self, k, w):
        super().take(k, w)
        if self.members[k] == 0:
            fill_gap(self.order, k)


def tokens_of(word_indptr, words, cell_count):
    """(word, cell, weight) of each clump, in order."""
    cell, weight = clumps(cell_count)
    return list(zip(np.repeat(words, np.diff(word_indptr))[cell], cell, weight))


def conditional(counts, totals, prior, topic_word_prior, word, n):
    """p(z = k | rest) up to its sum: (alpha_k + n_dk) q_k, and q_k; no count includes the token.

    topic_word_prior : (n_features, n_topics) beta
    """
    q = (counts + topic_word_prior[word]) / (totals + topic_word_prior.sum(axis=0))
    return (prior + n) * q, q


def draw_by_lanes(p, without_pending, pending, bits):
    """As gibbs.draw, laid out otherwise: topic k in lane k % 16; what a pending token adds is chosen apart.

    p, without_pending : the conditional probabilities up to a factor, with and without the token drawn before
    pending : topic of that; or None
    bits : of a stream; the upper 24 are the first uniform number, the next 24 the second
    """
    order = np.argsort(np.arange(len(p)) % ROW_LANES, kind="stable")
    ends = np.cumsum(without_pending[order])
    uniform, choice = (bits >> 40) * 2.0**-24, (bits >> 16 & 0xFFFFFF) * 2.0**-24
    if pending is not None:
        others = np.arange(len(p)) != pending
        assert np.array_equal(p[others], without_pending[others])
        if choice * (ends[-1] + p[pending] - without_pending[pending]) >= ends[-1]:
            return pending
    return int(order[np.searchsorted(ends, uniform * ends[-1], side="right")])


def sweep_words(cells, counts, alone, totals, prior, topic_word_prior, lists, z, key, by_lanes=False):
    """Draw every token once, in place; lists holds a TopicList for each document.

    cells : word_indptr, words, cell_document, cell_count
    topic_word_prior : a number, or (n_features, n_topics)
    by_lanes : whether numbers become draws as in _dense_collapsed_gibbs
    """
    word_indptr, words, cell_document, cell_count = cells
    beta, present = np.broadcast_to(topic_word_prior, counts.shape), counts.copy()
    streams, n_drawn = {w: Stream(combine(key, w)) for w in words}, Counter()
    pending = None  # topic, weight and document of the token before
    for token, (w, cell, weight) in enumerate(tokens_of(word_indptr, words, cell_count)):
        topics = lists[cell_document[cell]]
        old, n = z[token], topics.n.copy()
        if old >= 0:
            present[w, old] -= weight
            totals[old] -= weight
            n[old] = n[old] - weight if topics.members[old] > 1 else 0.0
        p, q = conditional(present[w], totals, prior, beta, w, n)
        if by_lanes:
            if n_drawn[w] % AT_ONCE == 0:
                pending = None
            before = p
            if pending:
                k, own = pending[0], np.arange(len(p)) == pending[0]
                less = pending[1] * own
                n_less = n - less * (pending[2] is topics)
                before, _ = conditional(present[w] - less, totals - less, prior, beta, w, n_less)
            new = draw_by_lanes(p, before, pending and k, streams[w].bits())
            pending, n_drawn[w] = (new, weight, topics), n_drawn[w] + 1
        else:
            listed = [k for lane in range(LIST_LANES) for k in topics.order[lane::LIST_LANES]]
            new = draw(q, prior, n, listed, streams[w].uniform())
        z[token] = new
        present[w, new] += weight
        totals[new] += weight
        if new != old:  # so that the order of the list changes as the kernel's does
            topics.put(new, weight)
            if old >= 0:
                topics.take(old, weight)
    if alone:
        counts[:] = present


def list_topics(word_indptr, words, cell_document, cell_count, n_documents, n_topics, z):
    """The list of each document, from the assignments of all tokens."""
    lists = [TopicList(n_topics) for _ in range(n_documents)]
    for k, (_, cell, weight) in zip(z, tokens_of(word_indptr, words, cell_count)):
        if k >= 0:
            lists[cell_document[cell]].put(k, weight)
    return lists


def posterior(documents, words, n_documents, n_words, prior, topic_word_prior):
    """All assignments of some tokens, and their probabilities given the words, by the joint of both.

    documents and words name those of each token; the joint is p(z) p(w | z) with proportions and topics
    integrated out: equations 2 and 3 of Griffiths and Steyvers (2004). topic_word_prior is a number, or of
    shape (n_words, n_topics).
    """
    n_topics = len(prior)
    beta = np.broadcast_to(topic_word_prior, (n_words, n_topics))
    states = np.array(list(product(range(n_topics), repeat=len(words))))
    one_hot = (states[:, :, None] == np.arange(n_topics)).astype(float)
    n_dk = np.einsum("sik,id->sdk", one_hot, np.eye(n_documents)[documents])
    n_wk = np.einsum("sik,iw->swk", one_hot, np.eye(n_words)[words])
    log_joint = gammaln(prior + n_dk).sum(axis=(1, 2)) + gammaln(beta + n_wk).sum(axis=(1, 2))
    log_joint -= gammaln(beta.sum(axis=0) + n_wk.sum(axis=1)).sum(axis=1)
    p = np.exp(log_joint - log_joint.max())
    return states, p / p.sum()
