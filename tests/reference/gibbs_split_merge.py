"""Splitting and merging topics of an HDP (the twin of _kernels.hdp._gibbs_split_merge)."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from tests.reference.rng import Stream, combine


@dataclass
class Tokens:
    """Document, word and weight of all tokens, word by word."""

    document: np.ndarray
    word: np.ndarray
    weight: np.ndarray


def draw_anchors(tokens, stream):
    any_word = stream.uniform() < 0.5
    first = stream.below(len(tokens.word))
    if any_word:
        return first, stream.below(len(tokens.word))
    mine = np.flatnonzero(tokens.word == tokens.word[first])
    return first, int(mine[0]) + stream.below(len(mine))


class Sides:
    """Two sides of some tokens; side[i] is -1 while token i has none."""

    def __init__(self, tokens, own, both, beta, n_words):
        self.tokens, self.own, self.both, self.beta = tokens, own, both, beta
        self.n_words = n_words
        self.side = np.full(len(tokens.word), -1)

    def log_shares(self, i):
        """Logarithms of what draws token i, which has no side, to either of them."""
        t, logs = self.tokens, []
        n = self.n_documents()
        for s in (0, 1):
            on = self.side == s
            at_document = np.sum(on & (t.document == t.document[i]))
            with_word = t.weight[on & (t.word == t.word[i])].sum()
            topic = (with_word + self.beta) / (t.weight[on].sum() + self.n_words * self.beta)
            logs.append(np.log((at_document + self.both * n[s] / sum(n)) * topic))
        return np.array(logs)

    def n_documents(self):
        return [len(set(self.tokens.document[self.side == s])) for s in (0, 1)]

    def sweep(self, anchors, target, stream):
        """Visit all tokens but the anchors, document by document; they follow target, if there is one."""
        order = self.own[np.argsort(self.tokens.document[self.own], kind="stable")]
        log_q = 0.0
        for i in order:
            if i in anchors:
                continue
            self.side[i] = -1
            first, second = np.exp(self.log_shares(i))
            if target is None:
                self.side[i] = stream.uniform() * (first + second) >= first
            else:
                self.side[i] = target[i]
            log_q += np.log((second if self.side[i] else first) / (first + second))
        return log_q

    def find(self, anchors, n_scans, target, stream):
        """log q of the last sweep."""
        self.side[list(anchors)] = 0, 1
        for _ in range(n_scans):
            self.sweep(anchors, None, stream)
        return self.sweep(anchors, target, stream)

    def law_of_odds(self):
        a, b = self.n_documents()
        return np.log(a / b), 1 / a + 1 / b

    def log_density_of_odds(self, x):
        mean, variance = self.law_of_odds()
        return -0.5 * ((x - mean) ** 2 / variance + np.log(2 * np.pi * variance))

    def log_ratio(self, weight):
        """log likelihood of both sides, with these weights, less that of one topic."""
        two = sum(self._log_topic(self.side == s, weight[s]) for s in (0, 1))
        return two - self._log_topic(self.side >= 0, sum(weight))

    def _log_topic(self, on, weight):
        t, beta, total = self.tokens, self.beta, self.n_words * self.beta
        by_document = np.bincount(t.document[on])
        by_word = np.bincount(t.word[on], weights=t.weight[on])
        seats = (gammaln(weight + by_document) - gammaln(weight)).sum()
        words = (gammaln(beta + by_word) - gammaln(beta)).sum()
        return seats + words + gammaln(total) - gammaln(total + by_word.sum())


def split_merge(tokens, weight, fixed, b0, beta, n_words, z, n_proposals, n_scans, key):
    """Change z and weight in place; returns the numbers of splits and merges."""
    accepted = [0, 0]
    for p in range(n_proposals):
        stream = Stream(combine(key, p))
        log_u = np.log(1 - stream.uniform())
        scans = 0 if stream.uniform() < 0.5 else n_scans
        anchors = draw_anchors(tokens, stream)
        a, b = z[anchors[0]], z[anchors[1]]
        if anchors[0] == anchors[1] or fixed[a] or fixed[b]:
            continue
        own = np.flatnonzero((z == a) | (z == b))
        if a == b:
            sides = Sides(tokens, own, weight[a], beta, n_words)
            log_q = sides.find(anchors, scans, None, stream)
            mean, variance = sides.law_of_odds()
            radius = np.sqrt(-2 * np.log(1 - stream.uniform()))
            x = mean + np.sqrt(variance) * radius * np.cos(2 * np.pi * stream.uniform())
            parts = weight[a] / (1 + np.exp(-x)), weight[a] / (1 + np.exp(x))
            score = np.log(b0) - sides.log_density_of_odds(x) - log_q + sides.log_ratio(parts)
            if log_u < score:
                accepted[0] += 1
                new = int(np.argmin(weight > 0))
                first, second = (tokens.weight[sides.side == s].sum() for s in (0, 1))
                moved = int(first >= second)  # the smaller side
                weight[a], weight[new] = parts[1 - moved], parts[moved]
                z[sides.side == moved] = new
        else:
            target = (z == b).astype(int)
            actual = Sides(tokens, own, 0.0, beta, n_words)
            actual.side[own] = target[own]
            score = actual.log_density_of_odds(np.log(weight[a] / weight[b])) - np.log(b0)
            score -= actual.log_ratio((weight[a], weight[b]))
            sides = Sides(tokens, own, weight[a] + weight[b], beta, n_words)
            score += sides.find(anchors, scans, target, stream)
            if log_u < score:
                accepted[1] += 1
                keeps = tokens.weight[z == a].sum() >= tokens.weight[z == b].sum()
                kept, gone = (a, b) if keeps else (b, a)
                weight[kept] += weight[gone]
                weight[gone] = 0.0
                z[z == gone] = kept
    return tuple(accepted)
