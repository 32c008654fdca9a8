"""The claims of papers, which are in claims/PAPER.toml, and the numbers that they are judged by.

A claim compares two sets of runs, seed by seed. Runs are given by their columns: those of `[runs]`, of `runs`
of the claim, of a cell of `each`, and of `one`; for the other set those of `less` (difference) or `over`
(ratio) in place of `one`. "$name" stands for another column or for a list of the file.

text, paper      what the paper says, and where
table, measured  the table of the study, and what is compared
above, below     the range that is claimed; with `some = true`, for one of the comparisons at least
each             column -> values: one comparison for each combination. A value may be several columns.
pick             { smallest = column -> values } or largest: only the comparison with this mean
value            the field of a run, or one of VALUES. Of a series it is the last one, or the last after
                 so many `documents` or `seconds`. `minus` is subtracted: a number or another field.
lowest, highest  column -> values: the set of runs that has the lowest or highest mean
mean, range      column -> values: by seed, the mean or range of all
what             the name of a comparison; {one[column]} and {less[column]} are those chosen
"""

import operator
import tomllib
from functools import cache
from itertools import product
from math import inf
from pathlib import Path

import numpy as np
from _results import CORPUS_NAMES
from _study import RUNS, Cache
from _versions import columns_of
from g_ope_paper import best_p
from moment_matching_paper import own_order

PAPERS = ("online_em", "g_ope", "moment_matching", "hybrid_hdp", "split_merge_hdp")
FOLDER = Path(__file__).parent / "claims"
CHOICES = {"lowest": min, "highest": max, "smallest": min, "largest": max}
COMPARE = {"less": operator.sub, "over": operator.truediv}
BY_SEED = {"mean": np.mean, "range": np.ptp}


def late_rise(row):
    """What the second half of the time gained."""
    seconds, scores = ([note[name] for note in row["trace"]] for name in ("seconds", "score"))
    return scores[-1] - np.interp(seconds[-1] / 2, seconds, scores)


VALUES = {
    "late rise": late_rise,
    "rise of the bound in the last pass": lambda row: row["bound"][-1] - row["bound"][-2],
    "20 topics": lambda row: float(row["trace"][-1]["topics"] == 20),
}
# What a series is cut at, and the field that has it of each entry.
LIMITS = {"documents": "documents", "seconds": "clock"}
# Columns whose value depends on others.
DERIVED = {
    "best p": lambda of, runs: best_p(runs, of["corpus"], of["batch_size"], of["learning_decay"]),
    "best p elsewhere": lambda of, runs: best_p(runs, of["other"], of["batch_size"], of["learning_decay"]),
    "own order": lambda of, _: own_order(of["corpus"], of["method"], of["settings"]),
}


@cache
def runs_of(paper):
    return Cache(RUNS / f"{paper}_runs.jsonl")


@cache
def claims_of(paper):
    """Its claims, each with the columns that are given to all of its runs."""
    data = tomllib.loads((FOLDER / f"{paper}.toml").read_text(encoding="utf-8"))
    given = {"study": paper, **data["lists"], **data["runs"]}
    return [{**claim, "runs": given | claim.get("runs", {})} for claim in data["claim"]]


def resolved(value, columns):
    """A value with what it names by $."""
    if isinstance(value, dict):
        return {name: resolved(each, columns) for name, each in value.items()}
    is_name = isinstance(value, str) and value.startswith("$")
    return columns[value[1:]] if is_name else value


def combined(columns, choices):
    """The columns with each combination of values."""
    choices = resolved(choices, columns)
    for cell in product(*choices.values()):
        of_cell = {}
        for name, value in zip(choices, cell):
            of_cell |= value if isinstance(value, dict) else {name: value}
        yield columns | of_cell


def number(row, of):
    """What a run has of a value; None where it has nothing yet."""
    name, *rest = [of["value"]] if isinstance(of["value"], str) else of["value"]
    if name in VALUES:
        return VALUES[name](row)
    found = row.get(name)
    if name == "trace":
        found = [note[rest[0]] for note in found if note["seconds"] <= of.get("seconds", inf)]
    elif rest:
        found = found[rest[0]]
    else:
        for limit, field in LIMITS.items():
            if limit in of:
                found = [each for each, n in zip(found, row.get(field, ())) if n <= of[limit]]
    if isinstance(found, list):
        found = found[-1] if found else None
    minus = of.get("minus", 0)
    return found - row.get(minus, minus) if found is not None else None


def by_seed(of):
    """Seed -> number of the runs that have these columns."""
    runs, found = runs_of(of["study"]), {}
    part = of.get("part")
    names = columns_of(of["study"], part[0] if isinstance(part, list) else part)
    given = {name: of[name] for name in names if name in of}
    derived = {name: DERIVED[x] for name, x in given.items() if isinstance(x, str) and x in DERIVED}
    given |= {name: value_of(of, runs) for name, value_of in derived.items()}
    for row in runs.rows.values():
        if all(row.get(x) in y if isinstance(y, list) else row.get(x) == y for x, y in given.items()):
            value = number(row, of)
            if value is not None:
                assert row.get("seed") not in found, given
                found[row.get("seed")] = value
    return dict(sorted(found.items())) if len(found) > 1 else found


def mean(numbers):
    return np.mean(list(numbers.values()))


def runs_and_numbers(columns, spec):
    """The columns of a set of runs, those that are chosen, and its numbers by seed."""
    columns = columns | resolved(spec, columns)
    for kind in (*CHOICES, *BY_SEED):
        if kind in spec:
            found = [(of, by_seed(of)) for of in combined(columns, spec[kind])]
            found = [(of, numbers) for of, numbers in found if numbers]
            if kind in CHOICES:
                return CHOICES[kind](found, key=lambda each: mean(each[1]), default=(columns, {}))
            seeds = sorted(set.intersection(*(set(numbers) for _, numbers in found or [(None, ())])))
            return columns, {s: BY_SEED[kind]([numbers[s] for _, numbers in found]) for s in seeds}
    return columns, by_seed(columns)


def compared(claim, columns):
    """The name of a comparison, and its numbers."""
    one, numbers = runs_and_numbers(columns, claim["one"])
    values, other = list(numbers.values()), {}
    for kind, compare in COMPARE.items():
        if kind in claim:
            other, others = runs_and_numbers(columns, claim[kind])
            values = [compare(numbers[seed], others[seed]) for seed in numbers if seed in others]
    shown = {**columns, "corpus": CORPUS_NAMES.get(columns.get("corpus"), columns.get("corpus"))}
    return claim["what"].format(**shown, one=one, less=other) if values else "", values


def comparisons(claim):
    """The name and the numbers of each comparison that there are runs for."""
    for columns in combined(claim["runs"], claim.get("each", {})) if "one" in claim else ():
        ((kind, among),) = claim.get("pick", {"smallest": {}}).items()
        found = [compared(claim, each) for each in combined(columns, among)]
        found = [each for each in found if each[1]]
        if found:
            yield CHOICES[kind](found, key=lambda each: np.mean(each[1]))
