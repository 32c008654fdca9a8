"""The one place that imports what scikit-learn does not promise to keep, or does not have everywhere."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from numbers import Integral
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._missing import is_pandas_na
from sklearn.utils._param_validation import (
    HasMethods,
    Options,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)
from sklearn.utils._param_validation import Interval as _Interval

try:  # scikit-learn >= 1.9
    from sklearn import callback
    from sklearn.callback import CallbackSupportMixin
except ImportError:
    callback = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""


__all__ = [
    "CallbackSupportMixin",
    "Counts",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "as_configured",
    "as_python",
    "has_progress_bar",
    "is_pandas_na",
    "make_constraint",
    "outside_container",
    "safe_indexing",
    "validate_params",
    "with_callbacks",
]

Counts: TypeAlias = sp.csr_matrix | sp.csr_array
Function = TypeVar("Function", bound=Callable[..., Any])


def as_python(value: object) -> object:
    """A NumPy scalar as a Python object, others as they are."""
    return value.item() if isinstance(value, np.generic) else value


class Interval(_Interval):
    """scikit-learn's interval, of numbers that NumPy calculates with: neither Fraction nor timedelta64."""

    def is_satisfied_by(self, value: object) -> bool:
        if isinstance(value, np.timedelta64) or not isinstance(value, int | float | np.number):
            return False
        return super().is_satisfied_by(as_python(value))  # to the type of which NumPy would cast the bounds


def as_configured(counts: Counts) -> Counts:
    """The same counts in the class that scikit-learn >= 1.9 is configured to return by sparse_interface."""
    interface = get_config().get("sparse_interface", "spmatrix")
    return sp.csr_array(counts) if interface == "sparray" else sp.csr_matrix(counts)


def with_callbacks(method: Function) -> Function:
    """scikit-learn's decorator of fit, where there is one."""
    return method if callback is None else cast(Function, callback.with_callbacks(method))


def has_progress_bar(estimator: object) -> bool:
    """Whether a fit of the estimator is shown by scikit-learn's own progress bar."""
    callbacks = getattr(estimator, "_skl_callbacks", ())
    return callback is not None and any(isinstance(each, callback.ProgressBar) for each in callbacks)


def validate_params(constraints: dict[str, list[Any]]) -> Callable[[Function], Function]:
    """Decorator of functions that checks their parameters, with the messages of scikit-learn.

    scikit-learn's own decorator can be switched off (skip_parameter_validation), but kernels need valid
    numbers. Those with a range of integers arrive as int, since NumPy's integers overflow. bool is refused.
    """
    whole = {name for name, allowed in constraints.items() if any(map(_is_integer_range, allowed))}

    def decorator(function: Function) -> Function:
        arguments = signature(function)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                given = arguments.bind(*args, **kwargs)
            except TypeError as error:  # its message does not name the function
                raise TypeError(f"{function.__name__}(): {error}") from None
            for name in whole & given.arguments.keys():
                given.arguments[name] = _plain(name, given.arguments[name])
            validate_parameter_constraints(constraints, given.arguments, function.__qualname__)
            return function(*given.args, **given.kwargs)

        return cast(Function, call)

    return decorator


def _plain(name: str, value: Any) -> Any:
    """An integer as int, and anything else unchanged."""
    if isinstance(value, bool):
        raise ValueError(f"{name}={value!r} is invalid: must be an integer.")
    return int(value) if isinstance(value, Integral) else value


def _is_integer_range(constraint: object) -> bool:
    return isinstance(constraint, Interval) and constraint.type is Integral


def outside_container(transform: Function) -> Function:
    """``transform`` of a class as set_output has wrapped it, but for what goes to ``out``."""
    unwrapped = cast(Any, transform).__wrapped__

    @wraps(transform)
    def call(self: Any, X: Any, out: Any = None, **metadata: Any) -> Any:
        return transform(self, X, **metadata) if out is None else unwrapped(self, X, out, **metadata)

    return cast(Function, call)
