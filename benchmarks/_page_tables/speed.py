"""Speed and quality beside other libraries, costs, classifiers, platforms, and tests of other libraries."""

import re
from collections import Counter

from .formats import NONE, change, fixed, significant, supported, whole, with_range
from .shapes import CORPUS_NAMES, cell, columns, pivot, plain, read, select

MEASURES = {
    "seconds to it, median of 5": "seconds to the peer's score",
    "seconds of one pass": "seconds of one pass",
    "transform, documents per second": "transform, documents a second",
    "tokens per second, collapsed Gibbs": "collapsed Gibbs, tokens a second",
    "token draws per second": "training, draws a second",
}
PEER = plain("corpus") | columns(whole, "topics") | plain("peer")
PLATFORM = plain("state", "where", "with", "what", "result")
TESTED = "ran", "emulated"
LARGEST = {"none, the same bits": 0, "10⁻¹⁵": 1e-15, "10⁻¹²": 1e-12, "10⁻⁶": 1e-6, "10⁻⁴": 1e-4}
# Burn-in and sweeps of transform
SWEEPS = [("0", "6"), ("2", "4"), ("4", "1"), ("4", "2"), ("4", "4"), ("4", "5"), ("4", "6"), ("10", "20")]


def transform_sweeps():
    """Some of the settings: the median of the speed over corpora, and the change of score on each."""
    names, rows = ["arxiv_0", "kos", "20news"], []
    for burn_in, sweeps in SWEEPS:
        rows_of = read("transform_sweeps", {"transform_burn_in": burn_in, "transform_sweeps": sweeps})
        found = {row["corpus"]: row for row in rows_of}
        faster = sorted(float(row["times as fast as the defaults"]) for row in rows_of)
        losses = [change(found[name]["score less that of the defaults"], 3) for name in names]
        rows.append((burn_in, sweeps, significant(faster[1]), *losses))
    heads = [f"{CORPUS_NAMES[name]}, score" for name in names]
    return ["transform_burn_in", "transform_sweeps", "times as fast", *heads], rows


def older_runs():
    older, runs = Counter(), Counter()
    for row in read("older_runs"):
        older[row["study"]] += int(row["runs of older code"])
        runs[row["study"]] += int(row["of runs"])
    return ["study", "runs of older code", "of these runs"], [
        (study.replace("_", " "), whole(older[study]), whole(runs[study])) for study in runs
    ]


def reasons():
    """Why tests of other libraries differ: each reason once, with the tests that have it."""
    tests = {}
    for row in read("other_tests_differs"):
        if not row["why"].startswith("As test_"):
            why = re.sub(r" Over \d+ seeds .*", "", row["why"])
            tests.setdefault((row["project"], why), {})[row["test"].rpartition("::")[2]] = None
    return ["library", "tests", "why they differ"], [
        (project, ", ".join(names), why) for (project, why), names in tests.items()
    ]


def answers():
    """From the true proportions, from means and from draws: a row for each question."""
    rows = {}
    for row in read("uncertainty"):
        of = rows.setdefault((row["question"], row["words a document"]), {})
        for name in ("estimate", "coverage"):
            of[f"{name}, {row['proportions']}"] = fixed(row[name])
    shown = ["estimate, means", "estimate, draws", "coverage, true", "coverage, means", "coverage, draws"]
    return ["question", "words a document", *shown], [
        (*key, *(of[name] for name in shown)) for key, of in rows.items()
    ]


def runs_and_builds():
    """Where, and with what, in a column each."""
    for row in read("platforms"):
        python = f"Python {row['Python']}" if row["Python"] else ""
        row["where"] = ", ".join(filter(None, (row["system"], row["machine"])))
        row["with"] = ", ".join(filter(None, (python, row["compiler"])))
        yield row


def equal_seeds():
    """Estimators by the largest difference on any of the machines."""
    found = {}
    for row in read("platforms_seeds"):
        different = [float(each) for each in list(row.values())[1:] if each != "the same bits"]
        found.setdefault(
            next(name for name, most in LARGEST.items() if max(different, default=0) <= most), []
        ).append(row["estimator"])
    return ["largest difference", "estimators"], [
        (name, ", ".join(found[name])) for name in LARGEST if name in found
    ]


TABLES = {
    # The score that a longer run of the peer has, and the rest
    "peers": select(
        "peers",
        columns(MEASURES.get, "measured = measure")
        | PEER
        | columns(significant, "peer's", "sktopic's", "times as fast = ratio or difference"),
        lambda row: row["measure"] in MEASURES,
        lambda row: list(MEASURES).index(row["measure"]),
    ),
    "peers_scores": select(
        "peers",
        PEER
        | columns(
            lambda found: found[5:].strip() or "until it has the peer's", "trained or inferred = measure"
        )
        | columns(fixed, "peer's", "sktopic's")
        | columns(change, "difference = ratio or difference"),
        lambda row: row["measure"].startswith("score"),
    ),
    # Not against earlier commits
    "speed": select(
        "speed",
        {"a second": lambda row: f"{row['work']} ({row['unit'].removesuffix('/s')})"}
        | plain("corpus")
        | columns(whole, "topics")
        | plain("compared with")
        | columns(significant, "that = median of that", "sktopic = median now")
        | {"times as fast": cell(supported, "times as fast", "95 percent interval from", "to")},
        lambda row: row["compared with"] in ("one job", "tomotopy", "scikit-learn"),
    ),
    "cost": select(
        "cost",
        plain("corpus = documents")
        | columns(whole, "words", "topics")
        | columns(significant, "training, ns a token", "transform, ns a token")
        | columns(fixed, "memory, in sizes of the topics = memory / (8 V K)", digits=1),
    ),
    "cost_parts": select(
        "cost_parts",
        columns(whole, "topics")
        | columns(significant, "reading topic rows = rows, ms", "drawing topics = draws, ms")
        | columns(significant, "adding counts = adding, ms", "else = else, ms"),
    ),
    "transform_sweeps": transform_sweeps,
    "classifier": select(
        "classifier",
        plain("features")
        | columns(whole, "their number")
        | {
            "accuracy": cell(with_range, "accuracy", "95 percent interval", without=3),
            "log loss": cell(with_range, "log loss", "interval of the log loss", without=3),
        }
        | columns(significant, "seconds to make them = seconds of features"),
    ),
    "document_streams": pivot(
        "document_streams",
        plain("method"),
        "corpus",
        cell(supported, "difference", "95 percent interval from", "to", sign=True),
        ["pairs of words", "KOS", "Reuters", "20 Newsgroups"],
    ),
    "older_runs": older_runs,
    "uncertainty": answers,
    "platforms_runs": select(runs_and_builds, PLATFORM, lambda row: row["state"] in TESTED),
    "platforms_builds": select(runs_and_builds, PLATFORM, lambda row: row["state"] not in TESTED),
    "platforms_seeds": equal_seeds,
    "other_tests": select(
        "other_tests_summary",
        plain("library = project")
        | columns(lambda found: found or NONE, "in place of its class = here")
        | plain("tests", "passes", "mapped = passes, results mapped", "differs", "not applicable"),
    ),
    "other_tests_differs": reasons,
    "other_tests_seeds": select("other_tests_seeds", plain("test", "class", "seeds", "pass")),
}
