"""Truncation-free variational inference for the HDP (Wang and Blei, 2012)."""

import sys
from dataclasses import replace
from numbers import Real

import numpy as np

from sktopic._compat import Interval
from sktopic._document_steps import DenseCounts
from sktopic._fitted_arrays import FLOAT, INT
from sktopic._kernels._hdp_gibbs import draw_tables
from sktopic._kernels._rng import combine_keys, uniforms
from sktopic._minibatch import FIT_KEY, MinibatchTopicModel
from sktopic._prior import LARGEST, SMALLEST
from sktopic._topic_word import TopicWordStatistics, columns_of, row_blocks, rows_of
from sktopic.hdp._restaurants import ROOM, SAMPLERS, TABLE_KEY, WEIGHT_KEY, Restaurants, generator_of, padded
from sktopic.hdp._topics_in_use import GrowingTopics
from sktopic.lda._minibatch import AveragedStatistics, GibbsInference, MinibatchLDA

START_KEY = 0x7374617274
# Weights below this would be taken for those of a free place.
SMALLEST_WEIGHT = 1e-290
SHARED = (
    "total_samples",
    "learning_decay",
    "learning_offset",
    "doc_burn_in",
    "doc_sweeps",
    "transform_burn_in",
    "transform_sweeps",
)


class BatchChain:
    """Gibbs sampling of the topics of a batch, given what documents before it say of topics and sticks.

    Topics from outside come first, in their places. Behind them are those that the batch makes: they are gone
    when their last token leaves.

    Parameters
    ----------
    batch : DocumentBatch
    counts : (n_words, n_known) expected tokens of the words of the batch in topics of the corpus
    totals : (n_known,) the same of all words
    sticks : (2, n_known) parameters a and b of the sticks' Beta posteriors
    concentrations : of topics and of documents
    smoothing : of topics
    n_features : words in the vocabulary
    """

    def __init__(self, batch, counts, totals, sticks, concentrations, smoothing, n_features):
        documents = Restaurants.of(batch)
        self.documents = replace(documents, words=np.arange(batch.n_words, dtype=np.int32))
        self.n_known = len(totals)
        self._concentrations = concentrations
        self._settings = SAMPLERS["direct_assignment"], 0, *concentrations, smoothing, n_features
        self._counts, self._totals, self._sticks = counts, totals, sticks
        self._ids = np.arange(self.n_known)
        self.tables = np.zeros(self.n_known)
        self._kept, self._kept_tables = np.zeros_like(counts, dtype=np.float64), np.zeros(self.n_known)
        self._make_room(self.n_known + ROOM)

    def _make_room(self, size):
        for name in ("_counts", "_totals", "_ids", "_sticks", "tables", "_kept", "_kept_tables"):
            setattr(self, name, padded(getattr(self, name), size))

    def assign_at_random(self, n_topics, key):
        """Start from uniformly random topics, behind those that there are."""
        self._make_room(self.n_known + n_topics + ROOM)
        draws = uniforms(key, len(self.documents.z))
        self.documents.assign((self.n_known + draws * n_topics).astype(np.int32))
        self.documents.add_to(self._counts)
        self._totals[self.n_known :] = self._counts[:, self.n_known :].sum(axis=0)
        self.tables = self.documents.tables(len(self.tables))

    def live(self):
        """Which places have a topic."""
        return (np.arange(len(self.tables)) < self.n_known) | (self.tables > 0)

    def draw_weights(self, generator):
        """Draw the sticks given the tables; weights of topics and their rest, times that of documents.

        A topic of this batch has Beta(M_k, gamma + M_>k), so that new topics have weights of the Dirichlet
        law that they have in a corpus of their own.
        """
        live, (gamma, alpha) = self.live(), self._concentrations
        tables, (a, b) = self.tables[live], self._sticks[:, live]
        b[self.n_known :] = gamma
        after = tables[::-1].cumsum()[::-1] - tables
        stick = generator.beta(a + tables, b + after)
        left = np.concatenate([[1.0], np.cumprod(1.0 - stick)])
        weights = np.zeros(len(live))
        weights[live] = np.maximum(alpha * stick * left[:-1], SMALLEST_WEIGHT)
        return weights, alpha * left[-1]

    def sweep(self, key, kept):
        """Draw sticks, then the topics of all tokens, then tables; kept: whether these count."""
        weights, rest = self.draw_weights(generator_of(key, WEIGHT_KEY))
        self.documents.weigh(False)
        weights, _ = self.documents.sweep(
            lambda: (self._counts, self._totals, self._ids),
            weights,
            rest,
            self._settings,
            key,
            self._make_room,
        )
        self.tables = np.zeros(len(weights))
        draw_tables(*self.documents.lists, weights, self.tables, combine_keys(key, TABLE_KEY))
        for array in (self._counts, self._totals, self._kept, self._kept_tables):
            array[..., ~self.live()] = 0.0
        if kept:
            self.documents.add_to(self._kept)
            self._kept_tables += self.tables

    def result(self, n_kept):
        """ChainCounts: means over sweeps that were kept, of topics that there still are."""
        live = self.live()
        tables = self._kept_tables[live] / n_kept
        return ChainCounts(columns_of(self._kept, live), tables, n_kept)


