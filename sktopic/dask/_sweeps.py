"""`CollapsedGibbsLDA` on a cluster: sweeps over shards of documents as tasks, and what follows from them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sktopic._block_order import BLOCK_SIZE, blocks_of
from sktopic._prior import LARGEST, check_prior
from sktopic._progress import NOT_SHOWN
from sktopic._token_counts import column_sums, in_order
from sktopic.dask._blocks import PIECES_OF_TASK
from sktopic.dask._checkpoints import Heads, prefix_of
from sktopic.dask._cluster import Steps
from sktopic.dask._files import read_only, read_rows, write_rows
from sktopic.dask._state import n_shards_of
from sktopic.lda import _shard_tasks as shard_tasks
from sktopic.lda._collapsed_gibbs import PRIOR_ITERATIONS
from sktopic.lda._shard_tasks import Chain, Priors, topic_type


@dataclass(frozen=True)
class ChainState:
    """The state of a chain, as tasks that return it.

    Attributes
    ----------
    n_sweeps : int
    shards : ShardState of each shard
    counts : of each range of words
    totals, priors : tasks
    trace : one task for each entry of log_likelihood_
    draws : sums of the counts of draws in each range, or None
    n_draws : int
    """

    n_sweeps: int
    shards: list[Any]
    counts: list[Any]
    totals: Any
    priors: Any
    trace: list[Any]
    draws: list[Any] | None = None
    n_draws: int = 0


def sample(
    estimator, documents, tasks, *, folder=None, checkpoint_every=16, resume=False, progress=NOT_SHOWN
):
    """Sweep over documents in the shards of an estimator; returns it fitted, as its own fit would.

    Parameters
    ----------
    estimator : CollapsedGibbsLDA
        A copy, which is changed; `check_shards` has passed it.
    documents : Documents
    tasks : Here or Cluster
    folder : Folder or None
        Where checkpoints are written; with Here, None is for none.
    checkpoint_every : int
        Sweeps from one to the next.
    resume : bool
        Whether to go on from the last, if there is one.
    progress : Progress
        Counts documents.

    Raises
    ------
    ValueError
        For a checkpoint that is damaged, or of another chain; and for any, if it is not to go on.
    """
    sampler = Sampler(estimator, documents, tasks, folder)
    state = sampler.begun() if folder is None else sampler.resumed(resume) or sampler.begun()
    progress.advance(state.n_sweeps * documents.n_documents)
    max_iter, steps = int(estimator.max_iter), Steps(tasks, progress)
    while state.n_sweeps < max_iter:
        progress.begin_stage(f"sweep {state.n_sweeps + 1}/{max_iter}")
        state = sampler.swept(state)
        steps.submitted(state.totals, documents.n_documents)
        if folder is not None and state.n_sweeps % checkpoint_every == 0 and state.n_sweeps < max_iter:
            steps.finish()
            state = sampler.cut(state)
    steps.finish()
    return sampler.finished(state)


class Sampler:
    """Submits the tasks of a chain.

    Parameters
    ----------
    estimator, documents, tasks, folder : see `sample`
    """

    def __init__(self, estimator, documents, tasks, folder):
        self._estimator, self._documents, self._tasks, self._folder = estimator, documents, tasks, folder
        self._heads = Heads(folder, estimator, {"documents": documents.digest})
        self._n_tasks = 0
        n_topics = int(estimator.n_components)
        self._ranges = shard_tasks.word_ranges(
            documents.n_features, n_shards_of(documents.n_features, n_topics)
        )
        exact, bounds = self._cut_documents()
        self._chain = Chain.of(estimator, documents.n_features, exact)
        self._read_shards(bounds)

    def _do(self, kind, function, *arguments):
        """Submit a task under a name of its own."""
        self._n_tasks += 1
        return self._tasks.submit((f"gibbs-{kind}", self._n_tasks), function, *arguments)

    # Documents

    def _window(self, first, last):
        """A task that returns documents first to last."""
        pieces = [
            (max(first, a), min(last, b))
            for a, b in blocks_of(self._documents.n_documents)[first // BLOCK_SIZE : -(-last // BLOCK_SIZE)]
        ]
        self._n_tasks += 1
        return self._documents.window(self._tasks, ("gibbs-documents", self._n_tasks), pieces, None, 0)

    def _cut_documents(self):
        """Whether counts are exact, and the bounds of the shards."""
        blocks = [
            self._window(*bounds)
            for bounds in blocks_of(self._documents.n_documents, PIECES_OF_TASK * BLOCK_SIZE)
        ]
        sizes = self._tasks.results([self._do("size", shard_tasks.block_size, block) for block in blocks])
        wanted = list(shard_tasks.wanted_cuts(sizes, self._estimator.n_shards))
        found = [
            self._do("cuts", shard_tasks.find_cuts, blocks[block], before, targets)
            for block, before, targets in wanted
        ]
        cuts = dict(zip([block for block, *_ in wanted], self._tasks.results(found)))
        return shard_tasks.count_exactly(sizes), shard_tasks.shard_ranges(sizes, cuts)

    def _read_shards(self, bounds):
        """Let tasks read the shards: their documents, and their words."""
        priors = Priors.of(self._estimator)
        batches = [self._do("batch", shard_tasks.read_documents, self._window(*each)) for each in bounds]
        n_tokens = [self._do("tokens", shard_tasks.batch_tokens, batch) for batch in batches]
        self._shards = [
            self._do("shard", shard_tasks.make_shard, self._chain, priors, batch, n_tokens)
            for batch in batches
        ]
        self._words = [self._do("words", shard_tasks.words_of, shard) for shard in self._shards]

    # Sweeps

    def begun(self):
        """The ChainState before the first sweep."""
        placed = [
            self._do("assign", shard_tasks.assign_shard, self._chain, shard, i)
            for i, shard in enumerate(self._shards)
        ]
        priors = self._do("known", itself, Priors.of(self._estimator))
        return self._with_counts(ChainState(0, [], [], None, priors, []), placed)

    def swept(self, state):
        """The ChainState after another sweep and what follows it."""
        swept = [
            self._do(
                "sweep",
                shard_tasks.sweep_shard,
                self._chain,
                state.priors,
                state.totals,
                shard,
                state.shards[i],
                [
                    self._do("part", shard_tasks.part_of_counts, counts, first, self._words[i])
                    for counts, (first, _) in zip(state.counts, self._ranges)
                ],
                i,
                state.n_sweeps,
            )
            for i, shard in enumerate(self._shards)
        ]
        state = self._with_counts(replace(state, n_sweeps=state.n_sweeps + 1), swept)
        estimator, n_sweeps = self._estimator, state.n_sweeps
        if n_sweeps % estimator.prior_interval == 0 and self._chain.learns:
            state = self._learned(state)
        if len(estimator._draw_sweeps) > 1 and n_sweeps in estimator._draw_sweeps:
            before = state.draws or [0.0] * len(state.counts)
            draws = [self._do("draw", shard_tasks.add_draw, *pair) for pair in zip(state.counts, before)]
            state = replace(state, draws=draws, n_draws=state.n_draws + 1)
        if estimator.evaluate_every and n_sweeps % estimator.evaluate_every == 0:
            state = replace(state, trace=[*state.trace, self._log_likelihood(state)])
        return state

    def _with_counts(self, state, swept):
        """The ChainState with shards that have been swept, and counts that they have changed."""
        chain, start, merged = self._chain, np.zeros(self._chain.n_components), []
        for (first, last), counts in zip(self._ranges, state.counts or [None] * len(self._ranges)):
            changes = [self._do("change", shard_tasks.part_of_change, each, first, last) for each in swept]
            merged.append(self._do("merge", shard_tasks.merge_counts, chain, first, last, counts, changes))
        if chain.exact and len(merged) > 1:
            sums = [self._do("sums", column_sums, counts, start) for counts in merged]
            totals = self._do("totals", in_order, sums, start)
        else:  # row after row
            totals = start
            for counts in merged:
                totals = self._do("sums", column_sums, counts, totals)
        return replace(state, shards=swept, counts=merged, totals=totals)

    def _of_shards(self, function, state):
        return [
            self._do("look", function, state.priors, shard, swept)
            for shard, swept in zip(self._shards, state.shards)
        ]

    def _of_words(self, function, state):
        return [self._do("look", function, state.priors, counts) for counts in state.counts]

    def _learned(self, state):
        chain = self._chain
        for _ in range(PRIOR_ITERATIONS):
            gains = [] if chain.doc_topic_prior is None else self._of_shards(shard_tasks.shard_gains, state)
            of_words = self._of_words(shard_tasks.word_gains, state) if chain.learns_topic_word_prior else []
            arguments = chain, state.priors, state.totals, gains, of_words
            state = replace(state, priors=self._do("learn", shard_tasks.learned_priors, *arguments))
        return state

    def _log_likelihood(self, state):
        return self._do(
            "joint",
            shard_tasks.log_likelihood,
            self._chain,
            state.priors,
            state.totals,
            self._of_words(shard_tasks.word_terms, state),
            self._of_shards(shard_tasks.shard_terms, state),
        )

    def finished(self, state):
        """The estimator after the last sweep; its counts are read here, range by range."""
        gains = self._of_shards(shard_tasks.shard_gains, state) if self._chain.doc_topic_prior else []
        counts, averaged = state.counts, state.n_draws > 1
        if averaged:
            counts = [self._do("mean", shard_tasks.mean_draw, draws, state.n_draws) for draws in state.draws]
        totals, priors, *small = self._tasks.results([state.totals, state.priors, *gains, *state.trace])
        return shard_tasks.fitted(
            self._estimator,
            self._chain,
            self._documents,
            priors,
            small[: len(gains)],
            np.hstack([np.empty(0), *small[len(gains) :]]),
            zip(self._ranges, map(self._fetched, self._ranges, counts)),
            None if averaged else totals,
        )

    def _fetched(self, bounds, counts):
        """The counts of a range, which come through a file, so that no scheduler carries them."""
        if self._tasks.client is None:
            return counts
        first, last = bounds
        name = f"merge-counts-{first:09d}"
        self._tasks.wait([self._do("save", write_rows, self._folder, name, counts)])
        counts = read_rows(self._folder, name, (last - first, self._chain.n_components))
        self._folder.delete(name)
        return counts

    # Checkpoints

    def cut(self, state):
        """Write a ChainState into files; returns the same ChainState, of tasks that read these."""
        number = state.n_sweeps
        writes = [
            self._do("save", write_topics, self._folder, topics_name(number, i), self._chain, shard, swept)
            for i, (shard, swept) in enumerate(zip(self._shards, state.shards))
        ]
        writes += [
            self._do("save", write_rows, self._folder, draws_name(number, j), draws)
            for j, draws in enumerate(state.draws or [])
        ]
        self._tasks.wait(writes)
        priors, *trace = self._tasks.results([state.priors, *state.trace])
        trace = np.hstack([np.empty(0), *trace])
        header = {"seed": self._chain.seed, "n_draws": state.n_draws, "topic_word_prior": priors.topics}
        self._heads.write(number, header, {"prior": priors.proportions, "trace": trace})
        if self._tasks.client is None:
            return state
        return self._loaded(number, state.n_draws, priors, trace)

    def resumed(self, resume):
        """The ChainState of the last checkpoint, or None; see Heads.last."""
        number = self._heads.last(resume)
        if number is None:
            return None
        keys = {"seed", "n_draws", "topic_word_prior"}
        with self._heads.open(number, keys, {"prior", "trace"}) as archive:
            header = archive.header
            prior, trace = (archive.array(name, np.dtype(np.float64)) for name in ("prior", "trace"))
            self._check_head(number, header, prior, trace)
            self._chain = replace(self._chain, seed=header["seed"])
            priors, n_draws = Priors(prior, header["topic_word_prior"]), header["n_draws"]
        return self._loaded(number, n_draws, priors, trace)

    def _check_head(self, number, header, prior, trace):
        """Raise ValueError for what no ChainState after so many sweeps has."""
        estimator, seed, beta = self._estimator, header["seed"], header["topic_word_prior"]
        if not 0 < number <= int(estimator.max_iter):
            raise ValueError(f"it is of {number} sweeps, where {estimator.max_iter} are all")
        if type(seed) is not int or not 0 <= seed < 2**31:
            raise ValueError(f"its seed is {seed!r:.40}")
        if type(beta) is not float or not 0.0 < beta <= LARGEST:
            raise ValueError(f"its topic_word_prior is {beta!r:.40}")
        if prior.ndim != 1:  # not a number for all topics
            raise ValueError(f"its prior has shape {prior.shape}")
        check_prior(prior, self._chain.n_components, "prior")
        draws = estimator._draw_sweeps
        n_draws = sum(sweep <= number for sweep in draws) if len(draws) > 1 else 0
        if type(header["n_draws"]) is not int or header["n_draws"] != n_draws:
            raise ValueError(f"its n_draws is {header['n_draws']!r:.40}, where {n_draws} is needed")
        n_traced = number // int(estimator.evaluate_every) if estimator.evaluate_every else 0
        if trace.shape != (n_traced,) or not np.isfinite(trace).all():
            raise ValueError(f"its trace is not one of {n_traced} numbers")

    def _loaded(self, number, n_draws, priors, trace):
        """The ChainState of a checkpoint, whose counts follow from the topics of tokens."""
        placed = [
            self._do("load", read_topics, self._folder, topics_name(number, i), self._chain, shard)
            for i, shard in enumerate(self._shards)
        ]
        shapes = [(last - first, self._chain.n_components) for first, last in self._ranges]
        draws = [
            self._do("load", read_rows, self._folder, draws_name(number, j), shape)
            for j, shape in enumerate(shapes if n_draws else [])
        ]
        state = ChainState(
            number,
            [],
            [],
            None,
            self._do("known", itself, priors),
            [self._do("known", itself, trace)],
            draws or None,
            n_draws,
        )
        return self._with_counts(state, placed)


def topics_name(number, shard):
    """The name of the file of a checkpoint with the topics of the tokens of a shard."""
    return f"{prefix_of(number)}-topics-{shard:05d}"


def draws_name(number, words):
    """That with the sum of draws of a range of words."""
    return f"{prefix_of(number)}-draws-{words:05d}"


# Tasks


def itself(value):
    """Return what was given."""
    return value


def write_topics(folder, name, chain, shard, state):
    """Write what is kept of the topics of a shard."""
    arrays = shard_tasks.kept_topics(shard, state)
    number = topic_type(chain.n_components)
    folder.write_arrays(
        name,
        {},
        {key: array if key == "n_entries" else array.astype(number) for key, array in arrays.items()},
    )


def read_topics(folder, name, chain, shard):
    """Give tokens the topics that were written; returns what `place_tokens` does."""
    number = topic_type(chain.n_components)
    names = "z", *shard.topics.of_order
    dtypes = {key: np.dtype(np.int32) if key == "n_entries" else number for key in names}
    with folder.open_arrays(name) as archive:
        arrays = dict(zip(dtypes, read_only(archive, dtypes)))
        return shard_tasks.place_tokens(chain, shard, **arrays)
