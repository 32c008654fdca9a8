"""Fixtures and helpers shared by the tests, and the marker for tests that need real corpora."""

import hashlib
import importlib
import os
import pickle
import re
import signal
import sys
import threading
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn import config_context, get_config, set_config
from sklearn.base import clone
from sklearn.utils import Bunch

from sktopic._documents._matrices import DocumentReader
from sktopic._kernels.random._rng import position_keys
from sktopic._state._fields import State, arrays_of, sizes_of, values_of
from sktopic._training._minibatches import Update

try:
    import fcntl
except ImportError:  # Windows, where tests wait for each other nowhere
    fcntl = None

VARIABLE = "SKTOPIC_DATA"
# What a contributor does not run after every change
NOT_CORE = {"data", "law", "slow"}
NOT_CORE_FILES = ("hostile/", "test_explorer_browser.py", "test_release.py")


@pytest.hookimpl(tryfirst=True)  # before "-m" is read
def pytest_collection_modifyitems(items):
    """Mark tests as ``core``; skip those marked ``data`` unless the variable names a folder."""
    for item in items:
        fast = not NOT_CORE & set(item.keywords) and not any(name in item.nodeid for name in NOT_CORE_FILES)
        if fast and not isinstance(item, pytest.DoctestItem):
            item.add_marker("core")
    if os.environ.get(VARIABLE):
        return
    skip = pytest.mark.skip(reason=f"{VARIABLE} is not set")
    for item in items:
        if "data" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="module")
def script():
    """Returns the module of a script of the benchmarks, or of what scripts share."""
    folder = str(Path(__file__).parent.parent / "benchmarks")
    sys.path.insert(0, folder)
    yield importlib.import_module
    sys.path.remove(folder)


@pytest.fixture(scope="session")
def load_corpus():
    """Return the loader of a corpus by its name: the file NAME.npz in the folder named by SKTOPIC_DATA.

    The file holds the CSR arrays ``data``, ``indices``, ``indptr`` and ``shape``, the words ``vocab``, and
    ``is_test``, 1 for the documents to test on. The loader returns train, test and vocab.
    """

    @cache
    def load(name):
        path = Path(os.environ[VARIABLE], f"{name}.npz")
        if not path.is_file():
            pytest.skip(f"{path.name} is not in the folder named by {VARIABLE}")
        with np.load(path, allow_pickle=False) as arrays:
            parts = arrays["data"], arrays["indices"].astype(np.int32), arrays["indptr"]
            counts = sp.csr_array(parts, shape=tuple(arrays["shape"].tolist()))
            is_test = arrays["is_test"] != 0
            return Bunch(train=counts[~is_test], test=counts[is_test], vocab=arrays["vocab"])

    return load


def pytest_configure():
    """The environment variable SKTOPIC_SPARSE_INTERFACE is what scikit-learn (1.9 and later) is to return.

    A process that a script starts in the background ignores Ctrl-C, which some tests send.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    interface = os.environ.get("SKTOPIC_SPARSE_INTERFACE")
    if interface and "sparse_interface" in get_config():
        set_config(sparse_interface=interface)


@pytest.fixture(params=["spmatrix", "sparray"])
def sparse_interface(request):
    """Run the test with each class that scikit-learn may be configured to return (1.9 and later)."""
    if "sparse_interface" in get_config():
        with config_context(sparse_interface=request.param):
            yield request.param
    elif request.param == "spmatrix":
        yield request.param
    else:
        pytest.skip("this scikit-learn returns matrices")


@pytest.fixture
def alone(tmp_path_factory):
    """Run tests that kill, fork or start processes one at a time, also in several workers.

    Otherwise they may time out under load.
    """
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with open(folder / "alone.lock", "w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)  # which closing the file gives back
        yield


@pytest.fixture
def plt():
    """pyplot without windows, whose figures are closed."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture
def independent_copies(monkeypatch):
    """Let copies of a document in a batch draw independently, as documents do."""
    monkeypatch.setattr(
        DocumentReader, "keys", lambda reader, batch, key: position_keys(key, 0, batch.n_documents)
    )


def state(model):
    """A copy of all that an estimator keeps."""
    return pickle.loads(pickle.dumps(all_attributes(model)))


