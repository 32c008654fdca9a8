"""What notebooks show of estimators: links to their pages, and the attributes that there are."""

from email.message import Message
from importlib.metadata import PackageNotFoundError

import pytest

from sktopic._estimators import _topic_model
from sktopic.datasets import make_bars
from sktopic.inspection import name_topics
from sktopic.lda import OnlineEMLDA


def with_page(name):
    message = Message()
    message["Project-URL"] = "Source, https://source.invalid"
    message["Project-URL"] = f"Documentation, https://{name}.invalid/stable"
    return message


def not_installed(name):
    raise PackageNotFoundError(name)


def test_there_is_a_link_to_the_page_of_an_estimator_where_it_is_known(monkeypatch):
    for metadata, page in (
        (with_page, "https://sktopic.invalid/stable/generated/sktopic.lda.OnlineEMLDA.html"),
        (lambda name: Message(), ""),
        (not_installed, ""),
    ):
        _topic_model._page_address.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(_topic_model, "metadata", metadata)
            assert OnlineEMLDA()._get_doc_link() == page
            assert (f'href="{page}"' in OnlineEMLDA()._repr_html_()) == bool(page)
            assert type("Mine", (OnlineEMLDA,), {"__module__": "mine"})()._get_doc_link() == ""
    _topic_model._page_address.cache_clear()


def test_attributes_are_shown_once_they_are_there():
    pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 shows no attributes")
    lda = OnlineEMLDA(n_components=2, random_state=0).fit(make_bars(30, random_state=0).data)
    assert "components_" in lda._repr_html_() and "topic_names_" not in lda._repr_html_()
    name_topics(lda, {0: "left"})
    assert "topic_names_" in lda._repr_html_()
