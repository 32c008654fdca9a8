"""Parts that a topic of DirectAssignmentHDP may be divided into, found from its tokens in some documents."""

from dataclasses import dataclass

import numpy as np

from sktopic._kernels._groups import Ascent, TopicCells
from sktopic._kernels.hdp import _split_proposals as kernel

# Starts, rounds of coordinate ascent from each, and from the best of them.
STARTS, FIRST_ROUNDS, MORE_ROUNDS = 4, 2, 6
# Mean field in a document: iterations at most, of each round and where topics are given, and tokens of a part
# by which the last may change it.
ROUND_ITERATIONS, DIVIDE_ITERATIONS, DIVIDE_TOL = 3, 20, 1e-3


@dataclass
class Parts:
    """What a topic is divided into, according to some documents.

    Attributes
    ----------
    columns : (n_parts, n_words) expected tokens of the parts in these documents, by weight
    weights : (n_parts,) their weights, which sum to that of the topic
    gain : what the documents' bound is higher by than with the one topic, if they are the corpus; log p(beta)
        left out
    """

    columns: np.ndarray
    weights: np.ndarray
    gain: float


def propose_parts(cells, document_weight, whole, n_parts, key):
    """The best of several divisions of a topic by coordinate ascent on some documents, all else held fixed.

    The topic's tokens in each cell are divided, none is added or lost. The result is a pure function of the
    arguments; threads that call it run side by side.

    Parameters
    ----------
    cells : the topic's cells in these documents, at least one: arrays document (ascending), word, tokens
    document_weight : (n_documents,) as how many each document counts
    whole : WholeTopic
    n_parts : 2 or more
    key : of the stream of random numbers that documents to start from are drawn with

    Returns
    -------
    parts : Parts
    """
    columns, shares, gain = kernel.propose_parts(
        cells=TopicCells(cells.document, cells.word, cells.tokens, document_weight),
        whole=whole,
        n_parts=n_parts,
        ascent=Ascent(STARTS, FIRST_ROUNDS, MORE_ROUNDS, ROUND_ITERATIONS, DIVIDE_TOL),
        key=key,
    )
    return Parts(columns, whole.weight * shares, gain)


def divide_cells(cells, n_documents, log_words, weights, concentration):
    """Divide a topic's tokens among parts whose topics and weights are given.

    Parameters
    ----------
    cells : as in propose_parts
    n_documents : documents that the cells are numbered by
    concentration : alpha
    log_words : (n_parts, n_words) E[log phi] of the parts
    weights : (n_parts,) beta of the parts

    Returns
    -------
    tokens : (n_cells, n_parts), which sum to those of the cells
    mixing : (n_documents,) the sums over cells of c log c - sum over parts of c_p log c_p: what the entropy
        of the tokens' topics gains
    """
    mixing = np.zeros(n_documents)
    tokens = kernel.divide_cells(
        document=cells.document,
        word=cells.word,
        tokens=cells.tokens,
        log_words=np.ascontiguousarray(log_words.T),
        prior=concentration * np.asarray(weights),
        max_iter=DIVIDE_ITERATIONS,
        tol=DIVIDE_TOL,
        mixing=mixing,
    )
    return tokens, mixing
