"""The number of topics as a posterior: what the degenerate and the triangular model have in common."""

import warnings
from numbers import Real

import numpy as np

from sktopic._documents._sources import joined
from sktopic._estimators._fitted_arrays import COUNT, FLOAT, INT
from sktopic._estimators._topic_model import TRANSFORM_KEY
from sktopic._inference import infer_proportions
from sktopic._inference._completion import mean_log_predictive
from sktopic._kernels._rng import combine_keys
from sktopic._runtime._arrays import real_numbers
from sktopic._runtime._compat import Interval, StrOptions
from sktopic._runtime._progress import NOT_SHOWN
from sktopic._typing import DocumentsLike, FloatingArray
from sktopic.exceptions import TopicLimitWarning
from sktopic.moment_matching._filter import MomentMatchingModel

# Of the decay of the prior of the number of topics. That of None was chosen on synthetic data: topics of few
# words are told apart later, so that a steep prior would leave but one of them.
STEEPEST, WORDS_OF_ONE = 2.0, 100
RATES = {"uniform": 0.0, "exponential": 1.0}
RATE = Interval(Real, 0, 1000, closed="both")
# The probability of a number of topics is gamma * 2 ** (-LAG * lag): see _kernels/_moments.h.
LAG = 512.0
# Notes of the number of topics: one at each of the first 64 tokens, then about 64 each time that the number
# of tokens doubles.
NOTES = 64
# Of numbers of topics whose probabilities differ by less (relatively), the smallest is taken.
TIE = 1e-9


def check_number_prior(value, n_components, n_features=WORDS_OF_ONE):
    """Return the logarithms of the prior of 1 ... n_components topics, up to a constant."""
    rate = RATES[value] if isinstance(value, str) else value
    if rate is None:
        rate = min(STEEPEST, n_features / WORDS_OF_ONE)
    if isinstance(rate, Real):
        return -np.arange(n_components) * float(rate)
    try:
        prior = real_numbers(value)
    except (TypeError, ValueError):
        prior = np.empty(0)
    if prior.shape != (n_components,):
        raise ValueError(
            f"n_components_prior={value!r}: 'uniform', 'exponential', a number or {n_components} numbers "
            "(one for each number of topics from 1 to n_components) are allowed."
        )
    if not (np.all(prior >= 0) and np.all(np.isfinite(prior)) and prior.max() > 0):
        raise ValueError(
            f"n_components_prior={value!r}: entries must be non-negative and finite, one positive."
        )
    with np.errstate(divide="ignore"):
        return np.log(prior)


def as_gamma(log_prior):
    """gamma and lag of a distribution with these logarithms, up to a constant."""
    with np.errstate(under="ignore"):  # improbable numbers of topics add nothing to the sum
        exponent = (log_prior - np.logaddexp.reduce(log_prior)) / np.log(2.0)
    lag = np.where(np.isfinite(exponent), np.floor(-exponent / LAG), 0.0)
    return 2.0 ** (exponent + LAG * lag), lag


def probabilities(gamma, lag):
    """The distribution that gamma and lag stand for."""
    with np.errstate(under="ignore"):  # most numbers of topics are so improbable that they have zero
        gamma = gamma * 2.0 ** (-LAG * lag)
        return gamma / gamma.sum()


