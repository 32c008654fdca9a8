"""Progress that people see: a bar of tqdm where that is installed, otherwise a line."""

import os
import sys
import time
from abc import ABC, abstractmethod
from functools import cache
from multiprocessing import parent_process

# Seconds between two pictures that replace each other, and between lines that do not: at first, and later.
REDRAW_PERIOD = 0.1
FIRST_PERIOD, LAST_PERIOD = 5.0, 60.0
# What tqdm draws while the work goes on, and in the end.
BAR = "{desc}: {percentage:3.0f}%|{bar}| {rate_noinv_fmt}, {remaining} left{postfix}"
BAR_AT_END = BAR.replace("{remaining} left", "took {elapsed}")
# The same where nobody knows how much there is to do.
OPEN_BAR = "{desc}: {n_fmt}{unit} | {rate_noinv_fmt}, {elapsed}{postfix}"
# Units above which a rate is abbreviated, as 12.3k.
MANY = 10_000
# What the width of a terminal is taken for where it is unknown.
COLUMNS = 80


def show_progress(name, total, unit="documents", done=0, shown=True):
    """Return what shows how work goes on, a Progress: on a terminal or in a notebook a bar, else lines.

    Parameters
    ----------
    name : str
    total : int or None
        Units of work in all, if that is known.
    unit : str
        What is counted, in the plural.
    done : int
        Units that were done before.
    shown : bool
        If not, nothing is seen of it.
    """
    given = name, total, unit, done
    # A program without a console has no stream; others may have closed theirs.
    if not shown or sys.stderr is None or _is_closed(sys.stderr):
        return Progress()
    if not _can_be_rewritten(sys.stderr):
        return Lines(*given)
    if parent_process() is not None:  # to which the last line of the terminal belongs
        return LinesAbove(*given)
    tqdm = _tqdm()
    if tqdm is not None:
        return Bar(tqdm, *given)
    line = RewrittenLine(*given)
    return line if _owner.setdefault("line", line) is line else LinesAbove(*given)


class Progress:
    """Takes notice of units of work that are done, and shows nothing; a context manager.

    Attributes
    ----------
    stage : str
        What part of the work goes on, shown after the name.
    notes : function of no arguments that returns a str
        What else is to be shown; called only when something is shown.
    """

    def __init__(self):
        self.stage, self.notes = "", str

    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        self._close(complete=kind is None)
        self.notes = (
            str  # Those of a fit lead to the model, whose arrays a cycle would keep from being freed.
        )

    def advance(self, n):
        """Note that n more units are done."""

    def expect(self, n):
        """Note that there are n more units to do than was known, where that was known."""

    def show(self):
        """Show the present state now: something ended that is worth being seen."""

    def _close(self, complete):
        """Leave the terminal as it should be; complete: whether the work ended by itself."""


# For work that nobody follows.
NOT_SHOWN = Progress()


class _Visible(Progress, ABC):
    """Shows the state when it changes, but not too often. Parameters as of `show_progress`."""

    def __init__(self, name, total, unit, done):
        super().__init__()
        self._stream = sys.stderr
        self._name, self._total, self._unit = name, total, unit
        self._done = self._done_before = done
        self._begin = self._last = time.perf_counter()

    def advance(self, n):
        self._done += n
        now = time.perf_counter()
        if now - self._last >= self._period(now):
            self._last = now
            self._attempt(self._draw, now)

    def expect(self, n):
        if self._total is not None:
            self._total += n

    def show(self):
        self._last = time.perf_counter()
        self._attempt(self._draw, self._last)

    def _close(self, complete):
        self._attempt(self._end, complete)

    def _attempt(self, write, argument):
        """Write to the stream. Work goes on if its terminal or its disk is gone."""
        try:
            write(argument)
        except OSError:
            pass
        except ValueError:
            if not _is_closed(self._stream):
                raise

    def _period(self, now):
        """Seconds from one picture to the next."""
        return REDRAW_PERIOD

    @abstractmethod
    def _draw(self, now):
        """Show the present state; now: the time on the clock of `time.perf_counter`."""

    @abstractmethod
    def _end(self, complete):
        """Leave the terminal as it should be; complete: whether the work ended by itself."""

    def _title(self):
        return f"{self._name} {self.stage}".rstrip()


