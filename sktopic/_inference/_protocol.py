"""What a document step takes and returns."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sktopic._documents._matrices import DocumentBatch
from sktopic._kernels._groups import CountsTarget
from sktopic._runtime._parallel import Workers
from sktopic._topics._prior import PriorStatistics
from sktopic._topics._topic_rows import GatheredTopics


class InferredDocuments(Protocol):
    """What is inferred of the documents of a batch."""

    def proportions(self) -> NDArray[np.floating]:
        """Return the posterior mean of theta, (n_documents, n_components), rows summing to one."""


class InferredCells(Protocol):
    """What is inferred of the cells of a batch."""

    def topic_weights(self, document: int) -> NDArray[np.floating]:
        """Return numbers proportional to probabilities, (n_cells, n_components), of a document's cells."""


class ExpectedCounts(Protocol):
    """How many tokens of each word of a batch each topic is expected to have."""

    def add_to(self, target: CountsTarget, words: NDArray[np.int32], factor: float, workers: Workers) -> None:
        """Add factor times the counts; those of local word w (n_words,) go to row words[w] of the target.

        Each document's part is multiplied by its weight (`DocumentBatch.cell_weight`).
        """

    def work(self) -> int:
        """Return about how many operations `add_to` takes."""


class WithPriorStatistics(ExpectedCounts, Protocol):
    """Expected counts from which the prior of proportions can be learned."""

    def prior_statistics(self) -> PriorStatistics:
        """Return sufficient statistics of the prior; where the step was asked for them."""


# What topics are as a step reads them: GatheredTopics, unless the topics of its estimator gather others.
Rows = TypeVar("Rows", contravariant=True)


class DocumentStep(Protocol[Rows]):
    """Infers the topics of the documents of a batch. A pure function: it may run in any thread or process."""

    def __call__(
        self,
        batch: DocumentBatch,
        topics: Rows,
        prior: NDArray[np.float64],
        keys: NDArray[np.uint64] | None,
        workers: Workers,
    ) -> InferredDocuments:
        """Return what is inferred of the batch.

        Parameters
        ----------
        batch : the documents
        topics : the topic rows of the words of the batch
        prior : (n_components,) Dirichlet parameters of the topic proportions
        keys : (n_documents,) keys of the documents' streams of random numbers; may be None where a step
            draws none
        workers : who runs the pieces that the batch is cut in
        """


class InferenceStep(DocumentStep[Rows], Protocol):
    """A step of `transform`, of which more can be asked than proportions."""

    def by_cell(self, batch, topics, prior, keys, workers) -> InferredCells:
        """As `__call__`, for the topics of cells."""


class PosteriorStep(InferenceStep[Rows], Protocol):
    """One that has a posterior of proportions, or draws parameters of one."""

    def posteriors(self, batch, topics, prior, keys, n_draws: int, workers) -> Iterable[NDArray[np.float64]]:
        """Yield the Dirichlet parameters (n_documents, n_components) that each draw is made with."""


class CellwiseStep:
    """Base class of steps that have inferred the topics of cells when they have inferred documents."""

    def by_cell(self, batch, topics, prior, keys, workers):
        """As `__call__`; returns InferredCells."""
        return self(batch, topics, prior, keys, workers)


class TrainingStep(Protocol):
    """Infers expected counts of the documents of a batch; a pure function, too."""

    def __call__(
        self, batch, topics: GatheredTopics, prior, keys, workers, with_prior_statistics: bool = False
    ) -> ExpectedCounts:
        """As that of DocumentStep.

        with_prior_statistics : whether the result is to be WithPriorStatistics, where the step can
        """
