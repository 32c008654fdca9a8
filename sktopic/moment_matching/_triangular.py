"""The triangular Dirichlet model (Hsu and Poupart, 2016)."""

from sktopic._kernels._moment_matching import TRIANGULAR
from sktopic._parameters import describe_parameters
from sktopic.moment_matching._number import NumberOfTopics


@describe_parameters
class TriangularDirichletLDA(NumberOfTopics):
    """Topic model with a posterior over the number of topics: the triangular Dirichlet model (TDM).

    Each number of topics T from 1 to n_components has a probability, and a document has a Dirichlet
    distribution of its own for each T. All of it is updated by one token at a time (see
    `MomentMatchingLDA`). It approximates less than `DegenerateDirichletLDA`, and a token costs
    n_components ** 2 instead of n_components.

    Parameters
    ----------
    @n_components_limit
    @n_components_prior
    @filter_doc_topic_prior
    @filter_topic_word_prior
    @second_moment
    @token_shuffle='corpus'
    @job

    Attributes
    ----------
    @filtered
    @number
    @counted

    See Also
    --------
    DegenerateDirichletLDA : One distribution a document for all numbers of topics.
    sktopic.inspection.plot_n_components : Draws the posterior, and how it came about.

    Notes
    -----
    A token costs some n_components ** 2 / 2 operations, whatever the number of words. Memory: 8 bytes times
    n_features * n_components; and with ``shuffle='corpus'`` 4 bytes times n_components ** 2 for each
    document of a call, which is 40 kB with 100 topics. With other orders, documents that have few topics
    each often leave but a few topics in all (see the user guide).

    Counts become tokens as in `MomentMatchingLDA`.

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

    _model = TRIANGULAR

    def __init__(
        self,
        n_components=100,
        *,
        n_components_prior="uniform",
        doc_topic_prior=None,
        topic_word_prior=None,
        second_moment="sum",
        shuffle="corpus",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._keep_parameters(locals())

    def _start_of_document(self):
        return self._step(TRIANGULAR, self._gamma).start(self._prior)

    def _document_size(self):
        return self.n_components * (self.n_components + 1) // 2

    def _alpha_under(self, alpha, n_topics):
        first = n_topics * (n_topics - 1) // 2
        return alpha[:, first : first + n_topics]