class ChainCounts(DenseCounts):
    """Tokens of words in topics over kept sweeps, and tables of topics; new ones last."""

    def __init__(self, counts, tables, n_kept):
        super().__init__(0, len(tables), False, n_kept)
        self.counts, self.tables = counts, tables
        self.totals[0] = counts.sum(axis=0)


class TruncationFreeHDP(GrowingTopics, GibbsInference, AveragedStatistics, MinibatchTopicModel):
    """Hierarchical Dirichlet process by variational inference that needs no truncation (VarGibbs).

    Topics have Dirichlet posteriors and their weights sticks with Beta posteriors, which mini-batches move.
    The topics of a batch are Gibbs sampled, and tokens may be drawn to topics that are not there yet: as many
    are made as a batch needs. Choose it to compare with the literature. The number of topics depends on the
    start, since tokens seldom leave old topics for a new one; `DirectAssignmentHDP` finds it.

    Parameters
    ----------
    n_components : int, default=100
        Number of topics that the tokens of the first batch are dealt to, before they are sampled.
    topic_concentration : float, default=1.0
        Concentration of the weights of topics, in [1e-12, 1e12], alpha in [1]_: larger values make more
        topics.
    doc_concentration : float, default=5.0
        Concentration of the documents' proportions, in [1e-12, 1e12], b in [1]_.
    topic_word_prior : float, default=0.05
        Parameter of the topics' symmetric Dirichlet prior, > 0, eta in the literature; smaller values make
        more topics.
    learning_decay : float, default=0.65
        Exponent kappa of the step size (learning_offset + t) ** -learning_decay of update t = 1, 2, ...;
        in [0, 1]. Values in (0.5, 1] make training converge.
    learning_offset : float, default=1.0
        Offset of the step size, >= 0; larger values slow the first updates down.
    max_iter : int, default=5
        Passes over the corpus in `fit`.
    batch_size : int, default=200
        Documents per update. Larger batches make slower progress per pass and share better among n_jobs.
    total_samples : float or None, default=None
        Size of the corpus, which weighs the data against topic_word_prior. None: the number of documents
        given to `fit`, and to `partial_fit` since.
    shuffle : bool, default=True
        Whether `fit` visits the documents in a new random order in each pass; `partial_fit` never does.
    doc_burn_in : int, default=4
        Sweeps over a batch whose draws are thrown away.
    doc_sweeps : int, default=3
        Sweeps whose draws are counted, after those.
    transform_burn_in : int, default=10
        Gibbs sweeps over a document in `transform` and `score` that are thrown away, >= 0.
    transform_sweeps : int, default=20
        Gibbs sweeps over a document in `transform` and `score` that are used, >= 1.
    early_stopping : bool, default=False
        Whether `fit` holds documents out, scores them after each pass, and stops when the score no
        longer rises.
    validation_fraction : float, default=0.1
        Share of the documents held out for early stopping, in (0, 1).
    n_iter_no_change : int, default=2
        Passes without improvement before early stopping.
    tol : float, default=1e-3
        Nats per word that count as an improvement.
    n_jobs : int or None, default=None
        Threads (or workers of the backend chosen with ``joblib.parallel_config``). The results are the
        same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial topics, of sampling and of shuffling.
    verbose : int, default=0
        If positive, `fit` prints its progress every few seconds and after each pass.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Probability of each word in each topic; rows sum to one. Computed at the first access after
        training, and read-only.
    topic_word_counts_ : ndarray of shape (n_components_, n_features_in_)
        Expected number of tokens of each word in each topic over the whole corpus, without the
        pseudo-count.
    topic_word_posterior_ : ndarray of shape (n_components_, n_features_in_)
        Parameters of the topics' Dirichlet posteriors, lambda in the literature:
        ``topic_word_counts_ + topic_word_prior_``. components_ is their mean.
    topic_weights_ : ndarray of shape (n_components_,)
        Expected weights of the topics under the posteriors of the sticks. What is missing to one is left for
        topics out of use and those to come.
    topic_ids_ : ndarray of shape (n_components_,)
        Identity of each topic, in the order of their births; topics keep it. Those with less than one
        expected token in the corpus are given up.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions: doc_concentration_ * topic_weights_.
    topic_concentration_, doc_concentration_, topic_word_prior_ : float
        The parameters in use.
    n_components_ : int
        Topics in use: those with at least one expected token in the corpus.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had any.
    n_iter_ : int
        Passes made by `fit`.
    n_batch_iter_ : int
        Updates made.
    n_samples_seen_ : int
        Documents treated, counting each as often as it was.
    total_samples_ : float
        Size of the corpus at the last update.
    validation_scores_ : ndarray of shape (n_iter_,)
        Held-out score after each pass, with early stopping.

    See Also
    --------
    OnlineEMHDP : Maximum likelihood for topics and their weights.
    CollapsedGibbsHDP : The sampler that a batch goes through, on a whole corpus.
    DirectAssignmentHDP : Splits and merges topics.

    Notes
    -----
    A batch is one chain: its documents see each other's tokens in the topics, as if these were integrated out
    for the batch (locally collapsed), beside what documents before have left there. With one batch and one
    pass it is direct assignment sampling of the exact posterior. Sampling uses one thread; n_jobs is for
    `transform` and `score`. Tokens that were drawn to a topic which the batch ends without are not counted.

    A stick's posterior is Beta(a, b) as it should be; where it is sampled, the paper prints b - alpha in the
    place of b - 1 for the exponent of its density. New topics of a batch have the law of their weights
    without a truncation.

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
        **MinibatchTopicModel._parameter_constraints,
        **{name: MinibatchLDA._parameter_constraints[name] for name in SHARED},
        "topic_concentration": [Interval(Real, SMALLEST, LARGEST, closed="both")],
        "doc_concentration": [Interval(Real, SMALLEST, LARGEST, closed="both")],
        "topic_word_prior": [Interval(Real, SMALLEST, LARGEST, closed="both")],
    }

    _fitted_arrays = {  # noqa: RUF012
        **MinibatchTopicModel._fitted_arrays,
        "_sticks": (FLOAT, 2, "topics"),
        "_slot_ids": (INT, "topics"),
        "_used": (INT, "components"),
    }

    # A batch is one chain.
    _group_size = sys.maxsize

    def __init__(
        self,
        n_components: int = 100,
        *,
        topic_concentration: float = 1.0,
        doc_concentration: float = 5.0,
        topic_word_prior: float = 0.05,
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

    @property
    def topic_word_posterior_(self):
        model = self._read()
        return model.topic_word_counts_ + model.topic_word_prior_

    # State

    def _initialize(self, n_features, seed):
        n = self.n_components
        self._statistics = self._statistics_of(np.zeros((n_features, n)))
        self.total_samples_ = 0.0
        self._n_topic_updates = 0
        self._adopt_settings()
        # As after a table for each.
        self._sticks = np.array([np.ones(n), self.topic_concentration_ + np.arange(n)[::-1]])
        self._slot_ids, self._n_ids = np.arange(n), n
        self._report_topics()

    def _statistics_of(self, store):
        none = np.empty((0, store.shape[1]))
        return TopicWordStatistics(store, store.sum(axis=0), np.ones(1), none, np.zeros(store.shape[1]))

    def _adopt_settings(self):
        for name in ("topic_concentration", "doc_concentration", "topic_word_prior"):
            setattr(self, f"{name}_", float(getattr(self, name)))

    def _new_sticks(self, n):
        """Parameters of n sticks without tables."""
        return np.repeat([[1.0], [self.topic_concentration_]], n, axis=1)

    def _report_topics(self):
        self._used = np.flatnonzero(self._used_slots())
        self.n_components_ = len(self._used)
        self.topic_ids_ = self._slot_ids[self._used]
        a, b = self._sticks
        left = np.concatenate([[1.0], np.cumprod(b / (a + b))[:-1]])
        self.topic_weights_ = (a / (a + b) * left)[self._used]
        self.doc_topic_prior_ = np.maximum(self.doc_concentration_ * self.topic_weights_, SMALLEST)

    # Training

    def _document_step(self, batch, keys, total_samples, workers):
        first, unit = self._n_topic_updates == 0, total_samples * float(self._store_scale[0])
        known = slice(0, 0 if first else self._n_trained)
        key = self._key(FIT_KEY, self.n_batch_iter_)
        concentrations = self.topic_concentration_, self.doc_concentration_
        counts = rows_of(self._store[:, known], batch.words)
        for rows in row_blocks(counts):
            counts[rows] *= unit
        chain = BatchChain(
            batch,
            counts,
            self._store_totals[known] * unit,
            self._sticks[:, known],
            concentrations,
            self.topic_word_prior_,
            self.n_features_in_,
        )
        if first:
            chain.assign_at_random(self.n_components, combine_keys(key, START_KEY))
        for sweep in range(self.doc_burn_in + self.doc_sweeps):
            chain.sweep(combine_keys(key, sweep), sweep >= self.doc_burn_in)
        return chain.result(self.doc_sweeps)

    def _global_work(self, counts):
        return super()._global_work(counts) + 2 * self._store.size  # topics come and go

    def _global_step(self, counts, words, n_documents, n_tokens, total_samples, workers):
        self.total_samples_ = float(total_samples)
        if n_tokens > 0.0:
            if self._n_topic_updates == 0:  # the first batch starts from nothing
                self._keep(np.empty(0, dtype=np.int64))
                self._n_ids = 0
            self._extend(len(counts.tables) - self._n_trained)
            rho = 1.0 if self._n_topic_updates == 0 else self._step_size(self._n_topic_updates + 1)
            statistics = self._statistics
            statistics.decay(1.0 - rho)
            statistics.add(counts, words, rho / n_documents, workers)
            tables = counts.tables * (total_samples / n_documents)
            after = tables[::-1].cumsum()[::-1] - tables
            best = np.array([1.0 + tables, self.topic_concentration_ + after])
            self._sticks = (1.0 - rho) * self._sticks + rho * best
            self._n_topic_updates += 1
            used = self._used_slots()
            if not used.all():
                self._keep(used)
        self._report_topics()

    _step_size = MinibatchLDA._step_size

    def _keep(self, kept):
        """Give up the other slots."""
        self._statistics = self._statistics.columns(kept)
        self._sticks, self._slot_ids = self._sticks[:, kept], self._slot_ids[kept]

    def _extend(self, n):
        """Make n slots more."""
        if n > 0:
            self._statistics = self._statistics.extended(np.zeros((self.n_features_in_, n)))
            self._sticks = np.hstack([self._sticks, self._new_sticks(n)])
            self._slot_ids = np.append(self._slot_ids, self._n_ids + np.arange(n))
            self._n_ids += n
