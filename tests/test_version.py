"""The version is written in sktopic/__init__.py, and everything else reads it there."""

import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import sktopic

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def test_the_project_reads_the_version_of_the_package():
    settings = tomllib.loads(PROJECT.read_text())
    assert "version" in settings["project"]["dynamic"]
    assert settings["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "sktopic.__version__"}


def test_the_installed_version_is_that_of_the_package():
    try:
        installed = metadata.version("sktopic")
    except metadata.PackageNotFoundError:
        pytest.skip("sktopic is not installed")
    assert installed == sktopic.__version__, "the package has to be installed again"
