"""Left-to-right likelihood of documents, densely (the twin of _kernels.inference._left_to_right)."""

import numpy as np

from tests.reference.documents import Assignments, clumps_of
from tests.reference.gibbs import draw
from tests.reference.rng import Stream, combine
from tests.reference.sums import sum_in_order


def shuffled(clumps, stream):
    """A random order: the inside-out shuffle of Fisher and Yates."""
    result = []
    for i, clump in enumerate(clumps):
        j = stream.below(i + 1)
        result.append(clump)
        result[i], result[j] = result[j], clump
    return result


def run_particle(tokens, n_given, phi, prior, particles, stream):
    """p(w_i | z_<i) at each position; tokens: (word, weight) pairs, phi: (n_words, n_topics), not scaled."""
    z = []
    assignments = Assignments(len(prior))
    predictive = []
    for position, (word, weight) in enumerate(tokens):
        n_sweeps = particles.burn_in if position == n_given else particles.n_resampling
        for _ in range(n_sweeps if position >= n_given else 0):
            assignments.drop_empty()
            for i, (earlier_word, earlier_weight) in enumerate(tokens[: len(z)]):
                assignments.take(z[i], earlier_weight)
                z[i] = draw(phi[earlier_word], prior, assignments.n, assignments.order, stream.uniform())
                assignments.put(z[i], earlier_weight)
        length = sum_in_order(weight for _, weight in tokens[: len(z)])
        theta = (prior + assignments.n) / (prior.sum() + length)
        predictive.append(phi[word] @ theta)
        z.append(draw(phi[word], prior, assignments.n, assignments.order, stream.uniform()))
        assignments.put(z[-1], weight)
    return np.array(predictive)


def left_to_right(indptr, cell_word, cell_count, phi, prior, keys, n_given, particles):
    """Nats of each document, sum_n log mean_r p_rn, or log mean_r prod_n p_rn with product_inside.

    Returns them and their standard errors (2, n_documents), by the variance of what the particles add to the
    sum of p_rn / mean_r p_rn, or to the mean of products.
    """
    result = np.zeros((2, len(indptr) - 1))
    for d, given in enumerate(n_given):
        clumps = [(cell, w) for cell, w in clumps_of(indptr, cell_count, d)]
        parts = [
            [(cell_word[cell], w) for cell, w in clumps if (cell < indptr[d] - indptr[0] + given) == is_given]
            for is_given in (True, False)
        ]
        stream = Stream(keys[d])
        observed, hidden = (shuffled(part, stream) for part in parts)
        if not observed + hidden:
            continue
        weights = np.array([w for _, w in hidden])
        n_particles = particles.n_particles
        streams = [Stream(combine(keys[d], r)) for r in range(n_particles)]
        of_particles = [
            run_particle(observed + hidden, len(observed), phi, prior, particles, stream)
            for stream in streams
        ]
        p = np.array(of_particles)[:, len(observed) :]
        if particles.product_inside:
            log_products = np.log(p) @ weights
            largest = log_products.max()
            products = np.exp(log_products - largest)
            result[0, d] = largest + np.log(np.mean(products))
            shares = products / products.mean()
        else:
            result[0, d] = np.log(p.mean(axis=0)) @ weights
            shares = (p / p.mean(axis=0) - 1.0) @ weights
        if n_particles > 1:
            result[1, d] = shares.std(ddof=1) / np.sqrt(n_particles)
        else:
            result[1, d] = np.nan
    return result
