"""The shapes that the short tables have: each function returns one that returns a head and rows.

A source is the name of a published table, or a function that returns its rows, which are dicts. Columns are
a dict from the head to a function of the row.
"""

import csv

from _study import CORPUS_NAMES, PUBLISHED

from .formats import NONE


def read(table, cells=None):
    """Rows of a published table; those that have these cells."""
    with (PUBLISHED / f"{table}.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if (cells or {}).items() <= row.items()]


def read_lists(table):
    """For tables with columns of the same name: their rows without the head."""
    with (PUBLISHED / f"{table}.csv").open(newline="") as file:
        return list(csv.reader(file))[1:]


def cell(form, *names, **options):
    return lambda row: form(*(row[name] for name in names), **options)


def columns(form, *names, **options):
    """Columns of one form: "times as fast = ratio" is the column "ratio" under another name."""
    pairs = [name.partition(" = ") for name in names]
    return {head: cell(form, name or head, **options) for head, _, name in pairs}


def plain(*names):
    """Columns as they are; corpora by their names."""
    return columns(lambda found: CORPUS_NAMES.get(found, found), *names)


def with_cells(**cells):
    """For `where`: rows that have these cells."""
    return lambda row: cells.items() <= row.items()


def rows_of(source, where, by):
    rows = read(source) if isinstance(source, str) else source()
    rows = [row for row in rows if not where or where(row)]
    return sorted(rows, key=by) if by else rows


def select(source, columns, where=None, by=None):
    """A row for each row."""

    def table():
        rows = [tuple(column(row) for column in columns.values()) for row in rows_of(source, where, by)]
        return list(columns), rows

    return table


def pivot(source, leads, over, value, heads, where=None, by=None):
    """A row for each of the leads, with a column for each of the heads: the value, where `over` is that.

    Heads are a list, or a dict from what `over` is to a head.
    """
    (over,), heads = plain(over).values(), heads if isinstance(heads, dict) else dict(zip(heads, heads))

    def table():
        cells = {}
        for row in rows_of(source, where, by):
            lead = tuple(column(row) for column in leads.values())
            cells.setdefault(lead, {})[over(row)] = value(row)
        rows = [(*lead, *(found.get(key, NONE) for key in heads)) for lead, found in cells.items()]
        return [*leads, *heads.values()], rows

    return table


def wide(source, leads, form, where=None):
    """The leads, which are the first columns, and all others by one form."""

    def table():
        rows = rows_of(source, where, None)
        others = list(rows[0])[len(leads) :]
        head = [*leads, *(CORPUS_NAMES.get(name, name) for name in others)]
        return head, [
            (*(lead(row) for lead in leads.values()), *(form(row[name]) for name in others)) for row in rows
        ]

    return table
