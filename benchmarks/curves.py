"""Held-out score against seconds of training: OnlineEMLDA and the libraries a user would take.

    python benchmarks/curves.py [CORPUS] [--n-components 100]

One core each, defaults but for the number of topics. Writes curves_CORPUS.csv and .svg to benchmarks/output/,
or with --update to doc/benchmarks/; the score is that of benchmarks/peers.py.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from _corpora import N_TEST, default_corpus, load
from _study import Study, named, new_parser, save

from sktopic import OnlineEMLDA
from sktopic.metrics import document_completion


class Clock:
    """Adds up the seconds spent inside its blocks."""

    seconds = 0.0

    def __enter__(self):
        self._start = time.perf_counter()

    def __exit__(self, *exc_info):
        self.seconds += time.perf_counter() - self._start


def sktopic_curve(train, n_components):
    model, clock = OnlineEMLDA(n_components, random_state=0, total_samples=train.shape[0]), Clock()
    rng = np.random.RandomState(0)
    for _ in range(model.max_iter):
        for rows in np.array_split(rng.permutation(train.shape[0]), 4):
            part = train[rows]
            with clock:
                model.partial_fit(part)
            yield clock.seconds, model, None


def tomotopy_curve(train, n_components):
    import tomotopy

    model, clock = tomotopy.LDAModel(k=n_components, seed=0), Clock()
    words = np.array([str(i) for i in range(train.shape[1])])
    for row in train:
        model.add_doc(np.repeat(words[row.indices], row.data).tolist())
    model.train(0)
    for sweeps in (12, 13, 25, 50, 100, 200):
        with clock:
            model.train(sweeps, workers=1)
        components = np.full((n_components, train.shape[1]), 1e-12)
        columns = [int(word) for word in model.used_vocabs]
        components[:, columns] = [model.get_topic_word_dist(k) for k in range(n_components)]
        yield clock.seconds, components, np.asarray(model.alpha, dtype=float)


def sklearn_curve(train, n_components):
    from sklearn.decomposition import LatentDirichletAllocation

    model, clock = (
        LatentDirichletAllocation(n_components, random_state=0, total_samples=train.shape[0]),
        Clock(),
    )
    rng = np.random.RandomState(0)
    for _ in range(10):
        part = train[rng.permutation(train.shape[0])]
        with clock:
            model.partial_fit(part)
        yield clock.seconds, model, None


def gensim_curve(train, n_components):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    corpus, clock = list(Sparse2Corpus(train, documents_columns=False)), Clock()
    names = {i: str(i) for i in range(train.shape[1])}
    model = LdaModel(None, n_components, id2word=names, alpha="auto", random_state=0)
    for _ in range(8):
        with clock:
            model.update(corpus)
        yield clock.seconds, model.get_topics(), np.asarray(model.alpha, dtype=float)


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
    axes.set(
        xscale="log",
        xlabel="seconds of training, one core",
        ylabel="held-out nats per word",
        title=f"{named(corpus)}, {n_components} topics",
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left")
    save(figure, study.path(f"_{corpus}.svg"))


if __name__ == "__main__":
    main()
