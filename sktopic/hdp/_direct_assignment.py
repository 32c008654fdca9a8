"""Variational inference for the HDP by direct assignment, split and merge (Bryant and Sudderth, 2012)."""

import math
import sys
from numbers import Integral, Real
from typing import Literal

import numpy as np
from scipy.special import digamma, polygamma
from sklearn.utils import check_scalar

from sktopic._compat import Interval, StrOptions
from sktopic._document_steps import VariationalStep
from sktopic._documents import document_groups
from sktopic._fitted_arrays import FLOAT, INT
from sktopic._kernels._rng import combine_keys
from sktopic._minibatch import INITIAL_KEY, MinibatchTopicModel
from sktopic._parallel import Workers
from sktopic._prior import LARGEST, SMALLEST, learned_smoothing
from sktopic._topic_word import GatheredTopics, TopicWordStatistics, by_blocks, columns_of
from sktopic.hdp._concentrations import CONSTRAINTS, adopt_concentrations, check_concentration_priors
from sktopic.hdp._split_merge import (
    TRIED,
    BatchTopics,
    propose_merges,
    propose_splits,
    sure,
    unseen_loss,
)
from sktopic.hdp._topics_in_use import GrowingTopics
from sktopic.lda._minibatch import AveragedStatistics, MinibatchLDA

# Least weight of a topic, and of all that are out of reach; and the largest of these.
SMALLEST_WEIGHT, LARGEST_REST = 1e-10, 1.0 - 1e-6
# Below a concentration of 1 the bound would have all weight on topics in use: these tables are the others'.
LEAST_REST = 0.1
WEIGHT_ITERATIONS, WEIGHT_TOL = 30, 1e-8
# Topics that a batch of the last pass tries to do without.
DISSOLVED_TRIED = 3
# Pairs that a batch of the last pass tries to merge, for each topic.
PAIRS_PER_TOPIC = 4
# A topic is not merged before it has had so many passes, or updates, to become what it is.
GRACE_PASSES, GRACE_UPDATES = 4, 50
# Part of a word's tokens, the loss of which lets a document start from equal shares of the topics left.
STRONG = 0.5
NEWTON_ITERATIONS, NEWTON_TOL = 50, 1e-6
MOVE = np.dtype([("n_samples", "i8"), ("kind", "U5"), ("topic", "i8"), ("other", "i8"), ("gain", "f8")])
SHARED = ("total_samples", "learning_decay", "learning_offset", "max_doc_update_iter", "mean_change_tol")


def trigamma(x):
    return polygamma(1, x)


def fit_weights(tokens, weights, alpha, gamma, scale):
    """beta that maximises the bound, by Minka's fixed point; each iteration raises it.

    Parameters
    ----------
    tokens : (n_documents, n_topics) expected tokens of topics in documents
    weights : (n_topics,) the start
    alpha, gamma : concentrations of documents and root
    scale : documents of the corpus for each of these

    Returns
    -------
    weights : (n_topics,); what they leave to one belongs to all other topics.
    """
    rest = max(gamma - 1.0, LEAST_REST * gamma)
    for _ in range(WEIGHT_ITERATIONS):
        prior = alpha * weights
        gains = by_blocks(lambda n, prior=prior: digamma(prior + n), tokens) - digamma(prior)
        gains = np.maximum(gains, 0.0)  # rounding
        tables = scale * prior * gains.sum(axis=0)
        left = min(max(rest / (tables.sum() + rest), SMALLEST_WEIGHT), LARGEST_REST)
        updated = np.maximum((1.0 - left) * tables / max(tables.sum(), 1e-300), SMALLEST_WEIGHT)
        updated *= (1.0 - left) / updated.sum()
        change = np.abs(updated - weights).max()
        weights = updated
        if change < WEIGHT_TOL:
            break
    return weights


