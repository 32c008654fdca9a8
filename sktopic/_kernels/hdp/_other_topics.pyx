"""Probabilities of the tokens of documents in other topics, for dropping a topic.

A token of document j and word w has the weight (a_k + n_jk) phi_kw in topic k. Here a_k is the topic's
parameter of the documents' proportions, and n_jk are its tokens in the document.
"""

import numpy as np

from libc.math cimport log, log1p
from libc.stdint cimport int32_t, int64_t

from sktopic._kernels.numbers._vector cimport dot
from sktopic._kernels.threads._interrupt cimport count_work

# Smallest divisor, and limits of factors and products whose logarithms are taken together.
cdef double SMALLEST = 1e-300, LARGE_FACTOR = 1e100, LARGE_PRODUCT = 1e200


def token_likelihoods(
    tokens,
    const double[::1] prior,
    const double[:, ::1] phi,
    double[::1] likelihood,
    Py_ssize_t first_document,
    Py_ssize_t last_document,
):
    """Sum the weights of tokens over topics, for a range of documents.

    Parameters
    ----------
    tokens : WindowTokens                                                                          IN
    prior : (n_topics,) a_k                                                                        IN
    phi : (n_features, n_topics)                                                                   IN
    likelihood : (n_tokens,) sum_k (a_k + n_jk) phi_kw, for tokens of these documents             OUT
    """
    cdef const int64_t[::1] first = tokens.first
    cdef const int32_t[::1] word = tokens.word, topic = tokens.topic
    cdef const double[::1] size = tokens.size
    cdef Py_ssize_t d, i, n_topics = prior.shape[0], done = 0
    cdef double[::1] mass = np.array(prior)
    with nogil:
        for d in range(first_document, last_document):
            count_work(&done, (first[d + 1] - first[d]) * n_topics)
            for i in range(first[d], first[d + 1]):
                mass[topic[i]] += size[i]
            for i in range(first[d], first[d + 1]):
                likelihood[i] = dot(&mass[0], &phi[word[i], 0], n_topics)
            for i in range(first[d], first[d + 1]):
                mass[topic[i]] = prior[topic[i]]


cdef struct Window:
    const int64_t* first
    const int32_t* word
    const int32_t* topic
    const double* size


cdef struct Topic:
    # The topic that may be dropped.
    Py_ssize_t number
    double prior
    double topic_word_prior
    double norm_offset
    const double* words
    double total


cdef struct Others:
    Py_ssize_t n_topics
    const double* prior
    const double* phi
    const double* likelihood
    # Its weight in a document, and the tokens of the topic in the document.
    double* mass
    double n


cdef inline void begin_document(
    const Window* window, const Topic* topic, Others* others, Py_ssize_t d
) noexcept nogil:
    """Count the tokens of a document in topics."""
    cdef Py_ssize_t i, k
    for k in range(others.n_topics):
        others.mass[k] = others.prior[k]
    others.n = 0.0
    for i in range(window.first[d], window.first[d + 1]):
        k = window.topic[i]
        if k == topic.number:
            others.n += window.size[i]
        elif others.prior[k] > 0.0:
            others.mass[k] += window.size[i]


cdef inline double log_own(
    const Window* window, const Topic* topic, const Others* others, Py_ssize_t d, double copy_weight
) noexcept nogil:
    """Sum of the log probabilities that tokens are in the topic, each given all others."""
    cdef Py_ssize_t i
    cdef double own, here, log_q = 0.0
    for i in range(window.first[d], window.first[d + 1]):
        if window.topic[i] != topic.number:
            continue
        own = copy_weight * window.size[i]
        here = topic.prior + max(others.n - window.size[i], 0.0)
        here *= topic.topic_word_prior + max(topic.words[window.word[i]] - own, 0.0)
        here /= topic.norm_offset + max(topic.total - own, 0.0)
        own = dot(others.mass, others.phi + window.word[i] * others.n_topics, others.n_topics)
        log_q += window.size[i] * log(here / (here + own))
    return log_q


