"""What sphinx-gallery writes, mended: frames that load when seen, pictures with a text, no empty lists."""

import copy
import functools
import html
import re
from pathlib import Path, PurePosixPath

from docutils import nodes

import sktopic.datasets

EMBEDDED = re.compile(r' srcdoc="([^"]*)"')


_load_once = functools.cache(sktopic.datasets.load_docstrings)


@functools.wraps(sktopic.datasets.load_docstrings)
def _load_docstrings(**options):
    return copy.deepcopy(_load_once(**options))


def load_docstrings_once(gallery_conf, name):
    """Load the docstrings once for all examples that a process runs: it takes two seconds."""
    sktopic.datasets.load_docstrings = _load_docstrings


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


def describe_thumbnails(app, doctree):
    """The small pictures of the gallery, and of pages of the API, say of which example they are."""
    for image in doctree.findall(nodes.image):
        name = re.search(r"(auto_examples/[\w/]*)images/thumb/sphx_glr_(\w+)_thumb\.", image["uri"])
        if name and not image.get("alt"):
            text = Path(app.srcdir, name[1], f"{name[2]}.rst").read_text(encoding="utf-8")
            title = re.search(r"^(.+)\n={3,}$", text, re.M)[1]
            image["alt"] = f"Picture from the example: {title}"


def drop_tag_lists(app, doctree):
    """Examples have no tags: the place for them is empty, and has the same id in each section."""
    for node in list(doctree.findall(nodes.raw)):
        if "id='sg-tag-list'" in node.astext():
            node.parent.remove(node)


def setup(app):
    app.connect("doctree-read", embed_lazily)
    app.connect("doctree-read", describe_thumbnails)
    app.connect("doctree-read", drop_tag_lists)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
