"""The online hybrid of variational and Gibbs inference for the HDP (Burkhardt and Kramer, 2017)."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._fitted_attributes import fitted
from sktopic._inference import GibbsInference, GibbsStep
from sktopic._runtime._compat import StrOptions
from sktopic._topics._prior import default_topic_word_prior
from sktopic._training._minibatches import fit_minibatches
from sktopic.hdp._estimator import MinibatchHDPEstimator
from sktopic.hdp._hybrid_topics import HybridState, HybridTopics
from sktopic.hdp._kept_topics import can_be_kept, fit_kept_topics
from sktopic.hdp._parameters import LEARNED_CONCENTRATIONS
from sktopic.hdp._split_merge_topics import SplitMergeTopics
from sktopic.hdp._table_step import TableStep

# What topic_word_prior=None stands for with moves, which have no number of topics that it might follow from.
DEFAULT_TOPIC_WORD_PRIOR = 0.05
# Sweeps over a document before those of doc_burn_in, with a window: after few of them small topics are still
# in documents where they do not belong, and look as if they were not needed.
MIXING_SWEEPS = 16


class HybridHDP(MinibatchHDPEstimator):
    """Topics of very different sizes, and new ones in a stream: an online hierarchical Dirichlet process.

    Topics are weighted by a distribution that all documents share (the root), which is learned with them: a
    topic that many documents use is more probable in the next. Choose it where topics are of very different
    sizes. By default at most n_components topics are used. Topics without tokens lose their weight, but
    similar topics are not merged: n_components_, the number in use, is no estimate of how many the posterior
    has; that of `CollapsedGibbsHDP` is. With split_merge=True n_components is only the start, on which the
    number that is found after some passes hardly depends where the concentrations are given.

    Read more in :doc:`/guide/hdp`.

    Parameters
    ----------
    n_components : int, default=100
        Largest number of topics (truncation), K in the literature. With split_merge=True, the number of
        random topics that training starts from, where `fit` does not add some (see Notes); it may then be
        anything later.
    sampler : {'collapsed', 'sparse_table_indicator', 'table_indicator'}, default='collapsed'
        How documents are sampled. All draw topics from the same distribution. 'collapsed' sums the tables out
        and has expected counts of tables and of tokens. The two others sample table indicators, and count
        what was drawn: 'sparse_table_indicator' goes over the document's topics for each token (algorithm 2),
        'table_indicator' over all of them (equations 18 to 20): these two reproduce the paper, and score 0.1
        nats per word less on KOS.
    root_weight : {'mean', 'paper'}, default='mean'
        Weight of a topic with g tables in the corpus, of G in all: g / (G + topic_concentration), which is
        exact, or g ** 2 / ((g + 1) (G + topic_concentration)), which reproduces the paper.
    topic_concentration : float or 'auto', default='auto'
        Concentration of the root, in [1e-12, 1e12], b0 in the literature: large values make the weights of
        topics more equal. With 'auto' it is learned where the root is (see Notes).
    doc_concentration : float or 'auto', default='auto'
        Concentration of documents, in [1e-12, 1e12], b1 in the literature: large values favour documents
        with many topics.
        With 'auto' it is learned from documents that `fit` sees for the first time, since topics that were
        fitted to a document make it look as if it had fewer of them; `partial_fit` takes all it is given for
        new, so give a number where it repeats documents.
    topic_concentration_prior, doc_concentration_prior : tuple (shape, rate), default=(1.0, 0.01)
        Gamma priors of the concentrations that are learned.
    reuse_topics : bool, default=True
        Whether a topic that fell out of use may be used again: topic_concentration is then shared out among
        all n_components topics. Otherwise it belongs to topics beyond those, and the topic stays unused.
    split_merge : bool, default=False
        Whether topics are born, split, merged and dropped, so that their number is found (see Notes). If
        True, `sampler` must be 'collapsed', and training takes no ``sample_weight``.
    topic_word_prior : float or None, default=None
        Pseudo-count of every word in every topic, >= 0, added when topics are read; it gives words that
        training has not seen a probability above zero. None is ``min(0.1, 2 / n_components)``. With
        split_merge=True it is the parameter of the topics' Dirichlet prior, > 0, on which their number
        depends: smaller values make more of them. None is then 0.05.
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
        Size of the corpus, which weighs the data against `topic_word_prior`. If None, the number of documents
        given to `fit` and later calls of `partial_fit`, by weight.
    shuffle : bool, default=True
        Whether `fit` shuffles the documents before each pass. `partial_fit` never does.
    doc_burn_in : int, default=4
        Gibbs sweeps over a document in training that are discarded (burn-in), >= 0; 16 more with
        split_merge=True where no topics of tokens are kept, since after few sweeps small topics are in more
        documents than they should be.
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
        Other topics start at random. All initial topics weigh as much as one batch, and each update forgets a
        part of them.
    n_jobs : int or None, default=None
        Number of threads, or processes if ``joblib.parallel_config`` chooses them. Does not affect results.
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
        Expected number of tokens of each word in each topic in the whole corpus, without the pseudo-count.
    topic_weights_ : ndarray of shape (n_components_,)
        Weights of the topics at the root; what is missing to one is left for topics out of use and new ones.
    topic_ids_ : ndarray of shape (n_components_,)
        Identities of the topics: equal numbers are the same topic, also in later calls of `partial_fit`. A
        topic that falls out of use and comes back has a new one.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions: doc_concentration_ * topic_weights_.
    topic_concentration_, doc_concentration_ : float
        Concentrations in use, given or learned.
    topic_word_prior_ : float
        Pseudo-count in use.
    n_components_ : int
        Topics in use: those with at least one expected token in the corpus.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names of X, defined only if X has them.
    move_history_ : ndarray of shape (n_moves,), structured
        With split_merge=True, the moves in their order: n_samples (documents seen before), kind
        ('split', 'merge' or 'drop'), topic and other (identities: of the topic that was split, that stayed
        or that was dropped, and of the one that was made or went; or -1), gain in nats, n_components
        (after the move: for the last of those made at once, n_components_ then) and elbo (nan: it has none).
        Topics that sampling made, or left without tokens, are not among them, but for those without tokens in
        a window, which are dropped with a gain of zero.
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
    With the weights of the root fixed and tables summed out, a document is one of LDA with the parameters
    doc_topic_prior_: `transform` samples it as `OnlineEMLDA` does, and so does the 'collapsed' sampler. The
    expected tables of a topic with alpha = b1 r and n tokens in a document are alpha (psi(alpha + n) -
    psi(alpha)). Tables are counted from tokens; a count c becomes tokens as in `OnlineEMLDA`.

    With split_merge=True, given concentrations, several passes and no sample_weight, `fit` keeps the topics
    of the tokens of a corpus of up to 2 ** 22 tokens (in memory, with the corpus, at some 60 bytes each). The
    first pass is online, from as many random topics as the concentrations lead to expect in such a corpus, if
    these are more than n_components (1000 at most). Each pass after it is collapsed Gibbs sampling: what is
    stored are the last draws of all tokens, and doc_burn_in + doc_sweeps sweeps over some 2 ** 19 tokens at a
    time draw topics and tables (by table indicators) given all others, where topics begin and end as they do
    in the posterior. So batches are larger than batch_size then, and one thread samples them. After the
    second, fourth, eighth ... pass topics are merged and split, and before the last pass, where that is the
    third or a later one, merged and dropped, with their tokens; `early_stopping` ends without that. A move is
    made where it gains: it is no step of a Markov chain, but all else is. A split has to gain more than the
    pass before it has raised the log joint probability, per topic: as long as sampling has not settled, it
    might find as much for one topic as for two, and topics made too early stay. On KOS the number that is
    found is near that of long chains of `CollapsedGibbsHDP`, on NIPS some 15 % above, in a small part of
    their time. The topics of tokens are no part of the fitted state.

    Where a concentration is learned, in `partial_fit`, in a `fit` of one pass, and for larger or weighted
    corpora, training is online. There moves are judged by the topics that the tokens of a window of documents
    were drawn to last. The first window is of 250 documents after the first batch, each one twice as large as
    the one before it, up to the size of the corpus, or until it has 2 ** 22 tokens; documents of a smaller
    one stand for the corpus, each for as many, or for four at most where topics are split. At its end topics
    are merged, dropped and, but for the last of several passes of `fit`, split. What is stored of a topic
    that is split is divided among the parts, word by word, in proportion to their tokens in the window plus
    their share of a token, and its tables by their shares: sums are kept. Those of merged topics are added,
    those of dropped ones forgotten. With concentrations as on that corpus it finds about a third of the
    topics, since averages over batches forget small ones. Up to 32 bytes for each token of the window are
    part of the fitted state, and a batch is in memory as a whole.

    In both, each topic is compared with the two that explain its words best, and merged with one where both
    are better as one; small topics are dropped where their tokens are better in the others; then Gibbs
    sampling restricted to two sides (Jain and Neal, 2004), which starts from two of its documents that are
    far from each other, looks for parts of each topic, and for parts of those. What is compared is the
    probability of the words and topics of tokens, with proportions and tables of documents summed out and the
    share of a topic at the root integrated out (Laplace), divided by the probability of the sides, each
    token's given all others; a move has to gain five nats. So one number judges a split and the merge that
    would undo it.

    With sampler='collapsed', later passes of `fit` leave out what a document has added to topics itself, as
    `OnlineEMLDA` does. With all samplers the root is learned from documents that `fit` sees for the first
    time, as doc_concentration is, and in the first 100 updates. (With split_merge=True it always is, since
    topics come and go between passes.) Otherwise few topics take most of its weight within some tens of
    passes. That is where samplers of the posterior end, but other documents are predicted worse.

    Departures from the paper, beside these. There is no option of a topic that is new to the root (equation
    17): all n_components exist there, with reuse_topics=True by shares of topic_concentration. A document's
    first sweep seats its tokens one after the other instead of at random. Both concentrations are learned,
    and the root moves with the step size of an update ten later (equation 22), the very first left out, since
    the first batches see topics that are still alike. Alias tables are built for the common words of a batch
    only.

    References
    ----------
    S. Burkhardt and S. Kramer, "Online sparse collapsed hybrid variational-Gibbs algorithm for hierarchical
    Dirichlet process topic models", ECML PKDD 2017: equations 18 to 22 and algorithm 2.

    C. Chen, L. Du and W. Buntine, "Sampling table configurations for the hierarchical Poisson-Dirichlet
    process", ECML PKDD 2011: table indicators.

    S. Jain and R. M. Neal, "A split-merge Markov chain Monte Carlo procedure for the Dirichlet process
    mixture model", Journal of Computational and Graphical Statistics 13, 2004.

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
            return SplitMergeTopics(
                inference=GibbsStep(self.doc_burn_in + MIXING_SWEEPS, self.doc_sweeps),
                kept_inference=GibbsStep(self.doc_burn_in, self.doc_sweeps),
                **settings,
            )
        if self.sampler == "collapsed":
            return HybridTopics(inference=GibbsStep(self.doc_burn_in, self.doc_sweeps), **settings)
        sparse = self.sampler == "sparse_table_indicator"
        return HybridTopics(inference=TableStep(self.doc_burn_in, self.doc_sweeps, sparse), **settings)

    def _fit_documents(self, run, documents, passes, tasks, evaluate):
        """Train by passes; tokens keep their topics between them if all fit, and concentrations are given."""
        learns = "auto" in (self.topic_concentration, self.doc_concentration)
        if self.split_merge and not learns and passes.max_iter > 1 and can_be_kept(documents):
            fit_kept_topics(run, documents, passes, tasks, evaluate)
        else:
            fit_minibatches(run, documents, passes, tasks, evaluate)

    def _check_settings(self):
        super()._check_settings()
        if self.split_merge and self.sampler != "collapsed":
            raise ValueError(f"split_merge=True with sampler={self.sampler!r}: 'collapsed' is allowed.")
        if self.split_merge and self.topic_word_prior == 0:
            raise ValueError(
                f"topic_word_prior={self.topic_word_prior!r} is invalid with split_merge=True: must be above "
                "0, or None."
            )

    def _check_sample_weight(self, sample_weight):
        if self.split_merge and sample_weight is not None:
            raise ValueError(
                "sample_weight must be None with split_merge=True, whose moves give each copy of a document "
                "topics of its own. Repeat the rows of X, or set split_merge=False."
            )

    def _check_lanes(self):
        if self.split_merge:
            raise ValueError(
                "split_merge=True has no rule for lanes, none of which sees a window of documents. Train in "
                "lanes with split_merge=False, at the n_components that a fit of some documents has found."
            )
