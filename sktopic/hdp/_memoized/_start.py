"""The first topics of a corpus: those of a short Gibbs chain for the HDP over its documents.

From random topics, mean-field inference ends where its start lets it: all topics share all words at first,
and most of them never become different. A chain gives each token one topic. Its topics are finer than those
with the highest bound, so merges and drops lead there.

A second chain begins with the topics that are left after some passes. So the number of topics that the first
chain begins with matters less.
"""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from sktopic._kernels.random._rng import combine_keys
from sktopic._state._fields import changed
from sktopic._training._sweeps import Schedule
from sktopic.hdp._collapsed_method import CollapsedHDP
from sktopic.hdp._direct_assignment_state import reported

# Fewest topics that the first chain begins with. Chains end with about as many, because new topics are rare.
FEWEST_TOPICS = 100
SWEEPS = 100
# Parameter of the topics' prior in the chain, if it is to be learned or smaller: then topics would be many.
WORD_PRIOR = 0.05
# Tokens that are enough; larger corpora are sampled by their first batches.
ENOUGH_TOKENS = 1 << 22
# Tells the stream of the second chain from that of the first.
SECOND_KEY = 0x7365636F


def first_start(run, state, batches):
    """Return the state with the topics of a chain from random topics, if the documents have words.

    Parameters
    ----------
    run : Run
    state : DirectAssignmentState before training
    batches : iterator of pairs (DocumentReader, rows)
    """
    sampler = sampler_of(run.method, max(run.method.n_components, FEWEST_TOPICS), None)
    X = first_documents(batches, state.words.n_features)
    return with_topics_of(sampler, run, state, X, state.seed) if X.nnz else state


def second_start(run, state, batches):
    """Return the state before training with the topics of a chain from those of a state."""
    sampler = sampler_of(run.method, state.n_topics, state.words.store.T)
    X, seed = first_documents(batches, state.words.n_features), combine_keys(state.seed, SECOND_KEY)
    begun = with_topics_of(sampler, run, state, X, seed)
    n = begun.n_topics
    return reported(changed(begun, ids=state.next_id + np.arange(n), next_id=state.next_id + n))


def sampler_of(method, n_components, components):
    """Return the CollapsedHDP with the parameters of a DirectAssignment, and initial topics."""
    parameters = method.parameters
    given = parameters.topic_word_prior
    word_prior = WORD_PRIOR if parameters.learns("topic_word_prior") else max(given, WORD_PRIOR)
    parameters = replace(parameters, topic_word_prior=word_prior)
    return CollapsedHDP(
        n_components=n_components,
        sampler="table_indicator",
        parameters=parameters,
        n_proposals=0,
        components_init=components,
        schedule=Schedule(SWEEPS, evaluate_every=0, draws=range(0)),
    )


def with_topics_of(sampler, run, state, X, seed):
    """Return the state before training with the topics at the end of a chain over documents X."""
    n_features = state.words.n_features
    chain = sampler.start(n_features, seed)
    call = sampler.begin(chain, X)
    chain = sampler.entered(chain, call)
    n_sweeps = sampler.schedule.n_sweeps
    with run.monitor.stage("start", n_sweeps, "sweeps") as progress:
        for sweep in range(n_sweeps):
            chain = sampler.swept(chain, call, run.workers)
            chain = replace(chain, chain=chain.chain.swept(sweep + 1))
            progress.advance(1)
    topics = chain.words.store[:, chain.columns].T
    begun = replace(run.method, n_components=len(topics), components=topics).start(n_features, state.seed)
    return changed(begun, corpus_size=state.corpus_size)


def first_documents(batches, n_features):
    """Return the documents of the first batches with enough tokens, a CSR array."""
    parts, n_tokens = [sp.csr_array((0, n_features))], 0
    for reader, rows in batches:
        batch = reader.batch(rows)
        cells = batch.cell_count, batch.words[batch.cell_word], batch.indptr
        parts.append(sp.csr_array(cells, shape=(batch.n_documents, n_features)))
        n_tokens += batch.n_clumps
        if n_tokens >= ENOUGH_TOKENS:
            break
    return sp.vstack(parts, format="csr")
