"""Topics of each period, learned from those of the period before; dynamic topic models beside them.

    python benchmarks/periods.py

A model learns from the first period, then from the second, and so on. After each, at most 500 documents of
the next period are scored by document completion, with the same fold-in for all. NPMI of ten words is that
over the documents of a period. "Same number" is the share of topics whose most similar topic in the period
before has the same number; "similarity" is the mean cosine of topics of the same number in adjacent periods.
"In the prior" are tokens that the topics before add as pseudo-counts, as a share of those of the period. The
dynamic topic models of tomotopy (200 sweeps) and gensim learn from all periods but the last at once, and
are scored on the last one, with one seed. gensim's is so slow that it has a corpus of few words, topics and
documents, and the fewest iterations. Means are over seeds; seconds of the processor are for all periods.
"""

from functools import cache, partial
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from _corpora import load, load_metadata
from _study import Study, new_parser, seconds_of, shown
from _traces import add_documents, tomotopy_topics
from scipy.special import softmax
from sklearn.preprocessing import normalize

from sktopic import OnlineEMLDA
from sktopic.metrics import coherence, document_completion

SEEDS, MOST_TEST, SWEEPS = range(3), 500, 200
SMALL = "nips1740, small"
# Of a corpus: the first years of periods, documents of a period at most, words, and topics
CORPORA = {
    "nips1740": (range(1987, 2000), 60, None, 20),
    "arxiv_0": (range(2005, 2018), 1000, 5000, 50),
    SMALL: (range(1988, 2000, 3), 50, 100, 3),
}


@cache
def periods_of(corpus):
    """The documents of each period, and the number of topics."""
    years, most, n_words, n_topics = CORPORA[corpus]
    name = corpus.partition(",")[0]
    X, year = load(name)[0], load_metadata(name, "year")[0]
    X = X[:, np.argsort(-np.ravel(X.sum(axis=0)), kind="stable")[:n_words]]
    starts = np.append(years, years[-1] + years.step)
    chosen = [np.flatnonzero((year >= a) & (year < b))[:most] for a, b in pairwise(starts)]
    return [X[rows] for rows in chosen], n_topics


class Topics(NamedTuple):
    """Topics of a period, and their prior; of the last period that a dynamic model knows, or another."""

    components_: np.ndarray
    doc_topic_prior_: np.ndarray
    is_last: bool


def alone(periods, n_topics, seed):
    """Models after each period, from this period only."""
    for X in periods:
        yield OnlineEMLDA(n_topics, random_state=seed).fit(X)


def together(periods, n_topics, seed):
    """From all periods so far."""
    for n in range(1, len(periods) + 1):
        yield OnlineEMLDA(n_topics, random_state=seed).fit(sp.vstack(periods[:n], format="csr"))


def stream(periods, n_topics, seed, n_calls=1, **settings):
    """One model that goes on."""
    model = OnlineEMLDA(n_topics, batch_size=10, random_state=seed, **settings)
    for X in periods:
        for _ in range(n_calls):
            model.partial_fit(X)
        yield model


def carried(periods, n_topics, seed, share):
    """From the topics before: training starts there, and they are the prior, with a share of the tokens."""
    model = OnlineEMLDA(n_topics, random_state=seed)
    for X in periods:
        yield model.fit(X)
        topics = model.components_
        model.set_params(components_init=topics)
        if share:
            model.set_params(topic_word_prior=0.1 + share * X.sum() / n_topics * topics)


def tomotopy_dynamic(periods, n_topics, seed):
    import tomotopy

    model = tomotopy.DTModel(k=n_topics, t=len(periods), seed=seed)
    for timepoint, X in enumerate(periods):
        add_documents(model, X, timepoint=timepoint)
    model.train(SWEEPS, workers=1)
    for timepoint, X in enumerate(periods):
        components = tomotopy_topics(model, X.shape[1], timepoint=timepoint)
        prior = n_topics**0.45 * softmax(model.alpha[timepoint])  # a sum as ours has, and its shares
        yield Topics(components, prior, timepoint == len(periods) - 1)


