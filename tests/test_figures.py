"""Figures in sentences of the documentation are those of the tables in doc/benchmarks/."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
TABLES = ROOT / "doc" / "benchmarks"

pytestmark = pytest.mark.skipif(not TABLES.exists(), reason="the tables are in the checkout only")


def rows(table, *cells, **columns):
    """The rows that have all of these cells, some in columns of these names (_ for a space), as dicts."""
    known = {name.replace("_", " "): cell for name, cell in columns.items()}
    with (TABLES / f"{table}.csv").open(newline="") as file:
        table = [row for row in csv.DictReader(file) if set(cells) <= set(row.values())]
    return [row for row in table if known.items() <= row.items()]


def entry(table, column, *cells, **columns):
    (row,) = rows(table, *cells, **columns)
    return float(row[column])


def values(table, column, *cells):
    """Of the rows that have all of these cells."""
    return [float(row[column]) for row in rows(table, *cells) if row[column]]


def span(numbers, digits=2):
    """The least and the most."""
    return [f"{of(numbers):.{digits}f}" for of in (min, max)]


def first(cell):
    """Without the interval."""
    return cell.split(" ")[0]


def rounded(x):
    """Two digits; whole numbers from ten on."""
    return f"{x:.0f}" if x >= 9.95 else f"{x:.1f}"


def times_as_fast(*cells):
    return [rounded(entry("speed", "times as fast", *cells))]


def against_peers(*cells):
    return [rounded(entry("peers", "ratio or difference", "kos", "seconds to it, median of 5", *cells))]


def better_than_scikit_learn():
    return [f"{entry('peers', 'ratio or difference', 'score after one pass'):.2f}"]


def seconds_of(method, corpus="arxiv_0"):
    return entry("online_em_time", corpus, method)


def over_default(method):
    return [rounded(seconds_of(method) / seconds_of("G-OEM"))]


def boosted_over_sampling():
    corpora = ("synthetic", "kos", "reuters21578", "20news", "arxiv_0")
    ratios = [seconds_of(m, c) / seconds_of("G-OEM", c) for m in ("V-OEM++", "SPLDA") for c in corpora]
    return [rounded(min(ratios)), rounded(max(ratios))]


def seconds_of_hdps():
    """Of KOS, from cells such as "-7.359 ± 0.002 (1 s)"."""
    figures = []
    for model in ("HybridHDP", "OnlineVariationalHDP"):
        (row,) = rows("hdp_models", model)
        score, seconds = re.fullmatch(r"(\S+).* \((\d+) s\)", row["kos"]).groups()
        figures += [f"{float(score):.2f}", seconds]
    for model in ("HybridHDP", "OnlineEMLDA"):
        (row,) = rows("hybrid_hdp_truncation", "kos", model, "1000")
        figures += [f"{float(row['score']):.2f}", rounded(float(row["seconds of training"]))]
    return figures


def topics_of_chains(corpus):
    """From 20 and from 300 topics: topics, those that hold 99 percent, and scores."""
    chains = [rows("hdp_topics_intervals", corpus, "CollapsedGibbsHDP", start)[0] for start in ("20", "300")]
    names = "topics in use", "topics that hold 99 %", "score"
    return [chain[name] for name in names for chain in chains]


def scores_by_topics(corpus, *numbers):
    """Means of HybridHDP with so many topics at most, concentrations learned."""
    table = rows("hdp_topics_intervals", corpus, "HybridHDP, concentrations learned")
    scores = {row["topics at the start (or at most)"]: first(row["score"]) for row in table}
    return [scores[number] for number in numbers]


def scores_of_learned_concentrations():
    return [
        score for corpus in ("kos", "nips1740") for score in scores_by_topics(corpus, "100", "300", "1000")
    ]


def gains_by_topics():
    scores = [scores_by_topics(c, "300", "1000") for c in ("reuters21578", "20news", "enron_inbox")]
    return [f"{float(most) - float(fewer):.2f}" for fewer, most in scores]


def topics_of_moves(corpus):
    """From all starts: topics that hold 99 percent, and scores."""
    (found,) = rows("hdp_topics_agreement", corpus, "HybridHDP, moves")
    scores = [f"{float(found[name]):.3f}" for name in ("lowest score", "highest")]
    return [found["fewest topics that hold 99 %"], found["most"], *scores]


def moves_against_none():
    """What they gain against as many topics, and how many times as long they take: the least and the most."""
    table = rows("hdp_topics_beside")
    gains = [float(first(row["score less that with so many given"])) for row in table]
    times = [float(row["seconds over its seconds"]) for row in table]
    return [*span(gains, 3), *span(times, 1)]


def topics_of_truncations(corpus):
    """The best number and its score; the largest, with topics in use, that hold 99 %, and score."""
    fixed = rows("hdp_topics_intervals", corpus, "HybridHDP")
    means = [[first(cell) for cell in row.values()] for row in fixed]
    best, most = max(means, key=lambda row: float(row[6])), means[-1]
    return [best[2], best[6], most[2], *most[4:7]]


def bounds_of_numbers():
    """Of KOS: how far seeds and numbers given differ, in percent; bounds and topics with moves."""
    by_number = {}
    for row in rows("hdp_bound_texts", "given, no moves"):
        by_number.setdefault(int(row["number at the start"]), []).append(float(row["bound, nats per word"]))
    seeds = max(np.ptp(bounds) for bounds in by_number.values())
    numbers = np.ptp([np.mean(bounds) for n, bounds in by_number.items() if n >= 10])
    best = abs(max(max(bounds) for bounds in by_number.values()))
    figures = [f"{100 * x / best:.2f}" for x in (seeds, numbers)]
    moved = rows("hdp_bound_texts", "splits, merges and drops")
    bounds, topics = ([float(row[name]) for row in moved] for name in ("bound, nats per word", "at the end"))
    return [*figures, f"{min(bounds):.3f}", f"{max(bounds):.3f}", f"{min(topics):.0f}", f"{max(topics):.0f}"]


def topics_of_bars(method):
    """Least and most at the end of all runs, and how many of these are right."""
    cells = [row["at the end, by seed"] for row in rows("split_merge_hdp_bars", method)]
    ends = [int(n) for cell in cells for n in cell.split()]
    assert len(ends) == 40
    return [str(n) for n in (min(ends), max(ends), ends.count(20))]


def scores_on(corpus, *runs):
    """Of (method, topics at the start)."""
    return [f"{entry(f'split_merge_hdp_{corpus}', 'score', *run):.3f}" for run in runs]


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


def moment_matching(*models):
    """Least and most microseconds a token with 100 topics and the defaults; one figure if they are equal.

    Of the corpora that were measured while nothing else ran.
    """
    figures = []
    for model in models:
        with_defaults = rows("moment_matching_text", model, "100", "default")
        with_defaults = [row for row in with_defaults if row["corpus"] != "20news"]
        times = [float(row["microseconds a token"]) for row in with_defaults]
        figures += dict.fromkeys([rounded(min(times)), rounded(max(times))])
    return figures


def topics_found(table, *cells, numbers=("3", "5", "10"), column="mean found"):
    """Of data with three, five and ten topics, for each of the cells in turn."""
    return [rounded(entry(f"moment_matching_{table}", column, *own, n)) for own in cells for n in numbers]


def topics_of_the_paper(*cells):
    return topics_found("number", *((*own, "paper") for own in cells))


def spread_of_ten_topics():
    cells = "exponential", "TDM", "paper"
    return topics_found("number", cells, numbers=["10"], column="standard deviation")


def topics_of_the_program():
    return topics_found("number", *(("exponential", model, "program") for model in ("DDM", "TDM")))


def topics_by_rate(model, *rates):
    return topics_found("rates", *((rate, model, "default") for rate in rates))


def evidence_of_three_and_twelve():
    """Nats that twelve topics gain over three by the filter and exactly; what the filter loses with each."""
    of_three = [row for row in rows("moment_matching_evidence") if row["true topics"] == "3"]
    three, twelve = (next(row for row in of_three if row["T"] == n) for n in ("3", "12"))
    gains = [twelve["by the filter, against 3 topics"], twelve["exact, against 3 topics"]]
    losses = [row["what the filter loses"] for row in (three, twelve)]
    return [f"{float(figure):.0f}" for figure in gains + losses]


def accuracies_of_moment_matching():
    kinds = "DegenerateDirichletLDA", "MomentMatchingLDA", "TriangularDirichletLDA", "OnlineEMLDA"
    first, second, third, last = (rows("classifier", kind)[0] for kind in kinds)
    return [first["accuracy"], second["accuracy"], third["their number"], third["accuracy"], last["accuracy"]]


def sweeps(corpus):
    """Rows of a corpus: burn-in, sweeps, documents/s, times as fast, change of score, its lowest value."""
    for row in rows("transform_sweeps", corpus):
        burn_in, averaged, rate, faster, change, lowest, _ = list(row.values())[1:]
        yield burn_in, averaged, int(rate), float(faster), float(change), float(lowest)


def fastest_near_the_defaults():
    near = (row for row in sweeps("arxiv_0") if row[5] >= -0.003)
    burn_in, averaged, rate, faster, *_ = max(near, key=lambda row: row[2])
    return [burn_in, averaged, rounded(faster), f"{round(rate, -3):,}"]


def best_of_50_000_documents_a_second():
    fast = (row for row in sweeps("arxiv_0") if row[2] >= 50_000)
    burn_in, averaged, *_, change, _ = max(fast, key=lambda row: row[4])
    return [f"{-change:.3f}", burn_in, averaged]


def with_sweeps(*settings):
    """How fast each setting is, and the least and largest change of score over the corpora."""
    figures = []
    for setting in settings:
        found = [row for c in ("arxiv_0", "kos", "20news") for row in sweeps(c) if row[:2] == setting]
        changes = sorted(abs(row[4]) for row in found)
        faster = np.median([row[3] for row in found])
        figures += [rounded(faster), f"{changes[0]:.3f}", f"{changes[-1]:.3f}"]
    return figures


def with_more_sweeps():
    faster, least, most = with_sweeps(("10", "20"))
    return [least, most, faster]


def coverages(question, *lengths):
    """From means and from draws, with so many words a document."""
    return [
        row["coverage"]
        for length in lengths
        for row in rows("uncertainty", question, length)
        if row["proportions"] != "true"
    ]


def borders(*workers):
    """Millions of tokens, with a link for each worker and with one for 16."""
    table = rows("scale_plan_border", words="100000", topics="1000")
    return [f"{float(row['tokens']) / 1e6:.0f}" for n in workers for row in table if row["workers"] == n]


def efficiencies(*tokens):
    """Of 128 workers."""
    table = rows("scale_plan", words="100000", topics="1000", workers="128")
    return [row["efficiency"] for n in tokens for row in table if row["tokens"] == n]


def predicted_over_simulated():
    return span(values("scale_plan_simulation", "ratio"))


def estimates(question, length, *proportions):
    return [rows("uncertainty", question, length, each)[0]["estimate"] for each in proportions]


def of_features(*columns):
    """Of each kind, in the order of the sentence."""
    kinds = "OnlineEMLDA", "TruncatedSVD of tf-idf", "NMF of tf-idf", "scikit-learn's LDA, online"
    return [rows("classifier", kind)[0][column] for kind in kinds for column in columns]


def of_all_words():
    (row,) = rows("classifier", "tf-idf of all words")
    return [row["accuracy"], row["log loss"]]


def of_corpora_on_disk(table, column):
    """The least and the most of a column."""
    figures = [row[column] for row in rows(f"corpora_on_disk{table}")]
    return sorted((min(figures, key=float), max(figures, key=float)), key=float)


def lost_by_lanes():
    """The most that up to 8 lanes lose with any seed; what 32 lose in one pass, and in five."""
    table = rows("dask_scaling_scores")
    few = max(float(row["at most"]) for row in table if row["lanes"] in ("1", "2", "8"))
    means = [float(row["less than plain fit"]) for row in table if row["lanes"] == "32"]
    return [f"{few:.4f}", *(f"{mean:.4f}" for mean in means)]


def claimed(claim, *cells, paper="online_em"):
    """Means of what a claim is judged by, each by its corpus and the like."""
    return {row["of what"]: float(row["mean"]) for row in rows("claims", paper, claim, *cells)}


REAL = "kos", "reuters21578", "20news", "nips_uci", "arxiv_0"
PERPLEXITY = "log-perplexity, nats per word"


def perplexity(corpus, method, topics=128, table="online_em_topics"):
    return entry(table, PERPLEXITY, corpus, method, str(topics))


def lead_of_splda():
    return span([perplexity(c, "G-OEM") - perplexity(c, "SPLDA") for c in REAL[:-1]])


def one_over_t():
    found = claimed("Step sizes of 1/t are behind those of 1/sqrt(t): SPLDA behind V-OEM++")
    return [f"{found.pop('synthetic'):.3f}", *span([-x for x in found.values()], 3)[:2]]


def var_gibbs():
    behind = claimed("VarGibbs is never better than G-OEM").values()
    to_olda = claimed("VarGibbs predicts much better than OLDA and SVB")["KOS, OLDA"]
    return [f"{-to_olda:.3f}", *span(behind, 3)]


def true_number_of_topics():
    return [f"{entry('online_em_steps', PERPLEXITY, 'synthetic', n, '0.5', 'no'):.4f}" for n in ("20", "10")]


def change_of_sgs():
    change = {c: perplexity(c, "SGS") - perplexity(c, "SGS", 32) for c in (*REAL, "synthetic")}
    rise, fall = change.pop("synthetic"), change.pop("nips_uci")
    return [f"{x:.2f}" for x in (-fall, max(map(abs, change.values())), rise)]


def boosted_or_not():
    found = claimed("Boosting improves V-OEM significantly")
    gains = span([x for x in found.values() if x > 0.05], 3)
    return [*gains, f"{-found['KOS']:.3f}", f"{-found['NIPS']:.3f}"]


def lost_by_boosting():
    table, topics = "online_em_boosting", (8, 16, 32, 64, 128)
    each = [[perplexity(c, m, n, table) for m in ("G-OEM++", "G-OEM")] for c in REAL for n in topics]
    return span([boosted - plain for boosted, plain in each])


def fall_of_bounds():
    column = "bound, nats per word"
    cases = [(c, m) for c in (*REAL, "synthetic") for m in ("OLDA", "SVB")]
    return span(
        [
            entry("online_em_bound", column, *c, "16") - entry("online_em_bound", column, *c, "128")
            for c in cases
        ]
    )


def averages_instead_of_larger_steps():
    with_averages, without = (
        values("online_em_steps", PERPLEXITY, *cells) for cells in (("0.25", "yes"), ("0.75", "no"))
    )
    return [f"{max(a - b for a, b in zip(with_averages, without)):.3f}"]


def cost_of_learning():
    truth, *learned = (
        values("online_em_prior", PERPLEXITY, rule)
        for rule in ("fixed at the truth", "fixed point", "Gamma prior")
    )
    return [f"{max(a - b for each in learned for a, b in zip(each, truth)):.2f}"]


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


def tenth_against_half():
    """On arXiv: completion with small batches, then coherence."""
    behind = {
        name: [
            entry("g_ope_p", name, "arxiv", *s, "0.5") - entry("g_ope_p", name, "arxiv", *s, "0.1")
            for s in OPE_SETTINGS
        ]
        for name in (LPP, NPMI)
    }
    return [f"{x:.3f}" for x in behind[LPP][2:]] + span(behind[NPMI], 3)


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


def small_batches_on_arxiv():
    lead = ope("arxiv", "G-OEM", SMALL) - ope("arxiv", "G-OPE", SMALL)
    lost = [ope("arxiv", m, PAPERS) - ope("arxiv", m, SMALL) for m in ("Online-VB", "Online-CGS")]
    return [f"{x:.2f}" for x in (lead, *lost)]


def beside_tomotopy(corpus, topics):
    """Of OnlineEMLDA: how far behind in coherence and diversity, ahead in the score, and how much faster."""
    (row,) = rows("coherence_peers_less", corpus=corpus, topics=topics, model="OnlineEMLDA")
    behind = [f"{-float(first(row[name])):.3f}" for name in ("NPMI", "diversity")]
    return [*behind, f"{float(first(row['score'])):.3f}", row["times as fast"]]


def passes_from_chain(corpus, topics):
    """NPMI and diversity of the chain, and after 30 passes of EM from its topics."""
    models = "CollapsedGibbsLDA", "CollapsedGibbsLDA, then 30 passes of EM"
    found = [rows("coherence_peers", corpus=corpus, topics=topics, model=model)[0] for model in models]
    return [first(row[name]) for name in ("diversity", "NPMI") for row in found]


def gains_of_first_sweep(corpus, topics):
    (row,) = rows("coherence_peers_first_sweep", corpus=corpus, topics=topics)
    return [f"{float(first(row[name])):.3f}" for name in ("diversity", "score")]


def coherences_on_arxiv():
    return span(values("g_ope_methods", NPMI, "arxiv", *PAPERS))


def single_times():
    return [f"{ope('arxiv', m, SMALL, 'seconds of training'):.0f}" for m in ("OPE", "Online-VB", "G-OPE")]


def topics_of_ddm():
    cells = [("paper", "3"), ("paper", "5"), ("paper", "10"), ("default", "10")]
    return [rows("moment_matching_number", "exponential", "DDM", *c)[0]["mean found"] for c in cells]


OWN, FOLD_IN = "own inference", "one fold-in for all"
TEXTS = "reuters21578", "arxiv_0", "nips_uci"


def text(corpus, model, settings="default", column=OWN, topics=None):
    (row,) = (
        row
        for row in rows("moment_matching_text", corpus, model, *([settings] if settings else []))
        if topics is None or row["topics given (or at most)"] == topics
    )
    return float(row[column])


def one_pass_against_one_pass():
    """Score and time of the basic model against those of online EM, up to a hundred topics and with 400."""
    gains, ratios = {}, {}
    for corpus in TEXTS:
        for row in rows("moment_matching_text", corpus, "basic", "default"):
            n = row["topics given (or at most)"]
            one, other = (
                [text(corpus, m, "default", c, n) for c in (OWN, "seconds of training")]
                for m in ("basic", "OnlineEM, 1 pass")
            )
            gains[corpus, int(n)], ratios[corpus, int(n)] = one[0] - other[0], one[1] / other[1]
    few = [case for case in gains if case[1] <= 100]
    least, most = span([gains[case] for case in few])
    last = gains["nips_uci", 400], ratios["nips_uci", 400]
    return [least.removeprefix("-"), most, *span([ratios[c] for c in few]), *(f"{x:.2f}" for x in last)]


def against_online_hdp():
    ahead = [
        [
            text(c, m, "paper", FOLD_IN) - text(c, f"HDP, alpha {alpha}", None, FOLD_IN)
            for c in TEXTS
            for m in ms
        ]
        for alpha, ms in (("1", ("DDM", "TDM")), ("learned", ("DDM",)))
    ]
    reuters = text("reuters21578", "HDP, alpha learned", None, FOLD_IN)
    assert reuters == text("reuters21578", "DDM", "paper", FOLD_IN)
    defaults = [
        text(c, "DDM", "default", FOLD_IN) - text(c, "HDP, alpha learned", None, FOLD_IN) for c in TEXTS
    ]
    arxiv, nips = ahead[1][1:]
    return [*span(ahead[0]), f"{reuters:.4f}", f"{-arxiv:.2f}", f"{nips:.2f}", *span(defaults)]


def below_given(model, *corpora):
    """How far below the best given number of topics."""
    settings = "moment_matching_text", OWN
    best = [max(values(*settings, c, "basic", "paper")) for c in corpora]
    return [f"{abs(b - text(c, model, 'paper')):.2f}" for b, c in zip(best, corpora)]


def below_best_given():
    ddm = sorted(below_given("DDM", "arxiv_0", "nips_uci"))
    return [*ddm, *below_given("TDM", "reuters21578", "nips_uci", "arxiv_0")]


def topics_on_texts():
    return [
        f"{text(c, m, 'paper', 'topics found'):.0f}"
        for c in ("reuters21578", "nips_uci")
        for m in ("DDM", "TDM")
    ]


def lost_by_the_papers_settings():
    return span([text(c, m) - text(c, m, "paper") for c in TEXTS for m in ("DDM", "TDM")])


def gained_by_learning(*corpora):
    table = [row for c in corpora for row in rows("moment_matching_alpha", c)]
    names = "gain of paper, auto over paper", "gain of default, auto over default, 1"
    return span([float(row[name]) for row in table for name in names])


def against_one():
    return gained_by_learning("reuters21578", "arxiv_0") + gained_by_learning("nips_uci")


def against_the_default():
    name = "gain of default, auto over default"
    basic = [x for c in TEXTS[:2] for x in values("moment_matching_alpha", name, c, "basic", OWN)]
    rest = [x for x in values("moment_matching_alpha", name) if x not in basic]
    return [*span(basic), f"{max(map(abs, rest)):.3f}"]


HYBRID = "HybridHDP", "HybridHDP, paper", "OnlineVariationalHDP"
TRUNCATIONS, BATCHES = ("50", "100", "200", "500", "1000"), ("10", "20", "50", "100", "200", "500", "1000")
HYBRID_CORPORA = "kos", "nips_uci", "enron_inbox", "arxiv_0"


def of_hybrid(corpus, method, topics=None, batch=None):
    if batch:
        return entry("hybrid_hdp_batch", "score", corpus, method, batch_size=batch)
    return entry("hybrid_hdp_truncation", "score", corpus, method, largest_number_of_topics=topics)


def lead_over_mean_field():
    """With the defaults; but on NIPS with the largest batches, where there is none."""
    ours, theirs = HYBRID[0], HYBRID[2]
    cases = [(c, n, None) for c in HYBRID_CORPORA for n in TRUNCATIONS]
    cases += [(c, None, n) for c in HYBRID_CORPORA for n in BATCHES]
    leads = {
        case: of_hybrid(case[0], ours, *case[1:]) - of_hybrid(case[0], theirs, *case[1:]) for case in cases
    }
    assert leads.pop(("nips_uci", None, "1000")) < 0
    return span(leads.values())


def gains_by_truncation():
    """With the settings of the paper: from 50 to 200 topics, then from 200 to 1000."""
    scores = {c: [of_hybrid(c, HYBRID[1], n) for n in ("50", "200", "1000")] for c in HYBRID_CORPORA}
    first, last = ({c: s[i + 1] - s[i] for c, s in scores.items()} for i in (0, 1))
    on_kos = last.pop("kos")
    return [*span(first.values()), f"{on_kos:.2f}", *span([-x for x in last.values()])]


def in_time(corpus, method, topics, column="at the end"):
    return entry("hybrid_hdp_time", column, corpus, method, **{"topics_given_(or_at_most)": topics})


BATCH_SAMPLERS = "table indicators", "sparse table indicators", "direct assignment"


def overtaken():
    corpora = "nips_uci", "enron_inbox"
    best = [max(in_time(c, m, "100") for m in BATCH_SAMPLERS) for c in corpora]
    return [f"{b - in_time(c, 'HybridHDP', '100'):.2f}" for b, c in zip(best, corpora)]


def sparse_after_ten_seconds():
    """Less dense; on KOS the sparse one is over by then."""
    ahead = []
    for corpus in HYBRID_CORPORA:
        (row,) = rows("hybrid_hdp_time", corpus, "HybridHDP, sparse", **{"topics_given_(or_at_most)": "1000"})
        ahead.append(
            float(row["10 s"] or row["at the end"]) - in_time(corpus, "HybridHDP, dense", "1000", "10 s")
        )
    return span(ahead)


def chains_from_starts():
    ends = [rows("hybrid_hdp_starts", topics_at_the_start=n)[-1] for n in ("1", "5", "20", "100")]
    topics, scores = (sorted(float(end[name]) for end in ends) for name in ("topics", "score"))
    return [f"{topics[0]:.0f}", f"{topics[-1]:.0f}", f"{scores[-1] - scores[0]:.2f}"]


def lost_by_table_indicators():
    return [f"{in_time('kos', 'HybridHDP', '100') - in_time('kos', 'HybridHDP, sparse', '100'):.2f}"]


def gained_by_means():
    """Over the geometric means, by the cells of hdp_models such as "-7.359 ± 0.002 (1 s)"."""
    means, geometric = (
        [float(first(cell)) for cell in list(row.values())[1:]]
        for name in ("DirectAssignmentHDP, means", "DirectAssignmentHDP")
        for row in rows("hdp_models", model=name)
    )
    return span([a - b for a, b in zip(means, geometric)])


def topics_of_truncation_free():
    """From 20 and from 100 topics, on all corpora."""
    (row,) = rows("hdp_models_topics", "TruncationFreeHDP")
    hundred, twenty = zip(*(cell.split(" / ") for cell in list(row.values())[2:]))
    return [n for found in (twenty, hundred) for n in span([int(n) for n in found if n != "-"], 0)]


def moves_chains_and_truncation():
    """On KOS: topics in use, those that hold 99 percent, scores."""
    found = {
        method: rows("hdp_topics", "kos", method) for method in ("HybridHDP, moves", "CollapsedGibbsHDP")
    }
    figures = []
    for table in found.values():
        for name, digits in (("topics in use", 0), ("topics that hold 99 %", 0), ("score", 3)):
            figures += span([float(row[name]) for row in table], digits)
    figures.append(min(chain["passes or sweeps"] for chain in found["CollapsedGibbsHDP"]))
    fixed = rows("hdp_topics_intervals", "kos", "HybridHDP", **{"topics_at_the_start_(or_at_most)": "300"})
    return [*figures, *(first(fixed[0][name]) for name in ("score", "topics that hold 99 %"))]


def hdp_of_online_em(corpus, method):
    (row,) = rows("online_em_hdp", corpus, method)
    return span([int(n) for n in row["topics at the end"].split()], 0)


def topics_of_growing_hdps():
    return [
        *hdp_of_online_em("kos", "VarGibbs HDP from 128"),
        *hdp_of_online_em("arxiv_0", "G-OEM HDP from 2"),
    ]


def below_the_true_topics():
    """Of bars, with our defaults."""
    column = "lowest score less the truth's"
    return [f"{-min(values('split_merge_hdp_bars', column, 'oHDP-SM')):.3f}"]


def bars_without_moves():
    figures = []
    for start in ("20", "50"):
        (row,) = rows("split_merge_hdp_bars", method="oHDP", topics_at_the_start=start)
        figures += span([int(n) for n in row["at the end, by seed"].split()], 0)
        if start == "20":
            figures += span([-float(row[name]) for name in ("lowest score less the truth's", "highest")])
    return figures


def gibbs_ahead_of_moves():
    score = {tuple(row.values())[:2]: float(row["score"]) for row in rows("split_merge_hdp_nips")}
    best = max(s for (method, _), s in score.items() if method in ("oHDP-SM, paper", "oHDP", "bHDP"))
    return [f"{score['CGS', '300'] - best:.2f}"]


def seeded_topics():
    """Topics at all, those with an area of 0.85 and more, and StreamingVariationalLDA's of the others."""
    with (ROOT / "benchmarks" / "runs" / "seeds_runs.jsonl").open() as file:
        runs = [row for row in map(json.loads, file) if not row["run"].startswith("weight")]
    areas = [(area, row["run"].split()[1]) for row in runs for area in row["auc"]]
    small = [name for area, name in areas if area < 0.85]
    return [f"{n}" for n in (len(areas) - len(small), len(areas), small.count("StreamingVariationalLDA"))]


