"""Training of HybridHDP with split_merge=True, if all tokens of the corpus keep their topics.

- The first pass is online, and stores the topic that each token is drawn to. It starts from as many random
  topics as the concentrations lead to expect in such a corpus, at most 1000, if these are more than
  n_components.
- Each later pass is collapsed Gibbs sampling. doc_burn_in + doc_sweeps sweeps over some 2 ** 19 tokens draw
  topics and tables (by table indicators) given all others, and the last draws of all tokens are stored.
  Topics begin and end as in the posterior.
- After passes 2, 4, 8, ..., topics are merged and split. Before the last pass, if it is the third or later,
  they are merged and dropped. `early_stopping` ends training without the latter.

Moves do not preserve the posterior; the sampling steps do. A split must gain more than the last pass has
raised the log joint probability, per topic. Otherwise topics that are made before sampling has settled would
stay. The topics of tokens are not part of the fitted state.
"""

from dataclasses import dataclass, replace

import numpy as np

from sktopic._documents._sources import MatrixDocuments
from sktopic._kernels.random._rng import combine_keys
from sktopic._state._fields import changed, duplicate
from sktopic._topics._word_count_edits import joined_topics, of_topics
from sktopic._topics._word_counts import WordCounts
from sktopic._training._minibatches import (
    FIT_KEY,
    LONG_WORK,
    make_passes,
    next_update,
    pass_minibatches,
    train_on_batch,
    visit_batches,
)
from sktopic.hdp._corpus_chain import CorpusChain
from sktopic.hdp._restaurants import SPARE, padded, sweep_settings
from sktopic.hdp._root import expected_topics
from sktopic.hdp._split_merge_topics import WINDOW_KEY, named_moves
from sktopic.hdp._window_moves import LEAST_WINDOW_GAIN

# Largest corpus whose tokens keep their topics, in tokens (a count becomes at most 64 tokens).
MOST_TOKENS, LARGEST_COUNT = 1 << 22, 64.0
# Approximate number of tokens sampled together. Each batch copies the counts of its words, and each sweep
# computes the weights of topics once for each word.
SAMPLED_TOGETHER = 1 << 19
# Largest number of random topics at the start.
MOST_RANDOM_TOPICS = 1000
# Separate the random streams of one seed.
SEAT_KEY, MORE_KEY = 0x73656174, 0x6D6F7265


def can_be_kept(documents):
    """Whether Documents have tokens, and few enough to keep their topics."""
    n_tokens, has_tokens = 0.0, False
    for X in documents.blocks():
        has_tokens = has_tokens or bool(X.data.any())
        n_tokens += np.clip(X.data, 1.0, LARGEST_COUNT).sum()
        if n_tokens > MOST_TOKENS:
            return False
    return has_tokens


def are_moves_due(n_passes, max_iter):
    """Whether topics move after n_passes: a power of two, or max_iter - 1."""
    return n_passes & (n_passes - 1) == 0 or n_passes == max_iter - 1


@dataclass
class KeptCorpus:
    """Data of one call of fit.

    Attributes
    ----------
    documents : MatrixDocuments
    chain : CorpusChain, their tokens with topics and tables
    log_joint_before : log joint probability one pass before topics move
    """

    documents: MatrixDocuments
    chain: CorpusChain
    log_joint_before: float = -np.inf


def fit_kept_topics(run, documents, passes, tasks, evaluate):
    """Train on all documents in passes, as `fit_minibatches` does; run : of SplitMergeTopics."""
    X, training, method = documents.matrix(), run.training, run.method
    kept = KeptCorpus(MatrixDocuments(X), CorpusChain(X))
    with training.changing(), training.complete_or_undone(waits=True):
        training.state = with_expected_topics(method, training.state, kept.chain.lengths())

    def train(epoch):
        if epoch == 0 or kept.chain.is_complete:
            visit_all(run, kept, passes, tasks, epoch)
        else:  # a callback has ended the first pass
            pass_minibatches(run, kept.documents, passes, tasks, epoch, earlier_share=1.0)
        if epoch + 1 < passes.max_iter and kept.chain.is_complete:
            with training.changing(), training.complete_or_undone(waits=False):
                training.state = after_pass(method, training.state, kept, epoch + 1, passes.max_iter)

    make_passes(run, kept.documents, passes, tasks, evaluate, train)


