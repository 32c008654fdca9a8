"""Online EM for the HDP with local Gibbs sampling (Dupuy and Bach, 2017, section 5)."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from sktopic._inference._gibbs import GibbsInference, GibbsStep
from sktopic._runtime._compat import Interval
from sktopic.hdp._estimator import MinibatchHDPEstimator
from sktopic.hdp._online_em_method import MOST_BIRTHS, GrowingOnlineEM, GrowingState


class OnlineEMHDP(MinibatchHDPEstimator):
    """Hierarchical Dirichlet process by online EM with local Gibbs sampling (G-OEM).

    Topics and their weights are learned as in `OnlineEMLDA`, and documents are Gibbs sampled. If tokens are
    drawn to a new topic, in which all words are equally probable, the model adds it. Choose this model for a
    stream whose number of topics grows.

    Topics never merge, and new documents keep adding topics, so do not use their number as an estimate. Five
    passes over 2930 blog entries lead from 2 topics to about 250, and from 100 to 280. Fifteen passes lead
    from 2 to 390.

    Read more on the guide page "Hierarchical Dirichlet process".

    Parameters
    ----------
    n_components : int, default=2
        Number of topics at the start.
    topic_concentration : float, default=1.0
        Concentration of the weights of topics, in [1e-12, 1e12], alpha in the paper. A new topic gets a
        Beta(1, topic_concentration) share of the remaining weight.
    doc_concentration : float, default=10.0
        Concentration of the documents' proportions, in [1e-12, 1e12], b in the paper. The learned
        parameters of existing topics sum to less than b. New topics get the rest, at least the share
        topic_concentration / (topic_concentration + documents seen).
    max_births : int or None, default=None
        Maximum number of topics that a batch may add. If None, 1000.
    min_birth_tokens : float, default=2.0
        Expected tokens that a new topic needs in its batch to be added, >= 0. With 0 one drawn token is
        enough, as in the paper; this gives 50 % more topics and predicts no better.
    topic_word_prior : float or None, default=None
        Pseudo-count of every word in every topic, >= 0, added to the counts when topics are computed. If
        None, 0.02.
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
    doc_burn_in : int, default=4
        Number of discarded Gibbs sweeps per document (burn-in) in training, >= 0.
    doc_sweeps : int, default=3
        Number of averaged Gibbs sweeps per document in training, >= 1.
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
    topic_weights_ : ndarray of shape (n_components_,)
        Weights of the topics: doc_topic_prior_ divided by doc_concentration_, or by its own sum if that is
        larger. If they sum to less than one, the rest belongs to unused and future topics.
    topic_ids_ : ndarray of shape (n_components_,)
        Identities of the topics, numbered in order of birth. A topic keeps its identity.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions, b pi in the paper.
    topic_concentration_, doc_concentration_ : float
        Parameters in use.
    topic_word_prior_ : float
        Pseudo-count in use.
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
    n_samples_seen_ : int or float
        Number of documents seen in all passes, by weight.
    total_samples_ : float
        Size of the corpus at the last update.
    validation_scores_ : ndarray of shape (n_iter_,)
        Held-out score after each pass, with early stopping.

    See Also
    --------
    HybridHDP : Learns the weights of topics from tables, up to a maximum number of topics.
    DirectAssignmentHDP : Splits and merges topics.

    Notes
    -----
    - Births: spare columns without tokens act as new topics. If a token is drawn to the last spare column,
      the batch is sampled again with twice as many. The tokens drawn to a column form one topic.
    - Cost: a batch with births copies the statistics.
    - Departures from the paper: the paper adds every topic that a token is drawn to, and reserves no weight
      for new topics. Its births end when the learned parameters of the proportions sum to doc_concentration.

    References
    ----------
    C. Dupuy and F. Bach, "Online but accurate inference for latent variable models with local Gibbs
    sampling", Journal of Machine Learning Research 18, 2017: sections 5.1 and 5.2.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.hdp import OnlineEMHDP
    >>> bars = make_bars(500, random_state=0)
    >>> hdp = OnlineEMHDP(random_state=0).fit(bars.data)
    >>> hdp.n_components_ > 2
    True
    >>> hdp.transform(bars.data).shape == (500, hdp.n_components_)
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchHDPEstimator._parameter_constraints,
        "max_births": [Interval(Integral, 0, MOST_BIRTHS, closed="both"), None],
        "min_birth_tokens": [Interval(Real, 0, None, closed="left")],
    }

    _state_class = GrowingState

    def __init__(
        self,
        n_components: int = 2,
        *,
        topic_concentration: float = 1.0,
        doc_concentration: float = 10.0,
        max_births: int | None = None,
        min_birth_tokens: float = 2.0,
        topic_word_prior: float | None = None,
        learning_decay: float = 0.65,
        learning_offset: float = 1.0,
        max_iter: int = 5,
        batch_size: int = 50,
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
        components_init: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.topic_concentration = topic_concentration
        self.doc_concentration = doc_concentration
        self.max_births = max_births
        self.min_birth_tokens = min_birth_tokens
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
        return GrowingOnlineEM(
            **self._common_settings(0.02),
            inference=GibbsStep(self.doc_burn_in, self.doc_sweeps),
            prediction=GibbsInference(self.transform_burn_in, self.transform_sweeps),
            max_births=self.max_births,
            min_birth_tokens=self.min_birth_tokens,
        )
