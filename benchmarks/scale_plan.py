"""What training on a cluster would cost, from what its parts cost here; and from where it pays.

    python benchmarks/scale_plan.py [--gbits 10] [--latency 0.001]

Measured: what a token costs in training (OnlineEMLDA, one core), what a lane adds between merges, what
merging an entry, copying a byte and handing a byte to another process cost, what a task and a dependency cost
Dask's scheduler, and how long a cluster takes to start. Assumed: links, latency, memory, and how unequal
workers are (`Cluster`); one lane a worker, which is one core; float32 for what lanes add.

"costs" and "added" have what was measured; the main table a pass over 10^8 to 10^11 tokens by 8 to 256
workers (`predict`), each with the least number of tokens between merges at which nine tenths of the time go
into training, or else the best; "border" the corpora from which a cluster is faster than one machine;
"simulation" the same prediction beside a simulation in which messages queue at links and workers
(`simulate`).
"""

import heapq
import time
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np
import scipy.sparse as sp
from _corpora import load
from _pictures import panels, save
from _results import MAIN, PUBLISHED, read_tables
from _study import Study, new_parser, seconds_of
from cost import copy_rate, measured
from scipy.stats import norm

from sktopic import lda
from sktopic._estimators._lane_updates import LaneUpdate
from sktopic.dask._rounds import GROWTH
from sktopic.distributed import local_update

TOPICS = (100, 1000, 10_000)
VOCABULARIES = (100_000, 1_000_000)
TOKENS = (10**8, 10**9, 10**10, 10**11)
WORKERS = (8, 32, 128, 256)
BATCH = 50 * 76  # tokens of a mini-batch: documents by default, of the length of abstracts
FILES_EVERY = 16  # merges from one time that the state is written to files to the next
# Conditional probabilities are summed, or draws counted.
ADDED = [*(("OnlineEMLDA", n) for n in TOPICS), *(("HybridLDA", n) for n in TOPICS[:2])]
TARGET = 0.9  # share of the time that training itself is to have
BETWEEN = np.geomspace(BATCH, 10**9, 37)  # tokens of a lane between merges to choose from
ONE_MACHINE = 16  # cores

HEAD = [
    "words",
    "topics",
    "tokens",
    "workers",
    "hours",
    "efficiency",
    "tokens of a lane between merges",
    "merges",
]
HEAD += ["GB sent per merge", "GB a worker", "word shards", "hours on one machine"]
COSTS_HEAD = ["what", "value", "unit"]
ADDED_HEAD = ["method", "topics", "tokens", "words", "share of entries", "MB"]
BORDER_HEAD = ["words", "topics", "workers", "workers a link", "tokens"]
SIMULATION_HEAD = ["words", "topics", "workers", "tokens of a lane", "predicted s", "simulated s", "ratio"]


@dataclass(frozen=True)
class Cluster:
    """What is assumed: bytes per second of a link, seconds a message travels, bytes of memory a worker."""

    link: float = 10e9 / 8
    latency: float = 1e-3
    workers_per_link: int = 1
    memory: float = 16e9
    spread: float = 0.05  # standard deviation of the time that equal work takes, over its mean

    @property
    def bandwidth(self):
        """Of a worker while all send."""
        return self.link / self.workers_per_link


# What is measured


RUNS = [
    *(("token", "arxiv_0", 0, n_topics) for n_topics in TOPICS),
    *(("token", "drawn", 100_000, n_topics) for n_topics in TOPICS[:2]),
    ("token", "drawn", 1_000_000, 100),
    *(("added", *cells) for cells in ADDED),
    ("merge",),
    ("dask",),
]


def token(corpus, n_words, n_topics):
    """Nanoseconds a token of training; words is that of the corpus."""
    [(_, words, _, train, *_)] = measured(corpus, [(n_words, n_topics)])
    return {"words": int(words), "ns": float(train)}


def added(method, n_topics):
    """What a lane adds in rounds of different lengths, after a model has seen two million tokens."""
    X, X_next = (sp.csr_array(load(name)[0]).astype(np.float64) for name in ("arxiv_0", "arxiv_1"))
    settings = {"counts": "draws"} if method == "HybridLDA" else {}
    model = getattr(lda, method)(n_topics, total_samples=X.shape[0], random_state=0, **settings)
    model.partial_fit(X[:26_000])
    found = []
    for n_updates in (1, 8, 64, 512) if n_topics < 10_000 else (1, 8, 64):
        some = X_next[: 50 * n_updates]
        update = local_update(model, some, lane=0, batch_size=50, n_updates=n_updates, dtype="float32")
        n_entries = update.added.nnz if sp.issparse(update.added) else np.count_nonzero(update.added)
        found.append([float(some.sum()), len(update.words), int(n_entries), update.nbytes])
    return {"found": found}


