"""The triangular Dirichlet model (Hsu and Poupart, 2016)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic.moment_matching._document_step import DirichletForEachNumber
from sktopic.moment_matching._mixture_estimator import MixtureEstimator


class TriangularDirichletLDA(MixtureEstimator):
    """LDA with a posterior over the number of topics: the triangular Dirichlet model (TDM).

    Each number of topics T from 1 to n_components has a probability. A document has a separate Dirichlet
    distribution for each T. Each token updates topics, proportions and probabilities (see
    `MomentMatchingLDA`). The model has fewer approximations than `DegenerateDirichletLDA`, but a token costs
    n_components ** 2 instead of n_components.

    Read more on the guide page "Probabilities of each number of topics".

    Parameters
    ----------
    n_components : int, default=100
        Largest number of topics, K in the literature. The default of doc_topic_prior depends on it.
    n_components_prior : {'uniform', 'exponential'}, float, None or array-like, default=None
        Prior probabilities of 1 to n_components topics, up to a factor: an array of shape (n_components,), or
        a number c from 0 to 1000 for exp(-c T) at T topics. 'uniform' means c = 0, 'exponential' c = 1, and
        None ``min(2, n_features / 100)``. Zero probabilities stay zero.
    doc_topic_prior : None, float, array-like, 'auto' or 'auto-symmetric', default=None
        Dirichlet parameters of the topic proportions, > 0, alpha in the literature. If None,
        ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100). 'auto' learns one parameter per topic;
        'auto-symmetric' learns one for all topics. After each full group of 64 documents, learning matches
        the prior to the moments of their proportions.
    topic_word_prior : float or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0, beta in the literature. If None,
        ``n_features ** -0.5``.
    second_moment : {'first', 'second', 'sum'}, default='sum'
        Second moment matched in each Dirichlet distribution after each token. 'sum' is the sum over its
        topics or words. 'first' uses the first topic or word, as published; the result then depends on the
        order of the columns. 'second' uses the second topic and the first word, as in the authors' program.
    shuffle : {'corpus', 'document'} or None, default='corpus'
        Order of the tokens. 'corpus' mixes the tokens of all documents of a call, and keeps all proportions
        in memory. 'document' mixes the tokens of each document. None visits each document word by word.
    n_jobs : int or None, default=None
        Number of threads of `transform` and `score`, or processes if ``joblib.parallel_config`` chooses them;
        training uses one. If None, 1; if -1, all cores. Does not affect results.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffles and of random initial topics.
    verbose : int, default=0
        If positive, show a progress bar in `fit` and `partial_fit`, and in other methods for more than 10,000
        documents.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Probability of each word in each topic; rows sum to one. Read-only, computed at the first access.
    topic_word_posterior_ : ndarray of shape (n_components_, n_features_in_)
        Parameters of the topics' Dirichlet posteriors, beta in the literature. Their means are `components_`.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions.
    topic_word_prior_ : float
        Value of topic_word_prior in use.
    n_components_ : int
        Most probable number of topics. The first `n_components_` topics are in use.
    n_components_posterior_ : ndarray of shape (n_components,)
        Posterior probabilities of 1 to n_components topics.
    n_components_prior_ : ndarray of shape (n_components,)
        Prior probabilities of 1 to n_components topics.
    n_components_trace_ : ndarray of shape (n_notes,)
        Most probable number of topics after `n_tokens_trace_` tokens.
    n_tokens_trace_ : ndarray of shape (n_notes,)
        Numbers of tokens at which `n_components_trace_` was recorded: every token at first, then about 44
        times per doubling.
    log_marginal_likelihood_ : float
        Estimated log marginal likelihood in nats: the sum of the log probabilities of all tokens, each given
        the tokens before it.
    n_tokens_seen_ : float
        Number of tokens (total count) seen.
    n_samples_seen_ : int
        Number of documents seen in all passes.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Words of the columns, defined only if X has names or after `set_feature_names`.
    topic_names_ : ndarray of shape (n_components_,)
        Names of the topics, defined only after `sktopic.inspection.name_topics`.

    See Also
    --------
    DegenerateDirichletLDA : One distribution per document for all numbers of topics.
    sktopic.inspection.plot_n_components : Draws the posterior, and its trace over the tokens.

    Notes
    -----
    A token costs about n_components ** 2 / 2 operations, regardless of the number of words. Memory: 8 bytes
    times n_features * n_components, and with ``shuffle='corpus'`` 4 bytes times n_components ** 2 for each
    document of a call (40 kB with 100 topics).

    - With other values of shuffle, a corpus with few topics per document often leads to very few topics in
      total (see the user guide).
    - Counts are turned into tokens as in `MomentMatchingLDA`. There is no ``sample_weight``.

    References
    ----------
    W.-S. Hsu and P. Poupart, "Online Bayesian moment matching for topic modeling with unknown number of
    topics", Advances in Neural Information Processing Systems 29, 2016: section 3.2 and equation 4.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.moment_matching import TriangularDirichletLDA
    >>> bars = make_bars(200, random_state=0)
    >>> tdm = TriangularDirichletLDA(n_components=20, random_state=0).fit(bars.data)
    >>> tdm.n_components_posterior_.shape
    (20,)
    >>> tdm.predict_mixture(bars.data).shape
    (200, 20)
    """

    _form = DirichletForEachNumber()

    def __init__(
        self,
        n_components: int = 100,
        *,
        n_components_prior: float | ArrayLike | Literal["uniform", "exponential"] | None = None,
        doc_topic_prior: float | ArrayLike | str | None = None,
        topic_word_prior: float | None = None,
        second_moment: Literal["first", "second", "sum"] = "sum",
        shuffle: Literal["corpus", "document"] | None = "corpus",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_components_prior = n_components_prior
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.second_moment = second_moment
        self.shuffle = shuffle
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
