"""Streaming Gibbs sampling for LDA (Gao, Chen and Zhu, 2016)."""

from numbers import Real

from sktopic._compat import Interval
from sktopic._parameters import describe_parameters
from sktopic.lda._minibatch import GibbsInference, MinibatchLDA, SummedStatistics


@describe_parameters
class StreamingGibbsLDA(GibbsInference, SummedStatistics, MinibatchLDA):
    """Latent Dirichlet allocation by streaming Gibbs sampling.

    Each document of a mini-batch is sampled with the topics held fixed; its last sample is added to
    running counts of words in topics (SGS in the literature). There is no step size and no corpus size to
    know, and counts stay sparse in spirit: one topic for each token. With `decay` below one, earlier
    batches fade, so that topics follow a stream that changes.

    Parameters
    ----------
    @n_components
    @doc_topic_prior
    @topic_word_prior
    decay : float, default=1.0
        Factor of the running counts at each update, in (0, 1]. With 0.99 a batch weighs half as much 69
        updates later.
    max_iter : int, default=1
        Passes over the corpus in `fit`; each adds to the counts.
    @batch_size
    @shuffle
    doc_burn_in : int, default=6
        Gibbs sweeps over a document in training before the one that is counted, >= 0.
    transform_burn_in : int, default=4
        Gibbs sweeps over a document in `transform` and `score` that are thrown away, >= 0.
    transform_sweeps : int, default=6
        Gibbs sweeps over a document in `transform` and `score` that are used, >= 1.
    @loop

    Attributes
    ----------
    @fitted
    @total_samples_
    @validation_scores_

    See Also
    --------
    OnlineEMLDA : Averages conditional probabilities over sweeps and batches, with step sizes.
    CollapsedGibbsLDA : Sweeps over the whole corpus.

    Notes
    -----
    The first batch is read with random topics, which are then forgotten. A token costs one scan of
    the topics present in its document. Topics are held fixed while a batch is swept, as in Dupuy and Bach;
    counts above 2 ** 24 are rounded to float32. Memory: 8 bytes times n_features * n_components and what
    one batch takes.

    References
    ----------
    Y. Gao, J. Chen and J. Zhu, "Streaming Gibbs sampling for LDA model", arXiv:1601.01142, 2016.

    C. Dupuy and F. Bach, "Online but accurate inference for latent variable models with local Gibbs
    sampling", Journal of Machine Learning Research 18(126), 2017: section 6.

    Examples
    --------
    >>> from sktopic.datasets import make_bars
    >>> from sktopic.lda import StreamingGibbsLDA
    >>> bars = make_bars(500, random_state=0)
    >>> lda = StreamingGibbsLDA(n_components=10, random_state=0).fit(bars.data)
    >>> bool(lda.topic_word_counts_.sum() == bars.data.sum())
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchLDA._parameter_constraints,
        "decay": [Interval(Real, 0, 1, closed="right")],
    }

    _drawn = True
    # Only the last sample counts.
    doc_sweeps = 1

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        decay=1.0,
        max_iter=1,
        batch_size=50,
        shuffle=True,
        doc_burn_in=6,
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

    @property
    def _kept(self):
        return self.decay
