"""What the hostile tests share: the estimators, processes of their own, and comparison of fitted state.

What may kill the interpreter runs in a child process, which says what it is about to do; so a crash is
reported with the case that made it, as a failed test and not as the end of the test run.
"""

import collections
import contextlib
import ctypes
import itertools
import math
import mmap
import multiprocessing
import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from sktopic.exceptions import CountsWarning, TopicLimitWarning
from tests import registry
from tests.conftest import fingerprint
from tests.registry import CLASSES

# All parts grow with it; each says by `share` how many cases it has of so many.
N_CASES = int(os.environ.get("SKTOPIC_HOSTILE_CASES", "1000"))
# Under AddressSanitizer all takes longer, and memory that was freed is held back.
WATCHED = "libasan" in os.environ.get("LD_PRELOAD", "")
# Bytes that reading a small file may take beyond what the process has. AddressSanitizer reserves TB.
SPARE_BYTES = 1 << 50 if WATCHED else 64 << 20
ESTIMATORS = list(CLASSES)
# What estimators do by other methods than those of their defaults, and learn besides.
VARIANTS = {
    f"{name}, {i}": params for name, each in registry.VARIANTS.items() for i, params in enumerate(each)
}
MODELS = [*ESTIMATORS, *(VARIANTS if N_CASES >= 10_000 else ())]
TRAINING_CALLS = [(name, method) for method in ("fit", "partial_fit") for name in MODELS]
# Parameters with which a fit takes milliseconds, as far as an estimator has them.
SMALL = registry.SMALL | {"n_components": 3, "batch_size": 4, "max_doc_update_iter": 5, "doc_n_components": 4}
SMALL |= {"transform_burn_in": 1, "transform_sweeps": 2, "doc_burn_in": 1, "doc_sweeps": 2}


def share(fraction, least=1):
    """That fraction of the number of cases, and at least a few."""
    return max(least, round(N_CASES * fraction))


def some(cases, n_cases, *columns):
    """So many of the cases at most, drawn at random; values of these columns come as often as each other."""
    drawn, turns = random.Random(0).sample(cases, len(cases)), collections.defaultdict(itertools.count)
    if columns:
        drawn.sort(key=lambda case: next(turns[str([case[column] for column in columns])]))
    return drawn[:n_cases]


def new(name, **params):
    """An estimator, or a variant of it, with small parameters and those given, as far as it has them."""
    estimator = CLASSES[name.partition(",")[0]]()
    wanted = {**SMALL, **VARIANTS.get(name, {}), **params}
    return estimator.set_params(**registry.having(estimator, **wanted))


def corpus(n_documents=12, n_features=7, seed=0):
    """Counts of a few tokens a word, dense."""
    return np.random.default_rng(seed).poisson(1.0, (n_documents, n_features)).astype(float)


@contextlib.contextmanager
def within(most_seconds, most_bytes=math.inf):
    """Fail if a block takes more time of the processor, or adds more bytes to the peak of memory."""
    started, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    seconds, most_seconds = time.process_time() - started, most_seconds * (5 if WATCHED else 1)
    assert seconds <= most_seconds, f"{seconds:.1f} s, at most {most_seconds:.1f}"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024
    assert WATCHED or grown <= most_bytes, f"{grown:.3g} bytes more, at most {most_bytes:.3g}"


