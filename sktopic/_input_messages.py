"""What users are told about X that holds no word counts, or hardly any that topics can be learned from."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
from scipy.sparse import issparse

from sktopic._corpus import Corpus
from sktopic._documents import GROUP_SIZE
from sktopic.exceptions import CountsWarning

# How far from one the norm of a scaled row may be; float32 is three digits better.
NORM_TOLERANCE = 1e-4
# Fewer tokens for each topic are too few, where there are also more topics than documents.
LEAST_TOKENS = 100
# Rows that are looked through at a time.
MANY_ROWS = 1 << 16
# Of X in other forms: what it has, and what turns that into counts.
COUNTED = {
    "texts": "put a CountVectorizer in front, make_pipeline(CountVectorizer(), model)",
    "a column of texts": "give that column alone, and put a CountVectorizer in front of the model",
    "words": "put a CountVectorizer in front, make_pipeline(CountVectorizer(analyzer=list), model)",
    "dicts": "put a DictVectorizer in front, make_pipeline(DictVectorizer(), model)",
    "(word, count) pairs": "gensim.matutils.corpus2csc(X, num_terms=...).T makes them",
    "sparse rows": "scipy.sparse.vstack(X) makes one matrix of them",
    "corpora on disk": "save_corpus(path, (block for corpus in X for block in corpus.blocks())) makes one",
    "rows of different lengths": "each column is a word, with 0 where a document lacks it",
}


@contextmanager
def explaining(X, owner, n_features=None):
    """Let what fails in the block say what to do, where X is known to hold something else than counts.

    owner : who expects counts
    n_features : the columns that are expected, if known
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = _kind_of(X)
        if kind is not None:  # NumPy's message would print the texts
            raise ValueError(
                f"X has {kind}; {owner} expects counts of words, a row for each document: {COUNTED[kind]}."
            ) from None
        if isinstance(X, Iterator):
            raise ValueError(
                f"X is an iterator ({type(X).__name__}); {owner} expects a matrix of counts of words, a row "
                "for each document: stack the rows, or call partial_fit with parts of them. Blocks of rows "
                "may come from an object that can be iterated over again, as a list can."
            ) from None
        if _is_transposed(X, n_features):
            raise ValueError(
                f"{error} It has {n_features} rows: if these are the words, give its transpose, X.T."
            ) from None
        if _has_other_width(X, n_features):
            raise ValueError(
                f"{error} Count words with the vectorizer of the training, or bring a data frame to its "
                "columns by sktopic.features.align_features."
            ) from None
        raise


def _is_transposed(X, n_features):
    shape = getattr(X, "shape", ())
    return len(shape) == 2 and shape[0] == n_features != shape[1]


def _has_other_width(X, n_features):
    shape = getattr(X, "shape", ())
    return n_features is not None and len(shape) == 2 and shape[1] != n_features


def _kind_of(X):
    """What X, of which no matrix of numbers could be made, has in their place: one of COUNTED, or None."""
    if isinstance(X, (str, bytes)):
        return "texts"
    if getattr(getattr(X, "dtype", None), "kind", "O") in "biufc":
        return None
    if hasattr(X, "columns"):  # iterating over a data frame would give the names of its columns
        first_row = np.asarray(X)[:1].ravel()
        return "a column of texts" if any(isinstance(value, str) for value in first_row) else None
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Corpus):
        return "corpora on disk"
    document = _first(X)
    if document is None:
        return None
    if isinstance(document, (str, bytes)):
        return "texts"
    if issparse(document):
        return "sparse rows"
    if getattr(X, "ndim", 1) == 2 and X.shape[1] == 1 and isinstance(document[0], (str, bytes)):
        return "a column of texts"
    if isinstance(document, Mapping):
        return "dicts"
    token = _first(document)
    if isinstance(token, (str, bytes)):
        return "words"
    if isinstance(token, tuple) and len(token) == 2:
        return "(word, count) pairs"
    if isinstance(X, (list, tuple)) and len({_length(row) for row in X}) > 1:
        return "rows of different lengths"
    return None


def _first(values):
    """The first of them that is not empty; None if there is none, or if they cannot be looked into."""
    if isinstance(values, Iterator) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        return None
    return next((value for value in values if isinstance(value, str) or _length(value) > 0), None)


def _length(value):
    if issparse(value):
        return value.shape[0]
    return len(value) if hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0 else 0


class CorpusSummary:
    """What is told of documents that training starts from, after all of them were included."""

    def __init__(self):
        self._n_tokens, self._n_documents = 0.0, 0  # those with words
        self._shape = 0, 0
        self._norms = {"sum": np.abs, "length": np.square}  # in which every document is scaled to one
        self._has_fractions = False

    def include(self, X):
        """Include documents, as CSR from as_documents."""
        self._n_tokens += float(X.data.sum(dtype=np.float64))
        self._shape = self._shape[0] + X.shape[0], X.shape[1]
        for first in range(0, X.shape[0], MANY_ROWS):
            self._n_documents += np.count_nonzero(np.diff(X.indptr[first : first + MANY_ROWS + 1]))
        if X.data.dtype.kind == "f":
            self._include_norms(X)
        elif X.nnz:
            self._norms.clear()

    def _include_norms(self, X):
        # Most matrices are told by their first row.
        for first, last in pairwise([0, *range(1, X.shape[0], GROUP_SIZE), X.shape[0]]):
            bounds = X.indptr[first : last + 1]
            starts = bounds[:-1][np.diff(bounds) > 0]
            if not len(starts):
                continue
            if not self._norms:
                return
            entries = X.data[bounds[0] : bounds[-1]]
            for name, norm in list(self._norms.items()):
                with np.errstate(over="ignore", under="ignore"):  # neither infinity nor zero is one
                    sums = np.add.reduceat(norm(entries), starts - bounds[0])
                if np.any(np.abs(sums - 1.0) > NORM_TOLERANCE):
                    del self._norms[name]
            self._has_fractions = self._has_fractions or bool(np.any(entries != np.rint(entries)))

    def warn_of_scaled_rows(self, owner):
        """Warn where every document is scaled to one, which counts are not."""
        for name in self._norms if self._has_fractions else ():
            warnings.warn(
                f"X has fractions, and all rows have {name} 1, as those of a TfidfVectorizer have; {owner} "
                "is a model of counts, to which these are documents of few words. Give counts, as of a "
                "CountVectorizer, or weights that are not scaled (norm=None).",
                CountsWarning,
                stacklevel=2,
            )

    def warn_of_small_corpus(self, owner, n_components):
        """Warn where the whole corpus tells nothing, or little for each topic.

        n_components : the number of topics, where it is given; None where the model infers it
        """
        n_tokens, n_documents = self._n_tokens, self._n_documents
        if n_tokens == 0:
            warnings.warn(
                f"X of shape {self._shape} has no count above 0, from which {owner} can learn nothing. Does "
                "its vocabulary have the words of these documents?",
                CountsWarning,
                stacklevel=2,
            )
        elif n_components is not None and n_documents < n_components > n_tokens / LEAST_TOKENS:
            warnings.warn(
                f"{owner} has n_components={n_components}, but X has {n_documents} "
                f"document{'s' if n_documents != 1 else ''} of {n_tokens:.0f} words in all, fewer than "
                f"{LEAST_TOKENS} for each topic: take fewer topics, "
                "or more documents.",
                CountsWarning,
                stacklevel=2,
            )
