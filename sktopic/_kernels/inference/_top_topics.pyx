"""The most probable topics of each cell."""

from libc.stdint cimport int32_t

from sktopic._kernels.numbers._precision cimport real
from sktopic._kernels.threads._interrupt cimport count_work


def choose_topics(const real[:, :] weights, int32_t[:, ::1] topics, double[:, ::1] probabilities):
    """Choose the topics with the largest weights of each cell, the largest first.

    Parameters
    ----------
    weights : (n_cells, n_topics) proportional to probabilities, not all of a row zero            IN
    topics : (n_cells, n_chosen) topics; of equal ones the first comes first; n_chosen <= n_topics OUT
    probabilities : (n_cells, n_chosen) their shares of all weights of the cell                   OUT
    """
    cdef Py_ssize_t n_cells = weights.shape[0], n_topics = weights.shape[1], n_chosen = topics.shape[1]
    cdef Py_ssize_t i, k, j, done = 0
    cdef double total, weight
    with nogil:
        for i in range(n_cells):
            total = 0.0
            for k in range(n_topics):
                weight = weights[i, k]
                total += weight
                if k >= n_chosen:
                    if not weight > probabilities[i, n_chosen - 1]:
                        continue
                    j = n_chosen - 1
                else:
                    j = k
                while j > 0 and weight > probabilities[i, j - 1]:
                    probabilities[i, j] = probabilities[i, j - 1]
                    topics[i, j] = topics[i, j - 1]
                    j -= 1
                probabilities[i, j] = weight
                topics[i, j] = <int32_t>k
            for j in range(n_chosen):
                probabilities[i, j] /= total
            count_work(&done, 2 * n_topics)
