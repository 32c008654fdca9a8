"""The document step of _sparse_gibbs by draws that go over all topics: faster where these are not too many.

For token i of a document, p(z_i = k | z_-i) is proportional to phi_kw (alpha_k + n_k), with n the counts of
the document without the token (equation 14 of Dupuy and Bach, 2017). What is summed are these
probabilities (Rao-Blackwell), not the draws.

Where topics have been learned from the document before, phi_kw is without what the document has added to it,
as far as present assignments tell: in the counted sweeps, w tokens of a word that the sweep before left in
topic k take own * w * token_k off phi_kw, which keeps its smoothing_k. Otherwise a document that comes again
and again finds its own words in its topics, the rarer the more.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from sktopic._kernels.documents._clumps cimport clump_weight, n_clumps
from sktopic._kernels.inference._lane_draws cimport LANES, draw_tokens
from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.numbers._special cimport digamma
from sktopic._kernels.random._rng cimport Stream, next_bits, next_uniform, seed_stream, unit_float
from sktopic._kernels.threads._interrupt cimport OFTEN, count_work
from sktopic._kernels.threads._team cimport GAP, Task, Team

# What a number of topics is filled up to a multiple of.
PADDING = LANES

# Entries that begin with a line of the cache: registers that lie across two are slow to read and write.
cdef enum:
    LINE = 16


cdef inline real next_unit(Stream* stream, real like) noexcept nogil:
    """A number in [0, 1) of the precision of the argument, which has as many random bits."""
    if real is float:
        return unit_float(next_bits(stream) >> 40)
    else:
        return next_uniform(stream)


cdef Py_ssize_t largest_part(const int64_t[::1] bounds) noexcept nogil:
    cdef Py_ssize_t largest = 0, i
    for i in range(bounds.shape[0] - 1):
        largest = max(largest, bounds[i + 1] - bounds[i])
    return largest


cdef struct Sampling:
    # Arguments of sweep_documents ...
    const int64_t* indptr
    const int32_t* cell_word
    const double* cell_count
    const int64_t* clump_indptr
    const void* rows
    const double* prior
    Py_ssize_t prior_step  # from the prior of a document to that of the next; 0: all have the same
    const uint64_t* keys
    const double* own  # or NULL
    const double* token
    const double* smoothing
    const double* unit
    int32_t* z
    int n_burn_in
    int n_sweeps
    void* counts
    double* sums
    double* log_theta
    # ... their sizes ...
    Py_ssize_t n_topics
    Py_ssize_t n_padded
    Py_ssize_t most_cells
    bint single  # whether rows are of single precision
    double* psi_prior  # digamma(prior), where there is a log_theta and all documents have the same prior
    # ... and scratch space, in one array for each type (allocating takes as long as some tokens), of which
    # each thread has as many entries.
    int32_t* numbers
    double* weights
    void* reals
    Py_ssize_t n_numbers
    Py_ssize_t n_weights
    Py_ssize_t n_reals


def sweep_documents(
    cells,
    const int64_t[::1] clump_indptr,
    const real[:, ::1] rows,
    prior,
    chains,
    sweeps,
    found,
    Team team not None,
    left_out=None,
):
    """Sample the topics of documents and sum the conditional probabilities of the counted sweeps.

    Parameters
    ----------
    cells : DocumentCells                                                                         IN
    clump_indptr : (n_documents + 1,) bounds of each document's clumps, in any consecutive numbering
                                                                                                  IN
    rows : (n_words, n_topics) phi_kw, times any factor for each word                              IN
    prior : (n_topics,) alpha, or (n_documents, n_topics) that of each document                   IN
    chains : Chains                                                                           IN/OUT
    sweeps : Sweeps; probabilities are summed                                                     IN
    found : DenseSums, counts of the precision of rows                                           OUT
    left_out : LeftOut; None: nothing is left out                                                 IN
    """
    cdef const int64_t[::1] indptr = cells.indptr
    cdef const int32_t[::1] cell_word = cells.cell_word
    cdef const double[::1] cell_count = cells.cell_count
    cdef const uint64_t[::1] keys = chains.keys
    cdef int32_t[::1] z = chains.z
    cdef real[:, ::1] counts = found.counts
    cdef double[:, ::1] sums = found.sums
    cdef double[:, ::1] log_theta = found.log_theta
    cdef const double[:, ::1] priors = np.atleast_2d(prior)
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = priors.shape[1]
    cdef Py_ssize_t n_padded = (n_topics + LANES - 1) // LANES * LANES, k, n_threads = team.size
    cdef Py_ssize_t most_cells = largest_part(indptr), most_tokens = largest_part(clump_indptr)
    cdef Sampling given
    if most_tokens == 0:
        sums[:, :] = 0.0
        log_theta[:, :] = 0.0
        return

    dtype = np.float32 if real is float else np.float64
    given.n_numbers = n_topics + 2 * most_tokens + GAP
    given.n_weights = n_topics + n_padded + most_tokens + GAP
    given.n_reals = ((4 + most_cells) * n_padded + 2 * most_tokens + GAP + LINE - 1) // LINE * LINE
    cdef int32_t[::1] numbers = np.empty(n_threads * given.n_numbers, dtype=np.int32)
    cdef double[::1] weights = np.empty(n_threads * given.n_weights + n_topics)
    cdef real[::1] reals = np.zeros(n_threads * given.n_reals + LINE, dtype=dtype)
    given.numbers, given.weights = &numbers[0], &weights[0]
    given.reals = &reals[0] + (-(<size_t>&reals[0] // sizeof(real))) % LINE
    given.psi_prior = &weights[n_threads * given.n_weights]
    given.indptr, given.cell_word, given.cell_count = &indptr[0], &cell_word[0], &cell_count[0]
    given.clump_indptr, given.rows, given.prior = &clump_indptr[0], &rows[0, 0], &priors[0, 0]
    given.prior_step = n_topics if prior.ndim == 2 else 0
    given.own = NULL
    cdef const double[::1] own, token, smoothing, unit
    if left_out is not None:
        own, token = left_out.often, left_out.token
        smoothing, unit = left_out.smoothing, left_out.unit
        given.own, given.token = &own[0], &token[0]
        given.smoothing, given.unit = &smoothing[0], &unit[0]
    given.keys, given.z = &keys[0], &z[0]
    given.n_burn_in, given.n_sweeps = sweeps.n_burn_in, sweeps.n_sweeps
    given.counts = &counts[0, 0] if counts.shape[0] > 0 else NULL
    given.sums = &sums[0, 0] if sums.shape[0] > 0 else NULL
    given.log_theta = &log_theta[0, 0] if log_theta.shape[0] > 0 else NULL
    given.n_topics, given.n_padded = n_topics, n_padded
    given.most_cells, given.single = most_cells, real is float
    with nogil:
        if given.log_theta != NULL and given.prior_step == 0:
            for k in range(n_topics):
                given.psi_prior[k] = digamma(given.prior[k])
        team.run(<Task>sweep_document, &given, n_documents)


cdef int sweep_document(Sampling* given, Py_ssize_t d, Py_ssize_t thread) except -1 nogil:
    if given.single:
        return sweep_document_of(given, d, thread, <float>0)
    return sweep_document_of(given, d, thread, <double>0)


cdef int sweep_document_of(Sampling* given, Py_ssize_t d, Py_ssize_t thread, real like) except -1 nogil:
    cdef Py_ssize_t n_topics = given.n_topics, n_padded = given.n_padded, at_once = max(1, OFTEN // n_padded)
    cdef Py_ssize_t first = given.indptr[d] - given.indptr[0], n_cells = given.indptr[d + 1] - given.indptr[d]
    cdef Py_ssize_t first_token = given.clump_indptr[d] - given.clump_indptr[0]
    cdef Py_ssize_t n_tokens = given.clump_indptr[d + 1] - given.clump_indptr[d]
    cdef Py_ssize_t cell, token, n, k, done = 0
    cdef int32_t i, n_parts
    cdef int sweep
    cdef const double* prior = given.prior + d * given.prior_step
    cdef const double* cell_count = given.cell_count + first
    cdef const real* rows = <const real*>given.rows
    cdef int32_t* topic = given.z + first_token
    cdef real* counts = NULL
    cdef double* sums = NULL
    cdef double* log_theta = NULL
    cdef int32_t* members = given.numbers + thread * given.n_numbers
    cdef int32_t* token_cell = members + n_topics
    cdef int32_t* left_out = token_cell + n_tokens  # the topic that a token is left out of
    cdef double* weight = given.weights + thread * given.n_weights
    cdef double* summed = weight + n_topics
    cdef double* token_size = summed + n_padded
    cdef real* mass = <real*>given.reals + thread * given.n_reals
    cdef real* row = mass + 4 * n_padded  # zeros stay behind the topics
    cdef real* uniform = row + given.most_cells * n_padded
    cdef real* saved = uniform + n_tokens  # what is in a row without what is left out for a token
    cdef double own = given.own[d] if given.own != NULL else 0.0
    cdef double psi_prior
    cdef Stream stream
    if given.counts != NULL:
        counts = <real*>given.counts + first * n_padded
        memset(counts, 0, n_cells * n_padded * sizeof(real))
    if given.sums != NULL:
        sums = given.sums + d * n_topics
        memset(sums, 0, n_topics * sizeof(double))
    if given.log_theta != NULL:
        log_theta = given.log_theta + d * n_topics
        memset(log_theta, 0, n_topics * sizeof(double))
    if n_tokens == 0:
        return 0
    memset(members, 0, n_topics * sizeof(int32_t))
    memset(weight, 0, n_topics * sizeof(double))
    memset(summed, 0, n_padded * sizeof(double))
    token = 0
    for cell in range(n_cells):
        memcpy(
            row + cell * n_padded, rows + given.cell_word[first + cell] * n_topics, n_topics * sizeof(real)
        )
        n_parts = n_clumps(cell_count[cell])
        for i in range(n_parts):
            token_cell[token] = <int32_t>cell
            left_out[token] = -1
            token_size[token] = clump_weight(cell_count[cell], n_parts, i)
            if topic[token] >= 0:
                members[topic[token]] += 1
                weight[topic[token]] += token_size[token]
            token += 1
    for k in range(n_topics):
        mass[k] = <real>(prior[k] + weight[k])
    seed_stream(&stream, given.keys[d])
    for sweep in range(given.n_burn_in + given.n_sweeps):
        if own > 0.0 and sweep >= given.n_burn_in:
            leave_out(
                given, given.cell_word + first, own, n_tokens, token_cell, token_size, topic, left_out, saved,
                row,
            )
        for token in range(n_tokens):
            uniform[token] = next_unit(&stream, like)
        token = 0
        while token < n_tokens:
            n = min(at_once, n_tokens - token)
            draw_tokens(
                n_padded, prior, weight, members, mass, n, token_cell + token, token_size + token, row,
                uniform + token, topic + token,
                counts if sweep >= given.n_burn_in else NULL,
                summed if sweep >= given.n_burn_in and sums != NULL else NULL,
            )
            count_work(&done, n * (n_padded // 4 + 16))
            token += n
        if sweep >= given.n_burn_in and log_theta != NULL:
            for k in range(n_topics):
                if members[k] > 0:
                    psi_prior = given.psi_prior[k] if given.prior_step == 0 else digamma(prior[k])
                    log_theta[k] += digamma(prior[k] + weight[k]) - psi_prior
    if sums != NULL:
        memcpy(sums, summed, n_topics * sizeof(double))
    return 0


cdef void leave_out(
    const Sampling* given,
    const int32_t* cell_word,
    double own,
    Py_ssize_t n_tokens,
    const int32_t* token_cell,
    const double* token_size,
    const int32_t* topic,
    int32_t* left_out,
    real* saved,
    real* row,
) noexcept nogil:
    """Let the rows of a document's cells be without its own tokens, which are in these topics now.

    left_out, saved : (n_tokens,) topics that they were left out of before, or -1; what was there  IN/OUT
    """
    cdef Py_ssize_t n_padded = given.n_padded, i
    cdef int32_t k, word
    cdef real least
    cdef real* entry
    for i in range(n_tokens - 1, -1, -1):
        if left_out[i] >= 0:
            row[token_cell[i] * n_padded + left_out[i]] = saved[i]
    for i in range(n_tokens):
        k, word = topic[i], cell_word[token_cell[i]]
        left_out[i] = k
        if k >= 0:
            entry = row + token_cell[i] * n_padded + k
            saved[i] = entry[0]
            least = min(entry[0], <real>(given.unit[word] * given.smoothing[k]))
            entry[0] = max(least, entry[0] - <real>(own * token_size[i] * given.unit[word] * given.token[k]))
