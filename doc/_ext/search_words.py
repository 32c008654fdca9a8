"""Searches that have to find their page: lines of `doc/search_words.txt` become entries of the search index.

The built site gets the file with labels replaced by pages, for `.ci/check_site.py`.
"""

from collections import defaultdict
from pathlib import Path

from sphinx import addnodes

FILE = "search_words.txt"


def lines(app):
    """Queries, each with the labels or pages (`/guide/lda`) it should find."""
    for line in Path(app.confdir, FILE).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            query, _, targets = line.partition(": ")
            yield query.strip(), targets.split()


def places(env, targets):
    """Pages and anchors. What does not exist is named by the check of the site."""
    labels = env.domains.standard_domain.labels | {
        name: (*place, "") for name, place in env.domains.standard_domain.anonlabels.items()
    }
    for target in targets:
        if target.startswith("/"):
            yield target[1:], ""
        else:
            yield labels[target][:2] if target in labels else (f"missing-label:{target}", "")


def by_page(app, env):
    found = defaultdict(list)
    for query, targets in lines(app):
        for page, anchor in places(env, targets):
            found[page].append((query, anchor))
    return found


def pages_to_write(app, env):
    env.search_words = by_page(app, env)
    return [page for page in env.search_words if page in env.found_docs]


def add_entries(app, doctree, docname):
    entries = [
        ("single", query, anchor, "main", None) for query, anchor in app.env.search_words.get(docname, [])
    ]
    if entries:
        doctree.append(addnodes.index(entries=entries))


def write_pages(app, exception):
    if exception is None and app.builder.format == "html":
        text = "".join(
            f"{query}: {' '.join(page for page, _ in places(app.env, targets))}\n"
            for query, targets in lines(app)
        )
        Path(app.outdir, FILE).write_text(text, encoding="utf-8")


def setup(app):
    app.connect("env-updated", pages_to_write)
    app.connect("doctree-resolved", add_entries)
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
