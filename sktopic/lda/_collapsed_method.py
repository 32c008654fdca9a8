"""Collapsed Gibbs sampling for LDA: the state of the chain and its updates."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from sktopic._documents._matrices import DocumentReader
from sktopic._inference._token_counts import (
    add_tokens,
    column_sums,
    counts_exactly,
    in_order,
    log_rising_change,
    prior_gains,
    transfer_tokens,
    word_blocks,
)
from sktopic._kernels.random._rng import combine_keys, uniforms
from sktopic._state._fields import State, array, edited, grown, part, total
from sktopic._topics._prior import (
    LARGEST_LEARNED,
    SMALLEST_LEARNED,
    DocPrior,
    check_prior,
    check_used_prior,
)
from sktopic._topics._topic_word_prior import (
    TopicWordPrior,
    WordPrior,
    check_number_of_topics,
    edited_prior,
    given_doc_topic_prior,
    n_topics_of_start,
    prior_of_more_words,
    prior_totals,
)
from sktopic._topics._word_count_edits import edited_topics, frozen_topics
from sktopic._topics._word_count_views import probabilities
from sktopic._topics._word_counts import WordCounts
from sktopic._training._sweeps import ASSIGNMENT_KEY, Chain, Schedule
from sktopic._training._swept_counts import CountsBefore, initial_topics
from sktopic.lda._shards import Shard, topic_prior_of
from sktopic.lda._topic_exchange import can_exchange, evidence_gains, sampled_order

# Iterations of Minka's fixed point per update of a prior. Each update continues from the last.
PRIOR_ITERATIONS = 5
# Separates the random stream of exchanges from the streams of the shards in a sweep.
EXCHANGE_KEY = 0x65786368616E6765


def _total_but_last(edit, array):
    return np.append(edit.sums(array[:-1]), array[-1])


@dataclass(frozen=True, eq=False)
class CollapsedState(State):
    """Counts of words in topics, and the state of the priors.

    Attributes
    ----------
    words : WordCounts; one unit is one token
    prior : TopicWordPrior
    doc_topic_prior : (n_topics,)
    gains : (n_topics + 1,) sums of Minka's fixed point for doc_topic_prior over the documents of calls that
        learned it: the numerators of all topics, then the denominator
    chain : Chain
    """

    words: WordCounts = part(WordCounts)
    prior: TopicWordPrior = part(TopicWordPrior)
    doc_topic_prior: np.ndarray = array(np.float64, "topics", merge=total)
    gains: np.ndarray = array(np.float64, None, merge=_total_but_last)
    chain: Chain = part(Chain)

    def check(self):
        """Raise ValueError if arrays do not fit together."""
        self.prior.check(self.words.n_features, self.words.n_topics)
        check_used_prior(self.doc_topic_prior)
        if len(self.gains) != self.words.n_topics + 1:
            raise ValueError(f"gains has {len(self.gains)} numbers")


@dataclass
class Call:
    """The documents of one call of fit or partial_fit.

    Attributes
    ----------
    shards : list of Shard
    before : CountsBefore
    exact : whether adding and removing tokens has no rounding errors
    """

    shards: list
    before: CountsBefore
    exact: bool

    @property
    def n_documents(self):
        return sum(len(shard.lengths) for shard in self.shards)


def log_joint(state, call):
    """Return log p(words and topics of the documents | counts of earlier documents)."""
    words, before, beta, entries = state.words, call.before, state.prior.base, state.prior.entries
    sums = prior_totals(len(words.store), beta, entries)
    norm = gammaln(words.totals + sums) - gammaln(before.totals + sums)
    total = (
        in_order(
            log_rising_change(words.store[before.words[some]], before.counts[some], beta)
            for some in word_blocks(before.words)
        )
        - norm.sum()
    )
    if entries is not None:
        counts = words.store[before.words]
        i, k, value = entries.at(before.words)
        for change, sign in ((counts[i, k], 1.0), (before.counts[i, k], -1.0)):
            total += sign * (gammaln(change + value) - gammaln(change + beta)).sum()
    total += before.log_frozen(words, entries, call.shards)
    prior = state.doc_topic_prior
    return in_order((term for shard in call.shards for term in shard.log_proportions(prior)), total)


def recount(state, call):
    """Recount the tokens to remove rounding errors of additions and removals."""
    call.before.recount(state.words, call.shards)
    for shard in call.shards:
        shard.list_topics()


def prior_gains_of(state, shards):
    """Return Minka's sums for the prior of proportions: the numerators of topics, then the denominator."""
    prior = state.doc_topic_prior
    return np.append(prior, 1.0) * in_order(shard.prior_gains(prior) for shard in shards)


