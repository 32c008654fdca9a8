"""Coherence, diversity, stability and held-out score against the number of topics; gensim beside us.

    python benchmarks/coherence.py [--jobs 1]

OnlineEMLDA with its defaults on KOS, three seeds for each number of topics ("k"); then c_v and c_npmi over
the texts of load_docstrings, here and in gensim, one core each ("gensim").
"""

import time
from importlib import metadata

import numpy as np
from _corpora import N_TEST, load
from _study import Study, new_parser, seconds_of

from sktopic import OnlineEMLDA
from sktopic.inspection import top_words
from sktopic.metrics import coherence, document_completion, stability, topic_diversity

N_COMPONENTS = 5, 10, 20, 50, 100, 200, 300
SEEDS = 0, 1, 2
MEASURES = "c_v", "c_npmi"
COLUMNS = ["npmi, training", "npmi, held-out", "its sd over seeds", "u_mass, held-out"]
COLUMNS += ["share of a top word", "diversity", "stability", "document completion"]
RELEASE = "release of gensim"
GENSIM_COLUMNS = ["sktopic", "gensim", "sktopic, window_counts='exact'"]
GENSIM_COLUMNS += ["seconds, sktopic", "seconds, gensim", RELEASE]


def of_models(corpus, n_components):
    """Means over seeds, and the standard deviation of the second."""
    train, test, _ = load(corpus)
    models = [OnlineEMLDA(n_components, random_state=seed).fit(train) for seed in SEEDS]
    held_out = [coherence(model, test) for model in models]
    values = (
        np.mean([coherence(model, train) for model in models]),
        np.mean(held_out),
        np.std(held_out, ddof=1),
        np.mean([coherence(model, test, measure="u_mass") for model in models]),
        np.mean([typical_share(model, train) for model in models]),
        np.mean([topic_diversity(model) for model in models]),
        stability(models),
        np.mean([document_completion(model, test[:N_TEST]) for model in models]),
    )
    return dict(zip(COLUMNS, map(float, values), strict=True))


def typical_share(model, counts):
    """Median over the top words of all topics of the share of documents with the word."""
    shares = np.asarray((counts > 0).mean(axis=0)).ravel()
    return np.median(shares[top_words(model, np.arange(len(shares))).astype(int)])


def beside_gensim(measure):
    """A measure over windows of 50 topics, with the seconds of both libraries."""
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel
    from sklearn.feature_extraction.text import CountVectorizer

    from sktopic.datasets import load_docstrings

    words = CountVectorizer(min_df=5, max_df=0.2, stop_words="english", token_pattern=r"[a-zA-Z]{3,}")
    counts = words.fit_transform(load_docstrings().data)
    names, tokens = words.get_feature_names_out(), words.build_analyzer()
    texts = [tokens(text) for text in load_docstrings().data]
    model = OnlineEMLDA(n_components=50, random_state=0).fit(counts)
    given = {"texts": texts, "feature_names": names, "measure": measure}
    seconds, ours = seconds_of(coherence, model, **given, clock=time.perf_counter)
    settings = {"dictionary": Dictionary([names.tolist()]), "coherence": measure, "topn": 10, "processes": 1}
    theirs = CoherenceModel(topics=top_words(model, names).tolist(), texts=texts, **settings)
    their_seconds, theirs = seconds_of(theirs.get_coherence, clock=time.perf_counter)
    exact = coherence(model, **given, window_counts="exact")
    values = *map(float, (ours, theirs, exact, seconds, their_seconds)), metadata.version("gensim")
    return dict(zip(GENSIM_COLUMNS, values, strict=True))


def write_tables(study):
    parts = ("k", "n_components", "topics", COLUMNS), ("gensim", "measure", "measure", GENSIM_COLUMNS)
    for part, key, title, columns in parts:
        table = []
        for row in study.cache.select(part=part):
            cells = (row[name] if name == RELEASE else f"{row[name]:.3f}" for name in columns)
            table.append([row[key], *cells])
        study.write(part, [title, *columns], table)


def main():
    arguments = new_parser(__doc__, runs=True).parse_args()
    study = Study("coherence", arguments)
    runs = [("k", "kos", n_components) for n_components in N_COMPONENTS]
    runs += [("gensim", measure) for measure in MEASURES]
    study.measure({"k": of_models, "gensim": beside_gensim}, runs)
    write_tables(study)


if __name__ == "__main__":
    main()
