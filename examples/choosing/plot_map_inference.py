"""
Few topics in each document
===========================

Can a document be about two or three topics, and nothing of the rest?
:class:`~sktopic.lda.OnlineOPELDA` looks for the most probable proportions, and
they concentrate the more, the longer it searches: ``max_doc_update_iter`` is
the parameter to try. Stop where the held-out score is highest.
"""

# %%
# The model
# ---------
# The corpus is drawn from ten topics, with about two of them in a document.

import matplotlib.pyplot as plt

from sktopic.datasets import make_lda_documents
from sktopic.lda import OnlineEMLDA, OnlineOPELDA

corpus = make_lda_documents(
    n_samples=1200,
    n_features=300,
    n_components=10,
    mean_length=80,
    doc_topic_prior=0.1,
    random_state=0,
)
X, X_test = corpus.data[:1000], corpus.data[1000:]
model = OnlineOPELDA(10, doc_topic_prior=0.1, random_state=0).fit(X)

# %%
# Proportions of one document
# ---------------------------
# Each iteration takes a step towards one topic. After many, what the document
# does not need is all but gone. The default model, which averages over what is
# possible, keeps a little of everything.

for n_iter in (5, 50, 500):
    model.set_params(max_doc_update_iter=n_iter)
    print(f"{n_iter:4d} iterations:", model.transform(X_test[:1])[0].round(3))
default = OnlineEMLDA(10, random_state=0).fit(X)
print("    OnlineEMLDA:", default.transform(X_test[:1])[0].round(3))

# %%
# How long to search
# ------------------
# With a prior below one the objective has no maximum inside the simplex: the
# longer the search, the larger the largest topic of a document. Beyond some
# point other documents are predicted worse for it.

iterations = [2, 5, 10, 20, 50, 100, 200, 500]
largest, scores = [], []
for n_iter in iterations:
    model.set_params(max_doc_update_iter=n_iter)
    largest.append(model.transform(X_test).max(axis=1).mean())
    scores.append(model.score(X_test))

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
fig.suptitle("A longer search means fewer topics in a document")
left.semilogx(iterations, largest, "o-")
left.set(ylabel="largest proportion, mean")
right.semilogx(iterations, scores, "o-")
right.set(ylabel="held-out nats per word")
for ax in (left, right):
    ax.set(xlabel="max_doc_update_iter")
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# There is no need to search over ``bernoulli_p``
# (:doc:`/research/map_inference`).
