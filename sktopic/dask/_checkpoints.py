"""The state of a fit in files, from which it goes on: after a worker has died, or all of them and the client.

A checkpoint is a file of the rows of each shard of words, and then one for the start, which says what it is a
checkpoint of. Where that is missing, the others are no checkpoint.
"""

import json
import re
from numbers import Real
from uuid import uuid4

import numpy as np

from sktopic._estimators._fitted_state import check_values
from sktopic._estimators._lanes import N_WORD_PARTS, ROWS, TOO_LARGE, finish, rows_of, word_bounds
from sktopic._estimators._model_files import _decoded, _encoded, described
from sktopic._state._fields import array_fields, arrays_of, optional_fields, state_of, value_fields, values_of
from sktopic.dask._files import read_rows, write_rows
from sktopic.dask._state import Whole, loaded_state, n_shards_of, rows_name

FORMAT, SCHEMA = "sktopic checkpoint", 1
# Checkpoints that are kept: the last may be damaged.
KEPT = 2
NAME = re.compile(r"merge-(\d{8})\.checkpoint")
# The files of a checkpoint: its start, and the rows of each shard.
FILE = re.compile(NAME.pattern + r"|merge-\d{8}-rows-\d{5}")
# What a start has beside arrays.
HEADER = {"format", "schema", "of", "bounds", "fitted"}
# Parameters that make no difference to what is trained.
WITHOUT_EFFECT = {"n_jobs", "verbose"}
# What a checkpoint says of the documents.
OF_DOCUMENTS = {"documents", "n_documents", "n_features"}


class Checkpoints:
    """Checkpoints of a fit in lanes, which are numbered by merges.

    Parameters
    ----------
    folder : Folder
    estimator : the estimator that is trained, for the parameters
    identity : dict of what else a checkpoint has to agree on, as JSON has it
    """

    def __init__(self, folder, estimator, identity):
        self._folder, self._last = folder, None
        parameters = estimator.get_params(deep=False)
        given = described({name: parameters[name] for name in sorted(parameters.keys() - WITHOUT_EFFECT)})
        of = {
            "class": type(estimator).__name__,
            **{f"parameter {name}": value for name, value in given.items()},
            **identity,
        }
        self._identity = json.loads(json.dumps(of))

    def _numbers(self):
        """Rounds after which there are checkpoints, ascending."""
        matches = (NAME.fullmatch(name) for name in self._folder.names())
        return sorted(int(match.group(1)) for match in matches if match)

    def write(self, tasks, state, number):
        """Write a state, and delete older ones, of which the starts go first."""
        start, writes = state.saved(tasks, self._folder, prefix_of(number))
        (start,) = tasks.results([start])
        tasks.wait(writes)
        self._write_start(start, state.bounds, number)
        kept = tuple(map(prefix_of, self._numbers()[-KEPT:]))
        for name in sorted(self._folder.names(), key=lambda name: NAME.fullmatch(name) is None):
            if FILE.fullmatch(name) and not name.startswith(kept):
                self._folder.delete(name)
        self._last = start, state.bounds, number

    def _write_start(self, start, bounds, number):
        arrays, values = {}, {}
        for name, value in start.fitted.items():
            if isinstance(value, np.ndarray):
                arrays[name] = value
            else:
                values[name] = _encoded(value)
        header = {
            "format": FORMAT,
            "schema": SCHEMA,
            "of": self._identity,
            "bounds": [list(words) for words in bounds],
            "fitted": values,
        }
        self._folder.write_arrays(_start_name(number), header, arrays)

    def read(self, start, resume, check):
        """Return the start of the last checkpoint, bounds of its shards, and its number; or None.

        start : the RoundStart before the first update, of the same model
        check : function of a start and a number that raises ValueError if they do not belong together

        Raises
        ------
        ValueError
            For one that is damaged or of another fit, or any if the fit is not to go on.
        """
        numbers = self._numbers()
        if not numbers:
            return None
        if not resume:
            raise ValueError(
                f"{self._folder.address} has checkpoints: resume=True goes on with the last one; give "
                "another folder to start anew."
            )
        number = numbers[-1]
        with self._folder.open_arrays(_start_name(number)) as archive:
            identity = _identity(archive.header)
        self._check_identity(identity, _start_name(number))
        with self._folder.open_arrays(_start_name(number)) as archive:
            unlike = archive.header.keys() ^ HEADER
            if unlike:
                raise ValueError(f"it lacks, or should not have, {sorted(unlike)[:5]!r:.200}")
            found = _start_in(archive, start)
            bounds = _bounds(archive.header["bounds"], found.n_features)
            check(found, number)
            missing = {rows_name(prefix_of(number), i) for i in range(len(bounds))} - {*self._folder.names()}
            if missing:
                raise ValueError(f"it lacks {min(missing)}")
        self._last = found, bounds, number
        return self._last

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

    def state(self, tasks, state):
        """The state of the last checkpoint, which has no history but the files."""
        start, bounds, number = self._last
        return loaded_state(tasks, self._folder, prefix_of(number), start, bounds)

    def given_state(self, tasks, start, model):
        """The state of a fitted model, whose rows go to the tasks through files."""
        bounds = word_bounds(start.n_features, n_shards_of(start.n_features, start.n_topics))
        for i, (first, last) in enumerate(bounds):
            write_rows(self._folder, rows_name(prefix_of(0), i), rows_of(model, slice(first, last)))
        return loaded_state(tasks, self._folder, prefix_of(0), start, bounds)

    def model(self, tasks, state):
        """The fitted model of the last checkpoint, whose rows are read here, shard by shard."""
        start, bounds, number = self._last
        rows = [
            read_rows(self._folder, rows_name(prefix_of(number), i), (last - first, start.n_topics))
            for i, (first, last) in enumerate(bounds)
        ]
        return finish(start, rows)


