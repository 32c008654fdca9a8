"""Gibbs sampling for the hierarchical Dirichlet process over a corpus."""

from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from sktopic._documents._matrices import DocumentReader
from sktopic._estimators._batch_sampler import ASSIGNMENT_KEY, BatchSampler
from sktopic._estimators._constraints import ANY_NUMBER, PRIOR, SHARED
from sktopic._estimators._fitted_arrays import COUNT, FLOAT, INT, NUMBER
from sktopic._inference import GibbsInference
from sktopic._inference._token_counts import counts_exactly, log_rising_change
from sktopic._kernels._gibbs_split_merge import split_merge
from sktopic._kernels._groups import RootTopics
from sktopic._kernels._hdp_gibbs import draw_tables, log_seatings
from sktopic._kernels._rng import combine_keys, uniforms
from sktopic._runtime._arrays import columns_of, rows_of
from sktopic._runtime._compat import Interval, StrOptions
from sktopic._topics._word_count_edits import edited_topics, of_topics
from sktopic._topics._word_count_views import probabilities
from sktopic._topics._word_counts import WordCounts
from sktopic._typing import FloatArray, IntArray
from sktopic.hdp._concentrations import (
    LEARNED_CONCENTRATIONS,
    NAMES,
    adopt_concentrations,
    check_concentration_priors,
    draw_concentration,
)
from sktopic.hdp._restaurants import SAMPLERS, SPARE, TABLE_KEY, WEIGHT_KEY, Restaurants, generator_of, padded
from sktopic.hdp._root import log_root

# Tell the streams of one seed apart.
CONCENTRATION_KEY = 0x636F6E63
SPLIT_MERGE_KEY = 0x73706C6974
# Words in fewer documents do not gain from alias tables.
COMMON = 64
DEFAULT_TOPIC_WORD_PRIOR = 0.05
# Each may need a spare column for a topic.
MOST_PROPOSALS = 1000
# Restricted sweeps before a split is proposed.
LAUNCH_SWEEPS = 4


@dataclass
class Call:
    """The documents of one call of fit or partial_fit.

    Attributes
    ----------
    documents : Restaurants
    words : ndarray of int32, those that the documents have
    counts_before, totals_before, tables_before : what earlier documents have: tokens of these words in
        topics, those of all words, and tables
    exact : whether adding and removing tokens rounds nothing
    entered : whether the documents are in the counts yet
    """

    documents: Restaurants
    words: np.ndarray
    counts_before: np.ndarray
    totals_before: np.ndarray
    tables_before: np.ndarray
    exact: bool
    entered: bool = False

    @property
    def n_documents(self):
        return len(self.documents.n_customers)


