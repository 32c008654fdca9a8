"""
Do two models find the same topics?
===================================

How much of a topic is in the texts, and how much in the model or its seed? Fit
two models, pair their topics with :func:`~sktopic.metrics.match_topics`, and
look at the pairs from the most to the least alike. Topics that both find can
be relied on; those without a partner, less. Coherence and held-out scores say
which model is better.
"""

# %%
# Two models of the same texts
# ----------------------------
# Online EM with Gibbs sampling inside documents, and the online variational
# Bayes that scikit-learn and gensim use. The number of topics and of passes is
# the same. A third of the texts is held out.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from sktopic.datasets import load_docstrings
from sktopic.inspection import top_words
from sktopic.lda import OnlineEMLDA, OnlineVariationalLDA
from sktopic.metrics import coherence, match_topics

texts, other_texts = train_test_split(
    load_docstrings().data, test_size=1 / 3, random_state=0
)
vectorizer = CountVectorizer(
    token_pattern="[a-z]{3,}", min_df=10, max_df=0.1, stop_words="english"
)
X, X_test = vectorizer.fit_transform(texts), vectorizer.transform(other_texts)
vocabulary = vectorizer.get_feature_names_out()

settings = {"n_components": 20, "random_state": 0}
em = OnlineEMLDA(**settings).fit(X)
vb = OnlineVariationalLDA(**settings).fit(X)

# %%
# Pair the topics
# ---------------
# Topics have no order. They are paired so that the sum of similarities is
# largest. Here are five pairs, from the most to the least alike.

matches = match_topics(em, vb)
order = np.argsort(-matches.similarity)
first, second = matches.first[order], matches.second[order]
similarity = matches.similarity[order]
words = [top_words(model, vocabulary, n_words=7) for model in (em, vb)]
for i in np.linspace(0, len(order) - 1, 5).astype(int):
    print(f"pair {i + 1}, similarity {similarity[i]:.2f}")
    print("   EM:", *words[0][first[i]])
    print("   VB:", *words[1][second[i]])

# %%
# Which topics are better?
# ------------------------
# A topic is coherent if its words occur in the same documents:
# :func:`~sktopic.metrics.coherence` is 0 where they occur independently, and 1
# where they are never apart. It is measured on the held-out texts. The picture
# has a point for each pair, above the line where the topic of online EM is the
# more coherent one.

em_coherence = coherence(em, X_test, per_topic=True)[first]
vb_coherence = coherence(vb, X_test, per_topic=True)[second]
for model, values in ((em, em_coherence), (vb, vb_coherence)):
    name, score = type(model).__name__, model.score(X_test)
    print(f"{name:21s} coherence {values.mean():.2f}, score {score:.2f}")

fig, ax = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
style = {"c": similarity, "cmap": "viridis_r", "edgecolor": "grey"}
points = ax.scatter(vb_coherence, em_coherence, s=60, **style)
fig.colorbar(points, label="similarity of the pair")
ax.axline((0.2, 0.2), slope=1, color="grey", linestyle=":")
ax.set(xlabel="OnlineVariationalLDA", ylabel="OnlineEMLDA")
ax.set_title("Coherence of the topics of each pair")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# On average the topics of online EM are more coherent here, and its model
# predicts held-out words better. This is one corpus and one seed, and each
# score is that of the model's own way to infer proportions:
# :doc:`/research/lda_comparison` has more of both.
