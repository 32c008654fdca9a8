"""Shares of topics over time: their values, their intervals, and how dates are read."""

import io
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.datasets import make_bars
from sktopic.inspection import name_topics, plot_topics_over_time, top_words, topics_over_time
from sktopic.inspection._time import interval_of_share, share_of_tokens
from sktopic.lda import OnlineEMLDA

pd = pytest.importorskip("pandas")
N_DOCUMENTS = 60


@pytest.fixture(scope="module")
def bars():
    return make_bars(N_DOCUMENTS, random_state=0).data


@pytest.fixture(scope="module")
def lda(bars):
    return OnlineEMLDA(n_components=4, max_iter=2, random_state=0).fit(bars)


@pytest.fixture(scope="module")
def years():
    return np.random.default_rng(0).permutation(np.repeat([2001, 2003, 2004], [1, 20, 39]))


def test_shares_are_those_of_the_tokens_of_a_period(bars, lda, years):
    table = topics_over_time(lda, bars, years)
    assert table["period"].tolist() == np.repeat([2001, 2003, 2004], 4).tolist()
    assert table["topic"].tolist() == [0, 1, 2, 3] * 3
    assert table["name"][:4].tolist() == ["Topic 0", "Topic 1", "Topic 2", "Topic 3"]
    lengths, theta = np.asarray(bars.sum(axis=1)).ravel(), lda.transform(bars)
    for year, rows in table.groupby("period"):
        of_year = years == year
        tokens = lengths[of_year] @ theta[of_year]
        assert_allclose(rows["share"], tokens / lengths[of_year].sum())
        assert (rows["n_documents"] == of_year.sum()).all()
        if of_year.sum() > 1:
            assert ((rows["low"] < rows["share"]) & (rows["share"] < rows["high"])).all()
        else:
            assert rows[["standard_error", "low", "high"]].isna().all(axis=None)


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


@pytest.mark.parametrize(("n_documents", "least"), [(10, 0.88), (40, 0.915), (200, 0.925)])
def test_intervals_contain_the_true_share(n_documents, least):
    """Ninety-five in a hundred, fewer where documents are few; lengths depend on the topics."""
    rng = np.random.default_rng(n_documents)
    n_periods, prior = 1500, np.full(4, 0.3)

    def documents(n):
        theta = rng.dirichlet(prior, n)
        return np.exp(0.7 * rng.normal(size=n) + theta[:, 0]), theta

    # E(length | theta) is exp(theta_0) up to a factor.
    theta = rng.dirichlet(prior, 1_000_000)
    truth = np.exp(theta[:, 0]) @ theta / np.exp(theta[:, 0]).sum()
    lengths, theta = documents(n_periods * n_documents)
    share, error, n = share_of_tokens(lengths, theta, np.arange(n_periods).repeat(n_documents))
    low, high = interval_of_share(share, error, n, 0.95)
    covered = ((low < truth) & (truth < high)).mean(axis=0)
    assert covered.min() > least and covered.max() < 0.965


def test_shares_that_do_not_vary_are_their_own_interval():
    share = np.array([[0.0, 1.0, 0.25]])
    low, high = interval_of_share(share, np.zeros_like(share), np.array([5]), 0.9)
    assert_allclose([low, high], [share, share])


def test_documents_without_words_and_the_order_of_rows_do_not_matter(bars, lda, years):
    expected = topics_over_time(lda, bars, years)
    order = np.random.default_rng(2).permutation(N_DOCUMENTS)
    shuffled = topics_over_time(lda, bars[order], years[order])
    pd.testing.assert_frame_equal(shuffled, expected)
    padded = sparse.vstack([bars, sparse.csr_array((2, bars.shape[1]), dtype=bars.dtype)]).tocsr()
    pd.testing.assert_frame_equal(topics_over_time(lda, padded, [*years, 2003, 2010]), expected)
    with pytest.raises(ValueError, match="X has no document with words"):
        topics_over_time(lda, bars * 0, years)


def test_dates_are_read_in_all_their_forms(bars, lda, years):
    expected = topics_over_time(lda, bars, years)["share"]
    january = pd.to_datetime([f"{year}-01-15" for year in years])
    for dates in (january, january.to_numpy(), pd.Series(january), january.strftime("%Y-%m-%d").tolist()):
        for freq in ("YS", "MS", None):
            table = topics_over_time(lda, bars, dates, freq)
            assert_allclose(table["share"], expected)
            assert table["period"].unique()[0] == pd.Timestamp(2001, 1, 1 if freq else 15)
    assert topics_over_time(lda, bars, years, "2YS")["period"].dt.year.unique().tolist() == [2001, 2003]
    periods = topics_over_time(lda, bars, january.to_period("M"))["period"]
    assert periods.unique()[2] == pd.Timestamp(2004, 1, 1)


