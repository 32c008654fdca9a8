"""Stochastic collapsed variational Bayes of order zero for LDA (Foulds et al., 2013)."""

from numbers import Real

from sktopic._compat import Interval
from sktopic._document_steps import CVB0Step
from sktopic._parameters import describe_parameters
from sktopic.lda._minibatch import FIXED_PRIOR, MinibatchLDA, OneInference, TokenAveragedStatistics


@describe_parameters
class OnlineCVB0LDA(OneInference, TokenAveragedStatistics, MinibatchLDA):
    """Latent Dirichlet allocation by stochastic collapsed variational Bayes (SCVB0).

    Topics and topic proportions are integrated out; what is kept of a document is how many of its tokens
    each topic is expected to have. Visits to its words move these numbers with decaying steps, and
    mini-batches move those of the whole corpus. Nothing is drawn. Choose it for a fast deterministic
    document step without digamma functions.

    Parameters
    ----------
    @n_components
    @fixed_doc_topic_prior
    @topic_word_prior
    @learning_decay=0.75
    @learning_offset
    @max_iter
    @batch_size
    @total_samples
    @shuffle
    doc_learning_decay : float, default=0.9
        Exponent of the step size (doc_learning_offset + t) ** -doc_learning_decay of visit t = 1, 2, ... to
        a word of a document; in [0, 1].
    doc_learning_offset : float, default=10.0
        Its offset, >= 0.
    max_doc_update_iter : int, default=5
        Passes over the distinct words of a document, in training, `transform` and `score`.
    @loop

    Attributes
    ----------
    @fitted
    n_tokens_seen_ : float
        Tokens treated, counting each as often as it was.
    @total_samples_
    @validation_scores_

    See Also
    --------
    OnlineVariationalLDA : Variational Bayes without collapsing.
    OnlineEMLDA : Gibbs sampling inside documents.

    Notes
    -----
    The m tokens of a word in a document are visited at once, which is m steps of the same size in one
    (clumping). A batch is weighed by its tokens: total_samples times the mean length of the documents seen
    (batches without words left out), over the tokens of the batch. What a batch says of its words is taken
    after the passes, with the document's final numbers, where Foulds et al. take it during one more pass. A
    visit costs n_components; memory is 8 bytes times n_features * n_components and what one batch takes.

    References
    ----------
    J. Foulds, L. Boyles, C. DuBois, P. Smyth and M. Welling, "Stochastic collapsed variational Bayesian
    inference for latent Dirichlet allocation", International Conference on Knowledge Discovery and Data
    Mining 19, 2013: algorithm 1.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import OnlineCVB0LDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = OnlineCVB0LDA(n_components=10, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (500, 10)
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchLDA._parameter_constraints,
        "doc_topic_prior": FIXED_PRIOR,
        "doc_learning_decay": [Interval(Real, 0, 1, closed="both")],
        "doc_learning_offset": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        learning_decay=0.75,
        learning_offset=1.0,
        max_iter=5,
        batch_size=50,
        total_samples=None,
        shuffle=True,
        doc_learning_decay=0.9,
        doc_learning_offset=10.0,
        max_doc_update_iter=5,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=2,
        tol=1e-3,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._keep_parameters(locals())

    def _training_step(self):
        return CVB0Step(self.max_doc_update_iter, self.doc_learning_offset, self.doc_learning_decay)
