"""Warning classes, which you can filter."""

__all__ = ["CountsWarning", "TopicLimitWarning"]


class CountsWarning(UserWarning):
    """Issued by ``fit`` if X is valid but unlikely to be a matrix of word counts.

    Possible reasons: rows have norm one, as with tf-idf; most entries are fractions from 0 to 1, as in
    embeddings; X seems to be transposed; X has no counts; X has few words per topic; or documents have so
    few words that `OnlineEMLDA` needs other parameters. Real-valued counts do not cause the warning.
    """


class TopicLimitWarning(UserWarning):
    """Issued by ``fit`` if the most probable number of topics is the largest that the model allows.

    Only models with a posterior over the number of topics issue it. Models that are truncated at n_components
    topics, such as `HybridHDP`, usually use all of them.
    """