class NumberOfTopics(MomentMatchingModel):
    """Base class of the models with a distribution over the number of topics, 1 to n_components."""

    _infers_number_of_topics = True
    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MomentMatchingModel._parameter_constraints,
        "n_components_prior": [StrOptions(set(RATES)), None, RATE, "array-like"],
    }

    _fitted_arrays = {  # noqa: RUF012
        **MomentMatchingModel._fitted_arrays,
        "_gamma": (FLOAT, "topics"),
        "_lag": (FLOAT, "topics"),
        "n_components_posterior_": (FLOAT, "topics"),
        "n_components_prior_": (FLOAT, "topics"),
        "n_tokens_trace_": (FLOAT, None),
        "n_components_trace_": (INT, None),
    }
    _fitted_values = {  # noqa: RUF012
        **MomentMatchingModel._fitted_values,
        "_n_tokens": COUNT,
        "_next_note": COUNT,
    }

    def predict_mixture(self, X: DocumentsLike) -> FloatingArray:
        """Infer the topic proportions of documents, averaged over the number of topics.

        Where `transform` answers under the most probable number of topics, this is the mean of the answers
        under each number, weighted by ``n_components_posterior_``. `score` predicts with it.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.

        Returns
        -------
        theta : ndarray of shape (n_samples, n_components)
            Expected proportions of all topics that there may be; rows sum to one. float32 where X is, else
            float64.
        """

        def mixture(inference, documents, *given):
            return joined([inference.model._mixture(block, *given) for block in documents.blocks()])

        return self._answer(X, mixture, "predict_mixture")

    def _mixture(self, X, workers, progress):
        gamma = self.n_components_posterior_
        step = self._step(self._model, gamma)
        topics, key = self._leading_topics(len(gamma)), combine_keys(self._seed, TRANSFORM_KEY)
        return infer_proportions(X, topics, self._prior, step, key, workers, progress)

    def _completion(self, documents, workers, progress=NOT_SHOWN):
        topics = self._leading_topics(len(self._sums))
        return mean_log_predictive(
            documents.groups(), topics, lambda observed: self._mixture(observed, workers, progress), workers
        )

    def _check_settings(self):
        super()._check_settings()
        check_number_prior(self.n_components_prior, self.n_components)

    def _number_prior(self, n_features):
        return as_gamma(check_number_prior(self.n_components_prior, self.n_components, n_features))

    def _add_words(self, n):
        """Where the prior of the number depends on the number of words, the posterior is moved along."""
        super()._add_words(n)
        before, after = (
            check_number_prior(self.n_components_prior, len(self._gamma), n_features)
            for n_features in (self.n_features_in_, self.n_features_in_ + n)
        )
        if not np.array_equal(before, after):
            logarithms = np.log(self._gamma) - self._lag * LAG * np.log(2.0)
            self._gamma, self._lag = as_gamma(logarithms + after - before)
            self.n_components_prior_ = probabilities(*as_gamma(after))
            self._report()

    def _prior_state(self, n_features):
        state = super()._prior_state(n_features)
        trace = {"n_tokens_trace_": np.empty(0), "n_components_trace_": np.empty(0, dtype=np.int64)}
        prior = probabilities(state["_gamma"], state["_lag"])
        return {**state, **trace, "_n_tokens": 0, "_next_note": 1, "n_components_prior_": prior}

    def _initial_noise(self, gamma):
        # One topic more or less tells topics apart, down to the smallest number of topics that is possible.
        return 0.0 if gamma[0] > 0.0 else super()._initial_noise(gamma)

    def _check_continuation(self):
        super()._check_continuation()
        gamma = probabilities(*self._number_prior(self.n_features_in_))
        if not np.array_equal(gamma, self.n_components_prior_):
            raise ValueError(
                f"n_components_prior={self.n_components_prior!r} differs from that with which training "
                "began; set it back, or call fit to start anew."
            )

    def _number_in_use(self):
        posterior = probabilities(self._gamma, self._lag)
        return int(np.argmax(posterior >= (1.0 - TIE) * posterior.max())) + 1

    def _warn_at_limit(self):
        if 1 < self.n_components <= self.n_components_:
            warnings.warn(
                f"{type(self).__name__} finds that n_components={self.n_components} topics, the largest "
                "number it may choose, are the most probable: the corpus may support more. Fit again with a "
                "larger n_components.",
                TopicLimitWarning,
                stacklevel=2,
            )

    def _report(self):
        self.n_components_posterior_ = probabilities(self._gamma, self._lag)
        super()._report()

    def _filter(self, document, word, weight, begins, alpha):
        """Update the posterior by some tokens, and note the number of topics where it is time for it."""
        first = 0
        while first < len(word):
            last = min(len(word), first + self._next_note - self._n_tokens)
            piece = slice(first, last)
            super()._filter(document[piece], word[piece], weight[piece], begins[piece], alpha)
            self._n_tokens += last - first
            first = last
            if self._n_tokens == self._next_note:
                self._next_note += max(1, self._next_note // NOTES)
                self.n_tokens_trace_ = np.append(self.n_tokens_trace_, self._marginal[1])
                self.n_components_trace_ = np.append(self.n_components_trace_, self._number_in_use())
