"""Counts and parameters at the ends of their ranges, and large shapes: finite answers in bounded resources."""

import itertools
import resource
import time

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose

import sktopic

from .tools import (
    MODELS,
    N_CASES,
    check_answers,
    check_resources,
    corpus,
    failures,
    new,
    share,
    some,
)

POSITIVE = "doc_topic_prior", "topic_word_prior", "topic_concentration", "doc_concentration"

# Two groups of words in two groups of documents, and a document without words.
GROUPS = np.array(
    [[1, 1, 1, 0, 0, 0], [1, 0, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 0, 0]]
)
ENDS = {
    "smallest": 1e-12 * GROUPS,
    "largest": 1e12 * GROUPS,
    "mixed": np.where(np.arange(30).reshape(5, 6) % 4, 1e-12, 1e12) * GROUPS,
}


def allowed_ends(name, parameter):
    """0, and the ends of the range of a parameter, as far as they are allowed."""
    constraints = getattr(sktopic, name.partition(",")[0])._parameter_constraints[parameter]
    intervals = [constraint for constraint in constraints if hasattr(constraint, "left")]
    zero = [0.0] * any(getattr(constraint, "options", ()) == {0} for constraint in constraints)
    return zero + [end for interval in intervals for end in (interval.left, interval.right)]


def use_ends(name, X, priors):
    """Runs in a child process."""
    X, model = ENDS[X], new(name, **priors)
    check_answers(model.fit(X), X)
    check_answers(model.partial_fit(X), X)
    assert np.isfinite(model.score(X)) and model.score(X) < 1e-9
    if hasattr(model, "elbo"):
        assert np.isfinite(model.elbo(X))
    prior = model.doc_topic_prior_
    assert_allclose(model.transform(X)[-1], prior / prior.sum(), rtol=1e-6)


def test_counts_and_priors_at_the_ends_of_their_range_are_answered():
    cases = []
    for name in MODELS:
        known = new(name).get_params()
        ends = {
            parameter: allowed_ends(name, parameter)
            for parameter in POSITIVE
            if not isinstance(known.get(parameter, ""), str)
        }
        for values in itertools.product(*ends.values()):
            cases += itertools.product([name], ENDS, [dict(zip(ends, values))])
    found = failures(use_ends, some(cases, share(0.08), 0, 1))
    assert not found, "\n".join(found)


def many_documents(n_documents=10**6 if N_CASES >= 10_000 else 20_000):
    """Documents of one word each."""
    words = np.random.default_rng(0).integers(0, 50, n_documents).astype(np.int32)
    return sp.csr_array((np.ones(n_documents), words, np.arange(n_documents + 1)), shape=(n_documents, 50))


# matrix, parameters, seconds for a fit, a partial_fit and answers, bytes; a document more takes 300 us and 1 KB
SHAPES = {
    "1000 topics on 5 words": (lambda: corpus(20, 5), {"n_components": 1000, "batch_size": 20}, 20, 200e6),
    "a document of 10 million tokens": (lambda: np.full((1, 1000), 1e4), {}, 10, 200e6),
    "many documents": (many_documents, {"max_iter": 1, "batch_size": 1000}, 2, 50e6),
}


def use_shape(name, shape):
    """Runs in a child process."""
    make, params, most_seconds, most_bytes = SHAPES[shape]
    X = make()
    model = new(name, **params)
    started, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    check_answers(model.fit(X).partial_fit(X), X)
    assert np.isfinite(model.score(X))
    seconds = time.process_time() - started
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak)
    n_more = X.shape[0] if X.shape[0] > 1000 else 0
    check_resources(seconds, most_seconds + 300e-6 * n_more, grown, most_bytes + 1000 * n_more)


def test_large_shapes_are_answered_in_bounded_time_and_memory():
    cases = list(itertools.product(MODELS, SHAPES))
    found = failures(use_shape, some(cases, share(0.012), 1), timeout=3600.0)
    assert not found, "\n".join(found)
