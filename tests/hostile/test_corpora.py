"""Corpora on disk that are damaged or forged, and files of others where they are written: clear errors."""

import contextlib
import json
import os
import random
import shutil
import stat
import threading
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sktopic._documents import _corpus_writer
from sktopic.datasets import open_corpus, save_corpus

from .tools import share

X = sp.csr_array(np.random.default_rng(0).poisson(0.5, (3000, 9)).astype(float))
NAMES = [f"wörd {i}" for i in range(9)]
# Bytes that opening a forged folder may take.
MOST_BYTES = 1 << 20


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    path = tmp_path_factory.mktemp("valid") / "corpus"
    save_corpus(path, X * 0.1, NAMES, [f"d{i}" for i in range(3000)])
    return path


@pytest.fixture
def path(valid, tmp_path):
    return shutil.copytree(valid, tmp_path / "corpus")


def read_all(path, verify=False):
    corpus = open_corpus(path, verify=verify)
    return sp.vstack(list(corpus.blocks())), corpus.feature_names, corpus.doc_ids


def content_of(folder):
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


# Headers

HEADERS = {
    "header.json is nested too deeply": b'{"format": ' + b"[" * 100_000,
    "header.json is not a JSON object": b"[]",
    "Exceeds the limit": b'{"nnz": ' + b"1" * 5000 + b"}",
    "Expecting value": b"",
    "Unterminated string": b'{"format',
    "codec can't decode": b'{"format": "\xff"}',
    "has 1048577 bytes; 1048576 are allowed": b" " * (2**20 + 1),
    "not the header of a corpus": b'{"format": "another"}',
}


@pytest.mark.parametrize("message", HEADERS)
def test_text_that_is_no_header(path, message):
    (path / "header.json").write_bytes(HEADERS[message])
    with pytest.raises(ValueError, match=message) as caught:
        open_corpus(path)
    assert str(path / "header.json") in str(caught.value)


WRONG = 2**62, 2**63, -1, 0, None, 3.0, "<i8", "|O", [2**62], {}, [3000, 9, 9], [0, 9], [3000, 2**31]


def test_header_that_says_anything_else(path):
    """Each value, one at a time, replaced by many others: none is believed."""
    header = json.loads((path / "header.json").read_bytes())
    cases = [(name,) for name in header]
    cases += [("arrays", name) for name in header["arrays"]]
    cases += [("arrays", name, key) for name in header["arrays"] for key in ("dtype", "shape")]
    cases += [("shape", 0), ("shape", 1), ("arrays", "other")]
    for *outer, last in cases:
        for wrong in WRONG:
            changed = inner = json.loads(json.dumps(header))
            for key in outer:
                inner = inner[key]
            if last != "other" and inner[last] == wrong:
                continue
            inner[last] = wrong
            (path / "header.json").write_text(json.dumps(changed))
            with pytest.raises(ValueError) as caught:  # noqa: PT011 (the path is looked for below)
                open_corpus(path)
            assert str(path) in str(caught.value) and len(str(caught.value)) < 1000


def test_header_of_an_absurd_size_takes_no_memory(path):
    header = json.loads((path / "header.json").read_bytes())
    header |= {"shape": [2**61, 2**31 - 1], "nnz": 2**61}
    for name, length in (("indptr", 2**61 + 1), ("indices", 2**61), ("data", 2**61), ("doc_ids_ends", 2**61)):
        header["arrays"][name]["shape"] = [length]
        header["arrays"][name]["dtype"] = "<f8" if name == "data" else "<i8"
    header["arrays"]["feature_names_ends"]["shape"] = [2**31 - 1]
    (path / "header.json").write_text(json.dumps(header))
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=r"indptr.npy: it has \d+ bytes; with .* 18446744073709551752 are allowed"
        ):
            open_corpus(path)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["indptr", "indices", "data", "feature_names", "doc_ids_ends"])
def test_files_that_are_not_what_the_header_says(path, name, tmp_path):
    file = path / f"{name}.npy"
    content = file.read_bytes()
    other = (path / ("data.npy" if name != "data" else "indices.npy")).read_bytes()
    for wrong in (content[:-1], content + b"\0", content[:100], b"", b"\0" + content[1:], other):
        file.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"it has \d+ bytes|its header is not") as caught:
            open_corpus(path)
        assert str(file) in str(caught.value)
    file.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        open_corpus(path)
    assert str(file) in str(caught.value)
    for make in (os.mkfifo, os.mkdir, lambda file: os.symlink("/dev/zero", file)):
        make(file)
        with pytest.raises((ValueError, IsADirectoryError)) as caught:
            open_corpus(path)
        assert str(file) in str(caught.value)
        file.rmdir() if file.is_dir() else file.unlink()


