"""Topics divided into parts (twin of _kernels.hdp._split_proposals)."""

import numpy as np
from scipy.special import digamma, gammaln, softmax, xlogy

from tests.reference.rng import Stream, combine

WEIGHT_ITERATIONS = 5
LEAST_SHARE = 1e-10


def divide_document(tokens, log_words, prior, own, max_iter, tol):
    """Shares (n_cells, n_parts) of a document's cells by mean field, from the parts' tokens."""
    for _ in range(max_iter):
        shares = softmax(log_words + digamma(prior + own), axis=1)
        before, own = own, tokens @ shares
        if np.abs(own - before).max() < tol:
            break
    return shares


def divide_cells(document, word, tokens, log_words, prior, max_iter, tol, n_documents):
    divided, mixing = np.empty((len(tokens), len(prior))), np.zeros(n_documents)
    for d in np.unique(document):
        own = document == d
        c = tokens[own]
        shares = divide_document(c, log_words[word[own]], prior, c.sum() * prior / prior.sum(), max_iter, tol)
        divided[own] = c[:, None] * shares
        mixing[d] = xlogy(c, c).sum() - xlogy(divided[own], divided[own]).sum()
    return divided, mixing


def drawn(weight, order, stream):
    ordered = weight[order]
    return order[np.searchsorted(np.cumsum(ordered), stream.uniform() * ordered.sum(), side="right")]


def seeds(c, times, log_topic, n_parts, stream):
    """Logarithms (n_words, n_parts) of the topics that parts start from; c: (n_documents, n_words) tokens."""
    lengths, residual, found = c.sum(axis=1), None, []
    for _ in range(n_parts):
        if residual is None or residual.sum() == 0:
            residual = times * lengths
        seed = drawn(residual, np.argsort(lengths, kind="stable"), stream)
        found.append(np.log((np.exp(log_topic) + c[seed] / lengths[seed]) / 2))
        closeness = np.array([(c @ (log_topic - log_seed)) for log_seed in found]).min(axis=0)
        residual = times * np.maximum(closeness, 0.0)
    return np.array(found).T


def proportions_bound(prior, own, times):
    return times @ (gammaln(prior + own) - gammaln(prior))


def words_bound(column, topic_word_prior, n_features):
    """Of a topic: log of the probability of its words, phi being integrated out."""
    rest = n_features - len(column)
    return (
        gammaln(topic_word_prior + column).sum()
        + rest * gammaln(topic_word_prior)
        - n_features * gammaln(topic_word_prior)
        + gammaln(n_features * topic_word_prior)
        - gammaln(n_features * topic_word_prior + column.sum())
    )


def bound(divided, shares, times, prior, topic_word_prior, n_features):
    """What the bound has of parts, for tokens (n_documents, n_words, n_parts) and shares of the weight."""
    own, columns = divided.sum(axis=1), np.einsum("d,dwp->wp", times, divided)
    entropy = -times @ xlogy(divided, divided).sum(axis=(1, 2))
    for p, share in enumerate(shares):
        entropy += proportions_bound(prior * share, own[:, p], times)
        entropy += words_bound(columns[:, p], topic_word_prior, n_features)
    return entropy


def propose_parts(c, times, log_words, prior, topic_word_prior, n_features, n_parts, *ascent):
    """c: (n_documents, n_words) tokens of the topic, some in each document; prior: alpha beta.

    Returns what the kernel does, and the tokens (n_documents, n_words, n_parts) of the parts.
    """
    n_starts, first, more, max_iter, tol, key = ascent
    log_topic = log_words - np.log(np.exp(log_words).sum())
    alone = bound(c[..., None], [1.0], times, prior, topic_word_prior, n_features)

    def ascend(log_parts, own, shares, rounds):
        for _ in range(rounds):
            divided = np.zeros((*c.shape, n_parts))
            for d, tokens in enumerate(c):
                some = tokens > 0
                given = tokens[some], log_parts[some], prior * shares, own[d], max_iter, tol
                divided[d, some] = tokens[some][:, None] * divide_document(*given)
            own, columns = divided.sum(axis=1), np.einsum("d,dwp->wp", times, divided)
            for _ in range(WEIGHT_ITERATIONS):
                a = prior * shares
                tables = a * (times @ (digamma(a + own) - digamma(a)))
                shares = (tables / tables.sum() + LEAST_SHARE) / (1.0 + n_parts * LEAST_SHARE)
            lam = topic_word_prior + columns
            log_parts = digamma(lam) - digamma(n_features * topic_word_prior + columns.sum(axis=0))
        gain = bound(divided, shares, times, prior, topic_word_prior, n_features) - alone
        return gain, columns, (log_parts, own, shares), divided

    results = []
    for start in range(n_starts):
        own = np.repeat(c.sum(axis=1)[:, None] / n_parts, n_parts, axis=1)
        log_seeds = seeds(c, times, log_topic, n_parts, Stream(combine(key, start)))
        results.append(ascend(log_seeds, own, np.full(n_parts, 1 / n_parts), first))
    gain, columns, (_, _, shares), divided = ascend(*max(results, key=lambda found: found[0])[2], more)
    return columns.T, shares, gain, divided
