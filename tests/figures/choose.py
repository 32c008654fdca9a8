"""Figures in sentences of doc/guide/choose.rst; those of most estimators are in its table."""

from .lda_comparison import behind_at_equal_time
from .moment_matching import one_pass_against_one_pass
from .tables import moment_matching, over_default

PAGE = "doc/guide/choose.rst"


def seconds_of_one_pass():
    """As a part of those of the default: the least and the most."""
    return one_pass_against_one_pass()[2:4]


SENTENCES = [
    ("none by more than {} nats with 100 topics, or {} with 20.", behind_at_equal_time),
    ("from one pass over a stream: {} microseconds a token.", moment_matching, "DDM"),
    ("with fewer approximations, at {} to {} microseconds a token.", moment_matching, "TDM"),
    ("and takes {} times as long as the default.", over_default, "V-OEM++"),
    ("as one pass of the default, in {} to {} times the seconds.", seconds_of_one_pass),
]
