"""Gibbs sampling for the hierarchical Dirichlet process over a corpus."""

from __future__ import annotations

from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._constraints import ANY_NUMBER, PRIOR, SHARED
from sktopic._estimators._fitted_attributes import fitted
from sktopic._estimators._sampler_estimator import SamplerEstimator
from sktopic._inference._gibbs import GibbsInference
from sktopic._runtime._compat import Interval, StrOptions
from sktopic._typing import FloatArray, IntArray
from sktopic.hdp._collapsed_method import CollapsedHDP, CollapsedHDPState
from sktopic.hdp._parameters import LEARNED_CONCENTRATIONS, check_concentration_priors, parameters_of
from sktopic.hdp._restaurants import SAMPLERS

# Each proposal may need a spare column for a topic.
MOST_PROPOSALS = 1000


class CollapsedGibbsHDP(SamplerEstimator):
    """Hierarchical Dirichlet process by collapsed Gibbs sampling of a corpus in memory.

    A Markov chain over the topics of tokens and the tables of documents samples the exact posterior. The
    number of topics has no upper bound. Moves that split and merge topics reduce the dependence on the
    initial number. Choose this model to estimate the number of topics of a corpus in memory; the online
    methods predict as well after less time.

    Read more on the guide page "Hierarchical Dirichlet process".

    Parameters
    ----------
    n_components : int, default=10
        Initial number of topics. Its influence disappears with enough sweeps: 700 with n_proposals=20 on 300
        documents of `make_bars`, more than 20,000 on some corpora. More topics predict better at first.
    sampler : {'table_indicator', 'sparse_table_indicator', 'direct_assignment'}, default='table_indicator'
        Sampler of tokens. All three have the same stationary distribution. 'table_indicator' draws a topic
        and whether a table is opened; a topic with M_k of M tables has the exact weight M_k / (b0 + M) at the
        root. 'sparse_table_indicator' proposes from alias tables and corrects the draws. 'direct_assignment'
        alternates between drawing topics given root weights, and drawing tables and root weights.
    topic_concentration : float or 'auto', default='auto'
        Concentration of the root process, from which topics come, in [1e-12, 1e12], b0 or gamma in the
        literature. With 'auto' it is sampled.
    doc_concentration : float or 'auto', default='auto'
        Concentration of the documents' processes, in [1e-12, 1e12], b1 or alpha in the literature. With
        'auto' it is sampled.
    topic_concentration_prior, doc_concentration_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma priors of the sampled concentrations. The chain starts from their means.
    topic_word_prior : float or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0, beta in the literature. If None, 0.05.
        Smaller values give more topics.
    split_merge : bool, default=True
        Whether splits and merges of topics are proposed after each sweep.
    n_proposals : int, default=10
        Number of proposals after each sweep, from 1 to 1000. Each costs several sweeps over the tokens of its
        topics.
    max_iter : int, default=200
        Number of sweeps over the documents in each call of `fit` or `partial_fit`.
    evaluate_every : int, default=10
        Number of sweeps between entries of log_likelihood_ and n_components_trace_. If 0, no entries.
    transform_burn_in : int, default=10
        Number of discarded Gibbs sweeps per document (burn-in) in `transform` and `score`, >= 0.
    transform_sweeps : int, default=20
        Number of averaged Gibbs sweeps per document in `transform` and `score`, >= 1.
    components_init : None or array-like of shape (n_components, n_features), default=None
        Initial topics: rows of non-negative numbers, each normalized to sum to one. In the first call, a
        token of word w starts in topic k with probability proportional to p(w|k). After that, the initial
        topics have no effect. If None, the initial topic of each token is drawn uniformly.
    n_jobs : int or None, default=None
        Number of threads in `transform` and `score`; training uses one. If None, 1; if -1, all cores. Does
        not affect results.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial topic assignments and of sampling.
    verbose : int, default=0
        If positive, show a progress bar in `fit` and `partial_fit`, and in other methods for more than 10,000
        documents.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Probability of each word in each topic; rows sum to one. Read-only, computed at the first access.
    topic_word_counts_ : ndarray of shape (n_components_, n_features_in_)
        Number of tokens of each word in each topic, in the last draw.
    topic_weights_ : ndarray of shape (n_components_,)
        Expected weights at the root given the tables: M_k / (b0 + M). They sum to less than one; the rest
        belongs to new topics.
    topic_ids_ : ndarray of shape (n_components_,), int
        Identity of each topic, ascending. A topic keeps its identity while it has tokens. If a topic is split
        or two are merged, the larger keeps its identity.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions: ``doc_concentration_ * topic_weights_``.
    topic_concentration_, doc_concentration_ : float
        Concentrations in use.
    topic_word_prior_ : float
        Value of topic_word_prior in use.
    n_components_ : int
        Number of topics that have tokens.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words of the columns, defined only if X has names or after `set_feature_names`.
    topic_names_ : ndarray of shape (n_components_,)
        Names of the topics, defined only after `sktopic.inspection.name_topics`.
    log_likelihood_ : ndarray of shape (n_evaluations,)
        Log joint probability in nats of words, topics and tables in the last call, given earlier documents.
        One entry per `evaluate_every` sweeps.
    n_components_trace_ : ndarray of shape (n_evaluations,), int
        Number of topics at the same sweeps.
    n_components_range_ : ndarray of shape (2,), int
        Smallest and largest number of topics after the sweeps max_iter // 2 + 1 to max_iter of the last call.
    n_iter_ : int
        Number of sweeps in the last call.
    n_samples_seen_ : int
        Number of documents in the counts.

    See Also
    --------
    sktopic.lda.CollapsedGibbsLDA : The same with a given number of topics.
    OnlineVariationalHDP : Learns from mini-batches.

    Notes
    -----
    - The model is the last draw, because topics of different draws do not correspond. To check convergence,
      compare log_likelihood_ and n_components_trace_ of chains from few topics and from many.
    - A token costs one scan of the topics in its document. 'sparse_table_indicator' is slower in
      measurements.
    - `partial_fit` samples new documents given the present counts. It never moves documents of earlier calls,
      and never splits or merges their topics.
    - The sampler is exact for integer counts up to 64. For other counts, see `OnlineEMLDA`.
    - There is no ``sample_weight``: repeat rows instead (see `~sktopic.lda.CollapsedGibbsLDA`).

    References
    ----------
    C. Chen, L. Du and W. Buntine, "Sampling table configurations for the hierarchical Poisson-Dirichlet
    process", ECML PKDD 2011: table indicators. The form is that of S. Burkhardt and S. Kramer,
    "Online sparse collapsed hybrid variational-Gibbs algorithm for hierarchical Dirichlet process topic
    models", ECML PKDD 2017: equations 8 to 11. Two things differ: weights at the root are exact, and the
    denominator of equation 11 is S(n, m), which the paper misprints.

    Y. W. Teh, M. I. Jordan, M. J. Beal and D. M. Blei, "Hierarchical Dirichlet processes", Journal of the
    American Statistical Association 101, 2006: direct assignment (section 5.3) and draws of
    the concentrations.

    S. Jain and R. M. Neal, "A split-merge Markov chain Monte Carlo procedure for the Dirichlet process
    mixture model", Journal of Computational and Graphical Statistics 13, 2004, and C. Wang and D. M. Blei,
    "A split-merge MCMC algorithm for the hierarchical Dirichlet process", arXiv:1201.1657, 2012: split_merge.

    A. Q. Li, A. Ahmed, S. Ravi and A. J. Smola, "Reducing the sampling complexity of topic models", KDD 2014:
    alias tables.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.hdp import CollapsedGibbsHDP
    >>> bars = make_bars(200, random_state=0)
    >>> hdp = CollapsedGibbsHDP(n_components=5, max_iter=100, random_state=0).fit(bars.data)
    >>> 9 <= hdp.n_components_ <= 14
    True
    >>> hdp.transform(bars.data).shape == (200, hdp.n_components_)
    True
    >>> bool(hdp.topic_weights_.sum() < 1)
    True
    """

    _infers_number_of_topics = True
    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "sampler": [StrOptions(set(SAMPLERS))],
        **LEARNED_CONCENTRATIONS,
        "topic_word_prior": [PRIOR, None],
        "split_merge": ["boolean"],
        "n_proposals": [Interval(Integral, 1, MOST_PROPOSALS, closed="both")],
        "evaluate_every": [ANY_NUMBER],
    }

    _state_class = CollapsedHDPState

    topic_concentration_: float = fitted("topic_concentration")
    doc_concentration_: float = fitted("doc_concentration")
    topic_word_prior_: float = fitted("topic_word_prior")
    n_components_trace_: IntArray = fitted("n_components_trace")
    n_components_range_: IntArray = fitted("n_components_range")

    def __init__(
        self,
        n_components: int = 10,
        *,
        sampler: Literal[
            "table_indicator", "sparse_table_indicator", "direct_assignment"
        ] = "table_indicator",
        topic_concentration: float | Literal["auto"] = "auto",
        doc_concentration: float | Literal["auto"] = "auto",
        topic_concentration_prior: tuple[float, float] = (1.0, 1.0),
        doc_concentration_prior: tuple[float, float] = (1.0, 1.0),
        topic_word_prior: float | None = None,
        split_merge: bool = True,
        n_proposals: int = 10,
        max_iter: int = 200,
        evaluate_every: int = 10,
        transform_burn_in: int = 10,
        transform_sweeps: int = 20,
        components_init: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.sampler = sampler
        self.topic_concentration = topic_concentration
        self.doc_concentration = doc_concentration
        self.topic_concentration_prior = topic_concentration_prior
        self.doc_concentration_prior = doc_concentration_prior
        self.topic_word_prior = topic_word_prior
        self.split_merge = split_merge
        self.n_proposals = n_proposals
        self.max_iter = max_iter
        self.evaluate_every = evaluate_every
        self.transform_burn_in = transform_burn_in
        self.transform_sweeps = transform_sweeps
        self.components_init = components_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _method(self):
        return CollapsedHDP(
            n_components=self.n_components,
            sampler=self.sampler,
            parameters=parameters_of(self, 0.05),
            n_proposals=int(self.n_proposals) if self.split_merge else 0,
            components_init=self.components_init,
            schedule=self._schedule(),
        )

    def _transform_step(self):
        return GibbsInference(self.transform_burn_in, self.transform_sweeps)

    # Sweeps change these arrays in place, so the properties read a snapshot.

    @property
    def n_components_(self) -> int:
        return len(self._read()._columns())

    @property
    def topic_ids_(self) -> IntArray:
        state = self._read()._state
        return state.ids[state.columns]

    @property
    def topic_weights_(self) -> FloatArray:
        return self._read()._state.topic_weights

    @property
    def doc_topic_prior_(self) -> FloatArray:
        state = self._read()._state
        return state.doc_concentration * state.topic_weights

    @property
    def topic_word_counts_(self) -> FloatArray:
        state = self._read()._state
        return np.ascontiguousarray(state.words.store[:, state.columns].T)

    def _check_settings(self):
        super()._check_settings()
        check_concentration_priors(self)

    def _columns(self):
        return self._state.columns
