"""The first topics of a document's tokens, drawn from their words alone.

Token i gets topic k with probability alpha_k phi_kw, divided by its sum over topics. A chain that assigns
tokens one after the other keeps to the few topics of the first ones for many sweeps. These draws are spread
over all topics of the words, and a few sweeps concentrate them.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from sktopic._kernels.documents._clumps cimport n_clumps
from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.random._block_sums cimport BLOCK, draw_fixed
from sktopic._kernels.random._rng cimport Stream, next_uniform, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work
from sktopic._kernels.threads._team cimport GAP, Task, Team
from sktopic._kernels.topics._sparse_rows cimport SparseRows, addresses_of, draw_sparse


cdef struct Drawing:
    const int64_t* indptr
    const int32_t* cell_word
    const double* cell_count
    const int64_t* clump_indptr
    const void* rows
    const void* cumulative
    const SparseRows* lists  # or NULL
    const double* prior
    Py_ssize_t prior_step  # from the prior of a document to that of the next; 0: all have the same
    double* running  # scratch space of each thread, where documents have priors of their own
    const uint64_t* keys
    int32_t* z
    int32_t n_topics
    bint single  # whether rows are of single precision


def draw_word_topics(
    cells,
    const int64_t[::1] clump_indptr,
    const real[:, ::1] rows,
    const real[:, ::1] cumulative,
    prior,
    chains,
    Team team not None,
    lists=None,
):
    """Draw the topic of each clump from alpha_k phi_kw of its word.

    Parameters
    ----------
    cells : DocumentCells                                                                         IN
    clump_indptr : (n_documents + 1,) bounds of each document's clumps, in any consecutive numbering
                                                                                                  IN
    rows : (n_words, n_topics) phi_kw scaled so that rows @ prior = 1                              IN
    cumulative : (n_words, ceil(n_topics / 16)) cumulative sums of prior * rows by blocks of 16    IN
    prior : (n_topics,) alpha, or (n_documents, n_topics) that of each document: neither cumulative nor
        lists are read then, and rows may have any scale                                          IN
    chains : Chains; what z is before does not matter                                         IN/OUT
    lists : SparseRows, in the precision of rows and in their place, which are empty then            IN
    """
    cdef const int64_t[::1] indptr = cells.indptr
    cdef const int32_t[::1] cell_word = cells.cell_word
    cdef const double[::1] cell_count = cells.cell_count
    cdef const uint64_t[::1] keys = chains.keys
    cdef int32_t[::1] z = chains.z
    cdef const double[:, ::1] priors = np.atleast_2d(prior)
    cdef bint of_documents = prior.ndim == 2
    cdef Py_ssize_t n_topics = rows.shape[1]
    cdef double[:, ::1] running = np.empty((team.size, n_topics + GAP if of_documents else 1))
    cdef Drawing given
    cdef SparseRows sparse
    if cell_word.shape[0] == 0:
        return
    given.indptr, given.cell_word, given.cell_count = &indptr[0], &cell_word[0], &cell_count[0]
    given.clump_indptr = &clump_indptr[0]
    if lists is None:
        given.rows, given.cumulative, given.lists = &rows[0, 0], &cumulative[0, 0], NULL
    else:
        sparse = addresses_of(lists)
        given.rows, given.cumulative, given.lists = NULL, NULL, &sparse
    given.prior, given.keys, given.z = &priors[0, 0], &keys[0], &z[0]
    given.prior_step, given.running = n_topics if of_documents else 0, &running[0, 0]
    given.n_topics, given.single = <int32_t>n_topics, real is float
    with nogil:
        team.run(<Task>draw_document, &given, indptr.shape[0] - 1)


cdef int draw_document(Drawing* given, Py_ssize_t d, Py_ssize_t thread) except -1 nogil:
    if given.single:
        return draw_clumps(given, d, thread, <const float*>given.rows, <const float*>given.cumulative)
    return draw_clumps(given, d, thread, <const double*>given.rows, <const double*>given.cumulative)


cdef inline int32_t first_above(const double* running, int32_t n, double u) noexcept nogil:
    """The first of n ascending numbers that is above u, or the last."""
    cdef int32_t first = 0, half
    n -= 1
    while n > 0:
        half = n // 2
        if running[first + half] <= u:
            first += half + 1
            n -= half + 1
        else:
            n = half
    return first


cdef int draw_clumps(
    Drawing* given, Py_ssize_t d, Py_ssize_t thread, const real* rows, const real* cumulative
) except -1 nogil:
    cdef Py_ssize_t n_topics = given.n_topics, n_blocks = (n_topics + BLOCK - 1) // BLOCK, cell, done = 0
    cdef int32_t* z = given.z + given.clump_indptr[d] - given.clump_indptr[0]
    cdef const double* prior = given.prior + d * given.prior_step
    cdef double* running = given.running + thread * (n_topics + GAP)
    cdef double total = 0.0
    cdef int32_t word, i, k
    cdef Stream stream
    seed_stream(&stream, given.keys[d])
    for cell in range(given.indptr[d] - given.indptr[0], given.indptr[d + 1] - given.indptr[0]):
        word = given.cell_word[cell]
        if given.prior_step > 0:
            total = 0.0
            for k in range(given.n_topics):
                total += prior[k] * rows[word * n_topics + k]
                running[k] = total
            count_work(&done, n_topics)
        for i in range(n_clumps(given.cell_count[cell])):
            if given.prior_step > 0:
                z[i] = first_above(running, given.n_topics, next_uniform(&stream) * total)
            elif given.lists != NULL:
                z[i] = draw_sparse(given.lists, word, given.prior, <real>next_uniform(&stream))
            else:
                z[i] = draw_fixed(
                    rows + word * n_topics, cumulative + word * n_blocks, given.prior, given.n_topics,
                    <real>next_uniform(&stream),
                )
        z += n_clumps(given.cell_count[cell])
        count_work(&done, 16 * n_clumps(given.cell_count[cell]))
    return 0
