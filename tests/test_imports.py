"""What an import brings, and when."""

import json
import os
import subprocess
import sys
import sysconfig

import pytest

import sktopic

# Each call runs in a fork of a process that has imported the libraries, which takes most of the time, and
# nothing of the package. Its modules are compiled as by -OO, and once.
PROGRAM = """
import json, multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path

import sklearn.decomposition, sklearn.pipeline

compiled = cache(lambda path: compile(Path(path).read_bytes(), path, "exec", dont_inherit=True, optimize=2))
SourceFileLoader.get_code = lambda loader, name: compiled(loader.path)
MODULES = sys.argv[2:]
X = [[200, 0, 100], [0, 300, 100], [100, 100, 0]]

def brought():
    before = {*sys.modules}
    import sktopic._loading
    return sorted({*sys.modules} - before)

def is_first(name):
    import sktopic
    return (
        f"sktopic.{name}" not in sys.modules
        and name in dir(sktopic)
        and getattr(sktopic, name).__name__ == f"sktopic.{name}"
    )

def in_threads():
    def read(name):
        module = import_module(name)
        return [getattr(module, public) for public in module.__all__]

    def fit(_):
        import sktopic
        return sktopic.OnlineEMLDA(2, n_jobs=2, random_state=0).fit(X).transform(X).tobytes()

    names = 2 * ["sktopic", *(f"sktopic.{name}" for name in MODULES)]
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(read, names))
        return len(set(pool.map(fit, range(4))))

def without_docstrings():
    from sktopic._loading import CLASSES
    from sktopic.datasets import load_docstrings
    wrong = []
    for name, estimator in CLASSES.items():
        model = estimator(n_components=2)
        if "max_iter" in model.get_params():
            model.set_params(max_iter=2)
        answers = model.fit(X).partial_fit(X).score(X), *model.transform(X).flat
        if estimator.__doc__ or not (np.isfinite(answers).all() and model._repr_html_()):
            wrong.append(name)
    try:
        load_docstrings()
    except RuntimeError as error:
        return wrong, str(error)

def with_and_without_bars():
    multiprocessing.set_start_method(None, force=True)
    import sktopic
    model = sktopic.OnlineEMLDA(2, max_iter=2).fit(X)
    model.transform(X)
    without = "tqdm" in sys.modules
    model.set_params(verbose=1).fit(X)
    multiprocessing.set_start_method("spawn")  # which nobody else has set
    return without, "tqdm" in sys.modules

def in_fork(function, *arguments):
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return pool.submit(function, *arguments).result()

for path in Path(find_spec("sktopic").origin).parent.rglob("*.py"):
    compiled(str(path))
found = {"brought": in_fork(brought)}
import numpy as np, pandas, scipy.sparse.linalg, scipy.special, scipy.stats, sklearn.model_selection
found["is first"] = {name: in_fork(is_first, name) for name in MODULES}
found["in threads"] = [in_fork(in_threads) for _ in range(int(sys.argv[1]))]
found["without docstrings"] = in_fork(without_docstrings)
found["tqdm"] = in_fork(with_and_without_bars)
print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_imports_in_processes_of_their_own():
    n_times = min(100, max(1, int(os.environ.get("SKTOPIC_HOSTILE_CASES", "1000")) // 1000))
    program = [sys.executable, "-c", PROGRAM, str(n_times), *sktopic._MODULES]
    run = subprocess.run(program, check=True, stdout=subprocess.PIPE, text=True, timeout=600)
    found = json.loads(run.stdout)
    # Each module is imported when it is asked for, and can be the first.
    assert found["is first"] == dict.fromkeys(sktopic._MODULES, True)
    # First imports and fits may be in threads.
    assert set(found["in threads"]) == {1}
    # Of its own modules not many: they take some 0.15 s, a tenth of what scikit-learn takes.
    assert sum(name.split(".")[0] == "sktopic" for name in found["brought"]) < 200
    packages = {name.split(".")[0] for name in found["brought"] if not name.startswith("_cy")}
    needed = {"sktopic", "sklearn", "scipy", "numpy", "joblib", "threadpoolctl"}
    assert packages - sys.stdlib_module_names <= needed, "packages that scikit-learn does not need"
    # All works where Python removes docstrings, but the corpus of docstrings, which says so.
    wrong, message = found["without docstrings"]
    assert not wrong
    assert "-OO or PYTHONOPTIMIZE=2" in message
    assert found["tqdm"] == [False, True], "tqdm is imported for a bar alone"


def test_names_are_there_and_others_are_no_attributes():
    for name in sktopic.__all__:
        assert getattr(sktopic, name).__name__ == (f"sktopic.{name}" if name in sktopic._MODULES else name)
    with pytest.raises(AttributeError, match="module 'sktopic' has no attribute 'metric'"):
        _ = sktopic.metric


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter has the GIL")
def test_importing_leaves_the_interpreter_without_the_gil():
    program = (
        "import sys, sktopic; [getattr(sktopic, name) for name in sktopic.__all__]; "
        "assert not sys._is_gil_enabled()"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
