"""Topics of six newsgroups from seeds: whether they are found, whether they stay, and what seeds cost.

    python benchmarks/seeds.py [--seeds 5]

Needs SKTOPIC_DATA with 20news.npz. Six words for each of six groups, chosen by what the groups are about,
without a look at documents or results; 20 topics, 5 passes over the training documents (200 sweeps of the
batch sampler), with the defaults of `seed_prior` and of the estimators but for what the name of a row says.
For each random_state: the fewest seeds of a group among the 20 most probable words of its topic, how well its
proportion tells the test documents of the group from all others (area under the ROC curve), and the held-out
score less that of the same estimator and random_state without seeds. Intervals of 95 percent are over values
of random_state (Student's t). An interrupted study goes on behind its last run. seeds.csv goes to
benchmarks/output/, or with --update to doc/benchmarks/, with the runs in benchmarks/runs/.
"""

import os
import time
from pathlib import Path

import numpy as np
from _corpora import load
from _study import Study, new_parser
from scipy.stats import t
from sklearn.metrics import roc_auc_score

from sktopic.lda import CollapsedGibbsLDA, HybridLDA, OnlineEMLDA, OnlineVariationalLDA
from sktopic.seeding import seed_prior

GROUPS = {
    "sci.space": ["space", "nasa", "orbit", "launch", "moon", "shuttle"],
    "rec.sport.hockey": ["hockey", "nhl", "playoffs", "goal", "puck", "rangers"],
    "sci.crypt": ["encryption", "key", "clipper", "chip", "escrow", "nsa"],
    "talk.politics.guns": ["gun", "guns", "firearms", "weapons", "fbi", "batf"],
    "sci.med": ["medical", "doctor", "patients", "disease", "treatment", "health"],
    "rec.autos": ["car", "cars", "engine", "dealer", "ford", "toyota"],
}
N_COMPONENTS, N_WORDS = 20, 20
METHODS = {
    "OnlineVariationalLDA": (OnlineVariationalLDA, {}),
    "HybridLDA": (HybridLDA, {}),
    "OnlineEMLDA(batch_size=256, learning_offset=4.0)": (
        OnlineEMLDA,
        {"batch_size": 256, "learning_offset": 4.0},
    ),
    "OnlineEMLDA": (OnlineEMLDA, {}),
    "CollapsedGibbsLDA": (CollapsedGibbsLDA, {}),
}
HEAD = [
    "estimator",
    "fits",
    "fewest seeds of six in the first 20 words",
    "AUC, mean",
    "95 percent interval from",
    "to",
    "of the hardest group, mean",
    "lowest of a group and fit",
    "score less that without seeds",
    "95 percent interval of that from",
    "up to",
]


def labels_of_tests():
    """Names of the groups of the test documents."""
    with np.load(Path(os.environ["SKTOPIC_DATA"]) / "20news.npz", allow_pickle=False) as parts:
        return parts["label_names"][parts["labels"][parts["is_test"].astype(bool)]]


def measure(method, seed):
    """The row of a run: seeds kept and AUC of each group, and both scores."""
    start = time.perf_counter()
    X, X_test, vocabulary = load("20news")
    kind, settings = METHODS[method]
    prior = seed_prior(GROUPS, vocabulary, N_COMPONENTS)
    plain = kind(N_COMPONENTS, random_state=seed, **settings).fit(X)
    model = kind(N_COMPONENTS, random_state=seed, topic_word_prior=prior, **settings).fit(X)
    top = vocabulary[np.argsort(-model.components_, axis=1)[:, :N_WORDS]]
    theta, labels = model.transform(X_test), labels_of_tests()
    return {
        "run": f"{method} {seed}",
        "kept": [len(set(words) & set(top[k].tolist())) for k, words in enumerate(GROUPS.values())],
        "auc": [round(roc_auc_score(labels == name, theta[:, k]), 4) for k, name in enumerate(GROUPS)],
        "score": round(model.score(X_test), 5),
        "score without seeds": round(plain.score(X_test), 5),
        "seconds": round(time.perf_counter() - start, 1),
    }


def interval(values):
    """Mean, and the bounds of its interval of 95 percent."""
    mean, n = np.mean(values), len(values)
    reach = t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return mean, mean - reach, mean + reach


def table(study):
    for method in METHODS:
        runs = [run for name, run in study.cache.rows.items() if name.rpartition(" ")[0] == method]
        if runs:
            auc = np.array([run["auc"] for run in runs])
            change = [run["score"] - run["score without seeds"] for run in runs]
            yield [
                method,
                len(runs),
                min(min(run["kept"]) for run in runs),
                *(f"{x:.3f}" for x in interval(auc.mean(axis=1))),
                f"{auc.mean(axis=0).min():.3f}",
                f"{auc.min():.3f}",
                *(f"{x:+.4f}" for x in interval(change)),
            ]


def write_table(study):
    study.write("", HEAD, table(study))


def main():
    parser = new_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    study = Study("seeds", arguments)
    for seed in range(arguments.seeds):
        for method in METHODS:
            if f"{method} {seed}" not in study.cache.rows:
                run = measure(method, seed)
                study.sign()
                study.cache.add(run)
                print(run["run"], run["kept"], run["auc"], f"{run['seconds']:.0f} s", flush=True)
    write_table(study)


if __name__ == "__main__":
    main()
