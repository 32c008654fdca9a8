"""Zip archives of .npy arrays with a JSON header that describes them.

`zipfile` writes them, uncompressed. The data of arrays begin at multiples of 64 bytes, so that they can be
mapped. The entry header.json holds dtype, shape and SHA-256 of each array, under "arrays".

The reader trusts nothing. It follows the local headers from the first entry to the directory, which is for
other programs: what `zipfile` accepts in a directory depends on the version of Python, and its memory on the
number of entries. The headers of .npy entries follow from the JSON header, and are compared, not parsed.
Arrays are allocated after their size has been found in the file.

The library safetensors would be another choice. Its releases up to 0.8 have no wheels for Python without the
GIL, it copies arrays where NumPy could map them, and it has no checksums and no structured dtypes.
"""

import hashlib
import json
import math
import os
import struct
import zipfile
import zlib
from typing import NamedTuple

import numpy as np

ALIGNMENT = 64
HEADER = "header.json"
# Errors that a damaged file can end in: JSON has integers that no float holds, and lists that are nested too
# deeply for Python.
DAMAGED = ValueError, OverflowError, RecursionError
# Bytes that are written, or enter a digest, at once.
CHUNK = 1 << 24
# More entries, and dimensions of an array, than there ever are.
MOST_ENTRIES, MOST_DIMENSIONS = 1000, 8

# The header before each entry, and the extra field at its end, which has the sizes.
LOCAL, SIZES = struct.Struct("<4s5H3L2H"), struct.Struct("<2H2Q")
ENTRY, DIRECTORY, END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
END_SIZE = 22
# Padding before an entry, an extra field that zip programs skip: what aligns Android's packages.
PADDING_ID = 0xD935


def npy_header(dtype, shape):
    """Return the header of a .npy file, version 1.0."""
    descr = np.lib.format.dtype_to_descr(dtype)
    text = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)}).encode("ascii")
    text += b" " * (-(10 + len(text) + 1) % ALIGNMENT) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text


def read_npy(file, start, size, dtype, shape, mapped):
    """Return the array of this dtype and shape in a .npy file, part of a file: size bytes from start on.

    mapped : whether to map it, read-only, instead of reading it; an array without items cannot be mapped
    """
    header = npy_header(dtype, shape)
    needed = len(header) + math.prod(shape) * dtype.itemsize
    if size != needed:
        raise ValueError(f"it has {size} bytes, where {list(shape)} of {dtype} take {needed}")
    file.seek(start)
    if file.read(len(header)) != header:
        raise ValueError(f"its .npy header is not that of {list(shape)} of {dtype}")
    if file.tell() % ALIGNMENT:
        raise ValueError(f"its items do not begin at a multiple of {ALIGNMENT} bytes")
    if mapped and needed > len(header):
        return np.asarray(np.memmap(file, dtype, "r", file.tell(), shape))
    array = np.empty(shape, dtype)
    file.readinto(array.reshape(-1).view(np.uint8))
    return array


def dtype_name(dtype):
    """Return the name of a dtype in a JSON header."""
    return dtype.str if dtype.names is None else repr(np.lib.format.dtype_to_descr(dtype))


def description(dtype, shape, sha256):
    """Return what a JSON header says about an array, under "arrays"."""
    return {"dtype": dtype_name(dtype), "shape": list(shape), "sha256": sha256}


