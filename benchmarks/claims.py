"""What five papers claim, with what our repetitions of their experiments say.

    python benchmarks/claims.py [--update]

Reads the runs of the studies *_paper.py in benchmarks/runs/, of which their tables in doc/benchmarks/ are
made, since intervals need them seed by seed; nothing is measured. The main table of claims.csv has a line for
each claim, for the page "Claims of the papers"; "comparisons" has one for each that a claim is judged by. It
goes to benchmarks/output/, or with --update to doc/benchmarks/.

A comparison is a number for each seed (or random split of the corpus, or data set), such as the difference of
two methods on the same split, and the claim says in which range it is. It is confirmed where the interval of
95 percent of its mean (Student's t) lies in this range, refuted where it lies outside, and undecided where it
has a bound of the range inside or there are fewer than three seeds. A claim that is made in general is
confirmed where all of its comparisons are, refuted where one of them is, and else undecided; one of the form
"on some corpora" is confirmed where one comparison is, refuted where all of them are, and else undecided.
"""

from collections import Counter

from _paper_claims import PAPERS
from _study import Study, interval, new_parser

LEAST_SEEDS = 3
VERDICTS = CONFIRMED, REFUTED, UNDECIDED, MISSING = "confirmed", "refuted", "undecided", "not measured"
NAMES = {
    "kos": "KOS",
    "reuters21578": "Reuters",
    "20news": "20 Newsgroups",
    "nips_uci": "NIPS",
    "nips1740": "NIPS",
    "nips": "NIPS",
    "arxiv_0": "arXiv",
    "arxiv": "arXiv",
    "enron_inbox": "Enron",
}


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


def judged(claim):
    """The comparisons of a claim: of what, values, verdict, mean and interval."""
    for what, values in claim.ours() if claim.ours else ():
        if not values:
            continue  # the runs are not there yet
        head, *rest = what.split(",", 1)
        what = ",".join([NAMES.get(head, head), *rest])
        yield what, values, *verdict_of(values, claim.low, claim.high)


def verdict_in_words(claim, verdicts):
    """Of all comparisons, with their numbers where they differ."""
    verdict, counts = of_all(verdicts, claim.some), Counter(verdicts)
    if len(counts) > 1:
        named = (f"{counts[name]} {name}" for name in (CONFIRMED, REFUTED, UNDECIDED) if counts[name])
        verdict += f" ({', '.join(named)})"
    return verdict


def write_tables(study):
    judgements, lines = [], []
    for paper, claims in PAPERS.items():
        for claim in claims:
            comparisons = list(judged(claim))
            verdict = verdict_in_words(claim, [verdict for _, _, verdict, *_ in comparisons])
            table = claim.file.removeprefix(f"{paper}_").removesuffix(".csv")
            judgements.append([paper, claim.text, claim.theirs, claim.quantity, verdict, table])
            for what, values, verdict, *numbers in comparisons:
                cells = [f"{x:.4f}" if x == x else "" for x in numbers]
                lines.append([paper, claim.text, what, *cells, len(values), claim.low, claim.high, verdict])
    head = ["paper", "claim", "in the paper", "measured", "verdict", "table of the study"]
    study.write("", head, judgements)
    head = ["paper", "claim", "of what", "mean", "95 percent interval from", "to", "seeds or splits"]
    study.write("comparisons", [*head, "claimed to be above", "and below", "verdict"], lines)


def main():
    write_tables(Study("claims", new_parser(__doc__).parse_args()))


if __name__ == "__main__":
    main()
