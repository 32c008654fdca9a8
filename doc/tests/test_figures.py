"""Figures of the documentation are those of doc/benchmarks/: pages read them when they are built."""

import io
import re
import sys
import textwrap

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from sktopic._loading import CLASSES
from tests.pages import ROOT, module_at, written_pages

EXTENSIONS = ROOT / "doc" / "_ext"

NUMBER = r"(?:[\d.]+|two|three|four|five|ten|a hundred|several)"
SPEED = re.compile(
    rf"\b(?:{NUMBER} times|twice) (?:as (?:fast|long|quick|slow)|faster|slower|longer)"
    rf"|\b{NUMBER} (?:micro|nano|milli)?seconds?\b|\b[\d.]+ (?:n|u|m)?s\b"
)
# Constants in the code, what to expect on the reader's machine, and what write_readme.py writes
ELSEWHERE = {"doc/architecture.md", "examples/README.rst", "README.md"}
PAGES = sorted({page.relative_to(ROOT).as_posix() for page in written_pages()} - ELSEWHERE)


@pytest.fixture(scope="module")
def figures():
    """The module that reads them for the pages."""
    sys.path.insert(0, str(EXTENSIONS))
    yield module_at(EXTENSIONS / "figures.py")
    sys.path.remove(str(EXTENSIONS))


