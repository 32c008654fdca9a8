"""Variational inference for the HDP by direct assignment, split and merge (Bryant and Sudderth, 2012)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._bounds import elbo
from sktopic._estimators._constraints import PRIOR
from sktopic._estimators._fitted_attributes import fitted
from sktopic._runtime._compat import StrOptions
from sktopic._typing import IntArray
from sktopic.hdp._batch_proposals import AscentProposals, RestrictedProposals
from sktopic.hdp._direct_assignment_method import DirectAssignment
from sktopic.hdp._direct_assignment_passes import fit_online
from sktopic.hdp._direct_assignment_state import DirectAssignmentState
from sktopic.hdp._document_inference import DocumentInference
from sktopic.hdp._estimator import MinibatchHDPEstimator, topic_word_posterior
from sktopic.hdp._memoized._training import add_memoized, fit_memoized, range_of_numbers
from sktopic.hdp._parameters import LEARNED_CONCENTRATIONS

PROPOSALS = {"ascent": AscentProposals(), "restricted": RestrictedProposals()}
TRAINERS = {"online": fit_online, "memoized": fit_memoized}
# Number of topics at the start if neither the number nor topics are given.
DEFAULT_TOPICS = 20
# Default number of passes.
DEFAULT_PASSES = {"online": 5, "memoized": 15}


class DirectAssignmentHDP(MinibatchHDPEstimator):
    """Hierarchical Dirichlet process by direct assignment, with splits and merges of topics.

    Documents draw their proportions from shared topic weights, and topics have Dirichlet posteriors. After a
    batch, topics are split or merged if that raises the evidence lower bound. In the literature, this is
    oHDP-SM, and without moves oHDP (online) or bHDP (batch inference). Choose this model to find a number of
    topics in a stream, or in a corpus that is too large for `CollapsedGibbsHDP`.

    Read more on the guide page "Hierarchical Dirichlet process".

    Parameters
    ----------
    n_components : int or None, default=None
        Initial number of topics. If None, the number of rows of components_init, or 20 without it. With
        split_merge=True it matters less. Ten passes over 2930 blog entries lead from 20 topics to 17 and from
        100 to 16; over 1392 papers, from 20 to 30 and from 100 to 52. With learning_method='memoized' and
        moves, `fit` starts from topics that it finds in the data, and small numbers have no effect (see
        Notes). Compare models by `score` or `elbo`.
    learning_method : {'online', 'memoized'}, default='online'
        'online' moves the model towards each batch by a step. With 'memoized', each batch stores sums that
        its next visit replaces (Hughes and Sudderth, 2013). This needs no step size, but memory (see Notes).
        With a batch_size of at least the number of documents, it is batch inference.
    split_merge : bool, default=True
        Whether topics are split and merged. With move_proposals='ascent', a topic is not merged until four
        passes or fifty updates after its last change. After r refused splits or merges, it waits 2 ** r
        updates before the next trial. With learning_method='memoized', topics are only merged and dropped
        (see Notes).
    move_proposals : {'ascent', 'restricted'}, default='ascent'
        Moves that a batch tries with learning_method='online'. 'ascent': splits by coordinate ascent, and
        merges of the most promising pairs of topics, if the estimated gain of the bound is two standard
        errors above zero. 'restricted': splits by a restricted iteration, and merges of all pairs with
        positive covariance, without waiting, if the gain is above zero (section 3 of [2]_). Choose it to
        repeat that paper. On texts it is worse: ten passes over 2930 blog entries with the settings of the
        paper end with 9 to 12 topics and a score lower by 0.11 than the defaults.
    final_moves : bool, default=True
        Whether the last pass of `fit`, if there are several, only merges topics and drops small ones. The
        moves are judged on the whole corpus. Early stopping adds such a pass. The pass is repeated until no
        move raises the bound, usually once or twice. 'memoized' and `partial_fit` have no such pass. Without
        it, training on twenty bars ends with 20 to 22 topics instead of 20. Scores on texts differ by less
        than 0.02.
    topic_expectation : {'geometric', 'mean'}, default='geometric'
        Word probabilities for the inference of documents: exp E[log phi] as in mean-field inference
        ('geometric'), or E[phi] as in CVB0 [1]_ ('mean'). With 'mean', scores on texts are higher, by 0.01 to
        0.40 nats per word. The bound requires 'geometric', which more often finds the true number of
        distinct topics. `elbo` and training with learning_method='memoized' always use 'geometric'.
    topic_concentration : float or 'auto', default='auto'
        Concentration of the weights of topics, in [1e-12, 1e12], gamma in the literature. With 'auto' it is
        learned.
    doc_concentration : float or 'auto', default='auto'
        Concentration of the documents' proportions, in [1e-12, 1e12], alpha in the literature. Larger values
        give documents more topics. With 'auto' it is learned.
    topic_concentration_prior, doc_concentration_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma priors of the learned concentrations. The learned value maximizes the posterior density of its
        logarithm.
    topic_word_prior : float, 'auto' or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0, eta in the literature. On long documents,
        smaller values give more topics. If None, 0.1. 'auto' learns it, starting from 0.1. With
        learning_method='memoized', None and 'auto' both learn it, starting from 0.5.
    learning_decay : float, default=0.5
        Exponent kappa of the step size ``(learning_offset + t) ** -learning_decay`` of update t = 1, 2, ...,
        in [0, 1]. Training converges for values in (0.5, 1].
    learning_offset : float, default=1.0
        Offset of the step size, >= 0. Larger values slow down the first updates.
    max_iter : int or None, default=None
        Number of passes over the corpus in `fit`. If None, 5, or 15 with learning_method='memoized', where
        fewer may leave superfluous topics. With final_moves=True, the last pass may be repeated.
    batch_size : int, default=200
        Number of documents per update. Larger batches learn more slowly per pass but run better in parallel.
    total_samples : float or None, default=None
        Size of the corpus. Larger values reduce the influence of `topic_word_prior` and give more topics. If
        None, the total weight of the documents given to `fit` and later calls of `partial_fit`. If `fit` was
        never called and learning_method='online', the weight given to `partial_fit` times its cube root (at
        least 2), as more documents are expected.
    shuffle : bool, default=True
        Whether `fit` shuffles the documents before each pass. `partial_fit` never does.
    max_doc_update_iter : int, default=100
        Maximum number of iterations over a document.
    mean_change_tol : float, default=1e-3
        Iterations over a document stop when its Dirichlet parameters change by less than this on average.
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
    topic_word_posterior_ : ndarray of shape (n_components_, n_features_in_)
        Parameters of the topics' Dirichlet posteriors, lambda in the literature: `topic_word_counts_` plus
        the prior. Their means are `components_`.
    topic_weights_ : ndarray of shape (n_components_,)
        Weights of the topics, beta in the literature. If they sum to less than one, the rest belongs to
        unused and future topics.
    topic_ids_ : ndarray of shape (n_components_,)
        Identity of each topic, kept in later calls of `partial_fit`. If a topic is split or two are merged,
        the larger keeps its identity.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions: doc_concentration_ * topic_weights_.
    topic_concentration_, doc_concentration_, topic_word_prior_ : float
        Parameters in use, given or learned.
    n_components_ : int
        Number of topics in use, which have at least one expected token in the corpus.
    n_components_range_ : ndarray of shape (2,), int
        Numbers of topics whose bound is within 0.1 percent of the final bound, only with
        learning_method='memoized'. The smallest is reached by merging each topic at most once, the largest is
        the number of topics. Fits from other starts may end outside this range. Computed at each access.
    move_history_ : structured ndarray of shape (n_moves,)
        Moves since training began. Fields: n_samples (documents seen before the batch, or up to the end of
        the pass), kind ('split', 'merge' or 'drop'), topic (identity kept or dropped), other (identity that
        begins or ends, or -1), gain (of the bound, in nats; topics dropped together share it equally),
        n_components (after the move) and elbo (bound of the corpus after the pass with
        learning_method='memoized', else nan). Topics with less than one expected token are removed without an
        entry.
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
    total_samples_ : float
        Size of the corpus at the last update.
    validation_scores_ : ndarray of shape (n_iter_,)
        Held-out score after each pass, with early stopping.
    training_history_ : structured ndarray of shape (n_passes,)
        One row for each pass or call of `partial_fit`, only with learning_method='memoized'. Fields:
        n_samples (documents seen), elbo (bound of the corpus in nats, with the stored states of documents and
        the log densities of learned concentrations), n_components, doc_concentration, topic_concentration and
        topic_word_prior.

    See Also
    --------
    CollapsedGibbsHDP : Samples from the exact posterior of a corpus.
    HybridHDP : Predicts better. With split_merge=True, it also finds a number of topics.

    Notes
    -----
    - Settings of [2]_: ``move_proposals='restricted', final_moves=False, topic_word_prior='auto'``.
    - 'restricted': differs from the equations in [2]_ as printed. The shares of a token sum to one, a batch
      enters the parts of a topic once, and a merged topic has its pseudo-count once. There are no splits at
      a step size of 1.
    - The bound favors fewer topics than `score` does: on texts, scores may be higher without moves.
    - 'online': in a stream, give total_samples its expected length if you know it. While total_samples is
      small, topics stay close to the prior and are merged. They are rarely split again.
    - 'online': batches of a few hundred documents make moves reliable; batches of one or two make none.
    - 'memoized': with moves and without components_init, `fit` starts from the topics of a Gibbs chain: 300
      sweeps of `CollapsedGibbsHDP` over at most four million tokens. It begins with ``0.5 * sqrt(tokens)``
      random topics (20 to 300), or with n_components if it is larger. The chain ignores document weights.
    - 'memoized': a document is inferred from equal shares of all topics and from its last result, and keeps
      the better of both.
    - 'memoized': moves are judged on the whole corpus after each pass. No other step lowers the bound.
      `partial_fit` adds documents without moves. An interruption leaves the state of the last complete pass
      or call, and random topics if it is in the first pass of `fit` or the chain before it.
    - Memory: three times 8 bytes per word and topic ('restricted': five times), 200 bytes per topic and
      document of a batch, and 16 bytes per pair of topics. 'memoized' stores 16 bytes per topic of each word
      in a batch and 12 per topic of each document, and up to eight times as much while it trains with moves.
      A chain takes 32 bytes per token.

    References
    ----------
    .. [1] A. Asuncion, M. Welling, P. Smyth and Y. W. Teh, "On smoothing and inference for topic models",
       Conference on Uncertainty in Artificial Intelligence 25, 2009.
    .. [2] M. Bryant and E. B. Sudderth, "Truly nonparametric online variational inference for hierarchical
       Dirichlet processes", NIPS 2012: equations 2 to 8, section 3 with algorithms 1 and 2.

    M. C. Hughes and E. B. Sudderth, "Memoized online variational inference for Dirichlet process mixture
    models", NIPS 2013.

    M. C. Hughes, D. I. Kim and E. B. Sudderth, "Reliable and scalable variational inference for the
    hierarchical Dirichlet process", AISTATS 2015: merges and deletes. Births come from a chain instead.

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
        **MinibatchHDPEstimator._parameter_constraints,
        **LEARNED_CONCENTRATIONS,
        "n_components": [*MinibatchHDPEstimator._parameter_constraints["n_components"], None],
        "max_iter": [*MinibatchHDPEstimator._parameter_constraints["max_iter"], None],
        "learning_method": [StrOptions(set(TRAINERS))],
        "split_merge": ["boolean"],
        "move_proposals": [StrOptions(set(PROPOSALS))],
        "final_moves": ["boolean"],
        "topic_expectation": [StrOptions({"geometric", "mean"})],
        "topic_word_prior": [PRIOR, StrOptions({"auto"}), None],
    }

    _state_class = DirectAssignmentState

    move_history_ = fitted("move_history")
    training_history_ = fitted("training_history")
    topic_word_posterior_ = topic_word_posterior
    elbo = elbo

    def __init__(
        self,
        n_components: int | None = None,
        *,
        learning_method: Literal["online", "memoized"] = "online",
        split_merge: bool = True,
        move_proposals: Literal["ascent", "restricted"] = "ascent",
        final_moves: bool = True,
        topic_expectation: Literal["geometric", "mean"] = "geometric",
        topic_concentration: float | Literal["auto"] = "auto",
        doc_concentration: float | Literal["auto"] = "auto",
        topic_concentration_prior: tuple[float, float] = (1.0, 1.0),
        doc_concentration_prior: tuple[float, float] = (1.0, 1.0),
        topic_word_prior: float | Literal["auto"] | None = None,
        learning_decay: float = 0.5,
        learning_offset: float = 1.0,
        max_iter: int | None = None,
        batch_size: int = 200,
        total_samples: float | None = None,
        shuffle: bool = True,
        max_doc_update_iter: int = 100,
        mean_change_tol: float = 1e-3,
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
        self.learning_method = learning_method
        self.split_merge = split_merge
        self.move_proposals = move_proposals
        self.final_moves = final_moves
        self.topic_expectation = topic_expectation
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
        self.components_init = components_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self):
        super()._check_settings()
        if self.learning_method == "memoized" and self.move_proposals != "ascent":
            raise ValueError(
                f"move_proposals={self.move_proposals!r} is invalid with learning_method='memoized':"
                " must be 'ascent'."
            )
        if self.learning_method == "memoized" and self.total_samples is not None:
            raise ValueError(
                f"total_samples={self.total_samples!r} is invalid with learning_method='memoized':"
                " must be None, because the corpus consists of the documents seen."
            )

    def _method(self):
        # If it is learned from all documents, a larger start leads to a higher bound.
        start, default = (0.5, "auto") if self.learning_method == "memoized" else (0.1, 0.1)
        return DirectAssignment(
            **self._common_settings(default),
            word_prior_start=start,
            inference=DocumentInference(
                self.max_doc_update_iter, self.mean_change_tol, self.topic_expectation
            ),
            proposals=PROPOSALS[self.move_proposals] if self.split_merge else None,
            learning_method=self.learning_method,
        )

    def _initial_number(self):
        # The start of training checks components_init.
        given = self.components_init
        n_given = len(given) if isinstance(given, (list, tuple)) else sum(np.shape(given)[:1])
        return int(self.n_components or n_given or DEFAULT_TOPICS)

    def _number_of_passes(self):
        return int(self.max_iter or DEFAULT_PASSES[self.learning_method])

    @property
    def n_components_range_(self) -> IntArray:
        state = self._state
        if state is None or not state.is_memoized:
            advice = "call fit first" if state is None else "only learning_method='memoized' computes it"
            raise AttributeError(f"this {type(self).__name__} has no n_components_range_: {advice}")
        return range_of_numbers(state)

    def _passes(self, n_documents):
        repeats = self.split_merge and self.final_moves and self.learning_method == "online"
        return replace(super()._passes(n_documents), may_repeat=repeats)

    def _fit_documents(self, run, documents, passes, tasks, evaluate):
        TRAINERS[self.learning_method](run, documents, passes, tasks, evaluate)

    def _add_documents(self, run, documents):
        if self.learning_method == "memoized":
            add_memoized(run, documents, int(self.batch_size))
        else:
            super()._add_documents(run, documents)

    def _transform_step(self):
        return self._method().prediction(self._state)
