"""Text for language models: `llms.txt` from `doc/llms.md`, and `llms-full.txt` with guide and signatures."""

import importlib
import inspect
import pkgutil
from pathlib import Path

from docutils import nodes
from docutils.io import StringOutput
from sphinx.builders.text import TextBuilder
from sphinx.writers.text import TextTranslator, TextWriter

import sktopic

# Pages in the order in which a reader would want them.
FIRST = ["getting_started", "tutorial", "guide/choose", "guide/how_to"]


def signatures():
    """What each public module holds, with parameters and the first sentence of its docstring."""
    for module in sorted(pkgutil.iter_modules(sktopic.__path__, "sktopic."), key=lambda found: found.name):
        if module.name.startswith("sktopic._"):
            continue
        held = importlib.import_module(module.name)
        names = [name for name in getattr(held, "__all__", ()) if callable(getattr(held, name))]
        for name in names:
            value = getattr(held, name)
            if inspect.isclass(value) and issubclass(value, Exception):
                yield f"{module.name}.{name}\n    {_summary(value)}"
                continue
            yield f"{module.name}.{name}{_signature(value)}\n    {_summary(value)}"
            if inspect.isclass(value):
                for method, function in inspect.getmembers(value, inspect.isfunction):
                    if not method.startswith("_") and (function.__module__ or "").startswith("sktopic"):
                        yield f"    .{method}{_signature(function)}\n        {_summary(function)}"


def _signature(value):
    """Names and defaults; docstrings have the types."""
    found = inspect.signature(value)
    plain = [each.replace(annotation=each.empty) for each in found.parameters.values()]
    return found.replace(parameters=plain, return_annotation=found.empty)


def _summary(value):
    return (inspect.getdoc(value) or "").partition("\n")[0]


class PlainText(TextTranslator):
    """Of what extensions add, only the text; of pictures, what is seen."""

    def unknown_visit(self, node):
        pass

    unknown_departure = unknown_visit

    def visit_image(self, node):
        if not node.get("alt"):  # the same again, in dark
            raise nodes.SkipNode
        super().visit_image(node)


def texts(app, pages):
    """Pages as Sphinx writes them for a terminal: with their tables, without markup."""
    builder = TextBuilder(app, app.env)
    builder.default_translator_class = PlainText
    builder.init()
    for page in pages:
        doctree = app.env.get_and_resolve_doctree(page, builder)
        yield TextWriter(builder).write(doctree, StringOutput(encoding="unicode"))


def write(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    brief = Path(app.confdir, "llms.md").read_text(encoding="utf-8")
    found = sorted(app.env.found_docs)
    pages = [page for page in FIRST if page in found]
    pages += [page for page in found if page.startswith("guide/") and page not in [*pages, "guide/index"]]
    base = app.config.html_baseurl and app.config.html_baseurl.rstrip("/") + "/"
    links = [f"- [{app.env.titles[page].astext()}]({base}{page}.html)" for page in [*pages, "api"]]
    links.append(f"- [The guide as text, with all signatures]({base}llms-full.txt)")
    listed = "\n".join(links)
    Path(app.outdir, "llms.txt").write_text(f"{brief}\n## Pages\n\n{listed}\n", encoding="utf-8")
    parts = [brief, *texts(app, pages), "Signatures\n==========", *signatures()]
    Path(app.outdir, "llms-full.txt").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def setup(app):
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
