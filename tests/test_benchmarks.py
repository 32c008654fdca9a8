"""The habits of the benchmarks: where they write, and which runs they use."""

import json
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from sktopic.datasets import make_bars
from sktopic.hdp._hybrid_topics import HybridTopics
from sktopic.moment_matching import DegenerateDirichletLDA
from tests.reference.enumeration import Enumeration

FOLDER = Path(__file__).parent.parent / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
RUNS = sorted(FOLDER.glob("runs/*.jsonl"))

if not SCRIPTS:
    pytest.skip("the tests run without the repository", allow_module_level=True)


@pytest.fixture
def study(script):
    return script("_study")


@pytest.fixture
def versions(script, monkeypatch):
    """Of the results of two estimators."""
    module = script("_versions")
    monkeypatch.setattr(module, "VERSIONS", {"NewLDA": 2})
    some = {"columns": "model options seed", "estimators": {"new": ["NewLDA"], "none": ["OldLDA", "NewLDA"]}}
    parts = {"columns": {"a": "seed", "other": "n seed"}}
    monkeypatch.setattr(module, "STUDIES", {"some": some, "parts": parts})
    return module


def row(model, seed, version, **values):
    columns = {"model": model, "options": {"passes": 2}, "seed": seed, "version": version}
    return json.dumps({**columns, **values}, separators=(",", ":")) + "\n"


def test_runs_name_their_estimators_or_the_study_does_and_columns_may_depend_on_the_part(versions):
    found = {
        ("kos", "OldLDA, 5 passes", (("NewLDA", 1),)): {"OldLDA", "NewLDA"},
        ("new, fast", 3): {"NewLDA"},
        ("memory", "OldLDA"): {"OldLDA"},
        ("4 workers",): {"OldLDA", "NewLDA"},
    }
    assert {run: versions.estimators_of("some", run) for run in found} == found
    assert versions.estimators_of("parts", ("new LDA", 3)) == set()
    assert versions.columns_of_run("parts", ("a", 1)) == {"part": "a", "seed": 1}
    assert versions.columns_of_run("parts", ("b", 2, 1)) == {"part": "b", "n": 2, "seed": 1}
    assert versions.run_of("parts", {"part": "b", "n": 2, "seed": 1, "score": 3.0}) == ("b", 2, 1)


def test_runs_of_older_results_are_shown_and_measured_again_in_their_place(study, versions, tmp_path):
    path = tmp_path / "some_runs.jsonl"
    known = row("NewLDA", 1, 1) + row("OldLDA", 1, 1) + row("NewLDA", 2, 2)
    path.write_text(known + '{"model": "OldLDA", "sc')  # half a line is what a killed run leaves
    cache, options = study.Cache(path), {"passes": 2}
    assert [row["model"] for run, row in cache.rows.items() if run in cache] == ["OldLDA", "NewLDA"]
    assert ("NewLDA", options, 4) not in cache and ("NewLDA", {}, 2) not in cache
    for score in (3, 4):
        study.Cache(path).add(("NewLDA", options, 1), {"score": score})
    cache = study.Cache(path)
    assert ("NewLDA", options, 1) in cache
    assert cache.found([("NewLDA", options, n) for n in (1, 3)]) == cache.select(model="NewLDA", seed=1)
    assert path.read_text() == row("NewLDA", 1, 2, score=4) + known.partition("\n")[2]


def test_a_study_measures_the_runs_that_are_missing_and_wanted(study, versions, tmp_path):
    arguments = Namespace(update=False, output=tmp_path, draw_only=False, jobs=1, only=["seed=1", "seed=3"])
    results = study.Study("some", arguments)
    (tmp_path / "some_runs.jsonl").write_text(row("OldLDA", 1, 1, score=2))
    results.cache = study.Cache(tmp_path / "some_runs.jsonl")
    runs = [("OldLDA", {"passes": 2}, seed) for seed in (1, 2, 3, 3)]
    results.measure(dict_of, runs, lambda run: (run[2],))
    found = [(row["seed"], row.get("more"), row.get("jobs")) for row in results.cache.rows.values()]
    assert found == [(1, None, None), (3, 3, 1)]  # of which only the second was measured one at a time
    results.measure(dict_of, runs, lambda run: (run[2],), needs=["more"])
    assert results.cache.get("OldLDA", {"passes": 2}, 1)["more"] == 1
    arguments.only = ["sed=1"]
    with pytest.raises(SystemExit, match="--only sed: the columns of runs are model, options, seed"):
        results.measure(dict_of, runs)


