"""What fewer Gibbs sweeps in transform cost in score and gain in speed.

    python benchmarks/transform_sweeps.py

OnlineEMLDA with 100 topics and its defaults, fitted once for each seed; then transform and score of the test
documents with other transform_burn_in and transform_sweeps. Settings run in turn on the same documents, in a
random order in each round. "Times as fast" is the median over rounds and seeds of the ratio to the defaults;
the difference of scores is the mean over 20 parts of the test documents and over seeds, with an interval of
95 percent from the parts (Student's t).
"""

import time
from copy import copy
from itertools import product

import numpy as np
from _corpora import load
from _study import Study, interval, new_parser, seconds_of, shown

from sktopic.lda import OnlineEMLDA

CORPORA = ("arxiv_0", "kos", "20news")
DEFAULTS = (4, 6)
# (transform_burn_in, transform_sweeps), ascending.
SETTINGS = sorted([*product((0, 2, 3, 4), (1, 2, 4, 6)), (4, 5), (3, 7), (2, 8), (10, 20)])
N_PARTS, N_AT_ONCE, N_ROUNDS, SEEDS = 20, 1000, 12, range(3)
HEAD = ["corpus", "transform_burn_in", "transform_sweeps", "documents/s", "times as fast as the defaults"]
HEAD += ["score less that of the defaults", "95 percent interval from", "to"]


def part_scores(model, X):
    """Scores of documents that are dealt into parts."""
    return [model.score(X[i::N_PARTS]) for i in range(N_PARTS)]


def seconds_of_rounds(models, X, n_rounds, rng):
    """Seconds of transform, ndarray of shape (n_rounds, n_models); each round in a random order."""
    seconds = np.empty((n_rounds, len(models)))
    for times in seconds:
        for i in rng.permutation(len(models)):
            times[i], _ = seconds_of(models[i].transform, X, clock=time.perf_counter)
    return seconds


def measure(corpus, seed):
    """The row of a run: scores of parts and seconds a document, by setting."""
    X, X_test, _ = load(corpus)
    model = OnlineEMLDA(n_components=100, n_jobs=1, random_state=seed).fit(X)
    models = [copy(model).set_params(transform_burn_in=b, transform_sweeps=s) for b, s in SETTINGS]
    some = X_test[:N_AT_ONCE]
    seconds = seconds_of_rounds(models, some, N_ROUNDS, np.random.default_rng(seed)) / some.shape[0]
    return {
        "settings": SETTINGS,
        "scores": [np.round(part_scores(each, X_test), 5).tolist() for each in models],
        "seconds a document": [[float(f"{s:.4g}") for s in times] for times in seconds.T],
    }


def table(study, corpus):
    """Rows of a corpus, from its runs, by setting."""
    runs = study.cache.select(corpus=corpus)
    scores = np.mean([run["scores"] for run in runs], axis=0)  # (settings, parts)
    seconds = np.concatenate([run["seconds a document"] for run in runs], axis=1)  # (settings, rounds)
    default = SETTINGS.index(DEFAULTS)
    for i, setting in enumerate(SETTINGS):
        faster = np.median(seconds[default] / seconds[i])
        difference = shown(interval(scores[i] - scores[default]), "+.4f")
        yield [corpus, *setting, f"{1 / np.median(seconds[i]):.0f}", f"{faster:.2f}", *difference]


def write_tables(study):
    study.write("", HEAD, [row for corpus in CORPORA for row in table(study, corpus)])


def main():
    study = Study("transform_sweeps", new_parser(__doc__, runs=True, jobs=1).parse_args())
    study.measure(measure, list(product(CORPORA, SEEDS)))
    write_tables(study)


if __name__ == "__main__":
    main()
