"""Online Bayesian moment matching (Hsu and Poupart, 2016): the posterior after each token, approximated.

Each topic t has a Dirichlet over words with parameters beta_t, each document one over topics with parameters
alpha, and, where the number of topics T is not given, gamma_T is the probability of T. A token of word w with
weight c (one for an ordinary token) turns this product of distributions into a mixture over T and its topic;
the product with the same first moments, and one matching second moment for each Dirichlet, takes its place.

With b_t = beta_tw / sum(beta_t), a Dirichlet of mean m and sum A that is hit with probability g, in component
i with probability q_i, gets the mean

    m (1 - r) + r q,    r = g c / (A + c),

and the sum (first - second moment) / variance of the mixture, of one component (equation 7 of the paper) or
both added over all components. matched_sum_one and matched_sum_all in moments/_token_update.h have them in
forms without cancellation.

- beta_t is hit with the posterior probability p_t of topic t, in component w.
- alpha of a fixed number of topics is hit for certain, in component t with probability p_t ~ alpha_t b_t.
- In the triangular model T topics have an alpha of their own, hit with the posterior probability of T.
- In the degenerate model, T topics have the Dirichlet of the first T entries of the one alpha. The moments of
  the mixture over T and topic are equations 10 to 13 of the paper, as sums over T shared by all topics.

A token of weight above one is one token, and the rest of its weight is added to beta and alpha in the shares
p_t. The probability of T is multiplied by the weight's power of the token's probability given T.

Beta costs one row a token: the mean of topic t is scale_t times a column of the store, and a hit multiplies
the scale and adds to the entry of its word.
"""

import numpy as np

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from sktopic._kernels.documents._clumps cimport clump_weight, n_clumps
from sktopic._kernels.moments cimport _token_update
from sktopic._kernels.moments._token_update cimport (
    observe_degenerate,
    observe_fixed,
    observe_triangular,
    prefetch_row,
    update_topics,
)
from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.random._rng cimport Stream, next_below, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work

FIXED, DEGENERATE, TRIANGULAR = range(3)
FIRST, SUM, SECOND = _token_update.FIRST, _token_update.SUM, _token_update.SECOND
cdef enum:
    SCRATCH = 17        # entries that an observation needs, a topic
    # Tokens that a count may become: more than elsewhere, since only the first unit of one is matched.
    MOST = 1024
MAX_TOKENS = MOST
# A smaller scale is folded into its column, in which nothing falls below the second.
cdef double SMALLEST_SCALE = 1e-100
cdef double SMALLEST_ENTRY = 1e-150


