"""The state of collapsed Gibbs sampling for the HDP, and the documents of a call."""

from dataclasses import dataclass, replace

import numpy as np

from sktopic._runtime._arrays import columns_of
from sktopic._state._fields import State, array, count, number, part, total
from sktopic._topics._word_count_edits import of_topics
from sktopic._topics._word_counts import WordCounts
from sktopic._training._sweeps import Chain
from sktopic._training._swept_counts import CountsBefore
from sktopic.hdp._restaurants import Restaurants, padded


def _ids_left(edit, ids):
    return edit.left(ids, gone=-1)


@dataclass(frozen=True, eq=False)
class CollapsedHDPState(State):
    """Tokens and tables of topics, in columns of which some are free.

    Attributes
    ----------
    words : WordCounts, in tokens
    tables : (n_columns,) float64, tables of each topic
    ids : (n_columns,) identities of topics; -1 in free columns
    next_id : identity of the next topic
    lengths : (2, n_lengths) the numbers of tokens that documents have, and how many documents have each
    dropped_tables : number of tables of dropped topics, whose tokens are in ``lengths`` for ever
    topic_concentration, doc_concentration : b0 and b1
    topic_word_prior : parameter of the topics' symmetric Dirichlet prior
    chain : Chain
    n_components_trace : (n_evaluations,) numbers of topics
    """

    words: WordCounts = part(WordCounts)
    tables: np.ndarray = array(np.float64, "topics", merge=total)
    ids: np.ndarray = array(np.int64, "topics", merge=_ids_left)
    next_id: int = count()
    lengths: np.ndarray = array(np.int64, 2, None)
    dropped_tables: float = number()
    topic_concentration: float = number()
    doc_concentration: float = number()
    topic_word_prior: float = number()
    chain: Chain = part(Chain)
    n_components_trace: np.ndarray = array(np.int64, None)

    @property
    def columns(self):
        """The columns of topics, in the order of their ids; without any, one that is empty."""
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
    tables_before : (n_columns,) tables that earlier documents have
    exact : whether adding and removing tokens rounds nothing
    """

    documents: Restaurants
    before: CountsBefore
    tables_before: np.ndarray
    exact: bool

    @property
    def n_documents(self):
        return len(self.documents.n_customers)


def arranged(state, call, kept, size):
    """The state with the topics in some columns only, in that order, and size columns; and so the call."""
    position = np.full(len(state.ids), -1, dtype=np.int32)
    position[kept] = np.arange(len(kept))
    n_spare = size - len(kept)
    before = call.before
    call.before = CountsBefore(
        words=before.words,
        counts=columns_of(before.counts, kept, size),
        totals=padded(before.totals[kept], size),
    )
    call.tables_before = padded(call.tables_before[kept], size)
    call.documents.rename(position)
    return replace(
        state,
        words=of_topics(state.words, kept, n_spare=n_spare),
        tables=padded(state.tables[kept], size),
        ids=np.concatenate([state.ids[kept], np.full(n_spare, -1)]),
    )


def named_topics(state):
    """The state with an identity for each new topic, and nothing in the columns of those that are gone."""
    used = state.tables > 0
    new = used & (state.ids < 0)
    n_new = int(new.sum())
    state.ids[new] = np.arange(state.next_id, state.next_id + n_new)
    state.ids[~used] = -1
    state.words.totals[~used] = 0.0
    return replace(state, next_id=state.next_id + n_new)
