"""Whether more passes hurt, and whether topics stay empty.

    python benchmarks/passes.py [--part passes | starts | root] [--jobs 1] [--short]

Needs SKTOPIC_DATA. Up to 2000 training documents of each corpus, defaults but for the number of topics, three
seeds (of model and documents). "before": documents of later passes are sampled under topics that have their
own tokens, and the root of HybridHDP follows them. "root of all passes": own tokens are left out, but the
root follows. It is compared with those of chains of CollapsedGibbsHDP too: by concentrations, and by the
topics that it amounts to, exp of its entropy. And OnlineVariationalLDA started from noise, or from topics
that lean towards documents; a topic is empty if it has less than a tenth of the tokens of the mean one. What
there was to choose was chosen on held-back training documents: for the root of 20 Newsgroups, Reuters and
Enron, else of KOS. Every run is kept, so that an interrupted study goes on. Writes passes.csv,
passes_starts.csv, passes_root.csv and passes.svg to benchmarks/output/, or with --update to doc/benchmarks/.
"""

import time
from functools import partial
from itertools import product

import numpy as np
from _corpora import N_TEST, load
from _study import Pool, Study, finish, interval, new_parser, panels, styles
from _traces import fit_and_score

from sktopic.hdp import CollapsedGibbsHDP, HybridHDP
from sktopic.lda import OnlineCVB0LDA, OnlineEMLDA, OnlineVariationalLDA
from sktopic.metrics import coherence, document_completion, topic_diversity
from sktopic.seeding import document_components

CORPORA = ["kos", "reuters21578", "20news", "enron_inbox", "nips_uci"]
METHODS = {"OnlineEMLDA": OnlineEMLDA, "HybridHDP": HybridHDP, "OnlineCVB0LDA": OnlineCVB0LDA}
PASSES = (1, 3, 10, 30)
N_DOCUMENTS, N_SEEDS = 2000, 3
VERSIONS = "before", "root of all passes", "after"
STARTS = ("noise", "documents")
CHAIN, CHAIN_SWEEPS = "CollapsedGibbsHDP", 300
ROOTS = *(f"HybridHDP, {version}" for version in VERSIONS[1:]), CHAIN
MEASURES = ("score", "NPMI", "diversity", "empty topics")


def of_version(kind, version):
    """A class of models as they were."""

    class Model(kind):
        def _gathered(self, topics, batch, prior, update, workers):
            if version == "before":
                return topics.gather(batch.words, prior, workers)
            return super()._gathered(topics, batch, prior, update, workers)

        def _learns_root(self, update):
            return version != "after" or super()._learns_root(update)

        __init__ = kind.__init__

    return Model


def run_name(corpus, method, n_components, seed, version):
    return f"{corpus} {method} {n_components} {seed} {version}"


def documents_of(corpus, seed):
    train, test, _ = load(corpus)
    return train[np.random.default_rng(seed).permutation(train.shape[0])[:N_DOCUMENTS]], test[:N_TEST]


def measure(corpus, method, n_components, seed, version):
    train, test = documents_of(corpus, seed)
    model = of_version(METHODS[method], version)(n_components, random_state=seed)
    scores, seconds = zip(*fit_and_score(model, train, partial(document_completion, X=test), PASSES))
    return {
        "run": run_name(corpus, method, n_components, seed, version),
        "scores": [round(score, 4) for score in scores],
        "at": [round(each, 2) for each in seconds],
        "seconds": seconds[-1],
    }


def start_name(corpus, n_components, seed, start):
    return f"{corpus} OnlineVariationalLDA {n_components} {seed} from {start}"


def measure_start(corpus, n_components, seed, start):
    train, test = documents_of(corpus, seed)
    begun = time.process_time()
    given = document_components(train, n_components, random_state=seed) if start == "documents" else None
    model = OnlineVariationalLDA(n_components, components_init=given, random_state=seed).fit(train)
    seconds = time.process_time() - begun
    tokens = model.topic_word_counts_.sum(axis=1)
    values = (
        document_completion(model, test),
        coherence(model, train),
        topic_diversity(model),
        np.mean(tokens < 0.1 * tokens.mean()),
    )
    run = start_name(corpus, n_components, seed, start)
    return {"run": run, "values": [round(float(value), 4) for value in values], "seconds": seconds}


def root_name(corpus, model, seed):
    return f"{corpus} root of {model}, {seed}"


def measure_root(corpus, model, seed):
    """Both concentrations, topics in use, those that the root amounts to, and the score."""
    train, test = documents_of(corpus, seed)
    if model == CHAIN:
        fitted = CollapsedGibbsHDP(100, max_iter=CHAIN_SWEEPS, evaluate_every=0, random_state=seed)
    else:
        fitted = of_version(HybridHDP, model.partition(", ")[2])(100, max_iter=30, random_state=seed)
    begun = time.process_time()
    fitted.fit(train)
    seconds = time.process_time() - begun
    shares = fitted.doc_topic_prior_ / fitted.doc_topic_prior_.sum()
    amount = np.exp(-(shares * np.log(shares)).sum())
    values = fitted.topic_concentration_, fitted.doc_concentration_, fitted.n_components_, amount
    values = [round(float(value), 4) for value in (*values, document_completion(fitted, test))]
    return {"run": root_name(corpus, model, seed), "values": values, "seconds": seconds}


