"""Topics of documents of a few words: settings of ours, and models that other libraries have for them.

    python benchmarks/short_texts.py

The corpora have no titles, so their documents are cut: of each with at least 40 tokens of the 5000 most
frequent words, 5 to 15 are drawn. "7, rare words too" are drawn from all words, of at most 30,000 documents
instead of 5000. "titles" are real: the first lines of load_docstrings. Models learn from
short documents. NPMI of ten words is that over the training documents in full length. Each test document is
compared by its main topic with its label: by NMI, and by "accuracy", the share of those that have the most
frequent label of training documents of their topic. The score is that of a fifth of the words of a test
document, by the proportions that the model infers from the others. Pools join at most 20 documents of a
category (the label), of a year or of a module. "tweetopic DMM" has one topic a document (GSDMM). "no topics"
are the shares of words. Means over seeds have intervals of 95 percent (Student's t); bitermplus has one seed,
as it is slow. Seconds are those of the processor in training.
"""

from functools import cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from _corpora import load, load_metadata
from _study import Study, interval, new_parser, seconds_of, shown
from scipy.special import softmax
from sklearn.metrics import normalized_mutual_info_score

from sktopic import CollapsedGibbsLDA, OnlineEMLDA
from sktopic._inference._completion import hidden_log_likelihood
from sktopic._runtime._parallel import Workers
from sktopic._topics._topic_rows import TopicProbabilities
from sktopic.metrics import coherence, topic_diversity

N_WORDS, LONGEST, MOST, MOST_TEST, POOL = 5000, 40, 5000, 2000, 20
RARE_TOO, MOST_WITH_RARE = "rare words too", 30_000
ALL_COMPONENTS, N_SEEDS = (20, 50), 3
PRIOR, SWEEPS = 0.1, 50


class Texts(NamedTuple):
    """Short documents, those of training also in full length, labels, and name -> pool of each document."""

    train: sp.csr_matrix
    test: sp.csr_matrix
    full: sp.csr_matrix
    labels: np.ndarray
    test_labels: np.ndarray
    pools: dict


@cache
def texts_of(corpus, words):
    """The Texts of a corpus with so many words a document."""
    if words == "titles":
        return titles()
    counts, labels, parts = load(corpus)[:2], load_metadata(corpus, "labels"), []
    years = load_metadata(corpus, "year") if corpus == "arxiv_0" else labels
    n_drawn, _, rare = words.partition(", ")
    n_words, n_documents = (None, MOST_WITH_RARE) if rare == RARE_TOO else (N_WORDS, MOST)
    frequent = np.argsort(-np.ravel(counts[0].sum(axis=0)), kind="stable")[:n_words]
    rng = np.random.default_rng(0)
    for X, label, year, most in zip(counts, labels, years, (n_documents, MOST_TEST)):
        X = X[:, frequent]
        kept = np.flatnonzero((np.ravel(X.sum(axis=1)) >= LONGEST) & (label >= 0))[:most]
        parts.append((X[kept], drawn(X[kept], int(n_drawn), rng), label[kept], year[kept]))
    (full, train, label, year), (_, test, test_label, _) = parts
    pools = {"a category": label} | ({"a year": year} if corpus == "arxiv_0" else {})
    return Texts(train, test, full, label, test_label, pools)


def drawn(X, n_tokens, rng):
    """So many tokens of each document, drawn without replacement."""
    row, word = (np.repeat(each, X.data) for each in X.nonzero())
    order = np.lexsort((rng.random(len(row)), row))
    row, word = row[order], word[order]
    kept = np.arange(len(row)) - np.searchsorted(row, row) < n_tokens
    return sp.csr_matrix((np.ones(kept.sum(), np.int32), (row[kept], word[kept])), shape=X.shape)


