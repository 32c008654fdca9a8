"""Choosing the words of a document that are hidden from inference and then predicted."""

import numpy as np

from libc.math cimport rint
from libc.stdint cimport int32_t, int64_t, uint64_t

from sktopic._kernels.documents._clumps cimport clump_weight, n_clumps
from sktopic._kernels.random._rng cimport Stream, next_uniform, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work


def hide_tokens(
    const int64_t[::1] indptr, const double[::1] cell_count, const uint64_t[::1] keys, double hidden_fraction
):
    """Hide max(1, round(hidden_fraction n)) of the n clumps of each document, all of one with n < 2.

    Every choice of that many clumps is equally likely (selection sampling: a clump is hidden with
    probability still to hide / still to come). Returns hidden (n_cells,) float64, the weight hidden
    of each cell.
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, d, cell, done = 0
    cdef int64_t base = indptr[0], left, to_hide
    cdef int32_t n_parts, n_hidden, i
    cdef Stream stream
    hidden_array = np.zeros(cell_count.shape[0], dtype=np.float64)
    cdef double[::1] hidden = hidden_array
    with nogil:
        for d in range(n_documents):
            left = 0
            for cell in range(indptr[d] - base, indptr[d + 1] - base):
                left += n_clumps(cell_count[cell])
            to_hide = left if left < 2 else max(1, <int64_t>rint(hidden_fraction * left))
            seed_stream(&stream, keys[d])
            for cell in range(indptr[d] - base, indptr[d + 1] - base):
                n_parts = n_clumps(cell_count[cell])
                n_hidden = 0
                count_work(&done, 8 * n_parts)
                for i in range(n_parts):
                    if next_uniform(&stream) * left < to_hide:
                        hidden[cell] += clump_weight(cell_count[cell], n_parts, i)
                        n_hidden += 1
                        to_hide -= 1
                    left -= 1
                if n_hidden == n_parts:  # whatever the weights' sum was rounded to
                    hidden[cell] = cell_count[cell]
    return hidden_array
