"""Lines of `doc/search_words.txt` become entries of the search index, in which all entries lead to sections.

The built site gets the file with labels replaced by pages and anchors, for `.ci/check_site.py`.
"""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util import logging

logger = logging.getLogger(__name__)
FILE = "search_words.txt"


def read(path):
    """Queries, each with the labels or pages (`/guide/lda`) it should find."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            query, _, targets = line.partition(": ")
            if query in found:
                raise ExtensionError(
                    f"{path.name} has {query!r} twice: all it should find stands in one line"
                )
            found[query] = targets.split()
    return found


def sections(doctree):
    """For each anchor of a section its first one, which search results use; none for the whole page."""
    found = {}
    for section in doctree.findall(nodes.section):
        first = section["ids"][0] if found else ""
        found |= dict.fromkeys(section["ids"], first)
    return found


def place(env, target):
    """Page and anchor; None, with a warning, where there is no such page or label."""
    standard = env.domains.standard_domain
    found = standard.labels.get(target) or standard.anonlabels.get(target)
    if target.startswith("/") and target[1:] in env.found_docs:
        return target[1:], ""
    if found is None:
        logger.warning("%s names %s, which is no page or label", FILE, target)
        return None
    return found[0], sections(env.get_doctree(found[0])).get(found[1], found[1])


def pages_to_write(app, env):
    queries = read(Path(app.confdir, FILE))
    env.search_words = {
        query: [found for each in targets if (found := place(env, each))]
        for query, targets in queries.items()
    }
    return sorted({page for places in env.search_words.values() for page, _ in places})


def add_entries(app, doctree, docname):
    """An entry of the index that says the same as a query is no main one any more, and so comes after it."""
    queries, found = app.env.search_words, sections(doctree)
    for index in doctree.findall(addnodes.index):
        index["entries"] = [
            (kind, text, found.get(anchor, anchor), "" if text.lower() in queries else main, key)
            for kind, text, anchor, main, key in index["entries"]
        ]
    entries = [
        ("single", query, anchor, "main", None)
        for query, places in queries.items()
        for page, anchor in places
        if page == docname
    ]
    if entries:
        doctree.append(addnodes.index(entries=entries))


def write_places(app, exception):
    if exception is None and app.builder.format == "html":
        lines = [
            f"{query}: {' '.join(f'{page}#{anchor}' if anchor else page for page, anchor in places)}\n"
            for query, places in app.env.search_words.items()
        ]
        Path(app.outdir, FILE).write_text("".join(lines), encoding="utf-8")


def setup(app):
    app.connect("env-updated", pages_to_write)
    app.connect("doctree-resolved", add_entries)
    app.connect("build-finished", write_places)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
