"""The loop over rounds: when lanes are merged, their documents, and when tasks are submitted."""

from collections import deque
from itertools import pairwise

import numpy as np

from sktopic._documents._block_order import blocks_of, dealt, permuted, windows
from sktopic._estimators._lanes import finish
from sktopic._kernels.random._rng import combine_keys
from sktopic._training._minibatches import SHUFFLE_KEY
from sktopic.dask._blocks import rows_in_parts
from sktopic.dask._state import Round

# "auto": the number of mini-batches is a share of those before. Lanes stay close to each other while topics
# form, and seldom wait for each other later (benchmarks/lanes.py).
GROWTH = 16
MOST_STEPS = 128
# Number of rounds that are submitted ahead of the round that the client waits for.
ROUNDS_AHEAD = 3


def rounds(n_steps, merge_every, n_updates_done):
    """Cut steps into rounds; yield the number of steps of each. In a step, every lane has a mini-batch.

    merge_every : maximum number of steps per round, or "auto"
    n_updates_done : number of earlier steps. The very first step is a separate round.
    """
    end = n_updates_done + n_steps
    while n_updates_done < end:
        automatic = max(1, min(MOST_STEPS, n_updates_done // GROWTH))
        most = automatic if merge_every == "auto" else int(merge_every)
        n = min(most if n_updates_done > 0 else 1, end - n_updates_done)
        yield n
        n_updates_done += n


class Deal:
    """The documents of an epoch, divided among lanes and read in windows.

    Parameters
    ----------
    documents : Documents
    n_lanes : int
    key : key of the order of this epoch, or None for the original order
    epoch : number of the epoch
    """

    def __init__(self, documents, n_lanes, key, epoch):
        self._documents, self._key, self.epoch = documents, key, epoch
        blocks = blocks_of(documents.n_documents)
        parts = dealt(blocks if key is None else permuted(blocks, key), n_lanes)
        self._windows = [list(windows(part)) for part in parts]
        self._ends = [
            np.cumsum([0, *(sum(last - first for first, last in window) for window in lane)])
            for lane in self._windows
        ]
        # Windows that the last chunk of each lane has read. The next chunk may continue in them.
        self._read = [{} for _ in parts]

    def chunk(self, tasks, lane, first, last):
        """Return tasks of windows, and row bounds within them, for documents first to last of a lane."""
        ends, read = self._ends[lane], self._read[lane]
        parts = rows_in_parts(ends, min(first, ends[-1]), min(last, ends[-1]))
        self._read[lane] = {i: read[i] if i in read else self._window(tasks, lane, i) for i, _, _ in parts}
        return list(self._read[lane].values()), [(a, b) for _, a, b in parts]

    def _window(self, tasks, lane, i):
        key = None if self._key is None else combine_keys(self._key, lane)
        name, ranges = ("window", self.epoch, lane, i), self._windows[lane][i]
        return self._documents.window(tasks, name, ranges, key, i)


class Plan:
    """The rounds of a call, which depend on numbers only.

    Parameters
    ----------
    documents : Documents
    settings : DaskTopicModel
    estimator : the estimator that is trained
    n_updates_done : number of earlier updates of the model
    is_fit : whether this is `fit`, with max_iter passes that the model counts; else one pass

    Attributes
    ----------
    seed : seed of the random order of documents, or None for the original order
    """

    def __init__(self, documents, settings, estimator, n_updates_done, is_fit):
        self.n_lanes, self.seed, self._documents, self._deal = int(settings.n_lanes), None, documents, None
        ends = (documents.n_documents * i // self.n_lanes for i in range(self.n_lanes + 1))
        self._sizes, batch_size = [b - a for a, b in pairwise(ends)], estimator._documents_per_update()
        n_full, n_all = min(self._sizes) // batch_size, -(-max(self._sizes) // batch_size)
        self.rounds, self.n_updates = [], [n_updates_done]
        for epoch in range(int(estimator.max_iter) if is_fit else 1):
            first = 0
            # Steps in which all lanes have full batches; the remaining step is a separate round.
            for n_steps in (*rounds(n_full, settings.merge_every, n_updates_done), *[1] * (n_all - n_full)):
                round_ = Round(
                    number=len(self.rounds),
                    epoch=epoch,
                    first_step=first,
                    n_steps=n_steps,
                    ends_epoch=is_fit and first + n_steps == n_all,
                    batch_size=batch_size,
                    delta_dtype=settings.delta_dtype,
                )
                self.rounds.append(round_)
                first, n_updates_done = first + n_steps, n_updates_done + n_steps
                self.n_updates.append(n_updates_done)

    def chunks(self, tasks, round_):
        """Return the documents that each lane reads in a round."""
        if self._deal is None or self._deal.epoch != round_.epoch:
            key = None if self.seed is None else combine_keys(self.seed, SHUFFLE_KEY, round_.epoch)
            self._deal = Deal(self._documents, self.n_lanes, key, round_.epoch)
        return [self._deal.chunk(tasks, lane, *round_.bounds) for lane in range(self.n_lanes)]

    def check(self, start, n_rounds_done):
        """Raise ValueError if a RoundStart after n_rounds_done rounds cannot belong to this plan."""
        if n_rounds_done > len(self.rounds):
            raise ValueError(f"it has {n_rounds_done} merges, but this fit makes only {len(self.rounds)}")
        if start.state.n_updates != self.n_updates[n_rounds_done]:
            raise ValueError(
                f"it has {start.state.n_updates} updates after {n_rounds_done} merges, but must "
                f"have {self.n_updates[n_rounds_done]}; other versions may merge at other times"
            )

    def n_documents(self, rounds):
        """Return the number of documents of all lanes in some rounds."""
        bounds = [round_.bounds for round_ in rounds]
        return sum(min(last, n) - min(first, n) for first, last in bounds for n in self._sizes)


def run_rounds(tasks, plan, begin, n_rounds_done, files, every, progress):
    """Run the rounds of a plan starting with number n_rounds_done; return the fitted model.

    begin : function that returns the MergedState before these rounds. Each state is released after the next.
    files : Checkpoints, or None in this process
    every : number of rounds between files. A file releases the tasks that computed the state.
    """
    state, pending = begin(), deque()
    ahead = 0 if tasks.client is None else ROUNDS_AHEAD
    for round_ in plan.rounds[n_rounds_done:]:
        state = state.advance(tasks, round_, plan.chunks(tasks, round_))
        pending.append((round_, state.start))
        n_rounds_done = round_.number + 1
        is_last = n_rounds_done == len(plan.rounds)
        is_saved = is_last or n_rounds_done % every == 0
        while len(pending) > (0 if is_saved else ahead):
            earlier, start = pending.popleft()
            tasks.wait([start])
            progress.advance(plan.n_documents([earlier]))
        if is_saved and files is not None:
            files.write(tasks, state, n_rounds_done)
            if not is_last:
                state = files.state(tasks)
    return finish(state.start, state.rows) if files is None else files.model()
