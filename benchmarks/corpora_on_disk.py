"""Memory and time of training on corpora that are on disk, against the same documents in memory.

    SKTOPIC_DATA=~/corpora python benchmarks/corpora_on_disk.py --scratch /tmp [--update]

The training documents of arxiv_0 ... arxiv_4, stacked ten times, are written to the folder --scratch as a corpus.
Each run is a process of its own. An interrupted study resumes from its finished runs; --part measures some of them.
"""

import argparse
import json
import mmap
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from _corpora import load
from _study import Study, new_parser
from scipy.sparse import csr_array, vstack

FILES = [f"arxiv_{i}" for i in range(5)]
COPIES = 10
N_TOPICS = 100
METHODS = ("OnlineEMLDA", "OnlineVariationalLDA", "HybridLDA", "StreamingVariationalLDA", "HybridHDP")
SAMPLERS = {
    "CollapsedGibbsLDA": {"n_components": N_TOPICS},
    "CollapsedGibbsLDA, n_shards=8": {"n_components": N_TOPICS, "n_shards": 8},
    "CollapsedGibbsHDP": {},
}
# Seconds after which a run that measures memory is stopped, and in which those that evict pages count documents.
LONGEST = 50
# Documents of a pass whose time is measured, and how many times.
N_TIMED, N_REPEATS = 30_000, 3
EVICTION_PERIOD = 0.5


def corpus_paths(scratch):
    """Folders of the corpora, written if they are not there: all, of one file, and of the first documents."""
    from sktopic.datasets import save_corpus

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


def anonymous():
    """Anonymous memory of this process, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"RssAnon:\s+(\d+)", status)[1])


class Watch:
    """Runs something every few moments, in a thread; a context manager."""

    def __init__(self, function, period):
        self._function, self._period, self._over = function, period, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self._over.wait(self._period):
            self._function()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._over.set()
        self._thread.join()


def estimator(name, **params):
    import sktopic.hdp
    import sktopic.lda

    name = name.partition(",")[0]
    family = sktopic.lda if hasattr(sktopic.lda, name) else sktopic.hdp
    return getattr(family, name)(random_state=0, **params)


def fit_for(model, X, seconds):
    """Fit until Ctrl-C after so many seconds, which leaves the last complete update; returns the seconds."""

    def stop(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    start = time.perf_counter()
    try:
        model.fit(X)
    except KeyboardInterrupt:
        pass
    signal.alarm(0)
    return time.perf_counter() - start


def peak_of(model, X, seconds):
    """What a fit adds to anonymous memory at most, without arrays of the size of the topics; and the model's."""
    import numpy as np

    before, most = anonymous(), [0]
    with Watch(lambda: most.append(anonymous()), 0.02):
        passed = fit_for(model, X, seconds)
    most.append(anonymous())
    topics = sum(value.nbytes for value in vars(model).values() if isinstance(value, np.ndarray))
    return max(most) - before, topics, passed


def memory(name, path):
    from sktopic.datasets import open_corpus

    model = estimator(name, n_components=N_TOPICS, max_iter=1)
    model.fit(open_corpus(path)[:2000])  # imports
    peak, topics, seconds = peak_of(model, open_corpus(path), LONGEST)
    return {"MB": peak / 1e6, "topics MB": topics / 1e6, "documents": model.n_samples_seen_, "seconds": seconds}


def sampler(name, path):
    from sktopic.datasets import open_corpus

    corpus = open_corpus(path)
    model = estimator(name, max_iter=2, **SAMPLERS[name])
    model.fit(corpus[:500])
    peak, topics, seconds = peak_of(model, corpus, 10 * LONGEST)
    return {
        "bytes a token": (peak - topics) / int(corpus.counts.data.sum(dtype="int64")),
        "tokens": int(corpus.counts.data.sum(dtype="int64")),
        "seconds": seconds,
    }


