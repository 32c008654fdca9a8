"""Online maximum a posteriori estimation (OPE) of topic proportions by stochastic Frank-Wolfe steps.

For a document with counts c of words whose topic rows are B, the objective over the simplex is the sum of
log likelihood c . log(theta B) and log prior (alpha - 1) . log(theta). Each iteration draws one of the two
parts; with a and b the draws of each so far, theta moves a step 1 / (t + 1) towards the vertex with the
largest entry of

    a / p B (c / x) + b / (1 - p) (alpha - 1) / theta,    x = theta B.

A step 1 / (t + 1) adds one to a count: theta_t is (theta_1 + the number of times each vertex was chosen) / t.
With N that numerator and X = N B, the gradient is t times a / p M + b / (1 - p) (alpha - 1) / N where
M = B (c / X); X only grows, so that M only falls. What M_k was some iterations ago is thus a bound, and a
topic whose bound stays below the largest entry found need not be computed again (the lazy evaluation of
Minoux, 1978): the vertices are those of the full gradient (benchmarks/ope_kernel.py has the times).
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.numbers._vector cimport add_row, dot, fill_bounds, weigh_cells
from sktopic._kernels.random._block_sums cimport BLOCK
from sktopic._kernels.random._rng cimport Stream, next_uniform, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work


cdef struct Search:
    # The gradient of one document. Arrays have n_topics entries.
    Py_ssize_t n_topics
    double slack         # what rounding may add to a sum, as a share
    double* chosen       # N
    double* pull         # M when it was last computed
    double* push         # (alpha - 1) / N
    double* bound
    double* block        # largest bound in each block


cdef struct Words:
    # The words of one document; ratio and by_topic are of type real.
    Py_ssize_t n
    const int32_t* word
    const double* count
    double* x            # X
    void* ratio          # count / x
    void* by_topic       # (n_topics, n) the rows of topics that have been looked at
    char* copied         # (n_topics,) whether a topic has


def draw_choices(const uint64_t[::1] keys, Py_ssize_t n_topics, Py_ssize_t n_iter, double p):
    """Draw where documents start, and the part of the objective that each iteration looks at.

    Returns
    -------
    start (n_documents, n_topics) float64 : uniform in [1, 2), scaled to sums of one;
    choices (n_documents, n_iter) uint8 : 1 for the likelihood, with probability p and in the first iteration;
        0 for the prior.
    """
    cdef Py_ssize_t n_documents = keys.shape[0], d, k, t, done = 0
    cdef double total
    cdef Stream stream
    start_array = np.empty((n_documents, n_topics), dtype=np.float64)
    choices_array = np.empty((n_documents, n_iter), dtype=np.uint8)
    cdef double[:, ::1] start = start_array
    cdef uint8_t[:, ::1] choices = choices_array
    with nogil:
        for d in range(n_documents):
            seed_stream(&stream, keys[d])
            total = 0.0
            count_work(&done, 4 * (n_topics + n_iter))
            for k in range(n_topics):
                start[d, k] = 1.0 + next_uniform(&stream)
                total += start[d, k]
            for k in range(n_topics):
                start[d, k] /= total
            for t in range(n_iter):
                choices[d, t] = t == 0 or next_uniform(&stream) < p
    return start_array, choices_array


cdef int begin(
    Search* search, Words* words, const real* rows, const double* prior, real* chosen, real* pull,
    double* share, Py_ssize_t* done
) except -1 nogil:
    """x, ratio and all of the gradient, from the numbers in search.chosen; the last three are scratch."""
    cdef real* ratio = <real*>words.ratio
    cdef Py_ssize_t i, k
    for k in range(search.n_topics):
        chosen[k] = <real>search.chosen[k]
        search.push[k] = (prior[k] - 1.0) / search.chosen[k]
    weigh_cells(words.n, words.word, words.count, rows, search.n_topics, chosen, pull, share, done)
    for k in range(search.n_topics):
        search.pull[k] = pull[k]
        words.copied[k] = 0
    for i in range(words.n):
        words.x[i] = words.count[i] / share[i]
        ratio[i] = <real>share[i]
    return 0


cdef inline real* row_of(Words* words, const real* rows, Py_ssize_t n_topics, Py_ssize_t k) noexcept nogil:
    """The probabilities of the document's words under topic k."""
    cdef real* row = <real*>words.by_topic + k * words.n
    cdef Py_ssize_t i
    if not words.copied[k]:
        for i in range(words.n):
            row[i] = rows[words.word[i] * n_topics + k]
        words.copied[k] = 1
    return row


cdef inline double look_at(
    Search* search, Words* words, const real* rows, Py_ssize_t k, double a, double b
) noexcept nogil:
    """Entry k of the gradient, computed anew."""
    search.pull[k] = dot(row_of(words, rows, search.n_topics, k), <real*>words.ratio, words.n)
    return a * search.pull[k] + b * search.push[k]


