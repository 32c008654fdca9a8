"""Topics divided into parts: which parts there might be, and what of each cell belongs to which.

A topic has c tokens of each cell (document, word). Parts share them, c_p = c phi_p with shares phi that sum
to one, by mean field with all other topics held fixed; their weights sum to that of the topic.
"""

import numpy as np

from libc.math cimport exp, fabs, lgamma, log
from libc.stdint cimport int32_t, int64_t, uint64_t

from sktopic._kernels.numbers._special cimport digamma
from sktopic._kernels.random._rng cimport Stream, combine, next_uniform, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work

# What one part is preferred by over another, at most: products of two of these are numbers still.
cdef double LEAST_FACTOR = 1e-100
# Iterations over the weights of the parts in a round.
cdef enum:
    WEIGHT_ITERATIONS = 5
# Share of the topic's weight that a part has at least.
cdef double LEAST_SHARE = 1e-10
# Relative difference of gains that rounding makes: of starts that lead to the same parts, the first is taken.
cdef double SAME_GAIN = 1e-9


cdef struct Topic:
    # Its cells by document, and what is known of it.
    Py_ssize_t n_documents
    Py_ssize_t n_words
    const int64_t* begin           # (n_documents + 1,) of each document's cells
    const int32_t* word
    const double* tokens
    const double* times            # (n_documents,) as how many a document counts
    const double* length           # (n_documents,) sums of tokens
    const int64_t* order           # (n_documents,) documents by length, in whichever order they came
    const double* log_words        # (n_words,) of its distribution over these words
    double prior                   # alpha beta
    double topic_word_prior
    double n_features
    double alone                   # what the parts' bound is compared with
    Py_ssize_t n_parts
    int max_iter
    double tol


cdef struct Parts:
    double* of_words               # (n_words, n_parts) exp E[log phi], each relative to the largest of a word
    double* columns                # (n_words, n_parts) tokens
    double* own                    # (n_documents, n_parts) tokens
    double* shares                 # (n_parts,) of the topic's weight


cdef void relative(double* x, Py_ssize_t n) noexcept nogil:
    """Logarithms become numbers relative to the largest."""
    cdef double largest = x[0]
    cdef Py_ssize_t p
    for p in range(1, n):
        if x[p] > largest:
            largest = x[p]
    for p in range(n):
        x[p] = max(exp(x[p] - largest), LEAST_FACTOR)


cdef inline double shares_of_cell(
    const double* of_word, const double* of_document, Py_ssize_t n, double* share
) noexcept nogil:
    """Fill the parts' products, and return what makes shares of them."""
    cdef double total = 0.0
    cdef Py_ssize_t p
    for p in range(n):
        share[p] = of_word[p] * of_document[p]
        total += share[p]
    return 1.0 / total


cdef int divide_document(
    const double* tokens, const int32_t* word, Py_ssize_t n, const double* of_words, Py_ssize_t n_parts,
    const double* prior, int max_iter, double tol, double* own, double* of_document, double* scratch,
    Py_ssize_t* done
) except -1 nogil:
    """Mean field for the cells of one document.

    own : (n_parts,) tokens of the parts, from which to start; becomes those that they have in the end, by
        the factors of_document (n_parts,); scratch : (2 * n_parts,)
    """
    cdef double* share = scratch
    cdef double* before = scratch + n_parts
    cdef double scale, changed
    cdef int _iteration
    cdef Py_ssize_t i, p
    for _iteration in range(max_iter):
        for p in range(n_parts):
            before[p] = own[p]
            of_document[p] = digamma(prior[p] + own[p])
            own[p] = 0.0
        relative(of_document, n_parts)
        for i in range(n):
            scale = shares_of_cell(of_words + word[i] * n_parts, of_document, n_parts, share)
            scale *= tokens[i]
            for p in range(n_parts):
                own[p] += scale * share[p]
        count_work(done, 4 * n_parts * (n + 8))
        changed = 0.0
        for p in range(n_parts):
            changed = max(changed, fabs(own[p] - before[p]))
        if changed < tol:
            break
    return 0


