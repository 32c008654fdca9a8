"""Counts and priors at the ends of their ranges have finite answers."""

import itertools

import numpy as np
from numpy.testing import assert_allclose

import sktopic

from .tools import (
    MODELS,
    check_answers,
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
