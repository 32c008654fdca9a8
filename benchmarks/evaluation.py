"""Left-to-right estimates of the likelihood of documents, against annealed importance sampling.

    python benchmarks/evaluation.py

OnlineEMLDA with 50 topics and its defaults, and 20 test documents. Annealed importance sampling (AIS) goes
from the prior of the topics of tokens to their posterior in many steps; the weights of its chains average to
the probability of a document. A difference is that of a left-to-right estimate to AIS in nats a document,
with an interval of 95 percent over documents (Student's t); standard errors are root mean squares. "Within
two" is the share of documents whose difference is less than two standard errors of both. The second table has
the hidden fifth of these documents, in nats per hidden word.
"""

from itertools import pairwise, product

import numpy as np
import scipy.sparse as sp
from _corpora import load
from _study import Study, interval, new_parser, shown
from scipy.special import logsumexp

from sktopic._documents._matrices import DocumentReader
from sktopic._inference._gibbs import draw_topics
from sktopic._kernels._groups import Chains
from sktopic._kernels.documents._reading import clump_bounds
from sktopic._kernels.random._rng import combine_keys, position_keys
from sktopic._runtime._parallel import Workers
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion, left_to_right

CORPORA = "kos", "nips1740"
SEEDS = range(3)
N_TOPICS, N_DOCUMENTS, N_CHAINS, N_TEMPERATURES = 50, 20, 5, 20_000
POWER = 2  # temperatures are close where they are low: there, the weights of chains vary most
ESTIMATORS = {
    "wallach, 2 particles": {"n_particles": 2},
    "wallach, 20 particles": {},
    "unbiased, 20 particles": {"estimator": "unbiased"},
    "unbiased, 1000 particles": {"estimator": "unbiased", "n_particles": 1000},
}
HEAD = ["corpus", "words a document", "estimator", "difference", "95 percent interval from", "to"]
HEAD += ["standard error", "standard error of AIS", "within two"]
COMPLETION_HEAD = ["corpus", "joint", "single words", "joint less single words", *HEAD[4:6]]


def annealed(X, topics, prior, n_chains, n_temperatures, seed):
    """Log weights of the chains of each document, ndarray of shape (n_documents, n_chains)."""
    n_documents, rng = X.shape[0], np.random.default_rng(seed)
    copies = sp.vstack([X] * n_chains, format="csr")
    batch = DocumentReader(copies).batch(np.arange(copies.shape[0]))
    document, weight = batch.clumps()
    word = np.repeat(batch.cell_word, np.diff(clump_bounds(batch.cell_count)))
    topics = np.ascontiguousarray(topics[:, batch.words])
    logs = np.log(topics)
    theta = rng.standard_gamma(prior, (copies.shape[0], len(prior)))
    shares = np.cumsum(theta / theta.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    z = (rng.random(len(word))[:, None] > shares[document]).sum(axis=1).astype(np.int32)
    temperatures = np.linspace(0, 1, n_temperatures + 1) ** POWER
    log_weights, positions = np.zeros(copies.shape[0]), np.arange(batch.n_words, dtype=np.int32)
    with Workers() as workers:
        for step, (before, now) in enumerate(pairwise(temperatures)):
            log_weights += (now - before) * np.bincount(document, weight * logs[z, word], len(log_weights))
            tempered = TopicProbabilities.from_components(topics**now).gather(positions, prior, workers)
            keys = position_keys(combine_keys(0, seed, step), 0, len(log_weights))
            draw_topics(batch, tempered, prior, Chains(keys, z), 1, workers)
    return log_weights.reshape(n_chains, n_documents).T


def mean_of_weights(log_weights):
    """Logarithms of mean weights (n_documents,), and their standard errors."""
    n_chains = log_weights.shape[1]
    log_mean = logsumexp(log_weights, axis=1) - np.log(n_chains)
    shares = np.exp(log_weights - log_mean[:, None])
    return log_mean, shares.std(axis=1, ddof=1) / np.sqrt(n_chains)


def measure(corpus, seed):
    """The row of a run: estimates of documents and their standard errors."""
    X, X_test, _ = load(corpus)
    some = X_test[:N_DOCUMENTS]
    model = OnlineEMLDA(n_components=N_TOPICS, n_jobs=1, random_state=seed).fit(X)
    weights = annealed(some, model.components_, model.doc_topic_prior_, N_CHAINS, N_TEMPERATURES, seed)
    found = {"AIS": mean_of_weights(weights)}
    given = {"return_standard_error": True, "random_state": seed}
    for name, options in ESTIMATORS.items():
        found[name] = left_to_right(model, some, per_document=True, **given, **options)
    rows = {name: np.round(values, 4).tolist() for name, values in found.items()}
    joint = [left_to_right(model, row, hidden_fraction=0.2, random_state=seed) for row in some]
    single = [document_completion(model, row) for row in some]
    rows |= {"joint": np.round(joint, 5).tolist(), "single": np.round(single, 5).tolist()}
    return {"words": np.ravel(some.sum(axis=1)).tolist(), **rows}


def write_tables(study):
    table, completion = [], []
    for corpus in CORPORA:
        runs = study.cache.select(corpus=corpus)
        words = np.mean([run["words"] for run in runs])
        for name in ESTIMATORS:
            both = (np.array([run[key] for run in runs]) for key in (name, "AIS"))
            (value, error), (exact, of_exact) = (each.swapaxes(0, 1) for each in both)
            differences = value - exact
            errors = shown([np.sqrt(np.mean(each**2)) for each in (error, of_exact)], ".2f")
            within = np.mean(np.abs(differences) < 2 * np.hypot(error, of_exact))
            cells = shown(interval(differences.mean(axis=0)), "+.2f")
            table.append([corpus, f"{words:.0f}", name, *cells, *errors, f"{within:.2f}"])
        joint, single = (np.mean([run[key] for run in runs], axis=0) for key in ("joint", "single"))
        means = shown([joint.mean(), single.mean()])
        completion.append([corpus, *means, *shown(interval(joint - single), "+.4f")])
    study.write("", HEAD, table)
    study.write("completion", COMPLETION_HEAD, completion)


def main():
    study = Study("evaluation", new_parser(__doc__, runs=True, jobs=1).parse_args())
    study.measure(measure, list(product(CORPORA, SEEDS)))
    write_tables(study)


if __name__ == "__main__":
    main()
