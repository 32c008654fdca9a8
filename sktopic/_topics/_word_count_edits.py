"""Word counts after edits of topics: each function returns other counts, and changes none."""

from dataclasses import replace

import numpy as np

from sktopic._runtime._arrays import columns_of
from sktopic._state._fields import duplicate, edited
from sktopic._topics._word_counts import WordCounts, frozen_columns


def of_words(counts, words):
    """A copy that has the rows of some words only, and no average; totals stay those of all words."""
    return WordCounts.of(
        np.array(counts.store[words]),
        counts.totals.copy(),
        n_features=counts.n_features,
        scale=counts.scale,
        frozen=counts.frozen,
    )


def of_topics(counts, topics, n_spare=0):
    """A copy that has some topics only, and columns of zeros behind them; without the average."""
    totals, frozen = np.append(counts.totals[topics], np.zeros(n_spare)), None
    if counts.frozen is not None and len(frozen_columns(counts.frozen[:, topics])):
        frozen = np.pad(counts.frozen[:, topics], [(0, 0), (0, n_spare)])
    return WordCounts.of(
        columns_of(counts.store, topics, len(totals)), totals, scale=counts.scale, frozen=frozen
    )


def edited_topics(counts, edit):
    """A copy after a TopicEdit; merged topics have the sums, and no average."""
    after = edited(counts, edit)
    return after if len(after.frozen_columns) else replace(after, frozen=None)


def frozen_topics(counts, topics, weight, topic_word_prior):
    """The same with these topics frozen, and no others; arrays that this changes are copies.

    A topic that is not frozen any more has the tokens that it had.
    """
    now = weight * counts.scale
    if not 0.0 < now < np.inf:
        raise ValueError("topics cannot be frozen or thawed: their counts are beyond the range of numbers.")
    frozen = np.zeros((2, counts.n_topics))
    frozen[:, topics] = [[now], [topic_word_prior]]
    held = counts.frozen_columns
    freed, still = np.setdiff1d(held, topics), np.intersect1d(held, topics)
    if len(still):
        frozen[:, still] = counts.frozen[:, still]
    thawed = duplicate(counts) if len(freed) else counts
    if len(freed):
        factor = counts.frozen[0, freed] / now
        thawed.store[:, freed] *= factor
        thawed.totals[freed] *= factor
    return replace(thawed, frozen=frozen if len(topics) else None)


def merged_topics(counts, kept, into, totals):
    """A copy of the kept topics, without the average; the others are added to those they go into.

    kept : (n_components,) bool; into : (n_components,) the topic that each goes into, or itself;
    totals : (n_components,) those that the topics then have
    """
    after, position = of_topics(counts, kept), np.cumsum(kept) - 1
    for k in np.flatnonzero(into != np.arange(len(into))):
        if kept[into[k]]:
            after.store[:, position[into[k]]] += counts.store[:, k]
    after.totals[:] = totals[kept]
    return after


def split_topics(counts, topics, tokens, weight):
    """A copy in which parts of some topics are topics of their own, behind the others; without average.

    topics : numbers of the topics; tokens : (n, n_features) tokens of the parts, of which a unit of the
    statistics stands for weight
    """
    n, unit = counts.n_topics, weight * counts.scale
    after = of_topics(counts, slice(None), n_spare=len(topics))
    for i, k in enumerate(topics):
        after.store[:, n + i] = np.minimum(tokens[i] / unit, counts.store[:, k])
    after.totals[n:] = after.store.sum(axis=0)[n:]
    for i, k in enumerate(topics):
        after.store[:, k] -= after.store[:, n + i]
        after.totals[k] = after.store[:, k].sum()
    return after
