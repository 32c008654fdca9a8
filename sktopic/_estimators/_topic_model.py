"""Base class of all topic models: validation, transform and score, for any algorithm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, metadata
from itertools import chain, repeat
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from sktopic._documents._input_messages import checked_documents
from sktopic._documents._sources import documents_of
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
from sktopic._estimators._constraints import AT_LEAST_ONE, SOME_SWEEPS, check_numbers
from sktopic._estimators._fitted_inference import Inference
from sktopic._estimators._fitted_state import check_arrays, check_parts
from sktopic._estimators._model_files import write_model
from sktopic._estimators._result_blocks import check_out
from sktopic._estimators._topic_names import renamed
from sktopic._estimators._vocabulary import (
    add_features,
    check_names_of,
    names_of,
    set_feature_names,
    take_names,
    without_names,
)
from sktopic._inference._completion import mean_log_predictive
from sktopic._inference._protocol import InferenceStep
from sktopic._runtime._attributes import set_attributes, twin
from sktopic._runtime._compat import outside_container, validate_params
from sktopic._runtime._interrupt import complete_or_undone
from sktopic._runtime._parallel import Workers
from sktopic._runtime._progress import NOT_SHOWN, Progress
from sktopic._state._fields import State, writable
from sktopic._typing import DocumentsLike, FloatArray, FloatingArray

# Number of documents above which transform, score and similar methods show progress if verbose.
MANY_DOCUMENTS = 10_000
# Documents times topics that are inferred faster than threads are started.
QUICK = 2000
# Documents per block of iter_word_topics.
BLOCK_SIZE = 1024


def _has_posterior(model):
    """Whether proportions have a posterior; raise AttributeError with the reason if they have none."""
    if model._no_posterior is not None:
        raise AttributeError(f"{type(model).__name__} has no sample_proportions: {model._no_posterior}")
    return True


@cache
def _page_address():
    """Return the address of an estimator's page, with fields for scikit-learn, or "" if unknown."""
    try:
        urls = metadata("sktopic").get_all("Project-URL", [])
    except PackageNotFoundError:  # used from where it was built
        return ""
    pages = dict(entry.split(", ", 1) for entry in urls).get("Documentation")
    return pages + "/generated/{estimator_module}.{estimator_name}.html" if pages else ""


def start_training(model, n_features):
    """Set the state before the first document; allocate before setting anything."""
    seed = int(check_random_state(model.random_state).randint(2**31 - 1))
    model._state = model._method().start(n_features, seed)


class TopicModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base class of all topic models.

    A subclass has parameters ``n_jobs`` and ``random_state``, has ``doc_topic_prior_``,
    ``n_components_`` and ``_seed`` once it is fitted, and defines `_method` and `_transform_step`.
    """

    n_components: int | None
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int

    # The class of the state declares all that training sets. The state is None before training.
    _state_class: ClassVar[type[State]]
    # All classes that the state may have, if parameters choose among several.
    _state_classes: ClassVar[tuple[type[State], ...]] = ()
    _state: Any = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    # Reason if proportions have no distribution to draw from.
    _no_posterior: ClassVar[str | None] = None
    # Whether n_components is only the largest or the initial number of topics.
    _infers_number_of_topics = False
    # Pairs of a topic's identity and its given name (see _topic_names).
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
        return super()._get_param_names()  # uncached, it reads the signature of __init__ at each call

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # Notebooks: scikit-learn describes parameters and attributes if it knows the address of a page.

    _doc_link_module = "sktopic"

    @property
    def _doc_link_template(self):
        return _page_address()

    # Defined by subclasses

    @abstractmethod
    def _method(self) -> Any:
        """Return the method that the parameters describe, whose functions take the state."""

    def _present_method(self):
        """Return the method of a fitted model; raise ValueError if a parameter is invalid."""
        try:
            return self._method()
        except Exception:
            self._check_settings()  # the error names the parameter
            raise

    def _topic_probabilities(self):
        """Return the fitted topics, a TopicProbabilities."""
        return self._present_method().topics(self._state)

    def _columns(self):
        """Return the columns of the reported topics in the arrays of the state."""
        return np.arange(self.n_components_)

    def _inference_topics(self):
        """Return the topics for the inference of documents, by default the fitted topics."""
        return self._topic_probabilities()

    @abstractmethod
    def _transform_step(self) -> InferenceStep[Any]:
        """Return the document step (see _inference) of `transform`.

        It is a PosteriorStep, unless `_no_posterior` says why proportions have no posterior.
        """

    def _check_settings(self):
        """Raise ValueError for invalid parameters. Subclasses check parameters that depend on each other."""
        self._validate_params()
        check_numbers(self)

    def _documents(self, X, *, reset=False, once=True):
        """Return the Documents of X; with reset, set the attributes that describe its features.

        once : whether the documents are read only once, so that X may be an iterator
        """
        if not reset:
            check_names_of(X, self)
            return documents_of(X, self._validate_documents, once)
        names = names_of(X)
        resets = chain([True], repeat(False))  # only the first block resets
        documents = documents_of(X, lambda block: self._validate_documents(block, next(resets)), once)
        take_names(names, self)
        return documents

    def _validate_documents(self, X, reset=False):
        """Return a matrix as_documents; with reset, set the attributes that describe its features."""

        def validate(X, **options):
            # scikit-learn would warn of each sparse matrix, which cannot have names.
            model = without_names(self) if sp.issparse(X) and not reset else self
            return validate_data(model, X, reset=reset, **options)

        return checked_documents(X, type(self).__name__, None if reset else self.n_features_in_, validate)

    def _checked(self):
        """Return self; raise ValueError if parts of the fitted state do not fit together."""
        check_arrays(self)
        check_parts(self)
        return self

    def _check_undisturbed(self):
        """Raise an error if parameters or sizes of fitted arrays were changed during the call."""
        check_parameters(self)
        self._checked()

    def _read(self):
        """Return a checked snapshot of the fitted model, which training in another thread does not change."""
        model = snapshot(self)
        model._check_fitted()
        return model._checked()

    def _check_fitted(self):
        """Raise NotFittedError if there is no state."""
        if not self._is_fitted():
            check_is_fitted(snapshot(self))  # not of self, whose attributes a first fit may set meanwhile

    def _is_fitted(self):
        """Whether there is a state, after any number of updates."""
        return self._state is not None

    def _begin_anew(self, X, select=None, *, streamed=False):
        """Set the state at the start of training, all or nothing; return the Documents of X.

        select : function of these documents that returns the documents to train on, and may raise
        streamed : whether more documents may follow. Only the first block is then read before training.
        """
        begun = twin(self)  # errors leave the model unchanged
        set_attributes(begun, {}, ["_topic_names"])
        documents = begun._documents(X, reset=True, once=streamed)
        if not streamed:
            documents.survey()
        if select is not None:
            documents = select(documents)
        begun._warn_of_doubtful(documents.begin().summary(), streamed)
        begun._begin_state(X)
        take_over(self, begun)
        return documents.checked_by(self._validate_documents)

    def _begin_state(self, X):
        """Set the state before the first update; X is what training was given."""
        start_training(self, self.n_features_in_)

    def _begin_or_continue(self, X, select=None):
        """Do the same for `partial_fit`: continue from a fitted model, adopting changed parameters."""
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
        """Warn if the documents are too few, or their values are hardly word counts."""
        summary.warn_of_other_values(type(self).__name__)
        if not streamed:
            n_components = None if self._infers_number_of_topics else self.n_components
            summary.warn_of_small_corpus(type(self).__name__, n_components, getattr(self, "max_iter", None))

    set_feature_names = set_feature_names
    add_features = add_features

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file for `sktopic.load`.

        The file is a zip archive of .npy arrays and a JSON header, without pickle. A loaded model gives the
        same results and continues training in the same way, to the last bit. The file also holds the feature
        names and the `set_output` setting, but no callbacks.

        Parameters
        ----------
        path : str or path-like
            The file. An existing file is replaced in one step: after an error, Ctrl-C or a power failure, you
            have either the old or the complete new file. Processes that have the old file open keep reading
            it.

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        TypeError
            If a parameter or an attribute cannot be stored, or the class is not part of sktopic. Parameters
            may be None, numbers, strings, lists and tuples of these, arrays of numbers and ``RandomState``.
            The message names the parameter or attribute.
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
        self._check_fitted()
        return kept_components(self, lambda model: model._checked()._topic_probabilities().components())

    @property
    def _n_features_out(self):
        return self.n_components_

    # Names of topics

    @property
    def topic_names_(self) -> NDArray[np.object_]:
        """Names of the topics, ndarray of str of shape (n_components_,); only if topics were named."""
        if not self._topic_names:
            owner = type(self).__name__
            raise AttributeError(f"this {owner} has no topic_names_: see sktopic.inspection.name_topics.")
        return self.get_feature_names_out()

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the topics, which are the columns of `transform`.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str of shape (n_components_,), dtype object
            Names given by `sktopic.inspection.name_topics`. Topics without a name get the class name in lower
            case and their number.
        """
        model = self._read()
        names = super(TopicModel, model).get_feature_names_out(input_features)
        for topic, name in model._given_topic_names().items():
            names[topic] = name
        return names

    def _topic_identities(self):
        """Identities of the topics: their numbers, or topic_ids_ if topics come and go."""
        return getattr(self, "topic_ids_", np.arange(self.n_components_)).tolist()

    def _given_topic_names(self):
        """Given names by the present numbers of the topics."""
        names = dict(self._topic_names)
        if not names:
            return {}
        identities = enumerate(self._topic_identities())
        return {topic: names[identity] for topic, identity in identities if identity in names}

    def _give_topic_names(self, names):
        """Name topics (see `sktopic.inspection.name_topics`)."""
        with updating(self):
            model = self._read()
            prefix = type(self).__name__.lower()
            self._topic_names = renamed(self._topic_names, names, model._topic_identities(), prefix)

    # Inference of documents

    def _answer(self, X, function, name):
        """Return the result of function(inference, documents, workers, progress) for the Documents of X.

        inference uses the fitted model. The progress bar shows the name of the method.
        """
        inference, documents = self._questioned(X)
        model, n_documents = inference.model, documents.n_documents
        name = f"{type(self).__name__}.{name}"
        shown = model.verbose and (n_documents is None or n_documents > MANY_DOCUMENTS)
        is_quick = n_documents is not None and n_documents * model.n_components_ <= QUICK
        n_jobs = 1 if is_quick else model.n_jobs
        with Workers(n_jobs) as workers, Progress(name, n_documents, shown=shown) as progress:
            return function(inference, documents, workers, progress)

    def _questioned(self, X):
        """Return the Inference with the fitted model, and the Documents of X."""
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

        The proportions of a document depend only on the fitted model and on the document's words and counts.
        They do not depend on other documents, their order, the container or the number of jobs. A document
        without words gets the prior mean.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        out : ndarray of shape (n_samples, n_components_), path of a .npy file, or None, default=None
            Where to write the proportions block by block, without holding all in memory. An array must be
            float64 or float32. A file has the type of the result; an existing file is replaced when the new
            one is complete. It must not be a file that X is read from.

        Returns
        -------
        theta : ndarray of shape (n_samples, n_components_)
            Posterior mean topic proportions; rows sum to one. float32 if X is float32, else float64. With
            ``out``, that array or a read-only memory map of the file, regardless of `set_output`.
        """
        check_out(out, X)
        return self._answer(X, partial(Inference.all_proportions, out=out), "transform")

    @validate_params({"n_topics": [AT_LEAST_ONE]})
    def word_topics(self, X: DocumentsLike, n_topics: int = 3) -> tuple[NDArray[np.int32], FloatingArray]:
        """Return the most probable topics of each word in each document.

        All tokens of the same word in a document get the same topics. The probabilities depend on how
        `transform` infers documents:

        - Gibbs sampling: probability of a token's topic given the other tokens, averaged over the counted
          sweeps and the tokens of the word. To get the result of `transform` up to a factor, multiply the
          probabilities by the counts, sum over words, and add doc_topic_prior_.
        - Variational inference: variational distribution of a token's topic.
        - Collapsed variational inference: the same, from the final topic counts of the document.
        - Maximum a posteriori estimation and moment matching: product of topic proportion and word
          probability, up to a factor.

        As in `transform`, results depend only on the model and on the document's words and counts.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        n_topics : int, default=3
            Number of most probable topics per word, at most the number of topics.

        Returns
        -------
        topics : ndarray of shape (n_entries, min(n_topics, n_components_)), int32
            Topics of each entry of X, the most probable first. If X is in CSR format, row ``i`` describes the
            word ``X.indices[i]``, even if the indices are not sorted. For other formats, row ``i`` describes
            entry ``i`` of ``scipy.sparse.csr_array(X)``. Entries of the same document and word have the same
            topics. The topics of a stored zero are -1.
        probabilities : ndarray of the same shape
            Probabilities of these topics; 0 for a stored zero. float32 if X is float32, else float64.

        See Also
        --------
        iter_word_topics : The same block by block, for results that are too large for memory.
        """
        return self._answer(X, partial(Inference.all_word_topics, n_topics=n_topics), "word_topics")

    @validate_params({"n_topics": [AT_LEAST_ONE], "block_size": [AT_LEAST_ONE]})
    def iter_word_topics(
        self, X: DocumentsLike, n_topics: int = 3, *, block_size: int = BLOCK_SIZE
    ) -> Iterator[tuple[slice, NDArray[np.int32], FloatingArray]]:
        """Iterate over the results of `word_topics`, some documents at a time.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative. They must not change during the iteration.
        n_topics : int, default=3
            Number of most probable topics per word, at most the number of topics.
        block_size : int, default=1024
            Number of documents at a time.

        Yields
        ------
        rows : slice
            The documents.
        topics, probabilities : ndarray
            Result of ``word_topics(X[rows], n_topics)`` with the model at the time of the call.
        """
        inference, documents = self._questioned(X)
        if trained_here(self):  # training may continue before the iterator does
            inference = Inference(copied(inference.model))
        return inference.blocks_of_word_topics(documents, n_topics, block_size)

    @available_if(_has_posterior)
    @validate_params({"n_samples": [SOME_SWEEPS]})
    def sample_proportions(self, X: DocumentsLike, n_samples: int) -> FloatingArray:
        """Draw topic proportions of documents from their posterior, given the fitted topics and prior.

        The draws show the uncertainty of the posterior mean that `transform` returns. The posterior depends
        on how `transform` infers documents:

        - Gibbs sampling: the exact posterior, up to the mixing of a chain. The chain draws the topics of
          tokens, then proportions from their Dirichlet distribution. Draws are
          ``transform_burn_in + transform_sweeps`` sweeps apart. More sweeps make draws less dependent on each
          other and on the start.
        - Variational inference: the variational Dirichlet distribution, which is narrower than the exact
          posterior.
        - Moment matching: the Dirichlet distribution at the end of the filter.

        As in `transform`, the draws depend only on the model and on the document's words and counts. The
        first draws do not depend on n_samples. For an HDP, draws cover the topics in use, with fixed topic
        weights. The draws do not include the uncertainty of the topics.

        `OnlineOPELDA`, `OnlineCVB0LDA` and `OnlineVariationalHDP` do not have this method, because their
        inference gives no distribution.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        n_samples : int
            Number of draws for each document.

        Returns
        -------
        theta : ndarray of shape (n_documents, n_samples, n_components_)
            The draws, which sum to one over topics. For documents without words, draws from the prior.
            float32 if X is float32, else float64.
        """
        return self._answer(X, partial(Inference.all_draws, n_draws=n_samples), "sample_proportions")

    def score(self, X: DocumentsLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the held-out log-likelihood per word by document completion; higher is better.

        A fifth of the tokens of each document is hidden. `transform` infers the topic proportions from the
        other tokens, and the hidden tokens are predicted. The hidden tokens depend only on the document, so
        you can compare scores of different models on the same documents. The score is never a bound, and
        never counts tokens that proportions were fitted to. To compare models with different vocabularies, as
        in a search over ``min_df``, use `sktopic.metrics.relative_score`.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weight of each document in the mean over hidden words, >= 0. If None, all documents weigh 1.

        Returns
        -------
        score : float
            Mean nats per hidden word. NaN, with a warning, if no document has words.
        """

        def completion(inference, documents, workers, progress):
            weighted = documents.weighted(sample_weight)
            return inference.model._completion(weighted, workers, progress).value()

        return self._answer(X, completion, "score")

    def _completion(self, documents, workers, progress=NOT_SHOWN):
        """Score of Documents, a PerWord."""
        inference = Inference(self)
        return mean_log_predictive(
            documents.groups(),
            self._topic_probabilities(),
            partial(inference.proportions, workers=workers, progress=progress),
            workers,
        )

    def perplexity(self, X: DocumentsLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the perplexity per held-out word, exp(-score(X)); lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix, Corpus, iterable of blocks} of shape (n_samples, n_features)
            Word counts, non-negative.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), float or None, default=None
            Weight of each document, as in `score`.

        Returns
        -------
        perplexity : float
        """
        return float(np.exp(-self.score(X, sample_weight=sample_weight)))


TopicModel.transform = outside_container(TopicModel.transform)  # type: ignore[method-assign]
