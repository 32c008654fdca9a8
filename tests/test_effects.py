"""Effects of covariates on topic proportions: Rubin's rules by hand, tables and pictures."""

import math
import re
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.datasets import make_bars
from sktopic.inspection import estimate_effect, name_topics, plot_effects
from sktopic.inspection._effects import pooled_regressions
from sktopic.lda import DMRLDA, OnlineEMLDA, OnlineOPELDA

from .conftest import assert_raises

X = make_bars(60, random_state=0).data
IS_LATE = np.arange(60) >= 40
LENGTHS = np.random.default_rng(0).normal(size=60)


@pytest.fixture(scope="module")
def lda():
    return OnlineEMLDA(n_components=4, max_iter=2, random_state=0).fit(X)


def by_hand(design, draws):
    """One coefficient after the other, from the normal equations, with the formulas of the papers."""
    n, p = design.shape
    m = draws.shape[1]
    inverse = np.linalg.inv(design.T @ design)
    leverage = np.array([row @ inverse @ row for row in design])
    effects, errors, freedom = (np.empty((p, draws.shape[2])) for _ in range(3))
    for topic in range(draws.shape[2]):
        estimates, variances = [], []
        for i in range(m):
            estimate = inverse @ design.T @ draws[:, i, topic]
            meat = np.zeros((p, p))
            for row, y, h in zip(design, draws[:, i, topic], leverage):
                meat += np.outer(row, row) * ((y - row @ estimate) / (1 - h)) ** 2
            estimates.append(estimate)
            variances.append(np.diag(inverse @ meat @ inverse))
        for j in range(p):
            values = [estimate[j] for estimate in estimates]
            between = sum((value - np.mean(values)) ** 2 for value in values) / (m - 1)
            total = np.mean([variance[j] for variance in variances]) + (1 + 1 / m) * between
            share = (1 + 1 / m) * between / total
            of_draws = (m - 1) / share**2
            of_documents = (n - p + 1) / (n - p + 3) * (n - p) * (1 - share)
            effects[j, topic], errors[j, topic] = np.mean(values), math.sqrt(total)
            freedom[j, topic] = of_draws * of_documents / (of_draws + of_documents)
    return effects, errors, freedom


def test_regressions_are_pooled_by_rubins_rules():
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(30), rng.normal(size=30), rng.integers(0, 2, 30)])
    draws = rng.dirichlet(np.ones(3), size=(30, 6))
    for found, expected in zip(pooled_regressions(design, draws), by_hand(design, draws)):
        assert_allclose(found, expected, rtol=1e-10)
    # Draws that agree leave the error of the regression.
    effects, errors, freedom = pooled_regressions(design[:, :2], draws[:, :1].repeat(5, axis=1))
    line = stats.linregress(design[:, 1], draws[:, 0, 0])
    assert_allclose(effects[:, 0], [line.intercept, line.slope])
    assert 0.5 < errors[1, 0] / line.stderr < 2.0  # robust, so not the same
    assert_allclose(freedom, 29 / 31 * 28)


def test_table_has_the_effects_of_draws_on_each_covariate_and_topic(lda):
    shelves = np.array(list("abc") * 20)
    frame = pd.DataFrame({"late": IS_LATE, "length": LENGTHS, "shelf": shelves})
    design = np.column_stack([np.ones(60), IS_LATE, LENGTHS, shelves == "b", shelves == "c"])
    effects, errors, freedom = map(np.ravel, by_hand(design, lda.sample_proportions(X, 6)))
    for level in (0.5, 0.95):
        table = estimate_effect(lda, X, frame, n_samples=6, confidence_level=level)
        names = ["(intercept)", "late", "length", "shelf=b", "shelf=c"]
        assert_array_equal(table["covariate"], np.repeat(names, 4))
        assert_array_equal(table["topic"], list(range(4)) * 5)
        assert_array_equal(table["name"], [f"Topic {topic}" for topic in range(4)] * 5)
        width = stats.t.ppf(0.5 + level / 2, freedom) * errors
        found = table[["effect", "standard_error", "low", "high"]]
        expected = np.column_stack([effects, errors, effects - width, effects + width])
        assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    # Effects on proportions, which sum to one, sum to zero.
    sums = table.groupby("covariate", sort=False)["effect"].sum()
    assert_allclose(sums, [1.0, 0.0, 0.0, 0.0, 0.0], atol=1e-12)


