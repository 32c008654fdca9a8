"""Cutting a batch into pieces that run side by side, and putting their results together."""

import numpy as np

from sktopic._kernels._groups import Chains
from sktopic._topics._topic_rows import part_of

# Clumps below which cutting a batch finer than one piece a worker costs more than it evens out.
SMALL_BATCH = 50_000


def document_pieces(batch, workers):
    """Ranges of documents (first, last) for the workers to treat side by side."""
    finer = 4 if workers.n_jobs > 1 and batch.n_clumps > SMALL_BATCH else 1
    return batch.chunks(finer * workers.n_jobs)


def prior_of(prior, documents):
    """The prior of a slice of documents: of all, (n_topics,), or that of each, (n_documents, n_topics)."""
    return prior if prior.ndim == 1 else prior[documents]


def joined(arrays):
    """Arrays of consecutive documents as one."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def joined_results(kernel, batch, workers, *arrays):
    """The arrays that a kernel returns of pieces of a batch, each as one.

    kernel : importable function of the cells of some documents, and of what arrays have of these
    arrays : of one entry or row a document
    """
    pieces = [
        (batch.cells(a, b), *(array[a:b] for array in arrays)) for a, b in document_pieces(batch, workers)
    ]
    return map(joined, zip(*workers.map(kernel, pieces)))


def sweep(kernel, batch, topics, chains, workers, *, prior, **settings):
    """What a kernel of sweeps returns of the documents of each process; writes to z of the chains."""
    settings |= {"rows": topics.rows, "team": workers.team}
    if workers.n_processes == 1:
        settings |= {"cells": batch.cells(0, batch.n_documents), "clump_indptr": batch.clump_indptr}
        return [kernel(chains=chains, prior=prior, left_out=topics.left_out, **settings)]
    pieces = []
    for first, last in batch.chunks(workers.n_processes):
        documents, clumps = slice(first, last), slice(*batch.clump_indptr[[first, last]])
        of_piece = {
            "cells": batch.cells(first, last),
            "clump_indptr": batch.clump_indptr[first : last + 1],
            "chains": Chains(chains.keys[documents], chains.z[clumps]),
            "prior": prior_of(prior, documents),
            "left_out": part_of(topics.left_out, documents),
        }
        pieces.append((kernel, {**of_piece, **settings}))
    z, results = zip(*workers.map(_sweep_elsewhere, pieces))
    chains.z[:] = np.concatenate(z)
    return results


def _sweep_elsewhere(kernel, arguments):
    """The new z and what the kernel returns, in a process that cannot write to our arrays."""
    chains = arguments["chains"]
    chains = Chains(chains.keys, chains.z.copy())
    return chains.z, kernel(**{**arguments, "chains": chains})
