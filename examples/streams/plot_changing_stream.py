"""
Follow topics that change: drift, new and dead topics
=====================================================

News have topics today that nobody wrote about a month ago. A model that
follows a stream has to forget: then topics that nothing speaks for any more
go, and new ones come. :class:`~sktopic.hdp.HybridHDP` gives the places of dead
topics to new ones, under new numbers. Two parameters say how fast it forgets.
"""

# %%
# A stream that changes half-way
# ------------------------------
# Topics are bars of a ten by ten grid. Six of them occur in the first half of
# the stream only, four throughout, and six in the second half only.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm

from sktopic.datasets import make_bars
from sktopic.hdp import HybridHDP
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion

order = np.random.RandomState(0).permutation(20)
halves = []
for seed, present in enumerate([order[:10], order[6:16]]):
    prior = np.full(20, 1e-8)  # next to never
    prior[present] = 0.2
    halves.append(
        make_bars(2000, size=10, doc_topic_prior=prior, random_state=seed)
    )
stream = [
    (bars, bars.data[first : first + 100])
    for bars in halves
    for first in range(0, 2000, 100)
]
change = 20  # batches before it
seen = 100 * np.arange(1, len(stream) + 1)

# %%
# How fast to forget
# ------------------
# What a model knows are averages over the stream, and each batch moves them a
# step of size ``t ** -learning_decay``. The defaults are made for a corpus
# that stays the same; here steps are more frequent and stay larger. And
# ``total_samples``, the number of documents that the averages stand for, is a
# thousand rather than all that were ever read: a topic without a token in the
# last thousand documents or so is dead.

forgetful = {
    "batch_size": 10,
    "learning_decay": 0.5,
    "total_samples": 1000,
    "random_state": 0,
}
models = {
    "HybridHDP, forgetful": HybridHDP(**forgetful),
    "HybridHDP, defaults": HybridHDP(random_state=0),
    "OnlineEMLDA(10), forgetful": OnlineEMLDA(10, **forgetful),
}

# %%
# Score first, learn then
# -----------------------
# Every batch is scored before the model learns from it: new documents, on the
# topics of the time. The picture shows by how much the score falls short of
# that of the true bars.


def score(model, X, doc_topic_prior=None):
    few = {"burn_in": 20, "sweeps": 20}
    return document_completion(
        model, X, doc_topic_prior=doc_topic_prior, **few
    )


def follow(model):
    """Scores of the batches, and the shares of topics after each of them."""
    scores, shares = [], []
    for i, (_, X) in enumerate(stream):
        scores.append(score(model, X) if i > 0 else np.nan)
        model.partial_fit(X)
        size = model.topic_word_counts_.sum(axis=1)
        ids = getattr(model, "topic_ids_", range(len(size)))
        shares.append(dict(zip(ids, size / size.sum())))
    return np.array(scores), shares


truth = [score(bars.components, X, bars.doc_topic_prior) for bars, X in stream]
runs = {name: follow(model) for name, model in models.items()}

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for name, (scores, _) in runs.items():
    ax.plot(seen, truth - scores, label=name)
ax.axvline(seen[change - 1], color="grey", linewidth=1)
ax.set(yscale="log", xlabel="documents seen")
ax.set(ylabel="nats per word below the truth")
ax.set_title("Who recovers from the change, and how soon")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, fontsize="small")
plt.show()

# %%
# The lives of topics
# -------------------
# A topic keeps its number in ``topic_ids_`` as long as it is in use, and no
# number is given twice. Each line is one topic of the first model, from birth
# to death.

# sphinx_gallery_thumbnail_number = 2
shares = runs["HybridHDP, forgetful"][1]
born = {}
for i, batch in enumerate(shares):
    for topic in batch:
        born.setdefault(topic, i)
life = np.full((max(born) + 1, len(stream)), np.nan)
for i, batch in enumerate(shares):
    life[list(batch), i] = list(batch.values())

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
picture = ax.imshow(
    life,
    aspect="auto",
    origin="lower",
    interpolation="nearest",
    extent=(0, seen[-1], -0.5, len(life) - 0.5),
    norm=LogNorm(1e-4, 1, clip=True),
    cmap="YlGnBu",
)
ax.axvline(seen[change - 1], color="grey", linewidth=1)
ax.set(xlabel="documents seen", ylabel="number of the topic")
ax.set_title("Topics from birth to death")
ax.spines[["top", "right"]].set_visible(False)
fig.colorbar(picture, label="share of the words")
plt.show()

late = [topic for topic in shares[-1] if born[topic] >= change]
part = sum(shares[-1][topic] for topic in late)
print(f"in use before the change: {len(shares[change - 1])}")
print(f"in use at the end: {len(shares[-1])}, born since: {len(late)}")
print(f"share of the words that the new ones have: {part:.0%}")

# %%
# With the defaults no topic dies in so short a stream, so none can be born,
# and old topics have to turn into new ones, which takes long. Two cautions: a
# number that stayed is no promise that the words did, so look at
# ``components_`` as well; and there are more topics in use than the ten bars
# at a time, since several may share one.
