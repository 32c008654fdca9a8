"""
Inside a document
=================

``transform`` says how much of a document is about each topic. Here we ask more of it: which of its words are
from which topics, and how certain its proportions are.
"""

# %%
# A model
# -------
# Docstrings of numpy, scipy and scikit-learn, with twenty topics.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sktopic.datasets import load_docstrings
from sktopic.inspection import top_words
from sktopic.lda import OnlineEMLDA

docs = load_docstrings()
vectorizer = CountVectorizer(min_df=5, max_df=0.3, stop_words="english")
X = vectorizer.fit_transform(docs.data)
vocabulary = vectorizer.get_feature_names_out()
lda = OnlineEMLDA(n_components=20, random_state=0).fit(X)

# %%
# The topics of its words
# -----------------------
# ``word_topics`` answers for each entry of the matrix, in their order: which topics its tokens are most
# probably from, and with which probabilities. The same word may be from one topic here and from another
# there.

document = docs.names.index("scipy.stats.bootstrap")
topics, probabilities = lda.word_topics(X[[document]], n_topics=3)
words = vocabulary[X[[document]].indices]
for i in np.argsort(-X[[document]].data)[:8]:
    shares = ", ".join(f"{p:.2f} topic {k}" for k, p in zip(topics[i], probabilities[i]))
    print(f"{words[i]:14s}{X[[document]].data[i]:3d} times   {shares}")

# %%
# The text itself, with each word in the colour of its topic; words in grey are not in the vocabulary.

main = lda.transform(X[[document]])[0].argsort()[::-1][:4]
colours = dict(zip(main, ("C0", "C1", "C2", "C3")))
topic_of = dict(zip(words, topics[:, 0]))
tokens = [token for line in docs.data[document].split("\n")[:16] for token in [*line.split(), "\n"]]

fig, ax = plt.subplots(figsize=(8, 3.6))
ax.set_axis_off()
x, y = 0.0, 1.0
for token in tokens:
    if token == "\n" or x + 0.0112 * len(token) > 1.0:
        x, y = 0.0, y - 0.06
        if token == "\n":
            continue
    name = "".join(filter(str.isidentifier, token)).lower()
    colour = colours.get(topic_of.get(name), "black") if name in topic_of else "0.6"
    ax.text(x, y, token, color=colour, fontsize=8, family="monospace")
    x += 0.0112 * (len(token) + 1)

# %%
# How certain its proportions are
# -------------------------------
# ``sample_proportions`` draws them from their posterior. A long document leaves little room; the first thirty
# words of it leave a lot.

first_words = " ".join(docs.data[document].split()[:30])
both = X[[document]], vectorizer.transform([first_words])
fig, ax = plt.subplots(figsize=(8, 3), layout="constrained")
for shift, (label, counts) in enumerate(zip(("the whole docstring", "its first thirty words"), both)):
    draws = lda.sample_proportions(counts, n_samples=400)[0][:, main]
    low, middle, high = np.quantile(draws, [0.05, 0.5, 0.95], axis=0)
    position = np.arange(len(main)) + 0.25 * shift
    ax.errorbar(position, middle, [middle - low, high - middle], fmt="o", capsize=3, label=label)
names = [" ".join(words) for words in top_words(lda, vocabulary, n_words=3)[main]]
ax.set_xticks(np.arange(len(main)) + 0.125, names)
ax.set_ylabel("proportion, median and 90 percent")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
