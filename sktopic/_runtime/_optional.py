"""Libraries that some parts need, and nothing else does: tables, plots, formats of files and clusters.

Each function returns a module, or raises an ImportError that says how to install it.
"""

from importlib import import_module

CLUSTERS = "Clusters need dask and distributed, which are not installed: pip install sktopic[dask]."


def import_pandas():
    return _imported("pandas", "Tables need pandas, which is not installed: pip install pandas.")


def import_pyarrow(part):
    advice = "Parquet files need pyarrow, which is not installed: pip install sktopic[parquet]."
    return _imported(f"pyarrow.{part}", advice)


def import_pyplot():
    advice = "Plots need matplotlib, which is not installed: pip install sktopic[plot]."
    return _imported("matplotlib.pyplot", advice)


def import_dask():
    return _imported("dask", CLUSTERS)


def import_dask_array():
    return _imported("dask.array", CLUSTERS)


def import_distributed():
    return _imported("distributed", CLUSTERS)


def import_fsspec():
    """The part that opens addresses."""
    advice = "Addresses with :// need fsspec, which is not installed: pip install fsspec."
    return _imported("fsspec.core", advice)


def _imported(module, advice):
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(advice) from error
