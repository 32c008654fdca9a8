"""
How many topics? Three models, three answers
============================================

Some models choose the number of topics themselves. :class:`~sktopic.hdp.HybridHDP` and
:class:`~sktopic.hdp.CollapsedGibbsHDP` have the same prior, the hierarchical Dirichlet process, and
:class:`~sktopic.moment_matching.DegenerateDirichletLDA` has a posterior over the number. We fit them to a
corpus that was drawn from twenty topics, and to texts, for which nobody knows the number.
"""

# %%
# Twenty bars
# -----------
# Topics are the rows and columns of a ten by ten grid. The sampler starts once from a single topic and once
# from fifty. For the other two models the parameter n_components is a limit.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from sktopic.datasets import load_docstrings, make_bars, make_hdp_documents
from sktopic.hdp import CollapsedGibbsHDP, HybridHDP
from sktopic.metrics import document_completion
from sktopic.moment_matching import DegenerateDirichletLDA

bars = make_bars(1000, size=10, random_state=0)
X_train, X_test = bars.data[:500], bars.data[500:]
chain = {"max_iter": 150, "random_state": 0}
models = {
    "HybridHDP, limit 100": HybridHDP(100, random_state=0),
    "CollapsedGibbsHDP, from 1": CollapsedGibbsHDP(1, **chain),
    "CollapsedGibbsHDP, from 50": CollapsedGibbsHDP(50, **chain),
    "DegenerateDirichletLDA, limit 100": DegenerateDirichletLDA(100, random_state=0),
}

# %%
# The size of a topic is its mean proportion in held-out documents. Besides the number of topics we print how
# many are larger than one percent, the size of these together, and the held-out score.


def report(models, X_train, X_test):
    """Fit models and print what they found; return the sizes of their topics, the largest first."""
    print(f"{'':34s}topics  above 1%  together   score")
    sizes = {}
    for name, model in models.items():
        share = np.sort(model.fit(X_train).transform(X_test).mean(axis=0))[::-1]
        large = share[share > 0.01]
        score = document_completion(model, X_test)
        print(f"{name:34s}{len(share):6d}{len(large):10d}{large.sum():10.0%}{score:8.3f}")
        sizes[name] = share
    return sizes


def plot_sizes(sizes):
    fig, ax = plt.subplots(figsize=(9, 3.5), layout="constrained")
    for name, share in sizes.items():
        ax.plot(np.arange(1, len(share) + 1), share, ".-", label=name)
    ax.axhline(0.01, color="grey", linestyle=":")
    ax.set(yscale="log", ylim=(1e-6, None), xlabel="rank of the topic", ylabel="size of the topic")
    ax.spines[["top", "right"]].set_visible(False)
    fig.legend(loc="outside right upper", frameon=False, fontsize="small")


sizes = report(models, X_train, X_test)
truth = document_completion(bars.components, X_test, doc_topic_prior=bars.doc_topic_prior)
print(f"{'the bars themselves':34s}{20:6d}{20:10d}{1:10.0%}{truth:8.3f}")
plot_sizes(sizes)

# %%
# The scores differ little, the numbers a lot. Only the sampler has a gap between the twenty bars and the
# rest, which are topics of a few words each: the prior lets such come and go at little cost, so it does not
# say twenty either. The other two share a bar out among several topics, which predict nearly as well as one
# does. All that the number of HybridHDP tells is what its limit was.
#
# These are the largest topics of each:

fig = plt.figure(figsize=(10, 3))
for part, (name, model) in zip(fig.subfigures(len(models), 1), models.items()):
    part.suptitle(name, fontsize="small", x=0.125, ha="left")
    order = np.argsort(-model.transform(X_test).mean(axis=0))[:22]
    for ax, k in zip(part.subplots(1, 22, gridspec_kw={"top": 0.75, "bottom": 0}), order):
        ax.imshow(model.components_[k].reshape(10, 10), cmap="Greys", vmin=0, vmax=0.12)
        ax.set(xticks=[], yticks=[])

# %%
# Does it depend on the start?
# ----------------------------
# A sampler can be believed only if it forgets where it started. Moves that split and merge topics help
# CollapsedGibbsHDP to do so: its two chains come near one another, and agree on what is above one percent.
# Without these moves a chain from one topic finds few others, and one from fifty keeps its copies.

chains = {name.split(", ")[1]: model for name, model in models.items() if "Gibbs" in name}
for start in (1, 50):
    model = CollapsedGibbsHDP(start, split_merge=False, **chain).fit(X_train)
    chains[f"from {start}, split_merge=False"] = model

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for (name, model), style in zip(chains.items(), ["C1-", "C2-", "C1:", "C2:"]):
    ax.plot(np.arange(10, 151, 10), model.n_components_trace_, style, label=name)
    share = model.transform(X_test).mean(axis=0)
    print(f"{name:28s}{model.n_components_:4d} topics, {(share > 0.01).sum():2d} above 1%", end=", ")
    print(f"log-likelihood {model.log_likelihood_[-1]:.0f}")
ax.set(xlabel="sweeps", ylabel="topics in use", ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, fontsize="small")

# %%
# Texts
# -----
# Docstrings of numpy, scipy and scikit-learn: two thousand to learn from, and some held out.

texts = load_docstrings().data
texts, held_out_texts = train_test_split(texts, train_size=2000, test_size=800, random_state=0)
vectorizer = CountVectorizer(token_pattern=r"[a-z]{3,}", min_df=10, max_df=0.1, stop_words="english")
X_train, X_test = vectorizer.fit_transform(texts), vectorizer.transform(held_out_texts)
chain = {"max_iter": 30, "random_state": 0}
sizes = report(
    {
        "HybridHDP, limit 100": HybridHDP(100, random_state=0),
        "HybridHDP, limit 200": HybridHDP(200, random_state=0),
        "CollapsedGibbsHDP, from 10": CollapsedGibbsHDP(10, **chain),
        "CollapsedGibbsHDP, from 100": CollapsedGibbsHDP(100, **chain),
        "DegenerateDirichletLDA, limit 100": DegenerateDirichletLDA(100, random_state=0),
    },
    X_train,
    X_test,
)
plot_sizes(sizes)

# %%
# There is no gap here: sizes fall off smoothly, and where the list ends says little. The two chains have not
# met. They are short, but with thousands of documents hundreds of sweeps would not be enough either. The
# scores tell what the numbers do not: held-out texts are predicted better with a higher limit, and by the
# chain that has more topics.
#
# More documents, more topics
# ---------------------------
# Nor does the prior know of a number that could be found. These are corpora drawn from it, with the same
# weights of topics, and more and more documents:

for n_samples in [100, 1000, 10000]:
    drawn = [
        make_hdp_documents(n_samples, n_features=2, topic_concentration=5.0, random_state=seed).topic_weights
        for seed in range(5)
    ]
    n_topics = np.mean([len(weights) for weights in drawn])
    n_large = np.mean([(weights > 0.01).sum() for weights in drawn])
    print(f"{n_samples:6d} documents: {n_topics:.0f} topics, {n_large:.0f} above 1%")

# %%
# Topics go on for ever, with the logarithm of the number of documents, each smaller than those before. Those
# above a given size stay as many as they are. So a number of topics is one that a model found with its prior,
# limit and start, on the documents it was given. To choose a model, compare held-out scores; where a number
# is asked for, give that of topics above a stated size, and how much of the corpus they make up together.
