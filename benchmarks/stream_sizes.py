"""How many documents `partial_fit` had better expect of a stream whose length is not known.

    python benchmarks/stream_sizes.py

Without total_samples, `partial_fit` of these models expects a multiple of the documents so far (Growth). Here
they expect other multiples, and the true size of the corpus. The training documents of a corpus come once, in
a random order. Scores are document completion on at most 500 test documents, with the prior of the model.
Gains over what is the default are means over seeds, with intervals of 95 percent (Student's t). The cube root
was chosen on KOS and Reuters, the double by one seed of all corpora.
"""

from itertools import product
from unittest.mock import patch

import numpy as np
from _corpora import N_TEST, load
from _results import CORPUS_NAMES
from _study import Study, interval, new_parser, shown

from sktopic._training import _minibatches
from sktopic.hdp import DirectAssignmentHDP, OnlineEMHDP, OnlineVariationalHDP
from sktopic.lda import (
    HybridLDA,
    OnlineCVB0LDA,
    OnlineEMLDA,
    OnlineOPELDA,
    OnlineVariationalLDA,
    SinglePassLDA,
)
from sktopic.metrics import document_completion

CORPORA = ("kos", "reuters21578", "20news", "nips_uci")
# Models that infer documents from Dirichlet posteriors of topics, and others.
CUBE_ROOT = {
    "HybridLDA": (HybridLDA, {}),
    "OnlineVariationalLDA": (OnlineVariationalLDA, {}),
    "OnlineVariationalHDP": (OnlineVariationalHDP, {}),
    "DirectAssignmentHDP": (DirectAssignmentHDP, {"learning_method": "online"}),
}
OTHERS = (OnlineEMLDA, OnlineCVB0LDA, OnlineOPELDA, SinglePassLDA, OnlineEMHDP)
MODELS = {**CUBE_ROOT, **{kind.__name__: (kind, {}) for kind in OTHERS}}
DEFAULT, TRUE_SIZE = "default", "true size"
# Times the documents so far.
EXPECTED = {
    **dict.fromkeys(CUBE_ROOT, (DEFAULT, 1.0, 4.0, 16.0, 64.0, TRUE_SIZE)),
    **dict.fromkeys(MODELS.keys() - CUBE_ROOT.keys(), (DEFAULT, 1.0, 4.0, 16.0, TRUE_SIZE)),
}
K, SEEDS = 50, range(3)
# Documents so far at which a model is scored, besides the end.
MARKS = (250, 1000)
HEAD = ["corpus", "model", "documents", "expected, times those so far", "seeds", "score", "gain"]
HEAD += ["95 percent interval from", "to", "topics with a hundredth of the tokens"]


def measure(corpus, name, expected, seed):
    """The scores of a model along the stream, and how many of its topics have a hundredth of the tokens."""
    train, test, _ = load(corpus)
    train = train[np.random.default_rng(seed).permutation(train.shape[0])]
    kind, settings = MODELS[name]
    model = kind(K, **settings, random_state=seed)
    row, seen = {"documents": [], "scores": [], "topics": []}, 0

    def constant(method, state, n_new=0):
        n_documents = state.corpus_size + n_new
        return train.shape[0] if expected == TRUE_SIZE else expected * n_documents

    rule = _minibatches.expected_size if expected == DEFAULT else constant
    with patch.object(_minibatches, "expected_size", rule):
        for mark in (*MARKS, train.shape[0]):
            model.partial_fit(train[seen:mark])
            seen = mark
            tokens = model.topic_word_counts_.sum(axis=1)
            row["documents"].append(seen)
            row["scores"].append(round(document_completion(model, test[:N_TEST], n_repeats=1), 5))
            row["topics"].append(int((tokens > 0.01 * tokens.sum()).sum()))
    return row


def rows_of(study):
    for corpus, name, (at, when) in product(CORPORA, MODELS, enumerate((*MARKS, "all"))):
        found = {e: study.cache.found((corpus, name, e, seed) for seed in SEEDS) for e in EXPECTED[name]}
        scores = {e: np.array([row["scores"][at] for row in rows]) for e, rows in found.items()}
        for e, rows in found.items():
            gain = [""] * 3 if e == DEFAULT else shown(interval(scores[e] - scores[DEFAULT]), "+.3f")
            n_topics = f"{np.mean([row['topics'][at] for row in rows]):.1f}"
            cell = [CORPUS_NAMES[corpus], name, when, e, len(rows)]
            yield [*cell, f"{scores[e].mean():.3f}", *gain, n_topics]


def main():
    study = Study("stream_sizes", new_parser(__doc__, runs=True).parse_args())
    cells = product(SEEDS, CORPORA, MODELS)
    study.measure(measure, [(corpus, name, e, seed) for seed, corpus, name in cells for e in EXPECTED[name]])
    write_tables(study)


def write_tables(study):
    study.write("", HEAD, list(rows_of(study)))


if __name__ == "__main__":
    main()
