"""README.md on a code host and on the package index: its links, its pictures and the address before them."""

import re

import pytest

from tests.pages import ROOT, module_at

REPOSITORY = "https://github.com/someone/sktopic"


@pytest.fixture
def setup(monkeypatch):
    """The module setup.py, in the folder of the checkout."""
    pytest.importorskip("Cython")
    monkeypatch.chdir(ROOT)
    return module_at(ROOT / "setup.py")


def test_one_address_sets_all_others(setup):
    assert setup.repository() == module_at(ROOT / ".ci" / "release_check.py").repository()
    assert setup.urls("") == {}
    assert setup.urls(REPOSITORY) == {
        "Repository": REPOSITORY,
        "Documentation": "https://someone.github.io/sktopic",
        "Changelog": "https://someone.github.io/sktopic/changelog.html",
        "Issues": f"{REPOSITORY}/issues",
    }


def links_and_pictures(html):
    return re.findall(r'<a [^>]*href="([^"#]+)"', html), re.findall(r'<img [^>]*src="([^"]*)"', html)


def test_a_code_host_finds_and_draws_what_the_readme_links_to():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https:)([^)]+)\)", text)
    assert targets and all((ROOT / target).exists() for target in targets), targets
    assert ".rst" not in "".join(targets), "code hosts show the directives of Sphinx as text"


def test_the_package_index_shows_the_readme_with_links_that_lead_somewhere(setup):
    renderer = pytest.importorskip("readme_renderer.markdown")
    links, pictures = links_and_pictures(renderer.render(setup.readme("")))
    assert not pictures
    assert all(link.startswith("https://") for link in links)
    links, pictures = links_and_pictures(renderer.render(setup.readme(REPOSITORY)))
    assert len(pictures) == 1 and len(links) > 3
    for address, folder in [*((link, "blob") for link in links), *((each, "raw") for each in pictures)]:
        assert address.startswith(f"{REPOSITORY}/{folder}/main/")
        assert (ROOT / address.split("/main/")[1]).exists()
