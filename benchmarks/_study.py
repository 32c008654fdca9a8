"""What the studies of published comparisons share: a cache of runs, a pool, tables and pictures."""

import csv
import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np

DECILES = ("3rd decile", "7th decile")


class Cache:
    """Results by the key of their run, in a file with one line each."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self.rows = {}
        if path.exists():
            *lines, last = path.read_text().split("\n")
            if last:  # a killed run has left half a line
                path.write_text("".join(line + "\n" for line in lines))
            for row in map(json.loads, lines):
                self.rows[row["run"]] = row

    def add(self, row):
        self.rows[row["run"]] = row
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def one_thread():
    """Processes share the cores: no threads inside."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


class Pool:
    """Measures runs in processes, one thread each, and keeps their rows."""

    def __init__(self, cache, jobs, n_runs):
        self._cache, self._n_runs = cache, n_runs
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
            self._cache.add(row)
            self._done += 1
            seconds = (time.perf_counter() - self._start) / self._done * (self._n_runs - self._done)
            print(
                f"[{self._done} of {self._n_runs}, about {seconds / 60:.0f} min left] {row['run']} "
                f"{row['seconds']:.1f} s",
                flush=True,
            )


def spread(values):
    """Median, third and seventh decile."""
    return np.quantile(np.array(values, dtype=float), [0.5, 0.3, 0.7], axis=0)


class Tables:
    """The committed tables of a study, PREFIX_NAME.csv each."""

    def __init__(self, folder, prefix):
        self._folder, self._prefix = folder, prefix

    def write(self, name, header, rows):
        with (self._folder / f"{self._prefix}_{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)


def panels(titles, most_columns=3):
    """A figure and a grid of axes, one a title."""
    import matplotlib.pyplot as plt

    n_columns = min(most_columns, len(titles))
    n_rows = -(-len(titles) // n_columns)
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=(4.2 * n_columns, 3.2 * n_rows), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[len(titles) :]:
        axis.remove()
    for axis, title in zip(axes.flat, titles):
        axis.set_title(title)
    return figure, dict(zip(titles, axes.flat))


def line(axis, x, values, label, style):
    """Medians as a line, deciles as a shade."""
    middle, low, high = np.array([spread(v) for v in values]).T
    axis.plot(x, middle, label=label, **style)
    axis.fill_between(x, low, high, alpha=0.15, color=style["color"], linewidth=0)


def styles(names):
    """A colour and a kind of line for each name."""
    return {
        name: {"color": f"C{i}", "linestyle": "-" if i % 2 == 0 else "--", "marker": ".", "linewidth": 1.3}
        for i, name in enumerate(names)
    }


def finish(figure, path, n_columns=5):
    """One legend for what any of the axes shows, below them; then save."""
    import matplotlib.pyplot as plt

    shown = {}
    for axis in figure.axes:
        shown |= {label: handle for handle, label in zip(*axis.get_legend_handles_labels())}
    figure.legend(shown.values(), shown, loc="outside lower center", ncols=n_columns, frameon=False)
    figure.savefig(path, dpi=100)
    plt.close(figure)
