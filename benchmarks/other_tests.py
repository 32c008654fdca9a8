"""What the tests of other libraries say about ours, which take the place of their classes.

    python benchmarks/other_tests.py [--tomotopy DIR] [--again]

The tests are those of the installed packages, run as they are: scikit-learn's of LDA and its common tests,
gensim's of coherence, LdaModel and HdpModel, and lda's (which need oslotest). _in_their_place.py puts our
estimators in the place of their classes. tomotopy's examples are in its source distribution alone,
of which DIR is the unpacked one; _their_examples.py does them, and lda's, with our estimators. What has run
is kept; --again runs all anew.

A test that fails has a reason in other_tests.toml, and one that has a reason fails; otherwise this script
does.
"""

import os
import sysconfig
import tomllib
from collections import Counter
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import _their_examples
from _study import ROOT, Study, apart, new_parser

VB, EM = "OnlineVariationalLDA", "OnlineEMLDA"
# Project, tests as pytest finds them in packages, our class, and where it is put
SUITES = [
    ("scikit-learn", "sklearn.decomposition.tests.test_online_lda", VB, "scikit-learn"),
    ("scikit-learn", "sklearn.decomposition.tests.test_online_lda", EM, "scikit-learn"),
    ("scikit-learn", "sklearn.tests.test_common", "all estimators", "scikit-learn, common"),
    ("gensim", "gensim.test.test_coherencemodel", "coherence", "gensim"),
    ("gensim", "gensim.test.test_ldamodel", VB, "gensim"),
    ("gensim", "gensim.test.test_hdpmodel", "OnlineVariationalHDP", "gensim"),
    *(
        ("lda", f"lda.tests.{name}", "CollapsedGibbsLDA", "lda")
        for name in ("test_lda", "test_lda_reuters", "test_lda_sparse", "test_lda_transform", "test_datasets")
    ),
    ("lda", "lda.tests.test_utils", "CollapsedGibbsLDA", "lda"),
]
REASONS = tomllib.loads((ROOT / "benchmarks" / "other_tests.toml").read_text(encoding="utf-8"))
RESULTS = "passes", "passes, results mapped", "differs", "not applicable"
HEAD = ["project", "version", "file", "test", "cases", "here", "result", "why"]
SUMMARY_HEAD = ["project", "here", "tests", *RESULTS]
SEEDS_HEAD = ["test", "class", "seeds", "pass"]
DIFFERS_HEAD = ["project", "test", "here", "why"]
# The folder of packages, which differs between machines
INSTALLED = sysconfig.get_path("purelib") + os.sep
# Seeds on which tests depend whose verdict is that of one seed
N_SEEDS = 30
CLASSES = "LatentDirichletAllocation", VB, EM
BY_LUCK = "fit_online or (partial_fit and not multi_jobs)"


class Recorder:
    """Notes the outcome of each case of each test: "passed", or the line of the error."""

    def __init__(self):
        self.cases = {}

    def pytest_runtest_logreport(self, report):
        name, _, case = report.nodeid.partition("::")[2].removesuffix("]").partition("[")
        outcomes = self.cases.setdefault(name, {})
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = (crash.message if crash else str(report.longrepr)).replace(INSTALLED, "")
            outcomes[case] = message.strip().split("\n")[0][:200]
        elif report.when == "call" or report.skipped:
            outcomes.setdefault(case, report.outcome)


def outcomes_of(file, project, ours, mapped):
    """Run a file of tests with ours in the place of theirs, which stays replaced in this process."""
    from _in_their_place import replace

    os.environ["SKLEARN_RUN_FLOAT32_TESTS"] = "1"
    replace(project, ours, mapped)
    return run_tests(file)


def run_tests(file, *options):
    import pytest

    recorder = Recorder()
    arguments = ["-q", "-c", os.devnull, "-p", "no:cacheprovider", "--tb=line", "-W", "ignore"]
    pytest.main([*arguments, *options, "--pyargs", file], plugins=[recorder])
    return {test: summary(cases) for test, cases in recorder.cases.items()}


def summary(cases):
    """Of the outcomes of a test: how many cases pass and are skipped, and what those that fail say."""
    outcomes = Counter(cases.values())
    failed = {case: outcome for case, outcome in cases.items() if outcome not in ("passed", "skipped")}
    return {"passed": outcomes["passed"], "skipped": outcomes["skipped"], "failed": failed}


def measure(study, again):
    """Run what has not run yet with the installed version."""

    def add(run, function, *arguments):
        if again or run not in study.cache:
            study.cache.add(run, function(*arguments))

    for project, file, ours, place in SUITES:
        for how in ("mapped", "as it is") if place == "scikit-learn" else ("mapped",):
            if is_installed(project):
                run = "suite", version(project), file, ours, how
                add(
                    run,
                    lambda *given: {"cases": apart(outcomes_of, *given)},
                    file,
                    place,
                    ours,
                    how == "mapped",
                )
    for name in CLASSES:
        add(("seeds", version("scikit-learn"), name), luck, name)
    for project, examples in REASONS["examples"].items():
        if is_installed(project) and (project != "tomotopy" or _their_examples.tomotopy_folder):
            for file, name, ours, function in examples:
                run = "example", project, file, name, ours
                known = study.cache.get(*run) or {}
                if ours and (again or run not in study.cache or known.get("release") != version(project)):
                    study.cache.add(run, example(function, project))


