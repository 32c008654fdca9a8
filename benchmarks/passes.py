"""Whether more passes hurt, and whether topics stay empty.

    python benchmarks/passes.py

Up to 2000 training documents of each corpus, defaults but for the number of topics, three seeds (of model and
documents). "before": documents of later passes are sampled under topics that have their own tokens, and the
root of HybridHDP follows them. "root of all passes": own tokens are left out, but the root follows. It is
compared with those of chains of CollapsedGibbsHDP: by concentrations, and by the topics that it amounts to,
exp of its entropy. And OnlineVariationalLDA started from noise, or from topics that lean towards documents; a
topic is empty if it has less than a tenth of the tokens of the mean one. Choices were made on held-back
training documents.
"""

from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product
from unittest.mock import patch

import numpy as np
from _corpora import N_TEST, load
from _pictures import finish, panels, styles
from _study import Study, interval, new_parser, seconds_of, shown
from _traces import fit_and_score

from sktopic.hdp import CollapsedGibbsHDP, HybridHDP, _hybrid_topics
from sktopic.lda import OnlineCVB0LDA, OnlineEMLDA, OnlineVariationalLDA, _minibatch_method
from sktopic.metrics import coherence, document_completion, topic_diversity
from sktopic.seeding import document_components

CORPORA = ["kos", "reuters21578", "20news", "enron_inbox", "nips_uci"]
STARTED = [*CORPORA, "arxiv_0"]
METHODS = {"OnlineEMLDA": OnlineEMLDA, "HybridHDP": HybridHDP, "OnlineCVB0LDA": OnlineCVB0LDA}
PASSES = (1, 3, 10, 30)
N_DOCUMENTS, SEEDS, SIZES = 2000, range(3), (100, 50)
VERSIONS = "before", "root of all passes", "after"
STARTS = ("noise", "documents")
CHAIN, CHAIN_SWEEPS = "CollapsedGibbsHDP", 300
ROOTS = *(("HybridHDP", version) for version in VERSIONS[1:]), (CHAIN, "")
MEASURES = ("score", "NPMI", "diversity", "empty topics")


@contextmanager
def of_version(version):
    """Let models train as they did."""

    def gathered(topics, batch, prior, state, update, workers):
        return topics.gather(batch.words, prior, workers)

    with ExitStack() as stack:
        for module in (_minibatch_method, _hybrid_topics) if version == "before" else ():
            stack.enter_context(patch.object(module, "gathered_topics", gathered))
        if version != "after":
            stack.enter_context(patch.object(_hybrid_topics.HybridTopics, "_learns_root", lambda *_: True))
        yield


def documents_of(corpus, seed):
    train, test, _ = load(corpus)
    return train[np.random.default_rng(seed).permutation(train.shape[0])[:N_DOCUMENTS]], test[:N_TEST]


def measure_passes(corpus, method, n_components, seed, version):
    train, test = documents_of(corpus, seed)
    model, score = METHODS[method](n_components, random_state=seed), partial(document_completion, X=test)
    with of_version(version):
        scores, seconds = zip(*fit_and_score(model, train, score, PASSES))
    at = [round(each, 2) for each in seconds]
    return {"scores": [round(score, 4) for score in scores], "at": at, "seconds": seconds[-1]}


def measure_start(corpus, _, n_components, seed, start):
    train, test = documents_of(corpus, seed)
    given = document_components(train, n_components, random_state=seed) if start == "documents" else None
    model = OnlineVariationalLDA(n_components, components_init=given, random_state=seed).fit(train)
    tokens = model.topic_word_counts_.sum(axis=1)
    values = document_completion(model, test), coherence(model, train), topic_diversity(model)
    values = *values, np.mean(tokens < 0.1 * tokens.mean())
    return {"values": [round(float(value), 4) for value in values]}


def measure_root(corpus, model, version, seed):
    """Both concentrations, topics in use, those that the root amounts to, and the score."""
    train, test = documents_of(corpus, seed)
    if model == CHAIN:
        fitted = CollapsedGibbsHDP(100, max_iter=CHAIN_SWEEPS, evaluate_every=0, random_state=seed)
    else:
        fitted = HybridHDP(100, max_iter=30, random_state=seed)
    with of_version(version or "after"):
        seconds, _ = seconds_of(fitted.fit, train)
    shares = fitted.doc_topic_prior_ / fitted.doc_topic_prior_.sum()
    amount = np.exp(-(shares * np.log(shares)).sum())
    values = fitted.topic_concentration_, fitted.doc_concentration_, fitted.n_components_, amount
    values = [round(float(value), 4) for value in (*values, document_completion(fitted, test))]
    return {"values": values, "seconds": seconds}


