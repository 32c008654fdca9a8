#!/usr/bin/env python3
"""Check the built documentation: python .ci/check_site.py doc/_build/html

Each fault is printed with the page and its line; the exit code is 1 if there are any. A page must

- link only to pages, anchors and files that exist, and elsewhere only to https addresses, none a placeholder,
- load nothing from a network, show no picture without a text that says what is seen, and no markup that
  Sphinx or the browser left as it was,
- have a title and a description, be reached from the navigation, and be free of misspelt words.

Searches of `doc/search_words.txt` must find their pages, among the first three results of Sphinx's own
search, which runs in Chromium (playwright) or in Node.js.
"""

import argparse
import functools
import gzip
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
# Text that is no prose: neither its words nor its characters are looked at.
NOT_PROSE = {"script", "style", "code", "pre", "kbd", "samp", "math", "svg", "noscript"}
NOT_PROSE_CLASSES = {"sig", "math", "citation", "footnote", "headerlink", "sphx-glr-timing", "version"}
# What nobody looks for: reached by other ways than the navigation.
ALONE = {"404.html", "search.html", "genindex.html"}
PLACEHOLDER = re.compile(
    r"example\.(com|org|net)|localhost|127\.0\.0\.1|TODO|FIXME|your[-_.]?(name|org|repo)", re.I
)
ADDRESS = re.compile(r"https://([a-zA-Z0-9-]+\.)+[a-z]{2,}(:\d+)?([/?#]\S*)?")
UNRENDERED = re.compile(
    r":[a-z]+(?:-[a-z]+)*:`"  # a role
    r"|``|(?<![\w`])`\w|\w`_"  # other markup of reStructuredText
    r"|\.\. [a-z-]+::|(?<![\w|])\|\w{2,}\|(?![\w|])|(?<![\w*])\*\*\w[^*]*\*\*"
    r"|\]\([\w./#-]+\)"  # a link of Markdown
    r"|\\[a-zA-Z]{2,}|\\[()\[\]]|\$\w+\$"  # TeX
)
LOADED = {  # attributes of elements whose address the browser fetches
    "script": ["src"],
    "img": ["src", "srcset"],
    "iframe": ["src"],
    "source": ["src", "srcset"],
    "video": ["src", "poster"],
    "audio": ["src"],
    "embed": ["src"],
    "object": ["data"],
}
LOADED_LINKS = {"stylesheet", "preload", "prefetch", "modulepreload", "icon", "shortcut icon", "preconnect"}
FETCH = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//[^"')\s]+)""")
N_RESULTS = 3


@dataclass
class Page:
    """What a page holds, each with its line."""

    links: list = field(default_factory=list)  # (address, line, is in a nav element)
    loads: list = field(default_factory=list)  # (address, line)
    images: list = field(default_factory=list)  # (address, alternative text or None, line)
    prose: list = field(default_factory=list)  # (text, line, is in a table)
    problems: list = field(default_factory=list)  # (what, line)
    ids: set = field(default_factory=set)
    title: str = ""
    description: str = ""


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.page = Page()
        self.open = []  # of each element around: name, whether it holds no prose
        self.article = None  # depth of the element that holds the page's own text

    def handle_starttag(self, tag, attributes):
        values, line, page = dict(attributes), self.getpos()[0], self.page
        classes = set((values.get("class") or "").split())
        if tag not in VOID:
            # Between words of code there is a space for the reader.
            self.open.append((tag, tag in NOT_PROSE or bool(classes & NOT_PROSE_CLASSES)))
        if tag == "article" and self.article is None:
            self.article = len(self.open)
        page.ids.update(filter(None, [values.get("id"), tag == "a" and values.get("name")]))
        if classes & {"problematic", "system-message"}:
            page.problems.append(("markup that Sphinx could not read", line))
        if tag == "a" and values.get("href"):
            page.links.append((values["href"], line, any(name == "nav" for name, _ in self.open)))
        elif tag == "img":
            page.images.append((values.get("src", ""), values.get("alt"), line))
        elif tag == "meta" and values.get("name") == "description":
            page.description = (values.get("content") or "").strip()
        if tag == "link" and values.get("rel") in LOADED_LINKS:
            page.loads.append((values.get("href") or "", line))
        for name in LOADED.get(tag, ()):
            if values.get(name):
                page.loads.append((values[name], line))
        page.loads.extend((address, line) for address in FETCH.findall(values.get("style") or ""))

    def handle_endtag(self, tag):
        if tag == "article" and len(self.open) == self.article:
            self.article = None
        while self.open and tag not in VOID and any(name == tag for name, _ in self.open):
            if self.open.pop()[0] == tag:
                break

    def handle_data(self, text):
        tags, line = [name for name, _ in self.open], self.getpos()[0]
        if tags[-1:] == ["title"] and "svg" not in tags:
            self.page.title += text
        elif tags[-1:] == ["style"]:
            self.page.loads.extend((address, line) for address in FETCH.findall(text))
        elif self.article is not None and not any(left_out for _, left_out in self.open):
            for offset, part in enumerate(text.split("\n")):
                if part.strip():
                    self.page.prose.append((part, line + offset, "td" in tags))


