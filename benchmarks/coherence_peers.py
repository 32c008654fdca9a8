"""Topics as readers see them: coherence and diversity of their ten first words, beside the held-out score.

    python benchmarks/coherence_peers.py

NPMI is that over the training documents, the score document completion of 500 test documents, with the same
fold-in for all; seconds are those of the processor. The main table has means over the seeds with intervals of
95 percent, "less" the differences to tomotopy, "shares" what learning the shares of topics does, and "chain"
ten passes less a long chain.
"""

import time
from functools import partial
from itertools import product

import numpy as np
from _corpora import N_TEST, load
from _study import Study, interval, new_parser
from peers import tomotopy_run
from scipy.stats import ttest_ind

from sktopic import CollapsedGibbsLDA, OnlineEMLDA, OnlineVariationalLDA
from sktopic.metrics import coherence, document_completion, topic_diversity

CORPORA = "kos", "nips1740", "reuters21578", "20news", "enron_inbox"
ALL_COMPONENTS = 20, 50, 100
SEEDS = range(5)
N_WORDS = 10
SWEEPS = 500
FIXED = {"doc_topic_prior": None}
PEER, SMALL_PRIOR = f"tomotopy, {SWEEPS} sweeps", "OnlineEMLDA, a fixed prior, topic_word_prior=0.01"


class FromGibbs(OnlineEMLDA):
    """One that begins at the topics of CollapsedGibbsLDA."""

    def fit(self, X, y=None):
        chain = CollapsedGibbsLDA(self.n_components, random_state=self.random_state).fit(X)
        self.components_init = chain.components_
        return super().fit(X)


def batch_em(max_iter):
    """Passes of EM from there in which all documents are seen before topics change, and many sweeps made."""
    steps = {**FIXED, "learning_decay": 0.0, "batch_size": 10**6, "max_iter": max_iter}
    return partial(FromGibbs, **steps, doc_burn_in=15, doc_sweeps=5)


MODELS = {
    "OnlineEMLDA": OnlineEMLDA,
    "OnlineEMLDA, 6 + 3 sweeps": partial(OnlineEMLDA, doc_burn_in=6, doc_sweeps=3),
    "OnlineEMLDA, a fixed prior": partial(OnlineEMLDA, **FIXED),
    SMALL_PRIOR: partial(OnlineEMLDA, **FIXED, topic_word_prior=0.01),
    "CollapsedGibbsLDA": CollapsedGibbsLDA,
    "CollapsedGibbsLDA, then 10 passes of EM": batch_em(10),
    "CollapsedGibbsLDA, then 30 passes of EM": batch_em(30),
    "OnlineVariationalLDA": OnlineVariationalLDA,
    PEER: None,
    "OnlineEMLDA, 10 passes": partial(OnlineEMLDA, max_iter=10),
    "CollapsedGibbsLDA, 1000 sweeps": partial(CollapsedGibbsLDA, max_iter=1000),
}
CHAIN = list(MODELS)[-2:]
LEARNED = "OnlineEMLDA", "OnlineEMLDA, a fixed prior"
PAIRS = {"shares": LEARNED, "chain": CHAIN}
# Models, corpora, numbers of topics, and seeds.
TRIALS = (
    (LEARNED, CORPORA, ALL_COMPONENTS, 5),
    (("OnlineEMLDA, 6 + 3 sweeps", PEER), ("kos",), (50,), 5),
    ((PEER,), CORPORA, (50,), 3),
    ((PEER,), ("kos",), (100,), 3),
    ((SMALL_PRIOR, "CollapsedGibbsLDA", "OnlineVariationalLDA"), CORPORA, (50, 100), 3),
    ([model for model in MODELS if "then" in model], ("kos",), (50,), 3),
    (CHAIN, ("kos", "reuters21578", "20news"), (20, 100), 3),
)
MEASURES = {"npmi": "NPMI", "diversity": "diversity", "score": "score"}
HEAD = ["corpus", "topics", "model", "seeds", *MEASURES.values(), "seconds"]


