"""Collapsed Gibbs sampling for the HDP: sweeps as functions of the state of a chain."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from sktopic._documents._matrices import DocumentReader
from sktopic._inference._token_counts import counts_exactly, log_rising_change
from sktopic._kernels._groups import RootTopics
from sktopic._kernels.hdp._gibbs import draw_tables, log_seatings
from sktopic._kernels.hdp._gibbs_split_merge import split_merge
from sktopic._kernels.random._rng import combine_keys, uniforms
from sktopic._runtime._arrays import are_lengths, columns_of
from sktopic._state._fields import State, array, count, edited, grown, number, part, total
from sktopic._topics._word_count_edits import edited_topics, frozen_topics, of_topics
from sktopic._topics._word_count_views import probabilities
from sktopic._topics._word_counts import WordCounts
from sktopic._training._sweeps import ASSIGNMENT_KEY, Chain, Schedule
from sktopic._training._swept_counts import CountsBefore, initial_topics
from sktopic.hdp._parameters import Parameters, check_in_use, draw_concentration
from sktopic.hdp._restaurants import (
    SMALLEST_WEIGHT,
    SPARE,
    TABLE_KEY,
    WEIGHT_KEY,
    Restaurants,
    generator_of,
    padded,
    sweep_settings,
)
from sktopic.hdp._root import log_root

# Separate the random streams of one seed.
CONCENTRATION_KEY = 0x636F6E63
SPLIT_MERGE_KEY = 0x73706C6974
# Words in fewer documents do not gain from alias tables (see _kernels.hdp._gibbs).
COMMON = 64
# Number of restricted sweeps before a split is proposed.
LAUNCH_SWEEPS = 4


def _ids_left(edit, ids):
    return edit.left(ids, gone=-1)


@dataclass(frozen=True, eq=False, kw_only=True)
class CollapsedHDPState(State):
    """Tokens and tables of topics, one column per topic. Some columns may be free.

    Attributes
    ----------
    words : WordCounts; one unit is one token
    tables : (n_columns,) float64, tables of each topic
    ids : (n_columns,) identities of topics; -1 in free columns
    next_id : identity of the next topic
    lengths : (2, n_lengths) distinct document lengths in tokens, and the number of documents of each length
    dropped_tables : number of tables of dropped topics, whose tokens stay in ``lengths``
    topic_concentration, doc_concentration : b0 and b1
    topic_word_prior : parameter of the topics' symmetric Dirichlet prior
    chain : Chain
    n_components_trace : (n_evaluations,) numbers of topics
    n_components_range : (2,) smallest and largest number of topics after the sweeps of the last half
    """

    words: WordCounts = part(WordCounts)
    tables: np.ndarray = array(np.float64, "topics", merge=total)
    ids: np.ndarray = array(np.int64, "topics", merge=_ids_left)
    next_id: int = count(0)
    lengths: np.ndarray = array(np.int64, 2, None)
    dropped_tables: float = number(0.0)
    topic_concentration: float = number()
    doc_concentration: float = number()
    topic_word_prior: float = number(1.0)
    chain: Chain = part(Chain)
    n_components_trace: np.ndarray = array(np.int64, None, starts_empty=True)
    n_components_range: np.ndarray = array(np.int64, 2)

    def check(self):
        """Raise ValueError for numbers that kernels do not check, as in a damaged file."""
        check_in_use(self)
        if not (np.isfinite(self.words.totals).all() and np.isfinite(self.tables).all()):
            raise ValueError("its numbers of tokens or tables are not finite")
        if min(self.tables.min(), self.dropped_tables, self.lengths.min(initial=0)) < 0:
            raise ValueError("it has negative numbers of tables or tokens")
        if not are_lengths(self.lengths[1], self.chain.n_samples_seen):
            raise ValueError("the numbers of documents of each length do not add up to n_samples_seen_")

    @property
    def columns(self):
        """The columns of topics, sorted by their ids. Without topics, one empty column."""
        used = np.flatnonzero(self.ids >= 0)
        if not len(used):
            return np.zeros(1, dtype=np.int64)
        return used[np.argsort(self.ids[used])]

    @property
    def topic_weights(self):
        """Expected weights of topics at the root given the tables."""
        # A corpus without words has the one topic of a first table.
        tables = np.maximum(self.tables[self.columns], 1.0)
        return tables / (tables.sum() + self.topic_concentration)


@dataclass
class Call:
    """The documents of one call of fit or partial_fit.

    Attributes
    ----------
    documents : Restaurants
    before : CountsBefore
    tables_before : (n_columns,) tables of earlier documents
    exact : whether adding and removing tokens is free of rounding errors
    """

    documents: Restaurants
    before: CountsBefore
    tables_before: np.ndarray
    exact: bool

    @property
    def n_documents(self):
        return len(self.documents.n_customers)


def arranged(state, call, kept, size):
    """Return the state and the call with these columns of topics only, in order, padded to size columns."""
    position = np.full(len(state.ids), -1, dtype=np.int32)
    position[kept] = np.arange(len(kept))
    call.documents.rename(position)
    arrange_before(call, kept, size)
    n_spare = size - len(kept)
    return replace(
        state,
        words=of_topics(state.words, kept, n_spare=n_spare),
        tables=padded(state.tables[kept], size),
        ids=np.concatenate([state.ids[kept], np.full(n_spare, -1)]),
    )


def arrange_before(call, kept, size):
    """Let what the call has of earlier documents be in these columns."""
    before = call.before
    call.before = CountsBefore(
        words=before.words,
        counts=columns_of(before.counts, kept, size),
        totals=padded(before.totals[kept], size),
    )
    call.tables_before = padded(call.tables_before[kept], size)


def named_topics(state):
    """Return the state with identities for new topics, and empty columns for removed topics."""
    used = state.tables > 0
    new = used & (state.ids < 0)
    n_new = int(new.sum())
    state.ids[new] = np.arange(state.next_id, state.next_id + n_new)
    state.ids[~used] = -1
    state.words.totals[~used] = 0.0
    return replace(state, next_id=state.next_id + n_new)


def draw_weights(state, generator):
    """Draw b1 times the weights of topics at the root given the tables, and b1 times their rest."""
    used = state.tables > 0
    root = np.zeros(len(used))
    root[used] = np.maximum(generator.gamma(state.tables[used]), SMALLEST_WEIGHT)
    rest = max(generator.gamma(state.topic_concentration), SMALLEST_WEIGHT)
    factor = state.doc_concentration / (root.sum() + rest)
    return root * factor, rest * factor


def seated(state, call, root, key):
    """Return the state with newly drawn tables for all documents of the call, given weights of topics."""
    tables = np.zeros(len(root))
    key = combine_keys(key, TABLE_KEY)
    draw_tables(lists=call.documents.lists, weight=root, tables=tables, key=key)
    return replace(state, tables=padded(call.tables_before, len(root)) + tables)


def log_joint(state, call):
    """Return log p(words, topics and tables of the documents | counts and tables of earlier documents)."""
    words, before, documents = state.words, call.before, call.documents
    beta, size = state.topic_word_prior, len(words.store)
    b0, b1 = state.topic_concentration, state.doc_concentration
    norm = gammaln(words.totals + size * beta) - gammaln(before.totals + size * beta)
    total = log_rising_change(words.store[before.words], before.counts, beta) - norm.sum()
    total += before.log_frozen(words, None, [documents])
    total += log_root(state.tables, b0) - log_root(call.tables_before, b0)
    total += log_seatings(documents.lists) + (state.tables - call.tables_before).sum() * np.log(b1)
    return total + (gammaln(b1) - gammaln(b1 + documents.n_customers)).sum()


@dataclass(frozen=True)
class CollapsedHDP:
    """The sampler, a SamplerMethod; its settings are the parameters of `CollapsedGibbsHDP`.

    n_proposals : 0 without split_merge
    """

    n_components: int
    sampler: str
    parameters: Parameters
    n_proposals: int
    components_init: Any
    schedule: Schedule

    # The state

    def start(self, n_features, seed):
        """The state before the first document."""
        size = -(-(int(self.n_components) + 1) // SPARE) * SPARE
        topic_shape, topic_rate = self.parameters.topic_concentration_prior
        doc_shape, doc_rate = self.parameters.doc_concentration_prior
        return self.adopted(
            CollapsedHDPState(
                words=WordCounts.empty(n_features, size),
                tables=np.zeros(size),
                ids=np.full(size, -1, dtype=np.int64),
                lengths=np.zeros((2, 0), dtype=np.int64),
                topic_concentration=topic_shape / topic_rate,
                doc_concentration=doc_shape / doc_rate,
                chain=Chain(seed=seed),
                n_components_range=np.zeros(2, dtype=np.int64),
            )
        )

    def check_continuation(self, state):
        """Accept any change of parameters."""

    def adopted(self, state):
        """Return the state with the present parameters; sampled concentrations do not change."""
        return self.parameters.adopted(state)

    def topics(self, state):
        """Return the TopicProbabilities."""
        return probabilities(of_topics(state.words, state.columns), 1.0, state.topic_word_prior)

    def entries(self, state):
        """None, because the prior of topics is a number."""
        return None

    def edited(self, state, edit):
        """The state after a TopicEdit."""
        edit = edit.of_columns(state.columns, len(state.ids), keeps_columns=True)
        after = edited(state, edit)
        dropped = max(float(state.tables.sum() - after.tables.sum()), 0.0)
        words = edited_topics(state.words, edit)
        return replace(after, words=words, dropped_tables=state.dropped_tables + dropped)

    def frozen(self, state, columns):
        """Return the state in which only the topics of these columns are frozen."""
        return replace(state, words=frozen_topics(state.words, columns, 1.0, state.topic_word_prior))

    def grown(self, state, n_words):
        """Return the state with more words."""
        return grown(state, n_words)

    # A call

    def begin(self, state, X):
        """Return the Call for documents X."""
        batch = DocumentReader(X).batch(np.arange(X.shape[0]))
        documents = Restaurants.of(batch)
        before = CountsBefore.of(state.words, np.sort(documents.words))
        exact = counts_exactly(batch.cell_count, before.counts)
        return Call(documents, before, tables_before=state.tables.copy(), exact=exact)

    def entered(self, state, call):
        """Return the state with the documents of the call. The very first documents get random topics."""
        if state.chain.n_samples_seen == 0:
            self._assign_at_random(state, call)
        lengths = call.documents.n_customers
        values, inverse = np.unique(np.append(state.lengths[0], lengths), return_inverse=True)
        weights = np.append(state.lengths[1], np.ones_like(lengths))
        return replace(
            state,
            lengths=np.array([values, np.bincount(inverse, weights=weights)], dtype=np.int64),
            chain=state.chain.entered(call.n_documents),
            n_components_trace=np.empty(0, dtype=np.int64),
        )

    def _assign_at_random(self, state, call):
        documents = call.documents
        z = initial_topics(
            documents,
            uniforms(combine_keys(state.chain.seed, ASSIGNMENT_KEY), len(documents.z)),
            n_topics=min(max(int(self.n_components), 1), len(state.ids) - 1),
            n_features=len(state.words.store),
            components_init=self.components_init,
        )
        documents.assign(z)
        call.before.recount(state.words, [documents])
        state.tables[:] = documents.tables(len(state.ids))

    def undo(self, state, call):
        """Return a function that undoes changes in arrays by the following sweep."""
        documents, before, z = call.documents, call.before, call.documents.z.copy()
        small = [(each, each.copy()) for each in (state.words.totals, state.tables, state.ids)]

        def undo():
            documents.z[:] = z
            before.add_documents(state.words, [documents])
            before.hold(state.words)
            for each, values in small:
                each[:] = values

        return undo

    # A sweep

    def swept(self, state, call, workers):
        """Return the state after a sweep and its proposals to split and merge topics."""
        used = np.flatnonzero(state.tables)
        if len(state.ids) > 4 * (len(used) + SPARE):
            state = arranged(state, call, used, -(-(len(used) + SPARE) // SPARE) * SPARE)
        key = state.chain.sweep_key()
        state = self._swept_tokens(state, call, key)
        if self.n_proposals:
            state = self._split_and_merged(state, call, combine_keys(key, SPLIT_MERGE_KEY))
        if not call.exact:  # recount, because additions and removals have rounded
            call.before.recount(state.words, [call.documents])
        state = named_topics(state)
        return self._with_concentrations(state, generator_of(key, CONCENTRATION_KEY))

    def _swept_tokens(self, state, call, key):
        """Return the state with new topics for all tokens; columns are added if none is free."""
        if self.sampler == "direct_assignment":
            root, rest = draw_weights(state, generator_of(key, WEIGHT_KEY))
        else:  # unnormalized weights of topics and of new topics at the root
            root, rest = state.tables.copy(), state.topic_concentration
        call.documents.weigh(indicators=self.sampler != "direct_assignment")
        topics = RootTopics(state.words.store, state.words.totals, root, state.ids)
        topics = call.documents.sweep(topics, rest, sweep_settings(state, self.sampler, COMMON), key)
        size = len(topics.root)
        if size > len(root):  # documents have topics in the new columns by now
            kept = np.arange(len(root))
            arrange_before(call, kept, size)
            words = of_topics(state.words, kept, n_spare=size - len(root))
            words = replace(words, store=topics.counts, totals=topics.totals)
            state = replace(state, words=words, tables=padded(state.tables, size), ids=topics.ids)
        if self.sampler == "direct_assignment":
            return seated(state, call, topics.root, key)
        return replace(state, tables=topics.root)

    def _split_and_merged(self, state, call, key):
        """Return the state after proposals to split and merge topics without earlier documents."""
        documents, free = call.documents, np.count_nonzero(state.tables == 0)
        if not len(documents.z):
            return state
        if free < self.n_proposals:
            state = arranged(state, call, np.arange(len(state.ids)), len(state.ids) + self.n_proposals)
        root, _ = draw_weights(state, generator_of(key, WEIGHT_KEY))
        split_merge(
            cells=documents.cells,
            topics=RootTopics(state.words.store, state.words.totals, root, state.ids),
            fixed=(call.tables_before > 0).astype(np.uint8),
            topic_concentration=state.topic_concentration,
            topic_word_prior=state.topic_word_prior,
            lists=documents.lists,
            z=documents.z,
            n_proposals=self.n_proposals,
            n_scans=LAUNCH_SWEEPS,
            key=key,
        )
        return seated(state, call, root, key)

    def _with_concentrations(self, state, generator):
        """Return the state with concentrations drawn given the tables, if they are sampled."""
        n_tables, n_topics = state.tables.sum(), np.count_nonzero(state.tables)
        if n_tables == 0:
            return state
        if self.parameters.learns("topic_concentration"):
            drawn = draw_concentration(
                state.topic_concentration,
                self.parameters.topic_concentration_prior,
                n_tables=n_topics,
                sizes=np.array([n_tables]),
                times=np.ones(1),
                generator=generator,
            )
            state = replace(state, topic_concentration=drawn)
        if self.parameters.learns("doc_concentration"):
            sizes, times = state.lengths
            drawn = draw_concentration(
                state.doc_concentration,
                self.parameters.doc_concentration_prior,
                n_tables=n_tables + state.dropped_tables,  # tables of documents with these lengths
                sizes=sizes,
                times=times,
                generator=generator,
            )
            state = replace(state, doc_concentration=drawn)
        return state

    # Between sweeps

    def learned(self, state, call, sweep):
        """Return the state with the range of its number of topics; concentrations are drawn within sweeps."""
        n = len(state.columns)
        low, high = (n, n) if sweep <= self.schedule.n_sweeps // 2 + 1 else state.n_components_range
        return replace(state, n_components_range=np.array([min(low, n), max(high, n)]))

    def evaluated(self, state, call):
        """Return the state with one more entry of both traces."""
        return replace(
            state,
            chain=state.chain.evaluated(log_joint(state, call)),
            n_components_trace=np.append(state.n_components_trace, len(state.columns)),
        )

    def ended(self, state, call, mean):
        """Return the state unchanged, because the model is the last draw."""
        return state
