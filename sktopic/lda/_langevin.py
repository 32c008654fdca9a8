"""Stochastic gradient Riemannian Langevin dynamics for LDA (Patterson and Teh, 2013)."""

from numbers import Real

import numpy as np

from sktopic._compat import Interval
from sktopic._document_steps import DenseCounts
from sktopic._kernels._langevin import langevin_step
from sktopic._minibatch import FIT_KEY
from sktopic._parameters import describe_parameters
from sktopic._topic_word import N_PARTS, part_bounds
from sktopic.lda._minibatch import GibbsInference, MinibatchLDA

# Tells the noise of a step from the sampling of its documents.
NOISE_KEY = 0x6E6F697365


@describe_parameters
class LangevinLDA(GibbsInference, MinibatchLDA):
    """Latent Dirichlet allocation by stochastic gradient Riemannian Langevin dynamics.

    A Markov chain on the topics whose steps follow the gradient of the log posterior, estimated from a
    mini-batch, plus noise of matching size (SGRLD, or LDS, in the literature): with small steps it samples
    from the posterior of the topics instead of climbing to its top. Choose it to see how far topics vary
    under the posterior; for predictions from one set of topics prefer `OnlineEMLDA`.

    Parameters
    ----------
    @n_components
    @doc_topic_prior
    topic_word_prior : float or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0. None is ``min(0.1, 2 / n_components)``.
    learning_rate : float, default=0.3
        Factor a of the step size a (b + t) ** -c of update t = 1, 2, ...; > 0.
    learning_offset : float, default=100.0
        Offset b of the step size, >= 0.
    learning_decay : float, default=0.6
        Exponent c of the step size, in [0, 1]. Values in (0.5, 1] let the chain converge to the posterior.
    @max_iter
    @batch_size
    @total_samples
    @shuffle
    @gibbs
    @loop

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Probability of each word in each topic, in the present state of the chain; rows sum to one.
    @doc_topic_prior_
    topic_word_prior_ : float
        Parameter of the topics' prior in use.
    @n_components_
    @n_features_in_
    @feature_names_in_
    @n_iter_
    @n_batch_iter_
    @n_samples_seen_
    @total_samples_
    @validation_scores_

    See Also
    --------
    OnlineEMLDA : Maximum likelihood with the same document step.
    CollapsedGibbsLDA : Samples from the posterior of the whole corpus.

    Notes
    -----
    The noise reaches every topic and word: an update costs n_features * n_components normal numbers and
    square roots (about 3 ns for both) besides its documents, so that batches should not be small
    where the vocabulary is large. A batch without words leaves the chain where it is. Memory: 8 bytes times
    n_features * n_components and what one batch takes.

    Patterson and Teh write the step size a (1 + t / b) ** -c: their a is learning_rate * b ** -c here.

    References
    ----------
    S. Patterson and Y. W. Teh, "Stochastic gradient Riemannian Langevin dynamics on the probability simplex",
    Advances in Neural Information Processing Systems 26, 2013: section 4, the expanded-mean parametrisation.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import LangevinLDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = LangevinLDA(n_components=10, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (500, 10)
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchLDA._parameter_constraints,
        "topic_word_prior": [Interval(Real, 0, None, closed="neither"), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        learning_rate=0.3,
        learning_offset=100.0,
        learning_decay=0.6,
        max_iter=5,
        batch_size=50,
        total_samples=None,
        shuffle=True,
        doc_burn_in=4,
        doc_sweeps=3,
        transform_burn_in=4,
        transform_sweeps=6,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=2,
        tol=1e-3,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._keep_parameters(locals())

    def _initialize(self, n_features, seed):
        super()._initialize(n_features, seed)
        statistics = self._statistics  # the chain starts around the mean of its prior
        statistics.store *= self.topic_word_prior_
        statistics.totals *= self.topic_word_prior_

    def _langevin_step_size(self):
        """epsilon of the next update."""
        return self.learning_rate * self._step_size(self._n_topic_updates + 1)

    def _read_topics(self, total_samples, geometric=False):
        return self._statistics.probabilities(1.0, 0.0)

    def _global_work(self, counts):
        return super()._global_work(counts) + 4 * self._store.size  # noise for every entry

    def _update_statistics(self, statistics, counts, words, n_documents, n_tokens, workers):
        """One step of the chain, whose state theta is the statistics."""
        if not isinstance(counts, DenseCounts):
            sampled, words_of_counts = counts, np.arange(len(words), dtype=np.int32)
            counts = DenseCounts(len(words), self._n_trained, with_evidence=False)
            counts.include(sampled, words_of_counts, workers)
        counts_row = np.full(self.n_features_in_, -1, dtype=np.int32)
        counts_row[words] = np.arange(len(words), dtype=np.int32)
        factor = self.total_samples_ / n_documents
        pull_down = 1.0 + factor * counts.totals.sum(axis=0) / statistics.totals
        totals = np.empty((N_PARTS, self._n_trained))
        settings = (
            part_bounds(self.n_features_in_),
            statistics.store,
            counts.counts,
            counts_row,
            factor,
            self.topic_word_prior_,
            pull_down,
            self._langevin_step_size(),
            self._key(FIT_KEY, self.n_batch_iter_, NOISE_KEY),
            totals,
        )
        workers.map_here(langevin_step, [(a, b, *settings) for a, b in workers.ranges(N_PARTS)])
        statistics.totals[:] = totals.sum(axis=0)