class CollapsedGibbsHDP(BatchSampler):
    """The number of topics of a corpus in memory: a hierarchical Dirichlet process by Gibbs sampling.

    A Markov chain over the topics of all tokens and the tables of all documents, whose stationary law is the
    exact posterior: topics appear and vanish, and there is no upper bound on their number. Moves that split
    and merge topics reduce the dependence on the initial number of topics. Choose it when the whole corpus is
    in memory and the number of topics is asked for; the online methods get to the same predictions in less
    time.

    Read more in :doc:`/guide/hdp`.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics at the start, which are random. With enough sweeps the result does not depend on it:
        on 300 documents of bars that takes 700 with n_proposals=20, on thousands of documents many hundreds;
        more topics then predict better at first.
    sampler : {'table_indicator', 'sparse_table_indicator', 'direct_assignment'}, default='table_indicator'
        How tokens are drawn; all three have the same law. 'table_indicator' draws a topic and whether a
        table is opened, at the root with the exact weight M_k / (b0 + M) of M_k tables.
        'sparse_table_indicator' proposes from alias tables and corrects what was drawn. 'direct_assignment'
        draws topics given weights at the root, and tables and weights in turn.
    topic_concentration : float or 'auto', default='auto'
        Concentration of the process that topics come from, in [1e-12, 1e12], b0 or gamma in the literature.
        With 'auto' it is sampled.
    doc_concentration : float or 'auto', default='auto'
        Concentration of the documents' processes, in [1e-12, 1e12], b1 or alpha in the literature.
    topic_concentration_prior, doc_concentration_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma priors of the concentrations that are sampled; the chain starts from their means.
    topic_word_prior : float or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0, beta in the literature. None is 0.05. The
        number of topics depends on it: smaller values make more of them.
    split_merge : bool, default=True
        Whether it is proposed after each sweep to split a topic or to merge two.
    n_proposals : int, default=10
        Such proposals after each sweep, 1 to 1000. Each takes some sweeps over the tokens of the topics in
        question.
    max_iter : int, default=200
        Sweeps over the documents of a call of `fit` or `partial_fit`.
    evaluate_every : int, default=10
        Sweeps between two entries of log_likelihood_ and n_components_trace_; 0 for none.
    transform_burn_in : int, default=10
        Gibbs sweeps over a document in `transform` and `score` that are discarded (burn-in), >= 0.
    transform_sweeps : int, default=20
        Gibbs sweeps over a document in `transform` and `score` that are averaged, >= 1.
    components_init : None or array-like of shape (n_components, n_features), default=None
        Topics that the first documents start from: rows of non-negative numbers, each divided by its sum. The
        topic of a token is drawn by the probabilities of its word, instead of with equal ones. They weigh
        nothing beyond that start.
    n_jobs : int or None, default=None
        Threads that work on `transform` and `score`; sampling uses one. The results are the same for any
        number.
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
        Number of tokens of each word in each topic, in the last draw.
    topic_weights_ : ndarray of shape (n_components_,)
        Expected weights at the root given the tables: M_k / (b0 + M). They sum to less than one; the rest
        is that of new topics.
    topic_ids_ : ndarray of shape (n_components_,), int
        Identity of each topic, which it keeps as long as it has tokens, also over calls of `partial_fit`. The
        larger part keeps its own when a topic is split or two are merged. Topics are in this order.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions: ``doc_concentration_ * topic_weights_``.
    topic_concentration_, doc_concentration_ : float
        Concentrations in use.
    topic_word_prior_ : float
        Parameter of the topics' prior in use.
    n_components_ : int
        Number of topics in use: those with tokens.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had any.
    topic_names_ : ndarray of shape (n_components_,)
        Names of the topics, only once `sktopic.inspection.name_topics` was called.
    log_likelihood_ : ndarray of shape (n_evaluations,)
        Log joint probability in nats of words, topics and tables of the documents of the last call of `fit`
        or `partial_fit`, given those before; after every evaluate_every sweeps.
    n_components_trace_ : ndarray of shape (n_evaluations,), int
        Number of topics at these times.
    n_iter_ : int
        Sweeps of the last call.
    n_samples_seen_ : int
        Documents in the counts.

    See Also
    --------
    sktopic.lda.CollapsedGibbsLDA : The same with a given number of topics.
    OnlineVariationalHDP : Learns from mini-batches.

    Notes
    -----
    The model is that of the last draw, not a mean over draws, which do not have the same topics. Convergence
    can be checked by log_likelihood_ and n_components_trace_ of chains from few topics and from many.

    All tokens of a word are visited one after the other, so that the weights of all topics are computed
    already and change in two places when a token moves. A token then costs a scan of the topics of its
    document, and with 'table_indicator' the search among sums over sixteen topics.

    An alias table built from counts that include the current token would change the stationary distribution.
    So the documents of a word are cut into three blocks, and the table of a block is made from the others.
    With this order of the sweep it saves little: measured, it is slower than 'table_indicator'.

    `partial_fit` adds documents: it sweeps them against the present counts, and never moves the documents of
    earlier calls. Topics that those have are neither split nor merged. There is no ``sample_weight``, for the
    reason given at `~sktopic.lda.CollapsedGibbsLDA`: repeat rows instead.

    A count c becomes tokens as in `OnlineEMLDA`, each of which is one customer of its restaurant: the sampler
    is exact for integer counts up to 64.

    References
    ----------
    C. Chen, L. Du and W. Buntine, "Sampling table configurations for the hierarchical Poisson-Dirichlet
    process", ECML PKDD 2011: table indicators. Equations 8 to 11 of S. Burkhardt and S. Kramer, "Online
    sparse collapsed hybrid variational-Gibbs algorithm for hierarchical Dirichlet process topic models", ECML
    PKDD 2017, are their form here, but for the weight of a topic at the root, which is the exact one (and for
    a misprint in the last, whose denominator is S(n, m)).

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

    _fitted_arrays = {  # noqa: RUF012
        **BatchSampler._fitted_arrays,
        "_tables": (FLOAT, "topics"),
        "_ids": (INT, "topics"),
        "_lengths": (INT, 2, None),
        "n_components_trace_": (INT, None),
    }
    # Only once topics were dropped.
    _optional_arrays = {**BatchSampler._optional_arrays, "_dropped_tables": (FLOAT, 1)}  # noqa: RUF012
    _fitted_values = {  # noqa: RUF012
        **BatchSampler._fitted_values,
        "topic_concentration_": NUMBER,
        "doc_concentration_": NUMBER,
        "_next_id": COUNT,
    }

    _traces = "log_likelihood_", "n_components_trace_"

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

    @property
    def n_components_(self) -> int:
        return len(self._read()._topic_columns())

    @property
    def topic_ids_(self) -> IntArray:
        model = self._read()
        return model._ids[model._topic_columns()]

    @property
    def topic_weights_(self) -> FloatArray:
        model = self._read()
        # A corpus without words has the one topic of a first table.
        tables = np.maximum(model._tables[model._topic_columns()], 1.0)
        return tables / (tables.sum() + model.topic_concentration_)

    @property
    def doc_topic_prior_(self) -> FloatArray:
        model = self._read()
        return model.doc_concentration_ * model.topic_weights_

    @property
    def topic_word_counts_(self) -> FloatArray:
        model = self._read()
        return np.ascontiguousarray(model._statistics.store[:, model._topic_columns()].T)

    def _transform_step(self):
        return GibbsInference(self.transform_burn_in, self.transform_sweeps)

    def _check_settings(self):
        super()._check_settings()
        check_concentration_priors(self)

    # The state

    def _topic_columns(self):
        """The columns of topics, in the order of their ids; without any, one that is empty."""
        used = np.flatnonzero(self._ids >= 0)
        if not len(used):
            return np.zeros(1, dtype=np.int64)
        return used[np.argsort(self._ids[used])]

    def _topic_probabilities(self):
        used = self._topic_columns()
        return probabilities(of_topics(self._statistics, used), 1.0, self.topic_word_prior_)

    def _columns(self):
        return self._topic_columns()

    def _edit_topics(self, edit):
        edit = edit.of_columns(self._topic_columns(), len(self._ids), keeps_columns=True)
        self._statistics = edited_topics(self._statistics, edit)
        tables, self._ids = edit.sums(self._tables), edit.left(self._ids, gone=-1)
        dropped = self._tables.sum() - tables.sum()
        if dropped > 0:
            self._dropped_tables = np.array([self._n_dropped_tables + dropped])
        self._tables = tables

    @property
    def _n_dropped_tables(self):
        """Number of tables of dropped topics, whose tokens are in ``_lengths`` for ever."""
        return vars(self).get("_dropped_tables", np.zeros(1)).sum()

    def _allocate(self, n_features):
        size = -(-(int(self.n_components) + 1) // SPARE) * SPARE
        self._statistics = WordCounts.empty(n_features, size)  # which may fail: nothing has changed so far
        self._tables = np.zeros(size)
        self._ids = np.full(size, -1, dtype=np.int64)
        self._next_id = 0
        self._lengths = np.zeros((2, 0), dtype=np.int64)
        for name in NAMES:
            shape, rate = getattr(self, f"{name}_prior")
            setattr(self, f"{name}_", shape / rate)

    def _adopt_settings(self):
        adopt_concentrations(self)
        given = self.topic_word_prior
        self.topic_word_prior_ = DEFAULT_TOPIC_WORD_PRIOR if given is None else float(given)

    # A sweep

    def _begin_call(self, X):
        batch = DocumentReader(X).batch(np.arange(X.shape[0]))
        documents = Restaurants.of(batch)
        words = np.sort(documents.words)
        before = rows_of(self._statistics.store, words)
        exact = counts_exactly(batch.cell_count, before)
        return Call(documents, words, before, self._statistics.totals.copy(), self._tables.copy(), exact)

    def _assign_at_random(self, call):
        documents = call.documents
        draws = uniforms(combine_keys(self._seed, ASSIGNMENT_KEY), len(documents.z))
        documents.assign(self._initial_topics(documents, draws))
        self._recount(call)
        self._tables[:] = documents.tables(len(self._ids))

    def _n_first_topics(self):
        return min(max(int(self.n_components), 1), len(self._ids) - 1)

    def _enter(self, call):
        super()._enter(call)
        lengths = call.documents.n_customers
        values, inverse = np.unique(np.append(self._lengths[0], lengths), return_inverse=True)
        weights = np.append(self._lengths[1], np.ones_like(lengths))
        self._lengths = np.array([values, np.bincount(inverse, weights=weights)], dtype=np.int64)

    def _undo(self, call):
        counts, before, z = self._statistics.store, call.counts_before, call.documents.z.copy()
        held = self._held
        small = [(array, array.copy()) for array in (self._statistics.totals, self._tables, self._ids)]

        def undo():
            counts[call.words] = before
            call.documents.z[:] = z
            call.documents.add_to(counts)
            counts[call.words[:, None], held] = before[:, held]
            for array, values in small:
                array[:] = values

        return undo

    def _sweep(self, call, workers):
        used = np.flatnonzero(self._tables)
        if len(self._ids) > 4 * (len(used) + SPARE):
            self._arrange(call, used, -(-(len(used) + SPARE) // SPARE) * SPARE)
        key = self._sweep_key()
        if self.sampler == "direct_assignment":
            self._sweep_weights(call, key)
        else:
            call.documents.weigh(True)
            self._tables, _ = self._sweep_cells(call, self._tables.copy(), self.topic_concentration_, key)
        if self.split_merge:
            self._split_merge(call, combine_keys(key, SPLIT_MERGE_KEY))
        if not call.exact:  # count anew what adding and removing has rounded
            self._recount(call)
        self._name_topics()
        self._draw_concentrations(generator_of(key, CONCENTRATION_KEY))

    def _recount(self, call):
        """Count all tokens of the call anew."""
        self._statistics.store[call.words] = call.counts_before
        call.documents.add_to(self._statistics.store)
        self._statistics.totals[:] = call.totals_before + (
            self._statistics.store[call.words] - call.counts_before
        ).sum(axis=0)
        self._hold(call)

    def _arrange(self, call, kept, size):
        """Keep the topics in some columns only, in that order, and have size columns."""
        position = np.full(len(self._ids), -1, dtype=np.int32)
        position[kept] = np.arange(len(kept))
        n_spare = size - len(kept)
        self._statistics = of_topics(self._statistics, kept, n_spare=n_spare)
        self._tables = padded(self._tables[kept], size)
        call.counts_before = columns_of(call.counts_before, kept, size)
        call.totals_before = padded(call.totals_before[kept], size)
        call.tables_before = padded(call.tables_before[kept], size)
        self._ids = np.concatenate([self._ids[kept], np.full(n_spare, -1)])
        call.documents.rename(position)

    def _sweep_weights(self, call, key):
        """Direct assignment: weights of topics, then topics of tokens, then tables."""
        call.documents.weigh(False)
        root, rest = self._draw_weights(generator_of(key, WEIGHT_KEY))
        root, rest = self._sweep_cells(call, root, rest, key)
        self._seat(call, root, key)

    def _split_merge(self, call, key):
        """Propose to split and merge topics that no earlier document has; tables are drawn anew."""
        documents, free = call.documents, np.count_nonzero(self._tables == 0)
        n_proposals = int(self.n_proposals)
        if not len(documents.z):
            return
        if free < n_proposals:
            self._arrange(call, np.arange(len(self._ids)), len(self._ids) + n_proposals)
        root, _ = self._draw_weights(generator_of(key, WEIGHT_KEY))
        split_merge(
            cells=documents.cells,
            topics=RootTopics(self._statistics.store, self._statistics.totals, root, self._ids),
            fixed=(call.tables_before > 0).astype(np.uint8),
            topic_concentration=self.topic_concentration_,
            topic_word_prior=self.topic_word_prior_,
            lists=documents.lists,
            z=documents.z,
            n_proposals=n_proposals,
            n_scans=LAUNCH_SWEEPS,
            key=key,
        )
        self._seat(call, root, key)

    def _draw_weights(self, generator):
        """b1 times the weights of topics at the root given the tables, and b1 times their rest."""
        used = self._tables > 0
        root = np.zeros(len(used))
        # Tiny concentrations make gamma variates that underflow.
        root[used] = np.maximum(generator.gamma(self._tables[used]), 1e-290)
        rest = max(generator.gamma(self.topic_concentration_), 1e-290)
        factor = self.doc_concentration_ / (root.sum() + rest)
        return root * factor, rest * factor

    def _seat(self, call, root, key):
        """Draw the tables of all documents of the call, given weights of topics."""
        tables = np.zeros(len(root))
        key = combine_keys(key, TABLE_KEY)
        draw_tables(lists=call.documents.lists, weight=root, tables=tables, key=key)
        self._tables = padded(call.tables_before, len(root)) + tables

    def _sweep_cells(self, call, root, rest, key):
        """Sweep, with columns for new topics added wherever none is free; returns root weights and rest.

        root, rest : what the root tells of topics and of new ones, not normalised: tables and b0, or b1 times
            their weights under direct assignment
        """
        settings = {
            "sampler": SAMPLERS[self.sampler],
            "common": COMMON,
            "topic_concentration": self.topic_concentration_,
            "doc_concentration": self.doc_concentration_,
            "topic_word_prior": self.topic_word_prior_,
            "n_features": len(self._statistics.store),
        }

        def extend(size):
            self._arrange(call, np.arange(len(self._ids)), size)

        def arrays():
            return {"counts": self._statistics.store, "totals": self._statistics.totals, "ids": self._ids}

        return call.documents.sweep(arrays, root, rest, settings, key, extend)

    def _name_topics(self):
        """Give new topics an identity, and clear the columns of those that are gone."""
        used = self._tables > 0
        new = used & (self._ids < 0)
        self._ids[new] = np.arange(self._next_id, self._next_id + new.sum())
        self._next_id += int(new.sum())
        self._ids[~used] = -1
        self._statistics.totals[~used] = 0.0

    def _draw_concentrations(self, generator):
        """Draw the concentrations given the tables, where asked for."""
        total, n_topics = self._tables.sum(), np.count_nonzero(self._tables)
        if total == 0:
            return
        if self.topic_concentration == "auto":
            self.topic_concentration_ = draw_concentration(
                self.topic_concentration_,
                self.topic_concentration_prior,
                n_tables=n_topics,
                sizes=np.array([total]),
                times=np.ones(1),
                generator=generator,
            )
        if self.doc_concentration == "auto":
            sizes, times = self._lengths
            self.doc_concentration_ = draw_concentration(
                self.doc_concentration_,
                self.doc_concentration_prior,
                n_tables=total + self._n_dropped_tables,  # those of documents with these lengths
                sizes=sizes,
                times=times,
                generator=generator,
            )

    def _trace(self, call):
        return [self._log_joint(call), self.n_components_]

    def _log_joint(self, call):
        """log p(words, topics and tables of the documents | counts and tables of earlier ones)."""
        beta, size, documents = self.topic_word_prior_, len(self._statistics.store), call.documents
        b0, b1 = self.topic_concentration_, self.doc_concentration_
        norm = gammaln(self._statistics.totals + size * beta) - gammaln(call.totals_before + size * beta)
        total = log_rising_change(self._statistics.store[call.words], call.counts_before, beta) - norm.sum()
        total += self._log_frozen(call, [documents])
        total += log_root(self._tables, b0) - log_root(call.tables_before, b0)
        total += log_seatings(documents.lists) + (self._tables - call.tables_before).sum() * np.log(b1)
        return total + (gammaln(b1) - gammaln(b1 + documents.n_customers)).sum()
