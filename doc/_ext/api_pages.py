"""Pages of classes have a table of their methods, and the gallery has the explorer in a file of its own."""

import html
import inspect
import re
from pathlib import Path, PurePosixPath

from docutils import nodes

FIRST = ("fit", "partial_fit", "transform", "score", "save")
AFTER_METHODS = re.compile(r"\.\. (seealso::|rubric:: (Notes|References|Examples))")
EMBEDDED = re.compile(r' srcdoc="([^"]*)"')


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


def embed_lazily(app, doctree):
    """A frame loads its page when it is scrolled to, and the page can be opened without the frame."""
    if app.builder.format != "html":
        return
    for node in doctree.findall(nodes.raw):
        text = node.astext()
        found = EMBEDDED.search(text)
        if found:
            file = f"_static/{PurePosixPath(app.env.docname).name}_page.html"
            path = Path(app.outdir, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(html.unescape(found[1]), encoding="utf-8")
            file = "../" * app.env.docname.count("/") + file
            frame = text.replace(found[0], f' src="{file}" loading="lazy"')
            link = f'<p><a href="{file}">Open this page by itself</a></p>'
            node.parent.replace(node, nodes.raw("", link + frame, format="html"))


def setup(app):
    app.connect("autodoc-process-docstring", add_methods, priority=950)
    app.connect("doctree-read", embed_lazily)
    app.add_css_file("api_pages.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
