"""Measures of topic models: functions of (components, prior, documents), or of a fitted model."""

from sktopic.metrics._coherence import coherence, topic_diversity
from sktopic.metrics._comparison import TopicMatches, match_topics, stability
from sktopic.metrics._held_out import (
    document_completion,
    left_to_right,
    neg_perplexity_scorer,
    perplexity,
    relative_score,
)
from sktopic.metrics._intrusion import (
    IntrusionScore,
    IntrusionTask,
    document_intrusion_tasks,
    intrusion_score,
    word_intrusion_tasks,
)
from sktopic.metrics._posterior_check import PosteriorPredictiveCheck, posterior_predictive_check
from sktopic.metrics._topic_number import arun_2010, cao_juan_2009

__all__ = [
    "IntrusionScore",
    "IntrusionTask",
    "PosteriorPredictiveCheck",
    "TopicMatches",
    "arun_2010",
    "cao_juan_2009",
    "coherence",
    "document_completion",
    "document_intrusion_tasks",
    "intrusion_score",
    "left_to_right",
    "match_topics",
    "neg_perplexity_scorer",
    "perplexity",
    "posterior_predictive_check",
    "relative_score",
    "stability",
    "topic_diversity",
    "word_intrusion_tasks",
]
