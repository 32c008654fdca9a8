"""The merged state of lanes, and a round as tasks: updates of all lanes, and their merge.

If the rows of all words fit into one shard, a round has one task per lane and one task that merges. Otherwise
each shard of words is merged separately, and lanes receive the rows of their documents' words.
"""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse as sp

from sktopic._estimators._lane_updates import LaneUpdate
from sktopic._estimators._lanes import (
    N_WORD_PARTS,
    initial_rows,
    learn_from_rows,
    local_update,
    merge_lanes,
    merge_rows,
    merge_whole,
    narrowed,
    row_sums,
    rows_of,
    set_initial_totals,
    word_bounds,
)
from sktopic.dask._blocks import in_window
from sktopic.dask._cluster import submit_pair

# Size of rows in bytes above which words are divided into shards.
SHARD_BYTES = 1 << 26


def shards_of(start):
    """Return the shards (first, last) of the words of a model; last is exclusive."""
    n_shards = -(-start.n_features * start.n_topics * 8 // SHARD_BYTES)
    return word_bounds(start.n_features, min(max(1, n_shards), N_WORD_PARTS))


@dataclass(frozen=True)
class Round:
    """The work of the lanes between two merges.

    Attributes
    ----------
    number : number of earlier rounds
    epoch : number of the pass over the documents
    first_step : number of earlier steps in this pass
    n_steps : number of mini-batches per lane
    ends_epoch : whether it is the last round of the pass
    batch_size : maximum number of documents per mini-batch
    delta_dtype : type to which updates of lanes are rounded
    """

    number: int
    epoch: int
    first_step: int
    n_steps: int
    ends_epoch: bool
    batch_size: int
    delta_dtype: str

    @property
    def bounds(self):
        """Bounds (first, last) of the documents of each lane in this pass; a lane may have fewer."""
        return self.first_step * self.batch_size, (self.first_step + self.n_steps) * self.batch_size


@dataclass(frozen=True)
class MergedState:
    """The state after a round, as tasks.

    Attributes
    ----------
    start : the RoundStart, or its task that ends after the merge
    rows : tasks of the rows of each shard
    bounds : the shards (see shards_of)
    """

    start: Any
    rows: list[Any]
    bounds: list[tuple[int, int]]

    def advance(self, tasks, round_, chunks):
        """Return the state after a Round.

        chunks : for each lane, windows of documents, and bounds of the lane's rows in them
        """
        number, is_first_visit = round_.number, round_.epoch == 0
        if len(self.rows) == 1:
            (rows,) = self.rows
            updates = [
                tasks.submit(("update", number, lane), updated, self.start, rows, *chunk, lane, round_)
                for lane, chunk in enumerate(chunks)
            ]
            merged = merge_whole, self.start, rows, updates, is_first_visit, round_.ends_epoch
            start, rows = submit_pair(tasks, ("merge", number), *merged)
            return MergedState(start, [rows], self.bounds)
        updates = [self._update(tasks, chunk, lane, round_) for lane, chunk in enumerate(chunks)]
        summaries = [
            tasks.submit(("summary", number, lane), attrgetter("summary"), update)
            for lane, update in enumerate(updates)
        ]
        merged = merge_lanes, self.start, summaries, is_first_visit
        start, merge = submit_pair(tasks, ("merge", number), *merged)
        rows, sums = [], []
        for i, words in enumerate(self.bounds):
            parts = [
                tasks.submit(("part", number, lane, i), LaneUpdate.part_for, update, *words)
                for lane, update in enumerate(updates)
            ]
            rows.append(tasks.submit(("merge-rows", number, i), merge_rows, self.rows[i], merge, parts))
            sums.append(tasks.submit(("sums", number, i), row_sums, start, *words, rows[i]))
        start = tasks.submit(("learn", number), learn_from_rows, start, merge, sums, round_.ends_epoch)
        return MergedState(start, rows, self.bounds)

    def _update(self, tasks, chunk, lane, round_):
        """Return the task of a lane's update; the task receives the rows of its words from all shards."""
        name = round_.number, lane
        words, batches = submit_pair(tasks, ("batches", *name), batches_of, *chunk, round_)
        gathered = [
            tasks.submit(("gather", *name, i), rows_of_words, rows, *self.bounds[i], words)
            for i, rows in enumerate(self.rows)
        ]
        arguments = self.start, gathered, words, batches, lane, round_
        return tasks.submit(("update", *name), updated_by_shards, *arguments)


def begin_state(tasks, start):
    """Return the MergedState before the first update."""
    bounds = shards_of(start)
    begun = [submit_pair(tasks, ("begin", i), initial_rows, start, *words) for i, words in enumerate(bounds)]
    totals = [sums for _, sums in begun]
    start = tasks.submit(("begin-start",), set_initial_totals, start, totals)
    return MergedState(start, [rows for rows, _ in begun], bounds)


def whole_state(start, model):
    """Return the MergedState of a fitted model in this process."""
    return MergedState(start, [rows_of(model)], word_bounds(start.n_features, 1))


# Tasks


def batches_of(windows, bounds, round_):
    """Return the words of a lane's documents, and its batches with positions in these words as columns."""
    if not windows:
        return np.empty(0, dtype=np.int64), [sp.csr_array((0, 0))] * round_.n_steps
    X, size = in_window(windows, bounds, None, 0), round_.batch_size
    return narrowed([X[step * size : (step + 1) * size] for step in range(round_.n_steps)])


def updated(start, rows, windows, bounds, lane, round_):
    """Return the LaneUpdate of documents, given the rows of all words."""
    words, batches = batches_of(windows, bounds, round_)
    return local_update(start, words, rows, batches, lane, round_.delta_dtype, at=words)


def updated_by_shards(start, gathered, words, batches, lane, round_):
    """Return the LaneUpdate of batches, given the rows of their words in each shard."""
    return local_update(start, words, np.concatenate(gathered), batches, lane, round_.delta_dtype)


def rows_of_words(rows, first_word, last_word, words):
    """Return the rows of the given words that a shard holds."""
    some = words[np.searchsorted(words, first_word) : np.searchsorted(words, last_word)]
    return rows[some - first_word]
