"""Moment matching by the moments of the mixture (the twin of _kernels.moments._matching).

Equations are those of Hsu and Poupart (2016). Only the four operations are used, and not even numbers but
those of the arguments: arrays of decimals are worked on with all their digits.
"""

import numpy as np

from tests.reference.documents import clumps_of
from tests.reference.rng import Stream

FIXED, DEGENERATE, TRIANGULAR = range(3)
FIRST, SUM, SECOND = range(3)
FLOOR = 1e-20
MAX_TOKENS = 1024


def shuffle(items, stream):
    for i in range(len(items) - 1, 0, -1):
        j = stream.below(i + 1)
        items[i], items[j] = items[j], items[i]


def list_tokens(indptr, cell_word, cell_count, keys):
    tokens = []
    for d in range(len(indptr) - 1):
        own = [(d, cell_word[cell], w) for cell, w in clumps_of(indptr, cell_count, d, MAX_TOKENS)]
        if len(keys):
            shuffle(own, Stream(keys[d]))
        tokens += own
    document, word, weight = zip(*tokens) if tokens else ((), (), ())
    return np.array(document, dtype=np.int32), np.array(word, dtype=np.int32), np.array(weight, dtype=float)


def permutation(key, n):
    order = list(range(n))
    shuffle(order, Stream(key))
    return np.array(order, dtype=np.int64)


def unpack(model, alpha, n_topics):
    """A document's parameters under each number of topics that is possible, zeros for absent topics."""
    if model == FIXED:
        return alpha[None]
    if model == DEGENERATE:
        return np.tril(np.broadcast_to(alpha, (n_topics, n_topics)))
    rows = np.zeros((n_topics, n_topics), dtype=alpha.dtype)
    rows[np.tril_indices(n_topics)] = alpha
    return rows


def posterior(model, alpha, gamma, b):
    """The probabilities of each number of topics together with each topic, and that of the token (10)."""
    rows = unpack(model, alpha, len(b))
    joint = gamma[:, None] * (rows / rows.sum(axis=1)[:, None]) * b
    return joint / joint.sum(), joint.sum()


def mixture_moments(probabilities, parameters):
    """First and second moments of a mixture of Dirichlets; parameters (..., n_coordinates)."""
    total = parameters.sum(axis=-1)[..., None]
    mean = parameters / total
    square = mean * ((parameters + 1) / (total + 1))
    axes = tuple(range(probabilities.ndim))
    p = probabilities[..., None]
    return (p * mean).sum(axis=axes), (p * square).sum(axis=axes)


def matched(first, second, match, old):
    """The Dirichlet of these moments (7); a mixture that is all at one corner leaves the sum as it was."""
    part = {FIRST: [0], SUM: slice(None), SECOND: [1]}[match]
    above, below = (first - second)[part].sum(), (second - first * first)[part].sum()
    return first * (above / below if above > 0 and below > 0 else old)


def hits(parameters, c):
    """The Dirichlet after a token of each topic."""
    return parameters[..., None, :] + c * np.identity(parameters.shape[-1], dtype=int)


def match_proportions(model, match, alpha, joint, weight):
    """alpha after a token (12, 13); what a weight has above one is added in shares. One topic: it stays."""
    n_topics = joint.shape[1]
    if n_topics == 1:
        return alpha
    c = min(weight, 1)
    rows = unpack(model, alpha, n_topics)
    moved = hits(rows, c)
    if model != TRIANGULAR:
        possible = joint > 0
        moments = mixture_moments(joint[possible], np.broadcast_to(moved, (*joint.shape, n_topics))[possible])
        new = matched(*moments, match, alpha.sum()) + (weight - c) * joint.sum(axis=0)
    else:
        new = [alpha[0]]
        for k in range(1, n_topics):
            # Under another number of topics than k + 1 the token tells nothing about these proportions.
            told = np.where(np.arange(n_topics)[:, None, None] == k, moved[k], rows[k])
            moments = mixture_moments(joint, told)
            own = matched(*moments, match, rows[k].sum()) + (weight - c) * joint[k]
            new += list(own[: k + 1])
        new = np.array(new)
    return np.maximum(new, type(new[0])(FLOOR))


def match_topics(match, beta, joint, w, weight):
    """beta after a token of word w (14, 15); of words, the first is matched where it is the SECOND topic."""
    match = FIRST if match == SECOND else match
    c = min(weight, 1)
    p, one, new = joint.sum(axis=0), np.arange(beta.shape[1]) == w, []
    hit = c * one
    for t, old in enumerate(beta):
        told = np.array([np.delete(p, t).sum(), p[t]]), np.array([old, old + hit])
        new.append(matched(*mixture_moments(*told), match, old.sum()) + (weight - c) * p[t] * one)
    return np.array(new)


def filter_tokens(model, match, document, word, weight, begins, start, alpha, gamma, beta):
    """alpha, gamma and beta (n_topics, n_features) after the tokens, and the probability of each token."""
    alpha, predictive = alpha.copy(), []
    for d, w, c, is_first in zip(document, word, weight, begins):
        if is_first:
            alpha[d] = start
        joint, probability = posterior(model, alpha[d], gamma, beta[:, w] / beta.sum(axis=1))
        alpha[d] = match_proportions(model, match, alpha[d], joint, c)
        beta = match_topics(match, beta, joint, w, c)
        after = joint.sum(axis=1)  # (11)
        gamma = after if c == 1 else tempered(gamma, after, c)
        predictive.append(probability)
    return alpha, gamma, beta, np.array(predictive)


def tempered(before, after, weight):
    """The numbers of topics after a token whose probability counts by a power."""
    possible = before > 0
    moved = before.copy()
    moved[possible] *= (after[possible] / before[possible]) ** weight
    return moved / moved.sum()


def infer_documents(model, match, indptr, word, weight, rows, gamma, start):
    """alpha and expected proportions; gamma is that of before for every token."""
    alpha, theta = [], []
    for d in range(len(indptr) - 1):
        own = start
        for i in range(indptr[d] - indptr[0], indptr[d + 1] - indptr[0]):
            joint, _ = posterior(model, own, gamma, rows[word[i]])
            own = match_proportions(model, match, own, joint, weight[i])
        alpha.append(own)
        shares = unpack(model, own, rows.shape[1])
        theta.append((gamma[:, None] * shares / shares.sum(axis=1)[:, None]).sum(axis=0))
    return np.array(alpha), np.array(theta)
