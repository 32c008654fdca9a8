"""Dirichlet-multinomial regression: LDA whose prior depends on covariates (Mimno and McCallum, 2008)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from os import PathLike
from os.path import dirname
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray

from sktopic._documents._covariates import DescribedDocuments, described
from sktopic._estimators._constraints import AT_LEAST_ONE, MATRIX, PRIOR, SHARED, ZERO
from sktopic._estimators._fitted_attributes import fitted
from sktopic._estimators._fitted_inference import Inference
from sktopic._estimators._result_blocks import check_out
from sktopic._estimators._topic_model import BLOCK_SIZE
from sktopic._runtime._compat import StrOptions, outside_container
from sktopic._state._fields import changed
from sktopic._typing import DocumentsLike, FloatArray, FloatingArray, MatrixLike
from sktopic.lda._covariate_prior import CovariateEffects, CovariatePrior, DMRState, OwnPriors
from sktopic.lda._estimator import MinibatchLDAEstimator, topic_word_counts
from sktopic.lda._online_em import MOST_OVER_T, documents_per_update, em_parts

# Largest mean of a covariate without a warning, in its standard deviations. In a simulated corpus of 2000
# documents, 20 reduced effects by 4 percent, and 100 by half.
MOST_DISTANT = 20.0
# Smallest standard deviation of a covariate, relative to its mean, that is not rounding.
SMALLEST_SPREAD = 1e-12
NO_COVARIATES = "it was trained without covariates. Pass covariates to fit"

WordTopics: TypeAlias = tuple[slice, NDArray[np.int32], FloatingArray]


class DMRLDA(MinibatchLDAEstimator):
    """LDA whose prior depends on covariates of the documents (Dirichlet-multinomial regression, DMR).

    A document with covariates x has the Dirichlet parameters ``exp(intercept_ + covariate_effects_ @ x)``. So
    topics may be more frequent in some years, sources or groups of authors than in others, and the model
    estimates by how much. Topics and the inference of documents are those of `OnlineEMLDA`. Without
    covariates, so are all results of `fit`. Choose this model if you have numbers about each document and ask
    how topics depend on them, or if short documents need a better prior.

    Read more on the guide page "Does a topic depend on author, year or section?".

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K in the literature.
    inference : {'gibbs', 'variational'}, default='gibbs'
        Inference of the topics of a document, in training and in `transform`.
    covariate_prior_scale : float, default=1.0
        Standard deviation of the Gaussian prior of `covariate_effects_`, > 0, in the inverse units of the
        covariates. Its mean is 0. Smaller values shrink the effects more.
    intercept_prior_scale : float, default=3.0
        Standard deviation of the Gaussian prior of `intercept_`, > 0. Its mean is the logarithm of
        ``n_components ** -0.55``.
    topic_word_prior : float, array-like, sparse matrix or None, default=None
        Pseudo-count of each word in each topic, >= 0, added to the counts when topics are computed. It gives
        unseen words a probability above zero, unless it is 0. If None, ``min(0.1, 2 / n_components)``. A
        matrix of shape (n_components, n_features), as from `sktopic.seeding.seed_prior`, sets each
        pseudo-count, > 0. Entries missing from a sparse matrix get the value for None.
    learning_decay : float or None, default=None
        Exponent kappa of the step size ``(learning_offset + t) ** -learning_decay`` of update t = 1, 2, ...,
        in [0, 1]. Training converges for values in (0.5, 1]. If None, 0.65 with steps of at most 4 / t until
        the number of documents seen reaches the size of the corpus. Choose a number for a stream that drifts.
    learning_offset : float, default=1.0
        Offset of the step size, >= 0. Larger values slow down the first updates.
    max_iter : int, default=5
        Number of passes over the corpus in `fit`.
    batch_size : int or None, default=None
        Number of documents per update. Larger batches learn more slowly per pass but run better in parallel.
        If None, 50. In `fit`, 51 to 7,499 training documents then have smaller batches, of one document in
        150, but at least 5.
    total_samples : float or None, default=None
        Size of the corpus. Larger values reduce the influence of `topic_word_prior`. If None, the total
        weight of the documents given to `fit` and later calls of `partial_fit`.
    shuffle : bool, default=True
        Whether `fit` shuffles the documents before each pass. `partial_fit` never does.
    doc_burn_in : int, default=4
        Number of discarded Gibbs sweeps per document (burn-in) in training, >= 0. The first one is
        replaced by drawing each token's topic from its word alone, also in `transform`.
    doc_sweeps : int, default=3
        Number of averaged Gibbs sweeps per document in training, >= 1.
    transform_burn_in : int, default=4
        Number of discarded Gibbs sweeps per document (burn-in) in `transform` and `score`, >= 0.
    transform_sweeps : int, default=6
        Number of averaged Gibbs sweeps per document in `transform` and `score`, >= 1.
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
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of the topic proportions of a document without covariates. If the model was
        trained with covariates, the mean over documents, averaged over updates.
    intercept_ : ndarray of shape (n_components_,)
        Logarithm of the Dirichlet parameters of a document whose covariates are 0. Defined only with
        covariates, as are the next three.
    covariate_effects_ : ndarray of shape (n_components_, n_covariates)
        Change of the logarithm of the Dirichlet parameter of each topic per unit of each covariate, lambda in
        the literature.
    covariate_effects_stderr_ : ndarray of shape (n_components_, n_covariates)
        Standard errors of `covariate_effects_`, given the topics and the prior of the last update.
    covariate_names_in_ : ndarray of shape (n_covariates,)
        Names of the covariates, defined only if they were the columns of a DataFrame.
    topic_word_prior_ : float
        Pseudo-count in use. If the prior is a matrix, the median of its entries.
    n_components_ : int
        Number of topics.
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

    See Also
    --------
    OnlineEMLDA : The same without covariates, with more options.
    sktopic.inspection.estimate_effect : Regress the proportions of any model on covariates after training.

    Notes
    -----
    Covariates are numbers, used as given. Encode categories and splines by scikit-learn. Subtract the mean
    from covariates that are far from 0, such as years: the prior of the intercept refers to covariates of 0::

        from sklearn.compose import make_column_transformer
        from sklearn.preprocessing import OneHotEncoder, SplineTransformer

        encode = make_column_transformer(
            (OneHotEncoder(drop="first", sparse_output=False), ["source"]),
            (SplineTransformer(include_bias=False), ["year"]),
        )
        model.fit(X, covariates=encode.fit_transform(table))

    - Effects are learned from the second update on, by steps along a natural gradient of the likelihood with
      the Gaussian prior. The scale of a covariate does not matter. The second derivatives of the first batch
      have the weight of ten batches. If learning_decay is None, steps are at most 4 / t in all passes.
    - Dirichlet parameters are kept between 1e-6 and 1e4.
    - Standard errors follow from the second derivatives of the likelihood. They include the uncertainty of
      the topics of tokens, by the ratio of squared gradients to second derivatives of each topic, and the
      small weight of early documents in one pass. They do not include the uncertainty of ``components_``.
      With few sweeps, they are a little small. For intervals, set ``doc_burn_in=10, doc_sweeps=20``. A single
      topic has no effects to learn: its standard errors are those of the prior.
      `partial_fit` counts repeated documents as new ones. If you repeat documents, set total_samples to the
      size of the corpus, or standard errors are too small.
    - A token costs a pass over all topics for any number of topics, since documents do not share sums over
      topics. With F covariates, a document costs ``3 * n_components * F ** 2`` operations more, and an update
      ``n_components * F ** 3``. The model has another ``16 * n_components * F ** 2`` bytes.
    - Training ignores y, and warns if y is a table of floats and covariates are missing.
    - Not supported with covariates: merge_topics and distributed lanes.

    References
    ----------
    D. Mimno and A. McCallum, "Topic models conditioned on arbitrary features with Dirichlet-multinomial
    regression", Uncertainty in Artificial Intelligence 24, 2008.

    C. Dupuy and F. Bach, "Online but accurate inference for latent variable models with local Gibbs
    sampling", Journal of Machine Learning Research 18(126), 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import DMRLDA
    >>> bars = make_bars(500, random_state=0)
    >>> year = np.arange(500.0).reshape(-1, 1) / 500
    >>> dmr = DMRLDA(n_components=10, random_state=0).fit(bars.data, covariates=year)
    >>> dmr.covariate_effects_.shape
    (10, 1)
    >>> dmr.transform(bars.data, covariates=year).shape
    (500, 10)
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "inference": [StrOptions({"gibbs", "variational"})],
        "covariate_prior_scale": [PRIOR],
        "intercept_prior_scale": [PRIOR],
        "topic_word_prior": [ZERO, PRIOR, *MATRIX, None],
        "learning_decay": [*SHARED["learning_decay"], None],
        "batch_size": [AT_LEAST_ONE, None],
    }

    _state_class = DMRState
    _state: DMRState

    # Without covariates, it is learned as OnlineEMLDA does by default.
    doc_topic_prior = "auto"

    topic_word_counts_ = topic_word_counts
    intercept_ = fitted("intercept", NO_COVARIATES)
    covariate_effects_ = fitted("covariate_effects", NO_COVARIATES)
    covariate_names_in_ = fitted("covariate_names", "there were no covariates with names")

    def __init__(
        self,
        n_components: int = 10,
        *,
        inference: Literal["gibbs", "variational"] = "gibbs",
        covariate_prior_scale: float = 1.0,
        intercept_prior_scale: float = 3.0,
        topic_word_prior: float | MatrixLike | None = None,
        learning_decay: float | None = None,
        learning_offset: float = 1.0,
        max_iter: int = 5,
        batch_size: int | None = None,
        total_samples: float | None = None,
        shuffle: bool = True,
        doc_burn_in: int = 4,
        doc_sweeps: int = 3,
        transform_burn_in: int = 4,
        transform_sweeps: int = 6,
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
        self.inference = inference
        self.covariate_prior_scale = covariate_prior_scale
        self.intercept_prior_scale = intercept_prior_scale
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

    @property
    def covariate_effects_stderr_(self) -> FloatArray:
        """Standard errors of `covariate_effects_`, ndarray of shape (n_components_, n_covariates)."""
        model = self._read()
        effects = model._state.effects
        if effects is None:
            raise AttributeError(
                f"this {type(self).__name__} has no covariate_effects_stderr_: {NO_COVARIATES}"
            )
        return effects.standard_errors(model._state.total_samples)[:, 1:]

    def fit(
        self,
        X: DocumentsLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        covariates: MatrixLike | None = None,
    ) -> Self:
        """Learn the topics of a corpus, and the effects of covariates, from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. Each block holds some of the rows, and every pass
            iterates over the blocks again. Corpora on disk and blocks need little memory (see the guide page
            "Train on data larger than memory", also for ``shuffle``).
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weight of each document, >= 0. A document of weight 2 counts as two documents in the topics, the
            learned priors and the corpus size, but not in its own proportions. If None, all documents weigh
            1. Documents of weight 0 are left out.
        covariates : array-like or sparse matrix of shape (n_samples, n_covariates), or None, default=None
            Numbers that describe each document. If None, all documents have the same prior. With
            blocks, give the covariates of all documents as one array.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is out of range, X is not a valid count matrix or changes during the call, or
            covariates is not a table of finite numbers with one row for each document. After any error the
            estimator keeps its earlier fit.
        RuntimeError
            If another thread is training this object, or a parameter is set during the call.
        KeyboardInterrupt
            If you interrupt the call. The model keeps the last complete update.
        """
        _warn_of_table(y, covariates)
        documents = described(X, covariates)
        if isinstance(documents, DescribedDocuments) and len(documents.values):
            _warn_of_distance(documents)
        return super().fit(documents, y, sample_weight)

    def partial_fit(
        self,
        X: DocumentsLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        covariates: MatrixLike | None = None,
    ) -> Self:
        """Continue training on more documents, in batches of ``batch_size``.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. Blocks are read once, so an iterator is allowed.
            If a block is invalid, the model keeps what it learned from the blocks before it.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weight of each document, >= 0. A document of weight 2 counts as two documents in the topics, the
            learned priors and the corpus size, but not in its own proportions. If None, all documents weigh
            1. Documents of weight 0 are left out.
        covariates : array-like or sparse matrix of shape (n_samples, n_covariates), or None, default=None
            Numbers that describe each document. The columns must be those of earlier calls. They
            must be given in all calls or in none. With them, X cannot be an iterator.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError, RuntimeError
            As in `fit`. Also if n_components or the columns of covariates have changed. After an error, the
            model keeps the last complete update.
        """
        _warn_of_table(y, covariates)
        return super().partial_fit(described(X, covariates), y, sample_weight)

    def fit_transform(
        self,
        X: DocumentsLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        covariates: MatrixLike | None = None,
    ) -> FloatingArray:
        """Fit the model, and return the topic proportions of the documents.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative, real values allowed. Each block holds some of the rows, and every pass
            iterates over the blocks again. Corpora on disk and blocks need little memory (see the guide page
            "Train on data larger than memory", also for ``shuffle``).
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weight of each document, >= 0. A document of weight 2 counts as two documents in the topics, the
            learned priors and the corpus size, but not in its own proportions. If None, all documents weigh
            1. Documents of weight 0 are left out.
        covariates : array-like or sparse matrix of shape (n_samples, n_covariates), or None, default=None
            Numbers that describe each document. If None, all documents have the same prior.

        Returns
        -------
        theta : ndarray of shape (n_samples, n_components_)
            Result of ``fit(X, y, sample_weight, covariates=covariates).transform(X, covariates=covariates)``.
        """
        self.fit(X, y, sample_weight, covariates=covariates)
        return self.transform(X, covariates=covariates)

    def transform(
        self,
        X: DocumentsLike,
        out: NDArray[Any] | str | PathLike[str] | None = None,
        *,
        covariates: MatrixLike | None = None,
    ) -> FloatingArray:
        """Infer the topic proportions of documents.

        The proportions of a document depend only on the fitted model and on the document's words, counts and
        covariates. They do not depend on other documents, their order, the container or the number of jobs. A
        document without words gets the mean of its prior.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        out : ndarray of shape (n_samples, n_components_), path of a .npy file, or None, default=None
            Where to write the proportions block by block, without holding all in memory. An array must be
            float64 or float32. A file has the type of the result; an existing file is replaced when the new
            one is complete. It must not be a file that X is read from.
        covariates : array-like or sparse matrix of shape (n_samples, n_covariates), or None, default=None
            Numbers that describe each document. If None, the documents get `doc_topic_prior_` as their prior.

        Returns
        -------
        theta : ndarray of shape (n_samples, n_components_)
            Posterior mean topic proportions; rows sum to one. float32 if X is float32, else float64. With
            ``out``, that array or a read-only memory map of the file, regardless of `set_output`.
        """
        check_out(out, X)
        answer = partial(Inference.all_proportions, out=out)
        return self._answer(described(X, covariates), answer, "transform")

    def word_topics(
        self, X: DocumentsLike, n_topics: int = 3, *, covariates: MatrixLike | None = None
    ) -> tuple[NDArray[np.int32], FloatingArray]:
        """Return the most probable topics of each word in each document.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        n_topics : int, default=3
            Number of most probable topics per word, at most the number of topics.
        covariates : array-like or sparse matrix of shape (n_samples, n_covariates), or None, default=None
            Numbers that describe each document. If None, the documents get `doc_topic_prior_` as their prior.

        Returns
        -------
        topics : ndarray of shape (n_entries, min(n_topics, n_components_)), int32
            Topics of each entry of X, the most probable first, as in `OnlineEMLDA.word_topics`.
        probabilities : ndarray of the same shape
            Probabilities of these topics; 0 for a stored zero. float32 if X is float32, else float64.
        """
        return super().word_topics(described(X, covariates), n_topics)

    def iter_word_topics(
        self,
        X: DocumentsLike,
        n_topics: int = 3,
        *,
        block_size: int = BLOCK_SIZE,
        covariates: MatrixLike | None = None,
    ) -> Iterator[WordTopics]:
        """Iterate over the results of `word_topics`, some documents at a time.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative. They must not change during the iteration.
        n_topics : int, default=3
            Number of most probable topics per word, at most the number of topics.
        block_size : int, default=1024
            Number of documents at a time.
        covariates : array-like or sparse matrix of shape (n_samples, n_covariates), or None, default=None
            Numbers that describe each document. If None, the documents get `doc_topic_prior_` as their prior.

        Yields
        ------
        rows : slice
            The documents.
        topics, probabilities : ndarray
            Result of ``word_topics(X[rows], n_topics)`` with the model at the time of the call.
        """
        return super().iter_word_topics(described(X, covariates), n_topics, block_size=block_size)

    def sample_proportions(
        self, X: DocumentsLike, n_samples: int, *, covariates: MatrixLike | None = None
    ) -> FloatingArray:
        """Draw topic proportions of documents from their posterior, given the fitted topics and effects.

        See `OnlineEMLDA.sample_proportions`.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        n_samples : int
            Number of draws for each document.
        covariates : array-like or sparse matrix of shape (n_samples, n_covariates), or None, default=None
            Numbers that describe each document. If None, the documents get `doc_topic_prior_` as their prior.

        Returns
        -------
        theta : ndarray of shape (n_documents, n_samples, n_components_)
            The draws, which sum to one over topics. For documents without words, draws from the prior.
            float32 if X is float32, else float64.
        """
        return super().sample_proportions(described(X, covariates), n_samples)

    def score(
        self,
        X: DocumentsLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        covariates: MatrixLike | None = None,
    ) -> float:
        """Return the held-out log-likelihood per word by document completion; higher is better.

        A fifth of the tokens of each document is hidden. `transform` infers the topic proportions from the
        other tokens and the covariates, and the hidden tokens are predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weight of each document in the mean over hidden words, >= 0. If None, all documents weigh 1.
        covariates : array-like or sparse matrix of shape (n_samples, n_covariates), or None, default=None
            Numbers that describe each document. If None, the documents get `doc_topic_prior_` as their prior.

        Returns
        -------
        score : float
            Mean nats per hidden word. NaN, with a warning, if no document has words.
        """
        return super().score(described(X, covariates), y, sample_weight)

    def perplexity(
        self,
        X: DocumentsLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        covariates: MatrixLike | None = None,
    ) -> float:
        """Return the perplexity per held-out word, exp(-score(X)); lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weight of each document, as in `score`.
        covariates : array-like or sparse matrix of shape (n_samples, n_covariates), or None, default=None
            Numbers that describe each document. If None, the documents get `doc_topic_prior_` as their prior.

        Returns
        -------
        perplexity : float
        """
        return super().perplexity(described(X, covariates), y, sample_weight)

    def _documents(self, X, *, reset=False, once=True):
        if not isinstance(X, DescribedDocuments):
            return super()._documents(X, reset=reset, once=once)
        if not reset:
            effects = self._state.effects
            if effects is None:
                raise ValueError(
                    "covariates is invalid: must be None, because the model was trained without covariates."
                )
            X.check_same(effects.n_covariates, effects.covariate_names)
        return super()._documents(X.X, reset=reset, once=once).described(X.values)

    def _begin_state(self, X):
        super()._begin_state(X)
        if isinstance(X, DescribedDocuments):
            prior = self._method().doc_prior
            alpha, scales = self._state.doc_topic_prior, (prior.scale, prior.intercept_scale)
            effects = CovariateEffects.start(alpha, X, *scales)
            self._state = changed(self._state, effects=effects)

    def _begin_or_continue(self, X, select=None):
        if self._is_fitted() and self._state.effects is not None and not isinstance(X, DescribedDocuments):
            raise ValueError(
                f"covariates=None is invalid: must have {self._state.effects.n_covariates} columns, because "
                "the model was trained with covariates."
            )
        return super()._begin_or_continue(X, select)

    def _method(self):
        prior = CovariatePrior(
            self.doc_topic_prior,
            "shares",
            n_components=self.n_components,
            scale=float(self.covariate_prior_scale),
            intercept_scale=float(self.intercept_prior_scale),
            most_over_t=MOST_OVER_T if self.learning_decay is None else np.inf,
        )
        # Standard errors of effects are those of the documents that there were: no others are expected.
        return self._composed(**em_parts(self), doc_prior=prior, state_class=DMRState)

    def _transform_step(self):
        effects, step = self._state.effects, super()._transform_step()
        return step if effects is None else OwnPriors(step, effects)

    _documents_per_update = documents_per_update


def _warn_of_table(y, covariates):
    """Warn if covariates seem to be given as y. Labels are integers or have one dimension."""
    if covariates is not None or getattr(y, "ndim", 1) != 2:
        return
    # A data frame has a dtype for each column. y is not converted, because it may be of any type.
    kinds = {getattr(dtype, "kind", None) for dtype in getattr(y, "dtypes", [getattr(y, "dtype", None)])}
    if "f" in kinds and kinds <= set("biuf"):
        _warn(
            "y is a table of numbers, which is ignored, and covariates=None. If these are the covariates of "
            "documents, use covariates=y."
        )


def _warn_of_distance(documents):
    """Warn if a covariate is so far from 0 that the prior of the intercept reduces its effects."""
    mean, std = documents.values.mean(axis=0), documents.values.std(axis=0)
    distant = np.flatnonzero((np.abs(mean) > MOST_DISTANT * std) & (std > SMALLEST_SPREAD * np.abs(mean)))
    if len(distant):
        first = distant[0]
        name = first if documents.names is None else repr(documents.names[first])
        _warn(
            f"covariates has numbers far from 0 in column {name}: their mean is {mean[first]:.4g}, and their "
            f"standard deviation {std[first]:.3g}. The prior of the intercept reduces the effects of such a "
            "covariate. Subtract the mean."
        )


def _warn(message):
    """Warn, with the line of the user's call. scikit-learn wraps fit_transform."""
    places = dirname(__file__), dirname(sklearn.__file__)
    warnings.warn(message, UserWarning, skip_file_prefixes=places)


DMRLDA.transform = outside_container(DMRLDA.transform)  # type: ignore[method-assign]
