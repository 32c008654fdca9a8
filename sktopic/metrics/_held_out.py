"""Held-out likelihood: document completion and left-to-right."""

from __future__ import annotations

import math
import sys
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from sktopic._documents._matrices import DocumentReader
from sktopic._estimators._constraints import ANY_SWEEPS, N_JOBS, SOME_SWEEPS
from sktopic._estimators._plug_in import after_pipeline, check_documents, column_names, plug_in_model
from sktopic._inference._completion import (
    HIDDEN_FRACTION,
    HIDING_KEY,
    PerWord,
    hidden_log_likelihood,
    hide,
    log_word_shares,
)
from sktopic._inference._gibbs import GibbsInference
from sktopic._inference._pieces import document_pieces
from sktopic._inference._prediction import FixedTopics, infer_proportions
from sktopic._kernels._groups import Particles
from sktopic._kernels.inference._left_to_right import left_to_right as left_to_right_kernel
from sktopic._kernels.random._rng import combine_keys
from sktopic._runtime._compat import Interval, StrOptions, validate_params
from sktopic._runtime._exact_sum import ExactSum
from sktopic._runtime._parallel import Workers
from sktopic._typing import FloatArray, RandomState

# Modules of scikit-learn that call scorers.
SCORING_MODULES = "sklearn.callback.", "sklearn.inspection.", "sklearn.metrics.", "sklearn.model_selection."
# Keys of the random streams of the fold-in and of the particles.
FOLD_IN_KEY = combine_keys(0, 0x666F6C64)
PARTICLE_KEY = combine_keys(0, 0x70617274)

COMPLETION_CONSTRAINTS: dict[str, list[Any]] = {
    "hidden_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_repeats": [Interval(Integral, 1, None, closed="left")],
    "burn_in": [ANY_SWEEPS],
    "sweeps": [SOME_SWEEPS],
    "n_jobs": N_JOBS,
}


@validate_params(COMPLETION_CONSTRAINTS)
def document_completion(
    model_or_components: object,
    X: object,
    y: object = None,
    *,
    doc_topic_prior: ArrayLike | None = None,
    hidden_fraction: float = HIDDEN_FRACTION,
    n_repeats: int = 1,
    burn_in: int = 50,
    sweeps: int = 50,
    n_jobs: int | None = None,
) -> float:
    """Compute held-out log-likelihood per word by document completion; higher is better.

    Some tokens of each document are hidden. Gibbs sampling with fixed topics infers the topic proportions
    from the other tokens. The proportions predict the hidden tokens. Inference is the same for all
    models, so scores differ only through topics and priors. An estimator's ``score`` does the same, except
    that its own ``transform`` infers the proportions.

    Read more on the guide page "Evaluate and compare models".

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        An estimator with ``components_`` and ``doc_topic_prior_`` (of this library, or scikit-learn's
        LatentDirichletAllocation), a fitted pipeline that ends in one, or the topics of another library.
        Rows are normalized.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts of held-out documents, or the input of the pipeline.
    y : None
        Ignored, for use as a scorer.
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        Dirichlet parameters of the topic proportions, > 0. If None, the prior of the estimator.
    hidden_fraction : float, default=0.2
        Share of hidden tokens in a document, in (0, 1). At least one token is hidden, even if it is the only
        one.
    n_repeats : int, default=1
        Number of random choices of hidden tokens to average over.
    burn_in, sweeps : int, default=50
        Numbers of Gibbs sweeps to discard (burn_in) and then to average (sweeps).
    n_jobs : int or None, default=None
        Number of threads. It does not affect the result.

    Returns
    -------
    score : float
        Mean nats per hidden word. -inf if a hidden word has probability zero in all topics; NaN, with a
        warning, if no document has words.

    See Also
    --------
    left_to_right : With ``hidden_fraction``, the joint probability of the hidden words of a document. This
        function multiplies the probabilities of single words.

    References
    ----------
    H. M. Wallach, I. Murray, R. Salakhutdinov and D. Mimno, "Evaluation methods for topic models", ICML
    2009, section 5.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.metrics import document_completion
    >>> bars = make_bars(50, random_state=0)
    >>> score = document_completion(bars.components, bars.data, doc_topic_prior=bars.doc_topic_prior)
    >>> -2.6 < score < -2.0
    True
    """
    step, scores = GibbsInference(burn_in, sweeps), []
    for _, groups in _completions(
        model_or_components, X, doc_topic_prior, hidden_fraction, n_repeats, step, n_jobs
    ):
        total = PerWord()
        for _, log_likelihood, n_words, _ in groups:
            total.add(log_likelihood, n_words)
        scores.append(total.value())
    return float(np.mean(scores))


