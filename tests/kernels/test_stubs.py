"""The stubs describe the kernels that are there."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import sktopic._kernels

FOLDER = Path(sktopic._kernels.__file__).parent
KERNELS = sorted({module.name for module in pkgutil.iter_modules([str(FOLDER)])} - {"_cyutility", "_groups"})


def parameters(stub):
    names = [argument.arg for argument in stub.args.args]
    return names + ["*" + stub.args.vararg.arg] if stub.args.vararg else names


@pytest.mark.parametrize("name", KERNELS)
def test_stub_has_the_functions_and_parameters_of_its_kernel(name):
    tree = ast.parse((FOLDER / f"{name}.pyi").read_text(encoding="utf-8"))
    stubs = {node.name: parameters(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    module = importlib.import_module(f"sktopic._kernels.{name}")
    kernels = {
        key: [str(p).partition("=")[0] for p in inspect.signature(value).parameters.values()]
        for key, value in vars(module).items()
        if type(value).__name__ in ("cython_function_or_method", "fused_cython_function", "builtin_function")
    }
    assert kernels == stubs
