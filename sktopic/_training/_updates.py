"""Parts of an update that mini-batch methods share."""

from sktopic._training._minibatches import LONG_WORK


def gathered_topics(topics, batch, prior, state, update, workers):
    """Rows of the topics for the words of a batch, without what its documents have added to them before."""
    gathered = topics.gather(batch.words, prior, workers)
    if update.earlier_share > 0.0:
        # Passes come in random orders. So every document, of this batch too, is in the part of the
        # statistics that earlier passes have left, as often as the share says.
        often = update.earlier_share * update.total_samples / state.corpus_size * batch.weights_up_to_one()
        gathered.left_out = topics.left_out(often, gathered.log_norm)
    return gathered


def work_of_clearing(rule, rho, state, counts):
    """Operations of setting the statistics to zero, if the rule does so."""
    size = state.words.size
    if size < LONG_WORK // 10 or counts.n_tokens == 0.0:  # clearing so few entries takes no time
        return 0
    return size if rule.discards(rho, state.n_topic_updates == 0) else 0
