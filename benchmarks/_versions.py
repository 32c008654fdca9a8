"""Which results of the estimators a run was measured with, so that runs of older code are known."""

import re
import tomllib
from pathlib import Path

# Raised in a change of the library after which an estimator finds something else; 1 for all others.
VERSIONS = {
    "DMRLDA": 2,
    "OnlineEMLDA": 7,
    "OnlineEMLDA with another prior": 6,
    "OnlineEMLDA with a decay": 4,
    "OnlineEMLDA in streams": 8,
    "boosted OnlineEMLDA": 2,
    "OnlineEMHDP": 3,
    "OnlineEMHDP in one pass": 2,
    "HybridHDP": 4,
    "HybridHDP with moves": 2,
    "HybridLDA": 3,
    "HybridLDA with draws": 2,
    "LangevinLDA": 2,
    "memoized DirectAssignmentHDP": 3,
    "restricted DirectAssignmentHDP": 2,
    "OnlineOPELDA": 2,
    "OnlineVariationalLDA": 2,
    "StreamingGibbsLDA": 2,
    "StreamingVariationalLDA": 2,
}

STUDIES = tomllib.loads((Path(__file__).parent / "studies.toml").read_text(encoding="utf-8"))
CLASS = re.compile(r"[A-Z]\w+(LDA|HDP)")


def columns_of(study, part):
    """The names of the columns of a run."""
    if study not in STUDIES:
        raise KeyError(f"add [{study}], with the columns that identify a run, to benchmarks/studies.toml")
    columns = STUDIES[study]["columns"]
    if isinstance(columns, str):
        return columns.split()
    return ["part", *(columns[part] if part in columns else columns["other"]).split()]


def all_columns(study):
    """The names of the columns of all runs."""
    columns = STUDIES[study]["columns"]
    return set(columns.split() if isinstance(columns, str) else ["part", *" ".join(columns.values()).split()])


def columns_of_run(study, run):
    """Column -> value of a run."""
    return dict(zip(columns_of(study, run[0]), run, strict=True))


def run_of(study, row):
    """The run of a row."""
    return frozen(tuple(row[name] for name in columns_of(study, row.get("part"))))


def frozen(value):
    """A value that can be a key: tuples in place of lists, and sorted pairs in place of a dict."""
    if isinstance(value, dict):
        return tuple(sorted((name, frozen(each)) for name, each in value.items()))
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


def estimators_of(study, run):
    """The estimators that a run uses, by what its columns name."""
    names, found = STUDIES[study].get("estimators", {}), set()
    for text in strings_of(frozen(run)):
        name = text if text in names else text.partition(",")[0]
        if name in names or CLASS.fullmatch(name):
            found.add(tuple(names.get(name, [name])))
    return {name for each in found or [names.get("none", ())] for name in each}


def strings_of(value):
    if isinstance(value, tuple):
        return [string for part in value for string in strings_of(part)]
    return [value] if isinstance(value, str) else []


def version_of(study, run):
    """Of what a run finds: it rises with the version of each estimator that the run uses."""
    return 1 + sum(VERSIONS.get(name, 1) - 1 for name in estimators_of(study, run))
