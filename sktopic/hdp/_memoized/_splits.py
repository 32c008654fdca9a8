"""Splits of topics, judged on the corpus in two passes.

The first pass gathers the cells of a topic from the documents with most of its tokens, and proposes parts.
The second pass divides the tokens of the topic in all documents among the parts, with fixed words. The bound
of the corpus then decides.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import digamma, xlogy

from sktopic._kernels._groups import WholeTopic
from sktopic._kernels.random._rng import combine_keys
from sktopic._topics._prior import SMALLEST
from sktopic.hdp._memoized._bound import DocumentTopics, TopicWords
from sktopic.hdp._memoized._summaries import SMALLEST_SHARE, BatchSummary, summed, weights_of
from sktopic.hdp._moves import Move
from sktopic.hdp._split_proposals import divide_cells, propose_parts
from sktopic.hdp._variational_split_merge import Cells

# Topics that are tried in a pass, documents that parts of each are proposed from, and numbers of parts that
# are tried in turn: many at once climb where two do not. Parts from a few of a large topic's documents are
# no parts of it in the others, and the large topics are those whose parts gain most.
TRIED, TARGETS, PART_NUMBERS = 30, 3000, (2, 8)
# Tokens of the topic that are enough, in no fewer documents than these.
TARGET_TOKENS, FEWEST_TARGETS = 100_000, 20
# A topic waits at most that power of two passes: what others are changes what its parts gain.
LONGEST_WAIT = 2
# Parts with fewer tokens in these documents are none.
FEWEST_TOKENS = 5.0
WEIGHT_ITERATIONS = 10


@dataclass
class Waiting:
    """Waiting times of topics that were not split. They double each time, up to a limit.

    Attributes
    ----------
    refusals : dict from identities of topics to the number of refused splits
    until : dict from identities to the first pass in which they are tried again
    """

    refusals: dict = field(default_factory=dict)
    until: dict = field(default_factory=dict)

    def refuse(self, identity, number):
        """Record that a topic was not split in the pass of this number."""
        self.refusals[identity] = self.refusals.get(identity, 0) + 1
        self.until[identity] = number + 2 ** min(self.refusals[identity], LONGEST_WAIT)

    def are_over(self, ids, number):
        """Return whether topics may be tried, (n_topics,)."""
        return np.array([self.until.get(identity, 0) <= number for identity in ids.tolist()], dtype=bool)

    def forget(self, identity):
        """Clear the entries of a topic that has changed."""
        self.refusals.pop(identity, None)
        self.until.pop(identity, None)


class GatheredCells:
    """Cells of some topics from the documents that have most of them.

    Parameters
    ----------
    corpus : MemoizedCorpus
    topics : topics to gather
    """

    def __init__(self, corpus, topics):
        documents = DocumentTopics(corpus.summaries)
        self._first = np.cumsum([0, *(s.n_documents for s in corpus.summaries)])
        self._targets, self._parts = {}, {k: [] for k in topics}
        for k in topics:
            has = documents.topic == k
            tokens = documents.tokens[has]
            largest = np.argsort(-tokens, kind="stable")[:TARGETS]
            enough = int(np.searchsorted(np.cumsum(tokens[largest]), TARGET_TOKENS)) + 1
            largest = largest[: max(enough, FEWEST_TARGETS)]
            self._targets[k] = np.sort(documents.document[has][largest])

    def see(self, visit):
        """Add the cells of target documents in a Visit."""
        (first, last), cells = self._first[visit.number : visit.number + 2], visit.cells
        for k, targets in self._targets.items():
            wanted = np.zeros(last - first, dtype=bool)
            wanted[targets[(targets >= first) & (targets < last)] - first] = True
            if wanted.any():
                found = cells_of_topic(cells, k, wanted)
                found.document = np.searchsorted(targets, found.document + first).astype(np.int32)
                found.word = cells.batch.words[found.word]
                self._parts[k].append((found, weights_of(cells.batch)[wanted]))

    def proposed(self, corpus, waiting, key, workers):
        """Return a Proposal for each gathered topic, or None if it has too few tokens."""
        arguments = []
        for k in self._targets:
            tried = waiting.refusals.get(int(corpus.topics.ids[k]), 0)
            n_parts = PART_NUMBERS[tried % len(PART_NUMBERS)]
            arguments.append((corpus, k, self._parts[k], n_parts, combine_keys(key, k)))
        return dict(zip(self._targets, workers.map_here(propose, arguments)))


def cells_of_topic(cells, k, wanted=None):
    """Return the Cells of a batch that have topic k, in all or wanted documents."""
    batch, entry = cells.batch, np.flatnonzero(cells.topic == k)
    cell = np.searchsorted(cells.bounds, entry, side="right") - 1
    document = (np.searchsorted(batch.indptr, cell, side="right") - 1).astype(np.int32)
    if wanted is not None:
        some = wanted[document]
        entry, cell, document = entry[some], cell[some], document[some]
    return Cells(cell, document, batch.cell_word[cell], cells.tokens[entry])


@dataclass
class Proposal:
    """Parts of a topic.

    Attributes
    ----------
    topic, identity : present number of the topic, and its identity
    log_words : (n_parts, n_features) E[log phi] of the parts
    shares : (n_parts,) of the topic's weight
    """

    topic: int
    identity: int
    log_words: np.ndarray
    shares: np.ndarray


@dataclass
class Split:
    """The parts that a topic is divided into.

    Attributes
    ----------
    weights, totals : (n_parts,) beta of the parts, and their tokens
    found : dict from batches to the BatchSummary of its parts
    """

    weights: np.ndarray
    totals: np.ndarray
    found: dict


def propose(corpus, k, found, n_parts, key):
    """Return a Proposal for n_parts parts of topic k, or None. found : pairs (Cells, document weights)."""
    topics = corpus.topics
    cells = [part for part, _ in found]
    if not sum(len(part.tokens) for part in cells):
        return None
    words, word = np.unique(np.concatenate([part.word for part in cells]), return_inverse=True)
    document = np.concatenate([part.document for part in cells])
    tokens = np.concatenate([part.tokens for part in cells])
    cells = Cells(None, document, word.astype(np.int32), tokens)
    weight = np.concatenate([part for _, part in found])
    read, eta, n_features = corpus.geometric_topics(), topics.topic_word_prior, topics.words.n_features
    log_words = digamma(read.store[words, k] + eta) - read.norm[k]
    whole = WholeTopic(log_words, topics.weights[k], topics.doc_concentration, eta, n_features)
    best = propose_parts(cells, weight, whole, n_parts, key)
    some = best.columns.sum(axis=1) >= FEWEST_TOKENS
    if some.sum() < 2:
        return None
    columns, weights = best.columns[some], best.weights[some]
    lambda_ = np.full((len(columns), n_features), eta)
    lambda_[:, words] += columns * (topics.words.totals[k] / columns.sum())
    expected = digamma(lambda_) - digamma(lambda_.sum(axis=1, keepdims=True))
    return Proposal(k, int(topics.ids[k]), expected, weights / weights.sum())


def divided(proposal, cells, alpha, beta):
    """Return the BatchSummary of the parts of a topic in a batch, with parts in place of topics.

    cells : CellTopics
    alpha, beta : the concentration, and the weight of the topic
    """
    batch, n_parts = cells.batch, len(proposal.shares)
    found, weight = cells_of_topic(cells, proposal.topic), weights_of(batch)
    log_words = np.ascontiguousarray(proposal.log_words[:, batch.words])
    tokens, _ = divide_cells(found, batch.n_documents, log_words, beta * proposal.shares, alpha)
    tokens[tokens < SMALLEST_SHARE * found.tokens[:, None]] = 0.0
    tokens *= (found.tokens / tokens.sum(axis=1))[:, None]
    row, part = np.nonzero(tokens)
    tokens, cell, document = tokens[row, part], found.cell[row], found.document[row]
    entropy = -xlogy(tokens, tokens / batch.cell_count[cell]) * weight[document]
    return BatchSummary(
        words=summed(batch.words[found.word[row]], part, tokens * weight[document], n_parts),
        documents=summed(document, part, tokens, n_parts),
        entropy=np.bincount(part, weights=entropy, minlength=n_parts),
        sample_weight=weight,
    )


class TrackedSplits:
    """Proposals, with sums over visits.

    Attributes
    ----------
    proposals : list of Proposal
    found : list with a dict for each proposal, from batches to the BatchSummary of parts
    """

    def __init__(self, proposals):
        self.proposals, self.found = proposals, [{} for _ in proposals]

    def see(self, visit):
        """Divide the tokens of a Visit."""
        topics = visit.corpus.topics
        alpha, weights = topics.doc_concentration, topics.weights
        arguments = [(p, visit.cells, alpha, float(weights[p.topic])) for p in self.proposals]
        for found, summary in zip(self.found, visit.workers.map_here(divided, arguments)):
            found[visit.number] = summary

    def decided(self, corpus):
        """Return a judged Move for each proposal, with a Split."""
        if not self.proposals:
            return []
        gains = DocumentTopics(corpus.summaries).gains(corpus.topics.prior)
        return [decided_split(*pair, corpus, gains) for pair in zip(self.proposals, self.found)]


def decided_split(proposal, found, corpus, document_gains):
    """Return the judged Move of a Proposal. document_gains : DocumentTopics.gains of the corpus."""
    topics, k, sums, n_parts = corpus.topics, proposal.topic, list(found.values()), len(proposal.shares)
    alpha, eta = topics.doc_concentration, topics.topic_word_prior
    tokens = np.zeros((topics.words.n_features, n_parts))
    for s in sums:
        tokens[s.words.row, s.words.topic] += s.words.tokens
    whole = tokens.sum(axis=1, keepdims=True)
    gain = sum(TopicWords(tokens).bounds(eta)) - sum(TopicWords(whole).bounds(eta))
    gain += sum(s.entropy.sum() for s in sums) - sum(s.entropy[k] for s in corpus.summaries)
    parts = DocumentTopics(sums)
    weights = best_shares(parts, topics.weights[k] * proposal.shares, alpha)
    gain += parts.gains(np.maximum(alpha * weights, SMALLEST)).sum()
    gain -= document_gains[k]
    split = Split(weights, tokens.sum(axis=0), found)
    return Move(kind="split", topics=(k,), gain=float(gain), proposal=split)


def best_shares(documents, weights, alpha):
    """Return weights of the parts of a topic with the same sum, by the fixed point of fit_weights."""
    total = weights.sum()
    for _ in range(WEIGHT_ITERATIONS):
        tables = np.maximum(documents.tables(alpha * weights), 1e-300)
        weights = total * tables / tables.sum()
        weights = np.maximum(weights, 1e-10 * total)
        weights *= total / weights.sum()
    return weights