def divide_cells(
    const int32_t[::1] document,
    const int32_t[::1] word,
    const double[::1] tokens,
    const double[:, ::1] log_words,
    const double[::1] prior,
    int max_iter,
    double tol,
    double[::1] mixing,
):
    """Divide a topic's tokens among parts whose topics are given.

    A part's share of a cell is proportional to exp(E[log phi_w] + psi(theta)), where theta = prior
    + its tokens in the document; in the beginning, these are proportional to the prior.

    Parameters
    ----------
    document, word, tokens : of the topic's cells, documents ascending                            IN
    log_words : (n_words, n_parts) E[log phi] of the parts                                        IN
    prior : (n_parts,) parameters of the document's proportions                                   IN
    max_iter, tol : iterations over a document, at most, and until no part's tokens change by more
    mixing : (n_documents,) to which are added the sums over cells of c log c - sum of c_p log c_p IN/OUT

    Returns
    -------
    divided (n_cells, n_parts) float64 : tokens of the parts
    """
    cdef Py_ssize_t n = document.shape[0], n_parts = prior.shape[0], begin = 0, end, i, p, done = 0
    cdef double total, all_prior = 0.0, scale, lost
    divided_array = np.empty((n, n_parts))
    cdef double[:, ::1] divided = divided_array
    cdef double[:, ::1] of_words = np.array(log_words)
    cdef double[::1] own = np.empty(n_parts), of_document = np.empty(n_parts), scratch = np.empty(2 * n_parts)
    with nogil:
        for i in range(of_words.shape[0]):
            relative(&of_words[i, 0], n_parts)
        for p in range(n_parts):
            all_prior += prior[p]
        while begin < n:
            end = begin
            total = 0.0
            while end < n and document[end] == document[begin]:
                total += tokens[end]
                end += 1
            for p in range(n_parts):
                own[p] = total * prior[p] / all_prior
            divide_document(
                &tokens[begin], &word[begin], end - begin, &of_words[0, 0], n_parts, &prior[0], max_iter, tol,
                &own[0], &of_document[0], &scratch[0], &done
            )
            lost = 0.0
            for i in range(begin, end):
                scale = shares_of_cell(&of_words[word[i], 0], &of_document[0], n_parts, &divided[i, 0])
                for p in range(n_parts):
                    divided[i, p] *= scale
                    if divided[i, p] > 0.0:
                        lost -= tokens[i] * divided[i, p] * log(divided[i, p])
                    divided[i, p] *= tokens[i]
            mixing[document[begin]] += lost
            begin = end
    return divided_array


cdef Py_ssize_t drawn(
    const double* weight, const int64_t* order, Py_ssize_t n, Stream* stream
) noexcept nogil:
    """One of n documents in some order, in proportion to weights that are not all zero."""
    cdef double total = 0.0, u
    cdef Py_ssize_t i, last = order[0]
    for i in range(n):
        total += weight[order[i]]
    u = next_uniform(stream) * total
    total = 0.0
    for i in range(n):
        if weight[order[i]] > 0.0:
            last = order[i]
            total += weight[last]
            if total > u:
                break
    return last


cdef int seed_parts(
    const Topic* topic, Parts* parts, Stream* stream, double* residual, double* log_seed, Py_ssize_t* done
) except -1 nogil:
    """Let documents be the parts' seeds; residual (n_documents,) and log_seed (n_words,) are scratch."""
    cdef Py_ssize_t n_parts = topic.n_parts, p, d, i, w, seed
    cdef double closeness, total = 0.0
    for p in range(n_parts):
        if total == 0.0:  # at first, or if the seeds describe all documents as well as the topic does
            for d in range(topic.n_documents):
                residual[d] = topic.times[d] * topic.length[d]
        seed = drawn(residual, topic.order, topic.n_documents, stream)
        for w in range(topic.n_words):
            log_seed[w] = topic.log_words[w] - log(2.0)
        for i in range(topic.begin[seed], topic.begin[seed + 1]):
            w = topic.word[i]
            log_seed[w] = log(0.5 * (exp(topic.log_words[w]) + topic.tokens[i] / topic.length[seed]))
        total = 0.0
        for d in range(topic.n_documents):
            closeness = 0.0
            for i in range(topic.begin[d], topic.begin[d + 1]):
                w = topic.word[i]
                closeness += topic.tokens[i] * (topic.log_words[w] - log_seed[w])
            closeness = topic.times[d] * max(closeness, 0.0)
            residual[d] = closeness if p == 0 else min(residual[d], closeness)
            total += residual[d]
        for w in range(topic.n_words):
            parts.of_words[w * n_parts + p] = log_seed[w]
        parts.shares[p] = 1.0 / n_parts
        for d in range(topic.n_documents):
            parts.own[d * n_parts + p] = topic.length[d] / n_parts
        count_work(done, 20 * topic.n_words + 4 * topic.begin[topic.n_documents])
    for w in range(topic.n_words):
        relative(parts.of_words + w * n_parts, n_parts)
    return 0


