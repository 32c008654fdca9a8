"""What notebooks show of estimators: names with descriptions, and links where there are pages to link to."""

import re
from email.message import Message

import pytest

import sktopic
from sktopic import _html_repr
from sktopic._compat import parse_docstring
from sktopic.datasets import make_bars
from sktopic.inspection import name_topics
from sktopic.lda import OnlineEMLDA

ESTIMATORS = [
    getattr(sktopic, name) for name in sktopic.__all__ if hasattr(getattr(sktopic, name), "partial_fit")
]
X = make_bars(30, random_state=0).data
needs_descriptions = pytest.mark.skipif(
    parse_docstring is None, reason="scikit-learn before 1.9 shows no descriptions"
)


def cells(model):
    """The cells with names in the tables of a model, by name."""
    found = re.findall(r'<td class="param">.*?</td>', model._repr_html_(), re.DOTALL)
    return {re.search(r"\w+", re.sub("<[^>]*>", "", cell)).group(): cell for cell in found}


@pytest.fixture
def documented(monkeypatch):
    """Lets the installed package have a page."""

    def metadata(name):
        message = Message()
        message["Project-URL"] = "Source, https://source.invalid"
        message["Project-URL"] = "Documentation, https://docs.invalid/stable/"
        return message

    monkeypatch.setattr(_html_repr, "metadata", metadata)
    _html_repr.documentation.cache_clear()
    yield
    _html_repr.documentation.cache_clear()


@needs_descriptions
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_all_parameters_and_attributes_are_described(cls):
    by_name = cells(cls(n_components=3, random_state=0).fit(X))
    assert {*cls().get_params(), "components_"} <= by_name.keys()
    for name, cell in by_name.items():
        assert "param-doc-description" in cell or name == "n_samples_seen_", name
    assert re.search("n_components ?: int", by_name["n_components"])  # as the version of numpydoc has it


@needs_descriptions
def test_descriptions_are_escaped_and_shared_by_names_of_one_entry():
    docstring = """One line.

    Parameters
    ----------
    a, b : int
        Less than <b>, & more.
    """
    text = "Less than &lt;b&gt;, &amp; more."
    expected = {"a": f"a : int<br>{text}", "b": f"b : int<br>{text}"}
    assert _html_repr._descriptions(docstring, "Parameters") == expected


@needs_descriptions
def test_names_of_topics_are_shown_once_there_are_some():
    lda = OnlineEMLDA(n_components=2, random_state=0).fit(X)
    assert "topic_names_" not in cells(lda)
    name_topics(lda, {0: "left"})
    assert "param-doc-description" in cells(lda)["topic_names_"]


def test_there_are_links_where_the_package_says_where_its_pages_are(documented):
    page = "https://docs.invalid/stable/generated/sktopic.lda.OnlineEMLDA.html"
    assert OnlineEMLDA()._get_doc_link() == page
    assert f'href="{page}"' in OnlineEMLDA()._repr_html_()
    assert type("Mine", (OnlineEMLDA,), {"__module__": "mine"})()._get_doc_link() == ""