@validate_params({**COMPLETION_CONSTRAINTS, "per": [StrOptions({"document", "word"})]})
def relative_score(
    model_or_components: object,
    X: object,
    y: object = None,
    *,
    per: Literal["document", "word"] = "document",
    doc_topic_prior: ArrayLike | None = None,
    hidden_fraction: float = HIDDEN_FRACTION,
    n_repeats: int = 1,
    burn_in: int = 50,
    sweeps: int = 50,
    n_jobs: int | None = None,
) -> float:
    """Compute held-out log-likelihood relative to a unigram model; higher is better.

    This is the log-likelihood of hidden words, as in `document_completion`, minus their log-likelihood under
    a unigram model. The unigram model predicts each word by its share of all tokens of X.

    Use this score to compare models with different vocabularies. `score` and `document_completion` favor
    small vocabularies.

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        As in `document_completion`.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts of held-out documents, or the input of the pipeline. Use the same documents for all
        models: the unigram model is fitted to them.
    y : None
        Ignored, for use as a scorer.
    per : {'document', 'word'}, default='document'
        'document': for each document, the mean difference per hidden word times its number of words; then
        the average over all rows of X, including empty rows. 'word': mean over hidden words. Use 'word' only
        for models with the same vocabulary: a vocabulary of rare words gains much per word, but little per
        document.
    doc_topic_prior, hidden_fraction, n_repeats, burn_in, sweeps, n_jobs
        As in `document_completion`.

    Returns
    -------
    score : float
        Nats above the unigram model, per document or word. NaN, with a warning, if no document has words.

    Notes
    -----
    Let q be the word frequencies of the texts. Extend a model of vocabulary V to all words: it predicts words
    outside V by q, and words in V by q(V) times its probability p. All models then predict the same words.
    The log-likelihood minus that of q is the sum over words w in V of log p(w) - log q(w) + log q(V). It is
    estimated from the hidden words.

    The frequencies of X include the hidden words, which favors the unigram model, especially on rare words.
    With few documents, large vocabularies therefore score too low.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.metrics import relative_score
    >>> bars = make_bars(50, random_state=0)
    >>> relative_score(bars.components, bars.data, doc_topic_prior=bars.doc_topic_prior) > 20
    True
    """
    step, scores = GibbsInference(burn_in, sweeps), []
    for documents, groups in _completions(
        model_or_components, X, doc_topic_prior, hidden_fraction, n_repeats, step, n_jobs
    ):
        log_shares = log_word_shares(counts for counts, _ in documents.groups())
        by_word, by_document, n_documents = PerWord(), ExactSum(), 0
        for counts, log_likelihood, n_words, hidden in groups:
            gain = log_likelihood - hidden @ log_shares
            by_word.add(gain, n_words)
            lengths = np.asarray(counts.sum(axis=1, dtype=np.float64)).ravel()
            # In a short document, the hidden share may differ much from hidden_fraction.
            by_document.add(gain * np.divide(lengths, n_words, out=np.zeros_like(lengths), where=n_words > 0))
            n_documents += counts.shape[0]
        score = by_word.value()
        scores.append(score if per == "word" or math.isnan(score) else by_document.value() / n_documents)
    return float(np.mean(scores))


def _completions(model_or_components, X, doc_topic_prior, hidden_fraction, n_repeats, step, n_jobs):
    """Yield, for each choice of hidden words, the documents and an iterator over their groups.

    A group has counts and the output of `hidden_log_likelihood`.
    """
    model_or_components, X = after_pipeline(model_or_components, X)
    topics, prior = plug_in_model(model_or_components, doc_topic_prior)
    documents = check_documents(X, topics, column_names(model_or_components))
    with Workers(n_jobs) as workers:

        def proportions(observed):
            return infer_proportions(observed, FixedTopics(topics, prior, step, FOLD_IN_KEY), workers)

        def completed(key):
            for X, _ in documents.groups():
                yield X, *hidden_log_likelihood(X, topics, proportions, workers, hidden_fraction, key)

        for repeat in range(n_repeats):
            key = HIDING_KEY if repeat == 0 else combine_keys(HIDING_KEY, repeat)
            yield documents, completed(key)


