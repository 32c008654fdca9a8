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


def run_particle(tokens, phi, prior, n_resampling, stream):
    """p(w_i | z_<i) at each position; tokens: (word, weight) pairs, phi: (n_words, n_topics), not scaled."""
    z = []
    assignments = Assignments(len(prior))
    predictive = []
    for word, weight in tokens:
        for _ in range(n_resampling):
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


def left_to_right(indptr, cell_word, cell_count, phi, prior, keys, n_particles, n_resampling, product_inside):
    """Nats of each document: sum_n log mean_r p_rn, or log mean_r prod_n p_rn with product_inside."""
    result = np.zeros(len(indptr) - 1)
    for d in range(len(result)):
        clumps = [(cell_word[cell], w) for cell, w in clumps_of(indptr, cell_count, d)]
        tokens = shuffled(clumps, Stream(keys[d]))
        if not tokens:
            continue
        weights = np.array([w for _, w in tokens])
        streams = [Stream(combine(keys[d], r)) for r in range(n_particles)]
        p = np.array([run_particle(tokens, phi, prior, n_resampling, stream) for stream in streams])
        if product_inside:
            log_products = np.log(p) @ weights
            largest = log_products.max()
            result[d] = largest + np.log(np.mean(np.exp(log_products - largest)))
        else:
            result[d] = np.log(p.mean(axis=0)) @ weights
    return result
