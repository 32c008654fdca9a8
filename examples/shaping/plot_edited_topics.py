"""
Merge and drop topics, add new words, go on
===========================================

Two topics say the same, a third is noise, and next month's documents have
words that the model has never seen. Nothing has to be fitted again: merge and
drop topics, save the model, load it, give it the new words, freeze the topics
that should stay as they are, and call ``partial_fit``.
"""

# %%
# The model so far
# ----------------
# The docstrings of numpy and scipy; those of scikit-learn are yet to come.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import sktopic
from sktopic.datasets import load_docstrings
from sktopic.features import grow_vocabulary
from sktopic.inspection import top_words, topic_similarity
from sktopic.lda import OnlineEMLDA

docs = load_docstrings()
is_new = np.array([name.startswith("sklearn") for name in docs.names])
texts, new_texts = (
    np.array(docs.data, dtype=object)[chosen] for chosen in (~is_new, is_new)
)
vectorizer = CountVectorizer(
    min_df=5, max_df=0.2, token_pattern="[a-z]{3,}", stop_words="english"
)
X = vectorizer.fit_transform(texts)
words = vectorizer.get_feature_names_out()
model = OnlineEMLDA(n_components=25, random_state=0).fit(X)
model.set_feature_names(words)

# %%
# Merge and drop
# --------------
# The two topics that are most alike become one, in the place of the first. The
# topic that has most of the word "ufunc" is what documentation says of every
# such function; we drop it. Its words remain in the vocabulary, and other
# topics take them up.


def show(what, topic):
    print(f"{what:8s}", *top_words(model, n_words=8)[topic])


similarity = topic_similarity(model)
np.fill_diagonal(similarity, 0)
pair = sorted(np.unravel_index(similarity.argmax(), similarity.shape))
show("merged", pair[0])
show("merged", pair[1])
model.merge_topics([pair])
show("into", pair[0])

ufunc = model.topic_word_counts_[:, words == "ufunc"].argmax()
show("dropped", ufunc)
model.drop_topics([ufunc])
print(model.n_components_, "topics are left")

# %%
# Save and load
# -------------
# One file without pickle holds the model and its words. Training of the loaded
# model gives the same results.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.zip"
    model.save(path)
    print(f"{path.stat().st_size / 1e6:.1f} MB")
    model = sktopic.load(path)

# %%
# New words, frozen topics
# ------------------------
# ``grow_vocabulary`` adds the new words of texts to the vectorizer and to the
# model. Five topics are frozen: they do not change while the others learn.
# Half of the new documents are for training, and the score is that of the
# others.

new_words = grow_vocabulary(make_pipeline(vectorizer, model), new_texts)
new_X = vectorizer.transform(new_texts)
before = model.score(new_X[1::2])
model.freeze_topics(range(5))
for _ in range(3):
    model.partial_fit(new_X[::2])
after = model.score(new_X[1::2])
print(f"{len(new_words)} new words")
print(f"nats per held-out word: {before:.2f} before, {after:.2f} after")

# %%
# Which topics have taken up the new words
# ----------------------------------------
# The frozen ones have none beyond what the prior gives them.

share = model.components_[:, -len(new_words) :].sum(axis=1)
topics = range(len(share))
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
colors = ["C7"] * 5 + ["C0"] * (len(share) - 5)
ax.bar(topics, share, color=colors)
ax.set(xlabel="topic (grey: frozen)", ylabel="share of new words")
ax.set(title="Where the new words went", xticks=topics)
ax.spines[["top", "right"]].set_visible(False)
for topic in share.argsort()[:-4:-1]:
    show(f"topic {topic}", topic)
plt.show()
