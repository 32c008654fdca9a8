"""Transform and score on a cluster. Each process reads the fitted model from a file once."""

import hashlib
import io
import math
import pickle
import threading
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from sktopic._documents._block_order import BLOCK_SIZE, blocks_of
from sktopic._documents._corpus import Corpus
from sktopic._inference._completion import PerWord
from sktopic._runtime._optional import import_dask, import_dask_array
from sktopic._runtime._parallel import Workers
from sktopic.dask._blocks import block_results, blocks_to_compute, checked_block, computed_blocks
from sktopic.dask._files import Folder

# Number of documents of a corpus on disk per task.
ROWS_OF_TASK = 8 * BLOCK_SIZE
# Number of models that a process keeps.
MODELS_KEPT = 2

_reading = threading.RLock()  # since a signal handler may read, too, in the thread that holds it


@dataclass(frozen=True)
class ServedModel:
    """A fitted model in a file that all workers see."""

    folder: Folder
    name: str

    @classmethod
    def write(cls, model, folder):
        """Write a model, unless its file exists: the name contains its digest."""
        content = io.BytesIO()
        pickle.dump(model, content, protocol=pickle.HIGHEST_PROTOCOL)
        name = f"model-{hashlib.blake2b(content.getbuffer(), digest_size=16).hexdigest()}.pickle"
        if name not in folder.names():
            folder.write(name, lambda file: file.write(content.getbuffer()))
        return cls(folder, name)

    def model(self):
        """Return the model, which each process reads once. It uses one thread, like any task."""
        with _reading:
            return _model_in(self.folder.address, self.name)


@lru_cache(MODELS_KEPT)
def _model_in(address, name):
    with Folder(address).open(name) as file:
        model = pickle.load(file)
    model.n_jobs, model.verbose = 1, 0
    return model


def lazy_proportions(X, model, served):
    """Return the topic proportions of documents as a lazy dask array.

    Parameters
    ----------
    X : corpus on disk, dask array, bag, or list of delayed blocks
    model : the fitted estimator
    served : its ServedModel
    """
    da, k = import_dask_array(), model.n_components_
    blocks = [] if isinstance(X, Corpus) else blocks_to_compute(X)
    dtype = np.dtype(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)
    if hasattr(X, "numblocks"):
        chunks, meta = (X.chunks[0], (k,)), np.empty((0, 0), dtype=dtype)
        return X.map_blocks(proportions_of_block, served, dtype, chunks=chunks, dtype=dtype, meta=meta)
    delayed = import_dask().delayed
    if isinstance(X, Corpus):
        infer = delayed(proportions_of_rows, pure=True)
        parts = blocks_of(X.shape[0], ROWS_OF_TASK)
        answers = [(infer(X, *part, served, dtype), part[1] - part[0]) for part in parts]
    else:
        infer = delayed(proportions_of_block, pure=True)
        answers = [(infer(block, served, dtype, block_id=(i,)), math.nan) for i, block in enumerate(blocks)]
    return da.concatenate([da.from_delayed(answer, (n, k), dtype=dtype) for answer, n in answers])


def score_of(X, served, tasks):
    """Return the held-out log-likelihood per word of all documents (see TopicModel.score)."""
    if isinstance(X, Corpus):
        parts = enumerate(blocks_of(X.shape[0], ROWS_OF_TASK))
        sums = [tasks.submit(("score", i), score_of_rows, X, *part, served) for i, part in parts]
    else:
        blocks = enumerate(computed_blocks(X, tasks))
        sums = [tasks.submit(("score", i), score_of_block, block, served, i) for i, block in blocks]
    found = [of_block for of_block in block_results(sums, tasks) if of_block is not None]
    if not found:
        raise ValueError("X has no documents; score expects at least one.")
    return reduce(PerWord.merge, found).value()


# Tasks


def proportions_of_block(block, served, dtype, block_id):
    """Return topic proportions of a block of documents, ndarray of shape (n_documents, n_components_)."""
    model = served.model()
    X = checked_block(block, block_id[0], type(model).__name__, model.n_features_in_)
    if not X.shape[0]:
        return np.empty((0, model.n_components_), dtype=dtype)
    if X.dtype == np.float32:  # the dtype was declared before blocks were read
        X = X.astype(dtype, copy=False)
    return model.transform(X).astype(dtype, copy=False)


def proportions_of_rows(corpus, first, last, served, dtype):
    """Return topic proportions of some documents of a corpus on disk."""
    return served.model().transform(corpus[first:last]).astype(dtype, copy=False)


def score_of_block(block, served, number):
    """Return the PerWord of a block of documents, or None if it has no rows."""
    model = served.model()
    X = checked_block(block, number, type(model).__name__, model.n_features_in_)
    if not X.shape[0]:
        return None
    with Workers(1) as workers:
        return model._completion(model._documents(X), workers)


def score_of_rows(corpus, first, last, served):
    """Return the PerWord of some documents of a corpus on disk."""
    return score_of_block(corpus[first:last], served, None)
