"""Topics of six groups of documents from seeds: whether they are found and stay, and what seeds cost.

    python benchmarks/seeds.py

Six words for each of six groups of a corpus, chosen by what the groups are about, without a look at documents
or results; 20 topics, 5 passes over the training documents (one of StreamingVariationalLDA, 200 sweeps of the
batch sampler), with the defaults of `seed_prior` and of the estimators.

The table "weights" is what the default weight of `seed_prior` is judged by: only training documents of 20
Newsgroups, four fifths of which are learned from. The main table is measured on the test documents of both
corpora, with random_state 100, 101 and so on; nothing is chosen by it. For each fit: how many seeds of a
group are among the 20 most probable words of its topic, how well its proportion tells documents of the group
from all others (area under the ROC curve), and the held-out score less that without seeds. Intervals of 95
percent are over random_state (Student's t).
"""

import os
from itertools import product
from pathlib import Path

import numpy as np
from _corpora import load
from _study import Study, interval, new_parser, shown
from sklearn.metrics import roc_auc_score

from sktopic import lda
from sktopic.seeding import seed_prior

GROUPS = {
    "20news": {
        "sci.space": ["space", "nasa", "orbit", "launch", "moon", "shuttle"],
        "rec.sport.hockey": ["hockey", "nhl", "playoffs", "goal", "puck", "rangers"],
        "sci.crypt": ["encryption", "key", "clipper", "chip", "escrow", "nsa"],
        "talk.politics.guns": ["gun", "guns", "firearms", "weapons", "fbi", "batf"],
        "sci.med": ["medical", "doctor", "patients", "disease", "treatment", "health"],
        "rec.autos": ["car", "cars", "engine", "dealer", "ford", "toyota"],
    },
    "reuters21578": {
        "acq": ["acquire", "acquisition", "merger", "takeover", "bid", "stake"],
        "crude": ["oil", "crude", "opec", "barrels", "petroleum", "barrel"],
        "grain": ["grain", "wheat", "corn", "crop", "harvest", "farmers"],
        "money-fx": ["currency", "dollar", "yen", "exchange", "intervention", "mark"],
        "ship": ["ship", "ships", "shipping", "vessel", "port", "cargo"],
        "gold": ["gold", "mines", "ounces", "ounce", "bullion", "mining"],
    },
}
N_COMPONENTS, N_WORDS = 20, 20
METHODS = {name: getattr(lda, name) for name in ("OnlineVariationalLDA", "HybridLDA", "OnlineEMLDA")}
METHODS |= {name: getattr(lda, name) for name in ("StreamingVariationalLDA", "CollapsedGibbsLDA")}
WEIGHTS = (25.0, 75.0, 150.0, 300.0, 1000.0)
METHODS_OF_WEIGHTS = ("OnlineVariationalLDA", "OnlineEMLDA", "CollapsedGibbsLDA")
SEEDS = range(100, 104)  # of the fits that are reported; smaller ones have been looked at
MEASURED = ["fits", "fewest seeds of six in the first 20 words", "AUC, mean", "95 percent interval from"]
MEASURED += ["to", "of the hardest group, mean", "lowest of a group and fit"]
COST = ["score less that without seeds", "95 percent interval of that from", "up to"]


def labels_of(corpus, is_test):
    """For documents of the corpus: which of them count as others, and, for each group, which belong to it."""
    with np.load(Path(os.environ["SKTOPIC_DATA"]) / f"{corpus}.npz", allow_pickle=False) as parts:
        names, rows = parts["label_names"], np.flatnonzero(parts["is_test"].astype(bool) == is_test)
        if corpus == "20news":
            groups = [names[parts["labels"][rows]] == name for name in GROUPS[corpus]]
            return np.ones(len(rows), dtype=bool), groups
        story = np.repeat(np.arange(len(parts["is_test"])), np.diff(parts["topics_indptr"]))
        topics = names[parts["topics_indices"]]
        groups = [np.isin(rows, story[topics == name]) for name in GROUPS[corpus]]
        # Of other stories it is not known what they are about.
        return parts["topics_yes"][rows].astype(bool), groups


