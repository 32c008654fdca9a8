"""The merged state of lanes, and a round as tasks: the updates of all lanes, and their merge.

Where the rows of all words are few, they are one part, and a round is one task for each lane and one that
merges. Else each shard of words is merged on its own, and lanes are sent the rows of their documents' words.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sktopic._estimators._lanes import (
    N_WORD_PARTS,
    end_pass,
    initial_rows,
    learn_from_rows,
    local_update,
    merge_lanes,
    merge_rows,
    narrowed,
    row_sums,
    set_initial_totals,
    word_bounds,
)
from sktopic.dask._blocks import in_window
from sktopic.dask._files import read_rows, write_rows

# Bytes of rows above which words are divided into shards.
SHARD_BYTES = 1 << 26


def n_shards_of(n_features, n_topics):
    """Into how many shards words are divided."""
    return min(max(1, -(-n_features * n_topics * 8 // SHARD_BYTES)), N_WORD_PARTS)


@dataclass(frozen=True)
class Round:
    """What the lanes do between two merges.

    Attributes
    ----------
    number : rounds before it
    epoch : the pass over the documents
    first_step : steps before it in this pass
    n_steps : mini-batches of each lane
    ends_epoch : whether it is the last of the pass
    batch_size : documents of a mini-batch, at most
    delta_dtype : to which what lanes add is rounded
    """

    number: int
    epoch: int
    first_step: int
    n_steps: int
    ends_epoch: bool
    batch_size: int
    delta_dtype: str


class State(ABC):
    """The merged state as tasks that return it."""

    @abstractmethod
    def advance(self, tasks, round_, chunks):
        """Return the State after a Round, given windows and the bounds of rows in these for each lane."""

    @abstractmethod
    def saved(self, tasks, folder, prefix):
        """Tasks that write the rows into files and return nothing, and one that returns the RoundStart."""

    @abstractmethod
    def done(self, tasks, round_):
        """A task that ends when the state after a Round is there."""

    @abstractmethod
    def collected(self):
        """The start, and the rows of each shard; where tasks ran in this process."""


def begin_state(tasks, start):
    """The State before the first update."""
    bounds = word_bounds(start.n_features, n_shards_of(start.n_features, start.n_topics))
    if len(bounds) == 1:
        return Whole(tasks.submit(("begin",), begin_whole, start, *bounds[0]), bounds)
    begun = [tasks.submit(("begin", i), initial_rows, start, *words) for i, words in enumerate(bounds)]
    totals = [tasks.submit(("begin-totals", i), second, pair) for i, pair in enumerate(begun)]
    rows = [tasks.submit(("begin-rows", i), first, pair) for i, pair in enumerate(begun)]
    return Shards(tasks.submit(("begin-start",), set_initial_totals, start, totals), rows, bounds)


def loaded_state(tasks, folder, prefix, start, bounds):
    """The State that was written into files."""
    load = [
        tasks.submit(
            (f"load-{prefix}", i), read_rows, folder, rows_name(prefix, i), (last - first, start.n_topics)
        )
        for i, (first, last) in enumerate(bounds)
    ]
    if len(bounds) == 1:
        return Whole(tasks.submit((f"state-{prefix}",), pair, start, load[0]), bounds)
    return Shards(tasks.submit((f"start-{prefix}",), identity, start), load, bounds)


class Whole(State):
    """RoundStart and rows of all words, which one task returns."""

    def __init__(self, state, bounds):
        self._state, self.bounds = state, bounds

    def advance(self, tasks, round_, chunks):
        updates = [
            tasks.submit(("update", round_.number, lane), lane_of_whole, self._state, *chunk, lane, round_)
            for lane, chunk in enumerate(chunks)
        ]
        merged = tasks.submit(("merge", round_.number), merge_whole, self._state, updates, round_)
        return Whole(merged, self.bounds)

    def saved(self, tasks, folder, prefix):
        return tasks.submit((f"save-{prefix}",), write_whole, folder, prefix, self._state), []

    def done(self, tasks, round_):
        return tasks.submit(("done", round_.number), nothing, self._state)

    def collected(self):
        start, rows = self._state
        return start, [rows]


class Shards(State):
    """The start, and the rows of each shard of words, which a task each returns."""

    def __init__(self, start, rows, bounds):
        self._start, self._rows, self.bounds = start, rows, bounds

    def advance(self, tasks, round_, chunks):
        number = round_.number
        updates = [self._update(tasks, round_, lane, chunk) for lane, chunk in enumerate(chunks)]
        summaries = [
            tasks.submit(("summary", number, lane), summary_of, update) for lane, update in enumerate(updates)
        ]
        merged = tasks.submit(("merge-start", number), merge_lanes, self._start, summaries, round_.epoch == 0)
        start = tasks.submit(("start", number), first, merged)
        merge = tasks.submit(("how", number), second, merged)
        rows = []
        for i, words in enumerate(self.bounds):
            parts = [
                tasks.submit(("part", number, lane, i), part_of, update, *words)
                for lane, update in enumerate(updates)
            ]
            rows.append(tasks.submit(("merge", number, i), merge_rows, self._rows[i], merge, parts))
        sums = [
            tasks.submit(("sums", number, i), row_sums_of, start, *words, rows[i])
            for i, words in enumerate(self.bounds)
        ]
        start = tasks.submit(("learn", number), learnt, start, merge, sums, round_)
        return Shards(start, rows, self.bounds)

    def _update(self, tasks, round_, lane, chunk):
        name = round_.number, lane
        documents = tasks.submit(("documents", *name), cut, *chunk, round_)
        words = tasks.submit(("words", *name), first, documents)
        gathered = [
            tasks.submit(("gather", *name, i), rows_of_words, rows, *self.bounds[i], words)
            for i, rows in enumerate(self._rows)
        ]
        return tasks.submit(("update", *name), lane_of_shards, self._start, documents, gathered, lane, round_)

    def saved(self, tasks, folder, prefix):
        writes = [
            tasks.submit((f"save-{prefix}", i), write_rows, folder, rows_name(prefix, i), rows)
            for i, rows in enumerate(self._rows)
        ]
        return tasks.submit((f"saved-{prefix}",), identity, self._start), writes

    def done(self, tasks, round_):
        return tasks.submit(("done", round_.number), nothing, self._start, self._rows)

    def collected(self):
        return self._start, self._rows


def rows_name(prefix, shard):
    """The name of the file with the rows of a shard."""
    return f"{prefix}-rows-{shard:05d}"


# Tasks


def begin_whole(start, first_word, last_word):
    rows, totals = initial_rows(start, first_word, last_word)
    return set_initial_totals(start, [totals]), rows


def cut(windows, bounds, round_):
    """The words of documents, and these in batches with the positions of words in the place of words."""
    X, size = in_window(windows, bounds, None, 0), round_.batch_size
    return narrowed([X[step * size : (step + 1) * size] for step in range(round_.n_steps)])


def lane_of_whole(state, windows, bounds, lane, round_):
    start, rows = state
    words, batches = cut(windows, bounds, round_)
    return _lane(start, words, rows, batches, lane, round_, at=words)


def lane_of_shards(start, documents, gathered, lane, round_):
    words, batches = documents
    return _lane(start, words, np.concatenate(gathered), batches, lane, round_)


def _lane(start, words, rows, batches, lane, round_, at=None):
    return local_update(start, words, rows, batches, lane, np.dtype(round_.delta_dtype), at)


def rows_of_words(rows, first_word, last_word, words):
    """The rows of those of the words that a shard has."""
    some = words[np.searchsorted(words, first_word) : np.searchsorted(words, last_word)]
    return rows[some - first_word]


def summary_of(update):
    return update.summary


def part_of(update, first_word, last_word):
    return update.rows_of(first_word, last_word)


def merge_whole(state, updates, round_):
    start, rows = state
    start, merge = merge_lanes(start, [update.summary for update in updates], round_.epoch == 0)
    rows = merge_rows(rows, merge, [update.rows_of(0, len(rows)) for update in updates])
    return learnt(start, merge, [row_sums_of(start, 0, len(rows), rows)], round_), rows


def row_sums_of(start, first_word, last_word, rows):
    """What priors learn from the rows of a shard, if they learn."""
    return row_sums(start, first_word, last_word, rows) if start.learns_word_prior else None


def learnt(start, merge, sums, round_):
    """The RoundStart after a round."""
    if start.learns_word_prior:
        start = learn_from_rows(start, merge, sums)
    return end_pass(start) if round_.ends_epoch else start


def write_whole(folder, prefix, state):
    start, rows = state
    write_rows(folder, rows_name(prefix, 0), rows)
    return start


def pair(one, other):
    return one, other


def first(values):
    return values[0]


def second(values):
    return values[1]


def identity(value):
    return value


def nothing(*values):
    """Return nothing of what there is then."""
