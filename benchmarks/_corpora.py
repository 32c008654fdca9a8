"""The corpora of the benchmarks: .npz files in the folder named by SKTOPIC_DATA, and the embedded one."""

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

N_TEST = 500


def default_corpus():
    """KOS where there are corpus files, else the embedded corpus."""
    return "kos" if os.environ.get("SKTOPIC_DATA") else "docstrings"


def load(name):
    """Return (training counts, test counts, vocabulary) of a corpus file, or of "docstrings"."""
    if name == "docstrings":
        return _docstrings()
    with _opened(name) as parts:
        indices = parts["indices"].astype(np.int32)
        indptr = parts["indptr"].astype(np.int32)
        counts = sp.csr_matrix((parts["data"], indices, indptr), shape=tuple(parts["shape"]))
        is_test = parts["is_test"].astype(bool)
        return counts[~is_test], counts[is_test], parts["vocab"]


def notes(name, column):
    """Return what a corpus file notes of its training and of its test documents, such as "labels"."""
    with _opened(name) as parts:
        is_test = parts["is_test"].astype(bool)
        return parts[column][~is_test], parts[column][is_test]


def _opened(name):
    folder = os.environ.get("SKTOPIC_DATA")
    if not folder:
        raise SystemExit("Set SKTOPIC_DATA to a folder with NAME.npz files (see tests/README.md).")
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        raise SystemExit(f"There is no {path.name} in the folder named by SKTOPIC_DATA.")
    return np.load(path, allow_pickle=False)


def _docstrings():
    from sklearn.feature_extraction.text import CountVectorizer

    from sktopic.datasets import load_docstrings

    words = CountVectorizer(min_df=5, max_df=0.2, stop_words="english", token_pattern=r"[a-zA-Z]{3,}")
    counts = words.fit_transform(load_docstrings().data).astype(np.int32)
    is_test = np.arange(counts.shape[0]) % 10 == 0
    return counts[~is_test], counts[is_test], words.get_feature_names_out()
