"""The check of the built documentation finds each fault, in a site of two pages that has one."""

import importlib.util
import shutil

import pytest

from .pages import ROOT

if not (ROOT / ".ci" / "check_site.py").is_file():
    pytest.skip("the check is in the checkout only", allow_module_level=True)


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_site = imported(ROOT / ".ci" / "check_site.py")

HEAD = """<title>Topics</title>
<meta name="description" content="What the page says.">
<link rel="stylesheet" href="style.css">"""
NAVIGATION = '<nav><a href="index.html">Start</a> <a href="other.html">Other</a></nav>'
BODY = '<p id="here">The text of a page.</p>'


@pytest.fixture
def site(tmp_path):
    """Writes a site, of which the text of the first page is given, and returns its folder."""

    def write(body=BODY, head=HEAD, navigation=NAVIGATION):
        (tmp_path / "style.css").write_text("p {color: red}")
        for name, text, top in [("index.html", body, head), ("other.html", BODY, HEAD)]:
            page = f"<head>\n{top}\n</head><body>\n{navigation}\n<article>\n{text}\n</article></body>"
            (tmp_path / name).write_text(f"<html>{page}</html>")
        return tmp_path

    return write


PLACEHOLDER = "OWN" + "ER"


def faults(folder):
    return [what for _, _, what in check_site.check(folder, spelling=False)]


def test_a_site_without_faults_has_none(site):
    body = f"""
    <a href="other.html#here">there</a> <a href="#top" id="top">here</a> <a href="mailto:a@b.org">mail</a>
    <a href="https://docs.python.org/3/">docs</a> <a href="https://github.com/{PLACEHOLDER}/sktopic">source</a>
    <img src="style.css" alt="Five topics as bars"> <img src="data:image/png;base64,AA" alt="A topic">
    <code>:doc:`x` ``y`` \\alpha</code> <pre>**kwargs and `a`_</pre> 2**31 - 1, f(**options), |B|, p(z | w)"""
    assert faults(site(body)) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="missing.html">x</a>', "leads nowhere: missing.html"),
        ('<a href="other.html#gone">x</a>', "no such anchor: other.html#gone"),
        ('<a href="#gone">x</a>', "no such anchor: #gone"),
        ('<a href="http://docs.python.org/3/">x</a>', "no https address: http://docs.python.org/3/"),
        ('<a href="https://no such/">x</a>', "no https address: https://no such/"),
        ('<a href="https://example.com/a">x</a>', "a placeholder: https://example.com/a"),
        ('<img src="style.css">', "a picture whose text says too little (''): style.css"),
        ('<img src="style.css" alt="bars">', "a picture whose text says too little ('bars'): style.css"),
        (
            '<img src="style.css" alt="my plot.png">',
            "a picture whose text is a name ('my plot.png'): style.css",
        ),
        ('<script src="https://cdn.org/a.js"></script>', "loaded from a network: https://cdn.org/a.js"),
        ('<script src="//cdn.org/a.js"></script>', "loaded from a network: //cdn.org/a.js"),
        ('<style>@import "https://cdn.org/a.css"</style>', "loaded from a network: https://cdn.org/a.css"),
        ('<p style="background: url(https://a.org/b.png)">', "loaded from a network: https://a.org/b.png"),
        ('<img src="gone.png" alt="Topics as bars">', "not there to be loaded: gone.png"),
        ("<p>see :doc:`lda`</p>", "markup in the text: see :doc:`lda`"),
        ("<p>the ``score``</p>", "markup in the text: the ``score``"),
        ("<p>a **bold** word</p>", "markup in the text: a **bold** word"),
        ("<p>a [link](page.md)</p>", "markup in the text: a [link](page.md)"),
        ("<p>with \\alpha below one</p>", "markup in the text: with \\alpha below one"),
        ("<p>with \\(x\\) below one</p>", "markup in the text: with \\(x\\) below one"),
        ('<p><span class="problematic">x</span></p>', "markup that Sphinx could not read"),
    ],
)
def test_a_fault_is_found(site, body, fault):
    assert fault in faults(site(body))


def test_page_and_line_are_named(site):
    found = check_site.check(site('<p>\n<a href="missing.html">x</a></p>'), spelling=False)
    assert found == [("index.html", 9, "leads nowhere: missing.html")]


def test_pages_have_titles_descriptions_and_ways_to_them(site):
    assert set(faults(site(head=""))) == {"no title", "no description"}
    navigation = '<nav><a href="index.html">Start</a></nav>'
    found = check_site.check(site(navigation=navigation), spelling=False)
    assert found == [("other.html", 1, "not reached from the navigation")]


def test_words_are_looked_up():
    known = check_site.dictionary()
    if known is None:
        pytest.skip("needs pyspellchecker and codespell")

    def misspelt(text):
        return list(check_site.misspelt(text, known))

    assert misspelt("Topics of a corpuss, by colour, not color") == ["corpuss", "color"]
    assert misspelt("The model's topics aren't fitted: sktopic, n_topics, OnlineEMLDA, top_words") == []
    assert misspelt("By D. M. Bleix in 2003, of rows/corpuss, see readme.md") == []


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_searches_that_find_another_page_are_named(site, monkeypatch):
    """In what Sphinx's search is asked for, and how results are read: only the search is another."""
    monkeypatch.setattr(check_site, "chromium", lambda: None)
    folder = site()
    (folder / "_static").mkdir()
    (folder / "_static" / "language_data.js").write_text("")
    (folder / "_static" / "searchtools.js").write_text("""
    const Search = {
      _parseQuery: (query) => [query],
      setIndex: (index) => (Search._index = index),
      _performSearch: (query) => Search._index[query].map((page) => [page]),
    };""")
    (folder / "searchindex.js").write_text('Search.setIndex({"save": ["d", "c", "b", "b", "a"], "load": []})')
    words = folder / "search_words.txt"
    words.write_text("# comment\nsave: a b c\nsave: d\nload: a\n")
    found, left_out = check_site.wrong_searches(folder, words, [])
    assert found == [
        ("search_words.txt", 3, "'save' finds a, b, c, not d"),
        ("search_words.txt", 4, "'load' finds nothing, not a"),
    ]
    assert left_out == ["Chromium or playwright is missing: no page was opened"]
