"""Online maximum a posteriori estimation for LDA (Than and Doan, 2014; Vu et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._constraints import FIXED_DOC_TOPIC_PRIOR, SHARED
from sktopic._inference._factored import WeightedCounts
from sktopic._inference._pieces import joined_results
from sktopic._inference._protocol import CellwiseStep
from sktopic._kernels.lda._ope import draw_choices, maximise_documents
from sktopic._runtime._compat import Interval
from sktopic._training._minibatches import Growth
from sktopic._training._statistics_updates import DocumentAverage
from sktopic._training._step_size import StepSize
from sktopic.lda._estimator import MinibatchLDAEstimator, topic_word_counts


@dataclass
class OPEStep(CellwiseStep):
    """Maximum a posteriori estimation of each document's proportions (see _kernels.lda._ope)."""

    bernoulli_p: float
    n_iter: int

    def __call__(self, batch, topics, prior, keys, workers, with_prior_statistics=False):
        maximize = partial(_maximise, n_iter=self.n_iter, rows=topics.rows, prior=prior, p=self.bernoulli_p)
        return WeightedCounts.of(batch, topics, *joined_results(maximize, batch, workers, keys))


def _maximise(cells, keys, n_iter, prior, p, **settings):
    """Run the kernels on some documents."""
    start, choices = draw_choices(keys, len(prior), n_iter, p)
    return maximise_documents(*cells, start=start, choices=choices, prior=prior, p=p, **settings)


class OnlineOPELDA(MinibatchLDAEstimator):
    """LDA with maximum a posteriori estimates of topic proportions (OPE), for few topics per document.

    The topic proportions of a document maximize their posterior density. Each iteration draws the likelihood
    (with probability bernoulli_p) or the prior, and adds it to the earlier draws. It then takes a step toward
    the topic with the largest gradient of this sum (stochastic Frank-Wolfe). The step raises one proportion
    and lowers the others. ``bernoulli_p=0.5`` is OPE; other values are generalized OPE. Topics are averaged
    over mini-batches as in `OnlineEMLDA`. Choose this model if documents should have few topics and the
    number of iterations is fixed.

    Read more on the guide page "The most probable topics of a document".

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K in the literature.
    bernoulli_p : float, default=0.5
        Probability that an iteration draws the likelihood, in (0, 1). The first iteration always draws the
        likelihood. Each part is divided by its probability, so the average of many draws is unbiased. Values
        near 0 or 1 need more iterations than 1 / bernoulli_p or 1 / (1 - bernoulli_p).
    doc_topic_prior : None, float or array-like of shape (n_components,), default=None
        Dirichlet parameters of the topic proportions, > 0, alpha in the literature. If None,
        ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100, 0.02 for 1000).
    topic_word_prior : float or None, default=None
        Pseudo-count of each word in each topic, >= 0, added to the counts when topics are computed. It gives
        unseen words a probability above zero. If None, ``min(0.1, 2 / n_components)``.
    learning_decay : float, default=0.65
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
    max_doc_update_iter : int, default=50
        Number of iterations over a document, in training, `transform` and `score`. With doc_topic_prior < 1
        the density has no maximum inside the simplex, and only this limit keeps proportions above zero.
        Compare models only at the same value.
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
    total_samples_ : float
        Size of the corpus at the last update.
    validation_scores_ : ndarray of shape (n_iter_,)
        Held-out score after each pass, with early stopping.

    See Also
    --------
    OnlineEMLDA : Posterior means of the proportions by Gibbs sampling, with the same update of topics.
    OnlineCVB0LDA : A deterministic document step.

    Notes
    -----
    After t iterations, each proportion of a document is at least 1 / (2 n_components (t + 1)). An iteration
    costs one operation per distinct word and candidate topic. Exact bounds on the gradient exclude most
    topics. Memory: 8 bytes times n_features * n_components, plus the memory of one batch.

    References
    ----------
    K. Than and T. Doan, "Dual online inference for latent Dirichlet allocation", Asian Conference on Machine
    Learning 2014.

    T. Vu, X. Bui, K. Than and R. Ichise, "A flexible stochastic method for solving the MAP problem in topic
    models", Computacion y Sistemas 22(4), 2018: algorithm 2, with steps 1 / (t + 1) instead of 1 / t, which
    would start from a corner of the simplex.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import OnlineOPELDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = OnlineOPELDA(n_components=10, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (500, 10)
    """

    _no_posterior = "it estimates the proportions that maximize their density, without a distribution."
    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "doc_topic_prior": FIXED_DOC_TOPIC_PRIOR,
        "bernoulli_p": [Interval(Real, 0, 1, closed="neither")],
    }

    topic_word_counts_ = topic_word_counts

    def __init__(
        self,
        n_components: int = 10,
        *,
        bernoulli_p: float = 0.5,
        doc_topic_prior: float | ArrayLike | None = None,
        topic_word_prior: float | None = None,
        learning_decay: float = 0.65,
        learning_offset: float = 1.0,
        max_iter: int = 5,
        batch_size: int = 50,
        total_samples: float | None = None,
        shuffle: bool = True,
        max_doc_update_iter: int = 50,
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
        self.bernoulli_p = bernoulli_p
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.shuffle = shuffle
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
        step = OPEStep(self.bernoulli_p, self.max_doc_update_iter)
        return self._composed(
            inference=step,
            prediction=step,
            rule=DocumentAverage(),
            steps=StepSize(self.learning_offset, self.learning_decay),
            growth=Growth.DOUBLE,
        )

    def _check_lanes(self):
        """All options support lanes."""
