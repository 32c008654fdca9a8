"""Sparse stochastic inference for LDA (Mimno, Hoffman and Blei, 2012)."""

from sktopic._parameters import describe_parameters
from sktopic.lda._minibatch import AveragedStatistics, GibbsInference, MinibatchLDA, TopicPosteriors


@describe_parameters
class HybridLDA(TopicPosteriors, GibbsInference, AveragedStatistics, MinibatchLDA):
    """Latent Dirichlet allocation by variational Bayes for topics and Gibbs sampling inside documents.

    Topics have Dirichlet posteriors, which mini-batches move along a natural gradient as in
    `OnlineVariationalLDA`; but the topics of a document's tokens are sampled, so that a token costs
    the topics present in its document and an update touches only what was sampled (VarGibbs or Online-CGS in
    the literature). Choose it where Bayesian smoothing of topics is wanted at the cost of sampling.

    Parameters
    ----------
    @n_components
    @doc_topic_prior
    topic_word_prior : float or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0, eta in the literature. None is
        ``min(0.3, 30 / n_components)``: draws are noisier than the averages other methods count, and want
        more smoothing.
    @learning_decay
    @learning_offset=4.0
    @max_iter
    @batch_size=256
    @total_samples
    @shuffle
    @gibbs
    @loop

    Attributes
    ----------
    @fitted
    @topic_word_posterior_
    @total_samples_
    @validation_scores_

    See Also
    --------
    OnlineEMLDA : Maximum likelihood for topics, and conditional probabilities counted instead of draws.
    OnlineVariationalLDA : Mean-field inference inside documents too.

    Notes
    -----
    A token costs one scan of the topics present in its document; a distinct word of a batch costs
    n_components digamma functions. The statistics change only where a topic was drawn for a word
    (as in Li et al., 2016, sparse in the topics of documents and of words). Memory: 8 bytes times
    n_features * n_components and what one batch takes.

    References
    ----------
    D. Mimno, M. D. Hoffman and D. M. Blei, "Sparse stochastic inference for latent Dirichlet allocation",
    International Conference on Machine Learning 29, 2012.

    X. Li, J. OuYang and X. Zhou, "Sparse hybrid variational-Gibbs algorithm for latent Dirichlet
    allocation", SIAM International Conference on Data Mining 2016.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import HybridLDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = HybridLDA(n_components=10, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (500, 10)
    """

    _drawn = True

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        learning_decay=0.65,
        learning_offset=4.0,
        max_iter=5,
        batch_size=256,
        total_samples=None,
        shuffle=True,
        doc_burn_in=4,
        doc_sweeps=3,
        transform_burn_in=4,
        transform_sweeps=6,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=2,
        tol=1e-3,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._keep_parameters(locals())

    def _default_smoothing(self):
        return min(0.3, 30.0 / self.n_components)
