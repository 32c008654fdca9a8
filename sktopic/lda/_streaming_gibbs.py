"""Streaming Gibbs sampling for LDA (Gao, Chen and Zhu, 2016)."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._constraints import SHARED
from sktopic._inference._gibbs import GibbsInference, GibbsStep
from sktopic._runtime._compat import Interval
from sktopic._training._statistics_updates import RunningSum
from sktopic._training._step_size import mean_of_all
from sktopic.lda._estimator import MinibatchLDAEstimator, topic_word_counts


class StreamingGibbsLDA(MinibatchLDAEstimator):
    """LDA trained by streaming Gibbs sampling, with decay for streams whose topics drift.

    Each document of a mini-batch is sampled with the topics held fixed. Its last sample is added to running
    counts of words in topics, so each token counts in one topic. This is SGS in the literature. You need
    neither a step size nor the size of the corpus. With `decay` below one, earlier batches fade and topics
    follow a stream that changes.

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
        Pseudo-count of each word in each topic, >= 0, added to the counts when topics are computed. It gives
        unseen words a probability above zero. If None, ``min(0.1, 2 / n_components)``.
    decay : float, default=1.0
        Factor of the running counts at each update, in (0, 1]. With 0.99, a batch loses half of its weight in
        69 updates.
    max_iter : int, default=1
        Number of passes over the corpus in `fit`. Each pass adds to the counts.
    batch_size : int, default=50
        Number of documents per update. Larger batches learn more slowly per pass but run better in parallel.
    shuffle : bool, default=True
        Whether `fit` shuffles the documents before each pass. `partial_fit` never does.
    doc_burn_in : int, default=6
        Number of Gibbs sweeps per document in training before the sweep that is counted, >= 0.
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
        Probability of each word in each topic; rows sum to one. Read-only, computed at the first access.
    topic_word_counts_ : ndarray of shape (n_components_, n_features_in_)
        Number of tokens of each word in each topic, summed over all batches (with decay), without the
        pseudo-count.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions.
    topic_word_prior_ : float
        Pseudo-count in use.
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
    OnlineEMLDA : Averages conditional probabilities over sweeps and batches, with step sizes.
    CollapsedGibbsLDA : Sweeps over the whole corpus.

    Notes
    -----
    The first batch is inferred under the random initial topics, which are then discarded. Topics are held
    fixed while a batch is swept, as in Dupuy and Bach. A token costs one scan of the topics in its document.
    Counts above 2 ** 24 are rounded to float32. Memory: 8 bytes times n_features * n_components, plus the
    memory of one batch.

    References
    ----------
    Y. Gao, J. Chen and J. Zhu, "Streaming Gibbs sampling for LDA model", arXiv:1601.01142, 2016.

    C. Dupuy and F. Bach, "Online but accurate inference for latent variable models with local Gibbs
    sampling", Journal of Machine Learning Research 18(126), 2017: section 6.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import StreamingGibbsLDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = StreamingGibbsLDA(n_components=10, random_state=0).fit(bars.data)
    >>> bool(lda.topic_word_counts_.sum() == bars.data.sum())
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "decay": [Interval(Real, 0, 1, closed="right")],
    }

    topic_word_counts_ = topic_word_counts

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | ArrayLike | str | None = None,
        topic_word_prior: float | None = None,
        decay: float = 1.0,
        max_iter: int = 1,
        batch_size: int = 50,
        shuffle: bool = True,
        doc_burn_in: int = 6,
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
        self.decay = decay
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.doc_burn_in = doc_burn_in
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
            inference=GibbsStep(self.doc_burn_in, 1, drawn=True),
            prediction=GibbsInference(self.transform_burn_in, self.transform_sweeps),
            rule=RunningSum(float(self.decay)),
            steps=mean_of_all,
        )

    def _check_lanes(self):
        """All options support lanes."""
