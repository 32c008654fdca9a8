"""Arrays that belong together, as kernels take them.

A kernel reads the fields of a group once, at its start. IN, OUT and IN/OUT say whether it reads or writes an
array. An array with a number of rows may be given without rows where a kernel says so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Documents


class DocumentCells(NamedTuple):
    """The words of some documents, document by document.

    Attributes
    ----------
    indptr : (n_documents + 1,) bounds of each document's cells, in any consecutive numbering         IN
    cell_word : (n_cells,) row of each cell's word                                                    IN
    cell_count : (n_cells,) count of each cell, > 0                                                   IN
    """

    indptr: NDArray[np.int64]
    cell_word: NDArray[np.int32]
    cell_count: NDArray[np.float64]


class WordCells(NamedTuple):
    """The cells of each word, and where sums over them are added.

    Attributes
    ----------
    part_bounds : (n_parts + 1,) part p has the words part_bounds[p] to part_bounds[p + 1]            IN
    word_indptr, word_cell : (n_words + 1,) and (n_cells,) cells of each word, documents ascending    IN
    cell_weight : (n_cells,) by which the counts of a cell are multiplied; (0,) for ones              IN
    target_row : (n_words,) row of each word in the target                                            IN
    """

    part_bounds: NDArray[np.int64]
    word_indptr: NDArray[np.int64]
    word_cell: NDArray[np.int64]
    cell_weight: NDArray[np.float64]
    target_row: NDArray[np.int32]


class CountsTarget(NamedTuple):
    """Arrays that expected counts are added to.

    Attributes
    ----------
    store : (n_features, n_topics)                                                                IN/OUT
    totals : (n_parts, n_topics), whose rows add up to what the columns of store gain             IN/OUT
    averaged : (n_features, n_topics), which gains average_weight times what store does; or (0, n_topics)
                                                                                                  IN/OUT
    average_weight : (n_topics,), or (0,) without averaged                                        IN
    """

    store: NDArray[np.float64]
    totals: NDArray[np.float64]
    averaged: NDArray[np.float64]
    average_weight: NDArray[np.float64]


class TopicCounts(NamedTuple):
    """Counts of words in topics as lists, with a rest for each word that all topics share.

    Attributes
    ----------
    topic, value : (n_features, n_entries) the topics of each word, ascending, and their counts   IN/OUT
    length : (n_features,) entries in use                                                         IN/OUT
    least : (n_features,) what a topic has to add to enter the list                               IN/OUT
    rest : (n_features,) counts of the word that are in no list                                   IN/OUT
    """

    topic: NDArray[np.int32]
    value: NDArray[np.float32]
    length: NDArray[np.int32]
    least: NDArray[np.float32]
    rest: NDArray[np.float64]


class SparseRows(NamedTuple):
    """Topic rows as lists: phi_kw is the value of k in the list of w, or 0, + rest[w] shares[k] +
    even[w] units[k].

    Attributes
    ----------
    start : (n_words + 1,) bounds of the entries of each word                                         IN
    bucket : (n_words, n_buckets + 1) the first entry of each word, from its start, whose topic is not below
        those of a bucket. Each has as many topics, a power of two                                    IN
    topic, value : (n_entries,) topics, ascending in each list, and values                            IN
    cumulative : (n_entries,) sums of value * prior over the entries of the word so far               IN
    rest, even : (n_words,)                                                                           IN
    shares, units : (n_topics,)                                                                       IN
    share_sums, unit_sums : (ceil(n_topics / 16),) cumulative sums of them times the prior over blocks of 16
                                                                                                      IN
    """

    start: NDArray[np.int64]
    bucket: NDArray[np.int32]
    topic: NDArray[np.int32]
    value: NDArray[np.float32] | NDArray[np.float64]
    cumulative: NDArray[np.float32] | NDArray[np.float64]
    rest: NDArray[np.float64]
    even: NDArray[np.float64]
    shares: NDArray[np.float64]
    units: NDArray[np.float64]
    share_sums: NDArray[np.float64]
    unit_sums: NDArray[np.float64]


class SparseTarget(NamedTuple):
    """What expected counts are added to.

    Attributes
    ----------
    counts : TopicCounts                                                                          IN/OUT
    totals : (n_parts, n_topics), which gain what lists have more of each topic                   IN/OUT
    rest_gain : (n_parts,), which gain what the rests do                                          IN/OUT
    """

    counts: TopicCounts
    totals: NDArray[np.float64]
    rest_gain: NDArray[np.float64]


# Gibbs sampling of documents, given the topics


class Chains(NamedTuple):
    """The Markov chain of each document.

    Attributes
    ----------
    keys : (n_documents,) stream of random numbers of each document                                   IN
    z : (n_clumps,) topic of each clump, -1: not assigned yet (then the first sweep assigns the clumps
        one after the other, each given those before it)                                          IN/OUT
    """

    keys: NDArray[np.uint64]
    z: NDArray[np.int32]


class Sweeps(NamedTuple):
    """What is swept and what is summed.

    Attributes
    ----------
    n_burn_in, n_sweeps : sweeps discarded (>= 0), then sweeps summed (>= 1)
    drawn : whether draws are summed instead of the conditional probabilities that they are made from
    with_log_theta : whether psi(alpha_k + n_k) - psi(alpha_k) is summed
    """

    n_burn_in: int
    n_sweeps: int
    drawn: bool = False
    with_log_theta: bool = False


class Particles(NamedTuple):
    """How particles go through a document from left to right.

    Attributes
    ----------
    n_particles : number of particles (>= 1)
    burn_in : sweeps over the tokens that are given (>= 0)
    n_resampling : sweeps over all earlier tokens before each later position (>= 0)
    product_inside : whether the products of particles are averaged, not their probabilities of each token
    """

    n_particles: int
    burn_in: int
    n_resampling: int
    product_inside: bool


class DenseSums(NamedTuple):
    """Sums over the counted sweeps, for all topics. Not both of counts and sums have rows.

    Attributes
    ----------
    counts : (n_cells, n_padded) of w p(z = k | rest) over the clumps of each cell, n_padded being n_topics
        filled up to a multiple of PADDING by topics of probability zero; or (0, n_padded)            OUT
    sums : (n_documents, n_topics) of the same over the clumps of each document; or (0, n_topics)     OUT
    log_theta : (n_documents, n_topics) of psi(alpha_k + n_k) - psi(alpha_k), n being the counts after a
        sweep; or (0, n_topics)                                                                       OUT
    """

    counts: NDArray[np.float32] | NDArray[np.float64]
    sums: NDArray[np.float64]
    log_theta: NDArray[np.float64]


class SparseSums(NamedTuple):
    """Sums over the counted sweeps, for the topics that a document had in them.

    Attributes
    ----------
    column_indptr, column_topic : (n_documents + 1,) and (n_columns,) topics of each document
    values : (n_values,) for each document in turn its (cells, columns) block, the sums of w phi_kw n_k / T,
        or those of w where topic k was drawn
    fixed : (n_cells,) sums of w / T, which stand for w alpha_k phi_kw / T at every k; or zeros
    log_theta : (n_columns,) or (0,) sums of psi(alpha_k + n_k) - psi(alpha_k)
    """

    column_indptr: NDArray[np.int64]
    column_topic: NDArray[np.int32]
    values: NDArray[np.float32] | NDArray[np.float64]
    fixed: NDArray[np.float64]
    log_theta: NDArray[np.float64]


class LeftOut(NamedTuple):
    """What documents have added to the topics before, which is left out when they are sampled again.

    Attributes
    ----------
    often : (n_documents,) how often the tokens of each document are in the topics                    IN
    token, smoothing : (n_topics,) what a token of any word has added to its phi_kw, and what phi_kw is
        without tokens                                                                                IN
    unit : (n_words,) the factor of each word in the rows of the topics                               IN
    """

    often: NDArray[np.float64]
    token: NDArray[np.float64]
    smoothing: NDArray[np.float64]
    unit: NDArray[np.float64]


class AliasTables(NamedTuple):
    """Alias tables of alpha_k phi_kw, of some words.

    Attributes
    ----------
    of_word : (n_words,) row of a word in the tables, or -1                                           IN
    threshold, alias : (n_tables, n_topics) those of _alias.build_alias_tables                        IN
    """

    of_word: NDArray[np.int32]
    threshold: NDArray[np.float64]
    alias: NDArray[np.int32]


# Collapsed Gibbs sampling


class CellsByWord(NamedTuple):
    """The cells of some documents, word by word.

    Attributes
    ----------
    word_indptr, words : (n_words + 1,) and (n_words,) cells of each word; row of its counts          IN
    cell_document, cell_count : (n_cells,) document and count > 0 of each cell                        IN
    """

    word_indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    cell_document: NDArray[np.int32]
    cell_count: NDArray[np.float64]


class TokensByWord(NamedTuple):
    """The tokens of some documents, word by word.

    Attributes
    ----------
    token_indptr, words : (n_words + 1,) and (n_words,) tokens of each word; row of its counts        IN
    document, size : (n_tokens,) document and weight of each token                                    IN
    """

    token_indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    document: NDArray[np.int32]
    size: NDArray[np.float32]


class NumberedCells(NamedTuple):
    """The cells of some documents, those of a word being neighbors.

    Attributes
    ----------
    cell_word, cell_document, cell_count : (n_cells,) row of the word's counts, document and count > 0
                                                                                                  IN
    cell_start : (n_cells + 1,) first clump of each cell, and the number of clumps                         IN
    """

    cell_word: NDArray[np.int32]
    cell_document: NDArray[np.int32]
    cell_count: NDArray[np.float64]
    cell_start: NDArray[np.int64]


class TopicPrior(NamedTuple):
    """The Dirichlet prior of topics.

    Attributes
    ----------
    topic_word_prior : beta, > 0
    own_indptr, own_topic, own_value : (n_features + 1,) and (n_own,) what beta is in the place of that for
        each word in some topics                                                                      IN
    prior_sum : (n_topics,) sum of beta over all words                                                IN
    """

    topic_word_prior: float
    own_indptr: NDArray[np.int64]
    own_topic: NDArray[np.int32]
    own_value: NDArray[np.float64]
    prior_sum: NDArray[np.float64]


class ClumpLists(NamedTuple):
    """Lists of the topics of each document, with the weight of its clumps in each (see _topic_lists).

    Attributes
    ----------
    list_start : (n_documents + 1,) where the entries of each document are                            IN
    entries, entry_weight : (n_entries,) TOPIC_CLUMPS, and the weight of these clumps             IN/OUT
    n_entries : (n_documents,) entries in use                                                     IN/OUT
    """

    list_start: NDArray[np.int64]
    entries: NDArray[np.void]
    entry_weight: NDArray[np.float64]
    n_entries: NDArray[np.int32]


class TableLists(NamedTuple):
    """Lists of the topics of each document, with its tables in each (see _topic_lists).

    Attributes
    ----------
    list_start : (n_documents + 1,) where the entries of each document are                            IN
    entries : (n_entries,) TOPIC_TABLES                                                           IN/OUT
    n_entries : (n_documents,) entries in use                                                     IN/OUT
    """

    list_start: NDArray[np.int64]
    entries: NDArray[np.void]
    n_entries: NDArray[np.int32]


class RootTopics(NamedTuple):
    """The topics of an HDP: their tokens, and what the root tells of them. Some columns are spare.

    Attributes
    ----------
    counts, totals : (n_words, size) and (size,) N_kw and N_k                                     IN/OUT
    root : (size,) weight of each topic at the root; 0 for spare columns                          IN/OUT
    ids : (size,) identities, which become -1 where a topic is new                                OUT
    """

    counts: NDArray[np.float64]
    totals: NDArray[np.float64]
    root: NDArray[np.float64]
    ids: NDArray[np.int64]


class SweepSettings(NamedTuple):
    """How the topics of an HDP are drawn.

    Attributes
    ----------
    sampler : 0 for direct assignment, 1 for table indicators, 2 for these with alias tables
    common : words with fewer cells are drawn without alias tables
    topic_concentration, doc_concentration, topic_word_prior : b0, b1 and beta, > 0
    n_features : V, of which counts may have the words that are in cells only
    """

    sampler: int
    common: int
    topic_concentration: float
    doc_concentration: float
    topic_word_prior: float
    n_features: int


# Splits of topics


class TokensByDocument(NamedTuple):
    """The tokens of one topic, document by document.

    Attributes
    ----------
    document : (n_documents,) numbers of the documents, ascending                                     IN
    first : (n_documents + 1,) bounds of the tokens of each document                                  IN
    word, size : (n_tokens,) column and weight of each token                                          IN
    document_weight : (n_documents,) weight of each document                                          IN
    copy_weight : (n_documents,) weight of one copy of each document                                  IN
    """

    document: NDArray[np.int64]
    first: NDArray[np.int64]
    word: NDArray[np.int32]
    size: NDArray[np.float64]
    document_weight: NDArray[np.float64]
    copy_weight: NDArray[np.float64]


class WindowTokens(NamedTuple):
    """The tokens of all topics, document by document.

    Attributes
    ----------
    first : (n_documents + 1,) bounds of the tokens of each document                                  IN
    word, topic, size : (n_tokens,) column, number of the topic and weight of each token              IN
    document_weight : (n_documents,) weight of each document                                          IN
    copy_weight : (n_documents,) weight of one copy of each document                                  IN
    """

    first: NDArray[np.int64]
    word: NDArray[np.int32]
    topic: NDArray[np.int32]
    size: NDArray[np.float64]
    document_weight: NDArray[np.float64]
    copy_weight: NDArray[np.float64]


class TopicCells(NamedTuple):
    """The cells of one topic in some documents.

    Attributes
    ----------
    document, word, tokens : (n_cells,) documents ascending; number of the word; tokens of the topic  IN
    document_weight : (n_documents,) as how many each document counts                                 IN
    """

    document: NDArray[np.int32]
    word: NDArray[np.int32]
    tokens: NDArray[np.float64]
    document_weight: NDArray[np.float64]


class WholeTopic(NamedTuple):
    """A topic that may be divided, with Dirichlet and stick-breaking priors.

    Attributes
    ----------
    log_words : (n_words,) E[log phi] of the topic                                                    IN
    weight : beta of the topic
    concentration, topic_word_prior : alpha and eta
    n_features : words of the vocabulary
    """

    log_words: NDArray[np.float64]
    weight: float
    concentration: float
    topic_word_prior: float
    n_features: float


class Ascent(NamedTuple):
    """How far coordinate ascent goes.

    Attributes
    ----------
    n_starts, first_rounds, more_rounds : starts, rounds from each, and from the best of them; >= 1 each
    max_iter, tol : mean field in a document: iterations at most, and tokens of a part by which the last may
        change it
    """

    n_starts: int
    first_rounds: int
    more_rounds: int
    max_iter: int
    tol: float


# Langevin dynamics and moment matching


class ScaledCounts(NamedTuple):
    """Counts of a batch, and what they stand for.

    Attributes
    ----------
    counts : (n_rows, n_topics) tokens in the batch                                                   IN
    row : (n_features,) row of each word, -1 if it has none                                           IN
    factor : documents of the corpus per document of the batch
    """

    counts: NDArray[np.float64]
    row: NDArray[np.int32]
    factor: float
