"""The variational Bayesian methods for LDA: mean-field inference of documents, and the bound."""

from sktopic._estimators._constraints import MATRIX, PRIOR, SHARED
from sktopic._estimators._topic_posteriors import EvidenceLowerBound
from sktopic._inference import VariationalStep
from sktopic._runtime._compat import StrOptions
from sktopic._topics._word_count_views import posterior_bound
from sktopic.lda._minibatch import PosteriorLDA
from sktopic.lda._topic_word_prior import ENTRIES


class VariationalBayesLDA(EvidenceLowerBound, PosteriorLDA):
    """Base class: mean-field inference with Dirichlet posteriors topic_word_prior + expected counts."""

    max_doc_update_iter: int
    mean_change_tol: float

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn reads this class attribute)
        **SHARED,
        "topic_word_prior": [PRIOR, *MATRIX, None],
        "prior_update": [StrOptions({"fixed-point", "gradient"})],
    }

    _optional_arrays = {**PosteriorLDA._optional_arrays, **ENTRIES}  # noqa: RUF012

    # Mean-field inference moves topics little: where seeds had half of one, its other words went to others.
    _leaning = 0.1

    def _training_step(self):
        return VariationalStep(self.max_doc_update_iter, self.mean_change_tol)

    def _bound_of_batch(self, batch, workers):
        gathered = self._inference_topics().gather(batch.words, self.doc_topic_prior_, workers)
        return [self._transform_step()(batch, gathered, self.doc_topic_prior_, None, workers).bound()]

    def _bounds_of_topics(self):
        unit = self._unit(self.total_samples_)
        return [posterior_bound(self._statistics, unit, *self._topic_prior)]
