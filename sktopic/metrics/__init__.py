"""Measures of topic models: functions of (components, prior, documents), or of a fitted model."""

from sktopic.metrics._held_out import document_completion, left_to_right, perplexity

__all__ = ["document_completion", "left_to_right", "perplexity"]
