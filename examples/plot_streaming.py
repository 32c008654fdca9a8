"""
Learning from a stream
======================

``partial_fit`` takes documents as they come and keeps none of them. How large should its batches be? A small
batch makes many noisy steps, a large one few accurate ones. The held-out score along the stream shows it.
"""

# %%
# A stream
# --------
# Documents are drawn as they are needed, from a model with 50 topics over 2000 words.

import matplotlib.pyplot as plt

from sktopic.datasets import make_lda_documents
from sktopic.inspection import plot_scores
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion

world = make_lda_documents(
    n_samples=500, n_features=2000, n_components=50, mean_length=80, doc_topic_prior=0.05, random_state=0
)
X_test = world.data


def stream(n_chunks, chunk_size):
    for seed in range(1, n_chunks + 1):
        chunk = make_lda_documents(
            n_samples=chunk_size,
            mean_length=80,
            doc_topic_prior=0.05,
            components=world.components,
            random_state=seed,
        )
        yield chunk.data


# %%
# Three sizes of batches
# ----------------------
# Every model reads the same 12000 documents once. We stop now and then to score it on documents that are
# not in the stream; this does not disturb the learning.

curves = {}
for batch_size in [50, 200, 1000]:
    model = OnlineEMLDA(n_components=50, batch_size=batch_size, random_state=0)
    seen, scores = [], []
    for X in stream(n_chunks=12, chunk_size=1000):
        model.partial_fit(X)
        seen.append(model.n_samples_seen_)
        scores.append(model.score(X_test))
    curves[f"batches of {batch_size}"] = seen, scores
    print(f"batches of {batch_size:4d}: {model.n_batch_iter_:3d} updates, score {scores[-1]:.3f}")

truth = document_completion(world.components, X_test, doc_topic_prior=world.doc_topic_prior)
print(f"the true model:               score {truth:.3f}")

# %%
# The held-out curve
# ------------------
# In one pass over a short stream, the number of updates counts for more than the accuracy of each.

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
all_seen, all_scores = zip(*curves.values())
plot_scores(all_seen, all_scores, labels=list(curves), ax=ax)
ax.axhline(truth, color="grey", linestyle=":")
ax.annotate(
    "the true model", (all_seen[0][0], truth), xytext=(0, -12), textcoords="offset points", color="grey"
)
