"""
A table, a chart and a tree of the topics
=========================================

What are the topics about, how large are they, and which belong together? Start
with :func:`~sktopic.inspection.topic_table`, which has a row for each topic;
give the topics names; then look at the tree of topics with similar words,
which shows what could be merged.
"""

# %%
# One row for each topic
# ----------------------
# The share of a topic in all words, the number of documents in which it is the
# largest, its words, its coherence (do its words occur together?), and the
# documents that are most typical of it.

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.datasets import load_docstrings
from sktopic.inspection import (
    name_topics,
    plot_topic_dendrogram,
    plot_topic_similarity,
    plot_topics,
    topic_table,
)
from sktopic.lda import OnlineEMLDA

docs = load_docstrings(min_words=50)
pipe = make_pipeline(
    CountVectorizer(
        token_pattern="[a-z]{3,}", min_df=10, max_df=0.1, stop_words="english"
    ),
    OnlineEMLDA(n_components=20, random_state=0),
)
pipe.fit(docs.data)
table = topic_table(pipe, docs.data, n_words=4)
table = table.sort_values("share", ascending=False)
short = table[["share", "n_documents", "coherence", "frex_words"]].head(8)
# sphinx_gallery_capture_repr_block = ("_repr_html_",)
short.round(2)

# %%
# The most probable words are often those of other topics, too; those of most
# relevance, and of largest FREX, which are frequent and exclusive, less.

for column in ("words", "relevant_words", "frex_words"):
    print(f"{column:15s}", table[column].iloc[0])

# %%
# Names
# -----
# Topics may be named, all or some. Here two words do for each; a person would
# read the words, and some typical documents. The names then stand in plots, in
# tables and in the columns of ``transform``.

frex_words = table["frex_words"].str.split(", ")
names = {k: " + ".join(frex_words[k][:2]) for k in table["topic"]}
name_topics(pipe, names)
largest = table["topic"].head(4)
fig = plt.figure(figsize=(6, 4), layout="constrained")
plot_topics(pipe, topics=largest, n_words=6, n_columns=2, fig=fig)
fig.suptitle("The four largest topics by name")
plt.show()

# %%
# Which belong together
# ---------------------
# The tree joins topics with similar words first.

# sphinx_gallery_thumbnail_number = 2
ax = plot_topic_dendrogram(pipe)
ax.set_title("Topics with similar words are joined first")
plt.show()

# %%
# The matrix has the topics in the same order: squares along the diagonal
# are groups of topics that could be one, with
# :meth:`~sktopic.lda.OnlineEMLDA.merge_topics`.

ax = plot_topic_similarity(pipe)
ax.set_title("Similarity of each pair of topics")
plt.show()