def titles():
    """The first lines of docstrings, of which one in five is for testing."""
    from sklearn.feature_extraction.text import CountVectorizer

    from sktopic.datasets import load_docstrings

    docs = load_docstrings()
    words = CountVectorizer(min_df=5, max_df=0.2, stop_words="english", token_pattern=r"[a-zA-Z]{3,}")
    full = words.fit_transform(docs.data).astype(np.int32)
    short = words.transform([text.partition("\n\n")[0] for text in docs.data]).astype(np.int32)
    modules, kept = np.array([name.rpartition(".")[0] for name in docs.names]), short.sum(axis=1).A1 > 1
    test = np.arange(len(kept)) % 5 == 0
    train, test = kept & ~test, kept & test
    pools = {"a category": docs.target[train], "a module": modules[train]}
    return Texts(short[train], short[test], full[train], docs.target[train], docs.target[test], pools)


def pooled(X, groups, seed):
    """Documents of a group together, at most POOL of them."""
    order = np.lexsort((np.random.default_rng(seed).random(len(groups)), groups))
    group = np.unique(groups, return_inverse=True)[1][order]
    part = (np.arange(len(group)) - np.searchsorted(group, group)) // POOL
    pool = np.unique(np.stack([group, part]), axis=1, return_inverse=True)[1].ravel()
    return sp.csr_matrix((np.ones(len(pool), np.int32), (pool, order))) @ X


class Mixture:
    """One topic a document, by the collapsed sampler of tweetopic; its posterior is exact."""

    def __init__(self, n_components, random_state):
        self.n_components, self.seed = n_components, random_state

    def fit(self, X):
        from numba import njit
        from tweetopic import DMM

        for function in (np.random.seed, njit(lambda seed: np.random.seed(seed))):
            function(self.seed)
        model = DMM(self.n_components, n_iterations=SWEEPS, alpha=PRIOR, beta=PRIOR).fit(X)
        self.learn(model.components_, model.cluster_doc_count)
        return self

    def learn(self, words, documents):
        """The parameters of numbers of words and documents of each topic."""
        self.components_ = (words + PRIOR) / (words + PRIOR).sum(axis=1, keepdims=True)
        self.weights = (documents + PRIOR) / (documents + PRIOR).sum()

    def transform(self, X):
        return softmax(X @ np.log(self.components_).T + np.log(self.weights), axis=1)


class NoTopics(Mixture):
    """A mixture of one."""

    def fit(self, X):
        self.learn(np.asarray(X.sum(axis=0)), np.array([X.shape[0]]))
        return self


class Biterms:
    """A topic for each pair of words in a document, by bitermplus."""

    def __init__(self, n_components, random_state):
        self.n_components, self.seed = n_components, random_state

    def fit(self, X):
        import bitermplus

        self._model = bitermplus.BTM(X, np.arange(X.shape[1]).astype(str), self.n_components, seed=self.seed)
        self._model.fit(bitermplus.get_biterms(tokens_of(X)), verbose=False)
        self.components_ = np.asarray(self._model.matrix_topics_words_)
        return self

    def transform(self, X):
        return self._model.transform(tokens_of(X), verbose=False)


def tokens_of(X):
    """An array of words for each document."""
    row, word = (np.repeat(each, X.data.astype(int)) for each in X.nonzero())
    return np.split(word, np.searchsorted(row, np.arange(1, X.shape[0])))


