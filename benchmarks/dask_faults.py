"""What becomes of a fit on a Dask cluster when processes die: the same model? After how long?

Trials on one machine: five workers killed (SIGKILL) at random moments of a fit, with a lost-worker-timeout of
60 seconds and with Dask's, which is 15; and scheduler, workers and client all killed at once, after which
another cluster resumes. Each is compared, bit by bit, with a fit in one process, or has the error that it
ended with. A trial that takes longer than --limit seconds hangs. Merges are repeated that are done again
after a kill. What was measured is kept.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from _study import Study, new_parser, printed

from sktopic import OnlineEMLDA
from sktopic.dask import DaskTopicModel
from sktopic.datasets import make_lda_documents, open_corpus, save_corpus

N_KILLS = 5
CHECKPOINT_EVERY = 4
LANES = {"n_lanes": 4, "merge_every": 1, "checkpoint_every": CHECKPOINT_EVERY}
DASKS_TIMEOUT = "workers killed, Dask's lost-worker-timeout"
HEADER = ["trial", "seed", "killed", "outcome", "seconds", "merges", "merges repeated"]
# Keys of tasks that merge all lanes, without those of the parts of a result and of blocks of rows.
WHOLE_MERGE = re.compile(r"sktopic-merge-(?![01]-|rows-)")


def estimator():
    return OnlineEMLDA(n_components=20, batch_size=50, max_iter=2, random_state=0)


def documents(folder):
    path = Path(folder, "documents")
    if path.exists():
        return open_corpus(path)
    return save_corpus(path, make_lda_documents(20_000, n_features=2_000, random_state=0).data)


def counting_merges(path):
    """A plugin of the scheduler that writes a byte for each merge that is done."""
    from distributed import SchedulerPlugin

    class Plugin(SchedulerPlugin):
        def transition(self, key, start, finish, *arguments, **more):
            if finish == "memory" and WHOLE_MERGE.search(str(key)):
                with open(path, "ab") as file:
                    file.write(b".")

    return Plugin()


def cluster(lost_after="60s"):
    """One that gives up a worker that is gone some time after a kill, even if it was back meanwhile."""
    import dask
    from distributed import LocalCluster

    dask.config.set({"distributed.deploy.lost-worker-timeout": lost_after})
    return LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)


def fit_here(folder, checkpoint, counts):
    """The child of a trial: a cluster of its own, and a fit that goes on where there is a checkpoint."""
    from distributed import Client

    with cluster() as local, Client(local) as client:
        client.register_plugin(counting_merges(counts))
        model = DaskTopicModel(estimator(), checkpoint=checkpoint, resume=True, **LANES)
        model.fit(documents(folder))
    np.save(Path(checkpoint, "components.npy"), model.estimator_.components_)


def failed(error):
    return f"{type(error).__name__}: {error}"


def compared(components, expected):
    return "same bits" if np.array_equal(components, expected.estimator_.components_) else "other bits"


def kill_workers(corpus, expected, lost_after, seed, limit):
    """A fit during which workers are killed, one after the other."""
    from distributed import Client

    random, done, result = np.random.RandomState(seed), threading.Event(), []
    with tempfile.TemporaryDirectory() as folder, cluster(lost_after) as local, Client(local) as client:
        client.run(lambda: __import__("sktopic.dask"))
        counts = Path(folder, "merges")
        client.register_plugin(counting_merges(counts))

        def fit():
            try:
                result.append(DaskTopicModel(estimator(), client=client, **LANES).fit(corpus))
            except Exception as error:
                result.append(error)
            finally:
                done.set()

        start, killed, before = time.perf_counter(), 0, set()
        thread = threading.Thread(target=fit, daemon=True)
        thread.start()
        while killed < N_KILLS and not done.wait(random.uniform(0.3, 2.0)):
            pids = set(client.run(os.getpid, on_error="ignore").values())
            # None that is just starting: Dask's nanny may give up one that dies then.
            known, before = sorted(pids & before), pids
            if known and not done.is_set():
                os.kill(known[random.randint(len(known))], signal.SIGKILL)
                killed += 1
        done.wait(max(0.0, limit - (time.perf_counter() - start)))
        seconds = time.perf_counter() - start
        merges = counts.stat().st_size
    if not result or isinstance(result[0], Exception):
        return killed, failed(result[0]) if result else "hangs", seconds, expected.n_merges_, ""
    outcome = compared(result[0].estimator_.components_, expected)
    return killed, outcome, seconds, expected.n_merges_, merges - expected.n_merges_


def kill_all(folder, expected, seed, limit):
    """A fit whose cluster and client are killed at once, and one that resumes."""
    random = np.random.RandomState(seed)
    with tempfile.TemporaryDirectory() as checkpoint:
        counts = Path(checkpoint, "counts")
        command = [sys.executable, __file__, "--fit", folder, checkpoint, counts]
        start = time.perf_counter()
        child = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
        stop = random.randint(CHECKPOINT_EVERY + 1, expected.n_merges_ - 1)
        while child.poll() is None and (not counts.exists() or counts.stat().st_size < stop):
            time.sleep(0.01)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        try:
            subprocess.run(command, timeout=limit, stderr=subprocess.DEVNULL, check=True)
        except subprocess.SubprocessError as error:
            return "all", failed(error), time.perf_counter() - start, expected.n_merges_, ""
        seconds = time.perf_counter() - start
        outcome = compared(np.load(Path(checkpoint, "components.npy")), expected)
        return "all", outcome, seconds, expected.n_merges_, counts.stat().st_size - expected.n_merges_


def main():
    if sys.argv[1:2] == ["--fit"]:
        fit_here(*sys.argv[2:])
        return
    parser = new_parser(__doc__)
    parser.add_argument("--trials", type=int, default=5, help="of each kind")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds after which a trial hangs")
    arguments = parser.parse_args()
    study = Study("dask_faults", arguments)
    with tempfile.TemporaryDirectory() as folder:
        corpus = documents(folder)
        expected = DaskTopicModel(estimator(), client=False, **LANES).fit(corpus)
        kinds = {
            "workers killed": lambda seed: kill_workers(corpus, expected, "60s", seed, arguments.limit),
            DASKS_TIMEOUT: lambda seed: kill_workers(corpus, expected, "15s", seed, arguments.limit),
            "all killed, resumed": lambda seed: kill_all(folder, expected, seed, arguments.limit),
        }
        for seed in range(arguments.trials):
            for kind, trial in kinds.items():
                if (kind, seed) not in study.cache:
                    study.cache.add((kind, seed), dict(zip(HEADER[2:], printed(trial(seed)))))
                    study.sign()
    write_tables(study)


def write_tables(study):
    rows = ({**row, "seconds": f"{row['seconds']:.1f}"} for row in study.cache.rows.values())
    study.write("", HEADER, [[row[name] for name in HEADER] for row in rows])


if __name__ == "__main__":
    main()
