"""How fast the working tree is: against an earlier commit, scikit-learn and tomotopy.

    python benchmarks/speed.py [COMMIT] [--measures train transform ...] [--rounds 60]

COMMIT (the one before the last) is built in benchmarks/output/speed. Both sides of a line run short slices of
work in turn, in processes of their own with one thread. The ratio is the median over the rounds, with a
bootstrap interval of 95 percent.

train      OnlineEMLDA.partial_fit of 1000 documents, 100 and 1000 topics
many       partial_fit at 10,000 topics in batches of 200 documents, against the earlier commit at 1000 topics
           with its defaults
jobs       partial_fit with n_jobs=2 against n_jobs=1, this commit alone
transform  OnlineEMLDA.transform of 1000 documents, 100 and 1000 topics
single     OnlineEMLDA.transform of one document, 100 topics; and scikit-learn's validate_data alone
few        CollapsedGibbsLDA.partial_fit of ten documents on a fitted model, 100 topics, KOS; also against its
           sweeps alone
hybrid     HybridHDP: partial_fit and transform of 500 documents, of arXiv and KOS
others     OnlineCVB0LDA, OnlineOPELDA, OnlineVariationalLDA, MomentMatchingLDA: partial_fit
sampler    topics drawn per second in documents, by partial_fit of OnlineEMLDA as a whole and by its sampler
           alone, against the training of tomotopy on one core; KOS
gibbs      tokens swept per second by CollapsedGibbsLDA, against tomotopy on one core; KOS
peers      partial_fit and transform at 100 topics, against scikit-learn's online LDA
"""

import os
import random
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from io import BytesIO
from typing import NamedTuple

import numpy as np
from _corpora import load
from _study import OUTPUT, ROOT, Study, new_parser

HEAD = ["corpus", "work", "topics", "unit", "compared with", "median of that", "median now", "times as fast"]
HEAD += ["95 percent interval from", "to"]


