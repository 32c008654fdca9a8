"""That each method finds topics: bars of pictures, nearly as well as they can be told, and their number."""

from functools import cache

import numpy as np
import pytest

from sktopic import hdp, lda
from sktopic.datasets import make_bars
from sktopic.metrics import document_completion

from .registry import having

# What a class needs to get there with so few pictures
SETTINGS = {
    "CollapsedGibbsLDA": {"max_iter": 60},
    "HybridLDA": {"max_iter": 10, "batch_size": 40},
    "LangevinLDA": {"max_iter": 10, "learning_rate": 0.1},
    "OnlineVariationalLDA": {"max_iter": 8, "batch_size": 25},
    "SinglePassLDA": {"max_iter": 4},
    "StreamingGibbsLDA": {"max_iter": 8, "decay": 0.95},
    "StreamingVariationalLDA": {"max_iter": 8, "batch_size": 50},
}
MODELS = [
    *((name, SETTINGS.get(name, {})) for name in lda.__all__),
    ("CollapsedGibbsLDA", {"max_iter": 60, "n_shards": 4}),
    ("OnlineEMLDA", {"boost": True}),
    ("OnlineEMLDA", {"inference": "variational", "average": True}),
    ("OnlineVariationalLDA", {"learning_method": "batch", "max_iter": 40}),
]
MOVES = {"split_merge": True, "max_iter": 12}
MEMOIZED = {"learning_method": "memoized", "batch_size": 100, "max_iter": 12}
RESTRICTED = {"move_proposals": "restricted", "final_moves": False}
RESTRICTED |= {"batch_size": 50, "max_iter": 12}
PAPER = {"sampler": "table_indicator", "root_weight": "paper", "reuse_topics": False}
# The class, topics at the start, settings, and the most topics at the end: ten, unless topics die too slowly.
HDP_MODELS = [
    ("HybridHDP", 25, {"batch_size": 20, "max_iter": 8}, 25),
    ("HybridHDP", 25, {"batch_size": 20, "max_iter": 8, **PAPER}, 25),
    ("HybridHDP", 1, MOVES, 10),
    ("HybridHDP", 40, MOVES, 10),
    ("DirectAssignmentHDP", 2, {"batch_size": 50}, 10),
    ("DirectAssignmentHDP", 40, {"batch_size": 50}, 10),
    ("DirectAssignmentHDP", 2, RESTRICTED, 10),
    ("DirectAssignmentHDP", 10, RESTRICTED, 10),
    ("DirectAssignmentHDP", 40, RESTRICTED, 10),
    ("DirectAssignmentHDP", 2, MEMOIZED, 10),
    ("DirectAssignmentHDP", 25, MEMOIZED, 10),
    ("OnlineVariationalHDP", 30, {"batch_size": 40, "max_iter": 15}, 13),
    ("CollapsedGibbsHDP", 1, {"max_iter": 60}, 25),
    ("CollapsedGibbsHDP", 40, {"max_iter": 60}, 30),
]


@cache
def bars(doc_length):
    """Documents, others, and what the bars themselves score on these."""
    train, more = (make_bars(n, doc_length=doc_length, random_state=i) for i, n in enumerate((400, 150)))
    return (
        train,
        more,
        document_completion(train.components, more.data, doc_topic_prior=train.doc_topic_prior),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings"), MODELS, ids=str)
def test_bars_are_learned_to_near_the_score_of_the_truth(name, settings):
    """Within 0.06 nats per hidden word of the bars themselves, with topics to spare."""
    train, more, best = bars(doc_length=100)
    settings = {"doc_topic_prior": 0.1, "random_state": 1, **settings}
    kind = getattr(lda, name)
    model = kind(15, **having(kind, **settings)).fit(train.data)
    for score in (document_completion(model, more.data), model.score(more.data)):
        assert best - 0.06 < score < best + 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start", "settings", "most"), HDP_MODELS, ids=str)
def test_bars_and_their_number_are_found_from_any_start(name, start, settings, most):
    """Within 0.03 nats per hidden word of the bars themselves, each of which has a topic."""
    train, more, best = bars(doc_length=60)
    model = getattr(hdp, name)(start, random_state=0, **settings).fit(train.data)
    assert 10 <= model.n_components_ <= most
    assert best - 0.03 < document_completion(model, more.data) < best + 0.01
    distance = 0.5 * np.abs(train.components[:, None] - model.components_).sum(axis=-1)
    assert distance.min(axis=1).max() < 0.1
