"""
Learn from a stream of documents
================================

Documents come one batch after another, and none can be kept: ``partial_fit``
learns from each, and the model can be used at any time. How large should its
batches be? A small one makes many noisy steps, a large one few accurate ones.
On a short stream small batches win; watch the held-out score to see.
"""

# %%
# A stream
# --------
# Documents are drawn as they are needed, from 50 known topics over 2000 words.
# Those of the first draw are for the score.

import matplotlib.pyplot as plt

from sktopic.datasets import make_lda_documents
from sktopic.inspection import plot_scores
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion

settings = {"mean_length": 80, "doc_topic_prior": 0.05}
world = make_lda_documents(
    500, n_features=2000, n_components=50, random_state=0, **settings
)


def stream(n_chunks):
    """Documents by the thousand."""
    for seed in range(1, n_chunks + 1):
        yield make_lda_documents(
            1000, components=world.components, random_state=seed, **settings
        ).data


# %%
# Three sizes of batches
# ----------------------
# Every model reads the same 6000 documents once. We stop now and then to
# score it on documents that are not in the stream, which does not disturb
# learning.

curves = {}
for batch_size in [50, 200, 1000]:
    model = OnlineEMLDA(50, batch_size=batch_size, random_state=0)
    seen, scores = [], []
    for X in stream(n_chunks=6):
        model.partial_fit(X)
        seen.append(model.n_samples_seen_)
        scores.append(model.score(world.data))
    curves[f"batches of {batch_size}"] = seen, scores

# %%
# The held-out score along the stream
# -----------------------------------
# In one pass over a short stream, the number of updates counts for more than
# the accuracy of each.

truth = document_completion(
    world.components, world.data, doc_topic_prior=world.doc_topic_prior
)
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
seen, scores = zip(*curves.values())
plot_scores(seen, scores, labels=list(curves), ax=ax)
ax.axhline(truth, color="grey", linestyle=":")
ax.text(1000, truth, "the true model", color="grey", va="top")
ax.set_title("Small batches learn faster at first")
plt.show()
