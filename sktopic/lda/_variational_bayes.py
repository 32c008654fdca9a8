"""What the variational Bayesian methods for LDA share: a Dirichlet posterior of each topic, and the bound."""

import math
from numbers import Real

from sklearn.utils import check_scalar

from sktopic._compat import StrOptions
from sktopic._documents import document_groups
from sktopic._parallel import Workers
from sktopic.lda._minibatch import MinibatchLDA, TopicPosteriors, VariationalInference


class VariationalBayesLDA(TopicPosteriors, VariationalInference, MinibatchLDA):
    """Base class: mean-field inference with Dirichlet posteriors lambda = topic_word_prior + counts."""

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **MinibatchLDA._parameter_constraints,
        "prior_update": [StrOptions({"fixed-point", "gradient"})],
    }

    def elbo(self, X, y=None, *, total_samples=None):
        """Evidence lower bound of a corpus under the fitted posterior of the topics, in nats.

        A bound on the log marginal likelihood of all of X, documents and topics together: it grows with
        the number of rows, and bounds of different models say little about their predictions. Use `score` to
        compare models.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, non-negative.
        y : None
            Ignored.
        total_samples : float or None, default=None
            Size of the corpus that X is a sample of, > 0: the documents' part is scaled up to it. None:
            X is the corpus.

        Returns
        -------
        elbo : float
            Total nats, natural logarithm: the documents' part, and once that of the topics (equation 4 of
            Hoffman, Blei and Bach, 2010).
        """
        model = self._read()
        model._check_settings()
        check_scalar(total_samples, "total_samples", (Real, type(None)))
        if total_samples is not None and not 0 < total_samples < math.inf:
            raise ValueError(f"total_samples={total_samples!r}: a finite number > 0 or None is allowed.")
        counts = model._validate_counts(X, reset=False)
        topics, step, prior = model._inference_topics(), model._transform_step(), model.doc_topic_prior_
        documents = []
        with Workers(model.n_jobs) as workers:
            for _, _, batch in document_groups(counts):
                gathered = topics.gather(batch.words, prior, workers)
                documents.append(step(batch, gathered, prior, None, workers).bound())
        scale = 1.0 if total_samples is None else total_samples / counts.shape[0]
        weight = model._count_weight(model.total_samples_)
        topics_bound = model._statistics.posterior_bound(weight, model.topic_word_prior_)
        return scale * math.fsum(documents) + topics_bound
