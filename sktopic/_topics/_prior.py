"""The Dirichlet priors: their defaults, checks, and learning that of the topic proportions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, polygamma

from sktopic._documents._matrices import LARGEST_COUNT, SMALLEST_COUNT
from sktopic._documents._sample_weight import weighted_sum
from sktopic._kernels.topics._dirichlet import fit_dirichlet, fit_symmetric_dirichlet
from sktopic._runtime._arrays import real_numbers, row_blocks

# Fixed-point iterations after one update: the next update goes on from there.
MAX_ITER = 30
TOL = 1e-4

# What a prior may be: the parameter of a Dirichlet distribution is a number of pseudo-counts.
SMALLEST, LARGEST = SMALLEST_COUNT, LARGEST_COUNT
# What learning keeps inside, as the kernels do.
SMALLEST_LEARNED, LARGEST_LEARNED = 1e-6, 1e4

# Batches that the starting value counts for when a prior is learned batch by batch. The first batches see
# topics that are still random, under which documents look alike: a prior that followed would keep them so.
PRIOR_INERTIA = 10

# The part of the mean share that every topic keeps where shares are learned: there is no way back from zero.
LEAST_SHARE = 0.01

LEARNED = ("auto", "auto-symmetric")


# Measured over five corpora at 20, 100 and 1000 topics: see doc/research/defaults.rst.
def default_prior(n_components):
    """The default Dirichlet parameter of topic proportions: n_components ** -0.55."""
    return int(n_components) ** -0.55  # NumPy's power may differ in the last bit


def default_topic_word_prior(n_components):
    """The default pseudo-count of a word in a topic: 2 / n_components, at most 0.1."""
    return min(0.1, 2.0 / n_components)


def check_prior(value, n_components, name="doc_topic_prior"):
    """Return a prior as ndarray of shape (n_components,), float64; read-only, and of a number small.

    value: None (the default), a positive number, an array of n_components positive numbers, or one of
    the strings that ask for learning, which start from the default.
    """
    if value is None or isinstance(value, str):
        value = default_prior(n_components)
    try:
        prior = real_numbers(value, booleans=False)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}={value!r}: a number or an array of shape ({n_components},) is allowed."
        ) from None
    if prior.shape not in ((), (n_components,)):
        raise ValueError(
            f"{name} has shape {prior.shape}; a number or an array of shape ({n_components},) is allowed."
        )
    check_parameters(np.atleast_1d(prior), name)
    return np.broadcast_to(prior, n_components)  # a file may pretend that there are billions of topics


def check_used_prior(prior):
    """Raise ValueError unless the doc_topic_prior of a state is positive; merged topics have large ones."""
    if not prior.min() > 0.0:
        raise ValueError(f"doc_topic_prior must be positive, but has the value {prior.min():g}")


def check_parameters(values, name):
    """Raise ValueError unless all entries of an array are parameters of a Dirichlet distribution."""
    for rows in row_blocks(values):
        allowed = (values[rows] >= SMALLEST) & (values[rows] <= LARGEST)
        if not np.all(allowed):
            raise ValueError(
                f"{name} has the value {values[rows][~allowed][0]:g}: values must be positive finite, "
                f"between {SMALLEST:g} and {LARGEST:g}."
            )


@dataclass
class PriorStatistics:
    """Sums over documents with words of what tells about the prior alpha of their proportions theta.

    Where documents have weights, each is summed as often as its weight says.

    Attributes
    ----------
    log_theta : ndarray of shape (n_components,)
        Of E[log theta].
    topic_gains : ndarray of shape (n_components,)
        Of alpha_k (E[psi(alpha_k + n_k)] - psi(alpha_k)), n_k being the tokens of topic k.
    total_gain : float
        Of psi(sum alpha + n) - psi(sum alpha), n being the length.
    n_documents : float
    """

    log_theta: np.ndarray
    topic_gains: np.ndarray
    total_gain: float
    n_documents: float

    @classmethod
    def none(cls, n_components):
        return cls(np.zeros(n_components), np.zeros(n_components), 0.0, 0.0)

    @classmethod
    def from_gains(cls, prior, gains, lengths, sample_weight=None):
        """From the sums of E[psi(alpha_k + n_k)] - psi(alpha_k) and the documents' lengths, all > 0.

        sample_weight : (n_documents,) as how many each of them counts, or None: as one
        """
        total, n = prior.sum(), len(lengths) if sample_weight is None else float(sample_weight.sum())
        psi_total = digamma(total)
        total_gain = float(weighted_sum(digamma(total + lengths) - psi_total, sample_weight))
        log_theta = gains - total_gain + n * (digamma(prior) - psi_total)
        return cls(log_theta, prior * gains, total_gain, n)

    def plus(self, other):
        return PriorStatistics(
            self.log_theta + other.log_theta,
            self.topic_gains + other.topic_gains,
            self.total_gain + other.total_gain,
            self.n_documents + other.n_documents,
        )


@dataclass(frozen=True)
class DocPrior:
    """The prior of topic proportions, and how its Dirichlet parameters are learned, batch by batch.

    Attributes
    ----------
    value : None, number, array, 'auto' or 'auto-symmetric'
        The parameter. The strings ask for learning: of one number for each topic, or of one for all.
    rule : 'fixed-point', 'gradient', 'gamma' or 'shares'
        Minka's fixed point on the average E[log theta] (2000; equation 8 of Dupuy and Bach, 2017); one
        Newton step along the batch's gradient, scaled by the step size (Hoffman et al., 2010, after Blei
        et al., 2003); the posterior mode under a Gamma prior (Sato et al., 2010); or the shares of topics in
        the sum alone, which stays (Minka's fixed point for the mean, the precision given).
    shape, rate : float
        Parameters of the Gamma prior of each entry.
    """

    value: Any
    rule: str = "fixed-point"
    shape: float = 1.0
    rate: float = 1.0

    @property
    def is_learned(self):
        return isinstance(self.value, str)

    def initial(self, prior):
        """The averages from which learning starts: those at which the prior stays what it is (under the Gamma
        prior of shape 1 and rate 0; under others it is pulled towards that)."""
        if self.rule == "gamma":
            return np.append(prior, 1.0)
        if self.rule == "shares":
            return prior / prior.sum()
        return digamma(prior) - digamma(prior.sum())

    def update(self, averages, prior, statistics, rho, n_documents):
        """Return the averages after a step of size rho towards those of a batch, and the prior that follows.

        statistics (PriorStatistics) are those of the batch, n_documents the size of the corpus.
        """
        if self.rule == "shares":
            gains, total = statistics.topic_gains, statistics.topic_gains.sum()
            if total > 0.0:
                averages = (1.0 - rho) * averages + rho * gains / total
            return averages, self._shares(averages, prior)
        if self.rule == "gamma":
            batch = np.append(statistics.topic_gains, statistics.total_gain) / statistics.n_documents
        else:
            batch = statistics.log_theta / statistics.n_documents
        averages = (1.0 - rho) * averages + rho * batch
        if self.rule == "gradient":
            return averages, self._newton_step(batch, prior, rho)
        if self.rule == "gamma":
            told = self.rate + averages[-1] > 0.0  # else any prior is as good as another
            return averages, self.mode(averages, n_documents) if told else prior
        return averages, self._fixed_point(averages, prior)

    # Functions of the state of a mini-batch method

    def of(self, state, batch):
        """Return the prior of the documents of a batch: (n_topics,), or (n_documents, n_topics) of each."""
        return state.doc_topic_prior

    def learned(self, state, prior, statistics, rho, n_documents):
        """Return the fields of the state that change with a step from prior (see `update`)."""
        averages, prior = self.update(state.prior_averages, prior, statistics, rho, n_documents)
        return {"prior_averages": averages, "doc_topic_prior": prior}

    def rearranged(self, state, order):
        """Return the fields that change when the topics of order (n_topics,) move to places 0, 1, 2, ..."""
        averages = state.prior_averages
        if state.prior_rule is not None:  # one per topic, and with the Gamma prior one of all at the end
            averages = np.append(averages[order], averages[len(order) :])
        return {"doc_topic_prior": state.doc_topic_prior[order], "prior_averages": averages}

    def edited(self, state, edit):
        """Return the fields that change with a TopicEdit."""
        prior, averages = state.doc_topic_prior, state.prior_averages
        if state.prior_rule == "gamma":  # averages of expected tables, then one of all topics
            averages = np.append(edit.sums(averages[:-1]), averages[-1])
        elif state.prior_rule == "shares":
            averages = edit.sums(averages)
        elif state.prior_rule is not None:
            averages = edit.log_means(averages, prior)
        return {"doc_topic_prior": edit.sums(prior), "prior_averages": averages}

    def _shares(self, averages, prior):
        """A prior of the same sum, in which topics have the shares that averages say."""
        shares = (1.0 - LEAST_SHARE) * averages / averages.sum() + LEAST_SHARE / len(prior)
        return prior.sum() * shares

    def _fixed_point(self, mean_log_theta, prior):
        if self.value == "auto":
            updated = prior.copy()
            fit_dirichlet(mean_log_theta, updated, MAX_ITER, TOL)
            return updated
        value = fit_symmetric_dirichlet(mean_log_theta.mean(), len(prior), prior.mean(), MAX_ITER, TOL)
        return np.full(len(prior), value)

    def _newton_step(self, mean_log_theta, prior, rho):
        if len(prior) == 1:  # the likelihood is the same for any
            return prior
        if self.value == "auto-symmetric":
            value = prior.mean()
            step = symmetric_newton_step(mean_log_theta.mean(), len(prior), value)
            return np.full(len(prior), bounded_step(value, rho * step))
        total = prior.sum()
        gradient = digamma(total) - digamma(prior) + mean_log_theta
        # The Hessian is diagonal plus a constant: diag(-curvature) + polygamma(1, total).
        curvature = polygamma(1, prior)
        shift = (gradient / curvature).sum() / (1.0 / polygamma(1, total) - (1.0 / curvature).sum())
        return bounded_step(prior, rho * (gradient + shift) / curvature)

    def mode(self, averages, n_documents):
        """The mode under the Gamma prior; averages are those of topic gains and, last, of the total gain."""
        above = np.maximum(self.shape - 1.0 + n_documents * averages[:-1], 0.0)
        below = self.rate + n_documents * averages[-1]
        if self.value == "auto-symmetric":
            above = np.full(len(above), above.mean())
        largest = np.full(len(above), LARGEST_LEARNED)  # where the quotient might overflow
        mode = np.divide(above, below, out=largest, where=above / LARGEST_LEARNED < below)
        return np.maximum(mode, SMALLEST_LEARNED)


def symmetric_newton_step(mean_log, n, value):
    """Newton's step for the log-likelihood of n equal Dirichlet parameters, given the mean log of a draw."""
    if n == 1:  # the likelihood is the same for any
        return 0.0
    gradient = digamma(n * value) - digamma(value) + mean_log
    return gradient / (polygamma(1, value) - n * polygamma(1, n * value))


def bounded_step(value, step):
    """value + step, held between half and twice the value and inside the range of learned priors."""
    return np.clip(np.clip(value + step, value / 2, value * 2), SMALLEST_LEARNED, LARGEST_LEARNED)


def learned_topic_word_prior(rule, mean_log_phi, n_features, value, rho):
    """The symmetric Dirichlet parameter of topics that follows from the mean of E[log phi]."""
    if rule == "fixed-point":
        return fit_symmetric_dirichlet(mean_log_phi, n_features, value, MAX_ITER, TOL)
    return float(bounded_step(value, rho * symmetric_newton_step(mean_log_phi, n_features, value)))
