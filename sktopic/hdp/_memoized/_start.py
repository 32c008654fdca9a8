"""The first topics of a corpus: those of a Gibbs chain for the HDP over its documents.

From random topics, mean-field inference ends where its start lets it: all topics share all words at first,
and most of them never become different. A chain gives each token one topic. Its topics are finer than those
with the highest bound, so merges and drops lead there.
"""

import math
from dataclasses import replace

import scipy.sparse as sp

from sktopic._state._fields import changed
from sktopic._training._sweeps import Schedule
from sktopic.hdp._collapsed_method import CollapsedHDP

# Random topics that the chain begins with: per square root of the number of tokens, and limits. It ends with
# about as many, because new topics are rare.
TOPICS_PER_ROOT, FEWEST_TOPICS, MOST_TOPICS = 0.5, 20, 300
SWEEPS = 300
# Parameter of the topics' prior in the chain, if it is to be learned or smaller: then topics would be many.
WORD_PRIOR = 0.05
# Tokens that are enough; larger corpora are sampled by their first batches.
ENOUGH_TOKENS = 1 << 22


def topics_of_chain(run, state, batches):
    """Return the state with the topics at the end of a chain, if the documents have words.

    Parameters
    ----------
    run : Run
    state : DirectAssignmentState before training
    batches : iterator of pairs (DocumentReader, rows)
    """
    X = first_documents(batches, state.words.n_features)
    if not X.nnz:
        return state
    enough = math.ceil(TOPICS_PER_ROOT * math.sqrt(X.sum()))
    sampler = sampler_of(run.method, min(max(enough, FEWEST_TOPICS), MOST_TOPICS))
    chain = sampler.start(X.shape[1], state.seed)
    call = sampler.begin(chain, X)
    chain = sampler.entered(chain, call)
    with run.monitor.stage("start", SWEEPS, "sweeps") as progress:
        for sweep in range(SWEEPS):
            chain = sampler.swept(chain, call, run.workers)
            chain = replace(chain, chain=chain.chain.swept(sweep + 1))
            progress.advance(1)
    topics = chain.words.store[:, chain.columns].T
    begun = replace(run.method, n_components=len(topics), components=topics).start(X.shape[1], state.seed)
    return changed(begun, corpus_size=state.corpus_size)


def sampler_of(method, enough):
    """Return the CollapsedHDP with the parameters of a DirectAssignment, and enough topics."""
    parameters = method.parameters
    given = parameters.topic_word_prior
    word_prior = WORD_PRIOR if parameters.learns("topic_word_prior") else max(given, WORD_PRIOR)
    return CollapsedHDP(
        n_components=max(method.n_components, enough),
        sampler="table_indicator",
        parameters=replace(parameters, topic_word_prior=word_prior),
        n_proposals=0,
        components_init=None,
        schedule=Schedule(SWEEPS, evaluate_every=0, draws=range(0)),
    )


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
