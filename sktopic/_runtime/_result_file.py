"""Results of a long computation in a file, one line of JSON each, from which it can go on."""

import hashlib
import json
import os
import pickle
from contextlib import suppress

import joblib
import scipy.sparse as sp

from sktopic._runtime._files import open_regular, real_path

# What every line begins with.
START = b'{"key": "'


class ResultFile:
    """Results by the keys of what they were computed with.

    A process that is killed can leave a last line without its end. It is dropped when the file is opened
    again, and its result computed again. Each line ends with its digest, so what is read was written here.

    Parameters
    ----------
    path : str or path-like
        The file. If it does not exist, it is made, in a folder that exists.

    Raises
    ------
    ValueError
        If a line is damaged, or the file holds anything else.
    OSError
        If the file cannot be read and written.
    """

    def __init__(self, path):
        self._path, self._found = real_path(path), {}
        with suppress(FileExistsError), open(self._path, "xb"):
            pass
        with open_regular(self._path, "rb+") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n") and line[: len(START)] == START[: len(line)]:
                    file.truncate(file.tell() - len(line))
                    break
                if not line.startswith(START) or line[-SIZE_OF_END:] != _end(line[:-SIZE_OF_END]):
                    raise ValueError(
                        f"{self._path}, line {number} is damaged: its digest is not that of a result. Delete "
                        "the line to compute it again, or give another file."
                    )
                try:
                    entry = json.loads(line)
                    del entry["sha256"]
                    self._found[entry.pop("key")] = entry
                except (ValueError, TypeError, RecursionError) as error:
                    raise ValueError(f"{self._path}, line {number} is no result: {error}.") from None

    def read(self, key, made):
        """Return made(**result) of a key, None if there is none; ValueError if it is no result."""
        found = self._found.get(key)
        try:
            return None if found is None else made(**found)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{self._path}: the result of key {key} is damaged ({error}). Delete its line to compute it "
                "again, or give another file."
            ) from None

    def append(self, key, result):
        """Keep a result, a dict that JSON can express; floats come back to the last bit."""
        line = json.dumps({"key": key} | result).removesuffix("}").encode("ascii")
        with open_regular(self._path, "ab") as file:
            file.write(line + _end(line))
            file.flush()
            os.fsync(file.fileno())


def _end(line):
    """The end of a line: its digest."""
    return f', "sha256": "{hashlib.sha256(line).hexdigest()}"}}\n'.encode()


SIZE_OF_END = len(_end(b""))


def digest(value):
    """A key for documents, unfitted estimators and what holds these, the same in every process."""
    if sp.issparse(value):
        value = value.tocsr()  # whose other attributes say what is known of it so far
        value = value.shape, value.indptr, value.indices, value.data
    try:
        return joblib.hash(value, hash_name="sha1")
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"what is not importable, as a lambda, has no key under which results can be kept: {error}"
        ) from error
