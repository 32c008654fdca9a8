"""Libraries that some parts need, and nothing else does: tables, plots, formats of files and clusters."""

from importlib import import_module

NO_DASK = "Clusters need dask and distributed, which are not installed: pip install sktopic[dask]."


def import_pandas():
    """The module; ImportError that says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("Tables need pandas, which is not installed: pip install pandas.") from error
    return pandas


def import_pyarrow(part):
    """A part of the package; ImportError that says how to install it."""
    try:
        return import_module(f"pyarrow.{part}")
    except ImportError as error:
        raise ImportError(
            "Parquet files need pyarrow, which is not installed: pip install sktopic[parquet]."
        ) from error


def import_pyplot():
    """The module; ImportError that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install sktopic[plot]."
        ) from error
    return plt


def import_dask():
    """The module `dask`."""
    try:
        import dask
    except ImportError as error:
        raise ImportError(NO_DASK) from error
    return dask


def import_dask_array():
    """The module `dask.array`."""
    try:
        import dask.array
    except ImportError as error:
        raise ImportError(NO_DASK) from error
    return dask.array


def import_distributed():
    """The module `distributed`."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError(NO_DASK) from error
    return distributed


def import_fsspec():
    """The module `fsspec.core`, which turns addresses into file systems."""
    try:
        import fsspec.core
    except ImportError as error:
        raise ImportError("Addresses with :// need fsspec, which is not installed: pip install fsspec.") from error
    return fsspec.core


def import_parquet():
    """The module `pyarrow.parquet`."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow, which is not installed: pip install pyarrow.") from error
    return pyarrow.parquet
