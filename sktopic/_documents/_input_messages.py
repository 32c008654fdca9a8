"""What users are told about X that holds no word counts, or hardly any that topics can be learned from."""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import partial

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from sktopic._documents._corpus import Corpus
from sktopic._documents._matrices import (
    COUNT_TYPES,
    RANGE_OF_COUNTS,
    are_documents,
    as_documents,
    check_counts,
    check_sparse_structure,
)
from sktopic._kernels.documents._reading import count_rows_of_words
from sktopic._runtime._arrays import is_masked
from sktopic.exceptions import CountsWarning

# How far from one the norm of a scaled row may be; float32 is three digits better.
NORM_TOLERANCE = 1e-4
# Fewer tokens for each topic are too few.
LEAST_TOKENS = 100
# With fewer documents, training by batches needs so many passes.
FEW_DOCUMENTS, MANY_PASSES = 200, 200
# If half of the documents have fewer different words, and there are fewer tokens for each topic, shares of
# topics may be learned badly: some topics take most words, and the others get rare words. With seven words of
# each document, rare ones too, this happens on 20 Newsgroups, Reuters and arXiv with 530 to 10,500 tokens for
# each topic (benchmarks/short_texts.py). It was not seen on 100,000 abstracts of arXiv with 14,000 and more,
# nor on Enron with 6,200 and more. Fewer documents are a trial.
FEW_WORDS, FEW_TOKENS, FEWEST_DOCUMENTS = 8, 12_000, 1001
# A single document of fewer words may be the name of a column: a CountVectorizer iterates over a data frame.
WORDS_OF_A_NAME = 10
# Most entries of embeddings and of probabilities are above 0, and none is above 1. Counts are not so, but any
# X may be if it has few columns.
FEWEST_DIMENSIONS = 32
# X is taken for transposed if its rows look like words, and its columns like documents. Their numbers of
# entries are compared: the 99th percentile over the median, and the skewness of the logarithms. Measured on
# 20 Newsgroups, arXiv abstracts, Enron, KOS, two corpora of NIPS and Reuters, and on 20 samples of 1000 and
# of 2000 documents of each:
#
#                                                         ratio           skewness
#     documents                                           1.4 to 19       -9.1 to 0.0
#     words                                               17.6 to 97      0.0 to 1.2
#     documents, if words are the 1000 or 3000 commonest  1.4 to 11.2     -8.5 to 0.04
#     these words                                         3.5 to 16.5     -0.24 to 0.90
#     documents, if words are rare or of middle ranks     1.6 to 20.3     -6.4 to 1.4
#     these words                                         1.5 to 61       -1.7 to 2.3
#
# With all words, their ratio is at least 1.2 times that of documents, and their skewness 0.58 higher. All of
# these transposes are found but one, a sample of KOS. No matrix with documents in its rows is taken for
# transposed, nor one of documents of two words, or of make_bars or make_lda_documents. Fewer rows or columns
# say too little. It takes 15 ms for 100,000 abstracts.
FEWEST_OF_WORDS, FEWEST_OF_DOCUMENTS = 1000, 500
LEAST_RATIO, RATIO_AHEAD, SKEWNESS_AHEAD = 18.0, 1.2, 0.5
# Makes a matrix of numbers of X, which belongs to no estimator.
AS_NUMBERS = partial(check_array, input_name="X")
# Rows that are looked through at a time.
MANY_ROWS = 1 << 13
# Of X in other forms: what it has, and what turns that into counts.
COUNTED = {
    "texts": "put a CountVectorizer in front, make_pipeline(CountVectorizer(), model)",
    "a column of texts": "give that column alone, and put a CountVectorizer in front of the model",
    "a column of dates": "leave that column out",
    "words": "put a CountVectorizer in front, make_pipeline(CountVectorizer(analyzer=list), model)",
    "dicts": "put a DictVectorizer in front, make_pipeline(DictVectorizer(), model)",
    "(word, count) pairs": "gensim.matutils.corpus2csc(X, num_terms=...).T makes them",
    "sparse rows": "scipy.sparse.vstack(X) makes one matrix of them",
    "cells of AnnData": "give its counts, such as adata.X or adata.layers['counts']",
    "blocks of Dask": "sktopic.dask.DaskTopicModel trains on them, and X.compute() makes one matrix",
    "rows in a file": "X.to_memory() reads them, and save_corpus(path, X) makes a corpus on disk",
    "corpora on disk": "save_corpus(path, (block for corpus in X for block in corpus.blocks())) makes one",
    "rows of different lengths": "each column is a word, with 0 where a document lacks it",
    "paths": "to count words of files, use make_pipeline(CountVectorizer(input='filename'), model)",
    "the path of a folder": "to train on a corpus on disk, pass sktopic.datasets.open_corpus(path)",
    "a path, but no folder is there": "to train on a corpus on disk, pass sktopic.datasets.open_corpus(path)",
}
# The same if a model is fitted.
OF_FITTED = {
    "texts": "give vectorizer.transform(X) of the training's vectorizer, or call a function that takes the "
    "pipeline and texts",
    "the path of a folder": "to use a corpus on disk, pass sktopic.datasets.open_corpus(path)",
    "a path, but no folder is there": "to use a corpus on disk, pass sktopic.datasets.open_corpus(path)",
}


