"""What the studies share: their command line and files, a cache of runs, a pool, and tables."""

import argparse
import datetime
import json
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import numpy as np
import sklearn
from _results import MAIN, MEASURED_ON, PUBLISHED, read_tables, write_tables
from _versions import all_columns, columns_of_run, frozen, run_of, version_of
from scipy.stats import t

import sktopic

ROOT = Path(__file__).parent.parent
RUNS = ROOT / "benchmarks" / "runs"
OUTPUT = ROOT / "benchmarks" / "output"
DECILES = ("3rd decile", "7th decile")


def new_parser(text, runs=False, jobs=None):
    """The command line of a study; runs: of one that keeps runs, which jobs processes measure (all cores)."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--update", action="store_true", help="write doc/benchmarks and benchmarks/runs")
    target.add_argument("--output", type=Path, default=OUTPUT, metavar="DIR", help="write there")
    if runs:
        parser.add_argument("--jobs", type=int, default=jobs or os.cpu_count(), help="processes")
        parser.add_argument("--draw-only", action="store_true", help="measure nothing")
        parser.add_argument(
            "--only", nargs="+", metavar="COLUMN=VALUE", default=[], help="measure runs that have these"
        )
    return parser


class Study:
    """Where the results of a study go: NAME.csv and NAME_*.svg in one folder, its runs in NAME_runs.jsonl."""

    def __init__(self, name, arguments):
        self.folder = PUBLISHED if arguments.update else arguments.output
        self.name, self._arguments = name, arguments
        self.cache = Cache((RUNS if arguments.update else self.folder) / f"{name}_runs.jsonl")

    def measure(self, function, runs, more=lambda run: (), needs=()):
        """Add the rows that function(*run, *more(run)) returns, in processes; or functions by part.

        Runs are measured that have no row of the present versions, or one without a field of needs.
        """
        only, todo = {}, {}
        for name, _, value in (each.partition("=") for each in self._arguments.only):
            only.setdefault(name, []).append(value)
        columns = all_columns(self.name)
        for name in only.keys() - columns:
            raise SystemExit(f"--only {name}: the columns of runs are {', '.join(sorted(columns))}.")
        for run in () if self._arguments.draw_only else runs:
            own, key = columns_of_run(self.name, run), frozen(run)
            wanted = all(str(own.get(name)) in values for name, values in only.items())
            if wanted and not (run in self.cache and self.cache.rows[key].keys() >= set(needs)):
                todo[key] = run
        if not todo:
            return
        self.sign()
        start = time.perf_counter()
        with ProcessPoolExecutor(self._arguments.jobs, initializer=one_thread) as executor:
            futures = {}
            for run in todo.values():
                of = (function[run[0]], *run[1:]) if isinstance(function, dict) else (function, *run)
                futures[executor.submit(timed_row, *of, *more(run))] = run
            try:
                for done, future in enumerate(as_completed(futures), 1):
                    row = {**future.result(), "jobs": self._arguments.jobs}
                    self.cache.add(futures[future], row)
                    minutes = (time.perf_counter() - start) / done * (len(todo) - done) / 60
                    print(f"{done} of {len(todo)}, {minutes:.0f} min left:", futures[future], flush=True)
            finally:
                executor.shutdown(cancel_futures=True)

    def path(self, rest):
        """The path of a file that is written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{self.name}{rest}"

    def write(self, table, header, rows):
        """Replace a table ("" is the main one) in NAME.csv, row by row if they are measured meanwhile."""
        assert len(set(header)) == len(header), header
        tables = read_tables(self.path(".csv"))
        written = tables[table or MAIN] = []
        for row in rows:
            written.append(dict(zip(header, row, strict=True)))
            if not isinstance(rows, list):
                write_tables(self.path(".csv"), tables)
        write_tables(self.path(".csv"), tables)

    def sign(self, detail=""):
        """Note what measures now, below the lines of what the runs in the cache were measured with."""
        line, tables = detail + environment(), read_tables(self.path(".csv"))
        earlier = [row[MEASURED_ON] for row in tables.get(MEASURED_ON, ()) if self.cache.rows]
        kept = [other for other in earlier if without_date(other) != without_date(line)]
        tables[MEASURED_ON] = [{MEASURED_ON: each} for each in (*kept, line)]
        write_tables(self.path(".csv"), tables)


def environment():
    """A line on machine, versions and date."""
    cpu, info = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else ()
    cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), cpu)
    return (
        f"{cpu}, {os.cpu_count()} cores; Python {platform.python_version()}, NumPy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}, sktopic {sktopic.__version__}; {datetime.date.today()}"
    )


