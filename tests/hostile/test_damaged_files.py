"""Files of models, corpora, checkpoints and results, damaged at random or forged one field at a time.

Damages end in an error that names the file, or in the same value. Forgeries have the right checksums: they
end in an error or in a value that does no harm; never in a crash, in memory of the forger's choice, or in
work without end. Files are read in child processes that may not take much more memory than they have.

``SKTOPIC_HOSTILE_CASES=100000 pytest tests/hostile/test_damaged_files.py`` forges all fields in all ways.
"""

import contextlib
import hashlib
import io
import itertools
import json
import os
import random
import re
import shutil
import warnings
import zipfile
from functools import cache, partial

import numpy as np
import pytest
import scipy.sparse as sp

import sktopic
from sktopic._runtime._array_archive import _write_entry, description, npy_header
from sktopic.dask import DaskTopicModel
from sktopic.datasets import open_corpus, save_corpus
from sktopic.inspection import name_topics
from sktopic.model_selection import topic_number_curve
from sktopic.seeding import seed_prior
from tests.conftest import fingerprint, outcome

from .mutations import BYTES
from .test_tampered_state import MISSING, SCALARS, damaged, damages_of, parts_of, with_part
from .tools import SPARE_BYTES, at_most, check_each, check_error, corpus, new, share, some, within

X = corpus(40)


# What is written into an empty folder, and read again in some ways; those of number 0 check all checksums

# Each kind of training loop; parameters that are arrays, sparse, tuples, scalars and generators.
MODELS = {
    "OnlineEMLDA": {"doc_topic_prior": np.full(3, 0.3), "random_state": np.random.RandomState(0)},
    "CollapsedGibbsLDA": {"thinning": np.int64(2)},
    "DirectAssignmentHDP": {"doc_concentration_prior": (1.0, 2.0)},
    "DirectAssignmentHDP, memoized": {},
    "HybridHDP": {},
    "HybridLDA": {"topic_word_prior": seed_prior({2: ["w1"]}, [f"w{i}" for i in range(7)], 3)},
    "DegenerateDirichletLDA": {"n_components_prior": "uniform"},
}
LANES = {"checkpoint_every": 1, "client": False, "resume": True}
TRAINED = new("OnlineVariationalLDA", topic_word_prior="auto", doc_topic_prior="auto")
CURVE = {"n_components": [2, 3], "cv": 2, "n_words": 3}


def write_model(name, folder):
    model = new(name, **MODELS[name]).fit(X)
    if name == "HybridLDA":
        name_topics(model.freeze_topics([1]), {1: "frozen"})
    model.save(folder / "model.zip")


def parameters_of(model):
    return str(model.get_params() | {"random_state": None})


def read_model(folder, **how):
    model = sktopic.load(folder / "model.zip", **how)
    found = fingerprint(vars(model))
    # Other parameters may ask for years of work.
    if parameters_of(model) in [parameters_of(new(name, **MODELS[name])) for name in MODELS]:
        for call in (model.transform, model.score, model.partial_fit):
            with np.errstate(all="ignore"), warnings.catch_warnings(), contextlib.suppress(Exception):
                warnings.simplefilter("ignore")
                call(X)  # wrong numbers may give wrong answers, or errors
    return found


def write_corpus(folder):
    save_corpus(folder / "corpus", X * 0.1, [f"wörd {i}" for i in range(7)], [f"d{i}" for i in range(40)])


def read_corpus(folder, verify=False):
    read = open_corpus(folder / "corpus", verify=verify)
    documents = sp.vstack(list(read.blocks()))
    documents.check_format()
    assert documents.has_canonical_format
    assert documents.shape == read.shape and (documents.data > 0).all()
    assert read.feature_names is None or len(read.feature_names) == read.shape[1]
    assert read.doc_ids is None or len(read.doc_ids) == read.shape[0]
    return fingerprint([documents, read.feature_names, read.doc_ids])


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


def write_results(folder):
    """One result, that of the last line."""
    file = folder / "curve.jsonl"
    topic_number_curve(new("OnlineEMLDA"), X, results_file=file, **CURVE)
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[-1])


def read_results(folder):
    curve = topic_number_curve(new("OnlineEMLDA"), X, results_file=folder / "curve.jsonl", **CURVE)
    assert np.all([model.n_components >= 1 for model in curve.models])


MAPPED = partial(read_model, mmap_mode="r")
READERS = {
    **{
        name: (partial(write_model, name), (read_model, MAPPED, partial(MAPPED, verify=False)))
        for name in MODELS
    },
    "corpus": (write_corpus, (partial(read_corpus, verify=True), read_corpus)),
    "checkpoint": (write_checkpoint, (read_checkpoint,)),
    "results": (write_results, (read_results,)),
}


