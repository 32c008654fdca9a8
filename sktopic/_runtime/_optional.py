"""Libraries that some parts need, and nothing else does: tables, plots, formats of files and clusters."""

from importlib import import_module


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
    """The module; ImportError that says how to install it."""
    return _part_of_dask("dask")


def import_dask_array():
    """The module `dask.array`; ImportError that says how to install it."""
    return _part_of_dask("dask.array")


def import_distributed():
    """The module; ImportError that says how to install it."""
    return _part_of_dask("distributed")


def _part_of_dask(name):
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            "Clusters need dask and distributed, which are not installed: pip install sktopic[dask]."
        ) from error


def import_fsspec():
    """The module `fsspec.core`, which opens addresses; ImportError that says how to install it."""
    try:
        return import_module("fsspec.core")
    except ImportError as error:
        raise ImportError(
            "Addresses with :// need fsspec, which is not installed: pip install fsspec."
        ) from error
