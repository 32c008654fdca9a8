"""Bag-of-words collections of the UCI repository, downloaded on first use."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from os import PathLike
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from sktopic._documents._corpus import open_corpus
from sktopic._documents._corpus_writer import save_corpus
from sktopic._runtime._compat import as_configured
from sktopic._runtime._files import real_path

from ._readers import parse_docword, parse_vocabulary

_BASE_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words/"
_TIMEOUT = 60  # seconds without a response
_UNCHANGED = {"Accept-Encoding": "identity"}

# Documents, words and entries as published with the collections.
_PUBLISHED = {
    "kos": (3_430, 6_906, 353_160),
    "nips": (1_500, 12_419, 746_316),
    "enron": (39_861, 28_102, 3_710_420),
    "nytimes": (300_000, 102_660, 69_679_427),
    "pubmed": (8_200_000, 141_043, 483_450_157),
}
_SUBJECTS = {
    "kos": "entries of the dailykos.com weblog",
    "nips": "full papers of the NIPS conference",
    "enron": "e-mails of the Enron company",
    "nytimes": "news articles of the New York Times",
    "pubmed": "abstracts of PubMed",
}


def fetch_bag_of_words(
    name: str,
    data_home: str | PathLike[str] | None = None,
    *,
    base_url: str | None = None,
    download_if_missing: bool = True,
) -> Bunch:
    """Load a bag-of-words collection of the UCI repository, downloading it if necessary.

    ========= ========= ======= ===========
    name      documents words   entries
    ========= ========= ======= ===========
    "kos"         3,430   6,906     353,160
    "nips"        1,500  12,419     746,316
    "enron"      39,861  28,102   3,710,420
    "nytimes"   300,000 102,660  69,679,427
    "pubmed"  8,200,000 141,043 483,450,157
    ========= ========= ======= ===========

    Parameters
    ----------
    name : {"kos", "nips", "enron", "nytimes", "pubmed"}
        Name of the collection.
    data_home : str or path-like, default=None
        Folder for the files, which are kept in its subfolder ``uci_bag_of_words``. If None,
        ``sktopic_data`` in the user's home folder.
    base_url : str, default=None
        Address of a mirror that serves ``docword.{name}.txt.gz`` and ``vocab.{name}.txt``. If None, the
        UCI repository.
    download_if_missing : bool, default=True
        If False, raise OSError if the files are not in `data_home`.

    Returns
    -------
    bunch : Bunch
        data : csr_matrix or csr_array of shape (n_samples, n_features), dtype int32
            Word counts; a csr_array if scikit-learn has ``sparse_interface="sparray"``.
        feature_names : ndarray of str of shape (n_features,), dtype object
            The words.
        DESCR : str
            Short description with the source.

    Raises
    ------
    ValueError
        If `name` is unknown, or a file contradicts itself or the published figures.
    ConnectionError
        If a download fails. The message names the folder into which you can put the files by hand.
    ImportError
        If a download is needed and pooch is not installed: ``pip install sktopic[datasets]``.
    OSError
        If the files are missing and `download_if_missing` is False.

    See Also
    --------
    read_uci : Read other files in this format.

    Notes
    -----
    - No checksums are published. Instead, the header, the body, the vocabulary and the table above must
      agree before a downloaded file is kept.
    - If the folder is writable, the parsed counts are kept there as a corpus on disk. Later calls read only
      this corpus, so you may delete the downloaded files. A damaged corpus is rebuilt from these files, after
      a new download if necessary.
    - Several processes may call the function at once. A killed process may leave a folder whose name
      starts with a dot; you may delete it.
    - The collection "pubmed" needs about 4 GB of memory and a few minutes of parsing.

    References
    ----------
    .. [1] D. Newman, "Bag of Words", UCI Machine Learning Repository, 2008,
       https://archive.ics.uci.edu/ml/datasets/Bag+of+Words.

    Examples
    --------
    >>> from sktopic.datasets import fetch_bag_of_words
    >>> kos = fetch_bag_of_words("kos")  # doctest: +SKIP
    >>> kos.data.shape  # doctest: +SKIP
    (3430, 6906)
    """
    if not isinstance(name, str) or name not in _PUBLISHED:
        raise ValueError(f"name must be one of {list(_PUBLISHED)}, got {name!r}.")
    folder = Path.home() / "sktopic_data" if data_home is None else Path(data_home).expanduser()
    folder = folder / "uci_bag_of_words"
    kept = folder / f"{name}.corpus"

    loaded = _load_kept(kept, name)
    if loaded is None:
        loaded = _load_files(folder, name, base_url or _BASE_URL, download_if_missing)
        with suppress(OSError, ValueError):  # the folder is not writable or not a corpus
            save_corpus(kept, *loaded, overwrite=kept.exists())
    counts, feature_names = loaded
    n_samples, n_features, n_entries = _PUBLISHED[name]
    return Bunch(
        data=counts,
        feature_names=feature_names,
        DESCR=(
            f"Bag of words of {_SUBJECTS[name]}: {n_samples} documents, {n_features} words, {n_entries} "
            "entries. Source: D. Newman, Bag of Words, UCI Machine Learning Repository, 2008, "
            "https://archive.ics.uci.edu/ml/datasets/Bag+of+Words."
        ),
    )


def _load_files(folder, name, base_url, download_if_missing):
    """Return counts and words from the files in `folder`; download missing files first."""
    required = (f"vocab.{name}.txt", f"docword.{name}.txt.gz")
    present = {filename: _find(folder, filename) for filename in required}
    missing = [filename for filename, path in present.items() if path is None]
    if not missing:
        return _parse(present[required[1]], present[required[0]], name)
    if not download_if_missing:
        raise OSError(
            f"{' and '.join(missing)} not found in {folder}, and download_if_missing is False. "
            f"The source is {base_url}."
        )
    folder = Path(real_path(folder))
    folder.mkdir(parents=True, exist_ok=True)
    # On the same file system as `folder`, so that moving a verified file is atomic.
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{name}-") as incoming:
        for filename in missing:
            present[filename] = _download(base_url, filename, incoming, folder)
        loaded = _parse(present[required[1]], present[required[0]], name)
        for filename in missing:
            os.replace(present[filename], folder / filename)
    return loaded


def _find(folder, filename):
    """Return the path of an existing file, compressed or not, else None."""
    stem = filename.removesuffix(".gz")
    for candidate in (folder / f"{stem}.gz", folder / stem):
        if candidate.is_file():
            return candidate
    return None


def _download(base_url, filename, incoming, folder):
    """Download one file into the folder `incoming` and return its path."""
    try:
        import pooch
        import requests
    except ImportError as error:
        raise ImportError(
            f"Downloading {filename} needs pooch, which is not installed: pip install sktopic[datasets]. "
            f"Or put the file into {folder}."
        ) from error
    base_url = base_url.rstrip("/") + "/"
    downloader = pooch.HTTPDownloader(chunk_size=1 << 20, timeout=_TIMEOUT, headers=_UNCHANGED)
    repository = pooch.create(path=incoming, base_url=base_url, registry={filename: None})
    try:
        return Path(repository.fetch(filename, downloader=downloader))
    except requests.RequestException as error:
        raise ConnectionError(
            f"Could not download {base_url}{filename}: {error}. Name a mirror with base_url, or put "
            f"{filename} into {folder} by hand and call again."
        ) from error


def _parse(docword, vocab, name):
    """Parse and verify a collection."""
    feature_names = parse_vocabulary(vocab, _PUBLISHED[name][1], "the published figure")
    return parse_docword(docword, expected=_PUBLISHED[name]), feature_names


def _load_kept(path, name):
    """Return the kept counts and words, or None if they are missing or unusable."""
    n_samples, n_features, n_entries = _PUBLISHED[name]
    try:
        corpus = open_corpus(path, verify=True)
        is_whole = corpus.shape == (n_samples, n_features) and corpus.nnz <= n_entries
        if not is_whole or corpus.dtype.kind != "u" or corpus.feature_names is None:
            return None
        return as_configured(sparse.csr_matrix(corpus[:], dtype=np.int32)), corpus.feature_names
    except (OSError, ValueError):
        return None
