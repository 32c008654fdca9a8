"""What merging lanes rarely costs in score.

    python benchmarks/lanes.py

OnlineEMLDA with 100 topics and its defaults, trained in 8 and in 32 lanes, each with batches of 50 documents,
that are merged after 1, 4, 16 or 64 of them, or after a share of the batches that there were before; and
trained in one, with batches of 50 and of as many documents as all lanes have. 20news in three passes, 40,000
abstracts in two. Scores are of 1500 of the training documents, which are held out.
"""

from itertools import product

import numpy as np
from _corpora import load
from _study import Study, new_parser

from sktopic.distributed import local_update, merge_updates, start_model
from sktopic.lda import OnlineEMLDA

# Documents at most, and passes.
CORPORA = {"20news": (None, 3), "arxiv_0": (41_500, 2)}
N_TOPICS, SIZE, N_HELD_OUT = 100, 50, 1500
LANES = (8, 32)
# Batches of each lane between two merges; or one nth of those so far, and 128 at most.
FIXED, SHARES = (1, 4, 16, 64), (4, 8, 16, 32)
PLAIN = "one machine, batches of 50", "one machine, batches as large"
# By the names of runs.
LABELS = {
    PLAIN[0]: "one machine, batches of 50",
    PLAIN[1]: "one machine, batches of 50 for each lane",
    **{str(n): f"lanes, merged after {n}" for n in FIXED},
    **{f"n/{share}": f"lanes, merged after 1/{share} of those so far" for share in SHARES},
}


def round_length(schedule, n_done):
    """Batches of each lane in the round after n_done."""
    if schedule.startswith("n/"):
        return max(1, min(128, n_done // int(schedule[2:])))
    return int(schedule) if n_done else 1


def documents(corpus):
    """Documents to train on, and those held out."""
    most, _ = CORPORA[corpus]
    X, _, _ = load(corpus)
    X = X[np.random.RandomState(7).permutation(X.shape[0])[:most]]
    return X[N_HELD_OUT:], X[:N_HELD_OUT]


def train_in_lanes(estimator, X, n_lanes, schedule, n_passes):
    model, rng, n_done = start_model(estimator, X.shape[1], X.shape[0]), np.random.RandomState(0), 0
    for number in range(n_passes):
        parts = np.array_split(rng.permutation(X.shape[0]), n_lanes)
        full, at = min(map(len, parts)) // SIZE, 0
        while at * SIZE < len(parts[0]):
            n = min(round_length(schedule, n_done), full - at) if at < full else 1
            rows = [part[at * SIZE : (at + n) * SIZE] for part in parts]
            updates = [
                local_update(model, X[some], lane=lane, n_updates=n, batch_size=SIZE)
                for lane, some in enumerate(rows)
                if len(some)
            ]
            model = merge_updates(model, updates, is_first_visit=number == 0)
            at, n_done = at + n, n_done + n
    return model


def measure(corpus, n_lanes, kind, seed):
    """The row of a run."""
    (X, held_out), (_, n_passes) = documents(corpus), CORPORA[corpus]
    estimator = OnlineEMLDA(N_TOPICS, random_state=seed, n_jobs=1, max_iter=n_passes)
    if kind in PLAIN:
        size = SIZE if kind == PLAIN[0] else SIZE * n_lanes
        model = estimator.set_params(batch_size=size).fit(X)
    else:
        model = train_in_lanes(estimator, X, n_lanes, kind, n_passes)
    return {"score": round(model.score(held_out), 4)}


def mean_score(study, corpus, n_lanes, kind):
    """Over seeds."""
    return np.mean([run["score"] for run in study.cache.select(corpus=corpus, n_lanes=n_lanes, kind=kind)])


def write_tables(study):
    columns = list(product(CORPORA, LANES))
    rows = [
        [label, *(f"{mean_score(study, *column, kind):.3f}" for column in columns)]
        for kind, label in LABELS.items()
    ]
    study.write("", ["", *(f"{corpus}, {n_lanes} lanes" for corpus, n_lanes in columns)], rows)


def main():
    study = Study("lanes", new_parser(__doc__, runs=True).parse_args())
    study.measure(measure, [(c, n, kind, s) for c, s, n, kind in product(CORPORA, range(2), LANES, LABELS)])
    write_tables(study)


if __name__ == "__main__":
    main()
