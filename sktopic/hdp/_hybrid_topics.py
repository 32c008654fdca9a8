"""The method of HybridHDP: documents are sampled as in LDA, with a prior from tables at the root.

With the weights r of the root fixed and tables summed out, the prior of a document is alpha = b1 r. The
expected tables of a topic with n tokens in a document are alpha (psi(alpha + n) - psi(alpha)).

The root is learned from documents at their first visit, and in the first 100 updates. Otherwise a few topics
take most of its weight within some tens of passes. Samplers of the posterior end there too, but predict other
documents worse.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sktopic._inference._protocol import InferenceStep, TrainingStep
from sktopic._state._fields import array, changed, edited, part
from sktopic._topics._prior import PRIOR_INERTIA, SMALLEST, default_prior
from sktopic._topics._word_count_views import probabilities
from sktopic._training._minibatches import Growth, gathered_topics
from sktopic.hdp._hdp_state import MOVE, HDPState, columns_in_use, reporting
from sktopic.hdp._minibatch_method import HDPMethod
from sktopic.hdp._root import Root
from sktopic.hdp._window import Window

# The root is learned in at least this number of updates, also from repeated documents. A small corpus has few
# updates in its first pass, after which the root would still be near its start.
ROOT_UPDATES = 100


@dataclass(frozen=True, eq=False, kw_only=True)
class HybridState(HDPState):
    """The state after some updates.

    Attributes
    ----------
    root : Root
        Tables of the topics in documents, which determine the topic weights.
    window : Window or None
        Last documents, with the topics of their tokens. Only with split_merge=True.
    move_history : ndarray of shape (n_moves,), structured, or None
        Only with split_merge=True.
    n_components_range : ndarray of shape (2,) or None
        Smallest and largest number of topics in use since the last moves. Only with split_merge=True.
    """

    root: Root = part(Root)
    window: Window | None = part(Window, optional=True)
    move_history: np.ndarray | None = array(MOVE, None, optional=True)
    n_components_range: np.ndarray | None = array(np.int64, 2, optional=True)

    def check(self):
        """Raise ValueError if parts do not fit together."""
        super().check()
        if self.window is not None:
            self.window.check()


@dataclass(frozen=True, kw_only=True)
class HybridTopics(HDPMethod):
    """The HDP with a fixed number of topic columns, trained on mini-batches.

    Attributes
    ----------
    inference, prediction : document steps of training and of transform
    exact_root, shared_root : how weights at the root follow from tables (see Root.weights)
    """

    inference: TrainingStep
    prediction: InferenceStep[Any]
    exact_root: bool
    shared_root: bool

    reads_whole_batches: ClassVar[bool] = False
    learns_from_gains: ClassVar[bool] = True  # the expected tables of topics follow from gains
    growth: ClassVar[Growth] = Growth.NONE  # moves become rarer with the expected size
    learns_word_prior: ClassVar[bool] = False
    keeps_columns: ClassVar[bool] = True

    def start(self, n_features, seed):
        n = self.n_components
        root = Root(tables=np.full(n, 1.0 / n), growth=0.0)
        concentration = n * default_prior(n)
        return self.started(HybridState, n_features, seed, doc_concentration=concentration, root=root)

    def check_continuation(self, state):
        if state.window is not None and state.words.n_topics != self.n_components:
            raise ValueError(
                "split_merge=False is invalid for a model that was trained with split_merge=True, because "
                f"fit began with {state.words.n_topics} topics, not n_components={self.n_components}. Set "
                "split_merge=True, or call fit to start anew."
            )
        super().check_continuation(state)

    # Topics

    def root_weights(self, state, total_samples):
        """Return the weights of all columns at the root, for a corpus of this size."""
        concentration = state.topic_concentration
        return state.root.weights(
            total_samples, concentration, exact=self.exact_root, shared=self.shared_root
        )

    def doc_topic_prior(self, state, weights):
        """Return the Dirichlet parameters of proportions for topic weights."""
        prior = state.doc_concentration * weights
        return prior * max(1.0, SMALLEST / prior.sum())  # the sum is at least the smallest allowed prior

    def reported(self, state):
        """Return the state with the topics in use. Topics that were not in use before are new."""
        is_new = np.ones(state.words.n_topics, dtype=bool)
        is_new[state.in_use] = False
        in_use = columns_in_use(state)
        weights = self.root_weights(state, state.total_samples)[in_use]
        state = reporting(state, in_use, weights, self.doc_topic_prior(state, weights))
        born = in_use[is_new[in_use]]
        if not len(born):
            return state
        ids = state.ids.copy()  # other states may share the array
        ids[born] = state.next_id + np.arange(len(born))
        return changed(state, ids=ids, next_id=state.next_id + len(born))

    # An update

    def infer(self, state, batch, keys, update, workers):
        return self._sampled(self.inference, state, batch, keys, update, workers)

    def _sampled(self, step, state, batch, keys, update, workers):
        """Return expected counts of a batch by a document step, under the means of topics."""
        prior = self.doc_topic_prior(state, self.root_weights(state, update.total_samples))
        topics = probabilities(state.words, update.total_samples, state.topic_word_prior)
        gathered = gathered_topics(topics, batch, prior, state, update, workers)
        return step(batch, gathered, prior, keys, workers, with_prior_statistics=True)

    def absorb_counts(self, state, counts, update, workers):
        """Return the state after a batch; no value is learned from the rows of all words."""
        return self.absorb(state, counts, update, workers)

    def learned(self, state, counts, update, workers):
        """Return the state after learning words and root from a batch; arrays of words change in place."""
        total_weight = self.root_weights(state, update.total_samples).sum()
        is_first = state.n_topic_updates == 0
        words = self.entered(state, counts, update, workers)
        if not is_first and self._learns_root(state, update):  # the first batch had random topics
            statistics = counts.expected.prior_statistics()
            tables = statistics.topic_gains / counts.n_documents
            growth = total_weight * statistics.total_gain / counts.n_documents
            state = self._learned_root(state, tables, growth, update)
        return changed(state, words=words)

    def _learns_root(self, state, update):
        """Whether a batch updates the root: at its first visit, or if there were few updates."""
        return update.is_first_visit or state.n_topic_updates < ROOT_UPDATES

    def _learned_root(self, state, tables, growth, update):
        """Return the state after a step of the root towards a batch, with learned concentrations."""
        root, given, n = state.root, self.parameters, state.total_samples
        if state.n_topic_updates == 1:  # the number of tables at the start is arbitrary
            root = changed(root, tables=root.tables * (tables.sum() / root.tables.sum()), growth=growth)
        rho = self.step_size(state, update, PRIOR_INERTIA + state.n_topic_updates)
        root = changed(
            root,
            tables=(1.0 - rho) * root.tables + rho * tables,
            growth=(1.0 - rho) * root.growth + rho * growth,
        )
        changes = {}
        if given.learns("doc_concentration") and update.is_first_visit:
            changes["doc_concentration"] = root.doc_concentration(n, *given.doc_concentration_prior)
        if given.learns("topic_concentration"):
            value, prior = state.topic_concentration, given.topic_concentration_prior
            changes["topic_concentration"] = root.concentration(n, value, *prior)
        return changed(state, root=root, **changes)

    # Edits

    def edited_columns(self, state, edit):
        after, window = super().edited_columns(state, edit), state.window
        return changed(
            after,
            root=edited(state.root, edit),
            # Tokens in the window have the topics before the edit.
            window=None if window is None else Window.empty(window.last_moves),
        )
