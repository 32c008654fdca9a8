"""What is said in more than one place, about versions, systems and dependencies, agrees.

``make release-check`` asks for what has to be true at a release only.
"""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

import sktopic

from .pages import ROOT, module_at

if not (ROOT / ".github").is_dir():
    pytest.skip("what a release needs is in the checkout only", allow_module_level=True)
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
RECIPE = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
WORKFLOWS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").iterdir()}


release_check, check_dist = (
    module_at(ROOT / ".ci" / f"{name}.py") for name in ("release_check", "check_dist")
)


def supported():
    """Pythons by the classifiers, from the oldest."""
    return re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))


def section(name):
    """Requirements of a section of the recipe."""
    indented = re.search(rf"^  {name}:\n((?:    .*\n)+)", RECIPE, re.M)[1]
    return dict(re.findall(r"^ +- ([\w-]+) >=(\S+)$", indented, re.M))


def bounds(requirements):
    return {name.lower(): bound for name, bound in (each.split(">=") for each in requirements)}


def test_the_version_is_the_same_everywhere():
    assert release_check.version() == sktopic.__version__
    assert re.findall(r"^version: (\S+)$", CITATION, re.M) == [sktopic.__version__]
    assert re.findall(r'^  version: "(\S+)"$', RECIPE, re.M) == [sktopic.__version__]


def test_the_date_of_a_release_is_that_of_the_changelog():
    date = release_check.dated()
    assert re.findall(r'^date-released: "(\S+)"$', CITATION, re.M) == ([date] if date else [])


def test_pythons_are_the_same_everywhere():
    oldest = supported()[0]
    assert PROJECT["requires-python"] == f">={oldest}"
    assert f'match(python, "<{oldest}")' in RECIPE
    assert SETTINGS["tool"]["ruff"]["target-version"] == "py" + oldest.replace(".", "")
    for matrix in re.findall(r"^ +python: \[(.+)\]$", WORKFLOWS["tests.yml"], re.M):
        assert re.findall(r"[\d.]+", matrix) == supported()
    gate = re.search(r"python-version: \|.*\n((?: +3\.\d+\n)+)", WORKFLOWS["tests.yml"])[1]
    assert gate.split() == supported()[::-1]
    wheels = re.fullmatch(r"cp\{(.+)\}-\*", SETTINGS["tool"]["cibuildwheel"]["build"])[1]
    with_gil = [version for version in wheels.split(",") if not version.endswith("t")]
    assert with_gil == [version.replace(".", "") for version in supported()]


def test_requirements_of_the_recipe_are_those_of_the_package():
    assert section("run") == bounds(PROJECT["dependencies"])
    assert section("host") == bounds(SETTINGS["build-system"]["requires"])


REPOSITORY = "https://github.com/someone/sktopic"


@pytest.fixture
def setup(monkeypatch):
    """The module setup.py, in the folder of the checkout."""
    pytest.importorskip("Cython")
    monkeypatch.chdir(ROOT)
    return module_at(ROOT / "setup.py")


def test_one_address_sets_all_others(setup):
    assert setup.repository() == release_check.repository()
    assert setup.urls("") == {}
    assert setup.urls(REPOSITORY) == {
        "Repository": REPOSITORY,
        "Documentation": "https://someone.github.io/sktopic",
        "Changelog": "https://someone.github.io/sktopic/changelog.html",
        "Issues": f"{REPOSITORY}/issues",
    }


def test_a_release_without_an_address_is_refused(monkeypatch):
    def n_faults(address):
        monkeypatch.setattr(release_check, "repository", lambda: address)
        return sum("repository = " in fault for fault in release_check.faults())

    monkeypatch.setattr(release_check, "git", lambda *arguments: [])
    assert [n_faults(address) for address in ("", "https://github.com/someone", REPOSITORY)] == [1, 1, 0]


def links_and_pictures(html):
    return re.findall(r'<a [^>]*href="([^"#]+)"', html), re.findall(r'<img [^>]*src="([^"]*)"', html)