def dict_of(model, options, seed, more):
    return {"more": more}


def test_likelihood_of_equation_26_is_exact_where_each_word_has_one_topic(script):
    """There nothing is left to draw."""
    likelihood, counts = script("hybrid_hdp_paper").likelihood, sp.csr_matrix([[3, 0, 1, 0], [0, 2, 0, 0]])
    model = SimpleNamespace(
        components_=np.array([[0.7, 0.3, 0, 0], [0, 0, 0.6, 0.4]]), doc_topic_prior_=np.array([0.5, 1.0])
    )
    first, second = np.array([3.5, 2.0]) / 5.5, np.array([2.5, 1.0]) / 3.5
    words = 3 * np.log(first[0] * 0.7) + np.log(first[1] * 0.6) + 2 * np.log(second[0] * 0.3)
    assert likelihood(model, counts) == pytest.approx(words / 6, abs=1e-4)


def test_ddm_in_numpy_is_the_estimator_and_of_other_documents_has_the_moments_of_the_mixture(script):
    literal, X = script("_literal_ddm"), make_bars(30, random_state=0).data.toarray().clip(max=1)
    settings = {"doc_topic_prior": 1.0, "second_moment": "first", "n_components_prior": "uniform"}
    model = DegenerateDirichletLDA(4, **settings, shuffle=None).fit(X)
    weights = literal.number_weights(np.argwhere(X), *X.shape, np.ones(4), of_all=False)
    assert_allclose(weights, model.n_components_posterior_, rtol=1e-6)
    one = np.argwhere(X[:1]), 1, X.shape[1], np.ones(4)  # there are no other documents
    assert_allclose(*(literal.number_weights(*one, of_all=of_all) for of_all in (True, False)))
    gamma, alpha = np.array([0.3, 0.7]), np.array([[2.0, 3.0]])
    means, squares = literal.moments(alpha, gamma)  # by Dirichlet(2, 3): 2/5, and 2 * 3 / (5 * 6)
    assert_allclose(means, [[0.3 + 0.7 * 0.4, 0.7 * 0.6]])
    assert_allclose(squares, [0.3 + 0.7 * 0.2])
    first, second = literal.matched(means, squares, alpha)[0]
    assert first / (first + second) == pytest.approx(means[0, 0])
    assert first * (first + 1) / ((first + second) * (first + second + 1)) == pytest.approx(squares[0])


@pytest.mark.law
def test_weights_of_annealed_importance_sampling_average_to_the_probability_of_a_document(script):
    """By 20,000 chains, to one percent; with one step, they are those of draws from the prior."""
    topics = np.random.default_rng(0).dirichlet(np.full(5, 0.5), 3)
    prior, X = np.array([0.2, 0.5, 0.8]), sp.csr_matrix([[2, 1, 0, 0, 1], [0, 0, 3, 1, 0]])
    exact = [Enumeration(np.repeat(np.arange(5), row), topics.T, prior).evidence for row in X.toarray()]
    evaluation = script("evaluation")
    for n_temperatures in (1, 20):
        log_weights = evaluation.annealed(X, topics, prior, 20_000, n_temperatures, seed=0)
        assert log_weights.shape == (2, 20_000)
        log_mean, error = evaluation.mean_of_weights(log_weights)
        assert np.all(np.abs(log_mean - np.log(exact)) < 4 * error) and np.all(error < 0.03)
    assert np.all(error < 0.01)


def test_the_hybrid_set_as_in_its_paper_updates_the_root_in_each_batch_as_far_as_topics(script, monkeypatch):
    """Two passes of four batches: all updates but the first, whose topics are random."""
    paper, numbers, step_size = script("hybrid_hdp_paper"), [], HybridTopics.step_size

    def noted(method, state, update, t=None):
        numbers.append(t)
        return step_size(method, state, update, t)

    monkeypatch.setattr(HybridTopics, "step_size", noted)
    kind, settings = paper.ONLINE["HybridHDP, paper"]
    model = kind(5, **{**settings, "batch_size": 10}, total_samples=40, random_state=0)
    paper.training_of("HybridHDP, paper", model, 2)(make_bars(40, random_state=0).data)
    assert [t for t in numbers if t is not None] == list(range(2, 9))


