"""Results that are too large for memory, written block by block into an array or a .npy file."""

import os

import numpy as np
import scipy.sparse as sp

from sktopic._documents._corpus import FILES, MATRIX, Corpus
from sktopic._runtime._array_archive import npy_header
from sktopic._runtime._files import real_path, write_file

ALLOWED = np.dtype(np.float64), np.dtype(np.float32)


def check_out(out, X):
    """Raise ValueError if a path leads to a file of documents X, which would be replaced."""
    if isinstance(out, (str, os.PathLike)) and os.path.exists(out):
        for path in _files_of(X):
            if os.path.exists(path) and os.path.samefile(out, path):
                raise ValueError(
                    f"out={os.fspath(out)!r} is invalid: must be another file, since X is read from this one."
                )


def _files_of(X):
    """Return the paths of the files that X is read from, as far as they are known."""
    if isinstance(X, Corpus):
        return [os.path.join(X.path, name) for name in FILES]
    if isinstance(X, (list, tuple)):
        return [path for block in X if hasattr(block, "shape") for path in _files_of(block)]
    arrays, found = [getattr(X, name, None) for name in MATRIX] if sp.issparse(X) else [X], []
    for array in arrays:
        while isinstance(array, np.ndarray):
            if isinstance(array, np.memmap) and isinstance(array.filename, (str, os.PathLike)):
                found.append(array.filename)
            array = array.base
    return found


def write_blocks(out, blocks, n_rows, n_columns):
    """Write blocks of rows; return the array, or a read-only memory map of the file.

    Parameters
    ----------
    out : ndarray of shape (n_rows, n_columns), or path of a file that is written completely or not at all
    blocks : iterable of ndarrays of float64 or float32; the first gives the type of the file
    n_rows : int, or None if unknown before all blocks have been read
    """
    if isinstance(out, (str, os.PathLike)):
        out = real_path(out)  # Reading blocks may change the current folder.
        write_file(out, lambda file: _write_file(file, blocks, n_columns))
        return _mapped(out)
    _check_array(out, n_rows, n_columns)
    first = 0
    for block in blocks:
        if first + len(block) > len(out):
            raise ValueError(f"out has {len(out)} rows, but X has more documents.")
        out[first : first + len(block)] = block
        first += len(block)
    if first < len(out):
        raise ValueError(f"out has {len(out)} rows, but X has {first} documents.")
    return out


def _write_file(file, blocks, n_columns):
    n_rows, dtype = 0, None
    for block in blocks:
        if dtype is None:
            dtype = block.dtype
            file.write(npy_header(dtype, (0, n_columns)))
        file.write(np.ascontiguousarray(block, dtype=dtype))
        n_rows += len(block)
    file.seek(0)
    file.write(npy_header(dtype, (n_rows, n_columns)))  # has the same length as the first header


def _mapped(path):
    """Return a memory map of a .npy file, opened only once in case another file takes its name."""
    with open(path, "rb") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        return np.memmap(file, dtype, "r", file.tell(), shape)


def _check_array(out, n_rows, n_columns):
    if not isinstance(out, np.ndarray):
        raise TypeError(
            f"out is a {type(out).__name__}; must be an ndarray, the path of a .npy file, or None."
        )
    rows = "n_samples" if n_rows is None else n_rows
    if out.ndim != 2 or out.shape[1] != n_columns or (n_rows is not None and len(out) != n_rows):
        raise ValueError(f"out has shape {out.shape}; must be ({rows}, {n_columns}).")
    if out.dtype not in ALLOWED:
        raise ValueError(f"out has dtype {out.dtype}; must be float64 or float32.")
    if not out.flags.writeable:
        raise ValueError("out is read-only; must be writeable.")
