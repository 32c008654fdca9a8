"""Gibbs samplers of other libraries, on planted cells and on text, and criteria for the number of topics.

    python benchmarks/gibbs_peers.py [--parts cells text number]

cells   Planted accessible peaks: 1000 cells, 10 topics, counts set to one. The samplers that pycisTopic runs
        (lda, tomotopy; RustMallet has that of MALLET) with its settings, priors 50 / K and 0.1 and 150
        sweeps, and CollapsedGibbsLDA with the same ones; OnlineEMLDA with its defaults.
text    KOS with 100 topics; every library with its defaults, CollapsedGibbsLDA with learned priors and the
        1000 sweeps of the others.
number  Criteria for several numbers of topics of OnlineEMLDA, on the cells.

Seconds are those of the processor, of the call that trains, in one thread (set OMP_NUM_THREADS=1). Libraries
take turns, seed by seed. All models are scored by the same document completion of held-out documents, with
their topics and prior. Similarity is the mean cosine of matched topics and those that drew the cells. An
interrupted study goes on behind its last complete run. gibbs_peers_*.csv go to benchmarks/output/, or with
--update to doc/benchmarks/. Needs the packages of PEERS.
"""

import importlib.metadata
import json
import logging
import time
from itertools import pairwise

import numpy as np
from _corpora import load
from _study import Study, new_parser

from sktopic.datasets import make_lda_documents
from sktopic.lda import CollapsedGibbsLDA, OnlineEMLDA
from sktopic.metrics import arun_2010, cao_juan_2009, document_completion, match_topics

PLANTED = 10
N_CELLS, N_TEST_CELLS = 1000, 300
# Of pycisTopic: the sum of the prior of topics, the prior of words, and sweeps.
ALPHA_SUM, ETA, SWEEPS = 50.0, 0.1, 150
TEXT_TOPICS = 100
NUMBERS = (4, 6, 8, 10, 12, 15, 20, 30)
SEEDS = {"cells": 3, "text": 1, "number": 3}
PEERS = ("lda", "tomotopy", "topica", "pyrmallet")


def cells():
    """Training cells, test cells and the planted topics."""
    bunch = make_lda_documents(
        N_CELLS + N_TEST_CELLS,
        n_features=10_000,
        n_components=PLANTED,
        mean_length=1000,
        topic_word_prior=0.1,
        random_state=0,
    )
    X = bunch.data
    X.data[:] = 1
    return X[:N_CELLS], X[N_CELLS:], bunch.components


def tokens_of(X):
    """The documents as lists of names of their columns."""
    words = [f"w{column}" for column in range(X.shape[1])]
    return [
        [words[column] for column in np.repeat(X.indices[first:end], X.data[first:end])]
        for first, end in pairwise(X.indptr)
    ]


def timed(call):
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def in_order(topics, words, n_features):
    """Topics with their columns in the order of X; words that a library does not know have none."""
    ordered = np.zeros((len(topics), n_features))
    ordered[:, [int(word[1:]) for word in words]] = topics
    return ordered


# Each takes counts, their tokens, a seed and settings, and returns topics, prior and seconds.


def of_lda(X, tokens, seed, settings):
    import lda

    logging.getLogger("lda").setLevel(logging.WARNING)
    model = lda.LDA(random_state=seed, refresh=10**6, **settings)
    _, seconds = timed(lambda: model.fit(X))
    return model.topic_word_, settings["alpha"], seconds


def of_tomotopy(X, tokens, seed, settings):
    import tomotopy

    sweeps = settings.pop("sweeps")
    model = tomotopy.LDAModel(seed=seed, **settings)
    model.optim_interval = 0
    for document in tokens:
        model.add_doc(document)
    _, seconds = timed(lambda: model.train(sweeps, workers=1))
    topics = [model.get_topic_word_dist(k) for k in range(model.k)]
    return in_order(topics, model.used_vocabs, X.shape[1]), model.alpha, seconds


def of_topica(X, tokens, seed, settings):
    import topica

    corpus = topica.Corpus.from_documents(tokens)
    model, seconds = timed(lambda: topica.LDA(seed=seed, **settings).fit(corpus))
    return in_order(model.topic_word, model.vocabulary, X.shape[1]), model.alpha, seconds


def of_pyrmallet(X, tokens, seed, settings):
    from pyrmallet import _rust_mallet

    corpus = _rust_mallet.Corpus.from_strings([" ".join(document) for document in tokens], token_regex=r"\S+")
    model, seconds = timed(lambda: _rust_mallet.train(corpus, seed=seed, **settings))
    return in_order(model.topic_word_matrix(), model.vocabulary, X.shape[1]), model.alpha, seconds


def of_ours(estimator):
    def fitted(X, tokens, seed, settings):
        model, seconds = timed(lambda: estimator(random_state=seed, n_jobs=1, **settings).fit(X))
        return model.components_, model.doc_topic_prior_, seconds

    return fitted