cdef inline double log_rest(
    const Window* window, const Topic* topic, const Others* others, Py_ssize_t d
) noexcept nogil:
    """Sum of the log probabilities that the tokens of other topics are not in the topic, negative."""
    cdef Py_ssize_t i
    cdef double total = 0.0, product = 1.0, mass = topic.prior + others.n, ratio, w
    for i in range(window.first[d], window.first[d + 1]):
        if window.topic[i] == topic.number:
            continue
        w = others.phi[window.word[i] * others.n_topics + topic.number]
        ratio = mass * (topic.topic_word_prior + topic.words[window.word[i]]) / (
            topic.norm_offset + topic.total
        ) / max(others.likelihood[i] - mass * w, SMALLEST)
        if window.size[i] == 1.0 and ratio < LARGE_FACTOR:
            product *= 1.0 + ratio
            if product > LARGE_PRODUCT:
                total += log(product)
                product = 1.0
        else:
            total += window.size[i] * log1p(ratio)
    return total + log(product)


cdef inline double log_elsewhere(
    const Window* window, const Topic* topic, Others* others, Py_ssize_t d
) noexcept nogil:
    """Log probability of the topic's tokens in the others. Each token changes the weights for the next."""
    cdef Py_ssize_t i, k
    cdef const double* phi
    cdef double likelihood, gain, total = 0.0
    for i in range(window.first[d], window.first[d + 1]):
        if window.topic[i] != topic.number:
            continue
        phi = others.phi + window.word[i] * others.n_topics
        likelihood = dot(others.mass, phi, others.n_topics)
        total += window.size[i] * log(likelihood)
        gain = window.size[i] / likelihood
        for k in range(others.n_topics):
            others.mass[k] *= 1.0 + gain * phi[k]
    return total


def compare_with_others(
    const int64_t[::1] documents,
    tokens,
    Py_ssize_t number,
    double prior,
    const double[::1] words,
    const double[::1] other_prior,
    const double[:, ::1] phi,
    const double[::1] likelihood,
    double topic_word_prior,
):
    """Return the gain of a topic over the others, except the log probability of its tokens in the topic.

    Parameters
    ----------
    documents : (n,) those that are summed over, all with tokens of the topic                      IN
    tokens : WindowTokens                                                                          IN
    number, prior : of the topic, and its a
    words : (n_features,) its tokens of each word in all documents                                 IN
    other_prior : (n_topics,) a_k of the others, 0 for the topic and for topics that are gone      IN
    phi : (n_features, n_topics)                                                                   IN
    likelihood : (n_tokens,) of token_likelihoods                                                  IN
    topic_word_prior : beta
    """
    cdef const int64_t[::1] first = tokens.first
    cdef const int32_t[::1] word = tokens.word, topic_of_token = tokens.topic
    cdef const double[::1] size = tokens.size
    cdef const double[::1] document_weight = tokens.document_weight, copy_weight = tokens.copy_weight
    cdef double[::1] mass = np.empty(phi.shape[1])
    cdef Window window
    cdef Topic topic
    cdef Others others
    cdef Py_ssize_t j, d, w, done = 0
    cdef double gain = 0.0
    window.first, window.word = &first[0], &word[0]
    window.topic, window.size = &topic_of_token[0], &size[0]
    topic.number, topic.prior, topic.words, topic.total = number, prior, &words[0], 0.0
    topic.topic_word_prior, topic.norm_offset = topic_word_prior, topic_word_prior * phi.shape[0]
    others.n_topics, others.prior, others.phi = phi.shape[1], &other_prior[0], &phi[0, 0]
    others.likelihood, others.mass = &likelihood[0], &mass[0]
    with nogil:
        for w in range(words.shape[0]):
            topic.total += words[w]
        for j in range(documents.shape[0]):
            d = documents[j]
            begin_document(&window, &topic, &others, d)
            count_work(&done, 10 * (first[d + 1] - first[d]) + <Py_ssize_t>(1 + others.n) * others.n_topics)
            gain += document_weight[d] * (
                log_rest(&window, &topic, &others, d)
                - log_own(&window, &topic, &others, d, copy_weight[d])
                - log_elsewhere(&window, &topic, &others, d)
            )
    return gain