def test_folders_that_are_none(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    for name, error in (
        ("file", NotADirectoryError),
        ("none", FileNotFoundError),
        ("empty", FileNotFoundError),
    ):
        with pytest.raises(error, match=name):
            open_corpus(tmp_path / name)


def test_swapped_files_of_the_same_type_are_found_by_digests_and_by_reading(path):
    header = json.loads((path / "header.json").read_bytes())
    arrays = header["arrays"]
    assert open_corpus(path, verify=True).nnz == X.nnz
    indices = np.load(path / "indices.npy", mmap_mode="r+")
    indices[:] = indices[::-1].copy()
    indices.flush()
    with pytest.raises(ValueError, match=r"indices.npy: its SHA-256 digest is wrong"):
        open_corpus(path, verify=True)
    arrays["indices"]["sha256"], arrays["data"]["sha256"] = (
        arrays["data"]["sha256"],
        arrays["indices"]["sha256"],
    )
    (path / "header.json").write_text(json.dumps(header))
    with pytest.raises(ValueError, match="digest is wrong"):
        open_corpus(path, verify=True)
    with pytest.raises(
        ValueError, match=r"corpus: documents 0 to 2048 are damaged: their words do not ascend"
    ):
        read_all(path)


@pytest.mark.parametrize(
    ("name", "at", "value", "message"),
    [
        ("indptr", 0, 1, r"indptr.npy: rows are from entry 1 to"),
        ("indptr", -1, X.nnz + 1, r"indptr.npy: rows are from entry 0 to"),
        ("indptr", 2500, -1, "documents 2048 to 3000 are damaged: their bounds"),
        ("indptr", 2500, 2**31 - 1, "documents 2048 to 3000 are damaged: their bounds"),
        ("indptr", 2048, 2**31 - 1, "documents 0 to 2048 are damaged: their bounds"),
        ("indices", 20, -1, "documents 0 to 2048 are damaged: they have words outside 0 to 8"),
        ("indices", -1, 9, "documents 2048 to 3000 are damaged: they have words outside 0 to 8"),
        ("indices", slice(0, 90), 8, "documents 0 to 2048 are damaged: their words do not ascend"),
        ("data", 20, np.nan, "documents 0 to 2048 are damaged: X contains NaN"),
        ("data", 20, -1, "documents 0 to 2048 are damaged: Negative values"),
        ("data", 20, 1e21, "documents 0 to 2048 are damaged: X has a count of 1e"),
        ("data", 20, 0, "documents 0 to 2048 are damaged: their words do not ascend, or have counts of zero"),
        ("feature_names", 1, 255, r"feature_names.npy: .*can't decode"),
        ("feature_names_ends", 3, 2**40, r"feature_names_ends.npy: ends of strings do not ascend"),
        ("feature_names_ends", -1, 2, r"feature_names_ends.npy: ends of strings do not ascend"),
        ("feature_names_ends", 0, -5, r"feature_names_ends.npy: ends of strings do not ascend"),
    ],
)
def test_numbers_that_were_changed_are_found_when_they_are_read(path, name, at, value, message):
    array = np.load(path / f"{name}.npy", mmap_mode="r+")
    array[at] = value
    array.flush()
    with pytest.raises(ValueError, match=message) as caught:
        read_all(path)
    assert str(path) in str(caught.value)
    with pytest.raises(ValueError, match=r"digest is wrong|rows are from"):
        open_corpus(path, verify=True)


def test_mutated_bytes_are_noticed_or_read_as_valid_documents(valid, path):
    original, names = content_of(valid), sorted(content_of(valid))
    for case in range(share(0.15)):
        rng = random.Random(case)
        name = rng.choice([*names, "header.json"])
        content = bytearray(original[name])
        for _ in range(rng.randint(1, 3)):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.2:
            content = content[: rng.randrange(len(content))]
        (path / name).write_bytes(content)
        if content != original[name]:
            with contextlib.suppress(ValueError):
                documents, _, _ = read_all(path)
                documents.check_format()
                assert documents.has_canonical_format and (documents.data > 0).all(), case
            with contextlib.suppress(ValueError):  # what is not in a digest: of the header
                open_corpus(path, verify=True)
                assert name == "header.json"
        (path / name).write_bytes(original[name])
    assert_array_equal(read_all(path)[0].toarray(), (X * 0.1).toarray())


# Several processes


def test_a_folder_that_cannot_be_written_is_read(path):
    for file in path.iterdir():
        file.chmod(0o400)
    path.chmod(0o500)
    first, second = open_corpus(path), open_corpus(path, verify=True)
    assert_array_equal(first[:10].toarray(), second[:10].toarray())
    path.chmod(0o700)


def test_who_opens_a_corpus_that_is_replaced_has_one_or_the_other(tmp_path):
    path = tmp_path / "corpus"
    sizes = 10, 3000
    save_corpus(path, X[:10])
    stop = threading.Event()

    def replace():
        i = 0
        while not stop.is_set():
            save_corpus(path, X[: sizes[i % 2]], overwrite=True)
            i += 1

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        found = set()
        for _ in range(share(0.2, 100)):
            with contextlib.suppress(FileNotFoundError):  # between the two
                corpus = open_corpus(path, verify=True)
                assert_array_equal(corpus[:10].toarray(), X[:10].toarray())
                found.add(corpus.shape[0])
    finally:
        stop.set()
        thread.join()
    assert found <= set(sizes)
    assert os.listdir(tmp_path) == ["corpus"]


# What others have put where a corpus is written


@pytest.fixture
def precious(tmp_path):
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    (folder / "indptr.npy").write_text("of another program")
    return folder


def tree(folder):
    """What is in a folder, and when it was changed last."""
    found = {}
    for entry in folder.rglob("*"):
        status = entry.lstat()
        is_file = stat.S_ISREG(status.st_mode)
        content = entry.read_bytes() if is_file else None
        found[str(entry.relative_to(folder))] = (
            status.st_mode,
            status.st_nlink,
            content,
            status.st_mtime_ns if is_file else 0,
        )
    return found


PLANTS = {
    "link": lambda file, victim: os.symlink(victim, file),
    "hard link": lambda file, victim: os.link(victim, file),
    "dangling link": lambda file, victim: os.symlink(victim.with_name("none"), file),
    "pipe": lambda file, victim: os.mkfifo(file),
    "socket": lambda file, victim: os.mknod(file, stat.S_IFSOCK | 0o600),
    "folder": lambda file, victim: shutil.copytree(victim.parent, file),
}
every_plant = pytest.mark.parametrize("plant", PLANTS)


@every_plant
def test_what_others_have_put_at_the_name_of_the_new_folder_is_left_alone(
    tmp_path, precious, monkeypatch, plant
):
    """If they could guess it."""
    monkeypatch.setattr(_corpus_writer.secrets, "token_hex", lambda n_bytes: "0" * 16)
    path, name = tmp_path / "corpus", f".corpus.{'0' * 16}"
    PLANTS[plant](tmp_path / f"{name}.incomplete", precious / "indptr.npy")
    before = tree(tmp_path)
    with pytest.raises(FileExistsError, match=f"{name}.incomplete"):
        save_corpus(path, X)
    assert tree(tmp_path) == before


@every_plant
def test_what_others_have_put_at_the_name_of_the_old_folder_is_left_alone(
    tmp_path, precious, monkeypatch, plant
):
    monkeypatch.setattr(_corpus_writer.secrets, "token_hex", lambda n_bytes: "0" * 16)
    path = tmp_path / "corpus"
    save_corpus(path, X)
    PLANTS[plant](tmp_path / f".corpus.{'0' * 16}.replaced", precious / "indptr.npy")
    before = tree(tmp_path)
    with pytest.raises(OSError, match=f"corpus.{'0' * 16}.replaced"):
        save_corpus(path, X[:10], overwrite=True)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["indptr.npy", "header.json", "feature_names.npy"])
@every_plant
def test_nothing_is_written_through_what_others_put_into_the_new_folder(tmp_path, precious, name, plant):
    path, before = tmp_path / "corpus", content_of(precious)

    def blocks():
        (folder,) = tmp_path.glob(".corpus.*.incomplete")
        PLANTS[plant](folder / name, precious / "indptr.npy")
        yield X

    with pytest.raises(FileExistsError, match=name):
        save_corpus(path, blocks(), NAMES)
    assert content_of(precious) == before and not path.exists()
