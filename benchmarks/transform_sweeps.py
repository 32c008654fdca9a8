"""What fewer Gibbs sweeps in transform cost in score and gain in speed.

    python benchmarks/transform_sweeps.py [--corpora arxiv_0 kos 20news] [--seeds 3] [--rounds 12]

OnlineEMLDA with 100 topics and its defaults, fitted once for each seed; then transform and score of the test
documents with other transform_burn_in and transform_sweeps. Settings run in turn on the same documents, in a
random order in each round, with one job. "Times as fast" is the median over rounds and seeds of the ratio to
the defaults; the difference of scores is the mean over 20 parts of the test documents and over seeds, with an
interval of 95 percent from the parts (Student's t). An interrupted study goes on behind its last complete run
of a corpus and seed. transform_sweeps.csv goes to benchmarks/output/, or with --update to doc/benchmarks/.
"""

import time
from copy import copy
from itertools import product

import numpy as np
from _corpora import load
from _study import Study, new_parser
from scipy.stats import t

CORPORA = ("arxiv_0", "kos", "20news")
DEFAULTS = (4, 6)
# (transform_burn_in, transform_sweeps), ascending.
SETTINGS = sorted([*product((0, 2, 3, 4), (1, 2, 4, 6)), (4, 5), (3, 7), (2, 8), (10, 20)])
N_PARTS, N_AT_ONCE = 20, 1000
HEAD = [
    "corpus",
    "transform_burn_in",
    "transform_sweeps",
    "documents/s",
    "times as fast as the defaults",
    "score less that of the defaults",
    "95 percent interval from",
    "to",
]


def part_scores(model, X):
    """Scores of documents that are dealt into parts."""
    return [model.score(X[i::N_PARTS]) for i in range(N_PARTS)]


def seconds_of_rounds(models, X, n_rounds, rng):
    """Seconds of transform, ndarray of shape (n_rounds, n_models); each round in a random order."""
    seconds = np.empty((n_rounds, len(models)))
    for times in seconds:
        for i in rng.permutation(len(models)):
            start = time.perf_counter()
            models[i].transform(X)
            times[i] = time.perf_counter() - start
    return seconds


def measure(corpus, seed, n_rounds):
    """The row of a run: scores of parts and seconds a document, by setting."""
    from sktopic.lda import OnlineEMLDA

    start = time.perf_counter()
    X, X_test, _ = load(corpus)
    model = OnlineEMLDA(n_components=100, n_jobs=1, random_state=seed).fit(X)
    models = [
        copy(model).set_params(transform_burn_in=burn_in, transform_sweeps=sweeps)
        for burn_in, sweeps in SETTINGS
    ]
    some = X_test[:N_AT_ONCE]
    seconds = seconds_of_rounds(models, some, n_rounds, np.random.default_rng(seed)) / some.shape[0]
    return {
        "run": f"{corpus} {seed}",
        "settings": SETTINGS,
        "scores": [np.round(part_scores(each, X_test), 5).tolist() for each in models],
        "seconds a document": [[float(f"{s:.4g}") for s in times] for times in seconds.T],
        "seconds": time.perf_counter() - start,
    }


def interval(differences):
    """Mean, and the bounds of its interval of 95 percent."""
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(len(differences))
    reach = t.ppf(0.975, len(differences) - 1) * error
    return mean, mean - reach, mean + reach


def table(study, corpus):
    """Rows of a corpus, from its runs, by setting."""
    runs = [run for name, run in study.cache.rows.items() if name.split()[0] == corpus]
    scores = np.mean([run["scores"] for run in runs], axis=0)  # (settings, parts)
    seconds = np.concatenate([run["seconds a document"] for run in runs], axis=1)  # (settings, rounds)
    default = SETTINGS.index(DEFAULTS)
    for i, setting in enumerate(SETTINGS):
        faster = np.median(seconds[default] / seconds[i])
        difference = [f"{x:+.4f}" for x in interval(scores[i] - scores[default])]
        yield [corpus, *setting, f"{1 / np.median(seconds[i]):.0f}", f"{faster:.2f}", *difference]


def write_table(study, corpora):
    study.write("", HEAD, [row for corpus in corpora for row in table(study, corpus)])


def main():
    parser = new_parser(__doc__)
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=12)
    arguments = parser.parse_args()
    study = Study("transform_sweeps", arguments)
    for corpus in arguments.corpora:
        for seed in range(arguments.seeds):
            if f"{corpus} {seed}" not in study.cache:
                run = measure(corpus, seed, arguments.rounds)
                study.sign()
                study.cache.add(run)
                print(run["run"], f"{run['seconds']:.0f} s", flush=True)
    write_table(study, arguments.corpora)


if __name__ == "__main__":
    main()
