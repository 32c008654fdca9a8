"""The method of HybridHDP: documents sampled as in LDA, with a prior that follows from tables at the root."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sktopic._inference import InferenceStep, TrainingStep
from sktopic._state._fields import changed
from sktopic._topics._prior import PRIOR_INERTIA, SMALLEST, default_prior
from sktopic._topics._word_count_views import probabilities
from sktopic._training._minibatch_state import random_words
from sktopic._training._updates import gathered_topics
from sktopic.hdp._concentrations import Concentration
from sktopic.hdp._hdp_state import hdp_at_start, named_anew, reporting, with_parameters
from sktopic.hdp._hybrid_state import HybridState, edited_columns
from sktopic.hdp._minibatch_method import HDPMethod
from sktopic.hdp._root import Root

# Updates that the root is learned in at least, also from documents that come again: after fewer it is near
# its start, and a small corpus has few.
ROOT_UPDATES = 100


@dataclass(frozen=True)
class RootPrior:
    """The prior of the root, and how weights follow from tables.

    Attributes
    ----------
    topic_concentration, doc_concentration : Concentration of the root, and of documents
    exact, shared : as of Root.weights
    """

    topic_concentration: Concentration
    doc_concentration: Concentration
    exact: bool
    shared: bool


@dataclass(frozen=True, kw_only=True)
class HybridTopics(HDPMethod):
    """The HDP with a given number of columns for topics, trained on mini-batches.

    Attributes
    ----------
    inference, prediction : document steps of training, and of transform
    root_prior : RootPrior
    topic_word_prior : pseudo-count of every word in every topic
    components : topics to start from (n_given, n_features), or None
    """

    inference: TrainingStep
    prediction: InferenceStep[Any]
    root_prior: RootPrior
    topic_word_prior: float
    components: Any = None

    reads_whole_batches: ClassVar[bool] = False
    learns_from_gains: ClassVar[bool] = True  # from which the expected tables of topics follow
    learns_word_prior: ClassVar[bool] = False
    keeps_columns: ClassVar[bool] = True

    # The start, and parameters that are changed later

    def start(self, n_features, seed):
        """The state before the first update."""
        n = self.n_components
        state = hdp_at_start(
            HybridState,
            random_words(n_features, n, seed, self.components),
            seed,
            doc_concentration=n * default_prior(n),
            root=Root(tables=np.full(n, 1.0 / n), growth=0.0),
        )
        return self.reported(self.adopted(state))

    def adopted(self, state):
        """The state with parameters that were changed since the last call."""
        root = self.root_prior
        return with_parameters(
            state,
            topic_concentration=root.topic_concentration.value,
            doc_concentration=root.doc_concentration.value,
            topic_word_prior=self.topic_word_prior,
        )

    # Topics

    def root_weights(self, state, total_samples):
        """Weights of all columns at the root, for a corpus of so many documents."""
        root = self.root_prior
        return state.root.weights(
            total_samples, state.topic_concentration, exact=root.exact, shared=root.shared
        )

    def doc_topic_prior(self, state, weights):
        """Dirichlet parameters of proportions for topics of these weights."""
        prior = state.doc_concentration * weights
        return prior * max(1.0, SMALLEST / prior.sum())  # the sum is not below what any prior may be

    def reported(self, state):
        """The state that says which topics are in use; those that were not before are new ones."""
        is_new = np.ones(state.words.n_topics, dtype=bool)
        is_new[state.in_use] = False
        in_use = self.columns_in_use(state)
        weights = self.root_weights(state, state.total_samples)[in_use]
        state = reporting(state, in_use, weights, self.doc_topic_prior(state, weights))
        born = in_use[is_new[in_use]]
        return named_anew(state, born) if len(born) else state

    # An update

    def infer(self, state, batch, keys, update, workers):
        return self._sampled(self.inference, state, batch, keys, update, workers)

    def _sampled(self, step, state, batch, keys, update, workers):
        """Expected counts of a batch by a document step, under the means of topics."""
        prior = self.doc_topic_prior(state, self.root_weights(state, update.total_samples))
        topics = probabilities(state.words, update.total_samples, state.topic_word_prior)
        gathered = gathered_topics(topics, batch, prior, state, update, workers)
        return step(batch, gathered, prior, keys, workers, with_prior_statistics=True)

    def absorb_counts(self, state, counts, update, workers):
        """The state after a batch: nothing is learned from the rows of all words."""
        return self.absorb(state, counts, update, workers)

    def learned(self, state, counts, update, workers):
        """The state with what a batch says of words and of the root; arrays of the words change in place."""
        total_weight = self.root_weights(state, update.total_samples).sum()
        is_first = state.n_topic_updates == 0
        words = self.entered(state, counts, update, workers)
        if not is_first and self._learns_root(state, update):  # the very first batch reads random topics
            statistics = counts.expected.prior_statistics()
            tables = statistics.topic_gains / counts.n_documents
            growth = total_weight * statistics.total_gain / counts.n_documents
            state = self._learned_root(state, tables, growth, update)
        return changed(state, words=words)

    def _learns_root(self, state, update):
        """Whether the root follows a batch: one that comes again only after few updates."""
        return update.is_first_visit or state.n_topic_updates < ROOT_UPDATES

    def _learned_root(self, state, tables, growth, update):
        """The state with the root moved towards that of a batch, and with the concentrations that follow."""
        root, prior, n = state.root, self.root_prior, state.total_samples
        if state.n_topic_updates == 1:  # the start says nothing of the number of tables
            root = root.rescaled(tables, growth)
        rho = self.step_size(state, update, PRIOR_INERTIA + state.n_topic_updates)
        root = root.averaged(tables, growth, rho)
        changes = {}
        if prior.doc_concentration.is_learned and update.is_first_visit:
            shape, rate = prior.doc_concentration.shape, prior.doc_concentration.rate
            changes["doc_concentration"] = root.doc_concentration(n, shape, rate)
        if prior.topic_concentration.is_learned:
            shape, rate = prior.topic_concentration.shape, prior.topic_concentration.rate
            changes["topic_concentration"] = root.concentration(n, state.topic_concentration, shape, rate)
        return changed(state, root=root, **changes)

    # Edits

    def edited_columns(self, state, edit):
        return edited_columns(state, edit)
