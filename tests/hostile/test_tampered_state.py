"""Arrays of fitted models and of updates of lanes that are damaged, as in a pickle from elsewhere.

They end in an error or a finite answer, never in a crash. The arrays end where memory ends, so that a kernel
which goes beyond one of them is killed at once; the failure that says "SIGSEGV" names the case.
"""

import copy
import pickle
from dataclasses import fields, is_dataclass, replace
from functools import cache

import numpy as np
import scipy.sparse as sp

from sktopic.distributed import local_update, merge_updates, start_model
from sktopic.inspection import name_topics
from tests.conftest import all_attributes, delete_attribute, fitted_state, outcome, set_attribute
from tests.registry import call

from .tools import MODELS, VARIANTS, check_each, check_error, corpus, guarded, new, share, some, within

X = corpus()
HUGE = 2**62
MISSING = object()


def _with_values(array, value):
    array = np.array(array)
    if array.dtype.kind in "iu":
        value = np.clip(value, np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
    if array.size:
        with np.errstate(all="ignore"):
            array.flat[array.size // 2] = value
    return array


def _overflowing(array, quarters):
    """With quarters of the range of integers added, so that sums or differences overflow."""
    array = array.copy()
    added = np.array(quarters[: array.size]) * 2 ** (8 * array.itemsize - 2)
    array.flat[:4] = array.flat[:4] + added
    return array


def _cast(dtype):
    def cast(array):
        with np.errstate(all="ignore"):
            return array.astype(dtype)

    return cast


SHAPES = {
    "a row less": lambda array: array[:-1],
    "a row more": lambda array: np.concatenate([array, array[-1:]]),
    "no rows": lambda array: array[:0],
    "a column less": lambda array: np.ascontiguousarray(array[..., :-1]),
    "a column more": lambda array: np.concatenate([array, array[..., -1:]], axis=-1),
    "100 times as long": lambda array: np.concatenate([array] * 100),
    "transposed": lambda array: array.T,
    "transposed copy": lambda array: np.ascontiguousarray(array.T),
    "flat": np.ravel,
    "one dimension more": lambda array: array[None],
    "a scalar": lambda array: np.float64(1.0),
    "every second": lambda array: np.repeat(array, 2, axis=0)[::2],
    "None": lambda array: None,
    "a list": lambda array: array.tolist(),
    "an object": lambda array: object(),
    "missing": lambda array: MISSING,
}
DTYPES = {
    dtype: _cast(dtype)
    for dtype in ("float32", "int32", "int64", "uint8", "bool", "complex128", "object", "str", ">f8")
}
NUMBERS = {
    "NaN": lambda array: _with_values(array, np.nan),
    "infinite": lambda array: _with_values(array, np.inf),
    "negative": lambda array: _with_values(array, -1.0),
    "huge": lambda array: _with_values(array, 1e300),
    "zeros": np.zeros_like,
}
INDICES = {
    "-1": lambda array: _with_values(array, -1),
    "huge": lambda array: _with_values(array, HUGE),
    "hugely negative": lambda array: _with_values(array, -HUGE),
    "one too large": lambda array: _with_values(array, array.max(initial=0) + 1),
    "a sum that overflows": lambda array: _overflowing(array, [1, 1, 1, 1]),
    "differences that overflow": lambda array: _overflowing(array, [0, 1, -2, -1]),
    "twice the same": lambda array: _with_values(array, array.ravel()[0] if array.size else 0),
}
SCALARS = {"negative": -1, "huge": HUGE, "zero": 0, "a fraction": 0.5, "300 digits": 10**300, "a string": "x"}
SCALARS |= {"NaN": float("nan"), "infinite": float("inf"), "None": None, "missing": MISSING}
METHODS = "transform", "word_topics", "sample_proportions", "score", "partial_fit", "components_", "elbo"
METHODS += ("predict_mixture",)


def damages_of(value):
    """Names of what can be done to a value, and what does it to an array or comes in place of others."""
    if not isinstance(value, np.ndarray):
        return SCALARS | {"an object": object()}
    if value.dtype.names is not None:
        return SHAPES
    return {**SHAPES, **DTYPES, **(NUMBERS if value.dtype.kind == "f" else INDICES)}


def damaged(value, damage):
    """The damaged value, whose memory ends where it ends, or MISSING."""
    if not isinstance(value, np.ndarray):
        return damages_of(value)[damage]
    array = damages_of(value)[damage](value)
    return guarded(array) if isinstance(array, np.ndarray) else array


def fitted(name):
    """A fitted model; of variants, one with a topic that is frozen and named."""
    model = new(name, batch_size=50).fit(X)
    is_free = not (getattr(model, "average", False) or getattr(model, "topics_per_word", None))
    if name in VARIANTS and hasattr(model, "freeze_topics") and is_free:
        name_topics(model.freeze_topics([0]), {0: "frozen"})
    return model


@cache
def pickled(name):
    return pickle.dumps(fitted(name))


def use_damaged(name, attribute, damage, method):
    """Runs in a child process; errors are the right answer, so is a finite one."""
    model = pickle.loads(pickled(name))
    if not hasattr(model, method):
        return
    value = all_attributes(model)[attribute]
    exchanged = damage.startswith("transposed") and value.shape == value.T.shape
    for name, array in all_attributes(model).items():
        if isinstance(array, np.ndarray):
            set_attribute(model, name, guarded(array))
    if damage == "missing":
        delete_attribute(model, attribute)
    else:
        set_attribute(model, attribute, damaged(value, damage))
    # Numbers that are wrong but of the right kind may give wrong numbers.
    numbers_are_right = isinstance(value, np.ndarray) and damage in (SHAPES | DTYPES) and not exchanged
    for use in (
        lambda: answer_of(model, method),
        lambda: answer_of(pickle.loads(pickle.dumps(model)), method),
    ):
        answer, error = outcome(use)
        assert not isinstance(error, MemoryError), f"a damaged size was trusted: {error}"
        if error is None and numbers_are_right:
            assert np.isfinite(answer).all(), "the answer is not finite"


def answer_of(model, method):
    with np.errstate(all="ignore"):
        if method == "components_":
            return model.components_
        answer = call(model, method, X)
        return model.transform(X) if answer is model else answer


def test_damaged_state_never_crashes():
    cases = [
        (name, attribute, damage, method)
        for name in MODELS
        for attribute, value in fitted_state(fitted(name)).items()
        for damage in damages_of(value)
        for method in METHODS
    ]
    check_each(use_damaged, some(cases, share(0.25), 1))


# Updates of lanes

LEARNED = {"OnlineEMLDA": {"prior_update": "fixed-point"}, "StreamingGibbsLDA": {"n_components": 60}}
# What did most harm once is tried always.
KNOWN = [
    ["added", "no rows"],
    ["added", "every second"],
    ["added indices", "huge"],
    ["words", "huge"],
    ["summary n_updates", "huge"],
]


@cache
def updated(name):
    """A model after a round, and the updates of the next."""
    documents = corpus(40)
    estimator = new(name, batch_size=10, **LEARNED.get(name, {}))
    model = start_model(estimator, documents.shape[1], 40)
    for n_updates in (1, 2):
        settings = {"n_updates": n_updates, "batch_size": 20 // n_updates}
        updates = [local_update(model, documents[20 * i :][:20], lane=i, **settings) for i in range(2)]
        if n_updates == 1:
            model = merge_updates(model, updates)
    return model, updates


def parts_of(value, path=()):
    """Paths and values of all parts of an update or a header; of lists the first two."""
    parts = []
    if is_dataclass(value):
        parts = [(field.name, getattr(value, field.name)) for field in fields(value)]
    elif isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = list(enumerate(value[:2]))
    elif sp.issparse(value):
        parts = [(name, getattr(value, name)) for name in ("data", "indices", "indptr")]
    for name, part in parts:
        yield (*path, name), part
        yield from parts_of(part, (*path, name))


def with_part(value, path, part):
    """A copy with another part, or without it if that is MISSING."""
    if not path:
        return part
    name, *rest = path
    if isinstance(value, (dict, list)):
        changed = copy.copy(value)
        changed[name] = with_part(value[name], rest, part)
        if changed[name] is MISSING:
            del changed[name]
        return changed
    part = with_part(getattr(value, name), rest, part)
    if is_dataclass(value):
        return replace(value, **{name: None if part is MISSING else part})
    changed = value.copy()
    setattr(changed, name, part)
    return changed


def merge_forged(name, path, damage):
    """Runs in a child process."""
    model, (update, other) = updated(name)
    before, part = pickle.dumps(model), damaged(dict(parts_of(update))[path], damage)
    with within(10):
        merged, error = outcome(lambda: merge_updates(model, [with_part(update, path, part), other]))
    assert pickle.dumps(model) == before, "the model was changed"
    if error is not None:
        check_error(error, "lane")
    else:
        assert np.isfinite(merged.transform(X)).all() and np.isfinite(merged.components_).all()


def test_forged_parts_of_updates_are_refused_or_do_no_harm():
    cases = []
    for name in ("OnlineEMLDA", "StreamingGibbsLDA", "HybridHDP"):
        update = updated(name)[1][0]
        assert sp.issparse(update.added) == (name == "StreamingGibbsLDA")
        cases += [(name, path, each) for path, value in parts_of(update) for each in damages_of(value)]
    known = [case for case in cases if [" ".join(map(str, case[1])), case[2]] in KNOWN]
    check_each(merge_forged, known + some(cases, share(0.1), 1))
