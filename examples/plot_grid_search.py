"""
Choosing the number of topics
=============================

``score`` is a held-out likelihood, so :class:`~sklearn.model_selection.GridSearchCV` chooses parameters of
a topic model as it would those of a classifier. Here it looks for the number of topics and for the decay
of the step size.
"""

# %%
# The corpus is drawn from a known model, so that we can tell whether the search finds it: 20 topics over
# 400 words.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from sktopic.datasets import make_lda_documents
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion

corpus = make_lda_documents(
    n_samples=1800, n_features=400, n_components=20, mean_length=80, doc_topic_prior=0.1, random_state=0
)
X, X_test = corpus.data[:1500], corpus.data[1500:]

# %%
# The search
# ----------
# Three folds: each model is scored on documents that it was not fitted to.

grid = {"n_components": [5, 10, 20, 30, 40], "learning_decay": [0.5, 0.7]}
search = GridSearchCV(OnlineEMLDA(random_state=0), grid, cv=3).fit(X)
print("best parameters:", search.best_params_)
print(f"score of the best model on new documents: {search.score(X_test):.3f}")
truth = document_completion(corpus.components, X_test, doc_topic_prior=corpus.doc_topic_prior)
print(f"score of the true model:                  {truth:.3f}")

# %%
# What it found
# -------------
# Too few topics cost much. A few more than the documents were drawn from do no harm: training finds a local
# optimum, in which one topic may cover two true ones, and spare topics make room for both. So the held-out
# score gives a lower limit with confidence, and an upper one less so.

results = search.cv_results_
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for decay in grid["learning_decay"]:
    rows = np.flatnonzero(results["param_learning_decay"] == decay)
    ax.errorbar(
        results["param_n_components"][rows].astype(int),
        results["mean_test_score"][rows],
        yerr=results["std_test_score"][rows],
        marker="o",
        capsize=3,
        label=f"learning_decay={decay}",
    )
ax.axvline(20, color="grey", linestyle=":", label="true number")
ax.set_xlabel("n_components")
ax.set_ylabel("held-out nats per word")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
