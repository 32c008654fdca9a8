"""How many topics: the curve measures what it says, and goes on where it stopped."""

import json
import math
import os
import time
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from sktopic import HybridHDP, OnlineEMLDA, model_selection
from sktopic._runtime._result_file import ResultFile
from sktopic.datasets import make_bars
from sktopic.metrics import coherence, document_completion, stability
from sktopic.model_selection import ModelMeasures, TopicNumberCurve, topic_number_curve
from sktopic.moment_matching import DegenerateDirichletLDA

from .conftest import assert_raises

X = make_bars(60, size=4, random_state=0).data
LDA = OnlineEMLDA(max_iter=2)
SETTINGS = {"n_components": [2, 8], "cv": 3, "n_words": 4}


def measured(curve):
    """All but the seconds."""
    return [
        (each.name, *map(tuple, (each.n_components, each.scores, each.coherences)), each.stability)
        for each in [*curve.models, *curve.references]
    ]


@pytest.fixture(scope="module")
def curve():
    return topic_number_curve(LDA, X, references=[HybridHDP(6, max_iter=2)], **SETTINGS)


@pytest.fixture
def fits(monkeypatch):
    """Counts the fits, and fails when no more are allowed."""
    run, allowed = model_selection._run_task, [100]

    def count(*arguments):
        if allowed[0] == 0:
            raise KeyboardInterrupt
        allowed[0] -= 1
        return run(*arguments)

    monkeypatch.setattr(model_selection, "_run_task", count)
    return allowed


def test_curve_measures_what_its_parts_do(curve):
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=3)
    models, scores, coherences = [], [], []
    for (train, test), seed in zip(KFold(3, shuffle=True, random_state=0).split(X), seeds):
        models.append(OnlineEMLDA(8, max_iter=2, random_state=seed).fit(X[train]))
        scores.append(document_completion(models[-1], X[test]))
        coherences.append(coherence(models[-1], X, n_words=4))
    eight = curve.models[1]
    assert_array_equal(eight.scores, scores)
    assert_array_equal(eight.coherences, coherences)
    assert eight.stability == stability(models, n_words=4)
    assert_array_equal(eight.n_components, [8, 8, 8])
    assert (eight.seconds > 0).all()
    assert curve.best == curve.one_standard_error == 8  # of eight bars
    assert curve.test_ratio == 0.5
    assert [each.name for each in curve.references] == ["HybridHDP"]


@pytest.mark.slow
def test_interrupted_curve_goes_on_from_its_file(curve, fits, tmp_path):
    references, file = [HybridHDP(6, max_iter=2)], tmp_path / "curve.jsonl"
    fits[0] = 4
    with pytest.raises(KeyboardInterrupt):
        topic_number_curve(LDA, X, references=references, results_file=file, **SETTINGS)
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 4 and {"key", "n_components", "score"} <= json.loads(lines[0]).keys()
    for n_bytes in 0, 30, len(lines[3]) - 1:  # of the last line, as a kill may leave it
        file.write_bytes(b"".join(lines[:3]) + lines[3][:n_bytes])
        fits[0] = 100
        loud = OnlineEMLDA(max_iter=2, n_jobs=2, verbose=1)
        resumed = topic_number_curve(loud, X.tocsc(), references=references, results_file=file, **SETTINGS)
        assert fits[0] == 94
        assert measured(resumed) == measured(curve)
        assert len(file.read_bytes().splitlines()) == 9
    fits[0] = 0
    assert measured(topic_number_curve(LDA, X, results_file=file, **SETTINGS))[0] == measured(curve)[0]
    for change in ({"X": X[1:]}, {"random_state": 1}, {"n_words": 3}, {"cv": 4}):
        with pytest.raises(KeyboardInterrupt):  # there is more to be computed
            topic_number_curve(LDA, **{"X": X, "results_file": file} | SETTINGS | change)


def test_parallel_fits_give_the_same_curve_and_are_kept_before_slower_ones_end(curve, monkeypatch, tmp_path):
    file, run = tmp_path / "curve.jsonl", model_selection._run_task

    def wait_for_a_result(i, *arguments):
        deadline = time.monotonic() + 60
        while i == 0 and not file.read_bytes():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return run(i, *arguments)

    monkeypatch.setattr(model_selection, "_run_task", wait_for_a_result)
    given = {"references": [HybridHDP(6, max_iter=2)], "results_file": file, **SETTINGS}
    with parallel_config("threading", n_jobs=2):
        assert measured(topic_number_curve(LDA, X, **given)) == measured(curve)


