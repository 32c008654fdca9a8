"""What is said in more than one place, about versions, systems and dependencies, agrees.

``make release-check`` asks for what has to be true at a release only.
"""

import importlib.util
import re
import shutil
import tomllib
import zipfile
from pathlib import Path

import pytest

import sktopic

ROOT = Path(__file__).parent.parent
if not (ROOT / ".github").is_dir():
    pytest.skip("what a release needs is in the checkout only", allow_module_level=True)
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
RECIPE = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
WORKFLOWS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").iterdir()}


def script(name):
    """A module of the folder .ci."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release_check, check_dist = script("release_check"), script("check_dist")


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


def test_links_and_pictures_of_the_readme_work_where_it_is_shown_alone(monkeypatch):
    pytest.importorskip("Cython")
    monkeypatch.chdir(ROOT)
    spec = importlib.util.spec_from_file_location("setup_of_sktopic", "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    repository = PROJECT["urls"]["Repository"]
    found = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", module.readme())
    assert sum(bool(mark) for mark, _ in found) == 1
    for mark, address in found:
        folder = "raw" if mark else "blob"
        assert address.startswith(f"{repository}/{folder}/main/")
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


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_only_the_project_s_settings_have_placeholders():
    assert {line.partition(":")[0] for line in release_check.placeholders()} <= {"pyproject.toml"}


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
