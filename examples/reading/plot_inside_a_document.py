"""
Color the words of a text by their topics
==========================================

Which words of a document are about what? ``transform`` gives the proportions
of a whole text; ``word_topics`` goes into it and gives the topic of each word;
and ``sample_proportions`` says how certain the proportions are. A long text
leaves little doubt, its first sentences leave a lot.
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

docs = load_docstrings(min_words=50)
vectorizer = CountVectorizer(min_df=5, max_df=0.3, stop_words="english")
X = vectorizer.fit_transform(docs.data)
vocabulary = vectorizer.get_feature_names_out()
lda = OnlineEMLDA(n_components=20, random_state=0).fit(X)
lists = top_words(lda, vocabulary, n_words=3)
names = np.array([" ".join(words) for words in lists])

# %%
# The topics of its words
# -----------------------
# ``word_topics`` answers for each entry of the matrix, in their order: which
# topics its tokens are most probably from, and with which probabilities. The
# same word may be from one topic here and from another there.

document = docs.names.index("scipy.stats.bootstrap")
x = X[[document]]
topics, probabilities = lda.word_topics(x, n_topics=2)
words = vocabulary[x.indices]
for i in np.argsort(-x.data)[:6]:
    k, p = topics[i, 0], probabilities[i, 0]
    print(f"{words[i]:14s}{x.data[i]:3d} times, {p:.0%} topic {k}: {names[k]}")

# %%
# The text itself, with each word in the color of its topic. Gray words are
# not in the vocabulary, black ones are of other topics.

main = lda.transform(x)[0].argsort()[::-1][:4]
colors = dict(zip(main, ("C0", "C1", "C2", "C3")))
topic_of = dict(zip(words, topics[:, 0]))
width, height = 0.0118, 0.062

fig, ax = plt.subplots(figsize=(7.5, 4.5))
fig.subplots_adjust(left=0.02, right=0.98, bottom=0.01, top=0.92)
ax.set_axis_off()
ax.set_title("The beginning of scipy.stats.bootstrap, by topic", loc="left")
for i, k in enumerate(main):
    place = 0.5 * (i % 2), 0.96 - 0.06 * (i // 2)
    ax.text(*place, names[k], color=colors[k], weight="bold")
column, y = 0, 0.8
for line in docs.data[document].split("\n")[:14]:
    for token in line.split():
        if (column + len(token)) * width > 1:
            column, y = 0, y - height
        word = "".join(filter(str.isidentifier, token)).lower()
        known = colors.get(topic_of.get(word), "black")
        color = known if word in topic_of else "0.6"
        style = {"color": color, "fontsize": 10, "family": "monospace"}
        ax.text(column * width, y, token, **style)
        column += len(token) + 1
    column, y = 0, y - height
plt.show()

# %%
# How certain its proportions are
# -------------------------------
# ``sample_proportions`` draws them from their posterior. The bars have 90
# percent of the draws.

first_words = " ".join(docs.data[document].split()[:30])
both = {
    "the whole text": x,
    "its first thirty words": vectorizer.transform([first_words]),
}
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for shift, (label, counts) in enumerate(both.items()):
    draws = lda.sample_proportions(counts, n_samples=400)[0][:, main]
    low, middle, high = np.quantile(draws, [0.05, 0.5, 0.95], axis=0)
    place = np.arange(len(main)) + 0.2 * shift
    error = middle - low, high - middle
    ax.errorbar(place, middle, error, fmt="o", capsize=4, label=label)
ax.set_xticks(np.arange(len(main)) + 0.1, names[main], fontsize="small")
ax.set(title="Proportions of a text, and of its beginning", ylim=(0, 1))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
