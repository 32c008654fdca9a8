"""What a token costs in training and in transform, by the number of topics and by the size of the vocabulary.

    python benchmarks/cost.py [--corpus arxiv_0]

OnlineEMLDA with its defaults and one job, on documents that it has not seen: at 10 to 10,000 topics on the
corpus, and at 100 topics on documents of 76 words drawn from vocabularies of 1000 to 1,000,000 words whose
frequencies fall as 1 / rank; "lists" has the same with topics_per_word. All cases take turns, as the speed of
a shared machine changes within minutes, and times are the shortest of all slices in all turns. Memory is the
least peak of the process in training above what it had before, over 8 bytes a word and topic. "parts" has
where an update of 50 documents spends its time, in one turn: reading the topic rows of its words, drawing
topics, adding what was counted, and all else; with the memory that the first and third move, a row being read
as float64 and written as float32, then read and written as float64, against what NumPy copies.
"""

import time

import numpy as np
import scipy.sparse as sp
from _corpora import load
from _pictures import finish, panels
from _study import Study, apart, new_parser, peak_megabytes, printed, seconds_of, timed_in

from sktopic._inference._gibbs import GibbsStep
from sktopic._topics import _topic_rows
from sktopic._topics._word_counts import WordCounts
from sktopic._training import _minibatches
from sktopic.lda import OnlineEMLDA

TOPICS = (10, 100, 1000, 10_000)
VOCABULARIES = (1000, 10_000, 100_000, 1_000_000)
# Words, topics and topics_per_word of the models with lists.
LISTED = ((0, 10_000, 256), (100_000, 10_000, 256), (1_000_000, 100_000, 128))
HEAD = ["documents", "words", "topics", "training, ns a token", "transform, ns a token", "memory / (8 V K)"]
FORMS = *4 * [".0f"], ".3f"
LISTS_HEAD = ["topics per word", *HEAD]
PARTS_HEAD = ["topics", "rows, ms", "draws, ms", "adding, ms", "else, ms"]
PARTS_HEAD += ["rows and adding, GB/s", "copy, GB/s"]
N_BEFORE, N_SLICE, N_SLICES, N_TURNS = 1000, 200, 8, 5


def drawn(n_words):
    """Documents of 76 words, the r-th word being drawn with a probability proportional to 1 / r."""
    rng = np.random.default_rng(0)
    n = N_BEFORE + N_SLICE * N_SLICES
    cumulative = np.cumsum(1.0 / np.arange(1, n_words + 1))
    words = np.searchsorted(cumulative, rng.random(76 * n) * cumulative[-1])
    return sp.csr_array((np.ones(76 * n), words, np.arange(n + 1) * 76), shape=(n, n_words))


def measure(corpus, n_words, n_topics, per_word=None):
    """Numbers of a row; in a process of its own, whose peak memory is that of this model."""
    X = load(corpus)[0] if n_words == 0 else drawn(n_words)
    X = X[: N_BEFORE + N_SLICE * N_SLICES].astype(np.float64)
    before = peak_megabytes()
    model = OnlineEMLDA(n_components=n_topics, topics_per_word=per_word, random_state=0)
    model.partial_fit(X[:N_BEFORE])
    seconds, memory = [], 0.0
    for first in range(N_BEFORE, X.shape[0], N_SLICE):
        some, times = X[first : first + N_SLICE], []
        for call in (model.partial_fit, model.transform):
            times.append(seconds_of(call, some, clock=time.perf_counter)[0] / some.sum())
            memory = memory or (peak_megabytes() - before) * 2**20 / (8 * X.shape[1] * n_topics)
        seconds.append(times)
    return [X.shape[1], n_topics, *np.min(seconds, axis=0) * 1e9, memory]


def measured(corpus, cases):
    """Rows of cases, which take turns."""
    turns = [[printed(apart(measure, corpus, *case)) for case in cases] for _ in range(N_TURNS)]
    for (n_words, *_), numbers in zip(cases, np.min(turns, axis=0), strict=True):
        cells = [format(number, form) for number, form in zip(numbers, FORMS, strict=True)]
        yield ["drawn" if n_words else corpus, *cells]


def copy_rate():
    """Bytes that NumPy reads and writes per second in copying arrays that no cache holds."""
    source = np.ones(2**25)
    target = np.zeros_like(source)
    seconds = (seconds_of(np.copyto, target, source, clock=time.perf_counter)[0] for _ in range(5))
    return 2 * source.nbytes / min(seconds)


def parts(corpus, n_topics):
    """A row of the table "parts": medians over updates."""
    X = load(corpus)[0][: N_BEFORE + 2000].astype(np.float64)
    model, words = OnlineEMLDA(n_components=n_topics, random_state=0), []
    model.partial_fit(X[:N_BEFORE])
    places = {"rows": (_topic_rows, "_gather"), "draws": (GibbsStep, "__call__")}
    places |= {"adding": (WordCounts, "add"), "all": (_minibatches, "train_on_batch")}
    with timed_in(places, time.perf_counter) as spent:
        model.partial_fit(X[N_BEFORE:])
    for first in range(N_BEFORE, X.shape[0], 50):
        words.append(len(np.unique(X[first : first + 50].indices)))
    rows, draws, adding, all_ = (np.median(spent[part]) for part in ("rows", "draws", "adding", "all"))
    moved = np.median(words) * n_topics * (8 + 4 + 8 + 8)
    times = [f"{1e3 * t:.2f}" for t in (rows, draws, adding, all_ - rows - draws - adding)]
    return [n_topics, *times, f"{moved / (rows + adding) / 1e9:.1f}", f"{copy_rate() / 1e9:.1f}"]


def draw(study, rows):
    """Both halves of the table."""
    titles = {rows[0][0]: f"{rows[0][1]} words", "drawn": "100 topics"}
    figure, axes = panels(list(titles.values()))
    for name, title in titles.items():
        column = 1 if name == "drawn" else 2
        of = np.array([row[1:5] for row in rows if row[0] == name], dtype=float)
        axes[title].loglog(of[:, column - 1], of[:, 2], ".-", label="training")
        axes[title].loglog(of[:, column - 1], of[:, 3], ".--", label="transform")
        across = "words" if name == "drawn" else "topics"
        axes[title].set(xlabel=across, ylabel="ns a token", ylim=(100, 30_000))
    finish(figure, study.path(".svg"))


def main():
    parser = new_parser(__doc__)
    parser.add_argument("--corpus", default="arxiv_0")
    arguments = parser.parse_args()
    study = Study("cost", arguments)
    by_topics, by_words = ((0, n_topics) for n_topics in TOPICS), ((n_words, 100) for n_words in VOCABULARIES)
    rows = [*measured(arguments.corpus, [*by_topics, *by_words])]
    lists = [[case[-1], *row] for case, row in zip(LISTED, measured(arguments.corpus, LISTED), strict=True)]
    study.sign()
    study.write("", HEAD, rows)
    study.write("lists", LISTS_HEAD, lists)
    study.write("parts", PARTS_HEAD, [parts(arguments.corpus, n_topics) for n_topics in TOPICS])
    draw(study, rows)


if __name__ == "__main__":
    main()
