"""The deterministic single-pass algorithm: what it equals (its prior: see test_learned_priors.py)."""

import pytest
from numpy.testing import assert_array_equal

from sktopic.lda import OnlineEMLDA, SinglePassLDA

from .lda_models import X

SETTINGS = {"batch_size": 15, "topic_word_prior": 0.05, "max_doc_update_iter": 30, "random_state": 0}
CHOICES = {
    "inference": "variational",
    "boost": True,
    "prior_update": "gamma",
    "learning_decay": 1.0,
    "learning_offset": 0.0,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"doc_topic_prior": 0.3, "shuffle": False},
        {"doc_topic_prior": "auto-symmetric", "prior_shape": 2.0, "prior_rate": 0.5, "max_iter": 3},
        {"total_samples": 500, "batch_size": 7, "early_stopping": True, "max_iter": 4},
    ],
    ids=repr,
)
def test_single_pass_is_online_em_with_its_choices_made(settings):
    """Bit for bit, topics, prior and answers."""
    settings = {**SETTINGS, "doc_topic_prior": "auto", "max_iter": 1, **settings}
    one, other = SinglePassLDA(4, **settings).fit(X), OnlineEMLDA(4, **CHOICES, **settings).fit(X)
    for model in (one, other):
        model.partial_fit(X[:20])
    for name in ("components_", "topic_word_counts_", "doc_topic_prior_"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    assert_array_equal(one.transform(X), other.transform(X))
    assert one.score(X) == other.score(X)
    # The choices are no parameters.
    assert other.get_params().keys() - one.get_params().keys() >= {*CHOICES, "average"}