def check_block(block):
    """Raise ValueError for a document of gensim, which as a matrix would be documents of two words."""
    if isinstance(block, (list, tuple)) and all(isinstance(row, tuple) and len(row) == 2 for row in block):
        kind = "(word, count) pairs"
        raise ValueError(
            f"it is a list of {kind}, or empty, but must be a matrix of counts of words: {COUNTED[kind]}."
        )


def checked_documents(X, owner, n_features=None, validate=AS_NUMBERS, remedies=None, **options):
    """Return a matrix as_documents; raise ValueError if it is not a matrix of counts.

    owner : who expects counts
    n_features : the columns that are expected, if known
    validate : function of X and options of `check_array` that makes a matrix of numbers of it
    remedies : dict of those that replace entries of COUNTED
    """
    # Of masked arrays, also those of Dask, scikit-learn takes the numbers below the mask.
    if is_masked(X) or np.ma.isMaskedArray(getattr(X, "_meta", None)):
        raise ValueError(f"X has masked values; {owner} expects counts of words, such as X.filled(0) has.")
    X = check_sparse_structure(X)
    if issparse(X) and X.ndim == 2 and X.shape[0] > 0 and X.shape[1] == n_features and are_documents(X):
        return X  # validation by scikit-learn takes longer than inference of a short document
    with explaining(X, owner, n_features, remedies):
        options = {"accept_sparse": "csr", "dtype": COUNT_TYPES, "ensure_all_finite": False} | options
        X = as_documents(validate(X, **options))
    check_counts(X, owner)
    return X


@contextmanager
def explaining(X, owner, n_features=None, remedies=None):
    """Let what fails in the block say what to do, where X is known to hold something else than counts.

    owner : who expects counts
    n_features : the columns that are expected, if known
    remedies : as in `checked_documents`
    """
    try:
        yield
    except OverflowError:
        raise ValueError(f"X has an integer that no float can hold; {RANGE_OF_COUNTS}") from None
    except (TypeError, ValueError) as error:
        kind = _kind_of(X)
        if kind is not None:  # NumPy's message would print the texts
            verb = "is" if isinstance(X, (str, os.PathLike)) and kind != "texts" else "has"
            counted = (COUNTED | ({} if n_features is None else OF_FITTED) | (remedies or {}))[kind]
            raise ValueError(
                f"X {verb} {kind}; {owner} expects counts of words, a row for each document: {counted}."
            ) from None
        if isinstance(X, Iterator):
            or_train = ", or call partial_fit with parts of them" if n_features is None else ""
            raise ValueError(
                f"X is an iterator ({type(X).__name__}); {owner} expects a matrix of counts of words, a row "
                f"for each document: stack the rows{or_train}. Blocks of rows may come from an object that "
                "can be iterated over again, as a list can."
            ) from None
        shape = getattr(X, "shape", ())
        if n_features is None or len(shape) != 2:
            raise
        if shape[1] == n_features:
            if "feature names" not in str(error):
                raise
            advice = "sktopic.features.align_features brings a data frame to the columns of a model."
        elif shape[0] == n_features:
            advice = f"It has {n_features} rows: if these are the words, give its transpose, X.T."
        else:
            advice = (
                "Count words with the vectorizer of the training, or bring a data frame to its columns by "
                "sktopic.features.align_features."
            )
            if shape[1] > n_features:
                advice += " Or add words to a topic model: add_features, sktopic.features.grow_vocabulary."
        raise ValueError(f"{str(error).rstrip()} {advice}") from None


