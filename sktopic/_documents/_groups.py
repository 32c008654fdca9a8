"""Groups of documents, such as their sources: what users may give."""

import numpy as np

from sktopic._runtime._arrays import is_masked, is_missing


def check_groups(given, n_documents):
    """Return the names of the groups, an ascending array, and the number of the group of each document."""
    allowed = "groups is invalid: must be an array of numbers or of strings."
    try:
        groups = np.asarray(given)
    except ValueError:  # lists of several lengths
        raise ValueError(allowed) from None
    if groups.shape != (n_documents,):
        raise ValueError(f"groups has shape {groups.shape}; X has {n_documents} documents.")
    if groups.dtype.kind in "cV":
        raise ValueError(allowed)
    if is_masked(given):
        missing = np.flatnonzero(np.ma.getmaskarray(given))
    elif groups.dtype.kind in "OSUT":
        missing = [n for n, value in enumerate(given) if is_missing(value) or value != value]  # also NaT
    else:
        missing = np.flatnonzero(groups != groups)
    if len(missing):
        raise ValueError(f"groups has a missing value for document {missing[0]}; leave such documents out.")
    if groups.dtype.kind in "SU" and not all(isinstance(value, (str, bytes)) for value in given):
        raise ValueError(allowed)  # numbers beside strings have become strings
    try:
        return np.unique(groups, return_inverse=True)
    except TypeError:  # values that cannot be sorted
        raise ValueError(allowed) from None