def losses_not_excluded():
    least = values("seeds", "95 percent interval of that from")
    return [f"{sum(x < -0.01 for x in least)}", f"{len(least)}"]


def shares_of_top_words():
    return [rows("coherence_k", topics=n)[0]["share of a top word"] for n in ("5", "300")]


def lost_by_long_rounds():
    one, *longer = (rows("lanes", f"lanes, merged after {n}")[0] for n in ("1", "4", "16", "64"))
    lost = [float(one[name]) - float(row[name]) for row in longer for name in list(one)[1:]]
    return [f"{max(lost):.2f}"]


def lost_with_equal_topic_priors():
    table = "online_em_equal"
    equal, own = (values(table, PERPLEXITY, name) for name in ("VarGibbs, topic prior of G-OEM", "VarGibbs"))
    return span([a - b for a, b in zip(equal, own)])


def any_gain_or_significant():
    """Topics and scores on NIPS from 100 topics, and the seconds of the second."""
    table = rows("split_merge_hdp_nips")
    start = "topics at the start (or at most)"
    any_gain, significant = (
        next(row for row in table if (row["method"], row[start]) == (name, "100"))
        for name in ("oHDP-SM, paper", "oHDP-SM")
    )
    figures = [
        [row["topics in use, by seed"], f"{float(row['score']):.3f}"] for row in (any_gain, significant)
    ]
    return [*figures[0], *figures[1], significant["seconds"]]