def test_a_file_of_anything_else_is_refused_and_stays(tmp_path):
    file = tmp_path / "thesis.txt"
    ResultFile(file).append("0", {})
    ours = file.read_bytes()
    for content, number in (
        (b"years of work", 1),
        (b"years of work\n", 1),
        (b'{"key": \n', 1),
        (ours + b"[]\n" + ours, 2),
        (ours + ours.replace(b'"0"', b'"1"'), 2),
        (ours + b"years of work", 2),
    ):
        file.write_bytes(content)
        message = rf"thesis.txt, line {number} is damaged: .* Delete the line"
        assert_raises(ValueError, message, topic_number_curve, LDA, X, results_file=file, **SETTINGS)
        assert file.read_bytes() == content
    file.unlink()
    getattr(os, "mkfifo", Path.mkdir)(file)  # a pipe is not waited for
    with pytest.raises(OSError, match="is not a regular file"):
        topic_number_curve(LDA, X, results_file=file, **SETTINGS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_components": -1}, "no top_words of -1 topics"),
        ({"n_components": None}, "n_components, score, coherence or seconds has another type"),
        ({"score": "high"}, "n_components, score, coherence or seconds has another type"),
        ({"top_words": [1, 2]}, "top_words that are no lists"),
        ({"top_words": [[], []]}, "top_words that are no lists of the same length"),
        ({"top_words": [[1], [{}]]}, "neither words nor columns"),
        ({"n_components": 0, "top_words": []}, "no top_words of 0 topics"),
        ({"more": 1}, "unexpected keyword argument 'more'"),
    ],
)
def test_results_that_no_fit_has_are_refused(changes, message, tmp_path):
    file, given = tmp_path / "curve.jsonl", {**SETTINGS, "n_components": [2]}
    topic_number_curve(LDA, X, results_file=file, **given)
    entry = json.loads(file.read_bytes().splitlines()[0])
    key, _ = entry.pop("key"), entry.pop("sha256")
    file.unlink()
    ResultFile(file).append(key, entry | changes)
    assert_raises(
        ValueError, f"curve.jsonl.*{message}", topic_number_curve, LDA, X, results_file=file, **given
    )


