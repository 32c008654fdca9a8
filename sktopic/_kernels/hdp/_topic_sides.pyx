"""Two topics compared with one that has the tokens of both.

A token i has a document, a word, a weight and a side, which is one of the topics. In document j side s has
n_js tokens, of word w all documents have n_ws. The union of the topics has the parameter a = b1 r of the
documents' proportions, its sides have a v_s, where v_0 + v_1 = 1. Tables and topics being summed out, two
topics are to one as

    R = prod_j Gamma(a) / Gamma(a + n_j) prod_s Gamma(a v_s + n_js) / Gamma(a v_s)
        prod_s B(beta + n_.s) / B(beta) / (B(beta + n_.) / B(beta)).

The share v is at the fixed point v_s ~ T_s after one step, where T_s = sum_j a v_s (psi(a v_s + n_js) -
psi(a v_s)) are the expected tables.
"""

import numpy as np

from libc.math cimport lgamma, log
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from sktopic._kernels.numbers._special cimport digamma
from sktopic._kernels.threads._interrupt cimport count_work

# The share of a side is no less.
cdef double LEAST_SHARE = 1e-6


cdef struct Topic:
    # The tokens of a topic by document.
    Py_ssize_t n_documents
    const int64_t* document
    const int64_t* first
    const int32_t* word
    const double* size
    const double* document_weight
    const double* copy_weight


cdef struct Tokens:
    # Those of both topics.
    Py_ssize_t n_documents
    int64_t* first
    int32_t* word
    double* size
    double* document_weight
    double* copy_weight
    int8_t* side
    # Counts of the two sides by word (two neighbors each), and in all.
    double* by_word
    double[2] total
    double[2] prior     # a v
    double topic_word_prior
    double norm_offset


cdef void join(const Topic* topics, Tokens* tokens) noexcept nogil:
    """Fill the arrays of the tokens of both topics, document by document."""
    cdef Py_ssize_t[2] at = [0, 0]  # the next document of each topic
    cdef Py_ssize_t i, d = 0, n = 0
    cdef int64_t document
    cdef int s
    while True:
        document = -1
        for s in range(2):
            if at[s] < topics[s].n_documents and (document < 0 or topics[s].document[at[s]] < document):
                document = topics[s].document[at[s]]
                tokens.document_weight[d] = topics[s].document_weight[at[s]]
                tokens.copy_weight[d] = topics[s].copy_weight[at[s]]
        tokens.first[d] = n
        if document < 0:
            break
        for s in range(2):
            if at[s] == topics[s].n_documents or topics[s].document[at[s]] != document:
                continue
            for i in range(topics[s].first[at[s]], topics[s].first[at[s] + 1]):
                tokens.word[n], tokens.size[n], tokens.side[n] = topics[s].word[i], topics[s].size[i], s
                n += 1
            at[s] += 1
        d += 1
    tokens.n_documents = d


cdef void count(Tokens* tokens) noexcept nogil:
    cdef Py_ssize_t d, i
    cdef double weight
    tokens.total[0] = tokens.total[1] = 0.0
    for d in range(tokens.n_documents):
        for i in range(tokens.first[d], tokens.first[d + 1]):
            weight = tokens.document_weight[d] * tokens.size[i]
            tokens.by_word[2 * tokens.word[i] + tokens.side[i]] += weight
            tokens.total[tokens.side[i]] += weight


cdef inline void count_document(const Tokens* tokens, Py_ssize_t d, double* n) noexcept nogil:
    cdef Py_ssize_t i
    n[0] = n[1] = 0.0
    for i in range(tokens.first[d], tokens.first[d + 1]):
        n[tokens.side[i]] += tokens.size[i]


cdef void find_tables(const Tokens* tokens, double* tables) noexcept nogil:
    """Expected tables of the sides."""
    cdef Py_ssize_t d
    cdef int s
    cdef double[2] n
    cdef double[2] psi
    for s in range(2):
        tables[s] = 0.0
        psi[s] = digamma(tokens.prior[s])
    for d in range(tokens.n_documents):
        count_document(tokens, d, n)
        for s in range(2):
            if n[s] > 0.0:
                tables[s] += (
                    tokens.document_weight[d] * tokens.prior[s] * (digamma(tokens.prior[s] + n[s]) - psi[s])
                )


cdef void share_out(Tokens* tokens) noexcept nogil:
    """One step towards the fixed point of the share."""
    cdef double[2] tables
    cdef double both = tokens.prior[0] + tokens.prior[1], share
    find_tables(tokens, tables)
    share = tables[0] / (tables[0] + tables[1]) if tables[0] + tables[1] > 0.0 else 0.5
    share = min(max(share, LEAST_SHARE), 1.0 - LEAST_SHARE)
    tokens.prior[0], tokens.prior[1] = both * share, both * (1.0 - share)


cdef double log_conditionals(Tokens* tokens, Py_ssize_t* done) except? -1.0 nogil:
    """Sum of the logarithms of the probabilities of all sides, each given all others.

    A token is left out in one copy of its document: the other copies are other documents.
    """
    cdef Py_ssize_t d, i, w
    cdef int s
    cdef double weight, first, second, q = 1.0, log_q = 0.0, document_log_q
    cdef double[2] n
    for d in range(tokens.n_documents):
        count_work(done, 16 * (tokens.first[d + 1] - tokens.first[d]))
        count_document(tokens, d, n)
        document_log_q = 0.0
        for i in range(tokens.first[d], tokens.first[d + 1]):
            w, s, weight = 2 * tokens.word[i], tokens.side[i], tokens.copy_weight[d] * tokens.size[i]
            n[s] -= tokens.size[i]
            tokens.by_word[w + s] -= weight
            tokens.total[s] -= weight
            first = (
                (tokens.prior[0] + max(n[0], 0.0))
                * (tokens.topic_word_prior + max(tokens.by_word[w], 0.0))
                * (tokens.norm_offset + max(tokens.total[1], 0.0))
            )
            second = (
                (tokens.prior[1] + max(n[1], 0.0))
                * (tokens.topic_word_prior + max(tokens.by_word[w + 1], 0.0))
                * (tokens.norm_offset + max(tokens.total[0], 0.0))
            )
            q *= (second if s else first) / (first + second)
            if q < 1e-200:
                document_log_q += log(q)
                q = 1.0
            n[s] += tokens.size[i]
            tokens.by_word[w + s] += weight
            tokens.total[s] += weight
        log_q += tokens.document_weight[d] * (document_log_q + log(q))
        q = 1.0
    return log_q


