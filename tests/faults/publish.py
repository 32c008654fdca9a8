"""Write doc/benchmarks/tests.csv: which planted faults tests found, and how many lines of Python they run.

    python tests/faults/publish.py --faults DIR/results.jsonl ... --lines coverage.json

The first are what plant.py has found, the other what ``coverage json`` writes. Reasons why tests miss a fault
are typed into the table; they are kept for the faults that are still missed, also in a line that has moved.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))
from _results import MEASURED_ON, PUBLISHED, read_tables, write_tables  # noqa: E402
from _study import environment  # noqa: E402


def folder_of(path):
    return "/".join(path.split("/")[:2]) if path.count("/") > 1 else path.split("/")[0]


def tables_of_faults(files):
    """A row for each folder, and for each fault that no test has found."""
    results = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    # A later run of the same fault, of all tests, replaces an earlier one.
    results = {tuple(result["fault"].values()): result for result in results if result["compiled"]}.values()
    planted = Counter(folder_of(result["fault"]["path"]) for result in results)
    missed = [result["fault"] for result in results if result["caught"] in (None, "out of time")]
    n_missed = Counter(folder_of(fault["path"]) for fault in missed)
    folders = [{"folder": name, "faults": n, "missed": n_missed[name]} for name, n in sorted(planted.items())]
    places = [
        {
            "place": f"{fault['path']}:{fault['line']}",
            "was": fault["before"].strip(),
            "fault": fault["after"].strip(),
        }
        for fault in missed
    ]
    return folders, places


def key_of(row):
    return row["place"].rpartition(":")[0], row["was"], row["fault"]


def table_of_lines(file):
    """A row for each folder."""
    lines, missing = Counter(), Counter()
    for path, found in json.loads(file.read_text(encoding="utf-8"))["files"].items():
        lines[folder_of(path)] += found["summary"]["num_statements"]
        missing[folder_of(path)] += found["summary"]["missing_lines"]
    return [{"folder": name, "lines": n, "missed": missing[name]} for name, n in sorted(lines.items())]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--faults", type=Path, nargs="+", required=True)
    parser.add_argument("--lines", type=Path, required=True)
    arguments = parser.parse_args()
    path = PUBLISHED / "tests.csv"
    reasons = {key_of(row): row.get("reason", "") for row in read_tables(path).get("missed faults", ())}
    folders, places = tables_of_faults(arguments.faults)
    tables = {
        "main": folders,
        "missed faults": [{**row, "reason": reasons.get(key_of(row), "")} for row in places],
        "lines": table_of_lines(arguments.lines),
        MEASURED_ON: [{MEASURED_ON: environment()}],
    }
    write_tables(path, {name: rows for name, rows in tables.items() if rows})


if __name__ == "__main__":
    main()
