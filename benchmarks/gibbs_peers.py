"""Gibbs samplers of other libraries, on planted cells and on text, and criteria for the number of topics.

    python benchmarks/gibbs_peers.py

cells   Planted accessible peaks: 1000 cells, 10 topics, counts set to one. The samplers that pycisTopic runs
        (lda, tomotopy; RustMallet has that of MALLET) with its settings, priors 50 / K and 0.1 and 150
        sweeps, and CollapsedGibbsLDA with the same ones; OnlineEMLDA with its defaults.
text    KOS with 100 topics; every library with its defaults, CollapsedGibbsLDA with learned priors and the
        1000 sweeps of the others.
number  Criteria for several numbers of topics of OnlineEMLDA, on the cells.

Seconds are those of the processor, of the call that trains. All models are scored by the same document
completion of held-out documents, with their topics and prior. Similarity is the mean cosine of matched topics
and those that drew the cells. Needs lda, tomotopy, topica and pyrmallet.
"""

import logging
from itertools import pairwise, product

import numpy as np
from _corpora import load
from _study import Study, new_parser, seconds_of

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
    seconds, _ = seconds_of(model.fit, X)
    return model.topic_word_, settings["alpha"], seconds


def of_tomotopy(X, tokens, seed, settings):
    import tomotopy

    sweeps = settings.pop("sweeps")
    model = tomotopy.LDAModel(seed=seed, **settings)
    model.optim_interval = 0
    for document in tokens:
        model.add_doc(document)
    seconds, _ = seconds_of(model.train, sweeps, workers=1)
    topics = [model.get_topic_word_dist(k) for k in range(model.k)]
    return in_order(topics, model.used_vocabs, X.shape[1]), model.alpha, seconds


def of_topica(X, tokens, seed, settings):
    import topica

    corpus = topica.Corpus.from_documents(tokens)
    seconds, model = seconds_of(topica.LDA(seed=seed, **settings).fit, corpus)
    return in_order(model.topic_word, model.vocabulary, X.shape[1]), model.alpha, seconds


def of_pyrmallet(X, tokens, seed, settings):
    from pyrmallet import _rust_mallet

    corpus = _rust_mallet.Corpus.from_strings([" ".join(document) for document in tokens], token_regex=r"\S+")
    seconds, model = seconds_of(_rust_mallet.train, corpus, seed=seed, **settings)
    return in_order(model.topic_word_matrix(), model.vocabulary, X.shape[1]), model.alpha, seconds


def of_ours(estimator):
    def fitted(X, tokens, seed, settings):
        seconds, model = seconds_of(estimator(random_state=seed, n_jobs=1, **settings).fit, X)
        return model.components_, model.doc_topic_prior_, seconds

    return fitted


ALPHA = ALPHA_SUM / PLANTED
PRIORS = {"alpha": ALPHA, "eta": ETA}
MALLET = {"num_topics": PLANTED, "iterations": SWEEPS, "alpha_sum": ALPHA_SUM, "beta": ETA}
MALLET |= {"optimize_interval": 0, "num_samples": 1, "sample_interval": 1}
GIBBS = {"n_components": PLANTED, "max_iter": SWEEPS, "n_draws": 1}
GIBBS |= {"doc_topic_prior": ALPHA, "topic_word_prior": ETA}
LEARNING = {"n_components": TEXT_TOPICS, "max_iter": 1000}
LEARNING |= {"doc_topic_prior": "auto", "topic_word_prior": "auto"}
MODELS = {
    "cells": {
        "lda": (of_lda, {"n_topics": PLANTED, "n_iter": SWEEPS, **PRIORS}),
        "tomotopy": (of_tomotopy, {"k": PLANTED, "sweeps": SWEEPS, **PRIORS}),
        "RustMallet": (of_pyrmallet, MALLET),
        "CollapsedGibbsLDA": (of_ours(CollapsedGibbsLDA), GIBBS),
        "OnlineEMLDA": (of_ours(OnlineEMLDA), {"n_components": PLANTED}),
    },
    "text": {
        "topica": (of_topica, {"num_topics": TEXT_TOPICS}),
        "RustMallet": (of_pyrmallet, {"num_topics": TEXT_TOPICS}),
        "CollapsedGibbsLDA": (of_ours(CollapsedGibbsLDA), LEARNING),
        "OnlineEMLDA": (of_ours(OnlineEMLDA), {"n_components": TEXT_TOPICS}),
    },
}
HEADS = {
    "cells": ["model", "seconds of training", "score, nats per word", "similarity to the planted topics"],
    "text": ["model", "seconds of training", "score, nats per word"],
    "number": ["topics", "score, nats per word", "Arun et al. 2010", "Cao et al. 2009"],
}
MEASURES = {"cells": ["score", "similarity"], "text": ["score"], "number": ["score", "arun", "cao"]}


def measure(part, name, seed):
    """The row of a run; of "number" the name is the number of topics."""
    X, X_test, planted = load("kos") if part == "text" else cells()
    if part == "number":
        seconds, model = seconds_of(OnlineEMLDA(name, random_state=seed, n_jobs=1).fit, X)
        arun = arun_2010(model, X, proportions=model.transform(X))
        measured = {"arun": round(arun, 5), "cao": round(cao_juan_2009(model), 5)}
        score = round(document_completion(model, X_test), 5)
        return {"seconds": round(seconds, 3), "score": score, **measured}
    train, settings = MODELS[part][name]
    topics, prior, seconds = train(X, tokens_of(X), seed, dict(settings))
    topics = topics / topics.sum(axis=1, keepdims=True) + 1e-12  # for words that have no tokens
    score = document_completion(topics, X_test, doc_topic_prior=prior)
    row = {"seconds": round(seconds, 3), "score": round(score, 5)}
    if part == "cells":
        row["similarity"] = round(float(match_topics(topics, planted).similarity.mean()), 5)
    return row


def runs_of(part):
    return [(part, name, seed) for seed, name in product(range(SEEDS[part]), MODELS.get(part, NUMBERS))]


def write_tables(study):
    """Medians of seconds and means of the rest, over seeds."""
    for part, head in HEADS.items():
        table = []
        for name in MODELS.get(part, NUMBERS):
            found = study.cache.found((part, name, seed) for seed in range(SEEDS[part]))
            if len(found) == SEEDS[part]:
                means = [f"{np.mean([row[key] for row in found]):.4f}" for key in MEASURES[part]]
                seconds = f"{np.median([row['seconds'] for row in found]):.1f}"
                table.append([name, *means] if part == "number" else [name, seconds, *means])
        study.write(part, head, table)


def main():
    study = Study("gibbs_peers", new_parser(__doc__, runs=True, jobs=1).parse_args())
    study.measure(measure, [run for part in HEADS for run in runs_of(part)])
    write_tables(study)


if __name__ == "__main__":
    main()
