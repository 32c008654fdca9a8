"""Whether scores change where copies of a document in a batch draw the same topics.

    python benchmarks/document_streams.py

In training, the random numbers of a document are named by the update and by the words and counts of the
document, so that its copies in one batch draw alike. The other way names them by the position in the batch,
so that copies draw independently. Each method that samples documents is fitted both ways, in three passes,
with 20 topics, and scored on the test documents. "pairs" is made here: 20,000 documents of two words each, of
20 words and 4 topics, in which most documents occur many times. The interval is of 95 percent, from the
differences of equal seeds (Student's t).
"""

from itertools import product
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from _corpora import load
from _results import CORPUS_NAMES
from _study import Study, interval, new_parser, shown

from sktopic._documents._matrices import DocumentReader
from sktopic._kernels.random._rng import position_keys
from sktopic.datasets import make_lda_documents
from sktopic.hdp import HybridHDP, OnlineEMHDP
from sktopic.lda import HybridLDA, LangevinLDA, OnlineEMLDA, OnlineOPELDA, StreamingGibbsLDA

CORPORA = ("pairs", "kos", "reuters21578", "20news")
METHODS = (OnlineEMLDA, HybridLDA, StreamingGibbsLDA, LangevinLDA, OnlineOPELDA, OnlineEMHDP, HybridHDP)
PARAMS = {"n_components": 20, "max_iter": 3, "n_jobs": 1}
HEAD = ["corpus", "share of documents that are repeated in a batch", "method", "score, by position"]
HEAD += ["score, by content", "difference", "95 percent interval from", "to"]


def documents_of(corpus):
    """Training and test counts."""
    if corpus != "pairs":
        return load(corpus)[:2]
    generator = np.random.default_rng(0)
    topics = make_lda_documents(1, n_features=20, n_components=4, random_state=0).components
    theta = generator.dirichlet(np.full(4, 0.1), 25_000)
    words = (np.cumsum(theta @ topics, axis=1)[:, :, None] < generator.random((25_000, 1, 2))).sum(axis=1)
    counts = np.zeros((25_000, 20), dtype=np.int32)
    for word in np.minimum(words, 19).T:
        counts[np.arange(25_000), word] += 1
    return counts[:20_000], counts[20_000:]


def share_repeated(X, batch_size=50):
    """The mean share of documents of a random batch that have a copy in it."""
    contents = contents_of(X)
    order, shares = np.random.default_rng(0).permutation(len(contents)), []
    for first in range(0, len(order) - batch_size + 1, batch_size):
        counts = np.unique(contents[order[first : first + batch_size]], return_counts=True)[1]
        shares.append(counts[counts > 1].sum() / batch_size)
    return np.mean(shares)


def contents_of(X):
    """A number for each document, equal for copies."""
    X = sp.csr_array(X)
    bounds = zip(X.indptr[:-1], X.indptr[1:])
    return np.array([hash((X.indices[a:b].tobytes(), X.data[a:b].tobytes())) for a, b in bounds])


def keys_by_position(reader, batch, key):
    return position_keys(key, 0, batch.n_documents)


def measure(corpus, name, seed):
    """The row of a run: both scores of a method."""
    X, X_test = documents_of(corpus)
    kind = next(each for each in METHODS if each.__name__ == name)
    model = kind(**PARAMS, random_state=seed)
    by_content = model.fit(X).score(X_test)
    with patch.object(DocumentReader, "keys", keys_by_position):
        by_position = model.fit(X).score(X_test)
    return {"by position": round(by_position, 5), "by content": round(by_content, 5)}


def rows_of(study):
    for corpus in CORPORA:
        share = share_repeated(documents_of(corpus)[0])
        for kind in METHODS:
            runs = study.cache.select(corpus=corpus, estimator=kind.__name__)
            scores = np.array([[run["by position"], run["by content"]] for run in runs])
            less = shown(interval(scores[:, 1] - scores[:, 0]), "+.4f")
            name = CORPUS_NAMES.get(corpus, "pairs of words")
            yield [name, f"{share:.5f}", kind.__name__, *shown(scores.mean(axis=0)), *less]


def main():
    study = Study("document_streams", new_parser(__doc__, runs=True).parse_args())
    cells = product(CORPORA, METHODS, range(5))
    study.measure(measure, [(corpus, kind.__name__, seed) for corpus, kind, seed in cells])
    write_tables(study)


def write_tables(study):
    study.write("", HEAD, rows_of(study))


if __name__ == "__main__":
    main()