def test_gaps_of_g_ope_to_the_maximum_fall_and_stay_above_zero(script, monkeypatch):
    paper, bars = script("g_ope_paper"), make_bars(200, random_state=0).data
    monkeypatch.setattr(paper, "training_parts", lambda corpus: ([bars], bars[:20]))
    monkeypatch.setattr(paper, "K", 10)
    row = paper.measure("bars", 0, 0.5, 50, 0.7, "rate")
    assert 0.0 < row["gap"] == row["gaps"][-1] < row["gaps"][0] / 100
    assert row["exponent"] == pytest.approx(np.log10(row["gaps"][0] / row["gaps"][-1]) / 2, abs=1e-4)


def test_short_texts_are_drawn_from_documents_and_pools_have_few_of_one_group(script):
    study, rng = script("short_texts"), np.random.default_rng(0)
    X = sp.csr_matrix(rng.poisson(1.0, size=(100, 30)))
    short = study.drawn(X, 5, rng)
    assert (short.sum(axis=1) == 5).all() and (X - short).min() == 0
    groups = np.repeat([4, 2, 7], [45, 15, 40])
    pools = study.pooled(sp.identity(100, dtype=int, format="csr"), groups, seed=0)
    assert (pools.sum(axis=0) == 1).all() and pools.shape == (6, 100)  # three, one and two
    assert pools.sum(axis=1).max() == study.POOL
    assert all(len(set(groups[pools[[i]].indices])) == 1 for i in range(6))
    assert [words.tolist() for words in study.tokens_of(sp.csr_matrix([[0, 2, 1], [1, 0, 0]]))] == [
        [1, 1, 2],
        [0],
    ]


def test_the_posterior_of_a_topic_for_a_whole_document_is_exact(script):
    mixture = script("short_texts").Mixture(2, 0)
    mixture.learn(np.array([[2.9, 0.9], [0.9, 0.9]]), np.array([2.9, 0.9]))
    first, second = 0.75 * 0.75**2 * 0.25, 0.25 * 0.5**3
    assert mixture.transform(sp.csr_matrix([[2, 1]])) == pytest.approx(
        np.array([[first, second]]) / (first + second)
    )


def test_a_claim_reads_what_a_run_had_by_some_number_of_documents(script):
    number, row = script("_claims").number, {"x": [3.0, 2.0, 1.0], "documents": [5, 7, 9]}
    for most, value in [(4, None), (7, 2.0), (8, 2.0)]:
        assert number(row, {"value": "x", "documents": most}) == value
    assert number(row, {"value": "x"}) == 1.0
    assert number({"x": {"A": [3.0, 2.0], "B": None}}, {"value": ["x", "A"]}) == 2.0
    assert number({"x": {"A": [3.0, 2.0], "B": None}}, {"value": ["x", "B"]}) is None


def test_a_comparison_of_platforms_keeps_the_columns_of_other_machines(script, study, tmp_path, monkeypatch):
    module, results = script("platforms"), study.Study("platforms", Namespace(update=False, output=tmp_path))
    monkeypatch.setattr(module, "ESTIMATORS", ["A", "B"])
    results.write("seeds", ["estimator", "C"], [["A", "1e-09"]])
    here, there = str(tmp_path / "here.npz"), str(tmp_path / "there.npz")
    np.savez(here, X=np.ones(3), A=np.array([1.0, 2.0]), B=np.ones(2))
    np.savez(there, X=np.ones(3), A=np.array([1.0, 1.0]), B=np.ones(2))
    module.compare(results, [f"D={there}", here])
    first, second = study.read_tables(tmp_path / "platforms.csv")["seeds"]
    assert first == {"estimator": "A", "C": "1e-09", "D": "5e-01"}
    assert second == {"estimator": "B", "C": "", "D": "the same bits"}
    np.savez(there, X=np.zeros(3))
    with pytest.raises(SystemExit, match="other documents"):
        module.compare(results, [f"D={there}", here])


def test_every_run_is_kept_once_with_a_version_that_there_was(study, script):
    version_of = script("_versions").version_of
    for path in RUNS:
        name, rows = path.name.removesuffix("_runs.jsonl"), study.Cache(path).rows
        assert len(rows) == len(path.read_text().splitlines()) > 0, name
        assert all(1 <= row["version"] <= version_of(name, run) for run, row in rows.items()), name


