"""Random programs over all estimators: what a call answers, refuses, and leaves as it was.

A program is an estimator with parameters up to and beyond their bounds, and a sequence of calls with
documents of all sizes, values, dtypes and containers. It is drawn by hypothesis, which shrinks one that fails
and prints it; ``Program(...).run()`` runs what was printed again. Programs run in child processes, since one
that crashes should be printed too.
"""

import copy
import operator
import os
import pickle
import re
import tempfile
from dataclasses import dataclass, field
from inspect import signature
from numbers import Real

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import sktopic
from sktopic._runtime._compat import make_constraint
from sktopic.datasets import Corpus
from sktopic.inspection import explore, name_topics, pyldavis_data, top_documents, top_words, topic_similarity
from sktopic.metrics import coherence, topic_diversity
from tests.conftest import all_attributes, fingerprint, fitted_state

from .documents import BLOCKS, ONCE, Documents, documents
from .drawn import run_drawn
from .parameters import all_values, made, modes_of, some_of
from .tools import CLASSES, ESTIMATORS, check_distributions, differences, new, share, within

# What a call of a tiny model may take. Memory: growth of the process's peak.
MOST_SECONDS = 3.0
MOST_MEMORY = 150e6
# Exceptions that are documented, and wordings that are those of an internal error.
DOCUMENTED = (ValueError, TypeError, NotFittedError)
INTERNAL = re.compile(
    r"broadcast|(?i:buffer)|memoryview|NoneType|has no attribute|cannot convert|unsupported operand"
    r"|out of bounds|negative dimensions|shape mismatch|invalid entry|object is not|too large to convert"
)
LONGEST_MESSAGE = 4000


# Programs


@dataclass
class Program:
    """An estimator with its parameters, and calls (name, argument) on it."""

    estimator: str
    parameters: dict = field(default_factory=dict)
    calls: list = field(default_factory=list)

    def run(self):
        """Raise AssertionError where a call breaks a promise; other exceptions are broken promises too."""
        np.random.seed(0)
        model = new(self.estimator, **made(self.parameters))
        for name, argument in self.calls:
            model = Call(model, name, argument).run()


# Attributes that are no numbers, or may have NaN, and those that depend on parameters and covariates.
NOT_FINITE = {"topic_names_", "validation_scores_", "covariate_names_in_"}
NOT_FINITE |= {"move_history_", "training_history_"}
NOT_ALWAYS_SET = {"n_components_range_", "intercept_", "covariate_effects_", "covariate_effects_stderr_"}
# These may change the model's fitted state.
TRAINING = {"fit", "fit_transform", "partial_fit", "name_topics", "add_features", "drop_topics"}
TRAINING |= {"freeze_topics", "merge_topics", "set_feature_names"}