def without_date(line):
    return line.rpartition("; ")[0]


class Cache:
    """The runs of a study, in a file with a line each.

    rows : run -> row. A run is a tuple of the columns that studies.toml names; its row has them by name.
        `run in cache` says whether a run has been measured with the present versions of its estimators; those
        of older ones are shown until they are measured again.
    """

    def __init__(self, path):
        self._path, self._study, self.rows = path, path.name.removesuffix("_runs.jsonl"), {}
        *lines, rest = path.read_text(encoding="utf-8").split("\n") if path.exists() else [""]
        for row in map(json.loads, lines):
            self.rows[run_of(self._study, row)] = row
        self._clean = not rest  # otherwise half a line, that a killed run has left

    def get(self, *run):
        return self.rows.get(frozen(run))

    def found(self, runs):
        """The rows of runs that have been measured."""
        return [row for row in map(self.rows.get, map(frozen, runs)) if row]

    def select(self, **columns):
        """The rows that have these columns."""
        return [row for row in self.rows.values() if columns.items() <= row.items()]

    def __contains__(self, run):
        row = self.rows.get(frozen(run))
        return row is not None and row.get("version") == version_of(self._study, run)

    def add(self, run, row):
        """Keep a row, in the place of one of the same run."""
        row = {**columns_of_run(self._study, run), "version": version_of(self._study, run), **row}
        append = self._clean and frozen(run) not in self.rows
        self.rows[frozen(run)] = row
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if append:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line_of(row))
        else:
            whole = self._path.with_suffix(".tmp")
            whole.write_text("".join(map(line_of, self.rows.values())), encoding="utf-8")
            whole.replace(self._path)
            self._clean = True


def line_of(row):
    return json.dumps(row, separators=(",", ":")) + "\n"


def one_thread():
    """Processes share the cores: no threads inside."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def timed_row(function, *arguments):
    """The row that a function returns, with the processor's seconds of the call if it has none."""
    start = time.process_time()
    row = function(*arguments)
    return {**row, "seconds": row.get("seconds", round(time.process_time() - start, 2))}


def seconds_of(function, *arguments, clock=time.process_time, **keywords):
    """Seconds of a call, of the processor by default, and its result."""
    start = clock()
    result = function(*arguments, **keywords)
    return clock() - start, result


@contextmanager
def timed_in(places, clock=time.process_time):
    """Name -> seconds of each call of a function, by the (owner, name) of it, while the block runs."""
    spent = {name: [] for name in places}

    def timed(function, name):
        def run(*arguments, **keywords):
            seconds, result = seconds_of(function, *arguments, clock=clock, **keywords)
            spent[name].append(seconds)
            return result

        return run

    with ExitStack() as stack:
        for name, (owner, attribute) in places.items():
            function = timed(getattr(owner, attribute), name)
            stack.enter_context(mock.patch.object(owner, attribute, function))
        yield spent


def apart(function, *arguments):
    """Call a function in a process of its own, which begins with nothing of this one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(function, *arguments).result()


def megabytes(name, process="self"):
    """Memory of a process on Linux, by its name in the status: RssAnon is what no file has."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 2**10 for line in lines if line.startswith(name))


def peak_megabytes():
    """Peak memory of this process so far."""
    if Path("/proc/self/status").exists():  # getrusage would count the memory of the parent before the start
        return megabytes("VmHWM")
    import resource  # which Windows does not have

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def shown(values, form=".4f"):
    """Cells of numbers; empty where there is none."""
    return ["" if np.isnan(x) else format(x, form) for x in values]


def printed(row):
    """A row, which is shown as it is measured."""
    print(row, flush=True)
    return row


def with_deciles(titles):
    """A column for each title, and behind it one for each of the deciles."""
    return [name for title in titles for name in (title, *(f"{decile}, {title}" for decile in DECILES))]


def spread(values):
    """Median, third and seventh decile."""
    return np.quantile(np.array(values, dtype=float), [0.5, 0.3, 0.7], axis=0)


def interval(values):
    """Mean, and the bounds of its interval of 95 percent (Student's t)."""
    mean, n = np.mean(values), len(values)
    reach = t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return mean, mean - reach, mean + reach


def grouped(pairs):
    """Key -> values, of pairs of these."""
    groups = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def extremes(values):
    """Mean, least and most."""
    return np.mean(values), min(values), max(values)
