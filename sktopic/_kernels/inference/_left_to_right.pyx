"""Left-to-right estimates of the likelihood of a document (Wallach et al., 2009, algorithm 3)."""

import numpy as np

from libc.math cimport INFINITY, exp, log, sqrt
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
    # The clumps of one document in the order in which they are predicted, those that are given first.
    int32_t n
    int32_t n_given
    int32_t* word
    double* weight
    int32_t* topic


cdef void add_shuffled(
    Py_ssize_t n_cells, const int32_t* cell_word, const double* cell_count, Stream* stream, Tokens* tokens
) noexcept nogil:
    """Add the clumps of some cells in random order, after the present ones."""
    cdef Py_ssize_t cell
    cdef int32_t i, j, n_parts, n = tokens.n
    for cell in range(n_cells):
        n_parts = n_clumps(cell_count[cell])
        for i in range(n_parts):
            # The shuffle of Fisher and Yates, inside out
            j = tokens.n + <int32_t>next_below(stream, n - tokens.n + 1)
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
    int burn_in,
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
    """Fill predictive with p(w_n | z_<n) at each position n, sampling z_n after it.

    Before the first token that is not given come burn_in sweeps over z_<n, before each later one
    n_resampling sweeps.
    """
    cdef Py_ssize_t n_blocks = (n_topics + BLOCK - 1) // BLOCK
    cdef int32_t n, i, j
    cdef int _sweep, n_sweeps
    cdef const real* row
    cdef const real* sums
    cdef real total
    cdef double seen = 0.0
    for n in range(tokens.n):
        n_sweeps = 0 if n < tokens.n_given else burn_in if n == tokens.n_given else n_resampling
        for _sweep in range(n_sweeps):
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
    const int64_t[::1] n_given,
    particles,
):
    """Estimate log p(tokens that are not given | tokens that are given) of each document, in nats.

    The first six arguments are those of _sparse_gibbs.sweep_documents and _gathering.gather_topics. n_given
    (n_documents,) says how many of a document's cells, its first ones, are given. Particles are in
    _groups. With product_inside False: sum_n log mean_r p(w_n | z_<n of particle r). With True: log mean_r
    prod_n p(w_n | z_<n of particle r), whose exponential is unbiased when n_resampling is 0 and burn_in is
    long, or nothing is given. A clump of weight c enters as p to the power c.

    Returns estimates and their standard errors (2, n_documents). The errors are those of the delta method:
    particles are independent, and each moves an estimate by the sum, or the product, of its probabilities
    as shares of their means.
    """
    cdef const int64_t[::1] indptr = cells.indptr
    cdef const int32_t[::1] cell_word = cells.cell_word
    cdef const double[::1] cell_count = cells.cell_count
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, d, cell, longest = 0, n_cells, first, given
    cdef Py_ssize_t done = 0
    cdef int n_particles = particles.n_particles, burn_in = particles.burn_in
    cdef int n_resampling = particles.n_resampling
    cdef bint product_inside = particles.product_inside
    cdef int32_t n_topics = <int32_t>rows.shape[1], n, r
    cdef int64_t base = indptr[0], n_tokens
    cdef double prior_total = 0.0, total, largest, mean, squares
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

    result_array = np.zeros((2, n_documents), dtype=np.float64)
    cdef double[:, ::1] result = result_array
    cdef int32_t[:, ::1] token_ints = np.empty((2, longest), dtype=np.int32)
    cdef double[::1] token_weight = np.empty(longest, dtype=np.float64)
    cdef double[:, ::1] predictive = np.empty((n_particles, longest), dtype=np.float64)
    cdef double[::1] of_particle = np.empty(n_particles, dtype=np.float64)
    cdef int32_t[:, ::1] ints = np.full((3, n_topics), -1, dtype=np.int32)
    cdef real[:, ::1] reals = np.empty((3, n_topics), dtype=np.float32 if real is float else np.float64)
    cdef double[::1] weights = np.empty(n_topics, dtype=np.float64)
    tokens.word = &token_ints[0, 0]
    tokens.topic = &token_ints[1, 0]
    tokens.weight = &token_weight[0]
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
            given = n_given[d]
            seed_stream(&stream, keys[d])
            tokens.n = 0
            if given > 0:
                add_shuffled(given, &cell_word[first], &cell_count[first], &stream, &tokens)
            tokens.n_given = tokens.n
            if given < n_cells:
                add_shuffled(
                    n_cells - given, &cell_word[first + given], &cell_count[first + given], &stream, &tokens
                )
            for r in range(n_particles):
                seed_stream(&stream, combine(keys[d], r))
                run_particle(
                    &tokens, &rows[0, 0], &cumulative[0, 0], &log_norm[0], &prior[0], n_topics,
                    burn_in, n_resampling,
                    &stream, &present, &reals[0, 0], &reals[1, 0], &reals[2, 0], prior_total,
                    &predictive[r, 0], &done,
                )
                clear_entries(&present)
                of_particle[r] = 0.0
            total = 0.0
            if product_inside:
                largest = -INFINITY
                for r in range(n_particles):
                    for n in range(tokens.n_given, tokens.n):
                        of_particle[r] += tokens.weight[n] * log(predictive[r, n])
                    largest = max(largest, of_particle[r])
                if largest > -INFINITY:
                    for r in range(n_particles):
                        total += exp(of_particle[r] - largest)
                    largest += log(total / n_particles)
                result[0, d] = largest
                for r in range(n_particles):
                    of_particle[r] = exp(of_particle[r] - largest) - 1.0
            else:
                for n in range(tokens.n_given, tokens.n):
                    mean = 0.0
                    for r in range(n_particles):
                        mean += predictive[r, n] / n_particles
                    total += tokens.weight[n] * log(mean)
                    for r in range(n_particles):
                        of_particle[r] += tokens.weight[n] * (predictive[r, n] / mean - 1.0)
                result[0, d] = total
            squares = 0.0
            for r in range(n_particles):
                squares += of_particle[r] * of_particle[r]
            result[1, d] = sqrt(squares / n_particles / (n_particles - 1.0))
    return result_array
