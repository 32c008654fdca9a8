"""The experiments of Vu et al. (2018) again: generalized OPE over p, and against other online methods.

    python benchmarks/g_ope_paper.py

p        figures 2 and 3: predictive probability and coherence of OnlineOPELDA for p in 0.1, 0.15, ..., 0.9
methods  figures 4 and 5: OPE, G-OPE at its best p, Online-VB, Online-CVB0, Online-CGS and G-OEM against
         documents seen
rate     theorem 1: how far from the maximum of its objective the inference of a document is, by iterations;
         alpha = 2, since with alpha < 1 there is no maximum

The settings are the paper's: 100 topics, alpha = eta = 0.01, 50 iterations over a document (25 + 25 sweeps
for the samplers), step size (1 + t)^-kappa with kappa 0.9, mini-batches of 5000 documents; besides,
kappa 0.7 and mini-batches of 500. NIPS is read five times, Enron once, and arXiv is one stream of five files.
A mini-batch never has a document twice. Log predictive probability is document completion, a fifth of
the tokens hidden in five ways, with one fold-in for all methods; the methods' own inference is beside it.
The best p is chosen on every other test document and reported on the rest. On NIPS, 5000 means all documents,
and five updates in all. So on NIPS and Enron, claims are judged by mini-batches of 500. NPMI is that of ten
words a topic in the training documents (for arXiv, of the first file).
"""

import time
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from _corpora import load
from _pictures import finish, line, panels, styles
from _study import Study, new_parser, shown, spread, with_deciles

from sktopic import lda
from sktopic.metrics import coherence, document_completion

K, ITERATIONS = 100, 50
P = tuple(float(p) for p in np.round(np.arange(0.1, 0.91, 0.05), 2))
SETTINGS = tuple(product((5000, 500), (0.9, 0.7)))  # mini-batch, kappa
SHOWN = (5000, 0.9), (500, 0.7)
CONCAVE, RATE_P, RATE_ITERATIONS, RATE_DOCUMENTS = 2.0, (0.1, 0.5, 0.9), (100, 1000, 10_000), 20


class Corpus(NamedTuple):
    n_passes: int
    n_test: int
    n_seeds: int


CORPORA = {
    "nips_uci": Corpus(n_passes=5, n_test=150, n_seeds=5),
    "enron_inbox": Corpus(n_passes=1, n_test=500, n_seeds=5),
    "arxiv": Corpus(n_passes=1, n_test=500, n_seeds=3),
}
# More seeds where claims are judged, since intervals from few cross their margins.
MANY_SEEDS = range(10)
JUDGED = ("nips_uci", (500, 0.9)), ("enron_inbox", (500, 0.9)), ("arxiv", (5000, 0.9))
CELLS = [
    (seed, cell)
    for seed, cell in product(MANY_SEEDS, product(CORPORA, SETTINGS))
    if seed < CORPORA[cell[0]].n_seeds or cell in JUDGED
]
N_STREAMS = 5
OTHERS = ("Online-VB", "Online-CVB0", "Online-CGS", "G-OEM")
METHODS = ("OPE", "G-OPE", *OTHERS)
STYLES = styles(METHODS)