def threads():
    """Times as fast with two threads as with one, by topics: as published (speed.csv)."""
    rows = [row for row in read_tables(PUBLISHED / "speed.csv")[MAIN] if row["work"] == "training, two jobs"]
    return {int(row["topics"]): float(row["times as fast"]) for row in rows}


def merge():
    """Seconds to add an entry to its row, and to copy a byte of rows."""
    n_words, n_topics = 20_000, 1000
    rows = np.zeros((n_words, n_topics))
    update = LaneUpdate(None, np.arange(n_words), np.ones((n_words, n_topics), dtype=np.float32))
    seconds = min(seconds_of(update.add_to, rows, 0.5)[0] for _ in range(5))
    return {"entry": seconds / rows.size, "copied": 2 / copy_rate()}


def dask():
    """Seconds of processors a task, a dependency and a byte handed on; and the start of a cluster.

    Scheduler and client are in this process; of a byte, both workers have their part.
    """
    from distributed import Client, LocalCluster, wait

    start = time.perf_counter()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        one, other = client.scheduler_info()["workers"]
        client.submit(import_package, pure=False).result()
        seconds = {"start": time.perf_counter() - start}

        def timed(submit):
            return min(seconds_of(lambda i=i: wait(submit(i)))[0] for i in range(3))

        n_tasks, n_dependent, n_before, n_values = 2000, 20, 200, 8 * 2**20
        before = client.map(str, range(n_before))
        wait(before)
        tasks = timed(lambda i: client.map(nothing, range(i * n_tasks, (i + 1) * n_tasks)))
        seconds["task"] = tasks / n_tasks
        dependent = timed(lambda i: [client.submit(nothing, before, pure=False) for _ in range(n_dependent)])
        seconds["dependency"] = max(dependent / n_dependent - seconds["task"], 0.0) / n_before

        def hand(i):
            made = client.submit(np.full, n_values, float(i), workers=[one], pure=False)
            wait(made)
            start = sum(client.run(time.process_time).values())
            wait(client.submit(nothing, made, workers=[other], pure=False))
            return sum(client.run(time.process_time).values()) - start

        seconds["byte"] = min(hand(i) for i in range(5)) / (8 * n_values)
    return seconds


def import_package():
    import sktopic.lda  # noqa: F401


def nothing(_):
    return None


class Costs:
    """What was measured, and what follows for larger vocabularies.

    A vocabulary makes a token dearer by the factor that was measured with the next fewer topics.
    """

    def __init__(self, cache):
        self._token = {(r["words"], r["n_components"]): 1e-9 * r["ns"] for r in cache.select(part="token")}
        self._added = cache.select(part="added")
        (self._merge,), (self._dask,) = (cache.select(part=part) for part in ("merge", "dask"))
        self._threads = threads()
        self.task, self.dependency, self.byte = (self._dask[name] for name in ("task", "dependency", "byte"))
        self.start = self._dask["start"]
        self.entry, self.copied = self._merge["entry"], self._merge["copied"]

    def token(self, n_words, n_topics):
        """Seconds a token of training on one core."""
        if (n_words, n_topics) in self._token:
            return self._token[n_words, n_topics]
        smaller = max(n for n, _ in self._token if n < n_words)
        fewer = max(k for k in TOPICS if k < n_topics)
        factor = self.token(n_words, fewer) / self.token(smaller, fewer)
        return self.token(smaller, n_topics) * factor

    def one_machine(self, n_words, n_topics):
        """Seconds a token of threads on all cores: what two threads leave undivided stays so (Amdahl)."""
        undivided = 2 / self._threads[min(n_topics, max(self._threads))] - 1
        return self.token(n_words, n_topics) * (undivided + (1 - undivided) / ONE_MACHINE)

    def table(self):
        for (n_words, n_topics), seconds in self._token.items():
            yield [f"a token, {n_words} words, {n_topics} topics", f"{1e9 * seconds:.0f}", "ns"]
        for n_topics, faster in self._threads.items():
            yield [f"two threads, {n_topics} topics", f"{faster:.2f}", "times as fast as one"]
        yield ["an entry that is merged", f"{1e9 * self.entry:.1f}", "ns"]
        yield ["a byte of rows that is copied", f"{1e9 * self.copied:.2f}", "ns"]
        yield ["a byte to another process", f"{1e9 * self.byte:.2f}", "ns"]
        yield ["a task of the scheduler", f"{1e3 * self.task:.2f}", "ms"]
        yield ["a dependency of a task", f"{1e6 * self.dependency:.0f}", "µs"]
        yield ["start of a cluster", f"{self.start:.1f}", "s"]

    def added_table(self):
        for row in self._added:
            for tokens, words, n_entries, size in row["found"]:
                share = n_entries / (words * row["n_components"])
                cells = f"{tokens:.0f}", words, f"{share:.3f}", f"{size / 1e6:.2f}"
                yield [row["estimator"], row["n_components"], *cells]


