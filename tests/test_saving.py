"""Models in files: what is stored, and what is refused when models are saved and loaded."""

import copy
import io
import json
import os
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

import sktopic
from sktopic._estimators._fitted_state import declared_arrays, optional_names
from sktopic._runtime._array_archive import _write_entry, write_archive
from sktopic.datasets import make_bars
from sktopic.lda import OnlineEMLDA
from sktopic.lda._lda_state import LDAState

from .conftest import all_attributes, assert_raises, fingerprint, outcome
from .registry import allows, defaults, each, new

X = make_bars(30, random_state=0).data
QUICK = {"n_components": 4, "max_iter": 2, "random_state": 0}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.zip"


@pytest.fixture(scope="module")
def fitted():
    return OnlineEMLDA(**QUICK).fit(X)


@pytest.fixture
def model(fitted):
    return copy.deepcopy(fitted)


def saved_and_loaded(model, path, **how):
    model.save(path)
    return sktopic.load(path, **how)


def content_of(path):
    """The header and the arrays of a file, as dicts."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        arrays = {
            name: np.load(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
            for name in header.pop("arrays")
        }
    return header, arrays


def write(path, header, arrays):
    with open(path, "wb") as file:
        write_archive(file, header, arrays)


def check_refused(path, message, **how):
    _, error = outcome(partial(sktopic.load, path, **how))
    found = f"{error}"
    assert isinstance(error, ValueError) and re.search(message, found), f"{found}, not {message}"
    assert f"{path} cannot be loaded: " in found


# What is stored


def test_equal_models_make_equal_files_of_what_classes_declare(model, path):
    model.save(path)
    header, arrays = content_of(path)
    assert (header["class"], header["version"]) == ("OnlineEMLDA", sktopic.__version__)
    assert header["parameters"].keys() == model.get_params().keys()
    declared = declared_arrays(LDAState).keys() - optional_names(LDAState)
    assert arrays.keys() == {f"fitted/{name}" for name in declared}
    assert_array_equal(arrays["fitted/_state.words.store"], model._state.words.store)
    content = path.read_bytes()
    OnlineEMLDA(**QUICK).fit(X).save(path)
    assert path.read_bytes() == content
    del model.total_samples  # of which the class has a value
    assert saved_and_loaded(model, path).get_params() == model.get_params()


@each(defaults())
def test_all_that_training_sets_is_declared(estimator, path):
    """An attribute that is new in a class has to be declared there; with early stopping and moves, too."""
    more = dict.fromkeys(["early_stopping", "split_merge"], True)
    more |= dict.fromkeys(["doc_topic_prior", "topic_word_prior"], "auto")
    more = {name: value for name, value in more.items() if allows(estimator, name, value)}
    model = new(estimator, n_components=3, **more)
    model.fit(pd.DataFrame(X.toarray()).add_prefix("word "))
    if hasattr(model, "freeze_topics"):
        model.drop_topics([0]).freeze_topics([0])
    model.add_features(["more"])
    declared = {"_state", "n_features_in_", "feature_names_in_"}
    assert vars(model).keys() - model.get_params().keys() == declared
    assert fingerprint(vars(saved_and_loaded(model, path))) == fingerprint(vars(model))


PARAMETERS = [
    ("doc_topic_prior", [0.1, 0.2, 0.3, 0.4]),
    ("doc_topic_prior", (0.1, 1, np.float32(0.3), np.float64(0.4))),
    ("doc_topic_prior", np.array([1, 2, 3, 4], dtype=">i2")),
    ("doc_topic_prior", np.asfortranarray([[0.1, 0.2], [0.3, 0.4]])[0].repeat(2)),
    ("doc_topic_prior", np.float32(0.1)),
    ("doc_topic_prior", "auto"),
    ("learning_decay", np.float64(0.7)),
    ("learning_decay", 1),
    ("inference", np.str_("variational")),
    ("batch_size", 10**300),
    ("shuffle", np.bool_(False)),
    ("tol", -0.0),
    ("random_state", None),
    ("random_state", 2**32 - 1),
]


def test_parameters_keep_their_types_and_values(fitted, path):
    for name, value in PARAMETERS:
        model = copy.copy(fitted).set_params(**{name: value})
        loaded = saved_and_loaded(model, path)
        assert type(getattr(loaded, name)) is type(value), (name, value)
        assert fingerprint(loaded.get_params()) == fingerprint(model.get_params()), (name, value)


def test_a_parameter_that_a_file_lacks_takes_its_default(fitted, path):
    fitted.save(path)
    header, arrays = content_of(path)
    assert header["parameters"].keys() > QUICK.keys()
    header["parameters"] = QUICK
    write(path, header, arrays)
    assert fingerprint(all_attributes(sktopic.load(path))) == fingerprint(all_attributes(fitted))


def test_random_state_goes_on_where_it_was(model, path):
    for generator in np.random.RandomState(3), np.random.mtrand._rand:
        generator.normal()  # half of a pair is kept
        loaded = saved_and_loaded(model.set_params(random_state=generator), path).random_state
        assert type(loaded) is np.random.RandomState and loaded is not generator
        assert_array_equal(loaded.normal(size=3), generator.normal(size=3))
        assert_array_equal(loaded.randint(1000, size=700), generator.randint(1000, size=700))


NAMES = ["", "naïve", "日本語", "\U0001f600", "zero\0", '"quoted"', "\\", "\ud800", "a\nb", "x" * 1000]


def test_names_of_features_and_the_container_are_kept(path):
    columns = pd.Index(NAMES, dtype=object)  # not all of them are what pandas would make of strings
    counts = pd.DataFrame(X.toarray()[:, : len(NAMES)], columns=columns)
    model = OnlineEMLDA(**QUICK).set_output(transform="pandas").fit(counts)
    for mmap_mode in (None, "r"):
        loaded = saved_and_loaded(model, path, mmap_mode=mmap_mode)
        assert loaded.feature_names_in_.tolist() == NAMES and loaded.feature_names_in_.dtype == object
        pd.testing.assert_frame_equal(loaded.transform(counts), model.transform(counts))
        with pytest.raises(ValueError, match="feature names should match"):
            loaded.transform(counts[counts.columns[::-1]])


def test_callbacks_are_left_out(model, path):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")
    model.set_callbacks(callback.ScoringMonitor(scoring=None)).fit(X)
    assert not hasattr(saved_and_loaded(model, path), "_skl_callbacks")


def test_model_is_saved_while_another_thread_trains_it(model, path):
    """Each file has the state after a whole number of updates."""
    twin, loaded = copy.deepcopy(model), []
    with ThreadPoolExecutor(1) as pool:
        training = pool.submit(lambda: [model.partial_fit(X) for _ in range(20)])
        while not training.done():
            loaded.append(saved_and_loaded(model, path))
        training.result()
    assert loaded
    for found in loaded:
        while twin.n_batch_iter_ < found.n_batch_iter_:
            twin.partial_fit(X)
        assert fingerprint(vars(found)) == fingerprint(vars(twin))


# What is refused when a model is saved


class Own(OnlineEMLDA):
    pass


class Disguised(OnlineEMLDA):
    __module__ = "sktopic.lda"


def refused(model):
    def changed(**changes):
        other = copy.deepcopy(model)
        vars(other).update(changes)
        return other

    yield OnlineEMLDA(), NotFittedError, "not fitted"
    for cls in (Own, Disguised):
        yield cls(**QUICK).fit(X), TypeError, f"{cls.__name__} is not a class of sktopic"
    for name, value, kind in (
        ("random_state", np.random.RandomState(np.random.PCG64(0)), "RandomState; .* with MT19937"),
        ("doc_topic_prior", pd.Series([0.1] * 4), "Series"),
        ("doc_topic_prior", np.ma.array([0.1] * 4), "MaskedArray"),
        ("doc_topic_prior", np.array([0.1] * 4, dtype=object), "ndarray"),
        ("doc_topic_prior", [0.1, 0.1, 0.1, np.longdouble(0.1)], "longdouble"),
    ):
        message = f"parameter {name} of OnlineEMLDA cannot be stored: it is a {kind}"
        yield changed(**{name: value}), TypeError, message
    yield changed(n_components=-1), ValueError, "'n_components' parameter"
    yield changed(note="mine"), TypeError, "attribute note of this OnlineEMLDA cannot be stored"
    state = model._state
    words = replace(state.words, store=state.words.store[:, :2])
    yield changed(_state=replace(state, words=words)), ValueError, "state of this OnlineEMLDA is damaged"
    none = replace(state, total_samples=None)
    yield changed(_state=none), ValueError, "damaged: _state.total_samples is None"
    for names, message in ((["a"], "has 1 names, but there are 25 features"), ([1] * 25, "is invalid")):
        named = changed(feature_names_in_=np.array(names, dtype=object))
        yield named, ValueError, f"feature_names_in_ {message}"


def test_what_cannot_be_stored_is_named_and_nothing_is_written(fitted, path):
    path.write_bytes(b"as it was")
    for model, error, message in refused(fitted):
        assert_raises(error, message, model.save, path)
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]
        assert path.read_bytes() == b"as it was"


# Memory maps


def test_mapped_model_has_its_file_even_if_another_takes_its_name(model, path):
    loaded = saved_and_loaded(model, path, mmap_mode="r")
    assert not (loaded._state.words.store.flags.writeable or loaded._state.words.store.flags.owndata)
    OnlineEMLDA(n_components=7, random_state=1).fit(X).save(path)
    assert_array_equal(loaded.transform(X), model.transform(X))
    path.unlink()
    assert_array_equal(loaded.partial_fit(X).components_, model.partial_fit(X).components_)


def test_digests_of_mapped_arrays_alone_can_be_skipped(model, path):
    model.set_params(doc_topic_prior=np.full(4, 0.25)).save(path)
    content = path.read_bytes()
    for name, part in (
        ("fitted/_state.words.store", model._state.words.store[0].tobytes()),
        ("parameters/doc_topic_prior", np.full(4, 0.25).tobytes()),
    ):
        at = content.index(part, content.index(f"{name}.npy".encode()))
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        skipped = {"mmap_mode": "r", "verify": False}
        ways = [{}, {"verify": False}, {"mmap_mode": "r"}] + [skipped] * name.startswith("parameters")
        for how in ways:
            check_refused(path, f"digest of the array {name} is wrong", **how)
        if skipped not in ways:
            sktopic.load(path, **skipped)


# What is refused when a file is loaded


def test_arguments_are_checked(model, path):
    model.save(path)
    with pytest.raises(ValueError, match="mmap_mode='r\\+': None or 'r' is allowed"):
        sktopic.load(path, mmap_mode="r+")
    for name, error in (("none", FileNotFoundError), (".", IsADirectoryError)):
        with pytest.raises(error):
            sktopic.load(path.parent / name)
    with open(path, "rb") as file:
        for other in (file, file.fileno()):
            assert_raises(TypeError, "path is a", sktopic.load, other, case=other)


@pytest.mark.skipif(os.name == "nt", reason="has no such files")
def test_what_is_no_file_is_refused_and_not_waited_for(model, path):
    folder = path.parent
    os.mkfifo(folder / "pipe")
    (folder / "zeros").symlink_to("/dev/zero")
    (folder / "loop").symlink_to("loop")
    for name in "pipe", "zeros":
        check_refused(folder / name, "it is not a regular file")
    with pytest.raises(OSError, match="symbolic links"):
        sktopic.load(folder / "loop")
    model.save(path)
    (folder / "link").symlink_to(path)
    assert sktopic.load(folder / "link", mmap_mode="r").n_components_ == 4


NO_PAIRS, KEY = "not pairs of an identity and a name", [0] * 624
NO_VALUE = "is not a tuple, a NumPy scalar or a RandomState"
STORE = "fitted/_state.words.store"
# Changes of a header and its arrays, and what the error says; a change of None is a key that is removed.
CHANGES = [
    ({"format": "another"}, "format is 'another', but this version reads 'sktopic model 1'"),
    ({"class": "Dirichlet"}, "class 'Dirichlet' is unknown; known classes are"),
    ({"class": ["OnlineEMLDA"]}, "is unknown"),
    ({"class": "HybridLDA"}, "parameters of HybridLDA: missing or unknown: 'average'"),
    ({"more": 1}, "header: missing or unknown: 'more'"),
    ({"topic_names": 1}, NO_PAIRS),
    ({"topic_names": [[0, " "]]}, NO_PAIRS),
    ({"topic_names": [[2**63, "a"]]}, NO_PAIRS),
    ({"topic_names": [[0, "a"], [0, "b"]]}, "two names for one topic"),
    ({"topic_names": [[0, "a"], [1, "a"]]}, "'a' for two topics"),
    ({"feature_names": ["a"]}, "has 1 names, but there are 25 features"),
    ({"output": "arrow"}, "output is 'arrow'"),
    ({"parameters": []}, "parameters of OnlineEMLDA are not a JSON object"),
    ({"parameters:tol": -1}, "'tol' parameter of OnlineEMLDA must be"),
    ({"parameters:tol": 10**400}, "tol has 1329 bits; at most 1023 bits are allowed"),
    ({"parameters:n_components": True}, "n_components=True"),
    ({"parameters:tol": {"array": None}}, "arrays: missing or unknown: 'parameters/tol'"),
    ({"parameters:tol": {"sparse": ["csr_array", [3, 3]]}}, "missing or unknown: 'parameters/tol/data'"),
    *(
        ({"parameters:batch_size": value}, NO_VALUE)
        for value in (
            *({"numpy": [], "tuple": []}, {"tuple": "ab"}, {"fitted": "_state.words.store"}),
            *({"numpy": each} for each in (["<f8"], ["|O", 1], ["|u1", 256], ["<i8", 1.5], ["<f4", 1e300])),
            {"random_state": []},
            *({"random_state": [KEY, position, 0, 0.0]} for position in (625, -1)),
            *({"random_state": [[word, *KEY[1:]], 1, 0, 0.0]} for word in (2**32, 0.5)),
        )
    ),
    ({"fitted:components_": 1}, "fitted values: missing or unknown: 'components_'"),
    ({"fitted:_state.seed": None}, "missing or unknown: '_state.seed'"),
    ({"fitted:_state.seed": -1}, "damaged: _state.seed is -1"),
    ({"fitted:_state.seed": 0.5}, "damaged: _state.seed is 0.5"),
    ({"fitted:_state.seed": True}, "damaged: _state.seed is True"),
    ({"fitted:n_features_in_": 26}, r"_state.words.store is float64 \(25, 4\), where"),
    ({f"arrays:{STORE}": None}, f"arrays: missing or unknown: '{STORE}'"),
    ({f"arrays:{STORE}": np.zeros((25, 4), np.float32)}, "<f4, where <f8 is needed"),
    ({f"arrays:{STORE}": np.zeros((25, 4), ">f8")}, ">f8, where <f8 is needed"),
    ({f"arrays:{STORE}": np.zeros((25, 5))}, r"damaged: _state.words.store is float64 \(25, 5\)"),
    ({"arrays:fitted/components_": np.zeros((4, 25))}, "missing or unknown: 'fitted/components_'"),
    (
        {"parameters:tol": {"array": None}, "arrays:parameters/tol": np.array(["a"])},
        "only numbers are allowed",
    ),
    ({"parameters:tol": {"array": 1}, "arrays:parameters/tol": np.ones(4)}, "is not an array or a sparse"),
]


def test_headers_and_arrays_that_are_not_right_raise(fitted, path):
    fitted.save(path)
    header, arrays = content_of(path)
    for changes, message in CHANGES:
        content = copy.deepcopy({**header, "arrays": arrays})
        for place, value in changes.items():
            *outer, name = place.split(":")
            target = content[outer[0]] if outer else content
            if value is None:
                del target[name]
            else:
                target[name] = value
        write(path, content, content.pop("arrays"))
        for mmap_mode in (None, "r"):
            check_refused(path, message, mmap_mode=mmap_mode)


def of_array(**changes):
    return json.dumps({"arrays": {"a": {"dtype": "<f8", "shape": [1], "sha256": ""} | changes}})


JSON = [
    ('{"a": 1' + "0" * 5000 + "}", "Exceeds the limit"),
    ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    ("[1]", "not a JSON object"),
    ('{"a": 1', "Expecting"),
    ('{"a": "\xff"}', "can't decode"),
    ('{"arrays": [1]}', "no object 'arrays'"),
    (of_array(sha256=None), "does not describe the array 'a'"),
    (of_array(shape=[-1]), "does not describe the array 'a'"),
    (of_array(shape=[True]), "does not describe the array 'a'"),
]


def test_json_that_is_not_right_raises(path):
    for text, message in JSON:
        with open(path, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            _write_entry(archive, file, "header.json", [text.encode("latin-1")])
        check_refused(path, message)
