"""Iterate over corpora larger than memory in blocks of counts, from texts and from parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_scalar

from sktopic._documents._block_order import BLOCK_SIZE
from sktopic._documents._matrices import MOST_WORDS
from sktopic._runtime._compat import Counts
from sktopic._runtime._optional import import_pyarrow
from sktopic._runtime._texts import check_texts


def iter_counts(vectorizer: Any, texts: Iterable[Any], *, block_size: int = BLOCK_SIZE) -> Iterator[Counts]:
    """Iterate over the word counts of texts, block by block.

    Parameters
    ----------
    vectorizer : fitted CountVectorizer, or another object whose `transform` turns texts into counts
        A HashingVectorizer needs ``alternate_sign=False, norm=None``.
    texts : iterable of str
        Texts, read lazily.
    block_size : int, default=2048
        Number of texts per block.

    Yields
    ------
    X : csr_matrix or csr_array of shape (block_size, n_features)
        Word counts of the next texts. The last block may have fewer rows.

    Raises
    ------
    TypeError
        If `vectorizer` has no `transform`, or if `texts` is a string, a DataFrame, a dict or not iterable.

    See Also
    --------
    save_corpus : Write blocks to a corpus on disk.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sktopic.datasets import iter_counts
    >>> texts = ["red green red", "green blue", "blue blue red"]
    >>> vectorizer = CountVectorizer().fit(texts)
    >>> [X.shape for X in iter_counts(vectorizer, texts, block_size=2)]
    [(2, 3), (1, 3)]
    """
    check_scalar(block_size, "block_size", Integral, min_val=1)
    if not hasattr(vectorizer, "transform"):
        raise TypeError(f"vectorizer={vectorizer!r:.80} is invalid: must be a fitted vectorizer.")
    check_texts(texts)
    texts = iter(texts)
    while block := list(islice(texts, block_size)):
        yield vectorizer.transform(block)


def iter_parquet(
    source: Any,
    n_features: int,
    *,
    indices: str = "indices",
    counts: str = "counts",
    block_size: int = BLOCK_SIZE,
) -> Iterator[sp.csr_array]:
    """Iterate over the documents of parquet files, block by block.

    Each row of the files is a document. One column lists its word indices, and another lists their counts.
    Requires pyarrow: ``pip install sktopic[parquet]``.

    Parameters
    ----------
    source : str, path-like, list of these, or pyarrow.dataset.Dataset
        A file, a folder (its files are read in the order of their names), a list of files, or a dataset.
    n_features : int
        Vocabulary size. Word indices start at 0.
    indices, counts : str, default='indices', 'counts'
        Names of the two columns.
    block_size : int, default=2048
        Maximum number of documents per block.

    Yields
    ------
    X : csr_array of shape (n_documents, n_features)
        Word counts of the next documents.

    Raises
    ------
    ValueError
        If a column does not hold lists of numbers, the two lists of a document differ in length, or a word
        index is not in the vocabulary.
    ImportError
        If pyarrow is not installed.

    See Also
    --------
    save_corpus : Write blocks to a corpus on disk.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from sktopic.datasets import iter_parquet
    >>> table = pa.table({"indices": [[0, 2], [1]], "counts": [[1, 3], [2]]})
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "documents.parquet")
    ...     parquet.write_table(table, path)
    ...     [X.toarray() for X in iter_parquet(path, n_features=3)]
    [array([[1, 0, 3],
           [0, 2, 0]])]
    """
    check_scalar(block_size, "block_size", Integral, min_val=1)
    check_n_features(n_features)
    dataset = import_pyarrow("dataset")
    if not isinstance(source, dataset.Dataset):
        source = dataset.dataset(source, format="parquet")
    check_columns(source.schema, indices, counts)
    batches = source.to_batches(
        columns=[indices, counts], batch_size=block_size, batch_readahead=1, fragment_readahead=1
    )
    first = 0
    for batch in batches:
        if not batch.num_rows:  # a file without documents
            continue
        place = f"documents {first} to {first + batch.num_rows}"
        yield counts_of_lists(batch, n_features, indices, counts, place)
        first += batch.num_rows


def check_n_features(n_features):
    """Raise TypeError or ValueError if `n_features` is not a valid vocabulary size."""
    check_scalar(n_features, "n_features", Integral, min_val=1, max_val=MOST_WORDS)


def check_columns(schema, *names):
    """Raise ValueError if a schema lacks columns."""
    for name in names:
        if name not in schema.names:
            raise ValueError(f"there is no column {name!r}. The columns are {schema.names!r:.200}.")


def counts_of_lists(batch, n_features, indices, counts, place):
    """Return a record batch with two columns of lists as a csr_array; `place` names it in messages."""
    words, lengths = _lists(batch.column(indices), f"{place}: the column {indices!r}", ["integer"])
    values, expected = _lists(
        batch.column(counts), f"{place}: the column {counts!r}", ["integer", "floating"]
    )
    if not np.array_equal(lengths, expected):
        raise ValueError(f"{place}: {indices!r} and {counts!r} have lists of different lengths.")
    # SciPy does not check indices: its functions would write outside their arrays.
    if words.size and not (words.min() >= 0 and words.max() < n_features):
        found = f"word indices from {words.min()} to {words.max()}"
        raise ValueError(f"{place}: the column {indices!r} has {found}; must be 0 to {n_features - 1}.")
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    if values.dtype.kind in "iu" and values.itemsize < 8:  # SciPy adds repeated words in their own type
        values = values.astype(np.int64)
    return sp.csr_array((values, words.astype(np.int64), indptr), shape=(batch.num_rows, n_features))


def _lists(column, name, kinds):
    """Return the concatenated values of the lists in a column, and the length of each list."""
    types, compute = import_pyarrow("types"), import_pyarrow("compute")
    if not (types.is_list(column.type) or types.is_large_list(column.type)):
        raise ValueError(f"{name} has {column.type}; must have lists of numbers.")
    values = column.flatten()
    if not any(getattr(types, f"is_{kind}")(values.type) for kind in kinds):
        raise ValueError(f"{name} has lists of {values.type}; must have {' or '.join(kinds)} numbers.")
    if column.null_count or values.null_count:
        raise ValueError(f"{name} has nulls.")
    return values.to_numpy(zero_copy_only=False), compute.list_value_length(column).to_numpy()
