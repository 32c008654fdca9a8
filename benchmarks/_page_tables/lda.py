"""Methods for LDA: their comparison, seed words, the defaults, and many passes."""

import re
from collections import Counter

from .formats import MISSING, change, fixed, percent, plus_minus, significant, supported, whole, with_range
from .shapes import CORPUS_NAMES, cell, columns, pivot, plain, read, read_lists, select, wide, with_cells

SCORE, SECONDS = "score, nats per word", "seconds of training"
INTERVAL = "95 percent interval from", "to"
OF_SCORE = "95 percent interval of that from", "up to"
FIVE = ["KOS", "NIPS", "Reuters", "20 Newsgroups", "Enron"]

METHODS = plain("method = model") | columns(fixed, SCORE) | columns(significant, SECONDS)
GAINS = {
    ("default", "decay 0.65, a fixed prior"): "default, less without its two changes",
    ("for one pass", "SinglePassLDA"): "10 + 10 sweeps, less SinglePassLDA",
    ("default", "SinglePassLDA"): "default, less SinglePassLDA",
}


def by_score(row):
    return -float(row[SCORE])


def gain_and_splits(row):
    return change(row["gain"]) + (", 1 split" if row["splits"] == "1" else "")


def tried_on_three_corpora():
    rows = read("flagship_first_pass")
    tried = Counter(name for name, _ in {(row["first pass with"], row["corpus"]) for row in rows})
    return [row for row in rows if tried[row["first pass with"]] >= 3]


def moves_something(row):
    """By 0.05 nats or more, on a corpus."""
    return row["topics"] == "128" and any(
        abs(float(row[name].partition(" ")[0])) >= 0.05
        for name in ("kos", "reuters21578")
        if row[name] not in MISSING
    )


def of_three(found):
    """Three seeds behind each."""
    return plus_minus(found.removesuffix(" (3)"))


def coherence_by_method():
    return ["corpus", "method", "NPMI", "diversity"], [
        (CORPUS_NAMES[name], method, supported(*figures[:3]), supported(*figures[3:6]))
        for name, method, *figures in read_lists("online_em_npmi")
    ]


def with_loss_before():
    """Own tokens are left out, and what was lost before that."""
    lost = {
        (row["corpus"], row["method"]): row["lost by 30"]
        for row in read("passes", {"topics": "100", "version": "before"})
    }
    rows = read("passes", {"topics": "100", "version": "after"})
    return [{**row, "before": lost.get((row["corpus"], row["method"]))} for row in rows]


def changes_the_score(row):
    """By 0.02 or more somewhere, as the table has it."""
    return any(abs(float(fixed(found))) >= 0.02 for found in list(row.values())[2:] if found not in MISSING)


def starts():
    """What a start from documents changes."""
    noise = {(row["corpus"], row["topics"]): row for row in read("passes_starts", {"start": "noise"})}
    return [
        {**row, "before": noise[row["corpus"], row["topics"]]["empty topics"]}
        for row in read("passes_starts", {"start": "documents"})
    ]


TABLES = {
    "lda_methods": select("peers_family", METHODS, by=by_score),
    "lda_guide": select("peers_family", METHODS, lambda row: " " not in row["model"], by_score),
    "lda_gains": pivot(
        "flagship_gains",
        {"100 topics": cell(lambda *of: GAINS[of], "setting", "less")} | plain("passes"),
        "corpus",
        cell(change, "gain"),
        [*FIVE, "arXiv"],
        with_cells(topics="100"),
    ),
    "lda_equal_time": pivot(
        "flagship_equal_time",
        plain("ahead of = method", "its passes = passes"),
        "corpus",
        cell(change, "ahead by"),
        [*FIVE, "arXiv"],
        with_cells(topics="100"),
    ),
    "lda_first_pass": pivot(
        tried_on_three_corpora, plain("first pass with"), "corpus", gain_and_splits, FIVE
    ),
    "lda_effects": select(
        "flagship_effects",
        {
            "in place of the default": cell(str, "level"),
            "one pass": cell(with_range, "1 pass", "interval, 1 pass", sign=True),
            "five passes": cell(with_range, "5 passes", "interval, 5 passes", sign=True),
        },
        lambda row: not row["with"],
    ),
    "lda_variants": select(
        "online_em_variants",
        columns(lambda moved: re.sub(r" \(.*", "", moved), "moved")
        | plain("method")
        | columns(lambda found: re.sub("[_=]", " ", found), "settings")
        | columns(of_three, "KOS = kos", "Reuters = reuters21578"),
        moves_something,
    ),
    "lda_npmi": coherence_by_method,
    "lda_time": wide("online_em_time", plain(SECONDS), significant),
    "seeds": select(
        "seeds",
        plain("corpus", "estimator", "seeds kept = fewest seeds of six in the first 20 words")
        | {"AUC": cell(supported, "AUC, mean", *INTERVAL)}
        | columns(fixed, "hardest group = of the hardest group, mean")
        | columns(fixed, "lowest = lowest of a group and fit")
        | {"score gained": cell(supported, "score less that without seeds", *OF_SCORE, sign=True)},
    ),
    "seeds_weights": select(
        "seeds_weights",
        columns(whole, "weight")
        | plain("estimator")
        | {"AUC": cell(supported, "AUC, mean", *INTERVAL)}
        | columns(fixed, "score = score, mean"),
    ),
    "passes": select(
        with_loss_before,
        plain("corpus", "method")
        | columns(fixed, "1 pass = 1 passes", "3 passes", "10 passes", "30 passes", "lost by 30")
        | columns(fixed, "lost with own tokens = before"),
    ),
    "passes_root": select(
        "passes_root",
        plain("corpus", "model")
        | columns(fixed, "topics in use", "topics that the root amounts to", digits=0)
        | columns(fixed, "score"),
    ),
    "passes_starts": select(
        starts,
        plain("corpus", "topics")
        | columns(percent, "percent empty, from noise = before")
        | columns(percent, "percent empty, from documents = empty topics")
        | {"score gained": cell(supported, "score gained", "from", "to", sign=True)},
    ),
}

for _of in ("", "_ope", "_cvb0", "_moment_matching", "_degenerate", "_triangular"):
    TABLES[f"defaults{_of}"] = wide(
        f"defaults{_of}_summary", plain("parameter", "value"), change, changes_the_score
    )
