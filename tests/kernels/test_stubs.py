"""The stubs describe the kernels that are there."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import sktopic._kernels

FOLDER = Path(sktopic._kernels.__file__).parent
PREFIX = "sktopic._kernels."
KERNELS = sorted(
    module.name.removeprefix(PREFIX)
    for module in pkgutil.walk_packages([str(FOLDER)], PREFIX)
    if not module.ispkg and module.name.removeprefix(PREFIX) not in ("_cyutility", "_groups")
)


def parameters(stub):
    names = [argument.arg for argument in stub.args.args]
    return names + ["*" + stub.args.vararg.arg] if stub.args.vararg else names


@pytest.mark.parametrize("name", KERNELS)
def test_stub_has_the_functions_and_parameters_of_its_kernel(name):
    stub = FOLDER.joinpath(*name.split(".")).with_suffix(".pyi")
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    stubs = {node.name: parameters(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    module = importlib.import_module(PREFIX + name)
    kernels = {
        key: [str(p).partition("=")[0] for p in inspect.signature(value).parameters.values()]
        for key, value in vars(module).items()
        if type(value).__name__ in ("cython_function_or_method", "fused_cython_function", "builtin_function")
    }
    assert kernels == stubs
