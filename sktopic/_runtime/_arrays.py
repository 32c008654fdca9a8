"""Arrays that users give; and large ones in blocks, between which Python looks whether Ctrl-C was pressed."""

import math
import sys
import threading
from numbers import Real

import numpy as np

from sktopic._runtime._compat import is_pandas_na

# Entries that NumPy goes over at a time.
BLOCK_ENTRIES = 1 << 17
# Bytes above which memory comes from the system, which first fills each page with zeros (the most in glibc).
FROM_SYSTEM = 1 << 25


class Scratch:
    """Memory of large arrays, which is used again when nothing refers to the last array any more.

    For arrays that are made anew for each batch: as memory of the system, filling its pages with zeros would
    take longer than what is done with them.
    """

    def __init__(self):
        self._memory = None
        self._lock = threading.RLock()  # signal handlers may need memory, too

    def empty(self, shape, dtype):
        """As np.empty."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size <= FROM_SYSTEM:
            return np.empty(shape, dtype)
        with self._lock:
            if self._memory is None or self._is_used() or self._memory.nbytes < size:
                self._memory = np.empty(size, np.uint8)
            return self._memory[:size].view(dtype).reshape(shape)

    def _is_used(self):
        """Whether there are views: all refer to the array that owns the memory."""
        return sys.getrefcount(self._memory) > 2  # this object and the call itself


def real_numbers(value, booleans=True):
    """Return what users give as ndarray of float64; TypeError or ValueError unless it is of real numbers.

    booleans : whether True and False are numbers
    """
    # NumPy would leave out imaginary parts, read digits in texts, and forget what is masked.
    refused = str, bytes, complex, np.complexfloating, *(() if booleans else (bool, np.bool_))
    try:
        array = np.asarray(value)
        has_refused = array.dtype.kind == "O" and any(isinstance(item, refused) for item in array.flat)
        if array.dtype.kind not in ("biufO" if booleans else "iufO") or has_refused or is_masked(value):
            raise TypeError
        with np.errstate(over="ignore"):  # of a longdouble: infinite, as callers find
            return array.astype(np.float64)
    except OverflowError as error:  # of integers that no float holds
        raise ValueError from error


# Sums and differences of integers in a damaged file may overflow to plausible values: both avoid them.


def are_bounds(bounds, ends):
    """Whether bounds, along their first axis, begin with 0, never fall, and end with ends."""
    falls = bounds[1:] < bounds[:-1]
    return not bounds[0].any() and np.array_equal(bounds[-1], ends) and not falls.any()


def are_lengths(lengths, total):
    """Whether integers are lengths that add up to a total."""
    return bool((lengths >= 0).all()) and lengths.sum(dtype=np.float64) == total


def read_only_view(array):
    """A view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def is_missing(value):
    """Whether a value stands for none: None, NaN or pandas.NA."""
    return value is None or is_pandas_na(value) or (isinstance(value, Real) and value != value)


def is_masked(value):
    """Whether a value is a masked array with masked entries."""
    # NumPy's is_masked alone takes the column "_mask" of a data frame for a mask.
    return np.ma.isMaskedArray(value) and np.ma.is_masked(value)


def row_blocks(array):
    """Slices of the rows, one a block."""
    size = max(1, BLOCK_ENTRIES // max(1, array[:1].size))
    return [slice(first, first + size) for first in range(0, len(array), size)]


def by_blocks(function, array):
    """function(array) of a function that treats each entry, or each row, alone."""
    blocks = row_blocks(array)
    if len(blocks) < 2:
        return function(array)
    out = np.empty_like(array)
    for rows in blocks:
        out[rows] = function(array[rows])
    return out


def rows_of(array, rows):
    """array[rows], block by block."""
    out = np.empty((len(rows), array.shape[1]))
    for some in row_blocks(out):
        out[some] = array[rows[some]]
    return out


def columns_of(array, columns, width=None):
    """array[:, columns], block by block; with zeros behind them, if there is to be a larger width."""
    n = len(np.arange(array.shape[1])[columns])
    out = np.zeros((len(array), width or n), dtype=array.dtype)
    for some in row_blocks(array):
        out[some, :n] = array[some][:, columns]
    return out


def largest(values, n):
    """Columns of the n largest values of each row, largest first; of equal ones the first.

    ndarray of shape (n_rows, min(n, n_columns)).
    """
    n = min(n, values.shape[1])
    columns = np.empty((len(values), n), dtype=np.intp)
    for row, chosen in zip(values, columns):
        smallest = np.partition(row, -n)[-n]
        candidates = np.flatnonzero(row >= smallest)
        chosen[:] = candidates[np.argsort(-row[candidates], kind="stable")[:n]]
    return columns


def rows_and_more(array, n):
    """A copy of the array, with n rows of zeros behind its own."""
    out = np.zeros((len(array) + n, *array.shape[1:]), dtype=array.dtype)
    own = out[: len(array)]
    for some in row_blocks(array):
        own[some] = array[some]
    return out
