"""Corpora on disk that are damaged or forged, and writers that are killed: clear errors, no half corpora."""

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import stat
import threading
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sktopic import _corpus_writer
from sktopic.datasets import open_corpus, save_corpus

from .tools import child, in_child, note, share

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
    "header.json has a key twice": b'{"format": "sktopic corpus", "format": "sktopic corpus"}',
    "header.json is no JSON object": b"[]",
    "header.json has NaN": b'{"nnz": NaN}',
    "header.json has an integer of 400 digits": b'{"nnz": ' + b"1" * 400 + b"}",
    "header.json has a number that is too large": b'{"nnz": 1e999}',
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


def test_one_at_a_time_writes(tmp_path):
    path = tmp_path / "corpus"

    def blocks():
        yield X
        for resume in (False, True):
            with pytest.raises(BlockingIOError, match="another process is writing"):
                save_corpus(path, X, resume=resume)
        yield X

    assert save_corpus(path, blocks()).shape == (6000, 9)


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


@pytest.mark.parametrize("blocks", [[X], [X, -X]], ids=["valid", "refused"])
@pytest.mark.parametrize("name", [".corpus.incomplete", f".corpus.{'0' * 16}.incomplete"])
@pytest.mark.parametrize("is_link", [True, False])
def test_a_folder_of_others_beside_the_corpus_is_neither_used_nor_emptied(
    tmp_path, precious, blocks, name, is_link
):
    path, planted = tmp_path / "corpus", tmp_path / name
    planted.symlink_to(precious) if is_link else precious.rename(planted)
    before = tree(planted)
    for resume in True, False:
        with contextlib.suppress(ValueError):
            save_corpus(path, blocks, resume=resume)
            assert not resume or name != ".corpus.incomplete"
            shutil.rmtree(path)
        assert tree(planted) == before and not path.exists() and planted.is_symlink() == is_link


def kept(path):
    """A folder that an earlier call has kept."""
    with pytest.raises(ValueError, match="block 1"):
        save_corpus(path, [X, -X], doc_ids=map(str, range(6000)), resume=True)
    return path.with_name(".corpus.incomplete")


PLANTS = {
    "link": lambda file, victim: os.symlink(victim, file),
    "hard link": lambda file, victim: os.link(victim, file),
    "dangling link": lambda file, victim: os.symlink(victim.with_name("none"), file),
    "pipe": lambda file, victim: os.mkfifo(file),
    "socket": lambda file, victim: os.mknod(file, stat.S_IFSOCK | 0o600),
    "folder": lambda file, victim: shutil.copytree(victim.parent, file),
}
NAMES_KEPT = [
    "indptr.npy",
    "doc_ids_ends.npy",
    "data.npy.wider",
    "header.json",
    "progress.json",
    "thesis.txt",
]


@pytest.mark.parametrize("name", NAMES_KEPT)
@pytest.mark.parametrize("plant", PLANTS)
def test_a_kept_folder_with_anything_else_is_not_continued(tmp_path, precious, name, plant):
    path = tmp_path / "corpus"
    folder = kept(path)
    if (folder / name).exists():
        (precious / "indptr.npy").write_bytes((folder / name).read_bytes())
        (folder / name).unlink()
    PLANTS[plant](folder / name, precious / "indptr.npy")
    before = tree(tmp_path)
    with pytest.raises((ValueError, OSError), match=r"\.corpus\.incomplete"):
        save_corpus(path, [X, X], doc_ids=map(str, range(6000)), resume=True)
    assert tree(tmp_path) == before
    save_corpus(path, X)  # which does not continue it
    assert tree(folder) == {
        key.removeprefix(f"{folder.name}/"): value
        for key, value in before.items()
        if key.startswith(f"{folder.name}/")
    }


def test_a_kept_folder_of_another_user_is_not_continued(tmp_path, monkeypatch):
    path = tmp_path / "corpus"
    folder = kept(path)
    before = tree(folder)
    another = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: another)
    with pytest.raises(ValueError, match="is not a folder of this user"):
        save_corpus(path, X, resume=True)
    save_corpus(path, X)
    assert tree(folder) == before


def test_progress_that_says_anything_else_is_not_continued(tmp_path):
    path = tmp_path / "corpus"
    folder = kept(path)
    valid = json.loads((folder / "progress.json").read_bytes())
    lengths = valid["lengths"]
    wrong = [2**62, 2**63, -1, 0, None, 3.0, True, "3", [], {}]
    forged = [valid | {key: value} for key in valid for value in wrong]
    forged += [valid | {"lengths": lengths | {key: value}} for key in lengths for value in wrong]
    forged += [valid | {"lengths": {k: v for k, v in lengths.items() if k != key}} for key in lengths]
    forged += [valid | {"lengths": lengths | {"../victim": 3}}, valid | {"other": 3}, {}, [valid]]
    forged += [valid | {"lengths": lengths | {key: lengths[key] + 1}} for key in lengths]
    for progress in forged:
        (folder / "progress.json").write_text(json.dumps(progress))
        before = tree(tmp_path)
        with pytest.raises(ValueError, match=r"\.corpus\.incomplete"):
            save_corpus(path, [X, X], doc_ids=map(str, range(6000)), resume=True)
        assert tree(tmp_path) == before, progress
    (folder / "progress.json").write_text(json.dumps(valid))
    save_corpus(path, [X, X], doc_ids=map(str, range(6000)), resume=True)


def blocks_from(first):
    """The documents after so many, two hundred at a time; later ones need larger types."""
    for start in range(first, 3000, 200):
        note(start)
        block = X[start : start + 200].copy()
        block.data[:] = start + 1
        yield block


def write_all(path, **options):
    return save_corpus(path, blocks_from, NAMES, (f"document {i}" for i in range(3000)), **options)


def write_keeping_all_progress(path):
    """Runs in a child process."""
    _corpus_writer.PROGRESS_INTERVAL = 0.0
    write_all(path, resume=True)


def test_a_writer_that_is_killed_is_gone_on_with(tmp_path):
    write_all(tmp_path / "expected")
    path, last, rng = tmp_path / "corpus", 0, random.Random(0)
    for _ in range(3):
        with child(write_keeping_all_progress, path) as (process, connection):
            first = connection.recv()[1]
            assert first >= last - 200  # nothing is lost but the block that was being written
            for _ in range(rng.randint(1, 3)):
                last = connection.recv()[1]
            os.kill(process.pid, signal.SIGKILL)
            process.join()
        assert os.listdir(tmp_path / ".corpus.incomplete") and not path.exists()
    in_child(write_keeping_all_progress, path)
    assert content_of(path) == content_of(tmp_path / "expected")
    assert sorted(os.listdir(tmp_path)) == ["corpus", "expected"]


def write_within(path, n_bytes, resume):
    """Runs in a child process, where files may not become larger: an OSError, as of a full disk."""
    _corpus_writer.PROGRESS_INTERVAL = 0.0
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    with pytest.raises(OSError, match="File too large"):
        save_corpus(path, blocks_from, NAMES, resume=resume)
    return os.listdir(path.parent)


def test_a_full_disk_is_an_error_and_what_was_whole_is_kept(tmp_path):
    path = tmp_path / "corpus"
    assert in_child(write_within, path, 20_000, False) == []
    assert in_child(write_within, path, 20_000, True) == [".corpus.incomplete"]
    kept = []
    save_corpus(path, lambda first: kept.append(first) or blocks_from(first), NAMES, resume=True)
    assert 0 < kept[0] < 3000
    save_corpus(tmp_path / "expected", blocks_from(0), NAMES)
    assert content_of(path) == content_of(tmp_path / "expected")