STUDIES = [*(path.name.removesuffix("_runs.jsonl") for path in RUNS), "claims", "older_runs"]
WITHOUT_RUNS = {"cost", "curves", "engines", "import_time", "platforms", "speed", "tests"}
NEED_CORPORA = {"document_streams"}
PREDICTED = {"scale_plan": {"main", "border", "simulation"}}  # from those of the runs, in ten seconds


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Precision loss")  # of intervals of equal values
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.data] * (name in NEED_CORPORA)) for name in STUDIES]
)
def test_published_tables_are_those_of_the_runs(name, script, study, tmp_path, monkeypatch):
    module, write = script(name if name in SCRIPTS else f"{name}_paper"), study.Study.write
    no_picture = {"panels": lambda titles, *_: (MagicMock(), {title: MagicMock() for title in titles})}
    for drawing in ("panels", "line", "note_seeds", "documents_axis", "save", "finish"):
        monkeypatch.setattr(module, drawing, no_picture.get(drawing, lambda *_, **__: None), raising=False)
    monkeypatch.setattr(  # all rows at once
        study.Study, "write", lambda self, table, header, rows: write(self, table, header, list(rows))
    )
    results = study.Study(name, Namespace(update=True))
    results.folder = tmp_path
    module.write_tables(results)
    written, published = (study.read_tables(path / f"{name}.csv") for path in (tmp_path, study.PUBLISHED))
    left_out = {study.MEASURED_ON} | PREDICTED.get(name, set())
    assert written == {table: rows for table, rows in published.items() if table not in left_out}


def test_every_published_study_has_its_runs(study):
    missing = {path.stem for path in study.PUBLISHED.glob("*.csv")} - set(STUDIES) - WITHOUT_RUNS
    assert not missing, f"benchmarks/runs has nothing of {sorted(missing)}"


@pytest.mark.parametrize("columns", ["speed HEAD main", "cost HEAD main", "cost PARTS_HEAD parts"])
def test_published_tables_have_the_columns_that_are_written(columns, script, study):
    name, head, table = columns.split()
    first, *_ = study.read_tables(study.PUBLISHED / f"{name}.csv")[table]
    assert list(first) == getattr(script(name), head)


def test_costs_of_a_token_are_the_least_of_all_turns(script, monkeypatch):
    cost, turns = script("cost"), iter(range(100))
    monkeypatch.setattr(cost, "apart", lambda *case: [20_000, 7, 500.0 - next(turns), next(turns) + 0.6, 0.5])
    assert list(cost.measured("kos", [(0, 7)])) == [["kos", "20000", "7", "492", "2", "0.500"]]
    assert script("scale_plan").token("drawn", 20_000, 7) == {"words": 20_000, "ns": 482.0}


def test_the_predicted_cost_of_a_round_is_that_of_a_simulation(script):
    """One lane by hand, to the last digit; more of them within what overlaps and what differs by chance."""
    plan = script("scale_plan")
    cluster = plan.Cluster(spread=0.0)
    costs = Namespace(task=1e-3, dependency=1e-4, byte=1e-9)
    alone = plan.Round(lanes=1, shards=1, work=2.0, rows=1e9, added=5e8, merging=0.5)
    by_hand = 3 * 1e-3 + 2 * 1e-4 + 1.5e9 * (1 / cluster.bandwidth + 1e-9) + 2.0 + 0.5
    assert alone.seconds(costs, cluster) == pytest.approx(by_hand + 4 * cluster.latency)
    several = plan.Round(lanes=16, shards=4, work=2.0, rows=1e8, added=5e7, merging=0.1)
    simulated = plan.simulate(several, costs, plan.Cluster(), 20, 0) / 20
    assert 0.9 < several.seconds(costs, plan.Cluster()) / simulated < 1.25


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_published_results_are_written_only_when_asked(name, script, study, monkeypatch, tmp_path):
    folders, module = [], script(name)

    def stop(name, arguments):
        folders.append(study.Study(name, arguments).folder)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "Study", stop)
    monkeypatch.setattr(module, "load", lambda name: (None, None, None), raising=False)
    for flags in ((), ("--update",), ("--output", str(tmp_path))):
        monkeypatch.setattr(sys, "argv", [name, *flags])
        with pytest.raises(KeyboardInterrupt):
            module.main()
    assert folders == [study.OUTPUT, study.PUBLISHED, tmp_path]
