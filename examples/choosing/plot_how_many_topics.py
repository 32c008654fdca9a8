"""
Models that find the number of topics
=====================================

Can a model say how many topics there are? Three kinds do: samplers and
variational methods with moves that split and merge topics, and a filter with a
posterior over the number. Where documents have twenty known topics, those with
moves find them; on texts no two agree, since there is no such number. Use them
to be spared the choice, and compare held-out scores rather than numbers.
"""

# %%
# Twenty topics that are known
# ----------------------------
# Topics are bars, the rows and columns of a ten by ten grid of words. The
# number that each model is given is a start or a limit.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sktopic.datasets import load_docstrings, make_bars, make_lda_documents
from sktopic.hdp import CollapsedGibbsHDP, DirectAssignmentHDP, HybridHDP
from sktopic.inspection import plot_n_components, plot_topic_sizes
from sktopic.metrics import document_completion
from sktopic.moment_matching import DegenerateDirichletLDA

bars = make_bars(600, size=10, random_state=0)
X_train, X_test = bars.data[:400], bars.data[400:]
models = {
    "splits and merges, from 5": DirectAssignmentHDP(5),
    "sampler, from 5": CollapsedGibbsHDP(5, max_iter=60),
    "sampler, from 50": CollapsedGibbsHDP(50, max_iter=60),
    "HybridHDP, limit 50": HybridHDP(50),
}


def report(models, X_train, X_test):
    """Fit; print topics, those above one percent, and the held-out score."""
    print(f"{'':28s}topics  above 1%   score")
    sizes = {}
    for name, model in models.items():
        model.set_params(random_state=0).fit(X_train)
        size = np.sort(model.transform(X_test).mean(axis=0))[::-1]
        score = document_completion(model, X_test)
        n_large = np.sum(size > 0.01)
        print(f"{name:28s}{len(size):6d}{n_large:10d}{score:8.3f}")
        sizes[name] = size
    return sizes


sizes = report(models, X_train, X_test)

# %%
# The size of a topic is its mean proportion in other documents. After twenty
# topics the sizes fall: there is an edge. The sampler keeps some topics of a
# few words behind it, which its prior lets come and go at little cost.
# HybridHDP without moves divides the bars among as many topics as it may have,
# and its number says nothing but its limit.


def plot_sizes(sizes, title):
    ax = plt.figure(figsize=(7, 3.6), layout="constrained").subplots()
    for name, size in sizes.items():
        ax.plot(np.arange(1, len(size) + 1), size, ".-", label=name)
    ax.set(yscale="log", ylim=(1e-5, 1), title=title)
    ax.set(xlabel="topics, by size", ylabel="size of the topic")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    plt.show()


plot_sizes(sizes, "Twenty known topics: sizes of what is found")

# %%
# A posterior over the number
# ---------------------------
# The filter reads each document once and keeps a probability for every number
# of topics up to its limit; here of documents with six topics. It is surer
# than it should be: another order of the documents or another prior moves the
# answer by more than the width of this posterior
# (:doc:`/guide/moment_matching`).

six = make_lda_documents(
    1000, n_features=200, n_components=6, doc_topic_prior=0.05, random_state=0
)
ddm = DegenerateDirichletLDA(n_components=20, random_state=0).fit(six.data)
axes = plot_n_components(ddm)
axes[0].figure.suptitle("The posterior over the number, and how it came about")
plt.show()

# %%
# Texts
# -----
# Docstrings of numpy, scipy and scikit-learn; a few hundred are held out.

texts = load_docstrings().data
vectorizer = CountVectorizer(
    token_pattern="[a-z]{3,}", min_df=5, max_df=0.1, stop_words="english"
)
X_train = vectorizer.fit_transform(texts[::8])
X_test = vectorizer.transform(texts[1::16])
models = {
    "splits and merges, from 5": DirectAssignmentHDP(5),
    "sampler, from 10": CollapsedGibbsHDP(10, max_iter=10),
    "sampler, from 100": CollapsedGibbsHDP(100, max_iter=10),
    "HybridHDP, limit 100": HybridHDP(100),
}
sizes = report(models, X_train, X_test)
plot_sizes(sizes, "Texts: sizes fall off smoothly")

# %%
# There is no edge here, and where the list ends says little. The chains of the
# sampler are short, and have not met. If a number is asked for, say how many
# of the largest topics have 99% of the words.

ax = plot_topic_sizes(models["splits and merges, from 5"])
ax.set_title("DirectAssignmentHDP: the largest topics")
plt.show()
