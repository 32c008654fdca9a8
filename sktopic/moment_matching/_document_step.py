"""Topic proportions of documents by Bayesian moment matching."""

from dataclasses import dataclass
from functools import partial
from itertools import repeat

import numpy as np

from sktopic._documents._matrices import DocumentBatch
from sktopic._inference._pieces import joined_results
from sktopic._inference._protocol import CellwiseStep
from sktopic._kernels.moments._matching import FIXED, TRIANGULAR, infer_documents, list_tokens
from sktopic._topics._topic_rows import GatheredTopics
from sktopic.moment_matching._tokens import NO_KEYS


@dataclass
class FilteredProportions:
    """Topic proportions inferred by a filter. alpha : (n_documents, size), their Dirichlet parameters."""

    batch: DocumentBatch
    topics: GatheredTopics
    theta: np.ndarray
    alpha: np.ndarray

    def proportions(self):
        return self.theta

    def topic_weights(self, document):
        return self.theta[document] * self.topics.rows[self.batch.cell_word[self.batch.cells_of(document)]]


@dataclass(frozen=True)
class SharedDirichlet:
    """One Dirichlet distribution of the proportions of a document for all numbers of topics.

    Attributes
    ----------
    model : FIXED or DEGENERATE, for the kernels
    """

    model: int

    def size(self, n_topics):
        """Return the number of parameters of a document."""
        return n_topics

    def start(self, prior):
        """Return the parameters of a document without tokens."""
        return prior

    def under(self, alpha, n_topics):
        """Return the parameters of documents with n_topics topics, of shape (n_documents, n_topics)."""
        return alpha[:, :n_topics]


@dataclass(frozen=True)
class DirichletForEachNumber:
    """A Dirichlet distribution of the proportions of a document for each number of topics."""

    model: int = TRIANGULAR

    def size(self, n_topics):
        """Return the number of parameters of a document."""
        return n_topics * (n_topics + 1) // 2

    def start(self, prior):
        """Return the parameters of a document without tokens."""
        return np.concatenate([prior[: k + 1] for k in range(len(prior))])

    def under(self, alpha, n_topics):
        """Return the parameters of documents with n_topics topics, of shape (n_documents, n_topics)."""
        first = n_topics * (n_topics - 1) // 2
        return alpha[:, first : first + n_topics]


ProportionsForm = SharedDirichlet | DirichletForEachNumber
FIXED_NUMBER = SharedDirichlet(FIXED)


@dataclass
class MomentMatchingStep(CellwiseStep):
    """Bayesian moment matching with topics held fixed (see _kernels.moments._matching).

    Attributes
    ----------
    form : representation of the proportions
    match : FIRST, SUM or SECOND, the second moment that is matched
    shuffled : whether tokens come in random order instead of the order of the words
    gamma : (n_components,) probability of each number of topics. Not used with FIXED_NUMBER.
    """

    form: ProportionsForm
    match: int
    shuffled: bool
    gamma: np.ndarray

    def __call__(self, batch, topics, prior, keys, workers, with_parameters=False):
        """with_parameters : whether to keep the Dirichlet parameters of all documents."""
        filtered = partial(
            _filter,
            with_parameters=with_parameters,
            model=self.form.model,
            match=self.match,
            rows=topics.rows,
            gamma=self.gamma,
            start=self.form.start(prior),
        )
        streams = (keys,) if self.shuffled else ()
        return FilteredProportions(batch, topics, *joined_results(filtered, batch, workers, *streams))

    def posteriors(self, batch, topics, prior, keys, n_draws, workers):
        """Yield draws of the posterior parameters for a fixed number of topics."""
        return repeat(self(batch, topics, prior, keys, workers, with_parameters=True).alpha, n_draws)


def _filter(cells, keys=NO_KEYS, *, with_parameters, start, **settings):
    """Run the kernels on some documents."""
    n_documents = len(cells.indptr) - 1
    document, word, weight = list_tokens(*cells, keys)
    indptr = np.searchsorted(document, np.arange(n_documents + 1)).astype(np.int64)
    alpha = np.empty((n_documents if with_parameters else 1, len(start)))
    theta = infer_documents(indptr=indptr, word=word, weight=weight, alpha=alpha, start=start, **settings)
    return theta, alpha
