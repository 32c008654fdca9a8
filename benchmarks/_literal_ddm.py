"""DDM in plain NumPy, with equations 12 and 13 of Hsu and Poupart (2016) for all documents or for one."""

import numpy as np


def number_weights(tokens, n_documents, n_words, prior, of_all):
    """The weights of the numbers of topics, gamma, after tokens (document, word) one by one.

    prior : what they are before
    of_all : whether a token changes the proportions of all documents, or only those of its own
    """
    gamma, n_topics = np.array(prior) / np.sum(prior), len(prior)
    alpha, beta = np.ones((n_documents, n_topics)), np.full((n_topics, n_words), n_words**-0.5)
    for document, word in tokens:
        total = beta.sum(axis=1)
        b, a = beta[:, word] / total, alpha[document]
        sums, hits = a.cumsum(), (a * b).cumsum()
        evidence = gamma @ (hits / sums)
        p = a * b * tails(gamma / sums) / evidence
        mean, square = own_moments(a, b, sums, hits, gamma / evidence)
        gamma = gamma * hits / sums / evidence
        if of_all:
            means, squares = moments(alpha, gamma)
            means[document], squares[document] = mean, square
            alpha = matched(means, squares, alpha)
        else:
            alpha[document] = matched(mean, square, a)
        beta = matched(*topic_moments(beta, total, word, p), beta)
    return gamma


def tails(x):
    """Sums from each place of the first axis to the end."""
    return x[::-1].cumsum(axis=0)[::-1]


def own_moments(a, b, sums, hits, weights):
    """Means of a document's proportions after one of its tokens, and the mean square of the first.

    weights : of the numbers of topics before the token, over its probability
    """
    means = a * (tails(weights * hits / (sums * (sums + 1))) + b * tails(weights / (sums * (sums + 1))))
    first, others = a[0] * b[0] * (a[0] + 2), (hits - a[0] * b[0]) * a[0]
    return means, (weights * (a[0] + 1) * (first + others) / (sums * (sums + 1) * (sums + 2))).sum()


def moments(alpha, gamma):
    """The same of documents that do not have the token, which tells about the number of topics alone."""
    sums, first = alpha.cumsum(axis=1), alpha[:, :1]
    means = alpha * tails((gamma / sums).T).T
    return means, (gamma * first * (first + 1) / (sums * (sums + 1))).sum(axis=1)


def topic_moments(beta, total, word, p):
    """Means of the topics after a token that is theirs with probability p, and mean squares of word 0."""
    means = beta / total[:, None] * (1 - p / (total + 1))[:, None]
    means[:, word] += p / (total + 1)
    first, hit = beta[:, 0], float(word == 0)
    squares = (1 - p) * first * (first + 1) / (total * (total + 1))
    return means, squares + p * (first + hit) * (first + 1 + hit) / ((total + 1) * (total + 2))


def matched(means, squares, old):
    """Dirichlet parameters of these means, and of this mean square of the first; else of the old sum."""
    with np.errstate(all="ignore"):
        first = means[..., 0]
        sums = (first - squares) / (squares - first**2)
    keep = ~(np.isfinite(sums) & (sums > 0))
    sums = np.where(keep, old.sum(axis=-1), sums)
    return np.maximum(means * sums[..., None], 1e-20)