def new_model(method, batch, kappa, seed, total_samples):
    """The estimator of a method's name (a number: OPE with that p), set as in the paper."""
    common = {
        "n_components": K,
        "doc_topic_prior": 0.01,
        "topic_word_prior": 0.01,
        "batch_size": batch,
        "learning_decay": kappa,
        "learning_offset": 1.0,
        "total_samples": total_samples,
        "random_state": seed,
    }
    sweeps = {"doc_burn_in": ITERATIONS // 2, "doc_sweeps": ITERATIONS // 2}
    if method == "Online-VB":
        return lda.OnlineVariationalLDA(**common, components_init=None, max_doc_update_iter=ITERATIONS)
    if method == "Online-CVB0":
        return lda.OnlineCVB0LDA(**common, max_doc_update_iter=ITERATIONS)
    if method == "Online-CGS":
        return lda.HybridLDA(counts="draws", **common, **sweeps)
    if method == "G-OEM":
        return lda.OnlineEMLDA(**common, **sweeps)
    return lda.OnlineOPELDA(**common, bernoulli_p=method, max_doc_update_iter=ITERATIONS)


def training_parts(corpus):
    """The training counts, in files that follow each other, and the test counts."""
    files = [f"arxiv_{i}" for i in range(N_STREAMS)] if corpus == "arxiv" else [corpus]
    trains, tests = zip(*(load(file)[:2] for file in files))
    return list(trains), sp.vstack(tests, format="csr")[: CORPORA[corpus].n_test]


def marks_of(n_documents, curve):
    """Documents seen at which a run is measured: doublings, where a curve is wanted, and the end."""
    marks = [500 * 2**i for i in range(20) if 500 * 2**i < n_documents] if curve else []
    return [*marks, n_documents]


def measure(corpus, seed, method, batch, kappa, curve):
    """The row of a run."""
    if curve == "rate":
        return measure_rate(corpus, seed, method, batch, kappa)
    trains, test = training_parts(corpus)
    n_passes = CORPORA[corpus].n_passes
    train = sp.vstack(trains * n_passes, format="csr") if len(trains) * n_passes > 1 else trains[0]
    total_samples = train.shape[0] // n_passes
    batch = min(batch, total_samples)
    model = new_model(method, batch, kappa, seed, total_samples)
    row = {"documents": [], "choice": [], "completion": [], "score": [], "npmi": []}
    seconds, seen, marks = 0.0, 0, marks_of(train.shape[0], curve)
    for first in range(0, train.shape[0], batch):
        start = time.process_time()
        model.partial_fit(train[first : first + batch])
        seconds += time.process_time() - start
        seen = min(first + batch, train.shape[0])
        if seen >= marks[0]:
            marks = [mark for mark in marks if mark > seen]
            row["documents"].append(seen)
            for name, documents in (("choice", test[::2]), ("completion", test[1::2])):
                row[name].append(round(document_completion(model, documents, n_repeats=5), 4))
            row["score"].append(round(model.score(test), 4))
            row["npmi"].append(round(coherence(model, trains[0], measure="npmi"), 4))
    return {**row, "seconds": round(seconds, 2)}


def measure_rate(corpus, seed, p, batch, kappa):
    """Gaps to the maximum after some iterations, in nats per word, and the exponent of their fall."""
    (train, *_), test = training_parts(corpus)
    model = new_model(p, batch, kappa, seed, train.shape[0]).set_params(doc_topic_prior=CONCAVE, max_iter=1)
    phi, test = model.fit(train[:10_000]).components_, test[:RATE_DOCUMENTS]
    counts, theta = test.toarray(), np.full((test.shape[0], K), 1.0 / K)

    def objective(theta):
        return (counts * np.log(theta @ phi)).sum() + (CONCAVE - 1.0) * np.log(theta).sum()

    for _ in range(500):  # EM, which leads to the maximum of a concave objective
        theta = CONCAVE - 1.0 + theta * ((counts / (theta @ phi)) @ phi.T)
        theta /= theta.sum(axis=1, keepdims=True)
    found = [objective(model.set_params(max_doc_update_iter=n).transform(test)) for n in RATE_ITERATIONS]
    gaps = (objective(theta) - np.array(found)) / counts.sum()
    exponent = np.log(gaps[0] / gaps[-1]) / np.log(RATE_ITERATIONS[-1] / RATE_ITERATIONS[0])
    return {"gaps": gaps.tolist(), "gap": gaps[-1], "exponent": round(float(exponent), 4)}


def p_runs():
    """Seed by seed, so that an unfinished study has something of everything."""
    for (seed, (corpus, setting)), p in product(CELLS, P):
        yield corpus, seed, p, *setting, False


def rate_runs():
    return [(*run, 500, 0.7, "rate") for run in product(("enron_inbox", "arxiv"), range(3), RATE_P)]


def best_p(cache, corpus, batch, kappa):
    """The p with the best median of document completion, on documents that are not reported."""
    found = p_values(cache, corpus, batch, kappa, "choice")
    if not found:
        raise SystemExit(f"There are no runs yet of {corpus} with batches of {batch} and kappa {kappa}.")
    return max(found, key=lambda p: np.median(found[p]))


def method_runs(cache):
    for seed, (corpus, setting) in CELLS:
        for method in (0.5, best_p(cache, corpus, *setting), *OTHERS):
            yield corpus, seed, method, *setting, True


# Tables and pictures, from what the cache has.


def rows_of(cache, corpus, method, batch, kappa, curve):
    return cache.found((corpus, seed, method, batch, kappa, curve) for seed in MANY_SEEDS)


def p_values(cache, corpus, batch, kappa, name="completion"):
    """p -> what all seeds end with."""
    found = {p: rows_of(cache, corpus, p, batch, kappa, False) for p in P}
    return {p: [row[name][-1] for row in rows] for p, rows in found.items() if rows}


MEASURES = {"completion": "log predictive probability", "score": "score with own inference", "npmi": "NPMI"}


def draw_p(study):
    """Figures 2 and 3: a color for each setting."""
    figure, axes = panels([f"{corpus}: {title}" for title in MEASURES.values() for corpus in CORPORA])
    rows, looks = [], styles(SETTINGS)
    for corpus, setting in product(CORPORA, SETTINGS):
        cells = {}
        for name, title in MEASURES.items():
            found = p_values(study.cache, corpus, *setting, name)
            if found:
                label = f"mini-batch {setting[0]}, kappa {setting[1]}"
                axis = axes[f"{corpus}: {title}"]
                line(axis, list(found), list(found.values()), label, looks[setting])
                axis.set_xlabel("p")
            for p, values in found.items():
                cells.setdefault(p, []).extend(shown(spread(values)))
        rows.extend([corpus, *setting, p, *values] for p, values in cells.items())
    finish(figure, study.path("_p.svg"), 4)
    head = ["corpus", "mini-batch", "kappa", "p"]
    study.write("p", head + with_deciles(MEASURES.values()), rows)


def documents_axis(axis):
    """Documents seen, on a logarithmic scale with few labels."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    axis.set_xscale("log")
    first, last = axis.get_xlim()
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if last < 30 * first else (1,)))
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("documents seen")


def draw_methods(study):
    """Figures 4 and 5: against documents seen, one picture a setting."""
    rows = []
    for batch, kappa in SETTINGS:
        titles = [f"{corpus}: {MEASURES[m]}" for m in ("completion", "npmi") for corpus in CORPORA]
        figure, axes = panels(titles)
        for corpus in CORPORA:
            p = best_p(study.cache, corpus, batch, kappa)
            for name, method in zip(METHODS, (0.5, p, *OTHERS)):
                found = rows_of(study.cache, corpus, method, batch, kappa, True)
                if not found:
                    continue
                seen = found[0]["documents"]
                curves = {m: np.array([row[m] for row in found]) for m in MEASURES}
                for measured in ("completion", "npmi"):
                    axis = axes[f"{corpus}: {MEASURES[measured]}"]
                    line(axis, seen, list(curves[measured].T), name, STYLES[name])
                    documents_axis(axis)
                ends = [f"{np.median(curve[:, -1]):.4f}" for curve in curves.values()]
                seconds = f"{np.median([row['seconds'] for row in found]):.1f}"
                p_shown = method if isinstance(method, float) else ""
                rows.append([corpus, batch, kappa, name, p_shown, *ends, seconds, len(found)])
        if (batch, kappa) in SHOWN:
            finish(figure, study.path(f"_methods_{batch}_{round(10 * kappa)}.svg"), 6)
    head = ["corpus", "mini-batch", "kappa", "method", "p", *MEASURES.values(), "seconds of training"]
    study.write("methods", [*head, "seeds"], rows)


def main():
    study = Study("g_ope", new_parser(__doc__, runs=True).parse_args())
    study.measure(measure, [*rate_runs(), *p_runs()])
    study.measure(measure, method_runs(study.cache))
    write_tables(study)


def write_rates(study):
    rows = [
        [row["corpus"], row["seed"], row["method"], *shown(row["gaps"], ".2g"), row["exponent"]]
        for row in study.cache.found(rate_runs())
    ]
    head = ["corpus", "seed", "p", *(f"gap after {n}, nats per word" for n in RATE_ITERATIONS)]
    study.write("rate", [*head, "exponent of its fall"], rows)


def write_tables(study):
    for write in (draw_p, draw_methods, write_rates):
        write(study)


if __name__ == "__main__":
    main()
