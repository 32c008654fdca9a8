"""Held-out score against seconds of training: OnlineEMLDA and the libraries a user would take.

    python benchmarks/curves.py [CORPUS] [--n-components 100]

One core each, with defaults, except for the number of topics and, of gensim, GENSIM_LDA; the score is that of
benchmarks/peers.py.
"""

import time
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from _corpora import N_TEST, default_corpus, load
from _pictures import named, save
from _study import Study, new_parser, seconds_of
from _traces import GENSIM_LDA, add_documents, tomotopy_topics

from sktopic import OnlineEMLDA
from sktopic.metrics import document_completion


def timed(calls):
    """Yield the seconds of all calls so far."""
    seconds = 0.0
    for call in calls:
        seconds += seconds_of(call, clock=time.perf_counter)[0]
        yield seconds


def sktopic_curve(train, n_components):
    model = OnlineEMLDA(n_components, random_state=0, total_samples=train.shape[0])
    rng = np.random.RandomState(0)
    orders = (rng.permutation(train.shape[0]) for _ in range(model.max_iter))
    parts = (train[rows] for order in orders for rows in np.array_split(order, 4))
    yield from ((seconds, model, None) for seconds in timed(partial(model.partial_fit, X) for X in parts))


def tomotopy_curve(train, n_components):
    import tomotopy

    model = tomotopy.LDAModel(k=n_components, seed=0)
    add_documents(model, train)
    model.train(0)
    for seconds in timed(partial(model.train, n, workers=1) for n in (12, 13, 25, 50, 100, 200)):
        yield seconds, tomotopy_topics(model, train.shape[1]), np.asarray(model.alpha, dtype=float)


def sklearn_curve(train, n_components):
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(n_components, random_state=0, total_samples=train.shape[0])
    rng = np.random.RandomState(0)
    parts = (train[rng.permutation(train.shape[0])] for _ in range(10))
    yield from ((seconds, model, None) for seconds in timed(partial(model.partial_fit, X) for X in parts))


def gensim_curve(train, n_components):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    corpus = list(Sparse2Corpus(train, documents_columns=False))
    names = {i: str(i) for i in range(train.shape[1])}
    model = LdaModel(None, n_components, id2word=names, random_state=0, **GENSIM_LDA)
    for seconds in timed([partial(model.update, corpus)] * 8):
        yield seconds, model.get_topics(), model.alpha


CURVES = {
    "sktopic OnlineEMLDA": sktopic_curve,
    "tomotopy LDAModel": tomotopy_curve,
    "scikit-learn LDA, online": sklearn_curve,
    "gensim LdaModel": gensim_curve,
}


def main():
    parser = new_parser(__doc__)
    parser.add_argument("corpus", nargs="?", default=default_corpus())
    parser.add_argument("--n-components", type=int, default=100)
    arguments = parser.parse_args()
    train, test, _ = load(arguments.corpus)
    study = Study("curves", arguments)
    study.sign()
    points = {system: [] for system in CURVES}

    def rows():
        for system, curve in CURVES.items():
            for seconds, model, prior in curve(train, arguments.n_components):
                score = document_completion(model, test[:N_TEST], doc_topic_prior=prior)
                points[system].append((seconds, score))
                print(f"{system}: {seconds:.2f} s, {score:.4f}", flush=True)
                yield system, f"{seconds:.3f}", f"{score:.4f}"

    study.write(arguments.corpus, ["system", "seconds", "score"], rows())
    draw(study, arguments.corpus, arguments.n_components, points)


def draw(study, corpus, n_components, points):
    """Of each system, pairs of seconds and score."""
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for system, pairs in points.items():
        axes.plot(*zip(*pairs), marker="o", markersize=3, label=system)
    axes.set(xlabel="seconds of training, one core", ylabel="held-out nats per word", xscale="log")
    axes.set_title(f"{named(corpus)}, {n_components} topics")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left")
    save(figure, study.path(f"_{corpus}.svg"))


if __name__ == "__main__":
    main()
