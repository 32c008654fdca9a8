"""The degenerate Dirichlet model (Hsu and Poupart, 2016)."""

from sktopic._kernels._moment_matching import DEGENERATE
from sktopic._parameters import describe_parameters
from sktopic.moment_matching._number import NumberOfTopics


@describe_parameters
class DegenerateDirichletLDA(NumberOfTopics):
    """Topic model with a posterior over the number of topics: the degenerate Dirichlet model (DDM).

    Each number of topics T from 1 to n_components has a probability. A document has one Dirichlet
    distribution over all topics; under T topics the first T of its parameters count. All of it is updated
    by one token at a time (see `MomentMatchingLDA`). Choose it to learn in one pass how many topics a stream
    supports, and how sure that is.

    Parameters
    ----------
    @n_components_limit
    @n_components_prior
    @filter
    @job

    Attributes
    ----------
    @filtered
    @number
    @counted

    See Also
    --------
    TriangularDirichletLDA : Keeps a document's proportions for each number of topics apart, at a higher cost.
    sktopic.inspection.plot_n_components : Draws the posterior, and how it came about.

    Notes
    -----
    A token costs some n_components operations, whatever the number of words. Memory: 8 bytes times
    n_features * n_components, and with ``shuffle='corpus'`` 8 bytes times n_components for each document of a
    call.

    Proportions are approximated by a Dirichlet distribution over all topics after each token, and read as
    those of the first T topics before the next: this favours few topics (section 4.4 of the paper). The
    order of tokens matters (see the user guide).

    Counts become tokens as in `MomentMatchingLDA`.

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

    _model = DEGENERATE

    def __init__(
        self,
        n_components=100,
        *,
        n_components_prior="uniform",
        doc_topic_prior=None,
        topic_word_prior=None,
        second_moment="sum",
        shuffle="document",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._keep_parameters(locals())

    def _alpha_under(self, alpha, n_topics):
        return alpha[:, :n_topics]
