"""Who may import whom: doc/architecture.md shows it as a picture."""

import ast
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import sktopic

ROOT = Path(sktopic.__file__).parent
# From the lowest to the highest: a module imports from its own layer, and from those before it.
LAYERS = [
    {"_kernels"},
    {
        "_array_archive",
        "_block_order",
        "_compat",
        "_concurrency",
        "_exact_sum",
        "_files",
        "_fitted_arrays",
        "_interrupt",
        "_lane_schedule",
        "_monitor",
        "_optional",
        "_parallel",
        "_progress",
        "_result_blocks",
        "_result_file",
        "_surrogates",
        "_topic_names",
        "exceptions",
    },
    {
        "_arrays",
        "_completion",
        "_constraints",
        "_corpus",
        "_corpus_writer",
        "_document_sources",
        "_documents",
        "_input_messages",
        "_model_files",
        "_prior",
        "_sample_weight",
        "_statistics",
        "_step_size",
        "_token_counts",
        "_topic_word_prior",
        "_topics",
        "_typing",
        "_vocabulary",
    },
    {"_document_steps"},
    {"_base", "_editing", "_statistics_updates", "_topic_posteriors"},
    {"_batch_sampler", "_lanes", "_minibatch", "_plug_in", "distributed", "features"},
    {"datasets", "hdp", "inspection", "lda", "metrics", "moment_matching", "seeding"},
    {"_loading", "dask", "model_selection"},
]
FAMILIES = LAYERS[-2]


def layer_of(name):
    return next(i for i, layer in enumerate(LAYERS) if name in layer)


def imports(path):
    """Parts of the package that a module imports from."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sktopic."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (name.name.split(".")[1] for name in node.names if name.name.startswith("sktopic."))


def test_modules_import_from_their_layer_and_those_below():
    found = []
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).with_suffix("").parts[0]
        if name == "__init__":
            continue
        for imported in imports(path):
            if layer_of(imported) > layer_of(name):
                found.append(f"{name} imports {imported}")
            if (
                {name, imported} <= FAMILIES
                and name != imported
                and (name, imported) != ("inspection", "metrics")
            ):
                found.append(f"{name} imports {imported}: of two families")
    assert not found


@pytest.mark.parametrize("name", sktopic._MODULES)
def test_modules_are_imported_when_they_are_asked_for(name):
    program = (
        f"import sys, sktopic; assert 'sktopic.{name}' not in sys.modules; assert '{name}' in dir(sktopic); "
        f"assert sktopic.{name}.__name__ == 'sktopic.{name}'"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_import_takes_little_longer_than_that_of_scikit_learn():
    """It brings no package but those that scikit-learn needs anyway, and of its own modules not many.

    They take some 0.13 s, a twelfth of what scikit-learn takes. Seconds depend on what else a machine does.
    """
    program = (
        "import sys, sklearn.decomposition, sklearn.pipeline; before = {*sys.modules}; "
        "import sktopic._loading; print(*({*sys.modules} - before))"
    )
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    brought = run.stdout.split()
    assert sum(name.split(".")[0] == "sktopic" for name in brought) < 170
    packages = {name.split(".")[0] for name in brought if not name.startswith("_cy")}
    needed = {"sktopic", "sklearn", "scipy", "numpy", "joblib", "threadpoolctl"}
    assert packages - sys.stdlib_module_names <= needed


@pytest.mark.parametrize("name", sktopic.__all__)
def test_names_are_there(name):
    assert getattr(sktopic, name).__name__ == (f"sktopic.{name}" if name in sktopic._MODULES else name)


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter has the GIL")
def test_importing_leaves_the_interpreter_without_the_gil():
    program = (
        "import sys, sktopic; [getattr(sktopic, name) for name in sktopic.__all__]; "
        "assert not sys._is_gil_enabled()"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


WITHOUT_DOCSTRINGS = """
import numpy as np, sktopic
from sktopic.datasets import load_docstrings

assert False, "-OO removes assertions, too"
X = np.random.default_rng(0).poisson(1.0, (12, 7))
for name in sktopic.__all__:
    estimator = getattr(sktopic, name)
    if hasattr(estimator, "partial_fit"):
        model = estimator(n_components=2).fit(X).partial_fit(X)
        answers = model.score(X), *model.transform(X).flat
        if not (np.isfinite(answers).all() and model._repr_html_()):
            raise SystemExit(name)
try:
    load_docstrings()
except RuntimeError as error:
    print(error)
"""


def test_all_works_where_python_removes_docstrings():
    """But for the corpus of docstrings, which says so instead of being smaller."""
    program = [sys.executable, "-OO", "-c", WITHOUT_DOCSTRINGS]
    run = subprocess.run(program, check=True, capture_output=True, text=True)
    assert "-OO or PYTHONOPTIMIZE=2" in run.stdout


def test_names_that_are_not_there_are_no_attributes():
    with pytest.raises(AttributeError, match="module 'sktopic' has no attribute 'metric'"):
        _ = sktopic.metric
