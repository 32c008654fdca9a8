"""Figures in sentences of README.md."""

from .hdp import topics_of_bars, topics_of_truncation_free
from .lda_comparison import behind_at_equal_time
from .moment_matching import one_pass_against_one_pass
from .tables import entry, first, moment_matching, over_default, rounded, rows, span
from .which_hdp import topics_of_chains

PAGE = "README.md"


def times_as_fast(*cells):
    return [rounded(entry("speed", "times as fast", *cells))]


def against_peers(*cells):
    return [rounded(entry("peers", "ratio or difference", "kos", "seconds to it, median of 5", *cells))]


def better_than_scikit_learn():
    return [f"{entry('peers', 'ratio or difference', 'score after one pass'):.2f}"]


# Why to choose an estimator.


def gains_of_steps(method, other):
    """Least and most, in log-perplexity, over the real corpora with 128 topics."""
    corpora = "kos", "reuters21578", "20news", "nips_uci", "arxiv_0"
    ours, theirs = (
        [entry("online_em_boosting", "log-perplexity, nats per word", c, m, "128") for c in corpora]
        for m in (method, other)
    )
    return span([b - a for a, b in zip(ours, theirs)])


def against_default(model):
    """Score and seconds, on KOS."""
    score, seconds = (
        [entry("peers_family", name, m) for m in (model, "OnlineEMLDA")]
        for name in ("score, nats per word", "seconds of training")
    )
    return [f"{score[0] - score[1]:.2f}", rounded(seconds[0] / seconds[1])]


def single_pass():
    """Of 100 topics, over corpora: against the default, and against the setting for one pass."""
    for setting in ("default", "for one pass"):
        yield from span(
            [
                -float(row["gain"])
                for row in rows("flagship_gains", setting=setting, less="SinglePassLDA", topics="100")
            ]
        )


def hybrid_hdp():
    """Of 100 topics after five passes, over corpora."""
    table = [row for row in rows("flagship_defaults", topics="100", passes="5")]
    hdp, default = (
        {row["corpus"]: row for row in table if row["setting"] == name} for name in ("HybridHDP", "default")
    )
    gains = [float(hdp[c]["score"]) - float(default[c]["score"]) for c in hdp]
    times = [float(hdp[c]["seconds"]) / float(default[c]["seconds"]) for c in hdp]
    return [*span(gains), *span(times, 1)]


def topics_of_split_merge():
    (row,) = rows("hdp_models_topics", "DirectAssignmentHDP")
    return [*topics_of_bars("oHDP-SM"), *row["kos"].split(" / ")]


def grown_topics():
    (row,) = rows("hdp_models_topics", "OnlineEMHDP")
    return [row[corpus].split(" / ")[0] for corpus in ("kos", "arxiv_0")]


def against_hybrid_hdp():
    scores = [
        float(first(rows("hdp_models", model=m)[0]["kos"])) for m in ("OnlineVariationalHDP", "HybridHDP")
    ]
    return [f"{scores[0] - scores[1]:.2f}"]


def one_pass_of_moments():
    """Gains with their sign, and times."""
    least, most, *times = one_pass_against_one_pass()[:4]
    return [f"-{least}", most, *times]


IN_NATS = "nats, {} times the seconds"
SENTENCES = [
    (
        "in equal time at most {} nats behind another mini-batch method with 100 topics, on the corpora "
        "compared, and {} with 20",
        behind_at_equal_time,
    ),
    (
        "{} to {} nats from sampling, in one pass with 128 topics over five corpora",
        gains_of_steps,
        "V-OEM",
        "G-OEM",
    ),
    ("{} to {} nats from no boosting, likewise;", gains_of_steps, "V-OEM++", "V-OEM"),
    (
        "{} to {} nats from the default after one pass over four corpora, and {} to {} from that setting;",
        single_pass,
    ),
    *(
        (f"{end} | {{}} {IN_NATS}", against_default, model)
        for model, end in {
            "OnlineVariationalLDA": "or for a lower bound (`elbo`).",
            "StreamingVariationalLDA": "every document has the same weight.",
            "HybridLDA": "with Gibbs sampling as the document step.",
            "StreamingGibbsLDA": "old documents fade.",
            "LangevinLDA": "a Markov chain over topics.",
            "OnlineOPELDA": "MAP estimates of topic proportions.",
            "OnlineCVB0LDA": "a different approximation from mean field.",
            "CollapsedGibbsLDA": "work done with tomotopy or MALLET.",
        }.items()
    ),
    (
        "{} to {} nats from the default after five passes over four corpora, {} to {} times the seconds",
        hybrid_hdp,
    ),
    ("chains from 20 and from 300 topics end with {} and {} on KOS", lambda: topics_of_chains("kos")[:2]),
    (
        "of twenty true topics it finds {} to {} in 40 runs from 2 to 100, exactly twenty in {}; of KOS {} "
        "and {}, from 20 and 100",
        topics_of_split_merge,
    ),
    ("from two topics to {} on KOS and {} on arXiv abstracts", grown_topics),
    ("from 20 topics to {} to {}, from 100 to {} to {}, over six corpora", topics_of_truncation_free),
    ("{} nats from `HybridHDP` on KOS", against_hybrid_hdp),
    ("at a higher cost. | {} to {} microseconds a token", moment_matching, "TDM"),
    (
        "{} to {} nats from one pass of the default with up to a hundred topics, {} to {} times the seconds",
        one_pass_of_moments,
    ),
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
    (
        "on arXiv abstracts it took {} times as long as the default | | `OnlineVariationalLDA`",
        over_default,
        "V-OEM++",
    ),
    ("on arXiv abstracts it took {} times as long as the default | | `HybridLDA`", over_default, "SPLDA"),
    ("learned from a stream in one pass. | {} microseconds a token", moment_matching, "DDM"),
]