def n_before(X):
    """Documents that a model is trained on before it is measured."""
    return min(3000, X.shape[0] // 2)


def online_em(X, n_components, n_jobs=1, **settings):
    from sktopic.lda import OnlineEMLDA

    model = OnlineEMLDA(n_components=n_components, n_jobs=n_jobs, random_state=0, **settings)
    return model.partial_fit(X[: n_before(X)])


def pieces(X, size):
    """Documents for slice i, from behind those trained on, round and round."""
    rest = X[n_before(X) :]
    n = rest.shape[0] // size
    return lambda i: rest[i % n * size : (i % n + 1) * size]


# Each returns (documents, or what the unit says, of a slice; function of the number of a slice).


def train(X, n_components, n_jobs=1, **settings):
    model, piece = online_em(X, n_components, n_jobs, **settings), pieces(X, 1000)
    return 1000, lambda i: model.partial_fit(piece(i))


def train_many(X, n_components):
    return train(X, n_components, batch_size=200)


def transform(X, n_components):
    model, piece = online_em(X, n_components), pieces(X, 1000)
    return 1000, lambda i: model.transform(piece(i))


def single(X, n_components):
    model, document = online_em(X, n_components), X[:1].astype(float)
    return 100, lambda i: [model.transform(document) for _ in range(100)]


def validation(X, n_components):
    from sklearn.utils.validation import validate_data

    model, document = online_em(X, n_components), X[:1].astype(float)
    settings = {"reset": False, "accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    return 100, lambda i: [validate_data(model, document, **settings) for _ in range(100)]


def few(X, n_components):
    from sktopic.lda import CollapsedGibbsLDA

    model = CollapsedGibbsLDA(n_components=n_components, max_iter=20, random_state=0).fit(X[: n_before(X)])
    model.set_params(max_iter=200)
    piece = pieces(X, 10)
    return 1, lambda i: model.partial_fit(piece(i))


def few_sweeps(X, n_components):
    """The sweeps of the same."""
    from sktopic._documents._matrices import DocumentReader, as_documents
    from sktopic.lda._shards import Shard, topic_prior_of

    counts, prior, piece = np.ones((X.shape[1], n_components)), np.full(n_components, 0.08), pieces(X, 10)
    topic_prior = topic_prior_of(*counts.shape, 0.02, None)

    def run(i):
        batch = DocumentReader(as_documents(piece(i))).batch(np.arange(10))
        shard, totals = Shard.of(batch, prior, 1e-9), counts.sum(axis=0)
        given = {"counts": counts, "update_counts": True, "prior": prior, "topic_prior": topic_prior}
        for sweep in range(200):
            totals = shard.sweep(totals, key=sweep, **given)

    return 1, run


def hybrid(X, method):
    from sktopic.hdp import HybridHDP

    model, piece = HybridHDP(random_state=0).partial_fit(X[: n_before(X)]), pieces(X, 500)
    return 500, lambda i: getattr(model, method)(piece(i))


def other(X, name, n_components):
    from sktopic import lda, moment_matching

    settings = {"total_samples": X.shape[0]} if name.startswith("Online") else {}
    cls = getattr(lda, name, None) or getattr(moment_matching, name)
    model = cls(n_components=n_components, random_state=0, **settings)
    piece = pieces(X, 100)
    model.partial_fit(X[:500])
    return 100, lambda i: model.partial_fit(piece(i))


def sampler(X, n_components):
    """Draws of the document step of OnlineEMLDA."""
    from sktopic._documents._matrices import DocumentReader, as_documents
    from sktopic._runtime._parallel import Workers

    model, piece, workers = online_em(X, n_components), pieces(X, 50), Workers(1)
    step, topics, prior = model._method().inference, model._topic_probabilities(), model.doc_topic_prior_
    batch = DocumentReader(as_documents(piece(0))).batch(np.arange(50))
    gathered, keys = topics.gather(batch.words, prior, workers), batch.content_keys(0)

    def run(i):
        for k in range(10):
            step(batch, gathered, prior, keys + np.uint64(10 * i + k), workers)

    return 10 * batch.n_clumps * (step.burn_in + step.sweeps), run


def train_draws(X, n_components):
    """Draws of partial_fit as a whole."""
    model, piece = online_em(X, n_components), pieces(X, 500)
    n_tokens = X[n_before(X) :].sum() / (X.shape[0] - n_before(X)) * 500
    return n_tokens * (model.doc_burn_in + model.doc_sweeps), lambda i: model.partial_fit(piece(i))


def collapsed(X, n_components):
    """Sweeps of CollapsedGibbsLDA over the documents that tomotopy_draws has, with its priors."""
    from sktopic._documents._matrices import DocumentReader, as_documents
    from sktopic._inference._token_counts import add_tokens
    from sktopic.lda._shards import Shard, topic_prior_of

    X = X[: n_before(X)]
    counts, prior = np.zeros((X.shape[1], n_components)), np.full(n_components, 0.1)
    topic_prior = topic_prior_of(*counts.shape, 0.01, None)
    shard = Shard.of(DocumentReader(as_documents(X)).batch(np.arange(X.shape[0])), prior, 1e-9)
    shard.z[:] = np.random.default_rng(0).integers(n_components, size=len(shard.z))
    add_tokens(shard, counts)
    shard.list_topics()
    totals = [counts.sum(axis=0)]
    given = {"counts": counts, "update_counts": True, "prior": prior, "topic_prior": topic_prior}

    def run(i):
        totals[0] = shard.sweep(totals[0], key=i, **given)

    for i in range(20):
        run(2**32 + i)
    return X.sum(), run


def tomotopy_draws(X, n_components):
    import tomotopy

    X = X[: n_before(X)]
    model = tomotopy.LDAModel(k=n_components, alpha=0.1, eta=0.01, seed=0)
    model.optim_interval = 0
    for row in X.astype(int):
        model.add_doc([str(w) for w, n in zip(row.indices, row.data) for _ in range(n)])
    model.train(20, workers=1)  # topics concentrate, and draws with them
    return X.sum(), lambda i: model.train(1, workers=1)


def scikit_learn(X, method):
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(100, learning_method="online", batch_size=50, total_samples=X.shape[0])
    model.partial_fit(X[:300])
    piece = pieces(X, 100)
    return 100, lambda i: getattr(model, method)(piece(i))


class Work(NamedTuple):
    """One side of a line: what the table calls it, its tree ("earlier" or "now"), function and arguments."""

    name: str
    tree: str
    function: Callable
    arguments: tuple


def against_earlier(function, *arguments):
    return Work("", "earlier", function, arguments), Work("now", "now", function, arguments)


def now(function, *arguments, name="now"):
    return Work(name, "now", function, arguments)


DOCUMENTS, TOKENS = "documents/s", "tokens/s"
OTHERS = {"OnlineCVB0LDA": 100, "OnlineOPELDA": 100, "OnlineVariationalLDA": 100, "MomentMatchingLDA": 20}
FEW, SWEEPS = "partial_fit of ten documents, Gibbs", "CollapsedGibbsLDA, sweeps"
PEER, THOUSAND = partial(now, scikit_learn), Work("1000 topics at ", "earlier", train, (1000,))
# measure: (corpus, name in the table, topics, unit, its two sides).
MEASURES = {
    "train": [("arxiv_0", "training", k, DOCUMENTS, *against_earlier(train, k)) for k in (100, 1000)],
    "many": [("arxiv_0", "training, batches of 200", 10_000, DOCUMENTS, THOUSAND, now(train_many, 10_000))],
    "jobs": [
        ("arxiv_0", "training, two jobs", k, DOCUMENTS, now(train, k, name="one job"), now(train, k, 2))
        for k in (100, 1000)
    ],
    "transform": [
        ("arxiv_0", "transform", k, DOCUMENTS, *against_earlier(transform, k)) for k in (100, 1000)
    ],
    "single": [
        ("arxiv_0", "transform of one document", 100, "us", *against_earlier(single, 100)),
        ("arxiv_0", "validate_data of one document", 100, "us", *against_earlier(validation, 100)),
    ],
    "few": [
        ("kos", FEW, 100, "ms", *against_earlier(few, 100)),
        ("kos", FEW, 100, "ms", now(few_sweeps, 100, name="its sweeps"), now(few, 100)),
    ],
    "hybrid": [
        (corpus, f"HybridHDP, {name}", 100, DOCUMENTS, *against_earlier(hybrid, method))
        for corpus in ("arxiv_0", "kos")
        for name, method in (("training", "partial_fit"), ("transform", "transform"))
    ],
    "others": [
        ("arxiv_0", f"{name}, training", k, DOCUMENTS, *against_earlier(other, name, k))
        for name, k in OTHERS.items()
    ],
    "sampler": [
        ("kos", name, k, "draws/s", now(tomotopy_draws, k, name="tomotopy"), now(function, k))
        for k in (100, 1000)
        for name, function in (("sampler alone", sampler), ("training", train_draws))
    ],
    "gibbs": [
        ("kos", SWEEPS, k, TOKENS, now(tomotopy_draws, k, name="tomotopy"), now(collapsed, k))
        for k in (100, 1000)
    ],
    "peers": [
        ("arxiv_0", name, 100, DOCUMENTS, PEER(method, name="scikit-learn"), now(own, 100))
        for name, method, own in (("training", "partial_fit", train), ("transform", "transform", transform))
    ],
}


def serve(measure, number, side):
    """Run a slice for each line of input, and print its seconds."""
    corpus, _, _, _, *works = MEASURES[measure][number]
    X, _, _ = load(corpus)
    work = works[side]
    n, run = work.function(X, *work.arguments)
    print(n, flush=True)
    for i, _ in enumerate(sys.stdin):
        start = time.perf_counter()
        run(i)
        print(time.perf_counter() - start, flush=True)


class Side:
    """A process that measures a side in a tree; n is what the unit counts of a slice."""

    def __init__(self, tree, measure, number, side):
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", measure, str(number), str(side)],
            env={**os.environ, **one_thread, "PYTHONPATH": str(tree)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.n = float(self._process.stdout.readline())

    def seconds(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.stdin.close()
        self._process.wait()


def in_turn(sides, n_rounds):
    """Seconds of each side in each round, ndarray of shape (n_rounds, n_sides)."""
    order, seconds = list(range(len(sides))), np.empty((n_rounds, len(sides)))
    for side in sides:
        side.seconds()  # the first slice finds cold caches
    for row in seconds:
        random.shuffle(order)
        for i in order:
            row[i] = sides[i].seconds()
    return seconds


def interval(ratios, generator):
    """Median, and the bounds of its bootstrap interval of 95 percent."""
    medians = np.median(generator.choice(ratios, size=(2000, len(ratios))), axis=1)
    return np.median(ratios), *np.quantile(medians, [0.025, 0.975])


def amount(seconds, unit):
    """What seconds for one document, draw or call come to in a unit."""
    per_second = {"us": 1e6, "ms": 1e3}
    return f"{seconds * per_second[unit]:.1f}" if unit in per_second else f"{1 / seconds:.0f}"


def measured(earlier, measure, number, n_rounds):
    """A row of the table."""
    corpus, name, topics, unit, *works = MEASURES[measure][number]
    trees = {"earlier": earlier, "now": ROOT}
    with ExitStack() as stack:
        sides = [Side(trees[work.tree], measure, number, i) for i, work in enumerate(works)]
        sides = [stack.enter_context(side) for side in sides]
        seconds = in_turn(sides, n_rounds) / [side.n for side in sides]
    middle = [amount(np.median(s), unit) for s in seconds.T]
    ratio = interval(seconds[:, 0] / seconds[:, 1], np.random.default_rng(0))
    against = works[0].name + (earlier.name if works[0].tree == "earlier" else "")
    return [corpus, name, topics, unit, against, *middle, *(f"{x:.2f}" for x in ratio)]


def built(commit):
    """The folder that a commit is built in."""
    name = subprocess.check_output(["git", "rev-parse", "--short", commit], cwd=ROOT, text=True).strip()
    folder = OUTPUT / "speed" / name
    if not (folder / "built").exists():
        print(f"building {name} in {folder}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        archive = subprocess.check_output(["git", "archive", name], cwd=ROOT)
        with tarfile.open(fileobj=BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
        subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=folder, check=True)
        (folder / "built").touch()
    return folder


def main():
    if sys.argv[1:2] == ["--serve"]:
        measure, number, side = sys.argv[2:]
        serve(measure, int(number), int(side))
        return
    parser = new_parser(__doc__)
    parser.add_argument("commit", nargs="?", default="HEAD~1", help="the earlier one")
    parser.add_argument("--measures", nargs="+", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--rounds", type=int, default=60)
    arguments = parser.parse_args()
    study = Study("speed", arguments)
    earlier = built(arguments.commit)

    def rows():
        for measure in arguments.measures:
            for number in range(len(MEASURES[measure])):
                row = measured(earlier, measure, number, arguments.rounds)
                print(*row, sep="  ", flush=True)
                yield row

    study.sign(f"against {earlier.name}, {arguments.rounds} rounds; ")
    study.write("", HEAD, rows())


if __name__ == "__main__":
    main()
