"""
Find the topics of a collection of texts
========================================

What are four thousand texts about? Count their words, fit a topic model, and
look at the most probable words of each topic. It takes a few lines: a topic
model is a scikit-learn estimator, here the last step of a pipeline, and takes
new texts as any other does.
"""

# %%
# From texts to topics
# --------------------
# The texts are the docstrings of numpy, scipy and scikit-learn. Words that are
# rare, or that are in more than a tenth of the texts, tell topics apart badly:
# ``min_df`` and ``max_df`` leave them out. One text of ten is kept for later.

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from sktopic.datasets import load_docstrings
from sktopic.inspection import plot_topics, top_documents, top_words
from sktopic.lda import OnlineEMLDA

texts, new_texts = train_test_split(
    load_docstrings().data, test_size=0.1, random_state=0
)
words = CountVectorizer(
    token_pattern="[a-z]{3,}", min_df=10, max_df=0.1, stop_words="english"
)
pipe = make_pipeline(words, OnlineEMLDA(n_components=30, random_state=0))
theta = pipe.fit_transform(texts)
print(f"{theta.shape[0]} texts, {theta.shape[1]} topics")

# %%
# The words of the topics
# -----------------------
# Each row is a topic, by its most probable words. A few are about the form of
# the texts rather than their subject, as in any corpus.

for number, topic in enumerate(top_words(pipe, n_words=7)):
    print(f"{number:2d} ", *topic)

# %%
# Four of them as a picture, looked up by a word that each is to have:

vocabulary = words.vocabulary_
chosen = [
    pipe[-1].components_[:, vocabulary[word]].argmax()
    for word in ("spline", "eigenvalues", "hypothesis", "clusters")
]
fig = plt.figure(figsize=(6, 4), layout="constrained")
plot_topics(pipe, topics=chosen, n_words=6, n_columns=2, fig=fig)
fig.suptitle("Four topics and their most probable words")
plt.show()

# %%
# The texts behind a topic
# ------------------------
# ``theta`` has a row for each text: the proportions of its topics, which sum
# to one. Before a topic gets a name, read some texts that are mostly about it.

documents, proportions = top_documents(pipe, texts, n_documents=3)
topic = chosen[2]
for i, share in zip(documents[topic], proportions[topic]):
    print(f"{share:.0%} topic {topic}: {texts[i].splitlines()[0][:60]}")

# %%
# New texts
# ---------
# ``transform`` says what topics texts have that were not there in training.

text = new_texts[0]
proportions = pipe.transform([text])[0]
print(text.splitlines()[0])
for topic in proportions.argsort()[::-1][:2]:
    print(f"{proportions[topic]:.0%}", *top_words(pipe, n_words=5)[topic])

# %%
# Is the model any good?
# ----------------------
# ``score`` hides a part of each new text and says how well the hidden words
# are predicted: the mean logarithm of their probability, so more is better.
# The same with one topic, which means word frequencies alone, is what to beat.

single = make_pipeline(words, OnlineEMLDA(n_components=1, random_state=0)).fit(
    texts
)
print(f"30 topics: {pipe.score(new_texts):.2f} nats per word")
print(f"one topic: {single.score(new_texts):.2f}")
