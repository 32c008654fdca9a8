"""Online variational inference for the HDP (Wang, Paisley and Blei, 2011)."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._bounds import elbo
from sktopic._estimators._constraints import NON_NEGATIVE, PRIOR
from sktopic._estimators._fitted_attributes import fitted
from sktopic._runtime._compat import Interval
from sktopic.hdp._estimator import MinibatchHDPEstimator, topic_word_posterior
from sktopic.hdp._online_variational_method import AtomState, OnlineVariational

# Largest truncation of documents. Memory is proportional to it.
MOST_ATOMS = 10_000


class OnlineVariationalHDP(MinibatchHDPEstimator):
    """Hierarchical Dirichlet process by online variational inference with stick-breaking.

    The weights of topics come from a stick-breaking process. Each document has its own stick-breaking
    process, whose atoms refer to topics. Each mini-batch takes a natural gradient step on the evidence lower
    bound of mean-field posteriors. In the literature this is oHDP, oHDP-CRF or SMF-HDP; gensim's `HdpModel`
    is the same model. Choose this model for its bound, or to compare with gensim.

    Read more on the guide page "Hierarchical Dirichlet process".

    Parameters
    ----------
    n_components : int, default=300
        Largest number of topics (truncation of the corpus' stick-breaking process), K in the literature.
    doc_n_components : int, default=20
        Largest number of topics in a document (truncation of the documents' stick-breaking processes), T in
        the literature. Time is proportional to it.
    topic_concentration : float, default=1.0
        Concentration of the corpus' stick-breaking process, in [1e-6, 1e6], gamma in the literature. Larger
        values spread the corpus over more topics.
    doc_concentration : float, default=1.0
        Concentration of the documents' stick-breaking processes, in [1e-6, 1e6], alpha_0 in the literature.
        Larger values spread documents over more topics.
    topic_word_prior : float or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0, eta in the literature. Smaller values give
        more topics. If None, 0.01.
    learning_decay : float, default=0.6
        Exponent kappa of the step size ``(learning_offset + t) ** -learning_decay`` of update t = 1, 2, ...,
        in [0, 1]. Training converges for values in (0.5, 1].
    learning_offset : float, default=1.0
        Offset of the step size, >= 0. Larger values slow down the first updates.
    max_iter : int, default=5
        Number of passes over the corpus in `fit`.
    batch_size : int, default=512
        Number of documents per update. Larger batches learn more slowly per pass but run better in parallel.
    total_samples : float or None, default=None
        Size of the corpus. Larger values reduce the influence of `topic_word_prior`. If None, the total
        weight of the documents given to `fit` and later calls of `partial_fit`. If `fit` was never called,
        the weight given to `partial_fit` times its cube root (at least 2), as more documents are expected.
    shuffle : bool, default=True
        Whether `fit` shuffles the documents before each pass. `partial_fit` never does.
    max_doc_update_iter : int, default=100
        Maximum number of iterations over a document.
    bound_tol : float, default=1e-4
        The iterations over a document stop when the relative gain of its bound falls below this value.
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
    n_components_ : int
        Number of topics in use, which have at least one expected token in the corpus.
    topic_ids_ : ndarray of shape (n_components_,)
        Identities of the topics in use, ascending, from 0 to n_components - 1. A topic keeps its identity in
        later calls of `partial_fit`.
    topic_weights_ : ndarray of shape (n_components_,)
        Expected corpus-level weights of the topics in use, rescaled to sum to one.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        ``doc_concentration_ * topic_weights_``: Dirichlet parameters of a document's topic proportions.
    topic_word_counts_ : ndarray of shape (n_components_, n_features_in_)
        Expected number of tokens of each word in each topic in use over the whole corpus.
    topic_word_posterior_ : ndarray of shape (n_components_, n_features_in_)
        Parameters of the topics' Dirichlet posteriors, lambda in the literature: `topic_word_counts_` plus
        the prior. Their means are `components_`.
    topic_word_prior_, topic_concentration_, doc_concentration_ : float
        Parameters in use.
    root_stick_posterior_ : ndarray of shape (2, n_components - 1)
        Beta parameters of the corpus' sticks, including those of unused topics. Longest expected stick first.
    stick_topics_ : ndarray of shape (n_components,)
        Identity of the topic of each stick. The last entry is the topic of the mass that remains after the
        last stick.
    total_samples_ : float
        Size of the corpus at the last update.
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
    validation_scores_ : ndarray of shape (n_iter_,)
        Held-out score after each pass, with early stopping.

    See Also
    --------
    sktopic.lda.OnlineVariationalLDA : The same for a given number of topics.

    Notes
    -----
    - Cost: an iteration over a document takes at most 2 * distinct words * n_components * doc_n_components
      operations, and far fewer when topics have different words.
    - Memory: 8 bytes * n_features * n_components. For each document of a batch, add 8 bytes *
      doc_n_components * (n_components + distinct words).
    - Randomness: only the initial topics and the order of documents are random.
    - In a stream, give total_samples its expected length if you know it. While total_samples is small, topics
      stay close to the prior, and few topics take most of the tokens.
    - Larger batches help more than in LDA: a topic without atoms in a batch loses weight and recovers slowly.
    - `transform` gives expected proportions over the topics in use, divided by their sum.
    - Departures from the paper: before each step, topics are sorted by their number of atoms, and atoms by
      their number of tokens. This order has the highest bound. Inference of a document starts with ten
      iterations of LDA's inference. Each of the document's most frequent topics then gets one atom. A start
      from equal shares of the atoms, as in the authors' program, reaches a smaller bound. Documents without
      words have no atoms.

    References
    ----------
    C. Wang, J. Paisley and D. M. Blei, "Online variational inference for the hierarchical Dirichlet process",
    Proceedings of the 14th International Conference on Artificial Intelligence and Statistics, 2011.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.hdp import OnlineVariationalHDP
    >>> bars = make_bars(500, random_state=0)
    >>> hdp = OnlineVariationalHDP(n_components=20, batch_size=50, max_iter=10, random_state=0).fit(bars.data)
    >>> 10 <= hdp.n_components_ < 20  # there are 10 bars
    True
    >>> hdp.transform(bars.data).shape == (500, hdp.n_components_)
    True
    >>> bool(hdp.elbo(bars.data) / bars.data.sum() < -2.4)  # a bound, in nats per word
    True
    """

    _no_posterior = "only the means of its sums over atoms are computed."
    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchHDPEstimator._parameter_constraints,
        "doc_n_components": [Interval(Integral, 1, MOST_ATOMS, closed="both")],
        "topic_concentration": [Interval(Real, 1e-6, 1e6, closed="both")],
        "doc_concentration": [Interval(Real, 1e-6, 1e6, closed="both")],
        "topic_word_prior": [PRIOR, None],
        "bound_tol": [NON_NEGATIVE],
    }

    _state_class = AtomState

    topic_word_posterior_ = topic_word_posterior
    root_stick_posterior_ = fitted("root_stick_posterior")
    stick_topics_ = fitted("sticks.topics")
    elbo = elbo

    def __init__(
        self,
        n_components: int = 300,
        *,
        doc_n_components: int = 20,
        topic_concentration: float = 1.0,
        doc_concentration: float = 1.0,
        topic_word_prior: float | None = None,
        learning_decay: float = 0.6,
        learning_offset: float = 1.0,
        max_iter: int = 5,
        batch_size: int = 512,
        total_samples: float | None = None,
        shuffle: bool = True,
        max_doc_update_iter: int = 100,
        bound_tol: float = 1e-4,
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
        self.doc_n_components = doc_n_components
        self.topic_concentration = topic_concentration
        self.doc_concentration = doc_concentration
        self.topic_word_prior = topic_word_prior
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.shuffle = shuffle
        self.max_doc_update_iter = max_doc_update_iter
        self.bound_tol = bound_tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.components_init = components_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _method(self):
        return OnlineVariational(
            **self._common_settings(0.01),
            n_atoms=self.doc_n_components,
            max_iter=self.max_doc_update_iter,
            tol=self.bound_tol,
        )

    def _transform_step(self):
        return self._method().atom_step(self._state)
