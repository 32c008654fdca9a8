"""
Documents that count more than others
=====================================

With ``sample_weight`` a document counts as several, or as part of one: in the topics and in the size of the
corpus, but not in its own proportions. Here it lets few documents of a small class have topics of their own.
"""

# %%
# Two classes of documents over the same words: 3000 draw on ten topics, and 60 on four others.

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
# scikit-learn computes weights with which both classes count as half of the corpus. They sum to the number of
# documents, and should do so: a corpus counts as many documents as its weights sum to, against the priors.

weights = compute_sample_weight("balanced", classes)
print(
    f"a document of the large class counts as {weights[0]:.2f}, one of the small class as {weights[-1]:.1f}"
)
plain = OnlineEMLDA(n_components=14, random_state=0).fit(X)
weighted = OnlineEMLDA(n_components=14, random_state=0).fit(X, sample_weight=weights)

# %%
# What was found
# --------------
# For each true topic, the cosine with the learned topic that is most like it. Without weights the topics of
# the small class are mixed with others. With weights they are found, and some of the large one less well:
# these count half of what they did, and there are as many topics as before.

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
position = np.arange(14)
for shift, (label, model) in zip((-0.2, 0.2), {"unweighted": plain, "weighted": weighted}.items()):
    best = cosine_similarity(topics, model.components_).max(axis=1)
    ax.bar(position + shift, best, 0.4, label=label)
    large_class, small_class = best[:10].mean(), best[10:].mean()
    print(f"{label}: {large_class:.2f} for topics of the large class, {small_class:.2f} of the small one")
ax.axvline(9.5, color="grey", linestyle=":")
ax.set_xticks(position)
ax.set_xlabel("true topic: ten of the large class, four of the small one")
ax.set_ylabel("cosine with the best learned topic")
ax.legend(loc="lower left")

# %%
# The score says which documents a model is for: each is ahead where documents count as in its training.

more_large = make_lda_documents(3000, components=large.components, random_state=2, **settings)
more_small = make_lda_documents(60, components=small.components, random_state=3, **settings)
X_test = sp.vstack([more_large.data, more_small.data], format="csr")
for label, sample_weight in (("all documents alike", None), ("both classes alike", weights)):
    scores = [model.score(X_test, sample_weight=sample_weight) for model in (plain, weighted)]
    print(f"{label}: {scores[0]:.3f} unweighted, {scores[1]:.3f} weighted")
plt.show()
