"""The method of HybridHDP: documents sampled as in LDA, with a prior that follows from tables at the root."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sktopic._inference import InferenceStep, TrainingStep
from sktopic._kernels._rng import combine_keys
from sktopic._state._fields import changed, grown
from sktopic._topics._prior import PRIOR_INERTIA, SMALLEST, default_prior
from sktopic._topics._topic_rows import check_components_init
from sktopic._topics._word_count_edits import frozen_topics
from sktopic._topics._word_count_views import probabilities
from sktopic._topics._word_counts import INITIAL_KEY, WordCounts
from sktopic._training._minibatches import LONG_WORK
from sktopic._training._statistics_updates import LinearUpdate
from sktopic._training._step_size import combined_step
from sktopic.hdp._concentrations import Concentration
from sktopic.hdp._hdp_state import columns_in_use, named_anew, words_in_use
from sktopic.hdp._hybrid_state import HybridState, edited_columns
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
class HybridTopics:
    """The HDP with a given number of columns for topics, trained on mini-batches.

    Attributes
    ----------
    n_components : number of columns at the start
    inference, prediction : document steps of training, and of transform
    rule : how the expected counts of a batch enter the statistics (see _statistics_updates.py)
    steps : step size, a function of the number of the update
    root_prior : RootPrior
    topic_word_prior : pseudo-count of every word in every topic
    components_init : topics to start from (n_given, n_features), or None
    """

    n_components: int
    inference: TrainingStep
    prediction: InferenceStep[Any]
    rule: LinearUpdate
    steps: Callable[..., float]
    root_prior: RootPrior
    topic_word_prior: float
    components_init: Any = None

    reads_whole_batches = False
    learns_from_gains = True  # from which the expected tables of topics follow
    learns_word_prior = False
    # Whether the column of a topic that goes stays, for another one.
    keeps_columns = True

    @property
    def averages(self):
        return self.rule.is_average

    # The start, and parameters that are changed later

    def start(self, n_features, seed):
        """The state before the first update."""
        n, given = self.n_components, self.components_init
        if given is not None:
            given = check_components_init(given, n_features, most=n)
        words = WordCounts.random(n_features, n, combine_keys(seed, INITIAL_KEY))
        if given is not None:
            words.start_from(given)
        state = HybridState(
            words=words,
            topic_concentration=1.0,
            doc_concentration=n * default_prior(n),
            topic_word_prior=self.topic_word_prior,
            ids=np.arange(n),
            next_id=n,
            in_use=np.arange(n),
            topic_weights=np.empty(0),  # follow from the root
            doc_topic_prior=np.empty(0),
            root=Root(tables=np.full(n, 1.0 / n), growth=0.0),
            total_samples=0.0,
            corpus_size=0,
            n_samples_seen=0,
            n_passes=0,
            n_updates=0,
            n_topic_updates=0,
            seed=seed,
        )
        return self.reported(self.adopted(state))

    def adopted(self, state):
        """The state with parameters that were changed since the last call."""
        root = self.root_prior
        return changed(
            state,
            topic_concentration=root.topic_concentration.adopted(state.topic_concentration),
            doc_concentration=root.doc_concentration.adopted(state.doc_concentration),
            topic_word_prior=self.topic_word_prior,
        )

    def check_continuation(self, state):
        """Raise ValueError for parameters that cannot change once training has begun."""
        if self.n_components != state.words.n_topics:
            raise ValueError(
                f"n_components={self.n_components!r} differs from the {state.words.n_topics} topics in "
                "training; set it back, or call fit to start anew."
            )

    # Topics

    def unit(self, state, total_samples=None):
        """What one unit of the statistics stands for, in tokens of the corpus."""
        return self.rule.unit(state.total_samples if total_samples is None else total_samples)

    def topics(self, state):
        """The topics in use, TopicProbabilities."""
        return probabilities(words_in_use(state), self.unit(state), state.topic_word_prior)

    inference_topics = topics

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
        in_use = np.flatnonzero(columns_in_use(state, self.unit(state)))
        weights = self.root_weights(state, state.total_samples)[in_use]
        prior = self.doc_topic_prior(state, weights)
        state = changed(state, in_use=in_use, topic_weights=weights, doc_topic_prior=prior)
        born = in_use[is_new[in_use]]
        return named_anew(state, born) if len(born) else state

    # An update

    def step_size(self, state, update, t=None):
        """How far an update moves averages; t, if not one more than the updates so far that had words."""
        t = state.n_topic_updates + 1 if t is None else t
        return combined_step(self.steps, t, update.n_updates)

    def kept(self, state, update):
        return self._rule(update).kept(self.step_size(state, update), state.n_topic_updates == 0)

    def _rule(self, update):
        """How the update enters the statistics."""
        return self.rule.combined(update.n_updates) if update.n_updates > 1 else self.rule

    def infer(self, state, batch, keys, update, workers):
        return self._sampled(self.inference, state, batch, keys, update, workers)

    def _sampled(self, step, state, batch, keys, update, workers):
        """Expected counts of a batch by a document step, under the means of topics."""
        prior = self.doc_topic_prior(state, self.root_weights(state, update.total_samples))
        topics = probabilities(state.words, self.unit(state, update.total_samples), state.topic_word_prior)
        gathered = topics.gather(batch.words, prior, workers)
        if update.earlier_share > 0.0:
            # Passes come in random orders: so all documents, those of the batch too, are in what earlier
            # passes have left of the statistics as often as its share says.
            often = update.earlier_share * update.total_samples / state.corpus_size
            gathered.own = topics.own_tokens(often * batch.weights_up_to_one())
        return step(batch, gathered, prior, keys, workers, with_prior_statistics=True)

    def absorb(self, state, counts, update, workers):
        state = changed(state, total_samples=float(update.total_samples))
        if counts.n_tokens > 0.0:
            state = self._absorbed(state, counts, update, workers)
            state = changed(state, n_topic_updates=state.n_topic_updates + update.n_updates)
        return self.reported(state)

    def absorb_counts(self, state, counts, update, workers):
        """The state after a batch: nothing is learned from the rows of all words."""
        return self.absorb(state, counts, update, workers)

    def _absorbed(self, state, counts, update, workers):
        """The state with what a batch says of words and of the root; arrays of the words change in place."""
        total_weight = self.root_weights(state, update.total_samples).sum()
        rho, is_first = self.step_size(state, update), state.n_topic_updates == 0
        words = self._rule(update)(state.words, counts, rho, is_first, workers)
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

    def work(self, state, counts, update):
        work, size = counts.expected.work(), state.words.size
        if size < LONG_WORK // 10 or counts.n_tokens == 0.0:  # clearing so few entries takes no time
            return work
        discards = self.rule.discards(self.step_size(state, update), state.n_topic_updates == 0)
        return work + (size if discards else 0)

    # Edits

    def edited(self, state, edit):
        """The state after a TopicEdit of the topics in use; no array is changed in place."""
        edit = edit.of_columns(state.in_use, state.words.n_topics, self.keeps_columns)
        return self.reported(edited_columns(state, edit))

    def frozen(self, state, columns):
        """The state in which the topics of these columns are frozen, and no others."""
        words = frozen_topics(state.words, columns, self.unit(state), state.topic_word_prior)
        return changed(state, words=words)

    def grown(self, state, n_words):
        """The state with so many words more."""
        return grown(state, n_words)
