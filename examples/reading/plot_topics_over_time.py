"""
Topics over time
================

Which topics grow, which fade, and which came and went? Given a date for each
document, :func:`~sktopic.inspection.topics_over_time` says how much of each
period is about each topic, and how certain that is. The model need not know
the dates: it is fitted to all documents together.
"""

# %%
# Documents of twelve years
# -------------------------
# They are drawn from known topics, so that the answer can be checked: few in
# the first years and many in the last. One topic grows, one fades, one is
# there for three years; the other three stay as they are.

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

from sktopic.datasets import make_lda_documents
from sktopic.inspection import plot_topics_over_time, topics_over_time
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import match_topics

years = np.arange(2010, 2022)
weights = np.full((len(years), 6), 0.15)
weights[:, 0] = np.linspace(0.02, 0.4, len(years))
weights[:, 1] = weights[::-1, 0]
weights[:, 2] = 0.02 + 0.4 * (np.abs(years - 2015) <= 1)
weights /= weights.sum(axis=1, keepdims=True)
n_documents = np.linspace(15, 180, len(years)).astype(int)

components = np.random.default_rng(0).dirichlet(np.full(300, 0.05), 6)
corpora = [
    make_lda_documents(
        n, components=components, doc_topic_prior=prior, random_state=year
    )
    for n, prior, year in zip(n_documents, weights, years)
]
X = scipy.sparse.vstack([corpus.data for corpus in corpora])
dates = years.repeat(n_documents)

# %%
# Shares of the topics in each year
# ---------------------------------
# The model has two topics more than there are: with spare ones it seldom mixes
# two that are different. The table has a row for each topic and year, with a
# confidence interval.

lda = OnlineEMLDA(n_components=8, max_iter=20, random_state=0).fit(X)
over_time = topics_over_time(lda, X, dates)
# sphinx_gallery_capture_repr_block = ("_repr_html_",)
over_time.head(6).round(3)

# %%
# Bands are the confidence intervals: wide where a period has few documents.
# Dashed lines are the true shares.

partner = match_topics(components, lda).second
order = partner[:3]
fig = plt.figure(figsize=(7, 3.2), layout="constrained")
axes = plot_topics_over_time(over_time, topics=order, n_columns=3, fig=fig)
names = ["one that grows", "one that fades", "three years only"]
for ax, name, truth in zip(axes, names, weights.T):
    ax.plot(years, truth, "k--", linewidth=1)
    ax.set_title(name, loc="left")
fig.suptitle("Shares of three topics over twelve years")
plt.show()
