"""Counts of words in topics while the documents of a call are swept, beside those of earlier documents."""

from dataclasses import dataclass, replace

import numpy as np

from sktopic._inference._token_counts import add_tokens, column_sums, tokens_of_words
from sktopic._runtime._arrays import rows_of
from sktopic._topics._topic_rows import check_components_init

# Factor of the counts of frozen topics during a sweep: with any prior that is allowed, they are far beyond
# the tokens of a corpus then.
MANY = 2.0**200


@dataclass(frozen=True)
class CountsBefore:
    """What earlier documents have of the words of a call.

    Attributes
    ----------
    words : (n_words,) int32, ascending
    counts : (n_words, n_topics) tokens of these words in topics
    totals : (n_topics,) tokens of all words
    """

    words: np.ndarray
    counts: np.ndarray
    totals: np.ndarray

    @classmethod
    def of(cls, word_counts, words):
        """The present counts of some words."""
        return cls(words, rows_of(word_counts.store, words), word_counts.totals.copy())

    def add_documents(self, word_counts, documents):
        """Let the words have these counts and the tokens of documents, a list of what has topics."""
        word_counts.store[self.words] = self.counts
        for each in documents:
            add_tokens(each, word_counts.store)

    def recount(self, word_counts, documents):
        """Count the tokens of documents anew, which leaves out what adding and removing them has rounded."""
        self.add_documents(word_counts, documents)
        self.sum_totals(word_counts)
        self.hold(word_counts)

    def sum_totals(self, word_counts):
        """Let the totals follow from the rows of the words."""
        changes = word_counts.store[self.words] - self.counts
        word_counts.totals[:] = self.totals + column_sums(changes)

    # Frozen topics

    def hold(self, word_counts):
        """Let the counts of frozen topics be those of before the call."""
        held = word_counts.frozen_columns
        if len(held):
            word_counts.store[self.words[:, None], held] = self.counts[:, held]
            word_counts.totals[held] = self.totals[held]

    def raise_frozen(self, word_counts, entries):
        """Let frozen topics have so many tokens that those of the call are nothing beside them.

        Numbers that are larger by more than 2 ** 53 do not change when tokens are added or removed. What a
        word weighs in these topics, (n_kw + beta) / (n_k + V beta), is then what it was, since the factor is
        a power of two. entries : PriorEntries or None
        """
        held = word_counts.frozen_columns
        if len(held):
            beta, sums = self._frozen_parameters(word_counts, entries)
            word_counts.store[self.words[:, None], held] = MANY * (self.counts[:, held] + beta)
            word_counts.totals[held] = MANY * (self.totals[held] + sums)

    def log_frozen(self, word_counts, entries, documents):
        """Log probability of the words in frozen topics; documents: a list of what has their tokens."""
        held = word_counts.frozen_columns
        if not len(held):
            return 0.0
        beta, sums = self._frozen_parameters(word_counts, entries)
        column = np.full(word_counts.n_topics, -1, dtype=np.int32)
        column[held] = np.arange(len(held))
        tokens = np.zeros((len(word_counts.store), len(held)))
        for each in documents:
            add_tokens(replace(each, z=column[each.z]), tokens)
        tokens, counts = tokens[self.words], word_counts.store[self.words][:, held]
        present = tokens > 0
        log_phi = np.log(counts + beta) - np.log(word_counts.totals[held] + sums)
        return float((tokens[present] * log_phi[present]).sum())

    def _frozen_parameters(self, word_counts, entries):
        """Dirichlet parameters of the words in frozen topics, and their sums over all words."""
        held, n_features = word_counts.frozen_columns, len(word_counts.store)
        beta = word_counts.frozen[1, held]
        if entries is None:
            return beta, n_features * beta
        column = np.full(word_counts.n_topics, -1)
        column[held] = np.arange(len(held))
        i, k, value = entries.at(self.words)
        frozen, beta = column[k] >= 0, np.tile(beta, (len(self.words), 1))
        beta[i[frozen], column[k[frozen]]] = value[frozen]
        return beta, entries.totals(n_features, word_counts.frozen[1])[held]


def initial_topics(documents, draws, n_topics, n_features, components_init):
    """Topics (n_clumps,) that the tokens of documents, sorted by words, start from.

    draws : (n_clumps,) uniform random numbers
    n_topics : number of topics to choose from
    components_init : topics by whose probabilities of a word they are drawn; None: with equal ones
    """
    if components_init is None:
        return (draws * n_topics).astype(np.int32)
    topics = check_components_init(components_init, n_features, n_topics)
    z, first = np.empty(len(draws), dtype=np.int32), 0
    for w, n in zip(documents.words, tokens_of_words(documents)):
        weights = topics[:, w] if topics[:, w].any() else np.ones(n_topics)
        cumulative = np.cumsum(weights)
        tokens = slice(first, first + n)
        z[tokens] = np.searchsorted(cumulative[:-1], draws[tokens] * cumulative[-1], side="right")
        first += n
    return z
