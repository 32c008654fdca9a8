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
    pytest.skip("the tests run without the repository", allow_module_level=True)
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
RECIPE = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
WORKFLOWS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").iterdir()}


release_check, check_dist = (
    module_at(ROOT / ".ci" / f"{name}.py") for name in ("release_check", "check_dist")
)
addresses = release_check.addresses


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
    systems = re.search(r"^ +system: .+\n +python: \[(.+)\]$", WORKFLOWS["nightly.yml"], re.M)[1]
    wheels = re.fullmatch(r"cp\{(.+)\}-\*", SETTINGS["tool"]["cibuildwheel"]["build"])[1]
    makefile = re.search(r"^VERSIONS := (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[1]
    tested = re.findall(r"[\d.]+t?", systems)
    assert tested == makefile.split() == [f"3.{version[1:]}" for version in wheels.split(",")]
    assert [version for version in tested if not version.endswith("t")] == supported()
    assert f'python-version: "{oldest}"' in WORKFLOWS["gate.yml"]
    assert f'python-version: "{supported()[-1]}"' in WORKFLOWS["tests.yml"]


def test_pages_state_the_versions_that_are_needed():
    oldest, newest = supported()[0], supported()[-1]
    needed = bounds(PROJECT["dependencies"])
    stated = " ".join((ROOT / "doc" / "project.rst").read_text(encoding="utf-8").split())
    assert (
        f"needs Python {oldest}, NumPy {needed['numpy']}, SciPy {needed['scipy']} and scikit-learn "
        f"{needed['scikit-learn']}, or later."
    ) in stated
    for page in ("README.md", "doc/llms.md", "doc/getting_started.rst", "doc/guide/platforms.rst"):
        assert f"Python {oldest} to {newest}" in (ROOT / page).read_text(encoding="utf-8"), page


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


# Those of the project once it has some: its texts then have no placeholders any more.
SOME = "https://github.com/someone/topics", "someone@somewhere.org"
REPOSITORY, EMAIL = (own or some for own, some in zip(addresses.repository_and_email(), SOME))


def test_a_release_of_another_tag_or_without_addresses_is_refused(monkeypatch):
    monkeypatch.setattr(release_check, "git", lambda *arguments: [])
    monkeypatch.setattr(addresses, "faults", lambda *given: iter(["no address"]))
    monkeypatch.setenv("GITHUB_REF_TYPE", "tag")
    found = []
    for tag in (sktopic.__version__, "0"):
        monkeypatch.setenv("GITHUB_REF_NAME", f"v{tag}")
        found.append([*release_check.faults()])
    assert found[0][0] == "no address"
    assert len(found[1]) == len(found[0]) + 1


def test_placeholders_of_addresses_are_filled_and_found(tmp_path, monkeypatch):
    for name in addresses.TEXTS:
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(addresses, "ROOT", tmp_path)
    settings = '[project]\nauthors = [{{ name = "N", email = "{}" }}]\n[tool.sktopic]\nrepository = "{}"\n'
    for email, repository in ((EMAIL, REPOSITORY), ("", "")):
        (tmp_path / "pyproject.toml").write_text(settings.format(email, repository))
        assert addresses.repository_and_email() == (repository, email)
    with_placeholders = [*addresses.faults(REPOSITORY, EMAIL)]
    for repository, email, word in (
        ("", EMAIL, "repository = "),
        (REPOSITORY.rpartition("/")[0], EMAIL, "repository = "),
        (REPOSITORY, "", "email = "),
        (REPOSITORY, addresses.EMAIL, "email = "),
        (REPOSITORY, "someone", "email = "),
    ):
        first, *others = addresses.faults(repository, email)
        assert first.startswith(word) and others == with_placeholders
    for path in map(tmp_path.joinpath, addresses.TEXTS):
        path.write_text(
            addresses.filled(path.read_text(encoding="utf-8"), REPOSITORY, EMAIL), encoding="utf-8"
        )
    assert not [*addresses.faults(REPOSITORY, EMAIL)]
    security = (tmp_path / "SECURITY.md").read_text(encoding="utf-8")
    owner, name = REPOSITORY.split("/")[-2:]
    assert EMAIL in security and f"--repository {REPOSITORY} " in security and f"--owner {owner}`" in security
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert f"(https://{owner}.github.io/{name}/tutorial.html)" in readme


def test_no_job_runs_without_limits():
    """What zizmor does not ask for (`make lint`): a time limit, and one version of each action."""
    for name, workflow in WORKFLOWS.items():
        jobs = workflow.partition("\njobs:\n")[2]
        assert jobs.count("runs-on:") == jobs.count("timeout-minutes:"), name
    found = {*re.findall(r"uses: ([\w/-]+)@(\S+ # v\d+\.\d+\.\d+)$", "".join(WORKFLOWS.values()), re.M)}
    assert found and len(found) == len({name for name, _ in found})


def test_what_lacks_or_has_something_is_refused():
    """A wheel, and a source distribution; one file less and each of some others makes a fault."""
    source = [f"sktopic-0/{name}" for name in (*check_dist.in_checkout(), "setup.py")]
    wheel = [name.partition("/")[2].replace(".pyx", ".so") for name in source if name.endswith(".pyx")]
    wheel += ["sktopic/__init__.py", "sktopic-0.dist-info/METADATA", "sktopic/_kernels/_cyutility.so"]
    of_wheel = "tests/test_topics.py", "sktopic/_kernels/threads/_team.h", "sktopic/_kernels/_old.so"
    of_source = "doc/_build/index.html", "sktopic/_kernels/threads/_team.c", "demo/topics.svg"
    for faults, whole, others in (
        (check_dist.faults_of_wheel, wheel, of_wheel),
        (check_dist.faults_of_source, source, [f"sktopic-0/{name}" for name in of_source]),
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