def list_tokens(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const double[::1] cell_count,
    const uint64_t[::1] keys,
):
    """The tokens of documents, one after the other.

    Parameters
    ----------
    indptr, cell_word, cell_count : as in _sparse_gibbs.sweep_documents                                  IN
    keys : (n_documents,) streams that shuffle each document's tokens; () for the order of cells  IN

    Returns
    -------
    document (n_tokens,) int32, word (n_tokens,) int32, weight (n_tokens,) float64
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, d, cell, n = 0, first, i, j, done = 0
    cdef int64_t base = indptr[0]
    cdef int32_t pieces, swapped_word
    cdef double swapped_weight
    cdef Stream stream
    for cell in range(cell_count.shape[0]):
        n += n_clumps(cell_count[cell], MOST)
    arrays = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32), np.empty(n)
    cdef int32_t[::1] document = arrays[0], word = arrays[1]
    cdef double[::1] weight = arrays[2]
    with nogil:
        n = 0
        for d in range(n_documents):
            first = n
            count_work(&done, 32 * (indptr[d + 1] - indptr[d]))
            for cell in range(indptr[d] - base, indptr[d + 1] - base):
                pieces = n_clumps(cell_count[cell], MOST)
                for i in range(pieces):
                    document[n] = <int32_t>d
                    word[n] = cell_word[cell]
                    weight[n] = clump_weight(cell_count[cell], pieces, <int32_t>i, MOST)
                    n += 1
            if keys.shape[0] == 0:
                continue
            seed_stream(&stream, keys[d])
            for i in range(n - first - 1, 0, -1):
                j = first + next_below(&stream, i + 1)
                swapped_word, swapped_weight = word[first + i], weight[first + i]
                word[first + i], weight[first + i] = word[j], weight[j]
                word[j], weight[j] = swapped_word, swapped_weight
    return arrays


def permutation(uint64_t key, Py_ssize_t n):
    """A random order of range(n), int64; n must be below 2 ** 32."""
    order_array = np.arange(n, dtype=np.int64)
    cdef int64_t[::1] order = order_array
    cdef Py_ssize_t i, j, done = 0
    cdef int64_t swapped
    cdef Stream stream
    with nogil:
        seed_stream(&stream, key)
        for i in range(n - 1, 0, -1):
            j = next_below(&stream, i + 1)
            swapped = order[i]
            order[i] = order[j]
            order[j] = swapped
            count_work(&done, 16)
    return order_array


cdef inline double observe(
    int model, double* alpha, double* gamma, double* lag, const double* b, double weight, int match,
    int learns, Py_ssize_t n, double* p, double* scratch
) noexcept nogil:
    if model == 0:
        return observe_fixed(alpha, b, weight, match, n, p)
    if model == 1:
        return observe_degenerate(alpha, gamma, lag, b, weight, match, learns, n, p, scratch)
    return observe_triangular(alpha, gamma, lag, b, weight, match, learns, n, p, scratch)


cdef void fold_scales(double[:, ::1] store, double[::1] scale) noexcept nogil:
    """Multiply small scales into their columns."""
    cdef Py_ssize_t w, t
    for t in range(store.shape[1]):
        if scale[t] < SMALLEST_SCALE:
            for w in range(store.shape[0]):
                store[w, t] = max(store[w, t] * scale[t], SMALLEST_ENTRY)
            scale[t] = 1.0


def filter_tokens(
    int model,
    int match,
    tokens,
    topics,
    const double[::1] start,
    double[:, ::1] alpha,
    double[::1] gamma,
    double[::1] lag,
    double[::1] marginal,
    double[::1] predictive,
):
    """Update the posterior by tokens, one after the other.

    Parameters
    ----------
    model : FIXED, DEGENERATE or TRIANGULAR
    match : which second moment is matched. FIRST: that of the first topic or word; SUM: the sum of all;
        SECOND: that of the second topic, and of the first word                                      IN
    tokens : object with these arrays
        document : (n_tokens,) row of alpha                                                          IN
        word, weight : (n_tokens,)                                                                   IN
        begins : (n_tokens,) whether the token is the first of its document, whose alpha begins as
            start                                                                                    IN
    topics : object with these arrays
        store, scale : (n_features, n_topics) and (n_topics,) means of the topics: store * scale     IN, OUT
        sums : (n_topics,) of the topics' Dirichlet parameters                                       IN, OUT
        spread : (n_topics,) one less the sums of the squared means                                  IN, OUT
    start : (size,) n_topics entries, or those of all numbers of topics (TRIANGULAR)                 IN
    alpha : (n_documents, size)                                                                      IN, OUT
    gamma, lag : (n_topics,) the probability of T topics is gamma * 2 ** (-512 * lag); not FIXED     IN, OUT
    marginal : (2,) to which is added for each token: weight times the log of its probability given all
        before, and weight                                                                           IN, OUT
    predictive : (n_tokens,) these probabilities, or ()                                              OUT
    """
    cdef const int32_t[::1] document = tokens.document
    cdef const int32_t[::1] word = tokens.word
    cdef const double[::1] weight = tokens.weight
    cdef const uint8_t[::1] begins = tokens.begins
    cdef double[:, ::1] store = topics.store
    cdef double[::1] scale = topics.scale
    cdef double[::1] sums = topics.sums
    cdef double[::1] spread = topics.spread
    cdef Py_ssize_t n_tokens = word.shape[0], n_topics = store.shape[1], i, t
    cdef double probability, smallest
    cdef double* row
    cdef double* own
    cdef double[:, ::1] scratch = np.empty((SCRATCH + 3, n_topics))
    cdef double* b = &scratch[SCRATCH, 0]
    cdef double* p = &scratch[SCRATCH + 1, 0]
    cdef double* first = &scratch[SCRATCH + 2, 0]
    with nogil:
        for i in range(n_tokens):
            if i + 2 < n_tokens:
                prefetch_row(&store[word[i + 2], 0], n_topics)
            row = &store[word[i], 0]
            own = &alpha[document[i], 0]
            if begins[i]:
                memcpy(own, &start[0], start.shape[0] * sizeof(double))
            for t in range(n_topics):
                b[t] = scale[t] * row[t]
                first[t] = scale[t] * store[0, t]
            probability = observe(
                model, own, &gamma[0], &lag[0], b, weight[i], match, True, n_topics, p, &scratch[0, 0])
            smallest = update_topics(
                row, first, word[i] == 0, weight[i], match, n_topics, p, &scale[0], &sums[0], &spread[0])
            if smallest < SMALLEST_SCALE:
                fold_scales(store, scale)
            marginal[0] += weight[i] * log(probability)
            marginal[1] += weight[i]
            if predictive.shape[0]:
                predictive[i] = probability


def infer_documents(
    int model,
    int match,
    const int64_t[::1] indptr,
    const int32_t[::1] word,
    const double[::1] weight,
    const real[:, ::1] rows,
    const double[::1] gamma,
    const double[::1] start,
    double[:, ::1] alpha,
):
    """Topic proportions of documents, with topics and the probabilities gamma of their number held fixed.

    Parameters
    ----------
    model, match, start : as in filter_tokens
    indptr : (n_documents + 1,) bounds of each document's tokens                                     IN
    word, weight : (n_tokens,) row and weight of each                                                IN
    rows : (n_words, n_topics) the words' probabilities under each topic, each row up to a factor    IN
    gamma : (n_topics,) sums to one; not FIXED                                                       IN
    alpha : (n_documents, size) parameters after the last token, or (1, size) as scratch             OUT

    Returns
    -------
    theta (n_documents, n_topics) float64 : the mean over the number of topics of expected proportions.
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = rows.shape[1], d, t, k
    cdef Py_ssize_t done = 0
    cdef int64_t base = indptr[0], i
    cdef double total, partial
    cdef double* own
    theta_array = np.zeros((n_documents, n_topics))
    cdef double[:, ::1] theta = theta_array
    cdef double[:, ::1] scratch = np.zeros((SCRATCH + 4, n_topics))
    cdef double* b = &scratch[SCRATCH, 0]
    cdef double* p = &scratch[SCRATCH + 1, 0]
    cdef double* lag = &scratch[SCRATCH + 2, 0]
    cdef double* held = &scratch[SCRATCH + 3, 0]
    with nogil:
        for t in range(n_topics if model != 0 else 0):
            held[t] = gamma[t]
        for d in range(n_documents):
            own = &alpha[d if alpha.shape[0] > 1 else 0, 0]
            memcpy(own, &start[0], start.shape[0] * sizeof(double))
            for i in range(indptr[d] - base, indptr[d + 1] - base):
                for t in range(n_topics):
                    b[t] = rows[word[i], t]
                observe(model, own, held, lag, b, weight[i], match, False, n_topics, p, &scratch[0, 0])
                count_work(&done, 4 * (n_topics + start.shape[0]))
            if model == 0:
                total = 0.0
                for t in range(n_topics):
                    total += own[t]
                for t in range(n_topics):
                    theta[d, t] = own[t] / total
            elif model == 1:
                total = 0.0
                for t in range(n_topics):  # p: the sums over the first topics
                    total += own[t]
                    p[t] = total
                partial = 0.0
                for t in range(n_topics - 1, -1, -1):
                    partial += held[t] / p[t]
                    theta[d, t] = own[t] * partial
            else:
                for k in range(n_topics):
                    if held[k] > 0.0:
                        total = 0.0
                        for t in range(k + 1):
                            total += own[t]
                        for t in range(k + 1):
                            theta[d, t] += held[k] * own[t] / total
                    own += k + 1
            count_work(&done, n_topics + start.shape[0])
    return theta_array
