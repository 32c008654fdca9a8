"""That each HDP with a number of topics to find finds bars of pictures, and how many there are."""

import numpy as np
import pytest

from sktopic import hdp
from sktopic.datasets import make_bars
from sktopic.metrics import document_completion

BARS, MORE = (make_bars(n, doc_length=60, random_state=seed) for n, seed in ((400, 0), (150, 1)))
MOVES = {"split_merge": True, "batch_size": 100, "max_iter": 12}
MEMOIZED = {"learning_method": "memoized", "batch_size": 100, "max_iter": 12}
PAPER = {"sampler": "table_indicator", "root_weight": "paper", "reuse_topics": False}
# The class, topics at the start, settings, and the most topics at the end: ten, unless topics die too slowly.
MODELS = [
    ("HybridHDP", 25, {"batch_size": 20, "max_iter": 8}, 25),
    ("HybridHDP", 25, {"batch_size": 20, "max_iter": 8, **PAPER}, 25),
    ("HybridHDP", 1, MOVES, 10),
    ("HybridHDP", 40, MOVES, 10),
    ("DirectAssignmentHDP", 2, {"batch_size": 50}, 10),
    ("DirectAssignmentHDP", 40, {"batch_size": 50}, 10),
    ("DirectAssignmentHDP", 2, MEMOIZED, 10),
    ("DirectAssignmentHDP", 25, MEMOIZED, 10),
    ("OnlineVariationalHDP", 30, {"batch_size": 40, "max_iter": 15}, 13),
    ("CollapsedGibbsHDP", 1, {"max_iter": 60}, 25),
    ("CollapsedGibbsHDP", 40, {"max_iter": 60}, 30),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start", "settings", "most"), MODELS, ids=str)
def test_bars_and_their_number_are_found_from_any_start(name, start, settings, most):
    """Within 0.03 nats per hidden word of the bars themselves, each of which has a topic."""
    model = getattr(hdp, name)(start, random_state=0, **settings).fit(BARS.data)
    best = document_completion(BARS.components, MORE.data, doc_topic_prior=BARS.doc_topic_prior)
    assert 10 <= model.n_components_ <= most
    assert best - 0.03 < document_completion(model, MORE.data) < best + 0.01
    distance = 0.5 * np.abs(BARS.components[:, None] - model.components_).sum(axis=-1)
    assert distance.min(axis=1).max() < 0.1
