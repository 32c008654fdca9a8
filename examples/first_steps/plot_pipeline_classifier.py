"""
Classify texts by their topics
==============================

Can fifty topic proportions stand in for thousands of words? A classifier says
to which subpackage a docstring of numpy, scipy or scikit-learn belongs, from
topics, from the few features that NMF and truncated SVD make of the same
words, and from the weights of all words. Topics are enough for most texts, and
can be read; where only accuracy counts, take all words.
"""

# %%
# The texts
# ---------
# Methods of one class are documented in similar words, so a class goes to one
# side of the split with all its methods.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import NMF, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    StandardScaler,
)

from sktopic.datasets import load_docstrings
from sktopic.inspection import top_words
from sktopic.lda import OnlineEMLDA

docs = load_docstrings()
labels = np.array(docs.target_names)[docs.target]
classes, counts = np.unique(labels, return_counts=True)
kept = np.flatnonzero(np.isin(labels, classes[counts >= 100]))
texts, target = np.array(docs.data, dtype=object)[kept], labels[kept]


def group(i):
    """The class or function that a text belongs to: scipy.stats.norm."""
    return ".".join(docs.names[i].split(".")[: labels[i].count(".") + 2])


split = GroupShuffleSplit(1, test_size=0.3, random_state=0)
groups = [group(i) for i in kept]
train, test = next(split.split(texts, target, groups))
n_classes = len(np.unique(target))
print(f"{len(train)} texts to learn from, {len(test)} others")
print(f"{n_classes} classes")

# %%
# The pipelines
# -------------
# Words first, then features of them, then logistic regression. Topic
# proportions suit a linear model better after a square root, which keeps the
# many small ones apart, as do the weights of NMF. Features that are few are
# scaled to the same variance.

words = {"min_df": 5, "max_df": 0.5, "stop_words": "english"}
roots, scale = FunctionTransformer(np.sqrt), StandardScaler()
lda, nmf, svd = (
    model(50, random_state=0) for model in (OnlineEMLDA, NMF, TruncatedSVD)
)
counted, weighted = CountVectorizer(**words), TfidfVectorizer(**words)
features = {
    "50 topics": make_pipeline(counted, lda, roots, scale),
    "50 of NMF": make_pipeline(weighted, nmf, roots, scale),
    "50 of SVD": make_pipeline(weighted, svd, Normalizer(), scale),
    "all words": weighted,
}

# %%
# What they are worth
# -------------------
# Few features need a stronger penalty than thousands of words do.

accuracy = {}
for label, transformer in features.items():
    X_train = transformer.fit_transform(texts[train])
    X_test = transformer.transform(texts[test])
    penalty = 10 if label == "all words" else 0.1
    classifier = LogisticRegression(C=penalty, max_iter=1000)
    classifier.fit(X_train, target[train])
    accuracy[label] = classifier.score(X_test, target[test])
    if label == "50 topics":
        by_topics = classifier

fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
bars = ax.barh(list(accuracy), list(accuracy.values()), height=0.7)
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.invert_yaxis()
ax.set(title="Share of new texts put into the right class", xlim=(0, 1))
ax.spines[["top", "right"]].set_visible(False)

# %%
# Weights of all words tell these classes apart best: a single word often gives
# a subpackage away. On so small a corpus few features also do best from
# tf-idf, which weighs up rare words. With more texts this turns round:
# :ref:`classifier` has 20 Newsgroups, and scikit-learn's LDA.
#
# What topics give in return is that a decision can be read. For each class,
# the topic that speaks for it most:

topics = top_words(lda, counted.get_feature_names_out(), n_words=6)
for label, weights in zip(by_topics.classes_, by_topics.coef_):
    print(f"{label:20s}", *topics[weights.argmax()])
