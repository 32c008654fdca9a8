"""Coherence, diversity, stability and held-out score against the number of topics; gensim beside us.

    python benchmarks/coherence.py [CORPUS]

OnlineEMLDA with its defaults, three seeds for each number of topics ("k"); then c_v and c_npmi over the texts
of load_docstrings, here and in gensim, where it is installed, one core each ("gensim").
"""

import time
from importlib import metadata, util

import numpy as np
from _corpora import N_TEST, default_corpus, load
from _study import Study, new_parser, printed, seconds_of

from sktopic import OnlineEMLDA
from sktopic.inspection import top_words
from sktopic.metrics import coherence, document_completion, stability, topic_diversity

N_COMPONENTS = 5, 10, 20, 50, 100, 200, 300
N_SEEDS = 3
HEAD = ["topics", "npmi, training", "npmi, held-out", "its sd over seeds", "u_mass, held-out"]
HEAD += ["share of a top word", "diversity", "stability", "document completion"]
GENSIM_HEAD = ["measure", "sktopic", "gensim", "sktopic, window_counts='exact'"]
GENSIM_HEAD += ["seconds, sktopic", "seconds, gensim"]


def row(train, test, n_components):
    """Means over seeds, and the standard deviation of the first measure."""
    models = [OnlineEMLDA(n_components, random_state=seed).fit(train) for seed in range(N_SEEDS)]
    held_out = [coherence(model, test) for model in models]
    return (
        n_components,
        np.mean([coherence(model, train) for model in models]),
        np.mean(held_out),
        np.std(held_out, ddof=1),
        np.mean([coherence(model, test, measure="u_mass") for model in models]),
        np.mean([typical_share(model, train) for model in models]),
        np.mean([topic_diversity(model) for model in models]),
        stability(models),
        np.mean([document_completion(model, test[:N_TEST]) for model in models]),
    )


def typical_share(model, counts):
    """Median over the top words of all topics of the share of documents with the word."""
    shares = np.asarray((counts > 0).mean(axis=0)).ravel()
    return np.median(shares[top_words(model, np.arange(len(shares))).astype(int)])


def gensim_rows(n_components=50):
    """One row for each measure over windows."""
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel
    from sklearn.feature_extraction.text import CountVectorizer

    from sktopic.datasets import load_docstrings

    words = CountVectorizer(min_df=5, max_df=0.2, stop_words="english", token_pattern=r"[a-zA-Z]{3,}")
    counts = words.fit_transform(load_docstrings().data)
    names, tokens = words.get_feature_names_out(), words.build_analyzer()
    texts = [tokens(text) for text in load_docstrings().data]
    model = OnlineEMLDA(n_components, random_state=0).fit(counts)
    topics, dictionary = top_words(model, names).tolist(), Dictionary([names.tolist()])
    for measure in ("c_v", "c_npmi"):
        given = {"texts": texts, "feature_names": names, "measure": measure}
        seconds, ours = seconds_of(coherence, model, **given, clock=time.perf_counter)
        settings = {"dictionary": dictionary, "coherence": measure, "topn": 10, "processes": 1}
        theirs = CoherenceModel(topics=topics, texts=texts, **settings)
        their_seconds, theirs = seconds_of(theirs.get_coherence, clock=time.perf_counter)
        exact = coherence(model, **given, window_counts="exact")
        yield measure, ours, theirs, exact, seconds, their_seconds


def shown(values):
    """The cells of a row, which are printed too."""
    return printed([f"{value:.3f}" if isinstance(value, float) else value for value in values])


def main():
    parser = new_parser(__doc__)
    parser.add_argument("corpus", nargs="?", default=default_corpus())
    arguments = parser.parse_args()
    train, test, _ = load(arguments.corpus)
    study = Study("coherence", arguments)
    peer = f", gensim {metadata.version('gensim')}" if util.find_spec("gensim") else ""
    study.sign(f"{arguments.corpus}{peer}; ")
    study.write("k", HEAD, (shown(row(train, test, n_components)) for n_components in N_COMPONENTS))
    if peer:
        study.write("gensim", GENSIM_HEAD, map(shown, gensim_rows()))


if __name__ == "__main__":
    main()
