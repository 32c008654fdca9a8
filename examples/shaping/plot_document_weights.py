"""
Give some documents more weight
===============================

A small class of documents drowns in a large one: how does it get topics of its
own? With ``sample_weight`` a document counts as several, or as part of one, in
the topics and in the size of the corpus. As everywhere in scikit-learn, the
weights may come from the classes.
"""

# %%
# Two classes of documents
# ------------------------
# They are drawn from known topics over the same words: 3000 documents from ten
# topics, and 60 from four others.

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.utils.class_weight import compute_sample_weight

from sktopic.datasets import make_lda_documents
from sktopic.lda import OnlineEMLDA

settings = {"n_features": 500, "mean_length": 60, "doc_topic_prior": 0.2}
large = make_lda_documents(3000, n_components=10, random_state=0, **settings)
small = make_lda_documents(60, n_components=4, random_state=1, **settings)
X = sp.vstack([large.data, small.data], format="csr")
classes = np.repeat(["large", "small"], [3000, 60])
topics = np.vstack([large.components, small.components])

# %%
# Weights by class
# ----------------
# With these weights both classes count as half of the corpus. They sum to the
# number of documents, and should do so: against the priors a corpus counts as
# many documents as its weights sum to.

weights = compute_sample_weight("balanced", classes)
print(f"a document of the large class counts as {weights[0]:.2f}")
print(f"a document of the small class counts as {weights[-1]:.1f}")
plain = OnlineEMLDA(n_components=14, random_state=0).fit(X)
weighted = OnlineEMLDA(n_components=14, random_state=0)
weighted.fit(X, sample_weight=weights)

# %%
# What was found
# --------------
# For each true topic, how like it the best learned topic is (cosine). Without
# weights the topics of the small class are mixed with others. With weights
# they are found, and some of the large class less well: these count half of
# what they did, and there are as many topics as before.

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
position = np.arange(14)
models = {"without weights": plain, "with weights": weighted}
for shift, (label, model) in zip((-0.2, 0.2), models.items()):
    best = cosine_similarity(topics, model.components_).max(axis=1)
    ax.bar(position + shift, best, 0.4, label=label)
ax.axvline(9.5, color="grey", linestyle=":")
ax.set(xticks=position, ylabel="likeness of the best topic", ylim=(0, 1.2))
ax.set_xlabel("true topic: ten of the large class, four of the small one")
ax.set_title("Weights let the small class have its topics")
ax.legend(loc="upper left", ncols=2, frameon=False)
plt.show()

# %%
# The score takes weights, too. Each model is ahead where documents count as
# they did in its training.

settings["random_state"] = 2
X_test = sp.vstack(
    [
        make_lda_documents(n, components=corpus.components, **settings).data
        for n, corpus in ((3000, large), (60, small))
    ]
)
views = {"all documents alike": None, "both classes alike": weights}
for label, sample_weight in views.items():
    scores = [
        model.score(X_test, sample_weight=sample_weight)
        for model in (plain, weighted)
    ]
    print(f"{label}: {scores[0]:.3f} plain, {scores[1]:.3f} weighted")
