"""
A stream whose topics change
============================

News have topics today that nobody wrote about a month ago. A model that follows a stream should notice:
topics that nothing speaks for any more should go, and new ones come. :class:`~sktopic.hdp.HybridHDP` gives
the places of dead topics to new ones, under new numbers. We watch it on a stream of which we know what
changes.
"""

# %%
# The stream
# ----------
# Topics are bars of a ten by ten grid. Six of them occur in the first half of the stream only, four
# throughout, and six in the second half only. Bars cross, so new ones share words with old ones.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm
from sklearn.base import clone

from sktopic.datasets import make_bars
from sktopic.hdp import HybridHDP
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion

order = np.random.RandomState(0).permutation(20)
halves = []
for seed, present in enumerate([order[:10], order[6:16]]):
    prior = np.full(20, 1e-8)  # next to never
    prior[present] = 0.2
    halves.append(make_bars(2000, size=10, doc_length=50, doc_topic_prior=prior, random_state=seed))
stream = [(bars, bars.data[first : first + 100]) for bars in halves for first in range(0, 2000, 100)]
change = 20  # batches before it
seen = 100 * np.arange(1, len(stream) + 1)

fig, axes = plt.subplots(2, 10, figsize=(9, 2.1), layout="constrained")
for row, bars, name in zip(axes, halves, ["first half", "second half"]):
    for ax, document in zip(row, bars.data[:10].toarray()):
        ax.imshow(document.reshape(10, 10), cmap="Greys")
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)

# %%
# How fast to forget
# ------------------
# What the model knows are averages over the stream, which each batch of ``batch_size`` documents moves a step
# of size ``t ** -learning_decay``. They remember about as many documents as a batch has, divided by the step.
# The defaults are made for a corpus that stays the same, so here steps are more frequent and stay larger.
# ``total_samples`` is the number of documents that the averages are taken to stand for. By default these are
# all that were ever read; in a stream that changes, old ones should not count. A topic is in use as long as
# it has one expected token in that number of documents.

forgetful = {"batch_size": 10, "learning_decay": 0.5, "total_samples": 1000}
models = {
    "HybridHDP": HybridHDP(**forgetful),
    "HybridHDP without reuse_topics": HybridHDP(**forgetful, reuse_topics=False),
    "HybridHDP with defaults": HybridHDP(),
    "OnlineEMLDA, 10 topics": OnlineEMLDA(10, **forgetful),
    "OnlineEMLDA, 100 topics": OnlineEMLDA(100, **forgetful),
}
for name in ["HybridHDP", "HybridHDP with defaults"]:
    batch_size, decay = models[name].batch_size, models[name].learning_decay
    memory = batch_size * (seen[change - 1] / batch_size) ** decay
    print(f"{name} remembers about {memory:.0f} documents at the change")

# %%
# Score first, learn then
# -----------------------
# Every batch is scored before the model learns from it: new documents, on the topics of the time. What is
# plotted is by how much the score falls short of that of the true bars, the mean over three seeds. Scores are
# taken by one procedure for all.


def score(model_or_components, X, doc_topic_prior=None):
    return document_completion(model_or_components, X, doc_topic_prior=doc_topic_prior, burn_in=20, sweeps=20)


def follow(model):
    """Scores of the batches; after each of them, topics by their number: shares of tokens, probabilities."""
    scores, shares, topics = [], [], []
    for i, (_, X) in enumerate(stream):
        scores.append(score(model, X) if i > 0 else np.nan)
        model.partial_fit(X)
        tokens = model.topic_word_counts_.sum(axis=1)
        ids = getattr(model, "topic_ids_", range(model.n_components_))
        shares.append(dict(zip(ids, tokens / tokens.sum())))
        topics.append(dict(zip(ids, model.components_)))
    return scores, shares, topics


truth = [score(bars.components, X, bars.doc_topic_prior) for bars, X in stream]
print("                          nats per word below the truth     topics in use")
print("                          before   after  at the end        before  at the end")
fig, (above, below) = plt.subplots(2, 1, figsize=(7, 6), sharex=True, layout="constrained")
for name, model in models.items():
    runs = [follow(clone(model).set_params(random_state=seed)) for seed in range(3)]
    if name == "HybridHDP":
        _, shares, topics = runs[0]
    loss = truth - np.mean([run[0] for run in runs], axis=0)
    in_use = np.mean([[len(batch) for batch in run[1]] for run in runs], axis=0)
    before, after, end = loss[change - 5 : change].mean(), loss[change:].mean(), loss[-5:].mean()
    numbers = f"{before:8.3f}{after:8.3f}{end:12.3f}{in_use[change - 1]:14.0f}{in_use[-1]:12.0f}"
    print(f"{name:24s}", numbers)
    above.plot(seen, loss, label=name)
    if "HDP" in name:
        below.plot(seen, in_use)
above.set(yscale="log", ylabel="nats per word below the truth")
above.legend(frameon=False, fontsize="small")
below.set(xlabel="documents seen", ylabel="topics in use", ylim=(0, None))
for ax in (above, below):
    ax.axvline(seen[change - 1], color="grey", linewidth=1)
    ax.spines[["top", "right"]].set_visible(False)

# %%
# Old and new
# -----------
# A topic keeps its number in ``topic_ids_`` as long as it is in use, and no number is given twice. Each line
# is one topic of the first model, from birth to death.

born = {}
for i, batch in enumerate(shares):
    for topic in batch:
        born.setdefault(topic, i)
life = np.full((max(born) + 1, len(stream)), np.nan)
for i, batch in enumerate(shares):
    life[list(batch), i] = list(batch.values())

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
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
ax.spines[["top", "right"]].set_visible(False)
fig.colorbar(picture, label="share of the tokens")

before, after = topics[change - 1], topics[-1]
late = [topic for topic in after if born[topic] >= change]
kept = [topic for topic in after if topic in before]
turned = [topic for topic in kept if np.minimum(before[topic], after[topic]).sum() < 0.5]
print(f"in use at the end: {len(after)}, of which {len(late)} were born after the change")
print(f"share of the tokens that these have: {sum(shares[-1][topic] for topic in late):.0%}")
print(f"in use before the change: {len(before)}, of which {len(kept)} still are")
print(f"of these, with more than half of their probability moved to other words: {len(turned)}")

# %%
# The largest topics with their numbers, before the change and at the end; those born in between are red.

fig, axes = plt.subplots(2, 12, figsize=(9, 2.3), layout="constrained")
for row, i, name in zip(axes, [change - 1, -1], ["before", "at the end"]):
    largest = sorted(shares[i], key=shares[i].get, reverse=True)[:12]
    for ax, topic in zip(row, largest):
        ax.imshow(topics[i][topic].reshape(10, 10), cmap="Greys", vmin=0, vmax=0.12)
        ax.set_title(topic, fontsize="small", color="C3" if born[topic] >= change else "black")
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)

# %%
# With short memory HybridHDP is back to where it was soonest. What dies makes room, and after the change some
# of the new bars take it, under new numbers. Where dead topics cannot come back, and where there are no more
# topics than bars, old ones have to turn into new ones, which takes long. OnlineEMLDA with a hundred topics
# has topics to spare, and pays for it all the time. With the defaults no topic dies in so short a stream, so
# none can be born: the numbers say nothing, and the change shows in the score alone.
#
# Two cautions. A number that stayed is no promise that the words did: some old topics turned into new bars,
# so look at ``components_`` as well. And there are more topics in use than the ten bars at a time, since
# several may share one.
