"""The claims of papers, which are in claims/PAPER.toml, and the numbers that they are judged by.

A claim compares two sets of runs, seed by seed. Runs are given by their columns: those of `[runs]`, of `runs`
of the claim, of a cell of `each` and `all`, and of `one`; for the other set those of `less` (difference),
`over` (logarithm of the ratio) or `later` (likewise, of times) in place of `one`. "$name" stands for another
column or a list of the file.

text, paper      what the paper says, and where
table, measured  the table of the study, and what is compared
says             "more", "less", "level", "no more" or "no less": of the differences, within the margin of the
                 `unit` ("nats" unless given, "NPMI", "topics" or "times")
above, below     in place of `says`: the range that is claimed
least            in how many cases the claim has to hold; in all unless given
opposite         what is found if a claim of "no more" or "no less" is true because the opposite is
each             column -> values: a case for each combination. A value may be several columns.
all              column -> values: a comparison for each combination; the claim is about all of them together
value            the field of a run, or one of VALUES. Of a series it is the last one, or the last after
                 so many `documents` or `seconds`. `minus` is subtracted: a number or another field.
within           with `later`: times until values are so far below the lower of the best values of both runs
lowest, highest  column -> values: the set of runs that has the lowest or highest mean; with `by`, of the runs
                 whose columns are moved to these. It is chosen for each seed by the other seeds, so no seed
                 judges what it has chosen.
mean, range      column -> values: by seed, the mean or range of all
what             the name of a comparison
timed            only runs count that were measured one at a time, since others slow down a run

A file can have `overlap`, corpus -> documents for test and for training, if its seeds are random splits; and
`since`, method -> version, for methods whose older runs did not do what the paper says.
"""

import operator
import tomllib
from functools import cache, partial
from itertools import product
from math import inf, log
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _results import CORPUS_NAMES
from _study import RUNS, Cache
from _verdicts import Estimate, estimated
from _versions import columns_of
from moment_matching_paper import own_order

PAPERS = ("online_em", "g_ope", "moment_matching", "hybrid_hdp", "split_merge_hdp")
FOLDER = Path(__file__).parent / "claims"
CHOICES = {"lowest": min, "highest": max}
BY_SEED = {"mean": np.mean, "range": np.ptp}


class Comparison(NamedTuple):
    """A comparison of a claim; its estimate is None if there are no runs for it."""

    name: str
    estimate: Estimate | None
    corpus: str | None


class Course(NamedTuple):
    """Values of a run at the times of its notes, and how near a level they have to come."""

    seconds: list
    values: list
    within: float

    def seconds_to(self, level):
        """The time at which a value is first at a level or above."""
        return next(time for time, value in zip(self.seconds, self.values) if value >= level)


def later(one, other):
    """Logarithm of the ratio of the times until two courses are near the lower of their best values."""
    level = min(max(one.values), max(other.values)) - one.within
    return log(one.seconds_to(level) / other.seconds_to(level))


COMPARE = {"less": operator.sub, "over": lambda one, other: log(one / other), "later": later}


def score_at(row, clock, place):
    """The score at a second, or number of documents, between notes by a straight line."""
    places, scores = ([note[name] for note in row["trace"]] for name in (clock, "score"))
    return float(np.interp(place, places, scores)) if place <= places[-1] else None


def late_rise(row, clock):
    """What the second half of the time, or of the documents seen, gained."""
    end = row["trace"][-1]
    return end["score"] - score_at(row, clock, end[clock] / 2)


def fall_from_best(row):
    """What the run lost after its best score."""
    scores = [note["score"] for note in row["trace"]]
    return max(scores) - scores[-1]


def fit_by_logarithm(row):
    """Share of the variance of the number of topics that a line in the logarithm of the tokens explains."""
    tokens, topics = row["trace"]
    if np.ptp(topics) == 0.0:  # the number does not grow
        return 0.0
    return float(np.corrcoef(np.log(tokens), topics)[0, 1] ** 2)


VALUES = {
    "fit by the logarithm": lambda row: fit_by_logarithm(row) if "trace" in row else None,
    "gain in the second half of the time": partial(late_rise, clock="seconds"),
    "gain in the second half of the stream": partial(late_rise, clock="documents"),
    "fall from the best score": fall_from_best,
    "rise of the bound in the last pass": lambda row: row["bound"][-1] - row["bound"][-2],
    "late moves": lambda row: sum(row["moves"][2:]) / max(sum(row["moves"]), 1) if "moves" in row else None,
    "20 topics": lambda row: float(row["trace"][-1]["topics"] == 20),
}
# Columns whose value depends on others.
DERIVED = {"own order": lambda of: own_order(of["corpus"], of["method"], of["settings"])}


@cache
def runs_of(paper):
    return Cache(RUNS / f"{paper}_runs.jsonl")


