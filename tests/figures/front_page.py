"""Figures in sentences of doc/index.rst, which begins as README.md does."""

from .readme import BELOW, ROWS

PAGE = "doc/index.rst"


def quoted(row):
    """The cells of a row of README.md as those of a csv-table."""
    return '", "'.join(cell.strip() for cell in row.rstrip("| ").split("|"))


SENTENCES = [*((quoted(row), *figures) for row, *figures in ROWS), *BELOW]
