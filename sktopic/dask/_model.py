"""`DaskTopicModel`: train a topic model and infer topics on a cluster."""

from __future__ import annotations

import os
from contextlib import closing
from copy import copy
from functools import partial
from numbers import Integral
from typing import Any, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from sktopic._estimators._constraints import AT_LEAST_ONE
from sktopic._estimators._lanes import begin, check_lanes, start_of
from sktopic._estimators._vocabulary import NAMES, check_names_of, names_of, take_names
from sktopic._runtime._compat import HasMethods, Interval, StrOptions
from sktopic._runtime._progress import Progress
from sktopic.dask._blocks import documents_of, is_matrix
from sktopic.dask._checkpoints import Checkpoints
from sktopic.dask._cluster import TaskFailed, tasks_of
from sktopic.dask._files import check_visible, served_folder, shared_folder
from sktopic.dask._inference import ServedModel, lazy_proportions, score_of
from sktopic.dask._rounds import Plan, run_rounds
from sktopic.dask._state import begin_state, whole_state

# Every lane is planned before training begins, which takes seconds for this number.
MOST_LANES = 4096


class DaskTopicModel(BaseEstimator):
    """Topic model trained on a Dask cluster.

    Documents are divided among lanes, which train in parallel. All lanes start from the same topics, and
    their updates are merged after every `merge_every` mini-batches. Lanes belong to the model, not to the
    workers. Results are identical to the last bit for any number of workers, threads and processes, after
    workers have died, and without a cluster (``client=False``).

    The functions of `sktopic.inspection` and `sktopic.metrics` take the fitted object in place of its model
    `estimator_`. Edit and save `estimator_` itself.

    Parameters
    ----------
    estimator : estimator
        The model to train: OnlineEMLDA, HybridLDA, OnlineVariationalLDA, OnlineCVB0LDA, OnlineOPELDA,
        StreamingVariationalLDA, StreamingGibbsLDA or HybridHDP. Its batch_size applies to each lane. On a
        cluster, each task runs in one thread, regardless of n_jobs.
    n_lanes : int from 1 to 4096, default=8
        Number of lanes. Choose at least the number of threads of the cluster.
    merge_every : int or "auto", default="auto"
        Number of mini-batches per lane between merges. "auto" starts with a small number and increases
        it during training.
    checkpoint : str, path-like or None, default=None
        Folder or fsspec address, such as ``"s3://bucket/folder"``, for checkpoints. All workers and this
        process must have access to it.
    checkpoint_every : int, default=16
        Number of merges between checkpoints or, without `checkpoint`, between copies in `scratch`. At most
        this many merges are repeated after a worker dies, or after `resume`.
    resume : bool, default=False
        Whether `fit` continues from the last checkpoint in the folder. Without a checkpoint, `fit` starts
        from scratch. If False, a folder with checkpoints raises an error.
    delta_dtype : {"float64", "float32"}, default="float64"
        Type to which the updates of lanes are rounded. "float32" halves the amount of data that lanes send.
    client : distributed.Client, None or False, default=None
        Client of the cluster. If None, the current client. If False, all tasks run in this process. The
        client is not pickled.
    scratch : str, path-like or None, default=None
        Folder or fsspec address for temporary files, with the same access as `checkpoint`. If None, Dask's
        ``temporary-directory``, or the temporary folder of the system.
    verbose : int, default=0
        If positive, training shows a progress bar.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model. It does not depend on the cluster.
    n_merges_ : int
        Number of merges in the last call of `fit` or `partial_fit`.

    Examples
    --------
    >>> from sktopic import OnlineEMLDA
    >>> from sktopic.dask import DaskTopicModel
    >>> from sktopic.datasets import make_bars
    >>> X = make_bars(500, random_state=0).data
    >>> model = DaskTopicModel(OnlineEMLDA(n_components=5, random_state=0), n_lanes=4, client=False)
    >>> model.fit(X).estimator_.components_.shape
    (5, 25)
    """

    def __init__(
        self,
        estimator: Any,
        n_lanes: int = 8,
        merge_every: int | str = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
        *,
        checkpoint_every: int = 16,
        resume: bool = False,
        delta_dtype: str = "float64",
        client: Any = None,
        scratch: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_lanes = n_lanes
        self.merge_every = merge_every
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.resume = resume
        self.delta_dtype = delta_dtype
        self.client = client
        self.scratch = scratch
        self.verbose = verbose

    _parameter_constraints = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "transform"])],
        "n_lanes": [Interval(Integral, 1, MOST_LANES, closed="both")],
        "merge_every": [AT_LEAST_ONE, StrOptions({"auto"})],
        "checkpoint": [str, os.PathLike, None],
        "checkpoint_every": [AT_LEAST_ONE],
        "resume": ["boolean"],
        "delta_dtype": [StrOptions({"float64", "float32"})],
        "client": "no_validation",
        "scratch": [str, os.PathLike, None],
        "verbose": ["verbose"],
    }

    def __sklearn_clone__(self):
        parameters = self.get_params(deep=False)
        return type(self)(**{**parameters, "estimator": clone(self.estimator)})

    def __getstate__(self):
        state = super().__getstate__()
        return {**state, "client": False if self.client is False else None}

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn topics from scratch or, with `resume`, from the last checkpoint.

        Parameters
        ----------
        X : corpus on disk, dask array, dask bag, or list of delayed blocks
            Word counts. Blocks of a dask array may be sparse or dense, and may have unknown numbers of rows.
            Partitions of a bag are matrices or contain matrices. For a corpus on disk, see
            `sktopic.datasets.open_corpus`; for parquet files, `read_parquet`. With ``client=False``, X may
            also be a matrix in memory.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the estimator or a parameter does not support lanes, or a parameter is out of range. Also if a
            block of X is not a valid count matrix, or a checkpoint is damaged or belongs to another model or
            corpus. The message names the block or file.
        RuntimeError
            If the scheduler or all workers are lost and do not return.
        """
        return self._train(X, self.estimator, is_fit=True)

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Continue training with one pass over more documents, in order.

        This trains a copy of `estimator_`, with the parameters of `estimator_` instead of those of
        `estimator`. You may set `estimator_` to a model that was trained elsewhere. Checkpoints are neither
        read nor written.

        Parameters
        ----------
        X : as in `fit`
            Word counts.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError, RuntimeError
            As in `fit`.
        """
        return self._train(X, getattr(self, "estimator_", self.estimator), is_fit=False)

    def _train(self, X, estimator, is_fit):
        self._check(estimator)
        goes_on = not is_fit and hasattr(self, "estimator_")
        checkpoint = self.checkpoint if is_fit else None
        n_features = estimator.n_features_in_ if goes_on else None
        names = getattr(estimator, NAMES, None) if goes_on else names_of(X)
        if goes_on:
            check_names_of(X, estimator)
        with (
            closing(tasks_of(self.client)) as tasks,
            shared_folder(tasks, checkpoint, self.scratch) as folder,
        ):
            documents = documents_of(X, tasks, type(estimator).__name__, n_features)
            sent = self._in_tasks(estimator, tasks)
            if goes_on:
                begun = start_of(sent, documents.n_documents)
            else:
                begun = begin(sent, documents.n_features, documents.n_documents, is_corpus=is_fit)
            plan = Plan(documents, self, estimator, begun.state.n_updates, is_fit)
            files = None if folder is None else Checkpoints(folder, estimator, self._identity(documents))
            found = files.read(begun, self.resume, plan.check) if checkpoint is not None else None
            begun, n_done = found or (begun, 0)
            plan.seed = begun.state.seed if is_fit and estimator.shuffle else None
            if found:
                begin_rounds = partial(files.state, tasks)
            elif not goes_on:
                begin_rounds = partial(begin_state, tasks, begun)
            elif files is None:
                begin_rounds = partial(whole_state, begun, estimator)
            else:
                begin_rounds = partial(files.given_state, tasks, begun, estimator)
            model = self._run(tasks, plan, begin_rounds, n_done, files)
        take_names(names, model)
        model.set_params(n_jobs=estimator.n_jobs)
        self.estimator_, self.n_merges_ = model, len(plan.rounds)
        return self

    def transform(self, X: Any) -> Any:
        """Infer the topic proportions of documents.

        Parameters
        ----------
        X : as in `fit`, or a matrix in memory
            Word counts.

        Returns
        -------
        theta : dask array of shape (n_samples, n_components_)
            Topic proportions as from `estimator_.transform`, computed lazily in the blocks of X. The tasks
            read the model from a file in `scratch`, which exists until this process ends. For a matrix in
            memory, an ndarray, computed in this process.
        """
        check_is_fitted(self)
        check_names_of(X, self.estimator_)
        if is_matrix(X):
            return self.estimator_.transform(X)
        return lazy_proportions(
            X, self.estimator_, ServedModel.write(self.estimator_, served_folder(self.scratch))
        )

    def score(self, X: Any, y: object = None) -> float:
        """Compute held-out log-likelihood per word by document completion; higher is better.

        Parameters
        ----------
        X : as in `fit`, or a matrix in memory
            Word counts.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Equal to ``estimator_.score`` to the last bit: sums over blocks are exact.

        Raises
        ------
        ValueError
            If X has no documents, or a block is not a valid count matrix.
        """
        check_is_fitted(self)
        check_names_of(X, self.estimator_)
        if is_matrix(X):
            return self.estimator_.score(X)
        with closing(tasks_of(self.client)) as tasks:
            folder = served_folder(self.scratch)
            check_visible(tasks, folder)
            return score_of(X, ServedModel.write(self.estimator_, folder), tasks)

    def _check(self, estimator):
        """Raise ValueError if a parameter is out of range or the estimator does not support lanes."""
        self._validate_params()
        if self.resume and self.checkpoint is None:
            raise ValueError(
                "resume=True continues from the last checkpoint of a folder. Set checkpoint to this folder."
            )
        if getattr(estimator, "_skl_callbacks", None):
            raise ValueError(f"{type(self).__name__} does not support callbacks of its estimator.")
        check_lanes(estimator)

    def _in_tasks(self, estimator, tasks):
        """Return a copy of the estimator for tasks: small, and with one thread on a worker."""
        estimator = copy(estimator)
        if hasattr(estimator, NAMES):
            delattr(estimator, NAMES)
        if tasks.client is not None:
            estimator.set_params(n_jobs=1)
        return estimator

    def _identity(self, documents):
        """Return the values that must agree with a checkpoint, besides the estimator."""
        return {
            "n_lanes": int(self.n_lanes),
            "merge_every": self.merge_every,
            "delta_dtype": self.delta_dtype,
            "n_documents": documents.n_documents,
            "n_features": documents.n_features,
            "documents": documents.digest,
        }

    def _run(self, tasks, plan, begin_rounds, n_done, files):
        """Run the rounds of a plan; return the fitted model."""
        name = f"{type(self).__name__}.{type(self.estimator).__name__}"
        total, done = plan.n_documents(plan.rounds), plan.n_documents(plan.rounds[:n_done])
        with Progress(name, total, done=done, shown=bool(self.verbose)) as progress:
            try:
                return run_rounds(
                    tasks, plan, begin_rounds, n_done, files, int(self.checkpoint_every), progress
                )
            except TaskFailed as failed:
                raise failed.error from None

    @property
    def n_features_in_(self) -> int:
        """Number of words."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.n_features_in_
