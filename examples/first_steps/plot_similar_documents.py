"""
Find similar documents
======================

Which documents are about the same as this one, even if they use other words?
Compare their topic proportions: two documents are near when they divide their
words among the same topics. Any nearest-neighbor search of scikit-learn does
it, for documents of the corpus and for a new sentence alike.
"""

# %%
# Proportions of topics
# ---------------------
# Texts of fifty words or more, since short ones say little of themselves. More
# topics tell documents apart better than few.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline

from sktopic.datasets import load_docstrings
from sktopic.inspection import top_words
from sktopic.lda import OnlineEMLDA

docs = load_docstrings(min_words=50)
pipe = make_pipeline(
    CountVectorizer(
        token_pattern="[a-z]{3,}", min_df=5, max_df=0.1, stop_words="english"
    ),
    OnlineEMLDA(n_components=80, random_state=0),
)
theta = pipe.fit_transform(docs.data)

# %%
# The nearest documents
# ---------------------
# The cosine compares what is large in both: 0 is the distance of documents
# with the same proportions, 1 that of documents without a common topic.

search = NearestNeighbors(n_neighbors=6, metric="cosine").fit(theta)
query = docs.names.index("scipy.stats.bootstrap")
distances, rows = search.kneighbors(theta[[query]])
for row, distance in zip(rows[0], distances[0]):
    print(f"{distance:.2f}  {docs.names[row]}")

# %%
# What they have in common
# ------------------------
# The topics of these documents, by their words: the darker, the larger.

shown = theta[rows[0]]
topics = shown.mean(axis=0).argsort()[::-1][:4]
labels = [" ".join(words) for words in top_words(pipe, n_words=3)[topics]]
names = [docs.names[row] for row in rows[0]]
fig, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
ax.imshow(shown[:, topics], cmap="Blues", vmin=0, vmax=0.8, aspect="auto")
for row, column in np.ndindex(len(names), len(topics)):
    share = shown[row, topics[column]]
    color = "white" if share > 0.4 else "black"
    ax.text(column, row, f"{share:.0%}", color=color, ha="center")
ax.set_xticks(range(len(topics)), labels, rotation=20, ha="right")
ax.set_yticks(range(len(names)), names)
ax.set_title("Topics of a document and of its five nearest")
plt.show()

# %%
# A sentence as the query
# -----------------------
# A new text goes through the same pipeline.

for question in (
    "How do I find the eigenvalues of a symmetric matrix?",
    "group points into clusters by their distances",
):
    print(question)
    found = search.kneighbors(pipe.transform([question]))[1][0]
    for row in found[:4]:
        print("   ", docs.names[row])