cdef Py_ssize_t best_vertex(
    Search* search, Words* words, const real* rows, double a, double b, Py_ssize_t* done
) except -1 nogil:
    """The topic with the largest a M + b (alpha - 1) / N, the first of them if there are several."""
    cdef Py_ssize_t n_topics = search.n_topics, n_blocks = (n_topics + BLOCK - 1) // BLOCK
    cdef Py_ssize_t block = 0, k, best, first
    cdef double largest, value
    fill_bounds(
        search.pull, search.push, a, b, search.slack, n_topics, search.bound, search.block)
    for k in range(1, n_blocks):
        if search.block[k] > search.block[block]:
            block = k
    first = block * BLOCK
    for k in range(first + 1, min(first + BLOCK, n_topics)):
        if search.bound[k] > search.bound[first]:
            first = k
    largest = look_at(search, words, rows, first, a, b)
    count_work(done, n_topics + words.n)
    best = first
    for block in range(n_blocks):
        if search.block[block] < largest:
            continue
        for k in range(block * BLOCK, min((block + 1) * BLOCK, n_topics)):
            if search.bound[k] >= largest and k != first:
                value = look_at(search, words, rows, k, a, b)
                count_work(done, words.n)
                if value > largest or (value == largest and k < best):
                    largest = value
                    best = k
    return best


def maximise_documents(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const double[::1] cell_count,
    const real[:, ::1] rows,
    const double[::1] prior,
    const double[:, ::1] start,
    const uint8_t[:, ::1] choices,
    double p,
    bint lazy=True,
):
    """Run as many iterations on each document as it has choices.

    Parameters
    ----------
    indptr, cell_word, cell_count, rows, prior : as in _sparse_gibbs.sweep_documents (any row factor)     IN
    start, choices, p : what draw_choices returned, and with which p                              IN
    lazy : whether to leave out topics whose bound is too low; the result is the same

    Returns
    -------
    theta (n_documents, n_topics) float64;
    share (n_cells,) float64 : count / x, so that the expected count of a cell under topic k is
        share[cell] * theta[document, k] * rows[word, k].

    A document without words gets the prior mean.
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = rows.shape[1], n_iter = choices.shape[1]
    cdef Py_ssize_t d, k, i, t, best, n_likelihood, longest = 1, done = 0
    cdef int64_t base = indptr[0], first
    cdef double total = n_iter + 1.0, prior_total = np.sum(prior), a, b
    cdef Search search
    cdef Words words
    for d in range(n_documents):
        longest = max(longest, indptr[d + 1] - indptr[d])
    dtype = np.float32 if real is float else np.float64
    theta_array = np.array(start)
    share_array = np.empty(cell_word.shape[0], dtype=np.float64)
    cdef double[:, ::1] theta = theta_array
    cdef double[::1] share = share_array
    cdef real[:, ::1] by_topic = np.empty((n_topics, longest), dtype=dtype)
    cdef real[::1] ratio = np.empty(longest, dtype=dtype)
    cdef double[::1] x = np.empty(longest, dtype=np.float64)
    cdef uint8_t[::1] copied = np.empty(n_topics, dtype=np.uint8)
    cdef double[:, ::1] scratch = np.empty((4, n_topics), dtype=np.float64)
    cdef real[:, ::1] real_scratch = np.empty((2, n_topics), dtype=dtype)
    search.n_topics = n_topics
    search.pull = &scratch[0, 0]
    search.push = &scratch[1, 0]
    search.bound = &scratch[2, 0]
    search.block = &scratch[3, 0]
    words.x = &x[0]
    words.ratio = &ratio[0]
    words.by_topic = &by_topic[0, 0]
    words.copied = <char*>&copied[0]
    with nogil:
        for d in range(n_documents):
            first = indptr[d] - base
            words.n = indptr[d + 1] - indptr[d]
            if words.n == 0:
                for k in range(n_topics):
                    theta[d, k] = prior[k] / prior_total
                continue
            words.word = &cell_word[first]
            words.count = &cell_count[first]
            search.chosen = &theta[d, 0]
            # Computed anew, M falls in floating point too: sums are taken in one order, and all steps round
            # monotonously. The slack is for its first value, which is summed in another order (at most as
            # many roundings as terms), and for sums of two products rounded once or twice.
            search.slack = (words.n + n_topics + 8) * (1.2e-7 if real is float else 2.3e-16)
            if not lazy:
                search.slack = 1e30
            begin(
                &search, &words, &rows[0, 0], &prior[0], &real_scratch[0, 0], &real_scratch[1, 0],
                &share[first], &done,
            )
            n_likelihood = 0
            for t in range(n_iter):
                n_likelihood += choices[d, t]
                a = n_likelihood * (1.0 - p)  # times p (1 - p), which changes no maximum
                b = (t + 1 - n_likelihood) * p
                best = best_vertex(&search, &words, &rows[0, 0], a, b, &done)
                search.chosen[best] += 1.0
                search.push[best] = (prior[best] - 1.0) / search.chosen[best]
                add_row(row_of(&words, &rows[0, 0], n_topics, best), words.count, words.n, words.x, &ratio[0])
            for k in range(n_topics):
                theta[d, k] /= total
            for i in range(words.n):
                share[first + i] = words.count[i] * total / words.x[i]
    return theta_array, share_array
