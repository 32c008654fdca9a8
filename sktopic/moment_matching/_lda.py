"""Online Bayesian moment matching for LDA with a fixed number of topics (Hsu and Poupart, 2016)."""

from sktopic._parameters import describe_parameters
from sktopic.moment_matching._filter import MomentMatchingModel


@describe_parameters
class MomentMatchingLDA(MomentMatchingModel):
    """Latent Dirichlet allocation by online Bayesian moment matching.

    The posterior over topics is updated by one token at a time (assumed density filtering): after each,
    the product of Dirichlet distributions with the moments of the exact update takes the place of the
    posterior. It makes one pass over a stream; there is no step size, no mini-batch and no sampling. Choose
    it where data come once and a posterior is wanted at any time, at the lowest cost a token; `OnlineEMLDA`
    finds better topics in several passes.

    Parameters
    ----------
    @n_components
    @filter
    @job

    Attributes
    ----------
    @filtered
    @n_components_
    @counted

    See Also
    --------
    DegenerateDirichletLDA : The same with a posterior over the number of topics.
    TriangularDirichletLDA : Another such model.

    Notes
    -----
    A token costs n_components operations, whatever the number of words. Memory: 8 bytes times
    n_features * n_components, and with ``shuffle='corpus'`` 8 bytes times n_components for each document of a
    call.

    The initial topics are uniform times noise between 0.5 and 1.5: from equal topics, the update would
    never tell them apart.

    The result depends on the order of the tokens, and most of all if the words of a document come sorted:
    leave the shuffle on unless the order means something.

    A count c becomes tokens of weight one and one of the rest, or 1024 of weight c / 1024 where c is more.
    The update by a token of weight w < 1 has w in the place of one; with w > 1 it is that of one token, and
    w - 1 is added to the counts of topics by their probabilities.

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
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        second_moment="sum",
        shuffle="document",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._keep_parameters(locals())