cdef int divide_documents(
    const Topic* topic, Parts* parts, double* scratch, double* entropy, Py_ssize_t* done
) except -1 nogil:
    """Divide all cells; sets own, columns, and, unless it is NULL, the entropy of the shares.

    scratch : (4 * n_parts,)
    """
    cdef Py_ssize_t n_parts = topic.n_parts, d, i, p, first, n
    cdef double* prior = scratch + 2 * n_parts
    cdef double* of_document = scratch + 3 * n_parts
    cdef double* column
    cdef double scale, share
    if entropy != NULL:
        entropy[0] = 0.0
    for i in range(topic.n_words * n_parts):
        parts.columns[i] = 0.0
    for p in range(n_parts):
        prior[p] = topic.prior * parts.shares[p]
    for d in range(topic.n_documents):
        first = topic.begin[d]
        n = topic.begin[d + 1] - first
        divide_document(
            topic.tokens + first, topic.word + first, n, parts.of_words, n_parts, prior, topic.max_iter,
            topic.tol, parts.own + d * n_parts, of_document, scratch, done
        )
        for i in range(first, first + n):
            scale = shares_of_cell(parts.of_words + topic.word[i] * n_parts, of_document, n_parts, scratch)
            column = parts.columns + topic.word[i] * n_parts
            for p in range(n_parts):
                scratch[p] *= scale
                column[p] += topic.times[d] * topic.tokens[i] * scratch[p]
            if entropy != NULL:
                for p in range(n_parts):
                    share = scratch[p]
                    if share > 0.0:
                        entropy[0] -= topic.times[d] * topic.tokens[i] * share * log(share)
        count_work(done, 20 * n_parts * n)
    return 0


cdef int fit_shares(const Topic* topic, Parts* parts, double* tables, Py_ssize_t* done) except -1 nogil:
    """Move the weights of the parts towards their best, by the fixed point of the expected tables."""
    cdef Py_ssize_t n_parts = topic.n_parts, d, p
    cdef double prior, total
    cdef int _iteration
    for _iteration in range(WEIGHT_ITERATIONS):
        total = 0.0
        for p in range(n_parts):
            prior = topic.prior * parts.shares[p]
            tables[p] = 0.0
            for d in range(topic.n_documents):
                tables[p] += topic.times[d] * (digamma(prior + parts.own[d * n_parts + p]) - digamma(prior))
            tables[p] = max(prior * tables[p], 0.0)
            total += tables[p]
        count_work(done, 40 * n_parts * topic.n_documents)
        if total > 0.0:
            for p in range(n_parts):
                parts.shares[p] = (tables[p] / total + LEAST_SHARE) / (1.0 + n_parts * LEAST_SHARE)
    return 0


cdef double proportions_bound(
    const Topic* topic, double prior, const double* own, Py_ssize_t stride
) noexcept nogil:
    """What the documents' bounds have of a topic by its proportions, given its tokens in documents."""
    cdef double bound = 0.0, norm = lgamma(prior)
    cdef Py_ssize_t d
    for d in range(topic.n_documents):
        bound += topic.times[d] * (lgamma(prior + own[d * stride]) - norm)
    return bound


cdef double words_bound(const Topic* topic, const double* column, Py_ssize_t stride) noexcept nogil:
    """What the bound has of a topic by its words, at the best posterior for these tokens of words."""
    cdef double bound = 0.0, total = 0.0, norm = lgamma(topic.topic_word_prior)
    cdef double all_prior = topic.n_features * topic.topic_word_prior
    cdef Py_ssize_t w
    for w in range(topic.n_words):
        if column[w * stride] > 0.0:
            bound += lgamma(topic.topic_word_prior + column[w * stride]) - norm
            total += column[w * stride]
    return bound + lgamma(all_prior) - lgamma(all_prior + total)


cdef void fit_words(const Topic* topic, Parts* parts) noexcept nogil:
    """Let the parts' topics be the best for their tokens."""
    cdef Py_ssize_t n_parts = topic.n_parts, w, p
    cdef double total, norm
    for p in range(n_parts):
        total = topic.n_features * topic.topic_word_prior
        for w in range(topic.n_words):
            total += parts.columns[w * n_parts + p]
        norm = digamma(total)
        for w in range(topic.n_words):
            parts.of_words[w * n_parts + p] = (
                digamma(topic.topic_word_prior + parts.columns[w * n_parts + p]) - norm
            )
    for w in range(topic.n_words):
        relative(parts.of_words + w * n_parts, n_parts)


cdef int ascend(
    const Topic* topic, Parts* parts, int rounds, double* scratch, double* gain, Py_ssize_t* done
) except -1 nogil:
    """Rounds of coordinate ascent over shares, weights and topics of the parts, and what they gain."""
    cdef Py_ssize_t n_parts = topic.n_parts, p
    cdef int _round
    for _round in range(rounds):
        divide_documents(topic, parts, scratch, gain if _round == rounds - 1 else NULL, done)
        fit_shares(topic, parts, scratch, done)
        fit_words(topic, parts)
        count_work(done, 40 * n_parts * topic.n_words)
    gain[0] -= topic.alone
    for p in range(n_parts):
        gain[0] += proportions_bound(topic, topic.prior * parts.shares[p], parts.own + p, n_parts)
        gain[0] += words_bound(topic, parts.columns + p, n_parts)
    count_work(done, 40 * n_parts * (topic.n_documents + topic.n_words))
    return 0