def visit_all(run, kept, passes, tasks, epoch):
    """Make a pass: online in the first pass, later by sampling the tokens of large batches."""
    chain = kept.chain
    if epoch == 0:
        method = replace(run.method, inference=run.method.kept_inference, has_window=False)
        run, visit, size = replace(run, method=method), assign_batch, passes.size
    else:
        visit, size = sample_batch, max(passes.size, SAMPLED_TOGETHER * chain.n_documents // len(chain.z))

    def train(reader, rows):
        visit(run, chain, reader, rows, next_update(run, passes, epoch))

    order_key = passes.order_key(run.training.state.seed, epoch)
    visit_batches(run, kept.documents.batches(size, order_key), tasks, train)


def assign_batch(run, chain, reader, rows, update):
    """Make one update of the first pass; tokens keep the topics of their last draws."""
    counts = train_on_batch(run, reader, rows, update)
    chain.assign(rows, counts.expected.topic)


def with_expected_topics(method, state, lengths):
    """Return the state before training, with more random topics if the prior expects more.

    lengths : (n_documents,) of the documents, in tokens
    """
    n_topics = int(expected_topics(lengths, state.topic_concentration, state.doc_concentration))
    n_more = min(n_topics, MOST_RANDOM_TOPICS) - state.words.n_topics
    if n_more <= 0:
        return state
    more = WordCounts.random(state.words.n_features, n_more, combine_keys(state.seed, MORE_KEY))
    words = joined_topics(state.words, more)
    n = words.n_topics
    root = changed(state.root, tables=np.full(n, 1.0 / n))
    numbers = np.arange(n)
    return method.reported(changed(state, words=words, root=root, ids=numbers, next_id=n, in_use=numbers))


def sample_batch(run, chain, reader, rows, update):
    """Make one update: sample the topics of some documents given those of all others."""
    method, training = run.method, run.training
    training.check_undisturbed()
    state = training.state
    step, key = method.kept_inference, combine_keys(state.seed, FIT_KEY, update.number)
    visit = chain.visit(
        reader.batch(rows),
        rows,
        statistics=state.words,
        settings=sweep_settings(state, "table_indicator"),
        n_sweeps=step.burn_in + step.sweeps,
        key=key,
    )
    # As in train_on_batch.
    short = visit.topics.counts.size < LONG_WORK
    with training.changing(), training.complete_or_undone(waits=short):
        if not short:
            state = changed(state, words=duplicate(state.words))
        state = changed(state, total_samples=float(update.total_samples))
        if len(visit.z):
            state = sampled(state, visit, chain.n_documents)
            chain.take(visit)
        training.state = changed(
            method.reported(state),
            n_updates=state.n_updates + 1,
            n_samples_seen=state.n_samples_seen + len(rows),
        )
    run.monitor.after_update(len(rows))


def sampled(state, visit, n_documents):
    """Return the state after a Visit of some of n_documents; arrays of the words change in place."""
    words, ids, n = state.words, state.ids, len(visit.topics.root)
    n_more = n - words.n_topics
    if n_more > 0:
        words, ids = of_topics(words, slice(None), n_spare=n_more), padded(ids, n)
    words.store[visit.words], words.totals[:] = visit.topics.counts, visit.topics.totals
    return changed(
        state,
        words=words,
        ids=ids,
        root=changed(state.root, tables=visit.topics.root / n_documents),
        in_use=state.in_use[visit.topics.ids[state.in_use] == 0],  # new topics may have taken the column
        n_topic_updates=state.n_topic_updates + 1,
    )


def after_pass(method, state, kept, n_passes, max_iter):
    """Return the state after a pass other than the last, when all tokens have topics."""
    chain, made = kept.chain, []
    if n_passes == 1:
        weights = method.doc_topic_prior(state, method.root_weights(state, state.total_samples))
        chain.seat(weights, combine_keys(state.seed, SEAT_KEY, n_passes))
    elif are_moves_due(n_passes, max_iter):
        state, made = moved(method, state, kept, n_passes, max_iter)
    # The stored statistics are the counts of all tokens.
    counts = chain.counts(state.words.n_features, len(chain.tables))
    root = changed(state.root, tables=chain.tables / chain.n_documents)
    words = WordCounts.of(counts, scale=1.0 / chain.n_documents)
    state = method.noted(method.reported(changed(state, words=words, root=root)), made)
    if are_moves_due(n_passes + 1, max_iter):
        kept.log_joint_before = chain.log_joint(words.store, sweep_settings(state, "table_indicator"))
    return state


def moved(method, state, kept, n_passes, max_iter):
    """Move topics by the evidence of the whole corpus, and reassign its tokens.

    Returns
    -------
    state : HybridState, whose words and root are still to be counted
    made : the moves
    """
    chain, n = kept.chain, state.words.n_topics
    key = combine_keys(state.seed, WINDOW_KEY, state.n_updates)
    moves = method.new_moves(state, chain.window(), chain.n_documents, movable=chain.tables > 0.0, key=key)
    moves.merge()
    if n_passes < max_iter - 1:
        # Before sampling has settled, one topic might gain as much as its two parts.
        log_joint = chain.log_joint(state.words.store, sweep_settings(state, "table_indicator"))
        settling = log_joint - kept.log_joint_before
        moves.split(max(LEAST_WINDOW_GAIN, settling / np.count_nonzero(chain.tables)))
    else:  # only now, because dropped small topics return slowly
        moves.drop()
    numbers = [k for k, topic in sorted(moves.topics.items()) if len(topic.tokens)]
    column = np.zeros(max(numbers) + 1, dtype=np.int32)
    column[numbers] = np.arange(len(numbers))
    chain.z[:] = column[moves.assigned(len(chain.z))]
    weights = padded(np.array([moves.topics[k].prior for k in numbers]), len(numbers) + SPARE)
    chain.seat(weights, combine_keys(state.seed, SEAT_KEY, n_passes))
    n_new = moves.n_numbers - n
    ids = np.append(state.ids, state.next_id + np.arange(n_new))
    state = changed(
        state,
        ids=padded(ids[numbers], len(weights)),
        next_id=state.next_id + n_new,
        in_use=np.arange(len(numbers)),
    )
    return state, named_moves(moves, ids)