@cache
def grouped_runs(paper, names):
    """Values of these columns -> rows that have them: a look at each row would take most of the time."""
    groups = {}
    for row in runs_of(paper).rows.values():
        groups.setdefault(tuple(map(row.get, names)), []).append(row)
    return groups


@cache
def claims_of(paper):
    """Its claims, each with the columns that are given to all of its runs."""
    data = tomllib.loads((FOLDER / f"{paper}.toml").read_text(encoding="utf-8"))
    of_file = {name: data.get(name, {}) for name in ("overlap", "since")}
    given = {"study": paper, **of_file, **data["lists"], **data["runs"]}
    return [{**claim, "runs": given | claim.get("runs", {})} for claim in data["claim"]]


def resolved(value, columns):
    """A value with what it names by $."""
    if isinstance(value, dict):
        return {name: resolved(each, columns) for name, each in value.items()}
    if isinstance(value, list):
        return [resolved(each, columns) for each in value]
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
        notes = [note for note in found if note["seconds"] <= of.get("seconds", inf)]
        found = [note[rest[0]] for note in notes if rest[0] in note]
        if "within" in of:
            return Course([note["seconds"] for note in notes], found, of["within"])
    elif rest:
        found = found[rest[0]]
    elif "documents" in of:
        found = [each for each, n in zip(found, row["documents"]) if n <= of["documents"]]
    if isinstance(found, list):
        found = found[-1] if found else None
    minus = of.get("minus", 0)
    return found - row.get(minus, minus) if found is not None else None


def counts(row, of):
    """Whether a run may judge the claim."""
    new = row["version"] >= of["since"].get(row.get("method"), 1)
    return new and (row.get("jobs") == 1 or not of.get("timed"))


def by_seed(of):
    """Seed -> number of the runs that have these columns."""
    part, found = of.get("part"), {}
    names = columns_of(of["study"], part[0] if isinstance(part, list) else part)
    given = {name: of[name] for name in names if name in of}
    derived = {name: DERIVED[x] for name, x in given.items() if isinstance(x, str) and x in DERIVED}
    given |= {name: value_of(of) for name, value_of in derived.items()}
    grouped = tuple(x for x in ("corpus", "method") if x in given and not isinstance(given[x], list))
    for row in grouped_runs(of["study"], grouped).get(tuple(map(given.get, grouped)), ()):
        if all(row.get(x) in y if isinstance(y, list) else row.get(x) == y for x, y in given.items()):
            value = number(row, of) if counts(row, of) else None
            if value is not None:
                assert row.get("seed") not in found, given
                found[row.get("seed")] = value
    return dict(sorted(found.items()))


def common_seeds(found):
    return sorted(set.intersection(*map(set, found))) if found else []


def chosen_by_others(choose, found, by):
    """For each seed the number of the set that the other seeds choose; of one seed alone, what it chooses."""
    chosen = {}
    for seed in common_seeds([*found, *by]):
        others = [[x for s, x in numbers.items() if s != seed or len(numbers) == 1] for numbers in by]
        best = choose(range(len(by)), key=lambda i, others=others: np.mean(others[i]))
        chosen[seed] = found[best][seed]
    return chosen


def numbers_of(columns, spec):
    """Seed -> number of a set of runs; without a seed that one run of a mean or range lacks."""
    columns = columns | resolved(spec, columns)
    for kind in (*CHOICES, *BY_SEED):
        if kind in spec:
            cells = [(of, by_seed(of)) for of in combined(columns, spec[kind])]
            if kind in BY_SEED:
                seeds = common_seeds([numbers for _, numbers in cells])
                return {s: BY_SEED[kind]([numbers[s] for _, numbers in cells]) for s in seeds}
            cells = [(of, numbers) for of, numbers in cells if numbers]
            by = [by_seed(of | of.get("by", {})) for of, _ in cells]
            return chosen_by_others(CHOICES[kind], [numbers for _, numbers in cells], by)
    return by_seed(columns)


def compared(claim, columns):
    numbers = numbers_of(columns, claim["one"])
    values = list(numbers.values())
    for kind, compare in COMPARE.items():
        if kind in claim:
            others = numbers_of(columns, claim[kind])
            values = [compare(numbers[seed], others[seed]) for seed in numbers if seed in others]
    corpus = columns.get("corpus")
    n_test, n_train = columns["overlap"].get(corpus, (0, 1))
    name = claim["what"].format(**{**columns, "corpus": CORPUS_NAMES.get(corpus, corpus)})
    return Comparison(name, estimated(values, n_test / n_train) if values else None, corpus)


def cases_of(claim):
    """Case -> comparisons of a claim; no case if the claim is not judged."""
    cases = {}
    for columns in combined(claim["runs"], claim.get("each", {})) if "one" in claim else ():
        columns |= {"timed": claim.get("timed", False)}
        cases[len(cases)] = [compared(claim, each) for each in combined(columns, claim.get("all", {}))]
    return cases
