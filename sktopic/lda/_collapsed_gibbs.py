"""Collapsed Gibbs sampling for LDA over a corpus (Griffiths and Steyvers, 2004)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln

from sktopic._documents._matrices import DocumentReader
from sktopic._estimators._batch_sampler import ASSIGNMENT_KEY, BatchSampler
from sktopic._estimators._concurrency import changing, updating
from sktopic._estimators._constraints import ANY_NUMBER, AT_LEAST_ONE, MATRIX, PRIOR, SHARED
from sktopic._estimators._fitted_arrays import COUNT, FLOAT
from sktopic._inference import GibbsInference
from sktopic._inference._token_counts import (
    column_sums,
    counts_exactly,
    in_order,
    leaves_none_negative,
    log_rising_change,
    prior_gains,
    word_blocks,
)
from sktopic._kernels._rng import combine_keys, uniforms
from sktopic._runtime._arrays import rows_of
from sktopic._runtime._compat import StrOptions
from sktopic._runtime._interrupt import complete_or_undone
from sktopic._topics._prior import (
    LARGEST_LEARNED,
    SMALLEST_LEARNED,
    PriorLearner,
    check_prior,
    default_topic_word_prior,
)
from sktopic._topics._topic_word_prior import check_topic_word_prior, prior_totals
from sktopic._topics._word_count_edits import edited_topics
from sktopic._topics._word_count_views import probabilities
from sktopic._topics._word_counts import WordCounts
from sktopic._typing import FloatArray, MatrixLike
from sktopic.lda._shards import Shard, topic_prior_of
from sktopic.lda._topic_exchange import sampled_order
from sktopic.lda._topic_word_prior import ENTRIES, TopicWordPriorLDA

# Iterations of Minka's fixed point at each update of a prior, which goes on from the last.
PRIOR_ITERATIONS = 5
# Tells the stream of exchanges from those of the shards in a sweep.
EXCHANGE_KEY = 0x65786368616E6765


@dataclass
class Call:
    """The documents of one call of fit or partial_fit.

    Attributes
    ----------
    shards : list of Shard
    words : ndarray of int32, those that the documents have
    counts_before, totals_before : their counts in topics, and the sums over all words, of earlier documents
    none_negative : whether no count can be below zero where tokens were added and removed
    exact : whether that rounds nothing
    draw_sweeps : sweeps after which the state is a draw from the posterior
    draws_sum, n_draws : sum of the counts of the draws so far, and their number
    entered : whether the documents are in the counts yet
    """

    shards: list
    words: np.ndarray
    counts_before: np.ndarray
    totals_before: np.ndarray
    none_negative: bool
    exact: bool
    draw_sweeps: range
    draws_sum: np.ndarray | float = 0.0
    n_draws: int = 0
    entered: bool = False

    @property
    def n_documents(self):
        return sum(len(shard.lengths) for shard in self.shards)


class CollapsedGibbsLDA(TopicWordPriorLDA, BatchSampler):
    """LDA as tomotopy and MALLET do it: collapsed Gibbs sampling over a corpus in memory.

    A Markov chain over the topics of all tokens of a corpus, with topics and proportions integrated
    out (CGS in the literature); its stationary law is the exact posterior. It is the method of
    tomotopy's and MALLET's LDA. Choose it when the whole corpus is in memory and exact samples
    matter more than time; `OnlineEMLDA` gets to the same predictions in a fraction of it.

    Read more in :doc:`/guide/lda`.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K in the literature.
    doc_topic_prior : None, float, array-like of shape (n_components,), 'auto', 'auto-symmetric', default=None
        Dirichlet parameters of the topic proportions, > 0, alpha in the literature. None is
        ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100, 0.02 for 1000). With 'auto' they are
        learned, one a topic; with 'auto-symmetric', one for all topics.
    topic_word_prior : float, array-like, sparse matrix, 'auto' or None, default=None
        Parameters of the topics' Dirichlet prior, > 0, beta in the literature; a number is that of all. None
        is ``min(0.1, 2 / n_components)``; with 'auto' it is learned from that start. A matrix of shape
        (n_components, n_features) has those of all words in all topics, as `sktopic.seeding.seed_prior`
        makes; it is not learned, and entries that a sparse one does not store are those of None.
    max_iter : int, default=200
        Sweeps over the documents of a call of `fit` or `partial_fit`.
    n_draws : int, default=10
        Draws from the posterior (states of the chain) whose topic counts are averaged: those after the last
        sweeps, thinning sweeps apart; fewer where max_iter is too small. 1: the last draw alone.
    thinning : int, default=5
        Sweeps from one such draw to the next.
    prior_interval : int, default=10
        Sweeps between two updates of a prior that is learned (by Minka's fixed point).
    evaluate_every : int, default=10
        Sweeps between two entries of log_likelihood_; 0 for none.
    n_shards : int, default=1
        Number of parts that the documents are divided into. 1 is the exact sampler. With more, each sweep
        draws the topics of all parts against the counts of before the sweep (apart from their own changes),
        and merges them in a fixed order: an approximation that can use as many threads as there are parts.
        The result depends on n_shards, never on n_jobs.
    transform_burn_in : int, default=4
        Gibbs sweeps over a document in `transform` and `score` that are discarded (burn-in), >= 0.
    transform_sweeps : int, default=6
        Gibbs sweeps over a document in `transform` and `score` that are averaged, >= 1.
    components_init : None or array-like of shape (n_components, n_features), default=None
        Topics that the first documents start from: rows of non-negative numbers, each divided by its sum. The
        topic of a token is drawn by the probabilities of its word, instead of with equal ones. They weigh
        nothing beyond that start.
    n_jobs : int or None, default=None
        Threads: how many shards are swept at once, and how many work on `transform` and `score`. The
        results are the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial assignments and of sampling.
    verbose : int, default=0
        If positive, `fit` and `partial_fit` show a progress bar, and other methods do for more than 10,000
        documents.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Probability of each word in each topic; rows sum to one. Computed at the first access after
        training, and read-only.
    topic_word_counts_ : ndarray of shape (n_components_, n_features_in_)
        Number of tokens of each word in each topic, averaged over n_draws draws.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions.
    topic_word_prior_ : float
        Parameter of the topics' prior in use; of a matrix, that of most entries.
    n_components_ : int
        Number of topics.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had any.
    topic_names_ : ndarray of shape (n_components_,)
        Names of the topics, only once `sktopic.inspection.name_topics` was called.
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
    Words are swept one after the other. A token costs a scan of the topics present in its document or, with
    up to 192 topics, whole counts and documents that are not much shorter, a faster one of all topics; a word
    costs a pass over all topics in each sweep. Memory: 8 bytes times n_features * n_components (up to three
    times that while draws of a whole corpus are averaged) and about 50 bytes for each token of the documents
    of a call.

    `partial_fit` adds documents: it sweeps them against the present counts, and never moves the documents of
    earlier calls. A learned prior uses the sufficient statistics of all calls that learned it.

    With a matrix as topic_word_prior, sweeps of the first call end with Metropolis-Hastings steps that
    exchange the tokens of whole topics, and their learned parameters of proportions, where priors of topics
    differ. The stationary law stays what it is.

    There is no ``sample_weight``: copies of a document have topics of their own, drawn given each other's,
    which no weight of one of them stands for. Repeat its row instead.

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
        **SHARED,
        "topic_word_prior": [PRIOR, *MATRIX, StrOptions({"auto"}), None],
        "n_draws": [AT_LEAST_ONE],
        "thinning": [AT_LEAST_ONE],
        "prior_interval": [AT_LEAST_ONE],
        "evaluate_every": [ANY_NUMBER],
        "n_shards": [AT_LEAST_ONE],
    }

    _fitted_arrays = {  # noqa: RUF012
        **BatchSampler._fitted_arrays,
        "_gains": (FLOAT, None),
        "doc_topic_prior_": (FLOAT, "components"),
    }
    _fitted_values = {**BatchSampler._fitted_values, "n_components_": COUNT}  # noqa: RUF012
    _optional_arrays = {  # noqa: RUF012
        **BatchSampler._optional_arrays,
        **TopicWordPriorLDA._optional_arrays,
        **ENTRIES,
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | ArrayLike | str | None = None,
        topic_word_prior: float | MatrixLike | Literal["auto"] | None = None,
        max_iter: int = 200,
        n_draws: int = 10,
        thinning: int = 5,
        prior_interval: int = 10,
        evaluate_every: int = 10,
        n_shards: int = 1,
        transform_burn_in: int = 4,
        transform_sweeps: int = 6,
        components_init: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.n_draws = n_draws
        self.thinning = thinning
        self.prior_interval = prior_interval
        self.evaluate_every = evaluate_every
        self.n_shards = n_shards
        self.transform_burn_in = transform_burn_in
        self.transform_sweeps = transform_sweeps
        self.components_init = components_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def topic_word_counts_(self) -> FloatArray:
        return np.array(self._read()._statistics.store.T, order="C")

    def _transform_step(self):
        return GibbsInference(self.transform_burn_in, self.transform_sweeps)

    def _check_settings(self):
        super()._check_settings()
        check_prior(self.doc_topic_prior, self.n_components)
        check_topic_word_prior(self.topic_word_prior, self.n_components)

    # The state

    def _allocate(self, n_features):
        self._statistics = WordCounts.empty(n_features, self.n_components)
        self.n_components_ = self.n_components
        self._gains = np.zeros(self.n_components + 1)
        self.doc_topic_prior_ = check_prior(self.doc_topic_prior, self.n_components)
        self.topic_word_prior_ = default_topic_word_prior(self.n_components)

    def _adopt_settings(self):
        if self._learns_topic_word_prior:  # goes on from what is learned, if not from a matrix
            self._set_topic_word_prior(None, self.topic_word_prior_)
        else:
            self._set_topic_word_prior(self.topic_word_prior, default_topic_word_prior(self.n_components))
        if not self._learns_prior:
            self.doc_topic_prior_ = self._given_doc_topic_prior()

    @property
    def _learns_topic_word_prior(self):
        return isinstance(self.topic_word_prior, str)

    @property
    def _learns_prior(self):
        return isinstance(self.doc_topic_prior, str)

    def _topic_probabilities(self):
        return probabilities(self._statistics, 1.0, self.topic_word_prior_, self._prior_entries)

    def _edit_topics(self, edit):
        self._statistics = edited_topics(self._statistics, edit)
        self._note_edit(edit)
        self.doc_topic_prior_ = edit.sums(self.doc_topic_prior_)
        self._gains = np.append(edit.sums(self._gains[:-1]), self._gains[-1])

    # A sweep

    def _frozen_parameters(self, words):
        beta, sums = super()._frozen_parameters(words)
        entries, held = self._prior_entries, self._held
        if entries is None:
            return beta, sums
        column = np.full(len(self._statistics.totals), -1)
        column[held] = np.arange(len(held))
        i, k, value = entries.at(words)
        frozen, beta = column[k] >= 0, np.tile(beta, (len(words), 1))
        beta[i[frozen], column[k[frozen]]] = value[frozen]
        return beta, entries.totals(len(self._statistics.store), self._statistics.frozen[1])[held]

    def _begin_call(self, X):
        reader = DocumentReader(X)
        batch = reader.batch(np.arange(X.shape[0]))
        if self.n_shards == 1:
            batches = [batch]
        else:  # of about equally many tokens
            batches = [reader.batch(np.arange(first, last)) for first, last in batch.chunks(self.n_shards)]
        beta, entries = self._topic_prior
        most_tokens = self._statistics.totals.max() + batch.lengths.sum()
        sums = prior_totals(len(self._statistics.store), beta, entries)
        smallest = beta if entries is None else min(beta, entries.values.min())
        smallest_ratio = smallest / (most_tokens + np.max(sums))
        shards = [Shard.of(each, self.doc_topic_prior_, smallest_ratio) for each in batches]
        words = np.unique(np.concatenate([shard.words for shard in shards]))
        before = rows_of(self._statistics.store, words)
        none_negative = leaves_none_negative(batch.cell_count)
        exact = counts_exactly(batch.cell_count, before)
        return Call(
            shards, words, before, self._statistics.totals.copy(), none_negative, exact, self._draw_sweeps
        )

    @property
    def _draw_sweeps(self):
        """The sweeps after which the state is a draw."""
        return range(int(self.max_iter), 0, -int(self.thinning))[: self.n_draws]

    def _assign_at_random(self, call):
        self._statistics.store[:] = 0.0
        for i, shard in enumerate(call.shards):
            draws = uniforms(combine_keys(self._seed, ASSIGNMENT_KEY, i), len(shard.z))
            shard.assign(self._initial_topics(shard, draws), self._statistics.store)
        self._statistics.totals[:] = column_sums(self._statistics.store)

    def _sweep(self, call, workers):
        """With several shards, against counts that are merged after the sweep."""
        key, one_shard = self._sweep_key(), len(call.shards) == 1
        topic_prior = topic_prior_of(*self._statistics.store.shape, *self._topic_prior)
        given = self._statistics.store, one_shard, self._statistics.totals, self.doc_topic_prior_, topic_prior
        results = workers.map_here(
            lambda i, shard: shard.sweep(*given, combine_keys(key, i)), list(enumerate(call.shards))
        )
        if not one_shard:
            for shard, swept in zip(call.shards, results):
                shard.transfer(swept.before, self._statistics.store)
        if not call.none_negative:
            self._recount(call)
        elif one_shard:
            self._statistics.totals[:] = results[0].totals
        else:
            self._sum_totals(call)
        if not call.totals_before.any():  # else topics have documents that are not there any more
            self._exchange_topics(call, combine_keys(key, EXCHANGE_KEY))

    def _exchange_topics(self, call, key):
        """Let topics change places by Metropolis-Hastings steps."""

        def choose(places, gains):
            return sampled_order(places, gains, uniforms(key, gains.size).reshape(gains.shape))

        order = self._new_order(self._statistics, 1.0, self._n_sweeps, choose)
        if order is not None:
            self._statistics.rearrange(order)
            place = np.argsort(order).astype(np.int32)
            for shard in call.shards:
                shard.z[:] = place[shard.z]
                shard.list_topics()

    def _recount(self, call):
        """Count anew what adding and removing tokens has rounded."""
        self._statistics.store[call.words] = call.counts_before
        for shard in call.shards:
            shard.recount(self._statistics.store)
        self._sum_totals(call)
        self._hold(call)

    def _sum_totals(self, call):
        changes = self._statistics.store[call.words] - call.counts_before
        self._statistics.totals[:] = call.totals_before + column_sums(changes)

    def _undo(self, call):
        before, totals, entered = (
            [shard.z.copy() for shard in call.shards],
            self._statistics.totals.copy(),
            call.entered,
        )

        def undo():
            self._statistics.totals[:] = totals
            self._statistics.store[call.words] = call.counts_before
            for shard, z in zip(call.shards, before):
                shard.z[:] = z
                shard.add_to(self._statistics.store)
                if entered and self._learns_prior:  # from the documents' topics
                    shard.list_topics()
            self._hold(call)

        return undo

    def _after_sweep(self, sweep, call):
        if sweep % self.prior_interval == 0:
            with changing(self), complete_or_undone(self):
                self._learn_priors(call.shards)
        if len(call.draw_sweeps) > 1 and sweep in call.draw_sweeps:
            with updating(self):
                call.draws_sum = call.draws_sum + self._statistics.store[call.words]
                call.n_draws += 1

    def _end_call(self, call):
        if call.n_draws > 1:
            self._statistics.store[call.words] = call.draws_sum / call.n_draws
            self._statistics.totals[:] = self._statistics.store.sum(axis=0)
            self._hold(call)
        elif call.none_negative and not call.exact:  # else there is nothing to recount, or it is done
            rows = self._statistics.store[call.words]

            def undo():
                self._statistics.store[call.words] = rows

            with complete_or_undone(self, undo):
                self._recount(call)
        if self._learns_prior:
            self._gains = self._gains + self._gains_of(call.shards)

    # Priors

    def _gains_of(self, shards):
        """Minka's sums for the prior of proportions: the numerators of all topics, and the denominator."""
        prior = self.doc_topic_prior_
        return np.append(prior, 1.0) * in_order(shard.prior_gains(prior) for shard in shards)

    def _learn_priors(self, shards):
        """Minka's fixed points for the priors of proportions and of topics, where asked for."""
        for _ in range(PRIOR_ITERATIONS if self._learns_prior else 0):
            gains = self._gains + self._gains_of(shards)
            if gains[-1] == 0.0:  # there are no words
                break
            learner = PriorLearner(self.doc_topic_prior, "gamma", shape=1.0, rate=0.0)
            self.doc_topic_prior_ = learner.mode(gains, 1.0)
        counts, totals = self._statistics.store, self._statistics.totals
        if len(self._held):
            counts, totals = (np.delete(array, self._held, axis=-1) for array in (counts, totals))
        n_features, blocks = len(counts), word_blocks(np.arange(len(counts)))
        for _ in range(PRIOR_ITERATIONS if self._learns_topic_word_prior else 0):
            beta = self.topic_word_prior_
            below = n_features * (digamma(totals + n_features * beta) - digamma(n_features * beta)).sum()
            if not below > 0.0:  # the counts are too small to tell
                break
            above = beta * in_order(prior_gains(counts[words], beta) for words in blocks)
            self.topic_word_prior_ = float(np.clip(above / below, SMALLEST_LEARNED, LARGEST_LEARNED))

    def _trace(self, call):
        """log p(words and topics of the documents | counts of earlier ones)."""
        prior, beta, entries = self.doc_topic_prior_, self.topic_word_prior_, self._prior_entries
        sums = prior_totals(len(self._statistics.store), beta, entries)
        norm = gammaln(self._statistics.totals + sums) - gammaln(call.totals_before + sums)
        total = (
            in_order(
                log_rising_change(self._statistics.store[call.words[some]], call.counts_before[some], beta)
                for some in word_blocks(call.words)
            )
            - norm.sum()
        )
        if entries is not None:
            counts = self._statistics.store[call.words]
            i, k, value = entries.at(call.words)
            for change, sign in ((counts[i, k], 1.0), (call.counts_before[i, k], -1.0)):
                total += sign * (gammaln(change + value) - gammaln(change + beta)).sum()
        total += self._log_frozen(call, call.shards)
        return [in_order((term for shard in call.shards for term in shard.log_proportions(prior)), total)]
