"""Axes to plot into: those of a user, or those of a new figure."""

from sktopic._runtime._optional import import_pyplot

# Width of a character in small type, in inches.
CHARACTER_WIDTH = 0.085


def one_axes(ax, size=None):
    """Return the axes or, if None, those of a new figure, without lines at the top and the right.

    size : width and height of the new figure in inches
    """
    pyplot = import_pyplot()
    if ax is None:
        ax = pyplot.figure(figsize=size, layout="constrained").subplots()
    elif not hasattr(ax, "spines"):
        raise TypeError(f"ax is a {type(ax).__name__}; a matplotlib Axes or None is allowed.")
    _without_frame(ax)
    return ax


def panels(fig, shape, size, *, sharex=False):
    """Return new axes in a figure or, if None, in a new figure, an ndarray of shape (n_rows * n_columns,).

    shape : numbers of rows and columns
    size : width and height of the new figure in inches
    """
    pyplot = import_pyplot()
    check_figure(fig)
    if fig is None:
        fig = pyplot.figure(figsize=size, layout="constrained")
    axes = fig.subplots(*shape, squeeze=False, sharex=sharex).ravel()
    for ax in axes:
        _without_frame(ax)
    return axes


def check_figure(fig):
    """Raise TypeError if `fig` is not a figure."""
    if fig is not None and not hasattr(fig, "subplots"):
        raise TypeError(
            f"fig is a {type(fig).__name__}; a matplotlib Figure, a SubFigure or None is allowed."
        )


def width_of(labels):
    """Return the width in inches that a figure reserves for labels in small type."""
    return max(2.0, CHARACTER_WIDTH * max(map(len, labels)))


def half_width(ax):
    """Return half of the width of the axes, in inches."""
    return ax.get_window_extent().width / ax.figure.dpi / 2.0


def _without_frame(ax):
    ax.spines[["top", "right"]].set_visible(False)
