"""Collapsed Gibbs sampling for LDA over a corpus (Griffiths and Steyvers, 2004)."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln
from sklearn.utils import check_random_state

from sktopic._assignments import ASSIGNMENT_KEY, SWEEP_KEY, counts_exactly, log_rising
from sktopic._base import TopicModel
from sktopic._compat import CallbackSupportMixin, Interval, StrOptions, with_callbacks
from sktopic._concurrency import changing, trains, updating
from sktopic._document_steps import GibbsStep
from sktopic._documents import DocumentReader
from sktopic._fitted_arrays import FLOAT
from sktopic._interrupt import complete_or_undone
from sktopic._kernels._collapsed_gibbs import list_topics, move_counts, sweep_words
from sktopic._kernels._rng import combine_keys, uniforms
from sktopic._monitor import FitMonitor, FitTasks
from sktopic._parallel import Workers
from sktopic._prior import (
    LARGEST_LEARNED,
    SMALLEST_LEARNED,
    PriorEvidence,
    PriorLearner,
    check_prior,
    check_smoothing,
    default_smoothing,
)
from sktopic._topic_word import TopicWordStatistics, rows_of
from sktopic.lda._minibatch import MinibatchLDA

SHARED_PARAMETERS = (
    "n_components",
    "doc_topic_prior",
    "max_iter",
    "transform_burn_in",
    "transform_sweeps",
    "n_jobs",
    "random_state",
    "verbose",
)
# Iterations of Minka's fixed point at each update of a prior, which goes on from the last.
PRIOR_ITERATIONS = 5


@dataclass
class Shard:
    """Some documents with the topics of their tokens, as _kernels._collapsed_gibbs has them."""

    word_indptr: np.ndarray
    words: np.ndarray
    cell_document: np.ndarray
    cell_count: np.ndarray
    lengths: np.ndarray
    slot_start: np.ndarray
    slot_topic: np.ndarray
    slot_weight: np.ndarray
    n_slots: np.ndarray
    z: np.ndarray
    hint: np.ndarray

    @classmethod
    def of(cls, batch, n_topics):
        """The documents of a DocumentBatch, with no topics yet."""
        # One more entry than topics, for the moment in which a token is in two; in multiples of four.
        sizes = (np.minimum(np.diff(batch.clump_indptr), n_topics) + 1 + 3) // 4 * 4
        slot_start = np.concatenate([[0], np.cumsum(sizes)])
        n_slots = slot_start[-1]
        return cls(
            batch.word_indptr,
            batch.words,
            batch.cell_document()[batch.word_cell],
            batch.cell_count[batch.word_cell],
            batch.lengths,
            slot_start,
            np.zeros((n_slots, 2), dtype=np.int32),
            np.zeros(n_slots),
            np.zeros(batch.n_documents, dtype=np.int32),
            np.full(batch.n_clumps, -1, dtype=np.int32),
            np.zeros(batch.n_clumps, dtype=np.int32),
        )

    @property
    def slots(self):
        return self.slot_start, self.slot_topic, self.slot_weight, self.n_slots

    def assign(self, z, counts):
        """Give every token a topic, and count them."""
        move_counts(self.word_indptr, self.words, self.cell_count, self.z, z, counts)
        self.z[:] = z
        list_topics(self.cell_document, self.cell_count, *self.slots, z)

    def sweep(self, counts, alone, totals, prior, smoothing, key):
        """Draw every token's topic once; returns the topic totals and, unless alone, the topics of before."""
        before, totals = None if alone else self.z.copy(), totals.copy()
        if len(self.words):
            sweep_words(
                self.word_indptr,
                self.words,
                self.cell_document,
                self.cell_count,
                counts,
                alone,
                totals,
                prior,
                smoothing,
                *self.slots,
                self.z,
                self.hint,
                key,
            )
        return totals, before

    def add_to(self, counts):
        """Count the tokens of each word in each topic."""
        nowhere = np.full_like(self.z, -1)
        move_counts(self.word_indptr, self.words, self.cell_count, nowhere, self.z, counts)

    def recount(self, counts):
        """Take the documents' lists anew from the assignments, and add these to counts."""
        self.add_to(counts)
        self.list_topics()

    def list_topics(self):
        for array in self.slots[1:]:
            array[:] = 0
        list_topics(self.cell_document, self.cell_count, *self.slots, self.z)

    def used(self):
        """Document, topic and weight of the lists' entries in use."""
        document = np.repeat(np.arange(len(self.n_slots)), np.diff(self.slot_start))
        used = np.arange(len(document)) - self.slot_start[document] < self.n_slots[document]
        return document[used], self.slot_topic[used, 0], self.slot_weight[used]


