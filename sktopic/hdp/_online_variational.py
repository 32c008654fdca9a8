"""Online variational inference for the HDP (Wang, Paisley and Blei, 2011)."""

import math
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.special import betaln, digamma
from sklearn.utils import check_scalar

from sktopic._compat import Interval
from sktopic._document_steps import chunks
from sktopic._documents import LARGEST_CORPUS, DocumentBatch, document_groups
from sktopic._fitted_arrays import FLOAT, INT
from sktopic._kernels._hdp_variational import (
    add_atom_counts,
    gather_log_topics,
    start_documents,
    update_documents,
)
from sktopic._kernels._rng import combine_keys
from sktopic._minibatch import INITIAL_KEY, MinibatchTopicModel
from sktopic._parallel import Workers
from sktopic._prior import LARGEST, SMALLEST, PriorEvidence
from sktopic._topic_word import (
    N_PARTS,
    TopicProbabilities,
    TopicWordStatistics,
    check_finite,
    columns_of,
    part_bounds,
)
from sktopic.lda._minibatch import MAX_SWEEPS, AveragedStatistics

# Largest truncation of documents; memory is proportional to it.
MOST_ATOMS = 10_000
# Iterations of LDA's mean-field inference that choose the topics a document's atoms start from.
START_ITERATIONS = 10


def expected_log_weights(taken, left):
    """E[log sigma] of the weights made by sticks of Beta parameters (taken, left), and by what they leave."""
    total = digamma(taken + left)
    log_left = np.cumsum(digamma(left) - total)
    return np.append(digamma(taken) - total, 0.0) + np.concatenate([[0.0], log_left])


def expected_weights(taken, left):
    """E[sigma] of the same."""
    share = taken / (taken + left)
    return np.append(share, 1.0) * np.concatenate([[1.0], np.cumprod(1.0 - share)])


def sticks_bound(taken, left, concentration):
    """E[log p(v)] - E[log q(v)] of sticks with the prior Beta(1, concentration)."""
    total = digamma(taken + left)
    gains = (1.0 - taken) * (digamma(taken) - total) + (concentration - left) * (digamma(left) - total)
    return float((gains + betaln(taken, left) - betaln(1.0, concentration)).sum())


@dataclass
class LogTopics:
    """The rows of some words (see _kernels._hdp_variational.gather_log_topics), and the topics' weights."""

    log_rows: np.ndarray
    rows: np.ndarray
    log_weights: np.ndarray
    weights: np.ndarray
    lowest: float


@dataclass
class CorpusPosterior:
    """The posterior of the corpus as documents see it.

    Attributes
    ----------
    store : (n_features, n_topics); topics have Dirichlet parameters weight * store + offset
    norm : (n_topics,) psi of their sums
    log_weights, weights : (n_topics,) E[log sigma] and E[sigma]
    """

    store: np.ndarray
    weight: float
    offset: float
    norm: np.ndarray
    log_weights: np.ndarray
    weights: np.ndarray

    def gather(self, words, prior, workers):
        """LogTopics of the words; the prior of proportions plays no part."""
        if len(words) and words.max() >= len(self.store):
            # Kernels trust their input.
            raise ValueError(f"topics of shape {self.store.shape} do not fit the documents.")
        shape = len(words), self.store.shape[1]
        log_rows, rows = np.empty(shape), np.empty(shape, dtype=np.float32)
        given = self.weight, self.offset, self.norm
        pieces = [
            (self.store, words[a:b], *given, log_rows[a:b], rows[a:b]) for a, b in workers.ranges(shape[0])
        ]
        workers.map_here(gather_log_topics, pieces)
        check_finite(log_rows)
        lowest = float(digamma(self.offset) - self.norm.max())
        return LogTopics(log_rows, rows, self.log_weights, self.weights, lowest)


@dataclass
class AtomCounts:
    """What is inferred of documents (see _kernels._hdp_variational.update_documents)."""

    batch: DocumentBatch
    prior: np.ndarray
    used: np.ndarray
    zeta: np.ndarray
    varphi: np.ndarray
    sticks: np.ndarray
    theta: np.ndarray
    bounds: np.ndarray
    n_iter: np.ndarray

    def work(self):
        return 2 * len(self.zeta) * self.varphi.shape[2]

    def add_to(self, target, rows, factor, totals, averaged, average_weight, workers):
        """averaged must be empty: topics are not averaged over updates."""
        batch = self.batch
        given = part_bounds(batch.n_words), batch.word_indptr, batch.word_cell, batch.cell_document()
        counts = batch.cell_count, self.zeta, self.varphi, factor, rows, target, totals
        pieces = [(first, last, *given, *counts) for first, last in workers.ranges(N_PARTS)]
        workers.map_here(add_atom_counts, pieces)

    def prior_evidence(self):
        """The expected number of atoms of each topic, as topic_gains (which are numbers of tables)."""
        atoms = self.varphi.sum(axis=(0, 1))
        return PriorEvidence(np.zeros_like(atoms), atoms, 0.0, np.count_nonzero(self.batch.lengths))

    def proportions(self):
        """Over the topics in use; the prior's trace lets documents without words have its mean."""
        theta = np.maximum(np.take(self.theta, self.used, axis=1), 0.0) + 1e-200 * self.prior
        return theta / theta.sum(axis=1, keepdims=True)


