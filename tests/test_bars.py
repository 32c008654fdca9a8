"""That each method for LDA finds topics: bars of pictures, nearly as well as they can be told."""

import pytest

from sktopic import lda
from sktopic.datasets import make_bars
from sktopic.metrics import document_completion

BARS, MORE = make_bars(400, random_state=0), make_bars(150, random_state=1)
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


@pytest.mark.parametrize(("name", "settings"), MODELS, ids=str)
def test_bars_are_learned_to_near_the_score_of_the_truth(name, settings):
    """Within 0.06 nats per hidden word of the bars themselves, with topics to spare."""
    settings = {"doc_topic_prior": 0.1, "random_state": 1, **settings}
    model = getattr(lda, name)(15, **settings).fit(BARS.data)
    best = document_completion(BARS.components, MORE.data, doc_topic_prior=BARS.doc_topic_prior)
    for score in (document_completion(model, MORE.data), model.score(MORE.data)):
        assert best - 0.06 < score < best + 0.01