def test_no_speed_is_typed():
    read = r":figure:`.*?`|^( *)\.\. figures::\n\n(?:(?:\1   .*)?\n)+"
    for page in PAGES:
        text = re.sub(read, "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M)
        text = " ".join(text.split())
        found = [text[max(m.start() - 60, 0) : m.end()] for m in SPEED.finditer(text)]
        assert not found, f"{page} has typed speeds, which :figure: should read from doc/benchmarks/: {found}"


SHARE = """.. figures::

   share = table("coherence.k", "topics")["share of a top word"]

:figure:`share[5]:.1f`

"""
FAULTS = {
    **{
        f":figure:`{each}`": each
        for each in ("share[6]", "other", "float('nan')", "fixed('')", "None", "share")
    },
    ".. figures::\n\n   rows('none')": "none.csv has no row of the table 'main'",
    ".. figures::\n\n   rows('coherence.k', topics='6')": "{'topics': '6'}",
    ".. results::\n\n   select('coherence.k', plain('topic'))": "table 'k' has no column 'topic'",
    ".. results::\n\n   pivot('hdp_models', {}, 'model', len, ['NoHDP'])": "no row has ['NoHDP']",
    ".. study:: platforms": "'measured on'",
}


def test_a_figure_that_is_not_there_fails_the_build(figures, tmp_path):
    (tmp_path / "index.rst").write_text(SHARE + "\n\n".join(FAULTS))
    settings, told = {"extensions": ["figures"]}, io.StringIO()
    with docutils_namespace():
        out = tmp_path / "out"
        app = Sphinx(tmp_path, None, out, out, "text", settings, None, told, warningiserror=True)
        app.build()
    assert app.statuscode == 1
    errors = re.findall("(?:ERROR|WARNING): (.*)", told.getvalue())
    assert len(errors) == len(FAULTS), errors
    for error, fault in zip(errors, FAULTS.values()):
        assert fault in error
    assert "0.3" in (out / "index.txt").read_text(encoding="utf-8")


def test_results_are_written_and_read_as_they_are(figures, tmp_path):
    results = sys.modules["_results"]
    tables = {"main": [{"a": "1", "b": "2, 3"}], "others": [{"c": "x", "b": "y"}, {"c": "", "b": "z"}]}
    results.write_tables(tmp_path / "study.csv", tables)
    assert results.read_tables(tmp_path / "study.csv") == tables
    assert results.read_tables(tmp_path / "none.csv") == {}


def test_numbers_have_the_digits_that_are_known_and_thousands_are_written_out(figures):
    intervals = {
        ("0.0163", "0.0012", "0.0314"): "0.016 (0.001 to 0.031)",
        ("0.0163", "-0.0337", "0.0663"): "0.02 (-0.03 to 0.07)",
        ("-12.3", "-40.1", "15.5"): "-12 (-40 to 16)",
        ("0.0163", "", ""): "0.02",
        ("", "", ""): "\N{EN DASH}",
    }
    assert {numbers: figures.KNOWN["supported"](*numbers) for numbers in intervals} == intervals
    cells = {"1.599e+06": "1,600,000", "97960": "98,000", "0.0512": "0.051", "8.0": "8.0", "-": "\N{EN DASH}"}
    assert {cell: figures.KNOWN["significant"](cell) for cell in cells} == cells
    assert figures.KNOWN["change"]("-0.0004") == "0.00"


def test_every_estimator_is_among_those_to_choose_from_with_a_measurement(figures):
    """In the table of the page, or in what the page says of it: figures, or that there are none yet."""
    text = (ROOT / "doc" / "guide" / "choose.rst").read_text(encoding="utf-8")
    terms = re.findall(r"^:class:`~sktopic\.\w+\.(\w+)`.*\n((?:    .*\n)+)", text, re.M)
    assert {name for name, _ in terms} == CLASSES.keys()
    measured = {row["model"] for name in ("peers.family", "hdp_models") for row in figures.rows(name)}
    for name, definition in terms:
        assert name in measured or re.search(":figure:|not measured yet", definition), name


def test_the_chart_of_estimators_is_that_of_its_script():
    pictures = ROOT / "doc" / "pictures"
    draw = module_at(pictures / "draw.py")
    assert (pictures / "choose.svg").read_text(encoding="utf-8") == draw.chart(), (
        "run doc/pictures/draw.py choose"
    )
    page = (ROOT / "doc" / "guide" / "choose.rst").read_text(encoding="utf-8")
    for _, section, names in draw.QUESTIONS:
        text = page.partition(f".. _choose-{section}:\n")[2].partition("\n.. _")[0]
        assert all(f".{name}`" in text for name in names), section


def test_the_front_page_has_the_snippet_and_the_promises_of_the_readme():
    text, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "doc/index.rst"))
    of_page = re.search(r"^( *)\.\. code-block:: python\n.*\n\n((?:(?:\1 {4}.*)?\n)+)", page, re.M)[2]
    assert textwrap.dedent(of_page).strip() == re.search(r"^```python\n(.*?)\n```", text, re.M | re.S)[1]
    page = re.sub(r"[ \n]+\(:doc:`[^`]*`\)", "", page).replace("``", "`")
    promises, of_page = (re.findall(r"^- \*\*.*(?:\n  .*)*", each, re.M) for each in (text, page))
    assert [promise.split() for promise in of_page] == [promise.split() for promise in promises]
    assert promises


def test_the_readme_compares_libraries_with_the_figures_of_the_front_page(figures):
    written = module_at(ROOT / "doc" / "write_readme.py").readme()
    assert written == (ROOT / "README.md").read_text(encoding="utf-8"), "run make readme"


def test_the_draws_take_most_of_the_time_up_to_some_hundred_topics(figures):
    """As "Cost per token" says in doc/research/benchmarks.rst."""
    parts = figures.table("cost.parts", "topics")
    more_draws = parts["draws, ms"] > parts["rows, ms"] + parts["adding, ms"]
    assert more_draws[parts.index < 1000].all() and not more_draws[parts.index > 1000].any()
    by_words = figures.table("cost", "documents")["training, ns a token"]["drawn"]
    assert by_words.max() < 2 * by_words.min(), "the size of the vocabulary does matter"


def test_the_page_of_platforms_says_what_each_state_means(figures):
    page = (ROOT / "doc" / "research" / "platforms.rst").read_text(encoding="utf-8")
    for row in figures.rows("platforms"):
        assert f"**{row['state']}**" in page
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", row["date"]) or row["state"] == "configured", row
