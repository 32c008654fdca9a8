"""
Topics that are split and merged while documents come
=====================================================

How many topics should a model of a stream start with? It need not matter:
:class:`~sktopic.hdp.DirectAssignmentHDP` looks after each batch whether a
topic does two jobs and should be split, or two topics do the same job and
should be one. Of documents with known topics, it ends with the same number
from few topics and from many.
"""

# %%
# Twenty known topics, from any start
# -----------------------------------
# Topics are the rows and columns of a ten by ten grid.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sktopic.datasets import load_docstrings, make_bars
from sktopic.hdp import DirectAssignmentHDP

X = make_bars(400, size=10, doc_length=150, random_state=0).data
starts = (2, 20, 50)
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for moves, style in ((True, "o-"), (False, "s:")):
    ends = [
        DirectAssignmentHDP(n, split_merge=moves, random_state=0)
        .fit(X)
        .n_components_
        for n in starts
    ]
    name = "with splits and merges" if moves else "without"
    ax.plot(starts, ends, style, label=name)
    print(f"{name}: from {starts} to {ends} topics")
ax.axhline(20, color="grey", linewidth=0.8)
ax.set(xscale="log", xlabel="topics at the start", ylabel="at the end")
ax.set_xticks(starts, starts)
ax.minorticks_off()
ax.set_title("Topics at the end, whatever the start")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# A stream of texts
# -----------------
# Docstrings come in batches of two hundred, twice over. To save time, we take
# those of every third function. The model starts from five topics. We keep the
# words of all topics after each batch. A topic is known by its entry in
# ``topic_ids_``, whatever row of ``components_`` it is in.

texts = load_docstrings().data[::3]
vectorizer = CountVectorizer(
    token_pattern="[a-z]{3,}", min_df=10, max_df=0.1, stop_words="english"
)
X = vectorizer.fit_transform(texts)
words = vectorizer.get_feature_names_out()
model = DirectAssignmentHDP(5, total_samples=X.shape[0], random_state=0)
seen, topics = [], []
rng = np.random.RandomState(0)
for _ in range(2):
    order = rng.permutation(X.shape[0])
    for first in range(0, len(order), 200):
        model.partial_fit(X[order[first : first + 200]])
        seen.append(model.n_samples_seen_)
        topics.append(dict(zip(model.topic_ids_.tolist(), model.components_)))
history = model.move_history_
for kind in ("split", "merge"):
    print(f"{np.sum(history['kind'] == kind)} times: {kind}")
print(f"{model.n_components_} topics at the end")

# %%
# What a split looks like
# -----------------------
# ``move_history_`` says when each move was made, between which topics, and
# what it gained. Of the splits after the first thousand documents this gained
# most. Words that only one of the two parts has are in color.

# sphinx_gallery_thumbnail_number = 2
late = (history["kind"] == "split") & (history["n_samples"] > 1000)
split = history[late][history["gain"][late].argmax()]
before = seen.index(split["n_samples"])


def first_words(when, topic):
    return words[np.argsort(-topics[when][topic])[:8]]


columns = {
    f"topic {split['topic']} before": (before, split["topic"]),
    f"topic {split['topic']} after": (len(seen) - 1, split["topic"]),
    f"topic {split['other']}, new": (len(seen) - 1, split["other"]),
}
lists = {name: first_words(*column) for name, column in columns.items()}
fig, axes = plt.subplots(1, 3, figsize=(6, 3), layout="constrained")
fig.suptitle("A topic before and after it was split")
both = set(lists[list(lists)[1]]) & set(lists[list(lists)[2]])
for i, (ax, (name, found)) in enumerate(zip(axes, lists.items())):
    ax.set_title(name, fontsize="medium", loc="left")
    ax.set(xlim=(0, 1), ylim=(-8, 1))
    ax.axis("off")
    for j, word in enumerate(found):
        own = "black" if i == 0 else "grey" if word in both else f"C{i - 1}"
        ax.text(0, -j, word, color=own, fontsize="large")
plt.show()
