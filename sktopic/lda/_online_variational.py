"""Online variational Bayes for LDA (Hoffman, Blei and Bach, 2010)."""

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
from sktopic._training._minibatches import Growth
from sktopic._training._statistics_updates import DocumentAverage
from sktopic._training._step_size import StepSize
from sktopic._typing import MatrixLike
from sktopic.lda._estimator import MinibatchLDAEstimator, topic_word_counts, topic_word_posterior


class OnlineVariationalLDA(MinibatchLDAEstimator):
    """LDA trained by online variational Bayes, with a lower bound of the likelihood.

    Topic proportions and topics have Dirichlet posteriors in a mean-field approximation. Each mini-batch
    moves the parameters of the topics' posteriors along the natural gradient of the evidence lower bound
    (OLDA or Online-VB in the literature). scikit-learn's `LatentDirichletAllocation` and gensim's `LdaModel`
    use the same method. Choose this model to continue or check work with these libraries, or for its bound.
    For predictions, prefer `OnlineEMLDA`.

    Read more on the guide page "Latent Dirichlet allocation".

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K in the literature.
    learning_method : {'online', 'batch'}, default='online'
        'online' updates the topics after each batch. 'batch' updates them once per pass of `fit` (coordinate
        ascent, which never lowers the bound of the corpus). `partial_fit` always works online.
    doc_topic_prior : None, float, array-like of shape (n_components,), 'auto', 'auto-symmetric', default=None
        Dirichlet parameters of the topic proportions, > 0, alpha in the literature. If None,
        ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100, 0.02 for 1000). 'auto' learns one
        parameter per topic; 'auto-symmetric' learns one for all topics. Learning starts at the second update,
        from the value for None, which has the weight of ten batches.
    prior_update : {'fixed-point', 'gradient'}, default='fixed-point'
        How 'auto' learns priors. 'fixed-point' is Minka's fixed point from averages over batches. 'gradient'
        is a Newton step along the gradient of each batch, scaled by the step size as in the paper.
    topic_word_prior : float, array-like, sparse matrix, 'auto' or None, default=None
        Parameters of the topics' Dirichlet prior, > 0, eta in the literature. If None,
        ``min(0.1, 2 / n_components)``; 'auto' learns one number, starting from this value, with a pass over
        all topics and words in each update. A matrix of shape (n_components, n_features), as from
        `sktopic.seeding.seed_prior`, sets each parameter and is not learned. Entries missing from a sparse
        matrix get the value for None.
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
    OnlineEMLDA : Maximum likelihood instead of a posterior for the topics.
    HybridLDA : The same posteriors of topics, with Gibbs sampling inside documents.
    StreamingVariationalLDA : Needs neither step sizes nor the size of the corpus.

    Notes
    -----
    An iteration over a document costs n_components operations for each distinct word. A distinct word of a
    batch costs n_components digamma functions. Memory: 8 bytes times n_features * n_components, plus the
    memory of one batch.

    Topics that get almost no tokens from the first batches stay empty. With ``components_init=None``, this
    affects many topics if n_components is large. The start from documents reads 10,000 documents, chosen at
    random, or ``2 * n_components`` if that is more. Copies of a document count as one.

    In a stream, give total_samples its expected length if you know it. While total_samples is small, topics
    stay close to the prior, and few topics take most of the tokens.

    Departures from the paper:

    - Topics start from documents. In the paper they are random, as with ``components_init=None``.
    - At the first update, the initial topics are scaled to as many tokens as the corpus has.

    References
    ----------
    M. D. Hoffman, D. M. Blei and F. Bach, "Online learning for latent Dirichlet allocation", Advances in
    Neural Information Processing Systems 23, 2010: algorithm 2; section 2.3 for the priors.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import OnlineVariationalLDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = OnlineVariationalLDA(n_components=10, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (500, 10)
    >>> bool(lda.elbo(bars.data) / bars.data.sum() < -2.6)  # a bound, in nats per word
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "components_init": [StrOptions({"documents"}), "array-like", None],
        "prior_update": [StrOptions({"fixed-point", "gradient"})],
        "learning_method": [StrOptions({"online", "batch"})],
        "topic_word_prior": [PRIOR, *MATRIX, StrOptions({"auto"}), None],
    }

    topic_word_counts_ = topic_word_counts
    topic_word_posterior_ = topic_word_posterior
    elbo = elbo

    def __init__(
        self,
        n_components: int = 10,
        *,
        learning_method: Literal["online", "batch"] = "online",
        doc_topic_prior: float | ArrayLike | str | None = None,
        prior_update: Literal["fixed-point", "gradient"] = "fixed-point",
        topic_word_prior: float | MatrixLike | Literal["auto"] | None = None,
        learning_decay: float = 0.65,
        learning_offset: float = 4.0,
        max_iter: int = 5,
        batch_size: int = 256,
        total_samples: float | None = None,
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
        self.learning_method = learning_method
        self.doc_topic_prior = doc_topic_prior
        self.prior_update = prior_update
        self.topic_word_prior = topic_word_prior
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.total_samples = total_samples
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
            rule=DocumentAverage(),
            steps=StepSize(self.learning_offset, self.learning_decay),
            doc_prior=DocPrior(self.doc_topic_prior, self.prior_update),
            word_prior=self._word_prior(rule=self.prior_update),
            view=geometric,
            leaning=LITTLE_LEANING,
            growth=Growth.CUBE_ROOT,
        )

    def _trains_on_whole_corpus(self):
        return self.learning_method == "batch"

    def _check_lanes(self):
        if self.learning_method == "batch":
            raise ValueError(
                "learning_method='batch' does not support lanes: an update reads all documents. Choose "
                "learning_method='online'."
            )
