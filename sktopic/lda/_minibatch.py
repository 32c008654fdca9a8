"""What the mini-batch methods for LDA share: priors, statistics, and the steps they are combined from."""

from abc import abstractmethod
from numbers import Integral, Real

import numpy as np

from sktopic._compat import Interval, StrOptions
from sktopic._document_steps import GibbsStep, VariationalStep
from sktopic._documents import LARGEST_CORPUS
from sktopic._kernels._rng import combine_keys
from sktopic._minibatch import INITIAL_KEY, MinibatchTopicModel
from sktopic._prior import LEARNED, PriorLearner, check_prior, check_smoothing, default_smoothing
from sktopic._topic_word import TopicWordStatistics

# A prior of topic proportions that is not learned.
FIXED_PRIOR = [None, Interval(Real, 0, None, closed="neither"), "array-like"]
# What fits the kernels' integers with room to add two of them.
MAX_SWEEPS = 2**30


class MinibatchLDA(MinibatchTopicModel):
    """Base class of the mini-batch methods for LDA.

    A method says with which step documents are inferred (`_training_step`, `_transform_step`), whether
    that step is given arithmetic or geometric means of topics (`_geometric`), and how the expected counts of
    a batch enter the statistics (`_update_statistics`).
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchTopicModel._parameter_constraints,
        "doc_topic_prior": [
            None,
            StrOptions(set(LEARNED)),
            Interval(Real, 0, None, closed="neither"),
            "array-like",
        ],
        "topic_word_prior": [Interval(Real, 0, None, closed="left"), None],
        "total_samples": [Interval(Real, 0, LARGEST_CORPUS, closed="right"), None],
        "learning_decay": [Interval(Real, 0, 1, closed="both")],
        "learning_offset": [Interval(Real, 0, None, closed="left")],
        "doc_burn_in": [Interval(Integral, 0, MAX_SWEEPS, closed="both")],
        "doc_sweeps": [Interval(Integral, 1, MAX_SWEEPS, closed="both")],
        "transform_burn_in": [Interval(Integral, 0, MAX_SWEEPS, closed="both")],
        "transform_sweeps": [Interval(Integral, 1, MAX_SWEEPS, closed="both")],
        "max_doc_update_iter": [Interval(Integral, 1, MAX_SWEEPS, closed="both")],
        "mean_change_tol": [Interval(Real, 0, None, closed="left")],
    }

    # Whether document steps see exp E[log phi] under a posterior of the topics, instead of their mean.
    _geometric = False
    # Whether Gibbs sampling in training counts draws, not the conditional probabilities they are made from.
    _drawn = False
    # How the prior is learned (see PriorLearner); a parameter of some methods.
    prior_update = "fixed-point"
    prior_shape = prior_rate = 1.0
    # Batches that the prior's starting value counts for when it is learned. The first batches see topics that
    # are still random, under which documents look alike: a prior that followed them would keep them so.
    _prior_inertia = 10
    # Batches of no more tokens are passed over.
    _negligible = 0.0
    # Whether topics are averaged over updates.
    average = False

    @abstractmethod
    def _training_step(self):
        """Return the document step of training."""

    @abstractmethod
    def _read_topics(self, total_samples, geometric=False):
        """Return the topics: their means, or their geometric means where a method knows those."""

    @abstractmethod
    def _update_statistics(self, statistics, counts, words, n_documents, n_tokens, workers):
        """Let the expected counts of a batch, at the rows of its words, enter the statistics."""

    def _step_size(self, t):
        """rho of update t = 1, 2, ... (of batches with words): the share of its batch in averages."""
        return (float(self.learning_offset) + t) ** -float(self.learning_decay)

    def _check_settings(self):
        super()._check_settings()
        check_prior(self.doc_topic_prior, self.n_components)
        check_smoothing(self.topic_word_prior)

    def _initialize(self, n_features, seed):
        self._statistics = TopicWordStatistics.random(
            n_features, self.n_components, combine_keys(seed, INITIAL_KEY), self.average
        )
        self.n_components_ = self.n_components
        self.total_samples_ = 0.0
        self.doc_topic_prior_ = check_prior(self.doc_topic_prior, self.n_components)
        self._n_topic_updates = 0
        self._prior_rule = None
        for name in ("_prior_averages", "_n_prior_updates"):  # of an earlier fit that learned the prior
            vars(self).pop(name, None)
        self._adopt_settings()

    def _adopt_settings(self):
        self.topic_word_prior_ = self._given_smoothing()
        if not self._learns_prior:
            self.doc_topic_prior_ = check_prior(self.doc_topic_prior, self.n_components)
            self._prior_rule = None
        elif self._prior_rule != self.prior_update:
            self._prior_rule = self.prior_update
            self._prior_averages = self._prior_learner().initial(self.doc_topic_prior_)
            self._n_prior_updates = 0

    def _default_smoothing(self):
        return default_smoothing(self.n_components)

    def _given_smoothing(self):
        """The topic_word_prior to go on with."""
        return self._default_smoothing() if self.topic_word_prior is None else float(self.topic_word_prior)

    @property
    def _learns_prior(self):
        return isinstance(self.doc_topic_prior, str)

    def _learns_prior_now(self):
        """Whether this update learns the prior: the very first, which reads random topics, does not."""
        return self._learns_prior and self._n_topic_updates > 0

    def _learned_prior(self, averages, prior, counts, total_samples):
        """Averages and prior after taking in a batch."""
        rho = self._step_size(self._prior_inertia + self._n_prior_updates + 1)
        learner = self._prior_learner()
        return learner.update(averages, prior, counts.prior_evidence(), rho, total_samples)

    def _prior_learner(self):
        return PriorLearner(self.doc_topic_prior, self.prior_update, self.prior_shape, self.prior_rate)

    def _topic_probabilities(self):
        return self._read_topics(self.total_samples_)

    def _inference_topics(self):
        return self._read_topics(self.total_samples_, self._geometric)

    def _document_step(self, batch, keys, total_samples, workers):
        topics, prior = self._read_topics(total_samples, self._geometric), self.doc_topic_prior_
        gathered = topics.gather(batch.words, prior, workers)
        return self._training_step()(batch, gathered, prior, keys, workers, self._learns_prior)

    def _global_step(self, counts, words, n_documents, n_tokens, total_samples, workers):
        self.total_samples_ = float(total_samples)
        if n_tokens <= self._negligible:  # nothing was said about topics
            return
        self._update_statistics(self._statistics, counts, words, n_documents, n_tokens, workers)
        if self._learns_prior_now():
            averages = self._prior_averages
            learned = self._learned_prior(averages, self.doc_topic_prior_, counts, self.total_samples_)
            self._prior_averages, self.doc_topic_prior_ = learned
            self._n_prior_updates += 1
        self._n_topic_updates += 1


class GibbsInference:
    """Mixin of methods that sample the topics of documents."""

    def _training_step(self):
        return GibbsStep(self.doc_burn_in, self.doc_sweeps, self._drawn)

    def _transform_step(self):
        return GibbsStep(self.transform_burn_in, self.transform_sweeps)


class OneInference:
    """Mixin of methods that infer documents in transform as in training."""

    def _transform_step(self):
        return self._training_step()


class VariationalInference(OneInference):
    """Mixin of methods that infer the topics of documents by mean field."""

    def _training_step(self):
        return VariationalStep(self.max_doc_update_iter, self.mean_change_tol)


class CountStatistics:
    """Mixin of methods whose statistics, times a weight, are expected counts of words in topics."""

    def _count_weight(self, total_samples):
        """What one unit of the statistics stands for, in tokens."""
        return total_samples

    @property
    def topic_word_counts_(self):
        model = self._read()
        weight = model._count_weight(model.total_samples_)
        return np.ascontiguousarray(model._statistics.expected_counts(weight).T)

    def _read_topics(self, total_samples, geometric=False):
        weight, smoothing = self._count_weight(total_samples), self.topic_word_prior_
        if geometric:
            return self._statistics.geometric(weight, smoothing)
        return self._statistics.probabilities(weight, smoothing)


class AveragedStatistics(CountStatistics):
    """Mixin of methods whose statistics are an average, which each batch moves a step towards its own."""

    def _batch_weight(self, n_documents, n_tokens):
        """What the counts of a batch are divided by: the average is one of documents."""
        return n_documents

    def _update_statistics(self, statistics, counts, words, n_documents, n_tokens, workers):
        """s <- (1 - rho) s + rho s_hat, with s_hat the mean over the batch."""
        rho = self._step_size(self._n_topic_updates + 1)
        weight = self._batch_weight(n_documents, n_tokens)
        if self._n_topic_updates == 0:
            # The initial noise weighs what one document (or token, where those are averaged) does.
            statistics.set_total(n_tokens / weight)
        statistics.decay(1.0 - rho)
        statistics.add(counts, words, rho / weight, workers)
        statistics.count_average()


class TokenAveragedStatistics(AveragedStatistics):
    """The same with averages of tokens; the corpus has total_samples times the mean length of documents."""

    # Division by fewer tokens might overflow.
    _negligible = 1e-200

    def _initialize(self, n_features, seed):
        super()._initialize(n_features, seed)
        self.n_tokens_seen_ = 0.0
        self._n_lengths_seen = 0  # documents, those of batches without words left out

    def _count_weight(self, total_samples):
        mean_length = self.n_tokens_seen_ / self._n_lengths_seen if self._n_lengths_seen else 1.0
        return total_samples * mean_length

    def _batch_weight(self, n_documents, n_tokens):
        return n_tokens

    def _update_statistics(self, statistics, counts, words, n_documents, n_tokens, workers):
        super()._update_statistics(statistics, counts, words, n_documents, n_tokens, workers)
        self.n_tokens_seen_ += float(n_tokens)
        self._n_lengths_seen += n_documents


class TopicPosteriors:
    """Mixin of methods with a Dirichlet posterior for each topic; documents see its geometric mean."""

    _geometric = True

    @property
    def topic_word_posterior_(self):
        model = self._read()
        return model.topic_word_counts_ + model.topic_word_prior_

    def _check_settings(self):
        super()._check_settings()
        if self.topic_word_prior == 0:
            raise ValueError("topic_word_prior=0: a Dirichlet prior needs a number > 0 (or None).")


class SummedStatistics(CountStatistics):
    """Mixin of methods whose statistics are the sum of all batches: the size of the corpus plays no part.

    The first batch is read with the random initial topics, which are then forgotten. `_kept` is the share
    of the earlier sum that stays at each update.
    """

    _kept = 1.0

    def _step_size(self, t):
        return 1.0 / t

    def _count_weight(self, total_samples):
        return 1.0

    def _update_statistics(self, statistics, counts, words, n_documents, n_tokens, workers):
        """s <- kept s + s_hat, with s_hat the sum over the documents of the batch."""
        statistics.decay(self._kept if self._n_topic_updates > 0 else 0.0)
        statistics.add(counts, words, 1.0, workers)