LENGTHS = np.geomspace(100, 1e13, 111)


@cache
def distinct_at_lengths(n_words):
    """Expected number of words among LENGTHS tokens, whose probabilities fall as 1 / rank."""
    p = 1.0 / np.arange(1, n_words + 1)
    p /= p.sum()
    return np.array([-np.expm1(-length * p).sum() for length in LENGTHS])


def distinct(n_words, tokens):
    """The same of so many tokens; linear in the logarithm between LENGTHS."""
    return np.interp(np.log(tokens), np.log(LENGTHS), distinct_at_lengths(n_words))


# What is predicted


@dataclass(frozen=True)
class Round:
    """Work and bytes of a round; of a lane, and of a shard of words (arrays: of several rounds).

    Lanes fetch the rows of their words from all shards, and train; shards fetch what all lanes have added,
    and merge. Each byte is sent at the bandwidth and then handled by the process that gets it.
    """

    lanes: int
    shards: int
    work: float  # seconds of training
    rows: float  # bytes a lane fetches
    added: float  # bytes a lane adds
    merging: float  # seconds of a shard

    @classmethod
    def of(cls, costs, n_words, n_topics, lanes, shards, tokens):
        entries = distinct(n_words, tokens) * n_topics  # conditional probabilities: none of them is zero
        merging = (lanes * entries * costs.entry + 8 * n_words * n_topics * costs.copied) / shards
        work = tokens * costs.token(n_words, n_topics)
        return cls(lanes, shards, work, 8 * entries, 4 * entries, merging)

    def seconds(self, costs, cluster):
        """One phase after the other, as long as that takes where it takes longest."""
        crossing = self.lanes * self.shards * costs.dependency
        per_shard = self.lanes / self.shards
        scheduler = (self.lanes + self.shards + 1) * costs.task + 2 * crossing
        sending = (self.rows + self.added) * max(1.0, per_shard) / cluster.bandwidth
        handling = (self.rows + self.added * per_shard) * costs.byte
        slowest = 1.0 + cluster.spread * largest_normal(self.lanes)
        return scheduler + 4 * cluster.latency + sending + handling + self.work * slowest + self.merging


@cache
def largest_normal(n):
    """About the expected largest of n standard normal variables."""
    return float(norm.ppf((n - 0.375) / (n + 0.25)))


def lengths(tokens, lanes, between):
    """Tokens of a lane in the rounds of a pass: those that grow, and how often the last is repeated."""
    left, done, growing = tokens / lanes, 0.0, []
    while left > 0 and done / GROWTH < between:
        growing.append(min(left, max(BATCH, done / GROWTH)))
        left, done = left - growing[-1], done + growing[-1]
    return growing, left / between


@dataclass(frozen=True)
class Prediction:
    seconds: float
    efficiency: float
    between: float
    merges: float
    sent: float  # bytes per merge, between workers
    memory: float  # bytes a worker
    shards: int


def predict(costs, cluster, n_words, n_topics, tokens, workers):
    """With the least tokens between merges that reach the target, or else the best; None: too much memory."""
    best = None
    for between in BETWEEN:
        found = [
            plan
            for shards in shard_numbers(workers)
            if (plan := pass_over(costs, cluster, n_words, n_topics, tokens, workers, shards, between))
            and plan.memory <= cluster.memory
        ]
        if not found:
            break
        plan = min(found, key=lambda plan: plan.seconds)
        if best is None or plan.efficiency > best.efficiency:
            best = plan
        if best.efficiency >= TARGET or between > tokens / workers:
            break
    return best


def shard_numbers(workers):
    return [2**i for i in range(7) if 2**i <= workers]  # there are at most 64


