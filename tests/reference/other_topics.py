"""Tokens of a topic in the other topics (the twin of _kernels.hdp._other_topics)."""

import numpy as np


def token_weights(document, topic, size, prior):
    """(n_documents, n_topics) a_k + n_jk."""
    n = np.zeros((document.max() + 1, len(prior)))
    np.add.at(n, (document, topic), size)
    return n + prior


def compare_with_others(document, word, topic, size, document_weight, k, prior, there, phi, eta):
    """The gain of topic k over the topics that are there, token by token.

    phi : (n_features, n_topics)
    """
    mass, others = token_weights(document, topic, size, prior), np.flatnonzero(there)
    of_word = np.zeros(len(phi))
    is_own = topic == k
    np.add.at(of_word, word[is_own], (size * document_weight[document])[is_own])
    total, gain = of_word.sum() + eta * len(phi), 0.0
    likelihood = (mass[document] * phi[word]).sum(axis=1)  # in all topics
    for j, w, s, own, all_topics in zip(document, word, size, is_own, likelihood):
        if own:
            one_copy = s * min(document_weight[j], 1.0)
            here = (mass[j, k] - s) * (eta + of_word[w] - one_copy) / (total - one_copy)
            elsewhere = mass[j, others] @ phi[w, others]
            gain -= s * document_weight[j] * np.log(here / (here + elsewhere))
        elif np.any(is_own & (document == j)):
            here = mass[j, k] * (eta + of_word[w]) / total
            gain += s * document_weight[j] * np.log1p(here / (all_topics - mass[j, k] * phi[w, k]))
    own = (each[is_own] for each in (document, word, size))
    return gain - log_elsewhere(*own, document_weight, mass[:, others], phi[:, others])


def log_elsewhere(document, word, size, document_weight, mass, phi):
    """The log probability of tokens, each of which changes the weights for the next of its document."""
    mass, total = mass.copy(), 0.0
    for j, w, s in zip(document, word, size):
        share = mass[j] * phi[w]
        total += s * document_weight[j] * np.log(share.sum())
        mass[j] += s * share / share.sum()
    return total