@validate_params(
    {
        "estimator": [StrOptions({"wallach", "unbiased"})],
        "n_particles": [SOME_SWEEPS],
        "n_resampling": [SOME_SWEEPS],
        "hidden_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "burn_in": [ANY_SWEEPS],
        "random_state": ["random_state"],
        "per_document": ["boolean"],
        "return_standard_error": ["boolean"],
        "n_jobs": N_JOBS,
    }
)
def left_to_right(
    model_or_components: object,
    X: object,
    y: object = None,
    *,
    doc_topic_prior: ArrayLike | None = None,
    estimator: Literal["wallach", "unbiased"] = "wallach",
    n_particles: int = 20,
    n_resampling: int = 1,
    hidden_fraction: float | None = None,
    burn_in: int = 50,
    random_state: RandomState = 0,
    per_document: bool = False,
    return_standard_error: bool = False,
    n_jobs: int | None = None,
) -> float | FloatArray | tuple[float, float] | tuple[FloatArray, FloatArray]:
    """Estimate the log-likelihood per word of documents, or of their hidden words, from left to right.

    Each token is predicted from the tokens before it, whose topics are sampled by particles. The order of
    tokens is random and depends only on the document and random_state.

    Read more on the guide page "Evaluate and compare models".

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        As in `document_completion`.
    X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
        Word counts of held-out documents, or the input of the pipeline.
    y : None
        Ignored, for use as a scorer.
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        Dirichlet parameters of the topic proportions, > 0. If None, the prior of the estimator.
    estimator : {'wallach', 'unbiased'}, default='wallach'
        'wallach', used by published comparisons, averages the probability of each token over particles and
        multiplies the averages. The topics of earlier tokens are resampled before each position. The
        product is biased; its bias vanishes as n_resampling grows. 'unbiased' averages the product
        of each particle's probabilities, without resampling. The exponential of its result is an unbiased
        estimate of a document's probability. The relative variance of this estimate grows with length.
    n_particles : int, default=20
        Number of particles.
    n_resampling : int, default=1
        Number of sweeps over the earlier tokens before each position, for 'wallach'. A document of N tokens
        costs n_particles * n_resampling * N**2 / 2 draws.
    hidden_fraction : float or None, default=None
        Share of hidden tokens in a document, in (0, 1). They are those of `document_completion`. The result
        is the log of their joint probability given the other tokens. If None, all tokens are predicted.
    burn_in : int, default=50
        Number of Gibbs sweeps over the observed tokens before the first hidden token. Used if
        hidden_fraction is not None.
    random_state : int, RandomState instance or None, default=0
        Seed, combined with the content of each document. Pass an int for the same result at each call.
    per_document : bool, default=False
        Whether to return the log-likelihood of each document instead of the mean per word.
    return_standard_error : bool, default=False
        Whether to also return standard errors. They need at least two particles.
    n_jobs : int or None, default=None
        Number of threads. It does not affect the result.

    Returns
    -------
    score : float or ndarray of shape (n_samples,)
        Mean nats per predicted word (NaN, with a warning, if no document has words), or nats per document.
        Higher is better.
    standard_error : float or ndarray of shape (n_samples,)
        Standard error of the score due to the random numbers of the particles. It does not include the bias
        of 'wallach', the order of tokens, or the choice of documents. NaN if the score is -inf. Only with
        ``return_standard_error=True``.

    See Also
    --------
    document_completion : Mean log-probability of hidden words, each predicted on its own.

    Notes
    -----
    - Hidden words of a document share its unknown proportions. Their joint probability takes this into
      account. The product of the probabilities of single words does not.
    - Particles are independent given the order of tokens. Standard errors come from the differences between
      them (delta method). They are too small in documents of a thousand words or more, and far too small for
      'unbiased'. The error of a mean takes documents as independent.
    - Counts above 64 are 64 equal parts, as in all Gibbs sampling of this library. Estimates are too
      low for documents with such counts, also with 'unbiased'.
    - Memory is 8 bytes per particle and token of the longest document, in each thread.

    References
    ----------
    H. M. Wallach, I. Murray, R. Salakhutdinov and D. Mimno, "Evaluation methods for topic models", ICML
    2009, algorithm 3.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.metrics import left_to_right
    >>> bars = make_bars(20, random_state=0)
    >>> score = left_to_right(bars.components, bars.data, doc_topic_prior=bars.doc_topic_prior)
    >>> -2.6 < score < -2.0
    True
    """
    if return_standard_error and n_particles == 1:
        raise ValueError("n_particles=1 is invalid: must be at least 2 for standard errors.")
    model_or_components, X = after_pipeline(model_or_components, X)
    topics, prior = plug_in_model(model_or_components, doc_topic_prior)
    documents = check_documents(X, topics, column_names(model_or_components))
    unbiased = estimator == "unbiased"
    particles = Particles(n_particles, burn_in, 0 if unbiased else n_resampling, unbiased)
    key = combine_keys(PARTICLE_KEY, seed_of(random_state))
    found, total, variance = [], PerWord(), ExactSum()
    with Workers(n_jobs) as workers:
        for batch, n_given, n_predicted in _observed_then_hidden(documents, hidden_fraction):
            gathered = topics.gather_rows(batch.words % len(topics.store), prior, workers)
            keys = batch.content_keys(key)
            rows, cumulative, log_norm = gathered.rows, gathered.cumulative, gathered.log_norm
            pieces = [
                (batch.cells(a, b), rows, cumulative, log_norm, prior, keys[a:b], n_given[a:b], particles)
                for a, b in document_pieces(batch, workers)
            ]
            found.append(np.concatenate(workers.map(left_to_right_kernel, pieces), axis=1))
            log_likelihood, standard_error = found[-1]
            total.add(log_likelihood, n_predicted)
            variance.add(standard_error**2)
    if per_document:
        score, error = np.concatenate(found, axis=1)
    else:
        score = total.value()
        n_words = total.n_words()
        error = math.sqrt(variance.value()) / n_words if n_words > 0 else math.nan
    return (score, error) if return_standard_error else score


