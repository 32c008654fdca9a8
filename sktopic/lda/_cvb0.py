"""Stochastic collapsed variational Bayes of order zero for LDA (Foulds et al., 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._constraints import FIXED_DOC_TOPIC_PRIOR, NON_NEGATIVE, SHARED
from sktopic._estimators._fitted_attributes import fitted
from sktopic._inference._factored import WeightedCounts
from sktopic._inference._pieces import joined_results
from sktopic._inference._protocol import CellwiseStep
from sktopic._kernels.lda._cvb0 import collapse_documents
from sktopic._runtime._compat import Interval
from sktopic._training._minibatches import Growth
from sktopic._training._statistics_updates import TokenAverage
from sktopic._training._step_size import StepSize
from sktopic.lda._estimator import MinibatchLDAEstimator, topic_word_counts


@dataclass
class CVB0Step(CellwiseStep):
    """Deterministic collapsed variational inference of each document (see _kernels.lda._cvb0)."""

    n_passes: int
    offset: float
    decay: float

    def __call__(self, batch, topics, prior, keys, workers, with_prior_statistics=False):
        collapse = partial(
            _collapse,
            rows=topics.rows,
            prior=prior,
            n_passes=self.n_passes,
            offset=self.offset,
            decay=self.decay,
        )
        return WeightedCounts.of(batch, topics, *joined_results(collapse, batch, workers))


def _collapse(cells, **settings):
    """Run the kernel on some documents."""
    return collapse_documents(*cells, **settings)


class OnlineCVB0LDA(MinibatchLDAEstimator):
    """LDA trained by stochastic collapsed variational Bayes of order zero (SCVB0).

    Topics and topic proportions are integrated out. A document is represented by the expected number of its
    tokens in each topic. These numbers are updated word by word with decreasing step sizes, and mini-batches
    update the expected counts of the whole corpus. Choose this model for a fast, deterministic document step
    without digamma functions.

    Read more on the guide page "Latent Dirichlet allocation".

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K in the literature.
    doc_topic_prior : None, float or array-like of shape (n_components,), default=None
        Dirichlet parameters of the topic proportions, > 0, alpha in the literature. If None,
        ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100, 0.02 for 1000).
    topic_word_prior : float or None, default=None
        Pseudo-count of each word in each topic, >= 0, added to the counts when topics are computed. It gives
        unseen words a probability above zero. If None, ``min(0.1, 2 / n_components)``.
    learning_decay : float, default=0.75
        Exponent kappa of the step size ``(learning_offset + t) ** -learning_decay`` of update t = 1, 2, ...,
        in [0, 1]. Training converges for values in (0.5, 1].
    learning_offset : float, default=1.0
        Offset of the step size, >= 0. Larger values slow down the first updates.
    max_iter : int, default=5
        Number of passes over the corpus in `fit`.
    batch_size : int, default=50
        Number of documents per update. Larger batches learn more slowly per pass but run better in parallel.
    total_samples : float or None, default=None
        Size of the corpus. Larger values reduce the influence of `topic_word_prior`. If None, the total
        weight of the documents given to `fit` and later calls of `partial_fit`. If `fit` was never called,
        twice the weight given to `partial_fit`, as more documents are expected.
    shuffle : bool, default=True
        Whether `fit` shuffles the documents before each pass. `partial_fit` never does.
    doc_learning_decay : float, default=0.9
        Exponent of the step size ``(doc_learning_offset + t) ** -doc_learning_decay`` of visit t = 1, 2, ...
        to a word of a document, in [0, 1].
    doc_learning_offset : float, default=10.0
        Offset of that step size, >= 0.
    max_doc_update_iter : int, default=5
        Number of passes over the distinct words of a document, in training, `transform` and `score`.
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
    n_tokens_seen_ : float
        Number of tokens seen in all passes.
    total_samples_ : float
        Size of the corpus at the last update.
    validation_scores_ : ndarray of shape (n_iter_,)
        Held-out score after each pass, with early stopping.

    See Also
    --------
    OnlineVariationalLDA : Variational Bayes without collapsing.
    OnlineEMLDA : Gibbs sampling inside documents.

    Notes
    -----
    A visit to a word costs n_components operations. Memory: 8 bytes times n_features * n_components, plus the
    memory of one batch.

    - The m tokens of a word in a document are updated together: one step stands for m steps of equal size
      (clumping).
    - The counts of a batch are scaled to the corpus by the factor total_samples * mean_length / n_tokens.
      Here, n_tokens is the number of tokens in the batch, and mean_length is the mean length of the documents
      seen. Batches without words do not enter this mean.
    - Departure from the paper: after the passes, the expected counts of a batch are computed from the final
      topic counts of each document. The paper accumulates them during one more pass.

    References
    ----------
    J. Foulds, L. Boyles, C. DuBois, P. Smyth and M. Welling, "Stochastic collapsed variational Bayesian
    inference for latent Dirichlet allocation", International Conference on Knowledge Discovery and Data
    Mining 19, 2013: algorithm 1.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import OnlineCVB0LDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = OnlineCVB0LDA(n_components=10, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (500, 10)
    """

    _no_posterior = "proportions are integrated out, and only the means of token counts are known."
    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "doc_topic_prior": FIXED_DOC_TOPIC_PRIOR,
        "doc_learning_decay": [Interval(Real, 0, 1, closed="both")],
        "doc_learning_offset": [NON_NEGATIVE],
    }

    topic_word_counts_ = topic_word_counts
    n_tokens_seen_ = fitted("n_tokens_seen")

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | ArrayLike | None = None,
        topic_word_prior: float | None = None,
        learning_decay: float = 0.75,
        learning_offset: float = 1.0,
        max_iter: int = 5,
        batch_size: int = 50,
        total_samples: float | None = None,
        shuffle: bool = True,
        doc_learning_decay: float = 0.9,
        doc_learning_offset: float = 10.0,
        max_doc_update_iter: int = 5,
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
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.shuffle = shuffle
        self.doc_learning_decay = doc_learning_decay
        self.doc_learning_offset = doc_learning_offset
        self.max_doc_update_iter = max_doc_update_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.components_init = components_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _method(self):
        step = CVB0Step(self.max_doc_update_iter, self.doc_learning_offset, self.doc_learning_decay)
        return self._composed(
            inference=step,
            prediction=step,
            rule=TokenAverage(),
            steps=StepSize(self.learning_offset, self.learning_decay),
            growth=Growth.DOUBLE,
        )

    def _check_lanes(self):
        """All options support lanes."""
