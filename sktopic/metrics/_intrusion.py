"""Intrusion tasks: whether people, or a language model, find what does not belong to a topic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, stdtrit
from sklearn.preprocessing import normalize
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_non_negative

from sktopic._documents._feature_names import check_distinct
from sktopic._estimators._plug_in import column_names, plug_in_topics, shown_words
from sktopic._runtime._arrays import is_missing, largest
from sktopic._runtime._compat import Interval, validate_params
from sktopic._runtime._optional import import_pandas
from sktopic._runtime._texts import plain_texts
from sktopic._typing import FloatArray, IntArray, RandomState
from sktopic.metrics._coherence import top_columns
from sktopic.metrics._topic_number import several

if TYPE_CHECKING:
    from pandas import DataFrame

# With one word or document beside the intruder, nothing tells which of the two it is.
AT_LEAST_TWO = Interval(Integral, 2, None, closed="left")
# Equal weights are not above their mean, which has rounding errors.
ROUNDING = 1e-9


@dataclass(frozen=True)
class IntrusionTask:
    """Question to raters: which of some words or texts of a topic is an intruder.

    Made by `word_intrusion_tasks` and `document_intrusion_tasks`. ``str(task)`` is the question and the
    numbered options, as raters see them. Neither this text nor ``repr`` shows the intruder. All fields are
    plain Python values, so ``dataclasses.asdict`` gives a dict for JSON.

    Attributes
    ----------
    topic : int
        Number of the topic.
    question : str
        Question to raters.
    options : tuple of str
        Words or texts in random order.
    indices : tuple of int
        Columns of the words, or rows of the documents.
    intruder : int
        Index of the right answer in ``options``.
    """

    topic: int
    question: str
    options: tuple[str, ...]
    indices: tuple[int, ...]
    intruder: int = field(repr=False)

    def __str__(self) -> str:
        return "\n".join([self.question, *(f"{i}: {option}" for i, option in enumerate(self.options))])


@dataclass(frozen=True, repr=False, eq=False)
class IntrusionScore:
    """Shares of right answers with confidence intervals, returned by `intrusion_score`.

    Attributes
    ----------
    share : float
        Share of right answers in all answers.
    interval : tuple of float
        Lower and upper confidence limit of the share, for other tasks and raters.
    chance : float
        Expected share if raters guess.
    topics : ndarray of shape (n_topics,), dtype int
        Topics of the tasks, ascending.
    n_right : ndarray of shape (n_topics,), dtype int
        Number of right answers of each topic.
    n_answers : ndarray of shape (n_topics,), dtype int
        Number of answers of each topic.
    shares : ndarray of shape (n_topics,)
        Share of right answers of each topic; NaN without answers.
    intervals : ndarray of shape (n_topics, 2)
        Lower and upper confidence limits of these shares, for other raters of the same tasks.
    """

    share: float
    interval: tuple[float, float]
    chance: float
    topics: IntArray
    n_right: IntArray
    n_answers: IntArray
    shares: FloatArray
    intervals: FloatArray

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"IntrusionScore({self.share:.2f} of {self.n_answers.sum()} answers are right, "
            f"interval {low:.2f} to {high:.2f}, chance {self.chance:.2f})"
        )

    @property
    def table(self) -> DataFrame:
        """DataFrame with one row per topic; needs pandas.

        Its columns are topic, share, low, high, n_right and n_answers.
        """
        low, high = self.intervals.T
        columns = {
            "topic": self.topics,
            "share": self.shares,
            "low": low,
            "high": high,
            "n_right": self.n_right,
            "n_answers": self.n_answers,
        }
        return import_pandas().DataFrame(columns)


@validate_params({"n_words": [AT_LEAST_TWO], "random_state": ["random_state"]})
def word_intrusion_tasks(
    model_or_components: object,
    feature_names: ArrayLike | None = None,
    *,
    n_words: int = 5,
    random_state: RandomState = 0,
) -> list[IntrusionTask]:
    """Make a task for each topic: find the word that is not one of its most probable words.

    Read more on the guide page "Evaluate and compare models".

    Parameters
    ----------
    model_or_components : fitted estimator or array-like of shape (n_components, n_features)
        As in `coherence`.
    feature_names : array-like of str of shape (n_features,), default=None
        Words of the columns. If None, the words of the pipeline or ``feature_names_in_`` of the estimator.
    n_words : int, default=5
        Number of most probable words of the topic, at least 2. A task has one word more.
    random_state : int, RandomState instance or None, default=0
        Seed of the intruders and the order of options. Other seeds give other tasks for the same topics.

    Returns
    -------
    tasks : list of IntrusionTask
        One task per topic, in their order. The options are words, and ``indices`` are their columns.

    Raises
    ------
    ValueError
        If the words are unknown, if two of the most probable words of topics have the same name, if there
        are fewer than two topics, or if a topic has no intruder.

    See Also
    --------
    intrusion_score : Compute the share of right answers.
    document_intrusion_tasks : The same with documents.
    coherence : Measure how often top words occur together, without raters.

    Notes
    -----
    - The intruder is drawn from the words that are among the ``n_words`` most probable of another topic, and
      whose probability in this topic is at most the mean over all words.
    - Two tasks of one topic share all words but the intruder. Do not show both to the same person.

    References
    ----------
    J. Chang, J. Boyd-Graber, S. Gerrish, C. Wang and D. M. Blei, "Reading tea leaves: how humans interpret
    topic models", NIPS 2009, section 3.1.

    J. H. Lau, D. Newman and T. Baldwin, "Machine reading tea leaves: automatically evaluating topic
    coherence and topic model quality", EACL 2014: answers from counts of word pairs.

    Examples
    --------
    >>> from sktopic.metrics import word_intrusion_tasks
    >>> components = [[0.5, 0.4, 0.1, 0.0], [0.0, 0.1, 0.4, 0.5]]
    >>> first, second = word_intrusion_tasks(components, ["cat", "dog", "sun", "sky"], n_words=2)
    >>> print(first)
    Which word does not belong with the others? Answer with its number.
    0: sun
    1: cat
    2: dog
    """
    topics = plug_in_topics(model_or_components)
    if feature_names is None and column_names(model_or_components) is None:
        raise ValueError(
            "feature_names=None is invalid: must be the words of the columns, since the model does not know "
            "them. Pass get_feature_names_out() of the vectorizer."
        )
    words = list(map(str, shown_words(model_or_components, feature_names, len(topics.store))))
    question = "Which word does not belong with the others? Answer with its number."
    top = top_columns(topics, n_words)
    check_distinct([words[column] for column in np.unique(top)], "feature_names")
    return _tasks(topics.components(), top, words, question, "n_words", random_state)


@validate_params(
    {
        "proportions": ["array-like"],
        "texts": ["array-like"],
        "n_documents": [AT_LEAST_TWO],
        "random_state": ["random_state"],
    }
)
def document_intrusion_tasks(
    proportions: ArrayLike,
    texts: Sequence[str],
    *,
    n_documents: int = 3,
    random_state: RandomState = 0,
) -> list[IntrusionTask]:
    """Make a task for each topic: find the document that is not one of its most typical documents.

    Parameters
    ----------
    proportions : array-like of shape (n_samples, n_components)
        Topic proportions of documents, as ``transform(X)`` of the model returns them. Rows are normalized.
    texts : sequence of str of length n_samples
        Texts that raters read. Shorten long documents, as in ``[text[:500] for text in texts]``. If several
        documents have the same text, only the first of them is used.
    n_documents : int, default=3
        Number of documents with the largest proportions of the topic, at least 2. A task has one document
        more.
    random_state : int, RandomState instance or None, default=0
        Seed of the intruders and the order of options. Other seeds give other tasks for the same topics.

    Returns
    -------
    tasks : list of IntrusionTask
        One task per topic, in their order. The options are texts, and ``indices`` are rows of proportions.

    Raises
    ------
    TypeError, ValueError
        If the texts do not match the proportions, if there are fewer than two topics, or if a topic has no
        intruder.

    See Also
    --------
    intrusion_score : Compute the share of right answers.
    word_intrusion_tasks : The same with words.

    Notes
    -----
    - The intruder is drawn from the documents that are among the ``n_documents`` with the largest proportions
      of another topic, and whose proportion of this topic is at most the mean over all documents.
    - Leave out documents without words: they have the prior mean as proportions.

    References
    ----------
    J. Chang, J. Boyd-Graber, S. Gerrish, C. Wang and D. M. Blei, "Reading tea leaves: how humans interpret
    topic models", NIPS 2009: intruders among the words of a topic and among the topics of a document.

    Examples
    --------
    >>> from sktopic.metrics import document_intrusion_tasks
    >>> proportions = [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8]]
    >>> texts = ["a cat and a dog", "two cats", "the sun", "sun and sky"]
    >>> tasks = document_intrusion_tasks(proportions, texts, n_documents=2)
    >>> tasks[1].options
    ('the sun', 'two cats', 'sun and sky')
    """
    theta = check_array(proportions, dtype=np.float64, input_name="proportions")
    check_non_negative(theta, "proportions")
    texts = plain_texts(texts, "texts")
    if len(texts) != len(theta):
        raise ValueError(f"texts has {len(texts)} entries, but proportions has {len(theta)} documents.")
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        first.setdefault(text, row)  # raters cannot tell two equal texts apart
    rows = np.array(list(first.values()))
    if n_documents >= len(rows):
        raise ValueError(
            f"n_documents={n_documents} is invalid: must leave an intruder for each topic, but there are "
            f"{len(rows)} different texts."
        )
    by_topic = np.ascontiguousarray(normalize(theta[rows], norm="l1").T)
    question = "Which text is about another subject than the others? Answer with its number."
    top = largest(by_topic, n_documents)
    tasks = _tasks(by_topic, top, list(first), question, "n_documents", random_state)
    return [replace(task, indices=tuple(rows[[*task.indices]].tolist())) for task in tasks]


def _tasks(weights, top, texts, question, parameter, random_state):
    """Return the tasks of all topics, list of IntrusionTask.

    Parameters
    ----------
    weights : ndarray of shape (n_topics, n_items), probabilities of words or proportions of documents
    top : ndarray of shape (n_topics, n), items with the largest weights
    texts : list of str of length n_items
    parameter : str, name of the parameter n, for messages
    """
    random, n, in_top = check_random_state(random_state), top.shape[1], np.unique(top)
    tasks = []
    for topic, own in enumerate(several(weights)):
        others = np.setdiff1d(in_top, top[topic], assume_unique=True)
        pool = others[own[others] <= (1.0 + ROUNDING) * own.mean()]
        if not len(pool):
            raise ValueError(
                f"{parameter}={n} is invalid: must leave an intruder for each topic, but none of the top {n} "
                f"{parameter[2:]} of other topics is below the average of topic {topic}. Try another number."
            )
        indices = random.permutation([*top[topic], random.choice(pool)])
        options, intruder = tuple(texts[i] for i in indices), np.flatnonzero(np.isin(indices, pool)).item()
        tasks.append(IntrusionTask(topic, question, options, tuple(indices.tolist()), intruder))
    return tasks


@validate_params(
    {
        "tasks": ["array-like"],
        "answers": ["array-like"],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
    }
)
def intrusion_score(
    tasks: Sequence[IntrusionTask],
    answers: Sequence[int | None] | Sequence[Sequence[int | None]] | ArrayLike,
    *,
    confidence_level: float = 0.95,
) -> IntrusionScore:
    """Compute the share of right answers to intrusion tasks; higher is better.

    Read more on the guide page "Evaluate and compare models".

    Parameters
    ----------
    tasks : sequence of IntrusionTask
        Tasks of `word_intrusion_tasks` or `document_intrusion_tasks`.
    answers : array-like of shape (n_tasks,) or (n_tasks, n_raters)
        Index of the chosen option, from 0. None, NaN or pandas.NA: no answer.
    confidence_level : float, default=0.95
        Coverage of the intervals.

    Returns
    -------
    score : IntrusionScore
        Shares and intervals, as a whole and by topic. ``score.table`` is a DataFrame with one row per topic.

    Raises
    ------
    TypeError, ValueError
        If the answers do not match the tasks, if an answer is not the index of an option, or if there are no
        answers.

    Notes
    -----
    - Intervals by topic are those of Clopper and Pearson. They take raters as independent, and hold for the
      tasks at hand.
    - The interval of all answers also holds for other tasks. Answers to one task resemble each other, so
      this interval is computed with an effective number of answers (Korn and Graubard). Raters who always
      agree count as one.
    - The answers of one person, or of one language model, to several tasks are taken as independent.
    - Chang et al. call the share of a topic model precision.

    References
    ----------
    C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26, 1934.

    E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data", Survey Methodology 24, 1998.

    Examples
    --------
    >>> from sktopic.metrics import intrusion_score, word_intrusion_tasks
    >>> components = [[0.5, 0.4, 0.1, 0.0], [0.0, 0.1, 0.4, 0.5]]
    >>> tasks = word_intrusion_tasks(components, ["cat", "dog", "sun", "sky"], n_words=2)
    >>> answers = [0, None]  # or [ask(str(task)) for task in tasks], with a function of yours
    >>> intrusion_score(tasks, answers).shares
    array([ 1., nan])
    """
    for i, task in enumerate(tasks):
        if not isinstance(task, IntrusionTask):
            raise TypeError(f"tasks[{i}] is a {type(task).__name__}; an IntrusionTask is allowed.")
    right, answered = _numbers_of_answers(tasks, answers)
    if not answered.any():
        raise ValueError("answers is invalid: must have at least one answer.")
    topics, place = np.unique([task.topic for task in tasks], return_inverse=True)
    n_right, n_answers = np.zeros((2, len(topics)), dtype=np.int64)
    np.add.at(n_right, place, right)
    np.add.at(n_answers, place, answered)
    shares = np.divide(n_right, n_answers, out=np.full(len(topics), math.nan), where=n_answers > 0)
    share, number = right.sum() / answered.sum(), _effective_number(right, answered, confidence_level)
    low, high = _limits(share * number, number, confidence_level)
    return IntrusionScore(
        share=float(share),
        interval=(float(low), float(high)),
        chance=float(answered @ [1 / len(task.options) for task in tasks] / answered.sum()),
        topics=topics,
        n_right=n_right,
        n_answers=n_answers,
        shares=shares,
        intervals=np.stack(_limits(n_right, n_answers, confidence_level), axis=1),
    )


def _numbers_of_answers(tasks, answers):
    """Return the numbers of right answers and of all answers of each task, two int arrays (n_tasks,)."""
    answers = np.asarray(answers, dtype=object)
    if answers.ndim not in (1, 2) or len(answers) != len(tasks):
        raise ValueError(
            f"answers has shape {answers.shape}; must be ({len(tasks)},) or ({len(tasks)}, n_raters), "
            f"because there are {len(tasks)} tasks."
        )
    right, answered = np.zeros((2, len(tasks)), dtype=np.int64)
    for i, (task, given) in enumerate(zip(tasks, answers[:, None] if answers.ndim == 1 else answers)):
        chosen = [each for each in given if not is_missing(each)]
        for each in chosen:
            is_number = isinstance(each, Real) and not isinstance(each, bool)
            if not is_number or each not in range(len(task.options)):
                raise ValueError(
                    f"answers has {each!r:.80} for task {i}, which is invalid: must be an index from 0 to "
                    f"{len(task.options) - 1}, or None."
                )
        right[i], answered[i] = chosen.count(task.intruder), len(chosen)
    return right, answered


def _effective_number(right, answered, level):
    """Return the number of independent answers whose interval is as long as that of these answers, float.

    The variance between tasks is that of a ratio estimator. It cannot be estimated from one task, or if all
    answers are equally right; each task then counts once.
    """
    total, n_tasks = answered.sum(), np.count_nonzero(answered)
    smallest = total**2 / (answered**2).sum()
    binomial = right.sum() * (total - right.sum())
    if n_tasks == 1 or binomial == 0:
        return smallest
    residuals = right - right.sum() / total * answered
    variance = n_tasks / (n_tasks - 1) * (residuals**2).sum()
    quantiles = stdtrit([total - 1.0, n_tasks - 1.0], 0.5 + level / 2.0)
    number = binomial / max(variance, binomial / total) * (quantiles[0] / quantiles[1]) ** 2
    return max(number, smallest)


def _limits(right, total, level):
    """Return the confidence limits of Clopper and Pearson; the numbers need not be whole."""
    tail, wrong = (1.0 - level) / 2.0, np.subtract(total, right)
    low = np.where(right > 0, betaincinv(right, wrong + 1, tail), 0.0)
    return low, np.where(wrong > 0, betaincinv(np.add(right, 1), wrong, 1.0 - tail), 1.0)
