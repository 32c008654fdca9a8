"""Zip archives of arrays: what zipfile and NumPy make of them, and forged ones, each of which raises."""

import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktopic._runtime._array_archive import CENTRAL, END, LOCAL, ArrayArchive, npy_header, write_archive

ARRAYS = {
    "a/numbers": np.arange(300.0).reshape(30, 10),
    "none": np.empty((0, 7), np.int64),
    "scalar": np.array(3, np.uint8),
    "records": np.array([(1, "ab"), (2, "c")], [("number", "<i8"), ("text", "<U5")]),
    "not contiguous": np.arange(24)[::2].reshape(3, 4).T,
}
HEADER = {"title": "naïve", "numbers": [1, 0.1, None]}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "archive.zip"
    with open(path, "wb") as file:
        write_archive(file, HEADER, ARRAYS)
    return path


def read(path, mapped=False):
    with open(path, "rb") as file:
        archive = ArrayArchive(file)
        return archive.header, {
            name: archive.array(name, ARRAYS[name].dtype, mapped) for name in archive.declared
        }


@pytest.mark.parametrize("mapped", [False, True])
def test_what_is_written_is_read(path, mapped):
    header, arrays = read(path, mapped)
    assert header == HEADER
    assert arrays.keys() == ARRAYS.keys()
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        assert_array_equal(array, ARRAYS[name])
        assert array.flags.writeable == (not mapped or array.size == 0)
        assert array.size == 0 or not mapped or array.ctypes.data % 64 == 0