@pytest.mark.slow
def test_pipelines_take_texts_and_bring_their_references(tmp_path, capsys):
    words = np.array(["ape", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"])
    texts = [" ".join(words[np.random.RandomState(i).randint(4, size=12) + 4 * (i % 2)]) for i in range(40)]
    texts[0] += " rare rare"  # a word that not all folds have
    pipe = make_pipeline(CountVectorizer(), LatentDirichletAllocation(max_iter=3))
    reference = DegenerateDirichletLDA(4)
    settings = {"n_components": [3, 1, 2], "cv": 2, "n_words": 4, "references": [reference]}
    curve = topic_number_curve(pipe, texts, results_file=tmp_path / "curve.jsonl", verbose=1, **settings)
    assert_array_equal(curve.n_components, [1, 2, 3])
    assert [each.name for each in [*curve.models, *curve.references]] == [
        *["LatentDirichletAllocation"] * 3,
        "DegenerateDirichletLDA",
    ]
    assert curve.best > 1
    assert 0.2 < curve.models[1].stability <= 1  # of words by their names: columns differ
    assert "topic_number_curve 1 topics: 100%" in capsys.readouterr().err
    again = topic_number_curve(pipe, list(texts), results_file=tmp_path / "curve.jsonl", **settings)
    assert measured(again) == measured(curve)
    assert again.models[0].seconds.tolist() == curve.models[0].seconds.tolist()


def made(scores, last=None):
    """A curve of one topic and more, the last of which may be of another number."""
    ones = np.ones(len(scores[0]))
    models = [
        ModelMeasures("LDA", k * ones, np.array(each), ones, ones, 1.0) for k, each in enumerate(scores, 1)
    ]
    numbers = np.arange(1, len(scores) + 1)
    numbers[-1] = last or numbers[-1]
    return TopicNumberCurve(numbers, models, [], 0.25)


def test_rule_of_one_standard_error_compares_fold_by_fold():
    folds = np.array([-9.0, -5.0, -7.0, -6.0])
    curve = made([folds - [0.1, 0.1, 0.1, 0.12], folds - [0.2, -0.1, 0.0, 0.0], folds])
    assert curve.best == 3
    # The first is worse in every fold by about as much, however different the folds are.
    assert curve.one_standard_error == 2
    errors = np.std([0.2, -0.1, 0.0, 0.0], ddof=1) * math.sqrt(1 / 4 + 0.25)
    difference, error = curve._difference(curve.models[1])
    assert math.isclose(difference, -0.025) and math.isclose(error, errors)


def test_scores_that_are_missing_choose_nothing():
    assert made([[-2.0], [-1.0], [-1.0]]).one_standard_error == 2  # one fold has no standard error
    assert made([[math.nan, -1.0], [-2.0, -2.1]]).best == 2
    # A fold without words has no score, and is left out.
    nan = math.nan
    without = made([[nan, -3.0, -4.0], [nan, -2.0, -4.0]])
    other = made([[-3.0, -4.0], [-2.0, -4.0]])
    assert without.best == 2 and without._difference(without.models[0]) == other._difference(other.models[0])
    assert without.table["score"].tolist() == [-3.5, -3.0]
    assert_raises(ValueError, "no number of topics has a score", lambda: made([[math.nan]]).best)
    # Nor has one fold a stability.
    once = topic_number_curve(LDA, X, n_components=[1], cv=[np.split(np.arange(60), 2)], n_words=4)
    assert np.isnan(once.models[0].stability)


def test_folds_are_five_by_default():
    curves = [topic_number_curve(LDA, X, n_components=[2], cv=cv, n_words=4) for cv in (5, None)]
    assert measured(curves[0]) == measured(curves[1])


def test_folds_may_be_masks():
    positions = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]
    masks = [tuple(np.isin(np.arange(60), part) for part in fold) for fold in positions]
    settings = {"n_components": [2], "n_words": 4}
    curves = [topic_number_curve(LDA, X, cv=cv, **settings) for cv in (positions, masks)]
    assert measured(curves[0]) == measured(curves[1])
    assert curves[0].test_ratio == curves[1].test_ratio == 0.5


@pytest.mark.slow
def test_table_and_plot_show_numbers_and_references(curve, plt):
    table = curve.table
    assert table["model"].tolist() == ["OnlineEMLDA", "OnlineEMLDA", "HybridHDP"]
    assert table["score"].tolist() == [each.scores.mean() for each in [*curve.models, *curve.references]]
    assert table["difference"][1] == table["difference_se"][1] == 0
    axes = curve.plot()
    assert axes.shape == (4,)
    labels = [text.get_text() for text in axes[0].figure.legends[0].get_texts()]
    assert labels[:2] == ["best: 8 (the largest tried)", "one standard error: 8"]
    assert labels[2].startswith("HybridHDP: ")
    for last, scale in ((model_selection.WIDE - 1, "linear"), (model_selection.WIDE, "log")):
        axes = made([[-2.0, -1.0]] * 2, last).plot()
        assert [panel.get_xscale() for panel in axes] == [scale] * 4


def test_bad_arguments_are_named(tmp_path):
    for change, message in (
        ({"n_components": []}, "a list of integers >= 1"),
        ({"n_components": [0, 2]}, "a list of integers >= 1"),
        ({"n_components": [2.5]}, "a list of integers >= 1"),
        ({"param_name": "k"}, "OnlineEMLDA has no parameter k"),
        ({"n_words": 17}, "n_words=17"),
        (
            {"references": [HybridHDP]},
            "references=.* must be a list of estimators, but has <class .*HybridHDP",
        ),
        ({"references": ["HybridHDP"]}, "must be a list of estimators, but has 'HybridHDP'"),
        ({"references": make_pipeline(HybridHDP())}, r"references=Pipe.* is invalid: must be a list of est"),
        ({"cv": []}, r"cv=\[\] is invalid: must have at least one split"),
    ):
        assert_raises(ValueError, message, topic_number_curve, LDA, X, **SETTINGS | change)
    pipe = make_pipeline(CountVectorizer(tokenizer=lambda text: text.split()), LDA)  # it has no key
    given = {"results_file": tmp_path / "curve.jsonl", **SETTINGS}
    assert_raises(ValueError, "as a lambda", topic_number_curve, pipe, ["a b"] * 4, **given)
