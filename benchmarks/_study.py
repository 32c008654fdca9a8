"""What the studies share: their command line and files, a cache of runs, a pool, tables and pictures."""

import argparse
import datetime
import io
import json
import os
import platform
import re
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import sklearn
from _results import CORPUS_NAMES, MAIN, MEASURED_ON, PUBLISHED, read_tables, write_tables
from _versions import version_of
from scipy.stats import t

import sktopic

ROOT = Path(__file__).parent.parent
RUNS = ROOT / "benchmarks" / "runs"
OUTPUT = ROOT / "benchmarks" / "output"
DECILES = ("3rd decile", "7th decile")
ONE_SEED = ", one seed"


def new_parser(text, long=False):
    """The command line that all studies have; long: of those that measure for hours."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "--update",
        action="store_true",
        help="write the published results: doc/benchmarks, with the runs in benchmarks/runs",
    )
    target.add_argument(
        "--output", type=Path, default=OUTPUT, metavar="DIR", help="write there (benchmarks/output)"
    )
    if long:
        target.add_argument("--short", action="store_true", help="some minutes, to see that all works")
        parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
        parser.add_argument("--draw-only", action="store_true", help="use the runs that there are")
    return parser


class Study:
    """Where the results of a study go: NAME.csv and NAME_*.svg in one folder, its runs in NAME_runs.jsonl."""

    def __init__(self, name, arguments):
        self.short = getattr(arguments, "short", False)
        self.folder = PUBLISHED if arguments.update else arguments.output
        if self.short:
            self.folder = self.folder / "short"
        self.name = name
        self.cache = Cache((RUNS if arguments.update else self.folder) / f"{name}_runs.jsonl")

    def known_runs(self):
        """The cache, by which the times of other runs are estimated."""
        if not self.cache.rows:
            raise SystemExit("There are no runs to estimate by. With --update there are the published ones.")
        return self.cache

    def path(self, rest):
        """Of a file that is going to be written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{self.name}{rest}"

    def write(self, table, header, rows):
        """Replace a table ("" is the main one) in NAME.csv, row by row: they may be measured meanwhile."""
        assert len(set(header)) == len(header), header
        tables = read_tables(self.path(".csv"))
        written = tables[table or MAIN] = []
        for row in rows:
            written.append(dict(zip(header, row, strict=True)))
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
    names = (
        [line for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.exists()
        else ()
    )
    if names:
        cpu = names[0].split(":", 1)[1].strip()
    return (
        f"{cpu}, {os.cpu_count()} cores; Python {platform.python_version()}, NumPy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}, sktopic {sktopic.__version__}; {datetime.date.today()}"
    )


def without_date(line):
    return line.rpartition("; ")[0]


class Cache:
    """Rows by the key of their run, in a file with one line each.

    rows : dict of all, for tables. `run in cache` says whether a run has been measured with the present
        versions of its estimators; rows of older ones are shown until they are measured again.
    """

    def __init__(self, path):
        self._path, self._study, self.rows = path, path.name.removesuffix("_runs.jsonl"), {}
        *lines, rest = path.read_text().split("\n") if path.exists() else [""]
        for row in map(json.loads, lines):
            self.rows[row["run"]] = row
        self._clean = not rest  # otherwise half a line, that a killed run has left

    def __contains__(self, run):
        return run in self.rows and self.rows[run].get("version") == version_of(self._study, run)

    def add(self, row):
        """Keep a row, in the place of one of the same run."""
        row = {"version": version_of(self._study, row["run"]), **row}
        append = self._clean and row["run"] not in self.rows
        self.rows[row["run"]] = row
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if append:
            with self._path.open("a") as file:
                file.write(line_of(row))
        else:
            whole = self._path.with_suffix(".tmp")
            whole.write_text("".join(map(line_of, self.rows.values())))
            whole.replace(self._path)
            self._clean = True


def line_of(row):
    return json.dumps(row, separators=(",", ":")) + "\n"


def one_thread():
    """Processes share the cores: no threads inside."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


class Pool:
    """Measures runs in processes, one thread each, and keeps their rows."""

    def __init__(self, study, jobs, n_runs):
        self._study, self._n_runs = study, n_runs
        self._executor = ProcessPoolExecutor(jobs, initializer=one_thread)
        self._start, self._done = time.perf_counter(), 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._executor.shutdown(cancel_futures=True)

    def measure(self, function, calls):
        """Add the row that function returns for each of the tuples of arguments, as they come."""
        futures = [self._executor.submit(function, *call) for call in calls]
        for future in as_completed(futures):
            row = future.result()
            if not self._done:
                self._study.sign()
            self._study.cache.add(row)
            self._done += 1
            seconds = (time.perf_counter() - self._start) / self._done * (self._n_runs - self._done)
            print(
                f"[{self._done} of {self._n_runs}, about {seconds / 60:.0f} min left] {row['run']} "
                f"{row['seconds']:.1f} s",
                flush=True,
            )


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


def print_estimates(runs, seconds_of, jobs):
    """Print how long runs take by seconds_of(run), and all of them."""
    seconds = [seconds_of(run) for run in runs]
    for run, each in zip(runs, seconds):
        print(f"{each / 3600:6.2f} h  {json.dumps(run)}", flush=True)
    total = sum(seconds) / 3600
    print(f"{total:6.2f} h  {len(runs)} runs; in {jobs} processes {total / jobs:.2f} h", flush=True)


def named(text):
    """With the names of corpora for readers in place of those of their files."""
    return re.sub(rf"\b(?:{'|'.join(CORPUS_NAMES)})\b", lambda found: CORPUS_NAMES[found[0]], text)


def panels(titles, most_columns=3):
    """A figure and a grid of axes, one a title."""
    import matplotlib.pyplot as plt

    n_columns = min(most_columns, len(titles))
    n_rows = -(-len(titles) // n_columns)
    width, height = (4.2, 3.2) if n_columns < 3 else (3.5, 2.9)  # letters can be read in a column of text
    size = width * n_columns, height * n_rows
    figure, axes = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False, layout="constrained")
    for axis in axes.flat[len(titles) :]:
        axis.remove()
    for axis, title in zip(axes.flat, titles):
        axis.set_title(named(title), fontsize="large" if n_columns < 3 else "medium")
    return figure, dict(zip(titles, axes.flat))


def line(axis, x, values, label, style):
    """Medians as a line, deciles as a shade."""
    middle, low, high = np.array([spread(v) for v in values]).T
    axis.plot(x, middle, label=label, **style)
    axis.fill_between(x, low, high, alpha=0.15, color=style["color"], linewidth=0)
    note_seeds(axis, max(map(len, values)))


def note_seeds(axis, n):
    """Of a line: the title says where no line of a panel has more than one seed."""
    axis.most_seeds = max(n, getattr(axis, "most_seeds", 0))
    title = axis.get_title().removesuffix(ONE_SEED)
    axis.title.set_text(title + ONE_SEED if axis.most_seeds == 1 else title)


def styles(names):
    """A color and a kind of line for each name."""
    return {
        name: {"color": f"C{i}", "linestyle": "-" if i % 2 == 0 else "--", "marker": ".", "linewidth": 1.3}
        for i, name in enumerate(names)
    }


MOST_MARKERS = 10  # of a line
# What takes most of the space of an SVG file
SHORTER = {
    r"\d+\.\d{3,}": lambda number: f"{float(number[0]):.1f}".removesuffix(".0"),
    r'font-family: [^;"]*': "font-family: 'DejaVu Sans', sans-serif",
    r' transform="rotate\(-0 [^"]*"': "",
    r"\s*\n\s*": " ",
}


def save(figure, path):
    """Small files, equal for equal pictures; letters stay letters, which can be found and read aloud."""
    import matplotlib.pyplot as plt

    for line in [line for axis in figure.axes for line in axis.lines]:
        if len(line.get_xdata()) > MOST_MARKERS and line.get_linestyle() != "None":
            line.set_marker("")
    drawn = io.StringIO()
    with plt.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none", "path.simplify_threshold": 0.3}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = drawn.getvalue()
    for pattern, shorter in SHORTER.items():
        text = re.sub(pattern, shorter, text)
    path.write_text(text)


def finish(figure, path, n_columns=5):
    """One legend for what any of the axes shows, below them, in as many columns as fit; then save."""
    shown = {}
    for axis in figure.axes:
        shown |= {label: handle for handle, label in zip(*axis.get_legend_handles_labels())}
    for n in range(n_columns, 0, -1):
        legend = figure.legend(shown.values(), shown, loc="outside lower center", ncols=n, frameon=False)
        if n == 1 or legend.get_window_extent().width <= figure.bbox.width:
            break
        legend.remove()
    save(figure, path)
