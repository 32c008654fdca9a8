"""What an import brings, and when."""

import os
import subprocess
import sys
import sysconfig

import pytest

import sktopic

ONE_BY_ONE = """
import os, sys, traceback
import sklearn.decomposition, sklearn.pipeline, sklearn.model_selection, scipy.stats, sktopic

for name in sktopic._MODULES:
    assert f"sktopic.{name}" not in sys.modules and name in dir(sktopic), name
    child = os.fork()
    if not child:
        try:
            assert getattr(sktopic, name).__name__ == f"sktopic.{name}"
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0, name
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_each_module_is_imported_when_it_is_asked_for_and_can_be_the_first():
    """In forks of a process that has imported the libraries that they need, which takes most of the time."""
    subprocess.run([sys.executable, "-c", ONE_BY_ONE], check=True)


@pytest.mark.slow
def test_import_takes_little_longer_than_that_of_scikit_learn():
    """It brings no package but those that scikit-learn needs anyway, and of its own modules not many.

    They take some 0.15 s, a tenth of what scikit-learn takes. Seconds depend on what else a machine does.
    """
    program = (
        "import sys, sklearn.decomposition, sklearn.pipeline; before = {*sys.modules}; "
        "import sktopic._loading; print(*({*sys.modules} - before))"
    )
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    brought = run.stdout.split()
    assert sum(name.split(".")[0] == "sktopic" for name in brought) < 190
    packages = {name.split(".")[0] for name in brought if not name.startswith("_cy")}
    needed = {"sktopic", "sklearn", "scipy", "numpy", "joblib", "threadpoolctl"}
    assert packages - sys.stdlib_module_names <= needed


def test_names_are_there():
    for name in sktopic.__all__:
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


@pytest.mark.slow
def test_all_works_where_python_removes_docstrings():
    """But for the corpus of docstrings, which says so instead of being smaller."""
    program = [sys.executable, "-OO", "-c", WITHOUT_DOCSTRINGS]
    run = subprocess.run(program, check=True, capture_output=True, text=True)
    assert "-OO or PYTHONOPTIMIZE=2" in run.stdout


def test_names_that_are_not_there_are_no_attributes():
    with pytest.raises(AttributeError, match="module 'sktopic' has no attribute 'metric'"):
        _ = sktopic.metric
