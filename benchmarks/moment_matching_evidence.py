"""Why moment matching finds many topics: the evidence for each number of topics, of the filter and exact.

    python benchmarks/moment_matching_evidence.py

The data sets are those of moment_matching_paper.py, of which the first tokens are taken, in random order. The
log probability of these tokens given the number of topics T is, by the filter, log_marginal_likelihood_ of
MomentMatchingLDA with T topics; the exact one is estimated by particles (sequential Monte Carlo): each has a
topic for every token so far, draws that of the next one given these, and is weighted by the probability of
the token; with resampling where the weights are uneven. The estimate of the probability is without bias, that
of its logarithm is rather too low. Intervals are of 95 percent, over data sets.
"""

from itertools import product

import numpy as np
from _study import Study, interval, new_parser
from moment_matching_paper import LIMIT, N_WORDS, synthetic

from sktopic.moment_matching import MomentMatchingLDA

N_TOKENS, N_PARTICLES = 300, 1000
TRUE_NUMBERS, NUMBERS, SEEDS = (3, 5), (1, 3, 5, 8, 12), range(10)
ALPHA, BETA = LIMIT**-0.55, N_WORDS**-0.5


def some_tokens(n_topics, seed):
    """document and word of the tokens that are taken."""
    counts = synthetic(n_topics, seed)
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    return np.divmod(np.random.RandomState(seed).permutation(cells)[:N_TOKENS], N_WORDS)


def filtered(document, word, n_topics, seed):
    counts = np.zeros((document.max() + 1, N_WORDS))
    np.add.at(counts, (document, word), 1)
    model = MomentMatchingLDA(n_topics, doc_topic_prior=ALPHA, shuffle="corpus", random_state=seed)
    return model.fit(counts).log_marginal_likelihood_


def by_particles(document, word, n_topics, seed):
    rng, particles = np.random.RandomState(seed), np.arange(N_PARTICLES)
    n_dk = np.full((N_PARTICLES, document.max() + 1, n_topics), ALPHA)
    n_kw = np.full((N_PARTICLES, n_topics, N_WORDS), BETA)
    n_k = np.full((N_PARTICLES, n_topics), N_WORDS * BETA)
    log_evidence, weights = 0.0, np.full(N_PARTICLES, 1.0 / N_PARTICLES)
    for d, w in zip(document, word):
        joint = n_dk[:, d] / n_dk[:, d].sum(axis=1, keepdims=True) * n_kw[:, :, w] / n_k
        predictive = joint.sum(axis=1)
        weights *= predictive
        log_evidence += np.log(weights.sum())
        weights /= weights.sum()
        bounds = joint.cumsum(axis=1)
        topic = (bounds < rng.random_sample((N_PARTICLES, 1)) * bounds[:, -1:]).sum(axis=1)
        n_dk[particles, d, topic] += 1.0
        n_kw[particles, topic, w] += 1.0
        n_k[particles, topic] += 1.0
        if 1.0 / (weights**2).sum() < N_PARTICLES / 2:
            points = (particles + rng.random_sample()) / N_PARTICLES
            kept = np.minimum(np.searchsorted(weights.cumsum(), points), N_PARTICLES - 1)
            n_dk, n_kw, n_k = n_dk[kept], n_kw[kept], n_k[kept]
            weights[:] = 1.0 / N_PARTICLES
    return log_evidence


def measure(true, n_topics, seed):
    """The row of a run."""
    tokens = some_tokens(true, seed)
    filtered_, particles = (of(*tokens, n_topics, seed) for of in (filtered, by_particles))
    return {"filter": round(filtered_, 2), "particles": round(particles, 2)}


def interval_cells(values):
    mean, low, high = interval(values)
    return [f"{mean:.1f}", f"{low:.1f} to {high:.1f}"]


def write_tables(study):
    """Against three topics, data set by data set."""
    table = []
    for true, n_topics in product(TRUE_NUMBERS, NUMBERS):
        pairs = [[study.cache.get(true, n, s) for n in (n_topics, 3)] for s in SEEDS]
        pairs = [pair for pair in pairs if all(pair)]
        if not pairs:
            continue
        gains = {name: [a[name] - b[name] for a, b in pairs] for name in ("particles", "filter")}
        lost = [a["particles"] - a["filter"] for a, _ in pairs]
        cells = [cell for values in (*gains.values(), lost) for cell in interval_cells(values)]
        table.append([true, n_topics, *cells, len(pairs)])
    names = "exact, against 3 topics", "by the filter, against 3 topics", "what the filter loses"
    head = [cell for name in names for cell in (name, f"95 percent interval, {name}")]
    study.write("", ["true topics", "T", *head, "data sets"], table)


def main():
    study = Study("moment_matching_evidence", new_parser(__doc__, runs=True).parse_args())
    study.measure(measure, [(true, n, seed) for seed, true, n in product(SEEDS, TRUE_NUMBERS, NUMBERS)])
    write_tables(study)


if __name__ == "__main__":
    main()
