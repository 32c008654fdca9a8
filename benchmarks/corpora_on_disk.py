"""Memory and time of training on corpora that are on disk, against the same documents in memory.

    SKTOPIC_DATA=~/corpora python benchmarks/corpora_on_disk.py [--scratch DIR] [--update]

The training documents of arxiv_0 ... arxiv_4, stacked ten times, are written to the folder --scratch as a
corpus. Each run is a process of its own.
"""

import mmap
import os
import signal
import tempfile
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from unittest import mock

from _corpora import load
from _study import Study, apart, megabytes, new_parser, printed, seconds_of
from scipy.sparse import csr_array

from sktopic._loading import CLASSES
from sktopic._state._fields import arrays_of
from sktopic._training._monitor import FitMonitor
from sktopic.datasets import open_corpus, save_corpus

FILES = [f"arxiv_{i}" for i in range(5)]
COPIES = 10
N_TOPICS = 100
METHODS = ("OnlineEMLDA", "OnlineVariationalLDA", "HybridLDA", "StreamingVariationalLDA", "HybridHDP")
SAMPLERS = {  # estimator and settings that are named -> parameters
    ("CollapsedGibbsLDA", ""): {"n_components": N_TOPICS},
    ("CollapsedGibbsLDA", "n_shards=8"): {"n_components": N_TOPICS, "n_shards": 8},
    ("CollapsedGibbsHDP", ""): {},
}
# Seconds after which runs that measure memory, or evict pages, are stopped: after many thousand documents.
LONGEST = 25
# Documents of a pass whose time is measured, and how many times.
N_TIMED, N_REPEATS = 30_000, 5
EVICTION_PERIOD = 0.5


def corpus_paths(scratch):
    """Folders of the corpora, written if they are not there: all, of one file, and of the first documents."""
    paths = {name: os.path.join(scratch, f"sktopic_{name}") for name in ("all", "one", "few")}
    if not os.path.exists(paths["all"]):
        parts = [csr_array(load(name)[0]) for name in FILES]
        save_corpus(paths["all"], (part for _ in range(COPIES) for part in parts))
    if not os.path.exists(paths["one"]):
        save_corpus(paths["one"], csr_array(load(FILES[0])[0]))
    if not os.path.exists(paths["few"]):
        save_corpus(paths["few"], csr_array(load(FILES[0])[0])[:N_TIMED])
    return paths


# What runs in a process of its own


@contextmanager
def watching(function, period):
    """Run something every few moments, in a thread."""
    over = threading.Event()

    def run():
        while not over.wait(period):
            function()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield
    over.set()
    thread.join()


def estimator(name, **params):
    return CLASSES[name](random_state=0, **params)


