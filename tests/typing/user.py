"""A user's script, which has to pass the strictest checks: it is never run by the tests."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline

import sktopic
from sktopic.datasets import iter_uci, make_bars, open_corpus, read_ldac, save_corpus
from sktopic.distributed import local_update, merge_updates, start_model
from sktopic.features import align_features, grow_vocabulary
from sktopic.hdp import CollapsedGibbsHDP, DirectAssignmentHDP, HybridHDP
from sktopic.inspection import explore, name_topics, plot_topics, top_documents, top_words, topic_sizes
from sktopic.lda import CollapsedGibbsLDA, OnlineEMLDA, OnlineVariationalLDA
from sktopic.metrics import (
    coherence,
    document_completion,
    document_intrusion_tasks,
    intrusion_score,
    left_to_right,
    stability,
    word_intrusion_tasks,
)
from sktopic.model_selection import topic_number_curve
from sktopic.moment_matching import DegenerateDirichletLDA

X = sp.csr_array(make_bars(100, random_state=0).data, dtype=np.float64)
dense: NDArray[np.float64] = X.toarray()

lda = OnlineEMLDA(n_components=10, inference="gibbs", doc_topic_prior="auto", random_state=0).fit(X)
proportions: NDArray[np.floating] = lda.partial_fit(dense).transform(dense)
assigned, shares_of_words = lda.word_topics(X, n_topics=2)
for rows, assigned, _ in lda.iter_word_topics(X, block_size=50):
    print(rows.start, assigned[:, 0])
draws: NDArray[np.floating] = lda.sample_proportions(X, n_samples=5)
score: float = lda.score(X) + lda.perplexity(X)
topics: NDArray[np.float64] = lda.components_

bound: float = OnlineVariationalLDA(n_components=10).fit(X).elbo(X, total_samples=1e6)
parameters: NDArray[np.float64] = OnlineVariationalLDA(n_components=10).fit(X).topic_word_posterior_
tokens: NDArray[np.float64] = CollapsedGibbsLDA(n_draws=5, thinning=2).fit(X).topic_word_counts_
n_topics: int = CollapsedGibbsHDP(split_merge=True, n_proposals=5).fit(X).n_components_
bound += DirectAssignmentHDP(topic_word_prior="auto").fit(X).elbo(X)
mixture: NDArray[np.floating] = DegenerateDirichletLDA(n_components=20).fit(X).predict_mixture(X)
models = [HybridHDP(n_components=20, sampler="collapsed", random_state=seed).fit(X) for seed in range(3)]

corpus = save_corpus("corpus", iter_uci("docword.txt"), ["word"] * 25, range(100))
save_corpus("copy", [X[:50], X[50:]], overwrite=True)
entries: int = corpus.nnz + open_corpus("copy", verify=True)[:10].nnz
words: NDArray[np.object_] = top_words(lda, ["word"] * 25, n_words=5)
words, weights = top_words(lda, n_words=5, return_weights=True)
documents, shares = top_documents(lda, X)
explore(lda, X, texts=["text"] * 100, groups=np.arange(100) % 2, word_of=str.lower).save("topics.html")
axes = plot_topics(lda, topics=[0, "Topic 1"], titles=["first", "second"])
name_topics(lda, {0: "orbits"})
name_topics(lda, lambda words, texts: words[0] + texts[0], documents=np.array(["text"] * 100)[documents])
n_large: int = topic_sizes(lda).n_topics(0.5)
print(coherence(lda, X), document_completion(lda, X), left_to_right(lda, X, random_state=None))
tasks = word_intrusion_tasks(lda, n_words=6) + document_intrusion_tasks(proportions, ["text"] * 100)
low, high = intrusion_score(tasks, [[task.intruder, None] for task in tasks]).interval
print(stability(models), sktopic.metrics.topic_diversity(lda), sktopic.__version__)
curve = topic_number_curve(
    lda, X, n_components=[5, 10, 20], references=models, results_file="curve.jsonl", verbose=1
)
chosen: int = curve.one_standard_error
lda.set_feature_names(["word"] * 25).add_features(["orbit", "nasa"]).merge_topics(
    [["orbits", 1], [2, 3]]
).drop_topics([4]).freeze_topics([0])
again = OnlineEMLDA(n_components=10, components_init=topics).fit(align_features(dense, lda, unknown="drop"))
lda.save("topics.zip")
served = sktopic.load("topics.zip", mmap_mode="r", verify=False)
pipeline = Pipeline([("count", CountVectorizer()), ("topics", lda)])
words = grow_vocabulary(pipeline, ["text"] * 3, min_df=2)
counts, names = read_ldac("corpus.ldac", vocab="vocabulary.txt")

start: OnlineEMLDA = start_model(OnlineEMLDA(n_components=10), n_features=25, total_samples=100)
updates = [local_update(start, X, lane=lane, batch_size=100, dtype="float32") for lane in range(2)]
merged: OnlineEMLDA = merge_updates(start, updates, is_first_visit=False)

# What is wrong is found: the types are not Any.
OnlineEMLDA(inference="gibs")  # type: ignore[arg-type]
sktopic.load("topics.zip", mmap_mode="r+")  # type: ignore[arg-type]
whole: int = lda.score(X)  # type: ignore[assignment]
coherence(lda, X, measure="umass")  # type: ignore[arg-type]
