"""The check of the built documentation finds each fault, in a site of two pages that has one."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.pages import ROOT, module_at
from tests.test_docstrings import public_docstrings

check_site = module_at(ROOT / ".ci" / "check_site.py")

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


def check(folder):
    return check_site.check(folder, check_site.html_files(folder), spelling=False)


def faults(folder):
    return [what for _, _, what in check(folder)]


def test_a_site_without_faults_has_none(site):
    body = """
    <a href="other.html#here">there</a> <a href="#top" id="top">here</a> <a href="mailto:a@b.org">mail</a>
    <a href="https://docs.python.org/3/">docs</a> <a href="https://github.com/owner/sktopic">source</a>
    <img src="style.css" alt="Five topics as bars"> <img src="data:image/png;base64,AA" alt="A topic">
    <code>:doc:`x` ``y`` \\alpha</code> <pre>**kwargs and `a`_</pre> 2**31 - 1, f(**options), |B|, p(z | w)"""
    assert faults(site(body)) == []


def test_a_fault_is_found(site):
    for body, fault in (
        ('<a href="missing.html">x</a>', "leads nowhere: missing.html"),
        ('<a href="other.html#gone">x</a>', "no such anchor: other.html#gone"),
        ('<a href="#gone">x</a>', "no such anchor: #gone"),
        ('<a href="http://docs.python.org/3/">x</a>', "no https address: http://docs.python.org/3/"),
        ('<a href="https://no such/">x</a>', "no https address: https://no such/"),
        ('<a href="https://example.com/a">x</a>', "a placeholder: https://example.com/a"),
        ('<a href="https://github.com/OWNER/a">x</a>', "a placeholder: https://github.com/OWNER/a"),
        ('<p id="twice">one</p><p id="twice">two</p>', "the id of another element: twice"),
        ('<img src="style.css">', "a picture whose text says too little (''): style.css"),
        ('<img src="style.css" alt="bars">', "a picture whose text says too little ('bars'): style.css"),
        ('<img src="style.css" alt="my p.png">', "a picture whose text is a name ('my p.png'): style.css"),
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
    ):
        assert fault in faults(site(body))


def test_pages_have_titles_descriptions_and_ways_to_them(site):
    assert set(faults(site(head=""))) == {"no title", "no description"}
    body, navigation = '<p>\n<a href="missing.html">x</a></p>', '<nav><a href="index.html">Start</a></nav>'
    assert check(site(body, navigation=navigation)) == [  # by page and line
        ("index.html", 9, "leads nowhere: missing.html"),
        ("other.html", 1, "not reached from the navigation"),
    ]


def test_words_are_looked_up():
    known = check_site.dictionary()
    if known is None:
        pytest.skip("needs pyspellchecker and codespell")

    for text, misspelled in (
        ("Topics of a corpuss, by color, not colour", ["corpuss", "colour"]),
        ("The model's topics aren't fitted: sktopic, n_topics, OnlineEMLDA, top_words", []),
        ("By D. M. Bleix in 2003, of rows/corpuss, see readme.md", []),
    ):
        assert list(check_site.misspelled(text, known)) == misspelled


def test_what_is_missing_is_a_fault_unless_allowed(site, monkeypatch, capsys):
    monkeypatch.setattr(check_site, "missing", lambda: [("Chromium or playwright", "no search was run")])
    for arguments, code in [([], 1), (["--allow-missing"], 0)]:
        monkeypatch.setattr("sys.argv", ["check_site", str(site()), *arguments])
        assert check_site.main() == code
        assert "Chromium or playwright is missing: no search was run" in capsys.readouterr().out


needs_browser = pytest.mark.skipif(
    not (check_site.chromium() and importlib.util.find_spec("playwright")),
    reason="Chromium or playwright is not installed",
)


# Stands for the page of searches: all that Chromium finds there.
SEARCH_PAGE = """<script>
const found = {
  save: [["how", "", ""], ["saving", "", ""], ["how", "", "#save"]],
  load: [["how", "", ""], ["saving", "", "#load"]],
  name: [],
};
const Search = { find: (query) => ({ hits: found[query] }) };
</script>"""


@needs_browser
def test_faults_that_show_in_a_browser(site):
    body = """<div style="width: 900px">wide</div>
    <script>fetch("https://cdn.invalid/a.js").catch(() => {}); nothing.there;</script>"""
    folder = site(body)
    (folder / "search.html").write_text(SEARCH_PAGE)
    (folder / "search_words.txt").write_text("# comment\nsave: how#save\nload: saving\nname: naming\n")
    assert check_site.check_in_browser(folder, check_site.html_files(folder)) == [
        ("index.html", 1, "asks a network for https://cdn.invalid/a.js"),
        ("index.html", 1, "error of a script: nothing is not defined"),
        ("index.html", 1, "908 pixels wide in a window of 400"),
        ("search_words.txt", 2, "'save' finds how, saving, not how#save"),
        ("search_words.txt", 4, "'name' finds nothing, not naming"),
    ]


def test_docstrings_name_pages_of_the_guide_by_their_titles():
    extension = module_at(ROOT / "doc" / "_ext" / "api_pages.py")
    titles = extension.guide_pages(ROOT / "doc" / "guide")
    text = "\n".join(public_docstrings().values())
    named = {" ".join(title.split()) for title in extension.GUIDE_PAGE.findall(text)}
    assert named and named <= titles.keys()
    lines = ['Read more on the guide page "Look', 'at topics".']
    extension.link_guide_pages(SimpleNamespace(srcdir=ROOT / "doc"), "class", "name", None, None, lines)
    assert lines == ["Read more on the guide page :doc:`Look at topics </guide/inspection>`."]


def test_a_query_stands_in_one_line(tmp_path):
    pytest.importorskip("sphinx")
    search_words = module_at(ROOT / "doc" / "_ext" / "search_words.py")
    file = tmp_path / "search_words.txt"
    file.write_text("# comment\nsave: a b\nload: c\n")
    assert search_words.read(file) == {"save": ["a", "b"], "load": ["c"]}
    file.write_text("save: a\nsave: b\n")
    with pytest.raises(Exception, match="'save' twice"):
        search_words.read(file)


INDEX = {
    "docnames": ["guide/how_to", "research/tables"],
    "filenames": ["guide/how_to.rst", "research/tables.rst"],
    "titles": ["How do I", "Tables"],
    "alltitles": {"How do I": [[0, None]], "Tables": [[1, None]], "Save a model": [[0, "save-a-model"]]},
    "indexentries": {"store": [[0, "save-a-model", True]]},
    "terms": {"table": [0, 1], "model": [0, 1], "speed": 1},
    "titleterms": {},
    "objects": {"sktopic.lda": [[1, 0, 1, "", "SparseLDA"]]},
    "objnames": {0: ["py", "class", "Python class"]},
}
# What Sphinx puts beside its search, in short.
BESIDE = """
const stopwords = new Set(["a", "do", "how", "i", "of"]), _ready = () => {}, _ = (text) => text;
class Stemmer { stemWord(word) { return word.replace(/s$/, ""); } }"""
SEARCHED = """
([index, queries]) => { Search.setIndex(index); return queries.map((query) => {
  const found = Search.find(query);
  return [found.hits.map((hit) => hit[0] + hit[2]), found.hits[0]?.[1], describe(found)];
}); }"""


@needs_browser
def test_searches_ask_for_most_words():
    sphinx = pytest.importorskip("sphinx.search", reason="Sphinx is not installed")
    static = Path(sphinx.__file__).parent.parent / "themes" / "basic" / "static"
    queries = ["save a model", "how do I store models", "speed of quokkas", "quokkas", "store speed", "?!"]
    queries += ["SparseLDA save", "sktopic.lda.SparseLDA()", "how do I", "of"]
    with check_site.browser_page() as page:
        page.set_content("<p></p>")
        page.add_script_tag(content=BESIDE)
        for script in (static / "searchtools.js", ROOT / "doc" / "_static" / "search.js"):
            page.add_script_tag(content=script.read_text(encoding="utf-8"))
        section, whole, other, none, parts, signs, *named, titled, common = page.evaluate(
            SEARCHED, [INDEX, queries]
        )
    assert section[:2] == [["guide/how_to#save-a-model", "research/tables"], "Save a model - How do I"]
    assert whole[0][0] == "guide/how_to#save-a-model"
    assert other[0] == ["research/tables"] and 'No page has "quokkas"' in other[2]
    assert none[0] == [] and none[2].startswith("Nothing found")
    assert parts[2].startswith("No page has all of these words")
    assert "research/tables#sktopic.lda.SparseLDA" in named[0][0]
    assert named[1][0] == ["research/tables#sktopic.lda.SparseLDA"]
    assert titled[0] == ["guide/how_to"] and titled[2].startswith("Every page has such words")
    assert signs == common == [[], None, "Type a word to search for, one that not every page has."]
