"""Left-to-right estimates of the likelihood of a document (Wallach et al., 2009, algorithm 3)."""

import numpy as np

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t, uint64_t

from sktopic._kernels.documents._clumps cimport clump_weight, n_clumps
from sktopic._kernels.inference._document_topics cimport (
    DocumentTopics, clear_entries, draw_entry, drop_empty_entries, put, scan, take,
)
from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.random._block_sums cimport BLOCK
from sktopic._kernels.random._rng cimport Stream, combine, next_below, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work


cdef struct Tokens:
    # The clumps of one document in the order in which they are predicted.
    int32_t n
    int32_t* word
    double* weight
    int32_t* topic


cdef void lay_out(
    Py_ssize_t n_cells, const int32_t* cell_word, const double* cell_count, uint64_t key, Tokens* tokens
) noexcept nogil:
    """Lay out the clumps of a document in a random order drawn from its key."""
    cdef Py_ssize_t cell
    cdef int32_t i, j, n_parts, n = 0
    cdef Stream stream
    seed_stream(&stream, key)
    for cell in range(n_cells):
        n_parts = n_clumps(cell_count[cell])
        for i in range(n_parts):
            j = <int32_t>next_below(&stream, n + 1)  # the shuffle of Fisher and Yates, inside out
            tokens.word[n] = tokens.word[j]
            tokens.weight[n] = tokens.weight[j]
            tokens.word[j] = cell_word[cell]
            tokens.weight[j] = clump_weight(cell_count[cell], n_parts, i)
            n += 1
    tokens.n = n


cdef int run_particle(
    const Tokens* tokens,
    const real* rows,
    const real* cumulative,
    const double* log_norm,
    const double* prior,
    Py_ssize_t n_topics,
    int n_resampling,
    Stream* stream,
    DocumentTopics* present,
    real* mass,
    real* product,
    real* partial_sum,
    double prior_total,
    double* predictive,
    Py_ssize_t* done,
) except -1 nogil:
    """Fill predictive with p(w_n | z_<n) at each position n, sampling z_n after it, and before it
    n_resampling sweeps over z_<n."""
    cdef Py_ssize_t n_blocks = (n_topics + BLOCK - 1) // BLOCK
    cdef int32_t n, i, j
    cdef int _sweep
    cdef const real* row
    cdef const real* sums
    cdef real total
    cdef double seen = 0.0
    for n in range(tokens.n):
        for _sweep in range(n_resampling):
            drop_empty_entries(present)
            for j in range(present.n):
                mass[j] = <real>present.weight[j]
            for i in range(n):
                count_work(done, 2 * present.n + 16)
                j = present.position[tokens.topic[i]]
                take(present, j, tokens.weight[i])
                mass[j] = <real>present.weight[j]
                row = rows + tokens.word[i] * n_topics
                sums = cumulative + tokens.word[i] * n_blocks
                total = scan(row, present, mass, product, partial_sum)
                j = draw_entry(row, sums, prior, <int32_t>n_topics, present, partial_sum, total, stream)
                put(present, j, tokens.weight[i])
                mass[j] = <real>present.weight[j]
                tokens.topic[i] = present.topic[j]
        count_work(done, 2 * present.n + 16)
        row = rows + tokens.word[n] * n_topics
        sums = cumulative + tokens.word[n] * n_blocks
        total = scan(row, present, mass, product, partial_sum)
        predictive[n] = exp(log_norm[tokens.word[n]]) * (total + 1) / (prior_total + seen)
        j = draw_entry(row, sums, prior, <int32_t>n_topics, present, partial_sum, total, stream)
        put(present, j, tokens.weight[n])
        mass[j] = <real>present.weight[j]
        tokens.topic[n] = present.topic[j]
        seen += tokens.weight[n]
    return 0