def found(model, corpus, X, vocabulary, known, groups):
    """Seeds kept, and AUC, of each group."""
    top = vocabulary[np.argsort(-model.components_, axis=1)[:, :N_WORDS]]
    theta, words = model.transform(X)[known], GROUPS[corpus].values()
    return {
        "kept": [len(set(group) & set(top[k].tolist())) for k, group in enumerate(words)],
        "auc": [round(roc_auc_score(group[known], theta[:, k]), 4) for k, group in enumerate(groups)],
    }


def measure_weight(weight, method, seed):
    """Of a run that learns from and looks at training documents only."""
    X, _, vocabulary = load("20news")
    known, groups = labels_of("20news", is_test=False)
    held_out = np.arange(X.shape[0]) % 5 == 0
    prior = seed_prior(GROUPS["20news"], vocabulary, N_COMPONENTS, weight=weight)
    model = METHODS[method](N_COMPONENTS, random_state=seed, topic_word_prior=prior).fit(X[~held_out])
    groups = [group[held_out] for group in groups]
    kept = found(model, "20news", X[held_out], vocabulary, known[held_out], groups)
    return {**kept, "score": round(model.score(X[held_out]), 5)}


def measure_test(corpus, method, seed):
    """Of a run on test documents: what is found, and both scores."""
    X, X_test, vocabulary = load(corpus)
    prior = seed_prior(GROUPS[corpus], vocabulary, N_COMPONENTS)
    plain = METHODS[method](N_COMPONENTS, random_state=seed).fit(X)
    model = METHODS[method](N_COMPONENTS, random_state=seed, topic_word_prior=prior).fit(X)
    scores = {"score": round(model.score(X_test), 5), "score without seeds": round(plain.score(X_test), 5)}
    return {**found(model, corpus, X_test, vocabulary, *labels_of(corpus, is_test=True)), **scores}


def measured(runs):
    """The columns MEASURED."""
    auc = np.array([run["auc"] for run in runs])
    fewest, lowest = min(min(run["kept"]) for run in runs), f"{auc.min():.3f}"
    mean = shown(interval(auc.mean(axis=1)), ".3f")
    return [len(runs), fewest, *mean, f"{auc.mean(axis=0).min():.3f}", lowest]


def write_tables(study):
    rows = []
    for weight, method in product(WEIGHTS, METHODS_OF_WEIGHTS):
        runs = study.cache.select(part="weights", weight=weight, estimator=method)
        if runs:
            scores = [run["score"] for run in runs]
            rows.append([f"{weight:g}", method, *measured(runs), f"{np.mean(scores):.4f}"])
    study.write("weights", ["weight", "estimator", *MEASURED, "score, mean"], rows)
    rows, areas = [], []
    for corpus, method in product(GROUPS, METHODS):
        runs = study.cache.select(part="tests", corpus=corpus, estimator=method)
        if runs:
            less = interval([run["score"] - run["score without seeds"] for run in runs])
            rows.append([corpus, method, *measured(runs), *shown(less, "+.4f")])
            areas += [[corpus, method, area] for run in runs for area in run["auc"]]
    study.write("", ["corpus", "estimator", *MEASURED, *COST], rows)
    study.write("areas", ["corpus", "estimator", "area"], areas)


def main():
    study = Study("seeds", new_parser(__doc__, runs=True).parse_args())
    weights = [("weights", w, m, s) for s, w, m in product(range(3), WEIGHTS, METHODS_OF_WEIGHTS)]
    study.measure(
        {"weights": measure_weight, "tests": measure_test},
        [*weights, *(("tests", c, m, s) for s, c, m in product(SEEDS, GROUPS, METHODS))],
    )
    write_tables(study)


if __name__ == "__main__":
    main()
