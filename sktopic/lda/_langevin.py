"""Stochastic gradient Riemannian Langevin dynamics for LDA (Patterson and Teh, 2013)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._constraints import POSITIVE, PRIOR, SHARED
from sktopic._inference._dense import DenseCounts
from sktopic._inference._gibbs import GibbsInference, GibbsStep
from sktopic._kernels._groups import ScaledCounts
from sktopic._kernels.lda._langevin import langevin_step
from sktopic._kernels.random._rng import combine_keys
from sktopic._topics._word_counts import N_PARTS, part_bounds
from sktopic._training._minibatches import FIT_KEY
from sktopic._training._step_size import StepSize
from sktopic.lda._estimator import MinibatchLDAEstimator

# Separates the random stream of the noise from that of the documents.
NOISE_KEY = 0x6E6F697365


@dataclass(frozen=True)
class LangevinUpdate:
    """One step of the chain, whose state theta is the store of the statistics.

    Attributes
    ----------
    learning_rate : factor of the step size
    topic_word_prior : parameter of the topics' prior
    total_samples : number of documents in the corpus
    key : key of the random stream of the noise
    """

    learning_rate: float
    topic_word_prior: float
    total_samples: float
    key: int

    def __call__(self, statistics, batch_counts, rho, is_first, workers):
        n_words, (n_features, n_topics) = len(batch_counts.words), statistics.store.shape
        local_words, counts = np.arange(n_words, dtype=np.int32), batch_counts.expected
        if not isinstance(counts, DenseCounts):
            counts = DenseCounts(n_words, n_topics, with_prior_statistics=False)
            counts.include(batch_counts.expected, local_words, workers)
        row_of_word = np.full(n_features, -1, dtype=np.int32)
        row_of_word[batch_counts.words] = local_words
        factor = self.total_samples / batch_counts.n_documents
        totals = np.empty((N_PARTS, n_topics))
        step = partial(
            langevin_step,
            part_bounds=part_bounds(n_features),
            theta=statistics.store,
            batch=ScaledCounts(counts.counts, row_of_word, factor),
            topic_word_prior=self.topic_word_prior,
            pull_down=1.0 + factor * counts.totals.sum(axis=0) / statistics.totals,
            step=self.learning_rate * rho,
            key=self.key,
            totals=totals,
        )
        with statistics.holding():
            workers.map_here(step, workers.ranges(N_PARTS))
            statistics.totals[:] = totals.sum(axis=0)
        return statistics

    def discards(self, rho, is_first):
        return False

    def unit(self, total_samples):
        return 1.0


@dataclass(frozen=True)
class LangevinRule:
    """One step per batch. The statistics are a draw of the topics.

    Attributes
    ----------
    learning_rate : factor of the step size
    """

    learning_rate: float

    is_average = False
    n_passes = 4  # each entry gets noise

    def of(self, state):
        key = combine_keys(state.seed, FIT_KEY, state.n_updates, NOISE_KEY)
        return LangevinUpdate(self.learning_rate, state.word_prior.base, state.total_samples, key)

    def started(self, words, topic_word_prior):
        return words.folded(topic_word_prior)  # the chain starts around the mean of its prior

    def grown(self, words, n_words, topic_word_prior):
        words.store[-n_words:] = topic_word_prior  # their mean under the prior
        return replace(words, totals=words.totals + n_words * topic_word_prior)


class LangevinLDA(MinibatchLDAEstimator):
    """LDA trained by stochastic gradient Langevin dynamics, which samples topics from their posterior.

    A Markov chain on the topics follows the gradient of the log posterior, estimated from a mini-batch, plus
    noise of matching size. It is called SGRLD or LDS in the literature. With small steps it samples from the
    posterior of the topics instead of maximizing it. Choose this model to see how much topics vary under the
    posterior. For predictions, prefer `OnlineEMLDA`.

    Read more on the guide page "Latent Dirichlet allocation".

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K in the literature.
    doc_topic_prior : None, float, array-like of shape (n_components,), 'auto', 'auto-symmetric', default=None
        Dirichlet parameters of the topic proportions, > 0, alpha in the literature. If None,
        ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100, 0.02 for 1000). 'auto' learns one
        parameter per topic; 'auto-symmetric' learns one for all topics. Learning starts at the second update,
        from the value for None, which has the weight of ten batches.
    topic_word_prior : float or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0. If None, ``min(0.1, 2 / n_components)``.
    learning_rate : float, default=0.3
        Factor a > 0 of the step size ``a (b + t) ** -c`` of update t >= 1.
    learning_offset : float, default=100.0
        Offset b of the step size, >= 0.
    learning_decay : float, default=0.6
        Exponent c of the step size, in [0, 1]. The chain converges to the posterior for values in (0.5, 1].
    max_iter : int, default=5
        Number of passes over the corpus in `fit`.
    batch_size : int, default=50
        Number of documents per update. Larger batches learn more slowly per pass but run better in parallel.
    total_samples : float or None, default=None
        Size of the corpus. Larger values reduce the influence of `topic_word_prior`. If None, the total
        weight of the documents given to `fit` and later calls of `partial_fit`.
    shuffle : bool, default=True
        Whether `fit` shuffles the documents before each pass. `partial_fit` never does.
    doc_burn_in : int, default=4
        Number of discarded Gibbs sweeps per document (burn-in) in training, >= 0.
    doc_sweeps : int, default=3
        Number of averaged Gibbs sweeps per document in training, >= 1.
    transform_burn_in : int, default=4
        Number of discarded Gibbs sweeps per document (burn-in) in `transform` and `score`, >= 0.
    transform_sweeps : int, default=6
        Number of averaged Gibbs sweeps per document in `transform` and `score`, >= 1.
    early_stopping : bool, default=False
        Whether `fit` scores held-out documents after each pass and stops when the score no longer rises.
    validation_fraction : float, default=0.1
        Share of the documents held out for early stopping, in (0, 1).
    n_iter_no_change : int, default=2
        Number of passes without improvement before early stopping.
    tol : float, default=1e-3
        Smallest improvement of the held-out score that counts, in nats per word.
    components_init : None or array-like of shape (n_given, n_features), default=None
        Initial topics, n_given <= n_components: rows of non-negative numbers, each normalized to sum to one.
        Other topics start at random. Updates reduce the weight of the initial topics, or discard them.
    n_jobs : int or None, default=None
        Number of threads, or processes if ``joblib.parallel_config`` chooses them. If None, 1; if -1, all
        cores. Does not affect results.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial topics, the shuffling and any sampling.
    verbose : int, default=0
        If positive, show a progress bar in `fit` and `partial_fit`, and in other methods for more than 10,000
        documents.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Probability of each word in each topic in the present state of the chain. Rows sum to one.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions.
    topic_word_prior_ : float
        Value of topic_word_prior in use.
    n_components_ : int
        Number of topics.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words of the columns, defined only if X has names or after `set_feature_names`.
    topic_names_ : ndarray of shape (n_components_,)
        Names of the topics, defined only after `sktopic.inspection.name_topics`.
    n_iter_ : int
        Number of passes of `fit`.
    n_batch_iter_ : int
        Number of updates.
    n_samples_seen_ : int or float
        Number of documents seen in all passes, by weight.
    total_samples_ : float
        Size of the corpus at the last update.
    validation_scores_ : ndarray of shape (n_iter_,)
        Held-out score after each pass, with early stopping.

    See Also
    --------
    OnlineEMLDA : Maximum likelihood with the same document step.
    CollapsedGibbsLDA : Samples from the posterior of the whole corpus.

    Notes
    -----
    Noise reaches every topic and word. An update therefore draws n_features * n_components normal numbers and
    takes as many square roots (about 3 ns per pair). Avoid small batches if the vocabulary is large. A batch
    without words leaves the chain unchanged. Memory: 8 bytes times n_features * n_components, plus the memory
    of one batch.

    Patterson and Teh write the step size ``a (1 + t / b) ** -c``. Their a is ``learning_rate * b ** -c``
    here.

    References
    ----------
    S. Patterson and Y. W. Teh, "Stochastic gradient Riemannian Langevin dynamics on the probability simplex",
    Advances in Neural Information Processing Systems 26, 2013: section 4, the expanded-mean parametrization.

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
        **SHARED,
        "topic_word_prior": [PRIOR, None],
        "learning_rate": [POSITIVE],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | ArrayLike | str | None = None,
        topic_word_prior: float | None = None,
        learning_rate: float = 0.3,
        learning_offset: float = 100.0,
        learning_decay: float = 0.6,
        max_iter: int = 5,
        batch_size: int = 50,
        total_samples: float | None = None,
        shuffle: bool = True,
        doc_burn_in: int = 4,
        doc_sweeps: int = 3,
        transform_burn_in: int = 4,
        transform_sweeps: int = 6,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 2,
        tol: float = 1e-3,
        components_init: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learning_rate = learning_rate
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.shuffle = shuffle
        self.doc_burn_in = doc_burn_in
        self.doc_sweeps = doc_sweeps
        self.transform_burn_in = transform_burn_in
        self.transform_sweeps = transform_sweeps
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.components_init = components_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _method(self):
        return self._composed(
            inference=GibbsStep(self.doc_burn_in, self.doc_sweeps),
            prediction=GibbsInference(self.transform_burn_in, self.transform_sweeps),
            rule=LangevinRule(float(self.learning_rate)),
            steps=StepSize(self.learning_offset, self.learning_decay),
            smoothed=False,
        )

    def _check_lanes(self):
        raise ValueError(
            "LangevinLDA does not support lanes: steps of a chain follow each other. Use HybridLDA."
        )
