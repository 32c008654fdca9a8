"""Other libraries in benchmarks/gibbs_peers.py: each returns topics, a prior and seconds."""

from argparse import Namespace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from sktopic.datasets import make_bars
from sktopic.metrics import match_topics

FOLDER = Path(__file__).parent.parent / "benchmarks"
PASSES = {
    "OnlineEMLDA": 16,
    "CollapsedGibbsLDA": 400,
    "scikit-learn": 16,
    "gensim": 16,
    "gensim, 64 bits": 16,
    "tomotopy": 400,
    "topica, sparse": 400,
    "topica, warp": 400,
    "topica, online": 16,
    "topica, HDP": 400,
    "RustMallet": 400,
    "BigARTM": 16,
    "Vowpal Wabbit": 16,
    "lda": 400,
}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the tests run without the repository")


def test_all_engines_are_tested(script):
    assert script("gibbs_peers").ENGINES.keys() == PASSES.keys()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # while BigARTM and tomotopy are imported
@pytest.mark.parametrize("name", PASSES)
def test_an_engine_finds_bars(name, script):
    """Ten bars, by twenty topics."""
    peers, bars = script("gibbs_peers"), make_bars(500, doc_length=60, random_state=0)
    engine = peers.ENGINES[name]
    try:
        metadata.version(engine.package)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{engine.package} is not installed")
    settings = engine.given(20, PASSES[name])
    topics, prior, seconds = engine.train(bars.data, peers.tokens_of(bars.data), 0, settings)
    assert len(topics) == 20 or not engine.topics
    topics = topics / topics.sum(axis=1, keepdims=True)
    assert match_topics(bars.components, topics).similarity.mean() > 0.9
    assert np.all(np.broadcast_to(prior, len(topics)) > 0) and seconds > 0


def untrained(X, tokens, seed, settings):
    """Topics whose first word, their score here, is more probable after more passes, up to a number."""
    settings["seen"].append((seed, settings["passes"], X.shape[0]))
    topics = np.ones((settings["k"], X.shape[1]))
    topics[:, 0] += min(settings["passes"], settings["most"])
    return topics, 0.1, settings["seconds"] * settings["passes"]


@pytest.fixture
def measured(script, monkeypatch, tmp_path):
    """The module, and a study of ours and of an engine that takes twice as long and learns half as much."""
    peers, X = script("gibbs_peers"), make_bars(20, random_state=0).data
    engines = {
        name: peers.Engine("sktopic", untrained, "k", "passes", {"seen": [], **settings}, most_topics)
        for name, settings, most_topics in (
            ("ours", {"seconds": 10.0, "most": 20}, 20),
            ("other", {"seconds": 20.0, "most": 10}, 5),
        )
    }
    replaced = {
        "load": lambda corpus: (X, X, None),
        "document_completion": lambda topics, X_test, doc_topic_prior: topics[0, 0],
        "ENGINES": engines,
        "OURS": "ours",
        "CORPORA": {"kos": 20},
        "READ_TOPICS": 5,
        "BUDGETS": {5: 640, 20: 6400},
        "SEEDS": {**peers.SEEDS, "engines": 2},
    }
    for name, value in replaced.items():
        monkeypatch.setattr(peers, name, value)
    study = peers.Study("gibbs_peers", Namespace(update=False, output=tmp_path))
    for run in peers.runs_of("engines"):
        study.cache.add(run, peers.curve(*run[1:], *peers.passes_of_first(study, run)))
    return peers, study


def test_engines_get_equal_shares_of_a_budget_until_their_score_is_level(measured):
    """Of 640 seconds all; of 6400 not the last, since the one before does not raise the score."""
    peers, study = measured
    ours, other = (engine.settings["seen"] for engine in peers.ENGINES.values())
    assert other == [(seed, passes, 20) for seed in (0, 1) for passes in (1, 2, 8, 32)]
    assert ours == [(seed, passes, 20) for seed in (0, 1) for passes in (1, 4, 16, 64, 1, 40, 160)]
    assert [row["levelled"] for row in study.cache.rows.values()] == [False, False, True] * 2


def test_an_engine_that_takes_long_to_begin_has_a_longer_run(script):
    rows = []
    for passes in script("gibbs_peers").lengths(rows, 10.0):
        rows.append({"passes": passes, "seconds": 1.5 + 0.1 * passes, "score": float(passes)})
    assert [row["passes"] for row in rows] == [1, 6, 28]


def test_a_later_seed_needs_the_first(measured):
    peers, study = measured
    with pytest.raises(SystemExit, match="Measure seed 0"):
        peers.passes_of_first(study, ("engines", "kos", 20, "other", 1))


def test_tables_compare_engines_with_ours_at_equal_time_and_at_equal_score(measured, script):
    peers, study = measured
    peers.write_tables(study)
    tables = script("_results").read_tables(study.path(".csv"))
    ours, other, more = tables["engines best"]
    names = (
        "topics",
        "engine",
        "still rises",
        "passes",
        "seconds of training",
        "seconds of ours",
        "times as fast",
    )
    assert [other[name] for name in names] == ["5", "other", "yes", "32", "640.00", "160.00", "4.00"]
    assert other["score of ours by then"] == ours["score, nats per word"] > other["score, nats per word"]
    assert [more[name] for name in names[:4]] == ["20", "ours", "no", "40"]
    assert [(row["engine"], row["seeds"]) for row in tables["engines read"]] == [
        ("ours", "2"),
        ("other", "2"),
    ]
    assert len(tables["engines"]) == 11


def test_ours_may_reach_a_score_within_its_first_pass(measured, script):
    peers, study = measured
    run = peers.runs_of("early")[0]
    found = peers.early(*run[1:])
    assert peers.ENGINES["ours"].settings["seen"][-2:] == [(0, 1, 1), (0, 1, 5)]  # of 20 documents
    study.cache.add(run, found | {"seconds": [1.0, 3.0], "score": [0.0, 1.0]})
    peers.write_tables(study)
    _, other, _ = script("_results").read_tables(study.path(".csv"))["engines best"]
    assert (other["seconds of ours"], other["times as fast"]) == ("160.00", "4.00")
    kind = "with parts of a pass"
    assert (other[f"seconds of ours, {kind}"], other[f"times as fast, {kind}"]) == ("3.00", "213.33")
