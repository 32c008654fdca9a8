"""A small corpus, and LDA models in the midst of training, shared by the tests of single estimators."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.special import digamma
from sklearn.base import clone

from sktopic._documents._document_values import DocumentValues
from sktopic._documents._matrices import DocumentReader
from sktopic.datasets import make_lda_documents

ETA, ALPHA = 0.07, 0.3
CORPUS = make_lda_documents(60, n_features=25, n_components=4, mean_length=20, random_state=0)
X = sp.csr_array(CORPUS.data, dtype=np.float64)
MORE = sp.csr_array(
    make_lda_documents(30, components=CORPUS.components, mean_length=20, random_state=1).data,
    dtype=np.float64,
)
BATCHES = [X[:20], X[20:23], X[23:45], X[45:]]


def batch_of(counts, sample_weight=None):
    """All of some documents as a DocumentBatch."""
    counts = sp.csr_array(counts, dtype=np.float64)
    return DocumentReader(counts, DocumentValues(sample_weight)).batch(np.arange(counts.shape[0]))


def new(cls, n_components=4, **params):
    """A model that takes documents in their order."""
    given = {"doc_topic_prior": ALPHA, "topic_word_prior": ETA, "batch_size": 20, "shuffle": False}
    return cls(n_components, **{**given, "random_state": 0, **params})


def start_of(model, n_features=X.shape[1]):
    """Counts (n_components, n_features) before the first words."""
    return clone(model).partial_fit(sp.csr_array((1, n_features))).topic_word_counts_


def with_counts(model, counts, total_samples):
    """Put the model in the midst of training, with these expected counts (n_components, n_features)."""
    model.set_params(total_samples=total_samples).partial_fit(np.ones((1, counts.shape[1])))
    words = model._state.words
    words.store[:] = counts.T / total_samples
    words.totals[:] = words.store.sum(axis=0)
    model._state = replace(model._state, words=replace(words, scale=1.0))
    assert_allclose(model.topic_word_counts_, counts, rtol=1e-12)
    return model


def smoothed(counts, smoothing):
    """Means of topics given their counts."""
    counts = counts + smoothing
    return counts / counts.sum(axis=1, keepdims=True)


def mean_logs(parameters):
    """E[log p] of each row's Dirichlet."""
    return digamma(parameters) - digamma(parameters.sum(axis=-1, keepdims=True))


def watched(monkeypatch, owner, name, look):
    """The list of look(result, *arguments) of every call of a function or method, filled as it is called."""
    seen, original = [], getattr(owner, name)

    def function(*arguments, **named):
        result = original(*arguments, **named)
        seen.append(look(result, *arguments))
        return result

    monkeypatch.setattr(owner, name, function)
    return seen


def watched_sweeps(monkeypatch, method, look):
    """The list of look(state, call) after every sweep of a sampler's method, filled as a model samples."""
    return watched(monkeypatch, method, "swept", lambda state, self, before, call, workers: look(state, call))


class Recorder:
    """A callback of scikit-learn: notes what is reported, models and their scores; stops after some task."""

    def __init__(self, stop_after=None):
        self.events, self.models, self.scores, self.stop_after = [], [], [], stop_after

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name} {context.task_id}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name} {context.task_id}")
        self.models.append(fitted_estimator)
        self.scores.append((fitted_estimator.score(X), y, estimator.components_.copy()))
        if isinstance(self.stop_after, BaseException):
            raise self.stop_after
        return (context.task_name, context.task_id) == self.stop_after