@pytest.mark.parametrize(
    ("dates", "freq", "error", "message"),
    [
        ([2001], None, ValueError, "dates has 1 entries, but X has 60 documents"),
        (2001, None, TypeError, "dates=2001 is invalid: must have one date for each document"),
        ([2001.0] * N_DOCUMENTS, None, TypeError, "dates has dtype float64"),
        (["soon"] * N_DOCUMENTS, None, ValueError, "cannot be read by pandas.to_datetime"),
        (["2001", None] * 30, None, ValueError, "dates has 30 missing values, the first for document 1"),
        ([20010115] * N_DOCUMENTS, "YS", ValueError, "with freq, years 1 to 9999 are allowed"),
        ([2001] * N_DOCUMENTS, "fortnight", ValueError, "freq='fortnight': Invalid frequency"),
    ],
)
def test_dates_that_cannot_be_read_are_refused(bars, lda, dates, freq, error, message):
    with pytest.raises(error, match=message):
        topics_over_time(lda, bars, dates, freq)


def test_pipelines_read_texts():
    texts = ["cat dog cat", "dog cat", "sun sky", "sky sun sky"]
    pipeline = make_pipeline(CountVectorizer(), OnlineEMLDA(n_components=2, random_state=0)).fit(texts)
    table = topics_over_time(pipeline, texts, [1, 1, 2, 2])
    assert_allclose(table.groupby("period")["share"].sum(), 1)


@pytest.mark.parametrize("name", ["NA", "null"])
def test_a_name_that_pandas_reads_as_missing_is_explained(bars, years, name):
    pytest.importorskip("matplotlib").use("Agg")
    lda = OnlineEMLDA(n_components=2, max_iter=1, random_state=0).fit(bars)
    name_topics(lda, {1: name})
    file = io.StringIO(topics_over_time(lda, bars, years).to_csv(index=False))
    with pytest.raises(ValueError, match=r"name=nan of topic 1 is invalid: .* keep_default_na=False"):
        plot_topics_over_time(pd.read_csv(file))
    file.seek(0)
    table = pd.read_csv(file, keep_default_na=False, na_values=[""])
    ax = plot_topics_over_time(table, topics=[name])[0]
    assert ax.get_title(loc="left").startswith(f"{name}\n")


def test_plot_has_a_panel_for_each_topic(bars, lda, years):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    table = topics_over_time(lda, bars, years, "YS")
    axes = plot_topics_over_time(table, topics=[3, "Topic 0", 1], n_columns=2)
    axes[0].figure.canvas.draw()
    words = top_words(lda, n_words=3)
    expected = [f"Topic {topic}\n{', '.join(words[topic])}" for topic in (3, 0, 1)]
    assert [ax.get_title(loc="left") for ax in axes] == expected
    assert axes[0].figure.axes == axes.tolist()
    line = axes[0].lines[0]
    assert_allclose(line.get_ydata(), table.loc[table["topic"] == 3, "share"])
    assert len(plot_topics_over_time(topics_over_time(lda, bars, years))) == 4
    assert plot_topics_over_time(table, topics=[2]).shape == (1,)
    with pytest.raises(TypeError, match="fig is a Axes"):
        plot_topics_over_time(table, fig=axes[0])
    plt.close("all")
    with pytest.raises(ValueError, match=r"topics has 4, .* from 0 to 3"):
        plot_topics_over_time(table, topics=[4])
    with pytest.raises(ValueError, match="must be one of 0, 2, or"):
        plot_topics_over_time(table[table["topic"] % 2 == 0], topics=[1])
    with pytest.raises(TypeError, match="topics=3"):
        plot_topics_over_time(table, topics=3)
    with pytest.raises(ValueError, match=r"'n_columns' .* Got 0"):
        plot_topics_over_time(table, n_columns=0)
    with pytest.raises(TypeError, match="the table is a list without columns period, topic"):
        plot_topics_over_time([])


def test_intervals_are_inside_the_picture(bars, lda):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    years = np.repeat([2000, 2001, 2002], [1, 3, N_DOCUMENTS - 4])
    table = topics_over_time(lda, bars, years)
    assert (table["high"] > 1.5 * table["share"]).any()
    for ax, (_, rows) in zip(plot_topics_over_time(table), table.groupby("topic")):
        (band,) = ax.collections
        drawn, view = band.get_datalim(ax.transData), ax.viewLim
        assert_allclose([drawn.y0, drawn.y1], [rows["low"].min(), rows["high"].max()])
        assert view.x0 < drawn.x0 and drawn.x1 < view.x1 and 0 == view.y0 <= drawn.y0 and drawn.y1 < view.y1
    plt.close("all")


def test_missing_pandas_is_reported_with_the_remedy(bars, lda, years, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        topics_over_time(lda, bars, years)
