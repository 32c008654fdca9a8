"""What five papers claim, with what our repetitions of their experiments say.

    python benchmarks/claims.py [--update]

Reads benchmarks/claims/ and the runs of the studies *_paper.py; nothing is measured. The main table of
claims.csv has a row for each claim, "comparisons" one for each comparison that a claim is judged by. The page
doc/research/claims.rst explains the rule of benchmarks/_verdicts.py.
"""

from math import exp, inf, nan

from _claims import PAPERS, cases_of, claims_of
from _study import Study, new_parser, shown
from _verdicts import CONFIRMED, LEAST_SEEDS, MARGINS, OPPOSITE, in_words, overall, range_of, verdicts_of


def judged(claim, cases):
    """Case -> verdict and p-value; the range of the claim; and in how many cases the opposite is found."""
    says = claim.get("says")
    margin = MARGINS[claim.get("unit", "nats")] if says else 0.0
    limits = range_of(says, margin) if says else (claim.get("above", -inf), claim.get("below", inf))
    estimates = {name: [each.estimate for each in case] for name, case in cases.items()}
    opposite = 0
    if "opposite" in claim:
        says_so = OPPOSITE[says]
        contrary = verdicts_of(estimates, range_of(says_so, margin), says_so, margin)
        opposite = [verdict for verdict, _ in contrary.values()].count(CONFIRMED)
    return verdicts_of(estimates, limits, says, margin), limits, opposite


def in_unit(claim, x):
    """Ratios of times are judged by their logarithms, and shown as they are."""
    return exp(x) if claim.get("unit") == "times" else x


def span(numbers):
    """The least and the most, or one number."""
    return " to ".join(map(str, sorted({min(numbers), max(numbers)}))) if numbers else ""


def row_of(paper, claim, comparison, limits, verdict, p):
    """The row of a comparison."""
    estimate, unit = comparison.estimate, claim.get("unit", "nats")
    mean, low, high = shown(in_unit(claim, x) for x in (estimate.mean, *estimate.interval()))
    above, below = (f"{in_unit(claim, x):.4g}" for x in limits)
    return {
        "paper": paper,
        "claim": claim["text"],
        "of what": comparison.name,
        "mean": mean,
        "95 percent interval from": low,
        "to": high,
        "seeds or splits": estimate.n,
        "unit": unit,
        "claimed to be above": above,
        "and below": below,
        "verdict of the case": verdict,
        "corrected p": f"{p:.2g}",
    }


def rows_of(paper, claim):
    """The row of a claim, and the rows of its comparisons."""
    cases = cases_of(claim)
    found, limits, opposite = judged(claim, cases)
    verdicts = [verdict for verdict, _ in found.values()]
    measured = [(name, each) for name, case in cases.items() for each in case if each.estimate]
    estimates = [each.estimate for _, each in measured]
    bounds = [each.interval() for each in estimates if each.n >= LEAST_SEEDS] or [(nan, nan)]
    low, high = (choose(each) for choose, each in zip((min, max), zip(*bounds)))
    row = {
        "paper": paper,
        "claim": claim["text"],
        "in the paper": claim["paper"],
        "measured": claim["measured"],
        "verdict": overall(verdicts, claim.get("least")),
        "cases": in_words(verdicts),
        "opposite": f"{claim['opposite']} in {opposite} of {len(verdicts)}" if opposite else "",
        "corpora": len({each.corpus for _, each in measured}) or "",
        "seeds or splits": span([each.n for each in estimates]),
        **dict(zip(("95 percent intervals from", "to"), shown(in_unit(claim, x) for x in (low, high)))),
        "unit": claim.get("unit", "nats") if measured else "",
        "file": f"{claim['runs']['study']}.csv" if measured else "",
        "table of the study": claim.get("table", ""),
    }
    return row, [row_of(paper, claim, each, limits, *found[name]) for name, each in measured]


def write_tables(study):
    found = [rows_of(paper, claim) for paper in PAPERS for claim in claims_of(paper)]
    tables = {"": [row for row, _ in found], "comparisons": [row for _, rows in found for row in rows]}
    for name, rows in tables.items():
        study.write(name, list(rows[0]), [list(row.values()) for row in rows])


def main():
    write_tables(Study("claims", new_parser(__doc__).parse_args()))


if __name__ == "__main__":
    main()
