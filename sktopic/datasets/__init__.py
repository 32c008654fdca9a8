"""Corpora: generators with known truth, a built-in collection of texts, readers and downloads."""

from sktopic._documents._corpus import Corpus, open_corpus
from sktopic._documents._corpus_writer import save_corpus

from ._blocks import iter_counts, iter_parquet
from ._docstrings import load_docstrings
from ._generators import make_bars, make_hdp_documents, make_lda_documents
from ._readers import iter_ldac, iter_matrix_market, iter_uci, read_ldac, read_uci
from ._uci import fetch_bag_of_words

__all__ = [
    "Corpus",
    "fetch_bag_of_words",
    "iter_counts",
    "iter_ldac",
    "iter_matrix_market",
    "iter_parquet",
    "iter_uci",
    "load_docstrings",
    "make_bars",
    "make_hdp_documents",
    "make_lda_documents",
    "open_corpus",
    "read_ldac",
    "read_uci",
    "save_corpus",
]