def fitted(corpus, n_components, model, seed):
    """Topics and prior that a model finds, and the processor's seconds of its training."""
    train, test, _ = load(corpus)
    start = time.process_time()
    if MODELS[model] is None:
        _, components, prior, _ = tomotopy_run(train, n_components, SWEEPS, seed=seed)
    else:
        estimator = MODELS[model](n_components, random_state=seed).fit(train)
        components, prior = estimator.components_, estimator.doc_topic_prior_
    return components, prior, time.process_time() - start, train, test


def measured(*run):
    """The row of a run."""
    components, prior, seconds, train, test = fitted(*run)
    return {
        "npmi": round(coherence(components, train, n_words=N_WORDS), 5),
        "diversity": round(topic_diversity(components, n_words=N_WORDS), 5),
        "score": round(document_completion(components, test[:N_TEST], doc_topic_prior=prior), 5),
        "seconds": round(seconds, 2),
    }


def runs_of():
    """What there is to measure, seed by seed."""
    cells = ((seed, cell) for *cells, n in TRIALS for seed, cell in product(range(n), product(*cells)))
    return [(corpus, n, model, seed) for seed, (model, corpus, n) in sorted(cells, key=lambda each: each[0])]


def rows_of(study, corpus, n_components, model):
    """What was measured of a model, one row a seed."""
    return study.cache.found((corpus, n_components, model, seed) for seed in SEEDS)


def with_interval(values, sign=""):
    mean, low, _ = interval(values)
    return f"{mean:{sign}.3f}" if len(values) == 1 else f"{mean:{sign}.3f} ± {mean - low:.3f}"


def less_peer(own, peer):
    """Difference of means, with the reach of Welch's interval; without it where a side has one seed."""
    difference = f"{np.mean(own) - np.mean(peer):+.3f}"
    if min(len(own), len(peer)) == 1:
        return difference
    low, high = ttest_ind(own, peer, equal_var=False).confidence_interval()
    return f"{difference} ± {(high - low) / 2:.3f}"


def write_scores(study):
    table, differences = [], []
    for corpus, n_components, model in product(CORPORA, ALL_COMPONENTS, MODELS):
        own, peer = (rows_of(study, corpus, n_components, each) for each in (model, PEER))
        if not own:
            continue
        head = [corpus, n_components, model, len(own)]
        cells = [with_interval([row[each] for row in own]) for each in MEASURES]
        table.append([*head, *cells, f"{np.mean([row['seconds'] for row in own]):.1f}"])
        if peer and model != PEER:
            ratio = np.mean([row["seconds"] for row in peer]) / np.mean([row["seconds"] for row in own])
            cells = [less_peer([row[each] for row in own], [row[each] for row in peer]) for each in MEASURES]
            differences.append([*head, len(peer), *cells, f"{ratio:.2g}"])
    study.write("", HEAD, table)
    head = [*HEAD[:4], "seeds of tomotopy", *MEASURES.values(), "times as fast"]
    study.write("less", head, differences)


def write_differences(study):
    """Those between two models of equal seeds; times too where both were measured side by side."""
    for name, models in PAIRS.items():
        timed = name != "shares"
        table = []
        for corpus, n_components in product(CORPORA, ALL_COMPONENTS):
            runs = [[(corpus, n_components, each, seed) for each in models] for seed in SEEDS]
            pairs = [pair for pair in map(study.cache.found, runs) if len(pair) == 2]
            if pairs:
                gains = [with_interval([a[each] - b[each] for a, b in pairs], "+") for each in MEASURES]
                own, other = np.mean([[row["seconds"] for row in pair] for pair in pairs], axis=0)
                times = [f"{own / other:.2f}"] if timed else []
                table.append([corpus, n_components, len(pairs), *gains, *times])
        head = ["corpus", "topics", "seeds", *MEASURES.values(), *(["times as long"] if timed else [])]
        study.write(name, head, table)


def main():
    study = Study("coherence_peers", new_parser(__doc__, runs=True).parse_args())
    study.measure(measured, runs_of())
    write_tables(study)


def write_tables(study):
    write_scores(study)
    write_differences(study)


if __name__ == "__main__":
    main()
