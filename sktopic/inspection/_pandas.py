"""pandas, which tables need and nothing else does."""


def import_pandas():
    """The module; ImportError that says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("Tables need pandas, which is not installed: pip install pandas.") from error
    return pandas