def propose_parts(
    cells,
    whole,
    Py_ssize_t n_parts,
    ascent,
    uint64_t key,
):
    """Parts of a topic that raise the bound of some documents, as far as a few rounds reach.

    From each of some starts, documents are the parts' seeds: the first is drawn in proportion to the topic's
    tokens, each of the others in proportion to the nats by which the topic itself describes it better than
    the seeds before do. A part's topic is the mean of its document's words and of the topic; all parts have
    the same share. Coordinate ascent over shares, topics and weights of the parts follows: first_rounds of it
    from each start, and more_rounds from where the gain is highest then.

    Parameters
    ----------
    cells : TopicCells, at least one                                                              IN
    whole : WholeTopic; its log_words are for the seeds                                           IN
    n_parts : 2 or more
    ascent : Ascent
    key : of the stream of random numbers

    Returns
    -------
    columns (n_parts, n_words) float64 : tokens of the parts, each document as often as its weight says
    shares (n_parts,) float64 : of the topic's weight
    gain : what the documents' bound is higher by than with one topic, if they are the corpus
    """
    cdef const int32_t[::1] document = cells.document
    cdef const int32_t[::1] word = cells.word
    cdef const double[::1] tokens = cells.tokens
    cdef const double[::1] log_words = whole.log_words
    cdef int n_starts = ascent.n_starts, first_rounds = ascent.first_rounds, more_rounds = ascent.more_rounds
    cdef Py_ssize_t n_words = log_words.shape[0], n_documents, i, d, done = 0
    cdef int start
    cdef double gain, best_gain = 0.0, norm = 0.0
    cdef Stream stream
    cdef Topic topic
    cdef Parts parts, best, other
    first = np.flatnonzero(np.diff(document, prepend=-1))
    n_documents = len(first)
    cdef int64_t[::1] begin = np.append(first, len(document)).astype(np.int64)
    cdef double[::1] length = np.add.reduceat(tokens, first)
    cdef int64_t[::1] order = np.argsort(length, kind="stable").astype(np.int64)
    cdef double[::1] times = cells.document_weight[cells.document[first]]
    cdef double[::1] log_topic = np.empty(n_words), by_word = np.zeros(n_words), log_seed = np.empty(n_words)
    cdef double[::1] residual = np.empty(n_documents), scratch = np.empty(4 * n_parts)
    cdef double[:, :, ::1] of_words = np.empty((2, n_words, n_parts))
    columns_array, shares_array = np.empty((2, n_words, n_parts)), np.empty((2, n_parts))
    cdef double[:, :, ::1] columns = columns_array
    cdef double[:, :, ::1] own = np.empty((2, n_documents, n_parts))
    cdef double[:, ::1] shares = shares_array
    parts = Parts(&of_words[0, 0, 0], &columns[0, 0, 0], &own[0, 0, 0], &shares[0, 0])
    best = Parts(&of_words[1, 0, 0], &columns[1, 0, 0], &own[1, 0, 0], &shares[1, 0])
    topic = Topic(
        n_documents, n_words, &begin[0], &word[0], &tokens[0], &times[0], &length[0], &order[0],
        &log_topic[0], whole.concentration * whole.weight, whole.topic_word_prior, whole.n_features, 0.0,
        n_parts, ascent.max_iter, ascent.tol,
    )
    with nogil:
        for i in range(n_words):
            norm += exp(log_words[i])
        for i in range(n_words):
            log_topic[i] = log_words[i] - log(norm)
        for d in range(n_documents):
            for i in range(begin[d], begin[d + 1]):
                by_word[word[i]] += times[d] * tokens[i]
        topic.alone = proportions_bound(&topic, topic.prior, &length[0], 1)
        topic.alone += words_bound(&topic, &by_word[0], 1)
        for start in range(n_starts):
            seed_stream(&stream, combine(key, start))
            seed_parts(&topic, &parts, &stream, &residual[0], &log_seed[0], &done)
            ascend(&topic, &parts, first_rounds, &scratch[0], &gain, &done)
            if start == 0 or gain > best_gain + SAME_GAIN * fabs(best_gain):
                best_gain = gain
                other = parts
                parts = best
                best = other
        ascend(&topic, &best, more_rounds, &scratch[0], &best_gain, &done)
    i = 0 if best.shares == &shares[0, 0] else 1
    return np.ascontiguousarray(columns_array[i].T), shares_array[i].copy(), best_gain