def _kind_of(X):
    """What X, of which no matrix of numbers could be made, has in their place: one of COUNTED, or None."""
    if isinstance(X, (str, os.PathLike)) and os.path.isdir(X):
        return "the path of a folder"
    if isinstance(X, os.PathLike):
        return "a path, but no folder is there"
    if isinstance(X, (str, bytes)):
        return "texts"
    if issparse(getattr(X, "_meta", None)) or type(X).__module__ == "dask.delayed":
        return "blocks of Dask"
    if hasattr(X, "to_memory"):  # of anndata: an AnnData object, or its backed matrix
        return "cells of AnnData" if hasattr(X, "layers") else "rows in a file"
    if getattr(getattr(X, "dtype", None), "kind", "O") in "biufc":
        return None
    if hasattr(X, "columns"):  # iterating over a data frame would give the names of its columns
        first_row = np.asarray(X)[:1].ravel()
        if any(isinstance(value, str) for value in first_row):
            return "a column of texts"
        return "a column of dates" if any(isinstance(value, date) for value in first_row) else None
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Corpus):
        return "corpora on disk"
    document = _first(X)
    if document is None:
        return None
    if isinstance(document, (str, bytes)):
        return "texts"
    if isinstance(document, os.PathLike):
        return "paths"
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
    return next(
        (value for value in values if isinstance(value, (str, os.PathLike)) or _length(value) > 0), None
    )


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
        self._n_entries, self._largest = 0, 0.0
        # How many rows have so many entries, and how many entries each column has.
        self._sizes, self._column_sizes = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)

    def include(self, X):
        """Include documents, as CSR from as_documents."""
        self._n_tokens += float(X.data.sum(dtype=np.float64))
        self._shape = self._shape[0] + X.shape[0], X.shape[1]
        self._n_entries += X.nnz
        self._largest = max(self._largest, float(X.data.max(initial=0)))
        are_floats = X.data.dtype.kind == "f"
        if X.nnz and not are_floats:
            self._norms.clear()
        sizes_are_told = X.shape[1] <= X.nnz  # else there is no array of the columns in memory yet
        for first in range(0, X.shape[0], MANY_ROWS):
            bounds = X.indptr[first : first + MANY_ROWS + 1]
            # Clipped, as others may change X meanwhile: the largest number says how much memory is taken.
            sizes = np.clip(np.diff(bounds), 0, X.nnz)
            self._n_documents += np.count_nonzero(sizes)
            if sizes_are_told:
                self._sizes = _added(self._sizes, np.bincount(sizes))
            if self._norms and are_floats:
                self._include_norms(X.data[bounds[0] : bounds[-1]], bounds[:-1][sizes > 0] - bounds[0])
        if sizes_are_told:
            self._column_sizes = _added(self._column_sizes, np.zeros(X.shape[1], dtype=np.int64))
            count_rows_of_words(X.indices[: X.indptr[-1]], self._column_sizes)

    def _include_norms(self, entries, starts):
        """Include the entries of some rows, and where those that are not empty start."""
        for name, norm in list(self._norms.items()):
            with np.errstate(all="ignore"):  # others may change X meanwhile, to numbers of any size
                if np.any(np.abs(np.add.reduceat(norm(entries), starts) - 1.0) > NORM_TOLERANCE):
                    del self._norms[name]
        self._has_fractions = self._has_fractions or bool(np.any(entries != np.rint(entries)))

    def warn_of_other_values(self, owner):
        """Warn of X that seems to hold something else than counts, or words in its rows."""
        for name in self._norms if self._has_fractions else ():
            _warn(
                f"X has fractions, and all rows have {name} 1, as those of a TfidfVectorizer have; {owner} "
                "is a model of counts, to which these are documents of few words. Give counts, as of a "
                "CountVectorizer, or weights that are not scaled (norm=None)."
            )
        n_rows, n_columns = self._shape
        if (
            self._has_fractions
            and not self._norms
            and self._largest <= 1.0
            and n_columns >= FEWEST_DIMENSIONS
            and 2 * self._n_entries > n_rows * n_columns
        ):
            _warn(
                "Most entries of X are fractions from 0 to 1, as those of embeddings and probabilities are; "
                f"{owner} is a model of counts, to which these are documents of few words. Give counts of "
                "words, as a CountVectorizer makes of texts."
            )
        if self._is_transposed():
            _warn(
                "X seems to be transposed: the number of entries varies between rows as it does between "
                f"words, and between columns as between documents. {owner} expects a row for each document: "
                "if rows are words, give X.T."
            )

    def _is_transposed(self):
        # No word is in more rows than there are, unless a row has it twice.
        rows, columns = self._sizes, np.bincount(np.minimum(self._column_sizes, self._shape[0]))
        if rows[1:].sum() < FEWEST_OF_WORDS or columns[1:].sum() < FEWEST_OF_DOCUMENTS:
            return False
        ratio, skewness = _inequality(rows)
        ratio_of_columns, skewness_of_columns = _inequality(columns)
        return (
            ratio >= max(LEAST_RATIO, RATIO_AHEAD * ratio_of_columns)
            and skewness >= skewness_of_columns + SKEWNESS_AHEAD
        )

    def warn_of_small_corpus(self, owner, n_components, max_iter):
        """Warn if the corpus has no words, or too few words per topic.

        n_components : the number of topics, where it is given; None where the model infers it
        max_iter : the number of passes; None if the model makes none
        """
        n_tokens, n_documents = self._n_tokens, self._n_documents
        if self._has_fractions and self._norms:
            return  # the sum of scaled rows is no number of words, and warn_of_other_values tells of them
        if n_tokens == 0:
            _warn(
                f"X of shape {self._shape} has no count above 0, from which {owner} can learn nothing. Does "
                "its vocabulary have the words of these documents?"
            )
        elif n_components is not None and n_components > max(1, n_tokens / LEAST_TOKENS):
            message = (
                f"{owner} has n_components={n_components}, but X has {_counted(n_documents, 'document')} of "
                f"{_counted(n_tokens, 'word')} in all, fewer than {LEAST_TOKENS} for each topic: use fewer "
                "topics or more documents."
            )
            if n_documents == 1 and n_tokens < WORDS_OF_A_NAME:
                message += " Did you pass a DataFrame instead of its column of texts?"
            elif n_documents < FEW_DOCUMENTS and max_iter is not None and max_iter < MANY_PASSES:
                message += (
                    f" With fewer than {FEW_DOCUMENTS} documents, use CollapsedGibbsLDA or "
                    f"max_iter={MANY_PASSES}."
                )
            _warn(message)

    def warn_of_short_documents(self, owner, n_components):
        """Warn if a model that learns the shares of topics has few documents of few words."""
        sizes = np.cumsum(self._sizes[1:])  # of documents with words
        are_few = len(sizes) and sizes[-1] >= FEWEST_DOCUMENTS and self._n_tokens < FEW_TOKENS * n_components
        if not are_few or (self._has_fractions and self._norms):
            return
        median = 1 + int(np.searchsorted(sizes, sizes[-1] / 2))
        if median < FEW_WORDS:
            _warn(
                f"Half of the documents have at most {_counted(median, 'different word')}, and there are "
                f"fewer than {FEW_TOKENS} words for each topic. If topics of {owner} list rare words, "
                "set doc_topic_prior=0.05 and max_iter=20 (guide page 'Short texts')."
            )


def _counted(number, name):
    """Return the number and the name, in the plural unless the number is 1."""
    number = f"{number:.0f}"
    return f"{number} {name}" if number == "1" else f"{number} {name}s"


def _warn(message):
    """Issue a CountsWarning; it names the line that calls the caller."""
    warnings.warn(message, CountsWarning, stacklevel=3)


def _added(one, other):
    """The sum of two arrays; the shorter one has zeros at its end."""
    if len(one) < len(other):
        one, other = other, one
    one[: len(other)] += other
    return one


def _inequality(sizes):
    """The ratio of the 99th percentile to the median of positive sizes, and the skewness of their logarithms.

    sizes : how many there are of each size from 0 on
    """
    values = np.flatnonzero(sizes[1:]) + 1
    numbers = sizes[values]
    cumulated = np.cumsum(numbers)
    median, high = values[np.searchsorted(cumulated, [0.5 * cumulated[-1], 0.99 * cumulated[-1]])]
    logs = np.log(values)
    logs -= np.average(logs, weights=numbers)
    variance = np.average(logs**2, weights=numbers)
    skewness = np.average(logs**3, weights=numbers) / variance**1.5 if variance > 0.0 else 0.0
    return high / median, skewness
