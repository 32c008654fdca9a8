"""Sweeps of collapsed Gibbs sampling for LDA by draws over all topics: faster where these are not too many.

The law is that of _collapsed_gibbs, as is the order: word by word. A document keeps the numbers of its tokens
in all topics side by side, as float32, which counts whole numbers (and their 64th parts) exactly as long as
documents have at most LONGEST tokens.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from sktopic._kernels.documents._clumps cimport clump_weight, n_clumps
from sktopic._kernels.random._rng cimport Stream, combine, next_bits, seed_stream, unit_float
from sktopic._kernels.threads._interrupt cimport count_work


cdef extern from "lda/_word_draws.h" nogil:
    enum: LANES
    ctypedef struct WordDraws:
        Py_ssize_t n_padded
        int32_t n_topics
        const double* topic_word_prior
        const double* prior_sum
        const float* prior
        double* totals
        double* count
        float* q
        float* running
    void fill_word(const WordDraws* word)
    void draw_word(
        const WordDraws* word, Py_ssize_t n_tokens, float* rows, const int32_t* document, const float* size,
        const float* uniform, int32_t* z)

# Tokens of a word that are drawn at once: between these, none is pending.
cdef enum:
    AT_ONCE = 256

# What a number of topics is filled up to a multiple of, and how long a document may be.
PADDING = LANES
LONGEST = 2**18


def sweep_words(
    tokens,
    double[:, ::1] counts,
    bint update_counts,
    double[::1] totals,
    const double[::1] prior,
    topic_prior,
    float[:, ::1] rows,
    int32_t[::1] z,
    uint64_t key,
):
    """Draw the topic of every token of some documents once, given all others.

    Parameters
    ----------
    tokens : TokensByWord                                                                         IN
    counts : (n_features, n_topics) tokens of each word in each topic, n_kw                       IN/OUT
    update_counts : whether to change the counts; otherwise transfer_counts does it later, and other documents
        can be swept at the same time, against counts of before the sweep
    totals : (n_topics,) n_k                                                                      IN/OUT
    prior : (n_topics,) alpha, > 0                                                                IN
    topic_prior : TopicPrior                                                                      IN
    rows : (n_documents, n_padded) tokens of each document in each topic, and zeros               IN/OUT
    z : (n_tokens,) topic of each token, -1: none yet                                             IN/OUT
    key : word w draws from the stream of combine(key, w)

    An exception leaves the counts as z has them, and totals and rows unfinished.
    """
    cdef const int64_t[::1] token_indptr = tokens.token_indptr
    cdef const int32_t[::1] words = tokens.words
    cdef const int32_t[::1] document = tokens.document
    cdef const float[::1] size = tokens.size
    cdef double topic_word_prior = topic_prior.topic_word_prior
    cdef const int64_t[::1] own_indptr = topic_prior.own_indptr
    cdef const int32_t[::1] own_topic = topic_prior.own_topic
    cdef const double[::1] own_value = topic_prior.own_value
    cdef const double[::1] prior_sum = topic_prior.prior_sum
    cdef Py_ssize_t n_topics = prior.shape[0], n_padded = rows.shape[1], w, k, i, n, own, token, done = 0
    cdef Stream stream
    cdef uint64_t bits
    cdef WordDraws word
    cdef double[::1] count = np.empty(n_topics), beta = np.full(n_topics, topic_word_prior)
    cdef float[:, ::1] scratch = np.zeros((3, n_padded), dtype=np.float32)
    cdef float[AT_ONCE][2] uniform
    word.n_padded = n_padded
    word.n_topics = <int32_t>n_topics
    word.topic_word_prior = &beta[0]
    word.prior_sum = &prior_sum[0]
    word.prior = &scratch[0, 0]
    word.totals = &totals[0]
    word.count = &count[0]
    word.q = &scratch[1, 0]
    word.running = &scratch[2, 0]
    with nogil:
        for k in range(n_topics):
            scratch[0, k] = <float>prior[k]
        for w in range(words.shape[0]):
            if update_counts:
                word.count = &counts[words[w], 0]
            else:
                memcpy(word.count, &counts[words[w], 0], n_topics * sizeof(double))
            for own in range(own_indptr[words[w]], own_indptr[words[w] + 1]):
                beta[own_topic[own]] = own_value[own]
            fill_word(&word)
            seed_stream(&stream, combine(key, <uint64_t>words[w]))
            count_work(&done, n_topics)
            token = token_indptr[w]
            while token < token_indptr[w + 1]:
                n = min(<Py_ssize_t>AT_ONCE, token_indptr[w + 1] - token)
                for i in range(n):
                    bits = next_bits(&stream)
                    uniform[i][0] = unit_float(bits >> 40)
                    uniform[i][1] = unit_float(bits >> 16 & 0xFFFFFF)
                draw_word(
                    &word, n, &rows[0, 0], &document[token], &size[token], &uniform[0][0], &z[token]
                )
                count_work(&done, n * (n_padded // 4 + 16))
                token += n
            for own in range(own_indptr[words[w]], own_indptr[words[w] + 1]):
                beta[own_topic[own]] = topic_word_prior


def list_tokens(
    const int64_t[::1] word_indptr,
    const int32_t[::1] cell_document,
    const double[::1] cell_count,
    int64_t[::1] token_indptr,
    int32_t[::1] document,
    float[::1] size,
):
    """Fill the bounds of each word's tokens, their documents and weights (OUT) from cells by words."""
    cdef Py_ssize_t w, cell, token = 0
    cdef int32_t i, n_parts
    with nogil:
        token_indptr[0] = 0
        for w in range(word_indptr.shape[0] - 1):
            for cell in range(word_indptr[w], word_indptr[w + 1]):
                n_parts = n_clumps(cell_count[cell])
                for i in range(n_parts):
                    document[token] = cell_document[cell]
                    size[token] = <float>clump_weight(cell_count[cell], n_parts, i)
                    token += 1
            token_indptr[w + 1] = token


def count_topics(
    const int32_t[::1] document, const float[::1] size, const int32_t[::1] z, float[:, ::1] rows
):
    """Fill the documents' rows (OUT; zeros on entry) from the topics z >= 0 of their tokens."""
    cdef Py_ssize_t token
    with nogil:
        for token in range(z.shape[0]):
            rows[document[token], z[token]] += size[token]
