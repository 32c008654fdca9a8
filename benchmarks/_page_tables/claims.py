"""Claims of papers."""

from collections import Counter

from .shapes import plain, read, select


def claims(paper, *verdicts):
    """What was claimed, where; by its first word the verdict is one of these."""

    def rows():
        rows = [row for row in read(f"claims_{paper}") if row["verdict"].startswith(verdicts or "")]
        times = Counter(row["claim"] for row in rows)
        for row in rows:
            if times[row["claim"]] > 1:  # of several settings: say which
                judged = row["here"].split("\n")[0].removeprefix("| ")
                row["claim"] += f": {judged}"
        return rows

    return select(rows, plain("claim", "in the paper", "here = verdict"))


TABLES = {
    "claims_online_em_confirmed": claims("online_em", "confirmed"),
    "claims_online_em_refuted": claims("online_em", "refuted"),
    "claims_online_em_open": claims("online_em", "undecided", "not measured"),
}

for _paper in ("g_ope", "moment_matching", "hybrid_hdp", "split_merge_hdp"):
    TABLES[f"claims_{_paper}"] = claims(_paper)
