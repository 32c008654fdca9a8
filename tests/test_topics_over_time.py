"""Shares of topics over time: their values, their intervals, how dates are read, and the picture."""

import io
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from scipy.special import logit
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.datasets import make_bars
from sktopic.inspection import name_topics, plot_topics_over_time, top_words, topics_over_time
from sktopic.inspection._time import interval_of_share, share_of_tokens
from sktopic.lda import OnlineEMLDA

from .conftest import assert_raises

N_DOCUMENTS = 60
BARS = make_bars(N_DOCUMENTS, random_state=0).data
YEARS = np.random.default_rng(0).permutation(np.repeat([2001, 2003, 2004], [1, 20, 39]))


@pytest.fixture(scope="module")
def lda():
    return OnlineEMLDA(n_components=4, max_iter=2, random_state=0).fit(BARS)


@pytest.fixture(scope="module")
def table(lda):
    return topics_over_time(lda, BARS, YEARS)


def test_shares_are_those_of_the_tokens_of_a_period(lda, table):
    assert table["period"].tolist() == np.repeat([2001, 2003, 2004], 4).tolist()
    assert table["topic"].tolist() == [0, 1, 2, 3] * 3
    assert table["name"][:4].tolist() == ["Topic 0", "Topic 1", "Topic 2", "Topic 3"]
    lengths, theta = np.asarray(BARS.sum(axis=1)).ravel(), lda.transform(BARS)
    for year, rows in table.groupby("period"):
        of_year = year == YEARS
        tokens = lengths[of_year] @ theta[of_year]
        assert_allclose(rows["share"], tokens / lengths[of_year].sum())
        assert (rows["n_documents"] == of_year.sum()).all()
        if of_year.sum() == 1:
            assert rows[["standard_error", "low", "high"]].isna().all(axis=None)
    for level in (0.95, 0.5):
        rows = topics_over_time(lda, BARS, YEARS, confidence_level=level)[4:]
        quantile = stats.t.ppf(0.5 + level / 2, rows["n_documents"] - 1)
        width = quantile * rows["standard_error"] / (rows["share"] * (1 - rows["share"]))
        assert_allclose(logit(rows["low"]), logit(rows["share"]) - width)
        assert_allclose(logit(rows["high"]), logit(rows["share"]) + width)


def test_standard_error_is_the_jackknife_left_out_one_by_one():
    rng = np.random.default_rng(1)
    lengths, theta = rng.integers(1, 50, 30).astype(float), rng.dirichlet([0.3] * 5, 30)
    codes = rng.permutation(np.repeat([0, 1, 2], [1, 9, 20]))
    share, error, n_documents = share_of_tokens(lengths, theta, codes)
    assert n_documents.tolist() == [1, 9, 20]
    for period in (1, 2):
        weights, proportions = lengths[codes == period], theta[codes == period]
        m = len(weights)
        without = [
            np.delete(weights, d) @ np.delete(proportions, d, axis=0) / np.delete(weights, d).sum()
            for d in range(m)
        ]
        squares = (np.array(without) - share[period]) ** 2
        assert_allclose(error[period], np.sqrt((m - 1) / m * squares.sum(axis=0)))
    assert np.isnan(error[0]).all()
    certain = np.array([[0.0, 1.0, 0.25]])  # which do not vary
    assert_allclose(interval_of_share(certain, 0 * certain, np.array([5]), 0.9), [certain, certain])


def test_documents_without_words_and_the_order_of_rows_do_not_matter(lda, table):
    order = np.random.default_rng(2).permutation(N_DOCUMENTS)
    pd.testing.assert_frame_equal(topics_over_time(lda, BARS[order], YEARS[order]), table)
    padded = sparse.vstack([BARS, sparse.csr_array((2, BARS.shape[1]), dtype=BARS.dtype)]).tocsr()
    pd.testing.assert_frame_equal(topics_over_time(lda, padded, [*YEARS, 2003, 2010]), table)
    assert_raises(ValueError, "X has no document with words", topics_over_time, lda, BARS * 0, YEARS)


def test_dates_are_read_in_all_their_forms(lda, table):
    january = pd.to_datetime([f"{year}-01-15" for year in YEARS])
    for dates in (january, january.to_numpy(), pd.Series(january), january.strftime("%Y-%m-%d").tolist()):
        for freq in ("YS", None):
            found = topics_over_time(lda, BARS, dates, freq)
            assert_allclose(found["share"], table["share"])
            assert found["period"].unique()[0] == pd.Timestamp(2001, 1, 1 if freq else 15)
    assert topics_over_time(lda, BARS, YEARS, "2YS")["period"].dt.year.unique().tolist() == [2001, 2003]
    for years in (np.array(YEARS, dtype=object), pd.Series(YEARS, dtype=object), pd.Categorical(YEARS)):
        assert topics_over_time(lda, BARS, years)["period"].equals(
            topics_over_time(lda, BARS, YEARS)["period"]
        )
    periods = topics_over_time(lda, BARS, january.to_period("M"))["period"]
    assert periods.unique()[2] == pd.Timestamp(2004, 1, 1)