def test_a_code_host_finds_and_draws_what_the_readme_links_to():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", text) if not target.startswith("https:")]
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target
        assert not target.endswith(".rst"), f"{target}: code hosts show the directives of Sphinx as text"


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


def test_wheels_are_tested_with_what_the_tests_ask_for():
    asked = PROJECT["optional-dependencies"]["test"]
    settings = SETTINGS["tool"]["cibuildwheel"]
    assert {*settings["test-requires"], *settings["pyodide"]["test-requires"]} <= set(asked)


def test_actions_are_named_by_a_commit_and_one_version():
    found = re.findall(r"uses: ([\w/-]+)@(\S+)(?: # (\S+))?", "".join(WORKFLOWS.values()))
    assert found
    for name, commit, version in set(found):
        assert re.fullmatch("[0-9a-f]{40}", commit), name
        assert re.fullmatch(r"v\d+\.\d+\.\d+", version), name
    assert len(set(found)) == len({name for name, _, _ in found})


def test_no_job_runs_without_limits():
    for name, workflow in WORKFLOWS.items():
        assert "\npermissions: {}\n" in workflow, name
        assert "\nconcurrency:\n" in workflow, name
        jobs = workflow.partition("\njobs:\n")[2]
        assert jobs.count("runs-on:") == jobs.count("timeout-minutes:"), name
        assert jobs.count("actions/checkout@") == jobs.count("persist-credentials: false"), name


def test_a_release_of_another_tag_is_refused(monkeypatch):
    monkeypatch.setattr(release_check, "git", lambda *arguments: [])
    monkeypatch.setenv("GITHUB_REF_TYPE", "tag")
    monkeypatch.setenv("GITHUB_REF_NAME", f"v{sktopic.__version__}")
    before = [*release_check.faults()]
    monkeypatch.setenv("GITHUB_REF_NAME", "v0")
    assert len([*release_check.faults()]) == len(before) + 1


def in_checkout(pattern, suffixes):
    paths = [path for path in ROOT.glob(pattern) if path.suffix in suffixes]
    return [path.relative_to(ROOT).as_posix() for path in paths]


def test_a_wheel_that_lacks_or_has_something_is_refused():
    whole = [name.replace(".pyx", ".so") for name in in_checkout("sktopic/_kernels/**/*", {".pyx"})]
    whole += ["sktopic/__init__.py", "sktopic-0.dist-info/METADATA", "sktopic/_kernels/_cyutility.so"]
    assert not [*check_dist.faults_of_wheel(whole)]
    for more in ("tests/test_topics.py", "sktopic/_kernels/threads/_team.h", "sktopic/_kernels/_old.so"):
        assert len([*check_dist.faults_of_wheel([*whole, more])]) == 1
    assert len([*check_dist.faults_of_wheel(whole[1:])]) == 1


def test_a_source_distribution_that_lacks_or_has_something_is_refused():
    names = in_checkout("sktopic/**/*", check_dist.SOURCES) + in_checkout("tests/**/*", {".py"})
    whole = [f"sktopic-0/{name}" for name in names]
    assert not [*check_dist.faults_of_source(whole)]
    for more in ("sktopic-0/doc/guide/lda.rst", "sktopic-0/sktopic/_kernels/threads/_team.c"):
        assert len([*check_dist.faults_of_source([*whole, more])]) == 1
    assert len([*check_dist.faults_of_source(whole[1:])]) == 1


def test_a_file_that_is_too_large_is_refused(tmp_path):
    large = tmp_path / "sktopic-0.whl"
    with zipfile.ZipFile(large, "w") as file:
        file.writestr("sktopic/__init__.py", bytes(check_dist.MOST))
    assert f"{large.stat().st_size} bytes, at most {check_dist.MOST} are allowed" in check_dist.faults(large)
    assert large.name in check_dist.refusal([large])


def test_files_without_faults_pass_and_no_files_do_not(monkeypatch):
    monkeypatch.setattr(check_dist, "faults", lambda path: iter(()))
    assert check_dist.refusal([Path("sktopic-0.whl")]) is None
    assert check_dist.refusal([])