def with_learned_topic_word_prior(state):
    """Return the state after iterations for the prior of topics, without frozen topics."""
    counts, totals, held = state.words.store, state.words.totals, state.words.frozen_columns
    if len(held):
        counts, totals = np.delete(counts, held, axis=-1), np.delete(totals, held)
    beta, n_features = state.prior.base, len(counts)
    blocks = word_blocks(np.arange(n_features))
    for _ in range(PRIOR_ITERATIONS):
        below = n_features * (digamma(totals + n_features * beta) - digamma(n_features * beta)).sum()
        if not below > 0.0:  # the counts are too small to learn from
            break
        above = beta * in_order(prior_gains(counts[words], beta) for words in blocks)
        beta = float(np.clip(above / below, SMALLEST_LEARNED, LARGEST_LEARNED))
    return replace(state, prior=replace(state.prior, base=beta))


@dataclass(frozen=True)
class CollapsedLDA:
    """A SamplerMethod whose settings are the parameters of `CollapsedGibbsLDA`.

    doc_prior : learned under a Gamma prior of shape 1 and rate 0, which is Minka's fixed point
    topics_are_named : whether users have named topics. Named topics are not exchanged.
    """

    n_components: int
    doc_prior: DocPrior
    word_prior: WordPrior
    components_init: Any
    n_shards: int
    prior_interval: int
    schedule: Schedule
    topics_are_named: bool

    # The state

    def start(self, n_features, seed):
        """Return the state before the first document."""
        return self.adopted(
            CollapsedState(
                words=WordCounts.empty(n_features, self.n_components),
                prior=TopicWordPrior(base=self.word_prior.default),
                doc_topic_prior=np.array(check_prior(self.doc_prior.value, self.n_components)),
                gains=np.zeros(self.n_components + 1),
                chain=Chain(seed=seed),
            )
        )

    def check_continuation(self, state):
        """Raise ValueError if the number of topics has changed, or a prior to be learned is 0."""
        check_number_of_topics(self.n_components, *n_topics_of_start(state.prior, state.words.n_topics))
        self.word_prior.check_learned_from(state.prior)

    def adopted(self, state):
        """Return the state with the present parameters. Learned priors keep their values."""
        prior = self.word_prior.adopted(state.prior, self.n_components, state.words, goes_on=True)
        doc_topic_prior = state.doc_topic_prior
        if not self.doc_prior.is_learned:
            value, n_topics = self.doc_prior.value, state.words.n_topics
            doc_topic_prior = given_doc_topic_prior(value, self.n_components, prior, n_topics)
        return replace(state, prior=prior, doc_topic_prior=doc_topic_prior)

    def topics(self, state):
        """TopicProbabilities."""
        return probabilities(state.words, 1.0, state.prior.base, state.prior.entries)

    def entries(self, state):
        """PriorEntries of topics, or None."""
        return state.prior.entries

    def edited(self, state, edit):
        """Return the state after a TopicEdit."""
        words, prior = edited_topics(state.words, edit), edited_prior(state.prior, edit)
        return replace(edited(state, edit), words=words, prior=prior)

    def frozen(self, state, columns):
        """Return the state in which only these topics are frozen."""
        return replace(state, words=frozen_topics(state.words, columns, 1.0, state.prior.base))

    def grown(self, state, n_words):
        """Return the state with n_words more words."""
        prior = prior_of_more_words(state.prior, state.words.n_features, n_words)
        return replace(grown(state, n_words), prior=prior)

    # A call

    def begin(self, state, X):
        """Return the Call for documents X."""
        reader = DocumentReader(X)
        batch = reader.batch(np.arange(X.shape[0]))
        if self.n_shards == 1:
            batches = [batch]
        else:  # with about equal numbers of tokens
            batches = [reader.batch(np.arange(first, last)) for first, last in batch.chunks(self.n_shards)]
        beta, entries = state.prior.base, state.prior.entries
        most_tokens = state.words.totals.max() + batch.lengths.sum()
        sums = prior_totals(len(state.words.store), beta, entries)
        smallest = beta if entries is None else min(beta, entries.values.min())
        smallest_ratio = smallest / (most_tokens + np.max(sums))
        shards = [Shard.of(each, state.doc_topic_prior, smallest_ratio) for each in batches]
        before = CountsBefore.of(state.words, np.unique(np.concatenate([shard.words for shard in shards])))
        return Call(shards=shards, before=before, exact=counts_exactly(batch.cell_count, before.counts))

    def entered(self, state, call):
        """Return the state with the documents of the call. The first call assigns random topics to tokens."""
        if state.chain.n_samples_seen == 0:
            self.assign_at_random(state, call)
        return replace(state, chain=state.chain.entered(call.n_documents))

    def assign_at_random(self, state, call):
        """Assign random topics to the tokens, and set the counts to those of these tokens."""
        store = state.words.store
        store[:] = 0.0
        for i, shard in enumerate(call.shards):
            draws = uniforms(combine_keys(state.chain.seed, ASSIGNMENT_KEY, i), len(shard.z))
            shard.z[:] = initial_topics(
                shard,
                draws,
                n_topics=state.words.n_topics,
                n_features=len(store),
                components_init=self.components_init,
            )
            add_tokens(shard, store)
            shard.list_topics()
        state.words.totals[:] = column_sums(store)

    def undo(self, state, call):
        """Return a function that restores the arrays to their values before the next sweep."""
        words, totals = state.words, state.words.totals.copy()
        before = [shard.z.copy() for shard in call.shards]

        def undo():
            words.totals[:] = totals
            for shard, z in zip(call.shards, before):
                shard.z[:] = z
                if self.doc_prior.is_learned and z.min(initial=0) >= 0:  # from the documents' topics
                    shard.list_topics()
            call.before.add_documents(words, call.shards)
            call.before.hold(words)

        return undo

    # A sweep

    def swept(self, state, call, workers):
        """Return the state after a sweep. With several shards, counts are merged after the sweep."""
        words, before = state.words, call.before
        key, one_shard = state.chain.sweep_key(), len(call.shards) == 1
        topic_prior = topic_prior_of(*words.store.shape, state.prior.base, state.prior.entries)

        def sweep(i, shard):
            return shard.sweep(
                counts=words.store,
                update_counts=one_shard,
                totals=words.totals,
                prior=state.doc_topic_prior,
                topic_prior=topic_prior,
                key=combine_keys(key, i),
            )

        topics_before = [] if one_shard else [shard.z.copy() for shard in call.shards]
        totals = workers.map_here(sweep, list(enumerate(call.shards)))
        for shard, z in zip(call.shards, topics_before):
            transfer_tokens(shard, z, words.store)
        if not call.exact:
            recount(state, call)
        elif one_shard:
            words.totals[:] = totals[0]
        else:
            before.sum_totals(words)
        if before.totals.any():  # topics have tokens of documents from earlier calls
            return state
        return self.exchanged(state, call, combine_keys(key, EXCHANGE_KEY))

    def exchanged(self, state, call, key):
        """Return the state after Metropolis-Hastings steps that exchange topics with their priors."""
        prior, n_sweeps, learns = state.prior, state.chain.n_sweeps, self.doc_prior.is_learned
        if self.topics_are_named or not can_exchange(state, prior, n_sweeps, proportions_move=learns):
            return state
        places, gains = evidence_gains(state.words, 1.0, prior, equal_sizes=False)
        order = sampled_order(places, gains, uniforms(key, gains.size).reshape(gains.shape))
        if np.array_equal(order, np.arange(len(order))):
            return state
        state.words.rearrange(order)
        place = np.argsort(order).astype(np.int32)
        for shard in call.shards:
            shard.z[:] = place[shard.z]
            shard.list_topics()
        return replace(state, doc_topic_prior=state.doc_topic_prior[order])

    def ended(self, state, call, mean):
        """Return the state after the last sweep. mean : averaged counts of the words, or None."""
        words, before = state.words, call.before
        if mean is not None:
            words.store[before.words] = mean
            words.totals[:] = words.store.sum(axis=0)
            before.hold(words)
        if not self.doc_prior.is_learned:
            return state
        return replace(state, gains=state.gains + prior_gains_of(state, call.shards))

    # Priors

    def learned(self, state, call, sweep):
        """Return the state with learned priors, if an update is due after this sweep."""
        if sweep % self.prior_interval:
            return state
        if self.doc_prior.is_learned:
            state = self._with_learned_doc_topic_prior(state, call.shards)
        if self.word_prior.is_learned:
            state = with_learned_topic_word_prior(state)
        return state

    def _with_learned_doc_topic_prior(self, state, shards):
        """Return the state after some iterations of Minka's fixed point for the prior of proportions."""
        for _ in range(PRIOR_ITERATIONS):
            gains = state.gains + prior_gains_of(state, shards)
            if gains[-1] == 0.0:  # no words
                break
            state = replace(state, doc_topic_prior=self.doc_prior.mode(gains, 1.0))
        return state

    # The trace

    def evaluated(self, state, call):
        """Return the state with one more log joint probability."""
        return replace(state, chain=state.chain.evaluated(log_joint(state, call)))