def fit_concentration(tokens, weights, value, lengths, scale, shape, rate):
    """alpha that maximises the bound under a Gamma prior, by Newton's method for its logarithm.

    Parameters
    ----------
    tokens, weights, scale : as of fit_weights
    value : the start
    lengths : (n_documents,) of the documents, > 0
    shape, rate : of the prior
    """
    x, (document, topic) = math.log(value), np.nonzero(tokens > 0)
    tokens, b = tokens[document, topic], weights[topic]
    for _ in range(NEWTON_ITERATIONS):
        a = math.exp(x)
        prior = a * b
        first = (b * (by_blocks(digamma, prior + tokens) - by_blocks(digamma, prior))).sum()
        first -= (digamma(a + lengths) - digamma(a)).sum()
        second = (b * b * (by_blocks(trigamma, prior + tokens) - by_blocks(trigamma, prior))).sum()
        second -= (trigamma(a + lengths) - trigamma(a)).sum()
        slope = scale * a * first + shape - a * rate
        curvature = scale * (a * first + a * a * second) - a * rate
        step = -slope / curvature if curvature < 0 else math.copysign(1.0, slope)
        step = min(max(step, -1.0), 1.0)
        x = min(max(x + step, math.log(SMALLEST)), math.log(LARGEST))
        if abs(step) < NEWTON_TOL:
            break
    return math.exp(x)


def start_without(batch, tokens, kept):
    """Tokens (n_documents, n_kept) of some of the topics, for documents to start from without the others.

    Where what the others leave may be all tokens of a word, those kept start equal: from where they are,
    inference might be far from words that none of them has.
    """
    lost, smallest = tokens[:, ~kept].sum(axis=1), np.full(batch.n_documents, np.inf)
    np.minimum.at(smallest, batch.cell_document(), batch.cell_count)
    even = np.broadcast_to(batch.lengths[:, None] / kept.sum(), (batch.n_documents, kept.sum()))
    return np.where((lost > STRONG * smallest)[:, None], even, tokens[:, kept])


