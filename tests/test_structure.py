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
    *("coherence", "document_completion", "explore", "left_to_right", "make_hdp_documents"),
    *("make_lda_documents", "posterior_predictive_check", "relative_score", "topic_number_curve"),
}


def test_chains_of_classes_are_short():
    for estimator in CLASSES.values():
        # What stands for a class of newer versions of scikit-learn is none of ours.
        found = [each for each in inspect.getmro(estimator) if each.__module__ != "sktopic._runtime._compat"]
        chain = [each.__name__ for each in found if each.__module__.startswith("sktopic")]
        assert len(chain) <= LONGEST_CHAIN, chain


def n_arguments(function):
    given = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    return len([each for each in given if each.arg not in ("self", "cls")])


def n_lines(node):
    """Lines of a class without docstrings."""
    parts = [each for each in ast.walk(node) if isinstance(each, (ast.ClassDef, ast.FunctionDef))]
    documented = [len((ast.get_docstring(each, clean=False) or "").splitlines()) for each in parts]
    return node.end_lineno - node.lineno - sum(documented)


@pytest.mark.slow
def test_few_arguments_short_classes_and_nothing_behind_attributes():
    """In all functions, classes and calls of the package."""
    wide, long, behind, options = {}, {}, set(), set()
    for path in [path for suffix in ("py", "pyi") for path in PACKAGE.rglob(f"*.{suffix}")]:
        file = path.relative_to(PACKAGE).as_posix()
        most = MOST_KERNEL_ARGUMENTS if file.endswith(".pyi") else MOST_ARGUMENTS
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.FunctionDef() if node.name != "__init__" and n_arguments(node) > most:
                    if node.name in OPTIONS_OF_USERS:
                        options.add(node.name)
                    else:
                        wide[f"{file} {node.name}"] = n_arguments(node)
                case ast.ClassDef():
                    if n_lines(node) > LONGER.get(node.name, LONGEST_CLASS):
                        long[f"{file} {node.name}"] = n_lines(node)
                case ast.Call() if ast.unparse(node.func) in ("vars", "object.__new__"):
                    behind.add(file)
    assert (wide, long) == ({}, {})
    assert (behind, options) == (BEHIND_ATTRIBUTES, OPTIONS_OF_USERS)


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
