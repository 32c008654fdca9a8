"""Checkpoints of a fit in files, from which training continues after workers or the client have died.

A checkpoint is one file of rows per shard of words, and then a start file that identifies the fit. Without
the start file, the other files are not a checkpoint.
"""

import json
import re
from numbers import Real

import numpy as np

from sktopic._estimators._fitted_state import check_values, fitted_of, set_fitted
from sktopic._estimators._lanes import ROWS, RoundStart, finish, rows_of, without_rows
from sktopic._estimators._model_files import described, described_fitted, fitted_in
from sktopic._runtime._attributes import twin
from sktopic._state._fields import arrays_of, values_of
from sktopic.dask._files import TOO_LARGE, read_rows, write_rows
from sktopic.dask._state import MergedState, shards_of

FORMAT = "sktopic checkpoint 1"
# Number of checkpoints that are kept. More than one, because the last may be damaged.
KEPT = 2
NAME = re.compile(r"merge-(\d{8})\.checkpoint")
# The files of a checkpoint: its start file, and the rows of each shard.
FILE = re.compile(NAME.pattern + r"|merge-\d{8}-rows-\d{5}")
# Content of a start file besides arrays.
HEADER = {"format", "of", "fitted"}
# The array of a model file that a start file lacks.
STORE = f"_state.{ROWS}"
# Parameters that do not affect the result.
WITHOUT_EFFECT = {"n_jobs", "verbose"}
# Entries of a checkpoint that identify the documents.
OF_DOCUMENTS = {"documents", "n_documents", "n_features"}


class Checkpoints:
    """Checkpoints of a fit in lanes, numbered by merges.

    Parameters
    ----------
    folder : Folder
    estimator : the estimator that is trained
    identity : dict of JSON values that must agree with a checkpoint, besides the parameters of the estimator
    """

    def __init__(self, folder, estimator, identity):
        self._folder, self._start, self._number = folder, None, 0
        parameters = estimator.get_params(deep=False)
        settings = described({name: parameters[name] for name in sorted(parameters.keys() - WITHOUT_EFFECT)})
        of = {
            "class": type(estimator).__name__,
            **{f"parameter {name}": value for name, value in settings.items()},
            **identity,
        }
        self._identity = json.loads(json.dumps(of))

    def _numbers(self):
        """Return the numbers of merges that have a checkpoint, ascending."""
        matches = (NAME.fullmatch(name) for name in self._folder.names())
        return sorted(int(match.group(1)) for match in matches if match)

    def _shards(self):
        """Return the file name and the words (first, last) of each shard of the last checkpoint."""
        prefix = prefix_of(self._number)
        return [(f"{prefix}-rows-{i:05d}", *words) for i, words in enumerate(shards_of(self._start))]

    # Writing

    def write(self, tasks, state, number):
        """Write a MergedState, and delete older checkpoints, start files first."""
        (self._start,), self._number = tasks.results([state.start]), number
        writes = [
            tasks.submit((f"save-{number}", i), write_rows, self._folder, name, rows)
            for i, ((name, _, _), rows) in enumerate(zip(self._shards(), state.rows))
        ]
        tasks.wait(writes)
        fitted = fitted_of(finish(self._start, [np.empty((0, self._start.n_topics))]))
        del fitted[STORE]
        values, arrays = described_fitted(fitted)
        header = {"format": FORMAT, "of": self._identity, "fitted": values}
        self._folder.write_arrays(_start_name(number), header, arrays)
        kept = tuple(map(prefix_of, self._numbers()[-KEPT:]))
        for name in sorted(self._folder.names(), key=lambda name: NAME.fullmatch(name) is None):
            if FILE.fullmatch(name) and not name.startswith(kept):
                self._folder.delete(name)

    def given_state(self, tasks, start, model):
        """Return the MergedState of a fitted model; its rows reach the tasks through files."""
        self._start = start
        for name, first, last in self._shards():
            write_rows(self._folder, name, rows_of(model, slice(first, last)))
        return self.state(tasks)

    # Reading

    def state(self, tasks):
        """Return the MergedState of the last checkpoint; its tasks depend on the files only."""
        load = [
            tasks.submit((f"load-{self._number}", i), read_rows, self._folder, name, self._shape(*words))
            for i, (name, *words) in enumerate(self._shards())
        ]
        return MergedState(self._start, load, shards_of(self._start))

    def model(self):
        """Return the fitted model of the last checkpoint; its rows are read here, shard by shard."""
        rows = [read_rows(self._folder, name, self._shape(*words)) for name, *words in self._shards()]
        return finish(self._start, rows)

    def _shape(self, first, last):
        return last - first, self._start.n_topics

    def read(self, start, resume, check):
        """Return the start of the last checkpoint and its number, or None.

        start : the RoundStart before the first update of the same model
        check : function of a start and a number that raises ValueError if they do not belong together

        Raises
        ------
        ValueError
            If the checkpoint is damaged or belongs to another fit, or if there is one and resume is False.
        """
        numbers = self._numbers()
        if not numbers:
            return None
        if not resume:
            raise ValueError(
                f"{self._folder.address} has checkpoints. Set resume=True to continue from the "
                "last, or use another folder to start again."
            )
        self._number = numbers[-1]
        with self._folder.open_arrays(_start_name(self._number)) as archive:
            header = archive.header
            if header.keys() != HEADER or header["format"] != FORMAT or type(header["of"]) is not dict:
                raise ValueError("this version cannot read its format")
        self._check_identity(header["of"], _start_name(self._number))
        with self._folder.open_arrays(_start_name(self._number)) as archive:
            self._start = _start_in(archive, start)
            check(self._start, self._number)
            missing = {name for name, _, _ in self._shards()} - {*self._folder.names()}
            if missing:
                raise ValueError(f"{min(missing)} is missing")
        return self._start, self._number

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
            f"{name} in {self._folder.address} is the checkpoint of {what}: {details}. Use another folder."
        )


def prefix_of(number):
    """Return the prefix of the file names of a checkpoint."""
    return f"merge-{number:08d}"


def _start_name(number):
    return f"{prefix_of(number)}.checkpoint"


def _start_in(archive, start):
    """Return the RoundStart in an archive, checked like a model file.

    start : the RoundStart before the first update of the same model
    """
    kind = type(start.state)
    found = fitted_in(archive, kind, absent={STORE})
    # Rows are in separate files. Zeros that take no memory replace them.
    found[STORE] = np.broadcast_to(0.0, (start.n_features, found["_state.words.totals"].size))
    model = twin(start.estimator)
    set_fitted(model, found, kind)
    check_values(model)
    model._checked()
    _check_numbers(model._state)
    model._method().check_continuation(model._state)
    return RoundStart.of(model, without_rows(model._state))


def _check_numbers(state):
    """Raise ValueError for numbers that training cannot produce and could not continue from."""
    for name, value in (arrays_of(state) | values_of(state)).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            if not np.all(np.abs(value) <= TOO_LARGE):  # also raises for NaN
                raise ValueError(f"{name} has numbers that are too large, or not finite")
        elif isinstance(value, Real) and not 0 <= value <= TOO_LARGE:
            raise ValueError(f"{name} is {value!r:.40}")
    if not (state.words.totals.min() >= 0.0 and state.doc_topic_prior.min(initial=1.0) > 0.0):
        raise ValueError("words.totals or doc_topic_prior has numbers that are not positive")
    if state.words.scale != 1.0:
        raise ValueError(f"words.scale is {state.words.scale!r:.40}, but must be 1")
