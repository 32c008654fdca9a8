"""The tokens of documents, in the order in which a filter sees them."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sktopic._kernels.moments._matching import MAX_TOKENS, list_tokens, permutation
from sktopic._runtime._arrays import row_blocks

NO_KEYS = np.empty(0, dtype=np.uint64)
# Work (tokens times parameters of a document) between two checks for Ctrl-C: some milliseconds.
SLICE_WORK = 5_000_000
# The same limit inside a document.
LONGEST_WORK = 2 * SLICE_WORK


@dataclass(frozen=True)
class Tokens:
    """Tokens of some documents.

    Attributes
    ----------
    document, word : ndarray of shape (n_tokens,), int32
    weight : ndarray of shape (n_tokens,), float64
    begins : ndarray of shape (n_tokens,), uint8
        Whether each token is the first of its document.
    """

    document: np.ndarray
    word: np.ndarray
    weight: np.ndarray
    begins: np.ndarray

    @classmethod
    def in_order(cls, batch, keys=NO_KEYS):
        """Return the tokens document by document. keys shuffle the tokens of each document."""
        document, word, weight = list_tokens(batch.indptr, batch.cell_word, batch.cell_count, keys)
        return cls(document, batch.words[word], weight, _begins(document))

    @classmethod
    def mixed(cls, batch, key):
        """Return the tokens of all documents in one random order."""
        document, word, weight = list_tokens(batch.indptr, batch.cell_word, batch.cell_count, NO_KEYS)
        order = permutation(key, len(word))
        document = document[order]
        return cls(document, batch.words[word[order]], weight[order], _begins(document))

    def __len__(self):
        return len(self.word)

    def part(self, some):
        """Return the tokens of a slice."""
        return Tokens(self.document[some], self.word[some], self.weight[some], self.begins[some])

    def parts(self, size):
        """Yield parts between checks for Ctrl-C. size : number of parameters of a document."""
        length = max(1, SLICE_WORK // size)
        for first in range(0, len(self), length):
            yield self.part(slice(first, first + length))

    def document_parts(self, n_documents, size):
        """Yield parts between checks for Ctrl-C, and a slice of the documents that end with each part.

        Tokens must be in order. A long document is split into parts; the slice is None for all but the last.
        """
        most = max(1, LONGEST_WORK // size)
        for documents in _slices(self.document, n_documents, size):
            begin, end = np.searchsorted(self.document, (documents.start, documents.stop))
            for first in range(begin, max(end, begin + 1), most):
                last = min(first + most, end)
                yield self.part(slice(first, last)), documents if last == end else None


def count_tokens(X):
    """Return a lower limit of the number of tokens of documents X."""
    tokens = (np.ceil(X.data[entries], dtype=np.float64) for entries in row_blocks(X.data))
    return sum(np.minimum(some, MAX_TOKENS).sum() for some in tokens)


def _begins(document):
    """Return whether each token is the first of its document, uint8."""
    begins = np.zeros(len(document), dtype=np.uint8)
    begins[np.unique(document, return_index=True)[1]] = 1
    return begins


def _slices(document, n_documents, size):
    """Return slices of documents between checks for Ctrl-C. document : document of each token, in order."""
    work = np.cumsum(np.bincount(document, minlength=n_documents)) * size // SLICE_WORK
    bounds = [0, *(np.flatnonzero(np.diff(work)) + 1).tolist(), n_documents]
    return [slice(first, last) for first, last in pairwise(bounds)]
