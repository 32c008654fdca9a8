"""Gibbs sampling of the topics of documents."""

from dataclasses import dataclass

import numpy as np

from sktopic._inference._dense_gibbs import CellCounts, DocumentSums, sweep_densely
from sktopic._inference._pieces import sweep
from sktopic._inference._sparse_gibbs import sweep_sparsely
from sktopic._kernels._groups import Chains, Sweeps
from sktopic._kernels.inference._dense_gibbs import PADDING
from sktopic._kernels.inference._word_topics import draw_word_topics
from sktopic._kernels.random._rng import combine_each

# Topics up to which draws over all of them are at least as fast, for documents of 100 words or more, as draws
# over those that a document has ...
DENSE_TOPICS = 512
# ... unless the counts of all cells of a batch took more bytes than this.
DENSE_BYTES = 1 << 28
# Counted sweeps up to which the counts of cells are summed in float32: sums of more (of 64 clumps a cell) are
# rounded by as much as sampling varies, and end at 2^24.
SINGLE_SWEEPS = 1024


def is_sparse(topics, prior):
    """Whether draws go over the topics that a document has. The prior must be that of all documents then."""
    return prior.ndim == 1 and (len(prior) > DENSE_TOPICS or topics.lists is not None)


def precise(topics, sweeps):
    """Topics, in a precision in which as many sweeps can be summed."""
    return topics if sweeps <= SINGLE_SWEEPS else topics.in_doubles()


def assign_by_words(batch, topics, prior, chains, workers):
    """Assign a topic to each clump, drawn from what its word alone says of topics (see _word_topics)."""
    chains = Chains(combine_each(chains.keys, 0), chains.z)
    settings = {"cumulative": topics.cumulative, "lists": topics.lists, "prior": prior}
    sweep(_assign, batch, topics, chains, workers, **settings)


def _assign(left_out, **arguments):
    """The kernel for some documents, from whose words nothing is left out."""
    draw_word_topics(**arguments)


def begun(step, batch, topics, prior, keys, workers):
    """The chains to continue from, and the discarded sweeps that remain."""
    chains = Chains(keys, batch.unassigned())
    if not step.by_words or step.burn_in == 0:
        return chains, step.burn_in
    assign_by_words(batch, topics, prior, chains, workers)
    return chains, step.burn_in - 1


def draw_topics(batch, topics, prior, chains, n_sweeps, workers):
    """Draw the topics of all clumps in sweeps; the chains keep the last draws in z."""
    sampled = sweep_sparsely if is_sparse(topics, prior) else sweep_densely
    sampled(batch, topics, prior, chains, Sweeps(n_sweeps - 1, 1), workers)


def sweep_cells(batch, topics, prior, chains, sweeps, workers, sparsely):
    """SampledCounts or CellCounts, with sums for each cell."""
    if sparsely:
        return sweep_sparsely(batch, topics, prior, chains, sweeps, workers)
    found = sweep_densely(batch, topics, prior, chains, sweeps, workers, by_cell=True)
    return CellCounts(batch, prior, sweeps.n_sweeps, found.counts, found.log_theta)


@dataclass
class GibbsStep:
    """Gibbs sampling of each document's topics, for training.

    Attributes
    ----------
    burn_in, sweeps : sweeps discarded, then sweeps counted
    drawn : whether draws are counted, not the conditional probabilities they are made from
    by_words : whether draws from words alone take the place of the first discarded sweep, if there is one.
        Otherwise, the first sweep assigns tokens one after the other.
    """

    burn_in: int
    sweeps: int
    drawn: bool = False
    by_words: bool = False

    def __call__(self, batch, topics, prior, keys, workers, with_prior_statistics=False, assignments=None):
        """assignments: (n_clumps,) int32, the topic of each clump, continued from and written to."""
        topics = precise(topics, self.sweeps)
        size = len(batch.cell_word) * (prior.shape[-1] + PADDING) * topics.rows.itemsize
        sparsely = self.drawn or (prior.ndim == 1 and size > DENSE_BYTES) or is_sparse(topics, prior)
        chains, burn_in = Chains(keys, assignments), self.burn_in
        if assignments is None:
            chains, burn_in = begun(self, batch, topics, prior, keys, workers)
        sweeps = Sweeps(burn_in, self.sweeps, self.drawn, with_prior_statistics)
        return sweep_cells(batch, topics, prior, chains, sweeps, workers, sparsely)


@dataclass
class GibbsInference:
    """Gibbs sampling of documents of which only the proportions are wanted.

    Attributes
    ----------
    burn_in, sweeps : sweeps discarded, then sweeps counted
    by_words : as in GibbsStep
    """

    burn_in: int
    sweeps: int
    by_words: bool = False

    def __call__(self, batch, topics, prior, keys, workers):
        chains, burn_in = begun(self, batch, topics, prior, keys, workers)
        sweeps = Sweeps(burn_in, self.sweeps)
        if is_sparse(topics, prior):
            return sweep_sparsely(batch, precise(topics, self.sweeps), prior, chains, sweeps, workers)
        # Sums of documents are in float64 as it is.
        found = sweep_densely(batch, topics, prior, chains, sweeps, workers)
        return DocumentSums(prior, self.sweeps, found.sums)

    def by_cell(self, batch, topics, prior, keys, workers):
        """The same sweeps, with sums for each cell."""
        chains, burn_in = begun(self, batch, topics, prior, keys, workers)
        topics, sweeps = precise(topics, self.sweeps), Sweeps(burn_in, self.sweeps)
        return sweep_cells(batch, topics, prior, chains, sweeps, workers, is_sparse(topics, prior))

    def posteriors(self, batch, topics, prior, keys, n_draws, workers):
        """Those given the topics of tokens, before each of which are as many sweeps as `__call__` makes."""
        assignments, (document, weight), n_topics = batch.unassigned(), batch.clumps(), prior.shape[-1]
        for i in range(n_draws):
            chains = Chains(combine_each(keys, i), assignments)
            draw_topics(batch, topics, prior, chains, self.burn_in + self.sweeps, workers)
            counts = np.bincount(document * n_topics + assignments, weight, batch.n_documents * n_topics)
            yield prior + counts.reshape(batch.n_documents, n_topics)