def written(reader, folder):
    """A folder with what is written, and the paths of its files in it."""
    folder.mkdir()
    READERS[reader][0](folder)
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def copied(original):
    folder = original.with_name("changed")
    shutil.rmtree(folder, ignore_errors=True)
    return shutil.copytree(original, folder)


# Damages


@cache
def original_value(reader, original):
    return READERS[reader][1][0](original)


def read_in_all_ways(reader, folder, kinds=(ValueError,)):
    """Values and errors, which name the folder."""
    for read in READERS[reader][1]:
        with at_most(SPARE_BYTES):
            value, error = outcome(read, folder)
        if error is not None:
            check_error(error, folder, kinds=kinds)
        yield value, error


def read_damaged(original, reader, file, damage, seed):
    """Runs in a child process; returns "an error", "the same" or "another" for each way to read the file."""
    expected, folder, found = original_value(reader, original), copied(original), []
    content = (original / file).read_bytes()
    draw = random.Random(f"{reader} {file} {damage.__name__} {seed}")
    (folder / file).write_bytes(damage(content, draw))
    is_same = (folder / file).read_bytes() == content
    for i, (value, error) in enumerate(read_in_all_ways(reader, folder)):
        assert not (is_same and error), f"the file was not changed: {error}"
        # Without checksums of mapped arrays, and of the header of a corpus, damages may go unnoticed.
        is_checked = i < len(READERS[reader][1]) - 1 and file.name != "header.json"
        assert error or value == expected or not is_checked, f"another value, read in way {i}"
        found.append("an error" if error else "the same" if value == expected else "another")
    return found


def test_damaged_files_are_refused_or_have_the_same_value(tmp_path):
    n_cases, outcomes, cases = share(0.015), set(), []
    for reader in (*MODELS, "corpus"):
        files = written(reader, tmp_path / reader)
        every = itertools.product([tmp_path / reader], [reader], files, BYTES, range(n_cases))
        cases += some(list(every), n_cases, 2, 3)
    check_each(read_damaged, cases, outcomes.update)
    assert outcomes >= {"an error", "the same"}


# Forgeries

VALUES = SCALARS | {
    "half a character": "\ud800",
    "a list": [[1]],
    "an object": {"tuple": [{}]},
    "a scalar": {"numpy": ["<U9999999999", "a"]},
    "a generator": {"random_state": [[0] * 624, -1, 2, "x"]},
    "true": True,
    "2 ** 31": 2**31,
}
# What did most harm once.
KNOWN = [
    (("array", "fitted/_state.doc_topic_prior"), "no rows"),
    (("header", ("of",)), "a list"),
    (("header", ("top_words",)), "a string"),
    (("header", ("arrays", "fitted/_state.words.store", "dtype")), "half a character"),
]


def entries_of(file):
    """Contents by name: of an archive, or of the folder of another file; and the name of the header."""
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            return {name: archive.read(name) for name in archive.namelist()}, "header.json"
    return {path.name: path.read_bytes() for path in file.parent.iterdir()}, file.name


def replace_entries(file, entries):
    if zipfile.is_zipfile(file):
        with open(file, "wb") as opened, zipfile.ZipFile(opened, "w") as archive:
            for name, content in entries.items():
                _write_entry(archive, opened, name, (content,))
        return
    for path in file.parent.iterdir():
        path.unlink()
    for name, content in entries.items():
        file.with_name(name).write_bytes(content)


def array_in(entries, name):
    return np.load(io.BytesIO(entries[f"{name}.npy"]))


def cases_of_file(file):
    """(field, forgery) of a file with a header; a field is ("header", path) or ("array", name)."""
    entries, head = entries_of(file)
    cases = [(("header", path), each) for path, _ in parts_of(json.loads(entries[head])) for each in VALUES]
    arrays = [name.removesuffix(".npy") for name in entries if name.endswith(".npy")]
    return cases + [
        (("array", name), each) for name in arrays for each in damages_of(array_in(entries, name))
    ]


def forge(file, field, forgery):
    """Forge a field of a file; whether it could be."""
    (kind, name), (entries, head) = field, entries_of(file)
    header = json.loads(entries[head])
    if kind == "header":
        header = with_part(header, name, VALUES[forgery])
    else:
        array = damaged(array_in(entries, name), forgery)
        if array is MISSING:
            del entries[f"{name}.npy"], header["arrays"][name]
        elif isinstance(array, np.ndarray) and not array.dtype.hasobject:
            data = array.tobytes()
            entries[f"{name}.npy"] = npy_header(array.dtype, array.shape) + data
            header["arrays"][name] = description(array.dtype, array.shape, hashlib.sha256(data).hexdigest())
        else:
            return False
    entries[head] = json.dumps(header).encode() + b"\n"
    replace_entries(file, entries)
    return True


