"""The rule that judges claims: intervals, p-values, and one verdict for each case of a claim.

A comparison is a mean over seeds. A case, such as a corpus, has one comparison or several, and the claim
holds in the case if it holds in all of them. Holm's correction is over the cases of a claim.
"""

from collections import Counter
from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.stats import t

CONFIRMED, REFUTED, NO_DIFFERENCE = "confirmed", "refuted", "no difference"
NOT_GENERAL, UNDECIDED = "not in general", "undecided"
MISSING, NOT_JUDGED = "not measured", "not judged"  # no runs yet; no runs could judge the claim
LEAST_SEEDS = 3
LEVEL = 0.025  # on each side of an interval of 95 percent
# Differences up to these are no difference: half a topic, and ten percent of a time.
MARGINS = {"nats": 0.01, "NPMI": 0.02, "topics": 0.5, "times": log(1.1)}
OPPOSITE = {"more": "less", "less": "more", "no more": "less", "no less": "more"}


def range_of(says, margin):
    """The values of a difference with which a claim is true."""
    return {
        "more": (0.0, inf),
        "less": (-inf, 0.0),
        "level": (-margin, margin),
        "no more": (-inf, margin),
        "no less": (-margin, inf),
    }[says]


class Estimate(NamedTuple):
    """A mean, its standard error, and the number of seeds."""

    mean: float
    error: float
    n: int

    def __neg__(self):
        return Estimate(-self.mean, self.error, self.n)

    def below(self, bound):
        """One-sided p-value: small if the mean is below the bound. Few seeds decide nothing."""
        if self.n < LEAST_SEEDS:
            return 1.0
        if self.error == 0:
            return float(self.mean >= bound)
        return float(t.cdf((self.mean - bound) / self.error, self.n - 1))

    def above(self, bound):
        return (-self).below(-bound)

    def interval(self):
        """The bounds of the interval of 95 percent (Student's t)."""
        reach = t.ppf(1 - LEVEL, self.n - 1) * self.error if self.n >= LEAST_SEEDS else np.nan
        return self.mean - reach, self.mean + reach


def estimated(values, overlap=0.0):
    """Return the Estimate of one value for each seed.

    Random splits of one corpus share documents. Then `overlap` is n_test / n_train, and the variance of the
    mean is that of Nadeau and Bengio (2003), (1 / n + overlap) times the variance of the values.
    """
    n = len(values)
    variance = np.var(values, ddof=1) if n > 1 else np.nan
    return Estimate(float(np.mean(values)), sqrt((1 / n + overlap) * variance), n)


def holm(p_values):
    """The p-values of a family, corrected (Holm, 1979)."""
    order, n = np.argsort(p_values, kind="stable"), len(p_values)
    corrected = np.empty(n)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(np.arange(n, 0, -1) * np.take(p_values, order)))
    return corrected


def smallest(p_values):
    """The p-value of "at least one of these", corrected for their number (Bonferroni)."""
    return min(1.0, len(p_values) * min(p_values))


def p_values_of(case, low, high):
    """Return p-values of a case whose comparisons must all be in the range: it holds, and it fails."""
    holds = max(max(each.above(low), each.below(high)) for each in case)
    return holds, smallest([min(each.below(low), each.above(high)) for each in case])


def p_value_of_no_difference(case, says, margin):
    """Return the p-value that the comparison worst for a claim of a difference is within the margin."""
    if says == "less":
        case = [-each for each in case]
    elif says != "more":
        return 1.0
    return max(*(each.above(-margin) for each in case), smallest([each.below(margin) for each in case]))


def verdicts_of(cases, limits, says=None, margin=0.0):
    """Case -> verdict, and its corrected p-value.

    cases : case -> its estimates, with None for a comparison that is not measured. A case with such a
        comparison can fail, but it does not hold. A case without enough seeds is not tested, so it does not
        count in the correction.
    """
    found, p_values = {}, {}
    for name, case in cases.items():
        measured = [each for each in case if each]
        found[name] = (UNDECIDED if measured else MISSING, 1.0)
        if any(each.n >= LEAST_SEEDS for each in measured):
            holds, fails = p_values_of(measured, *limits)
            level = p_value_of_no_difference(measured, says, margin)
            p_values[name] = (level, holds, fails) if len(measured) == len(case) else (1.0, 1.0, fails)
    for name, corrected in zip(p_values, np.transpose([holm(each) for each in zip(*p_values.values())])):
        decided = zip((NO_DIFFERENCE, CONFIRMED, REFUTED), map(float, corrected))
        found[name] = next((each for each in decided if each[1] < LEVEL), found[name])
    return found


def overall(verdicts, least=None):
    """Return the verdict of a claim from its cases; least: in how many it has to hold, if not in all."""
    counts, n_cases = Counter(verdicts), len(verdicts)
    n_failed, n_needed = counts[REFUTED] + counts[NO_DIFFERENCE], n_cases if least is None else least
    if not verdicts:
        return NOT_JUDGED
    if counts[MISSING] == n_cases:
        return MISSING
    if counts[CONFIRMED] >= n_needed:
        return CONFIRMED
    if n_failed == n_cases:
        return REFUTED if counts[REFUTED] else NO_DIFFERENCE
    return NOT_GENERAL if n_failed > n_cases - n_needed else UNDECIDED


def in_words(verdicts):
    """In how many cases a claim holds: "confirmed in 2 of 6, refuted in 4"."""
    counts = Counter(verdicts)
    order = (CONFIRMED, REFUTED, NO_DIFFERENCE, UNDECIDED, MISSING)
    first, *others = [name for name in order if name in counts] or [NOT_JUDGED]
    if not others:
        return first
    parts = [f"{first} in {counts[first]} of {len(verdicts)}"]
    return ", ".join(parts + [f"{name} in {counts[name]}" for name in others])