class InMemory:
    """In the place of Checkpoints where all tasks run in this process, and nothing asks for files."""

    def read(self, start, resume, check):
        """There is no checkpoint to go on with."""

    def write(self, tasks, state, number):
        pass

    def state(self, tasks, state):
        return state

    def given_state(self, tasks, start, model):
        bounds = word_bounds(start.n_features, 1)
        return Whole((start, rows_of(model, slice(None))), bounds)

    def model(self, tasks, state):
        return finish(*state.collected())


def check_visible(tasks, folder):
    """Raise ValueError unless all workers see what this process writes into a folder."""
    if tasks.client is None:
        return
    name = f"probe-{uuid4().hex}"
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


def _start_name(number):
    return f"{prefix_of(number)}.checkpoint"


def _identity(header):
    """What the start of a checkpoint says that it is of."""
    schema, found = header.get("schema"), header.get("of")
    if header.get("format") != FORMAT or type(schema) is not int or schema != SCHEMA:
        raise ValueError("it is no checkpoint that this version reads")
    if type(found) is not dict:
        raise ValueError(f"it says that it is of {found!r:.40}")
    return found


def _start_in(archive, start):
    """The RoundStart that an archive stands for, checked as a model file is.

    start : that before the first update of the same model
    """
    kind, header, arrays = type(start.state), archive.header, archive.declared.keys()
    if type(header["fitted"]) is not dict:
        raise ValueError("its fitted values are no JSON object")
    values, declared = header["fitted"].keys(), array_fields(kind)
    optional = optional_fields(kind)
    unlike = (values ^ value_fields(kind).keys() | declared.keys() - {ROWS} ^ arrays) - optional
    unlike |= (values - value_fields(kind).keys()) | (arrays - declared.keys()) | (arrays & {ROWS})
    if unlike:
        raise ValueError(f"it lacks, or should not have, {sorted(unlike)[:5]!r:.200}")
    found = {name: _decoded(value) for name, value in header["fitted"].items()}
    found |= {name: archive.array(name, declared[name].dtype) for name in arrays}
    n_topics = found["words.totals"].size
    found[ROWS] = np.empty((0, n_topics))
    read = start.followed_by(state_of(kind, found, {"features": start.n_features}))
    # Rows are files of their own: zeros that take no memory stand for them.
    model = finish(read, [np.broadcast_to(0.0, (start.n_features, n_topics))])
    check_values(model)
    model._checked()
    _check_numbers(model._state)
    model._method().check_continuation(model._state)
    return read


def _check_numbers(state):
    """Raise ValueError for numbers that no training leaves, from which it could not go on."""
    for name, value in (arrays_of(state) | values_of(state)).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            if not np.all(np.abs(value) <= TOO_LARGE):  # nor NaN
                raise ValueError(f"{name} has numbers that are too large, or not finite")
        elif isinstance(value, Real) and not 0 <= value <= TOO_LARGE:
            raise ValueError(f"{name} is {value!r:.40}")
    if not (state.words.totals.min() >= 0.0 and state.doc_topic_prior.min(initial=1.0) > 0.0):
        raise ValueError("words.totals or doc_topic_prior has numbers that are not positive")
    if state.words.scale != 1.0:
        raise ValueError(f"words.scale is {state.words.scale!r:.40}, where 1 is needed")


def _bounds(found, n_features):
    """Bounds of shards of words, as tuples; ValueError for any that `word_bounds` does not return."""
    if type(found) is list and 1 <= len(found) <= N_WORD_PARTS:
        bounds = word_bounds(n_features, len(found))
        if found == [list(words) for words in bounds]:
            return bounds
    raise ValueError(f"its shards of words are {found!r:.80}")
