"""Zip archives of .npy arrays and a JSON header that says which: written with zipfile, read with suspicion.

The entries are stored as they are, uncompressed, and the data of arrays begin at multiples of 64 bytes, so
that they can be mapped. The entry header.json holds, under "arrays", dtype, shape and SHA-256 of each array.

What is read may be hostile. Nothing is unpacked to disk or evaluated: the headers of .npy entries follow from
the JSON header, and are compared, not parsed. Arrays are allocated after their size has been found in the
file, so that memory is within a small multiple of its size. The zip format is read here, in the one form that
is written, since what `zipfile` does with other forms depends on the version of Python.
"""

import hashlib
import json
import math
import mmap
import os
import struct
import zipfile
import zlib
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

ALIGNMENT = 64
HEADER = "header.json"
# Bytes that are written, or enter a digest, at once.
CHUNK = 1 << 24
# Bytes of the directory, and dimensions of an array: more than there ever are.
MOST_DIRECTORY_BYTES = 1 << 20
MOST_DIMENSIONS = 8
# Decimal digits of an integer in JSON: parameters have at most 1023 bits.
MOST_DIGITS = 310
# Padding of the entries, an extra field that zip programs skip: what aligns Android's packages.
PADDING_ID = 0xD935

ZIP64_ID, ZIP64_EXTRA_SIZE = 1, 20
SATURATED = 0xFFFFFFFF
LOCAL = struct.Struct("<4s5H3L2H")
CENTRAL = struct.Struct("<4s6H3L5H2L")
END = struct.Struct("<4s4H2LH")
ZIP64_END = struct.Struct("<4sQ2H2L4Q")
ZIP64_LOCATOR = struct.Struct("<4sLQL")
UTF8_NAME = 0x800  # the only flag allowed


def npy_header(dtype, shape):
    """The header of a .npy file, version 1.0."""
    described = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": tuple(shape),
    }
    text = repr(described).encode("ascii")
    magic = np.lib.format.magic(1, 0)
    text += b" " * (-(len(magic) + 2 + len(text) + 1) % ALIGNMENT) + b"\n"
    return magic + struct.pack("<H", len(text)) + text


def dtype_name(dtype):
    """The name of a dtype in the header."""
    return dtype.str if dtype.names is None else repr(np.lib.format.dtype_to_descr(dtype))


def description(dtype, shape, sha256):
    """What the header says of an array, under "arrays"."""
    return {"dtype": dtype_name(dtype), "shape": list(shape), "sha256": sha256}


def write_archive(file, header, arrays):
    """Write an archive.

    Parameters
    ----------
    file : binary file, open for writing, at its start
    header : dict that JSON can express, without the key "arrays"
    arrays : dict of ndarrays by name, without objects
    """
    table = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            array = np.ascontiguousarray(array).reshape(np.shape(array))
            digest = hashlib.sha256()
            with _new_entry(archive, file, f"{name}.npy") as entry:
                entry.write(npy_header(array.dtype, array.shape))
                for piece in _pieces(array):
                    entry.write(piece)
                    digest.update(piece)
            table[name] = description(array.dtype, array.shape, digest.hexdigest())
        text = json.dumps({**header, "arrays": table}, allow_nan=False)
        with _new_entry(archive, file, HEADER) as entry:
            entry.write(text.encode("ascii"))


def _new_entry(archive, file, name):
    """A new entry, open for writing, whose content begins at a multiple of ALIGNMENT."""
    entry = zipfile.ZipInfo(name)  # of 1980: equal models make equal files
    begin = file.tell() + LOCAL.size + len(name) + ZIP64_EXTRA_SIZE
    size = -(begin + 4) % ALIGNMENT
    entry.extra = struct.pack("<HH", PADDING_ID, size) + bytes(size)
    return archive.open(entry, "w", force_zip64=True)  # so that the length of the local header is known


def _pieces(array):
    """The bytes of a contiguous array, piece by piece."""
    data = array.reshape(-1).view(np.uint8)
    return (data[first : first + CHUNK] for first in range(0, len(data), CHUNK))


class Entry(NamedTuple):
    """Where the content of an entry is in the file, and its checksum."""

    start: int
    size: int
    crc: int


