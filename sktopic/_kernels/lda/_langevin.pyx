"""Riemannian Langevin steps of topics in the expanded-mean parametrisation (Patterson and Teh, 2013).

A topic's probabilities are theta_kw / sum_w theta_kw with theta_kw > 0. Given n_kw, an estimate of the
tokens of word w in topic k over the whole corpus, a step of size epsilon is

    theta_kw <- | theta_kw + epsilon / 2 (eta + n_kw - theta_kw (1 + n_k / theta_k))
                  + sqrt(epsilon theta_kw) xi |

with xi standard normal, n_k and theta_k the sums over words. Every entry moves, also those of words that
no document of the batch has.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from sktopic._kernels.numbers._vector cimport langevin_row, normals_from_uniforms
from sktopic._kernels.random._rng cimport Stream, combine, next_uniform, seed_stream
from sktopic._kernels.threads._interrupt cimport count_work


cdef void fill_normals(double* out, Py_ssize_t m, Stream* stream) noexcept nogil:
    """2 m standard normal numbers."""
    cdef Py_ssize_t i
    for i in range(2 * m):
        out[i] = next_uniform(stream)
    normals_from_uniforms(out, out + m, m)


def normals(uint64_t key, Py_ssize_t m):
    """Return 2 m standard normal numbers from the stream of a key, for the tests."""
    values = np.empty(2 * m, dtype=np.float64)
    cdef double[::1] out = values
    cdef Stream stream
    if m:
        with nogil:
            seed_stream(&stream, key)
            fill_normals(&out[0], m, &stream)
    return values


def langevin_step(
    Py_ssize_t first_part,
    Py_ssize_t last_part,
    const int64_t[::1] part_bounds,
    double[:, ::1] theta,
    batch,
    double topic_word_prior,
    const double[::1] pull_down,
    double step,
    uint64_t key,
    double[:, ::1] totals,
):
    """Move the words of some parts by one step; part p owns words part_bounds[p] to part_bounds[p + 1].

    Parameters
    ----------
    theta : (n_features, n_topics)                                                                IN/OUT
    batch : ScaledCounts                                                                          IN
    topic_word_prior, step : eta and epsilon
    pull_down : (n_topics,) 1 + n_k / theta_k                                                     IN
    key : word w draws from the stream of combine(key, w)
    totals : (n_parts, n_topics) the new sums of theta over the words of each part                OUT
    """
    cdef const double[:, ::1] counts = batch.counts
    cdef const int32_t[::1] counts_row = batch.row
    cdef double factor = batch.factor
    cdef Py_ssize_t n_topics = theta.shape[1], m = (n_topics + 1) // 2, p, w, k, done = 0
    cdef double[::1] noise = np.empty(2 * m, dtype=np.float64)
    cdef const double* n
    cdef Stream stream
    with nogil:
        for p in range(first_part, last_part):
            for k in range(n_topics):
                totals[p, k] = 0.0
            for w in range(part_bounds[p], part_bounds[p + 1]):
                n = &counts[counts_row[w], 0] if counts_row[w] >= 0 else NULL
                seed_stream(&stream, combine(key, <uint64_t>w))
                fill_normals(&noise[0], m, &stream)
                langevin_row(
                    &theta[w, 0], n, factor, topic_word_prior, &pull_down[0], step, &noise[0], n_topics)
                for k in range(n_topics):
                    totals[p, k] += theta[w, k]
                count_work(&done, 8 * n_topics)
