"""
Topics as features for a classifier
===================================

Topic proportions summarise a document in a few numbers. How much of what tells classes apart is left in
them? We predict to which subpackage a docstring of numpy, scipy or scikit-learn belongs, from topics,
from what scikit-learn's models make of the same words, and from tf-idf weights of all words, with the
same classifier. :ref:`classifier` has the same for 20 Newsgroups.
"""

# %%
# The texts
# ---------
# They are those of the installed packages, so figures vary a little with their versions. Methods of one class
# are documented in similar words, so a class goes to one side of the split with all its methods.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import NMF, LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from sktopic.datasets import load_docstrings
from sktopic.lda import OnlineEMLDA

docs = load_docstrings()
labels = np.array(docs.target_names)[docs.target]
classes, counts = np.unique(labels, return_counts=True)
kept = np.flatnonzero(np.isin(labels, classes[counts >= 100]))

texts = np.array(docs.data, dtype=object)[kept]
target = labels[kept]
# "scipy.stats" is the label of "scipy.stats.rv_histogram.pdf", whose group is "scipy.stats.rv_histogram".
groups = [".".join(docs.names[i].split(".")[: labels[i].count(".") + 2]) for i in kept]
train, test = next(GroupShuffleSplit(1, test_size=0.3, random_state=0).split(texts, target, groups))
print(f"{len(train)} training and {len(test)} test texts in {len(np.unique(target))} classes")

# %%
# The pipelines
# -------------
# Words first, then features of them, then logistic regression. Topic proportions suit a linear model
# better after a square root, which keeps the many small ones apart, as do the weights of NMF; all few
# features are scaled to the same variance.

words = {"min_df": 3, "max_df": 0.5, "stop_words": "english"}
N_COMPONENTS = 50


def of_counts(model):
    return make_pipeline(CountVectorizer(**words), model, FunctionTransformer(np.sqrt), StandardScaler())


def of_weights(model, step):
    return make_pipeline(TfidfVectorizer(**words, sublinear_tf=True), model, step, StandardScaler())


features = {
    "OnlineEMLDA": of_counts(OnlineEMLDA(N_COMPONENTS, random_state=0)),
    "scikit-learn's LDA": of_counts(
        LatentDirichletAllocation(N_COMPONENTS, learning_method="online", random_state=0)
    ),
    "NMF of tf-idf": of_weights(NMF(N_COMPONENTS, random_state=0), FunctionTransformer(np.sqrt)),
    "TruncatedSVD of tf-idf": of_weights(TruncatedSVD(N_COMPONENTS, random_state=0), Normalizer()),
    "tf-idf of all words": TfidfVectorizer(**words, sublinear_tf=True),
}

# %%
# What they are worth
# -------------------
# Accuracy, and the log loss of the predicted probabilities (less is better), on the test texts; and how
# long it took to make the features. Few features need a stronger penalty than thousands of words do.

accuracy = {}
print("features                 number   accuracy   log loss   seconds")
for label, transformer in features.items():
    start = time.perf_counter()
    X_train, X_test = transformer.fit_transform(texts[train]), transformer.transform(texts[test])
    seconds = time.perf_counter() - start
    classifier = LogisticRegression(C=100 if X_train.shape[1] > N_COMPONENTS else 0.1, max_iter=1000)
    predicted = classifier.fit(X_train, target[train]).predict_proba(X_test)
    accuracy[label] = classifier.score(X_test, target[test])
    loss = log_loss(target[test], predicted)
    print(f"{label:24s}{X_train.shape[1]:7d}{accuracy[label]:11.3f}{loss:11.3f}{seconds:10.1f}")

fig, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
bars = ax.barh(list(accuracy), list(accuracy.values()), height=0.7)
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.invert_yaxis()
ax.set_xlabel("accuracy on held-out texts")
ax.spines[["top", "right"]].set_visible(False)

# %%
# Weights of all words tell these classes apart best: a single word often gives a subpackage away. On so
# small a corpus few features also do best from tf-idf, which weighs up rare words, of which topics learn
# little. On 20 Newsgroups, with six times as many texts, topics are ahead of the other few features
# (:ref:`classifier`).
