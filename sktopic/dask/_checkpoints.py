"""The state of a fit in files, from which it goes on: after a worker has died, or all of them and the client.

A checkpoint is some files of arrays, such as the rows of each shard of words, and then one for the head,
which says what it is a checkpoint of. Where that is missing, the others are no checkpoint.
"""

import hashlib
import json
import re
from uuid import uuid4

import numpy as np

from sktopic._lanes import Head, finish, rows_of, word_bounds
from sktopic._model_files import _decoded, _encoded
from sktopic.dask._files import read_rows, write_rows
from sktopic.dask._state import Whole, loaded_state, n_shards_of, rows_name

FORMAT, SCHEMA = "sktopic checkpoint", 1
# Checkpoints that are kept: the last may be damaged.
KEPT = 2
NAME = re.compile(r"merge-(\d{8})\.checkpoint")
# Parameters that make no difference to what is trained.
WITHOUT_EFFECT = {"n_jobs", "verbose"}
# What a checkpoint says of the documents.
OF_DOCUMENTS = {"documents", "n_documents", "n_features"}


def described_parameters(estimator):
    """What tells the parameters of an estimator from others: values, and digests of arrays."""
    described = {}
    for name, value in sorted(estimator.get_params(deep=False).items()):
        if name in WITHOUT_EFFECT:
            continue
        if isinstance(value, np.ndarray):
            value = hashlib.blake2b(np.ascontiguousarray(value), digest_size=16).hexdigest()
        described[name] = _encoded(value)
    return described


class Heads:
    """The heads of the checkpoints of one fit, which are numbered by merges.

    Parameters
    ----------
    folder : Folder
    estimator : the estimator that is trained, for the parameters
    identity : dict of what else a checkpoint has to agree on, as JSON has it
    """

    def __init__(self, folder, estimator, identity):
        self._folder = folder
        parameters = described_parameters(estimator).items()
        described = {
            "class": type(estimator).__name__,
            **{f"parameter {k}": v for k, v in parameters},
            **identity,
        }
        self._identity = json.loads(json.dumps(described))

    def numbers(self):
        """Rounds after which there are checkpoints, ascending."""
        matches = (NAME.fullmatch(name) for name in self._folder.names())
        return sorted(int(match.group(1)) for match in matches if match)

    def write(self, number, header, arrays):
        """Complete a checkpoint by its head, and delete older ones, of which the heads go first."""
        described = {"format": FORMAT, "schema": SCHEMA, "of": self._identity, **header}
        self._folder.write_arrays(_head_name(number), described, arrays)
        kept = tuple(map(prefix_of, self.numbers()[-KEPT:]))
        for name in sorted(self._folder.names(), key=lambda name: NAME.fullmatch(name) is None):
            if name.startswith("merge-") and not name.startswith(kept):
                self._folder.delete(name)

    def last(self, resume):
        """The number of the last checkpoint, or None.

        Raises
        ------
        ValueError
            For one of another fit, or any if the fit is not to go on.
        """
        numbers = self.numbers()
        if not numbers:
            return None
        if not resume:
            raise ValueError(
                f"{self._folder.address} has checkpoints: resume=True goes on with the last one; give "
                "another folder to start anew."
            )
        with self.open(numbers[-1]) as archive:
            if archive.header["format"] != FORMAT or archive.header["schema"] != SCHEMA:
                raise ValueError("it is no checkpoint that this version reads")
            found = archive.header["of"]
        self._check_identity(found, _head_name(numbers[-1]))
        return numbers[-1]

    def open(self, number):
        """Open the head of a checkpoint."""
        return self._folder.open_arrays(_head_name(number))

    def _check_identity(self, found, name):
        if found == self._identity:
            return
        keys = [key for key in self._identity if found.get(key) != self._identity[key]]
        keys += [key for key in found if key not in self._identity]
        what = "other documents" if OF_DOCUMENTS.issuperset(keys) else "another model"
        details = ", ".join(
            f"{key} is {found.get(key)!r:.80} there and {self._identity.get(key)!r:.80} here"
            for key in keys[:3]
        )
        raise ValueError(
            f"{name} in {self._folder.address} is the checkpoint of {what}: {details}. Give another folder."
        )


