"""README.md on a code host and on the package index: its links, its pictures and the address before them."""

import re

import pytest

import sktopic
from tests.pages import ROOT, module_at

addresses = module_at(ROOT / ".ci" / "addresses.py")
# That of the project once it has one: README.md then has no placeholders any more.
REPOSITORY = addresses.repository_and_email()[0] or "https://github.com/someone/sktopic"
PAGES = addresses.filled(f"https://{addresses.OWNER}.github.io/sktopic", REPOSITORY, "")


@pytest.fixture
def setup(monkeypatch):
    """The module setup.py, in the folder of the checkout."""
    pytest.importorskip("Cython")
    monkeypatch.chdir(ROOT)
    return module_at(ROOT / "setup.py")


def test_one_address_sets_all_others(setup):
    assert setup.repository() == addresses.repository_and_email()[0]
    assert setup.urls("") == {}
    assert setup.urls(REPOSITORY) == {
        "Repository": REPOSITORY,
        "Documentation": PAGES,
        "Changelog": f"{PAGES}/changelog.html",
        "Issues": f"{REPOSITORY}/issues",
    }


def links_and_pictures(html):
    return re.findall(r'<a [^>]*href="([^"#]+)"', html), re.findall(r'<img [^>]*src="([^"]*)"', html)


def test_a_code_host_finds_and_draws_what_the_readme_links_to():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https:)([^)]+)\)", text)
    assert targets and all((ROOT / target).exists() for target in targets), targets
    assert ".rst" not in "".join(targets), "code hosts show the directives of Sphinx as text"


def test_the_package_index_shows_the_readme_with_links_that_lead_somewhere(setup, tmp_path, monkeypatch):
    """To the pages and to the files of the tag; without an address, to other sites only."""
    renderer = pytest.importorskip("readme_renderer.markdown")
    links, pictures = links_and_pictures(renderer.render(setup.readme("")))
    assert not pictures
    assert all(link.startswith("https://") and addresses.OWNER not in link for link in links)
    text = addresses.filled((ROOT / "README.md").read_text(encoding="utf-8"), REPOSITORY, "")
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    (tmp_path / "sktopic").symlink_to(ROOT / "sktopic")
    monkeypatch.chdir(tmp_path)
    links, pictures = links_and_pictures(renderer.render(setup.readme(REPOSITORY)))
    badges = [address for address in pictures if "badge" in address or "shields" in address]
    assert len(badges) == 5 and len(pictures) == 6 and len(links) > 12
    assert (
        f"{REPOSITORY}/actions/workflows/gate.yml" in links and (ROOT / ".github/workflows/gate.yml").exists()
    )
    kinds = set()
    for address in {*links, *pictures} - {*badges}:
        kind, _, path = address.partition(f"/v{sktopic.__version__}/")
        if kind in (f"{REPOSITORY}/blob", f"{REPOSITORY}/raw"):
            assert (ROOT / path).exists(), address
        elif address.startswith(f"{PAGES}/"):
            page = ROOT / "doc" / address.removeprefix(f"{PAGES}/")
            kind = "page"
            assert any(page.with_suffix(suffix).exists() for suffix in (".rst", ".md")), address
        else:
            kind = "other"
            assert address in (
                f"{REPOSITORY}/actions/workflows/gate.yml",
                "https://pypi.org/project/sktopic/",
            )
        kinds.add(kind)
    assert kinds == {f"{REPOSITORY}/blob", f"{REPOSITORY}/raw", "page", "other"}
