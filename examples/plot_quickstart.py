"""
Topics that can be looked at
============================

In the *bars* corpus, words are the pixels of a small grid and topics are its rows and columns, so a fitted
topic is a picture and can be compared with the true one at a glance.
"""

# %%
# Documents of known origin
# -------------------------
# Each document overlays some bars: its words are drawn from a mixture of a few of the ten topics.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

from sktopic.datasets import make_bars
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion

bars = make_bars(n_samples=2000, size=5, doc_length=100, random_state=0)
X_train, X_valid, X_test = bars.data[:1000], bars.data[1000:1500], bars.data[1500:]

fig, axes = plt.subplots(1, 8, figsize=(9, 1.5))
fig.suptitle("Eight documents")
for ax, document in zip(axes, X_train[:8].toarray()):
    ax.imshow(document.reshape(5, 5), cmap="Greys")
    ax.set_axis_off()

# %%
# Fit
# ---
# Training starts from random topics and may end in a local optimum, in which two bars share a topic. On a
# corpus as small as this, small batches and large steps help it out again. The held-out score tells good
# starts from bad ones, so we take the best of a few.

starts = [
    OnlineEMLDA(n_components=10, batch_size=20, learning_decay=0.5, random_state=seed).fit(X_train)
    for seed in range(4)
]
scores = [lda.score(X_valid) for lda in starts]
print("scores of the starts:", np.round(scores, 3))
lda = starts[np.argmax(scores)]

# %%
# ``transform`` returns the topic proportions of documents: one row each, and rows sum to one.

theta = lda.transform(X_test)
print("proportions of the first test document:", theta[0].round(2))

# %%
# True and found topics
# ---------------------
# Topics come in no particular order. We pair them so that the total difference is smallest; the distance is
# half the sum of absolute differences, which is 0 for equal topics and 1 for topics without a common word.

distance = 0.5 * np.abs(bars.components[:, None] - lda.components_[None]).sum(axis=2)
true, found = linear_sum_assignment(distance)
print("largest distance of a pair:", distance[true, found].max().round(3))

fig, axes = plt.subplots(2, 10, figsize=(9, 2.2))
for column, (k_true, k_found) in enumerate(zip(true, found)):
    axes[0, column].imshow(bars.components[k_true].reshape(5, 5), cmap="Greys", vmin=0, vmax=0.25)
    axes[1, column].imshow(lda.components_[k_found].reshape(5, 5), cmap="Greys", vmin=0, vmax=0.25)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("true")
axes[1, 0].set_ylabel("found")

# %%
# The score
# ---------
# ``score`` is in nats per held-out word. Three yardsticks tell what the number is worth: all words equally
# probable, the frequencies of words without any topics (one topic), and the model that the documents were
# drawn from, which no fitted model can be expected to beat.

truth = document_completion(bars.components, X_test, doc_topic_prior=bars.doc_topic_prior)
one_topic = OnlineEMLDA(n_components=1, random_state=0).fit(X_train)
print(f"uniform     {-np.log(X_train.shape[1]):.3f}")
print(f"one topic   {one_topic.score(X_test):.3f}")
print(f"ten topics  {lda.score(X_test):.3f}")
print(f"the truth   {truth:.3f}")
