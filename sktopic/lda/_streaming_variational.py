"""Streaming variational Bayes for LDA (Broderick et al., 2013)."""

from sktopic._parameters import describe_parameters
from sktopic.lda._minibatch import SummedStatistics
from sktopic.lda._variational_bayes import VariationalBayesLDA


@describe_parameters
class StreamingVariationalLDA(SummedStatistics, VariationalBayesLDA):
    """Latent Dirichlet allocation by streaming variational Bayes.

    The posterior of the topics after one mini-batch is the prior of the next (SVB in the literature): each
    batch adds its expected counts to the parameters of the topics' Dirichlet posteriors. There is no
    step size, and the size of the corpus need not be known; every document weighs the same, however
    late it comes. Choose it for a stream of which the posterior after so many documents is wanted; for
    predictions prefer `OnlineEMLDA`.

    Parameters
    ----------
    @n_components
    @doc_topic_prior
    prior_update : {'fixed-point', 'gradient'}, default='fixed-point'
        How doc_topic_prior is learned with 'auto': by Minka's fixed point from the average over all
        batches, or by a Newton step along the gradient of each batch t, scaled by 1 / t.
    topic_word_prior : float or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0, eta in the literature. None is
        ``min(0.1, 2 / n_components)``.
    max_iter : int, default=1
        Passes over the corpus in `fit`. The posterior is that of a corpus with so many copies of each
        document.
    @batch_size=256
    @shuffle
    @variational
    @loop

    Attributes
    ----------
    @fitted
    @topic_word_posterior_
    @total_samples_
    @validation_scores_

    See Also
    --------
    OnlineVariationalLDA : With step sizes, for a corpus of known size.
    StreamingGibbsLDA : The same sums of counts from Gibbs sampling.

    Notes
    -----
    The first batch is read with random topics, which are then forgotten: the posterior is exactly
    topic_word_prior plus the expected counts of all batches. Cost and memory are those of
    `OnlineVariationalLDA`.

    References
    ----------
    T. Broderick, N. Boyd, A. Wibisono, A. C. Wilson and M. I. Jordan, "Streaming variational Bayes",
    Advances in Neural Information Processing Systems 26, 2013: algorithm 3 and equation 6.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import StreamingVariationalLDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = StreamingVariationalLDA(n_components=10, random_state=0)
    >>> for first in range(0, 500, 100):
    ...     lda = lda.partial_fit(bars.data[first : first + 100])
    >>> bool(abs(lda.topic_word_counts_.sum() - bars.data.sum()) < 1e-3)
    True
    """

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        prior_update="fixed-point",
        topic_word_prior=None,
        max_iter=1,
        batch_size=256,
        shuffle=True,
        max_doc_update_iter=100,
        mean_change_tol=1e-3,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=2,
        tol=1e-3,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._keep_parameters(locals())
