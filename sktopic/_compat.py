"""The one place that imports what scikit-learn does not promise to keep, or does not have everywhere."""

from sklearn.utils._param_validation import Interval, StrOptions, make_constraint, validate_params

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method):
        return method


__all__ = [
    "CallbackSupportMixin",
    "Interval",
    "StrOptions",
    "make_constraint",
    "validate_params",
    "with_callbacks",
]
