"""Figures in sentences of README.md."""

from .tables import entry, moment_matching, over_default, rounded

PAGE = "README.md"


def times_as_fast(*cells):
    return [rounded(entry("speed", "times as fast", *cells))]


def against_peers(*cells):
    return [rounded(entry("peers", "ratio or difference", "kos", "seconds to it, median of 5", *cells))]


def better_than_scikit_learn():
    return [f"{entry('peers', 'ratio or difference', 'score after one pass'):.2f}"]


SENTENCES = [
    (
        "time to the held-out score that tomotopy reaches after 400 sweeps | {} times as fast",
        against_peers,
        "tomotopy 400 sweeps",
    ),
    ("the same, after 150 sweeps | {} times as fast", against_peers, "tomotopy 150 sweeps"),
    (
        "arXiv, 100 | training, against scikit-learn's online LDA | {} times as fast",
        times_as_fast,
        "training",
        "scikit-learn",
    ),
    (
        "arXiv, 100 | `transform`, against the same | {} times as fast",
        times_as_fast,
        "transform",
        "scikit-learn",
    ),
    ("one pass over 98,000 abstracts, against the same | {} nats per word better", better_than_scikit_learn),
    (
        "KOS, 100 | topics drawn per second in training, against tomotopy | {} times as fast",
        times_as_fast,
        "training",
        "tomotopy",
        "100",
    ),
    ("KOS, 1000 | the same | {} times as fast", times_as_fast, "training", "tomotopy", "1000"),
    ("On arXiv abstracts it took {} times as long as the default; not", over_default, "V-OEM++"),
    ("On arXiv abstracts it took {} times as long as the default, which", over_default, "SPLDA"),
    ("learned from a stream in one pass, at {} microseconds a token.", moment_matching, "DDM"),
]