@dataclass
class Call:
    """What one call of fit or partial_fit samples.

    Attributes
    ----------
    shards : list of Shard
    rows : ndarray of int32, the words that the documents have
    before, totals_before : their counts in topics, and the sums over all words, of earlier documents
    exact : whether adding and removing tokens rounds nothing
    entered : whether the documents are in the counts yet
    """

    shards: list
    rows: np.ndarray
    before: np.ndarray
    totals_before: np.ndarray
    exact: bool
    entered: bool = False

    @classmethod
    def begin(cls, shards, counts, totals, values):
        """values are the counts of the documents' cells."""
        rows = np.unique(np.concatenate([shard.words for shard in shards]))
        before = rows_of(counts, rows)
        exact = counts_exactly(values, before)
        return cls(shards, rows, before, totals.copy(), exact)


class CollapsedGibbsLDA(CallbackSupportMixin, TopicModel):
    """Latent Dirichlet allocation by collapsed Gibbs sampling.

    A Markov chain over the topics of all tokens of a corpus, with topics and proportions integrated
    out (CGS in the literature); its stationary law is the exact posterior. It is the method of
    tomotopy's and MALLET's LDA. Choose it when the whole corpus is in memory and exact samples
    matter more than time; `OnlineEMLDA` gets to the same predictions in a fraction of it.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K in the literature.
    doc_topic_prior : None, float, array-like of shape (n_components,), 'auto', 'auto-symmetric', default=None
        Dirichlet parameters of the topic proportions, > 0, alpha in the literature. None is
        ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100, 0.02 for 1000). With 'auto' they are
        learned, one a topic; with 'auto-symmetric', one for all topics. Mini-batch methods start from
        the default, which counts like ten batches, and the first update does not learn.
    topic_word_prior : float, 'auto' or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0, beta in the literature. None is
        ``min(0.1, 2 / n_components)``; with 'auto' it is learned from that start.
    max_iter : int, default=200
        Sweeps over the documents of a call of `fit` or `partial_fit`.
    n_kept : int, default=10
        Samples whose topic counts are averaged: those of the last sweeps, kept_interval apart; fewer if
        max_iter has no room for as many. 1 keeps the last sample alone.
    kept_interval : int, default=5
        Sweeps from one kept sample to the next.
    prior_interval : int, default=10
        Sweeps between two updates of a prior that is learned (by Minka's fixed point).
    evaluate_every : int, default=10
        Sweeps between two entries of log_likelihood_; 0 for none.
    n_shards : int, default=1
        Parts the documents are dealt in. 1 is the exact sampler. With more, each sweep draws the topics of
        all parts against the counts of before the sweep (apart from their own changes), and merges them
        in a fixed order: an approximation that can use as many threads as there are parts. The result
        depends on n_shards, never on n_jobs.
    transform_burn_in : int, default=4
        Gibbs sweeps over a document in `transform` and `score` that are thrown away, >= 0.
    transform_sweeps : int, default=6
        Gibbs sweeps over a document in `transform` and `score` that are used, >= 1.
    n_jobs : int or None, default=None
        Threads: how many shards are swept at once, and how many work on `transform` and `score`. The
        results are the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial assignments and of sampling.
    verbose : int, default=0
        If positive, `fit` prints its progress every few seconds.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Probability of each word in each topic; rows sum to one. Computed at the first access after
        training, and read-only.
    topic_word_counts_ : ndarray of shape (n_components_, n_features_in_)
        Number of tokens of each word in each topic, averaged over the kept samples.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions.
    topic_word_prior_ : float
        Parameter of the topics' prior in use.
    n_components_ : int
        Number of topics.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had any.
    log_likelihood_ : ndarray of shape (n_evaluations,)
        Log joint probability in nats of the words and topic assignments of the documents of the last call
        of `fit` or `partial_fit`, given those before; after every evaluate_every sweeps.
    n_iter_ : int
        Sweeps of the last call.
    n_samples_seen_ : int
        Documents in the counts.

    See Also
    --------
    OnlineEMLDA : Learns from mini-batches; much faster.
    StreamingGibbsLDA : Sweeps over each mini-batch once.

    Notes
    -----
    Words are swept one after the other, and a token costs a scan of the topics present in its document; a
    word costs a pass over all topics in each sweep. Memory: 8 bytes times n_features * n_components (up to
    three times that while samples of a whole corpus are averaged) and about 50 bytes for each token of the
    documents of a call.

    `partial_fit` adds documents: it sweeps them against the present counts, and never moves the documents of
    earlier calls. A prior that is learned goes on from what calls that learned it have said.

    A count c becomes tokens as in `OnlineEMLDA`: the sampler is exact for integer counts up to 64.

    References
    ----------
    T. L. Griffiths and M. Steyvers, "Finding scientific topics", Proceedings of the National Academy of
    Sciences 101, 2004: equation 5.

    H.-F. Yu, C.-J. Hsieh, H. Yun, S. V. N. Vishwanathan and I. S. Dhillon, "A scalable asynchronous
    distributed algorithm for topic modeling", WWW 2015: the order of the sweep.

    Thomas P. Minka, "Estimating a Dirichlet distribution", 2000: equation 55.

    D. Newman, A. Asuncion, P. Smyth and M. Welling, "Distributed algorithms for topic models", Journal of
    Machine Learning Research 10, 2009: n_shards > 1.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import CollapsedGibbsLDA
    >>> bars = make_bars(200, random_state=0)
    >>> lda = CollapsedGibbsLDA(n_components=10, max_iter=50, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (200, 10)
    >>> lda.log_likelihood_.shape
    (5,)
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **{name: MinibatchLDA._parameter_constraints[name] for name in SHARED_PARAMETERS},
        "topic_word_prior": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), None],
        "n_kept": [Interval(Integral, 1, None, closed="left")],
        "kept_interval": [Interval(Integral, 1, None, closed="left")],
        "prior_interval": [Interval(Integral, 1, None, closed="left")],
        "evaluate_every": [Interval(Integral, 0, None, closed="left")],
        "n_shards": [Interval(Integral, 1, None, closed="left")],
    }

    _fitted_arrays = {  # noqa: RUF012
        "_counts": (FLOAT, "features", "topics"),
        "_totals": (FLOAT, "topics"),
        "_gains": (FLOAT, None),
        "doc_topic_prior_": (FLOAT, "components"),
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | ArrayLike | str | None = None,
        topic_word_prior: float | Literal["auto"] | None = None,
        max_iter: int = 200,
        n_kept: int = 10,
        kept_interval: int = 5,
        prior_interval: int = 10,
        evaluate_every: int = 10,
        n_shards: int = 1,
        transform_burn_in: int = 4,
        transform_sweeps: int = 6,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.n_kept = n_kept
        self.kept_interval = kept_interval
        self.prior_interval = prior_interval
        self.evaluate_every = evaluate_every
        self.n_shards = n_shards
        self.transform_burn_in = transform_burn_in
        self.transform_sweeps = transform_sweeps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @trains
    @with_callbacks
    def fit(self, X, y=None):
        """Sample the topics of a corpus, from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is out of range or X is not a valid count matrix; an earlier fit is then
            left as it was.
        RuntimeError
            If another thread is training this object.
        KeyboardInterrupt
            Is passed on; the state is that of the last complete sweep, or the mean of the samples kept
            so far.
        """
        self._check_settings()
        counts = self._begin_anew(X)
        self._sample(counts, FitTasks(self, X, y, self.max_iter, 1))
        return self

    @trains
    def partial_fit(self, X, y=None):
        """Add documents: sample their topics given the counts of all earlier ones, which stay as they are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError, RuntimeError
            As in `fit`, or if n_components was changed since sampling began.
        """
        self._check_settings()
        if not hasattr(self, "n_samples_seen_"):
            counts = self._begin_anew(X)
        else:
            self._checked()._check_same_number(len(self._totals))
            counts = self._validate_counts(X, reset=False)
            with updating(self):
                self._counts = np.require(self._counts, requirements="W")
                self._totals = np.require(self._totals, requirements="W")
                self._adopt_settings()
        self._sample(counts, FitTasks(self, X, y, self.max_iter, 1, reporting=False))
        return self

    @property
    def topic_word_counts_(self):
        return np.array(self._read()._counts.T, order="C")

    def _check_settings(self):
        super()._check_settings()
        check_prior(self.doc_topic_prior, self.n_components)
        check_smoothing(self.topic_word_prior)

    def _topic_probabilities(self):
        none = np.empty((0, len(self._totals)))
        statistics = TopicWordStatistics(self._counts, self._totals, np.ones(1), none, none[:, 0])
        return statistics.probabilities(1.0, self.topic_word_prior_)

    def _transform_step(self):
        return GibbsStep(self.transform_burn_in, self.transform_sweeps)

    def _start(self, n_features):
        counts = np.zeros((n_features, self.n_components))
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._counts, self._totals = counts, np.zeros(self.n_components)
        self.n_components_ = self.n_components
        self.n_samples_seen_ = 0
        self._n_sweeps = 0
        self.n_iter_ = 0
        self.log_likelihood_ = np.empty(0)
        self._gains = np.zeros(self.n_components + 1)
        self.doc_topic_prior_ = check_prior(self.doc_topic_prior, self.n_components)
        self.topic_word_prior_ = default_smoothing(self.n_components)
        self._adopt_settings()

    def _adopt_settings(self):
        """Let partial_fit go on with parameters that were changed since the last call."""
        if not isinstance(self.doc_topic_prior, str):
            self.doc_topic_prior_ = check_prior(self.doc_topic_prior, self.n_components)
        if self.topic_word_prior != "auto":
            given = self.topic_word_prior
            self.topic_word_prior_ = default_smoothing(self.n_components) if given is None else float(given)

    def _sample(self, counts, tasks):
        """All sweeps over some documents, which enter the counts with the first of them."""
        call = Call.begin(self._deal(counts), self._counts, self._totals, counts.data)
        n_documents, n_tokens = counts.shape[0], float(counts.sum(dtype=np.float64))
        first_documents = self.n_samples_seen_ == 0
        kept = range(int(self.max_iter), 0, -int(self.kept_interval))[: self.n_kept]
        kept_sum, n_kept = 0.0, 0
        self.n_iter_, self.log_likelihood_ = 0, np.empty(0)
        monitor = FitMonitor(self, n_documents * int(self.max_iter))
        try:
            with Workers(self.n_jobs) as workers:
                for sweep in range(1, self.max_iter + 1):
                    tasks.begin_epoch()
                    tasks.begin_update()
                    with changing(self), self._complete_or_undone(call):
                        if sweep == 1 and first_documents:
                            self._assign_at_random(call)
                        self._sweep(call, workers)
                        self.n_iter_ = sweep
                    self._after_sweep(sweep, call)
                    if len(kept) > 1 and sweep in kept:
                        kept_sum = kept_sum + self._counts[call.rows]
                        n_kept += 1
                    monitor.after_update(n_documents, n_tokens)
                    stop = tasks.end_update()
                    if tasks.end_epoch() or stop:
                        break
        finally:  # an interrupted call keeps the documents it has swept
            with updating(self):
                if n_kept > 1:
                    self._counts[call.rows] = kept_sum / n_kept
                    self._totals = self._counts.sum(axis=0)
                if self.n_iter_ > 0 and isinstance(self.doc_topic_prior, str):
                    self._gains = self._gains + self._gains_of(call.shards)
        if self.verbose:
            monitor.after_epoch()
        tasks.end()

    def _complete_or_undone(self, call):
        """If Ctrl-C stops a sweep, let the counts be those of before it."""
        before, totals, entered = [shard.z.copy() for shard in call.shards], self._totals.copy(), call.entered

        def undo():
            self._totals[:] = totals
            self._counts[call.rows] = call.before
            for shard, z in zip(call.shards, before):
                shard.z[:] = z
                shard.add_to(self._counts)
                if entered and isinstance(self.doc_topic_prior, str):  # which is learned from the lists
                    shard.list_topics()

        return complete_or_undone(self, undo)

    def _deal(self, counts):
        """The documents as shards, of about equally many tokens."""
        reader = DocumentReader(counts)
        batch = reader.batch(np.arange(counts.shape[0]))
        if self.n_shards == 1:
            return [Shard.of(batch, len(self._totals))]
        chunks = batch.chunks(self.n_shards)
        return [Shard.of(reader.batch(np.arange(a, b)), len(self._totals)) for a, b in chunks]

    def _after_sweep(self, sweep, call):
        """Learn priors and note the joint probability, where it is time for it."""
        if sweep % self.prior_interval == 0:
            with changing(self), complete_or_undone(self):
                self._learn_priors(call.shards)
        if self.evaluate_every and sweep % self.evaluate_every == 0:
            self.log_likelihood_ = np.append(self.log_likelihood_, self._log_joint(call))

    def _assign_at_random(self, call):
        """Start from uniformly random topics."""
        self._counts[:] = 0.0
        for i, shard in enumerate(call.shards):
            draws = uniforms(combine_keys(self._seed, ASSIGNMENT_KEY, i), len(shard.z))
            shard.assign((draws * len(self._totals)).astype(np.int32), self._counts)
        self._totals[:] = self._counts.sum(axis=0)
        self._enter(call)

    def _enter(self, call):
        """Note that the documents are in the counts from now on."""
        if not call.entered:
            self.n_samples_seen_ += sum(len(shard.lengths) for shard in call.shards)
            call.entered = True

    def _sweep(self, call, workers):
        """Draw the topic of every token once; with several shards, against counts merged after the sweep."""
        key = combine_keys(self._seed, SWEEP_KEY, self._n_sweeps)
        alone = len(call.shards) == 1
        given = self._counts, alone, self._totals, self.doc_topic_prior_, self.topic_word_prior_
        results = workers.map_here(
            lambda i, shard: shard.sweep(*given, combine_keys(key, i)), list(enumerate(call.shards))
        )
        if not alone:
            for shard, (_, before) in zip(call.shards, results):
                move_counts(shard.word_indptr, shard.words, shard.cell_count, before, shard.z, self._counts)
        if not call.exact:  # count anew what adding and removing has rounded
            self._counts[call.rows] = call.before
            for shard in call.shards:
                shard.recount(self._counts)
        if alone and call.exact:
            self._totals[:] = results[0][0]
        else:
            self._totals[:] = call.totals_before + (self._counts[call.rows] - call.before).sum(axis=0)
        self._n_sweeps += 1
        self._enter(call)

    def _gains_of(self, shards):
        """Minka's sums for the prior of proportions: the numerators of all topics, and the denominator."""
        prior, gains = self.doc_topic_prior_, np.zeros(len(self._totals))
        for shard in shards:
            _, topic, weight = shard.used()
            gain = digamma(prior[topic] + weight) - digamma(prior[topic])
            gains += np.bincount(topic, weights=gain, minlength=len(gains))
        lengths = np.concatenate([shard.lengths for shard in shards])
        evidence = PriorEvidence.from_gains(prior, gains, lengths[lengths > 0])
        return np.append(evidence.topic_gains, evidence.total_gain)

    def _learn_priors(self, shards):
        """Minka's fixed points for the priors of proportions and of topics, where asked for."""
        learns = isinstance(self.doc_topic_prior, str)
        learner = PriorLearner(self.doc_topic_prior, "gamma", shape=1.0, rate=0.0)
        for _ in range(PRIOR_ITERATIONS if learns else 0):
            gains = self._gains + self._gains_of(shards)
            if gains[-1] == 0.0:  # there are no words
                break
            self.doc_topic_prior_ = learner.mode(gains, 1.0)
        for _ in range(PRIOR_ITERATIONS if self.topic_word_prior == "auto" and self._totals.any() else 0):
            beta, size = self.topic_word_prior_, len(self._counts)
            present = self._counts[self._counts > 0]
            above = (digamma(present + beta) - digamma(beta)).sum()
            below = size * (digamma(self._totals + size * beta) - digamma(size * beta)).sum()
            if not below > 0.0:  # the counts are too small to tell
                break
            self.topic_word_prior_ = float(np.clip(beta * above / below, SMALLEST_LEARNED, LARGEST_LEARNED))

    def _log_joint(self, call):
        """log p(words and topics of the documents | counts of earlier ones)."""
        prior, beta, size = self.doc_topic_prior_, self.topic_word_prior_, len(self._counts)
        norm = gammaln(self._totals + size * beta) - gammaln(call.totals_before + size * beta)
        total = log_rising(self._counts[call.rows], beta) - log_rising(call.before, beta) - norm.sum()
        for shard in call.shards:
            _, topic, weight = shard.used()
            total += (gammaln(prior[topic] + weight) - gammaln(prior[topic])).sum()
            total += (gammaln(prior.sum()) - gammaln(prior.sum() + shard.lengths)).sum()
        return total
