"""
Seed words: topics that are asked for
=====================================

How do I get a topic about what I am looking for? Give it some of its words:
:func:`~sktopic.seeding.seed_prior` makes a prior of lists of seed words. The
model finds these topics, adds the words that go with them, and fills the
others with what nobody has thought of (guided or seeded LDA in the
literature).
"""

# %%
# Words of four topics
# --------------------
# Three words each are enough. Groups with names are the first topics, in their
# order.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sktopic.datasets import load_docstrings
from sktopic.inspection import plot_topics
from sktopic.lda import HybridLDA
from sktopic.seeding import seed_prior

vectorizer = CountVectorizer(
    token_pattern="[a-z]{3,}", min_df=5, max_df=0.2, stop_words="english"
)
X = vectorizer.fit_transform(load_docstrings(min_words=50).data)
words = vectorizer.get_feature_names_out()

groups = {
    "plots": ["plot", "axes", "figure"],
    "time": ["datetime", "date", "seconds"],
    "matrices": ["eigenvalues", "eigenvectors", "hermitian"],
    "files": ["file", "path", "directory"],
}
prior = seed_prior(groups, words, n_components=20)

# %%
# What they attract
# -----------------
# The prior acts as long as training goes on, so that seeds stay among the
# first words of their topics; the other words come from the texts.

seeded = HybridLDA(20, topic_word_prior=prior, random_state=0).fit(X)
fig = plt.figure(figsize=(6.5, 4.4), layout="constrained")
fig.suptitle("Topics that were given three words each")
style = {"titles": list(groups), "n_words": 8, "n_columns": 2}
plot_topics(seeded, words, topics=range(4), fig=fig, **style)
plt.show()

# %%
# With seeds and without
# ----------------------
# How much of each seed word is in each topic. Without seeds topics come in any
# order, and the words of a group may be anywhere.

plain = HybridLDA(20, random_state=0).fit(X)
seeds = [word for group in groups.values() for word in group]
columns = np.searchsorted(words, seeds)
fig, axes = plt.subplots(
    1, 2, figsize=(8, 4), sharey=True, layout="constrained"
)
fig.suptitle("Topics that the seed words are in")
titles = "without seeds", "with seeds"
for ax, model, title in zip(axes, (plain, seeded), titles):
    shares = model.components_[:, columns]
    ax.imshow((shares / shares.sum(axis=0)).T, cmap="Greys", vmin=0, vmax=1)
    ax.set(title=title, xlabel="topic", xticks=range(0, 20, 5))
axes[0].set_yticks(range(len(seeds)), seeds)
plt.show()
