"""What all topic models share: validation, transform, score. Knows nothing of any one algorithm."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from itertools import chain, repeat
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from sktopic._documents._input_messages import explaining
from sktopic._documents._matrices import (
    COUNT_TYPES,
    are_documents,
    as_documents,
    check_counts,
    check_sparse_structure,
)
from sktopic._documents._sources import documents_of, joined
from sktopic._estimators._concurrency import (
    changing,
    check_assignment,
    check_parameters,
    check_settings_once,
    copied,
    kept_answering,
    kept_components,
    snapshot,
    state_to_pickle,
    take_over,
    trained_here,
    updating,
)
from sktopic._estimators._constraints import check_numbers
from sktopic._estimators._fitted_inference import Inference
from sktopic._estimators._fitted_state import check_arrays, check_parts
from sktopic._estimators._model_files import write_model
from sktopic._estimators._topic_names import renamed
from sktopic._estimators._vocabulary import add_features
from sktopic._inference import InferenceStep
from sktopic._inference._completion import mean_log_predictive
from sktopic._runtime._attributes import set_attributes, twin
from sktopic._runtime._compat import Interval, outside_container, validate_params
from sktopic._runtime._interrupt import complete_or_undone
from sktopic._runtime._parallel import Workers
from sktopic._runtime._progress import NOT_SHOWN, Progress
from sktopic._state._fields import State, writable
from sktopic._typing import DocumentsLike, FloatArray, FloatingArray

# Documents above which transform, score and the like show their progress, where that is asked for.
MANY_DOCUMENTS = 10_000
# Documents that an iterator over the topics of words answers for at once.
BLOCK_SIZE = 1024
AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")


def _has_posterior(model):
    """Whether there is a posterior of proportions; AttributeError that says why there is none."""
    if model._no_posterior is not None:
        raise AttributeError(f"{type(model).__name__} has no sample_proportions: {model._no_posterior}")
    return True


@cache
def _page_address():
    """Return the address of an estimator's page, with fields for scikit-learn; "" if it is not known."""
    try:
        urls = metadata(__package__).get_all("Project-URL", [])
    except PackageNotFoundError:  # used from where it was built
        return ""
    pages = dict(entry.split(", ", 1) for entry in urls).get("Documentation")
    return pages + "/generated/{estimator_module}.{estimator_name}.html" if pages else ""


def start_training(model, n_features):
    """Let the state be that before the first document; allocate before anything is set."""
    seed = int(check_random_state(model.random_state).randint(2**31 - 1))
    model._state = model._method().start(n_features, seed)


class TopicModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base class of all topic models.

    A subclass has parameters ``n_jobs`` and ``random_state``, has ``doc_topic_prior_``,
    ``n_components_`` and ``_seed`` once it is fitted, and defines `_method` and `_transform_step`.
    """

    n_components: int
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int

    # The class of the state, which declares all that training sets; and the state, None before training.
    _state_class: ClassVar[type[State]]
    _state: Any = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    # Why there is no distribution that proportions could be drawn from, if there is none.
    _no_posterior: ClassVar[str | None] = None
    # Whether n_components is but the largest number of topics, or that at the start.
    _infers_number_of_topics = False
    # Pairs of the identity of a topic and the name it was given (see _topic_names).
    _topic_names: tuple[tuple[int, str], ...] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        check_assignment(self, name, value)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        check_assignment(self, name)
        object.__delattr__(self, name)

    @classmethod
    @cache
    def _get_param_names(cls):
        return super()._get_param_names()  # which reads the signature of __init__ at each call

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # What notebooks show: scikit-learn describes parameters and attributes where it has the address of a page

    _doc_link_module = "sktopic"

    @property
    def _doc_link_template(self):
        return _page_address()

    def _get_fitted_attr_html(self, doc_link=""):
        table = super()._get_fitted_attr_html(doc_link)
        for name in [name for name in table if not hasattr(self, name)]:
            del table[name]  # a property that is not there at present
        return table

    # What a subclass defines

    @abstractmethod
    def _method(self) -> Any:
        """Return the method that the parameters describe: functions of the state."""

    def _present_method(self):
        """Return the method, for a fitted model; ValueError for parameters that it cannot be made of."""
        try:
            return self._method()
        except Exception:
            self._check_settings()  # which names the parameter
            raise

    def _topic_probabilities(self):
        """Return the fitted topics, a TopicProbabilities."""
        return self._present_method().topics(self._state)

    def _columns(self):
        """Return the columns, in the arrays of the state, of the topics that are reported."""
        return np.arange(self.n_components_)

    def _inference_topics(self):
        """Return the topics that documents are inferred with: those fitted, unless a method has its own."""
        return self._topic_probabilities()

    @abstractmethod
    def _transform_step(self) -> InferenceStep[Any]:
        """Return the document step (see _inference) that transform runs.

        It is a PosteriorStep unless the class says why proportions have no posterior (`_no_posterior`).
        """

    def _check_settings(self):
        """Raise ValueError for parameters out of range. A subclass adds those that depend on each other."""
        self._validate_params()
        check_numbers(self)

    def _documents(self, X, *, reset=False, once=True):
        """Return the Documents of X; with reset, set the attributes that tell of its features.

        once : whether they are read only once, so that X may be an iterator
        """
        if not reset:
            return documents_of(X, self._validate_documents, once)
        resets = chain([True], repeat(False))  # by the first block alone
        return documents_of(X, lambda block: self._validate_documents(block, next(resets)), once)

    def _validate_documents(self, X, reset=False):
        """Return a matrix as_documents; with reset, set the attributes that tell of its features."""
        X = check_sparse_structure(X)
        if not reset and self._has_same_features(X) and are_documents(X):
            return X  # which scikit-learn would take longer to find than a short document takes
        owner = type(self).__name__
        with explaining(X, owner, None if reset else self.n_features_in_):
            options = {"accept_sparse": "csr", "dtype": COUNT_TYPES, "ensure_all_finite": False}
            X = validate_data(self, X, reset=reset, **options)
        X = as_documents(X)
        check_counts(X, owner)
        return X

    def _has_same_features(self, X):
        """Whether sparse X has samples, of as many features as were seen in training, which had no names."""
        if not sp.issparse(X) or X.ndim != 2 or hasattr(self, "feature_names_in_"):
            return False
        return X.shape[0] > 0 and X.shape[1] == getattr(self, "n_features_in_", None)

    def _checked(self):
        """Return self; raise ValueError for a fitted state whose parts do not fit together."""
        check_arrays(self)
        check_parts(self)
        return self

    def _check_undisturbed(self):
        """Raise an error before an update if somebody has changed parameters, or sizes of fitted arrays."""
        check_parameters(self)
        check_arrays(self)

    def _read(self):
        """Return a snapshot of the fitted model, checked: training in another thread does not change it."""
        model = snapshot(self)
        if not model._is_fitted():
            check_is_fitted(model)
        return model._checked()

    def _is_fitted(self):
        """Whether there is a state, of whatever updates."""
        return self._state is not None

    def _begin_anew(self, X, select=None, *, streamed=False):
        """Set the state from which training starts, all or nothing; return the Documents of X.

        select : function of these documents, which returns those to train on, and may raise
        streamed : whether more documents may follow: of blocks, only the first is then read before training
        """
        begun = twin(self)  # until it is taken over, nothing is lost
        set_attributes(begun, {}, ["_topic_names"])
        documents = begun._documents(X, reset=True, once=streamed)
        if not streamed:
            documents.survey()
        if select is not None:
            documents = select(documents)
        begun._warn_of_doubtful(documents.begin().summary(), streamed)
        start_training(begun, begun.n_features_in_)
        take_over(self, begun)
        return documents.checked_by(self._validate_documents)

    def _begin_or_continue(self, X, select=None):
        """The same for `partial_fit`: a fitted model goes on, with parameters that may have changed."""
        if not self._is_fitted():
            return self._begin_anew(X, select, streamed=True)
        self._checked()
        method = self._method()
        method.check_continuation(self._state)
        documents = self._documents(X)
        if select is not None:
            documents = select(documents)
        documents.begin()  # errors change nothing
        self._check_undisturbed()
        with changing(self), complete_or_undone(self, waits=True):
            # Training changes arrays that a memory map may protect.
            self._state = method.adopted(writable(self._state))
        return documents

    def _warn_of_doubtful(self, summary, streamed):
        """Warn of documents that training starts from, but that are hardly word counts, or too few."""
        owner = type(self).__name__
        summary.warn_of_other_values(owner)
        if not streamed:
            summary.warn_of_small_corpus(owner, None if self._infers_number_of_topics else self.n_components)

    add_features = add_features

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file, which `sktopic.load` reads.

        The file is a zip archive of .npy arrays and a JSON header, without pickle: the parameters, all that
        training has set, the names of the features and the container of `set_output`. What was loaded
        answers and goes on training as this model does, to the last bit. Callbacks are not stored.

        Parameters
        ----------
        path : str or path-like
            The file. One that is there is replaced in one step when the new one is complete and on the
            disk: after an error, Ctrl-C or a power cut it is the old file or the new one. Who reads or has
            mapped the old one goes on with it.

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        TypeError
            If a parameter or an attribute is nothing that can be stored: parameters may be None, numbers,
            strings, lists and tuples of these, arrays of numbers and ``RandomState``; attributes those of
            the class. Or if the class is not one of this package. The message names it.
        ValueError
            If a parameter is out of range, or the fitted state is damaged.
        OSError
            If the file cannot be written.
        """
        write_model(self._read(), path)

    def __copy__(self):
        return copied(self)  # training changes arrays in place

    def __getstate__(self):
        return state_to_pickle(self, super().__getstate__)

    def __setstate__(self, state):
        super().__setstate__(state)
        if self._is_fitted():
            self._checked()

    @property
    def components_(self) -> FloatArray:
        """Topic-word probabilities, ndarray of shape (n_components_, n_features), rows sum to one.

        Computed once for each fitted state, and read-only.
        """
        check_is_fitted(self)
        return kept_components(self, lambda model: model._checked()._topic_probabilities().components())

    @property
    def _n_features_out(self):
        return self.n_components_

    # Names of topics

    @property
    def topic_names_(self) -> NDArray[np.object_]:
        """Names of the topics, ndarray of str of shape (n_components_,); only once there are any."""
        if not self._topic_names:
            raise AttributeError(
                f"this {type(self).__name__} has no topic_names_: sktopic.inspection.name_topics gives names."
            )
        return self.get_feature_names_out()

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the topics, as columns of `transform`.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str of shape (n_components_,), dtype object
            The names that `sktopic.inspection.name_topics` gave; for topics without one, the name of the
            class in lower case and the number of the topic.
        """
        model = self._read()
        names = super(TopicModel, model).get_feature_names_out(input_features)
        for topic, name in model._given_topic_names().items():
            names[topic] = name
        return names

    def _topic_identities(self):
        """What tells a topic from all that there were or will be: its number, unless topics come and go."""
        return getattr(self, "topic_ids_", np.arange(self.n_components_)).tolist()

    def _given_topic_names(self):
        """The names that topics were given, by the numbers that topics have now."""
        names = dict(self._topic_names)
        if not names:
            return {}
        identities = enumerate(self._topic_identities())
        return {topic: names[identity] for topic, identity in identities if identity in names}

    def _give_topic_names(self, names):
        """Give topics names (see `sktopic.inspection.name_topics`)."""
        with updating(self):
            model = self._read()
            prefix = type(self).__name__.lower()
            self._topic_names = renamed(self._topic_names, names, model._topic_identities(), prefix)

    # What documents are inferred with

    def _answer(self, X, function, name):
        """Return function(inference, documents, workers, progress) of the Documents of X.

        The function is given the Inference with the fitted model, the Documents, Workers, and the Progress
        that is shown under the name of the method.
        """
        inference, documents = self._questioned(X)
        model, n_documents = inference.model, documents.n_documents
        name = f"{type(self).__name__}.{name}"
        shown = model.verbose and (n_documents is None or n_documents > MANY_DOCUMENTS)
        with Workers(model.n_jobs) as workers, Progress(name, n_documents, shown=shown) as progress:
            return function(inference, documents, workers, progress)

    def _questioned(self, X):
        """The Inference with the fitted model, and the Documents of X."""
        inference = kept_answering(self, self._prepare)
        return inference, inference.model._documents(X)

    def _prepare(self):
        """Return the Inference with the fitted model, checked."""
        inference = Inference(self._read())
        check_settings_once(self, inference.settings, inference.model._check_settings)
        return inference

    def transform(
        self, X: DocumentsLike, out: NDArray[Any] | str | PathLike[str] | None = None
    ) -> FloatingArray:
        """Infer the topic proportions of documents.

        A document's proportions depend on the fitted model and on its own words and counts alone: not
        on the other documents, their order, the container or the number of jobs. A document without words
        gets the prior mean.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        out : ndarray of shape (n_samples, n_components_), path of a .npy file, or None, default=None
            Where to write the proportions, some documents at a time, and not in memory as a whole. An array
            is of float64 or float32. A file has the type of the result; one that is there is replaced when
            the new one is complete.

        Returns
        -------
        theta : ndarray of shape (n_samples, n_components_)
            Posterior mean topic proportions; rows sum to one. float32 where X is, else float64. With ``out``,
            that array, or a read-only memory map of the file, also where `set_output` asks for a table.
        """

        def proportions(inference, documents, workers, progress):
            return inference.all_proportions(documents, workers, progress, out)

        return self._answer(X, proportions, "transform")

    @validate_params({"n_topics": [AT_LEAST_ONE]})
    def word_topics(self, X: DocumentsLike, n_topics: int = 3) -> tuple[NDArray[np.int32], FloatingArray]:
        """Infer from which topics the words of documents are.

        Tokens of one word in one document have their topics in common. What the probabilities are depends on
        how `transform` infers documents:

        - Gibbs sampling: the mean, over the counted sweeps and the tokens, of the probabilities from which a
          token's topic is drawn given those of the others. Those of all topics, times the counts and added
          to doc_topic_prior_, are proportional to what `transform` answers;
        - variational inference: the variational distribution of a token's topic;
        - collapsed variational inference: the same, from the final numbers of tokens in topics;
        - maximum a posteriori estimation and moment matching: proportional to the proportion of the topic
          times the probability of the word in it.

        They depend on the model and on the document's own words and counts alone, as proportions do.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        n_topics : int, default=3
            Topics of each word, the most probable ones; all where the model has fewer.

        Returns
        -------
        topics : ndarray of shape (n_entries, min(n_topics, n_components_)), int32
            Topics of each entry of X, the most probable first. Row ``i`` belongs to ``X.indices[i]`` of an X
            in CSR format, sorted or not, and else to that of ``scipy.sparse.csr_array(X)``. Entries of the
            same document and word have the same topics. A stored zero is no word: its topics are -1.
        probabilities : ndarray of the same shape
            Their probabilities; 0 for a stored zero. float32 where X is, else float64.

        See Also
        --------
        iter_word_topics : The same block by block, where the results of all documents are too large.
        """

        def word_topics(inference, documents, workers, progress):
            blocks = documents.blocks()
            found = [inference.word_topics(block, n_topics, workers, progress) for block in blocks]
            return tuple(map(joined, zip(*found)))

        return self._answer(X, word_topics, "word_topics")

    @validate_params({"n_topics": [AT_LEAST_ONE], "block_size": [AT_LEAST_ONE]})
    def iter_word_topics(
        self, X: DocumentsLike, n_topics: int = 3, *, block_size: int = BLOCK_SIZE
    ) -> Iterator[tuple[slice, NDArray[np.int32], FloatingArray]]:
        """Iterate over what `word_topics` returns, some documents at a time.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative. They must not change meanwhile.
        n_topics : int, default=3
            Topics of each word, the most probable ones; all where the model has fewer.
        block_size : int, default=1024
            Documents at a time.

        Yields
        ------
        rows : slice
            The documents.
        topics, probabilities : ndarray
            As from ``word_topics(X[rows], n_topics)``, by the model as it was when the iterator was made.
        """
        inference, documents = self._questioned(X)
        if trained_here(self):  # which may go on before the iterator does
            inference = Inference(copied(inference.model))
        return inference.blocks_of_word_topics(documents, n_topics, block_size)

    @available_if(_has_posterior)
    @validate_params({"n_samples": [AT_LEAST_ONE]})
    def sample_proportions(self, X: DocumentsLike, n_samples: int) -> FloatingArray:
        """Draw topic proportions of documents from their posterior, given the fitted topics and prior.

        Where `transform` answers with the posterior mean, these say how certain it is. What the posterior is
        depends on how `transform` infers documents:

        - Gibbs sampling: the exact posterior, up to the mixing of a chain. It draws the topics of tokens, and
          proportions from their Dirichlet distribution given these. Each draw comes ``transform_burn_in +
          transform_sweeps`` sweeps after the one before: the more, the less draws depend on each other and
          on the start;
        - variational inference: the variational Dirichlet distribution, which is narrower than the exact
          posterior;
        - moment matching: the Dirichlet distribution that the filter arrives at.

        They depend on the model and on the document's own words and counts alone, as proportions do, and the
        first draws are the same for any number of them. Proportions of models that infer the number of topics
        are over the topics in use, whose weights are held fixed. How uncertain the topics are is not in them.

        `OnlineOPELDA`, `OnlineCVB0LDA` and `OnlineVariationalHDP` have no such distribution, nor this method.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        n_samples : int
            Draws for each document.

        Returns
        -------
        theta : ndarray of shape (n_documents, n_samples, n_components_)
            The draws, which sum to one over topics; those of a document without words are from the prior.
            float32 where X is, else float64.
        """

        def draws(inference, documents, workers, progress):
            blocks = documents.blocks()
            return joined([inference.draws(block, n_samples, workers, progress) for block in blocks])

        return self._answer(X, draws, "sample_proportions")

    def score(self, X: DocumentsLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Held-out log-likelihood per word, by document completion; higher is better.

        A fifth of the tokens of each document is hidden, the topic proportions are inferred from the
        others by `transform`, and the hidden tokens are predicted. Which tokens are hidden depends on
        the document alone, so scores of different models on the same documents compare. It is never a
        bound, and never counts tokens the proportions were fitted to. Models of different vocabularies, as in
        a search over ``min_df``, are compared by `sktopic.metrics.relative_score`.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            As how many documents each counts in the mean over hidden words, >= 0. None: as one.

        Returns
        -------
        score : float
            Mean nats per hidden word; NaN, with a warning, where no document has words.
        """

        def completion(inference, documents, workers, progress):
            weighted = documents.weighted(sample_weight)
            return inference.model._completion(weighted, workers, progress).value()

        return self._answer(X, completion, "score")

    def _completion(self, documents, workers, progress=NOT_SHOWN):
        """What Documents score, a PerWord."""
        inference = Inference(self)
        return mean_log_predictive(
            documents.groups(),
            self._topic_probabilities(),
            lambda observed: inference.proportions(observed, workers, progress),
            workers,
        )

    def perplexity(self, X: DocumentsLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """exp(-score(X)): perplexity per held-out word; lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            As how many documents each counts, as in `score`.

        Returns
        -------
        perplexity : float
        """
        return float(np.exp(-self.score(X, sample_weight=sample_weight)))


TopicModel.transform = outside_container(TopicModel.transform)  # type: ignore[method-assign]
