"""
Topics as features for a classifier
===================================

Topic proportions summarise a document in a few numbers. How much of what tells classes apart is left in
them? We predict to which subpackage a docstring of numpy, scipy or scikit-learn belongs, from topics and
from tf-idf weights of all words, with the same classifier.
"""

# %%
# The texts
# ---------
# They are those of the installed packages, so figures vary a little with their versions. Methods of one class
# are documented in similar words, so a class goes to one side of the split with all its methods.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer

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
# Words first, then topics or tf-idf weights, then logistic regression. Topic proportions suit a linear model
# better after a square root, which keeps the many small ones apart.

words = {"min_df": 3, "max_df": 0.5, "stop_words": "english"}


def topics(n_components):
    return make_pipeline(
        CountVectorizer(**words),
        OnlineEMLDA(n_components=n_components, random_state=0),
        FunctionTransformer(np.sqrt),
    )


def tf_idf():
    return TfidfVectorizer(**words, sublinear_tf=True)


features = {
    "10 topics": topics(10),
    "30 topics": topics(30),
    "100 topics": topics(100),
    "tf-idf": tf_idf(),
    "tf-idf and 100 topics": make_union(tf_idf(), topics(100)),
}

# %%
# Accuracy
# --------
# The classifier and its regularisation are the same for all.

guess = DummyClassifier().fit(texts[train], target[train])
accuracy = {"most frequent class": guess.score(texts[test], target[test])}
for label, transformer in features.items():
    pipe = make_pipeline(transformer, LogisticRegression(C=10, tol=1e-3, max_iter=1000))
    pipe.fit(texts[train], target[train])
    accuracy[label] = pipe.score(texts[test], target[test])
    print(f"{label:22s}{pipe[-1].n_features_in_:6d} features   accuracy {accuracy[label]:.3f}")

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
bars = ax.barh(list(accuracy), list(accuracy.values()), height=0.7)
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.invert_yaxis()
ax.set_xlabel("accuracy on held-out texts")
ax.spines[["top", "right"]].set_visible(False)

# %%
# Weights for each of several thousand words tell these classes apart better than topics do: a single word
# often gives a subpackage away. A hundred topics keep most of it in a fraction of the features; joined to the
# words they add little that the words do not say.
