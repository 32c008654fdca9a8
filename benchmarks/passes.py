"""Whether more passes hurt: held-out score after 1 to 30 passes, with and without leaving out own tokens.

    python benchmarks/passes.py [--jobs 1] [--short]

Needs SKTOPIC_DATA. Up to 2000 training documents of each corpus, defaults but for the number of topics, three
seeds (of model and documents). "before": documents of later passes are sampled under topics that have their
own tokens. Settings were chosen on held-back training documents of KOS and NIPS; the other corpora have been
looked at for this table alone. Every run is kept, so that an interrupted study goes on. Writes passes.csv and
passes.png to benchmarks/output/, or with --update to doc/benchmarks/.
"""

import time
from itertools import product

import numpy as np
from _corpora import N_TEST, load
from _study import Pool, Study, finish, interval, new_parser, panels, styles

from sktopic.hdp import HybridHDP
from sktopic.lda import OnlineCVB0LDA, OnlineEMLDA
from sktopic.metrics import document_completion

CORPORA = ["kos", "nips_uci", "reuters21578", "20news", "enron_inbox"]
METHODS = {"OnlineEMLDA": OnlineEMLDA, "HybridHDP": HybridHDP, "OnlineCVB0LDA": OnlineCVB0LDA}
PASSES = (1, 3, 10, 30)
N_DOCUMENTS, N_SEEDS = 2000, 3
VERSIONS = {True: "after", False: "before"}


def scored(kind, leaves_out, test):
    """A class of models that note their scores, and processor time, after some passes."""

    class Model(kind):
        def _gathered(self, topics, batch, prior, update, workers):
            if leaves_out:
                return super()._gathered(topics, batch, prior, update, workers)
            return topics.gather(batch.words, prior, workers)

        def _after_pass(self, memory):
            super()._after_pass(memory)
            n_passes, now = len(self.noted) + 1, time.process_time()
            score = None
            if n_passes in PASSES:
                score = document_completion(self.components_, test, doc_topic_prior=self.doc_topic_prior_)
            self.noted.append((score, now - self.begun))
            self.begun += time.process_time() - now

        __init__ = kind.__init__

    return Model


def run_name(corpus, method, n_components, seed, leaves_out):
    return f"{corpus} {method} {n_components} {seed} {VERSIONS[leaves_out]}"


def measure(corpus, method, n_components, seed, leaves_out):
    train, test, _ = load(corpus)
    train = train[np.random.default_rng(seed).permutation(train.shape[0])[:N_DOCUMENTS]]
    model = scored(METHODS[method], leaves_out, test[:N_TEST])(n_components, random_state=seed)
    model.set_params(max_iter=max(PASSES))
    model.noted, model.begun = [], time.process_time()
    model.fit(train)
    scores, seconds = zip(*(model.noted[n - 1] for n in PASSES))
    return {
        "run": run_name(corpus, method, n_components, seed, leaves_out),
        "scores": [round(float(score), 4) for score in scores],
        "at": [round(each, 2) for each in seconds],
        "seconds": seconds[-1],
    }


def versions_of(method):
    return (True,) if method == "OnlineCVB0LDA" else (False, True)


def main():
    arguments = new_parser(__doc__, long=True).parse_args()
    study = Study("passes", arguments)
    sizes, seeds = ((50,), 1) if study.short else ((100, 50), N_SEEDS)
    corpora = CORPORA[:1] if study.short else CORPORA
    cells = [(corpus, method, n) for n, corpus, method in product(sizes, corpora, METHODS)]
    runs = [
        (corpus, method, n, seed, leaves_out)
        for n, seed, corpus, method in product(sizes, range(seeds), corpora, METHODS)
        for leaves_out in versions_of(method)
    ]
    missing = [run for run in runs if run_name(*run) not in study.cache.rows]
    if not arguments.draw_only:
        with Pool(study, arguments.jobs, len(missing)) as pool:
            pool.measure(measure, missing)
    table = []
    for (corpus, method, n), leaves_out in product(cells, VERSIONS):
        names = [run_name(corpus, method, n, seed, leaves_out) for seed in range(seeds)]
        rows = [study.cache.rows[name] for name in names if name in study.cache.rows]
        if len(rows) < seeds:
            continue
        scores, at = np.array([row["scores"] for row in rows]), np.median([row["at"] for row in rows], axis=0)
        best = scores.mean(axis=0).argmax()
        lost = interval(scores[:, best] - scores[:, -1])
        shown = [f"{x:.4f}" for x in scores.mean(axis=0)]
        table.append(
            (
                corpus,
                method,
                n,
                VERSIONS[leaves_out],
                *shown,
                PASSES[best],
                *(f"{x:.4f}" for x in lost),
                at[-1],
            )
        )
    head = [
        "corpus",
        "method",
        "topics",
        "version",
        *(f"{n} passes" for n in PASSES),
        "best number of passes",
    ]
    study.write("", [*head, "lost by 30", "from", "to", "seconds"], table)
    draw(study, table, sizes[0])


def draw(study, table, n_components):
    """Scores over passes at the larger number of topics."""
    rows = [row for row in table if row[2] == n_components]
    figure, axes = panels(list(dict.fromkeys(row[0] for row in rows)))
    style = styles([f"{method}, {version}" for method in METHODS for version in ("before", "after")])
    for corpus, method, _, version, *cells in rows:
        label = f"{method}, {version}"
        axes[corpus].plot(PASSES, [float(x) for x in cells[: len(PASSES)]], label=label, **style[label])
    for axis in axes.values():
        axis.set(
            xscale="log", xlabel="passes", ylabel="held-out nats per word", xticks=PASSES, xticklabels=PASSES
        )
    finish(figure, study.path(".png"), 3)


if __name__ == "__main__":
    main()
