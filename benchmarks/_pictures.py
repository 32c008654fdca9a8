"""How the pictures of studies look, and how they are saved."""

import io
import re

import numpy as np
from _results import CORPUS_NAMES
from _study import spread

ONE_SEED = ", one seed"


def named(text):
    """With the names of corpora for readers in place of those of their files."""
    return re.sub(rf"\b(?:{'|'.join(CORPUS_NAMES)})\b", lambda found: CORPUS_NAMES[found[0]], text)


def panels(titles, most_columns=3):
    """A figure and a grid of axes, one a title."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    n_columns = min(most_columns, len(titles))
    n_rows = -(-len(titles) // n_columns)
    width, height = (4.2, 3.2) if n_columns < 3 else (3.5, 2.9)  # letters can be read in a column of text
    size = width * n_columns, height * n_rows
    figure, axes = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False, layout="constrained")
    for axis in axes.flat[len(titles) :]:
        axis.remove()
    for axis, title in zip(axes.flat, titles):
        axis.set_title(named(title), fontsize="large" if n_columns < 3 else "medium")
    return figure, dict(zip(titles, axes.flat))


def line(axis, x, values, label, style, of=spread):
    """Medians as a line and deciles as a shade, or other numbers of each of the values."""
    middle, low, high = np.array([of(v) for v in values]).T
    axis.plot(x, middle, label=label, **style)
    axis.fill_between(x, low, high, alpha=0.15, color=style["color"], linewidth=0)
    note_seeds(axis, max(map(len, values)))


def note_seeds(axis, n):
    """Let the title of a panel say so if none of its lines has more than one seed."""
    axis.most_seeds = max(n, getattr(axis, "most_seeds", 0))
    title = axis.get_title().removesuffix(ONE_SEED)
    axis.title.set_text(title + ONE_SEED if axis.most_seeds == 1 else title)


def styles(names):
    """A color and a kind of line for each name. There are ten colors: later lines have them the other way."""
    lines = "-", "--"
    return {
        name: {"color": f"C{i}", "linestyle": lines[(i + i // 10) % 2], "marker": ".", "linewidth": 1.3}
        for i, name in enumerate(names)
    }


MOST_MARKERS = 10  # of a line
STYLE = '<style type="text/css">'
SMALL = ["--create-groups", "--enable-id-stripping", "--shorten-ids", "--remove-metadata", "--no-line-breaks"]


def save(figure, path):
    """Small files, equal for equal pictures; letters stay letters, which can be found and read aloud."""
    import matplotlib.pyplot as plt

    for line in [line for axis in figure.axes for line in axis.lines]:
        if len(line.get_xdata()) > MOST_MARKERS and line.get_linestyle() != "None":
            line.set_marker("")
    drawn = io.StringIO()
    with plt.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none", "path.simplify_threshold": 0.3}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    plt.close(figure)
    path.write_text(small(drawn.getvalue()), encoding="utf-8")


def small(svg):
    """The picture in tenths of a point, its font named once."""
    from scour import scour

    svg = re.sub(r"<[^>]*>", with_tenths, svg)
    svg = re.sub(r" ?font-family: [^;\"]*;?", "", svg)
    svg = svg.replace(STYLE, f"{STYLE}text{{font-family: 'DejaVu Sans', sans-serif}}")
    return scour.scourString(svg, scour.parse_args(SMALL))


def with_tenths(tag):
    """Coordinates need no more; texts between tags stay."""
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), tag[0])


def finish(figure, path, n_columns=5):
    """One legend for what any of the axes shows, below them, in as many columns as fit; then save."""
    shown = {}
    for axis in figure.axes:
        shown |= {label: handle for handle, label in zip(*axis.get_legend_handles_labels())}
    for n in range(n_columns, 0, -1):
        legend = figure.legend(shown.values(), shown, loc="outside lower center", ncols=n, frameon=False)
        if n == 1 or legend.get_window_extent().width <= figure.bbox.width:
            break
        legend.remove()
    save(figure, path)
