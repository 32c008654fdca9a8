"""What notebooks show of an estimator: scikit-learn's tables, with links and descriptions of our own.

scikit-learn describes parameters and attributes where it can link to their documentation. The address of ours
is that which the metadata of the package have as "Documentation"; names without links are described, too.
"""

import html
import inspect
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

from sktopic._compat import parse_docstring

# A cell with a name alone, and one with a description, in the classes of scikit-learn's style sheet.
PLAIN_CELL = r'<td class="param">(?:<a[^>]*>)?{name}(?:</a>)?</td>'
DESCRIBED_CELL = """<td class="param">
    <a class="param-doc-link" style="text-decoration: none; anchor-name: --doc-link-{name};">{name}
        <span class="param-doc-description" style="position-anchor: --doc-link-{name};">{description}</span>
    </a>
</td>"""


@cache
def documentation():
    """The address of the documentation of the installed package; None if it is not known."""
    try:
        urls = metadata(__package__).get_all("Project-URL", [])
    except PackageNotFoundError:  # used from where it was built
        return None
    entries = (entry.partition(",") for entry in urls)
    return next((url.strip().rstrip("/") for label, _, url in entries if label == "Documentation"), None)


def doc_link(cls):
    """The address of the page of a class; empty if there is none."""
    package, *modules = cls.__module__.split(".")
    if package != __package__ or documentation() is None:
        return ""
    public = [package, *(name for name in modules if not name.startswith("_")), cls.__name__]
    return f"{documentation()}/generated/{'.'.join(public)}.html"


def described(table, section):
    """Let names in a table of scikit-learn have what a section of the docstring says of them as tooltips."""
    plain = table._html_repr
    if parse_docstring is not None:
        table._html_repr = lambda: _with_descriptions(plain(), table.estimator_class, section)
    return table


def _with_descriptions(table, cls, section):
    """The HTML of a table, in which names that stood alone are described."""
    for name, description in _descriptions(inspect.getdoc(cls), section).items():
        cell = DESCRIBED_CELL.format(name=name, description=description)
        table = re.sub(PLAIN_CELL.format(name=re.escape(name)), lambda _, cell=cell: cell, table)
    return table


@cache
def _descriptions(docstring, section):
    """What a section of a docstring says, as HTML by name; names that share an entry share what it says."""
    return {
        name: "<br>".join(map(html.escape, [f"{name} : {entry.type}", *entry.desc]))
        for entry in parse_docstring(docstring or "")[section]
        for name in entry.name.split(", ")
    }