def test_covariates_may_be_categories_booleans_and_pipelines_take_texts(lda):
    by_words = estimate_effect(lda, X, np.where(IS_LATE, "late", "early"))
    by_numbers = estimate_effect(lda, X, IS_LATE)
    assert list(by_words["covariate"].unique()) == ["(intercept)", "late"]
    assert_array_equal(by_words["effect"], by_numbers["effect"])
    # The first of ordered categories is the baseline.
    group = pd.Categorical(list("abc") * 20, categories=list("cab"))
    for covariate in (group, pd.Series(group)):
        assert list(estimate_effect(lda, X, covariate)["covariate"].unique()) == ["(intercept)", "a", "b"]
    table = estimate_effect(lda, X, pd.DataFrame({"shelf": group}))
    assert list(table["covariate"].unique()) == ["(intercept)", "shelf=a", "shelf=b"]
    texts = ["one two three", "two three four", "four five", "one five two"] * 5
    pipeline = make_pipeline(CountVectorizer(), OnlineEMLDA(2, random_state=0)).fit(texts)
    name_topics(pipeline, {0: "numbers"})
    table = estimate_effect(pipeline, texts, range(20))
    assert list(table["name"]) == ["numbers", "Topic 1"] * 2


def test_proportions_are_drawn_given_the_covariates_of_the_model(lda):
    D = IS_LATE[:, np.newaxis].astype(float)
    dmr = DMRLDA(n_components=4, max_iter=2, random_state=0).fit(X, covariates=D)
    design = np.column_stack([np.ones(60), IS_LATE])
    for given in ({"covariates": D}, {}):
        effects, errors, _ = map(np.ravel, by_hand(design, dmr.sample_proportions(X, 6, **given)))
        table = estimate_effect(dmr, X, IS_LATE, n_samples=6, model_covariates=given.get("covariates"))
        found = table[["effect", "standard_error"]]
        assert_allclose(found, np.column_stack([effects, errors]), rtol=1e-8, atol=1e-12)
    message = "model_covariates is invalid: must be None, because OnlineEMLDA has a prior without covariates"
    assert_raises(TypeError, message, estimate_effect, lda, X, IS_LATE, model_covariates=D)
    message = "model_covariates is invalid: must have one row for each of the 60 samples of X, but has 59"
    assert_raises(ValueError, message, estimate_effect, dmr, X, IS_LATE, model_covariates=D[1:])
    damaged = sp.csr_array(np.ones((60, 2)))
    damaged.indices[0] = 3
    message = "^model_covariates has column indices from 0 to 3; with its shape, 0 to 1 are allowed"
    assert_raises(ValueError, message, estimate_effect, dmr, X, IS_LATE, model_covariates=damaged)
    message = r"^model_covariates\.columns is invalid: must be distinct names"
    twice = pd.DataFrame(np.hstack([D, D]), columns=["late", "late"])
    assert_raises(ValueError, message, estimate_effect, dmr, X, IS_LATE, model_covariates=twice)
    message = "Negative values in data passed to DMRLDA"
    assert_raises(ValueError, message, estimate_effect, dmr, -X, IS_LATE, model_covariates=D)


@pytest.mark.slow
def test_covariates_that_determine_nothing_are_refused(lda):
    dummies = pd.get_dummies(pd.Series(list("abc") * 20))
    dummies.insert(1, "length", 2.0)
    invalid = r"(?s)covariates=.* must be a DataFrame, or an array .* Convert sparse matrices by toarray\(\)"
    for covariates, error, message in (
        (np.ones(59), ValueError, "covariates has 59 rows, but X has 60 documents"),
        (np.ones(60), ValueError, "columns before them: covariate; leave"),
        (["same"] * 60, ValueError, "no column that varies"),
        (np.where(IS_LATE, np.nan, 1.0), ValueError, "missing values in covariate"),
        (np.ma.array(np.ones(len(IS_LATE)), mask=IS_LATE), ValueError, "missing values in covariate"),
        (np.where(IS_LATE, np.inf, 1.0), ValueError, "infinite values in covariate"),
        (np.column_stack([LENGTHS, 3 - 2 * LENGTHS, IS_LATE]), ValueError, "columns before them: 1; leave"),
        (dummies, ValueError, "columns before them: length, c; leave"),
        (["one", *["other"] * 59], ValueError, "document 0 alone determines a coefficient"),
        (np.eye(60)[:, 1:], ValueError, "60 documents for 60 coefficients; more documents are needed"),
        ("year", TypeError, invalid),
        (
            pd.date_range("2020", periods=60),
            ValueError,
            "covariates has dates or durations in covariate; must",
        ),
        ([date(2020, 1, 1 + i % 3) for i in range(60)], ValueError, "has dates or durations in covariate"),
        (pd.DataFrame({"age": pd.to_timedelta(LENGTHS, "D")}), ValueError, "has dates or durations in age"),
        (sp.csr_array(LENGTHS[:, None]), TypeError, invalid),
        (iter(LENGTHS), TypeError, invalid),
        (LENGTHS[:, None, None], TypeError, invalid),
        ([[[1]]] * 60, TypeError, "covariates has values in covariate that are neither numbers nor"),
        (LENGTHS + 1j, ValueError, "covariates has complex numbers in covariate; real numbers are allowed"),
        ([np.nan, *"ab" * 29, "a"], ValueError, "missing values in covariate"),
        (LENGTHS * 1e-101, ValueError, "covariates has numbers of size .*e-101 in covariate; rescale them"),
        (LENGTHS * 1e101, ValueError, "covariates has numbers of size .*e.101 in covariate; rescale them"),
        (pd.DataFrame(np.eye(60, 2), columns=["a", "a"]), ValueError, "distinct names. Repeated: 'a'"),
        (pd.DataFrame({"(intercept)": LENGTHS}), ValueError, r"distinct names. Repeated: '\(intercept\)'"),
    ):
        assert_raises(error, message, estimate_effect, lda, X, covariates)
    assert_raises(ValueError, "n_samples", estimate_effect, lda, X, IS_LATE, n_samples=2**70)
    model = OnlineOPELDA(2, max_iter=1, random_state=0).fit(X[:5])  # which has no posterior of proportions
    message = "OnlineOPELDA; a fitted topic model with sample_proportions"
    assert_raises(TypeError, message, estimate_effect, model, X, IS_LATE)


