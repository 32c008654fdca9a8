"""Progress of long computations, shown as a bar of tqdm."""

import sys
from contextlib import suppress
from functools import cache

# Seconds between two pictures, on a screen and in a file of logs.
SCREEN_INTERVAL, LOG_INTERVAL = 0.1, 10.0
# The note comes before the rate: a narrow terminal cuts off the end.
BAR = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}, {rate_noinv_fmt}"


class Progress:
    """A bar of tqdm that shows how far work is; a context manager.

    Parameters
    ----------
    name : str
    total : int or None
        Number of units of work, if it is known.
    unit : str
        What is counted, in the plural.
    done : int
        Number of units that were done before.
    shown : bool
        If False, nothing is shown and tqdm is not imported.
    """

    def __init__(self, name, total, unit="documents", done=0, shown=True):
        self._name, self._bar = name, None
        if not shown or sys.stderr is None:  # a program without a console has no stream
            return
        self._bar = _tqdm()(
            desc=name,
            total=total,
            initial=done,
            file=_Stream(sys.stderr),
            bar_format=None if total is None else BAR,
            unit=f" {unit}",
            unit_scale=True,
            miniters=1,
            mininterval=SCREEN_INTERVAL if _is_screen(sys.stderr) else LOG_INTERVAL,
            dynamic_ncols=True,
        )
        self._bar.leave = self._bar.pos == 0  # the bar of work inside other work disappears

    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        if self._bar is not None:
            if kind is None:
                self._bar.total = self._bar.n  # work that stopped early is complete, too
            self._bar.close()

    def advance(self, n):
        """Note that n more units are done; return whether the bar was drawn."""
        return self._bar is not None and bool(self._bar.update(n))

    def expect(self, n):
        """Note that there are n more units to do than was known."""
        if self._bar is not None and self._bar.total is not None:
            self._bar.total += n

    def begin_stage(self, stage):
        """Show the name of a part of the work after that of the work."""
        if self._bar is not None:
            self._bar.set_description_str(f"{self._name} {stage}", refresh=False)

    def note(self, text):
        """Show what text(), a function, returns; it is called only if the bar is shown."""
        if self._bar is not None:
            self._bar.set_postfix_str(text(), refresh=False)


# For work that nobody follows.
NOT_SHOWN = Progress("", None, shown=False)


class _Stream:
    """A stream that drops what it cannot write, so that no work ends because its terminal or disk is gone."""

    def __init__(self, stream):
        self._stream = stream

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def write(self, text):
        with suppress(OSError, ValueError):  # ValueError: the stream is closed
            self._stream.write(text)

    def flush(self):
        with suppress(OSError, ValueError):
            self._stream.flush()


def _is_screen(stream):
    """Whether the stream is a terminal or the output of a notebook, where pictures replace each other."""
    if type(stream).__module__.partition(".")[0] == "ipykernel":
        return True
    return not getattr(stream, "closed", False) and stream.isatty()


@cache
def _tqdm():
    """The class of tqdm for the terminal or the notebook in which the program runs."""
    from tqdm.auto import tqdm
    from tqdm.std import TqdmDefaultWriteLock

    class Bar(tqdm):
        monitor_interval = 0  # no thread of its own, which would make every fork unsafe

    # Without the lock between processes, which decides for the program how multiprocessing starts them.
    Bar.set_lock(TqdmDefaultWriteLock.th_lock)
    return Bar
