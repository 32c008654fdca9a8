"""The loop over rounds: which documents each lane has, and what is submitted when."""

from collections import deque
from itertools import pairwise

import numpy as np

from sktopic._documents._block_order import blocks_of, dealt, permuted, windows
from sktopic._estimators._lane_schedule import rounds
from sktopic._kernels._rng import combine_keys
from sktopic._training._minibatches import SHUFFLE_KEY
from sktopic.dask._state import Round

# Rounds that are submitted ahead of the one that the client waits for.
ROUNDS_AHEAD = 3


class Deal:
    """The documents of an epoch, as they are dealt to lanes and read in windows.

    Parameters
    ----------
    documents : Documents
    n_lanes : int
    key : of the order of this epoch, or None: as they are
    epoch : its number
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
        self.sizes = [int(ends[-1]) for ends in self._ends]
        self._read = {}

    def chunk(self, tasks, lane, first, last):
        """Tasks that return windows, and bounds of rows within these: documents first to last of a lane."""
        ends = self._ends[lane]
        first, last = min(first, self.sizes[lane]), min(last, self.sizes[lane])
        begin = min(int(np.searchsorted(ends, first, "right")) - 1, max(len(ends) - 2, 0))
        some = range(begin, max(int(np.searchsorted(ends, last, "left")), begin + 1))
        # What a lane is past is not read again; a lane without documents reads the first window of another.
        self._read = {at: task for at, task in self._read.items() if at[0] != lane or at[1] >= begin}
        if not self._windows[lane]:
            return [self._window(tasks, self.sizes.index(max(self.sizes)), 0)], [(0, 0)]
        bounds = [(int(max(first - ends[i], 0)), int(min(last, ends[i + 1]) - ends[i])) for i in some]
        return [self._window(tasks, lane, i) for i in some], bounds

    def _window(self, tasks, lane, i):
        if (lane, i) not in self._read:
            key = None if self._key is None else combine_keys(self._key, lane)
            name = "window", self.epoch, lane, i
            ranges = self._windows[lane][i]
            self._read[lane, i] = self._documents.window(tasks, name, ranges, key, i)
        return self._read[lane, i]


class Plan:
    """The rounds of a fit: they follow from numbers alone.

    Parameters
    ----------
    documents : Documents
    n_lanes, merge_every, delta_dtype : of DaskTopicModel
    batch_size, n_epochs : of the estimator
    n_done : updates of the model before
    is_fit : whether the model counts its passes

    Attributes
    ----------
    seed : of the model, whose documents are visited in random orders; or None: in their own order
    """

    def __init__(self, documents, n_lanes, merge_every, delta_dtype, batch_size, n_epochs, n_done, is_fit):
        self.n_lanes, self.seed, self._documents, self._deal = n_lanes, None, documents, None
        self._sizes = sizes = [
            b - a for a, b in pairwise(documents.n_documents * i // n_lanes for i in range(n_lanes + 1))
        ]
        n_full, n_all = min(sizes) // batch_size, -(-max(sizes) // batch_size)
        self.rounds, self.n_updates = [], [n_done]
        for epoch in range(n_epochs):
            first = 0
            # The steps in which all lanes have as many documents; the last is a round of its own.
            for n_steps in (*rounds(n_full, merge_every, n_done), *[1] * (n_all - n_full)):
                is_last = is_fit and first + n_steps == n_all
                self.rounds.append(
                    Round(len(self.rounds), epoch, first, n_steps, is_last, batch_size, delta_dtype)
                )
                first, n_done = first + n_steps, n_done + n_steps
                self.n_updates.append(n_done)

    def _deal_of(self, epoch):
        """The Deal of an epoch, which is kept until the next."""
        if self._deal is None or self._deal.epoch != epoch:
            key = None if self.seed is None else combine_keys(self.seed, SHUFFLE_KEY, epoch)
            self._deal = Deal(self._documents, self.n_lanes, key, epoch)
        return self._deal

    def chunks(self, tasks, round_):
        """What each lane reads in a round."""
        deal, size = self._deal_of(round_.epoch), round_.batch_size
        first, last = round_.first_step * size, (round_.first_step + round_.n_steps) * size
        return [deal.chunk(tasks, lane, first, last) for lane in range(self.n_lanes)]

    def check(self, start, n_done):
        """Raise ValueError if a RoundStart after n_done rounds cannot be one of this plan."""
        if n_done > len(self.rounds):
            raise ValueError(f"it is of {n_done} merges, where {len(self.rounds)} are all")
        if start.n_updates != self.n_updates[n_done]:
            raise ValueError(
                f"it has {start.n_updates} updates after {n_done} merges, where {self.n_updates[n_done]} are "
                "needed; other versions may merge at other times"
            )

    def n_documents(self, round_):
        """Documents of all lanes in a round."""
        size = round_.batch_size
        first, last = round_.first_step * size, (round_.first_step + round_.n_steps) * size
        return sum(min(last, n) - min(first, n) for n in self._sizes)

    def n_documents_from(self, n_done):
        """Documents of the rounds from number n_done on."""
        return sum(map(self.n_documents, self.rounds[n_done:]))


def run_rounds(tasks, plan, start, n_done, files, every, progress):
    """Run the rounds of a plan from number n_done on; returns the fitted model.

    start : returns the State before them, which is let go after the first, as each is after the next
    every : rounds from one file to the next, which cuts the state from the tasks that it came from
    """
    state, pending = start(), deque()
    ahead = 0 if tasks.client is None else ROUNDS_AHEAD

    def wait(most):
        """Wait until at most so many rounds are pending."""
        while len(pending) > most:
            round_, done = pending.popleft()
            tasks.wait([done])
            progress.advance(plan.n_documents(round_))

    for round_ in plan.rounds[n_done:]:
        state = state.advance(tasks, round_, plan.chunks(tasks, round_))
        pending.append((round_, state.done(tasks, round_)))
        wait(ahead)
        n_done = round_.number + 1
        if n_done % every == 0 or n_done == len(plan.rounds):
            wait(0)
            files.write(tasks, state, n_done)
            if n_done < len(plan.rounds):
                state = files.state(tasks, state)
    return files.model(tasks, state)
