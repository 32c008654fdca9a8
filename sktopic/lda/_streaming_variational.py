"""Streaming variational Bayes for LDA (Broderick et al., 2013)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._bounds import elbo
from sktopic._estimators._constraints import MATRIX, PRIOR, SHARED
from sktopic._inference._variational import VariationalStep
from sktopic._runtime._compat import StrOptions
from sktopic._topics._prior import DocPrior
from sktopic._topics._word_count_views import geometric
from sktopic._topics._word_counts import LITTLE_LEANING
from sktopic._training._statistics_updates import RunningSum
from sktopic._training._step_size import mean_of_all
from sktopic._typing import MatrixLike
from sktopic.lda._estimator import MinibatchLDAEstimator, topic_word_counts, topic_word_posterior


class StreamingVariationalLDA(MinibatchLDAEstimator):
    """LDA trained by streaming variational Bayes, for streams of unknown length.

    The posterior of the topics after one mini-batch is the prior for the next (SVB in the literature). Each
    batch adds its expected counts to the parameters of the topics' Dirichlet posteriors. There is no step
    size, and you need not know the size of the corpus. All documents weigh the same, early or late. Choose
    this model if you need the posterior after each batch. For predictions, prefer `OnlineEMLDA`.

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
    prior_update : {'fixed-point', 'gradient'}, default='fixed-point'
        How 'auto' learns doc_topic_prior. 'fixed-point' is Minka's fixed point from the average of
        ``E[log theta]`` over all batches. 'gradient' is a Newton step along the gradient of each batch t,
        scaled by 1 / (t + 9).
    topic_word_prior : float, array-like, sparse matrix or None, default=None
        Parameters of the topics' Dirichlet prior, > 0, eta in the literature. If None,
        ``min(0.1, 2 / n_components)``. A matrix of shape (n_components, n_features), as from
        `sktopic.seeding.seed_prior`, sets each parameter. Entries missing from a sparse matrix get the value
        for None.
    max_iter : int, default=1
        Number of passes over the corpus in `fit`. The posterior is that of a corpus with max_iter copies of
        each document.
    batch_size : int, default=256
        Number of documents per update. Larger batches learn more slowly per pass but run better in parallel.
    shuffle : bool, default=True
        Whether `fit` shuffles the documents before each pass. `partial_fit` never does.
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
    components_init : 'documents', None or array-like of shape (n_given, n_features), default='documents'
        Initial topics. With 'documents', each topic leans toward a different document of the corpus in `fit`,
        or of the first block in `partial_fit`. In lanes, or if topic_word_prior is a matrix, topics start at
        random, as with None. An array has n_given <= n_components rows of non-negative numbers, each
        normalized to sum to one. Topics without a row or document start at random.
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
        Expected number of tokens of each word in each topic, summed over all batches, without the
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
    OnlineVariationalLDA : Uses step sizes, for a corpus of known size.
    StreamingGibbsLDA : Sums counts from Gibbs sampling.

    Notes
    -----
    The first batch is inferred under the initial topics, which are then discarded. They start from documents
    as in `OnlineVariationalLDA`, which is a departure from the paper. The posterior is exactly
    topic_word_prior plus the expected counts of all batches. Cost and memory are those of
    `OnlineVariationalLDA`.

    References
    ----------
    T. Broderick, N. Boyd, A. Wibisono, A. C. Wilson and M. I. Jordan, "Streaming variational Bayes",
    Advances in Neural Information Processing Systems 26, 2013: algorithm 3 and equation 6.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import StreamingVariationalLDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = StreamingVariationalLDA(n_components=10, random_state=0)
    >>> for first in range(0, 500, 100):
    ...     lda = lda.partial_fit(bars.data[first : first + 100])
    >>> bool(abs(lda.topic_word_counts_.sum() - bars.data.sum()) < 1e-3)
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "components_init": [StrOptions({"documents"}), "array-like", None],
        "topic_word_prior": [PRIOR, *MATRIX, None],
        "prior_update": [StrOptions({"fixed-point", "gradient"})],
    }

    topic_word_counts_ = topic_word_counts
    topic_word_posterior_ = topic_word_posterior
    elbo = elbo

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | ArrayLike | str | None = None,
        prior_update: Literal["fixed-point", "gradient"] = "fixed-point",
        topic_word_prior: float | MatrixLike | None = None,
        max_iter: int = 1,
        batch_size: int = 256,
        shuffle: bool = True,
        max_doc_update_iter: int = 100,
        mean_change_tol: float = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 2,
        tol: float = 1e-3,
        components_init: ArrayLike | Literal["documents"] | None = "documents",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.prior_update = prior_update
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.shuffle = shuffle
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
        step = VariationalStep(self.max_doc_update_iter, self.mean_change_tol)
        return self._composed(
            inference=step,
            prediction=step,
            rule=RunningSum(),
            steps=mean_of_all,
            doc_prior=DocPrior(self.doc_topic_prior, self.prior_update),
            view=geometric,
            leaning=LITTLE_LEANING,
        )

    def _check_lanes(self):
        """All options support lanes."""