PRIORS = {"alpha": ALPHA_SUM / PLANTED, "eta": ETA}
MODELS = {
    "cells": {
        "lda": (of_lda, {"n_topics": PLANTED, "n_iter": SWEEPS, **PRIORS}),
        "tomotopy": (of_tomotopy, {"k": PLANTED, "sweeps": SWEEPS, **PRIORS}),
        "RustMallet": (
            of_pyrmallet,
            {
                "num_topics": PLANTED,
                "iterations": SWEEPS,
                "alpha_sum": ALPHA_SUM,
                "beta": ETA,
                "optimize_interval": 0,
                "num_samples": 1,
                "sample_interval": 1,
            },
        ),
        "CollapsedGibbsLDA": (
            of_ours(CollapsedGibbsLDA),
            {
                "n_components": PLANTED,
                "max_iter": SWEEPS,
                "doc_topic_prior": ALPHA_SUM / PLANTED,
                "topic_word_prior": ETA,
                "n_draws": 1,
            },
        ),
        "OnlineEMLDA": (of_ours(OnlineEMLDA), {"n_components": PLANTED}),
    },
    "text": {
        "topica": (of_topica, {"num_topics": TEXT_TOPICS}),
        "RustMallet": (of_pyrmallet, {"num_topics": TEXT_TOPICS}),
        "CollapsedGibbsLDA": (
            of_ours(CollapsedGibbsLDA),
            {
                "n_components": TEXT_TOPICS,
                "doc_topic_prior": "auto",
                "topic_word_prior": "auto",
                "max_iter": 1000,
            },
        ),
        "OnlineEMLDA": (of_ours(OnlineEMLDA), {"n_components": TEXT_TOPICS}),
    },
}
HEADS = {
    "cells": ["model", "seconds of training", "score, nats per word", "similarity to the planted topics"],
    "text": ["model", "seconds of training", "score, nats per word"],
    "number": ["topics", "score, nats per word", "Arun et al. 2010", "Cao et al. 2009"],
}
MEASURES = {"cells": ["score", "similarity"], "text": ["score"], "number": ["score", "arun", "cao"]}


def measure(study, part):
    """Add the runs of all models that are missing."""
    X, X_test, planted = cells() if part == "cells" else load("kos")
    tokens = tokens_of(X)
    for seed in range(SEEDS[part]):
        for name, (train, settings) in MODELS[part].items():
            run = json.dumps([part, name, seed])
            if run in study.cache:
                continue
            topics, prior, seconds = train(X, tokens, seed, dict(settings))
            topics = topics / topics.sum(axis=1, keepdims=True) + 1e-12  # for words that have no tokens
            row = {
                "run": run,
                "seconds": round(seconds, 3),
                "score": round(document_completion(topics, X_test, doc_topic_prior=prior), 5),
            }
            if part == "cells":
                row["similarity"] = round(float(match_topics(topics, planted).similarity.mean()), 5)
            add(study, row)


def measure_number(study):
    X, X_test, _ = cells()
    for seed in range(SEEDS["number"]):
        for n_components in NUMBERS:
            run = json.dumps(["number", f"OnlineEMLDA {n_components}", seed])
            if run in study.cache:
                continue
            model, seconds = timed(lambda: OnlineEMLDA(n_components, random_state=seed, n_jobs=1).fit(X))  # noqa: B023
            row = {
                "run": run,
                "seconds": round(seconds, 3),
                "score": round(document_completion(model, X_test), 5),
                "arun": round(arun_2010(model, X, proportions=model.transform(X)), 5),
                "cao": round(cao_juan_2009(model), 5),
            }
            add(study, row)


def add(study, row):
    study.sign("; ".join(f"{peer} {importlib.metadata.version(peer)}" for peer in PEERS) + "; ")
    study.cache.add(row)
    print(json.dumps(row), flush=True)


def write_tables(study):
    """Medians of seconds and means of the rest, over seeds."""
    for part, head in HEADS.items():
        names = MODELS.get(part) or [f"OnlineEMLDA {n_components}" for n_components in NUMBERS]
        runs = [
            [study.cache.rows.get(json.dumps([part, name, seed])) for seed in range(SEEDS[part])]
            for name in names
        ]
        study.write(
            part, head, [cells_of(part, name, found) for name, found in zip(names, runs) if all(found)]
        )


def cells_of(part, name, runs):
    means = [f"{np.mean([run[key] for run in runs]):.4f}" for key in MEASURES[part]]
    if part == "number":
        return [name.split()[1], *means]
    return [name, f"{np.median([run['seconds'] for run in runs]):.1f}", *means]


def main():
    parser = new_parser(__doc__)
    parser.add_argument("--parts", nargs="+", choices=HEADS, default=list(HEADS))
    arguments = parser.parse_args()
    study = Study("gibbs_peers", arguments)
    for part in arguments.parts:
        if part == "number":
            measure_number(study)
        else:
            measure(study, part)
    write_tables(study)


if __name__ == "__main__":
    main()
