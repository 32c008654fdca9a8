"""Figures in sentences of doc/guide/choose.rst; those of most estimators are in its table."""

from .lda_comparison import against_default, behind_at_equal_time
from .moment_matching import one_pass_against_one_pass
from .tables import moment_matching, rows, span

PAGE = "doc/guide/choose.rst"


def seconds_of_one_pass():
    """As a part of those of the default: the least and the most."""
    return one_pass_against_one_pass()[2:4]


def hybrid_hdp_behind():
    """In equal time, on the corpora where it is."""
    found = rows("flagship_equal_time", method="HybridHDP", topics="100", passes="5")
    behind = [gain for row in found if (gain := float(row["ahead by"])) > 0]
    assert (len(behind), len(found)) == (3, 4)
    return span(behind, 3)


def cvb0_with_20_topics():
    scores, times = against_default("OnlineCVB0LDA", "20")
    return [f"{max(map(abs, scores)):.3f}", *span(times)]


def cvb0_with_100_topics():
    return span([-score for score in against_default("OnlineCVB0LDA", "100")[0]], 3)


SENTENCES = [
    ("are ahead by at most {} nats with 100 topics and {} with 20 topics.", behind_at_equal_time),
    ("it is {} to {} nats behind the default on three of four corpora.", hybrid_hdp_behind),
    ("it is within {} nats of the default, in {} to {} of the time.", cvb0_with_20_topics),
    ("With 100 topics it is {} to {} nats behind, most on arXiv.", cvb0_with_100_topics),
    ("from one pass over a stream, in {} microseconds per token.", moment_matching, "DDM"),
    ("with fewer approximations, in {} to {} microseconds per token.", moment_matching, "TDM"),
    ("as one pass of the default, in {} to {} times the seconds.", seconds_of_one_pass),
]
