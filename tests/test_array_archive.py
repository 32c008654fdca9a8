"""Zip archives of arrays: zipfile and NumPy read them, too; forged ones raise."""

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktopic._runtime._array_archive import SIZES, ArrayArchive, write_archive

from .conftest import assert_raises

ARRAYS = {
    "a/numbers": np.arange(300.0).reshape(30, 10),
    "none": np.empty((0, 7), np.int64),
    "unit": np.array(3, np.uint8),
    "records": np.array([(1, "ab"), (2, "c")], [("number", "<i8"), ("text", "<U5")]),
    "not contiguous": np.arange(24)[::2].reshape(3, 4).T,
}
HEADER = {"title": "naïve", "numbers": [1, 0.1, None]}


@pytest.fixture
def path(tmp_path):
    with open(tmp_path / "archive.zip", "wb") as file:
        write_archive(file, HEADER, ARRAYS)
    return tmp_path / "archive.zip"


def read(path, mapped=False):
    with open(path, "rb") as file:
        archive = ArrayArchive(file)
        return archive.header, {
            name: archive.array(name, ARRAYS[name].dtype, mapped) for name in archive.declared
        }


@pytest.fixture(params=[zipfile.ZIP64_LIMIT, 1000])
def limit(request, monkeypatch):
    """From which size on zipfile writes numbers of 64 bits: 2 GB, or less."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", request.param)
    return request.param


def test_what_is_written_is_read_also_by_zipfile_and_numpy(limit, path):
    assert (b"PK\6\6" in path.read_bytes()) == (limit == 1000)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
    for mapped in (False, True):
        header, arrays = read(path, mapped)
        assert header == HEADER
        assert arrays.keys() == ARRAYS.keys()
        with np.load(path, allow_pickle=False) as loaded:
            for name, array in arrays.items():
                assert array.dtype == loaded[name].dtype == ARRAYS[name].dtype
                assert_array_equal(array, ARRAYS[name])
                assert_array_equal(loaded[name], ARRAYS[name])
                assert array.flags.writeable == (not mapped or array.size == 0)
                assert array.size == 0 or not mapped or array.ctypes.data % 64 == 0


def entries(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def zipped(content, *more, method=zipfile.ZIP_STORED):
    """The archive, written anew by zipfile with more entries, which are not aligned."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in (*entries(content).items(), *more):
            entry = zipfile.ZipInfo(name)
            entry.compress_type = method
            with archive.open(entry, "w", force_zip64=True) as opened:
                opened.write(data)
    return file.getvalue()


def replaced(old, new):
    return lambda content: content.replace(old, new)


def patched(start, new):
    return lambda content: content[:start] + new + content[start + len(new) :]


def sizes(*values):
    """Change the extra field of sizes, which ends where the first array begins."""
    return patched(128 - SIZES.size, SIZES.pack(*values))


NO_END, CUT = "no zip archive, or its end is missing", "no zip archive, or is cut short"
NO_ENTRY, NO_SIZE = r"no entry of an archive at byte \d+", "its size is missing"
FORGERIES = {
    "empty": (lambda content: b"", CUT),
    "something else": (lambda content: b"\x80\x04K\x01." * 10, NO_END),
    "cut": (lambda content: content[:-1], NO_END),
    "longer": (lambda content: content + b"\0", NO_END),
    "end alone": (lambda content: content[-22:], CUT),
    "begins later": (lambda content: b"#!/bin/sh\n" + content, NO_ENTRY),
    "bytes in the midst": (lambda content: content[:999] + bytes(64) + content[999:], NO_ENTRY),
    "directory without signature": (replaced(b"PK\1\2", b"PK\1\1"), NO_ENTRY),
    "compressed": (lambda content: zipped(content, method=zipfile.ZIP_DEFLATED), "is compressed"),
    "encrypted": (patched(6, b"\1"), "compressed or encrypted"),
    "no extra field": (patched(28, b"\0\0"), NO_ENTRY),
    "sizes that differ": (sizes(1, 16, 128, 64), NO_SIZE),
    "another extra field": (sizes(2, 16, 128, 128), NO_SIZE),
    "beyond any file": (sizes(1, 16, 2**64 - 1, 2**64 - 1), "is cut short"),
    "an entry twice": (replaced(b"unit.npy", b"none.npy"), "has two entries 'none.npy'"),
    "an entry more": (lambda content: zipped(content, ("../x.npy", b"")), "do not agree on '../x.npy'"),
    "no header": (replaced(b"header.json", b"footer.json"), "no entry header.json"),
    "a name that is none": (replaced(b"none.npy", b"no\xffe.npy"), "can't decode"),
    "a header changed": (replaced(b'"title"', b'"tit1e"'), "checksum of header.json"),
    "a number changed": (replaced(struct.pack("<d", 7), struct.pack("<d", 8)), "digest of .* a/numbers"),
    "another shape": (
        replaced(b"(30, 10)", b"(10, 30)"),
        "a/numbers is damaged: its .npy header is not",
    ),
    "objects": (replaced(b"'<f8'", b"'|O' "), "a/numbers is damaged: its .npy header is not"),
    "not aligned": (zipped, "do not begin at a multiple of 64 bytes"),
    "many": (lambda content: zipped(content, *((f"{i}.npy", b"") for i in range(1000))), "more than 1000"),
}


def test_forged_archives_raise(path):
    content = path.read_bytes()
    for name, (forge, message) in FORGERIES.items():
        path.write_bytes(forge(content))
        for mapped in (False, True):
            assert_raises(ValueError, message, read, path, mapped, case=name)


def test_arrays_of_another_size_than_their_entry_are_not_allocated(path):
    with open(path, "rb") as file:
        archive = ArrayArchive(file)
        for shape in ((2**62,), (2**40, 2**40, 2**40), (4,), (2,), (3, 0)):
            archive.declared["a/numbers"] = archive.declared["a/numbers"]._replace(shape=shape)
            tracemalloc.start()
            given, message = ("a/numbers", np.dtype(np.float64)), r"it has 2528 bytes, where .* take \d+"
            assert_raises(ValueError, message, archive.array, *given, case=shape)
            assert tracemalloc.get_traced_memory()[1] < 1_000_000, shape
            tracemalloc.stop()
