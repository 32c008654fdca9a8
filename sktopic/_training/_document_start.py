"""The start of topics from documents: each topic leans toward one of them."""

from itertools import islice

import numpy as np

from sktopic._documents._matrices import GROUP_SIZE
from sktopic._kernels.random._rng import combine_keys

# Documents that are read for the start, or twice the number of topics if that is more. Their words are nearly
# as frequent as those of any corpus that they are drawn from.
MOST_READ = 10_000
# Tells the stream of this choice from others of the seed.
DOCUMENTS_KEY = 0x646F6373


def start_from_documents(training, documents, once=False):
    """Let topics that no update has changed start from Documents, in place.

    Topics for which there is no other document with words stay random. So do all if a matrix is their prior,
    toward which they lean.

    once : whether blocks are read only once, so that the start is from the first of them
    """
    state = training.state
    if state.n_topic_updates > 0 or state.word_prior.entries is not None:
        return
    if once:
        documents = documents.first_block()
    words, key = state.words, combine_keys(state.seed, DOCUMENTS_KEY)
    for reader, rows in islice(documents.batches(max(MOST_READ, 2 * words.n_topics), key), 1):
        chosen, frequencies = distinct_documents(reader, rows, words.n_topics, words.n_features, key)
        with training.changing(), training.complete_or_undone(waits=True):
            words.start_from_documents(chosen, frequencies)


def distinct_documents(reader, rows, n, n_features, key):
    """Choose n documents with words, or all if there are fewer, no two of which have the same counts.

    Keys of words and counts decide. So the choice depends neither on the order of documents nor on the number
    of copies, which a weight stands for.

    Parameters
    ----------
    reader, rows : DocumentReader, and the rows to choose from

    Returns
    -------
    chosen : DocumentBatch
    frequencies : ndarray of shape (n_features,)
        Number of tokens of each word in all of the rows, by weight.
    """
    frequencies, keys = np.zeros(n_features), np.empty(len(rows), dtype=np.uint64)
    has_words = np.empty(len(rows), dtype=bool)
    for first in range(0, len(rows), GROUP_SIZE):
        some = slice(first, first + GROUP_SIZE)
        batch = reader.batch(rows[some])
        keys[some], has_words[some] = reader.keys(batch, key), batch.lengths > 0.0
        frequencies[batch.words] += np.bincount(batch.cell_word, batch.weighted_counts(), batch.n_words)
    rows = rows[has_words]
    _, first_copies = np.unique(keys[has_words], return_index=True)
    return reader.batch(rows[first_copies[:n]]), frequencies
