"""Which published runs were measured before the last change of what an estimator finds.

    python benchmarks/older_runs.py [--update]

Reads benchmarks/runs/, nothing is measured. The main table has a row for each study and estimator with such
runs, so it can be empty. Tables show runs of older code until their study is run again.
"""

from collections import Counter

from _study import RUNS, Cache, Study, new_parser
from _versions import VERSIONS, estimators_of


def write_tables(study):
    """Of each study and estimator that has changed: its runs, and those of older code."""
    table, total = [], 0
    for path in sorted(RUNS.glob("*.jsonl")):
        cache, name = Cache(path), path.name.removesuffix("_runs.jsonl")
        runs, older = Counter(), Counter()
        for run in cache.rows:
            changed = " and ".join(sorted(estimators_of(name, run) & VERSIONS.keys()))
            runs[changed] += 1
            older[changed] += run not in cache
        table += [(name, changed, older[changed], n) for changed, n in sorted(runs.items()) if older[changed]]
        total += runs.total()
    study.write("total", ["runs", "of older code"], [(total, sum(n_older for _, _, n_older, _ in table))])
    study.write("", ["study", "estimator", "runs of older code", "of runs"], table)


def main():
    write_tables(Study("older_runs", new_parser(__doc__).parse_args()))


if __name__ == "__main__":
    main()
