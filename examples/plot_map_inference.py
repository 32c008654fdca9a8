"""
Iterations, prior and p of the most probable proportions
========================================================

:class:`~sktopic.lda.OnlineOPELDA` looks for the most probable topic proportions of each document. This
example searches over the number of topics and the probability ``bernoulli_p`` together, and then shows what
the number of iterations does to the proportions.
"""

# %%
# The corpus is drawn from ten topics, with about two of them in a document.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from sktopic.datasets import make_lda_documents
from sktopic.lda import OnlineOPELDA

corpus = make_lda_documents(
    n_samples=1200, n_features=300, n_components=10, mean_length=80, doc_topic_prior=0.1, random_state=0
)
X, X_test = corpus.data[:1000], corpus.data[1000:]

# %%
# A search over two parameters
# ----------------------------
# The score is the held-out likelihood of words, each model with its own proportions.

grid = {"n_components": [5, 10, 15, 20], "bernoulli_p": [0.1, 0.3, 0.5, 0.7, 0.9]}
search = GridSearchCV(OnlineOPELDA(random_state=0), grid, cv=3).fit(X)
print("best parameters:", search.best_params_)
scores = search.cv_results_["mean_test_score"].reshape(5, 4)
print("range of the score over p, for each number of topics:", np.ptp(scores, axis=0).round(3))
print("range of the score over the number of topics, for each p:", np.ptp(scores, axis=1).round(3))

# %%
# The number of topics matters; p makes no more difference than another seed does.

seeds = [OnlineOPELDA(10, random_state=seed).fit(X).score(X_test) for seed in range(8)]
print(f"range of the score over eight seeds: {np.ptp(seeds):.3f}")

# %%
# What the number of iterations does
# ----------------------------------
# With a prior below one, the objective has no maximum inside the simplex: the longer the search, the smaller
# the proportions it leaves to topics that the document does not need.

model = OnlineOPELDA(n_components=10, doc_topic_prior=0.1, random_state=0).fit(X)
iterations = [2, 5, 10, 20, 50, 100, 200, 500]
largest, score = [], []
for n_iter in iterations:
    model.set_params(max_doc_update_iter=n_iter)
    largest.append(model.transform(X_test).max(axis=1).mean())
    score.append(model.score(X_test))

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
picture = left.imshow(scores, aspect="auto", origin="lower")
left.set_xticks(range(4), grid["n_components"])
left.set_yticks(range(5), grid["bernoulli_p"])
left.set(xlabel="n_components", ylabel="bernoulli_p", title="held-out nats per word")
fig.colorbar(picture, ax=left)
right.semilogx(iterations, score, marker="o")
right.set(xlabel="max_doc_update_iter", ylabel="held-out nats per word")
twin = right.twinx()
twin.semilogx(iterations, largest, marker="s", color="C1")
twin.set_ylabel("mean largest proportion", color="C1")
