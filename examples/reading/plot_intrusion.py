"""
Do readers see what a topic is about?
=====================================

Show a reader five words of a topic and an intruder, a word of another topic.
If readers find the intruder, the words belong together. The readers can be
people or a language model. Here, a function that counts words takes their
place, so that the page needs no network.
"""

# %%
# Tasks
# -----
# :func:`~sktopic.metrics.word_intrusion_tasks` makes a task for each topic.
# The intruder is among the most probable words of another topic, and below the
# average of this one. A third of the texts is not used for training.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from sktopic.datasets import load_docstrings
from sktopic.inspection import top_words
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import (
    document_intrusion_tasks,
    intrusion_score,
    word_intrusion_tasks,
)

texts, other_texts = train_test_split(
    load_docstrings(min_words=30).data, test_size=1 / 3, random_state=0
)
vectorizer = CountVectorizer(
    token_pattern="[a-z]{3,}", min_df=10, max_df=0.1, stop_words="english"
)
X, X_test = vectorizer.fit_transform(texts), vectorizer.transform(other_texts)
vocabulary = vectorizer.get_feature_names_out()
model = OnlineEMLDA(n_components=20, random_state=0).fit(X)
tasks = word_intrusion_tasks(model, vocabulary)
print(tasks[0])

# %%
# A reader that counts
# --------------------
# A reader is any function that returns the number of an option. This one
# chooses the word that occurs least often with the other words, in the texts
# that were not used for training. Such a reader measures a kind of coherence.
# To ask a language model, send it ``str(task)``.

in_documents = normalize((X_test > 0).astype(float), axis=0)
together = in_documents.T @ in_documents  # cosines between words


def ask(task, similarity):
    """Return the option that is least similar to the others."""
    options = list(task.indices)
    among_options = similarity[options][:, options].toarray()
    return int(among_options.sum(axis=0).argmin())


score = intrusion_score(tasks, [ask(task, together) for task in tasks])
print(score)

# %%
# Which topics are hard to see?
# -----------------------------
# One answer says little about a topic. Ask several people, or, as here, make
# more tasks with other seeds. Bars are 95 percent confidence intervals, and
# the dashed line is the share expected from guesses.

tasks = [
    task
    for seed in range(20)
    for task in word_intrusion_tasks(model, vocabulary, random_state=seed)
]
score = intrusion_score(tasks, [ask(task, together) for task in tasks])
order = np.argsort(score.shares, kind="stable")
words = top_words(model, vocabulary, n_words=5)
figure, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
places = np.arange(len(order))
ax.hlines(places, *score.intervals[order].T, color="C0", alpha=0.5)
ax.plot(score.shares[order], places, "o", color="C0")
ax.axvline(score.chance, color="0.5", linestyle="--", label="guesses")
ax.set_yticks(places, [", ".join(words[topic]) for topic in order])
ax.set(xlim=(-0.02, 1.02), xlabel="share of intruders that were found")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# Intruders among documents
# -------------------------
# :func:`~sktopic.metrics.document_intrusion_tasks` shows three documents with
# a large share of the topic and one with a small share. This reader compares
# the words of documents.

rows = normalize(X_test)
theta = model.transform(X_test)
tasks = document_intrusion_tasks(theta, other_texts)
alike = rows @ rows.T
print(intrusion_score(tasks, [ask(task, alike) for task in tasks]))
