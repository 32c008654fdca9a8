"""Cutting a batch into pieces that run side by side, and putting their results together."""

import numpy as np

# Clumps below which cutting a batch finer than one piece a worker costs more than it evens out.
SMALL_BATCH = 50_000


def document_pieces(batch, workers):
    """Ranges of documents (first, last) for the workers to treat side by side."""
    finer = 4 if workers.n_jobs > 1 and batch.n_clumps > SMALL_BATCH else 1
    return batch.chunks(finer * workers.n_jobs)


def joined(parts, name):
    """The arrays of a name, of results for consecutive documents, as one."""
    arrays = [getattr(part, name) for part in parts]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