@pytest.mark.parametrize("rows", [list, tuple, partial(np.array, dtype=object)])
def test_numbers_beside_strings_are_numbers(lda, rows):
    places = ["north" if late else "south" for late in IS_LATE]
    frame = estimate_effect(lda, X, pd.DataFrame({0: LENGTHS, 1: places}))
    given = estimate_effect(lda, X, rows(list(zip(LENGTHS, places))))
    assert given.covariate.unique().tolist() == ["(intercept)", "0", "1=south"]
    pd.testing.assert_frame_equal(given, frame)


@pytest.mark.parametrize("kind", [Decimal, Fraction, lambda number: number * 2**70])
def test_numbers_of_other_types_are_numbers(lda, kind):
    numbers = [kind(int(number)) for number in LENGTHS]
    expected = estimate_effect(lda, X, pd.DataFrame({"number": np.array(numbers, dtype=np.float64)}))
    given = estimate_effect(lda, X, pd.DataFrame({"number": pd.Series(numbers, dtype=object)}))
    pd.testing.assert_frame_equal(given, expected)


def test_covariates_of_extreme_size_have_effects_of_the_inverse_size(lda):
    effects = estimate_effect(lda, X, LENGTHS)[4:]
    for factor in (2.0**-330, 2.0**330):
        scaled = estimate_effect(lda, X, LENGTHS * factor)[4:]
        for name in ("effect", "standard_error", "low", "high"):
            assert_allclose(scaled[name] * factor, effects[name], rtol=1e-9)


@pytest.mark.slow
def test_plot_sorts_topics_by_their_effect(lda, plt):
    table = estimate_effect(lda, X, pd.DataFrame({"late": IS_LATE, "length": LENGTHS}))
    ax = plot_effects(table, "late", topics=[3, "Topic 0", 2])
    rows = table[(table["covariate"] == "late") & np.isin(table["topic"], [0, 2, 3])].sort_values("effect")
    labels = rows["name"] + ": " + rows["words"]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(labels)
    assert_array_equal(ax.get_yticks(), [0, 1, 2])
    points, _, (intervals,) = ax.containers[0]
    assert_allclose(points.get_xydata(), np.column_stack([rows["effect"], [0, 1, 2]]))
    ends = np.array(intervals.get_segments())
    assert_allclose(ends[..., 0], rows[["low", "high"]])
    assert_array_equal(ends[..., 1], [[0, 0], [1, 1], [2, 2]])
    assert_array_equal(ax.lines[0].get_xdata(), [0, 0])  # no effect
    assert ax.get_title(loc="left") == "late"
    narrow = plt.figure(figsize=(3, 2)).subplots()
    assert plot_effects(table, "length", ax=narrow) is narrow
    labels = [label.get_text() for label in narrow.get_yticklabels()]
    assert all(re.fullmatch(r"Topic \d: .+…", label) and len(label) <= 14 for label in labels)
    assert len(narrow.get_xticks()) <= 4  # with one beyond each end
    for arguments, message in [
        ((), "must be one of"),
        (("year",), "covariate='year' is invalid"),
        ((["late"],), r"covariate=\['late'\] is invalid"),
    ]:
        assert_raises(ValueError, message, plot_effects, table, *arguments)
    assert_raises(TypeError, "without columns topic", plot_effects, X)
