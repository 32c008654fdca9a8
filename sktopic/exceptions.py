"""Warnings of their own class, so that they can be filtered."""

__all__ = ["CountsWarning", "TopicLimitWarning"]


class CountsWarning(UserWarning):
    """Given by ``fit`` where X is valid, but hardly what a model of word counts can learn from.

    Its rows are scaled to one, as those of tf-idf; most entries are fractions from 0 to 1, as those of
    embeddings; it seems to be transposed; it has no counts; or it has no more documents than topics, and few
    words for each topic. Real-valued counts in general are welcome.
    """


class TopicLimitWarning(UserWarning):
    """Given by ``fit`` where the most probable number of topics is the largest that the model may choose.

    That is so for the models with a posterior over the number of topics. Those that merely are truncated at
    n_components topics, such as `HybridHDP`, usually use all of them.
    """
