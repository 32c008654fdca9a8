"""Figures in sentences of doc/research/map_inference.rst."""

import numpy as np

from .tables import entry, rounded, rows, span, values

PAGE = "doc/research/map_inference.rst"


def seconds_over_those_of_ope():
    """Median of Online-VB, least and largest of the other methods, over the settings."""
    seconds = {}
    for row in rows("g_ope_methods"):
        setting = row["corpus"], row["mini-batch"], row["kappa"]
        seconds.setdefault(row["method"], {})[setting] = float(row["seconds of training"])
    ope = seconds["OPE"]
    ratios = {method: [of[s] / ope[s] for s in ope] for method, of in seconds.items()}
    others = [r for method in ("Online-CVB0", "Online-CGS", "G-OEM") for r in ratios[method]]
    return [rounded(x) for x in (np.median(ratios["Online-VB"]), min(others), max(others))]


LPP, NPMI = "log predictive probability", "NPMI"


OPE_SETTINGS = [(batch, kappa) for batch in ("5000", "500") for kappa in ("0.9", "0.7")]


SHORT, LONG = ("enron_inbox", "arxiv"), ("nips_uci",)


def mode_and_mean():
    short, long = (
        [float(r[LPP]) - float(r["score with own inference"]) for c in corpora for r in rows("g_ope_p", c)]
        for corpora in (SHORT, LONG)
    )
    return [*span(short), f"{-min(long):.2f}"]


def range_over_p(corpora, least=0.0):
    """Most that completion and coherence move in a setting."""
    tables = [
        [row for row in rows("g_ope_p", c, batch, kappa=kappa) if float(row["p"]) >= least]
        for c in corpora
        for batch, kappa in OPE_SETTINGS
    ]
    return [
        f"{max(np.ptp([float(row[name]) for row in table]) for table in tables):.2f}" for name in (LPP, NPMI)
    ]


def range_over_settings():
    return [f"{np.ptp(values('g_ope_p', LPP, c, '0.5')):.2f}" for c in ("nips_uci", "enron_inbox")]


def ope(corpus, method, setting, column=LPP):
    return entry("g_ope_methods", column, corpus, method, *setting)


OPE_RIVALS = "Online-VB", "Online-CVB0", "Online-CGS", "G-OEM"


PAPERS, SMALL = OPE_SETTINGS[0], OPE_SETTINGS[3]


def lead_of_g_ope():
    return span(
        [ope(c, "G-OPE", PAPERS) - max(ope(c, m, PAPERS) for m in OPE_RIVALS) for c in (*LONG, *SHORT)]
    )


def gained_by_small_batches():
    methods = "OPE", "G-OPE", *OPE_RIVALS
    return span([ope(c, m, SMALL) - ope(c, m, PAPERS) for c in ("nips_uci", "enron_inbox") for m in methods])


def coherences_on_arxiv():
    return span(values("g_ope_methods", NPMI, "arxiv", *PAPERS))


def most_that_p_moves():
    return range_over_p(("nips_uci", "enron_inbox"))[:1]


def gained_by_bounds():
    ratios = values("ope_kernel", "ratio")
    return [rounded(min(ratios)), rounded(max(ratios))]


SENTENCES = [
    ("on NIPS and Enron it moves the score by at most {} nats.", most_that_p_moves),
    (
        "Bounds in place of the whole gradient make its iterations {} to {} times as fast.",
        gained_by_bounds,
    ),
    (
        "In the median over the settings, Online-VB takes {} times as long. The other methods take {} to {} "
        "times as long (",
        seconds_over_those_of_ope,
    ),
    (
        "is higher by {} to {} nats on Enron and arXiv. On NIPS, whose papers have a thousand words, it is "
        "lower, by at most {}.",
        mode_and_mean,
    ),
    (
        "*p* moves document completion by no more than {} nats and NPMI by no more than {},",
        range_over_p,
        ("nips_uci", "enron_inbox"),
    ),
    ("*p* moves completion there by no more than {}.", lambda: range_over_p(["arxiv"], 0.2)[:1]),
    ("they move completion by {} nats on NIPS and by {} on Enron.", range_over_settings),
    ("all methods but OPE by {} to {} nats at the end", lead_of_g_ope),
    ("gets better on NIPS and Enron, by {} to {} nats, and", gained_by_small_batches),
    ("at the end, NPMI is between {} and {} with", coherences_on_arxiv),
]
