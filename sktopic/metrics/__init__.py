"""Measures of topic models: functions of (components, prior, documents), or of a fitted model."""

from sktopic.metrics._coherence import coherence, topic_diversity
from sktopic.metrics._comparison import match_topics, stability
from sktopic.metrics._held_out import (
    document_completion,
    left_to_right,
    neg_perplexity_scorer,
    perplexity,
    relative_score,
)

__all__ = [
    "coherence",
    "document_completion",
    "left_to_right",
    "match_topics",
    "neg_perplexity_scorer",
    "perplexity",
    "relative_score",
    "stability",
    "topic_diversity",
]
