"""Results of a long computation in a folder, one file each, from which it can go on."""

import json
import os
import pickle
import re

import joblib
import scipy.sparse as sp

from sktopic._array_archive import parse_json
from sktopic._files import open_regular, real_path, write_file

# The file that says of which data the results are.
ABOUT = "about.json"
FORMAT = "results of sktopic"
RESULT = re.compile(r"[0-9a-f]{40}\.json")


class ResultFolder:
    """Results by the names of what they were computed with; nothing is kept where there is no folder.

    Parameters
    ----------
    path : str, path-like or None
        The folder; made if it is not there, inside one that is.
    data : documents that all results are computed from

    Raises
    ------
    ValueError
        If the folder has results of other data, or a damaged file.
    OSError
        If it cannot be read or written.
    """

    def __init__(self, path, data):
        self._path = None if path is None else real_path(path)
        if not self.keeps:
            return
        about = {"format": FORMAT, "data": digest(data)}
        if not os.path.isdir(self._path):
            os.mkdir(self._path)
        found = self._read(ABOUT, dict, "Give another folder.")
        if found is None:
            if any(map(RESULT.fullmatch, os.listdir(self._path))):
                raise ValueError(
                    f"{self._path} has results, but no {ABOUT}, which says for which X. Give another folder."
                )
            self._write(ABOUT, about)
        elif found != about:
            raise ValueError(
                f"{self._path} has results for another X, or for one of other types; give another folder."
            )

    @property
    def keeps(self):
        """Whether there is a folder."""
        return self._path is not None

    def read(self, name, checked):
        """The result of a name, as `checked` makes it of a dict; None if it is not there.

        checked : function of a dict that raises ValueError if it is not a result
        """
        if not self.keeps:
            return None
        return self._read(f"{name}.json", checked, "Delete it to compute it again.")

    def write(self, name, result):
        """Keep a result, a dict that JSON can express; floats come back as they are, to the last bit."""
        if self.keeps:
            self._write(f"{name}.json", result)

    def _read(self, name, checked, advice):
        path = os.path.join(self._path, name)
        try:
            with open_regular(path) as file:
                return checked(parse_json(file.read(), name, not_finite=True))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise ValueError(f"{path} is damaged: {error!s:.800}. {advice}") from error

    def _write(self, name, content):
        text = json.dumps(content, indent=1).encode("ascii")
        write_file(os.path.join(self._path, name), lambda file: file.write(text), follow=False)


def digest(value):
    """A name for documents, unfitted estimators and what holds these, the same in every process."""
    if sp.issparse(value):
        value = value.tocsr()  # whose other attributes say what is known of it so far
        value = value.shape, value.indptr, value.indices, value.data
    try:
        return joblib.hash(value, hash_name="sha1")
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"what is not importable, as a lambda, has no name under which results can be kept: {error}"
        ) from error
