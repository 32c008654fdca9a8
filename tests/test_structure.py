"""What keeps the package readable: short chains of classes, few arguments, no state behind attributes.

That folders import from those below them alone is checked by import-linter (`make lint`).
"""

import ast
import inspect
import re
from pathlib import Path

import pytest

import sktopic

from .registry import CLASSES

PACKAGE = Path(sktopic.__file__).parent
# Classes of ours, from an estimator on: itself, its family, its kind, TopicModel.
LONGEST_CHAIN = 4
MOST_ARGUMENTS, MOST_KERNEL_ARGUMENTS = 7, 10
LONGEST_CLASS = 250  # lines without docstrings
LONGER = {"TopicModel": 290}  # what all estimators answer
# Folders of kernels, each on those before it, and folders on all of these.
KERNEL_LAYERS = ("threads", "numbers", "random", "documents", "topics", "inference")
KERNEL_FAMILIES = ("lda", "hdp", "moments")
USED_BY_KERNEL = re.compile(r'(?:from sktopic\._kernels\.|(?:#include|extern from) "(?=\w+/))([a-z]\w*)')
# Modules that go behind attributes, by vars() and object.__new__: let there be fewer, not more.
BEHIND_ATTRIBUTES = {"_runtime/_attributes.py"}
# Public functions, whose options users name in calls.
OPTIONS_OF_USERS = {
    "coherence",
    "document_completion",
    "explore",
    "left_to_right",
    "make_hdp_documents",
    "make_lda_documents",
    "relative_score",
    "topic_number_curve",
}


def sources(suffix):
    """Syntax trees of the package by the names of files."""
    files = sorted(PACKAGE.rglob(f"*{suffix}"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in files}


def functions(suffix):
    for name, tree in sources(suffix).items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                given = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                yield name, node.name, [each.arg for each in given if each.arg not in ("self", "cls")]


@pytest.mark.parametrize("estimator", CLASSES.values(), ids=list(CLASSES))
def test_chains_of_classes_are_short(estimator):
    # What stands for a class of newer versions of scikit-learn is none of ours.
    found = [each for each in inspect.getmro(estimator) if each.__module__ != "sktopic._runtime._compat"]
    chain = [each.__name__ for each in found if each.__module__.startswith("sktopic")]
    assert len(chain) <= LONGEST_CHAIN, chain


@pytest.mark.slow
def test_functions_have_few_arguments():
    wide = {
        f"{file} {name}: {len(arguments)}"
        for file, name, arguments in functions(".py")
        if len(arguments) > MOST_ARGUMENTS and name != "__init__" and name not in OPTIONS_OF_USERS
    }
    assert not wide


def test_kernels_have_few_arguments():
    wide = {
        f"{file} {name}: {len(arguments)}"
        for file, name, arguments in functions(".pyi")
        if len(arguments) > MOST_KERNEL_ARGUMENTS
    }
    assert not wide


@pytest.mark.slow
def test_few_modules_go_behind_attributes():
    found = set()
    for name, tree in sources(".py").items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("vars", "object.__new__"):
                found.add(name)
    assert found <= BEHIND_ATTRIBUTES


@pytest.mark.slow
def test_classes_are_no_longer_than_a_reader_keeps_in_mind():
    long = {}
    for name, tree in sources(".py").items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                parts = [each for each in ast.walk(node) if isinstance(each, (ast.ClassDef, ast.FunctionDef))]
                documented = [
                    len((ast.get_docstring(each, clean=False) or "").splitlines()) for each in parts
                ]
                lines = node.end_lineno - node.lineno - sum(documented)
                if lines > LONGER.get(node.name, LONGEST_CLASS):
                    long[f"{name} {node.name}"] = lines
    assert not long


def test_kernels_use_those_of_lower_folders():
    kernels = PACKAGE / "_kernels"
    folders = {path.parent.name for path in kernels.glob("*/__init__.py")}
    assert folders == {*KERNEL_LAYERS, *KERNEL_FAMILIES}
    upward = []
    for path in sorted(kernels.glob("*/*")):
        if path.suffix in (".pyx", ".pxd", ".pyi", ".h"):
            folder = path.parent.name
            below = KERNEL_LAYERS[: KERNEL_LAYERS.index(folder)] if folder in KERNEL_LAYERS else KERNEL_LAYERS
            used = USED_BY_KERNEL.findall(path.read_text("utf-8"))
            upward += [f"{folder}/{path.name}: {each}" for each in used if each not in (folder, *below)]
    assert not upward
