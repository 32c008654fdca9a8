"""Figures in sentences of the documentation are those of the tables in doc/benchmarks/."""

import csv
import importlib.util
import pkgutil
import re
import textwrap

import pytest

import sktopic

from . import figures
from .figures.tables import TABLES, rows
from .pages import ROOT, written_pages

pytestmark = pytest.mark.skipif(not TABLES.exists(), reason="the tables are in the checkout only")

MODULES = [
    importlib.import_module(f"{figures.__name__}.{module.name}")
    for module in pkgutil.iter_modules(figures.__path__)
    if module.name != "tables"
]
# Page, sentence with {} for its figures, the function that returns them, and its arguments.
SENTENCES = [
    (module.PAGE, sentence, function, arguments)
    for module in MODULES
    for sentence, function, *arguments in module.SENTENCES
]

NUMBER = r"(?:[\d.]+|two|three|four|five|ten|a hundred|several)"
SPEED = re.compile(
    rf"\b{NUMBER} times (?:as (?:fast|long|quick|slow)|faster|slower|longer)"
    rf"|\b{NUMBER} (?:micro|nano|milli)?seconds?\b|\b[\d.]+ (?:n|u|m)?s\b"
)


def text_of(page):
    """Its words, by single spaces."""
    return " ".join((ROOT / page).read_text().split())


def pattern_of(sentence):
    return r"-?\d[\d.,]*".join(map(re.escape, sentence.split("{}")))


@pytest.mark.parametrize(("page", "sentence", "figures", "arguments"), SENTENCES)
def test_sentence_has_the_figures_of_the_table(page, sentence, figures, arguments):
    expected = sentence.format(*figures(*arguments))
    found = re.findall(rf"(?:{pattern_of(sentence)})", text_of(page))
    assert len(found) == 1, f"{page} should have this sentence once:\n{expected}"
    assert found[0] == expected, f"in {page}, change\n{found[0]}\nto\n{expected}"


# Not of measurements, but of constants in the code, and of what to expect on the reader's machine.
ELSEWHERE = {"doc/architecture.md", "examples/README.rst"}
PAGES = sorted({page.relative_to(ROOT).as_posix() for page in written_pages()} - ELSEWHERE)


@pytest.mark.parametrize("page", PAGES)
def test_no_other_sentence_has_a_speed(page):
    text = text_of(page)
    for its_page, sentence, *_ in SENTENCES:
        if its_page == page:
            text = re.sub(pattern_of(sentence), "", text)
    found = [text[max(m.start() - 60, 0) : m.end()] for m in SPEED.finditer(text)]
    assert not found, f"{page} has speeds that no table gives; add the sentences to SENTENCES: {found}"


def test_every_estimator_is_among_those_to_choose_from_with_a_measurement():
    """In the table of the page, or in what the page says of it."""
    page = "doc/guide/choose.rst"
    in_table = {row["model"] for row in rows("pages/choose")}
    terms = re.findall(r"^:class:`~sktopic\.\w+\.(\w+)`.*\n((?:    .*\n)+)", (ROOT / page).read_text(), re.M)
    assert {name for name, _ in terms} == {name for name in dir(sktopic) if name.endswith(("LDA", "HDP"))}
    patterns = [pattern_of(sentence) for its_page, sentence, *_ in SENTENCES if its_page == page]
    for name, definition in terms:
        assert name in in_table or any(
            re.search(pattern, " ".join(definition.split()) + " ") for pattern in patterns
        ), name


def test_the_chart_of_estimators_is_that_of_its_script():
    pictures = ROOT / "doc" / "pictures"
    spec = importlib.util.spec_from_file_location("draw", pictures / "draw.py")
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    assert (pictures / "choose.svg").read_text(encoding="utf-8") == draw.chart(), (
        "run doc/pictures/draw.py choose"
    )
    page = (ROOT / "doc" / "guide" / "choose.rst").read_text()
    for _, section, names in draw.QUESTIONS:
        text = page.partition(f".. _choose-{section}:\n")[2].partition("\n.. _")[0]
        assert all(f".{name}`" in text for name in names), section


def test_the_front_page_has_the_snippet_of_the_readme():
    text = (ROOT / "README.md").read_text()
    page = (ROOT / "doc" / "index.rst").read_text()
    of_page = re.search(r"^( *)\.\. code-block:: python\n.*\n\n((?:(?:\1 {4}.*)?\n)+)", page, re.M)[2]
    assert textwrap.dedent(of_page).strip() == re.search(r"^```python\n(.*?)\n```", text, re.M | re.S)[1]


def test_the_front_page_promises_what_the_readme_does():
    promises, of_page = (
        re.findall(r"^- \*\*.*(?:\n  .*)*", (ROOT / page).read_text(), re.M)
        for page in ("README.md", "doc/index.rst")
    )
    without_links = [re.sub(r"[ \n]+\(:doc:`[^`]*`\)", "", promise) for promise in of_page]
    assert [" ".join(promise.replace("``", "`").split()) for promise in without_links] == [
        " ".join(promise.split()) for promise in promises
    ]


def test_the_front_page_compares_libraries_as_the_readme_does():
    lines = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| ")]
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    of_readme = [row for row in table if len(row) == 6]
    page = (ROOT / "doc" / "index.rst").read_text()
    of_page = re.search(r"\.\. csv-table::\n(?:   :.*\n)+\n((?:   .*\n)+)", page)[1]
    assert [*csv.reader(map(str.strip, of_page.splitlines()), skipinitialspace=True)] == of_readme


def test_the_draws_take_most_of_the_time_up_to_some_hundred_topics():
    """As "Cost per token" says in doc/research/benchmarks.rst, where the tables are included."""
    for row in rows("cost_parts"):
        draws, moving = float(row["draws, ms"]), float(row["rows, ms"]) + float(row["adding, ms"])
        if int(row["topics"]) != 1000:  # where it turns
            assert (draws > moving) == (int(row["topics"]) < 1000), row
    of_vocabularies = [float(row["training, ns a token"]) for row in rows("cost", "drawn")]
    assert max(of_vocabularies) < 2 * min(of_vocabularies), "the size of the vocabulary does matter"


def test_the_page_of_platforms_says_what_each_state_means():
    states = {row["state"] for row in rows("platforms")}
    assert states <= set(re.findall(r"\*\*(\w+)\*\*", text_of("doc/research/platforms.rst")))
    for row in rows("platforms"):
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", row["date"]) or row["state"] == "configured", row
