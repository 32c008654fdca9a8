#!/usr/bin/env python3
"""Check the built documentation: python .ci/check_site.py doc/_build/html

Each fault is printed with the page and its line; the exit code is 1 if there are any. A page must

- link only to pages, anchors and files that exist, and elsewhere only to https addresses, none a placeholder,
- use each id once,
- load nothing from a network, show no picture without a text that says what is seen, and no markup that
  Sphinx or the browser left as it was,
- have a title and a description, be reached from the navigation, and be free of misspelled words,
- open in Chromium without an error of a script, and without being wider than the window of a desktop or a
  phone: all pages from a server (of generated/, which are made alike, one), and one of each folder as a file.

Searches of `doc/search_words.txt` must find their pages first or second. Chromium is started by playwright;
SKTOPIC_BROWSER names it, else it is looked for. Where it or the packages for spelling are missing, the check
fails, unless --allow-missing is given.
"""

import argparse
import contextlib
import functools
import gzip
import http.server
import importlib.util
import json
import os
import re
import shutil
import sys
import threading
from collections import defaultdict, namedtuple
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
    r"example\.(com|org|net)|localhost|127\.0\.0\.1|TODO|FIXME|your[-_.]?(name|org|repo)|(?-i:OWNER)", re.I
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
N_RESULTS = 2
WIDTHS = 1300, 400  # of windows, in pixels

Link = namedtuple("Link", "address line in_navigation")
Load = namedtuple("Load", "address line")
Image = namedtuple("Image", "address text line")
Prose = namedtuple("Prose", "text line in_table")


@dataclass
class Page:
    """What a page holds."""

    links: list[Link] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    prose: list[Prose] = field(default_factory=list)
    problems: list = field(default_factory=list)  # (what, line)
    ids: dict = field(default_factory=lambda: defaultdict(list))  # lines of the elements that have it
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
            self.open.append((tag, tag in NOT_PROSE or bool(classes & NOT_PROSE_CLASSES)))
        if tag == "article" and self.article is None:
            self.article = len(self.open)
        for name in {values.get("id"), values.get("name") if tag == "a" else None} - {None, ""}:
            page.ids[name].append(line)
        if classes & {"problematic", "system-message"}:
            page.problems.append(("markup that Sphinx could not read", line))
        if tag == "a" and values.get("href"):
            in_navigation = any(name == "nav" for name, _ in self.open)
            page.links.append(Link(values["href"], line, in_navigation))
        elif tag == "img":
            page.images.append(Image(values.get("src", ""), values.get("alt"), line))
        elif tag == "meta" and values.get("name") == "description":
            page.description = (values.get("content") or "").strip()
        if tag == "link" and values.get("rel") in LOADED_LINKS:
            page.loads.append(Load(values.get("href") or "", line))
        for name in LOADED.get(tag, ()):
            listed = (values.get(name) or "").split(",") if name == "srcset" else [values.get(name)]
            page.loads.extend(Load(part.split()[0], line) for part in listed if part and part.strip())
        page.loads.extend(Load(address, line) for address in FETCH.findall(values.get("style") or ""))

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
            self.page.loads.extend(Load(address, line) for address in FETCH.findall(text))
        elif self.article is not None and not any(left_out for _, left_out in self.open):
            for offset, part in enumerate(text.split("\n")):
                if part.strip():
                    self.page.prose.append(Prose(part, line + offset, "td" in tags))


def html_files(site):
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


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
    return _page_at(file), unquote(parts.fragment)


@functools.cache
def _page_at(file):
    """Each page has the same hundred links, and looking for a file is slow."""
    file = file.resolve()
    return file / "index.html" if file.is_dir() else file


def doubled_ids(page):
    for name, lines in page.ids.items():
        if len(lines) > 1:
            yield lines[1], f"the id of another element: {name}"


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
        elif not target(path, address, site)[0].is_file():
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
            for word in misspelled(text, known):
                yield line, f"not in the dictionary: {word}"


# Words that stand alone: no parts of file names, addresses or formulas, and no surnames after an initial.
WORD = re.compile(r"(?<![\w@./_\\-])(?<![A-Z]\. )[A-Za-z]+(?:['\u2019][a-z]+)?(?![\w@/_\\]|\.\w)")


def misspelled(text, known):
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
    words -= {british for british, _ in pairs}
    words |= {american.strip() for _, american in pairs}
    own = (ROOT / "doc" / "words.txt").read_text(encoding="utf-8").splitlines()
    return words | {line.strip().lower() for line in own if not line.startswith("#")}