LDA = OnlineEMLDA
SHORT = partial(LDA, doc_topic_prior=0.05)
MODELS = {
    "no topics": NoTopics,
    "OnlineEMLDA": LDA,
    "OnlineEMLDA, fixed-point": partial(LDA, prior_update="fixed-point"),
    "OnlineEMLDA, a fixed prior": partial(LDA, doc_topic_prior=None),
    "OnlineEMLDA, a prior of 0.05": SHORT,
    "OnlineEMLDA, a prior of 0.05, 20 passes": partial(SHORT, max_iter=20),
    "OnlineEMLDA, a prior of 0.0001": partial(LDA, doc_topic_prior=1e-4),
    "OnlineEMLDA, a prior of 0.05, 20 passes, pools of a category": partial(SHORT, max_iter=20),
    "OnlineEMLDA, a prior of 0.05, 20 passes, pools of a year": partial(SHORT, max_iter=20),
    "OnlineEMLDA, a prior of 0.05, 20 passes, pools of a module": partial(SHORT, max_iter=20),
    "CollapsedGibbsLDA, a prior of 0.05": partial(CollapsedGibbsLDA, doc_topic_prior=0.05),
    "tweetopic DMM": Mixture,
    "bitermplus": Biterms,
}
SOME = "OnlineEMLDA", "OnlineEMLDA, a fixed prior", "OnlineEMLDA, a prior of 0.05, 20 passes"
CUT = "20news", "arxiv_0", "reuters21578"
CELLS = [*product(CUT, ("5", "10"), MODELS), *product(CUT, ("7", "15", f"7, {RARE_TOO}"), SOME)]
CELLS += [("docstrings", "titles", model) for model in MODELS]
MEASURES = {"npmi": "NPMI", "diversity": "diversity", "nmi": "NMI", "accuracy": "accuracy", "score": "score"}
HEAD = ["corpus", "words", "topics", "model", "seeds"]
HEAD += [head for name in MEASURES.values() for head in (name, f"{name}, ±")] + ["seconds"]


def pool_of(model):
    return model.partition("pools of ")[2]


def measure(corpus, words, n_components, model, seed):
    """The row of a run."""
    texts, pool = texts_of(corpus, words), pool_of(model)
    train = pooled(texts.train, texts.pools[pool], seed) if pool else texts.train
    if MODELS[model] is Mixture:
        Mixture(2, 0).fit(train[:10])  # compiles
    seconds, found = seconds_of(MODELS[model](n_components, random_state=seed).fit, train)
    main, test_main = (found.transform(X).argmax(axis=1) for X in (texts.train, texts.test))
    labels = np.zeros((n_components, texts.labels.max() + 1))
    np.add.at(labels, (main, texts.labels), 1)
    topics = TopicProbabilities.from_components(found.components_)
    with Workers() as workers:
        logs, n_hidden, _ = hidden_log_likelihood(texts.test, topics, found.transform, workers)
    row = {
        "npmi": coherence(found.components_, texts.full),
        "diversity": topic_diversity(found.components_),
        "nmi": normalized_mutual_info_score(texts.test_labels, test_main),
        "accuracy": np.mean(labels.argmax(axis=1)[test_main] == texts.test_labels),
        "score": logs.sum() / n_hidden.sum(),
    }
    return {name: round(float(value), 5) for name, value in row.items()} | {"seconds": round(seconds, 2)}


def write_tables(study):
    table = []
    for (corpus, words, model), n_components in product(CELLS, ALL_COMPONENTS):
        rows = study.cache.select(corpus=corpus, words=words, n_components=n_components, model=model)
        if rows:
            means = [interval([row[name] for row in rows])[:2] for name in MEASURES]
            cells = [cell for mean, low in means for cell in shown([mean, mean - low], ".3f")]
            seconds = f"{np.mean([row['seconds'] for row in rows]):.2f}"
            table.append([corpus, words, n_components, model, len(rows), *cells, seconds])
    study.write("", HEAD, table)


def main():
    study = Study("short_texts", new_parser(__doc__, runs=True, jobs=1).parse_args())
    runs = [
        (corpus, words, n_components, model, seed)
        for seed, n_components, (corpus, words, model) in product(range(N_SEEDS), ALL_COMPONENTS, CELLS)
        if (not pool_of(model) or pool_of(model) in texts_of(corpus, words).pools)
        and (model != "bitermplus" or (seed, n_components) == (0, 20))
    ]
    study.measure(measure, sorted(runs, key=lambda run: run[3] == "bitermplus" or run[4]))
    write_tables(study)


if __name__ == "__main__":
    main()
