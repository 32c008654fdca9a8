"""What five papers claim, with what our repetitions of their experiments say.

    python benchmarks/claims.py [--update]

Reads benchmarks/claims/ and the runs of the studies *_paper.py; nothing is measured. The main table of
claims.csv has a row for each claim, "comparisons" one for each comparison that a claim is judged by.

A comparison is a number for each seed (or random split of the corpus, or data set), such as the difference of
two methods on the same split, and the claim says in which range it is. It is confirmed where the interval of
95 percent of its mean (Student's t) lies in this range, refuted where it lies outside, and undecided where it
has a bound of the range inside or there are fewer than three seeds. A claim that is made in general is
confirmed where all of its comparisons are, refuted where one of them is, and else undecided; one of the form
"on some corpora" is confirmed where one comparison is, refuted where all of them are, and else undecided.
"""

from collections import Counter
from math import inf

from _claims import PAPERS, claims_of, comparisons
from _study import Study, interval, new_parser

LEAST_SEEDS = 3
CONFIRMED, REFUTED, UNDECIDED, MISSING = "confirmed", "refuted", "undecided", "not measured"


def verdict_of(values, low, high):
    """Of one comparison, and its mean with the interval."""
    mean, least, most = interval(values)
    if len(values) < LEAST_SEEDS:
        verdict = UNDECIDED
    elif low < least and most < high:
        verdict = CONFIRMED
    else:
        verdict = REFUTED if most < low or high < least else UNDECIDED
    return verdict, mean, least, most


def of_all(verdicts, some):
    """Of a claim, from those of its comparisons."""
    if not verdicts:
        return MISSING
    one, all_of_them = (CONFIRMED, REFUTED) if some else (REFUTED, CONFIRMED)
    if one in verdicts:
        return one
    return all_of_them if set(verdicts) == {all_of_them} else UNDECIDED


def in_words(verdict, verdicts):
    """With the numbers of the comparisons where they differ."""
    counts = Counter(verdicts)
    if len(counts) > 1:
        named = (f"{counts[name]} {name}" for name in (CONFIRMED, REFUTED, UNDECIDED) if counts[name])
        verdict += f" ({', '.join(named)})"
    return verdict


def write_tables(study):
    claims, lines = [], []
    for paper in PAPERS:
        for claim in claims_of(paper):
            verdicts, limits = [], (claim.get("above", -inf), claim.get("below", inf))
            for what, values in comparisons(claim):
                verdict, *numbers = verdict_of(values, *limits)
                verdicts.append(verdict)
                cells = [f"{x:.4f}" if x == x else "" for x in numbers]
                lines.append([paper, claim["text"], what, *cells, len(values), *limits, verdict])
            verdict = in_words(of_all(verdicts, claim.get("some", False)), verdicts)
            cells = claim["text"], claim["paper"], claim["measured"], verdict, claim.get("table", "")
            claims.append([paper, *cells])
    study.write("", ["paper", "claim", "in the paper", "measured", "verdict", "table of the study"], claims)
    head = ["paper", "claim", "of what", "mean", "95 percent interval from", "to", "seeds or splits"]
    study.write("comparisons", [*head, "claimed to be above", "and below", "verdict"], lines)


def main():
    write_tables(Study("claims", new_parser(__doc__).parse_args()))


if __name__ == "__main__":
    main()
