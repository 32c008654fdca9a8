"""Intrusion tasks: their definition, and scores against hand-computed numbers and scipy.stats."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, binom, binomtest, t
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sktopic.lda import OnlineEMLDA
from sktopic.metrics import (
    IntrusionTask,
    document_intrusion_tasks,
    intrusion_score,
    word_intrusion_tasks,
)

from .conftest import assert_raises

RNG = np.random.RandomState(0)
NAMES = [f"word {j}" for j in range(40)]
COMPONENTS = RNG.dirichlet(np.full(40, 0.2), size=6)
PROPORTIONS = RNG.dirichlet(np.full(6, 0.3), size=50)
TEXTS = [f"text {i}" for i in range(50)]


def candidates(weights, topic, n):
    """The top of a topic, and its intruders by definition: sorted lists, and one item at a time."""
    top = [sorted(range(len(row)), key=lambda item, row=row: -row[item])[:n] for row in weights]
    own = weights[topic].tolist()
    others = {item for k, items in enumerate(top) if k != topic for item in items}
    return top[topic], {item for item in others - set(top[topic]) if own[item] <= sum(own) / len(own)}


OF_WORDS = word_intrusion_tasks, (COMPONENTS, NAMES), {"n_words": 4}
OF_DOCUMENTS = document_intrusion_tasks, (PROPORTIONS, TEXTS), {"n_documents": 4}


@pytest.mark.parametrize(("make", "given", "n"), [OF_WORDS, OF_DOCUMENTS], ids=["words", "documents"])
def test_tasks_are_the_top_and_an_intruder_by_definition(make, given, n):
    weights, texts = COMPONENTS if given[0] is COMPONENTS else PROPORTIONS.T, given[1]
    drawn = [set() for _ in weights]
    for seed in range(300):
        tasks = make(*given, **n, random_state=seed)
        assert [task.topic for task in tasks] == list(range(6))
        for task in tasks:
            top, _ = candidates(weights, task.topic, 4)
            intruder = task.indices[task.intruder]
            assert set(task.indices) - {intruder} == set(top) and len(task.indices) == 5
            assert task.options == tuple(texts[i] for i in task.indices)
            drawn[task.topic].add(intruder)
    # All candidates are drawn, and nothing else.
    assert drawn == [candidates(weights, topic, 4)[1] for topic in range(6)]


def test_the_intruder_is_at_every_place_equally_often():
    tasks = (word_intrusion_tasks(COMPONENTS, NAMES, random_state=seed) for seed in range(500))
    places = [task.intruder for some in tasks for task in some]
    counts = np.bincount(places, minlength=6)
    # Five standard deviations of 3000 draws
    assert np.abs(counts - 500).max() < 5 * np.sqrt(3000 * 5 / 36)


def test_a_seed_gives_the_same_tasks_and_none_others():
    assert word_intrusion_tasks(COMPONENTS, NAMES) == word_intrusion_tasks(COMPONENTS, NAMES, random_state=0)
    state = np.random.RandomState(0)
    first, second = (word_intrusion_tasks(COMPONENTS, NAMES, random_state=state) for _ in range(2))
    assert first == word_intrusion_tasks(COMPONENTS, NAMES) and first != second
    assert document_intrusion_tasks(PROPORTIONS, TEXTS) != document_intrusion_tasks(
        PROPORTIONS, TEXTS, random_state=1
    )


def test_models_pipelines_and_arrays_give_the_same_tasks():
    texts = ["cat dog cat mouse", "dog cat mouse", "sun sky moon", "sky sun sun moon"] * 5
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(2, random_state=0)).fit(texts)
    names = pipe[0].get_feature_names_out()
    tasks = word_intrusion_tasks(pipe, n_words=3)
    assert tasks == word_intrusion_tasks(pipe[-1].components_ * 7, names, n_words=3)
    assert tasks == word_intrusion_tasks(pipe[-1], names, n_words=3)
    assert repr(tasks) == repr(word_intrusion_tasks(pipe[-1], np.array(names, dtype=str), n_words=3))
    theta = pipe.transform(texts)
    of_documents = document_intrusion_tasks(theta, pd.Series(texts, index=range(20, 0, -1)), n_documents=2)
    assert of_documents == document_intrusion_tasks(theta * 3, texts, n_documents=2)
    assert repr(of_documents) == repr(document_intrusion_tasks(theta, np.array(texts), n_documents=2))


def test_of_documents_with_equal_texts_only_the_first_is_used():
    """Also if copies have other proportions, as shortened texts may have."""
    rows = RNG.permutation(np.r_[np.arange(50), RNG.randint(50, size=60)])
    theta, texts = PROPORTIONS[rows] ** RNG.uniform(1.0, 2.0, (110, 1)), [TEXTS[row] for row in rows]
    kept = np.sort([texts.index(text) for text in set(texts)])
    for seed in range(20):
        tasks = document_intrusion_tasks(theta, texts, random_state=seed)
        left = document_intrusion_tasks(theta[kept], [texts[row] for row in kept], random_state=seed)
        for task, expected in zip(tasks, left, strict=True):
            assert len(set(task.options)) == 4
            assert (task.options, task.intruder) == (expected.options, expected.intruder)
            assert task.indices == tuple(kept[[*expected.indices]])
            assert task.options == tuple(texts[row] for row in task.indices)


def test_a_topic_whose_words_are_equally_probable_has_intruders():
    """All words have the mean probability, up to rounding errors."""
    for n_features in range(10, 300):
        names = list(map(str, range(n_features)))
        components = np.vstack([np.full(n_features, 0.1), np.arange(n_features)])
        task = word_intrusion_tasks(components, names)[0]
        assert task.indices[task.intruder] >= n_features - 5


def test_what_raters_see_has_no_solution():
    task = IntrusionTask(3, "Which?", ("cat", "sun", "dog"), (0, 7, 1), 1)
    assert str(task) == "Which?\n0: cat\n1: sun\n2: dog"
    assert repr(task) == (
        "IntrusionTask(topic=3, question='Which?', options=('cat', 'sun', 'dog'), indices=(0, 7, 1))"
    )


def test_tasks_go_through_json_and_answers_through_csv(tmp_path):
    tasks = word_intrusion_tasks(COMPONENTS, np.array(NAMES))
    answers = [task.intruder for task in tasks[:4]] + [None, (tasks[5].intruder + 1) % 6]
    (tmp_path / "tasks.json").write_text(json.dumps([asdict(task) for task in tasks]))
    loaded = [IntrusionTask(**record) for record in json.loads((tmp_path / "tasks.json").read_text())]
    sheet = pd.DataFrame([task.options for task in tasks]).assign(answer=answers)
    sheet.to_csv(tmp_path / "sheet.csv")
    score = intrusion_score(loaded, pd.read_csv(tmp_path / "sheet.csv")["answer"])
    assert score.n_right.tolist() == [1, 1, 1, 1, 0, 0] and score.n_answers.tolist() == [1, 1, 1, 1, 0, 1]


def answers_of(right, tasks):
    """Right answers where the array says so, and wrong ones elsewhere; one row per task."""
    intruders = np.array([task.intruder for task in tasks]).reshape(-1, *[1] * (np.ndim(right) - 1))
    return np.where(right, intruders, (intruders + 1) % 4)


def make_tasks(topics, n_options=4):
    return [
        IntrusionTask(topic, "Which?", tuple("abcdef"[:n_options]), tuple(range(n_options)), i % n_options)
        for i, topic in enumerate(topics)
    ]


def test_a_perfect_rater_has_share_one():
    tasks = word_intrusion_tasks(COMPONENTS, NAMES)
    answers = [task.intruder for task in tasks]
    score = intrusion_score(tasks, answers)
    assert score.share == 1.0 and score.chance == pytest.approx(1 / 6)
    assert_array_equal(score.shares, 1.0)
    # A share of one in n answers has the lower limit tail ** (1 / n).
    assert_allclose(score.interval, (0.025 ** (1 / 6), 1.0), rtol=1e-12)
    assert_allclose(score.intervals, [[0.025, 1.0]] * 6, rtol=1e-12)
    wrong = intrusion_score(tasks, [(answer + 1) % 6 for answer in answers], confidence_level=0.8)
    assert_allclose(wrong.interval, (0.0, 1 - 0.1 ** (1 / 6)), rtol=1e-12)


def test_counts_shares_and_chance_by_hand():
    tasks = make_tasks([5, 2, 5, 9]) + make_tasks([2], n_options=2)
    answers = [[0, 1.0], [1, np.nan], [np.int64(2), 2], [None, pd.NA], [1, 0]]
    score = intrusion_score(tasks, answers)
    assert score.topics.tolist() == [2, 5, 9]
    assert score.n_right.tolist() == [2, 3, 0] and score.n_answers.tolist() == [3, 4, 0]
    assert_allclose(score.shares, [2 / 3, 3 / 4, np.nan])
    assert score.share == pytest.approx(5 / 7)
    assert score.chance == pytest.approx((5 / 4 + 2 / 2) / 7)
    expected = [*(binomtest(k, n).proportion_ci(method="exact") for k, n in ((2, 3), (3, 4))), (0.0, 1.0)]
    assert_allclose(score.intervals, expected, rtol=1e-10)
    assert score.table.columns.tolist() == ["topic", "share", "low", "high", "n_right", "n_answers"]
    assert score.table["high"].tolist() == score.intervals[:, 1].tolist()
    low, high = score.interval
    assert repr(score) == (
        f"IntrusionScore(0.71 of 7 answers are right, interval {low:.2f} to {high:.2f}, chance 0.32)"
    )


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_of_one_rater_are_those_of_scipy(level):
    for n in (1, 2, 7, 40):
        tasks = make_tasks([0] * n)
        for right in range(n + 1):
            answers = answers_of(np.arange(n) < right, tasks)
            score = intrusion_score(tasks, answers, confidence_level=level)
            expected = binomtest(right, n).proportion_ci(level, method="exact")
            assert_allclose(score.interval, expected, rtol=1e-9)
            assert_allclose(score.intervals, [expected], rtol=1e-9)


def test_the_limits_are_where_tails_of_the_binomial_have_half_of_the_rest():
    tasks = make_tasks(range(26))
    answers = answers_of(np.arange(26) < 11, tasks)
    low, high = intrusion_score(tasks, answers).interval
    assert binom.sf(10, 26, low) == pytest.approx(0.025) and binom.cdf(11, 26, high) == pytest.approx(0.025)


def test_raters_who_always_agree_count_as_one():
    tasks, one = make_tasks(range(20)), np.arange(20) < 13
    expected = intrusion_score(tasks, answers_of(one[:, None], tasks))
    copies = intrusion_score(tasks, answers_of(np.repeat(one[:, None], 8, axis=1), tasks))
    assert_allclose(copies.interval, expected.interval, rtol=1e-12)
    # All right: nothing tells how answers vary between tasks.
    perfect = intrusion_score(tasks, answers_of(np.ones((20, 8), dtype=bool), tasks))
    assert_allclose(perfect.interval, (0.025 ** (1 / 20), 1.0), rtol=1e-12)
    # One task says nothing of others.
    alone = intrusion_score(tasks[:1], answers_of(np.arange(8)[None] < 4, tasks[:1]))
    assert alone.interval[0] < 0.07 and alone.intervals[0].tolist() == pytest.approx(
        list(binomtest(4, 8).proportion_ci(method="exact"))
    )


def limits(share, number):
    """Limits of Clopper and Pearson for a number of answers that is not whole."""
    right = share * number
    return beta.ppf(0.025, right, number - right + 1), beta.ppf(0.975, right + 1, number - right)


def test_the_effective_number_of_answers_by_hand():
    """Twelve tasks have 1, 2 or 3 right answers of 3: the mean varies as that of 33 independent answers."""
    tasks = make_tasks(range(12))
    right = np.arange(3) < np.repeat([1, 2, 3], 4)[:, None]
    # share 2/3; variance of tasks 8/99, of their mean 2/297; (2/3 * 1/3) / (2/297) = 33
    score = intrusion_score(tasks, answers_of(right, tasks))
    number = 33 * (t.ppf(0.975, 35) / t.ppf(0.975, 11)) ** 2
    assert_allclose(score.interval, limits(2 / 3, number), rtol=1e-9)
    # No variance between tasks: three of eight raters, others for each task
    tasks = make_tasks(range(20))
    right = (np.arange(20)[:, None] + np.arange(8)) % 8 < 3
    score = intrusion_score(tasks, answers_of(right, tasks))
    number = 160 * (t.ppf(0.975, 159) / t.ppf(0.975, 19)) ** 2
    assert_allclose(score.interval, limits(3 / 8, number), rtol=1e-9)


def test_intervals_contain_the_truth():
    """With few or many tasks of different difficulty, and with raters who guess: at least 93 of 100."""
    random, covered, by_answers, guessed = np.random.RandomState(0), [], [], []
    for n_tasks in (5, 30):
        tasks = make_tasks(range(n_tasks))
        for _ in range(300):
            right = random.rand(n_tasks, 8) < random.beta(2.0, 1.0, size=(n_tasks, 1))
            low, high = intrusion_score(tasks, answers_of(right, tasks)).interval
            covered.append(low <= 2 / 3 <= high)
            low, high = limits(right.mean(), right.size)
            by_answers.append(low <= 2 / 3 <= high)
            low, high = intrusion_score(tasks, random.randint(4, size=(n_tasks, 2))).interval
            guessed.append(low <= 1 / 4 <= high)
    assert np.mean(covered) >= 0.93 and np.mean(guessed) >= 0.93
    assert np.mean(by_answers) < 0.9  # else the effective number is not needed


def test_counts_of_the_corpus_find_the_intruders_of_its_topics():
    """The rater chooses the word that occurs least often with the others, as Lau et al. automate the task."""
    random = np.random.RandomState(0)
    topics = np.kron(np.eye(5), np.full(8, 1 / 8)) + 1e-3 * random.rand(5, 40)
    theta = random.dirichlet(np.full(5, 0.1), size=200)
    X = random.poisson(20 * theta @ topics)
    pairs = X.T @ X

    def ask(task):
        return int(pairs[np.ix_(task.indices, task.indices)].sum(axis=0).argmin())

    tasks = [task for seed in range(4) for task in word_intrusion_tasks(topics, NAMES, random_state=seed)]
    assert intrusion_score(tasks, [ask(task) for task in tasks]).share == 1.0
    # Columns in another order make topics of unrelated words.
    mixed = topics[:, random.permutation(40)]
    tasks = [task for seed in range(40) for task in word_intrusion_tasks(mixed, NAMES, random_state=seed)]
    assert intrusion_score(tasks, [ask(task) for task in tasks]).interval[1] < 0.5


def test_wrong_arguments_are_named():
    tasks = make_tasks([0, 1])
    for answers, message in (
        ([0, 4], "answers has 4 for task 1, which is invalid: must be an index from 0 to 3, or None"),
        ([-1, 0], "answers has -1 for task 0"),
        ([0, 1.5], "answers has 1.5 for task 1"),
        ([0, np.inf], "answers has inf for task 1"),
        ([True, 0], "answers has True for task 0"),
        (["0", 0], "answers has '0' for task 0"),
        ([[0, 1], [2]], r"answers has \[0, 1\] for task 0"),
        ([0], r"answers has shape \(1,\); must be \(2,\) or \(2, n_raters\)"),
        ([[[0]], [[1]]], r"answers has shape \(2, 1, 1\)"),
        ([None, np.nan], "answers is invalid: must have at least one answer"),
    ):
        assert_raises(ValueError, message, intrusion_score, tasks, answers)
    assert_raises(ValueError, "must have at least one answer", intrusion_score, [], [])
    assert_raises(TypeError, r"tasks\[1\] is a dict", intrusion_score, [tasks[0], {}], [0, 0])
    for level in (0.0, 1.0, "0.9"):
        assert_raises(ValueError, "confidence_level", intrusion_score, tasks, [0, 0], confidence_level=level)


def test_tasks_that_cannot_be_made_are_named():
    words = ["cat", "dog", "sun"]
    topics = [[0.5, 0.4, 0.1], [0.1, 0.4, 0.5]]
    equal = [[5, 4, 1, 1, 1], [1, 1, 1, 4, 5]]
    for components, names, message in (
        ([[0.5, 0.3, 0.2]], words, "The model has one topic; at least two topics are needed"),
        (topics, None, "feature_names=None is invalid: must be the words of the columns"),
        (topics, words[:2], r"feature_names has shape \(2,\)"),
        ([topics[0]] * 2, words, "n_words=2 is invalid: must leave an intruder for each topic"),
        ([[4, 4, 1, 1, 1], [3, 3, 4, 4, 0]], list("abcde"), "below the average of topic 1. Try another"),
        (equal, list("abcda"), "feature_names is invalid: must be distinct names. Repeated: 'a'"),
        (equal, [1, 2, 3, 4, "1"], "feature_names is invalid: must be distinct names. Repeated: '1'"),
    ):
        assert_raises(ValueError, message, word_intrusion_tasks, components, names, n_words=2)
    # No task shows two equal words if one of them is rare.
    assert len(word_intrusion_tasks(equal, list("abccd"), n_words=2)) == 2
    assert_raises(ValueError, "n_words=4", word_intrusion_tasks, topics, words, n_words=4)
    for option, values in (("n_words", [1, 2.5]), ("random_state", [-1, "seed"])):
        for value in values:
            assert_raises(ValueError, option, word_intrusion_tasks, topics, words, **{option: value})
    theta, texts = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]]), ["a", "b", "c"]
    for proportions, given, error, message in (
        (theta, ["a", "b", "a"], ValueError, "n_documents=3 is invalid: .* there are 2 different texts"),
        (theta, texts[:2], ValueError, "texts has 2 entries, but proportions has 3 documents"),
        (theta, ["a", 1, "c"], TypeError, "texts has a int for document 1; str is allowed"),
        (-theta, texts, ValueError, "Negative values in data passed to proportions"),
        (theta * np.nan, texts, ValueError, "proportions contains NaN"),
        (np.ones((4, 1)), list("abcd"), ValueError, "at least two topics"),
        (
            theta,
            texts,
            ValueError,
            "n_documents=3 is invalid: must leave an intruder",
        ),
    ):
        assert_raises(error, message, document_intrusion_tasks, proportions, given)
