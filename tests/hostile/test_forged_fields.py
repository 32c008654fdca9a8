"""Every field of what the library writes and reads again, forged one at a time; checksums are right.

A case is (what is read, file, field, forgery): files of models, corpora, checkpoints, results and progress,
and the updates of lanes. Each ends in an error that says what is wrong, or in a value that does no harm;
never in a crash, in memory of the forger's choice, or in work without end.

``SKTOPIC_HOSTILE_CASES=16000 pytest tests/hostile/test_forged_fields.py`` runs all cases, some 6000.
"""

import copy
import io
import json
import os
import pickle
import random
import shutil
import time
from dataclasses import fields, is_dataclass, replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import sktopic
from sktopic._runtime._array_archive import description, npy_header
from sktopic.dask import DaskTopicModel
from sktopic.datasets import open_corpus, save_corpus
from sktopic.distributed import local_update, merge_updates, start_model
from sktopic.model_selection import topic_number_curve

from .test_mutated_files import entries_of, limited_memory, with_digest, with_header, zipped
from .test_tampered_state import damages_of
from .tools import check_resources, corpus, failures, guarded, new, outcome, share

X = corpus(40)
MISSING, DOUBLED = object(), object()
VALUES = {
    "missing": MISSING,
    "doubled": DOUBLED,
    "null": None,
    "a string": "x",
    "a list": [[1]],
    "an object": {"tuple": [{}]},
    "true": True,
    "negative": -1,
    "a fraction": 0.5,
    "NaN": float("nan"),
    "infinite": float("inf"),
    "2 ** 31": 2**31,
    "2 ** 62": 2**62,
    "300 digits": 10**300,
}
# Work that a forged number may ask for, in seconds of the processor; and length of a message.
MAX_SECONDS, MAX_MESSAGE = 10, 1500


class Doubled(dict):
    """A dict that JSON has with its last key twice."""

    def items(self):
        pairs = list(super().items())
        return [*pairs, pairs[-1]]


def fields_of(value, path=()):
    """Paths of all fields within a header, of lists the first two."""
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(min(2, len(value))):
            yield (*path, key)
            yield from fields_of(value[key], (*path, key))


def forged_header(header, path, forgery):
    """A copy of a header with another value in one field; the first field if it is a list that is doubled."""
    header, value = copy.deepcopy(header), VALUES[forgery]
    holders = [header]
    for key in path[:-1]:
        holders.append(holders[-1][key])
    if value is MISSING:
        del holders[-1][path[-1]]
    elif value is not DOUBLED:
        holders[-1][path[-1]] = value
    elif isinstance(holders[-1], list):
        holders[-1].append(holders[-1][path[-1]])
    else:
        twice = Doubled(holders[-1])
        if len(path) == 1:
            return twice
        holders[-2][path[-2]] = twice
    return header


# What did most harm once.
KNOWN = [
    (("array", "prior"), "no rows"),
    (("header", ("of",)), "a list"),
    (("array", "z"), "missing"),
    (("header", ("top_words",)), "a string"),
    (("added",), "no rows"),
    (("added", "indices"), "huge"),
    (("words",), "huge"),
    (("summary", "n_updates"), "2 ** 62"),
]


# Files: what is in them, by fields, and the same with one field forged


def cases_of_file(path):
    """(field, forgery) of a file; a field is ("header", path) or ("array", name)."""
    content = path.read_bytes()
    if path.suffix == ".npy":
        return [(("array", path.stem), forgery) for forgery in damages_of(np.load(path))]
    arrays = {}
    if content[:2] == b"PK":
        names = [name for name, _ in entries_of(content)]
        arrays = {
            name.removesuffix(".npy"): read_entry(content, name) for name in names if name[-4:] == ".npy"
        }
    cases = [(("header", field), forgery) for field in fields_of(header_of(path)) for forgery in VALUES]
    return cases + [
        (("array", name), forgery) for name, array in arrays.items() for forgery in damages_of(array)
    ]


def read_entry(content, name):
    return np.load(io.BytesIO(dict(entries_of(content))[name]), allow_pickle=False)


def header_of(path):
    content = path.read_bytes()
    return json.loads(dict(entries_of(content))["header.json"] if content[:2] == b"PK" else content)


def npy_of(array):
    return npy_header(array.dtype, array.shape) + np.ascontiguousarray(array).tobytes()


