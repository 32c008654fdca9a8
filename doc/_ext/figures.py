"""Figures of the studies in pages: read from doc/benchmarks/ when a page is built, so that each is kept once.

- ``.. figures::`` holds Python statements that give names to what the page shows.
- ``:figure:`...``` is an expression with a format, as between the braces of an f-string.
- ``.. results:: title`` is a table. Its content is an expression for what `select`, `pivot` or `wide` return.
- ``.. study:: name`` links its results, and says by which script, on which machine, and when they were made.

Statements and expressions can use the functions of this module and of `_formats`, NumPy as `np` and pandas
as `pd`. The build fails where a figure is not found.
"""

import csv
import io
import re
import sys
import warnings
from pathlib import Path
from typing import ClassVar

import _formats
import numpy as np
import pandas as pd
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.parsers.rst.directives.tables import CSVTable
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective, SphinxRole

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
from _results import CORPUS_NAMES, MAIN, MEASURED_ON, PUBLISHED, read_tables  # noqa: E402

warnings.filterwarnings("ignore", category=pd.errors.PerformanceWarning)  # tables are small


def path_and_table(name):
    """Return the file and the table of a name, "study" for the main table or "study.table"."""
    study, _, name = name.partition(".")
    return PUBLISHED / f"{study}.csv", name or MAIN


def rows(name, **cells):
    """Rows of a table, dicts of strings: those that have these cells, by the column (with _ for a space)."""
    path, name = path_and_table(name)
    cells = {column.replace("_", " "): cell for column, cell in cells.items()}
    found = [row for row in read_tables(path).get(name, ()) if cells.items() <= row.items()]
    if not found:
        raise LookupError(f"{path.name} has no row of the table {name!r} with {cells}")
    return [Row(row, f"{path.name}, table {name!r}") for row in found]


class Row(dict):
    """A row of a table, which says where a column is missing."""

    def __init__(self, cells, place):
        super().__init__(cells)
        self.place = place

    def __missing__(self, column):
        raise LookupError(f"{self.place} has no column {column!r} among {sorted(self)}")


def table(name, *index):
    """A DataFrame of a table, with numbers where a column has nothing else; some columns as its index."""
    frame = pd.DataFrame(rows(name))
    for column in frame:
        numbers = pd.to_numeric(frame[column].replace(["", "-"], None), errors="coerce")
        if numbers.notna().sum() == (~frame[column].isin(["", "-"])).sum():
            frame[column] = numbers
    return frame.set_index(list(index)).sort_index() if index else frame


def cell(form, *names, **options):
    """Return a function of a row, which formats some of its cells, and knows their names."""

    def formatted(row):
        return form(*(row[name] for name in names), **options)

    formatted.names = names
    return formatted


def columns(form, *names, **options):
    """Columns of one form: "times as fast = ratio" is the column "ratio" under another name."""
    pairs = [name.partition(" = ") for name in names]
    return {head: cell(form, name or head, **options) for head, _, name in pairs}


def plain(*names):
    """Columns as they are; corpora by their names."""
    return columns(lambda found: CORPUS_NAMES.get(found, found), *names)


def rows_of(source, where, by):
    found = rows(source) if isinstance(source, str) else source
    found = [row for row in found if not where or where(row)]
    return sorted(found, key=by) if by else found


def select(source, columns, where=None, by=None):
    """A row for each row of a table, or dict; columns are a dict from the head to a function of the row."""
    shown = [tuple(column(row) for column in columns.values()) for row in rows_of(source, where, by)]
    return list(columns), shown


def pivot(source, leads, over, value, heads, where=None, by=None):
    """A row for each distinct value of the leads, and a column for each value of the column `over`.

    Heads are these values in a list, or a dict from a value to its head. A cell without a row is a dash.
    """
    (over,), heads = plain(over).values(), heads if isinstance(heads, dict) else dict(zip(heads, heads))
    cells = {}
    for row in rows_of(source, where, by):
        lead = tuple(column(row) for column in leads.values())
        cells.setdefault(lead, {})[over(row)] = value(row)
    if missing := heads.keys() - set().union(*cells.values()):
        raise LookupError(f"no row has {sorted(missing)}")
    shown = [(*lead, *(found.get(key, _formats.NONE) for key in heads)) for lead, found in cells.items()]
    return [*leads, *heads.values()], shown


