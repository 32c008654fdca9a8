"""Inference of documents with a fitted model that does not change."""

from functools import cached_property
from numbers import Real
from types import NoneType

import numpy as np

from sktopic._documents._matrices import rows_of_documents
from sktopic._documents._sources import joined
from sktopic._estimators._result_blocks import write_blocks
from sktopic._inference._prediction import FixedTopics, draw_proportions, infer_proportions, infer_word_topics
from sktopic._kernels.random._rng import combine_keys
from sktopic._runtime._parallel import Workers
from sktopic._runtime._progress import NOT_SHOWN
from sktopic._state._fields import arrays_of

# Separates the random streams of transform from those of fit.
TRANSFORM_KEY = 0x7472616E
# Parameters that only training reads. If their type is not SMALL, they may be as large as the model.
READ_BY_TRAINING = {"components_init", "topic_word_prior"}
SMALL = Real, str, NoneType


class Inference:
    """Inputs for the inference of documents with an unchanging model, computed when needed.

    Parameters
    ----------
    model : fitted TopicModel
    """

    def __init__(self, model):
        self.model = model
        self._kept = None

    @cached_property
    def settings(self):
        """Parameters by name, except those as large as the model, which inference does not read."""
        names = [name for name in self.model._parameter_constraints if hasattr(self.model, name)]
        settings = {name: getattr(self.model, name) for name in names}
        large = {name for name in READ_BY_TRAINING & settings.keys() if not isinstance(settings[name], SMALL)}
        return {name: value for name, value in settings.items() if name not in large}

    def _fixed(self):
        """Return the FixedTopics for the inference of documents."""
        if self._kept is not None:
            return self._kept
        model = self.model
        fixed = FixedTopics(
            topics=model._inference_topics(),
            prior=model.doc_topic_prior_,
            step=model._transform_step(),
            key=combine_keys(model._seed, TRANSFORM_KEY),
        )
        if any(np.may_share_memory(fixed.topics.store, array) for array in arrays_of(model._state).values()):
            self._kept = fixed  # otherwise the topics are a copy, as large as the model
        return fixed

    def _given(self, covariates):
        """Return the FixedTopics for the inference of documents with covariates, or None."""
        return self._fixed()._replace(covariates=covariates)

    def proportions(self, X, workers, progress, covariates=None):
        """Return theta of documents X, shape (n_documents, n_components_), float32 if X is float32."""
        return infer_proportions(X, self._given(covariates), workers, progress)

    def all_proportions(self, documents, workers, progress, out):
        """Return theta of Documents, in memory or where `write_blocks` writes it."""
        blocks = documents.blocks_with_values() if out is None else documents.groups()
        found = (self.proportions(X, workers, progress, values.covariates) for X, values in blocks)
        if out is None:
            return joined(list(found))
        return write_blocks(out, found, documents.n_documents, self.model.n_components_)

    def all_draws(self, documents, workers, progress, n_draws):
        """Return draws of theta, (n_documents, n_draws, n_components_), float32 if X is float32."""
        found = [
            draw_proportions(X, n_draws, self._given(values.covariates), workers, progress)
            for X, values in documents.blocks_with_values()
        ]
        return joined(found)

    def word_topics(self, X, n_topics, workers, progress=NOT_SHOWN, covariates=None):
        """Return topics of the entries of X and their probabilities, two arrays (n_entries, n_topics)."""
        n_topics = min(n_topics, self.model.n_components_)
        return infer_word_topics(X, n_topics, self._given(covariates), workers, progress)

    def all_word_topics(self, documents, workers, progress, n_topics):
        """Return the word_topics of Documents."""
        found = [
            self.word_topics(X, n_topics, workers, progress, values.covariates)
            for X, values in documents.blocks_with_values()
        ]
        return tuple(map(joined, zip(*found)))

    def blocks_of_word_topics(self, documents, n_topics, size):
        """Yield slices of rows and their word_topics. Each step has new workers: callers may stop early."""
        n_before = 0
        for X, values in documents.blocks_with_values():
            for first in range(0, X.shape[0], size):
                last = min(first + size, X.shape[0])
                rows, own = rows_of_documents(X, np.arange(first, last)), values.of(slice(first, last))
                with Workers(self.model.n_jobs) as workers:
                    found = self.word_topics(rows, n_topics, workers, NOT_SHOWN, own.covariates)
                yield slice(n_before + first, n_before + last), *found
            n_before += X.shape[0]
