"""Topic rows as lists, and counts added to them (the twin of _kernels.topics._sparse_rows)."""

import numpy as np


def listed(counts):
    """The list of each word: counts by topic."""
    used = [slice(n) for n in counts.length]
    return [
        dict(zip(topic[n].tolist(), value[n])) for topic, value, n in zip(counts.topic, counts.value, used)
    ]


def dense(counts, shares):
    """The counts (n_features, n_topics) that lists and rests stand for."""
    found = counts.rest[:, None] * shares
    for row, entries in zip(found, listed(counts)):
        for k, value in entries.items():
            row[k] += value
    return found


def gather(counts, words, scale, offset, shares, prior):
    """phi of words scaled to phi @ prior = 1, log(phi @ prior) before, and cumulative sums of the lists."""
    phi = dense(counts, shares)[words] * scale + offset
    total = phi @ prior
    phi[total == 0.0] = 1.0
    cumulative = []
    for w, norm in zip(words, total):
        of_list = [value * scale[k] * prior[k] for k, value in listed(counts)[w].items()]
        cumulative.append(np.cumsum(of_list) / (norm or 1.0))
    with np.errstate(divide="ignore"):
        return phi / (phi @ prior)[:, None], np.log(total), np.concatenate(cumulative)


def add(counts, words, of_documents, of_lists, of_rest):
    """Add to TopicCounts in place what documents give words in topics, and what the prior gives by lists.

    of_rest : (n_words,) what the prior gives words otherwise
    """
    n_entries = counts.topic.shape[1]
    for w, given, more, left in zip(words, of_documents, of_lists, of_rest):
        entries = {k: float(value) + more[k] for k, value in listed(counts)[w].items()}
        old = set(entries)
        for k in np.flatnonzero(given).tolist():
            if k in old or given[k] >= counts.least[w]:
                entries[k] = entries.get(k, 0.0) + given[k]
            else:
                left += given[k]
        if len(entries) > n_entries:
            order = sorted(entries, key=lambda k: (-entries[k], k))
            n_kept = -(-3 * n_entries // 4)
            left += sum(entries[k] for k in order[n_kept:])
            counts.least[w] = entries[order[n_kept - 1]]
            entries = {k: entries[k] for k in order[:n_kept]}
        n = counts.length[w] = len(entries)
        counts.topic[w, :n] = sorted(entries)
        counts.value[w, :n] = [entries[k] for k in sorted(entries)]
        counts.rest[w] += left
