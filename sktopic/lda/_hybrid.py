"""Stochastic variational inference for LDA with Gibbs sampling (Mimno et al., 2012; Dupuy and Bach, 2017)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._constraints import MATRIX, PRIOR, SHARED
from sktopic._inference._gibbs import GibbsInference, GibbsStep
from sktopic._runtime._compat import StrOptions
from sktopic._topics._topic_word_prior import WordPrior
from sktopic._topics._word_count_views import geometric
from sktopic._training._minibatches import Growth
from sktopic._training._statistics_updates import DocumentAverage
from sktopic._training._step_size import StepSize
from sktopic._typing import MatrixLike
from sktopic.lda._estimator import MinibatchLDAEstimator, topic_word_counts, topic_word_posterior


class HybridLDA(MinibatchLDAEstimator):
    """LDA trained by stochastic variational inference with Gibbs sampling inside documents.

    Topics have Dirichlet posteriors. Each mini-batch moves them along a natural gradient, as in
    `OnlineVariationalLDA`. Inside a document, the topics of tokens are sampled, and their conditional
    probabilities are averaged (VarGibbs in the literature). With ``counts='draws'``, the sampled topics are
    counted instead (Online-CGS). Choose this model if you need Dirichlet posteriors of the topics, and Gibbs
    sampling instead of mean-field inference inside documents.

    Read more on the guide page "Latent Dirichlet allocation".

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K in the literature.
    counts : {'probabilities', 'draws'}, default='probabilities'
        What an update sums over tokens. 'probabilities' are the conditional probabilities of a token's topics
        given the topics of the document's other tokens. 'draws' are the sampled topics (Mimno et al., 2012).
        They predict worse, but an update changes only the sampled pairs of word and topic.
    doc_topic_prior : None, float, array-like of shape (n_components,), 'auto', 'auto-symmetric', default=None
        Dirichlet parameters of the topic proportions, > 0, alpha in the literature. If None,
        ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100, 0.02 for 1000). 'auto' learns one
        parameter per topic; 'auto-symmetric' learns one for all topics. Learning starts at the second update,
        from the value for None, which has the weight of ten batches.
    topic_word_prior : float, array-like, sparse matrix or None, default=None
        Parameters of the topics' Dirichlet prior, > 0, eta in the literature. If None,
        ``min(0.3, 20 / n_components)``. Draws vary more than probabilities, and need a larger prior: with
        ``counts='draws'``, ``min(0.3, 30 / n_components)``. A matrix of shape (n_components, n_features), as
        from `sktopic.seeding.seed_prior`, sets each parameter. Entries missing from a sparse matrix get the
        value for None.
    learning_decay : float, default=0.65
        Exponent kappa of the step size ``(learning_offset + t) ** -learning_decay`` of update t = 1, 2, ...,
        in [0, 1]. Training converges for values in (0.5, 1].
    learning_offset : float, default=4.0
        Offset of the step size, >= 0. Larger values slow down the first updates.
    max_iter : int, default=5
        Number of passes over the corpus in `fit`.
    batch_size : int, default=256
        Number of documents per update. Larger batches learn more slowly per pass but run better in parallel.
    total_samples : float or None, default=None
        Size of the corpus. Larger values reduce the influence of `topic_word_prior`. If None, the total
        weight of the documents given to `fit` and later calls of `partial_fit`. If `fit` was never called,
        the weight given to `partial_fit` times its cube root (at least 2), as more documents are expected.
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
    topic_word_posterior_ : ndarray of shape (n_components_, n_features_in_)
        Parameters of the topics' Dirichlet posteriors, lambda in the literature: `topic_word_counts_` plus
        the prior. Their means are `components_`.
    total_samples_ : float
        Size of the corpus at the last update.
    validation_scores_ : ndarray of shape (n_iter_,)
        Held-out score after each pass, with early stopping.

    See Also
    --------
    OnlineEMLDA : The same sampling inside documents, for maximum likelihood topics.
    OnlineVariationalLDA : Mean-field inference inside documents.

    Notes
    -----
    A token costs a short pass over all topics if there are at most 512, otherwise a scan of the topics in its
    document. With ``counts='draws'``, it always costs the scan, and the statistics change only for the
    sampled pairs of word and topic, as in Li et al., 2016. A distinct word of a batch costs n_components
    digamma functions. Memory: 8 bytes times n_features * n_components, plus the memory of one batch.

    In a stream, give total_samples its expected length if you know it. While total_samples is small, topics
    stay close to the prior, and few topics take most of the tokens.

    References
    ----------
    C. Dupuy and F. Bach, "Online but accurate inference for latent variable models with local Gibbs
    sampling", Journal of Machine Learning Research 18(126), 2017: section 4.4, algorithm 2 and equation 14
    for ``counts='probabilities'``.

    D. Mimno, M. D. Hoffman and D. M. Blei, "Sparse stochastic inference for latent Dirichlet allocation",
    International Conference on Machine Learning 29, 2012: for ``counts='draws'``.

    X. Li, J. OuYang and X. Zhou, "Sparse hybrid variational-Gibbs algorithm for latent Dirichlet
    allocation", SIAM International Conference on Data Mining 2016.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import HybridLDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = HybridLDA(n_components=10, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (500, 10)
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "counts": [StrOptions({"probabilities", "draws"})],
        "topic_word_prior": [PRIOR, *MATRIX, None],
    }

    topic_word_counts_ = topic_word_counts
    topic_word_posterior_ = topic_word_posterior

    def __init__(
        self,
        n_components: int = 10,
        *,
        counts: Literal["probabilities", "draws"] = "probabilities",
        doc_topic_prior: float | ArrayLike | str | None = None,
        topic_word_prior: float | MatrixLike | None = None,
        learning_decay: float = 0.65,
        learning_offset: float = 4.0,
        max_iter: int = 5,
        batch_size: int = 256,
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
        self.counts = counts
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
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
        drawn = self.counts == "draws"
        # Draws vary more than probabilities, and need a larger prior.
        default = min(0.3, (30.0 if drawn else 20.0) / self.n_components)
        return self._composed(
            inference=GibbsStep(self.doc_burn_in, self.doc_sweeps, drawn=drawn),
            prediction=GibbsInference(self.transform_burn_in, self.transform_sweeps),
            rule=DocumentAverage(),
            steps=StepSize(self.learning_offset, self.learning_decay),
            word_prior=WordPrior(self.topic_word_prior, default),
            view=geometric,
            growth=Growth.CUBE_ROOT,
        )

    def _check_lanes(self):
        """All options support lanes."""