class Checkpoints:
    """Checkpoints of a fit in lanes.

    Parameters
    ----------
    folder, estimator, identity : see Heads
    """

    def __init__(self, folder, estimator, identity):
        self._folder, self._heads, self._last = folder, Heads(folder, estimator, identity), None

    def write(self, tasks, state, number):
        """Write a state, and delete older ones."""
        head, writes = state.saved(tasks, self._folder, prefix_of(number))
        (head,) = tasks.results([head])
        tasks.wait(writes)
        self._write_head(head, state.bounds, number)
        self._last = head, state.bounds, number

    def _write_head(self, head, bounds, number):
        arrays, values = {}, {}
        for name in _fitted_names(head.kind) & head.state.keys():
            value = head.state[name]
            if isinstance(value, np.ndarray):
                arrays[name] = value
            else:
                values[name] = _encoded(value)
        header = {"bounds": [list(words) for words in bounds], "fitted": values, "rho": head.rho}
        self._heads.write(number, header, arrays)

    def read(self, start, resume):
        """Return the head of the last checkpoint, bounds of its shards, and its number; or None.

        start : the Head before the first update, of the same model
        resume : see Heads.last
        """
        number = self._heads.last(resume)
        if number is None:
            return None
        with self._heads.open(number) as archive:
            head = Head(start.kind, {**start.state, **_fitted(archive, start.kind)}, archive.header["rho"])
            bounds = [tuple(words) for words in archive.header["bounds"]]
            missing = {rows_name(prefix_of(number), i) for i in range(len(bounds))} - {*self._folder.names()}
            if missing:
                raise ValueError(f"it lacks {min(missing)}")
        self._last = head, bounds, number
        return self._last

    def state(self, tasks, state):
        """The state of the last checkpoint, which has no history but the files."""
        head, bounds, number = self._last
        return loaded_state(tasks, self._folder, prefix_of(number), head, bounds)

    def given_state(self, tasks, head, model):
        """The state of a fitted model, whose rows go to the tasks through files."""
        bounds = word_bounds(head.n_features, n_shards_of(head.n_features, head.n_topics))
        for i, (first, last) in enumerate(bounds):
            write_rows(self._folder, rows_name(prefix_of(0), i), rows_of(model, slice(first, last)))
        return loaded_state(tasks, self._folder, prefix_of(0), head, bounds)

    def model(self, tasks, state):
        """The fitted model of the last checkpoint, whose rows are read here, shard by shard."""
        head, bounds, number = self._last
        rows = [
            read_rows(self._folder, rows_name(prefix_of(number), i), (last - first, head.n_topics))
            for i, (first, last) in enumerate(bounds)
        ]
        return finish(head, rows)


class InMemory:
    """In the place of Checkpoints where all tasks run in this process, and nothing asks for files."""

    def read(self, start, resume):
        """There is no checkpoint to go on with."""

    def write(self, tasks, state, number):
        pass

    def state(self, tasks, state):
        return state

    def given_state(self, tasks, head, model):
        bounds = word_bounds(head.n_features, 1)
        return Whole((head, rows_of(model, slice(None))), bounds)

    def model(self, tasks, state):
        return finish(*state.collected())


def check_visible(tasks, folder):
    """Raise ValueError unless all workers see what this process writes into a folder."""
    if tasks.client is None:
        return
    name = f"probe-{uuid4().hex}"
    folder.create()
    folder.write(name, lambda file: file.write(b"seen"))
    try:
        # One that dies meanwhile is started anew, where it sees what it did.
        found = tasks.client.run(_sees, folder, name, on_error="ignore")
    finally:
        folder.delete(name)
    blind = sorted(address for address, sees in found.items() if not sees)
    if blind:
        raise ValueError(
            f"{len(blind)} of {len(found)} workers do not see the folder {folder.address}, such as "
            f"{blind[0]}: give one that all workers and this process see, as checkpoint or "
            "scratch, or an address of fsspec."
        )


def _sees(folder, name):
    try:
        return name in folder.names()
    except OSError:
        return False


def prefix_of(number):
    """What the names of the files of a checkpoint begin with."""
    return f"merge-{number:08d}"


def _head_name(number):
    return f"{prefix_of(number)}.checkpoint"


def _fitted(archive, kind):
    """What training had set; ValueError for what the class does not declare."""
    declared = kind._fitted_arrays | kind._optional_arrays
    state = {key: _decoded(value) for key, value in archive.header["fitted"].items()}
    unknown = (state.keys() | archive.declared.keys()) - _fitted_names(kind)
    if unknown or not archive.declared.keys() <= declared.keys():
        raise ValueError("it has values that the model does not")
    return {**state, **{key: archive.array(key, np.dtype(declared[key][0])) for key in archive.declared}}


def _fitted_names(kind):
    """Attributes that training sets, without the rows of words."""
    return (kind._fitted_arrays.keys() | kind._optional_arrays.keys() | kind._fitted_values.keys()) - {
        "_store"
    }