def pass_over(name, path):
    """Seconds of a pass over a corpus and over the same in memory, alternating; the file cache is warm."""
    from sktopic.datasets import open_corpus

    corpus = open_corpus(path)
    in_memory = corpus[:].astype("int32")
    seconds = {"disk": [], "memory": []}
    for repeat in range(N_REPEATS + 1):
        for kind, X in (("memory", in_memory), ("disk", corpus)):
            model = estimator(name, n_components=N_TOPICS, max_iter=1)
            start = time.perf_counter()
            model.fit(X)
            if repeat:
                seconds[kind].append(time.perf_counter() - start)
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


def evicted(order, path):
    """Documents a second while pages are evicted over and over, as of a corpus that is larger than memory."""
    from sktopic.datasets import open_corpus

    corpus = open_corpus(path)
    X = corpus if order.startswith("by blocks") else corpus.counts
    model = estimator("OnlineEMLDA", n_components=N_TOPICS, max_iter=1)
    rates = {}
    for state in ("warm", "evicted"):
        period = EVICTION_PERIOD if state == "evicted" else 1e9
        evict(corpus)
        if state == "warm":
            corpus.counts.indices.max(), corpus.counts.data.max()
        begun = []
        start = model._start  # what comes before it checks the corpus
        model._start = lambda n: (begun.append(time.perf_counter()), start(n))
        with Watch(lambda: evict(corpus), period) if state == "evicted" else Watch(lambda: None, 1e3):
            fit_for(model, X, LONGEST)
        del model._start
        rates[state] = model.n_samples_seen_ / (time.perf_counter() - begun[0])
    return {**rates, "ratio": rates["evicted"] / rates["warm"], "seconds": 2 * LONGEST}


RUNS = {
    **{f"memory, {name}": (memory, name, "all") for name in METHODS},
    **{f"time, {name}": (pass_over, name, "few") for name in METHODS},
    **{f"evicted, {order}": (evicted, order, "all") for order in ("by blocks", "all rows")},
    **{f"sampler, {name}": (sampler, name, "one") for name in SAMPLERS},
}


def main():
    parser = new_parser(__doc__)
    parser.add_argument("--scratch", required=True, help="folder for corpora of 2 GB")
    parser.add_argument("--part", default="", help="measure runs whose names begin so")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        function, name, _ = RUNS[arguments.run[0]]
        print(json.dumps(function(name, arguments.run[1])))
        return
    study = Study("corpora_on_disk", arguments)
    paths = corpus_paths(arguments.scratch)
    for run, (_, _, corpus) in RUNS.items():
        if run in study.cache.rows or not run.startswith(arguments.part):
            continue
        command = [sys.executable, __file__, "--scratch", arguments.scratch, "--run", run, paths[corpus]]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        study.sign()
        study.cache.add({"run": run, **found})
        print(run, found, flush=True)
    write_tables(study)


def write_tables(study):
    rows = study.cache.rows
    study.write(
        "",
        ("method", "anonymous MB", "of these topics MB", "beside topics MB", "pass, against memory"),
        (
            (name, *(f"{x:.0f}" for x in (m["MB"], m["topics MB"], m["MB"] - m["topics MB"])), f"{t['ratio']:.2f}")
            for name in METHODS
            if (m := rows.get(f"memory, {name}")) and (t := rows.get(f"time, {name}"))
        ),
    )
    study.write(
        "order",
        ("order", "documents/s, files cached", "documents/s, pages evicted", "ratio"),
        (
            (order, f"{row['warm']:.0f}", f"{row['evicted']:.0f}", f"{row['ratio']:.2f}")
            for order in ("by blocks", "all rows")
            if (row := rows.get(f"evicted, {order}"))
        ),
    )
    study.write(
        "samplers",
        ("sampler", "bytes a token"),
        (
            (name, f"{row['bytes a token']:.0f}")
            for name in SAMPLERS
            if (row := rows.get(f"sampler, {name}"))
        ),
    )


if __name__ == "__main__":
    main()