def test_zipfile_and_numpy_read_it_too(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    with np.load(path, allow_pickle=False) as arrays:
        for name, array in ARRAYS.items():
            assert_array_equal(arrays[name], array)


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_npy_headers_are_those_of_numpy(array):
    file = io.BytesIO(npy_header(array.dtype, array.shape))
    assert len(file.getvalue()) % 64 == 0
    assert np.lib.format.read_magic(file) == (1, 0)
    assert np.lib.format.read_array_header_1_0(file) == (array.shape, False, array.dtype)


def test_large_archives_have_numbers_of_64_bits(tmp_path, monkeypatch):
    """As zipfile writes them beyond 2 GB; here beyond 1 KB. And beyond 4 GB, where the end refers to them."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    path = tmp_path / "large.zip"
    with open(path, "wb") as file:
        write_archive(file, HEADER, ARRAYS)
    content = path.read_bytes()
    assert b"PK\6\6" in content
    for mapped in (False, True):
        assert_array_equal(read(path, mapped)[1]["a/numbers"], ARRAYS["a/numbers"])
    at = content.index(b"PK\5\6") + 16
    path.write_bytes(content[:at] + b"\xff" * 4 + content[at + 4 :])
    assert_array_equal(read(path)[1]["a/numbers"], ARRAYS["a/numbers"])
    path.write_bytes((content[:at] + b"\xff" * 4 + content[at + 4 :]).replace(b"PK\6\6", b"PK\6\5"))
    with pytest.raises(ValueError, match="does not say where its directory is"):
        read(path)


def fields_of(content, signature, record):
    at = content.index(signature)
    return at, list(record.unpack_from(content, at))


def with_fields(content, signature, record, **changes):
    """The content with some fields, by their position, of the first such record changed."""
    at, fields = fields_of(content, signature, record)
    for position, value in changes.items():
        fields[int(position[1:])] = value
    return content[:at] + record.pack(*fields) + content[at + record.size :]


def entries(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def zipped(content, *more, method=zipfile.ZIP_STORED):
    """The archive, written anew by zipfile with more entries."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in (*entries(content).items(), *more):
            archive.writestr(name, data)
    return file.getvalue()


def twice(content):
    with pytest.warns(UserWarning, match="Duplicate name"):
        return zipped(content, ("none.npy", entries(content)["none.npy"]))


def overlapping(content):
    """The second entry begins inside the first, with a local header of its own."""
    at, _ = fields_of(content, b"PK\1\2", CENTRAL)
    second = content.index(b"PK\1\2", at + 4)
    offset = CENTRAL.unpack_from(content, second)[-1]
    n_name = LOCAL.unpack_from(content, offset)[-2]
    header = LOCAL.pack(*LOCAL.unpack_from(content, offset)[:-1], 0) + content[offset + LOCAL.size :][:n_name]
    begin = LOCAL.size + 200
    mutated = bytearray(content)
    mutated[begin : begin + len(header)] = header
    mutated[second + CENTRAL.size - 4 : second + CENTRAL.size] = struct.pack("<L", begin)
    return bytes(mutated)


FORGERIES = {
    "empty": (lambda content: b"", "no zip archive, or its end is missing"),
    "of something else": (lambda content: b"\x80\x04K\x01." * 10, "no zip archive, or its end is missing"),
    "cut": (lambda content: content[:-1], "no zip archive, or its end is missing"),
    "half": (lambda content: content[: len(content) // 2], "no zip archive, or its end is missing"),
    "end alone": (lambda content: content[-END.size :], "is not where its end says"),
    "with a comment": (
        lambda content: with_fields(content, b"PK\5\6", END, _7=1),
        "a comment or several parts",
    ),
    "of two disks": (
        lambda content: with_fields(content, b"PK\5\6", END, _1=1),
        "a comment or several parts",
    ),
    "begins later": (lambda content: b"#!/bin/sh\n" + content, "is not where its end says"),
    "more entries than there are": (
        lambda content: with_fields(content, b"PK\5\6", END, _3=7, _4=7),
        "ends inside an entry",
    ),
    "fewer entries than there are": (
        lambda content: with_fields(content, b"PK\5\6", END, _3=5, _4=5),
        "has bytes that belong to no entry",
    ),
    "a directory of no signature": (
        lambda content: content.replace(b"PK\1\2", b"PK\1\1"),
        "directory is damaged",
    ),
    "compressed": (
        lambda content: zipped(content, method=zipfile.ZIP_DEFLATED),
        "is compressed or encrypted",
    ),
    "encrypted": (lambda content: with_fields(content, b"PK\1\2", CENTRAL, _3=1), "compressed or encrypted"),
    "sizes that differ": (
        lambda content: with_fields(content, b"PK\1\2", CENTRAL, _8=1),
        "not stored as it is",
    ),
    "a size beyond the file": (
        lambda content: with_fields(content, b"PK\1\2", CENTRAL, _8=2**31, _9=2**31),
        "'a/numbers.npy' does not end inside the archive",
    ),
    "a size that is missing": (
        lambda content: with_fields(content, b"PK\1\2", CENTRAL, _8=2**32 - 1, _9=2**32 - 1),
        "lacks a size or an offset",
    ),
    "an offset beyond the file": (
        lambda content: with_fields(content, b"PK\1\2", CENTRAL, _16=2**31),
        "does not begin inside the archive",
    ),
    "an offset to another entry": (
        lambda content: with_fields(content, b"PK\1\2", CENTRAL, _16=0).replace(
            b"a/numbers", b"b/numbers", 1
        ),
        "begins with another header",
    ),
    "entries that overlap": (overlapping, "'a/numbers.npy' overlaps|'none.npy' overlaps"),
    "an entry twice": (twice, "has two entries 'none.npy'"),
    "an entry more": (lambda content: zipped(content, ("../../x.npy", b"")), "do not agree on '../../x.npy'"),
    "no header": (lambda content: content.replace(b"header.json", b"footer.json"), "no entry header.json"),
    "a name that is none": (lambda content: content.replace(b"none.npy", b"no\xffe.npy"), "can't decode"),
    "a header changed": (lambda content: content.replace(b'"title"', b'"tit1e"'), "checksum of header.json"),
    "a number changed": (
        lambda content: content.replace(struct.pack("<d", 7), struct.pack("<d", 8)),
        "digest of the array a/numbers",
    ),
    "a .npy header changed": (
        lambda content: content.replace(b"(30, 10)", b"(10, 30)"),
        ".npy header of a/numbers is not that",
    ),
    "a .npy header of objects": (
        lambda content: content.replace(b"'<f8'", b"'|O' "),
        ".npy header of a/numbers is not that",
    ),
    "not aligned": (zipped, "does not begin at a multiple of 64 bytes"),
}


@pytest.mark.parametrize(("forge", "message"), FORGERIES.values(), ids=FORGERIES)
def test_forged_archives_raise(path, forge, message):
    path.write_bytes(forge(path.read_bytes()))
    for mapped in (False, True):
        with pytest.raises(ValueError, match=message):
            read(path, mapped)


def with_shape(shape):
    """An archive of three numbers that are said to have another shape."""
    file = io.BytesIO()
    write_archive(file, {}, {"a": np.zeros(3)})
    content = file.getvalue()
    header = json.loads(entries(content)["header.json"])
    header["arrays"]["a"]["shape"] = shape
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", entries(content)["a.npy"])
        archive.writestr("header.json", json.dumps(header))
    return file.getvalue()


@pytest.mark.parametrize("shape", [[2**62], [2**40, 2**40, 2**40], [4], [2], [3, 0]])
def test_arrays_of_another_size_than_their_entry_are_not_allocated(tmp_path, shape):
    path = tmp_path / "forged.zip"
    path.write_bytes(with_shape(shape))
    tracemalloc.start()
    with open(path, "rb") as file:
        archive = ArrayArchive(file)
        with pytest.raises(ValueError, match=r"takes \d+ bytes, but its entry has 152 bytes"):
            archive.array("a", np.dtype(np.float64))
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_directories_that_are_large_are_not_read(tmp_path):
    """A file of nothing but entries, each of which would take ten times its bytes in memory."""
    path = tmp_path / "forged.zip"
    count = 60_000
    directory = CENTRAL.pack(b"PK\1\2", *[0] * 9, 0, 0, 0, 0, 0, 0, 0) * count
    end = END.pack(b"PK\5\6", 0, 0, count, count, len(directory), 0, 0)
    path.write_bytes(directory + end)
    with pytest.raises(ValueError, match="directory has 2760000 bytes; 1048576 are allowed"):
        read(path)
