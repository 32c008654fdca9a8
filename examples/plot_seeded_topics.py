"""
Topics that are given some of their words
=========================================

A reader often knows some topics of a corpus before it is fitted. :func:`~sktopic.seeding.seed_prior` makes a
prior of lists of words, under which these topics are found, beside others that nobody has thought of.
"""

# %%
# Words of four topics
# --------------------
# The documents are docstrings of Python packages.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sktopic.datasets import load_docstrings
from sktopic.inspection import top_words
from sktopic.lda import HybridLDA
from sktopic.seeding import seed_prior

vectorizer = CountVectorizer(min_df=5, max_df=0.2, stop_words="english", token_pattern=r"[a-zA-Z]{3,}")
X = vectorizer.fit_transform(load_docstrings().data)
words = vectorizer.get_feature_names_out()

groups = {
    "plots": ["plot", "axes", "figure"],
    "time": ["datetime", "date", "seconds"],
    "matrices": ["eigenvalues", "eigenvectors", "hermitian"],
    "files": ["file", "path", "directory"],
}
prior = seed_prior(groups, words, n_components=20)

# %%
# With and without
# ----------------
# Groups with names are the first topics, in their order. The prior acts as long as training goes on, so that
# seeds stay among the first words of their topics.

plain = HybridLDA(n_components=20, random_state=0).fit(X)
seeded = HybridLDA(n_components=20, topic_word_prior=prior, random_state=0).fit(X)
for name, found in zip(groups, top_words(seeded, words)):
    print(f"{name:9}", *found)

# %%
# Where the seeds are
# -------------------
# How likely each seed is in each topic, as a share of its row. Without it topics come in any order, and
# the words of a group may be anywhere.

columns = [int(np.flatnonzero(words == word)[0]) for group in groups.values() for word in group]
fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, model, title in zip(axes, (plain, seeded), ("without seeds", "with seeds")):
    shares = model.components_[:, columns]
    ax.imshow((shares / shares.sum(axis=0)).T, cmap="Greys", vmin=0, vmax=1)
    ax.set(title=title, xlabel="topic", xticks=range(0, 20, 5))
axes[0].set_yticks(range(len(columns)), words[columns])
plt.show()
