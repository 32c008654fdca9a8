"""Inspect topics: in a browser, as tables, over time and in plots; export to pyLDAvis."""

from sktopic.inspection._effects import estimate_effect, plot_effects
from sktopic.inspection._explorer import Explorer, explore
from sktopic.inspection._plots import plot_n_components, plot_scores, plot_topics
from sktopic.inspection._posterior_check import plot_posterior_predictive_check
from sktopic.inspection._related import plot_topic_dendrogram, plot_topic_similarity, topic_similarity
from sktopic.inspection._tables import name_topics, pyldavis_data, top_documents, top_words
from sktopic.inspection._time import plot_topics_over_time, topics_over_time
from sktopic.inspection._topic_sizes import TopicSizes, plot_topic_sizes, topic_sizes
from sktopic.inspection._topic_table import topic_table
from sktopic.inspection._word_table import word_topic_table

__all__ = [
    "Explorer",
    "TopicSizes",
    "estimate_effect",
    "explore",
    "name_topics",
    "plot_effects",
    "plot_n_components",
    "plot_posterior_predictive_check",
    "plot_scores",
    "plot_topic_dendrogram",
    "plot_topic_similarity",
    "plot_topic_sizes",
    "plot_topics",
    "plot_topics_over_time",
    "pyldavis_data",
    "top_documents",
    "top_words",
    "topic_similarity",
    "topic_sizes",
    "topic_table",
    "topics_over_time",
    "word_topic_table",
]
