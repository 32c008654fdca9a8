"""Topics that change places: counts of a whole topic go where the prior of topics fits them best.

Only a matrix as topic_word_prior tells places apart. Inference moves counts by tokens and documents, and then
hardly ever gets from a topic that has come to be about something else to the one that its seeds speak of.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln

from sktopic._topics._word_count_views import expected_counts_of, expected_tokens

# Pairs of an entry of the prior and a topic that are compared in an update, on average.
PAIRS_PER_UPDATE = 5000
# Topics of fewer tokens count as empty: division by these might overflow.
SMALLEST = 1e-200


def exchange(state, prior, n_updates, *, proportions_move, order_of):
    """Let topics change places in the word counts of a state; return their order, or None if they stay.

    They stay if places differ in more than the prior of topics, and once users have edited or frozen some:
    these know them by their numbers. After most updates they stay if exchanges are much work.

    prior : TopicWordPrior
    n_updates : updates or sweeps so far
    proportions_move : whether doc_topic_prior is learned, and goes with the topics
    order_of : function of the base and the entries of the prior that returns an order that fits them
    """
    words, entries = state.words, prior.entries
    if entries is None or prior.topic_of_start is not None or words.frozen is not None:
        return None
    if not proportions_move and np.any(state.doc_topic_prior != state.doc_topic_prior[0]):
        return None
    if n_updates % (1 + len(entries.values) * words.n_topics // PAIRS_PER_UPDATE) != 0:
        return None
    order = order_of(prior.base, entries)
    if np.array_equal(order, np.arange(len(order))):
        return None
    words.rearrange(order)
    return order


def evidence_gains(statistics, weight, topic_word_prior, entries, equal_sizes):
    """What the entries of each prior say about the counts of each topic.

    With equal_sizes, counts are scaled to as many tokens in each topic. A prior of many pseudo-counts
    explains a topic of few tokens best, whatever their words are; but it is there to say what a topic is
    about.

    Returns
    -------
    places : (n_places,) the topics whose priors have entries
    gains : (n_places, n_components) log probability of the counts of each topic under the Dirichlet prior of
        each place, less that under a prior of topic_word_prior alone
    """
    n_features = statistics.n_features
    places, row = np.unique(entries.topics, return_inverse=True)
    counts = expected_counts_of(statistics, entries.words, slice(None), weight)
    tokens = expected_tokens(statistics, weight)
    if equal_sizes:
        counts *= np.divide(tokens.mean(), tokens, out=np.zeros_like(tokens), where=tokens > SMALLEST)
        tokens[:] = tokens.mean()
    gains = np.zeros((len(places), len(tokens)))
    own = _log_rising(counts, entries.values[:, None])
    np.add.at(gains, row, own - _log_rising(counts, topic_word_prior))
    sums = entries.totals(n_features, topic_word_prior)[places, None]
    gains += _log_rising(tokens, n_features * topic_word_prior) - _log_rising(tokens, sums)
    return places, gains


def _log_rising(count, parameter):
    return gammaln(parameter + count) - gammaln(parameter)


def best_order(places, gains):
    """The arrangement of the largest gain: (n_components,) the topic that goes to each place."""
    order, rows = np.arange(gains.shape[1]), np.arange(len(places))
    _, chosen = linear_sum_assignment(gains, maximize=True)
    if gains[rows, chosen].sum() > gains[rows, places].sum():
        order[places] = chosen
        # Topics that have to go fill the places of those that came from elsewhere.
        order[np.setdiff1d(chosen, places)] = np.setdiff1d(places, chosen)
    return order


def sampled_order(places, gains, uniforms):
    """An arrangement after Metropolis-Hastings steps, each of which exchanges two topics or does not.

    Every place that has entries is tried with every topic, in their order; uniforms are random numbers in
    [0, 1), of the shape of gains.
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
