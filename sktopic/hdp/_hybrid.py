"""The online hybrid of variational and Gibbs inference for the HDP (Burkhardt and Kramer, 2017)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._fitted_attributes import fitted
from sktopic._inference._gibbs import GibbsInference, GibbsStep
from sktopic._runtime._compat import StrOptions
from sktopic._topics._prior import default_topic_word_prior
from sktopic._training._minibatches import fit_minibatches
from sktopic.hdp._estimator import MinibatchHDPEstimator
from sktopic.hdp._hybrid_topics import HybridState, HybridTopics
from sktopic.hdp._parameters import LEARNED_CONCENTRATIONS
from sktopic.hdp._split_merge_topics import SplitMergeTopics, enough_topics
from sktopic.hdp._table_step import TableStep

# Largest topic_concentration with moves. Larger values outweigh the tables of documents: free columns, which
# share it, fill again soon after moves. With reuse_topics=False, topics in use have almost no weight.
LARGEST_CONCENTRATION = 1000
# topic_word_prior=None with moves. The number of topics is unknown then, so the value cannot depend on it.
DEFAULT_TOPIC_WORD_PRIOR = 0.01
# Sweeps over a document before those of doc_burn_in, with moves. After fewer sweeps, small topics are still
# in documents where they do not belong, and predictions are worse.
MIXING_SWEEPS = 5


class HybridHDP(MinibatchHDPEstimator):
    """Hierarchical Dirichlet process by online hybrid variational-Gibbs inference.

    A distribution over topics that all documents share (the root) is learned with the topics. A topic that
    many documents use is more probable in new documents. Choose this model for topics of very different
    sizes, and for a stream in which new topics appear.

    By default, n_components is the largest number of topics. Topics without tokens lose their weight, but
    similar topics are not merged. n_components_ is therefore no estimate of the number of topics under the
    posterior; use `CollapsedGibbsHDP` for that. With split_merge=True, `fit` merges and drops superfluous
    topics, and n_components has no effect on the result.

    Read more on the guide page "Hierarchical Dirichlet process".

    Parameters
    ----------
    n_components : int, default=100
        Largest number of topics (truncation), K in the literature. With split_merge=True, it has this meaning
        only if training starts with `partial_fit`, because `fit` chooses its own number (see Notes).
    sampler : {'collapsed', 'sparse_table_indicator', 'table_indicator'}, default='collapsed'
        Sampler of documents. All draw topics from the same distribution. 'collapsed' sums the tables out and
        uses expected counts. The others draw table indicators: 'sparse_table_indicator' visits the document's
        topics for each token (algorithm 2), and 'table_indicator' visits all topics (equations 18 to 20).
        These two follow the paper (see Notes), and score 0.1 nats per word less on KOS.
    root_weight : {'mean', 'paper'}, default='mean'
        Weight of a topic with g of all G tables in the corpus. 'mean' is exact: g / (G +
        topic_concentration). 'paper' reproduces the paper: g ** 2 / ((g + 1) (G + topic_concentration)).
    topic_concentration : float or 'auto', default='auto'
        Concentration of the root, in [1e-12, 1e12], b0 in the literature. Larger values make the weights of
        topics more equal. With 'auto' it is learned together with the root (see Notes). With
        split_merge=True, it is at most 1000. If it is 100 or more, dropped topics may return unless
        reuse_topics=False.
    doc_concentration : float or 'auto', default='auto'
        Concentration of documents, in [1e-12, 1e12], b1 in the literature. Larger values give documents more
        topics. With 'auto' it is learned from documents that `fit` sees for the first time. `partial_fit`
        treats all documents as new, so give a number if you repeat documents.
    topic_concentration_prior, doc_concentration_prior : tuple (shape, rate), default=(1.0, 0.01)
        Gamma priors of the learned concentrations.
    reuse_topics : bool, default=True
        Whether a topic that fell out of use may be used again. If True, topic_concentration is divided
        equally among all n_components topics. Otherwise it belongs to topics that are not represented, and
        the topic stays unused.
    split_merge : bool, default=False
        Whether superfluous topics are merged and dropped, so that the number is learned (see Notes). If
        True, `sampler` must be 'collapsed'.
    topic_word_prior : float or None, default=None
        Pseudo-count of every word in every topic, >= 0, added to the counts when topics are computed. It
        gives unseen words a positive probability. If None, ``min(0.1, 2 / n_components)``. With
        split_merge=True, it is the parameter of the topics' Dirichlet prior, > 0, and None is 0.01; smaller
        values then give more topics.
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
        weight of the documents given to `fit` and later calls of `partial_fit`.
    shuffle : bool, default=True
        Whether `fit` shuffles the documents before each pass. `partial_fit` never does.
    doc_burn_in : int, default=4
        Number of discarded Gibbs sweeps per document (burn-in) in training, >= 0. With split_merge=True there
        are five more. With few sweeps, small topics appear in too many documents.
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
        Weights of the topics at the root. If they sum to less than one, the rest belongs to unused and new
        topics.
    topic_ids_ : ndarray of shape (n_components_,)
        Identity of each topic, kept in later calls of `partial_fit`. A topic that falls out of use and
        returns has a new identity.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions: doc_concentration_ * topic_weights_.
    topic_concentration_, doc_concentration_ : float
        Concentrations in use, given or learned.
    topic_word_prior_ : float
        Pseudo-count in use.
    n_components_ : int
        Number of topics in use, which have at least one expected token in the corpus.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words of the columns, defined only if X has names or after `set_feature_names`.
    move_history_ : ndarray of shape (n_moves,), structured
        Moves in order, with split_merge=True. Fields: n_samples (documents seen before), kind ('merge' or
        'drop'), topic (identity that stayed or was dropped), other (identity that was removed, or -1), gain
        in nats, n_components (after the move) and elbo (always nan). Topics that sampling makes or empties
        are not listed, but topics without tokens in a window are listed as drops with a gain of zero.
    n_components_range_ : ndarray of shape (2,), int
        Smallest and largest number of topics in use after the updates since the last moves, with
        split_merge=True. Merging or dropping topics by hand does not change it.
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
    CollapsedGibbsHDP : Samples from the exact posterior of a corpus, without a limit on topics.
    OnlineVariationalHDP : Mean-field inference by stick-breaking.

    Notes
    -----
    - Inference: given the root, a document follows LDA with the parameters doc_topic_prior_. The 'collapsed'
      sampler and `transform` sample it as `OnlineEMLDA` does.
    - Root and topic_concentration are learned in the first 100 updates, and later from documents that `fit`
      sees for the first time. With split_merge=True, they are always learned.
    - split_merge=True: `fit` starts with 0.7 sqrt(N) random topics, at most 1000. N is the number of tokens,
      or ten times the number of nonzero entries of X if this is less. On 2930 blog entries, training takes
      five times as long as with 300 topics without moves, and thirteen times as long as with 100.
    - Topics are merged and dropped by the drawn topics of all tokens, at most 2 ** 22, after passes 1, 4, 16,
      ..., or 2, 8, 32, ... if a pass is one batch. If there are more tokens, the last ones stand for all, and
      the number of topics differs.
    - split_merge=True, memory: 32 bytes per token, and 8 per word and initial topic; three times the latter
      during moves.
    - split_merge=True, streams: moves are made after 250, 1000, 4000, ... documents, but the number of topics
      stays near n_components.
    - The number of topics belongs to this algorithm and its concentrations.
    - Departures from the paper: all n_components topics exist at the root (no equation 17); a first sweep
      seats tokens in order; concentrations are learned; the root skips the first update, and
      its step s has the size of step s + 10 (equation 22); only common words get alias tables.

    References
    ----------
    S. Burkhardt and S. Kramer, "Online sparse collapsed hybrid variational-Gibbs algorithm for hierarchical
    Dirichlet process topic models", ECML PKDD 2017: equations 18 to 22 and algorithm 2.

    C. Chen, L. Du and W. Buntine, "Sampling table configurations for the hierarchical Poisson-Dirichlet
    process", ECML PKDD 2011: table indicators.

    Y. W. Teh, M. I. Jordan, M. J. Beal and D. M. Blei, "Hierarchical Dirichlet processes", Journal of the
    American Statistical Association 101, 2006: the model, and the likelihood of concentrations.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.hdp import HybridHDP
    >>> bars = make_bars(500, random_state=0)
    >>> hdp = HybridHDP(n_components=30, random_state=0).fit(bars.data)
    >>> hdp.transform(bars.data).shape == (500, hdp.n_components_)
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchHDPEstimator._parameter_constraints,
        **LEARNED_CONCENTRATIONS,
        "sampler": [StrOptions({"collapsed", "sparse_table_indicator", "table_indicator"})],
        "root_weight": [StrOptions({"mean", "paper"})],
        "reuse_topics": ["boolean"],
        "split_merge": ["boolean"],
    }
    _state_class = HybridState

    move_history_ = fitted("move_history")
    n_components_range_ = fitted("n_components_range", "only split_merge=True computes it")

    def __init__(
        self,
        n_components: int = 100,
        *,
        sampler: Literal["collapsed", "sparse_table_indicator", "table_indicator"] = "collapsed",
        root_weight: Literal["mean", "paper"] = "mean",
        topic_concentration: float | Literal["auto"] = "auto",
        doc_concentration: float | Literal["auto"] = "auto",
        topic_concentration_prior: tuple[float, float] = (1.0, 0.01),
        doc_concentration_prior: tuple[float, float] = (1.0, 0.01),
        reuse_topics: bool = True,
        split_merge: bool = False,
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
        self.sampler = sampler
        self.root_weight = root_weight
        self.topic_concentration = topic_concentration
        self.doc_concentration = doc_concentration
        self.topic_concentration_prior = topic_concentration_prior
        self.doc_concentration_prior = doc_concentration_prior
        self.reuse_topics = reuse_topics
        self.split_merge = split_merge
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
        default = (
            DEFAULT_TOPIC_WORD_PRIOR if self.split_merge else default_topic_word_prior(self.n_components)
        )
        settings = {
            **self._common_settings(default),
            "prediction": GibbsInference(self.transform_burn_in, self.transform_sweeps),
            "exact_root": self.root_weight == "mean",
            "shared_root": self.reuse_topics,
        }
        if self.split_merge:
            step = GibbsStep(self.doc_burn_in + MIXING_SWEEPS, self.doc_sweeps)
            return SplitMergeTopics(inference=step, **settings)
        if self.sampler == "collapsed":
            return HybridTopics(inference=GibbsStep(self.doc_burn_in, self.doc_sweeps), **settings)
        sparse = self.sampler == "sparse_table_indicator"
        return HybridTopics(inference=TableStep(self.doc_burn_in, self.doc_sweeps, sparse), **settings)

    def _fit_documents(self, run, documents, passes, tasks, evaluate):
        """Train pass by pass; with moves, from a number of topics that the documents determine."""
        if self.split_merge:
            state = run.method.begun(run.training.state, enough_topics(documents))
            with run.training.changing(), run.training.complete_or_undone(waits=True):
                run.training.state = state
        fit_minibatches(run, documents, passes, tasks, evaluate)

    def _check_settings(self):
        super()._check_settings()
        if self.split_merge and self.sampler != "collapsed":
            raise ValueError(
                f"sampler={self.sampler!r} is invalid with split_merge=True: must be 'collapsed'."
            )
        given = self.topic_concentration
        if self.split_merge and given != "auto" and given > LARGEST_CONCENTRATION:
            raise ValueError(
                f"topic_concentration={given!r} is invalid with split_merge=True: must be at most "
                f"{LARGEST_CONCENTRATION}, or 'auto'. Larger values outweigh the documents."
            )
        if self.split_merge and self.topic_word_prior == 0:
            raise ValueError(
                f"topic_word_prior={self.topic_word_prior!r} is invalid with split_merge=True: must be above "
                "0, or None."
            )

    def _check_lanes(self):
        if self.split_merge:
            raise ValueError(
                "split_merge=True does not support lanes, because no lane sees a window of "
                "documents. Set split_merge=False, and n_components to n_components_ of a fit to "
                "some documents."
            )