@dataclass
class Call:
    """One call on a model, checked."""

    model: object
    name: str
    argument: object
    values: dict = field(default_factory=dict)  # of documents: sample_weight and covariates

    def run(self):
        """Returns the model to go on with."""
        model = self.model
        X, X_before = self.argument, None
        if isinstance(X, Documents):
            try:
                X = X.make(getattr(model, "n_features_in_", 5))
            except (TypeError, ValueError, NotImplementedError):  # NumPy and SciPy have no such matrix
                return model
            method = getattr(model, "fit" if self.name == "fit_transform" else self.name, None)
            if method is not None:
                self.values = self.argument.values_of(signature(method).parameters)
            # A generator is used up; the unused bytes of a long double may be anything.
            if self.argument.container not in ONCE and self.argument.dtype != "longdouble":
                X_before = fingerprint(X)
        before = {name: copy.copy(value) for name, value in all_attributes(model).items()}
        with within(MOST_SECONDS, MOST_MEMORY):
            try:
                result, refusal = getattr(self, self.name, self.plainly)(X), None
            except DOCUMENTED as error:
                refusal = error
        if refusal is not None:
            check_readable(refusal)
            result, changed = model, differences(before, all_attributes(model))
            if changed and self.name == "partial_fit" and self.argument.container in BLOCKS:
                return self.trained()
            assert not changed, f"the call failed ({refusal}) and changed {changed}"
        assert X_before is None or fingerprint(X) == X_before, "the input was changed"
        if self.name not in TRAINING | {"set_params"}:
            changed = differences(before, all_attributes(model))
            assert not changed, f"the call changed {changed}"
        return result

    def plainly(self, X):
        """A call that has a number or an array for its answer."""
        method = getattr(self.model, self.name, None)
        if method is not None:
            answer = method(X, **self.values)
            # A word without smoothing that was never seen has probability 0.
            scored = self.name in ("score", "perplexity")
            if scored and self.n_tokens() == 0:
                assert np.isnan(answer), f"{self.name} of no words: {answer}"
                return self.model
            prior = getattr(self.model, "topic_word_prior", 1)
            unseen = scored and isinstance(prior, Real) and prior == 0
            assert unseen or np.isfinite(answer).all(), f"{self.name}: {answer}"
            assert not np.isnan(answer).any(), f"{self.name}: {answer}"
        return self.model

    def n_tokens(self):
        """Those of documents that count."""
        counts = array_of(self.argument.make(self.model.n_features_in_)).astype(np.float64)
        weights = self.values.get("sample_weight", 1.0)
        return (counts.sum(axis=1) * (np.asarray(weights) > 0)).sum()

    def fit(self, X):
        assert self.model.fit(X, **self.values) is self.model
        return self.trained()

    def partial_fit(self, X):
        assert self.model.partial_fit(X, **self.values) is self.model
        return self.trained()

    def trained(self):
        for name, value in fitted_state(self.model).items():
            # Scores of held-out documents are NaN where these have no words.
            is_number = isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind == "f"
            if is_number and not name.endswith(("validation_scores", "validation_scores_")):
                assert not np.isnan(value).any(), f"{name} has NaN"
        check_distributions(self.model.components_, (self.model.n_components_, self.model.n_features_in_))
        return self.model

    def edit(self, argument):
        """A method that is given words or topics."""
        if hasattr(self.model, self.name):
            assert getattr(self.model, self.name)(argument) is self.model
            return self.trained()
        return self.model

    add_features = drop_topics = freeze_topics = merge_topics = edit

    def set_feature_names(self, names):
        if hasattr(self.model, "set_feature_names"):
            assert self.model.set_feature_names(names) is self.model
        return self.model

    def name_topics(self, names):
        name_topics(self.model, names)
        return self.model

    def fit_transform(self, X):
        twin = clone(self.model)
        theta = self.model.fit_transform(X, **self.values)
        check_distributions(theta, (self.argument.rows, self.model.n_components_))
        if self.reproducible():
            again = twin.set_params(n_jobs=3 if twin.n_jobs in (None, 1) else 1).fit(X, **self.values)
            changed = differences(fitted_state(self.model), fitted_state(again))
            assert not changed, f"with another n_jobs: {changed}"
            again = again.transform(X, **self.covariates())
            assert fingerprint(again) == fingerprint(theta), "transform after fit, other n_jobs"
        return self.trained()

    def covariates(self, rows=slice(None)):
        """Covariates of some documents, as an argument of what infers them."""
        return {
            name: (value.toarray() if sp.issparse(value) else np.asarray(value))[rows]
            for name, value in self.values.items()
            if name == "covariates"
        }

    def reproducible(self):
        return self.model.random_state is not None and self.argument.container not in ONCE

    def transform(self, X):
        """Also in another order, container and number of threads."""
        model = self.model
        theta = model.transform(X, **self.values)
        check_distributions(theta, (self.argument.rows, model.n_components_))
        if self.argument.container not in ONCE:
            counts = array_of(X).astype(theta.dtype)
            order = np.random.default_rng(0).permutation(len(counts))
            other = pickle.loads(pickle.dumps(model)).set_params(n_jobs=2)
            again = other.transform(sp.csc_array(counts[order]), **self.covariates(order))
            assert fingerprint(again) == fingerprint(theta[order]), "in another order, by two threads"
        return model

    def word_topics(self, X):
        """Of documents alone and together."""
        model = self.model
        n_components = getattr(model, "n_components_", 1)
        topics, probabilities = model.word_topics(X, n_components, **self.values)
        of_words = topics[:, 0] >= 0  # not of zeros
        check_distributions(probabilities[of_words], (np.count_nonzero(of_words), n_components))
        if self.argument.container not in ONCE:
            found = model.iter_word_topics(X, n_components, block_size=1, **self.values)
            blocks = [block for _, _, block in found]
            assert fingerprint(np.concatenate(blocks)) == fingerprint(probabilities), "in blocks"
        return model

    def sample_proportions(self, X):
        model = self.model
        if hasattr(model, "sample_proportions"):
            theta = model.sample_proportions(X, 2, **self.values)
            n_rows = 2 * self.argument.rows
            check_distributions(theta.reshape(-1, model.n_components_), (n_rows, model.n_components_))
        return model

    def inspect(self, X):
        """One of the functions that describe topics."""
        functions = [
            lambda: top_words(self.model, n_words=2, return_weights=True)[1],
            lambda: topic_similarity(self.model, metric="cosine"),
            lambda: topic_similarity(self.model, metric="average_jaccard"),
            lambda: topic_diversity(self.model, n_words=3),
            lambda: top_documents(self.model, X, n_documents=2)[1],
            lambda: pyldavis_data(self.model, X)["topic_term_dists"],
            lambda: coherence(self.model, X, n_words=2),
            lambda: len(explore(self.model, X, n_words=2, n_documents=2).html),
        ]
        answer = functions[self.argument.seed % len(functions)]()
        assert np.isfinite(np.asarray(answer, dtype=np.float64)).all(), answer
        return self.model

    def attributes(self, _):
        for name in dir(type(self.model)):
            is_set = name not in NOT_ALWAYS_SET or hasattr(self.model, name)
            if name[-1] == "_" != name[0] and name not in NOT_FINITE and is_set:
                assert np.isfinite(getattr(self.model, name)).all(), name
        assert len(self.model.get_feature_names_out()) == self.model.n_components_
        assert repr(self.model) and self.model._repr_html_()
        return self.model

    def set_params(self, parameters):
        return self.model.set_params(**made(parameters))

    def save(self, mmap_mode):
        """Goes on with what the file has, when it is deleted."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            self.model.save(path)
            loaded = sktopic.load(path, mmap_mode=mmap_mode)
        none = {"_topic_names": ()}
        changed = differences(none | fitted_state(self.model), none | fitted_state(loaded))
        assert not changed, f"another {changed} in the file"
        return loaded

    def pickle(self, _):
        return pickle.loads(pickle.dumps(self.model))

    def clone(self, _):
        return clone(self.model)


def array_of(X):
    """The counts as a dense array, with whatever numbers it has."""
    if isinstance(X, Corpus):
        X = X.counts
    if isinstance(X, list) and sp.issparse(X[0]):
        X = sp.vstack(X)
    # As numbers first: duplicates of bools or small integers do not add up.
    return X.astype(np.float64).toarray() if sp.issparse(X) else np.asarray(X)


def check_readable(error):
    text = str(error)
    assert 0 < len(text) <= LONGEST_MESSAGE, f"{len(text)} characters: {text[:200]}"
    assert not INTERNAL.search(text), f"an internal error: {type(error).__name__}: {text}"


# Strategies


topics = st.lists(st.sampled_from([0, 1, 2, 5, -1, "first"]), max_size=3)
WORDS = ["w1", "\ud800", "\0", "", "a b"]
NAMES = [{0: "first"}, {1: "\ud800", 0: "\0"}, ["a", "b", "c"], {9: "x"}, {}, ""]
# What is called, and with what; None: parameters of the estimator.
CALLS = [
    (["partial_fit", "fit", "transform", "fit_transform"], documents),
    (["partial_fit", "transform", "score", "elbo", "perplexity"], documents),
    (["partial_fit", "transform"], documents),
    (["word_topics", "sample_proportions", "predict_mixture", "inspect"], documents),
    (["attributes", "pickle", "clone"], st.none()),
    (["set_params"], None),
    (["save"], st.sampled_from([None, "r"])),
    (["add_features"], st.sampled_from([1, 2, 0, ["new"], ["new", "w1"]])),
    (["set_feature_names"], st.sampled_from([WORDS, WORDS[:-1], ["w1"] * 5, [1] * 5, "words"])),
    (["drop_topics", "freeze_topics", "freeze_topics"], topics),
    (["merge_topics"], st.lists(topics, max_size=2)),
    (["name_topics"], st.sampled_from(NAMES)),
]
# Methods that these calls call, and those that are scikit-learn's alone.
WITHIN_OTHERS = {"get_feature_names_out", "iter_word_topics", "set_output"}
NOT_CALLED = {"get_params", "get_metadata_routing", "set_callbacks"}


def programs(name):
    """Programs with one estimator."""
    estimator = CLASSES[name]
    values = all_values(estimator)
    parameters = st.builds(operator.or_, some_of(modes_of(estimator), 3), some_of(values, 4))
    calls = st.one_of(
        st.tuples(st.sampled_from(names), some_of(values, 2) if arguments is None else arguments)
        for names, arguments in CALLS
    )
    first = st.tuples(st.sampled_from(["fit", "partial_fit", "fit_transform"]), documents)
    sequence = st.tuples(first, st.lists(calls, max_size=6)).map(lambda pair: [pair[0], *pair[1]])
    return st.builds(Program, st.just(name), parameters, sequence)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_random_programs_keep_all_promises(name):
    run_drawn(programs(name), share(0.12 / len(ESTIMATORS), 3), name)


def test_values_that_each_constraint_allows_are_drawn_and_each_method_is_called():
    called = {name for names, _ in CALLS for name in names} | WITHIN_OTHERS | NOT_CALLED
    for name in ESTIMATORS:
        estimator = CLASSES[name]
        for parameter, values in all_values(estimator).items():
            given = made(dict(enumerate(values))).values()
            for constraint in map(make_constraint, estimator._parameter_constraints[parameter]):
                assert any(map(constraint.is_satisfied_by, given)), f"{name} {parameter}: {constraint}"
        methods = {method for method in dir(estimator) if callable(getattr(estimator, method, None))}
        assert {m for m in methods if m[0] != "_" and not m.endswith("_request")} <= called, name
