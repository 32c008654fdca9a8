"""Truncation-free variational inference for the HDP (Wang and Blei, 2012)."""

from __future__ import annotations

import numpy as np

from sktopic._estimators._constraints import PRIOR
from sktopic._estimators._unweighted_training import NoRequest, fit, partial_fit
from sktopic._inference._gibbs import GibbsInference
from sktopic.hdp._estimator import MinibatchHDPEstimator, topic_word_posterior
from sktopic.hdp._truncation_free_method import StickState, TruncationFree


class TruncationFreeHDP(MinibatchHDPEstimator):
    """Hierarchical Dirichlet process without truncation (VarGibbs in the literature).

    Topics have Dirichlet posteriors, and their weights come from sticks with Beta posteriors. Each mini-batch
    is Gibbs sampled, and may add any number of topics. Choose this model to compare with the literature. The
    number of topics depends on the initial topics, because tokens seldom leave old topics for a new one. To
    estimate the number, use `DirectAssignmentHDP`.

    Read more on the guide page "Hierarchical Dirichlet process".

    Parameters
    ----------
    n_components : int, default=100
        Number of topics to which the tokens of the first batch are initially assigned.
    topic_concentration : float, default=1.0
        Concentration of the weights of topics, in [1e-12, 1e12], alpha in [1]_. Larger values give more
        topics.
    doc_concentration : float, default=5.0
        Concentration of the documents' proportions, in [1e-12, 1e12], b in [1]_.
    topic_word_prior : float or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0, eta in the literature. Smaller values give
        more topics. If None, 0.05.
    learning_decay : float, default=0.65
        Exponent kappa of the step size ``(learning_offset + t) ** -learning_decay`` of update t = 1, 2, ...,
        in [0, 1]. Training converges for values in (0.5, 1].
    learning_offset : float, default=1.0
        Offset of the step size, >= 0. Larger values slow down the first updates.
    max_iter : int, default=5
        Number of passes over the corpus in `fit`.
    batch_size : int, default=200
        Number of documents per update. Larger batches learn more slowly per pass but run better in parallel.
    total_samples : float or None, default=None
        Size of the corpus. Larger values reduce the influence of `topic_word_prior`. If None, the number of
        documents given to `fit` and later calls of `partial_fit`.
    shuffle : bool, default=True
        Whether `fit` shuffles the documents before each pass. `partial_fit` never does.
    doc_burn_in : int, default=4
        Number of discarded sweeps over a batch (burn-in).
    doc_sweeps : int, default=3
        Number of counted sweeps over a batch after the burn-in.
    transform_burn_in : int, default=10
        Number of discarded Gibbs sweeps per document (burn-in) in `transform` and `score`, >= 0.
    transform_sweeps : int, default=20
        Number of averaged Gibbs sweeps per document in `transform` and `score`, >= 1.
    early_stopping : bool, default=False
        Whether `fit` scores held-out documents after each pass and stops when the score no longer rises.
    validation_fraction : float, default=0.1
        Share of the documents held out for early stopping, in (0, 1).
    n_iter_no_change : int, default=2
        Number of passes without improvement before early stopping.
    tol : float, default=1e-3
        Smallest improvement of the held-out score that counts, in nats per word.
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
    topic_word_posterior_ : ndarray of shape (n_components_, n_features_in_)
        Parameters of the topics' Dirichlet posteriors, lambda in the literature: `topic_word_counts_` plus
        the prior. Their means are `components_`.
    topic_weights_ : ndarray of shape (n_components_,)
        Expected weights of the topics under the posteriors of the sticks. If they sum to less than one, the
        rest belongs to unused and future topics.
    topic_ids_ : ndarray of shape (n_components_,)
        Identities of the topics, numbered in order of birth. A topic keeps its identity until it has less
        than one expected token in the corpus and is removed.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions: doc_concentration_ * topic_weights_.
    topic_concentration_, doc_concentration_, topic_word_prior_ : float
        Parameters in use.
    n_components_ : int
        Number of topics in use, which have at least one expected token in the corpus.
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
    n_samples_seen_ : int
        Number of documents seen, including repeated passes.
    total_samples_ : float
        Size of the corpus at the last update.
    validation_scores_ : ndarray of shape (n_iter_,)
        Held-out score after each pass, with early stopping.

    See Also
    --------
    OnlineEMHDP : Maximum likelihood for topics and their weights.
    CollapsedGibbsHDP : Samples a whole corpus in the same way.
    DirectAssignmentHDP : Splits and merges topics.

    Notes
    -----
    - A batch is sampled as one chain, and the topics include its tokens (locally collapsed). With one batch
      and one pass, this is direct assignment sampling of the exact posterior. New topics without tokens at
      the end of a batch are discarded.
    - Sampling uses one thread; n_jobs is for `transform` and `score`.
    - Departure from the paper: while a batch is sampled, the tables of the corpus are scaled down to the size
      of the batch. The weight left for new topics is then about topic_concentration / (topic_concentration +
      tables of a batch). Without scaling, births would stop after the first batch. Most births occur in the
      first pass.
    - The density of a stick Beta(a, b) has the exponent b - 1, which the paper prints as b - alpha. The
      weights of new topics in a batch are drawn from the distribution without truncation.
    - There is no ``sample_weight``: repeat rows instead (see `~sktopic.lda.CollapsedGibbsLDA`).

    References
    ----------
    C. Wang and D. M. Blei, "Truncation-free online variational inference for Bayesian nonparametric models",
    NIPS 2012.

    .. [1] C. Dupuy and F. Bach, "Online but accurate inference for latent variable models with local Gibbs
       sampling", Journal of Machine Learning Research 18, 2017: section 5.2.5, equation 18.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.hdp import TruncationFreeHDP
    >>> bars = make_bars(500, random_state=0)
    >>> hdp = TruncationFreeHDP(random_state=0).fit(bars.data)
    >>> hdp.transform(bars.data).shape == (500, hdp.n_components_)
    True
    >>> bool(hdp.topic_weights_.sum() < 1)
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchHDPEstimator._parameter_constraints,
        "topic_word_prior": [PRIOR, None],
    }

    _state_class = StickState

    topic_word_posterior_ = topic_word_posterior
    fit = fit  # type: ignore[assignment]  # without sample_weight
    partial_fit = partial_fit  # type: ignore[assignment]
    set_fit_request = set_partial_fit_request = NoRequest()

    def __init__(
        self,
        n_components: int = 100,
        *,
        topic_concentration: float = 1.0,
        doc_concentration: float = 5.0,
        topic_word_prior: float | None = None,
        learning_decay: float = 0.65,
        learning_offset: float = 1.0,
        max_iter: int = 5,
        batch_size: int = 200,
        total_samples: float | None = None,
        shuffle: bool = True,
        doc_burn_in: int = 4,
        doc_sweeps: int = 3,
        transform_burn_in: int = 10,
        transform_sweeps: int = 20,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 2,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.topic_concentration = topic_concentration
        self.doc_concentration = doc_concentration
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _method(self):
        return TruncationFree(
            **self._common_settings(0.05),
            burn_in=self.doc_burn_in,
            sweeps=self.doc_sweeps,
            prediction=GibbsInference(self.transform_burn_in, self.transform_sweeps),
        )