@dataclass
class Declared:
    """What the header says of an array."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str


class ArrayArchive:
    """An archive that is open for reading.

    Parameters
    ----------
    file : binary file, open for reading; one of the operating system where arrays are to be mapped

    Attributes
    ----------
    header : dict
        What `write_archive` was given.
    declared : dict of str to Declared
        The arrays.

    Raises
    ------
    ValueError
        If the file is not what `write_archive` writes, or the header is damaged. Arrays are checked when they
        are read.
    """

    def __init__(self, file):
        self._file = file
        self._mapping = None
        self._entries = _read_directory(file, file.seek(0, os.SEEK_END))
        if HEADER not in self._entries:
            raise ValueError(f"the archive has no entry {HEADER}")
        self.header = self._read_header(self._entries[HEADER])
        self.declared = declared_arrays(self.header.pop("arrays", None))
        wanted = {HEADER, *(f"{name}.npy" for name in self.declared)}
        if self._entries.keys() != wanted:
            names = sorted(self._entries.keys() ^ wanted)
            raise ValueError(f"entries and header do not agree on {', '.join(map(repr, names[:5]))}")

    def _read_header(self, entry):
        text = _read(self._file, entry.start, entry.size)
        if zlib.crc32(text) != entry.crc:
            raise ValueError(f"the checksum of {HEADER} is wrong")
        return parse_json(text)

    def array(self, name, dtype, mapped=False, verify=True):
        """Return an array, checked.

        Parameters
        ----------
        name : one of ``declared``
        dtype : the dtype that it has to have
        mapped : whether to map it, read-only, instead of reading it
        verify : whether to compare the digest
        """
        declared, entry = self.declared[name], self._entries[f"{name}.npy"]
        if declared.dtype != dtype_name(dtype):
            raise ValueError(f"the array {name} is {declared.dtype}, where {dtype_name(dtype)} is needed")
        expected = npy_header(dtype, declared.shape)
        begin = entry.start + len(expected)
        n_bytes = math.prod(declared.shape) * dtype.itemsize
        if entry.size != len(expected) + n_bytes:
            raise ValueError(
                f"the array {name} of shape {list(declared.shape)} takes {n_bytes} bytes, but its entry has "
                f"{entry.size} bytes, {len(expected)} of which are its header"
            )
        if begin % ALIGNMENT:
            raise ValueError(f"the array {name} does not begin at a multiple of {ALIGNMENT} bytes")
        if _read(self._file, entry.start, len(expected)) != expected:
            raise ValueError(f"the .npy header of {name} is not that of a {dtype} array {declared.shape}")
        if mapped and n_bytes:
            array = np.frombuffer(self._map(), dtype, n_bytes // dtype.itemsize, begin)
        else:
            array = np.empty(n_bytes // dtype.itemsize, dtype)
            self._file.seek(begin)
            if self._file.readinto(array.view(np.uint8)) != n_bytes:
                raise ValueError(f"the file ends inside the array {name}")
        if verify and digest_of(array) != declared.sha256:
            raise ValueError(f"the SHA-256 digest of the array {name} is wrong")
        return array.reshape(declared.shape)

    def _map(self):
        """The whole file; the mapping lives as long as an array of it."""
        if self._mapping is None:
            self._mapping = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._mapping


def digest_of(array):
    """The SHA-256 digest of the data of a contiguous array."""
    digest = hashlib.sha256()
    for piece in _pieces(array):
        digest.update(piece)
    return digest.hexdigest()


def parse_json(text, name=HEADER, not_finite=False):
    """The dict that bytes of JSON stand for: without what the standard does not have, or allows twice.

    name : of the file, for messages
    not_finite : whether NaN and infinity are allowed, as Python writes them
    """
    try:
        parsed = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=partial(_unique, name),
            parse_float=partial(_finite, name),
            parse_int=partial(_short, name),
            parse_constant=float if not_finite else partial(_refuse_constant, name),
        )
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply") from None
    if type(parsed) is not dict:
        raise ValueError(f"{name} is no JSON object")
    return parsed


def _unique(name, pairs):
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError(f"{name} has a key twice, among {[key[:40] for key, _ in pairs[:20]]}")
    return result


def _finite(name, text):
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{name} has a number that is too large: {text[:40]}")
    return number


def _short(name, text):
    if len(text) > MOST_DIGITS:
        raise ValueError(f"{name} has an integer of {len(text)} digits; at most {MOST_DIGITS} are allowed")
    return int(text)


def _refuse_constant(name, constant):
    raise ValueError(f"{name} has {constant}, which is no JSON")


def declared_arrays(table):
    """The arrays of a header, dict of str to Declared, from what it has under "arrays"."""
    if type(table) is not dict:
        raise ValueError(f"{HEADER} has no object 'arrays'")
    declared = {}
    for name, entry in table.items():
        if type(entry) is not dict or entry.keys() != {"dtype", "shape", "sha256"}:
            raise ValueError(f"{HEADER} does not describe the array {name!r} by dtype, shape and sha256")
        dtype, shape, digest = entry["dtype"], entry["shape"], entry["sha256"]
        if type(dtype) is not str or type(digest) is not str or not _is_shape(shape):
            raise ValueError(f"{HEADER} has a dtype, shape or digest of the array {name!r} that is none")
        declared[name] = Declared(dtype, tuple(shape), digest)
    return declared


def _is_shape(shape):
    return (
        type(shape) is list
        and len(shape) <= MOST_DIMENSIONS
        and all(type(size) is int and 0 <= size < 2**63 for size in shape)
    )


# The zip format


def _read_directory(file, size):
    """Where the entries of a zip archive are, by name; ValueError for all that we do not write."""
    start, end, count = _find_directory(file, size)
    directory = _read(file, start, end - start)
    entries, extents, position = {}, [], 0
    for _ in range(count):
        name, offset, entry, position = _parse_entry(directory, position)
        if name in entries:
            raise ValueError(f"the archive has two entries {name!r}")
        content = _start_of_content(file, name, offset, start)
        if content + entry.size > start:
            raise ValueError(f"the entry {name!r} does not end inside the archive")
        entries[name] = entry._replace(start=content)
        extents.append((offset, content + entry.size, name))
    if position != len(directory):
        raise ValueError("the archive's directory has bytes that belong to no entry")
    last = 0
    for begin, stop, name in sorted(extents):
        if begin < last:
            raise ValueError(f"the entry {name!r} overlaps another")
        last = stop
    return entries


def _find_directory(file, size):
    """Start, end and number of entries of the central directory."""
    end = size - END.size
    fields = END.unpack(_read(file, end, END.size)) if end >= 0 else (b"",)
    if fields[0] != b"PK\5\6":
        raise ValueError("it is no zip archive, or its end is missing")
    _, disk, first_disk, here, count, n_bytes, start, comment = fields
    end64 = end - ZIP64_LOCATOR.size - ZIP64_END.size
    if start == SATURATED and end64 >= 0:
        fields = ZIP64_END.unpack(_read(file, end64, ZIP64_END.size))
        if fields[0] != b"PK\6\6":
            raise ValueError("the archive's end does not say where its directory is")
        _, _, _, _, disk, first_disk, here, count, n_bytes, start = fields
    if (disk, first_disk, comment) != (0, 0, 0) or here != count:
        raise ValueError("the archive has a comment or several parts; none are allowed")
    stop = start + n_bytes
    if n_bytes > MOST_DIRECTORY_BYTES:
        raise ValueError(f"the archive's directory has {n_bytes} bytes; {MOST_DIRECTORY_BYTES} are allowed")
    # Beyond 2 GB, zipfile puts the large numbers between directory and end, whether they are needed or not.
    if stop not in (end, end64) or count * CENTRAL.size > n_bytes:
        raise ValueError("the archive's directory is not where its end says, or too small")
    return start, stop, count


def _parse_entry(directory, position):
    """Name, offset, Entry without start, and the position of the next, of an entry of the directory."""
    if position + CENTRAL.size > len(directory):
        raise ValueError("the archive's directory ends inside an entry")
    fields = CENTRAL.unpack_from(directory, position)
    signature, _, _, flags, method, _, _, crc, compressed, size, *lengths, disk, _, _, offset = fields
    n_name, n_extra, n_comment = lengths
    position += CENTRAL.size
    name = directory[position : position + n_name].decode("utf-8")
    extra = directory[position + n_name : position + n_name + n_extra]
    position += n_name + n_extra + n_comment
    if signature != b"PK\1\2" or position > len(directory):
        raise ValueError("the archive's directory is damaged")
    if method != zipfile.ZIP_STORED or flags & ~UTF8_NAME:
        raise ValueError(f"the entry {name!r} is compressed or encrypted; entries must be stored as they are")
    sizes = _unsaturated(size, compressed, offset, extra)
    size, compressed, offset = sizes
    if size != compressed or disk or n_comment:
        raise ValueError(f"the entry {name!r} is not stored as it is")
    return name, offset, Entry(0, size, crc), position


def _unsaturated(size, compressed, offset, extra):
    """Size, compressed size and offset, with those that are too large for 32 bits from the extra field."""
    values, large = [size, compressed, offset], b""
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        if kind == ZIP64_ID:
            large = extra[4 : 4 + length]
        extra = extra[4 + length :]
    for i, value in enumerate(values):
        if value == SATURATED:
            if len(large) < 8:
                raise ValueError("the archive's directory lacks a size or an offset")
            values[i], large = int.from_bytes(large[:8], "little"), large[8:]
    return values


def _start_of_content(file, name, offset, limit):
    """Where the content of an entry begins, whose local header is to be the same as in the directory."""
    if offset + LOCAL.size > limit:
        raise ValueError(f"the entry {name!r} does not begin inside the archive")
    fields = LOCAL.unpack(_read(file, offset, LOCAL.size))
    signature, _, flags, method, *_, n_name, n_extra = fields
    same = _read(file, offset + LOCAL.size, n_name) == name.encode("utf-8")
    if signature != b"PK\3\4" or method != zipfile.ZIP_STORED or flags & ~UTF8_NAME or not same:
        raise ValueError(f"the entry {name!r} begins with another header than the archive's directory has")
    return offset + LOCAL.size + n_name + n_extra


def _read(file, start, size):
    file.seek(start)
    content = file.read(size)
    if len(content) != size:
        raise ValueError("the file ends too early")
    return content