def forge(path, field, forgery):
    """Forge a field of a file; whether it could be."""
    kind, name = field
    content = path.read_bytes()
    if kind == "header":
        header = forged_header(header_of(path), name, forgery)
        if content[:2] == b"PK":
            path.write_bytes(zipped(with_header(entries_of(content), header)))
        else:
            path.write_text(json.dumps(header) + "\n")
        return True
    in_archive = content[:2] == b"PK"
    array = read_entry(content, f"{name}.npy") if in_archive else np.load(path)
    damage = damages_of(array)[forgery]
    array = None if damage is None else damage(array)
    if damage is not None and (not isinstance(array, np.ndarray) or array.dtype.hasobject):
        return False
    if in_archive:
        entries = entries_of(content)
        i = [entry[0] for entry in entries].index(f"{name}.npy")
        header = header_of(path)
        if array is None:
            del entries[i], header["arrays"][name]
            path.write_bytes(zipped(with_header(entries, header)))
            return True
        entries[i][1] = npy_of(array)
        header["arrays"][name] = description(array.dtype, array.shape, "")
        path.write_bytes(zipped(with_digest(with_header(entries, header), i)))
        return True
    header = path.with_name("header.json")
    if array is None:
        path.unlink()
    else:
        path.write_bytes(npy_of(array))
    if header.exists():
        described = json.loads(header.read_text())
        if array is None:
            del described["arrays"][name]
        else:
            described["arrays"][name] = description(array.dtype, array.shape, "0" * 64)
        header.write_text(json.dumps(described))
    return True


# What is written into an empty folder, and read again


def write_model(folder):
    new("OnlineEMLDA", doc_topic_prior=np.full(3, 0.3)).fit(X).save(folder / "model.zip")


def read_model(folder):
    model = sktopic.load(folder / "model.zip")
    sktopic.load(folder / "model.zip", mmap_mode="r")
    if (model.transform_sweeps, model.transform_burn_in) == (2, 1):  # else it may ask for years of work
        outcome(model.transform, X)


def write_corpus(folder):
    save_corpus(folder / "corpus", X * 0.1, [f"w{i}" for i in range(7)], [f"d{i}" for i in range(40)])


def read_corpus(folder):
    read = open_corpus(folder / "corpus")
    documents = sp.vstack(list(read.blocks()))
    documents.check_format()
    assert documents.shape == read.shape and (documents.data > 0).all()
    assert read.feature_names is None or len(read.feature_names) == read.shape[1]
    assert read.doc_ids is None or len(read.doc_ids) == read.shape[0]


LANES = {"checkpoint_every": 1, "client": False, "resume": True}
TRAINED = new("OnlineVariationalLDA", topic_word_prior="auto", doc_topic_prior="auto")


def write_checkpoint(folder):
    """Checkpoints of a fit before its end, of which the last is left."""
    DaskTopicModel(TRAINED, checkpoint=folder, **LANES).fit(X)
    numbers = sorted({name[:14] for name in os.listdir(folder)})
    for name in os.listdir(folder):
        if not name.startswith(numbers[-2]):
            os.unlink(folder / name)


def read_checkpoint(folder):
    with np.errstate(all="ignore"):
        model = DaskTopicModel(TRAINED, checkpoint=folder, **LANES).fit(X).estimator_
        assert model.components_.shape == (3, 7)


CURVE = {"n_components": [2, 3], "cv": 2, "n_words": 3}


def write_results(folder):
    """One result, that of the last line."""
    file = folder / "curve.jsonl"
    topic_number_curve(new("OnlineEMLDA"), X, results_file=file, **CURVE)
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[-1])


def read_results(folder):
    curve = topic_number_curve(new("OnlineEMLDA"), X, results_file=folder / "curve.jsonl", **CURVE)
    assert np.all([model.n_components >= 1 for model in curve.models])


READERS = {
    "model": (write_model, read_model),
    "corpus": (write_corpus, read_corpus),
    "checkpoint": (write_checkpoint, read_checkpoint),
    "results": (write_results, read_results),
}


def read_forged(folder, reader, file, field, forgery):
    """Runs in a child process."""
    original, forged = folder / "original", folder / "forged"
    shutil.rmtree(forged, ignore_errors=True)
    shutil.copytree(original, forged)
    if not forge(forged / file, field, forgery):
        return
    begin = time.process_time()
    with limited_memory():
        _, error = outcome(READERS[reader][1], forged)
    check_resources(time.process_time() - begin, MAX_SECONDS)
    if error is not None:
        allowed = (ValueError, FileNotFoundError) if forgery == "missing" else ValueError
        assert isinstance(error, allowed), f"{type(error).__name__}: {error}"
        text = str(error)
        assert str(forged) in text, f"no path: {text}"
        assert text.isprintable() and len(text) < MAX_MESSAGE, f"unclear: {text}"


