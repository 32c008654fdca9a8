"""Results of a long computation in a file, one line of JSON each, from which it can go on."""

import json
import os
import pickle
from contextlib import suppress

import joblib
import scipy.sparse as sp

from sktopic._runtime._array_archive import parse_json
from sktopic._runtime._files import open_regular, real_path

# What every line begins with.
START = b'{"key": "'


class ResultFile:
    """Results by the keys of what they were computed with.

    A process that is killed can leave a last line without its end. It is dropped when the file is opened
    again, and its result computed again.

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
                key, result = self._checked(number, _parsed, line)
                self._found[key] = number, result

    def read(self, key, checked):
        """The result of a key, as `checked` makes it of a dict; None if there is none.

        checked : function of a dict that raises ValueError if it is not a result
        """
        if key not in self._found:
            return None
        number, result = self._found[key]
        return self._checked(number, checked, result)

    def append(self, key, result):
        """Keep a result, a dict that JSON can express; floats come back to the last bit."""
        line = json.dumps({"key": key} | result).encode("ascii") + b"\n"
        with open_regular(self._path, "ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _checked(self, number, check, content):
        try:
            return check(content)
        except ValueError as error:
            raise ValueError(
                f"{self._path}, line {number} is damaged: {error!s:.800}. Delete the line to compute it "
                "again, or give another file."
            ) from error


def _parsed(line):
    """Key and result of a line."""
    if not line.startswith(START):
        raise ValueError(f"it does not begin with {START.decode()}")
    result = parse_json(line, name="it")
    return result.pop("key"), result


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
