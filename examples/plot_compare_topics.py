"""
Two methods, one corpus
=======================

Do methods that learn the same model find the same topics? We fit online EM with Gibbs sampling inside
documents (:class:`~sktopic.lda.OnlineEMLDA`) and online variational Bayes
(:class:`~sktopic.lda.OnlineVariationalLDA`) to the same texts, pair their topics, and measure each topic by
how often its words are found together in documents that neither model has seen.
"""

# %%
# The texts
# ---------
# Docstrings of numpy, scipy and scikit-learn. Words in more than a tenth of them belong to the form of
# a docstring, and are left out. A third of the documents is held out.

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from sktopic.datasets import load_docstrings
from sktopic.inspection import top_words
from sktopic.lda import OnlineEMLDA, OnlineVariationalLDA
from sktopic.metrics import coherence, document_completion

texts, held_out_texts = train_test_split(load_docstrings().data, test_size=1 / 3, random_state=0)
vectorizer = CountVectorizer(token_pattern=r"[a-z]{3,}", min_df=10, max_df=0.1, stop_words="english")
X, X_test = vectorizer.fit_transform(texts), vectorizer.transform(held_out_texts)
vocabulary = vectorizer.get_feature_names_out()
print(f"{X.shape[0]} documents to learn from, {X_test.shape[0]} held out, {X.shape[1]} words")

# %%
# Fit both
# --------
# The number of topics, the priors and the passes are the same. What differs is the document step, and whether
# a topic is a point or has a posterior; batches and step sizes are the defaults of each.


def fit(label, model):
    """Fit, and return the held-out score, which is taken by one procedure for all models."""
    start = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - start
    score = document_completion(model, X_test)
    print(f"{label:20s} {seconds:4.1f} s, held-out score {score:.3f} nats per word")
    return score


common = {"n_components": 40, "max_iter": 20, "random_state": 0}
models = {
    "OnlineEMLDA": OnlineEMLDA(**common),
    "OnlineVariationalLDA": OnlineVariationalLDA(**common),
}
scores = {name: fit(name, model) for name, model in models.items()}

# %%
# Pair the topics
# ---------------
# Topics have no order. We pair them so that the sum of Kullback-Leibler divergences, from each topic of the
# first model to its partner in the second, is smallest.

em, vb = (model.components_ for model in models.values())
divergence = (em * np.log(em)).sum(axis=1)[:, None] - em @ np.log(vb).T
first, second = linear_sum_assignment(divergence)
order = np.argsort(divergence[first, second])
first, second = first[order], second[order]
divergences = divergence[first, second]

words = [top_words(model, vocabulary) for model in models.values()]
for i in np.linspace(0, len(first) - 1, 7).astype(int):
    print(f"pair {i + 1}, {divergences[i]:.2f} nats apart")
    print("   EM:", *words[0][first[i]])
    print("   VB:", *words[1][second[i]])

# %%
# These are seven of the pairs, from the nearest to the farthest. The nearest share most of their words; the
# farthest are what the assignment had left over, and need not be about the same thing.

# %%
# Coherence
# ---------
# A topic is coherent if its top words occur in the same documents. Let two words be in shares :math:`p_i` and
# :math:`p_j` of the held-out documents, and in a share :math:`p_{ij}` together. Their normalised pointwise
# mutual information (NPMI) is :math:`\log(p_{ij} / p_i p_j) / (-\log p_{ij})`: 1 for words that are never
# apart, 0 for independent ones, -1 in the limit for words that never meet. The coherence of a topic is the
# mean over all pairs of its ten most probable words, which :func:`~sktopic.metrics.coherence` computes.

em_npmi, vb_npmi = (coherence(model, X_test, per_topic=True) for model in models.values())
em_npmi, vb_npmi = em_npmi[first], vb_npmi[second]
chance = coherence(np.random.RandomState(0).rand(100, X.shape[1]), X_test)
for name, npmi in zip(models, (em_npmi, vb_npmi)):
    print(f"{name:20s} mean coherence {npmi.mean():.3f}, quartiles", np.quantile(npmi, [0.25, 0.75]).round(3))
print(f"{'ten words at random':20s} mean coherence {chance:.3f}")
print(f"pairs in which the topic of OnlineEMLDA is more coherent: {np.mean(em_npmi > vb_npmi):.0%}")

# %%
# On average the topics of online EM are more coherent here, and its model predicts held-out words better.
# Both lie far above words taken at random. This is one corpus and one seed: pairs differ in both directions.
#
# The picture has a point for each pair, above the diagonal where the topic of online EM is the more coherent
# one, and the held-out scores, counted from that of word frequencies without topics.

frequencies = np.asarray(X.sum(axis=0)) + 0.1  # a pseudo-count, as a topic has
baseline = document_completion(frequencies, X_test, doc_topic_prior=1.0)
gains = {name: score - baseline for name, score in scores.items()}

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), width_ratios=[3, 2], layout="constrained")
points = left.scatter(vb_npmi, em_npmi, c=divergences, cmap="viridis_r", edgecolor="grey", linewidth=0.5)
fig.colorbar(points, ax=left, label="divergence of the pair, nats")
limits = [min(em_npmi.min(), vb_npmi.min()) - 0.03, max(em_npmi.max(), vb_npmi.max()) + 0.03]
left.plot(limits, limits, color="grey", linestyle=":")
left.set(xlim=limits, ylim=limits, xlabel="coherence, OnlineVariationalLDA", ylabel="coherence, OnlineEMLDA")
bars = right.bar(["Online\nEMLDA", "Online\nVariationalLDA"], list(gains.values()), width=0.5)
right.bar_label(bars, fmt="%.3f", padding=2)
right.set_ylabel("held-out nats per word above no topics")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
