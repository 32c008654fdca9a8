"""The short tables of the pages: some rows and columns of the studies' tables, with rounded figures.

    python benchmarks/page_tables.py [--update]

Reads doc/benchmarks/*.csv, nothing is measured. Writes the tables that the modules of _page_tables declare
to pages/ in benchmarks/output/, or with --update in doc/benchmarks/. Pages link the whole tables beside them.
"""

import csv

from _page_tables import claims, coherence, hdp, lda, moment_matching, speed
from _study import Study, new_parser

TABLES = {
    name: table
    for part in (lda, speed, hdp, moment_matching, coherence, claims)
    for name, table in part.TABLES.items()
}


def write_tables(study):
    folder = study.folder / "pages"
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in TABLES.items():
        head, rows = table()
        assert len(head) <= 8 and 0 < len(rows) <= 25, name
        assert all(len(row) == len(head) for row in rows), name
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([head, *rows])


def main():
    write_tables(Study("pages", new_parser(__doc__).parse_args()))


if __name__ == "__main__":
    main()