def pass_over(costs, cluster, n_words, n_topics, tokens, workers, shards, between):
    """A Prediction with so many shards and tokens between merges."""

    def round_of(length):
        return Round.of(costs, n_words, n_topics, workers, shards, length)

    growing, repeated = lengths(tokens, workers, between)
    written = 8 * n_words * n_topics
    last = round_of(between if repeated else max(growing))
    seconds = round_of(np.array(growing)).seconds(costs, cluster).sum()
    seconds += repeated * last.seconds(costs, cluster)
    merges = len(growing) + repeated
    seconds += merges / FILES_EVERY * written / shards / cluster.bandwidth
    seconds += costs.start + written / cluster.bandwidth  # to the client, at the end
    # A lane has its rows and a copy of them that it trains; a shard its rows before and after.
    memory = 2 * last.rows + last.added + 2 * written / shards
    sent = workers * (last.rows + last.added)
    efficiency = tokens * costs.token(n_words, n_topics) / workers / seconds
    return Prediction(seconds, efficiency, min(between, tokens / workers), merges, sent, memory, shards)


def border(costs, cluster, n_words, n_topics, workers):
    """Tokens from which a pass by the cluster is faster than by one machine, or None."""
    one = costs.one_machine(n_words, n_topics)

    def is_faster(tokens):
        plan = predict(costs, cluster, n_words, n_topics, tokens, workers)
        return plan is not None and plan.seconds < tokens * one

    low, high = 4.0, 13.0
    if not is_faster(10**high):
        return None
    while high - low > 0.05:
        middle = (low + high) / 2
        low, high = (low, middle) if is_faster(10**middle) else (middle, high)
    return 10**high


# What is simulated


def simulate(a_round, costs, cluster, n_rounds, seed):
    """Seconds of rounds, event by event.

    The scheduler treats one task after the other; a message waits for the link of its sender, travels, waits
    for that of its receiver, and is handled by the process of the receiver; times of lanes differ.
    """
    rng, clock = np.random.default_rng(seed), 0.0
    for _ in range(n_rounds):
        clock = _simulate_round(a_round, costs, cluster, rng, clock)
    return clock


def _simulate_round(a_round, costs, cluster, rng, now):
    lanes, shards = a_round.lanes, a_round.shards
    sending, receiving, busy = (np.full(lanes, now) for _ in range(3))
    events, number, scheduler = [], 0, now

    def at(moment, *event):
        nonlocal number
        heapq.heappush(events, (moment, number, event))
        number += 1

    def dispatch(moment, n_dependencies):
        """When a worker hears of a task that becomes ready at a moment."""
        nonlocal scheduler
        scheduler = max(scheduler, moment) + costs.task + n_dependencies * costs.dependency
        return scheduler + cluster.latency

    def drain(n_messages, size):
        """Handle all messages; yields (receiver, moment) when one has its last of n_messages."""
        arrived = {}
        while events:
            moment, _, (kind, sender, receiver) = heapq.heappop(events)
            if kind == "send":
                sending[sender] = max(sending[sender], moment) + size / cluster.bandwidth
                at(sending[sender] + cluster.latency, "receive", sender, receiver)
            else:
                # Its link has been busy with it while it arrived, unless others came at the same time.
                start = max(receiving[receiver], moment - size / cluster.bandwidth)
                receiving[receiver] = start + size / cluster.bandwidth
                busy[receiver] = max(busy[receiver], receiving[receiver]) + size * costs.byte
                arrived[receiver] = arrived.get(receiver, 0) + 1
                if arrived[receiver] == n_messages:
                    yield receiver, busy[receiver]

    for lane in range(lanes):
        asked = dispatch(now, shards)
        for shard in range(shards):
            at(asked, "send", (lane + shard) % shards, lane)
    noise = np.maximum(1.0 + cluster.spread * rng.standard_normal(lanes), 0.5)
    ends = np.array([end + a_round.work * noise[lane] for lane, end in drain(shards, a_round.rows / shards)])
    merged = dispatch(ends.max() + cluster.latency, 0)  # the head
    for shard in range(shards):
        asked = dispatch(merged, lanes)
        for lane in range(lanes):
            at(asked, "send", (lane + shard) % lanes, shard)
    return max(end + a_round.merging for _, end in drain(lanes, a_round.added / shards))


# Tables and picture


