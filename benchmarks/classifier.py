"""Topics as features for a classifier of 20 Newsgroups, against other features.

    python benchmarks/classifier.py [--features "OnlineEMLDA" ...] [--seeds 5]

Reads 20news_raw.jsonl.gz in the folder named by SKTOPIC_DATA (see below), in the official split. Each
kind of features is fitted to the training texts, in one thread, once for each seed; the same logistic
regression follows, whose C is chosen by the log loss of a fifth of the training texts, then fitted to all
of them. Columns of features are scaled to the same variance, except those of all words. Accuracy and log
loss are on the test texts: the mean over seeds with an interval of 95 percent (Student's t), which says
how much the seed matters, not how much the choice of test texts does. "Seconds of features" is the median
processor time of fitting them to the training texts, words included, and of both transforms; "seconds of
classifier" that of its fit, with the choice of C. Every run is kept, so that an interrupted study goes on
where it stopped. classifier.csv goes to benchmarks/output/, or with --update to doc/benchmarks/.

The file has a JSON object a line: "text" (without headers, footers and quotes), "label" and "split".
"""

import gzip
import json
import os
import time
from pathlib import Path

import numpy as np
from _study import Study, new_parser, one_thread
from scipy.stats import t
from sklearn.decomposition import NMF, LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from sktopic.hdp import HybridHDP
from sktopic.lda import CollapsedGibbsLDA, OnlineEMLDA
from sktopic.moment_matching import DegenerateDirichletLDA, MomentMatchingLDA, TriangularDirichletLDA

N_COMPONENTS = 100
WORDS = {"min_df": 5, "max_df": 0.5, "stop_words": "english", "token_pattern": r"(?u)\b[a-zA-Z][a-zA-Z]+\b"}
CHOICES_OF_C = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
HEAD = [
    "features",
    "their number",
    "accuracy",
    "95 percent interval",
    "log loss",
    "interval of the log loss",
    "seconds of features",
    "seconds of classifier",
    "seeds",
]


def of_counts(model):
    """Proportions of topics; a square root keeps the many small ones apart."""
    return make_pipeline(CountVectorizer(**WORDS), model, FunctionTransformer(np.sqrt), StandardScaler())


def of_weights(model, *steps):
    words = TfidfVectorizer(**WORDS, sublinear_tf=True)
    return make_pipeline(words, model, *steps, StandardScaler())


# What makes the features, from a seed.
FEATURES = {
    "OnlineEMLDA": lambda seed: of_counts(OnlineEMLDA(N_COMPONENTS, random_state=seed)),
    "CollapsedGibbsLDA": lambda seed: of_counts(CollapsedGibbsLDA(N_COMPONENTS, random_state=seed)),
    "HybridHDP": lambda seed: of_counts(HybridHDP(random_state=seed)),
    "MomentMatchingLDA": lambda seed: of_counts(MomentMatchingLDA(N_COMPONENTS, random_state=seed)),
    "DegenerateDirichletLDA": lambda seed: of_counts(DegenerateDirichletLDA(random_state=seed)),
    "TriangularDirichletLDA": lambda seed: of_counts(TriangularDirichletLDA(random_state=seed)),
    "scikit-learn's LDA, online": lambda seed: of_counts(
        LatentDirichletAllocation(N_COMPONENTS, learning_method="online", random_state=seed)
    ),
    "scikit-learn's LDA, batch": lambda seed: of_counts(
        LatentDirichletAllocation(N_COMPONENTS, random_state=seed)
    ),
    "NMF of tf-idf": lambda seed: of_weights(
        NMF(N_COMPONENTS, random_state=seed), FunctionTransformer(np.sqrt)
    ),
    "TruncatedSVD of tf-idf": lambda seed: of_weights(
        TruncatedSVD(N_COMPONENTS, random_state=seed), Normalizer()
    ),
    "tf-idf of all words": lambda _: make_pipeline(TfidfVectorizer(**WORDS, sublinear_tf=True)),
}
# Where nothing is drawn.
SEEDLESS = ["tf-idf of all words"]


def load(split):
    """Texts and labels of "train" or "test"."""
    folder = os.environ.get("SKTOPIC_DATA")
    if not folder:
        raise SystemExit("Set SKTOPIC_DATA to a folder with 20news_raw.jsonl.gz.")
    with gzip.open(Path(folder) / "20news_raw.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [each for each in map(json.loads, file) if each["split"] == split]
    return [each["text"] for each in documents], np.array([each["label"] for each in documents])


def measure(name, seed):
    """The row of a run."""
    (texts, labels), (test_texts, test_labels) = load("train"), load("test")
    features = FEATURES[name](seed)
    start = time.process_time()
    train, test = features.fit_transform(texts), features.transform(test_texts)
    seconds = time.process_time() - start
    fifth = StratifiedShuffleSplit(1, test_size=0.2, random_state=seed)
    search = GridSearchCV(
        LogisticRegression(max_iter=1000, tol=1e-3), {"C": CHOICES_OF_C}, cv=fifth, scoring="neg_log_loss"
    )
    start = time.process_time()
    search.fit(train, labels)
    return {
        "run": f"{name} {seed}",
        "number": train.shape[1],
        "C": search.best_params_["C"],
        "accuracy": round(search.best_estimator_.score(test, test_labels), 5),
        "log loss": round(log_loss(test_labels, search.predict_proba(test)), 5),
        "seconds": round(seconds, 2),
        "seconds of classifier": round(time.process_time() - start, 2),
    }


def interval(values):
    """Its bounds; nothing for a single value."""
    if len(values) < 2:
        return ""
    reach = t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values) - reach:.3f} to {np.mean(values) + reach:.3f}"


def write_table(study):
    rows = []
    for name in FEATURES:
        runs = [run for key, run in study.cache.rows.items() if key.rpartition(" ")[0] == name]
        if not runs:
            continue
        columns = {key: [run[key] for run in runs] for key in runs[0]}
        rows.append(
            [
                name,
                f"{np.median(columns['number']):.0f}",
                f"{np.mean(columns['accuracy']):.3f}",
                interval(columns["accuracy"]),
                f"{np.mean(columns['log loss']):.3f}",
                interval(columns["log loss"]),
                f"{np.median(columns['seconds']):.1f}",
                f"{np.median(columns['seconds of classifier']):.1f}",
                len(runs),
            ]
        )
    study.write("", HEAD, rows)


def main():
    parser = new_parser(__doc__)
    parser.add_argument("--features", nargs="+", choices=list(FEATURES), default=list(FEATURES))
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    study = Study("classifier", arguments)
    one_thread()
    for name in arguments.features:
        for seed in range(1 if name in SEEDLESS else arguments.seeds):
            if f"{name} {seed}" not in study.cache:
                run = measure(name, seed)
                study.sign()
                study.cache.add(run)
                print(*run.values(), flush=True)
    write_table(study)


if __name__ == "__main__":
    main()