def test_dates_that_cannot_be_read_are_refused(lda):
    for dates, freq, error, message in (
        ([2001], None, ValueError, "dates has 1 entries, but X has 60 documents"),
        (2001, None, TypeError, "dates=2001 is invalid: must have one date for each document"),
        (np.full((N_DOCUMENTS, 1), 2001), None, TypeError, "must have one date for each document"),
        ([2001.0] * N_DOCUMENTS, None, TypeError, "dates has dtype float64"),
        ([2001, "2002"] * (N_DOCUMENTS // 2), "YS", TypeError, "dates has numbers among its objects"),
        (["soon"] * N_DOCUMENTS, None, ValueError, "cannot be read by pandas.to_datetime"),
        (["05.04.2020", "25.04.2020"] * 30, None, ValueError, r"format='%d.%m.%Y'\), or give integers"),
        ([2001, np.nan] * 30, None, ValueError, "dates has 30 missing values, the first for document 1"),
        (["2001", None] * 30, None, ValueError, "dates has 30 missing values, the first for document 1"),
        ([20010115] * N_DOCUMENTS, "YS", ValueError, "with freq, years 1 to 9999 are allowed"),
        (
            [2001] * N_DOCUMENTS,
            "fortnight",
            ValueError,
            "freq='fortnight' is invalid: must be an offset of pandas",
        ),
        ([2001, 2002] * 30, "1ns", ValueError, "freq='1ns' is invalid: must be an offset of pandas"),
        ([2001] * N_DOCUMENTS, pd.DateOffset(months=3), ValueError, "freq=.* is invalid: must be an offset"),
        ([2001] * N_DOCUMENTS, "0D", ValueError, "freq='0D' is invalid: must be .*not a positive length"),
        ([2001] * N_DOCUMENTS, "-1D", ValueError, "freq='-1D' is invalid: must be .*not a positive length"),
    ):
        assert_raises(error, message, topics_over_time, lda, BARS, dates, freq)


@pytest.mark.usefixtures("plt")
def test_a_name_that_pandas_reads_as_missing_is_explained():
    texts = ["cat dog cat", "dog cat", "sun sky", "sky sun sky"]
    pipeline = make_pipeline(CountVectorizer(), OnlineEMLDA(n_components=2, random_state=0)).fit(texts)
    name_topics(pipeline, {1: "NA"})
    file = io.StringIO(topics_over_time(pipeline, texts, [1, 1, 2, 2]).to_csv(index=False))
    with pytest.raises(ValueError, match=r"name=nan of topic 1 is invalid: .* keep_default_na=False"):
        plot_topics_over_time(pd.read_csv(file))
    file.seek(0)
    table = pd.read_csv(file, keep_default_na=False, na_values=[""])
    ax = plot_topics_over_time(table, topics=["NA"])[0]
    words = ", ".join(top_words(pipeline, n_words=3)[1])
    assert ax.get_title(loc="left") == f"NA\n{words}"


@pytest.mark.slow
def test_a_panel_has_the_shares_and_intervals_of_its_topic(lda, plt):
    years = np.repeat([2000, 2001, 2002], [2, 3, N_DOCUMENTS - 5])
    table, words = topics_over_time(lda, BARS, years), top_words(lda, n_words=3)
    assert (table["high"] > 1.5 * table["share"]).any()
    axes = plot_topics_over_time(table, topics=[3, "Topic 0", 1], n_columns=2)
    figure = axes[0].figure
    figure.canvas.draw()
    assert figure.axes == axes.tolist() and len(axes) == 3
    for ax, topic in zip(axes, (3, 0, 1)):
        assert ax.get_title(loc="left") == f"Topic {topic}\n{', '.join(words[topic])}"
        rows = table[table["topic"] == topic]
        assert_allclose(ax.lines[0].get_xydata(), rows[["period", "share"]])
        corners = {(round(x), round(y, 9)) for x, y in ax.collections[0].get_paths()[0].vertices}
        ends = zip(2 * [2000, 2001, 2002], [*rows["low"], *rows["high"]])
        assert corners == {(x, round(y, 9)) for x, y in ends}
        view = ax.viewLim  # intervals are inside
        assert view.x0 < 2000 and view.x1 > 2002 and view.y0 == 0 and rows["high"].max() < view.y1
    first, second, third = (ax.get_position() for ax in axes)
    assert first.x1 < second.x0 and third.y1 < first.y0 and third.x0 == pytest.approx(first.x0)
    dated = topics_over_time(lda, BARS, years, "YS")
    assert_array_equal(plot_topics_over_time(dated)[2].lines[0].get_xdata(), dated["period"].unique())
    for given, arguments, error, message in [
        (table, {"fig": axes[0]}, TypeError, "fig is a Axes"),
        (table, {"n_columns": 0}, ValueError, r"'n_columns' .* Got 0"),
        (table[table["topic"] % 2 == 0], {"topics": [1]}, ValueError, "must be one of 0, 2, or"),
        ([], {}, TypeError, "the table is a list without columns period, topic"),
    ]:
        assert_raises(error, message, plot_topics_over_time, given, **arguments)


def test_missing_pandas_is_reported_with_the_remedy(lda, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        topics_over_time(lda, BARS, YEARS)
