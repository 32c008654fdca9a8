"""Online variational Bayes for LDA (Hoffman, Blei and Bach, 2010)."""

from numbers import Real

from sktopic._compat import Interval, StrOptions
from sktopic._parameters import describe_parameters
from sktopic._prior import learned_smoothing
from sktopic.lda._minibatch import AveragedStatistics
from sktopic.lda._variational_bayes import VariationalBayesLDA


@describe_parameters
class OnlineVariationalLDA(AveragedStatistics, VariationalBayesLDA):
    """Latent Dirichlet allocation by online variational Bayes.

    Mean-field inference for the topic proportions and for the topics themselves, each of which has a
    Dirichlet posterior; a mini-batch moves the posteriors' parameters along the natural gradient of
    the evidence lower bound (OLDA or Online-VB in the literature). It is the method of scikit-learn's
    `LatentDirichletAllocation` and gensim's `LdaModel`: choose it to continue or to check work with
    those, or for its bound; for predictions prefer `OnlineEMLDA`.

    Parameters
    ----------
    @n_components
    learning_method : {'online', 'batch'}, default='online'
        Whether an update of `fit` sees batch_size documents and moves a step, or all documents and moves the
        whole way (coordinate ascent, which never lowers the bound of the corpus). `partial_fit` always
        works online.
    @doc_topic_prior
    prior_update : {'fixed-point', 'gradient'}, default='fixed-point'
        How priors are learned with 'auto': by Minka's fixed point from averages over batches, or by
        a Newton step along the gradient of each batch, scaled by the step size, as in the paper.
    topic_word_prior : float, 'auto' or None, default=None
        Parameter of the topics' symmetric Dirichlet prior, > 0, eta in the literature. None is
        ``min(0.1, 2 / n_components)``. With 'auto' it is learned from that start, at the cost of
        a pass over all topics and words in each update.
    @learning_decay
    @learning_offset=4.0
    @max_iter
    @batch_size=256
    @total_samples
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
    OnlineEMLDA : Maximum likelihood instead of a posterior for the topics.
    HybridLDA : The same posteriors of topics, with Gibbs sampling inside documents.
    StreamingVariationalLDA : Without step sizes and without the size of the corpus.

    Notes
    -----
    An iteration over a document costs its distinct words times n_components, four to eight at a
    time; a distinct word of a batch costs n_components digamma functions. Memory: 8 bytes times
    n_features * n_components and what one batch takes.

    Departure from the paper: from the first update on, the initial noise weighs as much as the corpus,
    whatever its size.

    References
    ----------
    M. D. Hoffman, D. M. Blei and F. Bach, "Online learning for latent Dirichlet allocation", Advances in
    Neural Information Processing Systems 23, 2010: algorithm 2; section 2.3 for the priors.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import OnlineVariationalLDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = OnlineVariationalLDA(n_components=10, random_state=0).fit(bars.data)
    >>> lda.transform(bars.data).shape
    (500, 10)
    >>> bool(lda.elbo(bars.data) / bars.data.sum() < -2.6)  # a bound, in nats per word
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **VariationalBayesLDA._parameter_constraints,
        "learning_method": [StrOptions({"online", "batch"})],
        "topic_word_prior": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), None],
    }

    def __init__(
        self,
        n_components=10,
        *,
        learning_method="online",
        doc_topic_prior=None,
        prior_update="fixed-point",
        topic_word_prior=None,
        learning_decay=0.65,
        learning_offset=4.0,
        max_iter=5,
        batch_size=256,
        total_samples=None,
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

    def _fits_whole_corpus(self):
        return self.learning_method == "batch"

    def _step_size(self, t):
        return 1.0 if self._whole_corpus else super()._step_size(t)

    def _given_smoothing(self):
        if self.topic_word_prior == "auto":  # goes on from what is learned
            return self.topic_word_prior_ if self._n_topic_updates > 0 else self._default_smoothing()
        return super()._given_smoothing()

    def _global_work(self, counts):
        passes = 8 if self.topic_word_prior == "auto" else 0
        return super()._global_work(counts) + passes * self._store.size

    def _global_step(self, counts, words, n_documents, n_tokens, total_samples, workers):
        rho = self._step_size(self._n_topic_updates + 1)
        super()._global_step(counts, words, n_documents, n_tokens, total_samples, workers)
        if self.topic_word_prior == "auto" and n_tokens > 0:
            weight, eta = self._count_weight(self.total_samples_), self.topic_word_prior_
            mean = self._statistics.mean_log_probability(weight, eta, workers)
            self.topic_word_prior_ = learned_smoothing(self.prior_update, mean, self.n_features_in_, eta, rho)
