"""Variational inference for the HDP by direct assignment, split and merge (Bryant and Sudderth, 2012)."""

from dataclasses import replace
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic._estimators._bounds import elbo
from sktopic._estimators._constraints import PRIOR
from sktopic._estimators._fitted_attributes import fitted
from sktopic._runtime._compat import Interval, StrOptions
from sktopic.hdp._direct_assignment_method import DirectAssignment, MoveSettings
from sktopic.hdp._direct_assignment_passes import fit_batch, fit_online
from sktopic.hdp._direct_assignment_state import DirectAssignmentState
from sktopic.hdp._document_inference import DocumentInference
from sktopic.hdp._estimator import MinibatchHDPEstimator, topic_word_posterior
from sktopic.hdp._memoized._training import add_memoized, fit_memoized
from sktopic.hdp._parameters import LEARNED_CONCENTRATIONS

# Standard errors by which the gain of a move has to be above zero.
CONFIDENCE = {"significant": 2.0, "any": 0.0}
TRAINERS = {"online": fit_online, "batch": fit_batch, "memoized": fit_memoized}
# Where documents start that were seen before, if the parameter does not say.
DEFAULT_START = {"online": "cold", "batch": "better", "memoized": "better"}


class DirectAssignmentHDP(MinibatchHDPEstimator):
    """The number of topics of a stream or a large corpus: an HDP whose topics are split and merged.

    Documents draw their proportions directly from weights of the topics that all share, and topics have
    Dirichlet posteriors. After a batch, topics are split in two or merged where that raises the evidence
    lower bound (oHDP-SM; without moves oHDP, or bHDP with learning_method='batch'). Choose it where the
    number of topics is asked for and the corpus is a stream or too large for `CollapsedGibbsHDP`.

    Read more in :doc:`/guide/hdp`.

    Parameters
    ----------
    n_components : int, default=20
        Number of topics at the start. With split_merge=True the result depends on it less than without:
        on 2000 documents of distinct topics not at all, on texts still. Ten passes over 2930 blog entries
        lead from 20 topics to 17 and from 100 to 16, over 1392 papers from 20 to 30 and from 100 to 52.
        Compare `score`, or `elbo` on the same documents.
    learning_method : {'online', 'batch', 'memoized'}, default='online'
        Whether an update of `fit` sees batch_size documents and takes a step, or all documents and takes the
        whole step, which needs more passes: each splits max_splits topics at most. That is coordinate ascent:
        with concentrations that are given, topic_concentration above 10 / 9, and documents that do not start
        'cold', no pass lowers the bound of the corpus at the documents' present state (`elbo` infers them
        anew). `partial_fit` then works online. With 'memoized', each batch leaves sums behind that its next
        visit replaces (Hughes and Sudderth, 2013): topics are those of the whole corpus after each batch,
        moves are judged on the whole corpus after each pass, and no other step lowers its bound. It takes
        memory (see Notes), and more passes than the default: 50 for topics that settle. `partial_fit` visits
        each of its batches once, adds them to the corpus, and makes no moves. After an interruption the
        state is that of the last complete pass, or call of `partial_fit`.
    split_merge : bool, default=True
        Whether topics are split and merged. A topic is merged only four passes or fifty updates after it was
        made or last changed; one for which a split, or the likeliest merges, were refused r times since then
        waits 2 ** r updates before it is tried again.
    max_splits : int, default=3
        Topics that a batch may split. With learning_method='memoized' 0 is none, and others are no limit.
    move_acceptance : {'significant', 'any'}, default='significant'
        Which gains of the bound, estimated from a batch, make a move: those two standard errors above zero,
        or any above zero, as in the paper. Neither is better on all corpora: ten passes over 1392 papers from
        20 topics end with 30, or with 61 and a score that is higher by 0.05 for 'any', over 2930 blog entries
        from 100 with 16, or with 11 and a score that is lower by 0.02.
    final_moves : bool, default=True
        Whether the last of several passes of `fit` holds topics fixed, gathers over the corpus what merges,
        or doing without the smallest topics, would gain, and then makes the moves that raise its bound; after
        an early stop there is one more pass for that. That pass is repeated (with learning_method='batch'
        inside it) until no move raises the bound, mostly once or twice. `partial_fit` makes no such moves,
        nor does the paper.
    document_start : {'cold', 'warm', 'better'} or None, default=None
        Where inference of a document starts with learning_method='batch' or 'memoized': from equal shares of
        all topics, from where it ended in the pass before, or from both, of which the better result is kept.
        None is 'better'. Online, where passes see documents anew, it is 'cold', and nothing else is allowed.
    topic_expectation : {'geometric', 'mean'}, default='geometric'
        What inference of a document takes for the probabilities of words in topics, in training, `transform`
        and `score`: exp E[log phi] under the topics' posteriors, as mean-field inference does, or E[phi], as
        if topics were integrated out (as in CVB0). With 'mean', scores on texts are higher, by 0.01 to 0.40
        nats per word, but 'geometric' is what the bound asks for, and finds the number of distinct topics
        from more starts. With learning_method='memoized' training takes 'geometric' in any case.
    topic_concentration : float or 'auto', default='auto'
        Concentration of the weights of topics, in [1e-12, 1e12], gamma in the literature. With 'auto' it is
        learned.
    doc_concentration : float or 'auto', default='auto'
        Concentration of the documents' proportions, in [1e-12, 1e12], alpha in the literature: large values
        favour documents with many topics.
    topic_concentration_prior, doc_concentration_prior : tuple (shape, rate), default=(1.0, 1.0)
        Gamma priors of the concentrations that are learned. What is found is the most probable logarithm of
        each.
    topic_word_prior : float, 'auto' or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0, eta in the literature. On long documents
        smaller values make more topics. None is 0.1; with 'auto' it is learned from that start.
        With learning_method='memoized' None is 'auto', from 0.5.
    learning_decay : float, default=0.5
        Exponent kappa of the step size ``(learning_offset + t) ** -learning_decay`` of update t = 1, 2, ...,
        in [0, 1]. Training converges for values in (0.5, 1].
    learning_offset : float, default=1.0
        Offset of the step size, >= 0. Larger values slow down the first updates.
    max_iter : int, default=5
        Passes over the corpus in `fit`; with final_moves the last may be repeated.
    batch_size : int, default=200
        Number of documents per update. Larger batches learn more slowly per pass but run better in parallel.
    total_samples : float or None, default=None
        Size of the corpus, which weighs the data against `topic_word_prior`. If None, the number of documents
        given to `fit` and later calls of `partial_fit`, by weight.
    shuffle : bool, default=True
        Whether `fit` shuffles the documents before each pass. `partial_fit` never does.
    max_doc_update_iter : int, default=100
        Largest number of iterations over a document.
    mean_change_tol : float, default=1e-3
        Iterations over a document stop below this mean absolute change of its Dirichlet parameters.
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
    topic_word_posterior_ : ndarray of shape (n_components_, n_features_in_)
        Parameters of the topics' Dirichlet posteriors, lambda in the literature: `topic_word_counts_` plus
        the prior. Their means are `components_`.
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
        The moves since training began: n_samples (documents seen before the batch, or up to the end of the
        pass), kind ('split', 'merge' or 'drop'), topic (the identity that is kept, or dropped), other (that
        which begins or ends, or -1), gain (of the bound, in nats; moves on trial share theirs equally),
        n_components (after the move: for the last of those made at once, n_components_ then), elbo (the bound
        of the corpus after the moves of the pass with learning_method='memoized', as in training_history_;
        else nan). A topic that is left with less than one expected token is removed without an entry. Moves
        in files of schema 1 and 2 have an n_components of -1, and an elbo of nan: not known.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names of X, defined only if X has them.
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
        With learning_method='memoized' alone, a row for each pass, or call of `partial_fit`: n_samples
        (documents seen so far), elbo (the bound of the corpus at the documents' present state, in nats, with
        the log densities of the concentrations that are learned), n_components, doc_concentration,
        topic_concentration and topic_word_prior.

    See Also
    --------
    CollapsedGibbsHDP : Samples from the exact posterior of a corpus.
    HybridHDP : Better predictions; as many topics as are allowed.

    Notes
    -----
    What a move gains is estimated from a batch. Tokens of a topic that is split, those of earlier batches
    too, are divided word by word, as the means of the parts share a token of the word. Where the corpus has
    other tokens of a topic than the batch, according to its posterior, these count for a merge. Batches of a
    few hundred documents make moves reliable, and of one or two they make none. The settings of the paper are
    ``move_acceptance='any', final_moves=False, topic_word_prior='auto'``.

    With learning_method='memoized' nothing is estimated from a batch: pairs of topics that may be merged and
    parts of topics are chosen before a pass, what they change in each batch is summed up during it, and moves
    are made that raise the bound of the corpus (without the density of the number of topics). Splits that
    lower it at first may be on trial for up to twelve passes; meanwhile the fitted model is that of before,
    and it stays so if the bound is not higher by then. Where they end depends on the start and the seed: take
    the highest last ``elbo`` of several. Shares of a topic in a word of a document that are below 1e-6 are
    dropped, so that the sums are sparse.

    The bound prefers fewer topics than predictions do: on texts, held-out scores may be higher without moves.

    With ``topic_expectation='mean'`` the share of topic k in a token of word w is proportional to
    exp(psi(alpha beta_k + N_jk)) (eta + N_kw) / (V eta + N_k): topics are integrated out to order zero [1]_.
    Moves are judged by the same bound, which holds whatever shares tokens have, and `elbo` is of documents
    inferred with geometric means. What passes with learning_method='batch' then never lower is the bound with
    topics as parameters, under a Dirichlet prior of which they are the mode.

    Memory of learning_method='memoized', in the fitted model, too: 16 bytes for each topic that a word has in
    a batch, 12 for each topic that a document has; with moves up to some four times as much while it trains.

    Memory otherwise: at most about three times 8 bytes times n_features times topics, for each document of a
    batch some 200 bytes for each topic (with learning_method='batch' the corpus is the batch), and 16 bytes
    for each pair of topics.

    References
    ----------
    .. [1] A. Asuncion, M. Welling, P. Smyth and Y. W. Teh, "On smoothing and inference for topic models",
       Conference on Uncertainty in Artificial Intelligence 25, 2009.

    M. Bryant and E. B. Sudderth, "Truly nonparametric online variational inference for hierarchical Dirichlet
    processes", NIPS 2012: equations 2 to 8, section 3.

    M. C. Hughes and E. B. Sudderth, "Memoized online variational inference for Dirichlet process mixture
    models", NIPS 2013.

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
        "learning_method": [StrOptions({"online", "batch", "memoized"})],
        "split_merge": ["boolean"],
        "max_splits": [Interval(Integral, 0, None, closed="left")],
        "move_acceptance": [StrOptions(set(CONFIDENCE))],
        "final_moves": ["boolean"],
        "document_start": [StrOptions({"cold", "warm", "better"}), None],
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
        n_components: int = 20,
        *,
        learning_method: Literal["online", "batch", "memoized"] = "online",
        split_merge: bool = True,
        max_splits: int = 3,
        move_acceptance: Literal["significant", "any"] = "significant",
        final_moves: bool = True,
        document_start: Literal["cold", "warm", "better"] | None = None,
        topic_expectation: Literal["geometric", "mean"] = "geometric",
        topic_concentration: float | Literal["auto"] = "auto",
        doc_concentration: float | Literal["auto"] = "auto",
        topic_concentration_prior: tuple[float, float] = (1.0, 1.0),
        doc_concentration_prior: tuple[float, float] = (1.0, 1.0),
        topic_word_prior: float | Literal["auto"] | None = None,
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
        components_init: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.learning_method = learning_method
        self.split_merge = split_merge
        self.max_splits = max_splits
        self.move_acceptance = move_acceptance
        self.final_moves = final_moves
        self.document_start = document_start
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
        if self.learning_method == "online" and self.document_start not in (None, "cold"):
            raise ValueError(
                f"document_start={self.document_start!r}: with learning_method='online', None or 'cold' is "
                "allowed."
            )

        if self.learning_method == "memoized" and self.total_samples is not None:
            raise ValueError(
                f"total_samples={self.total_samples!r}: with learning_method='memoized', whose corpus is "
                "what it has seen, None is allowed."
            )

    def _method(self):
        moves = MoveSettings(self.max_splits, CONFIDENCE[self.move_acceptance])
        # Where it is learned with all documents, a larger start ends where the bound is higher.
        start, default = (0.5, "auto") if self.learning_method == "memoized" else (0.1, 0.1)
        return DirectAssignment(
            **self._common_settings(default),
            word_prior_start=start,
            inference=DocumentInference(
                self.max_doc_update_iter, self.mean_change_tol, self.topic_expectation
            ),
            moves=moves if self.split_merge else None,
            document_start=self.document_start or DEFAULT_START[self.learning_method],
            learning_method=self.learning_method,
        )

    def _passes(self):
        passes, learning_method = super()._passes(), self.learning_method
        repeats = self.split_merge and self.final_moves and learning_method != "memoized"
        passes = replace(passes, may_repeat=repeats)
        return replace(passes, size=None, shuffle=False) if learning_method == "batch" else passes

    def _fit_documents(self, run, documents, passes, tasks, evaluate):
        TRAINERS[self.learning_method](run, documents, passes, tasks, evaluate)

    def _add_documents(self, run, documents):
        if self.learning_method == "memoized":
            add_memoized(run, documents, int(self.batch_size))
        else:
            super()._add_documents(run, documents)

    def _transform_step(self):
        return self._method().prediction(self._state)
