"""Libraries that tables, plots and one format of files need, and nothing else does."""

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
