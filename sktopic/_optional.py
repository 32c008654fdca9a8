"""Libraries that tables and plots need, and nothing else does."""


def import_pandas():
    """The module; ImportError that says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("Tables need pandas, which is not installed: pip install pandas.") from error
    return pandas


def import_pyplot():
    """The module; ImportError that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install sktopic[plot]."
        ) from error
    return plt