def flagship_gains(setting, less, passes):
    """The smallest and the largest over corpora, with 100 topics."""
    table = rows("flagship_gains", setting, less, passes, "100")
    gains = [float(row["gain"]) for row in table if (row["passes"], row["topics"]) == (passes, "100")]
    return [f"{min(gains):.3f}", f"{max(gains):.3f}"]


# Page, sentence with {} for its figures, the function that returns them, and its arguments.
AGES = ("after", "before")


def gained_by_leaving_out():
    for n in (3, 30):
        for method in ("OnlineEMLDA", "HybridHDP"):
            after, before = (
                {row["corpus"]: float(row[f"{n} passes"]) for row in rows("passes", method, version)}
                for version in AGES
            )
            gained = [after[corpus] - before[corpus] for corpus in after]
            yield from (f"{value:.3f}" for value in (min(gained), max(gained)))


def most_lost_by_thirty_passes():
    for method in ("OnlineEMLDA", "HybridHDP"):
        for version in AGES:
            yield f"{max(float(row['lost by 30']) for row in rows('passes', method, version)):.3f}"


def empty_topics():
    for start in ("noise", "documents"):
        yield f"{np.mean([float(row['empty topics']) for row in rows('passes_starts', start)]):.2f}"
    gained = [float(row["score gained"]) for row in rows("passes_starts", "documents")]
    yield from (f"{value:.3f}" for value in (min(gained), max(gained)))


