"""Gibbs sampling of documents with topics held fixed.

The twin of _sparse_gibbs.pyx, _dense_gibbs.pyx and _word_topics.pyx.
"""

from functools import cache

import numpy as np
from scipy.special import psi

from tests.reference.documents import Assignments, clumps_of
from tests.reference.rng import Stream


def conditional(phi, alpha, n):
    """p(z = k | the other tokens), up to its sum: equation 14 of Dupuy and Bach (2017)."""
    return phi * (alpha + n)


def draw(phi, alpha, n, order, uniform):
    """A topic from the conditional, by laying out [0, sum) in a fixed order and finding the uniform.

    First phi_k n_k of the document's topics in their order, then alpha_k phi_k of all topics.
    """
    widths = np.concatenate([(phi * n)[order], alpha * phi])
    ends = np.cumsum(widths)
    i = int(np.searchsorted(ends, uniform * conditional(phi, alpha, n).sum(), side="right"))
    i = min(i, len(ends) - 1)
    return order[i] if i < len(order) else i - len(order)


def draw_by_lanes(phi, alpha, n, pending, uniform):
    """As draw, laid out otherwise: topic k in lane k % 16, lane by lane, and the pending token's share last.

    pending : topic and weight of the token before, which n includes; or None
    """
    held = n.copy()
    k, w = pending or (0, 0.0)
    held[k] -= w
    order = lane_by_lane(len(alpha))
    ends = np.cumsum([*conditional(phi, alpha, held)[order], phi[k] * w])
    i = np.searchsorted(ends, uniform * ends[-1], side="right")
    return int(order[i] if i < len(order) else k)


@cache
def lane_by_lane(n_topics):
    return np.argsort(np.arange(n_topics) % 16, kind="stable")


def left_out(phi, tokens, own, token, smoothing, unit):
    """phi_k of a word without what a document's own tokens of it have added, tokens (n_topics,)."""
    return np.maximum(phi - own * tokens * token * unit, np.minimum(phi, smoothing * unit))


def sweep_documents(documents, rows, priors, keys, z, sweeps, by_lanes=False, own=None):
    """Run all sweeps; z is updated in place.

    priors : (n_topics,) of all documents, or (n_documents, n_topics) of each

    With by_lanes, uniforms become draws as in _dense_gibbs.pyx. Without, no topic gets less than
    alpha_k phi_kw, however many own tokens (LeftOut) are left out.

    Returns sums over the kept sweeps: w p(z = k | rest) of a cell's clumps, or with drawn w where topic k was
    drawn; w / sum_k phi_kw (alpha_k + n_k), or 0; psi(alpha_k + n_k) - psi(alpha_k) of a document. Then the
    topics of each document, in the order of the kernel's columns.
    """
    indptr, cell_word, cell_count = documents
    n_burn_in, n_sweeps, drawn = sweeps[:3]
    rows = np.asarray(rows, dtype=np.float64)
    n_documents, n_topics = len(indptr) - 1, rows.shape[1]
    expected = np.zeros((len(cell_word), n_topics))
    fixed = np.zeros(len(cell_word))
    log_theta = np.zeros((n_documents, n_topics))
    orders = []
    first_token = 0
    for d, prior in enumerate(np.broadcast_to(priors, (n_documents, n_topics))):
        stream = Stream(keys[d])
        assignments = Assignments(n_topics)
        clumps = list(enumerate(clumps_of(indptr, cell_count, d), first_token))
        cell_of, weight_of = np.reshape([clump for _, clump in clumps], (-1, 2)).T
        for token, (_, w) in clumps:
            if z[token] >= 0:
                assignments.put(z[token], w)
        columns = []
        for sweep in range(n_burn_in + n_sweeps if clumps else 0):
            if sweep <= n_burn_in:
                assignments.drop_empty()
            columns += [k for k in assignments.order if sweep >= n_burn_in and k not in columns]
            pending = None
            earlier = z[first_token : first_token + len(clumps)].copy()
            for token, (cell, w) in clumps:
                if z[token] >= 0:
                    assignments.take(z[token], w)
                phi, n = rows[cell_word[cell]], assignments.n
                if own and sweep >= n_burn_in:
                    there = (cell_of == cell) & (earlier >= 0)
                    tokens = np.bincount(earlier[there], weight_of[there], n_topics)
                    given = own.often[d], own.token, own.smoothing, own.unit[cell_word[cell]]
                    less = left_out(phi, tokens, *given)
                    if by_lanes:
                        phi = less
                    else:
                        n = np.maximum(less * (n + prior) / np.where(phi > 0.0, phi, 1.0) - prior, 0.0)
                p = conditional(phi, prior, n)
                if sweep >= n_burn_in and not drawn:
                    expected[cell] += w * p / p.sum()
                    fixed[cell] += w / p.sum()
                if by_lanes:
                    z[token] = draw_by_lanes(phi, prior, n, pending, stream.uniform())
                    pending = z[token], w
                else:
                    order = [assignments.order[i] for i in lane_by_lane(len(assignments.order))]
                    z[token] = draw(phi, prior, n, order, stream.uniform())
                assignments.put(z[token], w)
                if sweep >= n_burn_in:
                    expected[cell, z[token]] += w if drawn else 0.0
                    columns += [z[token]] if z[token] not in columns else []
            if sweep >= n_burn_in:
                log_theta[d] += psi(prior + assignments.n) - psi(prior)
        orders.append(columns)
        first_token += len(clumps)
    return expected, fixed, log_theta, orders


def draw_word_topics(documents, rows, prior, keys):
    """The topics of all clumps, (n_clumps,), drawn from alpha_k phi_kw of their words alone."""
    indptr, cell_word, cell_count = documents
    rows, z = np.asarray(rows, dtype=np.float64), []
    priors = np.broadcast_to(prior, (len(keys), rows.shape[1]))
    for d, key in enumerate(keys):
        stream = Stream(key)
        for cell, _ in clumps_of(indptr, cell_count, d):
            ends = np.cumsum(priors[d] * rows[cell_word[cell]])
            z.append(np.searchsorted(ends, stream.uniform() * ends[-1], side="right"))
    return np.array(z)


def dense(corpus, column_indptr, column_topic, values, fixed=0.0, log_theta=()):
    """What the kernel returns, as expected (n_cells, n_topics) and log_theta (n_documents, n_topics)."""
    width, document = np.diff(column_indptr), corpus.cell_document
    cell = np.repeat(np.arange(len(document)), width[document])
    place = np.concatenate([np.arange(width[d]) for d in document])
    rows = corpus.rows[corpus.cell_word].astype(np.float64)
    expected = np.reshape(fixed, (-1, 1)) * corpus.prior * rows
    expected[cell, column_topic[column_indptr[document[cell]] + place]] += values
    sums = np.zeros((corpus.n_documents, len(corpus.prior)))
    if len(log_theta):
        sums[np.repeat(np.arange(len(width)), width), column_topic] = log_theta
    return expected, sums
