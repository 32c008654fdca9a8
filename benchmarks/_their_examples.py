"""The examples of lda and tomotopy, done with our estimators.

Each function is a recipe of doc/guide/coming_from.rst on the texts that come with the other library, and
returns whether it holds, and what was found. tomotopy's examples read texts that are not in its source
distribution: those of its tests take their place. other_tests.toml names it, or the reason why there is none.
"""

import logging

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sktopic import CollapsedGibbsHDP, CollapsedGibbsLDA
from sktopic.inspection import pyldavis_data
from sktopic.metrics import coherence, document_completion
from sktopic.seeding import seed_prior

SEEDS = range(5)
tomotopy_folder = None  # of the unpacked source distribution


def mean_and_spread(values, digits=0):
    return f"{np.mean(values):.{digits}f} (standard deviation {np.std(values, ddof=1):.{digits}f})"


def close(ours, theirs):
    """Whether two means are within three standard errors of their difference."""
    error = np.sqrt((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / len(ours))
    return bool(abs(np.mean(ours) - np.mean(theirs)) < 3 * error)


# lda


def reuters(n_iter, seed):
    """The documents of lda's README, and a chain with the parameters that they have there."""
    import lda.datasets

    X = lda.datasets.load_reuters()
    priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01}
    return X, CollapsedGibbsLDA(20, **priors, max_iter=n_iter, n_draws=1, random_state=seed).fit(X)


def reuters_log_likelihood():
    import lda

    logging.getLogger("lda").setLevel(logging.WARNING)
    ours, theirs = [], []
    for seed in SEEDS[:3]:
        X, chain = reuters(300, seed)
        ours.append(chain.log_likelihood_[-10:].mean())
        model = lda.LDA(20, n_iter=300, random_state=seed).fit(X)
        theirs.append(np.mean(model.loglikelihoods_[-10:]))
    text = "Log joint probability after 300 sweeps, means of the last 100, three seeds: "
    return close(ours, theirs), f"{text}{mean_and_spread(ours)} here, {mean_and_spread(theirs)} there."


def reuters_documents():
    """Documents 2 and 4 to 8 are of Mother Teresa, 0, 3 and 9 of Prince Charles."""
    agree = []
    for seed in range(10):
        X, chain = reuters(300, seed)
        top = chain.transform(X[:10]).argmax(axis=1)
        agree.append(len({*top[[2, 4, 5, 6, 7, 8]]}) == 1 == len({*top[[0, 3, 9]]}))
    text = "The six articles on Mother Teresa have one topic in common, and the three on Prince Charles"
    return sum(agree) > len(agree) / 2, f"{text}, with {sum(agree)} of {len(agree)} seeds."


def lda_getting_started():
    X = np.array([[1, 1], [2, 1], [3, 1], [4, 1], [5, 8], [6, 1]])
    priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01}
    theta = CollapsedGibbsLDA(2, **priors, max_iter=100, n_draws=1, random_state=0).fit_transform(X)
    return bool(np.allclose(theta.sum(axis=1), 1)), "Trains on six documents of two words."


# tomotopy


def texts(name="sample.txt"):
    lines = (tomotopy_folder / "test" / name).read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line.strip()]


def their_lda(documents, seed, sweeps, k=20, **given):
    import tomotopy

    model = tomotopy.LDAModel(k=k, seed=seed, min_df=5, rm_top=5, **given)
    for words in documents:
        model.add_doc(words)
    model.train(sweeps, workers=1)
    return model


def matrix_of(model, documents):
    """Counts of the words that a model of tomotopy has kept."""
    return vectorizer(vocabulary=list(model.used_vocabs)).transform(documents)


def vectorizer(**settings):
    return CountVectorizer(analyzer=lambda words: words, **settings)


def our_lda(X, seed, sweeps, k=20, **given):
    given = {"doc_topic_prior": "auto", "topic_word_prior": 0.01, "n_draws": 1, **given}
    return CollapsedGibbsLDA(k, max_iter=sweeps, random_state=seed, **given).fit(X)


def lda_basic():
    ours, theirs = [], []
    for seed in SEEDS:
        model = their_lda(texts(), seed, 500, alpha=0.1, eta=0.01)
        X = matrix_of(model, texts())
        chain = our_lda(X, seed, 500, model.k, doc_topic_prior=model.alpha)
        ours.append(chain.log_likelihood_[-1] / X.sum())
        theirs.append(model.ll_per_word)
    text = "Log joint probability per word after 500 sweeps, five seeds, under tomotopy's learned prior: "
    return close(ours, theirs), f"{text}{mean_and_spread(ours, 3)} here, {mean_and_spread(theirs, 3)} there."


