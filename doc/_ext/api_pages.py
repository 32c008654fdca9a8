"""Docstrings as pages: without what scikit-learn adds, with links to the guide and a table of the methods."""

import inspect
import re
from functools import cache, partial

from jinja2 import BytecodeCache
from numpydoc import docscrape_sphinx

FIRST = ("fit", "partial_fit", "transform", "score", "save")
GUIDE_PAGE = re.compile(r'guide\s+page\s+"([^"]+)"')
AFTER_METHODS = re.compile(r"\.\. (seealso::|rubric:: (Notes|References|Examples))")


def skip_inherited(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds to every estimator; its docstrings refer to its own pages."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing|set_output", name) else None


@cache
def guide_pages(folder):
    """Names of the pages in a folder by their titles, without what follows a colon or a bracket."""
    titles = {
        page.stem: re.search(r"^(.+)\n=+$", page.read_text(encoding="utf-8"), re.M)[1]
        for page in folder.glob("*.rst")
    }
    return {re.split(r" \(|:", title)[0]: name for name, title in titles.items()}


def link_guide_pages(app, what, name, obj, options, lines):
    """Make links of the pages that docstrings name in words, which help() shows as they are."""

    def link(match):
        title = " ".join(match[1].split())
        return f"guide page :doc:`{title} </guide/{guide_pages(app.srcdir / 'guide')[title]}>`"

    lines[:] = GUIDE_PAGE.sub(link, "\n".join(lines)).split("\n")


def escape_fitted_names(app, what, name, obj, options, lines):
    """Keep names such as components_ from being read as links."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[number] = re.sub(r"(`+.*?`+)|(?<!\w)(\w+)_(?![\w`])", _escaped, line)


def _escaped(match):
    return match[1] or rf"{match[2]}\_"


def methods_of(cls):
    """Names of the documented methods that are this library's own, those of each day first."""
    names = [
        name
        for name, member in inspect.getmembers(cls, inspect.isroutine)
        if not name.startswith("_")
        and (getattr(member, "__module__", None) or "").startswith("sktopic")
        and inspect.getdoc(member)
    ]
    return sorted(names, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))


def add_methods(app, what, name, obj, options, lines):
    """Below parameters and attributes; the methods themselves follow at the end of the page."""
    methods = methods_of(obj) if what == "class" and "members" in options else []
    if len(methods) < 2:
        return
    table = [".. rubric:: Methods", "", ".. autosummary::", "   :nosignatures:", ""]
    table += [f"   ~{obj.__name__}.{method}" for method in methods]
    place = next((i for i, line in enumerate(lines) if AFTER_METHODS.match(line)), len(lines))
    lines[place:place] = ["", *table, ""]


class CompiledTemplates(BytecodeCache):
    """Compiled templates by their name and source."""

    def __init__(self):
        self.code = {}

    def load_bytecode(self, bucket):
        bucket.code = self.code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket):
        self.code[bucket.key, bucket.checksum] = bucket.code


def compile_templates_once():
    """Keep compiled templates: numpydoc makes a new environment for each docstring."""
    plain = docscrape_sphinx.SandboxedEnvironment
    docscrape_sphinx.SandboxedEnvironment = partial(plain, bytecode_cache=CompiledTemplates())


def setup(app):
    compile_templates_once()
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("autodoc-process-docstring", link_guide_pages, priority=400)  # before numpydoc
    app.connect("autodoc-process-docstring", escape_fitted_names, priority=900)  # after numpydoc
    app.connect("autodoc-process-docstring", add_methods, priority=950)
    app.add_css_file("api_pages.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
