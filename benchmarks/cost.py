"""What a token costs in training and in transform, by the number of topics and by the size of the vocabulary.

    python benchmarks/cost.py [--corpus arxiv_0]

OnlineEMLDA with its defaults and one job, on documents that it has not seen: at 10 to 10,000 topics on the
corpus, and at 100 topics on documents of 76 words drawn from vocabularies of 1000 to 1,000,000 words whose
frequencies fall as 1 / rank. cost.csv has the shortest of several slices; memory is the peak of the process
in training above what it had before, over 8 bytes a word and topic. The files go to benchmarks/output/, or
with --update to doc/benchmarks/.
"""

import resource
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp
from _corpora import load
from _study import Study, finish, new_parser, panels

TOPICS = (10, 100, 1000, 10_000)
VOCABULARIES = (1000, 10_000, 100_000, 1_000_000)
HEAD = ["documents", "words", "topics", "training, ns a token", "transform, ns a token", "memory / (8 V K)"]
N_BEFORE, N_SLICE, N_SLICES = 1000, 200, 8


def drawn(n_words):
    """Documents of 76 words, the r-th word being drawn with a probability proportional to 1 / r."""
    rng = np.random.default_rng(0)
    n = N_BEFORE + N_SLICE * N_SLICES
    cumulative = np.cumsum(1.0 / np.arange(1, n_words + 1))
    words = np.searchsorted(cumulative, rng.random(76 * n) * cumulative[-1])
    return sp.csr_array((np.ones(76 * n), words, np.arange(n + 1) * 76), shape=(n, n_words))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(corpus, n_words, n_topics):
    """Print a row; in a process of its own, whose peak memory is that of this model."""
    from sktopic.lda import OnlineEMLDA

    X = load(corpus)[0] if n_words == 0 else drawn(n_words)
    X = X[: N_BEFORE + N_SLICE * N_SLICES].astype(np.float64)
    before = peak()
    model = OnlineEMLDA(n_components=n_topics, random_state=0).partial_fit(X[:N_BEFORE])
    seconds, memory = [], 0.0
    for first in range(N_BEFORE, X.shape[0], N_SLICE):
        some, times = X[first : first + N_SLICE], []
        for call in (model.partial_fit, model.transform):
            start = time.perf_counter()
            call(some)
            times.append((time.perf_counter() - start) / some.sum())
            memory = memory or (peak() - before) / (8 * X.shape[1] * n_topics)
        seconds.append(times)
    train, transform = np.min(seconds, axis=0) * 1e9
    name = corpus if n_words == 0 else "drawn"
    print(name, X.shape[1], n_topics, f"{train:.0f}", f"{transform:.0f}", f"{memory:.2f}", sep=",")


def measured(*arguments):
    command = [sys.executable, __file__, "--measure", *map(str, arguments)]
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print(line, end="", flush=True)
    return line.strip().split(",")


def draw(study, rows):
    """Both halves of the table."""
    titles = {"drawn": "100 topics", **{row[0]: "number of words as in the corpus" for row in rows[:1]}}
    figure, axes = panels(list(titles.values()))
    for name, title in titles.items():
        column = 1 if name == "drawn" else 2
        of = np.array([row[1:5] for row in rows if row[0] == name], dtype=float)
        axes[title].loglog(of[:, column - 1], of[:, 2], ".-", label="training")
        axes[title].loglog(of[:, column - 1], of[:, 3], ".--", label="transform")
        axes[title].set_xlabel("words" if name == "drawn" else "topics")
        axes[title].set_ylabel("ns a token")
    finish(figure, study.path(".png"))


def main():
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    parser = new_parser(__doc__)
    parser.add_argument("--corpus", default="arxiv_0")
    arguments = parser.parse_args()
    study = Study("cost", arguments)
    rows = [measured(arguments.corpus, 0, n_topics) for n_topics in TOPICS]
    rows += [measured(arguments.corpus, n_words, 100) for n_words in VOCABULARIES]
    study.sign()
    study.write("", HEAD, rows)
    draw(study, rows)


if __name__ == "__main__":
    main()