def unreached(pages, site):
    """Pages that no way leads to through navigation and the links of the first page."""
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
    """Queries and the places they should find, from lines such as `save model: guide/how_to#save-a-model`."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            query, _, places = line.partition(": ")
            yield number, query.strip(), places.split()


def chromium():
    known = map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])
    return os.environ.get("SKTOPIC_BROWSER") or next(filter(None, known), None)


@contextlib.contextmanager
def server_of(site):
    """Address of a server that runs in the block."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *of_request):
            pass  # each request would be printed

    serve = functools.partial(Handler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextlib.contextmanager
def browser_page():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser.new_page()
        browser.close()


SEARCH = """
(queries) => queries.map((query) => Search.find(query).hits.map(([page, , anchor]) => page + anchor))
"""


def wrong_when_opened(page, root, names):
    """Faults that show when the browser's page opens pages of the site, which begin with this address."""
    met, local = [], (root, "data:", "blob:", "about:")
    page.on("pageerror", lambda error: met.append(f"error of a script: {error}"))
    page.on(
        "request",
        lambda request: request.url.startswith(local) or met.append(f"asks a network for {request.url}"),
    )
    page.on("response", lambda answer: answer.status < 400 or met.append(f"not there: {answer.url}"))
    for name in names:
        page.goto(f"{root}/{name}")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            needed = page.evaluate("document.documentElement.scrollWidth")
            if needed > width:
                met.append(f"{needed} pixels wide in a window of {width}")
        yield from ((name, 1, what) for what in dict.fromkeys(met))
        met.clear()


def wrong_results(page, root, file):
    """A page is found by any of its sections, too."""
    rows = list(searches(file))
    page.goto(f"{root}/search.html")
    results = page.evaluate(SEARCH, [query for _, query, _ in rows])
    for (line, query, wanted), found in zip(rows, results, strict=True):
        first = found[:N_RESULTS]
        for place in wanted:
            if not any(hit == place or hit.partition("#")[0] == place for hit in first):
                yield file.name, line, f"{query!r} finds {', '.join(first) or 'nothing'}, not {place}"


def check_in_browser(site, files):
    """Faults of pages that are opened, and of searches."""
    one_of_each_folder = {path.parent: path for path in files}.values()
    looked_at = [path for path in files if path.parent.name != "generated" or path in one_of_each_folder]
    faults = []
    with server_of(site) as address:
        for root, some in (
            (address, looked_at),
            (site.as_uri(), {*one_of_each_folder, site / "search.html"}),
        ):
            with browser_page() as page:
                faults += wrong_when_opened(
                    page, root, sorted(path.relative_to(site).as_posix() for path in some)
                )
                faults += wrong_results(page, root, site / "search_words.txt")
    return list(dict.fromkeys(faults))


def missing():
    """What is not installed, and what is not checked without it."""
    if not chromium() or not importlib.util.find_spec("playwright"):
        yield "Chromium or playwright", "pages were not opened, searches not run"
    if dictionary() is None:
        yield "pyspellchecker or codespell", "spelling was not checked"


def check(site, files, spelling=True):
    """Faults of the pages, as page, line and text."""
    pages = {path: read_page(path) for path in files}
    known = dictionary() if spelling else None
    faults = []
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        found = [(line, what) for what, line in page.problems]
        found += doubled_ids(page)
        found += wrong_links(path, page, pages, site)
        found += wrong_loads(path, page, site)
        found += wrong_pictures(page)
        found += wrong_prose(page, None if path.name in ALONE else known)
        if not page.title.strip():
            found.append((1, "no title"))
        if not page.description:
            found.append((1, "no description"))
        faults += [(name, line, what) for line, what in sorted(set(found))]
    for path in unreached(pages, site):
        faults.append((path.relative_to(site).as_posix(), 1, "not reached from the navigation"))
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="folder of the built pages")
    parser.add_argument(
        "--allow-missing", action="store_true", help="leave out what a browser or a package is missing for"
    )
    arguments = parser.parse_args()
    site = arguments.site.resolve()
    files = html_files(site)
    faults, left_out = check(site, files), dict(missing())
    if not any("Chromium" in what for what in left_out):
        faults += check_in_browser(site, files)
    for page, line, what in faults:
        print(f"{page}:{line}: {what}")
    for what, without in left_out.items():
        print(f"{what} is missing: {without}")
    print(f"{len(files)} pages, {len(faults)} faults")
    return 1 if faults or (left_out and not arguments.allow_missing) else 0


if __name__ == "__main__":
    sys.exit(main())
