"""Gibbs sampling for the HDP, word by word (the twin of _kernels.hdp._gibbs)."""

from dataclasses import dataclass
from math import comb, log

import numpy as np

from tests.reference.alias import alias_table, draw_alias
from tests.reference.documents import clump_weights
from tests.reference.rng import Stream, combine
from tests.reference.stirling import stirling
from tests.reference.sums import sum_in_order

DIRECT, INDICATORS, SPARSE = 0, 1, 2


def seat_ratio(n, m, opens):
    """How the probability of customers and their indicators changes when one comes to n at m tables."""
    return (stirling(n + 1, m + opens) / comb(n + 1, m + opens)) / (stirling(n, m) / comb(n, m))


@dataclass
class State:
    """All that a sweep changes; columns without a topic have root weight zero."""

    counts: np.ndarray
    totals: np.ndarray
    root: np.ndarray
    rest: float
    documents: list
    z: np.ndarray

    def ratios(self, word, settings):
        norm = self.totals + settings.n_features * settings.topic_word_prior
        return (self.counts[word] + settings.topic_word_prior) / norm

    def move(self, word, k, weight):
        self.counts[word, k] += weight
        self.totals[k] += weight


def weights(state, settings, document, word):
    """Weights of a token that is nowhere: of any topic with a table more, of the document's own topics beyond
    that (a table more, an old one), and of a new topic."""
    q = state.ratios(word, settings)
    new = state.rest / settings.n_features
    any_topic = state.root * q
    if settings.sampler == DIRECT:
        return any_topic, [(0.0, q[k] * document.n[k]) for k in document.order], new
    seat = (settings.topic_concentration + state.root.sum()) / settings.doc_concentration
    own = []
    for k in document.order:
        table, old = (seat_ratio(document.n[k], document.m[k], opens) for opens in (1, 0))
        own.append((any_topic[k] * max(table - 1.0, 0.0), q[k] * seat * old))
    return any_topic, own, new


def draw(any_topic, own, new, order, uniform):
    """(topic, whether it has a table more): the document's own topics, then any, then -1 for a new one."""
    laid_out = [(k, i == 0, pair[i]) for k, pair in zip(order, own) for i in (0, 1)]
    laid_out += [(k, True, w) for k, w in enumerate(any_topic)] + [(-1, True, new)]
    bounds = np.cumsum([w for _, _, w in laid_out])
    i = int(np.searchsorted(bounds, uniform * bounds[-1], side="right"))
    return laid_out[min(i, len(laid_out) - 1)][:2]


def block_of(cell, cell_word, key):
    """Bounds of the block of a cell, and the number of cells of its word."""
    mine = np.flatnonzero(cell_word == cell_word[cell])
    first, n = mine[0], len(mine)
    size = max(n // 2, 1)
    start, stop = first, first + 1 + int(Stream(combine(combine(key, first), 1)).uniform() * size)
    while stop <= cell:
        start, stop = stop, stop + size
    return start, min(stop, first + n), n


def stale_weights(state, settings, cells, block, n_cells):
    """Weights of all topics from counts and tables that no token of the block has a part in."""
    cell_word, cell_document, cell_count, cell_start = cells
    counts, totals = state.counts[cell_word[block[0]]].copy(), state.totals.copy()
    tables = state.root.copy()
    for cell in range(*block):
        for i, weight in enumerate(clump_weights(cell_count[cell])):
            k = state.z[cell_start[cell] + i]
            counts[k] -= weight
            totals[k] -= weight
        document = state.documents[cell_document[cell]]
        for k in document.order:
            tables[k] -= document.m[k]
    n, n_documents = block[1] - block[0], len(state.documents)
    tables *= 1 + n / max(n_documents - n, 1)
    counts *= 1 + n / max(n_cells - n, 1)
    return (
        tables
        * (counts + settings.topic_word_prior)
        / (totals + settings.n_features * settings.topic_word_prior)
    )


def propose(state, settings, document, word, stale, new, old, head, stream):
    """One step of Metropolis and Hastings from the seat that a token had."""
    any_topic, own, _ = weights(state, settings, document, word)
    more = dict(zip(document.order, (pair[0] for pair in own)))
    own_total = sum_in_order(map(sum_in_order, own))
    proposed = np.append(stale, new)
    u = stream.uniform() * (own_total + np.add.accumulate(proposed)[-1])
    if u < own_total:
        seat = draw(np.zeros(0), own, 0.0, document.order, u / own_total)
    else:
        k = draw_alias(*alias_table(proposed), stream)
        seat = (k if k < len(stale) else -1), True

    def correction(k):
        extra = more.get(k, 0.0)
        with np.errstate(divide="ignore"):
            return np.float64(any_topic[k] + extra) / (stale[k] + extra)

    ratio = correction(seat[0]) if seat[0] >= 0 and seat[1] else 1.0
    if head and state.root[old] > 0:
        ratio /= correction(old)
    return seat if stream.uniform() < ratio else (old, head)


def sweep_cells(cells, state, settings, key):
    """Draw every token once, in place; cells and settings are a NumberedCells and a SweepSettings."""
    cell_word, cell_document, cell_count, cell_start = cells
    tables = settings.sampler != DIRECT
    stale, last = None, 0
    for cell, word in enumerate(cell_word):
        if settings.sampler == SPARSE and cell >= last:
            start, last, n_cells = block_of(cell, cell_word, key)
            new = state.rest / settings.n_features
            stale = None
            if n_cells >= settings.common:
                stale = stale_weights(state, settings, cells, (start, last), n_cells)
        document, stream = state.documents[cell_document[cell]], Stream(combine(key, cell))
        for i, weight in enumerate(clump_weights(cell_count[cell])):
            token = cell_start[cell] + i
            old, head = state.z[token], False
            if old >= 0:
                n, m = document.n[old], document.m[old]
                head = tables and stream.uniform() * n < m
                if head and m == 1 and n > 1:
                    continue
                document.take(old, head)
                state.move(word, old, -weight)
                state.root[old] -= head
            if stale is not None and old >= 0:
                k, opens = propose(state, settings, document, word, stale, new, old, head, stream)
            else:
                given = weights(state, settings, document, word)
                k, opens = draw(*given, document.order, stream.uniform())
            if k < 0:
                k = int(np.argmin(state.root > 0))
                if not tables:
                    stick = state.rest * (1 - stream.uniform() ** (1 / settings.topic_concentration))
                    state.root[k] = stick
                    state.rest -= stick
            document.put(k, opens)
            state.move(word, k, weight)
            state.root[k] += opens if tables else 0
            state.z[token] = k


def draw_tables(documents, weight, key):
    """Seat the customers of each document anew, in place; returns the tables of each topic."""
    total = np.zeros(len(weight))
    for d, document in enumerate(documents):
        stream = Stream(combine(key, d))
        for k in document.order:
            a = weight[k]
            document.m[k] = 1 + sum(stream.uniform() * (a + i) < a for i in range(1, document.n[k]))
            total[k] += document.m[k]
    return total


def log_seatings(documents):
    return sum(log(stirling(d.n[k], d.m[k])) for d in documents for k in d.order)
