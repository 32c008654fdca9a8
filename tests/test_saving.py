"""Models in files: what is stored, what is refused, and what files of earlier versions stand for."""

import io
import json
import os
import threading
import zipfile
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import sktopic
from sktopic._estimators._fitted_state import declared_arrays, optional_names
from sktopic._runtime._array_archive import write_archive
from sktopic.datasets import make_bars
from sktopic.lda import OnlineEMLDA, OnlineVariationalLDA
from sktopic.lda._lda_state import LDAState

from .conftest import all_attributes, fingerprint
from .registry import CLASSES

X = make_bars(30, random_state=0).data
ESTIMATORS = [kind(n_components=3, random_state=0) for kind in CLASSES.values()]
QUICK = {"n_components": 4, "max_iter": 2, "random_state": 0}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.zip"


def saved_and_loaded(model, path, **how):
    model.save(path)
    return sktopic.load(path, **how)


def content_of(path):
    """The header and the arrays of a file, as dicts."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
            for name in archive.namelist()
            if name != "header.json"
        }
    del header["arrays"]
    return header, arrays


def write(path, header, arrays):
    with open(path, "wb") as file:
        write_archive(file, header, arrays)


# What is stored


def test_any_zip_program_and_numpy_can_read_a_file(path):
    model = OnlineEMLDA(**QUICK).fit(X)
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
    with np.load(path, allow_pickle=False) as arrays:
        assert_array_equal(arrays["fitted/_state.words.store"], model._state.words.store)
    header, arrays = content_of(path)
    assert header["class"] == "OnlineEMLDA"
    assert header["version"] == sktopic.__version__
    assert header["parameters"].keys() == model.get_params().keys()
    assert {name.partition("/")[2] for name in arrays} == declared_arrays(LDAState).keys() - optional_names(
        LDAState
    )


def test_equal_models_make_equal_files(tmp_path):
    for name in "ab":
        OnlineEMLDA(**QUICK).fit(X).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_data_of_arrays_are_aligned(path):
    OnlineEMLDA(**QUICK).fit(X).save(path)
    model = sktopic.load(path, mmap_mode="r")
    for name in {name.partition("/")[2] for name in content_of(path)[1]}:
        array = all_attributes(model)[name]
        assert array.size == 0 or array.ctypes.data % 64 == 0


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_all_that_training_sets_is_declared(estimator, path):
    """An attribute that is new in a class has to be declared there; with early stopping and moves, too."""
    model = clone(estimator)
    more = {"max_iter": 2, "early_stopping": True, "doc_topic_prior": "auto", "topic_word_prior": "auto"}
    more["split_merge"] = True
    for name, value in more.items():
        try:
            clone(model).set_params(**{name: value}).fit(X)
        except ValueError:  # not of this estimator
            continue
        model.set_params(**{name: value})
    model.fit(pd.DataFrame(X.toarray()).add_prefix("word "))
    if hasattr(model, "freeze_topics"):
        model.drop_topics([0]).freeze_topics([0])
    model.add_features(["more"])
    declared = {"_state", "n_features_in_", "feature_names_in_"}
    assert vars(model).keys() - model.get_params().keys() == declared
    assert fingerprint(vars(saved_and_loaded(model, path))) == fingerprint(vars(model))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("doc_topic_prior", [0.1, 0.2, 0.3, 0.4]),
        ("doc_topic_prior", (0.1, 1, np.float32(0.3), np.float64(0.4))),
        ("doc_topic_prior", np.array([0.1, 0.2, 0.3, 0.4])),
        ("doc_topic_prior", np.array([1, 2, 3, 4], dtype=">i2")),
        ("doc_topic_prior", np.asfortranarray([[0.1, 0.2], [0.3, 0.4]])[0].repeat(2)),
        ("doc_topic_prior", np.float32(0.1)),
        ("doc_topic_prior", "auto"),
        ("learning_decay", np.float64(0.7)),
        ("learning_decay", 1),
        ("inference", np.str_("variational")),
        ("batch_size", np.int64(7)),
        ("batch_size", 10**300),
        ("shuffle", np.bool_(False)),
        ("tol", -0.0),
        ("n_jobs", -1),
        ("random_state", None),
        ("random_state", 2**32 - 1),
        pytest.param("random_state", np.random.mtrand._rand, id="the global generator"),
    ],
    ids=repr,
)
def test_parameters_keep_their_types_and_values(path, name, value):
    model = OnlineEMLDA(**QUICK).set_params(**{name: value}).fit(X)
    loaded = saved_and_loaded(model, path)
    kept, given = getattr(loaded, name), getattr(model, name)
    assert type(kept) is type(given)
    if name != "random_state":
        assert fingerprint(kept) == fingerprint(given)
        assert_array_equal(loaded.transform(X), model.transform(X))
    elif type(value) is np.random.RandomState:
        assert kept is not given  # and goes on alike
        assert_array_equal(kept.get_state()[1], given.get_state()[1])


def test_random_state_goes_on_where_it_was(path):
    generator = np.random.RandomState(3)
    generator.normal()  # half of a pair is kept
    model = OnlineEMLDA(n_components=3, max_iter=1, random_state=generator).fit(X)
    generator = model.random_state
    loaded = saved_and_loaded(model, path).random_state
    assert_array_equal(loaded.normal(size=3), generator.normal(size=3))
    assert_array_equal(loaded.randint(1000, size=700), generator.randint(1000, size=700))


NAMES = [
    "space",
    "",
    "naïve",
    "日本語",
    "\U0001f600",
    "zero\0",
    "a\nb",
    '"quoted"',
    "\\",
    "\ud800",
    "x" * 1000,
]


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_names_of_features_and_the_container_are_kept(path, mmap_mode):
    columns = pd.Index(NAMES, dtype=object)  # not all of them are what pandas would make of strings
    counts = pd.DataFrame(X.toarray()[:, : len(NAMES)], columns=columns)
    model = OnlineEMLDA(**QUICK).set_output(transform="pandas").fit(counts)
    loaded = saved_and_loaded(model, path, mmap_mode=mmap_mode)
    assert loaded.feature_names_in_.tolist() == NAMES
    assert loaded.feature_names_in_.dtype == object
    pd.testing.assert_frame_equal(loaded.transform(counts), model.transform(counts))
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.transform(counts[counts.columns[::-1]])


def test_callbacks_are_left_out(path):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
    model = OnlineEMLDA(**QUICK).set_callbacks(callback.ScoringMonitor(scoring=None)).fit(X)
    assert not hasattr(saved_and_loaded(model, path), "_skl_callbacks")


def test_model_is_saved_while_another_thread_trains_it(path):
    """Each file has the state after a whole number of updates."""
    model, twin = (OnlineEMLDA(n_components=4, random_state=0).fit(X) for _ in range(2))

    def train():
        for _ in range(50):
            model.partial_fit(X)

    thread, loaded = threading.Thread(target=train), []
    thread.start()
    while thread.is_alive():
        loaded.append(saved_and_loaded(model, path))
    thread.join()
    for each in loaded:
        while twin.n_batch_iter_ < each.n_batch_iter_:
            twin.partial_fit(X)
        assert fingerprint(vars(each)) == fingerprint(vars(twin))


# What is refused when a model is saved


class Own(OnlineEMLDA):
    pass


class Disguised(OnlineEMLDA):
    __module__ = "sktopic.lda"


def refused():
    model = OnlineEMLDA(**QUICK).fit(X)
    yield OnlineEMLDA(), NotFittedError, "not fitted"
    yield Own(**QUICK).fit(X), TypeError, "Own is not a class of sktopic"
    yield Disguised(**QUICK).fit(X), TypeError, "Disguised is not a class of sktopic"
    yield clone(model).set_params(n_jobs=0), NotFittedError, "not fitted"
    for name, value, kind in (
        (
            "random_state",
            np.random.RandomState(np.random.PCG64(0)),
            "RandomState; .* RandomState with MT19937",
        ),
        ("doc_topic_prior", pd.Series([0.1] * 4), "Series"),
        ("doc_topic_prior", np.ma.array([0.1] * 4), "MaskedArray"),
        ("doc_topic_prior", np.array([0.1] * 4, dtype=object), "ndarray"),
        ("doc_topic_prior", [0.1, 0.1, 0.1, np.longdouble(0.1)], "longdouble"),
    ):
        other = OnlineEMLDA(**QUICK).set_params(**{name: value}).fit(X)
        yield other, TypeError, f"parameter {name} of OnlineEMLDA cannot be stored: it is a {kind}"
    other = OnlineEMLDA(**QUICK).fit(X).set_params(n_components=-1)
    yield other, ValueError, "'n_components' parameter"
    other = OnlineEMLDA(**QUICK).fit(X)
    other.note = "of the user"
    yield other, TypeError, "attribute note of this OnlineEMLDA cannot be stored"
    other = OnlineEMLDA(**QUICK).fit(X)
    words = other._state.words
    other._state = replace(other._state, words=replace(words, store=words.store[:, :2]))
    yield other, ValueError, "fitted state of this OnlineEMLDA is damaged"
    other = OnlineEMLDA(**QUICK).fit(X)
    other._state = replace(other._state, total_samples=None)
    yield other, ValueError, "damaged: _state.total_samples is None"
    for names, message in (
        (["a"], "has 1 names, but there are 25 features"),
        ([1] * X.shape[1], "is invalid"),
    ):
        other = OnlineEMLDA(**QUICK).fit(X)
        other.feature_names_in_ = np.array(names, dtype=object)
        yield other, ValueError, f"feature_names_in_ {message}"


def test_what_cannot_be_stored_is_named_and_nothing_is_written(path):
    path.write_bytes(b"as it was")
    for model, error, message in refused():
        with pytest.raises(error, match=message.replace("(", r"\(")):
            model.save(path)
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]
        assert path.read_bytes() == b"as it was"


# Memory maps


def test_mapped_arrays_are_read_only_until_training_copies_them(path):
    model = OnlineEMLDA(**QUICK).fit(X)
    loaded = saved_and_loaded(model, path, mmap_mode="r")
    assert not loaded._state.words.store.flags.writeable
    assert not loaded._state.words.store.flags.owndata
    loaded.partial_fit(X)
    assert loaded._state.words.store.flags.writeable
    assert_array_equal(sktopic.load(path).components_, model.components_)


def test_mapped_model_answers_from_its_file_after_that_is_replaced_or_deleted(path):
    model = OnlineEMLDA(**QUICK).fit(X)
    loaded = saved_and_loaded(model, path, mmap_mode="r")
    OnlineEMLDA(n_components=7, random_state=1).fit(X).save(path)
    assert_array_equal(loaded.transform(X), model.transform(X))
    path.unlink()
    assert_array_equal(loaded.transform(X), model.transform(X))
    assert fingerprint(vars(clone(loaded).fit(X))) == fingerprint(vars(clone(model).fit(X)))


def test_mapped_model_serves_in_threads_and_processes(path):
    model = OnlineVariationalLDA(**QUICK).fit(X)
    loaded = saved_and_loaded(model, path, mmap_mode="r")
    expected = model.transform(X)
    for backend in ("threading", "loky"):
        answers = joblib.Parallel(2, backend=backend)(
            joblib.delayed(loaded.transform)(X[i : i + 1]) for i in range(4)
        )
        assert_array_equal(np.vstack(answers), expected[:4])


def test_digests_of_mapped_arrays_alone_can_be_skipped(path):
    model = OnlineEMLDA(n_components=4, doc_topic_prior=np.full(4, 0.25), random_state=0).fit(X)
    model.save(path)
    content = path.read_bytes()
    for name, array in (
        ("fitted/_state.words.store", model._state.words.store),
        ("parameters/doc_topic_prior", np.full(4, 0.25)),
    ):
        part = array[:1].tobytes() if array.ndim > 1 else array.tobytes()
        at = content.index(part, content.index(f"{name}.npy".encode()))
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        for how in ({}, {"verify": False}, {"mmap_mode": "r"}):
            with pytest.raises(ValueError, match=f"digest of the array {name} is wrong"):
                sktopic.load(path, **how)
        if name.startswith("parameters"):
            with pytest.raises(ValueError, match="digest"):
                sktopic.load(path, mmap_mode="r", verify=False)
        else:
            sktopic.load(path, mmap_mode="r", verify=False)


# What is refused when a file is loaded


def test_arguments_are_checked(path):
    OnlineEMLDA(**QUICK).fit(X).save(path)
    with pytest.raises(ValueError, match="mmap_mode='r\\+': None or 'r' is allowed"):
        sktopic.load(path, mmap_mode="r+")
    with pytest.raises(FileNotFoundError):
        sktopic.load(path.parent / "none")
    with pytest.raises(IsADirectoryError):
        sktopic.load(path.parent)
    with open(path, "rb") as file:
        for other in (file, file.fileno()):
            with pytest.raises(TypeError, match="path is a"):
                sktopic.load(other)


@pytest.mark.skipif(os.name == "nt", reason="has no such files")
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path, path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    for name in "pipe", "zeros":
        with pytest.raises(ValueError, match=f"{name} cannot be loaded: it is not a regular file"):
            sktopic.load(tmp_path / name)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, error in (("loop", OSError), ("none", FileNotFoundError), (".", IsADirectoryError)):
        with pytest.raises(error):
            sktopic.load(tmp_path / name)
    OnlineEMLDA(2, random_state=0).fit([[1, 2], [2, 1]]).save(path)
    (tmp_path / "link").symlink_to(path)
    assert sktopic.load(tmp_path / "link", mmap_mode="r").n_components_ == 2


def headers():
    """Changes of a header, and what the error says; a change of None is a key that is removed."""
    yield {"format": "another"}, "format is 'another', but this version reads 'sktopic model 1'"
    yield {"format": "sktopic model 2", "more": 1}, "format is 'sktopic model 2'"
    yield {"format": None}, "format is None"
    yield (
        {"class": "LatentDirichletAllocation"},
        "class 'LatentDirichletAllocation' is unknown; known classes are",
    )
    yield {"class": "load"}, "class 'load' is unknown"
    yield {"class": ["OnlineEMLDA"]}, "is unknown"
    yield {"class": "HybridLDA"}, "parameters of HybridLDA: missing or unknown: 'average'"
    yield {"more": 1}, "header: missing or unknown: 'more'"
    yield {"feature_names": None}, "header: missing or unknown: 'feature_names'"
    yield {"topic_names": 1}, "not pairs of an identity and a name"
    yield {"topic_names": [[0, " "]]}, "not pairs of an identity and a name"
    yield {"topic_names": [[2**63, "a"]]}, "not pairs of an identity and a name"
    yield {"topic_names": [[0, "a"], [0, "b"]]}, "two names for one topic"
    yield {"topic_names": [[0, "a"], [1, "a"]]}, "'a' for two topics"
    yield {"feature_names": ["a"]}, "has 1 names, but there are 25 features"
    yield {"feature_names": [1] * 25}, "must be a list with one string"
    yield {"output": "arrow"}, "output is 'arrow'"
    yield {"parameters": []}, "parameters of OnlineEMLDA are not a JSON object"
    yield {"parameters.color": 1}, "missing or unknown: 'color'"
    yield {"parameters.tol": None}, "missing or unknown: 'tol'"
    yield {"parameters.tol": -1}, "'tol' parameter of OnlineEMLDA must be"
    yield {"parameters.tol": 10**400}, "tol has 1329 bits; at most 1023 bits are allowed"
    yield {"parameters.tol": "high"}, "'tol' parameter of OnlineEMLDA must be"
    yield {"parameters.n_components": True}, "n_components=True"
    yield {"parameters.tol": {"array": None}}, "arrays: missing or unknown: 'parameters/tol'"
    yield (
        {"parameters.tol": {"sparse": ["csr_array", [3, 3]]}},
        "missing or unknown: 'parameters/tol/data'",
    )
    yield (
        {"parameters.tol": {"fitted": "_state.words.store"}},
        "is not a tuple, a NumPy scalar or a RandomState",
    )
    for damaged in (
        {"numpy": [], "tuple": []},
        {"tuple": "ab"},
        {"numpy": ["<f8"]},
        {"numpy": ["|O", 1]},
        {"numpy": ["|u1", 256]},
        {"numpy": ["<i8", 1.5]},
        {"numpy": ["<f4", 1e300]},
        {"random_state": []},
        {"random_state": [[0] * 624, 625, 0, 0.0]},
        {"random_state": [[0] * 624, -1, 0, 0.0]},
        {"random_state": [[2**32] * 624, 1, 0, 0.0]},
        {"random_state": [[0.5] * 624, 1, 0, 0.0]},
    ):
        yield {"parameters.batch_size": damaged}, "is not a tuple, a NumPy scalar or a RandomState"
    yield {"fitted": None}, "header: missing or unknown: 'fitted'"
    yield {"fitted.components_": 1}, "fitted values: missing or unknown: 'components_'"
    yield {"fitted._state_class": {"tuple": []}}, "missing or unknown: '_state_class'"
    yield {"fitted._state.seed": None}, "missing or unknown: '_state.seed'"
    yield {"fitted._state.seed": -1}, "damaged: _state.seed is -1"
    yield {"fitted._state.seed": 2**63}, "damaged: _state.seed is 9223372036854775808"
    yield {"fitted._state.seed": 0.5}, "damaged: _state.seed is 0.5"
    yield {"fitted._state.seed": True}, "damaged: _state.seed is True"
    yield {"fitted.n_features_in_": 26}, "_state.words.store is float64 \\(25, 4\\), where"
    yield {"fitted.n_components_": 5}, "missing or unknown: 'n_components_'"


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.zip"
    OnlineEMLDA(**QUICK).fit(X).save(path)
    return content_of(path)


@pytest.mark.parametrize(("changes", "message"), list(headers()), ids=str)
def test_headers_that_are_not_right_raise(parts, path, changes, message):
    header, arrays = json.loads(json.dumps(parts[0])), parts[1]
    for name, value in changes.items():
        outer, _, inner = name.partition(".")
        target, name = (header[outer], inner) if inner else (header, outer)
        if value is None:
            del target[name]
        else:
            target[name] = value
    write(path, header, arrays)
    with pytest.raises(ValueError, match=f"{path} cannot be loaded: .*{message}"):
        sktopic.load(path)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("fitted/_state.words.store", None, "arrays: missing or unknown: 'fitted/_state.words.store'"),
        ("fitted/_state.words.store", np.zeros((25, 4), np.float32), "<f4, where <f8 is needed"),
        ("fitted/_state.words.store", np.zeros((25, 4), ">f8"), ">f8, where <f8 is needed"),
        ("fitted/_state.words.store", np.zeros((25, 4), [("a", "f8")]), "where <f8 is needed"),
        (
            "fitted/_state.words.store",
            np.zeros((25, 5)),
            "damaged: _state.words.store is float64 \\(25, 5\\)",
        ),
        ("fitted/_state.words.store", np.zeros(100), "damaged: _state.words.store is float64 \\(100,\\)"),
        ("fitted/components_", np.zeros((4, 25)), "missing or unknown: 'fitted/components_'"),
        ("other/_store", np.zeros((4, 25)), "missing or unknown: 'other/_store'"),
        ("../_store", np.zeros((4, 25)), "missing or unknown: '../_store'"),
        ("parameters/tol", np.zeros(3), "missing or unknown: 'parameters/tol'"),
        ("parameters/color", np.zeros(3), "missing or unknown: 'parameters/color'"),
    ],
)
def test_arrays_that_are_not_right_raise(parts, path, name, array, message):
    header, arrays = parts[0], dict(parts[1])
    if array is None:
        del arrays[name]
    else:
        arrays[name] = array
    write(path, header, arrays)
    for mmap_mode in (None, "r"):
        with pytest.raises(ValueError, match=message):
            sktopic.load(path, mmap_mode=mmap_mode)


def test_parameters_that_are_arrays_are_of_numbers(parts, path):
    header, arrays = json.loads(json.dumps(parts[0])), dict(parts[1])
    header["parameters"]["doc_topic_prior"] = {"array": None}
    arrays["parameters/doc_topic_prior"] = np.array(["a"] * 4)
    write(path, header, arrays)
    with pytest.raises(ValueError, match="doc_topic_prior has dtype '<U1'; only numbers are allowed"):
        sktopic.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1' + "0" * 5000 + "}", "Exceeds the limit"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ("[1]", "not a JSON object"),
        ('{"a": 1', "Expecting"),
        ('{"a": "\xff"}', "can't decode"),
        ('{"arrays": [1]}', "no object 'arrays'"),
        ('{"arrays": {"a": {"dtype": "<f8", "shape": [1]}}}', "does not describe the array 'a'"),
        (
            '{"arrays": {"a": {"dtype": "<f8", "shape": [-1], "sha256": ""}}}',
            "does not describe the array 'a'",
        ),
        (
            '{"arrays": {"a": {"dtype": "<f8", "shape": [true], "sha256": ""}}}',
            "does not describe the array 'a'",
        ),
        ('{"arrays": {"a": {"dtype": "<f8", "shape": [1], "sha256": ""}}}', "do not agree on 'a.npy'"),
    ],
    ids=lambda value: value[:40],
)
def test_json_that_is_not_right_raises(path, text, message):
    with zipfile.ZipFile(path, "w") as archive, archive.open("header.json", "w", force_zip64=True) as entry:
        entry.write(text.encode("latin-1"))
    with pytest.raises(ValueError, match=message):
        sktopic.load(path)


def test_a_deleted_parameter_is_stored_as_get_params_returns_it(path):
    model = OnlineEMLDA(**QUICK).fit(X)
    del model.total_samples  # of which the class has a value
    model.save(path)
    assert sktopic.load(path).get_params() == model.get_params()