@dataclass
class AtomStep:
    """Mean-field inference of each document, with atoms that stand for topics.

    Attributes
    ----------
    used : numbers of the topics that proportions are wanted of
    n_atoms, concentration : of the documents' stick-breaking processes
    max_iter, tol : limits of the coordinate ascent
    """

    used: np.ndarray
    n_atoms: int
    concentration: float
    max_iter: int
    tol: float

    def __call__(self, batch, topics, prior, keys, workers, with_evidence=False):
        """keys and with_evidence are not needed here, and prior for proportions alone."""
        start = topics.rows, self.concentration * topics.weights, self.n_atoms
        ascent = (
            topics.log_rows,
            topics.log_weights,
            topics.lowest,
            self.concentration,
            self.max_iter,
            self.tol,
        )
        pieces = [(batch.cells(a, b), start, *ascent) for a, b in chunks(batch, workers)]
        parts = workers.map(_infer, pieces)
        arrays = (np.concatenate([part[i] for part in parts]) for i in range(6))
        return AtomCounts(batch, prior, self.used, *arrays)


def _infer(cells, start, log_rows, log_weights, lowest, concentration, max_iter, tol):
    """The kernels for one chunk."""
    zeta = start_documents(*cells, *start, START_ITERATIONS)
    given = log_rows, log_weights, lowest, concentration
    return zeta, *update_documents(*cells, *given, zeta, max_iter, tol)