def versions_of(method):
    if method == "OnlineCVB0LDA":
        return ("after",)
    return VERSIONS if method == "HybridHDP" else ("before", "after")


def run_missing(study, arguments, function, runs, name):
    missing = [run for run in runs if name(*run) not in study.cache]
    if missing and not arguments.draw_only:
        with Pool(study, arguments.jobs, len(missing)) as pool:
            pool.measure(function, missing)


def rows_of(study, names):
    """The rows of runs with these names, if there are all."""
    rows = [study.cache.rows.get(name) for name in names]
    return None if None in rows else rows


def study_starts(study, arguments, corpora, seeds):
    cells = [(corpus, n) for n, corpus in product((50, 100, 20), corpora)]
    runs = [(*cell, seed, start) for cell in cells for seed in range(seeds) for start in STARTS]
    run_missing(study, arguments, measure_start, runs, start_name)
    table = []
    for corpus, n in cells:
        rows = [rows_of(study, [start_name(corpus, n, s, start) for s in range(seeds)]) for start in STARTS]
        if None in rows:
            continue
        noise, documents = (np.array([row["values"] for row in each]) for each in rows)
        gained = interval((documents - noise)[:, 0])
        for start, values in zip(STARTS, (noise, documents)):
            shown = [f"{x:.4f}" for x in values.mean(axis=0)]
            gain = [f"{x:.4f}" for x in gained] if start == "documents" else [""] * 3
            table.append((corpus, n, start, *shown, *gain))
    study.write("starts", ["corpus", "topics", "start", *MEASURES, "score gained", "from", "to"], table)


def study_root(study, arguments, corpora, seeds):
    cells = list(product(corpora[:4], ROOTS))
    runs = [(*cell, seed) for seed in range(seeds) for cell in cells]
    run_missing(study, arguments, measure_root, runs, root_name)
    table = []
    for corpus, model in cells:
        found = (study.cache.rows.get(root_name(corpus, model, seed)) for seed in range(seeds))
        rows = [row["values"] for row in found if row]
        if rows:
            *means, score = np.mean(rows, axis=0)
            table.append((corpus, model, len(rows), *(f"{x:.1f}" for x in means), f"{score:.4f}"))
    head = ["corpus", "model", "seeds", "topic concentration", "doc concentration", "topics in use"]
    study.write("root", [*head, "topics that the root amounts to", "score"], table)


def study_passes(study, arguments, corpora, seeds):
    sizes = (50,) if study.short else (100, 50)
    cells = [(corpus, method, n) for n, corpus, method in product(sizes, corpora, METHODS)]
    runs = [
        (corpus, method, n, seed, version)
        for n, seed, corpus, method in product(sizes, range(seeds), corpora, METHODS)
        for version in versions_of(method)
    ]
    run_missing(study, arguments, measure, runs, run_name)
    table = []
    for (corpus, method, n), version in product(cells, VERSIONS):
        rows = rows_of(study, [run_name(corpus, method, n, seed, version) for seed in range(seeds)])
        if rows is None:
            continue
        scores, at = np.array([row["scores"] for row in rows]), np.median([row["at"] for row in rows], axis=0)
        best = scores.mean(axis=0).argmax()
        lost = interval(scores[:, best] - scores[:, -1])
        shown = [f"{x:.4f}" for x in scores.mean(axis=0)]
        shown += [PASSES[best], *(f"{x:.4f}" for x in lost), at[-1]]
        table.append((corpus, method, n, version, *shown))
    head = ["corpus", "method", "topics", "version", *(f"{n} passes" for n in PASSES)]
    study.write("", [*head, "best number of passes", "lost by 30", "from", "to", "seconds"], table)
    draw(study, table, sizes[0])


def draw(study, table, n_components):
    """Scores over passes at the larger number of topics."""
    rows = [row for row in table if row[2] == n_components]
    figure, axes = panels(list(dict.fromkeys(row[0] for row in rows)))
    style = styles([f"{method}, {version}" for method in METHODS for version in VERSIONS])
    for corpus, method, _, version, *cells in rows:
        label = f"{method}, {version}"
        axes[corpus].plot(PASSES, [float(x) for x in cells[: len(PASSES)]], label=label, **style[label])
    for axis in axes.values():
        axis.set(
            xscale="log", xlabel="passes", ylabel="held-out nats per word", xticks=PASSES, xticklabels=PASSES
        )
    finish(figure, study.path(".svg"), 3)


PARTS = {"passes": study_passes, "starts": study_starts, "root": study_root}


def main():
    parser = new_parser(__doc__, long=True)
    parser.add_argument("--part", choices=PARTS, help="one of them; else all")
    arguments = parser.parse_args()
    study = Study("passes", arguments)
    for part in [arguments.part] if arguments.part else PARTS:
        corpora, seeds = (CORPORA[:1], 1) if study.short else (CORPORA, N_SEEDS)
        PARTS[part](study, arguments, corpora, seeds)


if __name__ == "__main__":
    main()
