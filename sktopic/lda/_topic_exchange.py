"""Exchange of topics: move the counts of a whole topic to the place whose prior fits them best.

Places differ only if topic_word_prior is a matrix. Inference moves counts token by token. A topic that has
drifted from its seed words therefore rarely returns to them without an exchange.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln

from sktopic._topics._word_count_views import expected_counts_of, expected_tokens

# Average number of comparisons of a prior entry and a topic per update.
PAIRS_PER_UPDATE = 5000
# Topics with fewer tokens count as empty, because a division by their tokens might overflow.
SMALLEST = 1e-200


def can_exchange(state, prior, n_updates, *, proportions_move):
    """Return whether topics in the word counts of a state may be exchanged now.

    No topic moves if places differ in more than the prior of topics. None moves once users have edited or
    frozen topics, because users refer to topics by number. If exchanges are expensive, only some updates
    make them.

    prior : TopicWordPrior
    n_updates : number of updates or sweeps so far
    proportions_move : whether doc_topic_prior is learned and moves with the topics
    """
    words, entries = state.words, prior.entries
    if entries is None or prior.topic_of_start is not None or words.frozen is not None:
        return False
    if not proportions_move and np.any(state.doc_topic_prior != state.doc_topic_prior[0]):
        return False
    return n_updates % (1 + len(entries.values) * words.n_topics // PAIRS_PER_UPDATE) == 0


def evidence_gains(statistics, weight, prior, equal_sizes):
    """Return how well the TopicWordPrior of each place explains the counts of each topic.

    With equal_sizes, counts are scaled so that all topics have the same number of tokens. Otherwise a prior
    with many pseudo-counts would fit small topics best, whatever their words are.

    Returns
    -------
    places : (n_places,) topics whose priors have entries
    gains : (n_places, n_components) log probability of the counts of each topic under the Dirichlet prior of
        each place, minus the log probability under the base of the prior alone
    """
    n_features, base, entries = statistics.n_features, prior.base, prior.entries
    places, row = np.unique(entries.topics, return_inverse=True)
    counts = expected_counts_of(statistics, entries.words, slice(None), weight)
    tokens = expected_tokens(statistics, weight)
    if equal_sizes:
        counts *= np.divide(tokens.mean(), tokens, out=np.zeros_like(tokens), where=tokens > SMALLEST)
        tokens[:] = tokens.mean()
    gains = np.zeros((len(places), len(tokens)))
    own = _log_rising(counts, entries.values[:, None])
    np.add.at(gains, row, own - _log_rising(counts, base))
    sums = entries.totals(n_features, base)[places, None]
    gains += _log_rising(tokens, n_features * base) - _log_rising(tokens, sums)
    return places, gains


def _log_rising(count, parameter):
    return gammaln(parameter + count) - gammaln(parameter)


def best_order(places, gains):
    """Return the order with the largest gain: (n_components,) the topic that moves to each place."""
    order, rows = np.arange(gains.shape[1]), np.arange(len(places))
    _, chosen = linear_sum_assignment(gains, maximize=True)
    if gains[rows, chosen].sum() > gains[rows, places].sum():
        order[places] = chosen
        # Displaced topics fill the places that the chosen topics have left.
        order[np.setdiff1d(chosen, places)] = np.setdiff1d(places, chosen)
    return order


def sampled_order(places, gains, uniforms):
    """Return an order after Metropolis-Hastings steps that each propose to exchange two topics.

    Every place with entries is tried with every topic, in order. uniforms are random numbers in [0, 1) with
    the shape of gains.
    """
    gains, log_uniforms = gains.copy(), np.log1p(-uniforms)
    n_components = gains.shape[1]
    order, rows = np.arange(n_components), np.arange(len(places))
    for row, place in enumerate(places):
        first = 0
        while first < n_components:
            change = gains[row] - gains[row, place]
            change[places] += gains[:, place] - gains[rows, places]
            accepted = first + np.flatnonzero(log_uniforms[row, first:] < change[first:])
            if not len(accepted):
                break
            pair, exchanged = [place, accepted[0]], [accepted[0], place]
            order[pair], gains[:, pair] = order[exchanged], gains[:, exchanged]
            first = accepted[0] + 1
    return order
