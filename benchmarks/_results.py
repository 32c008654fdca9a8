"""The results of a study: one CSV file, whose first column says to which of its tables a row belongs.

The table "main" is what the study is about. "measured on" has a row for each machine, with versions and date.
"""

import csv
from pathlib import Path

PUBLISHED = Path(__file__).parent.parent / "doc" / "benchmarks"  # what the documentation reads
MAIN, MEASURED_ON = "main", "measured on"
# Names of corpora for readers, by those of their files
CORPUS_NAMES = {
    "kos": "KOS",
    "nips1740": "NIPS",
    "nips_uci": "NIPS",
    "nips": "NIPS",
    "reuters21578": "Reuters",
    "20news": "20 Newsgroups",
    "enron_inbox": "Enron",
    "arxiv_0": "arXiv",
    "arxiv": "arXiv",
    "arxiv_all": "arXiv, all",
    "synthetic": "synthetic",
    "synthetic_long": "synthetic, long",
}


def read_tables(path):
    """Rows by the name of their table: dicts of strings, without columns that are empty in all its rows."""
    tables = {}
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                tables.setdefault(row.pop("table"), []).append(row)
    for name, rows in tables.items():
        kept = [column for column in rows[0] if any(row[column] for row in rows)]
        tables[name] = [{column: row[column] for column in kept} for row in rows]
    return tables


def write_tables(path, tables):
    """Write what read_tables returns. A new column follows the one before it in its table."""
    columns = []
    for first, *_ in filter(None, tables.values()):
        place = 0 if set(first) & set(columns) else len(columns)
        for column in first:
            if column not in columns:
                columns.insert(place, column)
            place = columns.index(column) + 1
    whole = path.with_suffix(".tmp")
    with whole.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["table", *columns], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({"table": name, **row} for name, rows in tables.items() for row in rows)
    whole.replace(path)
