"""The degenerate Dirichlet model (Hsu and Poupart, 2016)."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sktopic._kernels.moments._matching import DEGENERATE
from sktopic.moment_matching._document_step import SharedDirichlet
from sktopic.moment_matching._mixture_estimator import MixtureEstimator


class DegenerateDirichletLDA(MixtureEstimator):
    """A posterior over the number of topics, in one pass: the degenerate Dirichlet model (DDM).

    Each number of topics T from 1 to n_components has a probability. A document has one Dirichlet
    distribution over all topics; under T topics the first T of its parameters count. All of it is updated
    by one token at a time (see `MomentMatchingLDA`). Choose it to learn in one pass how many topics a stream
    supports, and with what probability.

    Read more in :doc:`/guide/moment_matching`.

    Parameters
    ----------
    n_components : int, default=100
        Largest number of topics, K in the literature. The default of doc_topic_prior depends on it.
    n_components_prior : {'uniform', 'exponential'}, float, None or array-like, default='uniform'
        Probabilities of 1 to n_components topics before any data, up to a common factor; arrays have shape
        (n_components,). A number c from 0 to 1000 is exp(-c T) for T topics, 'uniform' is 0, 'exponential'
        is 1, and None is ``min(2, n_features / 100)``, which makes up for what the filter of the triangular
        model loses on its first tokens where topics are few. A number of topics with probability zero keeps
        it.
    doc_topic_prior : None, float, array-like, 'auto' or 'auto-symmetric', default=None
        Dirichlet parameters of the topic proportions, > 0, alpha in the literature. None is
        ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100). With 'auto' they are learned, one a
        topic, by matching the moments of the proportions of every 64 documents (no update with fewer); with
        'auto-symmetric', one for all topics.
    topic_word_prior : float or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0, beta in the literature. None is
        ``n_features ** -0.5``.
    second_moment : {'first', 'second', 'sum'}, default='sum'
        Which second moment of a Dirichlet distribution is matched after each token. 'first': that of the
        first topic or word, as published; the result then depends on the order of the columns. 'second':
        that of the second topic, and of the first word, as in the authors' program. 'sum': the sum over all
        of them.
    shuffle : {'corpus', 'document'} or None, default='document'
        Order of the tokens. 'corpus': those of all documents of a call mixed, which keeps the proportions of
        all of them in memory. 'document': documents as they come, the tokens of each mixed. None: each
        document word by word.
    n_jobs : int or None, default=None
        Threads (or processes chosen with ``joblib.parallel_config``) of `transform` and `score`;
        training is sequential and uses one thread. The results are the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffles, and of the initial topics where these are not all alike.
    verbose : int, default=0
        If positive, `fit` and `partial_fit` show a progress bar, and other methods do for more than 10,000
        documents.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Probability of each word in each topic; rows sum to one. Computed at the first access after
        training, and read-only.
    topic_word_posterior_ : ndarray of shape (n_components_, n_features_in_)
        Parameters of the topics' Dirichlet posteriors, beta in the literature. components_ is their mean.
    doc_topic_prior_ : ndarray of shape (n_components_,)
        Dirichlet parameters of a document's topic proportions.
    topic_word_prior_ : float
        Parameter of the topics' prior.
    n_components_ : int
        Most probable number of topics; the first n_components_ are in use.
    n_components_posterior_ : ndarray of shape (n_components,)
        Probabilities of 1 to n_components topics.
    n_components_prior_ : ndarray of shape (n_components,)
        Probabilities of 1 to n_components topics before any data.
    n_components_trace_ : ndarray of shape (n_notes,)
        Most probable number of topics at these times.
    n_tokens_trace_ : ndarray of shape (n_notes,)
        Numbers of tokens after which the most probable number of topics was noted: one after the other at
        first, then about 44 times while they double.
    log_marginal_likelihood_ : float
        Sum over all tokens of the log probability, in nats, of each given those before: the filter's
        estimate of the log marginal likelihood.
    n_tokens_seen_ : float
        Tokens (total count) seen.
    n_samples_seen_ : int
        Documents seen, repeated passes included.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had any.
    topic_names_ : ndarray of shape (n_components_,)
        Names of the topics, only once `sktopic.inspection.name_topics` was called.

    See Also
    --------
    TriangularDirichletLDA : Keeps a document's proportions for each number of topics apart, at a higher cost.
    sktopic.inspection.plot_n_components : Draws the posterior, and its trace over the tokens.

    Notes
    -----
    A token costs some n_components operations, whatever the number of words. Memory: 8 bytes times
    n_features * n_components, and with ``shuffle='corpus'`` 8 bytes times n_components for each document of a
    call.

    Proportions are approximated by a Dirichlet distribution over all topics after each token, and read as
    those of the first T topics before the next: this favours few topics (section 4.4 of the paper). The
    order of tokens matters (see the user guide).

    Counts become tokens as in `MomentMatchingLDA`, and there is no ``sample_weight`` either.

    References
    ----------
    W.-S. Hsu and P. Poupart, "Online Bayesian moment matching for topic modeling with unknown number of
    topics", Advances in Neural Information Processing Systems 29, 2016: equations 10 to 15, of
    which 12 and 13 are for the token's own document only.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.moment_matching import DegenerateDirichletLDA
    >>> bars = make_bars(500, random_state=0)
    >>> ddm = DegenerateDirichletLDA(n_components=30, random_state=0).fit(bars.data)
    >>> ddm.n_components_posterior_.shape
    (30,)
    >>> ddm.transform(bars.data).shape == (500, ddm.n_components_)
    True
    """

    _form = SharedDirichlet(DEGENERATE)

    def __init__(
        self,
        n_components: int = 100,
        *,
        n_components_prior: float | ArrayLike | Literal["uniform", "exponential"] | None = "uniform",
        doc_topic_prior: float | ArrayLike | str | None = None,
        topic_word_prior: float | None = None,
        second_moment: Literal["first", "second", "sum"] = "sum",
        shuffle: Literal["corpus", "document"] | None = "document",
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