@pytest.mark.parametrize("reader", READERS)
def test_forged_fields_of_files_are_refused_or_do_no_harm(reader, tmp_path):
    original = tmp_path / "original"
    original.mkdir()
    READERS[reader][0](original)
    files = sorted(path for path in original.rglob("*") if path.is_file())
    cases = [
        (tmp_path, reader, path.relative_to(original), *case)
        for path in files
        for case in cases_of_file(path)
    ]
    known = [case for case in cases if case[3:] in KNOWN]
    some = random.Random(0).sample(cases, min(len(cases), share(0.2)))
    found = failures(read_forged, known + some)
    assert not found, "\n".join(found[:20])


# Updates of lanes


def updated(name):
    """A model after a round, and the updates of the next."""
    estimator = new(name, batch_size=10, **LEARNED.get(name, {}))
    model = start_model(estimator, X.shape[1], 40)
    for n_updates in (1, 2):
        updates = [
            local_update(model, X[20 * i :][:20], lane=i, n_updates=n_updates, batch_size=20 // n_updates)
            for i in range(2)
        ]
        if n_updates == 1:
            model = merge_updates(model, updates)
    return model, updates


LEARNED = {"OnlineEMLDA": {"prior_update": "fixed-point"}, "StreamingGibbsLDA": {"n_components": 60}}
UPDATED = ["OnlineEMLDA", "StreamingGibbsLDA", "HybridHDP"]
_updated = cache(updated)
PARTS = "data", "indices", "indptr"


def parts_of(value, path=()):
    """Paths and values of all parts of an update."""
    if is_dataclass(value):
        parts = [(field.name, getattr(value, field.name)) for field in fields(value)]
    elif isinstance(value, dict):
        parts = list(value.items())
    elif sp.issparse(value):
        parts = [(name, getattr(value, name)) for name in PARTS]
    else:
        return
    for name, part in parts:
        yield (*path, name), part
        yield from parts_of(part, (*path, name))


def with_part(value, path, part):
    """A copy of an update with another part."""
    if not path:
        return part
    name, *rest = path
    if is_dataclass(value):
        return replace(value, **{name: with_part(getattr(value, name), rest, part)})
    if isinstance(value, dict):
        changed = {**value, name: with_part(value[name], rest, part)}
        return {key: content for key, content in changed.items() if content is not MISSING}
    changed = value.copy()
    setattr(changed, name, part)
    return changed


def forgeries_of(value):
    return {
        "an object in its place": None,
        **(damages_of(value) if isinstance(value, np.ndarray) else VALUES),
    }


def merge_forged(name, path, forgery):
    """Runs in a child process."""
    model, (update, other) = _updated(name)
    before = pickle.dumps(model)
    value = dict(parts_of(update))[path]
    if forgery == "an object in its place":
        part = object()
    elif isinstance(value, np.ndarray):
        damage = damages_of(value)[forgery]
        part = None if damage is None else damage(value)
        part = guarded(part) if isinstance(part, np.ndarray) else part
    else:
        part = VALUES[forgery]
    if part is MISSING and not isinstance(dict(parts_of(update)).get(path[:-1]), dict):
        part = None
    begin = time.process_time()
    merged, error = outcome(lambda: merge_updates(model, [with_part(update, path, part), other]))
    check_resources(time.process_time() - begin, MAX_SECONDS)
    assert pickle.dumps(model) == before, "the model was changed"
    if error is not None:
        assert type(error) is ValueError, f"{type(error).__name__}: {error}"
        text = str(error)
        assert "lane" in text and text.isprintable() and len(text) < MAX_MESSAGE, f"unclear: {text}"
        return
    assert np.isfinite(merged.transform(X)).all() and np.isfinite(merged.components_).all()


@pytest.mark.parametrize("name", UPDATED)
def test_forged_parts_of_updates_are_refused_or_do_no_harm(name):
    update = _updated(name)[1][0]
    assert sp.issparse(update.added) == (name == "StreamingGibbsLDA")
    cases = [(name, path, forgery) for path, value in parts_of(update) for forgery in forgeries_of(value)]
    known = [case for case in cases if case[1:] in KNOWN]
    some = random.Random(0).sample(cases, min(len(cases), share(0.3)))
    found = failures(merge_forged, known + some)
    assert not found, "\n".join(found[:20])