def read_page(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    return reader.page


def is_elsewhere(address):
    return address.startswith("//") or bool(urlsplit(address).scheme)


def target(path, address, site):
    """The file an address of a page leads to, and the anchor."""
    parts = urlsplit(address)
    file = path if not parts.path else path.parent / unquote(parts.path)
    if parts.path.startswith("/"):
        file = site / unquote(parts.path).lstrip("/")
    file = file.resolve()
    return (file / "index.html" if file.is_dir() else file), unquote(parts.fragment)


def wrong_links(path, page, pages, site):
    for address, line, _ in page.links:
        if address.startswith(("mailto:", "javascript:")):
            continue
        if is_elsewhere(address):
            if not ADDRESS.fullmatch(address):
                yield line, f"no https address: {address}"
            elif PLACEHOLDER.search(address):
                yield line, f"a placeholder: {address}"
            continue
        file, anchor = target(path, address, site)
        if not file.is_file():
            yield line, f"leads nowhere: {address}"
        elif anchor and file in pages and anchor not in pages[file].ids:
            yield line, f"no such anchor: {address}"


def wrong_loads(path, page, site):
    for address, line in page.loads:
        if address.startswith(("data:", "#")):
            continue
        if is_elsewhere(address):
            yield line, f"loaded from a network: {address}"
        elif not target(path, address.split()[0], site)[0].is_file():
            yield line, f"not there to be loaded: {address}"


def wrong_pictures(page):
    for address, text, line in page.images:
        text = (text or "").strip()
        if not re.search(r"\w\W+\w", text):
            yield line, f"a picture whose text says too little ({text!r}): {address[:60]}"
        elif re.search(r"\.(png|svg|jpe?g)$|^(image|picture|figure|plot)\b.{0,4}$", text):
            yield line, f"a picture whose text is a name ({text!r}): {address[:60]}"


def wrong_prose(page, known):
    for text, line, in_table in page.prose:
        for match in UNRENDERED.finditer(text):
            yield line, f"markup in the text: {text[max(match.start() - 20, 0) : match.end() + 20].strip()}"
        if known and not in_table:
            for word in misspelt(text, known):
                yield line, f"not in the dictionary: {word}"


# Words that stand alone: no parts of file names, addresses or formulas, and no surnames after an initial.
WORD = re.compile(r"(?<![\w@./_\\-])(?<![A-Z]\. )[A-Za-z]+(?:['\u2019][a-z]+)?(?![\w@/_\\]|\.\w)")


def misspelt(text, known):
    for match in WORD.finditer(text):
        word = match[0].replace("\u2019", "'")
        is_name = re.search(r"[a-z][A-Z]|^[A-Z][A-Z]", word) or len(word) < 3
        bare = re.sub(r"'(s|t|ll|re|ve|d)$", "", word)
        if not is_name and not {word.lower(), bare.lower()} & known:
            yield word


@functools.cache
def dictionary():
    """Words of English as the pages have them, or None where the packages are not installed."""
    found = importlib.util.find_spec("spellchecker"), importlib.util.find_spec("codespell_lib")
    if None in found:
        return None
    frequencies = Path(found[0].origin).parent / "resources" / "en.json.gz"
    words = set(json.loads(gzip.decompress(frequencies.read_bytes())))
    table = Path(found[1].origin).parent / "data" / "dictionary_en-GB_to_en-US.txt"
    pairs = [line.split("->") for line in table.read_text().splitlines() if "->" in line]
    words -= {american.strip() for _, american in pairs}
    words |= {british for british, _ in pairs}
    own = (ROOT / "doc" / "words.txt").read_text(encoding="utf-8").splitlines()
    return words | {line.strip().lower() for line in own if not line.startswith("#")}


def unreached(pages, site):
    """Pages that no way through navigation leads to."""
    first = site / "index.html"
    seen, left = {first}, [first]
    while left:
        path = left.pop()
        for address, _, in_navigation in pages[path].links:
            if is_elsewhere(address) or not (in_navigation or path == first):
                continue
            file, _ = target(path, address, site)
            if file in pages and file not in seen:
                seen.add(file)
                left.append(file)
    return sorted(path for path in pages if path not in seen and path.name not in ALONE)


def searches(file):
    """Queries and the pages they should find, from lines such as `save model: getting_started`."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            query, _, pages = line.partition(": ")
            yield number, query.strip(), pages.split()


SEARCH = """
(queries) => queries.map((query) =>
  Search._performSearch(...Search._parseQuery(query)).reverse().map((result) => result[0]))
"""
# Enough of a browser for Sphinx's search, which only computes here.
NODE = """
const fs = require("fs"), vm = require("vm"), site = process.argv[1];
global.document = {getElementById: () => null};
global.window = global; global.location = {search: ""};
global._ready = () => {}; global.DOCUMENTATION_OPTIONS = {};
global.localStorage = {getItem: () => null, setItem: () => {}, removeItem: () => {}};
global.SPHINX_HIGHLIGHT_ENABLED = false; global._ = (text) => text;
const load = (name) => vm.runInThisContext(fs.readFileSync(site + "/" + name, "utf8"), name);
["_static/language_data.js", "_static/searchtools.js", "searchindex.js"].forEach(load);
console.log(JSON.stringify((SEARCH)(JSON.parse(process.argv[2]))));
"""


def chromium():
    return next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)


def results_in_chromium(site, queries, pages):
    """Results of each query, and what pages ask a network for when they are opened."""
    from playwright.sync_api import sync_playwright

    asked = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append((page.url, request.url)))
        for path in [*pages, site / "search.html"]:
            page.goto(path.as_uri())
        page.wait_for_function("Search._index !== null")
        results = page.evaluate(SEARCH, queries)
        browser.close()
    local = ("file:", "data:", "blob:", "about:")
    return results, [(where, what) for where, what in asked if not what.startswith(local)]


def results_in_node(site, queries):
    program = NODE.replace("SEARCH", SEARCH)
    command = ["node", "-e", program, str(site), json.dumps(queries)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)


def wrong_searches(site, file, in_browser):
    """Faults of searches and of pages in the browser, and what was not done."""
    rows = list(searches(file))
    queries = [query for _, query, _ in rows]
    asked, left_out = [], []
    if chromium() and importlib.util.find_spec("playwright"):
        results, asked = results_in_chromium(site, queries, in_browser)
    else:
        left_out.append("Chromium or playwright is missing: no page was opened")
        if not shutil.which("node"):
            return [], [*left_out, "no Node.js either: no search was run"]
        results = results_in_node(site, queries)
    faults = [(Path(urlsplit(where).path).name, 0, f"asks a network for {what}") for where, what in asked]
    for (line, query, wanted), found in zip(rows, results, strict=True):
        first = list(dict.fromkeys(found))[:N_RESULTS]
        for page in wanted:
            if page not in first:
                faults.append(
                    (file.name, line, f"{query!r} finds {', '.join(first) or 'nothing'}, not {page}")
                )
    return faults, left_out


def check(site, spelling=True):
    """Faults of the pages, as page, line and text."""
    site = site.resolve()
    files = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
    pages = {path: read_page(path) for path in files}
    known = dictionary() if spelling else None
    faults = []
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        found = [(line, what) for what, line in page.problems]
        found += wrong_links(path, page, pages, site)
        found += wrong_loads(path, page, site)
        found += wrong_pictures(page)
        found += wrong_prose(page, None if path.name in ALONE else known)
        found += [(1, "no title")] * (not page.title.strip()) + [(1, "no description")] * (
            not page.description
        )
        faults += [(name, line, what) for line, what in sorted(set(found))]
    for path in unreached(pages, site):
        faults.append((path.relative_to(site).as_posix(), 1, "not reached from the navigation"))
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="folder of the built pages")
    site = parser.parse_args().site.resolve()
    faults = check(site)
    shown = [
        path
        for path in [site / "index.html", site / "404.html", *sorted(site.glob("guide/*.html"))]
        if path.is_file()
    ]
    more, left_out = wrong_searches(site, site / "search_words.txt", shown)
    if dictionary() is None:
        left_out.append("pyspellchecker or codespell is missing: spelling was not checked")
    for page, line, what in faults + more:
        print(f"{page}:{line}: {what}")
    for what in left_out:
        print(f"Left out: {what}")
    n_pages = sum(1 for _ in site.rglob("*.html"))
    print(f"{n_pages} pages, {len(faults + more)} faults")
    return 1 if faults or more else 0


if __name__ == "__main__":
    sys.exit(main())
