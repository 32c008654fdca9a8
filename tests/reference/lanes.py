"""A round of lanes, written from the formula: s <- prod(1 - rho) s + the mean over lanes of what they add."""

import numpy as np


def run_round(s, lanes, expected, step_sizes, n_documents):
    """The statistics (n_words, n_topics) after a round of a method that averages over documents.

    Parameters
    ----------
    s : the statistics that all lanes begin with
    lanes : for each lane, its batches
    expected : function of statistics, a batch, lane and step that returns the expected counts of the batch
    step_sizes : rho of each step
    n_documents : function of a batch
    """
    share = np.array([sum(map(n_documents, batches)) for batches in lanes], dtype=float)
    merged = np.prod(1.0 - np.array(step_sizes)) * s
    for lane, batches in enumerate(lanes):
        own, added = s, np.zeros_like(s)
        for step, (batch, rho) in enumerate(zip(batches, step_sizes)):
            found = expected(own, batch, lane, step) / n_documents(batch)
            own = (1.0 - rho) * own + rho * found
            added = (1.0 - rho) * added + rho * found
        merged = merged + share[lane] / share.sum() * added
    return merged
