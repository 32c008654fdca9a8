"""Topics as features for a classifier of 20 Newsgroups, against other features.

    python benchmarks/classifier.py

Reads 20news_raw.jsonl.gz in the folder named by SKTOPIC_DATA, in the official split: a JSON object a line
with "text" (without headers, footers and quotes), "label" and "split". Each kind of features is fitted to the
training texts, once for each seed; the same logistic regression follows, whose C is chosen by the log loss of
a fifth of the training texts. Columns of features are scaled to the same variance, except those of all words.
Accuracy and log loss are on the test texts: the mean over seeds with an interval of 95 percent (Student's t).
"Seconds of features" is the median processor time of fitting them and of both transforms; "seconds of
classifier" that of its fit, with the choice of C.
"""

import gzip
import json
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
from _study import Study, interval, new_parser, seconds_of
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
HEAD = ["features", "their number", "accuracy", "95 percent interval", "log loss", "interval of the log loss"]
HEAD += ["seconds of features", "seconds of classifier", "seeds"]


def of_counts(model):
    """Proportions of topics; a square root keeps the many small ones apart."""
    return make_pipeline(CountVectorizer(**WORDS), model, FunctionTransformer(np.sqrt), StandardScaler())


def of_weights(model, *steps):
    words = TfidfVectorizer(**WORDS, sublinear_tf=True)
    return make_pipeline(words, model, *steps, StandardScaler())


# What makes the features, from a seed.
LDA = LatentDirichletAllocation
ONLINE = partial(LDA, learning_method="online")
FEATURES = {
    "OnlineEMLDA": lambda seed: of_counts(OnlineEMLDA(N_COMPONENTS, random_state=seed)),
    "CollapsedGibbsLDA": lambda seed: of_counts(CollapsedGibbsLDA(N_COMPONENTS, random_state=seed)),
    "HybridHDP": lambda seed: of_counts(HybridHDP(random_state=seed)),
    "MomentMatchingLDA": lambda seed: of_counts(MomentMatchingLDA(N_COMPONENTS, random_state=seed)),
    "DegenerateDirichletLDA": lambda seed: of_counts(DegenerateDirichletLDA(random_state=seed)),
    "TriangularDirichletLDA": lambda seed: of_counts(TriangularDirichletLDA(random_state=seed)),
    "scikit-learn's LDA, online": lambda seed: of_counts(ONLINE(N_COMPONENTS, random_state=seed)),
    "scikit-learn's LDA, batch": lambda seed: of_counts(LDA(N_COMPONENTS, random_state=seed)),
    "NMF of tf-idf": lambda s: of_weights(NMF(N_COMPONENTS, random_state=s), FunctionTransformer(np.sqrt)),
    "TruncatedSVD of tf-idf": lambda s: of_weights(TruncatedSVD(N_COMPONENTS, random_state=s), Normalizer()),
    "tf-idf of all words": lambda _: make_pipeline(TfidfVectorizer(**WORDS, sublinear_tf=True)),
}
# Where nothing is drawn.
SEEDLESS, N_SEEDS = ["tf-idf of all words"], 5


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
    seconds, train = seconds_of(features.fit_transform, texts)
    more, test = seconds_of(features.transform, test_texts)
    fifth = StratifiedShuffleSplit(1, test_size=0.2, random_state=seed)
    regression = LogisticRegression(max_iter=1000, tol=1e-3)
    search = GridSearchCV(regression, {"C": CHOICES_OF_C}, cv=fifth, scoring="neg_log_loss")
    start = time.process_time()
    search.fit(train, labels)
    return {
        "number": train.shape[1],
        "C": search.best_params_["C"],
        "accuracy": round(search.best_estimator_.score(test, test_labels), 5),
        "log loss": round(log_loss(test_labels, search.predict_proba(test)), 5),
        "seconds": round(seconds + more, 2),
        "seconds of classifier": round(time.process_time() - start, 2),
    }


def bounds(values):
    """Of the interval; nothing for a single value."""
    _, low, high = interval(values)
    return f"{low:.3f} to {high:.3f}" if len(values) > 1 else ""


def write_tables(study):
    rows = []
    for name in FEATURES:
        runs = study.cache.select(features=name)
        if runs:
            columns = {key: [run[key] for run in runs] for key in runs[0]}
            cells = [f"{np.median(columns['number']):.0f}"]
            for measure in ("accuracy", "log loss"):
                cells += [f"{np.mean(columns[measure]):.3f}", bounds(columns[measure])]
            cells += [f"{np.median(columns[key]):.1f}" for key in ("seconds", "seconds of classifier")]
            rows.append([name, *cells, len(runs)])
    study.write("", HEAD, rows)


def main():
    study = Study("classifier", new_parser(__doc__, runs=True, jobs=1).parse_args())
    seeds = {name: range(1 if name in SEEDLESS else N_SEEDS) for name in FEATURES}
    study.measure(measure, [(name, seed) for name in FEATURES for seed in seeds[name]])
    write_tables(study)


if __name__ == "__main__":
    main()