cdef double log_documents(const Tokens* tokens, Py_ssize_t* done) except? -1.0 nogil:
    """The logarithm of the documents' part of R."""
    cdef Py_ssize_t d
    cdef double total = 0.0, both = tokens.prior[0] + tokens.prior[1]
    cdef double base = lgamma(tokens.prior[0]) + lgamma(tokens.prior[1]) - lgamma(both)
    cdef double[2] n
    for d in range(tokens.n_documents):
        count_work(done, 100 + tokens.first[d + 1] - tokens.first[d])
        count_document(tokens, d, n)
        total += tokens.document_weight[d] * (
            lgamma(tokens.prior[0] + n[0]) + lgamma(tokens.prior[1] + n[1])
            - lgamma(both + n[0] + n[1]) - base
        )
    return total


cdef double log_words(const Tokens* tokens, uint8_t* seen, Py_ssize_t* done) except? -1.0 nogil:
    """The logarithm of the words' part of R."""
    cdef Py_ssize_t i, w
    cdef double n0, n1, beta = tokens.topic_word_prior, total = 0.0
    cdef double word_base = lgamma(beta)
    for i in range(tokens.first[tokens.n_documents]):
        w = tokens.word[i]
        if seen[w]:
            continue
        seen[w] = 1
        n0, n1 = max(tokens.by_word[2 * w], 0.0), max(tokens.by_word[2 * w + 1], 0.0)
        if n0 > 0.0 and n1 > 0.0:
            count_work(done, 100)
            total += lgamma(n0 + beta) + lgamma(n1 + beta) - lgamma(n0 + n1 + beta) - word_base
    n0, n1 = max(tokens.total[0], 0.0), max(tokens.total[1], 0.0)
    total += lgamma(n0 + n1 + tokens.norm_offset) + lgamma(tokens.norm_offset)
    return total - lgamma(n0 + tokens.norm_offset) - lgamma(n1 + tokens.norm_offset)


cdef Topic topic_of(topic_tokens):
    """The pointers of TokensByDocument."""
    cdef const int64_t[::1] document = topic_tokens.document, first = topic_tokens.first
    cdef const int32_t[::1] word = topic_tokens.word
    cdef const double[::1] size = topic_tokens.size
    cdef const double[::1] document_weight = topic_tokens.document_weight
    cdef const double[::1] copy_weight = topic_tokens.copy_weight
    cdef Topic topic
    topic.n_documents, topic.document, topic.first = document.shape[0], &document[0], &first[0]
    topic.word, topic.size = &word[0], &size[0]
    topic.document_weight, topic.copy_weight = &document_weight[0], &copy_weight[0]
    return topic


def compare_topics(
    first_topic,
    second_topic,
    double prior,
    double share,
    double topic_word_prior,
    Py_ssize_t n_features,
):
    """Compare two topics with one.

    Parameters
    ----------
    first_topic, second_topic : TokensByDocument, not empty                                             IN
    prior, share : a, and v of the first topic before its step
    topic_word_prior, n_features : beta, and the number of words there are

    Returns
    -------
    log_ratio, log_q, tables : log R, the sum of log p(s_i | all other sides), and the expected tables of both
    topics.
    """
    cdef Topic[2] topics = [topic_of(first_topic), topic_of(second_topic)]
    cdef Py_ssize_t n_tokens = len(first_topic.word) + len(second_topic.word)
    cdef Py_ssize_t n_documents = topics[0].n_documents + topics[1].n_documents
    cdef int64_t[::1] first = np.empty(n_documents + 1, dtype=np.int64)
    cdef int32_t[::1] word = np.empty(n_tokens, dtype=np.int32)
    cdef int8_t[::1] side = np.empty(n_tokens, dtype=np.int8)
    cdef double[::1] size = np.empty(n_tokens)
    cdef double[::1] document_weight = np.empty(n_documents), copy_weight = np.empty(n_documents)
    cdef double[::1] by_word = np.zeros(2 * n_features)
    cdef uint8_t[::1] seen = np.zeros(n_features, dtype=np.uint8)
    cdef Tokens tokens
    cdef Py_ssize_t done = 0
    cdef double log_q, log_ratio
    cdef double[2] tables
    tokens.first, tokens.word, tokens.size, tokens.side = &first[0], &word[0], &size[0], &side[0]
    tokens.document_weight, tokens.copy_weight = &document_weight[0], &copy_weight[0]
    tokens.by_word = &by_word[0]
    tokens.prior[0], tokens.prior[1] = prior * share, prior * (1.0 - share)
    tokens.topic_word_prior, tokens.norm_offset = topic_word_prior, topic_word_prior * n_features
    with nogil:
        join(topics, &tokens)
        count(&tokens)
        share_out(&tokens)
        log_q = log_conditionals(&tokens, &done)
        log_ratio = log_documents(&tokens, &done) + log_words(&tokens, &seen[0], &done)
        find_tables(&tokens, tables)
    return log_ratio, log_q, (tables[0], tables[1])
