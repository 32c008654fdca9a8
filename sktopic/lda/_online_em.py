"""Online EM for LDA with local Gibbs sampling or variational inference (Dupuy and Bach, 2017)."""

from numbers import Real

import numpy as np

from sktopic._compat import Interval, StrOptions
from sktopic._document_steps import DenseCounts, GibbsStep, VariationalStep
from sktopic._kernels._rng import combine_each
from sktopic._minibatch import MinibatchTopicModel
from sktopic._parameters import describe_parameters
from sktopic.lda._minibatch import (
    AveragedStatistics,
    GibbsInference,
    MinibatchLDA,
    VariationalInference,
)

INFERENCE = {"gibbs": GibbsInference, "variational": VariationalInference}


@describe_parameters
class OnlineEMLDA(AveragedStatistics, MinibatchLDA):
    """Latent Dirichlet allocation by online expectation maximisation.

    Maximum likelihood for topics (and, if asked, for the prior of the topic proportions) by stochastic
    approximation: each mini-batch moves the averaged sufficient statistics a step towards those expected
    in its own documents. With ``inference='gibbs'`` the expectation is a Rao-Blackwellised Gibbs estimate
    of the exact one (G-OEM in the literature), the first choice for a given number of topics, be it in
    one pass over a stream or in several over a corpus. With ``inference='variational'`` it is the
    mean-field approximation (V-OEM): no sampling noise, but a bias towards worse likelihood.

    Parameters
    ----------
    @n_components
    inference : {'gibbs', 'variational'}, default='gibbs'
        How the topics of a document are inferred, in training and in `transform`.
    boost : bool, default=False
        Whether the topics are updated after every sweep or iteration of the document step instead of
        once a batch (the variants called ++). Pays with ``inference='variational'``; each batch is then
        held in memory as a whole.
    @doc_topic_prior
    prior_update : {'fixed-point', 'gamma'}, default='fixed-point'
        How doc_topic_prior is learned with 'auto': by Minka's fixed point from the average of
        E[log theta], or as the mode of its posterior under a Gamma prior.
    prior_shape, prior_rate : float, default=1.0
        Parameters of that Gamma prior, > 0 and >= 0.
    topic_word_prior : float or None, default=None
        Pseudo-count added to every word's expected count in every topic when topics are read, >= 0. It
        gives words that training has not seen a probability above zero; 0 leaves them at zero. None is
        ``min(0.1, 2 / n_components)``.
    @learning_decay
    @learning_offset
    average : bool, default=False
        Whether the topics reported are the mean of those after each update. Helps when learning_decay
        is below 0.5. Takes a second array of n_features * n_components.
    @max_iter
    @batch_size
    @total_samples
    @shuffle
    @gibbs
    @variational
    @loop

    Attributes
    ----------
    @fitted
    @total_samples_
    @validation_scores_

    See Also
    --------
    sktopic.metrics.left_to_right : Likelihood of whole documents, as published comparisons report it.

    Notes
    -----
    A token costs one scan of the topics present in its document, not of all topics; a distinct word of a
    batch costs one pass over all topics. Memory: 8 bytes times n_features * n_components (twice that with
    ``average=True``) and what one batch takes.

    Departures from the paper: sweeps run in the order of the words instead of a random one and start
    from a sequential assignment; conditional probabilities are summed as they are drawn from; step sizes
    default to an exponent of 0.65 instead of 0.5 (see the documentation's table of defaults). Words are
    smoothed when topics are read.

    A count c becomes tokens: for c <= 64, whole ones and one of the remaining weight; above, 64 equal
    ones. Gibbs sampling mixes slowly where tokens weigh much: for counts far above 64 prefer
    ``inference='variational'``.

    References
    ----------
    C. Dupuy and F. Bach, "Online but accurate inference for latent variable models with local Gibbs
    sampling", Journal of Machine Learning Research 18(126), 2017: algorithms 1 and 2, equations 8, 11, 12
    and 14.

    Thomas P. Minka, "Estimating a Dirichlet distribution", 2000.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import OnlineEMLDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = OnlineEMLDA(n_components=10, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (500, 10)
    >>> lda.score(bars.data) > -2.6
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchLDA._parameter_constraints,
        "inference": [StrOptions({"gibbs", "variational"})],
        "boost": ["boolean"],
        "prior_update": [StrOptions({"fixed-point", "gamma"})],
        "prior_shape": [Interval(Real, 0, None, closed="neither")],
        "prior_rate": [Interval(Real, 0, None, closed="left")],
        "average": ["boolean"],
    }

    def __init__(
        self,
        n_components=10,
        *,
        inference="gibbs",
        boost=False,
        doc_topic_prior=None,
        prior_update="fixed-point",
        prior_shape=1.0,
        prior_rate=1.0,
        topic_word_prior=None,
        learning_decay=0.65,
        learning_offset=1.0,
        average=False,
        max_iter=5,
        batch_size=50,
        total_samples=None,
        shuffle=True,
        doc_burn_in=4,
        doc_sweeps=3,
        transform_burn_in=4,
        transform_sweeps=6,
        max_doc_update_iter=100,
        mean_change_tol=1e-3,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=2,
        tol=1e-3,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._keep_parameters(locals())

    def _check_continuation(self):
        super()._check_continuation()
        if self.average != self._statistics.averages:
            raise ValueError(
                f"average={self.average!r} differs from what training began with; set it back, or call fit "
                "to start anew."
            )

    @property
    def _group_size(self):
        # Boosting updates the topics after each sweep over the whole batch.
        return self.batch_size if self.boost else MinibatchTopicModel._group_size

    def _topic_probabilities(self):
        statistics = self._statistics
        if statistics.averages and self._n_topic_updates > 0:
            return statistics.average_probabilities(
                self.total_samples_, self.topic_word_prior_, self._n_topic_updates
            )
        return super()._topic_probabilities()

    def _inference_topics(self):
        return self._topic_probabilities()

    def _training_step(self):
        return INFERENCE[self.inference]._training_step(self)

    def _transform_step(self):
        return INFERENCE[self.inference]._transform_step(self)

    def _document_step(self, batch, keys, total_samples, workers):
        if self.boost and batch.n_words > 0:
            return self._boosted_step(batch, keys, total_samples, workers)
        return super()._document_step(batch, keys, total_samples, workers)

    def _boosted_step(self, batch, keys, total_samples, workers):
        """The document step with a provisional global step after each of its iterations (section 3.3).

        Every provisional step starts from the statistics as they were before the batch. What is returned
        are the counts of the last iteration; of Gibbs sampling, the mean over the kept sweeps.
        """
        before = self._statistics.subset(batch.words)
        own_words = np.arange(batch.n_words, dtype=np.int32)
        kept = DenseCounts(batch.n_words, self.n_components_, self._learns_prior, n_repeats=0)
        gibbs = self.inference == "gibbs"
        n_iterations = self.doc_burn_in + self.doc_sweeps if gibbs else self.max_doc_update_iter
        present, prior, state = before, self.doc_topic_prior_, None
        for iteration in range(n_iterations):
            topics = present.probabilities(total_samples, self.topic_word_prior_)
            gathered = topics.gather(own_words, prior, workers)
            counts, state = self._boosted_iteration(batch, gathered, prior, keys, iteration, state, workers)
            settled = not gibbs and counts.changes.max() < self.mean_change_tol
            if gibbs and iteration >= self.doc_burn_in:
                kept.n_repeats += 1
                kept.include(counts, own_words, workers)
                counts = kept
            if settled or iteration == n_iterations - 1:
                return counts
            present = before.copy()
            n_tokens = batch.lengths.sum()
            self._update_statistics(present, counts, own_words, batch.n_documents, n_tokens, workers)
            if self._learns_prior_now():
                prior = self._learned_prior(self._prior_averages, prior, counts, total_samples)[1]

    def _boosted_iteration(self, batch, gathered, prior, keys, iteration, state, workers):
        """One sweep or iteration; the state is what the next one goes on from."""
        if self.inference == "variational":
            counts = VariationalStep(1, 0.0)(batch, gathered, prior, keys, workers, gamma=state)
            return counts, counts.gamma
        if state is None:
            state = np.full(batch.n_clumps, -1, dtype=np.int32)
        keys = combine_each(keys, iteration)
        step = GibbsStep(0, 1)
        return step(batch, gathered, prior, keys, workers, self._learns_prior, assignments=state), state
