"""Online EM for LDA with local Gibbs sampling or variational inference (Dupuy and Bach, 2017)."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._constraints import AT_LEAST_ONE, MATRIX, PRIOR, SHARED, ZERO
from sktopic._inference._gibbs import GibbsInference, GibbsStep
from sktopic._inference._variational import VariationalStep
from sktopic._runtime._compat import StrOptions
from sktopic._topics._prior import DocPrior
from sktopic._topics._topic_word_prior import is_matrix
from sktopic._training._minibatches import Growth
from sktopic._training._statistics_updates import DocumentAverage
from sktopic._training._step_size import StepSize, StreamStep
from sktopic._typing import MatrixLike
from sktopic.lda._boosting import GibbsIterations, VariationalIterations
from sktopic.lda._estimator import MinibatchLDAEstimator, topic_word_counts
from sktopic.lda._lda_state import LDAState, ListedLDAState

# Default step sizes: the exponent, and the largest multiple of 1 / t in the first pass.
DECAY, MOST_OVER_T = 0.65, 4.0
# Largest and smallest default batch of fit, and the updates that a pass makes if these sizes allow it. More
# updates make topics more distinct. If a corpus has few long documents, they also raise the score.
LARGEST_BATCH, SMALLEST_BATCH, UPDATES = 50, 5, 150


def em_parts(model):
    """Return the document steps, the rule and the step sizes of online EM with the parameters of a model."""
    steps = StreamStep(StepSize(model.learning_offset, DECAY), MOST_OVER_T)
    if model.learning_decay is not None:
        steps = StepSize(model.learning_offset, model.learning_decay)
    if model.inference == "gibbs":
        inference = GibbsStep(model.doc_burn_in, model.doc_sweeps, by_words=True)
        prediction = GibbsInference(model.transform_burn_in, model.transform_sweeps, by_words=True)
    else:
        inference = prediction = VariationalStep(model.max_doc_update_iter, model.mean_change_tol)
    return {"inference": inference, "prediction": prediction, "rule": DocumentAverage(), "steps": steps}


def documents_per_update(self, n_documents=None):
    """Return the size of batches in fit, of so many documents; or elsewhere, if n_documents is None."""
    if self.batch_size is not None:
        return int(self.batch_size)
    # One batch treats weights of documents as repeated documents.
    if n_documents is None or n_documents <= LARGEST_BATCH:
        return LARGEST_BATCH
    return max(SMALLEST_BATCH, min(LARGEST_BATCH, n_documents // UPDATES))


class OnlineEMLDA(MinibatchLDAEstimator):
    """Latent Dirichlet allocation (LDA) trained by online expectation maximization (EM).

    This is the recommended model for a given number of topics, in one pass over a stream or in several passes
    over a corpus. Topics are fitted by maximum likelihood with stochastic approximation. By default, so are
    the shares of topics in `doc_topic_prior`. Each mini-batch moves averages of sufficient statistics one
    step toward their expectations in its documents. With ``inference='gibbs'`` the expectation is a
    Rao-Blackwellized Gibbs estimate (G-OEM in the literature). With ``inference='variational'`` it is the
    mean-field approximation (V-OEM), which has no sampling noise but a bias toward lower likelihood.

    Read more on the guide page "Latent Dirichlet allocation".

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K in the literature.
    inference : {'gibbs', 'variational'}, default='gibbs'
        Inference of the topics of a document, in training and in `transform`.
    boost : bool or 'mean', default=False
        Whether topics are updated after every sweep or iteration of the document step, instead of once per
        batch (the variants called ++). This can help with ``inference='variational'`` and
        ``doc_topic_prior=None``. With ``inference='gibbs'``, 'mean' updates by the mean of the sweeps so far,
        which loses less than True. Each batch is held in memory as a whole.
    doc_topic_prior : None, float, array-like of shape (n_components,), 'auto', 'auto-symmetric', default='auto'
        Dirichlet parameters of the topic proportions, > 0, alpha in the literature. If None,
        ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100, 0.02 for 1000). 'auto' learns one
        parameter per topic; 'auto-symmetric' learns one for all topics. Learning starts at the second update,
        from the value for None, which has the weight of ten batches.
    prior_update : {'fixed-point', 'gamma', 'shares'}, default='shares'
        How `doc_topic_prior` is learned. 'shares' learns the shares of topics and keeps the sum of the
        parameters at its value for None. It finds the most distinct topics: general words gather in topics
        that many documents have. It does not allow 'auto-symmetric'. 'fixed-point' is Minka's fixed point
        from the average of ``E[log theta]``. 'gamma' is the posterior mode under a Gamma prior.
    prior_shape, prior_rate : float, default=1.0
        Shape (> 0) and rate (>= 0) of the Gamma prior with ``prior_update='gamma'``.
    topic_word_prior : float, array-like, sparse matrix or None, default=None
        Pseudo-count of each word in each topic, >= 0, added to the counts when topics are computed. It gives
        unseen words a probability above zero, unless it is 0. If None, ``min(0.1, 2 / n_components)``. A
        matrix of shape (n_components, n_features), as from `sktopic.seeding.seed_prior`, sets each
        pseudo-count, > 0. Entries missing from a sparse matrix get the value for None.
    learning_decay : float or None, default=None
        Exponent kappa of the step size ``(learning_offset + t) ** -learning_decay`` of update t = 1, 2, ...,
        in [0, 1]. Training converges for values in (0.5, 1]. If None, 0.65 with steps of at most 4 / t until
        the number of documents seen reaches the size of the corpus. Choose a number for a stream that drifts.
    learning_offset : float, default=1.0
        Offset of the step size, >= 0. Larger values slow down the first updates.
    average : bool, default=False
        Whether to report the mean of the topics over all updates. This helps if learning_decay is below 0.5,
        and needs a second array of n_features * n_components. The learned prior is not averaged: it
        already follows from averages over batches.
    topics_per_word : int or None, default=None
        Maximum number of topics that store a count of the same word. The rest of its counts is shared by all
        topics in proportion to their sizes. If None, all topics store a count, which takes ``8 * n_features *
        n_components`` bytes. A number n reduces this to ``8 * n_features * n`` bytes. Use about 256 for thousands
        of topics; small values lower the score (see Notes).
    max_iter : int, default=5
        Number of passes over the corpus in `fit`.
    batch_size : int or None, default=None
        Number of documents per update. Larger batches learn more slowly per pass but run better in parallel.
        If None, 50. In `fit`, 51 to 7,499 training documents then have smaller batches, of one document in 150,
        but at least 5.
    total_samples : float or None, default=None
        Size of the corpus. Larger values reduce the influence of `topic_word_prior`. If None, the total
        weight of the documents given to `fit` and later calls of `partial_fit`. If `fit` was never called,
        twice the weight given to `partial_fit`, as more documents are expected.
    shuffle : bool, default=True
        Whether `fit` shuffles the documents before each pass. `partial_fit` never does.
    doc_burn_in : int, default=4
        Number of discarded Gibbs sweeps per document (burn-in) in training, >= 0. The first one is
        replaced by drawing each token's topic from its word alone, also in `transform`, but not in training
        with boost.
    doc_sweeps : int, default=3
        Number of averaged Gibbs sweeps per document in training, >= 1.
    transform_burn_in : int, default=4
        Number of discarded Gibbs sweeps per document (burn-in) in `transform` and `score`, >= 0.
    transform_sweeps : int, default=6
        Number of averaged Gibbs sweeps per document in `transform` and `score`, >= 1.
    max_doc_update_iter : int, default=100
        Maximum number of iterations over a document.
    mean_change_tol : float, default=1e-3
        Iterations over a document stop when its Dirichlet parameters change by less than this on average.
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
        Probability of each word in each topic; rows sum to one. Read-only, computed at the first access.
    topic_word_counts_ : ndarray of shape (n_components_, n_features_in_)
        Expected number of tokens of each word in each topic in `total_samples_` documents, without the
        pseudo-count.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions.
    topic_word_prior_ : float
        Pseudo-count in use. If the prior is a matrix, the median of its entries.
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
    sktopic.metrics.left_to_right : Likelihood of whole documents, as published comparisons report it.

    Notes
    -----
    A token costs a short pass over all topics if there are at most 512, otherwise a scan of the topics in its
    document. Each distinct word of a batch adds one pass over all topics. Memory: 8 bytes times n_features *
    n_components (twice that with ``average=True``), plus the memory of one batch. For a single pass over a
    few thousand documents, ``doc_burn_in=10, doc_sweeps=10`` predicts better than the defaults. For texts of
    fewer than ten words, ``doc_topic_prior=0.05, max_iter=20`` finds more coherent topics. A count c <=
    64 becomes tokens of weight one and one token of the remaining weight. A larger count becomes 64 equal
    tokens. Heavy tokens mix slowly: for counts far above 64 prefer ``inference='variational'``. Departures
    from the paper:

    - Sweeps visit tokens in the order of the words, and sum conditional probabilities as they are computed.
      The first sweep is replaced by draws from words alone. Pseudo-counts are added when topics are computed.
    - The default step size has exponent 0.65 instead of 0.5, and is at most 4 / t in the first pass.
    - In later passes of `fit`, a document's estimated earlier counts are subtracted from the topics in
      averaged sweeps. This does not apply to boost, mean-field inference, `partial_fit` and
      distributed lanes.

    With topics_per_word, the largest counts of each word are stored in single precision, and initial topics are
    equal. Draws always scan the topics of the document, which is slower than the default for fewer than some
    5,000 topics. ``components_`` still has ``n_features * n_components`` numbers. Not supported:
    ``inference='variational'``, boost, average, components_init, a matrix as topic_word_prior, edits of topics,
    and lanes.

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
    """  # noqa: E501

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "topic_word_prior": [ZERO, PRIOR, *MATRIX, None],
        "learning_decay": [*SHARED["learning_decay"], None],
        "inference": [StrOptions({"gibbs", "variational"})],
        "boost": ["boolean", StrOptions({"mean"})],
        "average": ["boolean"],
        "batch_size": [AT_LEAST_ONE, None],
        "topics_per_word": [AT_LEAST_ONE, None],
        "prior_update": [StrOptions({"fixed-point", "gamma", "shares"})],
        "prior_shape": [PRIOR],
        "prior_rate": [ZERO, PRIOR],
    }

    _state_classes = LDAState, ListedLDAState

    topic_word_counts_ = topic_word_counts

    def __init__(
        self,
        n_components: int = 10,
        *,
        inference: Literal["gibbs", "variational"] = "gibbs",
        boost: bool | Literal["mean"] = False,
        doc_topic_prior: float | ArrayLike | str | None = "auto",
        prior_update: Literal["fixed-point", "gamma", "shares"] = "shares",
        prior_shape: float = 1.0,
        prior_rate: float = 1.0,
        topic_word_prior: float | MatrixLike | None = None,
        learning_decay: float | None = None,
        learning_offset: float = 1.0,
        average: bool = False,
        topics_per_word: int | None = None,
        max_iter: int = 5,
        batch_size: int | None = None,
        total_samples: float | None = None,
        shuffle: bool = True,
        doc_burn_in: int = 4,
        doc_sweeps: int = 3,
        transform_burn_in: int = 4,
        transform_sweeps: int = 6,
        max_doc_update_iter: int = 100,
        mean_change_tol: float = 1e-3,
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
        self.inference = inference
        self.boost = boost
        self.doc_topic_prior = doc_topic_prior
        self.prior_update = prior_update
        self.prior_shape = prior_shape
        self.prior_rate = prior_rate
        self.topic_word_prior = topic_word_prior
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.average = average
        self.topics_per_word = topics_per_word
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.shuffle = shuffle
        self.doc_burn_in = doc_burn_in
        self.doc_sweeps = doc_sweeps
        self.transform_burn_in = transform_burn_in
        self.transform_sweeps = transform_sweeps
        self.max_doc_update_iter = max_doc_update_iter
        self.mean_change_tol = mean_change_tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.components_init = components_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _method(self):
        if self.inference == "gibbs":
            iterations = partial(
                GibbsIterations,
                burn_in=self.doc_burn_in,
                sweeps=self.doc_sweeps,
                averages_burn_in=self.boost == "mean",
            )
        else:
            settings = {"max_iter": self.max_doc_update_iter, "tol": self.mean_change_tol}
            iterations = partial(VariationalIterations, **settings)
        return self._composed(
            **em_parts(self),
            doc_prior=DocPrior(self.doc_topic_prior, self.prior_update, self.prior_shape, self.prior_rate),
            averaged=self.average,
            topics_per_word=self.topics_per_word,
            iterations=iterations if self.boost else None,
            growth=Growth.DOUBLE,
        )

    _documents_per_update = documents_per_update

    def _warn_of_doubtful(self, summary, streamed):
        super()._warn_of_doubtful(summary, streamed)
        if not streamed and isinstance(self.doc_topic_prior, str) and self.prior_update == "shares":
            summary.warn_of_short_documents(type(self).__name__, self.n_components)

    def _check_settings(self):
        super()._check_settings()
        if self.boost == "mean" and self.inference == "variational":
            raise ValueError(
                "boost='mean' is invalid with inference='variational', which has no sweeps to average. "
                "Choose boost=True."
            )
        if self.topics_per_word is not None:
            self._check_topics_per_word()
        prior = self.doc_topic_prior
        if isinstance(prior, str) and (prior, self.prior_update) == ("auto-symmetric", "shares"):
            raise ValueError(
                "doc_topic_prior='auto-symmetric' with prior_update='shares' is invalid: the shares of "
                "topics are equal and their sum is fixed. Choose doc_topic_prior='auto' or another "
                "prior_update."
            )

    def _check_topics_per_word(self):
        """Raise ValueError if another parameter needs a count of every word in every topic."""
        allowed = {
            "inference": self.inference == "gibbs",
            "boost": not self.boost,
            "average": not self.average,
            "topic_word_prior": not is_matrix(self.topic_word_prior),
            "components_init": self.components_init is None,
        }
        for name in [name for name in allowed if not allowed[name]]:
            default = type(self)().get_params()[name]
            raise ValueError(
                f"topics_per_word={self.topics_per_word!r} is invalid with {name}="
                f"{getattr(self, name)!r:.40}: choose topics_per_word=None, or {name}={default!r}."
            )

    def _check_lanes(self):
        if self.topics_per_word is not None:
            raise ValueError(
                f"topics_per_word={self.topics_per_word!r} does not support lanes, which send counts of all "
                "topics. Set topics_per_word=None."
            )
        if self.boost:
            raise ValueError(
                f"boost={self.boost!r} does not support lanes: topics are updated within a batch, which "
                "other lanes do not see. Choose boost=False."
            )
        if self.average:
            raise ValueError(
                "average=True does not support lanes: no lane has the topics between two merges. Choose "
                "average=False; training converges without averages if learning_decay is above 0.5."
            )