@contextlib.contextmanager
def at_most(more):
    """Refuse to grow the address space by more bytes than given."""
    with open("/proc/self/statm") as file:
        in_use = int(file.read().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (in_use + more, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


@contextlib.contextmanager
def fast_switches():
    """Let threads take turns as often as the interpreter can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def check_error(error, word, case="", kinds=(ValueError,), longest=1500):
    """A refusal has a message that can be read and has a word in it, such as the path of a file."""
    text = str(error)
    assert type(error) in kinds, f"{type(error).__name__}: {text} {case}"
    assert str(word) in text, f"no {word}: {text} {case}"
    assert text.isprintable() and len(text.replace(str(word), "")) <= longest, f"unclear: {text} {case}"


# Fitted state


def differences(one, other):
    """Names of the entries in which two states differ."""
    names = sorted(one.keys() | other.keys())
    return [
        n for n in names if n not in one or n not in other or fingerprint(one[n]) != fingerprint(other[n])
    ]


def check_answers(model, X):
    """transform and components_ of a fitted model are finite distributions."""
    check_distributions(model.transform(X), (X.shape[0], model.n_components_))
    check_distributions(model.components_, (model.n_components_, X.shape[1]))


def check_distributions(rows, shape):
    rows = np.asarray(rows)
    assert rows.shape == shape, f"shape {rows.shape}, expected {shape}"
    assert np.isfinite(rows).all(), "not finite"
    assert (rows >= 0).all(), f"negative: {rows.min()}"
    tolerance = 1e-5 if rows.dtype == np.float32 else 1e-9
    assert np.allclose(rows.sum(axis=1), 1.0, rtol=0, atol=tolerance), f"row sums {rows.sum(axis=1)}"


def guarded(array):
    """A copy at whose end memory begins that nobody may touch: reading or writing there is a SIGSEGV."""
    if not array.flags.c_contiguous and array.flags.f_contiguous:
        return guarded(array.T).T
    if array.dtype.hasobject or not array.flags.c_contiguous or array.nbytes == 0:
        return array
    size = -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = mmap.mmap(-1, size + mmap.PAGESIZE)
    start = np.frombuffer(pages, dtype=np.uint8).ctypes.data
    assert _libc.mprotect(ctypes.c_void_p(start + size), mmap.PAGESIZE, 0) == 0
    copy = np.frombuffer(pages, array.dtype, array.size, size - array.nbytes).reshape(array.shape)
    copy[...] = array
    return copy


# Child processes

_libc = ctypes.CDLL(None)


class ChildError(AssertionError):
    """A child process has crashed, hung or raised."""


# Seconds after which a child process counts as hung: machines may be busy, and a call may have many cases.
PATIENCE = 600.0 * max(1.0, N_CASES / 50_000)
# Forked from a server that has the imports done and no threads: fast, and safe wherever pytest runs.
# Threads that imports have started in the server would leave memory over to the children (glibc).
os.environ["MALLOC_ARENA_MAX"] = "1"
_context = multiprocessing.get_context("forkserver")
_PRELOADED = ["datasets", "dask", "inspection", "metrics", "model_selection", "seeding"]
_PRELOADED = [f"sktopic.{name}" for name in _PRELOADED]
_PRELOADED += ["pytest", "hypothesis", "pandas", "tests.hostile.tools"]
_context.set_forkserver_preload(_PRELOADED)


class Child:
    """A child process that runs functions, which must be importable there; another one if it has died."""

    process = None

    def __enter__(self):
        return self

    def begin(self, function, *arguments):
        if self.process is None:
            self.connection, theirs = _context.Pipe()
            self.process = _context.Process(target=_serve, args=(theirs,))
            self.process.start()
            theirs.close()
        self.connection.send((function, arguments))

    def result(self):
        """What the function returns; ChildError if it raises, crashes or hangs."""
        ending = f"no answer within {PATIENCE:g} s"
        try:
            if self.connection.poll(PATIENCE):
                error, result = self.connection.recv()
                if error is None:
                    return result
                raise ChildError(error)
        except (EOFError, ConnectionResetError):
            self.process.join()
            code = self.process.exitcode
            ending = f"ended by {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"
        self.__exit__()
        raise ChildError(ending)

    def call(self, function, *arguments):
        self.begin(function, *arguments)
        return self.result()

    def __exit__(self, *error):
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):  # gone, or not yet begun
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None


def _serve(connection):
    os.setsid()  # so that what it starts can be ended with it
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (until the process ends)
    os.dup2(sys.stdout.fileno(), 2)  # what a dying C library prints
    warnings.simplefilter("error")
    # scikit-learn's: X was a data frame once and is none now.
    warnings.filterwarnings("ignore", ".* feature names", UserWarning)
    warnings.filterwarnings("ignore", "covariates has numbers far from 0", UserWarning)
    for category in (CountsWarning, TopicLimitWarning, UndefinedMetricWarning):  # corpora are small
        warnings.simplefilter("ignore", category)
    while True:
        function, arguments = connection.recv()
        try:
            message = None, function(*arguments)
        except BaseException:
            message = traceback.format_exc(limit=-3), None
        connection.send(message)


def in_child(function, *arguments):
    """function(*arguments), run in a child process."""
    with Child() as child:
        return child.call(function, *arguments)


def check_each(function, cases, hear=lambda result: None):
    """Call the function with each case in a child process; fails with all that raised or crashed.

    hear is called with the results.
    """
    found = []
    with Child() as child:
        for case in cases:
            try:
                hear(child.call(function, *case))
            except ChildError as error:
                found.append(f"{case}: {error}")
    assert not found, f"{len(found)} of {len(cases)} failed\n" + "\n".join(found[:20])
