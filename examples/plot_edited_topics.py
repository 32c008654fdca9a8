"""
A model that goes on
====================

Documents keep coming after a model has been fitted, with words that it does not know, and whoever has read
its topics wants some of them changed. Here a model of the docstrings of numpy and scipy is edited, saved,
loaded, and goes on with those of scikit-learn.
"""

# %%
# The model so far
# ----------------

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import sktopic
from sktopic.datasets import load_docstrings
from sktopic.inspection import top_words, topic_similarity
from sktopic.lda import OnlineEMLDA

docs = load_docstrings()
settings = {"max_df": 0.2, "stop_words": "english", "token_pattern": r"[a-zA-Z]{3,}"}
is_new = np.array([name.startswith("sklearn") for name in docs.names])
texts, new_texts = (np.array(docs.data, dtype=object)[chosen] for chosen in (~is_new, is_new))
vectorizer = CountVectorizer(min_df=5, **settings)
X = vectorizer.fit_transform(texts)
words = vectorizer.get_feature_names_out().tolist()
model = OnlineEMLDA(n_components=25, random_state=0).fit(X)

# %%
# Two topics that are one, and one to be left out
# -----------------------------------------------
# The two topics that are most alike become one, in the place of the first. The topic that has most of the
# tokens of "ufunc" is about what documentation says of every such function; we drop it. Its words remain in
# the vocabulary, and other topics take them up.

similarity = topic_similarity(model)
np.fill_diagonal(similarity, 0)
pair = sorted(np.unravel_index(similarity.argmax(), similarity.shape))
for topic in pair:
    print("merged: ", *top_words(model, words, n_words=8)[topic])
model.merge_topics([pair])
print("   into:", *top_words(model, words, n_words=8)[pair[0]])

dropped = model.topic_word_counts_[:, words.index("ufunc")].argmax()
print("dropped:", *top_words(model, words, n_words=8)[dropped])
model.drop_topics([dropped])
print(model.n_components_, "topics are left")

# %%
# To a file and back
# ------------------
# One file without pickle holds all of it; what is loaded goes on as if it had never been away.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.zip"
    model.save(path)
    print(f"{path.stat().st_size / 1e6:.1f} MB")
    model = sktopic.load(path)

# %%
# New words
# ---------
# Words of the new documents that the model lacks come behind those that it has. We freeze five topics, which
# stay as they are while the others learn.

counted = CountVectorizer(min_df=5, **settings).fit(new_texts)
new_words = sorted(counted.vocabulary_.keys() - set(words))
words += new_words
new_X = CountVectorizer(vocabulary=words, token_pattern=settings["token_pattern"]).transform(new_texts)
model.add_features(len(new_words))
scores = [model.score(new_X[1::2])]
model.freeze_topics(range(5))
model.partial_fit(new_X[::2])
scores.append(model.score(new_X[1::2]))
print(f"{len(new_words)} new words; nats per held-out word {scores[0]:.2f}, then {scores[1]:.2f}")

# %%
# What the new words are in
# -------------------------
# In the frozen topics new words have what the prior gives them, and no more.

share = model.components_[:, -len(new_words) :].sum(axis=1)
fig, ax = plt.subplots(figsize=(9, 3), layout="constrained")
ax.bar(range(len(share)), share, color=["C7"] * 5 + ["C0"] * (len(share) - 5))
ax.set(xlabel="topic (grey: frozen)", ylabel="share of new words", xticks=range(len(share)))
ax.spines[["top", "right"]].set_visible(False)
for topic in share.argsort()[:-4:-1]:
    print(f"topic {topic}:", *top_words(model, words, n_words=8)[topic])
plt.show()
