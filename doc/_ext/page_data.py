"""What search engines, previews of links and readers of the source find of each page."""

import importlib
import inspect
import re
from html import escape, unescape
from pathlib import Path

from docutils import nodes

OF_PAGES_WITHOUT_TEXT = {
    "genindex": "All names and subjects of the documentation of sktopic, from A to Z.",
    "search": "Search the documentation of sktopic: guide, examples, API and research.",
}
LENGTH = 200  # what search engines show


def description(doctree):
    """The first paragraph that stands in the text, cut at a word."""
    for paragraph in doctree.findall(nodes.paragraph):
        parent, text = paragraph.parent, " ".join(paragraph.astext().split())
        if isinstance(parent, nodes.section | nodes.document) or parent.tagname == "desc_content":
            if len(text) > LENGTH:
                text = text[:LENGTH].rsplit(" ", 1)[0].rstrip(",;:.") + " ..."
            if text:
                return text
    return None


def source_file(pagename, root):
    """The file of the repository that the page is made of."""
    section, _, name = pagename.rpartition("/")
    if section.endswith("generated"):
        return _module_of(name, root)
    if section.partition("/")[0] == "auto_examples":
        folder = section.replace("auto_examples", "examples", 1)
        return f"{folder}/README.rst" if name == "index" else f"{folder}/{name}.py"
    if pagename in {"contributing", "changelog"}:
        return f"{name.upper()}.md"
    found = [path for suffix in (".rst", ".md") if (path := root / "doc" / (pagename + suffix)).is_file()]
    return found[0].relative_to(root).as_posix() if found else None


def _module_of(name, root):
    parts = name.split(".")
    found = importlib.import_module(parts[0])
    for number, part in enumerate(parts[1:], 2):
        if not hasattr(found, part):
            importlib.import_module(".".join(parts[:number]))
        found = getattr(found, part)
    path = Path(inspect.getsourcefile(inspect.unwrap(found))).resolve()
    return path.relative_to(root.resolve()).as_posix() if path.is_relative_to(root.resolve()) else None


def add_to_context(app, pagename, templatename, context, doctree):
    context.setdefault("metatags", "")
    if pagename == "404":
        context["metatags"] += _base(app.config.html_context["site_folder"])
    text = OF_PAGES_WITHOUT_TEXT.get(pagename) or (doctree and description(doctree))
    if doctree is not None:
        context["source_file"] = source_file(pagename, Path(app.confdir).parent)
    if not text:
        return
    title = (
        "sktopic" if pagename == app.config.root_doc else _plain(context.get("title", pagename.capitalize()))
    )
    context["metatags"] += f'<meta name="description" content="{escape(text)}" />\n'
    properties = {
        "og:title": title,
        "og:description": text,
        "og:type": "website",
        "og:site_name": app.config.html_title,
    }
    if app.config.html_baseurl:
        properties["og:url"] = f"{app.config.html_baseurl.rstrip('/')}/{pagename}.html"
    for name, content in properties.items():
        context["metatags"] += f'<meta property="{name}" content="{escape(content)}" />\n'


def _plain(title):
    """A title without the tags and entities that it is shown with."""
    return unescape(re.sub("<[^>]+>", "", title))


def _base(folder):
    """A server shows the page of missing pages in any folder: files are found from the root of the site."""
    folder = folder.rstrip("/") + "/"
    return (
        '<script>if (location.protocol !== "file:" && !location.pathname.endsWith("/404.html")) '
        f"document.write('<base href=\"{folder}\">')</script>\n"
    )


def setup(app):
    app.connect("html-page-context", add_to_context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