SENTENCES = [
    (
        "doc/lda_comparison.rst",
        "With 100 topics it is between {} and {} nats from :class:`SinglePassLDA`",
        flagship_gains,
        "for one pass",
        "SinglePassLDA",
        "1",
    ),
    (
        "doc/lda_comparison.rst",
        "its gains are between {} and {} nats there",
        flagship_gains,
        "4 + 5 sweeps, decay 0.7",
        "default",
        "5",
    ),
    (
        "doc/scaling.rst",
        "from some {} million tokens on; where 16 workers share a link, from some {} million. "
        "With 32 workers these are {} and {} million.",
        borders,
        "128",
        "32",
    ),
    (
        "doc/scaling.rst",
        "128 workers have an efficiency of {} on 1000 million tokens, of {} on 10000 million and of {} on "
        "100000 million.",
        efficiencies,
        "1e+09",
        "1e+10",
        "1e+11",
    ),
    (
        "doc/scaling.rst",
        "The formula gives {} to {} of the simulated time",
        predicted_over_simulated,
    ),
    (
        "README.md",
        "time to the held-out score that tomotopy reaches after 400 sweeps | {} times as fast",
        against_peers,
        "tomotopy 400 sweeps",
    ),
    ("README.md", "the same, after 150 sweeps | {} times as fast", against_peers, "tomotopy 150 sweeps"),
    (
        "README.md",
        "arXiv, 100 | training, against scikit-learn's online LDA | {} times as fast",
        times_as_fast,
        "training",
        "scikit-learn",
    ),
    (
        "README.md",
        "arXiv, 100 | `transform`, against the same | {} times as fast",
        times_as_fast,
        "transform",
        "scikit-learn",
    ),
    (
        "README.md",
        "one pass over 98,000 abstracts, against the same | {} nats per word better",
        better_than_scikit_learn,
    ),
    (
        "README.md",
        "KOS, 100 | topics drawn per second in training, against tomotopy | {} times as fast",
        times_as_fast,
        "training",
        "tomotopy",
        "100",
    ),
    ("README.md", "KOS, 1000 | the same | {} times as fast", times_as_fast, "training", "tomotopy", "1000"),
    ("README.md", "On arXiv abstracts it took {} times as long as the default; not", over_default, "V-OEM++"),
    ("README.md", "On arXiv abstracts it took {} times as long as the default, which", over_default, "SPLDA"),
    ("README.md", "learned from a stream in one pass, at {} microseconds a token.", moment_matching, "DDM"),
    ("doc/lda.rst", "on arXiv abstracts it took {} times as long as sampling.", over_default, "V-OEM++"),
    (
        "doc/lda.rst",
        "On arXiv abstracts it took {} times as long as :class:`OnlineEMLDA`",
        over_default,
        "SPLDA",
    ),
    ("doc/lda_comparison.rst", "take {} to {} times as long as G-OEM, except", boosted_over_sampling),
    (
        "doc/hdp.rst",
        "reaches {} nats per hidden word in {} s on one core, :class:`OnlineVariationalHDP` {} in {} s. In "
        "two passes with batches of 100 documents and at most 1000 topics, :class:`HybridHDP` reaches {} in "
        "{} s, and :class:`~sktopic.lda.OnlineEMLDA` {} in {} s.",
        seconds_of_hdps,
    ),
    (
        "doc/which_hdp.rst",
        "scores {}, {} and {} on KOS with at most 100, 300 and 1000 topics, and {}, {} and {} on NIPS.",
        scores_of_learned_concentrations,
    ),
    (
        "doc/which_hdp.rst",
        "From 300 to 1000 topics it gains {} nats on Reuters, {} on 20 Newsgroups and {} on the Enron "
        "inboxes.",
        gains_by_topics,
    ),
    (
        "doc/which_hdp.rst",
        "``topic_word_prior`` of 0.05, chains from 20 and 300 topics end with {} and {} topics, of "
        "which {} and {} hold 99 percent of the tokens, at scores of {} and {}.",
        topics_of_chains,
        "kos",
    ),
    (
        "doc/which_hdp.rst",
        "On NIPS, with concentrations of 45 and 5, chains from 20 and 300 topics end with {} and {} topics, "
        "of which {} and {} hold 99 percent of the tokens, at scores of {} and {}.",
        topics_of_chains,
        "nips1740",
    ),
    (
        "doc/which_hdp.rst",
        "On KOS it does best with at most {}, at {}, and of {} it uses {}, {} of which hold 99 percent, "
        "at {}.",
        topics_of_truncations,
        "kos",
    ),
    (
        "doc/which_hdp.rst",
        "On NIPS it does best with at most {}, at {}, and of {} it uses {}, {} of which hold 99 percent, "
        "at {}.",
        topics_of_truncations,
        "nips1740",
    ),
    (
        "doc/which_hdp.rst",
        "seeds with the same number of topics differ by up to {} percent, more than numbers from ten up do "
        "on average ({} percent). With moves the bound is that of the best of these or higher, from {} to "
        "{}, but starts from 5 to 300 topics end with {} to {}:",
        bounds_of_numbers,
    ),
    (
        "doc/hdp.rst",
        "with the choices of the paper they end with {} to {}, {} of them with exactly twenty.",
        topics_of_bars,
        "oHDP-SM, paper",
    ),
    (
        "doc/hdp.rst",
        "with moves {} from 100 topics and {} from 300, without them {} from 300 and {} from 1000,",
        scores_on,
        "nips",
        ("oHDP-SM, paper", "100"),
        ("oHDP-SM, paper", "300"),
        ("oHDP", "300"),
        ("oHDP", "1000"),
    ),
    (
        "doc/hdp.rst",
        "on arXiv abstracts {} with moves, which are still making topics, and {} with 300 topics that do not "
        "move.",
        scores_on,
        "arxiv",
        ("oHDP-SM, paper", "200"),
        ("oHDP", "300"),
    ),
    (
        "doc/which_hdp.rst",
        "On KOS, from 1, 5, 20, 100 and 300 topics, {} to {} hold 99 percent of the tokens after twenty "
        "passes, at scores from {} to {}:",
        topics_of_moves,
        "kos",
    ),
    (
        "doc/which_hdp.rst",
        "On NIPS, from 1, 5, 20, 100 and 300 topics, {} to {} hold 99 percent of the tokens after twenty "
        "passes, at scores from {} to {}.",
        topics_of_moves,
        "nips1740",
    ),
    (
        "doc/which_hdp.rst",
        "On Reuters (concentrations of 35 and 0.75), from 5 and 100 topics, {} to {} hold 99 percent of the "
        "tokens after twenty passes, at scores from {} to {}.",
        topics_of_moves,
        "reuters21578",
    ),
    (
        "doc/which_hdp.rst",
        "Chains from 20 and 300 topics end there with {} and {} topics, of which {} and {} hold 99 percent "
        "of the tokens, at scores of {} and {}:",
        topics_of_chains,
        "reuters21578",
    ),
    (
        "doc/which_hdp.rst",
        "Against as many topics without moves it gains {} to {} nats, and takes {} to {} times as long.",
        moves_against_none,
    ),
    (
        "doc/map_inference.rst",
        "in the median over the settings Online-VB takes {} times as long, and the other methods take {} to "
        "{} times as long.",
        seconds_over_those_of_ope,
    ),
    (
        "doc/moment_matching.rst",
        "DDM finds {}, {} and {} in the mean if there are three, five and ten, and TDM {}, {} and {}.",
        topics_of_the_paper,
        ("uniform", "DDM"),
        ("uniform", "TDM"),
    ),
    (
        "doc/moment_matching.rst",
        "TDM finds {}, {} and {}, and is the less reliable",
        topics_of_the_paper,
        ("exponential", "TDM"),
    ),
    (
        "doc/moment_matching.rst",
        "its numbers of ten topics have a standard deviation of {},",
        spread_of_ten_topics,
    ),
    (
        "doc/moment_matching.rst",
        "So set, DDM finds {}, {} and {} topics with the exponential prior, TDM {}, {} and {} (",
        topics_of_the_program,
    ),
    (
        "doc/moment_matching.rst",
        "twelve instead of three gain {} nats by the filter, but {} exactly. With few topics each token has "
        "to be shared between topics that are not yet apart, and the filter, which never takes that back, "
        "loses {} nats against exact inference with three topics, and {} (no more than chance) with twelve.",
        evidence_of_three_and_twelve,
    ),
    (
        "doc/moment_matching.rst",
        "with which it finds {}, {} and {} topics where there are three, five and ten; with the uniform "
        "prior it is {}, {} and {}, the limit.",
        topics_by_rate,
        "TDM",
        "2.0",
        "0.0",
    ),
    (
        "doc/moment_matching.rst",
        "by default, and finds {}, {} and {}; with *c* = 0.25 these are {}, {} and {}.",
        topics_by_rate,
        "DDM",
        "0.0",
        "0.25",
    ),
    (
        "doc/moment_matching.rst",
        "the topics of DDM have an accuracy of {}, those of the basic model {} and those of TDM, which finds "
        "{} topics, {}, against {} of",
        accuracies_of_moment_matching,
    ),
    (
        "doc/moment_matching.rst",
        "with 100 topics and the defaults {} to {} microseconds for the basic model "
        "(:class:`MomentMatchingLDA`), {} for DDM and {} to {} for TDM.",
        moment_matching,
        "basic",
        "DDM",
        "TDM",
    ),
    (
        "doc/benchmarks.rst",
        "is ``transform_burn_in={}`` and ``transform_sweeps={}``, {} times as fast at {} documents/s",
        fastest_near_the_defaults,
    ),
    (
        "doc/benchmarks.rst",
        "50,000 documents/s cost {} nats there, with ``transform_burn_in={}`` and ``transform_sweeps={}``.",
        best_of_50_000_documents_a_second,
    ),
    (
        "doc/benchmarks.rst",
        "2 is {} times as fast at {} to {} nats, 1 is {} times as fast at {} to {}.",
        with_sweeps,
        ("4", "2"),
        ("4", "1"),
    ),
    (
        "doc/benchmarks.rst",
        "10 and 20 gain {} to {} nats, at {} times the speed.",
        with_more_sweeps,
    ),
    (
        "doc/benchmarks.rst",
        "have the best accuracy, {}, and log loss, {}, against {} and {} for TruncatedSVD, {} and {} for NMF "
        "and {} and {} for scikit-learn's LDA trained online.",
        of_features,
        "accuracy",
        "log loss",
    ),
    (
        "doc/benchmarks.rst",
        "have the better accuracy, {}, and about the same log loss, {}.",
        of_all_words,
    ),
    (
        "doc/benchmarks.rst",
        "The topics took {} seconds, against {} for TruncatedSVD, {} for NMF and {} for scikit-learn's LDA.",
        of_features,
        "seconds of features",
    ),
    (
        "doc/distributed.rst",
        "Up to 8 lanes lose at most {} with any of these seeds. 32 lose {} in one pass and {} in five:",
        lost_by_lanes,
    ),
    (
        "doc/large_corpora.rst",
        "adds {} to {} MB to the anonymous memory",
        of_corpora_on_disk,
        "",
        "MB beside it",
    ),
    (
        "doc/large_corpora.rst",
        "is {} times as slow as with cached files by blocks, and {} times as slow with all rows",
        of_corpora_on_disk,
        "_order",
        "times as slow",
    ),
    (
        "doc/large_corpora.rst",
        "they take {} to {} bytes a token",
        of_corpora_on_disk,
        "_samplers",
        "bytes a token",
    ),
    (
        "doc/uncertainty.rst",
        "the true slope in {} of the replicates and those from draws in {}; with 20 words, {} and {}.",
        coverages,
        "proportion as response",
        "10",
        "20",
    ),
    (
        "doc/uncertainty.rst",
        "too small either way, {} of the truth with 10 words.",
        estimates,
        "proportion as response",
        "10",
        "draws",
    ),
    (
        "doc/uncertainty.rst",
        "the true coefficient in {} of the replicates with 10 words, those from draws in {}.",
        coverages,
        "proportion as predictor",
        "10",
    ),
    (
        "doc/uncertainty.rst",
        "comes out at {} of the truth from means, at {} from draws.",
        estimates,
        "share of documents",
        "10",
        "means",
        "draws",
    ),
    (
        "doc/uncertainty.rst",
        "contain it in {} of the replicates from means, in {} from draws.",
        coverages,
        "share of documents",
        "10",
    ),
    (
        "doc/lda_comparison.rst",
        "On the four smaller corpora SPLDA is ahead, by {} to {} nats at 128",
        lead_of_splda,
    ),
    (
        "doc/lda_comparison.rst",
        "on the synthetic corpus, by {} nats at 128 topics, and ahead on all real ones, by {} to {} (means",
        one_over_t,
    ),
    (
        "doc/lda_comparison.rst",
        "on KOS, by {} nats, and {} to {} behind G-OEM on the real corpora",
        var_gibbs,
    ),
    (
        "doc/lda_comparison.rst",
        "Here 20 topics have a median of {} against {} with ten,",
        true_number_of_topics,
    ),
    (
        "doc/lda_comparison.rst",
        "SGS falls by {} nats on NIPS, moves by at most {} on the other real corpora and rises by {} on the",
        change_of_sgs,
    ),
    (
        "doc/lda_comparison.rst",
        "Reuters and arXiv, by {} to {} nats. On 20 Newsgroups it is undecided, and on KOS and NIPS V-OEM is "
        "ahead, by {} and {};",
        boosted_or_not,
    ),
    ("doc/lda_comparison.rst", "G-OEM++ loses {} to {} nats to G-OEM,", lost_by_boosting),
    ("doc/lda_comparison.rst", "on every corpus, by {} to {} nats per word up to 128,", fall_of_bounds),
    (
        "doc/lda_comparison.rst",
        "0.25 with averages is as good as 0.75 without, within {} nats.",
        averages_instead_of_larger_steps,
    ),
    ("doc/lda_comparison.rst", "no more than {} nats, within the spread of the splits,", cost_of_learning),
    (
        "doc/map_inference.rst",
        "by {} to {} nats on Enron and arXiv; on NIPS, whose papers have a thousand words, it is lower, by "
        "at most {}.",
        mode_and_mean,
    ),
    (
        "doc/map_inference.rst",
        "*p* moves document completion by no more than {} nats and NPMI by no more than {},",
        range_over_p,
        ("nips_uci", "enron_inbox"),
    ),
    (
        "doc/map_inference.rst",
        "*p = 0.1* is {} and {} nats behind *p = 0.5* with small batches, and lower in NPMI in all four "
        "settings, by {} to {};",
        tenth_against_half,
    ),
    (
        "doc/map_inference.rst",
        "*p* moves completion there by no more than {}.",
        lambda: range_over_p(["arxiv"], 0.2)[:1],
    ),
    (
        "doc/map_inference.rst",
        "they move completion by {} nats on NIPS and by {} on Enron.",
        range_over_settings,
    ),
    ("doc/map_inference.rst", "all but OPE in the median, by {} to {} nats at the end", lead_of_g_ope),
    (
        "doc/map_inference.rst",
        "gets better on NIPS and Enron, by {} to {} nats, and",
        gained_by_small_batches,
    ),
    (
        "doc/map_inference.rst",
        "On arXiv G-OEM is then best, {} ahead of G-OPE; Online-VB and Online-CGS stop improving early and "
        "end {} and {} below",
        small_batches_on_arxiv,
    ),
    ("doc/map_inference.rst", "at the end, NPMI on arXiv is between {} and {} with", coherences_on_arxiv),
    (
        "doc/map_inference.rst",
        "OPE took {} s and Online-VB {} s, and G-OPE, which does the same work as OPE, {} s.",
        single_times,
    ),
    (
        "doc/moment_matching.rst",
        "({} for three, {} for five) and falls behind then: {} for ten, and {} with the defaults.",
        topics_of_ddm,
    ),
    (
        "doc/moment_matching.rst",
        "(by own inference from {} nats behind to {} ahead), at {} to {} of its time; with 400 topics on "
        "NIPS it is {} ahead and takes {} times as long.",
        one_pass_against_one_pass,
    ),
    (
        "doc/moment_matching.rst",
        "by {} to {} nats. With a learned one it is level with DDM on Reuters ({} both), {} ahead of it on "
        "arXiv (one seed), and {} behind it on NIPS, where this refutes the paper. With the defaults of the "
        "library DDM is ahead of it by {} to {}.",
        against_online_hdp,
    ),
    (
        "doc/moment_matching.rst",
        "on NIPS and arXiv it is {} to {} nats below, and TDM {} and {} below on Reuters and NIPS. On arXiv "
        "TDM is {} above",
        below_best_given,
    ),
    ("doc/moment_matching.rst", "here it is {} and {}, {} and {}, with a different", topics_on_texts),
    ("doc/moment_matching.rst", "DDM and TDM lose {} to {} nats against", lost_by_the_papers_settings),
    (
        "doc/moment_matching.rst",
        "the learned prior gains {} to {} nats on Reuters and arXiv, and {} to {} on NIPS,",
        against_one,
    ),
    (
        "doc/moment_matching.rst",
        "it gains {} to {} for the basic model on Reuters and arXiv by own inference; otherwise the two are "
        "within {} of each other,",
        against_the_default,
    ),
    ("doc/hdp.rst", "ahead by {} to {} nats, except on NIPS in batches of 1000", lead_over_mean_field),
    (
        "doc/hdp.rst",
        "it gains {} to {} nats from 50 topics to 200, and from 200 to 1000 it gains {} on KOS and loses {} "
        "to {} on",
        gains_by_truncation,
    ),
    ("doc/hdp.rst", "in the end on NIPS and Enron, by {} and {} nats.", overtaken),
    ("doc/hdp.rst", "after ten seconds it is ahead on all corpora, by {} to {}.", sparse_after_ten_seconds),
    (
        "doc/hdp.rst",
        "half an hour leads to {} to {} topics and to scores within {} nats of each other (one chain each).",
        chains_from_starts,
    ),
    ("doc/hdp.rst", "with 100 topics the others end {} nats lower", lost_by_table_indicators),
    (
        "sktopic/hdp/_direct_assignment.py",
        "scores on texts are higher, by {} to {} nats per word,",
        gained_by_means,
    ),
    (
        "sktopic/hdp/_hybrid.py",
        "and score {} nats per word less on KOS.",
        lambda: [lost_by_table_indicators()[0].rstrip("0")],
    ),
    (
        "doc/hdp.rst",
        "from 20 topics {} to {} are in use in the end, from 100 topics {} to {}.",
        topics_of_truncation_free,
    ),
    (
        "doc/hdp.rst",
        "it ends with {} to {} topics from starts of 1 to 300, of which {} to {} hold 99 % of the tokens, "
        "with scores from {} to {}. Chains of :class:`CollapsedGibbsHDP` end with {} and {} topics, of "
        "which {} and {} hold 99 %, at {} and {}, after {} sweeps and more. The truncated model at the same "
        "concentrations scores {} with at most 300 topics, of which {} hold 99 %:",
        moves_chains_and_truncation,
    ),
    (
        "doc/hdp.rst",
        "from 128, of which it keeps {} to {}, it is ahead of G-OEM that has to grow from two. Only on the "
        "long stream of arXiv does an HDP beat LDA with 128 topics, and by then it has {} to {}.",
        topics_of_growing_hdps,
    ),
    ("doc/hdp.rst", "and within {} nats of the true ones.", below_the_true_topics),
    (
        "doc/hdp.rst",
        "runs from 20 topics end with {} to {} and {} to {} nats lower, and from 50 with {} to {}.",
        bars_without_moves,
    ),
    ("doc/hdp.rst", "the seed is against it, by {} nats and more.", gibbs_ahead_of_moves),
    (
        "doc/benchmarks.rst",
        "at least 0.85 in {} of {} topics, {} of the others being of",
        seeded_topics,
    ),
    ("doc/benchmarks.rst", "0.01 is not excluded in {} of the {} rows:", losses_not_excluded),
    (
        "doc/coherence.rst",
        "On KOS with 50 topics tomotopy's NPMI is higher by {} and its diversity by {}; the score of "
        "``OnlineEMLDA`` is higher by {}, and it trains {} times as fast.",
        beside_tomotopy,
        "kos",
        "50",
    ),
    (
        "doc/coherence.rst",
        "lose them: on KOS with 50 topics, thirty passes take diversity from {} to {} and NPMI from {} to "
        "{}.",
        passes_from_chain,
        "kos",
        "50",
    ),
    (
        "doc/coherence.rst",
        "With 100 topics on NIPS, diversity rises by {} and the score by {}.",
        gains_of_first_sweep,
        "nips1740",
        "100",
    ),
    (
        "doc/coherence.rst",
        "half of them are in {} of all documents or more; with 300 topics, in {}.",
        shares_of_top_words,
    ),
    ("doc/distributed.rst", "of a fixed length cost up to {} nats,", lost_by_long_rounds),
    (
        "doc/lda_comparison.rst",
        "it does worse on all six corpora, by {} to {} nats",
        lost_with_equal_topic_priors,
    ),
    (
        "doc/hdp.rst",
        "any gain leads to {} topics at {} in two minutes, and significant gains lead to {} at {} in {} "
        "seconds,",
        any_gain_or_significant,
    ),
    (
        "doc/benchmarks.rst",
        "After three passes the scores of :class:`~sktopic.lda.OnlineEMLDA` differ from those without it"
        " by {} to {} nats per word, those of :class:`~sktopic.hdp.HybridHDP` by {} to {}; after thirty,"
        " by {} to {} and {} to {}.",
        gained_by_leaving_out,
    ),
    (
        "doc/benchmarks.rst",
        "Thirty passes of the first lose {} nats at most against the best of these numbers of passes, "
        "where they lost up to {}; of the second, {} where they lost up to {}.",
        most_lost_by_thirty_passes,
    ),
    (
        "doc/benchmarks.rst",
        "the share of topics that are empty falls from {} to {} on average over the rows of the table, "
        "and the score changes by {} to {} nats per word.",
        empty_topics,
    ),
]

