"""A page of topics: words with bars, side by side in one axes.

One axes per topic would take seconds for a hundred topics. Here all bars are one collection and all lines
another. Coordinates are inches from the top left of the page.
"""

import numpy as np

from sktopic.inspection._tables import shortened

# Inches: minimum widths of a panel and of its bars; space above and below the bars; a bar with its gap.
PANEL_WIDTH, BARS_WIDTH = 2.6, 1.0
ABOVE, BELOW = 0.3, 0.26
BAR_HEIGHT = 0.17
# Gaps between a word and its bar, a title and the bars, the axis and its numbers, and two panels.
WORD_GAP, TITLE_GAP, NUMBER_GAP, PANEL_GAP = 0.06, 0.06, 0.06, 0.3
# Length of marks on the axis; minimum height of a bar.
MARK, THINNEST = 0.04, 0.02
# Shares: of a bar in its row, of the longest bar in the axis, and the minimum share of the bars in a panel.
BAR_PART, LONGEST_PART, BARS_PART = 0.7, 0.95, 0.2


def draw_topics(fig, words, weights, titles, n_columns, *, parse_math, resize):
    """Draw one panel per topic, with its words and their bars, into a figure.

    Parameters
    ----------
    fig : matplotlib Figure or SubFigure
    words : ndarray of str of shape (n_topics, n_words)
    weights : ndarray of shape (n_topics, n_words)
        The first weight of each topic is the largest.
    titles : list of str
    n_columns : int
        At most n_topics.
    parse_math : bool
        Whether dollar signs in titles delimit mathematics.
    resize : bool
        Whether to resize the figure so that texts do not overlap.

    Returns
    -------
    ax : matplotlib Axes
    """
    # A layout engine reserves space for the title of a figure.
    ax = fig.subplots() if fig.get_layout_engine() else fig.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    row, column = np.divmod(np.arange(len(words)), n_columns)

    def largest(widths):
        """Return the largest width in each column of panels."""
        largest = np.zeros(n_columns)
        np.maximum.at(largest, column, widths)
        return largest

    titles = [_text(ax, title, fontsize="medium", parse_math=parse_math) for title in titles]
    word_style = {"ha": "right", "va": "center_baseline", "fontsize": "small"}
    words = [[_text(ax, shortened(word), **word_style) for word in topic] for topic in words]
    ends = [("0", f"{percentage:.3g}%") for percentage in 100 * weights[:, 0]]
    number_style = {"ha": "center", "va": "top", "fontsize": "x-small"}
    numbers = [[_text(ax, number, **number_style) for number in two] for two in ends]
    title_widths = np.array(list(map(_width, titles)))
    words_width = largest([max(map(_width, topic)) for topic in words])
    inside = np.maximum(words_width + WORD_GAP + BARS_WIDTH, largest(title_widths))
    panel_widths = np.maximum(PANEL_WIDTH, inside + PANEL_GAP)
    n_rows, n_words = row[-1] + 1, weights.shape[1]
    if resize:
        fig.set_size_inches(panel_widths.sum(), (ABOVE + BAR_HEIGHT * n_words + BELOW) * n_rows)

    width, height = fig.bbox.width / fig.dpi, fig.bbox.height / fig.dpi
    ax.set(xlim=(0, width), ylim=(height, 0))
    panels = panel_widths * width / panel_widths.sum()
    left = np.cumsum(panels) - panels + PANEL_GAP / 2
    right = left + panels - PANEL_GAP
    zero = np.minimum(left + words_width + WORD_GAP, right - BARS_PART * panels)
    left, right, zero = left[column], right[column], zero[column]
    longest = zero + LONGEST_PART * (right - zero)

    panel = height / n_rows
    bar = max(THINNEST, (panel - ABOVE - BELOW) / n_words)
    top = row * panel + ABOVE
    axis = top + bar * n_words
    middles = top[:, None] + bar * (np.arange(n_words) + 0.5)
    stops = zero[:, None] + weights / weights[:, :1] * (longest - zero)[:, None]
    _draw_bars(ax, zero[:, None], stops, middles, BAR_PART * bar / 2)
    ax.hlines(axis, zero, right, colors="black", linewidths=0.8)
    for x in zero, longest:
        ax.vlines(x, axis, axis + MARK, colors="black", linewidths=0.8)

    title_x = np.minimum(zero, np.maximum(left, right - title_widths))
    for topic, title in enumerate(titles):
        title.set_position((title_x[topic], top[topic] - TITLE_GAP))
        for word, middle in zip(words[topic], middles[topic]):
            word.set_position((zero[topic] - WORD_GAP, middle))
        for number, x in zip(numbers[topic], (zero[topic], longest[topic])):
            number.set_position((x, axis[topic] + NUMBER_GAP))
    return ax


def _text(ax, text, parse_math=False, **style):
    return ax.text(0, 0, str(text), parse_math=parse_math, **style)


def _width(text):
    return text.get_window_extent().width / text.figure.dpi


def _draw_bars(ax, starts, stops, middles, half):
    from matplotlib.collections import PolyCollection

    starts = np.broadcast_to(starts, stops.shape)
    x = np.stack([starts, stops, stops, starts], axis=-1)
    y = np.stack([middles - half, middles - half, middles + half, middles + half], axis=-1)
    ax.add_collection(PolyCollection(np.stack([x, y], axis=-1).reshape(-1, 4, 2), facecolors="C0"))
