"""
A corpus larger than memory
===========================

What if the counts do not fit into memory? Write them to a folder, block by
block, with :func:`~sktopic.datasets.save_corpus`, and give the folder to
``fit`` in the place of a matrix. A model gives the same proportions and scores
as from a matrix. Training shuffles documents in another order; with
``shuffle=False``, the model is the same to the last bit.
"""

# %%
# Texts that are read one after another
# -------------------------------------
# Here they are docstrings; elsewhere they would come from files or a database.
# :func:`~sktopic.datasets.iter_counts` counts the words of so many texts at a
# time.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sktopic.datasets import (
    iter_counts,
    load_docstrings,
    open_corpus,
    save_corpus,
)
from sktopic.inspection import top_words
from sktopic.lda import OnlineEMLDA

texts = load_docstrings().data
vectorizer = CountVectorizer(
    token_pattern="[a-z]{3,}", min_df=10, max_df=0.1, stop_words="english"
)
vectorizer.fit(texts)  # a sample is enough, if there are very many

# %%
# Write, open, fit
# ----------------
# An open corpus maps the files: only what is being read is in memory.

folder = Path(tempfile.mkdtemp())
save_corpus(
    folder / "docstrings",
    iter_counts(vectorizer, texts, block_size=500),
    feature_names=vectorizer.get_feature_names_out(),
)
corpus = open_corpus(folder / "docstrings")
size = sum(path.stat().st_size for path in (folder / "docstrings").iterdir())
print(f"{corpus.shape[0]} documents, {size / 1e6:.1f} MB on disk")

lda = OnlineEMLDA(n_components=20, random_state=0).fit(corpus)
for topic in top_words(lda, n_words=6)[:5]:
    print(*topic)

# %%
# Proportions into a file
# -----------------------
# The proportions of all documents may be too large, too. With ``out`` they are
# written some documents at a time; what is returned is a map of the file.

theta = lda.transform(corpus, out=folder / "theta.npy")
print(type(theta).__name__, theta.shape)

# %%
# What is in the corpus
# ---------------------
# A mean over the mapped file reads it once.

share = np.mean(theta, axis=0)
order = share.argsort()[::-1][:8]
words = top_words(lda, n_words=3)
labels = [" ".join(words[topic]) for topic in order]
fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.barh(labels, share[order])
ax.invert_yaxis()
ax.set(xlabel="mean proportion", title="The largest topics of the corpus")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
