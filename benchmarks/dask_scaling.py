"""What training on a Dask cluster costs on one machine, and what lanes do to scores.

Times: one pass over 490,000 abstracts with 100 topics, by plain `fit`, by the tasks of DaskTopicModel in this
process, and by one and two Dask workers, one thread each; runs alternate. Beside seconds on the clock, which
other programs share, are those of the processors: of the workers, and of client and scheduler. Memory: of a
scheduler and a client, in a process each, for more documents, passes and topics. Scores: those of test
documents after one and five passes, for several numbers of lanes and for plain `fit` at the same batch_size.
"""

import os
import tempfile
import time
from pathlib import Path
from threading import Event, Thread

import numpy as np
import scipy.sparse as sp
from _corpora import load
from _study import Study, apart, megabytes, new_parser, printed, shown

from sktopic import OnlineEMLDA
from sktopic.dask import DaskTopicModel
from sktopic.datasets import open_corpus, save_corpus

KINDS = "plain fit", "tasks here", "1 worker", "2 workers"
# Documents, topics and passes of the runs whose memory is compared.
SIZES = (49_000, 100, 1), (490_000, 100, 1), (490_000, 100, 3), (49_000, 400, 1)
LANES = 1, 2, 8, 32
PASSES = 1, 5
SEEDS = {1: (0, 1, 2), 5: (0,)}  # by passes
# What doc/guide/distributed.rst recommends.
MEMORY = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
}
TIMES = ["kind", "seconds", "processor seconds of workers", "of client and scheduler", "merges"]
TIMES += ["MB sent a merge", "MB of client and scheduler"]
MEMORIES = ["documents", "topics", "passes", "merges", "MB of the topics", "scheduler before"]
MEMORIES += ["scheduler, at most in fit", "client before", "client, at most in fit"]
SCORES = ["lanes", "passes", "seeds", "score", "less than plain fit", "at most"]
REPEATS = range(3)


def training_documents(folder):
    path = Path(folder, "abstracts")
    if not path.exists():
        save_corpus(path, sp.vstack([load(f"arxiv_{i}")[0] for i in range(5)], format="csr"))
    return open_corpus(path)


def estimator(seed=0, passes=1, n_topics=100):
    return OnlineEMLDA(n_components=n_topics, random_state=seed, n_jobs=1, max_iter=passes)


def timed(path, kind, _):
    """A row of times, measured in a process of its own."""
    corpus = open_corpus(path)
    if kind in KINDS[2:]:
        return timed_on_cluster(int(kind.split()[0]), corpus)
    X, model = corpus, DaskTopicModel(estimator(), client=False)
    if kind == "plain fit":
        X, model = corpus[:], estimator()
    memory, begin, used = megabytes("RssAnon"), time.perf_counter(), time.process_time()
    model.fit(X)
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    return [seconds, used, 0.0, getattr(model, "n_merges_", 0), 0.0, megabytes("RssAnon") - memory]


def timed_on_cluster(n_workers, corpus):
    from dask import config, delayed
    from distributed import Client, LocalCluster

    config.set(MEMORY)
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        DaskTopicModel(estimator()).fit([delayed(corpus[:2000])])  # imports
        before, memory = client.run(time.process_time), megabytes("RssAnon")
        sent = sum(client.run(bytes_sent).values())
        begin, used = time.perf_counter(), time.process_time()
        model = DaskTopicModel(estimator()).fit(corpus)
        seconds, here = time.perf_counter() - begin, time.process_time() - used
        workers = sum(client.run(time.process_time).values()) - sum(before.values())
        sent = (sum(client.run(bytes_sent).values()) - sent) / model.n_merges_ / 1e6
        return [seconds, workers, here, model.n_merges_, sent, megabytes("RssAnon") - memory]


def bytes_sent(dask_worker):
    """Bytes of what others have fetched from a worker."""
    return dask_worker.transfer_outgoing_bytes_total


def remembered(path, n_documents, n_topics, passes):
    """A row of memory, measured in a process of its own, the client; the scheduler has one too."""
    from dask import config, delayed
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    config.set(MEMORY)
    corpus, model = open_corpus(path), DaskTopicModel(estimator(0, passes, n_topics))
    with (
        tempfile.TemporaryDirectory() as folder,
        SubprocessCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        if n_documents < corpus.shape[0]:
            corpus = save_corpus(Path(folder, "part"), corpus[:n_documents])
        DaskTopicModel(estimator()).fit([delayed(corpus[:2000])])  # imports
        processes = client.run_on_scheduler(os.getpid), "self"
        before = most = [megabytes("RssAnon", process) for process in processes]
        ended = Event()

        def watch():
            nonlocal most
            while not ended.wait(0.02):
                most = [max(mb, megabytes("RssAnon", process)) for mb, process in zip(most, processes)]

        watching = Thread(target=watch)
        watching.start()
        model.fit(corpus)
        ended.set()
        watching.join()
    figures = model.n_merges_, corpus.shape[1] * n_topics * 8 / 1e6, before[0], most[0], before[1], most[1]
    return [n_documents, n_topics, passes, *figures]


def scored(path, lanes, passes, seed):
    """The score of test documents after training in lanes, or by plain fit (0)."""
    corpus = open_corpus(path)
    model = estimator(seed, passes)
    if lanes:
        model = DaskTopicModel(model, n_lanes=lanes, client=False).fit(corpus).estimator_
    else:
        model.fit(corpus[:])
    test = sp.vstack([load(f"arxiv_{i}")[1] for i in range(5)], format="csr")
    return model.score(test)


# Part -> function and runs, each in a process of its own.
RUNS = {
    "times": (timed, [(kind, repeat) for repeat in REPEATS for kind in KINDS]),  # in turn
    "memory": (remembered, SIZES),
    "score": (scored, [(n, p, seed) for p in PASSES for n in (0, *LANES) for seed in SEEDS[p]]),
}


def rows_of(study, part, **columns):
    return [row[part] for row in study.cache.select(part=part, **columns)]


def write_tables(study):
    times = [np.median(rows_of(study, "times", kind=kind), axis=0) for kind in KINDS]
    study.write("times", TIMES, [[kind, *shown(each, ".3g")] for kind, each in zip(KINDS, times)])
    table = rows_of(study, "memory")
    study.write("memory", MEMORIES, [[*row[:4], *shown(row[4:], ".3g")] for row in table])
    table = []
    for passes in PASSES:
        scores = {n: np.array(rows_of(study, "score", lanes=n, passes=passes)) for n in (0, *LANES)}
        for lanes, values in scores.items():
            less = scores[0] - values
            cells = shown([values.mean(), less.mean(), less.max()])
            table.append([lanes or "plain fit", passes, len(values), *cells])
    study.write("scores", SCORES, table)


def main():
    parser = new_parser(__doc__)
    parser.add_argument("--corpus", type=Path, help="folder in which the corpus is kept for the next time")
    arguments = parser.parse_args()
    study = Study("dask_scaling", arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = training_documents(arguments.corpus or folder).path
        for part, (function, runs) in RUNS.items():
            for run in runs:
                if (part, *run) not in study.cache:
                    study.cache.add((part, *run), {part: printed(apart(function, path, *run))})
                    study.sign()
    write_tables(study)


if __name__ == "__main__":
    main()