class Bar(_Visible):
    """A bar of tqdm, by its class for the terminal or for notebooks."""

    def __init__(self, tqdm, *given):
        super().__init__(*given)
        self._bar = tqdm(
            desc=self._name,
            total=self._total,
            initial=self._done,
            file=self._stream,
            bar_format=OPEN_BAR if self._total is None else BAR,
            unit=f" {self._unit}",
            unit_scale=self._total is None or self._total >= MANY,
            miniters=1,  # how often it is drawn is decided here
            mininterval=0,
            dynamic_ncols=True,
        )
        self._bar.leave = self._bar.pos == 0  # those inside others disappear

    def _draw(self, now):
        bar = self._bar
        bar.total = self._total
        bar.set_description_str(self._title(), refresh=False)
        bar.set_postfix_str(self.notes(), refresh=False)
        if int(self._done) > bar.n:
            bar.update(int(self._done) - bar.n)
        else:
            bar.refresh()

    def _end(self, complete):
        try:
            if complete:
                self._draw(time.perf_counter())
                self._bar.total = self._bar.n  # work that stopped early is complete, too
            self._bar.bar_format = BAR_AT_END if self._total is not None else OPEN_BAR
        finally:
            self._bar.close()


class Lines(_Visible):
    """Lines that follow each other, for files of logs: every few seconds, later every minute."""

    def __init__(self, *given):
        super().__init__(*given)
        self._shown = None

    def _period(self, now):
        return min(max(FIRST_PERIOD, (now - self._begin) / 10), LAST_PERIOD)

    def _draw(self, now):
        self._shown = self._done, self.stage
        self._write(self._text(now))

    def _write(self, text):
        print(text, file=self._stream, flush=True)

    def _text(self, now, over=False):
        elapsed, done = max(now - self._begin, 1e-9), self._done - self._done_before
        if self._total is None:
            state, left = f"{self._done:.0f} {self._unit}", ""
        else:
            state = f"{100 * self._done / max(self._total, 1):.0f}%"
            left = done and f"{_clock((self._total - self._done) * elapsed / max(done, 1))} left"
            over = over or self._done >= self._total
        parts = [
            f"{self._title()}: {state}",
            done and f"{_three_digits(done / elapsed)} {self._unit}/s",
            f"took {_clock(elapsed)}" if over else left,
            self.notes(),
        ]
        return ", ".join(part for part in parts if part)

    def _end(self, complete):
        if self._shown != (self._done, self.stage):
            self._write(self._text(time.perf_counter(), over=complete))


class LinesAbove(Lines):
    """Lines on a terminal of which other work has the last line: fewer of them."""

    def show(self):
        """Nothing: what goes on inside other work is shown from time to time."""

    def _write(self, text):
        width = _columns(self._stream) - 1
        super()._write(f"\r{text[:width]:<{width}}")


class RewrittenLine(Lines):
    """The last line of a terminal, written again and again."""

    def __init__(self, *given):
        super().__init__(*given)
        self._width = 0

    def __enter__(self):
        self.show()
        return self

    def _period(self, now):
        return REDRAW_PERIOD

    def _write(self, text, end=""):
        text = text[: _columns(self._stream) - 1]
        self._stream.write(f"\r{text:<{self._width}}{end}")
        self._stream.flush()
        self._width = len(text)

    def _end(self, complete):
        try:
            self._write(self._text(time.perf_counter(), over=complete), end="\n")
        finally:
            del _owner["line"]


# Which RewrittenLine has the last line, if one has; no other thread can cut setdefault in two.
_owner: dict[str, RewrittenLine] = {}


def _is_closed(stream):
    return getattr(stream, "closed", False)


def _can_be_rewritten(stream):
    """Whether the stream is a terminal or the output of a notebook."""
    return type(stream).__module__.partition(".")[0] == "ipykernel" or stream.isatty()


@cache
def _tqdm():
    """The class of tqdm for where the program runs; None if it is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None

    class Quiet(tqdm):
        monitor_interval = 0  # without a thread of its own, which forks would lose

    return Quiet


def _columns(stream):
    try:
        return os.get_terminal_size(stream.fileno()).columns or COLUMNS
    except (OSError, ValueError):  # of a notebook
        return COLUMNS


def _clock(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _three_digits(number):
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"