def seed_of(random_state):
    """Return an int as it is, or a seed drawn from a RandomState or from entropy."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _observed_then_hidden(documents, hidden_fraction):
    """Yield batches, how many cells of each document are observed, its first ones, and its hidden tokens.

    Column w of the hidden counts is column n_features + w of the batch. Without a fraction, all are hidden.
    """
    for X, _ in documents.groups():
        n_observed, hidden = np.zeros(X.shape[0], dtype=np.int64), X
        if hidden_fraction is not None:
            observed, hidden = hide(X, hidden_fraction)
            n_observed = np.diff(observed.indptr).astype(np.int64)
            X = sp.hstack([observed, hidden], format="csr")
        batch = DocumentReader(X).batch(np.arange(X.shape[0]))
        yield batch, n_observed, np.asarray(hidden.sum(axis=1, dtype=np.float64)).ravel()


def perplexity(model_or_components: object, X: object, y: object = None, **options: Any) -> float:
    """Compute perplexity per held-out word, exp(-document_completion(...)); lower is better.

    Parameters
    ----------
    model_or_components, X, y, **options
        As in `document_completion`.

    Returns
    -------
    perplexity : float

    Raises
    ------
    TypeError
        If scikit-learn calls this function as a scorer, because a search would select the worst model. By
        default, `GridSearchCV` turns this error into a warning and NaN scores. With ``error_score="raise"``,
        the search stops.

    See Also
    --------
    neg_perplexity_scorer : The negative of this function, for ``scoring``.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.metrics import perplexity
    >>> bars = make_bars(50, random_state=0)
    >>> perplexity(bars.components, bars.data, doc_topic_prior=bars.doc_topic_prior) < 14
    True
    """
    # A scorer has the same arguments, so only the caller tells.
    if sys._getframe(1).f_globals.get("__name__", "").startswith(SCORING_MODULES):
        raise TypeError(
            "scoring=perplexity is invalid: lower perplexity is better, but scikit-learn selects the highest "
            "score. Give scoring=sktopic.metrics.neg_perplexity_scorer."
        )
    return float(np.exp(-document_completion(model_or_components, X, y, **options)))


def neg_perplexity_scorer(estimator: object, X: object, y: object = None, **options: Any) -> float:
    """Compute the negative perplexity per held-out word, for ``scoring``; higher is better.

    Parameters
    ----------
    estimator : fitted estimator
        A topic model, or a pipeline that ends in one.
    X, y, **options
        As in `document_completion`.

    Returns
    -------
    score : float
        ``-perplexity(estimator, X)``.

    See Also
    --------
    document_completion : Minus the logarithm of perplexity, also for ``scoring``.

    Notes
    -----
    Mean perplexity over folds may rank models differently from the mean of `document_completion`, since it
    gives more weight to folds with poor predictions.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import OnlineEMLDA
    >>> from sktopic.metrics import neg_perplexity_scorer
    >>> lda = OnlineEMLDA(max_iter=20, random_state=0)
    >>> search = GridSearchCV(lda, {"n_components": [1, 10]}, scoring=neg_perplexity_scorer, cv=2)
    >>> search.fit(make_bars(100, random_state=0).data).best_params_
    {'n_components': 10}
    """
    return -perplexity(estimator, X, y, **options)
