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
import shutil
import struct
import time
import warnings
import zipfile
from functools import cache, partial

import numpy as np
import pytest
import scipy.sparse as sp

import sktopic
from sktopic._runtime._array_archive import PADDING_ID, description, npy_header
from sktopic.dask import DaskTopicModel
from sktopic.datasets import open_corpus, save_corpus
from sktopic.inspection import name_topics
from sktopic.model_selection import topic_number_curve
from sktopic.seeding import seed_prior
from tests.conftest import fingerprint, outcome

from .mutations import BYTES
from .test_tampered_state import MISSING, damages_of, parts_of, with_part
from .tools import (
    WATCHED,
    at_most,
    check_each,
    check_resources,
    corpus,
    new,
    share,
    some,
)

X = corpus(40)
# Bytes that reading may take beyond what the process has, for files of some KB. AddressSanitizer reserves TB.
SPARE_BYTES = 1 << 50 if WATCHED else 64 << 20
# Work that a forged number may ask for, in seconds of the processor; and length of a message.
MAX_SECONDS, MAX_MESSAGE = 10, 1500


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


def check_error(error, folder, is_missing=False):
    """An error of a file names it, in a message that can be read."""
    allowed, text = (ValueError, FileNotFoundError) if is_missing else ValueError, str(error)
    assert isinstance(error, allowed), f"{type(error).__name__}: {text}"
    assert str(folder) in text, f"no path: {text}"
    assert text.isprintable() and len(text) < MAX_MESSAGE, f"unclear: {text}"


# Archives as a list of names and contents, which are zipped anew


def entries_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [[name, archive.read(name)] for name in archive.namelist()]


def zipped(entries):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries:
            entry = zipfile.ZipInfo(name)
            begin = file.tell() + 30 + len(name.encode()) + 20
            size = -(begin + 4) % 64
            entry.extra = struct.pack("<HH", PADDING_ID, size) + bytes(size)
            with archive.open(entry, "w", force_zip64=True) as opened:
                opened.write(content)
    return file.getvalue()


def is_archive(content):
    return content[:2] == b"PK"


def header_of(content):
    return json.loads(dict(entries_of(content))["header.json"] if is_archive(content) else content)


def with_header(content, header):
    text = json.dumps(header).encode()
    if not is_archive(content):
        return text + b"\n"
    return zipped([[name, text if name == "header.json" else each] for name, each in entries_of(content)])


# Damages


@cache
def original_value(reader, original):
    return READERS[reader][1][0](original)


def read_damaged(original, reader, file, damage, seed):
    """Runs in a child process; returns "an error", "the same" or "another" for each way to read the file."""
    expected, folder, found = original_value(reader, original), copied(original), []
    content = (original / file).read_bytes()
    draw = random.Random(f"{reader} {file} {damage.__name__} {seed}")
    (folder / file).write_bytes(damage(content, draw))
    is_same = (folder / file).read_bytes() == content
    for i, read in enumerate(READERS[reader][1]):
        with at_most(SPARE_BYTES):
            value, error = outcome(read, folder)
        if error is not None:
            check_error(error, folder)
            assert not is_same, f"the file was not changed: {error}"
        elif value != expected:
            # Without checksums of mapped arrays, and of the header of a corpus, damages may go unnoticed.
            is_checked = i < len(READERS[reader][1]) - 1 and file.name != "header.json"
            assert not is_checked, f"another value, read by {read}"
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

VALUES = {
    "missing": MISSING,
    "null": None,
    "a string": "x",
    "half a character": "\ud800",
    "a list": [[1]],
    "an object": {"tuple": [{}]},
    "a scalar": {"numpy": ["<U9999999999", "a"]},
    "a generator": {"random_state": [[0] * 624, -1, 2, "x"]},
    "true": True,
    "zero": 0,
    "negative": -1,
    "a fraction": 0.5,
    "NaN": float("nan"),
    "infinite": float("inf"),
    "2 ** 31": 2**31,
    "2 ** 62": 2**62,
    "300 digits": 10**300,
}
# What did most harm once.
KNOWN = [
    (("array", "prior"), "no rows"),
    (("header", ("of",)), "a list"),
    (("array", "z"), "missing"),
    (("header", ("top_words",)), "a string"),
    (("header", ("arrays", "fitted/_state.words.store", "dtype")), "half a character"),
]


def arrays_in(path):
    """The arrays of a file by their names."""
    content = path.read_bytes()
    if path.suffix == ".npy":
        return {path.stem: np.load(path)}
    entries = entries_of(content) if is_archive(content) else []
    return {name[:-4]: np.load(io.BytesIO(each)) for name, each in entries if name.endswith(".npy")}


