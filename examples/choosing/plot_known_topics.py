"""
Check a model on topics that are known
======================================

Does a model find the right topics? With texts nobody knows; with documents
drawn from known topics it can be seen. Here words are the pixels of a small
grid and topics are its rows and columns, so a topic is a picture. Fit from a
few random starts, take the one with the best held-out score, and compare.
"""

# %%
# Documents of known origin
# -------------------------
# Each document overlays some bars: its words are drawn from a few of the ten
# topics.

import matplotlib.pyplot as plt
import numpy as np

from sktopic.datasets import make_bars
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion, match_topics

bars = make_bars(n_samples=2000, size=5, random_state=0)
X_train, X_valid = bars.data[:1000], bars.data[1000:1500]
X_test = bars.data[1500:]


def draw(title, rows):
    """Rows of words as pictures, a row of them for each name."""
    size = len(rows), len(next(iter(rows.values())))
    fig, axes = plt.subplots(
        *size, figsize=(7, 0.6 + 0.8 * len(rows)), squeeze=False
    )
    fig.suptitle(title)
    for row, (name, pictures) in zip(axes, rows.items()):
        row[0].set_ylabel(name)
        for ax, picture in zip(row, pictures):
            ax.imshow(picture.reshape(5, 5), cmap="Greys", vmin=0)
            ax.set(xticks=[], yticks=[])
    plt.show()


draw("Seven documents", {"": X_train[:7].toarray()})

# %%
# A few starts
# ------------
# Training starts from random topics and may end in a local optimum, in which
# two bars share a topic. The held-out score tells good starts from bad ones,
# so we take the best of a few. Small batches and large steps help as well, on
# a corpus as small as this.

settings = {"batch_size": 20, "learning_decay": 0.5}
starts = [
    OnlineEMLDA(10, random_state=seed, **settings).fit(X_train)
    for seed in range(4)
]
scores = [lda.score(X_valid) for lda in starts]
print("scores of the starts:", np.round(scores, 3))
lda = starts[np.argmax(scores)]

# %%
# True and found topics
# ---------------------
# Topics come in no particular order, so they are paired first.

# sphinx_gallery_thumbnail_number = 2
matches = match_topics(bars.components, lda)
print("smallest similarity of a pair:", matches.similarity.min().round(2))
found = lda.components_[matches.second]
draw("Topics, true and found", {"true": bars.components, "found": found})

# %%
# What is a good score?
# ---------------------
# ``score`` is in nats per held-out word. Three yardsticks tell what the number
# is worth: all words equally probable, the frequencies of words without
# topics, and the model that the documents were drawn from, which no fitted
# model can be expected to beat.

prior = bars.doc_topic_prior
truth = document_completion(bars.components, X_test, doc_topic_prior=prior)
one_topic = OnlineEMLDA(n_components=1, random_state=0).fit(X_train)
print(f"all words alike  {-np.log(X_train.shape[1]):.3f}")
print(f"one topic        {one_topic.score(X_test):.3f}")
print(f"ten topics       {lda.score(X_test):.3f}")
print(f"the truth        {truth:.3f}")
