"""Proposed parts of a topic of DirectAssignmentHDP, found from its tokens in some documents."""

from dataclasses import dataclass

import numpy as np

from sktopic._kernels._groups import Ascent, TopicCells
from sktopic._kernels.hdp import _split_proposals as kernel

# Number of starts, of rounds of coordinate ascent from each, and of rounds from the best.
STARTS, FIRST_ROUNDS, MORE_ROUNDS = 4, 2, 6
# Mean field in a document: largest number of iterations in a round and with given topics, and tolerance in
# tokens of a part.
ROUND_ITERATIONS, DIVIDE_ITERATIONS, DIVIDE_TOL = 3, 20, 1e-3


@dataclass
class Parts:
    """A topic divided into parts, according to some documents.

    Attributes
    ----------
    columns : (n_parts, n_words) expected tokens of the parts in these documents, by weight
    weights : (n_parts,) their weights, which sum to that of the topic
    gain : gain of the documents' bound over the undivided topic, if they are the corpus; log p(beta) is left
        out
    """

    columns: np.ndarray
    weights: np.ndarray
    gain: float


def propose_parts(cells, document_weight, whole, n_parts, key):
    """Return the best of several divisions of a topic by coordinate ascent on some documents.

    All else is fixed. The topic's tokens in each cell are divided; their sum does not change. The result is a
    pure function of the arguments, and threads may call it in parallel.

    Parameters
    ----------
    cells : the topic's cells in these documents, at least one: arrays document (ascending), word, tokens
    document_weight : (n_documents,) weight of each document
    whole : WholeTopic
    n_parts : 2 or more
    key : of the random stream that chooses initial documents

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
    """Divide a topic's tokens among parts with given topics and weights.

    Parameters
    ----------
    cells : as in propose_parts
    n_documents : number of documents that cells refer to
    concentration : alpha
    log_words : (n_parts, n_words) E[log phi] of the parts
    weights : (n_parts,) beta of the parts

    Returns
    -------
    tokens : (n_cells, n_parts), whose sums are those of the cells
    mixing : (n_documents,) gain of the entropy of the tokens' topics: sums over cells of c log c - sum over
        parts of c_p log c_p
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
