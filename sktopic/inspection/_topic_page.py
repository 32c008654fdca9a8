"""A page of topics: their words with bars, side by side in one axes.

An axes for each topic would have ticks, labels and a layout of its own, which takes seconds for a hundred
topics. Here all bars are one collection and all lines another, in the coordinates of the page: inches from
the top left.
"""

import numpy as np

from sktopic.inspection._names import shortened

# Inches: a panel at least, and the bars in it; what a panel has above and below its bars; a bar with its gap.
PANEL_WIDTH, BARS_WIDTH = 2.6, 1.0
ABOVE, BELOW = 0.3, 0.26
BAR_HEIGHT = 0.17
# Gaps: between a word and its bar, a title and the bars, the axis and its numbers, and two panels.
WORD_GAP, TITLE_GAP, NUMBER_GAP, PANEL_GAP = 0.06, 0.06, 0.06, 0.3
# Marks on the axis; the thinnest bars, however low the figure is.
MARK, THINNEST = 0.04, 0.02
# Parts: of a bar with its gap, that the bar takes; of the axis, that the longest bar takes; of a panel, that
# bars take at least, however narrow the figure is.
BAR_PART, LONGEST_PART, BARS_PART = 0.7, 0.95, 0.2


class TopicPage:
    """Panels with the words of topics and bars, drawn into a figure.

    Parameters
    ----------
    fig : matplotlib Figure or SubFigure
    words : ndarray of str of shape (n_topics, n_words)
    weights : ndarray of shape (n_topics, n_words)
        The first of each topic is the largest.
    titles : list of str
    n_columns : int
        At most n_topics.
    parse_math : bool
        Whether dollar signs in titles stand for mathematics.
    """

    def __init__(self, fig, words, weights, titles, n_columns, parse_math):
        self._fig, self._weights = fig, weights
        # A layout engine leaves room for the title of a figure.
        self._ax = fig.subplots() if fig.get_layout_engine() else fig.add_axes((0, 0, 1, 1))
        self._ax.set_axis_off()
        self._row, self._column = np.divmod(np.arange(len(words)), n_columns)
        self._titles = [self._text(title, fontsize="medium", parse_math=parse_math) for title in titles]
        self._words = [
            [
                self._text(shortened(word), ha="right", va="center_baseline", fontsize="small")
                for word in topic
            ]
            for topic in words
        ]
        self._numbers = [
            [
                self._text(number, ha="center", va="top", fontsize="x-small")
                for number in ("0", f"{largest:.3g}%")
            ]
            for largest in 100 * weights[:, 0]
        ]
        self._title_widths = np.array([self._width(title) for title in self._titles])
        self._words_width = self._largest([max(map(self._width, topic)) for topic in self._words])
        inside = np.maximum(self._words_width + WORD_GAP + BARS_WIDTH, self._largest(self._title_widths))
        self._panel_widths = np.maximum(PANEL_WIDTH, inside + PANEL_GAP)

    def _text(self, text, parse_math=False, **style):
        return self._ax.text(0, 0, str(text), parse_math=parse_math, **style)

    def _width(self, text):
        return text.get_window_extent().width / self._fig.dpi

    def _largest(self, widths):
        """The largest in each column of panels."""
        largest = np.zeros(self._column.max() + 1)
        np.maximum.at(largest, self._column, widths)
        return largest

    def fit_figure(self):
        """Give the figure the size that keeps all texts apart."""
        height = ABOVE + BAR_HEIGHT * self._weights.shape[1] + BELOW
        self._fig.set_size_inches(self._panel_widths.sum(), height * (self._row[-1] + 1))

    def draw(self):
        """Put all where it belongs in the figure as large as it is."""
        width, height = self._fig.bbox.width / self._fig.dpi, self._fig.bbox.height / self._fig.dpi
        self._ax.set(xlim=(0, width), ylim=(height, 0))
        panels = self._panel_widths * width / self._panel_widths.sum()
        left = np.cumsum(panels) - panels + PANEL_GAP / 2
        right = left + panels - PANEL_GAP
        zero = np.minimum(left + self._words_width + WORD_GAP, right - BARS_PART * panels)
        left, right, zero = left[self._column], right[self._column], zero[self._column]
        longest = zero + LONGEST_PART * (right - zero)

        n_words = self._weights.shape[1]
        panel = height / (self._row[-1] + 1)
        bar = max(THINNEST, (panel - ABOVE - BELOW) / n_words)
        top = self._row * panel + ABOVE
        middles = top[:, None] + bar * (np.arange(n_words) + 0.5)
        self._draw_bars(zero, longest, middles, BAR_PART * bar / 2)
        axis = top + bar * n_words
        self._draw_axes(zero, longest, right, axis)

        title_x = np.minimum(zero, np.maximum(left, right - self._title_widths))
        for topic, title in enumerate(self._titles):
            title.set_position((title_x[topic], top[topic] - TITLE_GAP))
            for word, middle in zip(self._words[topic], middles[topic]):
                word.set_position((zero[topic] - WORD_GAP, middle))
            for number, x in zip(self._numbers[topic], (zero[topic], longest[topic])):
                number.set_position((x, axis[topic] + NUMBER_GAP))

    def _draw_bars(self, zero, longest, middles, half):
        from matplotlib.collections import PolyCollection

        ends = zero[:, None] + self._weights / self._weights[:, :1] * (longest - zero)[:, None]
        starts = np.broadcast_to(zero[:, None], ends.shape)
        x = np.stack([starts, ends, ends, starts], axis=-1)
        y = np.stack([middles - half, middles - half, middles + half, middles + half], axis=-1)
        corners = np.stack([x, y], axis=-1).reshape(-1, 4, 2)
        self._ax.add_collection(PolyCollection(corners, facecolors="C0"))

    def _draw_axes(self, zero, longest, right, axis):
        from matplotlib.collections import LineCollection

        lines = [(zero, axis, right, axis)] + [(x, axis, x, axis + MARK) for x in (zero, longest)]
        ends = np.concatenate([np.stack(line, axis=-1) for line in lines]).reshape(-1, 2, 2)
        self._ax.add_collection(LineCollection(ends, colors="black", linewidths=0.8))
