"""The document step of _gibbs by draws that go over all topics: faster where these are not too many.

For token i of a document, p(z_i = k | z_-i) is proportional to phi_kw (alpha_k + n_k), with n the counts of
the document without the token (equation 14 of Dupuy and Bach, 2017). What is summed are these
probabilities (Rao-Blackwell), not the draws.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from sktopic._kernels._clumps cimport clump_weight, n_clumps
from sktopic._kernels._interrupt cimport OFTEN, count_work
from sktopic._kernels._lane_draws cimport LANES, draw_tokens
from sktopic._kernels._precision cimport real
from sktopic._kernels._rng cimport Stream, next_bits, next_uniform, seed_stream, unit_float
from sktopic._kernels._special cimport digamma

# What a number of topics is filled up to a multiple of.
PADDING = LANES


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


def sweep_documents(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const double[::1] cell_count,
    const int64_t[::1] clump_indptr,
    const real[:, ::1] rows,
    const double[::1] prior,
    const uint64_t[::1] keys,
    int32_t[::1] z,
    int n_burn_in,
    int n_sweeps,
    real[:, ::1] counts,
    double[:, ::1] sums,
    double[:, ::1] log_theta,
):
    """Sample the topics of documents and sum the conditional probabilities of the counted sweeps.

    Parameters
    ----------
    indptr, clump_indptr : (n_documents + 1,) bounds of each document's cells and clumps, in any
        consecutive numbering                                                                     IN
    cell_word, cell_count : (n_cells,) row of each cell's word, its count > 0                     IN
    rows : (n_words, n_topics) phi_kw, times any factor for each word                              IN
    prior : (n_topics,) alpha                                                                     IN
    keys : (n_documents,) stream of each document                                                 IN
    z : (n_clumps,) topic of each clump, -1: not assigned yet (then the first sweep assigns the
        clumps one after the other, each given those before it)                                   IN/OUT
    n_burn_in, n_sweeps : sweeps thrown away (>= 0), then sweeps summed (>= 1)
    counts : (n_cells, n_padded) sums of w p(z = k | rest) over the clumps of each cell, n_padded being
        n_topics filled up to a multiple of 16 by topics of probability zero; or no rows          OUT
    sums : (n_documents, n_topics) the same over the clumps of each document; or no rows. Not both
        of counts and sums have rows                                                             OUT
    log_theta : (n_documents, n_topics) sums over the counted sweeps of psi(alpha_k + n_k) - psi(alpha_k),
        n being the counts after a sweep; or no rows                                             OUT
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = prior.shape[0]
    cdef Py_ssize_t n_padded = (n_topics + LANES - 1) // LANES * LANES, at_once = max(1, OFTEN // n_padded)
    cdef Py_ssize_t most_cells = largest_part(indptr), most_tokens = largest_part(clump_indptr)
    cdef Py_ssize_t d, first, n_cells, n_tokens, cell, token, n, k, done = 0
    cdef int32_t i, n_parts
    cdef int sweep
    cdef real like = 0
    cdef int32_t* topic
    cdef real* out
    cdef double* total
    cdef Stream stream

    # Scratch, in one array for each type: allocating takes as long as some tokens.
    dtype = np.float32 if real is float else np.float64
    cdef int32_t[::1] numbers = np.empty(n_topics + most_tokens, dtype=np.int32)
    cdef double[::1] weights = np.zeros(2 * n_topics + n_padded + most_tokens)
    cdef real[::1] reals = np.zeros((4 + most_cells) * n_padded + most_tokens, dtype=dtype)
    cdef int32_t[::1] members = numbers[:n_topics], token_cell = numbers[n_topics:]
    cdef double[::1] weight = weights[:n_topics], psi_prior = weights[n_topics:2 * n_topics]
    cdef double[::1] summed = weights[2 * n_topics:2 * n_topics + n_padded]
    cdef double[::1] token_size = weights[2 * n_topics + n_padded:]
    cdef real[::1] mass = reals[:4 * n_padded], row = reals[4 * n_padded:(4 + most_cells) * n_padded]
    cdef real[::1] uniform = reals[(4 + most_cells) * n_padded:]
    with nogil:
        if log_theta.shape[0] > 0:
            for k in range(n_topics):
                psi_prior[k] = digamma(prior[k])
        for d in range(n_documents):
            first = indptr[d] - indptr[0]
            n_cells = indptr[d + 1] - indptr[d]
            n_tokens = clump_indptr[d + 1] - clump_indptr[d]
            if sums.shape[0] > 0:
                sums[d, :] = 0.0
            if log_theta.shape[0] > 0:
                log_theta[d, :] = 0.0
            if n_tokens == 0:
                continue
            if counts.shape[0] > 0:
                memset(&counts[first, 0], 0, n_cells * n_padded * sizeof(real))
            topic = &z[clump_indptr[d] - clump_indptr[0]]
            for k in range(n_topics):
                members[k] = 0
                weight[k] = 0.0
            token = 0
            for cell in range(n_cells):
                memcpy(&row[cell * n_padded], &rows[cell_word[first + cell], 0], n_topics * sizeof(real))
                n_parts = n_clumps(cell_count[first + cell])
                for i in range(n_parts):
                    token_cell[token] = <int32_t>cell
                    token_size[token] = clump_weight(cell_count[first + cell], n_parts, i)
                    if topic[token] >= 0:
                        members[topic[token]] += 1
                        weight[topic[token]] += token_size[token]
                    token += 1
            for k in range(n_topics):
                mass[k] = <real>(prior[k] + weight[k])
            seed_stream(&stream, keys[d])
            for sweep in range(n_burn_in + n_sweeps):
                out = &counts[first, 0] if sweep >= n_burn_in and counts.shape[0] > 0 else NULL
                total = &summed[0] if sweep >= n_burn_in and sums.shape[0] > 0 else NULL
                for token in range(n_tokens):
                    uniform[token] = next_unit(&stream, like)
                token = 0
                while token < n_tokens:
                    n = min(at_once, n_tokens - token)
                    draw_tokens(
                        n_padded, &prior[0], &weight[0], &members[0], &mass[0], n, &token_cell[token],
                        &token_size[token], &row[0], &uniform[token], &topic[token], out, total,
                    )
                    count_work(&done, n * (n_padded // 4 + 16))
                    token += n
                if sweep >= n_burn_in and log_theta.shape[0] > 0:
                    for k in range(n_topics):
                        if members[k] > 0:
                            log_theta[d, k] += digamma(prior[k] + weight[k]) - psi_prior[k]
            if sums.shape[0] > 0:
                for k in range(n_topics):
                    sums[d, k] = summed[k]
                    summed[k] = 0.0
