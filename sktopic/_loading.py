"""Load saved models."""

from os import PathLike
from typing import Any, Literal

from sktopic import hdp, lda, moment_matching
from sktopic._estimators._model_files import read_model

CLASSES = {name: getattr(family, name) for family in (lda, hdp, moment_matching) for name in family.__all__}


def load(path: str | PathLike[str], *, mmap_mode: Literal["r"] | None = None, verify: bool = True) -> Any:
    """Return the model that an estimator's `save` wrote to a file.

    Results, also of further training, are identical to those of the saved model to the last bit. Files may
    come from anywhere: loading runs no code from them, creates only estimators of this package, and checks
    sizes, types and checksums. The checks cannot detect a valid file with wrong numbers.

    Read more on the guide page "Save and load a model".

    Parameters
    ----------
    path : str or path-like
        Path of the file. Open files are not supported.
    mmap_mode : {'r', None}, default=None
        If 'r', the fitted arrays are mapped into memory, read-only. Pages are read on use and shared between
        processes. `partial_fit` copies the arrays that it changes. You may replace or delete a mapped file,
        but not modify it in place.
    verify : bool, default=True
        If False, the digests of mapped arrays are not verified, which saves one read of the file.

    Returns
    -------
    model : estimator
        The fitted estimator.

    Raises
    ------
    ValueError
        If the file is not a model, is damaged, or needs a later version, or if mmap_mode is invalid.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import sktopic
    >>> from sktopic.datasets import make_bars
    >>> X = make_bars(200, random_state=0).data
    >>> path = os.path.join(tempfile.mkdtemp(), "bars.zip")
    >>> sktopic.lda.OnlineEMLDA(n_components=10, random_state=0).fit(X).save(path)
    >>> model = sktopic.load(path)
    >>> model.transform(X[:1]).shape
    (1, 10)
    """
    if mmap_mode not in (None, "r"):
        raise ValueError(f"mmap_mode={mmap_mode!r}: None or 'r' is allowed.")
    if not isinstance(path, str | bytes | PathLike):
        raise TypeError(
            f"path is a {type(path).__name__}; the path of a file that save of a topic model wrote is "
            "allowed."
        )
    return read_model(path, CLASSES, mapped=mmap_mode == "r", verify=verify)
