"""
How many topics? A posterior that follows a stream
==================================================

:class:`~sktopic.moment_matching.DegenerateDirichletLDA` reads each document once and keeps a probability for
every number of topics up to a limit. This example watches it on documents drawn from six topics, asks how
much the answer depends on prior, order and seed.
"""

# %%
# The corpus is drawn from six topics; most documents have one or two of them.

import matplotlib.pyplot as plt
import numpy as np

from sktopic.datasets import make_lda_documents
from sktopic.inspection import plot_n_components
from sktopic.metrics import match_topics
from sktopic.moment_matching import DegenerateDirichletLDA, TriangularDirichletLDA

corpus = make_lda_documents(
    n_samples=1200, n_features=200, n_components=6, mean_length=100, doc_topic_prior=0.05, random_state=0
)
X, X_test = corpus.data[:1000], corpus.data[1000:]

# %%
# A stream
# --------
# Documents arrive a hundred at a time. The posterior after each call is that of one call with all of them.

ddm = DegenerateDirichletLDA(n_components=20, random_state=0)
for first in range(0, 1000, 100):
    ddm.partial_fit(X[first : first + 100])
    probability = ddm.n_components_posterior_[ddm.n_components_ - 1]
    print(f"{first + 100:4d} documents: {ddm.n_components_:2d} topics, probability {probability:.2f}")

fig = plot_n_components(ddm)

# %%
# Are the six topics among those found? Each is matched to its most similar one; 1 is identical.

matches = match_topics(corpus.components, ddm.components_)
print("similarity of the pairs:", np.sort(matches.similarity)[::-1].round(2))

# %%
# What the answer depends on
# --------------------------
# The posterior is sure of itself, but it is that of a filter which sees every token once. A smaller
# topic_word_prior means sharper topics, and more of them; the order of tokens matters as well. Held-out
# scores tell a model that misses a topic from one that has some to spare, and that is the point: topics to
# spare cost next to nothing, a missing one does.

settings = {
    "defaults": DegenerateDirichletLDA(n_components=20),
    "exponential prior": DegenerateDirichletLDA(n_components=20, n_components_prior="exponential"),
    "tokens of all documents mixed": DegenerateDirichletLDA(n_components=20, shuffle="corpus"),
    "topic_word_prior = 0.02": DegenerateDirichletLDA(n_components=20, topic_word_prior=0.02),
    "topic_word_prior = 0.2": DegenerateDirichletLDA(n_components=20, topic_word_prior=0.2),
    "triangular model": TriangularDirichletLDA(n_components=20),
    "triangular, uniform prior": TriangularDirichletLDA(20, n_components_prior="uniform"),
}
found, scores = {}, {}
for name, model in settings.items():
    fits = []
    for seed in range(4):
        model.set_params(random_state=seed).fit(X)
        fits.append((model.n_components_, model.score(X_test)))
    found[name], scores[name] = np.transpose(fits)
    print(f"{name:30s} topics {found[name].astype(int)}, score {scores[name].mean():.3f}")

fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name in settings:
    ax.plot(found[name], scores[name], "o", label=name)
ax.axvline(6, color="grey", linewidth=1)
ax.set(xlabel="topics found", ylabel="held-out nats per word")
ax.legend(frameon=False, fontsize="small")
