"""Run tasks on a Dask cluster, or immediately in this process.

Both classes offer `submit` for a task, `results` for small results, and `wait` for the end of tasks. A task
is a pure function with a name that identifies its computation. Dask may run it anywhere, and repeatedly.
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

# Seconds between two checks whether the cluster is still there.
POLL = 1.0
# Seconds within which the scheduler must answer, however busy it is.
ANSWER = 60.0
# Seconds without any worker before giving up: dead workers restart sooner.
WITHOUT_WORKERS = 60.0
# Message about tasks that the scheduler has dropped.
LOST = "the Dask scheduler lost the work, or was lost"


class TaskFailed(Exception):
    """A task raised an error. Holds its position among the awaited tasks, and the error."""

    def __init__(self, position, error):
        super().__init__(position, error)
        self.position, self.error = position, error


class Here:
    """Runs a task when it is submitted. The result takes the place of a future."""

    client = None

    def submit(self, name: tuple[str | int, ...], function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    def wait(self, tasks: Iterable[Any]) -> None:
        pass

    def results(self, tasks: Iterable[Any]) -> list[Any]:
        return list(tasks)

    def close(self) -> None:
        """Do nothing."""


class Cluster:
    """Runs tasks on the workers of a client. A future represents each task.

    `close` releases all futures, so that the cluster forgets the tasks.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client):
        if client.asynchronous:
            raise ValueError("the client is asynchronous, but must be synchronous: Client(address).")
        if client.status != "running":
            raise ValueError(f"the client is {client.status}, but must be connected: Client(address).")
        self.client = client
        self._token = uuid4().hex
        self._futures: WeakSet[Any] = WeakSet()
        self._without_workers = None

    def submit(self, name, function, *arguments):
        """Return the future of function(*arguments). Futures among the arguments are replaced by results.

        name : str and numbers, unique among the tasks of this object
        """
        kind, *numbers = name
        key = (f"sktopic-{kind}-{self._token}", *numbers)
        return self._kept(self.client.submit(function, *arguments, key=key, pure=True))

    def compute(self, delayed):
        """Return the futures of a list of delayed objects."""
        return [self._kept(future) for future in self.client.compute(delayed)]

    def _kept(self, future):
        self._futures.add(future)
        return future

    def wait(self, tasks):
        """Wait until all tasks are done; TaskFailed reports the first failure."""
        tasks = list(tasks)
        for position, task in enumerate(tasks):
            while not task.done():
                self._wait_some_time(task)
                self._raise_failed(tasks)
            self._raise_failed([task], position)
            self._without_workers = None

    def results(self, tasks):
        """Return the results of tasks in a list. For small results."""
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
            # The status "lost" means that a worker died. Dask computes the result again.
            if task.status == "cancelled":
                raise self._gone(LOST)

    def _check_there(self):
        """Raise RuntimeError if the scheduler or all workers are gone."""
        if self.client.status != "running":
            raise self._gone("the connection to the Dask scheduler was lost")
        try:
            n_threads = self.client.nthreads(callback_timeout=ANSWER)
        except (TimeoutError, OSError, RuntimeError) as error:  # connections that close
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
            f"{what}: to continue a fit with a checkpoint, call it again with resume=True, here or elsewhere."
        )

    def close(self):
        """Let the cluster forget all tasks."""
        for future in list(self._futures):
            future.release()


def tasks_of(client):
    """Return Here if client is False, else the Cluster of the client, or of the current client if None."""
    if client is False:
        return Here()
    distributed = import_distributed()
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError:
            raise ValueError(
                "there is no Dask client. Start one with dask.distributed.Client(...), or set "
                "client=False to run tasks in this process."
            ) from None
    if not isinstance(client, distributed.Client):
        raise ValueError(
            f"client={client!r:.80} is invalid: must be a dask.distributed.Client, None for the "
            "current client, or False for this process."
        )
    return Cluster(client)


def submit_pair(tasks, name, function, *arguments):
    """Submit a function that returns two values; return one task for each value."""
    both = tasks.submit(name, function, *arguments)
    kind, *numbers = name
    return [tasks.submit((f"{kind}-{i}", *numbers), itemgetter(i), both) for i in range(2)]
