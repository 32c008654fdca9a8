"""The short tables of the pages: some rows and columns of the studies' tables, with rounded figures.

    python benchmarks/page_tables.py [--update]

Reads doc/benchmarks/*.csv, nothing is measured. Writes a table for each function of TABLES to pages/ in
benchmarks/output/, or with --update in doc/benchmarks/. Pages link the whole tables beside them.
"""

import csv
import math
import re

from _study import CORPUS_NAMES, PUBLISHED, Study, new_parser

NONE = "\N{EN DASH}"  # an empty cell; a hyphen would be read as a bullet
TABLES = {}  # name -> function that returns a head and rows
PLUS_MINUS = re.compile(r"([+-]?[\d.]+) ± ([\d.]+)(.*)")


def page_table(function):
    TABLES[function.__name__] = function
    return function


def read(table, **columns):
    """Rows of a published table, as dicts; those that have these cells (_ in a name stands for a space)."""
    known = {name.replace("_", " "): cell for name, cell in columns.items()}
    with (PUBLISHED / f"{table}.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if known.items() <= row.items()]


def read_lists(table):
    """For tables with columns of the same name: their rows without the head."""
    with (PUBLISHED / f"{table}.csv").open(newline="") as file:
        return list(csv.reader(file))[1:]


def corpus(row):
    return CORPUS_NAMES.get(row["corpus"], row["corpus"])


def fixed(cell, digits=2, sign=False):
    """A number with so many decimals; no number is a dash, and zero has no sign."""
    if cell in ("", "-", None):
        return NONE
    text = f"{float(cell):{'+' if sign else ''}.{digits}f}"
    return text if float(text) else text.lstrip("+-")


def change(cell, digits=2):
    return fixed(cell, digits, sign=True)


def significant(cell, digits=2):
    """Thousands are written out, with commas: 98,000."""
    if cell in ("", "-", None):
        return NONE
    x = float(cell)
    decimals = digits - 1 - math.floor(math.log10(abs(x))) if x else 0
    return f"{round(x, decimals):,.{max(decimals, 0)}f}"


def decimals_of(reach):
    """As many as an interval supports: one digit of what it reaches, two where that begins with one."""
    if not reach or math.isnan(reach):
        return 3
    first = math.floor(math.log10(abs(reach)))
    return min(max(-first + (reach < 2 * 10**first), 0), 3)


def supported(cell, low, high, sign=False):
    """A mean with its interval; two decimals where there is none."""
    if low in ("", None):
        return fixed(cell, 2, sign)
    digits = decimals_of((float(high) - float(low)) / 2)
    return f"{fixed(cell, digits, sign)} ({fixed(low, digits, sign)} to {fixed(high, digits, sign)})"


def plus_minus(cell, sign=False):
    """Of "0.019 ± 0.015", or of a number alone."""
    found = PLUS_MINUS.fullmatch(cell or "")
    if not found:
        return fixed(cell, 2, sign) if re.fullmatch(r"[+-]?[\d.]+", cell or "") else cell or NONE
    mean, reach, rest = found.groups()
    digits = decimals_of(float(reach))
    return f"{fixed(mean, digits, sign)} ± {fixed(reach, digits)}{rest}"


def pivot(table, of_row, of_column, of_cell, columns):
    """A row for each of_row (a tuple), and in it a cell for each of the columns."""
    cells = {}
    for row in table:
        cells.setdefault(of_row(row), {})[of_column(row)] = of_cell(row)
    return [(*name, *(found.get(column, NONE) for column in columns)) for name, found in cells.items()]


# Methods for LDA


@page_table
def lda_methods():
    """By score."""
    table = sorted(read("peers_family"), key=lambda row: -float(row["score, nats per word"]))
    return ["method", "score, nats per word", "seconds of training"], [
        (row["model"], fixed(row["score, nats per word"]), significant(row["seconds of training"]))
        for row in table
    ]


@page_table
def lda_guide():
    """Of this library alone."""
    head, rows = lda_methods()
    return head, [row for row in rows if " " not in row[0]]


@page_table
def lda_gains():
    names = {
        ("default", "decay 0.65, a fixed prior"): "default, less without its two changes",
        ("for one pass", "SinglePassLDA"): "10 + 10 sweeps, less SinglePassLDA",
        ("default", "SinglePassLDA"): "default, less SinglePassLDA",
    }
    columns = ["KOS", "NIPS", "Reuters", "20 Newsgroups", "Enron", "arXiv"]
    rows = pivot(
        read("flagship_gains", topics="100"),
        lambda row: (names[row["setting"], row["less"]], row["passes"]),
        corpus,
        lambda row: change(row["gain"]),
        columns,
    )
    return ["100 topics", "passes", *columns], rows


@page_table
def lda_equal_time():
    columns = ["KOS", "NIPS", "Reuters", "20 Newsgroups", "Enron", "arXiv"]
    rows = pivot(
        read("flagship_equal_time", topics="100"),
        lambda row: (row["method"], row["passes"]),
        corpus,
        lambda row: change(row["ahead by"]),
        columns,
    )
    return ["ahead of", "its passes", *columns], rows


@page_table
def lda_first_pass():
    columns = ["KOS", "NIPS", "Reuters", "20 Newsgroups", "Enron"]
    rows = pivot(
        read("flagship_first_pass"),
        lambda row: (row["first pass with"],),
        corpus,
        lambda row: change(row["gain"]) + (", 1 split" if row["splits"] == "1" else ""),
        columns,
    )
    return ["first pass with", *columns], rows


@page_table
def lda_effects():
    def effect(row, passes):
        low, _, high = row[f"interval, {passes}"].partition(" to ")
        return supported(row[passes], low, high, sign=True)

    rows = [
        (row["level"], effect(row, "1 pass"), effect(row, "5 passes"))
        for row in read("flagship_effects")
        if not row["with"]
    ]
    return ["in place of the default", "one pass", "five passes"], rows


@page_table
def lda_variants():
    return ["moved", "method", "settings", "KOS", "Reuters"], [
        (
            re.sub(r" \(.*", "", row["moved"]),
            row["method"],
            row["settings"].replace("_", " ").replace("=", " "),
            *(plus_minus(row[name].removesuffix(" (3)"), sign=True) for name in ("kos", "reuters21578")),
        )
        for row in read("online_em_variants", topics="128")
    ]


@page_table
def lda_passes():
    return ["corpus", "method", "topics", "measured", *(f"after pass {n}" for n in "1234")], [
        (
            corpus(row),
            row["method"],
            row["topics"],
            row["nats per word"],
            *(fixed(row[f"after pass {n}"]) for n in "1234"),
        )
        for row in read("online_em_passes")
    ]


@page_table
def lda_common():
    rows = pivot(
        read("online_em_common"),
        lambda row: (row["method"],),
        corpus,
        lambda row: supported(row["less G-OEM"], row["95 percent interval from"], row["to"], sign=True),
        ["KOS", "Reuters"],
    )
    return ["method", "KOS, less G-OEM", "Reuters, less G-OEM"], [row for row in rows if row[0] != "G-OEM"]


@page_table
def lda_npmi():
    return ["corpus", "method", "NPMI", "diversity"], [
        (CORPUS_NAMES[name], method, supported(*npmi), supported(*diversity))
        for name, method, *figures in read_lists("online_em_npmi")
        for npmi, diversity in [(figures[:3], figures[3:6])]
    ]


@page_table
def lda_time():
    names = [name for name in read("online_em_time")[0] if name in CORPUS_NAMES]
    return ["seconds of training", *(CORPUS_NAMES[name] for name in names)], [
        (row["seconds of training"], *(significant(row[name]) for name in names))
        for row in read("online_em_time")
    ]


# Benchmarks


@page_table
def peers():
    """Each peer's figure beside ours: the score that a longer run of the peer has, and the rest."""
    measures = {
        "seconds to it, median of 5": "seconds to the peer's score",
        "seconds of one pass": "seconds of one pass",
        "transform, documents per second": "transform, documents a second",
        "tokens per second, collapsed Gibbs": "collapsed Gibbs, tokens a second",
        "token draws per second": "training, draws a second",
    }
    rows = [
        (
            measures[row["measure"]],
            corpus(row),
            f"{int(row['topics']):,}",
            row["peer"],
            significant(row["peer's"]),
            significant(row["sktopic's"]),
            significant(row["ratio or difference"]),
        )
        for row in read("peers")
        if row["measure"] in measures
    ]
    rows.sort(key=lambda row: list(measures.values()).index(row[0]))
    return ["measured", "corpus", "topics", "peer", "peer's", "sktopic's", "times as fast"], rows


@page_table
def peers_scores():
    rows = [
        (corpus(row), f"{int(row['topics']):,}", row["peer"], row["measure"].removeprefix("score").strip())
        + (fixed(row["peer's"]), fixed(row["sktopic's"]), change(row["ratio or difference"]))
        for row in read("peers")
        if row["measure"].startswith("score")
    ]
    rows = [(*row[:3], row[3] or "until it has the peer's", *row[4:]) for row in rows]
    return ["corpus", "topics", "peer", "trained or inferred", "peer's", "sktopic's", "difference"], rows


@page_table
def speed():
    """Against other libraries, and two jobs against one; not against earlier commits."""
    rows = []
    for row in read("speed"):
        if row["compared with"] not in ("one job", "tomotopy", "scikit-learn"):
            continue
        low, high = row["95 percent interval from"], row["to"]
        rows.append(
            (f"{row['work']} ({row['unit'].removesuffix('/s')})", corpus(row), f"{int(row['topics']):,}")
            + (row["compared with"], significant(row["median of that"]), significant(row["median now"]))
            + (supported(row["times as fast"], low, high),)
        )
    return ["a second", "corpus", "topics", "compared with", "that", "sktopic", "times as fast"], rows


@page_table
def cost():
    """A line has what is not moved at its middle value."""
    head = ["corpus", "words", "topics", "training, ns a token", "transform, ns a token"]
    return [*head, "memory, in sizes of the topics"], [
        (
            CORPUS_NAMES.get(row["documents"], row["documents"]),
            f"{int(row['words']):,}",
            f"{int(row['topics']):,}",
            significant(row["training, ns a token"]),
            significant(row["transform, ns a token"]),
            fixed(row["memory / (8 V K)"], 1),
        )
        for row in read("cost")
    ]


@page_table
def cost_parts():
    parts = {
        "rows, ms": "reading topic rows",
        "draws, ms": "drawing topics",
        "adding, ms": "adding counts",
        "else, ms": "else",
    }
    return ["topics", *parts.values()], [
        (f"{int(row['topics']):,}", *(significant(row[name]) for name in parts)) for row in read("cost_parts")
    ]


@page_table
def transform_sweeps():
    """Some of the settings: the median of the speed over corpora, and the change of score on each."""
    shown = [("0", "6"), ("2", "4"), ("4", "1"), ("4", "2"), ("4", "4"), ("4", "5"), ("4", "6"), ("10", "20")]
    columns, rows = ["arxiv_0", "kos", "20news"], []
    for burn_in, sweeps in shown:
        found = {
            row["corpus"]: row
            for row in read("transform_sweeps")
            if (row["transform_burn_in"], row["transform_sweeps"]) == (burn_in, sweeps)
        }
        faster = sorted(float(row["times as fast as the defaults"]) for row in found.values())
        losses = [change(found[name]["score less that of the defaults"], 3) for name in columns]
        rows.append((burn_in, sweeps, significant(faster[1]), *losses))
    names = [f"{CORPUS_NAMES[name]}, score" for name in columns]
    return ["transform_burn_in", "transform_sweeps", "times as fast", *names], rows


@page_table
def classifier():
    def of(row, cell, interval):
        low, _, high = row[interval].partition(" to ")
        return supported(row[cell], low, high) if low else fixed(row[cell], 3)

    head = ["features", "their number", "accuracy", "log loss", "seconds to make them"]
    return head, [
        (
            row["features"],
            f"{int(row['their number']):,}",
            of(row, "accuracy", "95 percent interval"),
            of(row, "log loss", "interval of the log loss"),
            significant(row["seconds of features"]),
        )
        for row in read("classifier")
    ]


@page_table
def older_runs():
    totals = {}
    for row in read("older_runs"):
        total = totals.setdefault(row["study"], [0, 0])
        total[0] += int(row["runs of older code"])
        total[1] += int(row["of runs"])
    return ["study", "runs of older code", "of these runs"], [
        (study.replace("_", " "), f"{older:,}", f"{n:,}") for study, (older, n) in totals.items()
    ]


# Seed words


@page_table
def seeds():
    head = [
        "corpus",
        "estimator",
        "seeds kept",
        "AUC",
        "hardest group",
        "lowest",
    ]
    return [*head, "score gained"], [
        (
            corpus(row),
            row["estimator"],
            row["fewest seeds of six in the first 20 words"],
            supported(row["AUC, mean"], row["95 percent interval from"], row["to"]),
            fixed(row["of the hardest group, mean"]),
            fixed(row["lowest of a group and fit"]),
            supported(
                row["score less that without seeds"],
                row["95 percent interval of that from"],
                row["up to"],
                sign=True,
            ),
        )
        for row in read("seeds")
    ]


@page_table
def seeds_weights():
    return ["weight", "estimator", "AUC", "score"], [
        (
            f"{int(row['weight']):,}",
            row["estimator"],
            supported(row["AUC, mean"], row["95 percent interval from"], row["to"]),
            fixed(row["score, mean"]),
        )
        for row in read("seeds_weights")
    ]


# Defaults, and many passes


def defaults(name):
    def table():
        rows = read(name)
        columns = list(rows[0])[2:]
        return list(rows[0]), [
            (row["parameter"], row["value"], *(change(row[column]) for column in columns)) for row in rows
        ]

    return table


for _name in ("", "_ope", "_cvb0", "_moment_matching", "_degenerate", "_triangular"):
    TABLES[f"defaults{_name}"] = defaults(f"defaults{_name}_summary")


@page_table
def passes():
    names = ("1 passes", "3 passes", "10 passes", "30 passes")
    versions = {"before": "counted", "after": "left out"}
    return ["corpus", "method", "own tokens", "1 pass", *names[1:], "lost by 30"], [
        (
            corpus(row),
            row["method"],
            versions[row["version"]],
            *(fixed(row[name]) for name in names),
            fixed(row["lost by 30"]),
        )
        for row in read("passes", topics="100")
        if row["version"] in versions
    ]


@page_table
def passes_root():
    return ["corpus", "model", "topics in use", "topics that the root amounts to", "score"], [
        (
            corpus(row),
            row["model"],
            fixed(row["topics in use"], 0),
            fixed(row["topics that the root amounts to"], 0),
            fixed(row["score"]),
        )
        for row in read("passes_root")
    ]


@page_table
def passes_starts():
    found = {(row["corpus"], row["topics"], row["start"]): row for row in read("passes_starts")}
    rows = []
    for (name, topics, start), after in found.items():
        if start == "documents":
            before = found[name, topics, "noise"]
            rows.append(
                (
                    CORPUS_NAMES[name],
                    topics,
                    *(fixed(100 * float(row["empty topics"]), 0) for row in (before, after)),
                    supported(after["score gained"], after["from"], after["to"], sign=True),
                )
            )
    head = ["corpus", "topics", "percent empty, from noise", "percent empty, from documents", "score gained"]
    return head, rows


# Hierarchical Dirichlet processes


def short_cell(cell):
    """Of "-7.357 ± 0.009 (1 s)": two decimals, and the seconds."""
    found = re.fullmatch(r"(\S+)(?: ± \S+)? \((\d+) s\)", cell)
    return f"{fixed(found[1])} ({found[2]}\N{NO-BREAK SPACE}s)" if found else NONE


@page_table
def hdp_models():
    names = list(read("hdp_models")[0])[1:]
    return ["score (seconds)", *(CORPUS_NAMES[name] for name in names)], [
        (row["model"], *(short_cell(row[name]) for name in names)) for row in read("hdp_models")
    ]


@page_table
def hdp_models_topics():
    start, rows = "topics at the start (or at most)", read("hdp_models_topics")
    names = list(rows[0])[2:]
    return ["model", "start", *(CORPUS_NAMES[name] for name in names)], [
        (row["model"], row[start], *(re.sub(r" / -$", f" / {NONE}", row[name]) or NONE for name in names))
        for row in rows
    ]


@page_table
def hdp_guide():
    """The models with a corpus: score and seconds on KOS, and topics in use from two starts."""
    topics = {row["model"]: row for row in read("hdp_models_topics")}
    rows = []
    for row in read("hdp_models"):
        if row["model"] in ("tomotopy", "gensim") or "," not in row["model"]:
            score, seconds = short_cell(row["kos"]).removesuffix("\N{NO-BREAK SPACE}s)").split(" (")
            of = topics[row["model"]]
            rows.append((row["model"], score, seconds, of["topics at the start (or at most)"], of["kos"]))
    rows.sort(key=lambda row: -float(row[1]))
    return ["model", "score", "seconds", "topics at the start, or at most", "topics in the end"], rows


@page_table
def hdp_samplers():
    head = ["topics", "sampler", "million draws a second", "times as fast as the dense one"]
    return head, [
        (
            f"{int(row['topics']):,}",
            row["sampler"],
            significant(row["million draws a second"]),
            significant(row["times as fast as dense"]),
        )
        for row in read("hybrid_hdp_steps")
    ]


@page_table
def hdp_race():
    head = ["corpus", "peer", "its last score", "its seconds", "HybridHDP's seconds to that", "times as fast"]
    return head, [
        (
            corpus(row),
            row["peer"],
            fixed(row["peer's last score"]),
            significant(row["its seconds"]),
            significant(row["HybridHDP's seconds to it"]),
            significant(row["ratio"], 1),
        )
        for row in read("hybrid_hdp_race", **{"HybridHDP's_largest_number_of_topics": "100"})
    ]


@page_table
def hdp_starts():
    """At the end of the half hour."""
    last = {row["topics at the start"]: row for row in read("hybrid_hdp_starts")}
    return ["topics at the start", "topics after half an hour", "score"], [
        (start, row["topics"], fixed(row["score"])) for start, row in last.items()
    ]


@page_table
def hdp_online_em():
    rows = []
    for row in read("online_em_hdp"):
        topics = sorted(map(int, row["topics at the end"].split()))
        ends = str(topics[0]) if topics[0] == topics[-1] else f"{topics[0]} to {topics[-1]}"
        rows.append((corpus(row), row["method"], fixed(row["log-perplexity, nats per word"]), ends))
    return ["corpus", "method", "log-perplexity", "topics in the end"], rows


@page_table
def hdp_bound():
    head = ["corpus", "topic_word_prior", "moves", "topics at the start", "bound", "score", "topics in use"]
    return head, [
        (
            corpus(row),
            row["topic_word_prior"],
            row["moves"],
            row["topics at the start"],
            fixed(row["bound, nats per word"]),
            fixed(row["held-out score, nats per word"]),
            row["topics in use"],
        )
        for row in read("split_merge_hdp_bound")
    ]


@page_table
def hdp_weights():
    columns = ["fixed point", "L-BFGS"]
    rows = pivot(
        read("split_merge_hdp_weights"),
        lambda row: (corpus(row), row["topics"]),
        lambda row: row["method"],
        lambda row: row["milliseconds"],
        columns,
    )
    return ["corpus", "topics", *(f"{name}, milliseconds" for name in columns)], rows


@page_table
def hdp_steps():
    head = ["corpus", "topics", "milliseconds for 200 documents", "dense NumPy, times as slow"]
    return [*head, "sparse NumPy, times as slow"], [
        (
            corpus(row),
            row["topics"],
            significant(row["milliseconds for 200 documents"]),
            significant(row["NumPy, dense, over that"]),
            significant(row["NumPy, sparse, over that"]),
        )
        for row in read("split_merge_hdp_steps")
    ]


def of_seeds(cell):
    """Of "20 20 21": the least and the most."""
    numbers = sorted(map(int, cell.split()))
    return f"{numbers[0]}" if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"


@page_table
def hdp_bars():
    columns = ["oHDP-SM", "oHDP-SM, paper", "oHDP"]
    rows = pivot(
        read("split_merge_hdp_bars"),
        lambda row: (row["topics at the start"],),
        lambda row: row["method"],
        lambda row: of_seeds(row["at the end, by seed"]),
        columns,
    )
    return ["topics at the start", "default", "choices of the paper", "no moves"], rows


@page_table
def hdp_texts():
    head = ["corpus", "method", "topics at the start, or at most", "score", "topics in use", "seconds"]
    return [*head, "documents read"], [
        (
            CORPUS_NAMES[name],
            row["method"],
            f"{int(row['topics at the start (or at most)']):,}",
            fixed(row["score"]),
            row["topics in use, by seed"],
            row["seconds"],
            significant(row["documents seen"]),
        )
        for name in ("nips", "arxiv")
        for row in read(f"split_merge_hdp_{name}")
    ]


def score_and_topics(cell):
    """Of "-7.613 ± 0.006 (5)"."""
    found = re.fullmatch(r"(\S+)(?: ± \S+)? \((\d+)\)", cell)
    return f"{fixed(found[1])} ({found[2]})" if found else NONE


def by_truncation(name):
    rows = read(name)
    columns = list(rows[0])[1:]
    return ["topics at most", *(CORPUS_NAMES[column] for column in columns)], [
        (f"{int(row['topics at most']):,}", *(score_and_topics(row[column]) for column in columns))
        for row in rows
    ]


@page_table
def hdp_topics_learned():
    return by_truncation("hdp_topics_learned")


@page_table
def hdp_topics_fixed():
    return by_truncation("hdp_topics_fixed")


@page_table
def hdp_topics_agreement():
    head = ["corpus", "method", "runs", "topics that hold 99 %", "scores"]
    return head, [
        (
            corpus(row),
            row["method"],
            row["runs"],
            f"{row['fewest topics that hold 99 %']} to {row['most']}",
            f"{fixed(row['lowest score'])} to {fixed(row['highest'])}",
        )
        for row in read("hdp_topics_agreement")
    ]


@page_table
def hdp_topics_beside():
    def of(cell):
        found = re.fullmatch(r"(\S+) \((\S+) to (\S+)\)", cell)
        return supported(*found.groups(), sign=True) if found else change(cell)

    return ["corpus", "topics at the start", "topics found", "score gained", "times as long"], [
        (
            corpus(row),
            row["topics at the start"],
            row["topics found"],
            of(row["score less that with so many given"]),
            fixed(row["seconds over its seconds"], 1),
        )
        for row in read("hdp_topics_beside")
    ]


@page_table
def hdp_bound_texts():
    """Of the two seeds, the one with the higher bound."""
    best = {}
    for row in read("hdp_bound_texts"):
        key = row["topics"], row["number at the start"]
        bound = "bound, nats per word"
        if key not in best or float(row[bound]) > float(best[key][bound]):
            best[key] = row
    return ["topics", "at the start", "in the end", "bound", "held-out score", "seconds"], [
        (
            *key,
            row["at the end"],
            fixed(row["bound, nats per word"], 3),
            fixed(row["held-out score"]),
            significant(row["seconds"]),
        )
        for key, row in best.items()
    ]


# Most probable proportions


@page_table
def map_kernel():
    name = "50 iterations"
    head = ["corpus", "words", "topics", "doc_topic_prior", "microseconds", "whole gradient"]
    return [*head, "times as fast"], [
        (
            corpus(row),
            row["distinct words a document"],
            f"{int(row['topics']):,}",
            row["doc_topic_prior"],
            significant(row[name]),
            significant(row[f"{name}, whole gradient"]),
            significant(row["ratio"]),
        )
        for row in read("ope_kernel")
    ]


@page_table
def map_methods():
    """The paper's settings, and small batches with larger steps."""
    both = {("5000", "0.9"): "large", ("500", "0.7"): "small"}
    found = {}
    for row in read("g_ope_methods"):
        if (row["mini-batch"], row["kappa"]) in both:
            of = found.setdefault((corpus(row), row["method"]), {})
            of[both[row["mini-batch"], row["kappa"]]] = row
    score = "log predictive probability"
    head = ["corpus", "method", "score, batches of 5000", "score, batches of 500", "NPMI, batches of 5000"]
    return [*head, "seconds, batches of 5000"], [
        (
            *key,
            fixed(of["large"][score]),
            fixed(of["small"][score]),
            fixed(of["large"]["NPMI"]),
            significant(of["large"]["seconds of training"]),
        )
        for key, of in found.items()
    ]


# Moment matching


@page_table
def matching_evidence():
    rows = []
    for of, number, exact, in_exact, filtered, in_filtered, lost, in_lost, _ in read_lists(
        "moment_matching_evidence"
    ):
        if number != "3":
            pairs = (exact, in_exact), (filtered, in_filtered), (lost, in_lost)
            rows.append((of, number, *(supported(m, *i.split(" to "), sign=True) for m, i in pairs)))
    head = ["true topics", "assumed topics", "gain over 3, exactly", "gain over 3, by the filter"]
    return [*head, "lost by the filter"], rows


@page_table
def matching_rates():
    columns = ["1", "2", "3", "5", "10"]
    rows = pivot(
        sorted(read("moment_matching_rates"), key=lambda row: row["model"]),
        lambda row: (row["model"], row["c"]),
        lambda row: row["true topics"],
        lambda row: significant(row["mean found"]),
        columns,
    )
    return ["model", "rate c", *(f"of {n}" for n in columns)], rows


@page_table
def matching_kernel():
    return ["model", "second moment", "microseconds a token", "NumPy in place", "NumPy by moments"], [
        (
            row["model"],
            row["second moment"],
            significant(row["microseconds a token"]),
            significant(row["NumPy in place"]),
            significant(row["NumPy by moments"]),
        )
        for row in read("moment_matching_kernel", words="Reuters, after 300000 tokens")
    ]


@page_table
def matching_words():
    """The five largest topics of DDM with the defaults."""
    rows = []
    for name in ("reuters21578", "nips_uci"):
        largest = read("moment_matching_words", corpus=name, model="DDM", settings="default")[:5]
        rows += [(CORPUS_NAMES[name], fixed(row["share"]), row["words"]) for row in largest]
    return ["corpus", "share", "words"], rows


GIVEN = "topics given (or at most)"


@page_table
def matching_text():
    """With the defaults: the three models, online EM, and gensim's HDP."""
    shown = [
        ("basic", "default"),
        ("OnlineEM, 1 pass", "default"),
        ("OnlineEM, 5 passes", "default"),
        ("DDM", "default"),
        ("TDM", "default"),
    ]
    rows = []
    for name in ("reuters21578", "20news", "arxiv_0", "nips_uci"):
        most = max(int(row[GIVEN]) for row in read("moment_matching_text", corpus=name, model="basic"))
        for model, settings in shown:
            of = {GIVEN.replace(" ", "_"): str(most)}
            (row,) = read("moment_matching_text", corpus=name, model=model, settings=settings, **of)
            found = row["topics found"] if model in ("DDM", "TDM") else most
            seconds = significant(row["seconds of training"])
            rows.append((CORPUS_NAMES[name], model, found, fixed(row["own inference"]), seconds))
    return ["corpus", "model", "topics", "score", "seconds of training"], rows


@page_table
def matching_order():
    """With the defaults."""
    columns = ["document", "corpus", "None"]
    rows = pivot(
        read("moment_matching_order", corpus="reuters21578", settings="default"),
        lambda row: (row["model"],),
        lambda row: row["shuffle"],
        lambda row: f"{fixed(row['own inference'])} ({row['topics found']})",
        columns,
    )
    names = ["one document after the other", "tokens of all mixed", "word by word"]
    return ["Reuters: score (topics)", *names], rows


@page_table
def matching_alpha():
    paper, default = "gain of paper, auto over paper", "gain of default, auto over default, 1"
    head = ["corpus", "model", "topics, or at most", "learned, over 1 (paper)", "learned, over 1 (defaults)"]
    return [*head, "learned, over the default"], [
        (
            corpus(row),
            row["model"],
            row[GIVEN],
            *(change(row[name]) for name in (paper, default, "gain of default, auto over default")),
        )
        for row in read("moment_matching_alpha", inference="own inference")
    ]


# Coherence


@page_table
def coherence_number():
    head = ["topics", "NPMI, training", "NPMI, held-out", "share of a top word", "diversity", "stability"]
    return [*head, "score"], [
        (
            row["topics"],
            *(fixed(row[name]) for name in ("npmi, training", "npmi, held-out", "share of a top word")),
            *(fixed(row[name]) for name in ("diversity", "stability", "document completion")),
        )
        for row in read("coherence_k")
    ]


@page_table
def coherence_guide():
    """Four columns of it for readers."""
    names = {
        "npmi, training": "coherence (NPMI)",
        "diversity": "diversity",
        "stability": "stability",
        "document completion": "held-out score",
    }
    return ["topics", *names.values()], [
        (row["topics"], *(fixed(row[name]) for name in names)) for row in read("coherence_k")
    ]


def differences(rows, *lead):
    names = "NPMI", "diversity", "score"
    return [
        (*(of(row) for of in lead), *(plus_minus(row[name], sign=True) for name in names)) for row in rows
    ]


def topics(row):
    return row["topics"]


@page_table
def coherence_tomotopy():
    models = ["OnlineEMLDA", "OnlineEMLDA, a fixed prior", "CollapsedGibbsLDA"]
    rows = [row for row in read("coherence_peers_less") if row["model"] in models]
    table = differences(rows, corpus, topics, lambda row: row["model"])
    faster = [significant(row["times as fast"]) for row in rows]
    head = ["corpus", "topics", "less tomotopy's LDA", "NPMI", "diversity", "score", "times as fast"]
    return head, [(*row, times) for row, times in zip(table, faster, strict=True)]


@page_table
def coherence_shares():
    head = ["corpus", "topics", "NPMI", "diversity", "score"]
    return head, differences(read("coherence_peers_shares"), corpus, topics)


@page_table
def coherence_first_sweep():
    head = ["corpus", "topics", "NPMI", "diversity", "score"]
    return head, differences(read("coherence_peers_first_sweep"), corpus, topics)


@page_table
def coherence_chain():
    head = ["corpus", "topics", "NPMI", "diversity", "score"]
    return head, differences(read("coherence_peers_chain"), corpus, topics)


@page_table
def coherence_gensim():
    ours, theirs, exact = "sktopic", "gensim", "sktopic, window_counts='exact'"
    head = ["measure", "gensim", "ours", "ours, exact windows", "gensim, seconds", "ours, seconds"]
    return head, [
        (
            row["measure"],
            *(fixed(row[name], 3) for name in (theirs, ours, exact)),
            *(significant(row[f"seconds, {name}"]) for name in (theirs, ours)),
        )
        for row in read("coherence_gensim")
    ]


# Claims of papers, and tests of other libraries


def claims(paper, *verdicts):
    """What was claimed, where; by its first word the verdict is one of these."""

    def table():
        rows = [row for row in read(f"claims_{paper}") if row["verdict"].startswith(verdicts)]
        claimed = [row["claim"] for row in rows]
        table = []
        for row in rows:
            claim, judged = row["claim"], row["here"].split("\n")[0].removeprefix("| ")
            claim += f": {judged}" if claimed.count(claim) > 1 else ""
            table.append((claim, row["in the paper"], row["verdict"]))
        return ["claim", "in the paper", "here"], table

    return table


for _paper in ("g_ope", "moment_matching", "hybrid_hdp", "split_merge_hdp"):
    TABLES[f"claims_{_paper}"] = claims(_paper, "")
for _verdict in ("confirmed", "refuted"):
    TABLES[f"claims_online_em_{_verdict}"] = claims("online_em", _verdict)
TABLES["claims_online_em_open"] = claims("online_em", "undecided", "not measured")


@page_table
def other_tests():
    names = ["tests", "passes", "passes, results mapped", "differs", "not applicable"]
    return ["library", "in place of its class", *names[:2], "mapped", *names[3:]], [
        (row["project"], row["here"] or NONE, *(row[name] for name in names))
        for row in read("other_tests_summary")
    ]


@page_table
def other_tests_differs():
    """Each reason once, with the tests that have it."""
    tests = {}
    for row in read("other_tests_differs"):
        if not row["why"].startswith("As test_"):
            why = re.sub(r" Over \d+ seeds .*", "", row["why"])
            name = row["test"].rpartition("::")[2]
            tests.setdefault((row["project"], why), {})[name] = None
    return ["library", "tests", "why they differ"], [
        (project, ", ".join(names), why) for (project, why), names in tests.items()
    ]


@page_table
def other_tests_seeds():
    names = ["test", "class", "seeds", "pass"]
    return names, [tuple(row[name] for name in names) for row in read("other_tests_seeds")]


def write_tables(study):
    folder = study.folder / "pages"
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in TABLES.items():
        head, rows = table()
        assert len(head) <= 8 and 0 < len(rows) <= 25, name
        assert all(len(row) == len(head) for row in rows), name
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([head, *rows])


def main():
    write_tables(Study("pages", new_parser(__doc__).parse_args()))


if __name__ == "__main__":
    main()
