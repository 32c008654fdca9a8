"""
Topics as a table, over time, and as a tree
===========================================

What are the topics about, how large are they, which belong together, and when were they written about? The
functions of :mod:`sktopic.inspection` answer with a table or a picture each. The first half of this example
looks at docstrings, the second at documents of which we know how their topics change.
"""

# %%
# One row for each topic
# ----------------------
# The table has the share of each topic in all tokens, the number of documents of which it is the largest, its
# words in three orders, its coherence and the documents that are most typical of it.

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.datasets import load_docstrings, make_lda_documents
from sktopic.inspection import (
    name_topics,
    plot_topic_dendrogram,
    plot_topic_similarity,
    plot_topics,
    plot_topics_over_time,
    topic_table,
    topics_over_time,
)
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import match_topics

texts = load_docstrings().data
pipe = make_pipeline(
    CountVectorizer(token_pattern=r"[a-z]{3,}", min_df=10, max_df=0.1, stop_words="english"),
    OnlineEMLDA(n_components=20, max_iter=10, random_state=0),
)
pipe.fit(texts)
table = topic_table(pipe, texts, n_words=5).sort_values("share", ascending=False)
table.round(2)

# %%
# The most probable words are often those of other topics, too; those of most relevance, and of largest FREX,
# less.

for column in ("words", "relevant_words", "frex_words"):
    print(f"{column:15s}", *table[column].iloc[0])

# %%
# Names
# -----
# Topics may be named, all or some. Here two words do for the largest topics; a person would read the words,
# and some typical documents. The names then stand in plots, in tables and in the columns of ``transform``.

largest = table["topic"].head(8)
name_topics(pipe, {topic: " + ".join(table["frex_words"][topic][:2]) for topic in largest})
plot_topics(pipe, topics=largest, n_words=6)
plt.show()

# %%
# Which belong together
# ---------------------
# The tree joins topics with similar words first. The matrix has them in the same order.

plot_topic_dendrogram(pipe)
plot_topic_similarity(pipe, n_words=2)
plt.show()

# %%
# Over time
# ---------
# Now to documents of twelve years, few in the first and many in the last ones. One topic grows, one fades,
# one is there for some years, and of the others documents are written throughout.

years = np.arange(2010, 2022)
weights = np.full((len(years), 6), 0.15)
weights[:, 0] = np.linspace(0.02, 0.4, len(years))
weights[:, 1] = weights[::-1, 0]
weights[:, 2] = 0.02 + 0.4 * (np.abs(years - 2015) <= 1)
n_documents = np.linspace(15, 180, len(years)).astype(int)

components = np.random.default_rng(0).dirichlet(np.full(300, 0.05), 6)
corpora = [
    make_lda_documents(n, components=components, doc_topic_prior=prior / prior.sum(), random_state=year)
    for n, prior, year in zip(n_documents, weights, years)
]
X = scipy.sparse.vstack([corpus.data for corpus in corpora])
dates = years.repeat(n_documents)

lda = OnlineEMLDA(n_components=6, max_iter=20, random_state=0).fit(X)
over_time = topics_over_time(lda, X, dates)
over_time.head(6).round(3)

# %%
# The bands are confidence intervals: wide where a period has few documents. The dashed lines are the shares
# that the documents were drawn from, of the topics that match those found.

matches = match_topics(lda, components)
fig = plot_topics_over_time(over_time, n_columns=3)
for ax, topic in zip(fig.axes, matches.second[np.argsort(matches.first)]):
    ax.plot(years, (weights / weights.sum(axis=1, keepdims=True))[:, topic], "k--", linewidth=1)
plt.show()