NUMBER = r"(?:[\d.]+|two|three|four|five|ten|a hundred|several)"
SPEED = re.compile(
    rf"\b{NUMBER} times (?:as (?:fast|long|quick|slow)|faster|slower|longer)"
    rf"|\b{NUMBER} (?:micro|nano|milli)?seconds?\b|\b[\d.]+ (?:n|u|m)?s\b"
)


def text_of(page):
    """Its words, by single spaces."""
    return " ".join((ROOT / page).read_text().split())


def pattern_of(sentence):
    return r"-?\d[\d.,]*".join(map(re.escape, sentence.split("{}")))


@pytest.mark.parametrize(("page", "sentence", "figures", "arguments"), [(*s[:3], s[3:]) for s in SENTENCES])
def test_sentence_has_the_figures_of_the_table(page, sentence, figures, arguments):
    expected = sentence.format(*figures(*arguments))
    found = re.findall(rf"(?:{pattern_of(sentence)})", text_of(page))
    assert len(found) == 1, f"{page} should have this sentence once:\n{expected}"
    assert found[0] == expected, f"in {page}, change\n{found[0]}\nto\n{expected}"


PAGES = ["README.md", *sorted(f"doc/{path.name}" for path in (ROOT / "doc").glob("*.rst"))]


@pytest.mark.parametrize("page", PAGES)
def test_no_other_sentence_has_a_speed(page):
    text = text_of(page)
    for its_page, sentence, *_ in SENTENCES:
        if its_page == page:
            text = re.sub(pattern_of(sentence), "", text)
    found = [text[max(m.start() - 60, 0) : m.end()] for m in SPEED.finditer(text)]
    assert not found, f"{page} has speeds that no table gives; add the sentences to SENTENCES: {found}"


def test_the_draws_take_most_of_the_time_up_to_some_hundred_topics():
    """As "What a token costs" says in doc/benchmarks.rst, where the tables are included."""
    for row in rows("cost_parts"):
        draws, moving = float(row["draws, ms"]), float(row["rows, ms"]) + float(row["adding, ms"])
        if int(row["topics"]) != 1000:  # where it turns
            assert (draws > moving) == (int(row["topics"]) < 1000), row
    of_vocabularies = [float(row["training, ns a token"]) for row in rows("cost", "drawn")]
    assert max(of_vocabularies) < 2 * min(of_vocabularies), "the size of the vocabulary does matter"
