"""Online variational inference for the HDP: natural gradient steps of the corpus posterior."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sktopic._state._fields import array, changed, total
from sktopic._topics._word_count_views import geometric, posterior_bound
from sktopic._training._minibatches import Growth
from sktopic.hdp._hdp_state import HDPState, columns_in_use, reporting
from sktopic.hdp._minibatch_method import HDPMethod, of_corpus
from sktopic.hdp._stick_breaking import AtomStep, CorpusPosterior, CorpusSticks, sticks_bound


@dataclass(frozen=True, eq=False, kw_only=True)
class AtomState(HDPState):
    """The state after some updates.

    Attributes
    ----------
    atoms : ndarray of shape (n_topics,)
        Mean over documents of the expected number of atoms of each topic.
    """

    atoms: np.ndarray = array(np.float64, "topics", merge=total)

    @property
    def sticks(self):
        """The CorpusSticks."""
        return CorpusSticks.of(self.atoms, self.total_samples, self.topic_concentration)

    @property
    def root_stick_posterior(self):
        sticks = self.sticks
        return np.array([sticks.taken, sticks.left])


@dataclass(frozen=True, kw_only=True)
class OnlineVariational(HDPMethod):
    """Mean-field inference by natural gradient steps (oHDP in the literature).

    Attributes
    ----------
    n_atoms : truncation of the documents' stick-breaking processes
    max_iter, tol : limits of the iterations over a document
    """

    n_atoms: int
    max_iter: int
    tol: float

    keeps_columns: ClassVar[bool] = True
    reads_whole_batches: ClassVar[bool] = False
    growth: ClassVar[Growth] = Growth.CUBE_ROOT
    # The numbers of atoms of each topic are summed.
    learns_from_gains: ClassVar[bool] = True

    def start(self, n_features, seed):
        n = self.n_components
        return self.started(AtomState, n_features, seed, atoms=np.full(n, self.n_atoms / n))

    def adopted(self, state):
        return self.reported(super().adopted(state))

    def reported(self, state):
        in_use = columns_in_use(state)
        weights = state.sticks.weights()[in_use]
        return reporting(state, in_use, weights / weights.sum())

    # Documents

    def atom_step(self, state):
        """Return the document step of training and of transform."""
        return AtomStep(
            used=state.in_use,
            n_atoms=self.n_atoms,
            concentration=state.doc_concentration,
            max_iter=self.max_iter,
            tol=self.tol,
        )

    def inference_topics(self, state):
        """Return the CorpusPosterior."""
        topics = geometric(state.words, state.unit, state.topic_word_prior)
        return CorpusPosterior(topics, state.sticks)

    def infer(self, state, batch, keys, update, workers):
        return self.atoms_of(of_corpus(state, update), batch, workers)

    def atoms_of(self, state, batch, workers):
        """Return AtomCounts of the documents of a DocumentBatch."""
        topics = self.inference_topics(state).gather(batch.words, None, workers)
        return self.atom_step(state)(batch, topics, state.doc_topic_prior, None, workers)

    # Updates

    def learned(self, state, counts, update, workers):
        rho = self.step_size(state, update)
        atoms = counts.expected.prior_statistics().topic_gains / counts.n_documents
        return changed(
            state,
            words=self.entered(state, counts, update, workers),
            atoms=(1.0 - rho) * state.atoms + rho * atoms,
        )

    # The evidence lower bound

    def document_bounds(self, state, batch, workers):
        """Return a sequence of numbers in nats that sums to the documents' part of the bound."""
        return self.atoms_of(state, batch, workers).bounds

    def topic_bounds(self, state):
        """Return a sequence of numbers in nats that sums to the rest of the bound."""
        sticks = state.sticks
        return [
            sticks_bound(sticks.taken, sticks.left, state.topic_concentration),
            posterior_bound(state.words, state.unit, state.topic_word_prior),
        ]
