"""Why to choose an estimator: figures in sentences of doc/guide/choose.rst."""

from .hdp import topics_of_bars, topics_of_truncation_free
from .lda_comparison import behind_at_equal_time
from .moment_matching import one_pass_against_one_pass
from .tables import entry, first, moment_matching, over_default, rounded, rows, span
from .which_hdp import topics_of_chains

PAGE = "doc/guide/choose.rst"


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
    return [topics_of_bars("oHDP-SM")[2], *row["kos"].split(" / ")]


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


IN_NATS = "{} nats from the default, in {} times the seconds"
OF_ONE_PASS = "{} nats from the default's five, in {} times the seconds"
SENTENCES = [
    (
        "In equal time it is at most {} nats behind another mini-batch method with 100 topics, and {} with "
        "20.",
        behind_at_equal_time,
    ),
    (
        "Of twenty true topics it finds twenty in {} of 40 runs that begin with 2 to 100; of KOS, {} and {}.",
        topics_of_split_merge,
    ),
    ("on KOS those from 20 and from 300 topics end with {} and {}.", lambda: topics_of_chains("kos")[:2]),
    ("It takes {} microseconds a token.", moment_matching, "DDM"),
    ("with fewer approximations, at {} to {} microseconds a token.", moment_matching, "TDM"),
    (
        "From 20 topics it comes to {} to {}, from 100 to {} to {}, over six corpora.",
        topics_of_truncation_free,
    ),
    (
        "It scores {} to {} nats from the default after five passes over four corpora, in {} to {} times the "
        "seconds.",
        hybrid_hdp,
    ),
    ("From two topics it comes to {} on KOS and {} on arXiv abstracts.", grown_topics),
    *(
        (f"{begin} {IN_NATS}", against_default, model)
        for model, begin in {
            "CollapsedGibbsLDA": "and for draws of a corpus in memory. It scores",
            "OnlineVariationalLDA": "with its bound (``elbo``). It scores",
            "HybridLDA": "with sampling inside documents. It scores",
            "LangevinLDA": "For a chain of draws of topics. It scores",
            "OnlineCVB0LDA": "collapsed variational inference. It scores",
            "OnlineOPELDA": "(:doc:`/guide/map_inference`). It scores",
        }.items()
    ),
    *(
        (f"{begin} One pass scores {OF_ONE_PASS}", against_default, model)
        for model, begin in {
            "StreamingGibbsLDA": "old documents fade.",
            "StreamingVariationalLDA": "all documents weigh the same.",
        }.items()
    ),
    ("It scores {} nats from ``HybridHDP`` on KOS.", against_hybrid_hdp),
    (
        "With 128 topics and one pass it scores {} to {} nats from sampling, over five corpora.",
        gains_of_steps,
        "V-OEM",
        "G-OEM",
    ),
    ("In the same runs it scores {} to {} nats from no boosting;", gains_of_steps, "V-OEM++", "V-OEM"),
    ("on arXiv abstracts it took {} times as long as the default. ", over_default, "V-OEM++"),
    (
        "With up to a hundred topics it scores {} to {} nats from one pass of the default, in {} to {} times "
        "the seconds.",
        one_pass_of_moments,
    ),
    (
        "After one pass over four corpora it scores {} to {} nats from the default, and {} to {} from",
        single_pass,
    ),
    ("on arXiv abstracts it took {} times as long as the default's pass.", over_default, "SPLDA"),
]