def plans(costs, cluster):
    """Rows of the main table."""
    for n_words, n_topics, tokens, workers in product(VOCABULARIES, TOPICS, TOKENS, WORKERS):
        plan = predict(costs, cluster, n_words, n_topics, tokens, workers)
        alone = f"{tokens * costs.one_machine(n_words, n_topics) / 3600:.3g}"
        case = [n_words, n_topics, f"{tokens:.0e}", workers]
        if plan is None:
            yield [*case, "too much memory", *["-"] * 6, alone]
            continue
        cells = [f"{plan.seconds / 3600:.3g}", f"{plan.efficiency:.2f}", f"{plan.between:.2g}"]
        cells += [f"{plan.merges:.0f}", f"{plan.sent / 1e9:.3g}", f"{plan.memory / 1e9:.3g}"]
        yield [*case, *cells, plan.shards, alone]


def borders(costs, cluster):
    for n_words, n_topics, workers, shared in product(VOCABULARIES, TOPICS, WORKERS[1:], (1, 16)):
        tokens = border(costs, replace(cluster, workers_per_link=shared), n_words, n_topics, workers)
        yield [n_words, n_topics, workers, shared, "never" if tokens is None else f"{tokens:.0e}"]


def simulations(costs, cluster):
    sizes = (8, 32, 128), (10**5, 10**6, 10**7)
    for n_words, n_topics, workers, tokens in product(VOCABULARIES[:1], TOPICS[:2], *sizes):
        a_round = Round.of(costs, n_words, n_topics, workers, min(workers, 32), tokens)
        predicted = a_round.seconds(costs, cluster)
        simulated = simulate(a_round, costs, cluster, 2, 0) / 2
        case = [n_words, n_topics, workers, tokens]
        yield [*case, f"{predicted:.3g}", f"{simulated:.3g}", f"{predicted / simulated:.2f}"]


def write_tables(study):
    """Those of the runs; predictions from them follow."""
    costs = Costs(study.cache)
    study.write("costs", COSTS_HEAD, costs.table())
    study.write("added", ADDED_HEAD, costs.added_table())


def write_plans(study, cluster):
    costs = Costs(study.cache)
    study.write("", HEAD, plans(costs, cluster))
    study.write("border", BORDER_HEAD, borders(costs, cluster))
    study.write("simulation", SIMULATION_HEAD, simulations(costs, cluster))


def draw(study, cluster):
    """Efficiency by the tokens of a lane between merges; hours of a pass by tokens, beside one machine."""
    costs = Costs(study.cache)
    titles = ["efficiency of a round, 100,000 words, 64 workers", "a pass, 100,000 words, 1000 topics"]
    figure, axes = panels(titles)
    figure.set_size_inches(10, 5)
    for n_topics in TOPICS:
        for shared, style in ((1, "-"), (16, "--")):
            network = replace(cluster, workers_per_link=shared)
            shares = []
            for between in BETWEEN:
                rounds = [Round.of(costs, 100_000, n_topics, 64, n, between) for n in shard_numbers(64)]
                shares.append(max(r.work / r.seconds(costs, network) for r in rounds))
            label = f"{n_topics:,} topics, {shared} worker{'s' * (shared > 1)} a link"
            axes[titles[0]].semilogx(BETWEEN, shares, style, color=f"C{TOPICS.index(n_topics)}", label=label)
    axes[titles[0]].set(xlabel="tokens of a lane between merges", xlim=(1e4, 1e9), ylim=(0, 1))
    axes[titles[0]].axhline(TARGET, color="grey", linewidth=0.6)
    tokens = np.geomspace(1e7, 1e11, 33)
    for i, workers in enumerate(WORKERS):
        hours = [predict(costs, cluster, 100_000, 1000, n, workers).seconds / 3600 for n in tokens]
        axes[titles[1]].loglog(tokens, hours, color=f"C{3 + i}", label=f"{workers} workers")
    alone = tokens * costs.one_machine(100_000, 1000) / 3600
    axes[titles[1]].loglog(tokens, alone, "k:", label=f"one machine, {ONE_MACHINE} cores")
    axes[titles[1]].set(xlabel="tokens", ylabel="hours")
    for axis in axes.values():
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
    save(figure, study.path(".svg"))


def main():
    parser = new_parser(__doc__, runs=True, jobs=1)
    parser.add_argument("--gbits", type=float, default=10.0, help="of a link, per second (10)")
    parser.add_argument("--latency", type=float, default=1e-3, help="of a message, in seconds (0.001)")
    arguments = parser.parse_args()
    study = Study("scale_plan", arguments)
    study.measure({"token": token, "added": added, "merge": merge, "dask": dask}, RUNS)
    cluster = Cluster(link=arguments.gbits * 1e9 / 8, latency=arguments.latency)
    write_tables(study)
    write_plans(study, cluster)
    draw(study, cluster)


if __name__ == "__main__":
    main()
