"""What is said in more than one place, about versions, systems and dependencies, agrees.

``make release-check`` asks for what has to be true at a release only.
"""

import re
import tomllib
import zipfile
from importlib import metadata

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


def test_version_and_date_are_the_same_everywhere():
    assert SETTINGS["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "sktopic.__version__"}
    assert metadata.version("sktopic") == sktopic.__version__, "the package has to be installed again"
    assert release_check.version() == sktopic.__version__
    assert re.findall(r"^version: (\S+)$", CITATION, re.M) == [sktopic.__version__]
    assert re.findall(r'^  version: "(\S+)"$', RECIPE, re.M) == [sktopic.__version__]
    date = release_check.dated()
    assert re.findall(r'^date-released: "(\S+)"$', CITATION, re.M) == ([date] if date else [])


def test_pythons_are_the_same_everywhere():
    oldest = supported()[0]
    assert PROJECT["requires-python"] == f">={oldest}"
    assert f'match(python, "<{oldest}")' in RECIPE
    assert SETTINGS["tool"]["ruff"]["target-version"] == "py" + oldest.replace(".", "")
    for matrix in re.findall(r"^ +python: \[(.+)\]$", WORKFLOWS["tests.yml"], re.M):
        assert re.findall(r"[\d.]+", matrix) == supported()
    assert f'python-version: "{oldest}"\n      - run: bash .ci/run' in WORKFLOWS["tests.yml"]
    wheels = re.fullmatch(r"cp\{(.+)\}-\*", SETTINGS["tool"]["cibuildwheel"]["build"])[1]
    with_gil = [version for version in wheels.split(",") if not version.endswith("t")]
    assert with_gil == [version.replace(".", "") for version in supported()]


def test_requirements_are_the_same_everywhere():
    """Those of the recipe are those of the package, and wheels are tested with what the tests ask for."""
    assert section("run") == bounds(PROJECT["dependencies"])
    assert section("host") == bounds(SETTINGS["build-system"]["requires"])
    settings = SETTINGS["tool"]["cibuildwheel"]
    asked = {*settings["test-requires"], *settings["pyodide"]["test-requires"]}
    assert asked <= {*PROJECT["optional-dependencies"]["test"]}


def test_tests_named_outside_python_exist():
    files = [ROOT / "Makefile", ROOT / "pyproject.toml", *ROOT.glob(".ci/*"), *ROOT.glob(".github/**/*")]
    text = "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
    for name in {*re.findall(r"\b(?:doc/)?tests/\w[\w/*]*(?:\.(?:py|c)(?:::\w+)?)?", text)}:
        path, _, test = name.partition("::")
        found = [*ROOT.glob(path)]
        assert found and (not test or f"def {test}(" in found[0].read_text(encoding="utf-8")), name


REPOSITORY = "https://github.com/someone/sktopic"


def test_a_release_without_an_address_or_of_another_tag_is_refused(monkeypatch):
    monkeypatch.setattr(release_check, "git", lambda *arguments: [])
    monkeypatch.setenv("GITHUB_REF_TYPE", "tag")
    counts, version = [], sktopic.__version__
    for address, tag in [("", version), (REPOSITORY[:-8], version), (REPOSITORY, version), (REPOSITORY, "0")]:
        monkeypatch.setattr(release_check, "repository", lambda address=address: address)
        monkeypatch.setenv("GITHUB_REF_NAME", f"v{tag}")
        found = [*release_check.faults()]
        counts.append((len(found), sum("repository = " in fault for fault in found)))
    most = counts[2][0]
    assert counts == [(most + 1, 1), (most + 1, 1), (most, 0), (most + 1, 0)]


def test_no_job_runs_without_limits():
    """What zizmor does not ask for (`make lint`): a time limit, and one version of each action."""
    for name, workflow in WORKFLOWS.items():
        jobs = workflow.partition("\njobs:\n")[2]
        assert jobs.count("runs-on:") == jobs.count("timeout-minutes:"), name
    found = {*re.findall(r"uses: ([\w/-]+)@(\S+ # v\d+\.\d+\.\d+)$", "".join(WORKFLOWS.values()), re.M)}
    assert found and len(found) == len({name for name, _ in found})


def in_checkout(pattern, suffixes, folder=""):
    paths = (path for path in ROOT.glob(pattern) if path.suffix in suffixes)
    return [folder + path.relative_to(ROOT).as_posix() for path in paths]


def test_what_lacks_or_has_something_is_refused():
    """A wheel, and a source distribution; the first of their files and each of some others makes a fault."""
    wheel = [name.replace(".pyx", ".so") for name in in_checkout("sktopic/_kernels/**/*", {".pyx"})]
    wheel += ["sktopic/__init__.py", "sktopic-0.dist-info/METADATA", "sktopic/_kernels/_cyutility.so"]
    of_wheel = "tests/test_topics.py", "sktopic/_kernels/threads/_team.h", "sktopic/_kernels/_old.so"
    source = in_checkout("sktopic/**/*", check_dist.SOURCES, "sktopic-0/")
    source += in_checkout("tests/**/*", {".py"}, "sktopic-0/")
    of_source = "sktopic-0/doc/guide/lda.rst", "sktopic-0/sktopic/_kernels/threads/_team.c"
    for faults, whole, others in (
        (check_dist.faults_of_wheel, wheel, of_wheel),
        (check_dist.faults_of_source, source, of_source),
    ):
        assert not [*faults(whole)]
        for names in (whole[1:], *([*whole, more] for more in others)):
            assert len([*faults(names)]) == 1


def test_files_are_refused_if_they_are_too_large_or_none(tmp_path, monkeypatch):
    large = tmp_path / "sktopic-0.whl"
    with zipfile.ZipFile(large, "w") as file:
        file.writestr("sktopic/__init__.py", bytes(check_dist.MOST))
    assert f"{large.stat().st_size} bytes, at most {check_dist.MOST} are allowed" in check_dist.faults(large)
    assert large.name in check_dist.refusal([large])
    assert check_dist.refusal([])
    monkeypatch.setattr(check_dist, "faults", lambda path: iter(()))
    assert check_dist.refusal([large]) is None