def quick(estimator, **parameters):
    """A clone that makes three passes or sweeps, with the given parameters as far as it has them."""
    parameters = {"max_iter": 3, **parameters}
    return clone(estimator).set_params(**{k: v for k, v in parameters.items() if k in estimator.get_params()})


def next_update(model, total_samples):
    """The update that partial_fit would make next, by a sample of a corpus of total_samples documents."""
    return Update(
        number=model.n_batch_iter_,
        is_first_visit=True,
        is_whole_corpus=False,
        total_samples=total_samples,
    )


def words_of(model):
    """The WordCounts of a model."""
    return model._state.words


def assert_same_state(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert_same(one[name], other[name], name)


def assert_same(one, other, name=""):
    """As assert_array_equal, which takes a NaN in a structured array for another than itself."""
    fields = getattr(getattr(one, "dtype", None), "names", None)
    if fields is None:
        assert_array_equal(one, other, err_msg=name)
        return
    assert one.dtype == other.dtype
    for field in fields:
        assert_array_equal(one[field], other[field], err_msg=f"{name} {field}")


def all_attributes(model):
    """Attributes of a model by name, those of its states as "state.field"."""
    found = {}
    for name, value in vars(model).items():
        if isinstance(value, State):
            fields = arrays_of(value) | values_of(value) | sizes_of(value)
            found |= {f"{name}.{field}": each for field, each in fields.items()}
        else:
            found[name] = value
    return found


def set_attribute(model, name, value):
    """Set one of all_attributes, past the check of assignments in TopicModel.__setattr__."""
    attribute, _, field = name.partition(".")
    vars(model)[attribute] = _with_field(vars(model)[attribute], field, value) if field else value


def _with_field(state, field, value):
    own, _, inner = field.partition(".")
    return replace(state, **{own: _with_field(getattr(state, own), inner, value) if inner else value})


def delete_attribute(model, name):
    """Delete one of all_attributes; of a field of a state, the value."""
    if "." in name:
        set_attribute(model, name, None)
    else:
        delattr(model, name)


def fingerprint(value):
    """A hash of an array, a matrix, a container of them or any other value: equal for equal bits."""
    digest = hashlib.blake2b(digest_size=12)
    _enter(value, digest.update)
    return digest.hexdigest()


def _enter(value, update):
    if isinstance(value, np.ndarray) and value.dtype != object:
        update(f"{value.dtype}{value.shape}".encode())
        update(np.ascontiguousarray(value).tobytes())
    elif sp.issparse(value):
        entries = value.tocoo()  # in their order
        update(f"{type(value).__name__}{value.shape}".encode())
        _enter([entries.row, entries.col, entries.data], update)
    elif isinstance(value, np.random.RandomState):
        _enter(value.get_state(), update)
    elif isinstance(value, State):
        _enter({field.name: getattr(value, field.name) for field in fields(value)}, update)
    elif isinstance(value, dict):
        for name in sorted(value):
            update(name.encode())
            _enter(value[name], update)
    elif isinstance(value, (list, tuple)):
        update(f"{type(value).__name__}{len(value)}".encode())
        for item in value:
            _enter(item, update)
    elif isinstance(value, (str, int, float, complex, bytes, np.generic, type(None))):
        update(f"{type(value).__name__}{value!r}".encode())
    else:
        update(pickle.dumps(value))


def fitted_state(model):
    """What training has set: all that is not a parameter."""
    parameters = model.get_params(deep=False)
    return {name: value for name, value in all_attributes(model).items() if name not in parameters}


def outcome(function, *arguments):
    """The result, and the exception instead of it if there is one."""
    try:
        return function(*arguments), None
    except Exception as error:
        return None, error


def assert_raises(error, message, function, *arguments, case="", **options):
    """As pytest.raises, for the rows of a table: a failure shows the case and the expected message."""
    caught = outcome(lambda: function(*arguments, **options))[1]
    is_right = isinstance(caught, error) and re.search(message, str(caught))
    assert is_right, f"{case} not {message!r}, but {caught!r}"


def press_ctrl_c():
    """From whatever thread: the main thread has it when this returns."""
    if os.name == "nt":  # where no thread can be chosen
        signal.raise_signal(signal.SIGINT)
    else:  # os.kill may leave it to a thread that the system runs much later
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