def read_forged(original, reader, file, field, forgery):
    """Runs in a child process."""
    folder = copied(original)
    if not forge(folder / file, field, forgery):
        return
    kinds = (ValueError, FileNotFoundError) if forgery == "missing" else (ValueError,)
    with within(10):  # work that a forged number may ask for
        list(read_in_all_ways(reader, folder, kinds))


# What share of the cases each reader has: many are as good as one for what readers have in common.
SHARES = {"OnlineEMLDA": 0.06, "corpus": 0.1, "checkpoint": 0.03, "results": 0.03}


@pytest.mark.parametrize("reader", READERS)
def test_forged_fields_of_files_are_refused_or_do_no_harm(reader, tmp_path):
    original = tmp_path / "original"
    files = [file for file in written(reader, original) if file.suffix != ".npy"]
    cases = [(original, reader, file, *case) for file in files for case in cases_of_file(original / file)]
    known = [case for case in cases if case[3:] in KNOWN]
    check_each(read_forged, known + some(cases, share(SHARES.get(reader, 0.01)), 3))


# Corpora: what the messages say

HEADERS = {
    "has 1048577 bytes; 1048576 are allowed": b" " * (2**20 + 1),
    "not the header of a corpus": b'{"format": "another"}',
}
N_DOCUMENTS = 2100  # which are read in two blocks
CHANGED = [
    ("indptr", 0, 1, r"indptr.npy: rows are from entry 1 to"),
    ("indptr", -1, 2 * N_DOCUMENTS + 1, r"indptr.npy: rows are from entry 0 to"),
    ("indptr", 2070, -1, "documents 2048 to 2100 are damaged: their bounds"),
    ("indptr", 2048, 2**15 - 1, "documents 0 to 2048 are damaged: their bounds"),
    ("indices", 20, -1, "documents 0 to 2048 are damaged: they have words outside 0 to 8"),
    ("indices", -1, 9, "documents 2048 to 2100 are damaged: they have words outside 0 to 8"),
    ("indices", slice(0, 90), 8, "documents 0 to 2048 are damaged: their words do not ascend"),
    ("data", 20, np.nan, "documents 0 to 2048 are damaged: X contains NaN"),
    ("data", 20, 0, "documents 0 to 2048 are damaged: their words do not ascend, or have counts of zero"),
    ("feature_names", 1, 255, r"feature_names.npy: .*can't decode"),
    ("feature_names_ends", 3, 2**40, r"feature_names_ends.npy: ends of strings do not ascend"),
    ("feature_names_ends", -1, 2, r"feature_names_ends.npy: ends of strings do not ascend"),
    ("feature_names_ends", 0, -5, r"feature_names_ends.npy: ends of strings do not ascend"),
]


def refused(path, message, read=open_corpus):
    with pytest.raises((ValueError, OSError), match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


FILES = [  # and what is said of them
    (os.mkfifo, "is no regular file"),
    (os.mkdir, "Is a directory"),
    (lambda file: os.symlink("/dev/zero", file), "is no regular file"),
    (lambda file: file.write_bytes(b"\x93NUMPY"), "data.npy"),
]


def test_folders_and_files_of_a_corpus_that_are_none(tmp_path):
    path = tmp_path / "corpus"
    refused(path, "No such file")
    path.touch()
    refused(path, "Not a directory")
    path.unlink()
    path.mkdir()
    refused(path, "No such file")
    for message, text in HEADERS.items():
        (path / "header.json").write_bytes(text)
        refused(path, message)
    for i, (make, said) in enumerate(FILES):
        save_corpus(path / str(i), X)
        file = path / str(i) / ("indptr.npy", "data.npy")[i % 2]
        file.unlink()
        make(file)
        refused(file, said, lambda file: open_corpus(file.parent))
    header = json.loads((path / "0" / "header.json").read_bytes())
    for shape in ([1, 2**31], [2**63, 3], [0, 3], [1, 3, 1], [1.0, 3], "13"):
        (path / "header.json").write_text(json.dumps({**header, "shape": shape}))
        refused(path, f"its shape {re.escape(repr(shape))} or nnz")


def read_all(path):
    corpus = open_corpus(path)
    return list(corpus.blocks()), corpus.feature_names


def test_numbers_of_a_corpus_that_were_changed_are_found_when_they_are_read(tmp_path):
    counts = sp.csr_array(np.tile([[0.1, 0, 0, 0, 0, 0, 0, 0, 0.2]], (N_DOCUMENTS, 1)))
    path = tmp_path / "corpus"
    for name, at, value, message in CHANGED:
        save_corpus(path, counts, [f"wörd {i}" for i in range(9)], overwrite=True)
        array = np.load(path / f"{name}.npy", mmap_mode="r+")
        array[at] = value
        array.flush()
        refused(path, message, read_all)
        refused(path, "digest is wrong|rows are from", partial(open_corpus, verify=True))