def left_to_right(
    cells,
    const real[:, ::1] rows,
    const real[:, ::1] cumulative,
    const double[::1] log_norm,
    const double[::1] prior,
    const uint64_t[::1] keys,
    int n_particles,
    int n_resampling,
    bint product_inside,
):
    """Estimate log p(document) of each document, in nats (n_documents,).

    The first six arguments are those of _sparse_gibbs.sweep_documents and _gathering.gather_topics. With
    product_inside False: sum_n log mean_r p(w_n | z_<n of particle r). With True: log mean_r prod_n
    p(w_n | z_<n of particle r), whose exponential is unbiased when n_resampling is 0. A clump of
    weight c enters as p to the power c.
    """
    cdef const int64_t[::1] indptr = cells.indptr
    cdef const int32_t[::1] cell_word = cells.cell_word
    cdef const double[::1] cell_count = cells.cell_count
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, d, cell, longest = 0, n_cells, first
    cdef Py_ssize_t done = 0
    cdef int32_t n_topics = <int32_t>rows.shape[1], n, r
    cdef int64_t base = indptr[0], n_tokens
    cdef double prior_total = 0.0, total, largest, log_p
    cdef Stream stream
    cdef DocumentTopics present
    cdef Tokens tokens
    for n in range(n_topics):
        prior_total += prior[n]
    for d in range(n_documents):
        n_tokens = 0
        for cell in range(indptr[d] - base, indptr[d + 1] - base):
            n_tokens += n_clumps(cell_count[cell])
        longest = max(longest, n_tokens)
    longest = max(longest, 1)

    result_array = np.zeros(n_documents, dtype=np.float64)
    cdef double[::1] result = result_array
    cdef int32_t[:, ::1] token_ints = np.empty((2, longest), dtype=np.int32)
    cdef double[:, ::1] token_doubles = np.empty((3, longest), dtype=np.float64)
    cdef double[::1] particle_logs = np.empty(n_particles, dtype=np.float64)
    cdef int32_t[:, ::1] ints = np.full((3, n_topics), -1, dtype=np.int32)
    cdef real[:, ::1] reals = np.empty((3, n_topics), dtype=np.float32 if real is float else np.float64)
    cdef double[::1] weights = np.empty(n_topics, dtype=np.float64)
    cdef double* predictive = &token_doubles[1, 0]
    cdef double* mean_predictive = &token_doubles[2, 0]
    tokens.word = &token_ints[0, 0]
    tokens.topic = &token_ints[1, 0]
    tokens.weight = &token_doubles[0, 0]
    present.n = 0
    present.topic = &ints[0, 0]
    present.members = &ints[1, 0]
    present.position = &ints[2, 0]
    present.weight = &weights[0]
    with nogil:
        for d in range(n_documents):
            first = indptr[d] - base
            n_cells = indptr[d + 1] - indptr[d]
            if n_cells == 0:
                continue
            lay_out(n_cells, &cell_word[first], &cell_count[first], keys[d], &tokens)
            for n in range(tokens.n):
                mean_predictive[n] = 0.0
            for r in range(n_particles):
                seed_stream(&stream, combine(keys[d], r))
                run_particle(
                    &tokens, &rows[0, 0], &cumulative[0, 0], &log_norm[0], &prior[0], n_topics,
                    n_resampling,
                    &stream, &present, &reals[0, 0], &reals[1, 0], &reals[2, 0], prior_total, predictive,
                    &done,
                )
                clear_entries(&present)
                log_p = 0.0
                for n in range(tokens.n):
                    mean_predictive[n] += predictive[n] / n_particles
                    if product_inside:
                        log_p += tokens.weight[n] * log(predictive[n])
                particle_logs[r] = log_p
            total = 0.0
            if product_inside:
                largest = particle_logs[0]
                for r in range(1, n_particles):
                    largest = max(largest, particle_logs[r])
                if largest > -INFINITY:
                    for r in range(n_particles):
                        total += exp(particle_logs[r] - largest)
                    largest += log(total / n_particles)
                result[d] = largest
            else:
                for n in range(tokens.n):
                    total += tokens.weight[n] * log(mean_predictive[n])
                result[d] = total
    return result_array