def versions_of(method):
    if method == "OnlineCVB0LDA":
        return ("after",)
    return VERSIONS if method == "HybridHDP" else ("before", "after")


def rows_of(study, *cells):
    """The rows of a run with all seeds, if there are all; cells has None for the seed."""
    rows = [study.cache.get(*(seed if cell is None else cell for cell in cells)) for seed in SEEDS]
    return None if None in rows else rows


RUNS = [
    *(
        ("passes", corpus, method, n, seed, version)
        for n, seed, corpus, method in product(SIZES, SEEDS, CORPORA, METHODS)
        for version in versions_of(method)
    ),
    *(
        ("starts", corpus, "OnlineVariationalLDA", n, seed, start)
        for n, corpus, seed, start in product((50, 100, 20), STARTED, SEEDS, STARTS)
    ),
    *(("root", corpus, *root, seed) for seed, corpus, root in product(SEEDS, CORPORA[:4], ROOTS)),
]


def write_starts(study):
    table = []
    for n, corpus in product((50, 100, 20), STARTED):
        rows = [rows_of(study, "starts", corpus, "OnlineVariationalLDA", n, None, start) for start in STARTS]
        if None in rows:
            continue
        noise, documents = (np.array([row["values"] for row in each]) for each in rows)
        gained = interval((documents - noise)[:, 0])
        for start, values in zip(STARTS, (noise, documents)):
            gain = shown(gained) if start == "documents" else [""] * 3
            table.append((corpus, n, start, *shown(values.mean(axis=0)), *gain))
    study.write("starts", ["corpus", "topics", "start", *MEASURES, "score gained", "from", "to"], table)


def write_root(study):
    table = []
    for corpus, root in product(CORPORA[:4], ROOTS):
        rows = [row["values"] for row in study.cache.found(("root", corpus, *root, seed) for seed in SEEDS)]
        if rows:
            *means, score = np.mean(rows, axis=0)
            name = ", ".join(filter(None, root))
            table.append((corpus, name, len(rows), *shown(means, ".1f"), f"{score:.4f}"))
    head = ["corpus", "model", "seeds", "topic concentration", "doc concentration", "topics in use"]
    study.write("root", [*head, "topics that the root amounts to", "score"], table)


def write_passes(study):
    table = []
    for n, corpus, method, version in product(SIZES, CORPORA, METHODS, VERSIONS):
        rows = rows_of(study, "passes", corpus, method, n, None, version)
        if rows is None:
            continue
        scores, at = np.array([row["scores"] for row in rows]), np.median([row["at"] for row in rows], axis=0)
        best = scores.mean(axis=0).argmax()
        lost = interval(scores[:, best] - scores[:, -1])
        cells = [*shown(scores.mean(axis=0)), PASSES[best], *shown(lost), at[-1]]
        table.append((corpus, method, n, version, *cells))
    head = ["corpus", "method", "topics", "version", *(f"{n} passes" for n in PASSES)]
    study.write("", [*head, "best number of passes", "lost by 30", "from", "to", "seconds"], table)
    draw(study, table, SIZES[0])


def draw(study, table, n_components):
    """Scores over passes at the larger number of topics."""
    rows = [row for row in table if row[2] == n_components]
    figure, axes = panels(list(dict.fromkeys(row[0] for row in rows)))
    style = styles([f"{method}, {version}" for method in METHODS for version in VERSIONS])
    for corpus, method, _, version, *cells in rows:
        label = f"{method}, {version}"
        axes[corpus].plot(PASSES, [float(x) for x in cells[: len(PASSES)]], label=label, **style[label])
    for axis in axes.values():
        axis.set(xscale="log", xlabel="passes", ylabel="held-out nats per word")
        axis.set_xticks(PASSES, PASSES)
    finish(figure, study.path(".svg"), 3)


def write_tables(study):
    for write in (write_passes, write_starts, write_root):
        write(study)


def main():
    study = Study("passes", new_parser(__doc__, runs=True).parse_args())
    parts = {"passes": measure_passes, "starts": measure_start, "root": measure_root}
    study.measure(parts, RUNS)
    write_tables(study)


if __name__ == "__main__":
    main()
