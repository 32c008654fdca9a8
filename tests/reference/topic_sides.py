"""Two sides of a topic (the twin of _kernels.hdp._topic_sides)."""

import numpy as np
from scipy.special import digamma, gammaln


class Sides:
    """Tokens (document, word, size) with sides; prior is a, share is v of side 0."""

    def __init__(self, document, word, size, document_weight, side, prior, share, eta, n_features):
        self.document, self.word, self.size = document, word, size
        self.document_weight, self.side = document_weight, np.array(side)
        self.prior, self.share, self.eta, self.n_features = prior, share, eta, n_features

    @property
    def priors(self):
        return self.prior * np.array([self.share, 1.0 - self.share])

    def by_document(self):
        n = np.zeros((len(self.document_weight), 2))
        np.add.at(n, (self.document, self.side), self.size)
        return n

    def by_word(self, without=None):
        weight = self.size * self.document_weight[self.document]
        if without is not None:  # in one copy of its document
            weight[without] -= self.size[without] * min(self.document_weight[self.document[without]], 1.0)
        n = np.zeros((self.n_features, 2))
        np.add.at(n, (self.word, self.side), weight)
        return n

    def tables(self):
        a = self.priors
        return self.document_weight @ (a * (digamma(a + self.by_document()) - digamma(a)))

    def share_out(self):
        tables = self.tables()
        self.share = tables[0] / tables.sum()

    def conditional(self, i):
        """p(side of token i is 1 | all others)."""
        n = self.by_document()[self.document[i]]
        n[self.side[i]] -= self.size[i]
        words = self.by_word(without=i)
        p = (self.priors + n) * (words[self.word[i]] + self.eta)
        p /= words.sum(axis=0) + self.n_features * self.eta
        return p[1] / p.sum()

    def log_q(self):
        p = np.array([self.conditional(i) for i in range(len(self.side))])
        return np.sum(self.document_weight[self.document] * np.log(np.where(self.side == 1, p, 1.0 - p)))

    def log_joint(self):
        """log p(words, sides | topics that there are): two if both sides have tokens of their own."""
        n, a = self.by_document(), self.priors
        documents = gammaln(a + n).sum(axis=1) - gammaln(a).sum()
        documents += gammaln(self.prior) - gammaln(self.prior + n.sum(axis=1))
        words = log_beta(self.eta + self.by_word().T) - log_beta(np.full(self.n_features, self.eta))
        return self.document_weight @ documents + words.sum()

    def log_ratio(self):
        """The same less that of one topic."""
        one = log_beta(self.eta + self.by_word().sum(axis=1)) - log_beta(np.full(self.n_features, self.eta))
        return self.log_joint() - one


def log_beta(parameters):
    return gammaln(parameters).sum(axis=-1) - gammaln(parameters.sum(axis=-1))


def compare_sides(document, word, size, document_weight, side, prior, share, eta, n_features):
    """log_ratio, log_q, tables."""
    sides = Sides(document, word, size, document_weight, side, prior, share, eta, n_features)
    sides.share_out()
    return sides.log_ratio(), sides.log_q(), sides.tables()