def fit_for(model, X, seconds):
    """Fit until Ctrl-C after so many seconds, which leaves the last complete update; returns the seconds."""

    def stop(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    start = time.perf_counter()
    with suppress(KeyboardInterrupt):
        model.fit(X)
    signal.alarm(0)
    return time.perf_counter() - start


def peak_of(model, X, seconds):
    """Bytes that a fit adds to anonymous memory at most, those of the model, and seconds."""
    before, most = megabytes("RssAnon"), [0]
    with watching(lambda: most.append(megabytes("RssAnon")), 0.02):
        passed = fit_for(model, X, seconds)
    most.append(megabytes("RssAnon"))
    topics = sum(value.nbytes for value in arrays_of(model._state).values())
    return 2**20 * (max(most) - before), topics, passed


def memory(path, name):
    estimator(name, n_components=N_TOPICS, max_iter=1).fit(open_corpus(path)[:2000])  # imports
    model = estimator(name, n_components=N_TOPICS, max_iter=1)
    peak, topics, seconds = peak_of(model, open_corpus(path), LONGEST)
    n_documents = model.n_samples_seen_
    return {"MB": peak / 1e6, "topics MB": topics / 1e6, "documents": n_documents, "seconds": seconds}


def sampler(path, name, settings):
    corpus = open_corpus(path)
    params = SAMPLERS[name, settings]
    estimator(name, max_iter=1, **params).fit(corpus[:500])
    model = estimator(name, max_iter=2, **params)
    peak, topics, seconds = peak_of(model, corpus, 10 * LONGEST)
    n_tokens = int(corpus.counts.data.sum(dtype="int64"))
    return {"bytes a token": (peak - topics) / n_tokens, "tokens": n_tokens, "seconds": seconds}


def pass_over(path, name):
    """Processor seconds of a pass over a corpus, and over the same in memory, in turn; pages are cached."""
    corpus = open_corpus(path)
    in_memory = corpus[:].astype("int32")
    seconds = {"disk": [], "memory": []}
    for repeat in range(N_REPEATS + 1):
        for kind, X in (("memory", in_memory), ("disk", corpus)):
            model = estimator(name, n_components=N_TOPICS, max_iter=1)
            spent, _ = seconds_of(model.fit, X)
            if repeat:
                seconds[kind].append(spent)
    best = {kind: min(times) for kind, times in seconds.items()}
    return {**best, "ratio": best["disk"] / best["memory"], "seconds": sum(map(sum, seconds.values()))}


def mappings(array):
    """The memory maps that an array is on."""
    while array is not None:
        if isinstance(array, mmap.mmap):
            return array
        array = array.base if hasattr(array, "base") else getattr(array, "obj", None)
    raise TypeError("this array is in memory")


def evict(corpus):
    """Let the system forget the pages of a corpus, those that are mapped among them."""
    for name in ("indptr", "indices", "data"):
        mappings(getattr(corpus.counts, name)).madvise(mmap.MADV_DONTNEED)
        with open(os.path.join(corpus.path, f"{name}.npy"), "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def noted_begin():
    """A list of the moments when the first update of a fit begins, after all checks."""
    moments, begin = [], FitMonitor.begin

    def noted(monitor, *given):
        moments.append(time.perf_counter())
        begin(monitor, *given)

    with mock.patch.object(FitMonitor, "begin", noted):
        yield moments


def evicted(path, order):
    """Documents a second while pages are evicted over and over, as of a corpus that is larger than memory."""
    corpus = open_corpus(path)
    X = corpus if order.startswith("by blocks") else corpus.counts
    model = estimator("OnlineEMLDA", n_components=N_TOPICS, max_iter=1)
    rates = {}
    for state in ("evicted", "cached"):  # each checks the corpus first, which reads all of it
        watch = watching(lambda: evict(corpus), EVICTION_PERIOD) if state == "evicted" else nullcontext()
        with watch, noted_begin() as begun:
            fit_for(model, X, LONGEST)
            rates[state] = model.n_samples_seen_ / (time.perf_counter() - begun[-1])
    return {**rates, "ratio": rates["cached"] / rates["evicted"], "seconds": 2 * LONGEST}


# Run -> function and name of the corpus.
RUNS = {
    **{("memory", name): (memory, "all") for name in METHODS},
    **{("time", name): (pass_over, "few") for name in METHODS},
    **{("evicted", order): (evicted, "all") for order in ("by blocks", "all rows")},
    **{("sampler", *names): (sampler, "one") for names in SAMPLERS},
}


def main():
    parser = new_parser(__doc__)
    parser.add_argument("--scratch", default=tempfile.gettempdir(), help="folder for corpora of 2 GB")
    arguments = parser.parse_args()
    study = Study("corpora_on_disk", arguments)
    paths = corpus_paths(arguments.scratch)
    for run, (function, corpus) in RUNS.items():
        if run not in study.cache:
            study.sign()
            study.cache.add(run, printed(apart(function, paths[corpus], *run[1:])))
    write_tables(study)


def write_tables(study):
    rows, table = study.cache.get, []
    for name in METHODS:
        m, t = rows("memory", name), rows("time", name)
        if m and t:
            sizes = f"{m['topics MB']:.0f}", f"{m['MB'] - m['topics MB']:.0f}"
            table.append([name, *sizes, f"{t['ratio']:.2f}"])
    study.write("", ("method", "MB of the model", "MB beside it", "time, over that in memory"), table)
    table = [
        [row["order"], f"{row['cached']:.0f}", f"{row['evicted']:.0f}", f"{row['ratio']:.2f}"]
        for row in study.cache.select(part="evicted")
    ]
    head = "order", "documents/s, files cached", "documents/s, pages evicted", "times as slow"
    study.write("order", head, table)
    found = study.cache.found(("sampler", *names) for names in SAMPLERS)
    table = [
        [", ".join(filter(None, (row["estimator"], row["settings"]))), f"{row['bytes a token']:.0f}"]
        for row in found
    ]
    study.write("samplers", ("sampler", "bytes a token"), table)


if __name__ == "__main__":
    main()