def example(function, project):
    holds, found = getattr(_their_examples, function)()
    return {"release": version(project), "holds": bool(holds), "found": found}


def is_installed(project):
    try:
        return bool(version(project))
    except PackageNotFoundError:
        print(f"{project} is not installed: its rows are those of before")
        return False


def luck(name):
    """How many of N_SEEDS pass each test of BY_LUCK with a class: scikit-learn's own, or ours."""
    passed = Counter()
    for cases in apart(outcomes_by_seed, name):
        passed.update(test for test, each in cases.items() if not each["failed"])
    return {"passed": dict(sorted(passed.items()))}


def outcomes_by_seed(ours):
    import _in_their_place

    (_, file, _, place), *_ = SUITES
    _in_their_place.replace(place, ours, mapped=True)
    found = []
    for _in_their_place.seed in range(N_SEEDS):
        found.append(run_tests(file, "-k", BY_LUCK))
    return found


def reason(result, file, test, ours):
    """The one that is given for the result of a test, or None."""
    for pattern, text in REASONS[result].get(file, {}).items():
        pattern, _, only = pattern.partition("@")
        if fnmatchcase(test, pattern) and only in ("", ours):
            return text
    return None


def judge(file, test, ours, cases, as_it_is):
    """Result and reason of a test, from the outcomes of its cases."""
    failed = cases["failed"]
    why = reason("not applicable", file, test, ours)
    if why:
        return "not applicable", why
    why = reason("differs", file, test, ours)
    if bool(failed) != bool(why):
        raise SystemExit(f"{file}, {test}, {ours}: {cases}; the reason is {why!r}")
    if failed:
        return "differs", why
    mapped = reason("passes, results mapped", file, test, ours)
    if mapped:
        return "passes, results mapped", mapped
    if as_it_is["failed"]:
        raise SystemExit(f"{file}, {test}, {ours}: {as_it_is} where nothing is mapped, without a reason")
    return "passes", f"{cases['skipped']} cases are skipped." if cases["skipped"] else ""


def rows_of(cache):
    """The rows of the table, and for the summary."""
    newest = {(row["file"], row["estimator"], row["how"]): row for row in cache.select(part="suite")}
    for project, file, ours, _ in SUITES:
        row = newest[file, ours, "mapped"]
        plain = newest.get((file, ours, "as it is"), row)["cases"]
        stem = file.rpartition(".")[2]
        for test, cases in row["cases"].items():
            result, why = judge(stem, test, ours, cases, plain.get(test, cases))
            n_cases = cases["passed"] + cases["skipped"] + len(cases["failed"])
            why = with_luck(why, test, ours, cache)
            yield [project, row["release"], f"{stem}.py", test, n_cases, ours, result, why]
    for project, examples in REASONS["examples"].items():
        releases = {row["release"] for row in cache.select(part="example", project=project)}
        for file, name, ours, why in examples:
            if ours:
                row = cache.get("example", project, file, name, ours)
                result, why = "passes" if row["holds"] else "differs", row["found"]
            yield [project, max(releases), file, name, 1, ours, result if ours else "not applicable", why]


def with_luck(why, test, ours, cache):
    """A reason with the numbers of seeds that pass, where it has them."""
    if not why or "{" not in why:
        return why
    theirs, own = (by_seed(cache)[name].get(test, 0) for name in (CLASSES[0], ours))
    return why.format(seeds=N_SEEDS, theirs=theirs, ours=own)


def by_seed(cache):
    """Class -> test -> seeds that pass."""
    return {row["estimator"]: row["passed"] for row in cache.select(part="seeds")}


def write_tables(study):
    rows = list(rows_of(study.cache))
    study.write("", HEAD, rows)
    table = []
    for project, ours in sorted(dict.fromkeys((row[0], row[5]) for row in rows)):
        of = [row for row in rows if (row[0], row[5]) == (project, ours)]
        counts = Counter(row[6] for row in of)
        table.append([project, ours, len(of), *(counts[result] for result in RESULTS)])
    study.write("summary", SUMMARY_HEAD, table)
    differs = [[row[0], row[3] or row[2], row[5], row[7]] for row in rows if row[6] == "differs"]
    study.write("differs", DIFFERS_HEAD, differs)
    found = by_seed(study.cache)
    tests = sorted(set().union(*found.values()))
    seeds = [[test, name, N_SEEDS, found[name].get(test, 0)] for test in tests for name in CLASSES]
    study.write("seeds", SEEDS_HEAD, seeds)


def main():
    parser = new_parser(__doc__)
    parser.add_argument("--tomotopy", type=Path, metavar="DIR", help="its unpacked source distribution")
    parser.add_argument("--again", action="store_true", help="run what has run before, too")
    arguments = parser.parse_args()
    study = Study("other_tests", arguments)
    _their_examples.tomotopy_folder = arguments.tomotopy
    measure(study, arguments.again)
    study.sign()
    write_tables(study)


if __name__ == "__main__":
    main()
