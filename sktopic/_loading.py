"""Reading models that were saved."""

from os import PathLike
from typing import Any, Literal

from sktopic import hdp, lda, moment_matching
from sktopic._estimators._model_files import read_model

CLASSES = {name: getattr(family, name) for family in (lda, hdp, moment_matching) for name in family.__all__}


def load(path: str | PathLike[str], *, mmap_mode: Literal["r"] | None = None, verify: bool = True) -> Any:
    """Return the model that `save` of an estimator has written to a file.

    It answers and goes on training as the model that was saved, to the last bit. Files can come from
    anywhere: nothing in them is executed, only the estimators of this package are made, and sizes, types and
    checksums are compared before anything is used. That the numbers are good ones no check can tell.

    Read more in :doc:`/guide/saving`.

    Parameters
    ----------
    path : str or path-like
        The file. There is no way to read a model from an open file.
    mmap_mode : {'r', None}, default=None
        'r' maps the fitted arrays into memory, read-only, instead of reading them: pages are read when they
        are used, and processes that serve the same file share them. `partial_fit` first copies the arrays
        that it changes. The file may be replaced or deleted meanwhile, but not changed in place.
    verify : bool, default=True
        False skips the digests of arrays that are mapped, for which the file is read once. All else is
        checked.

    Returns
    -------
    model : estimator
        The fitted estimator.

    Raises
    ------
    ValueError
        If the file is not one of a model, is damaged, or was written by a later version whose files this one
        cannot read; the message says what was found. Also for another value of mmap_mode.
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
    return read_model(path, CLASSES, mapped=mmap_mode == "r", verify=verify)
