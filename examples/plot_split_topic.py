"""
Topics that are split and merged
================================

How many topics there should be is hard to say before a model is fitted, and a model that starts with too few
or too many ends in a poor place. :class:`~sktopic.hdp.DirectAssignmentHDP` looks after each batch whether a
topic does two jobs and should be split, and whether two topics do the same job and should be one.
"""

# %%
# Twenty bars, from any start
# ---------------------------
# Topics are the rows and columns of a ten by ten grid. We start from as few as two topics, and as many as
# eighty.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sktopic.datasets import load_docstrings, make_bars
from sktopic.hdp import DirectAssignmentHDP
from sktopic.metrics import document_completion

bars = make_bars(2200, size=10, doc_length=250, random_state=0)
X_train, X_test = bars.data[:2000], bars.data[2000:]
best = document_completion(bars.components, X_test, doc_topic_prior=bars.doc_topic_prior)
print(f"the bars themselves: 20 topics, score {best:.3f}")

starts = (2, 5, 10, 20, 40, 80)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for moves, style in ((True, "o-"), (False, "s:")):
    ends, scores = [], []
    for start in starts:
        model = DirectAssignmentHDP(start, split_merge=moves, random_state=0).fit(X_train)
        ends.append(model.n_components_)
        scores.append(document_completion(model, X_test))
    name = "with moves" if moves else "without moves"
    print(f"{name}: topics {ends}, scores {np.round(scores, 3)}")
    left.plot(starts, ends, style, label=name)
    right.plot(starts, scores, style)
left.axhline(20, color="grey", linewidth=0.8)
left.set(ylabel="topics at the end")
right.axhline(best, color="grey", linewidth=0.8)
right.set(ylabel="nats per held-out word")
for ax in (left, right):
    ax.set(xscale="log", xlabel="topics at the start", xticks=starts, xticklabels=starts)
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
left.legend(frameon=False)

# %%
# With moves all runs end with the twenty bars, and with the score of the true topics. Splits come first;
# topics are merged when they have had some passes to become what they are, and in the last pass, in which
# small leftovers are dropped, too. Without moves topics can only fall out of use: the number that is left
# depends on the start.
#
# A topic of texts that is split
# ------------------------------
# Docstrings of numpy, scipy and scikit-learn come in batches of two hundred, three times over, to a model
# that starts from five topics. We keep the words of all topics after each batch. A topic is known by its
# entry in ``topic_ids_``, whatever column it is in.

texts = load_docstrings().data
vectorizer = CountVectorizer(token_pattern=r"[a-z]{3,}", min_df=10, max_df=0.1, stop_words="english")
X = vectorizer.fit_transform(texts)
words = vectorizer.get_feature_names_out()
model = DirectAssignmentHDP(5, total_samples=X.shape[0], random_state=0)
seen, topics = [], []
rng = np.random.RandomState(0)
for _ in range(3):
    order = rng.permutation(X.shape[0])
    for first in range(0, len(order), 200):
        model.partial_fit(X[order[first : first + 200]])
        seen.append(model.n_samples_seen_)
        topics.append(dict(zip(model.topic_ids_.tolist(), model.components_)))
kinds = model.move_history_["kind"]
n_splits, n_merges = (np.sum(kinds == kind) for kind in ("split", "merge"))
print(f"{model.n_components_} topics after {n_splits} splits and {n_merges} merges")

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.step(seen, [len(found) for found in topics], where="post")
ax.set(xlabel="documents seen", ylabel="topics", ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)

# %%
# ``move_history_`` says when each move was made, between which topics, and what it gained. Of the splits
# after the first half pass this gained most. On the left is the topic just before, then what became of its
# two parts. Words that only one of the two has are in colour.

history = model.move_history_
late = history[(kinds == "split") & (history["n_samples"] > X.shape[0] / 2)]
split = late[late["gain"].argmax()]
print(f"topic {split['topic']} gives rise to {split['other']}: {split['gain']:.0f} nats")

before = seen.index(split["n_samples"])
after = [before + 1, before + 3, before + 10, len(seen) - 1]


def top_words(when, topic, n=9):
    return words[np.argsort(-topics[when][topic])[:n]]


fig, axes = plt.subplots(2, 1 + len(after), figsize=(10, 5), layout="constrained")
for row, (ax_row, topic, colour) in enumerate(zip(axes, (split["topic"], split["other"]), ("C0", "C3"))):
    for ax, when in zip(ax_row[1:], after):
        other = top_words(when, (split["other"], split["topic"])[row])
        for i, word in enumerate(top_words(when, topic)):
            ax.text(0, 8 - i, word, color="grey" if word in other else colour, va="center")
        ax.set_title(f"{seen[when]} documents", fontsize="medium")
for i, word in enumerate(top_words(before, split["topic"])):
    axes[0, 0].text(0, 8 - i, word, va="center")
axes[0, 0].set_title(f"before: {seen[before]}", fontsize="medium")
for ax in axes.flat:
    ax.set(xlim=(0, 1), ylim=(-0.6, 8.6))
    ax.axis("off")

# %%
# The parts are alike at first, and become more different as more documents come.