def coherences():
    """Of the same lists of words, with the measures of tomotopy's example."""
    import tomotopy

    model = their_lda(texts(), 0, 200)
    X, names = matrix_of(model, texts()), list(model.used_vocabs)
    topics = np.zeros((model.k, len(names)))
    for k, topic in enumerate(topics):
        topic[[names.index(word) for word, _ in model.get_topic_words(k, top_n=10)]] = np.arange(10, 0, -1)
    kept = [[word for word in words if word in set(names)] for words in texts()]
    of_windows = {"texts": kept, "feature_names": names, "window_counts": "exact"}
    differences = {}
    for measure in ("u_mass", "c_uci", "c_npmi", "c_v"):
        theirs = tomotopy.coherence.Coherence(model, coherence=measure, top_n=10).get_score()
        given = {"X": X} if measure == "u_mass" else of_windows
        differences[measure] = abs(coherence(topics, measure=measure, **given) - theirs)
    text = ", ".join(f"{measure} by {difference:.1g}" for measure, difference in differences.items())
    text += ". tomotopy counts windows otherwise; here they are those of gensim, or of the definition"
    return max(differences.values()) < 1e-6, f"Values for the same words differ: {text}."


def word_prior():
    words = ["church", "softwar", "citi"]
    counter = vectorizer(min_df=2)
    X = counter.fit_transform(texts())
    names, column = counter.get_feature_names_out(), counter.vocabulary_
    known = [word for word in words if word in column]
    weights = dict(enumerate([word] for word in known))
    model = our_lda(X, 0, 500, topic_word_prior=seed_prior(weights, names, 20, base=0.01))
    shares = [model.topic_word_counts_[k, column[word]] for k, word in enumerate(known)]
    shares = [n / X[:, [column[word]]].sum() for n, word in zip(shares, known)]
    text = ", ".join(f"{word} {share:.2f}" for word, share in zip(known, shares))
    return min(shares) > 0.5, f"Share of each word's tokens in the topic that was meant for it: {text}."


def inference():
    """Held-out documents, by the same measure for both."""
    documents = texts()
    ours, theirs = [], []
    for seed in SEEDS:
        model = their_lda(documents[:20], seed, 500)
        X, X_test = matrix_of(model, documents[:20]), matrix_of(model, documents[20:])
        topics = np.array([model.get_topic_word_dist(k) for k in range(model.k)])
        theirs.append(document_completion(topics, X_test, doc_topic_prior=model.alpha))
        chain = our_lda(X, seed, 500)
        ours.append(document_completion(chain, X_test))
        assert np.allclose(chain.transform(X_test).sum(axis=1), 1)
    text = "Held-out nats per word of five documents, five seeds: "
    holds = close(ours, theirs) or np.mean(ours) > np.mean(theirs)
    return bool(holds), f"{text}{mean_and_spread(ours, 3)} here, {mean_and_spread(theirs, 3)} there."


def hdp_basic():
    """Both sample the same posterior where concentrations are given."""
    import tomotopy

    ours, theirs = [], []
    for seed in SEEDS:
        model = tomotopy.HDPModel(min_df=5, rm_top=5, alpha=1, gamma=1, eta=0.1, initial_k=10, seed=seed)
        for words in texts():
            model.add_doc(words)
        model.optim_interval = 0
        model.train(300, workers=1)
        theirs.append(model.live_k)
        given = {"topic_concentration": 1.0, "doc_concentration": 1.0, "topic_word_prior": 0.1}
        X = matrix_of(model, texts())
        ours.append(CollapsedGibbsHDP(10, max_iter=300, random_state=seed, **given).fit(X).n_components_)
    text = f"{mean_and_spread(ours, 1)} here, {mean_and_spread(theirs, 1)} there"
    text = f"Topics after 300 sweeps, five seeds: {text}. Chains of this length depend on their start."
    return close(ours, theirs), text


def visualization():
    counter = vectorizer(min_df=5)
    X = counter.fit_transform(texts())
    data = pyldavis_data(our_lda(X, 0, 100), X, counter.get_feature_names_out())
    sums = [np.sum(data[name], axis=1) for name in ("topic_term_dists", "doc_topic_dists")]
    return all(np.allclose(each, 1) for each in sums), "`pyldavis_data` returns the same five arrays."