class OnlineVariationalHDP(AveragedStatistics, MinibatchTopicModel):
    """Hierarchical Dirichlet process by online variational inference.

    Weights of the topics in the corpus come from a stick-breaking process, and each document has one of its
    own, whose atoms stand for topics of the corpus: so the number of topics is inferred. All of it has
    mean-field posteriors, and a mini-batch moves those of the corpus along the natural gradient of the
    evidence lower bound (oHDP, oHDP-CRF or SMF-HDP in the literature). It is the model of gensim's
    `HdpModel`: choose it for its bound, or to check work with that.

    Parameters
    ----------
    n_components : int, default=300
        Truncation of the corpus' stick-breaking process, K in the literature: the largest number of topics.
    doc_n_components : int, default=20
        Truncation of the documents' stick-breaking processes, T in the literature: the largest number of
        topics in a document. Time is proportional to it.
    topic_concentration : float, default=1.0
        Concentration of the corpus' stick-breaking process, gamma in the literature, in [1e-6, 1e6]: larger
        values spread the corpus over more topics.
    doc_concentration : float, default=1.0
        Concentration of the documents' stick-breaking processes, alpha_0 in the literature, in
        [1e-6, 1e6]: larger values spread documents over more topics.
    topic_word_prior : float, default=0.01
        Parameter of the topics' symmetric Dirichlet prior, > 0, eta in the literature. Smaller values
        make more topics.
    learning_decay : float, default=0.6
        Exponent kappa of the step size (learning_offset + t) ** -learning_decay of update t = 1, 2, ...;
        in [0, 1]. Values in (0.5, 1] make training converge.
    learning_offset : float, default=1.0
        Offset of the step size, >= 0; larger values slow the first updates down.
    max_iter : int, default=5
        Passes over the corpus in `fit`.
    batch_size : int, default=512
        Documents per update. Larger batches make slower progress per pass and share better among n_jobs.
    total_samples : float or None, default=None
        Size of the corpus, which weighs the data against topic_word_prior. None: the number of documents
        given to `fit`, and to `partial_fit` since.
    shuffle : bool, default=True
        Whether `fit` visits the documents in a new random order in each pass; `partial_fit` never does.
    max_doc_update_iter : int, default=100
        Limit of the iterations over a document.
    bound_tol : float, default=1e-4
        The iterations over a document stop when its bound gains less than this share of itself.
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
    n_components_ : int
        Number of topics in use: those with at least one expected token in the whole corpus.
    topic_ids_ : ndarray of shape (n_components_,)
        Numbers, from 0 to n_components - 1, of the topics in use, ascending. A topic keeps its number when
        training goes on.
    topic_weights_ : ndarray of shape (n_components_,)
        Expected weights in the corpus of the topics in use. They sum to one: the weight of the others is
        divided in proportion.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        ``doc_concentration_ * topic_weights_``: Dirichlet parameters of a document's topic proportions.
    topic_word_counts_ : ndarray of shape (n_components_, n_features_in_)
        Expected number of tokens of each word in each topic in use, over the whole corpus.
    topic_word_posterior_ : ndarray of shape (n_components_, n_features_in_)
        Parameters of the topics' Dirichlet posteriors, lambda in the literature:
        ``topic_word_counts_ + topic_word_prior_``. components_ is their mean.
    topic_word_prior_, topic_concentration_, doc_concentration_ : float
        The parameters in use.
    root_stick_posterior_ : ndarray of shape (2, n_components - 1)
        Beta parameters of the corpus' sticks, longest stick first in expectation; those of topics not in use
        are among them.
    stick_topics_ : ndarray of shape (n_components,)
        The number of the topic of each stick, and of what is left after them.
    total_samples_ : float
        Size of the corpus at the last update.
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
    validation_scores_ : ndarray of shape (n_iter_,)
        Held-out score after each pass, with early stopping.

    See Also
    --------
    sktopic.lda.OnlineVariationalLDA : The same for a given number of topics.

    Notes
    -----
    An iteration over a document costs at most twice its distinct words times n_components times
    doc_n_components, and far less once topics have words of their own. Memory: 8 bytes times n_features *
    n_components, and for each document of a batch 8 bytes times doc_n_components times n_components and its
    distinct words. Nothing is random but the initial topics and the order of documents.

    Larger batches help here more than in LDA: a topic without atoms in a batch loses weight, and what it
    has lost it hardly gains back.

    `transform` gives expected proportions over the topics in use: what a document has of others is
    divided in proportion.

    Departures from the paper. Topics are put in descending order of the atoms that stand for them, not of
    their tokens, before each step, and atoms in descending order of their tokens: of all orders these
    have the highest bound. The inference of a document starts from atoms that stand for one topic each,
    those most present by ten iterations of LDA's inference: from equal shares, as in the authors' program,
    it ends at lower bounds. Documents without words have no atoms.

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

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchTopicModel._parameter_constraints,
        "doc_n_components": [Interval(Integral, 1, MOST_ATOMS, closed="both")],
        "topic_concentration": [Interval(Real, 1e-6, 1e6, closed="both")],
        "doc_concentration": [Interval(Real, 1e-6, 1e6, closed="both")],
        "topic_word_prior": [Interval(Real, SMALLEST, LARGEST, closed="both")],
        "total_samples": [Interval(Real, 0, LARGEST_CORPUS, closed="right"), None],
        "learning_decay": [Interval(Real, 0, 1, closed="both")],
        "learning_offset": [Interval(Real, 0, None, closed="left")],
        "max_doc_update_iter": [Interval(Integral, 1, MAX_SWEEPS, closed="both")],
        "bound_tol": [Interval(Real, 0, None, closed="left")],
    }

    _fitted_arrays = {  # noqa: RUF012
        **MinibatchTopicModel._fitted_arrays,
        "_atoms": (FLOAT, "topics"),
        "root_stick_posterior_": (FLOAT, 2, None),
        "stick_topics_": (INT, "topics"),
        "topic_ids_": (INT, "components"),
        "topic_weights_": (FLOAT, "components"),
    }

    # The numbers of atoms of each topic are to be summed up.
    _learns_prior = True

    def __init__(
        self,
        n_components: int = 300,
        *,
        doc_n_components: int = 20,
        topic_concentration: float = 1.0,
        doc_concentration: float = 1.0,
        topic_word_prior: float = 0.01,
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def topic_word_counts_(self):
        model = self._read()
        weight = model.total_samples_ * model._statistics.scale[0]
        return np.ascontiguousarray(model._store[:, model.topic_ids_].T * weight)

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
            Total nats, natural logarithm: the documents' part, and once those of the topics and of the
            corpus' sticks.
        """
        model = self._read()
        model._check_settings()
        check_scalar(total_samples, "total_samples", (Real, type(None)))
        if total_samples is not None and not 0 < total_samples < math.inf:
            raise ValueError(f"total_samples={total_samples!r}: a finite number > 0 or None is allowed.")
        counts = model._validate_counts(X, reset=False)
        scale = 1.0 if total_samples is None else total_samples / counts.shape[0]
        sticks = sticks_bound(*model.root_stick_posterior_, model.topic_concentration_)
        topics = model._statistics.posterior_bound(model.total_samples_, model.topic_word_prior_)
        return scale * model._documents_bound(counts) + sticks + topics

    def _documents_bound(self, counts):
        topics, step, bounds = self._inference_topics(), self._transform_step(), []
        with Workers(self.n_jobs) as workers:
            for _, _, batch in document_groups(counts):
                gathered = topics.gather(batch.words, None, workers)
                bounds.extend(step(batch, gathered, self.doc_topic_prior_, None, workers).bounds)
        return math.fsum(bounds)

    def _initialize(self, n_features, seed):
        statistics = TopicWordStatistics.random(
            n_features, self.n_components, combine_keys(seed, INITIAL_KEY), average=False
        )
        self._statistics = statistics
        # The mean over documents of the expected number of atoms of each topic, at first equal.
        self._atoms = np.full(self.n_components, self.doc_n_components / self.n_components)
        self.total_samples_ = 0.0
        self._n_topic_updates = 0
        self._adopt_settings()

    def _adopt_settings(self):
        self.topic_word_prior_ = float(self.topic_word_prior)
        self.topic_concentration_ = float(self.topic_concentration)
        self.doc_concentration_ = float(self.doc_concentration)
        self._report()

    def _report(self):
        """Say which topics are in use, and their weights."""
        tokens = self.total_samples_ * self._store_scale[0] * self._store_totals
        used = tokens >= 1.0
        used[np.argmax(tokens)] = True
        order, taken, left = self._sticks(self.total_samples_)
        self.stick_topics_, self.root_stick_posterior_ = order, np.array([taken, left])
        self.topic_ids_ = np.flatnonzero(used)
        self.n_components_ = len(self.topic_ids_)
        weights = np.empty(len(order))
        weights[order] = expected_weights(taken, left)
        self.topic_weights_ = weights[used] / weights[used].sum()
        self.doc_topic_prior_ = np.maximum(self.doc_concentration_ * self.topic_weights_, SMALLEST)

    def _sticks(self, total_samples):
        """Topics in the order of their sticks, and the Beta parameters of these."""
        order = np.argsort(-self._atoms, kind="stable")
        atoms = total_samples * self._atoms[order]
        after = np.cumsum(atoms[::-1])[::-1]
        return order, 1.0 + atoms[:-1], self.topic_concentration_ + after[1:]

    def _corpus_posterior(self, total_samples):
        order, taken, left = self._sticks(total_samples)
        log_weights, weights = np.empty(len(order)), np.empty(len(order))
        log_weights[order], weights[order] = expected_log_weights(taken, left), expected_weights(taken, left)
        weight, eta = total_samples * float(self._store_scale[0]), self.topic_word_prior_
        norm = digamma(weight * self._store_totals + len(self._store) * eta)
        return CorpusPosterior(self._store, weight, eta, norm, log_weights, weights)

    def _topic_probabilities(self):
        topics = self._read_topics(self.total_samples_)
        if self.n_components_ == self._n_trained:
            return topics
        ids = self.topic_ids_
        return TopicProbabilities(columns_of(topics.store, ids), topics.scale[ids], topics.offset[ids])

    def _inference_topics(self):
        return self._corpus_posterior(self.total_samples_)

    def _transform_step(self):
        settings = self.doc_concentration_, self.max_doc_update_iter, self.bound_tol
        return AtomStep(self.topic_ids_, self.doc_n_components, *settings)

    def _step_size(self, t):
        """rho of update t = 1, 2, ... (of batches with words)."""
        return (float(self.learning_offset) + t) ** -float(self.learning_decay)

    def _document_step(self, batch, keys, total_samples, workers):
        topics = self._corpus_posterior(total_samples).gather(batch.words, None, workers)
        return self._transform_step()(batch, topics, self.doc_topic_prior_, keys, workers)

    def _global_step(self, counts, words, n_documents, n_tokens, total_samples, workers):
        self.total_samples_ = float(total_samples)
        if n_tokens > 0:
            rho = self._step_size(self._n_topic_updates + 1)
            self._update_statistics(self._statistics, counts, words, n_documents, n_tokens, workers)
            atoms = counts.prior_evidence().topic_gains / n_documents
            self._atoms = (1.0 - rho) * self._atoms + rho * atoms
            self._n_topic_updates += 1
        self._report()