def gensim_dynamic(periods, n_topics, seed):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaSeqModel

    X = sp.vstack(periods, format="csr")
    model = LdaSeqModel(
        corpus=list(Sparse2Corpus(X, documents_columns=False)),
        time_slice=[period.shape[0] for period in periods],
        id2word={i: str(i) for i in range(X.shape[1])},
        num_topics=n_topics,
        random_state=seed,
        em_max_iter=0,  # which means six, the default of em_min_iter
    )
    for t in range(len(periods)):
        components = np.exp([chain.e_log_prob[:, t] for chain in model.topic_chains])
        yield Topics(components, model.alphas, t == len(periods) - 1)


METHODS = {
    "each period alone": alone,
    "all periods so far": together,
    "partial_fit": stream,
    "partial_fit, learning_decay=0.5": partial(stream, learning_decay=0.5),
    "partial_fit, three times, learning_decay=0.5": partial(stream, n_calls=3, learning_decay=0.5),
    "components_init": partial(carried, share=0.0),
    "components_init, 0.1 in the prior": partial(carried, share=0.1),
    "components_init, 0.5 in the prior": partial(carried, share=0.5),
    "tomotopy DTModel": tomotopy_dynamic,
    "gensim LdaSeqModel": gensim_dynamic,
}
DYNAMIC = list(METHODS)[-2:]
MEASURES = {
    "scores": "score, next periods",
    "last": "score, last period",
    "npmi": "NPMI",
    "same": "same number",
    "similar": "similarity",
}
HEAD = ["corpus", "periods", "topics", "method", "seeds", *MEASURES.values(), "seconds"]


def measure(corpus, method, seed):
    """The row of a run: values of each period."""
    periods, n_topics = periods_of(corpus)
    models, row, before, seconds = METHODS[method](periods[:-1], n_topics, seed), {}, None, 0.0
    for X, following in pairwise(periods):
        more, model = seconds_of(next, models)
        seconds += more
        topics = normalize(model.components_)
        found = {"npmi": coherence(model.components_, X)}
        if before is not None:
            cosines = topics @ before.T
            found["same"] = np.mean(cosines.argmax(axis=1) == np.arange(n_topics))
            found["similar"] = np.mean(np.diag(cosines))
        if getattr(model, "is_last", True):
            found["scores"] = score(model, following[:MOST_TEST])
        for name, value in found.items():
            row.setdefault(name, []).append(round(float(value), 5))
        before = topics
    if len(row["scores"]) == 1:
        row["last"] = row.pop("scores")
    else:
        row["last"] = row["scores"][-1:]
    return {**row, "topics": n_topics, "seconds": round(seconds, 2)}


def score(model, X):
    """Document completion; of a dynamic model, with its prior or ours, whichever is better."""
    priors = [model.doc_topic_prior_]
    if isinstance(model, Topics):
        priors.append(len(priors[0]) ** -0.55)
    return max(document_completion(model.components_, X, doc_topic_prior=prior) for prior in priors)


def write_tables(study):
    table = []
    for corpus, method in product(CORPORA, METHODS):
        rows = study.cache.select(corpus=corpus, method=method)
        if rows:
            means = [np.mean([row.get(name, np.nan) for row in rows]) for name in MEASURES]
            seconds = f"{np.mean([row['seconds'] for row in rows]):.1f}"
            head = [corpus, len(CORPORA[corpus][0]), rows[0]["topics"], method, len(rows)]
            table.append([*head, *shown(means, ".3f"), seconds])
    study.write("", HEAD, table)


def is_wanted(corpus, method, seed):
    """Dynamic models take long."""
    return method not in DYNAMIC or (seed == 0 and (corpus == SMALL or METHODS[method] is not gensim_dynamic))


def main():
    study = Study("periods", new_parser(__doc__, runs=True, jobs=1).parse_args())
    runs = [(corpus, method, seed) for seed, corpus, method in product(SEEDS, CORPORA, METHODS)]
    study.measure(measure, [run for run in runs if is_wanted(*run)])
    write_tables(study)


if __name__ == "__main__":
    main()
