"""The deterministic single-pass algorithm for LDA (Sato, Kurihara and Nakagawa, 2010)."""

from sktopic._parameters import describe_parameters
from sktopic.lda._online_em import OnlineEMLDA


@describe_parameters
class SinglePassLDA(OnlineEMLDA):
    """Latent Dirichlet allocation by deterministic single-pass inference.

    Online EM with variational inference in which the topics are updated after each iteration of the
    document step, batches are averaged with the step size 1 / t, and the prior of the topic
    proportions has a Gamma prior of its own (SPLDA in the literature). It is what
    ``OnlineEMLDA(inference="variational", boost=True, prior_update="gamma", learning_decay=1.0,
    learning_offset=0.0)`` does. Choose it for a single pass over some thousand documents, with nothing to
    be tuned; `OnlineEMLDA` takes a third of the time and is ahead on larger corpora.

    Parameters
    ----------
    @n_components
    @doc_topic_prior='auto'
    prior_shape, prior_rate : float, default=1.0
        Parameters of the Gamma prior under which doc_topic_prior is learned, > 0 and >= 0.
    @topic_word_prior
    @max_iter=1
    @batch_size=100
    @total_samples
    @shuffle
    max_doc_update_iter : int, default=10
        Limit of the iterations over a batch, each of which is followed by an update of the topics, and of
        those over a document in `transform` and `score`.
    @mean_change_tol
    @loop

    Attributes
    ----------
    @fitted
    @total_samples_
    @validation_scores_

    See Also
    --------
    OnlineEMLDA : The same with a choice of step sizes, inference and learning of the prior.

    Notes
    -----
    An iteration over a batch costs a pass over its distinct words and over its cells, times n_components
    each; a batch is held in memory as a whole.

    References
    ----------
    I. Sato, K. Kurihara and H. Nakagawa, "Deterministic single-pass algorithm for LDA", Advances in Neural
    Information Processing Systems 23, 2010.

    C. Dupuy and F. Bach, "Online but accurate inference for latent variable models with local Gibbs
    sampling", Journal of Machine Learning Research 18(126), 2017: section 6.1 and appendix C.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import SinglePassLDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = SinglePassLDA(n_components=10, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (500, 10)
    """

    # What is a choice in online EM is the method's own here.
    inference = "variational"
    boost = True
    average = False
    prior_update = "gamma"
    learning_decay = 1.0
    learning_offset = 0.0

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior="auto",
        prior_shape=1.0,
        prior_rate=1.0,
        topic_word_prior=None,
        max_iter=1,
        batch_size=100,
        total_samples=None,
        shuffle=True,
        max_doc_update_iter=10,
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
