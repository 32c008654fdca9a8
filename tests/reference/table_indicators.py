"""Gibbs sampling of topics and table indicators (the twin of _kernels.hdp._table_indicators)."""

from itertools import accumulate

import numpy as np

from tests.reference.alias import alias_table, draw_alias
from tests.reference.documents import Seating, clumps_of
from tests.reference.rng import Stream
from tests.reference.stirling import ratio_new, ratio_old
from tests.reference.sums import sum_in_order

MAX_TRIES = 16
SMALL_REMAINDER = 1e-3


def option_weights(n, m, alpha):
    """Of a new table and of an old one, over phi: equations 18 to 20 of Burkhardt and Kramer (2017)."""
    if n == 0:
        return alpha, 0.0
    return alpha * ratio_new(n, m) * (m + 1) / (n + 1), ratio_old(n, m) * (n - m + 1) / (n + 1)


def restaurant_weights(n, m, alpha):
    """The same for the last of customers who come one after the other."""
    return alpha, float(n)


def token_conditional(customers, tables, row, alpha):
    pairs = [option_weights(int(n), int(m), a) for n, m, a in zip(customers, tables, alpha)]
    return np.array(pairs).T * row


def take(document, k, stream):
    """Whether the customer could be taken out."""
    n, m = document.n[k], document.m[k]
    first = stream.uniform() * n < m
    if first and m == 1 and n > 1:
        return False
    document.take(k, first)
    return True


def draw(document, phi, alpha, sparse, with_table, weights, stream):
    """A topic, and whether it opens a table; with_table: whether the word has an alias table."""
    state = {k: weights(document.n[k], document.m[k], alpha[k]) for k in document.order}

    def opens(k):
        return k not in state or stream.uniform() * sum(state[k]) < state[k][0]

    if not sparse:
        p = [phi[k] * (sum(state[k]) if k in state else alpha[k]) for k in range(len(phi))]
        ends = list(accumulate(p))
        k = int(np.searchsorted(ends, stream.uniform() * ends[-1], side="right"))
        return k, opens(k)
    absent = [k for k in range(len(phi)) if k not in state]
    ends = list(accumulate(phi[k] * sum(state[k]) for k in document.order))
    total = ends[-1] if ends else 0.0
    rest = 1.0 - sum_in_order(phi[k] * alpha[k] for k in document.order) if absent else 0.0
    exact = sum_in_order(alpha[k] * phi[k] for k in absent)
    if rest < SMALL_REMAINDER:
        rest = exact
    u = stream.uniform() * (total + rest)
    if u < total or rest <= 0:
        k = document.order[min(int(np.searchsorted(ends, u, side="right")), len(ends) - 1)]
        return k, opens(k)
    table, sums = alias_table(alpha * phi), np.cumsum(alpha * phi)
    for _ in range(MAX_TRIES):
        if with_table:
            k = draw_alias(*table, stream)
        else:
            k = min(int(np.searchsorted(sums, stream.uniform(), side="right")), len(phi) - 1)
        if k not in state:
            return k, True
    ends = np.cumsum([alpha[k] * phi[k] for k in absent])
    return absent[int(np.searchsorted(ends, stream.uniform() * exact, side="right"))], True


def sweep_tables(indptr, cell_word, cell_count, rows, alpha, keys, n_burn_in, n_sweeps, sparse, with_table):
    """Run all sweeps; with_table (n_words,) says which words have an alias table.

    Returns sums over the kept sweeps: the weight of a cell's clumps where topic k was drawn, and the tables
    of documents. Then the topics of each document, in the order of the kernel's columns.
    """
    rows = np.asarray(rows, dtype=np.float64)
    drawn = np.zeros((len(cell_word), len(alpha)))
    tables = np.zeros((len(indptr) - 1, len(alpha)))
    orders = []
    for d in range(len(indptr) - 1):
        stream, document, columns = Stream(keys[d]), Seating(), []
        clumps = list(clumps_of(indptr, cell_count, d))
        z = [None] * len(clumps)
        for sweep in range(n_burn_in + n_sweeps):
            keep = sweep >= n_burn_in
            columns += [k for k in document.order if keep and k not in columns]
            for token, (cell, w) in enumerate(clumps):
                if sweep == 0 or take(document, z[token], stream):
                    weights = restaurant_weights if sweep == 0 else option_weights
                    word = cell_word[cell]
                    given = rows[word], alpha, sparse, with_table[word]
                    z[token], opens = draw(document, *given, weights, stream)
                    document.put(z[token], opens)
                if keep:
                    drawn[cell, z[token]] += w
                    columns += [z[token]] if z[token] not in columns else []
            if keep:
                for k in document.order:
                    tables[d, k] += document.m[k]
        orders.append(columns)
    return drawn, tables, orders
