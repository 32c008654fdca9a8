"""Other libraries in benchmarks/gibbs_peers.py: each returns topics, a prior and seconds."""

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from sktopic.datasets import make_bars
from sktopic.metrics import match_topics

FOLDER = Path(__file__).parent.parent / "benchmarks"
NAMES = [
    "OnlineEMLDA",
    "CollapsedGibbsLDA",
    "scikit-learn",
    "gensim",
    "tomotopy",
    "topica, sparse",
    "topica, warp",
    "topica, online",
    "topica, HDP",
    "RustMallet",
    "BigARTM",
    "Vowpal Wabbit",
    "lda",
]

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the benchmarks are missing")


def test_all_engines_are_tested(script):
    assert list(script("gibbs_peers").ENGINES) == NAMES


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # while BigARTM and tomotopy are imported
@pytest.mark.parametrize("name", NAMES)
def test_an_engine_finds_bars(name, script):
    """Ten bars, by twenty topics. The HDP gets concentrations under which topics are added."""
    peers, bars = script("gibbs_peers"), make_bars(500, doc_length=60, random_state=0)
    engine = peers.ENGINES[name]
    try:
        metadata.version(engine.package)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{engine.package} is not installed")
    settings = {**engine.settings, engine.passes: 16 * engine.first}
    settings |= {engine.topics: 20} if engine.topics else {"alpha": 1.0, "gamma": 1.0}
    topics, prior, seconds = engine.train(bars.data, peers.tokens_of(bars.data), 0, settings)
    assert len(topics) == 20 or not engine.topics
    topics = topics / topics.sum(axis=1, keepdims=True)
    assert match_topics(bars.components, topics).similarity.mean() > 0.9
    assert np.all(np.broadcast_to(prior, len(topics)) > 0) and seconds > 0