def wide(source, leads, form, where=None):
    """The leads, and all columns that they do not show by one form."""
    found = rows_of(source, where, None)
    others = [name for name in found[0] if not any(name in lead.names for lead in leads.values())]
    head = [*leads, *(CORPUS_NAMES.get(name, name) for name in others)]
    return head, [
        (*(lead(row) for lead in leads.values()), *(form(row[name]) for name in others)) for row in found
    ]


KNOWN = {
    **{name: value for name, value in vars(_formats).items() if not name.startswith("_")},
    **{each.__name__: each for each in (rows, table, cell, columns, plain, select, pivot, wide)},
    "CORPUS_NAMES": CORPUS_NAMES,
    "np": np,
    "pd": pd,
}


def names_of(env):
    """What the page's figures know."""
    for path in PUBLISHED.glob("*.csv"):
        env.note_dependency(path)
    return env.current_document.setdefault("figures", dict(KNOWN))


def shown(text, names):
    """The figure that a role shows: its text is what stands between the braces of an f-string."""
    figure = eval(f'f"""{{{text}}}"""', names)
    if re.search(rf"\b(nan|inf|None)\b|\n|{_formats.NONE}", figure):
        raise ValueError(f"{text} is {figure}")
    return figure


class Figures(SphinxDirective):
    """Statements that give names."""

    has_content = True

    def run(self):
        try:
            exec("\n".join(self.content), names_of(self.env))
        except Exception as error:
            raise self.error(f"{type(error).__name__}: {error}") from error
        return []


class Figure(SphinxRole):
    """An expression with its format."""

    def run(self):
        try:
            figure = shown(self.text, names_of(self.env))
        except Exception as error:
            message = self.inliner.reporter.error(f":figure:`{self.text}`: {error!r}", line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        return [nodes.Text(figure)], []


class Results(CSVTable, SphinxDirective):
    """A table: at most eight columns and 25 rows are read."""

    def run(self):
        try:
            head, body = eval("(" + "\n".join(self.content) + ")", names_of(self.env))
        except Exception as error:
            raise self.error(f"{type(error).__name__}: {error}") from error
        if re.search(r"(?<![\w.])(nan|inf)\b", " ".join(str(each) for row in body for each in row)):
            raise self.error(f"a figure is missing: {body}")
        if len(head) > 8 or not 0 < len(body) <= 25:
            raise self.error(f"{len(head)} columns and {len(body)} rows, instead of 8 and 25 at most")
        file = io.StringIO()
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([head, *body])
        self.content = StringList(
            file.getvalue().splitlines(), source=self.state_machine.input_lines.source(0)
        )
        self.options["header-rows"] = 1
        return super().run()


class StudyOf(SphinxDirective):
    """Where the results of a study are, which script makes them, and on which machines it ran when.

    `:computed:` marks a study that measures nothing: its script reads the runs of others.
    """

    required_arguments = 1
    option_spec: ClassVar = {"computed": directives.flag}

    def run(self):
        names_of(self.env)
        (study,) = self.arguments
        script = f"{study}.py" if (ROOT / "benchmarks" / f"{study}.py").exists() else f"{study}_paper.py"
        machines = [row[MEASURED_ON] for row in read_tables(PUBLISHED / f"{study}.csv").get(MEASURED_ON, ())]
        if bool(machines) == ("computed" in self.options):
            raise self.error(f"{study}.csv needs either a table 'measured on' or the option :computed:")
        told = f":download:`All results </benchmarks/{study}.csv>`, by ``benchmarks/{script}``"
        told += "".join(f"; {line}" for line in machines)
        return self.parse_text_to_nodes(told + ".")


def setup(app):
    app.add_directive("figures", Figures)
    app.add_directive("results", Results)
    app.add_directive("study", StudyOf)
    app.add_role("figure", Figure())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
