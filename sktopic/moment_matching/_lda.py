"""Online Bayesian moment matching for LDA with a fixed number of topics (Hsu and Poupart, 2016)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic.moment_matching._estimator import FilterEstimator
from sktopic.moment_matching._method import FilterMethod


class MomentMatchingLDA(FilterEstimator):
    """LDA trained in one pass over a stream by online Bayesian moment matching.

    After each token, the posterior of the topics is replaced by a product of Dirichlet distributions with the
    moments of the exact update (assumed density filtering). There is no step size, no mini-batch and no
    sampling. Choose this model if data arrive once and you need a posterior at any time, at a low cost
    per token. `OnlineEMLDA` finds better topics in several passes.

    Read more on the guide page "Probabilities of each number of topics".

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K in the literature.
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
    shuffle : {'corpus', 'document'} or None, default='document'
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
        Number of topics.
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
    DegenerateDirichletLDA : Adds a posterior over the number of topics.
    TriangularDirichletLDA : Adds this posterior with fewer approximations.

    Notes
    -----
    A token costs n_components operations, regardless of the number of words. Memory: 8 bytes times n_features
    * n_components, and with ``shuffle='corpus'`` 8 bytes times n_components for each document of a call.

    Uniform initial topics are multiplied by noise between 0.5 and 1.5, because equal topics would stay equal.
    The result depends on the order of the tokens, most of all if the words of a document are sorted. Keep the
    shuffle unless the order of the words carries information.

    A count c <= 1024 becomes tokens of weight one, and a token of the remaining fraction if c is not an
    integer. A larger count becomes 1024 tokens of weight c / 1024. A token of weight w < 1 enters the update
    with weight w. A token of weight w > 1 enters with weight one. The remaining w - 1 is divided among the
    topics by their probabilities.

    There is no ``sample_weight``, because a weight of 2 could not stand for two copies of a document: the
    first copy changes the topics for the second. Repeat rows instead.

    References
    ----------
    W.-S. Hsu and P. Poupart, "Online Bayesian moment matching for topic modeling with unknown number of
    topics", Advances in Neural Information Processing Systems 29, 2016: equations 1 and 7, with T fixed.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.moment_matching import MomentMatchingLDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = MomentMatchingLDA(n_components=10, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (500, 10)
    >>> bool(lda.n_tokens_seen_ == bars.data.sum())
    True
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | ArrayLike | str | None = None,
        topic_word_prior: float | None = None,
        second_moment: Literal["first", "second", "sum"] = "sum",
        shuffle: Literal["corpus", "document"] | None = "document",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.second_moment = second_moment
        self.shuffle = shuffle
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _method(self):
        return FilterMethod(
            n_components=self.n_components,
            doc_topic_prior=self.doc_topic_prior,
            topic_word_prior=self.topic_word_prior,
            second_moment=self.second_moment,
            shuffle=self.shuffle,
        )