class Declared(NamedTuple):
    """What a JSON header says about an array."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str


def described_arrays(table):
    """Return the arrays of a JSON header, a dict of Declared, from its value of "arrays"."""
    if type(table) is not dict:
        raise ValueError(f"{HEADER} has no object 'arrays'")
    declared = {}
    for name, entry in table.items():
        match entry:
            case {"dtype": str(dtype), "shape": list(shape), "sha256": str(digest)} if _is_shape(shape):
                declared[name] = Declared(dtype, tuple(shape), digest)
            case _:
                raise ValueError(f"{HEADER} does not describe the array {name!r} by dtype, shape and sha256")
    return declared


def _is_shape(sizes):
    return len(sizes) <= MOST_DIMENSIONS and all(type(size) is int and 0 <= size < 2**63 for size in sizes)


def digest_of(array):
    """Return the SHA-256 digest of the data of a contiguous array."""
    digest = hashlib.sha256()
    for piece in _pieces(array):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(array):
    """The bytes of a contiguous array, piece by piece."""
    data = array.reshape(-1).view(np.uint8)
    return (data[first : first + CHUNK] for first in range(0, len(data), CHUNK))


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
            table[name] = description(array.dtype, array.shape, digest_of(array))
            head = npy_header(array.dtype, array.shape)
            _write_entry(archive, file, f"{name}.npy", pieces=(head, *_pieces(array)))
        text = json.dumps({**header, "arrays": table}, allow_nan=False)
        _write_entry(archive, file, HEADER, pieces=(text.encode("ascii"),))


def _write_entry(archive, file, name, pieces):
    """Write an entry whose content begins at a multiple of ALIGNMENT."""
    entry = zipfile.ZipInfo(name)  # of 1980: equal models make equal files
    size = -(file.tell() + LOCAL.size + len(name) + SIZES.size + 4) % ALIGNMENT
    entry.extra = struct.pack("<HH", PADDING_ID, size) + bytes(size)
    with archive.open(entry, "w", force_zip64=True) as opened:  # always with the extra field of sizes
        for piece in pieces:
            opened.write(piece)


def parse_json(text):
    """Return the dict that bytes of JSON stand for, the content of HEADER; ValueError for all else."""
    try:
        parsed = json.loads(text.decode("utf-8"))
    except RecursionError:
        raise ValueError(f"{HEADER} is nested too deeply") from None
    if type(parsed) is not dict:
        raise ValueError(f"{HEADER} is not a JSON object")
    return parsed


class ArrayArchive:
    """An archive that is open for reading.

    Parameters
    ----------
    file : binary file, open for reading; a file of the operating system if arrays are to be mapped

    Attributes
    ----------
    header : dict
        The header that `write_archive` was given.
    declared : dict of str to Declared
        The arrays.

    Raises
    ------
    ValueError
        If the file is not what `write_archive` writes, or the header is damaged. Arrays are checked when they
        are read.
    """

    def __init__(self, file):
        self._file, self._size = file, file.seek(0, os.SEEK_END)
        if self._read(self._size - END_SIZE, len(END)) != END:
            raise ValueError("it is no zip archive, or its end is missing")
        self._entries = self._find_entries()
        if HEADER not in self._entries:
            raise ValueError(f"the archive has no entry {HEADER}")
        start, size, crc = self._entries[HEADER]
        text = self._read(start, size)
        if zlib.crc32(text) != crc:
            raise ValueError(f"the checksum of {HEADER} is wrong")
        self.header = parse_json(text)
        self.declared = described_arrays(self.header.pop("arrays", None))
        unlike = sorted(self._entries.keys() ^ {HEADER, *(f"{name}.npy" for name in self.declared)})
        if unlike:
            raise ValueError(f"entries and header do not agree on {', '.join(map(repr, unlike[:5]))}")

    def _find_entries(self):
        """Return position, size and checksum of the content of each entry, by name."""
        entries, position = {}, 0
        while len(entries) <= MOST_ENTRIES:
            fields = LOCAL.unpack(self._read(position, LOCAL.size))
            signature, _, flags, method, _, _, crc, _, _, n_name, n_extra = fields
            if signature == DIRECTORY:
                return entries
            start = position + LOCAL.size + n_name + n_extra
            if signature != ENTRY or n_extra < SIZES.size:
                raise ValueError(f"there is no entry of an archive at byte {position}")
            name = self._read(position + LOCAL.size, n_name).decode("ascii")
            kind, length, size, stored = SIZES.unpack(self._read(start - SIZES.size, SIZES.size))
            if (method, flags) != (zipfile.ZIP_STORED, 0) or (kind, length, stored) != (1, 16, size):
                raise ValueError(f"the entry {name!r} is compressed or encrypted, or its size is missing")
            if name in entries:
                raise ValueError(f"the archive has two entries {name!r}")
            entries[name] = start, size, crc
            position = start + size
        raise ValueError(f"the archive has more than {MOST_ENTRIES} entries")

    def _read(self, start, size):
        if not 0 <= start <= start + size <= self._size:
            raise ValueError("it is no zip archive, or is cut short")
        self._file.seek(start)
        return self._file.read(size)

    def array(self, name, dtype, mapped=False, verify=True):
        """Return an array, checked.

        Parameters
        ----------
        name : one of ``declared``
        dtype : the dtype that it has to have
        mapped : whether to map it, read-only, instead of reading it
        verify : whether to compare the digest of a mapped array; otherwise it is always compared
        """
        declared, (start, size, _) = self.declared[name], self._entries[f"{name}.npy"]
        if declared.dtype != dtype_name(dtype):
            found = ascii(declared.dtype)[1:-1]  # the name may be unprintable
            raise ValueError(f"the array {name} is {found:.80}, where {dtype_name(dtype)} is needed")
        try:
            array = read_npy(self._file, start, size, dtype, declared.shape, mapped)
        except ValueError as error:
            raise ValueError(f"the array {name} is damaged: {error}") from None
        if (verify or not mapped) and digest_of(array) != declared.sha256:
            raise ValueError(f"the SHA-256 digest of the array {name} is wrong")
        return array
