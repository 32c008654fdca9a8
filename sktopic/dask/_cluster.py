"""Where tasks run: on a Dask cluster, or at once in this process.

Both have what the loop over rounds needs: `submit` for a task, `results` for what small ones return, `wait`
for the end of others. A task is a pure function with a name that tells what it computes, so that Dask may
run it anywhere, and again.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent import futures
from concurrent.futures import CancelledError
from operator import itemgetter
from typing import Any
from uuid import uuid4
from weakref import WeakSet

from sktopic._runtime._optional import import_distributed

# Seconds between two looks at whether the cluster is still there.
POLL = 1.0
# Seconds in which a scheduler has to answer, however busy it is.
ANSWER = 60.0
# Seconds without any worker after which none is waited for any more: those that died are started anew sooner.
WITHOUT_WORKERS = 60.0
# What is said of tasks that the scheduler has let go.
LOST = "the Dask scheduler lost the work, or was lost"


class TaskFailed(Exception):
    """A task raised an error: its place among those waited for, and the error."""

    def __init__(self, position, error):
        super().__init__(position, error)
        self.position, self.error = position, error


class Here:
    """Runs a task when it is submitted: what it returns stands for it."""

    client = None

    def submit(self, name: tuple[str | int, ...], function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    def wait(self, tasks: Iterable[Any]) -> None:
        pass

    def results(self, tasks: Iterable[Any]) -> list[Any]:
        return list(tasks)

    def close(self) -> None:
        """Nothing is kept."""


class Cluster:
    """Runs tasks on the workers of a client; a future stands for each.

    `close` releases all futures, so that the cluster forgets their tasks.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client):
        if client.asynchronous:
            raise ValueError("the client is asynchronous; a synchronous one is needed: Client(address).")
        if client.status != "running":
            raise ValueError(f"the client is {client.status}; a connected one is needed: Client(address).")
        self.client = client
        self._token = uuid4().hex
        self._futures: WeakSet[Any] = WeakSet()
        self._without_workers = None

    def submit(self, name, function, *arguments):
        """Return the future of function(*arguments); of futures among these, and in lists, the results.

        name : str and numbers that no other task of this object has
        """
        kind, *numbers = name
        key = (f"sktopic-{kind}-{self._token}", *numbers)
        return self._kept(self.client.submit(function, *arguments, key=key, pure=True))

    def compute(self, delayed):
        """Return futures of a list of delayed objects."""
        return [self._kept(future) for future in self.client.compute(delayed)]

    def _kept(self, future):
        self._futures.add(future)
        return future

    def wait(self, tasks):
        """Wait until all tasks are done; TaskFailed tells of the first that failed."""
        tasks = list(tasks)
        for position, task in enumerate(tasks):
            while not task.done():
                self._wait_some_time(task)
                self._raise_failed(tasks)
            self._raise_failed([task], position)
            self._without_workers = None

    def results(self, tasks):
        """Return what tasks return, in a list: for small results."""
        tasks = list(tasks)
        self.wait(tasks)
        gathered = asyncio.run_coroutine_threadsafe(self._gather(tasks), self.client.loop.asyncio_loop)
        try:
            while not futures.wait([gathered], POLL).done:
                self._check_there()
            return gathered.result()
        except CancelledError:
            raise self._gone(LOST) from None
        finally:
            gathered.cancel()

    async def _gather(self, tasks):
        return await self.client.gather(tasks, asynchronous=True)

    def _wait_some_time(self, task):
        try:
            import_distributed().wait([task], timeout=POLL)
        except TimeoutError:
            self._check_there()
        except CancelledError:
            raise self._gone(LOST) from None

    def _raise_failed(self, tasks, first=0):
        for position, task in enumerate(tasks, first):
            if task.status == "error":
                raise TaskFailed(position, task.exception())
            # A result that is "lost" was that of a worker which died: it is computed again.
            if task.status == "cancelled":
                raise self._gone(LOST)

    def _check_there(self):
        """Raise RuntimeError if scheduler or workers are gone."""
        if self.client.status != "running":
            raise self._gone("the connection to the Dask scheduler was lost")
        try:
            n_threads = self.client.nthreads(callback_timeout=ANSWER)
        except (TimeoutError, OSError) as error:
            raise self._gone("the Dask scheduler does not answer") from error
        if n_threads:
            self._without_workers = None
            return
        now = time.monotonic()
        self._without_workers = self._without_workers or now
        if now - self._without_workers > WITHOUT_WORKERS:
            raise self._gone(f"the Dask cluster had no workers for {WITHOUT_WORKERS:.0f} s")

    def _gone(self, what):
        return RuntimeError(
            f"{what}: a fit with a checkpoint goes on from there with resume=True, here or elsewhere."
        )

    def close(self):
        """Let the cluster forget all tasks."""
        for future in list(self._futures):
            future.release()


def tasks_of(client):
    """Here for a client that is False, else the Cluster of the client, or of the current one for None."""
    if client is False:
        return Here()
    distributed = import_distributed()
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError:
            raise ValueError(
                "there is no Dask client: start one, client = dask.distributed.Client(...), or give "
                "client=False for tasks in this process."
            ) from None
    if not isinstance(client, distributed.Client):
        raise ValueError(
            f"client={client!r:.80}: a dask.distributed.Client, None for the current one or False for none "
            "is allowed."
        )
    return Cluster(client)


def submit_pair(tasks, name, function, *arguments):
    """Submit a function that returns two values; returns a task of each of these."""
    both = tasks.submit(name, function, *arguments)
    kind, *numbers = name
    return [tasks.submit((f"{kind}-{i}", *numbers), itemgetter(i), both) for i in range(2)]
