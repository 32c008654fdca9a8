"""How fast the working tree is, against an earlier commit and against scikit-learn's validation.

    python benchmarks/speed.py [COMMIT] [--corpus arxiv_0] [--measures train transform ...] [--rounds 60]

COMMIT (the one before the last) is built in benchmarks/output/speed. Both sides run the same short slices of
work in turn, in processes of their own with one thread: what else the machine does meets both alike. The
ratio is the median over the rounds, with a bootstrap interval of 95 percent. speed.csv goes to
benchmarks/output/, or with --update to doc/benchmarks/.

train      OnlineEMLDA.partial_fit of 1000 documents, 100 and 1000 topics
jobs       the same with n_jobs=2 against n_jobs=1, this commit alone
transform  OnlineEMLDA.transform of 1000 documents, 100 topics
single     OnlineEMLDA.transform of one document, 100 topics; and validate_data alone, which it begins with
few        CollapsedGibbsLDA.partial_fit of ten documents on a fitted model, 100 topics
hybrid     HybridHDP: partial_fit and transform of 500 documents
"""

import os
import random
import subprocess
import sys
import tarfile
import time
from contextlib import ExitStack
from io import BytesIO

import numpy as np
from _corpora import load
from _study import OUTPUT, ROOT, Study, new_parser

HEAD = ["measure", "topics", "unit", "earlier", "now", "times as fast", "from", "to"]
# Documents that a model is trained on before it is measured.
N_BEFORE = 3000


def online_em(X, n_components, n_jobs=1):
    from sktopic.lda import OnlineEMLDA

    model = OnlineEMLDA(n_components=n_components, n_jobs=n_jobs, random_state=0)
    return model.partial_fit(X[:N_BEFORE])


def pieces(X, size):
    """Documents for slice i, from behind those trained on, round and round."""
    rest = X[N_BEFORE:]
    n = rest.shape[0] // size
    return lambda i: rest[i % n * size : (i % n + 1) * size]


# Each returns (documents of a slice, function of the number of a slice).


def train(X, n_components, n_jobs=1):
    model, piece = online_em(X, n_components, n_jobs), pieces(X, 1000)
    return 1000, lambda i: model.partial_fit(piece(i))


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

    model = CollapsedGibbsLDA(n_components=n_components, max_iter=20, random_state=0).fit(X[:N_BEFORE])
    model.set_params(max_iter=200)
    piece = pieces(X, 10)
    return 10, lambda i: model.partial_fit(piece(i))


def hybrid(X, method):
    from sktopic.hdp import HybridHDP

    model, piece = HybridHDP(random_state=0).partial_fit(X[:N_BEFORE]), pieces(X, 500)
    return 500, lambda i: getattr(model, method)(piece(i))


# measure: (name in the table, topics, unit, function, its arguments on either side).
NOW, BOTH = ("now",), ("earlier", "now")
MEASURES = {
    "train": [("training", k, "documents/s", BOTH, train, (k,)) for k in (100, 1000)],
    "jobs": [("training, two jobs over one", k, "documents/s", NOW, train, (k,)) for k in (100, 1000)],
    "transform": [("transform", 100, "documents/s", BOTH, transform, (100,))],
    "single": [
        ("transform of one document", 100, "us", BOTH, single, (100,)),
        ("validate_data of one document", 100, "us", BOTH, validation, (100,)),
    ],
    "few": [("partial_fit of ten documents, Gibbs", 100, "ms", BOTH, few, (100,))],
    "hybrid": [
        ("HybridHDP, training", 100, "documents/s", BOTH, hybrid, ("partial_fit",)),
        ("HybridHDP, transform", 100, "documents/s", BOTH, hybrid, ("transform",)),
    ],
}


def serve(corpus, measure, number, n_jobs):
    """Run a slice for each line of input, and print its seconds."""
    X, _, _ = load(corpus)
    *_, function, arguments = MEASURES[measure][number]
    n_documents, run = function(X, *arguments, *((n_jobs,) if n_jobs > 1 else ()))
    print(n_documents, flush=True)
    for i, _ in enumerate(sys.stdin):
        start = time.perf_counter()
        run(i)
        print(time.perf_counter() - start, flush=True)


class Side:
    """A process that measures one tree.

    Parameters
    ----------
    tree : the checkout whose sktopic is imported
    corpus, measure, number, n_jobs : as of `serve`
    """

    def __init__(self, tree, corpus, measure, number, n_jobs=1):
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", corpus, measure, str(number), str(n_jobs)],
            env={**os.environ, **one_thread, "PYTHONPATH": str(tree)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.n_documents = int(self._process.stdout.readline())

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


def amount(seconds, n_documents, unit):
    """What seconds for a slice of documents come to in a unit."""
    if unit == "documents/s":
        return f"{n_documents / seconds:.0f}"
    return f"{seconds * 1e3:.1f}" if unit == "ms" else f"{seconds / n_documents * 1e6:.0f}"


def measured(corpus, earlier, measure, number, n_rounds):
    """A row of the table."""
    name, topics, unit, sides, *_ = MEASURES[measure][number]
    given = corpus, measure, number
    with ExitStack() as stack:
        first = stack.enter_context(Side(earlier if sides == BOTH else ROOT, *given))
        second = stack.enter_context(Side(ROOT, *given, n_jobs=1 if sides == BOTH else 2))
        seconds = in_turn([first, second], n_rounds)
    middle = [amount(np.median(s), first.n_documents, unit) for s in seconds.T]
    ratio = interval(seconds[:, 0] / seconds[:, 1], np.random.default_rng(0))
    return [name, topics, unit, *middle, *(f"{x:.2f}" for x in ratio)]


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
        corpus, measure, number, n_jobs = sys.argv[2:]
        serve(corpus, measure, int(number), int(n_jobs))
        return
    parser = new_parser(__doc__)
    parser.add_argument("commit", nargs="?", default="HEAD~1", help="the earlier one")
    parser.add_argument("--corpus", default="arxiv_0")
    parser.add_argument("--measures", nargs="+", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--rounds", type=int, default=60)
    arguments = parser.parse_args()
    study = Study("speed", arguments)
    earlier = built(arguments.commit)

    def rows():
        for measure in arguments.measures:
            for number in range(len(MEASURES[measure])):
                row = measured(arguments.corpus, earlier, measure, number, arguments.rounds)
                print(*row, sep="  ", flush=True)
                yield row

    study.sign(f"{arguments.corpus}, against {earlier.name}, {arguments.rounds} rounds; ")
    study.write("", HEAD, rows())


if __name__ == "__main__":
    main()
