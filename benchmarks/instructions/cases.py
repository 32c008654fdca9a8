"""Ten cases. The instructions inside `with counted():` are counted.

Each case first makes its data and models. It also makes the counted call once with a few documents, because
the first call imports modules.
"""

import ctypes
import sys
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path


def documents(n_samples=500):
    from sktopic.datasets import make_lda_documents

    settings = {"n_features": 2000, "n_components": 20, "mean_length": 80, "random_state": 0}
    return make_lda_documents(n_samples, **settings).data


def online_em(n_components):
    from sktopic import OnlineEMLDA

    return OnlineEMLDA(n_components, max_iter=1, random_state=0)


def import_an_estimator(counted):
    with counted():
        from sktopic import OnlineEMLDA  # noqa: F401


def fit(counted, model, X):
    model.fit(X[:20])
    with counted():
        model.fit(X)


def train(counted, n_components):
    fit(counted, online_em(n_components), documents())


def transform(counted):
    X = documents()
    model = online_em(100).fit(X)
    model.transform(X[:20])
    with counted():
        model.transform(X)


def transform_one_document(counted):
    X = documents()
    model, document = online_em(100).fit(X), X[:1]
    model.transform(document)
    with counted():
        for _ in range(50):
            model.transform(document)


def train_hdp_with_moves(counted):
    from sktopic import HybridHDP

    fit(counted, HybridHDP(max_iter=1, split_merge=True, random_state=0), documents())


def train_memoized_hdp(counted):
    from sktopic import DirectAssignmentHDP

    model = DirectAssignmentHDP(20, learning_method="memoized", max_iter=2, random_state=0)
    fit(counted, model, documents(100))


def match_moments(counted):
    from sktopic.moment_matching import MomentMatchingLDA

    fit(counted, MomentMatchingLDA(50, random_state=0), documents(200))


def read_from_disk(counted):
    """A pass over a corpus with so few topics that reading takes much of it."""
    from sktopic.datasets import open_corpus, save_corpus

    with tempfile.TemporaryDirectory() as folder:
        X, path = documents(2000), Path(folder, "corpus")
        save_corpus(path, X)
        model = online_em(2).fit(open_corpus(path))
        with counted():
            model.fit(open_corpus(path))


def save_and_load(counted):
    import sktopic

    with tempfile.TemporaryDirectory() as folder:
        model, path = online_em(100).fit(documents()), Path(folder, "model")
        model.save(path)
        sktopic.load(path)
        with counted():
            model.save(path)
            sktopic.load(path)


CASES = {
    "import": import_an_estimator,
    "training, 100 topics": partial(train, n_components=100),
    "training, 1000 topics": partial(train, n_components=1000),
    "transform": transform,
    "transform of one document": transform_one_document,
    "training of an HDP with moves": train_hdp_with_moves,
    "memoized training of an HDP": train_memoized_hdp,
    "moment matching": match_moments,
    "reading from disk": read_from_disk,
    "saving and loading": save_and_load,
}


def counted_by(path):
    """The context manager `counted`, by the functions of region.c."""
    region = ctypes.CDLL(path)

    @contextmanager
    def counted():
        region.start_counting()
        yield
        region.stop_counting()

    return counted


if __name__ == "__main__":
    case, library = sys.argv[1:]
    CASES[case](counted_by(library))
