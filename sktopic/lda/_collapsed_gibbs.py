"""Collapsed Gibbs sampling for LDA over a corpus (Griffiths and Steyvers, 2004)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._constraints import ANY_NUMBER, AT_LEAST_ONE, MATRIX, PRIOR, SHARED
from sktopic._estimators._fitted_attributes import fitted
from sktopic._estimators._sampler_estimator import SamplerEstimator
from sktopic._inference._gibbs import GibbsInference
from sktopic._runtime._compat import StrOptions
from sktopic._topics._prior import DocPrior, check_prior, default_topic_word_prior
from sktopic._topics._topic_word_prior import WordPrior, check_topic_word_prior
from sktopic._typing import FloatArray, MatrixLike
from sktopic.lda._collapsed_method import CollapsedLDA, CollapsedState


class CollapsedGibbsLDA(SamplerEstimator):
    """LDA trained by collapsed Gibbs sampling over a corpus in memory.

    A Markov chain samples the topics of all tokens of a corpus, with topics and proportions integrated out
    (CGS in the literature). Its stationary distribution is the exact posterior. LDA in tomotopy and MALLET
    uses the same method. Choose this model if the whole corpus fits in memory and exact samples matter more
    than time. `OnlineEMLDA` reaches the same predictions in a fraction of the time.

    Read more on the guide page "Latent Dirichlet allocation".

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K in the literature.
    doc_topic_prior : None, float, array-like of shape (n_components,), 'auto', 'auto-symmetric', default=None
        Dirichlet parameters of the topic proportions, > 0, alpha in the literature. If None,
        ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100, 0.02 for 1000). 'auto' learns one
        parameter per topic; 'auto-symmetric' learns one for all topics.
    topic_word_prior : float, array-like, sparse matrix, 'auto' or None, default=None
        Parameters of the topics' Dirichlet prior, > 0, beta in the literature. If None,
        ``min(0.1, 2 / n_components)``; 'auto' learns one number, starting from this value. A matrix of shape
        (n_components, n_features), as from `sktopic.seeding.seed_prior`, sets each parameter and is not
        learned. Entries missing from a sparse matrix get the value for None.
    max_iter : int, default=200
        Number of sweeps over the documents in each call of `fit` or `partial_fit`.
    n_draws : int, default=10
        Number of posterior draws whose topic counts are averaged. They are `thinning` sweeps apart, and the
        last sweep gives the last draw. There are fewer if `max_iter` is too small.
    thinning : int, default=5
        Number of sweeps between two averaged draws.
    prior_interval : int, default=10
        Number of sweeps between two updates of a learned prior (by Minka's fixed point).
    evaluate_every : int, default=10
        Number of sweeps between two entries of `log_likelihood_`. If 0, there are no entries.
    n_shards : int, default=1
        Number of parts of the documents. 1 is the exact sampler. Larger values are an approximation: parts
        are sampled in parallel, and each sees only its own changes during a sweep. The result depends on
        n_shards, never on n_jobs.
    transform_burn_in : int, default=4
        Number of discarded Gibbs sweeps per document (burn-in) in `transform` and `score`, >= 0.
    transform_sweeps : int, default=6
        Number of averaged Gibbs sweeps per document in `transform` and `score`, >= 1.
    components_init : None or array-like of shape (n_components, n_features), default=None
        Initial topics: rows of non-negative numbers, each normalized to sum to one. In the first call, a
        token of word w starts in topic k with probability proportional to p(w|k). After that, the initial
        topics have no effect. If None, the initial topic of each token is drawn uniformly.
    n_jobs : int or None, default=None
        Number of threads, at most n_shards in training. If None, 1; if -1, all cores. Does not affect
        results.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial topic assignments and of sampling.
    verbose : int, default=0
        If positive, show a progress bar in `fit` and `partial_fit`, and in other methods for more than 10,000
        documents.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Probability of each word in each topic; rows sum to one. Read-only, computed at the first access.
    topic_word_counts_ : ndarray of shape (n_components_, n_features_in_)
        Number of tokens of each word in each topic, averaged over `n_draws` draws.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions.
    topic_word_prior_ : float
        Value of topic_word_prior in use. If it is a matrix, the median of its entries.
    n_components_ : int
        Number of topics.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words of the columns, defined only if X has names or after `set_feature_names`.
    topic_names_ : ndarray of shape (n_components_,)
        Names of the topics, defined only after `sktopic.inspection.name_topics`.
    log_likelihood_ : ndarray of shape (n_evaluations,)
        Log joint probability in nats of words and topic assignments in the last call of `fit` or
        `partial_fit`, given earlier documents. One entry per `evaluate_every` sweeps.
    n_iter_ : int
        Number of sweeps in the last call.
    n_samples_seen_ : int
        Number of documents in the counts.

    See Also
    --------
    OnlineEMLDA : Trains on mini-batches and is much faster.
    StreamingGibbsLDA : Sweeps over each mini-batch once.

    Notes
    -----
    A token costs a scan of the topics in its document, or a faster scan of all topics if there are at most
    192. A word costs one pass over all topics per sweep. Memory: 8 bytes times n_features * n_components (up
    to three times that while draws are averaged), and about 50 bytes for each token of a call.

    - `partial_fit` sweeps new documents against the present counts and never moves earlier documents. A
      learned doc_topic_prior uses the documents of all calls in which it was learned. A learned
      topic_word_prior uses all counts.
    - With a matrix as topic_word_prior, sweeps of the first call may end with Metropolis-Hastings steps.
      These steps exchange whole topics with their learned doc_topic_prior. They preserve the stationary
      distribution.
    - There is no ``sample_weight``, because each copy of a document has its own topics. Repeat rows instead.
    - The sampler is exact for integer counts up to 64. For other counts, see `OnlineEMLDA`.

    References
    ----------
    T. L. Griffiths and M. Steyvers, "Finding scientific topics", Proceedings of the National Academy of
    Sciences 101, 2004: equation 5.

    H.-F. Yu, C.-J. Hsieh, H. Yun, S. V. N. Vishwanathan and I. S. Dhillon, "A scalable asynchronous
    distributed algorithm for topic modeling", WWW 2015: the order of the sweep.

    Thomas P. Minka, "Estimating a Dirichlet distribution", 2000: equation 55.

    D. Newman, A. Asuncion, P. Smyth and M. Welling, "Distributed algorithms for topic models", Journal of
    Machine Learning Research 10, 2009: n_shards > 1.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import CollapsedGibbsLDA
    >>> bars = make_bars(200, random_state=0)
    >>> lda = CollapsedGibbsLDA(n_components=10, max_iter=50, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (200, 10)
    >>> lda.log_likelihood_.shape
    (5,)
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "topic_word_prior": [PRIOR, *MATRIX, StrOptions({"auto"}), None],
        "n_draws": [AT_LEAST_ONE],
        "thinning": [AT_LEAST_ONE],
        "prior_interval": [AT_LEAST_ONE],
        "evaluate_every": [ANY_NUMBER],
        "n_shards": [AT_LEAST_ONE],
    }

    _state_class = CollapsedState

    n_components_: int = fitted("words.n_topics")
    doc_topic_prior_: FloatArray = fitted("doc_topic_prior")
    topic_word_prior_: float = fitted("prior.base")

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | ArrayLike | str | None = None,
        topic_word_prior: float | MatrixLike | Literal["auto"] | None = None,
        max_iter: int = 200,
        n_draws: int = 10,
        thinning: int = 5,
        prior_interval: int = 10,
        evaluate_every: int = 10,
        n_shards: int = 1,
        transform_burn_in: int = 4,
        transform_sweeps: int = 6,
        components_init: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.n_draws = n_draws
        self.thinning = thinning
        self.prior_interval = prior_interval
        self.evaluate_every = evaluate_every
        self.n_shards = n_shards
        self.transform_burn_in = transform_burn_in
        self.transform_sweeps = transform_sweeps
        self.components_init = components_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _method(self):
        return CollapsedLDA(
            n_components=self.n_components,
            doc_prior=DocPrior(self.doc_topic_prior, "gamma", shape=1.0, rate=0.0),
            word_prior=WordPrior(self.topic_word_prior, default_topic_word_prior(self.n_components)),
            components_init=self.components_init,
            n_shards=self.n_shards,
            prior_interval=self.prior_interval,
            schedule=self._schedule(range(int(self.max_iter), 0, -int(self.thinning))[: self.n_draws]),
            topics_are_named=bool(self._topic_names),
        )

    def _transform_step(self):
        return GibbsInference(self.transform_burn_in, self.transform_sweeps)

    @property
    def topic_word_counts_(self) -> FloatArray:
        return np.array(self._read()._state.words.store.T, order="C")

    def _check_settings(self):
        super()._check_settings()
        check_prior(self.doc_topic_prior, self.n_components)
        check_topic_word_prior(self.topic_word_prior, self.n_components)