class DirectAssignmentHDP(GrowingTopics, AveragedStatistics, MinibatchTopicModel):
    """Hierarchical Dirichlet process that finds its number of topics, by variational inference with moves.

    Documents draw their proportions directly from weights of the topics that all share, and topics have
    Dirichlet posteriors. After a batch, topics are split in two or merged where that raises the evidence
    lower bound (oHDP-SM; without moves oHDP, or bHDP with learning_method='batch'). Choose it where the
    number of topics is asked for and the corpus is a stream or too large for `CollapsedGibbsHDP`.

    Parameters
    ----------
    n_components : int, default=20
        Number of topics at the start. With split_merge=True the result depends on it less than without:
        on 2000 documents of distinct topics not at all, on texts still. Five passes over 2930 blog entries
        lead from 20 topics to 21 and from 100 to 30, ten over 1392 papers from 5 to 24, from 20 to 27 and
        from 100 to 60. Compare `score`, or `elbo` on the same documents.
    learning_method : {'online', 'batch'}, default='online'
        Whether an update of `fit` sees batch_size documents and moves a step, or all documents and moves the
        whole way, which takes more passes: each splits max_splits topics at most. That is coordinate ascent:
        with concentrations that are given, topic_concentration above 10 / 9, and documents that do not start
        'cold', no pass lowers the bound of the corpus at the documents' present state (`elbo` infers them
        anew). `partial_fit` always works online.
    split_merge : bool, default=True
        Whether topics are split and merged. In the last of several passes of `fit` none is split, all may be
        merged, and small ones are dropped where the others do better without them; after an early stop there
        is one more pass for that. Before, a topic is merged only when it has had four passes or fifty updates
        to become what it is. `partial_fit` has no last pass: it splits and merges, and drops nothing.
    max_splits : int, default=3
        Topics that a batch may split.
    document_start : {'cold', 'warm', 'better'} or None, default=None
        Where inference of a document starts with learning_method='batch': from equal shares of all topics,
        from where it ended in the pass before, or from both, of which the better result is kept. None is
        'better'. Online, where passes see documents anew, it is 'cold', and nothing else is allowed.
    topic_concentration : float or 'auto', default='auto'
        Concentration of the weights of topics, in [1e-12, 1e12], gamma in the literature. With 'auto' it is
        learned.
    doc_concentration : float or 'auto', default='auto'
        Concentration of the documents' proportions, in [1e-12, 1e12], alpha in the literature: large values
        favour documents with many topics.
    topic_concentration_prior, doc_concentration_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma priors of the concentrations that are learned. What is found is the most probable logarithm of
        each.
    topic_word_prior : float or 'auto', default=0.1
        Parameter of the topics' symmetric Dirichlet prior, > 0, eta in the literature. On long documents
        smaller values make more topics. With 'auto' it is learned from a start of 0.1.
    learning_decay : float, default=0.5
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
    max_doc_update_iter : int, default=100
        Limit of the iterations over a document.
    mean_change_tol : float, default=1e-3
        The iterations over a document stop when the mean absolute change of its Dirichlet parameters falls
        below it.
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
        Weights of the topics, beta in the literature. What is missing to one is left for topics out of use
        and those to come.
    topic_ids_ : ndarray of shape (n_components_,)
        Identity of each topic, kept in later calls of `partial_fit`. When a topic is split or two are merged,
        the larger keeps its own.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions: doc_concentration_ * topic_weights_.
    topic_concentration_, doc_concentration_, topic_word_prior_ : float
        The parameters in use, given or learned.
    n_components_ : int
        Topics in use: those with at least one expected token in the corpus.
    move_history_ : structured ndarray of shape (n_moves,)
        The moves since training began: n_samples (documents seen before the batch), kind ('split', 'merge' or
        'drop'), topic (the identity that is kept, or dropped), other (that which begins or ends, or -1), gain
        (of the bound, in nats). A topic that is left with less than one expected token goes without a move.
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
    CollapsedGibbsHDP : Samples from the exact posterior of a corpus.
    HybridHDP : Better predictions; as many topics as are allowed.

    Notes
    -----
    What a move gains is estimated from a batch, and has to be two standard errors above zero. Where the
    corpus has other tokens of a topic than the batch, as its posterior remembers, these count for a merge,
    and against dropping it. Batches of a few hundred documents make moves reliable; small ones forget topics,
    and of a single document they make none.

    The bound prefers fewer topics than predictions do: on texts, held-out scores may be higher without moves.

    Memory: at most about three times 8 bytes times n_features times topics, for each document of a batch some
    200 bytes for each topic (with learning_method='batch' the corpus is the batch), and 16 bytes for each
    pair of topics.

    References
    ----------
    M. Bryant and E. B. Sudderth, "Truly nonparametric online variational inference for hierarchical Dirichlet
    processes", NIPS 2012: equations 2 to 8, section 3.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.hdp import DirectAssignmentHDP
    >>> bars = make_bars(1000, random_state=0)
    >>> hdp = DirectAssignmentHDP(n_components=2, random_state=0).fit(bars.data)
    >>> hdp.n_components_  # there are 10 bars
    10
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchTopicModel._parameter_constraints,
        **{name: MinibatchLDA._parameter_constraints[name] for name in SHARED},
        **CONSTRAINTS,
        "learning_method": [StrOptions({"online", "batch"})],
        "split_merge": ["boolean"],
        "max_splits": [Interval(Integral, 0, None, closed="left")],
        "document_start": [StrOptions({"cold", "warm", "better"}), None],
        "topic_word_prior": [Interval(Real, SMALLEST, LARGEST, closed="both"), StrOptions({"auto"})],
    }

    _fitted_arrays = {  # noqa: RUF012
        **MinibatchTopicModel._fitted_arrays,
        "_weights": (FLOAT, "topics"),
        "_slot_ids": (INT, "topics"),
        "_births": (INT, "topics"),
        "_used": (INT, "components"),
        "_document_tokens": (FLOAT, None, None),
    }

    # A batch is looked at as a whole.
    _group_size = sys.maxsize

    def __init__(
        self,
        n_components: int = 20,
        *,
        learning_method: Literal["online", "batch"] = "online",
        split_merge: bool = True,
        max_splits: int = 3,
        document_start: Literal["cold", "warm", "better"] | None = None,
        topic_concentration: float | Literal["auto"] = "auto",
        doc_concentration: float | Literal["auto"] = "auto",
        topic_concentration_prior: tuple[float, float] = (1.0, 1.0),
        doc_concentration_prior: tuple[float, float] = (1.0, 1.0),
        topic_word_prior: float | Literal["auto"] = 0.1,
        learning_decay: float = 0.5,
        learning_offset: float = 1.0,
        max_iter: int = 5,
        batch_size: int = 200,
        total_samples: float | None = None,
        shuffle: bool = True,
        max_doc_update_iter: int = 100,
        mean_change_tol: float = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 2,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.learning_method = learning_method
        self.split_merge = split_merge
        self.max_splits = max_splits
        self.document_start = document_start
        self.topic_concentration = topic_concentration
        self.doc_concentration = doc_concentration
        self.topic_concentration_prior = topic_concentration_prior
        self.doc_concentration_prior = doc_concentration_prior
        self.topic_word_prior = topic_word_prior
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.shuffle = shuffle
        self.max_doc_update_iter = max_doc_update_iter
        self.mean_change_tol = mean_change_tol
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

    def elbo(self, X, y=None, *, total_samples=None):
        """Evidence lower bound of a corpus under the fitted posterior of topics and their weights, in nats.

        A bound on the log marginal likelihood of all of X, documents and topics together: it grows with
        the number of rows, and bounds of different models say little about their predictions. Use `score` to
        compare models.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, non-negative.
        y : None
            Ignored.
        total_samples : float or None, default=None
            Size of the corpus that X is a sample of, > 0: the documents' part is scaled up to it. None:
            X is the corpus.

        Returns
        -------
        elbo : float
            Total nats, natural logarithm (equation 2, with the density of the sticks for that of beta).
        """
        model = self._read()
        model._check_settings()
        check_scalar(total_samples, "total_samples", (Real, type(None)))
        if total_samples is not None and not 0 < total_samples < math.inf:
            raise ValueError(f"total_samples={total_samples!r}: a finite number > 0 or None is allowed.")
        counts = model._validate_counts(X, reset=False)
        topics, documents = model._geometric_topics(model.total_samples_), []
        with Workers(model.n_jobs) as workers:
            for _, _, batch in document_groups(counts):
                documents.append(model._infer(batch, topics, workers, dtype=np.float64).bound())
        scale = 1.0 if total_samples is None else float(total_samples) / counts.shape[0]
        posteriors = model._statistics.posterior_bound(model.total_samples_, model.topic_word_prior_)
        return scale * math.fsum(documents) + posteriors + model._weights_bound()

    def _weights_bound(self):
        """log p(beta), the density of the sticks."""
        gamma = self.topic_concentration_
        return len(self._weights) * math.log(gamma) + (gamma - 1.0) * math.log(self._weight_left())

    def _weight_left(self):
        """What the weights leave to one."""
        return max(1.0 - float(self._weights.sum()), SMALLEST_WEIGHT)

    # Parameters and state

    def _check_settings(self):
        super()._check_settings()
        check_concentration_priors(self)
        if self.learning_method == "online" and self.document_start not in (None, "cold"):
            raise ValueError(
                f"document_start={self.document_start!r}: with learning_method='online', None or 'cold' is "
                "allowed."
            )

    @property
    def _finishes(self):
        return self.split_merge

    def _fits_whole_corpus(self):
        return self.learning_method == "batch"

    def _order(self, rows, epoch):
        return rows if self._whole_corpus else super()._order(rows, epoch)

    def _initialize(self, n_features, seed):
        n, key = self.n_components, combine_keys(seed, INITIAL_KEY)
        self._statistics = TopicWordStatistics.random(n_features, n, key, False)
        self.total_samples_ = 0.0
        self._n_topic_updates = 0
        self._weights = np.full(n, (1.0 - SMALLEST_WEIGHT) / n)
        self._slot_ids, self._n_ids = np.arange(n), n
        self._cursor = 0
        self._births = np.zeros(n, dtype=np.int64)
        self.move_history_ = np.empty(0, dtype=MOVE)
        self._document_tokens = np.empty((0, n))
        self.topic_concentration_ = self.doc_concentration_ = 1.0
        self.topic_word_prior_ = 0.1
        self._adopt_settings()
        self._report_topics()

    def _adopt_settings(self):
        adopt_concentrations(self)
        if self.topic_word_prior != "auto":
            self.topic_word_prior_ = float(self.topic_word_prior)

    def _report_topics(self):
        """Set the attributes that say which topics are in use."""
        used = np.flatnonzero(self._used_slots())
        self._used = used
        self.n_components_ = len(used)
        self.topic_ids_ = self._slot_ids[used]
        self.topic_weights_ = self._weights[used]
        self.doc_topic_prior_ = np.maximum(self.doc_concentration_ * self.topic_weights_, SMALLEST)

    # Documents

    def _geometric_topics(self, total_samples):
        return self._statistics.geometric(self._count_weight(total_samples), self.topic_word_prior_)

    def _inference_topics(self):
        return self._used_statistics().geometric(self.total_samples_, self.topic_word_prior_)

    def _transform_step(self):
        return VariationalStep(self.max_doc_update_iter, self.mean_change_tol, self._rest())

    def _rest(self):
        """The prior parameter of what no topic has."""
        return self.doc_concentration_ * self._weight_left()

    def _prior(self):
        return np.maximum(self.doc_concentration_ * self._weights, SMALLEST)

    def _infer(self, batch, topics, workers, tokens=None, dtype=np.float32):
        """Mean-field inference of a batch, from equal shares or from tokens."""
        prior = self._prior()
        gathered = topics.gather(batch.words, prior, workers, dtype)
        start = None if tokens is None else prior + tokens
        return self._transform_step()(batch, gathered, prior, None, workers, gamma=start)

    def _document_step(self, batch, keys, total_samples, workers):
        topics = self._geometric_topics(total_samples)
        start = self.document_start or ("better" if self._whole_corpus else "cold")
        if start == "cold" or len(self._document_tokens) != batch.n_documents:
            return self._infer(batch, topics, workers)
        warm = self._infer(batch, topics, workers, self._document_tokens)
        if start == "warm":
            return warm
        return self._transform_step().better(warm, self._infer(batch, topics, workers), workers)

    # Updates

    def _run_epochs(self, X, y, counts, workers):
        try:
            super()._run_epochs(X, y, counts, workers)
        finally:
            self._document_tokens = np.empty((0, self._n_trained))

    def _step_size(self, t):
        return 1.0 if self._whole_corpus else (float(self.learning_offset) + t) ** -float(self.learning_decay)

    def _global_work(self, counts):
        n_documents, n_topics = counts.gamma.shape
        work = super()._global_work(counts) + 40 * WEIGHT_ITERATIONS * counts.gamma.size
        if self.split_merge:
            n_pairs = PAIRS_PER_TOPIC * n_topics if self._last_visit else TRIED
            work += (10 + n_documents // 8) * n_topics**2
            work += 10 * (n_pairs + 10 * TRIED) * (self.n_features_in_ + len(counts.share))
        return work

    def _global_step(self, counts, words, n_documents, n_tokens, total_samples, workers):
        self.total_samples_ = float(total_samples)
        if n_tokens > 0:
            scale = total_samples / n_documents
            moving = self.split_merge and self._n_topic_updates > 0  # topics are random before
            if moving:
                finish = self._finish if self._last_visit else self._merge
                counts = finish(counts, scale, workers)
            splitting = moving and self.max_splits > 0 and not self._last_visit
            splits = self._move_weights(counts, scale, splitting, workers)
            self._update_statistics(self._statistics, counts, words, n_documents, n_tokens, workers)
            tokens = self._split(splits, counts, words)
            self._learn(tokens, counts.batch.lengths, scale, workers)
            if self._whole_corpus:
                self._document_tokens = tokens
            self._n_topic_updates += 1
        self._report_topics()

    def _batch_topics(self, counts, scale):
        return BatchTopics(counts, self.doc_concentration_, self.topic_word_prior_, scale)

    def _columns(self):
        """Expected tokens of words in the corpus, column by column."""
        store, weight = self._store, self.total_samples_ * float(self._store_scale[0])
        return lambda k: store[:, k] * weight

    def _note(self, *moves):
        """Add moves, (kind, topic, other, gain) each, to the history."""
        noted = np.array([(self.n_samples_seen_, *move) for move in moves], dtype=MOVE)
        self.move_history_ = np.concatenate([self.move_history_, noted])

    def _merge(self, counts, scale, workers):
        """Merge topics where that raises the bound; returns what the batch's documents then are."""
        topics = self._batch_topics(counts, scale)
        young = self._n_topic_updates - self._births < min(GRACE_PASSES * scale, GRACE_UPDATES)
        n_pairs = PAIRS_PER_TOPIC * self._n_trained if self._last_visit else TRIED
        young &= not self._last_visit
        merges = propose_merges(topics, self._weights, self._columns(), young, n_pairs)
        totals, weights, tokens = self._store_totals.copy(), self._weights.copy(), topics.tokens.copy()
        kept = np.ones(len(totals), dtype=bool)
        into, moves = np.arange(len(totals)), []
        for first, second, gain in merges:
            large, small = (first, second) if totals[first] >= totals[second] else (second, first)
            for array in (totals, weights, tokens):
                array[..., large] += array[..., small]
            kept[small], into[small] = False, large
            moves.append(("merge", self._slot_ids[large], self._slot_ids[small], gain))
        kept &= self._used_slots(totals)
        if kept.all():
            return counts
        statistics, place = self._statistics.columns(kept), np.cumsum(kept) - 1
        for small in np.flatnonzero(into != np.arange(len(into))):
            if kept[into[small]]:
                statistics.store[:, place[into[small]]] += self._store[:, small]
        statistics.totals[:] = totals[kept]
        self._weights = weights
        self._keep(kept, statistics)
        self._note(*moves)
        topics = self._geometric_topics(self.total_samples_)
        return self._infer(counts.batch, topics, workers, start_without(counts.batch, tokens, kept))

    def _keep(self, kept, statistics=None):
        """Give up the other slots; their weights are those of topics out of reach from now on."""
        self._statistics = self._statistics.columns(kept) if statistics is None else statistics
        self._weights, self._slot_ids = self._weights[kept], self._slot_ids[kept]
        self._births = self._births[kept]

    def _finish(self, counts, scale, workers):
        """Merge topics and drop small ones; returns what the batch's documents then are."""
        while True:
            n_moves = len(self.move_history_)
            counts = self._dissolve(self._merge(counts, scale, workers), scale, workers)
            if len(self.move_history_) == n_moves:
                return counts

    def _dissolve(self, counts, scale, workers):
        """Drop small topics where the bound is higher without them; returns what the batch's documents then
        are."""
        for identity in self._slot_ids[np.argsort(self._weights, kind="stable")[:DISSOLVED_TRIED]]:
            k = int(np.flatnonzero(self._slot_ids == identity)[0])
            kept = np.arange(self._n_trained) != k
            if not kept.any():
                break
            without = self._without(counts, kept, workers)
            gain, error = self._drop_gain(k, counts, without, scale)
            if sure(gain, error):
                self._keep(kept)
                self._note(("drop", identity, -1, gain))
                counts = without
        return counts

    def _drop_gain(self, k, counts, without, scale):
        """What the bound gains without topic k, and the standard error of that."""
        topics = self._batch_topics(counts, scale)
        weight, rest = float(self._weights[k]), self._weight_left()
        part = topics.part(topics.cells(k), weight, self._columns()(k))
        read = self._statistics.probabilities(self.total_samples_, self.topic_word_prior_)
        phi = read.store[:, k] * read.scale[k] + read.offset[k]
        others = read.store @ (read.scale * self._weights) + read.offset @ self._weights
        others = np.maximum(others - weight * phi, 1e-300) / (self._weights.sum() - weight)
        change = without.bounds() - counts.bounds()
        gain = scale * float(change.sum()) - topics.posterior(part.column)[0]
        gain += (self.topic_concentration_ - 1.0) * math.log((rest + weight) / rest)
        return gain - unseen_loss(part, topics, phi, others), topics.error(change)

    def _without(self, counts, kept, workers):
        """Inference of the same documents with some of their topics only."""
        rows = columns_of(counts.topics.rows, kept)
        topics = GatheredTopics(rows, counts.topics.cumulative, counts.topics.log_evidence)
        prior, rest = counts.prior[kept], counts.rest + counts.prior[~kept].sum()
        step, batch = VariationalStep(self.max_doc_update_iter, self.mean_change_tol, rest), counts.batch
        start = start_without(batch, np.maximum(counts.gamma - counts.prior, 0.0), kept)
        return step(batch, topics, prior, None, workers, gamma=prior + start)

    def _move_weights(self, counts, scale, splitting, workers):
        """Move the weights of topics; returns the splits that are to follow."""
        topics = self._batch_topics(counts, scale)
        rho, old = self._step_size(self._n_topic_updates + 1), self._weights
        given = self.doc_concentration_, self.topic_concentration_, scale
        hat = fit_weights(topics.tokens, old, *given)
        self._weights = (1.0 - rho) * old + rho * hat
        if not splitting:
            return []
        given = topics, old, hat, rho, self._columns(), self.max_splits, self._cursor
        splits, self._cursor = propose_splits(*given, workers)
        return splits

    def _split(self, splits, counts, words):
        """Take the second halves of topics out of them, when the batch is in the statistics; returns the
        tokens of the batch's documents."""
        tokens = np.maximum(counts.gamma - counts.prior, 0.0)
        if not splits:
            return tokens
        unit = self.total_samples_ * float(self._store_scale[0])
        columns, halves = np.zeros((len(self._store), len(splits))), []
        weights = np.append(self._weights, [split.second.weight for split in splits])
        ids = np.append(self._slot_ids, self._n_ids + np.arange(len(splits)))
        births, moves = np.append(self._births, np.zeros(len(splits), dtype=np.int64)), []
        for i, split in enumerate(splits):
            k, new, second = split.topic, self._n_trained + i, split.second
            columns[words, i] = np.minimum(second.column[words] / unit, self._store[words, k])
            weights[k] = split.first.weight
            tokens[:, k] = split.first.documents
            halves.append(second.documents)
            moves.append(("split", ids[k], ids[new], split.gain))
            if second.column.sum() > split.first.column.sum():  # the larger keeps its identity
                ids[k], ids[new] = ids[new], ids[k]
            births[[k, new]] = self._n_topic_updates
        statistics = self._statistics.extended(columns)
        for i, split in enumerate(splits):
            statistics.store[words, split.topic] -= columns[words, i]
            statistics.totals[split.topic] = statistics.store[:, split.topic].sum()
        self._statistics = statistics
        self._weights, self._slot_ids, self._births = weights, ids, births
        self._n_ids += len(splits)
        self._note(*moves)
        return np.column_stack([tokens, *halves])

    def _learn(self, tokens, lengths, scale, workers):
        """Move the parameters that are learned towards their best values for a batch."""
        rho = self._step_size(self._n_topic_updates + 1)
        if self._n_topic_updates == 0 and not self._whole_corpus:
            return  # the very first batch has read random topics
        if self.doc_concentration == "auto":
            old, some = self.doc_concentration_, lengths > 0
            prior = self.doc_concentration_prior
            best = fit_concentration(tokens[some], self._weights, old, lengths[some], scale, *prior)
            self.doc_concentration_ = math.exp((1.0 - rho) * math.log(old) + rho * math.log(best))
        if self.topic_concentration == "auto":
            shape, rate = self.topic_concentration_prior
            best = (shape + len(self._weights)) / (rate - math.log(self._weight_left()))
            self.topic_concentration_ = (1.0 - rho) * self.topic_concentration_ + rho * best
        if self.topic_word_prior == "auto":
            weight, eta = self._count_weight(self.total_samples_), self.topic_word_prior_
            mean = self._statistics.mean_log_probability(weight, eta, workers)
            best = learned_smoothing("fixed-point", mean, self.n_features_in_, eta, rho)
            self.topic_word_prior_ = math.exp((1.0 - rho) * math.log(eta) + rho * math.log(best))
