"""Online maximum a posteriori estimation for LDA (Than and Doan, 2014; Vu et al., 2018)."""

from numbers import Real

from sktopic._compat import Interval
from sktopic._document_steps import OPEStep
from sktopic._parameters import describe_parameters
from sktopic.lda._minibatch import FIXED_PRIOR, AveragedStatistics, MinibatchLDA, OneInference


@describe_parameters
class OnlineOPELDA(OneInference, AveragedStatistics, MinibatchLDA):
    """Latent Dirichlet allocation with maximum a posteriori estimates of topic proportions (OPE).

    A document's topic proportions maximise their posterior density. Each iteration of the search draws
    either the likelihood or the prior (the likelihood with probability bernoulli_p), adds it to what was
    drawn before, and takes a step towards the one topic that the sum points to (stochastic Frank-Wolfe): a
    document has at most as many topics above the floor as it had iterations. ``bernoulli_p=0.5`` is OPE,
    other values are generalised OPE. Topics are averaged over mini-batches as in `OnlineEMLDA`. Choose it
    where documents should have few topics, by a number of iterations that is known beforehand.

    Parameters
    ----------
    @n_components
    bernoulli_p : float, default=0.5
        Probability with which an iteration draws the likelihood, in (0, 1); the first one always does. Each
        part is divided by its probability, so that the average of many draws is right for any value; near 0
        or 1 that takes more of them than 1 / bernoulli_p or 1 / (1 - bernoulli_p).
    @fixed_doc_topic_prior
    @topic_word_prior
    @learning_decay
    @learning_offset
    @max_iter
    @batch_size
    @total_samples
    @shuffle
    max_doc_update_iter : int, default=50
        Iterations over a document, in training, `transform` and `score`. With doc_topic_prior < 1 the density
        has no maximum inside the simplex, and this is what keeps proportions away from its border: compare
        models at the same number only.
    @loop

    Attributes
    ----------
    @fitted
    @total_samples_
    @validation_scores_

    See Also
    --------
    OnlineEMLDA : Posterior means of the proportions by Gibbs sampling, with the same topics.
    OnlineCVB0LDA : A deterministic document step.

    Notes
    -----
    After t iterations each of a document's proportions is at least 1 / (2 n_components (t + 1)). An
    iteration costs the distinct words of the document for each topic that may be the best: bounds on the
    gradient, which keep the result as it is, leave most topics out. Memory: 8 bytes times
    n_features * n_components and what one batch takes.

    References
    ----------
    K. Than and T. Doan, "Dual online inference for latent Dirichlet allocation", Asian Conference on Machine
    Learning 2014.

    T. Vu, X. Bui, K. Than and R. Ichise, "A flexible stochastic method for solving the MAP problem in topic
    models", Computacion y Sistemas 22(4), 2018: algorithm 2, with steps 1 / (t + 1) instead of 1 / t, which
    would start from a corner of the simplex.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import OnlineOPELDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = OnlineOPELDA(n_components=10, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (500, 10)
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchLDA._parameter_constraints,
        "doc_topic_prior": FIXED_PRIOR,
        "bernoulli_p": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        n_components=10,
        *,
        bernoulli_p=0.5,
        doc_topic_prior=None,
        topic_word_prior=None,
        learning_decay=0.65,
        learning_offset=1.0,
        max_iter=5,
        batch_size=50,
        total_samples=None,
        shuffle=True,
        max_doc_update_iter=50,
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
        return OPEStep(self.bernoulli_p, self.max_doc_update_iter)