def cases_of_file(path):
    """(field, forgery) of a file; a field is ("header", path) or ("array", name)."""
    header = {} if path.suffix == ".npy" else header_of(path.read_bytes())
    cases = [(("header", field), forgery) for field, _ in parts_of(header) for forgery in VALUES]
    arrays = arrays_in(path).items()
    return cases + [(("array", name), forgery) for name, array in arrays for forgery in damages_of(array)]


def forge(path, field, forgery):
    """Forge a field of a file; whether it could be."""
    kind, name = field
    content = path.read_bytes()
    if kind == "header":
        path.write_bytes(with_header(content, with_part(header_of(content), name, VALUES[forgery])))
        return True
    array = arrays_in(path)[name]
    damage = damages_of(array)[forgery]
    array = None if damage is None else damage(array)
    if damage is not None and (not isinstance(array, np.ndarray) or array.dtype.hasobject):
        return False
    data = b"" if array is None else np.ascontiguousarray(array).tobytes()
    file = b"" if array is None else npy_header(array.dtype, array.shape) + data
    described = path if is_archive(content) else path.with_name("header.json")
    if is_archive(content):
        entries = dict(entries_of(content)) | {f"{name}.npy": file}
        path.write_bytes(zipped([entry for entry in entries.items() if entry[1]]))
    elif file:
        path.write_bytes(file)
    else:
        path.unlink()
    if described.exists():
        content = described.read_bytes()
        header = header_of(content)
        if array is None:
            del header["arrays"][name]
        else:
            digest = hashlib.sha256(data).hexdigest()
            header["arrays"][name] = description(array.dtype, array.shape, digest)
        described.write_bytes(with_header(content, header))
    return True


def read_forged(original, reader, file, field, forgery):
    """Runs in a child process."""
    folder = copied(original)
    if not forge(folder / file, field, forgery):
        return
    begin = time.process_time()
    for read in READERS[reader][1]:
        with at_most(SPARE_BYTES):
            _, error = outcome(read, folder)
        if error is not None:
            check_error(error, folder, forgery == "missing")
    check_resources(time.process_time() - begin, MAX_SECONDS)


# What share of the cases each reader has: many are as good as one for what readers have in common.
SHARES = {"OnlineEMLDA": 0.06, "corpus": 0.1, "checkpoint": 0.03, "results": 0.03}


@pytest.mark.parametrize("reader", READERS)
def test_forged_fields_of_files_are_refused_or_do_no_harm(reader, tmp_path):
    original = tmp_path / "original"
    files = written(reader, original)
    cases = [(original, reader, file, *case) for file in files for case in cases_of_file(original / file)]
    known = [case for case in cases if case[3:] in KNOWN]
    check_each(read_forged, known + some(cases, share(SHARES.get(reader, 0.01)), 3))


# Corpora: what the messages say

HEADERS = {
    "header.json is not a JSON object": b"[]",
    "Expecting value": b"",
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
    ("data", 20, -1, "documents 0 to 2048 are damaged: Negative values"),
    ("data", 20, 1e21, "documents 0 to 2048 are damaged: X has a count of 1e"),
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
    for i, make in enumerate(
        (
            os.mkfifo,
            os.mkdir,
            lambda file: os.symlink("/dev/zero", file),
            lambda file: file.write_bytes(b"\x93NUMPY"),
        )
    ):
        save_corpus(path / str(i), X)
        file = path / str(i) / ("indptr.npy", "data.npy")[i % 2]
        file.unlink()
        make(file)
        refused(file, file.name, lambda file: open_corpus(file.parent))


def test_numbers_of_a_corpus_that_were_changed_are_found_when_they_are_read(tmp_path):
    counts = sp.csr_array(np.tile([[0.1, 0, 0, 0, 0, 0, 0, 0, 0.2]], (N_DOCUMENTS, 1)))
    for i, (name, at, value, message) in enumerate(CHANGED):
        path = tmp_path / str(i)
        save_corpus(path, counts, [f"wörd {i}" for i in range(9)])
        array = np.load(path / f"{name}.npy", mmap_mode="r+")
        array[at] = value
        array.flush()

        def read_all(path):
            corpus = open_corpus(path)
            return list(corpus.blocks()), corpus.feature_names

        refused(path, message, read_all)
        refused(path, "digest is wrong|rows are from", partial(open_corpus, verify=True))
