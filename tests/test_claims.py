"""The rule that judges the claims of papers, by hand and by enumeration; every claim can be judged by it."""

import tomllib
from itertools import combinations, product
from math import exp, inf, log, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

FOLDER = Path(__file__).parent.parent / "benchmarks"
FILES = sorted(FOLDER.glob("claims/*.toml"))
NATS, LEVEL = 0.01, 0.025
SWAPPED = {"confirmed": "refuted", "refuted": "confirmed"}
SAYS = ("more", "less", "level", "no more", "no less")
KEYS = {"text", "paper", "table", "measured", "says", "above", "below", "least", "opposite", "unit", "timed"}
KEYS |= {"each", "all", "runs", "one", "less", "over", "later", "what"}

if not FILES:
    pytest.skip("the tests run without the repository", allow_module_level=True)


@pytest.fixture
def rule(script):
    return script("_verdicts")


@pytest.fixture
def claims(script):
    return script("_claims")


def verdict_of(rule, says, *means, error=0.001, n=5, unit="nats"):
    """Of a claim about one case, whose comparisons have these means."""
    margin = rule.MARGINS[unit]
    case = [rule.Estimate(mean, error, n) for mean in means]
    return rule.verdicts_of({"": case}, rule.range_of(says, margin), says, margin)[""][0]


def test_variance_of_overlapping_splits_is_that_of_nadeau_and_bengio(rule):
    """By hand: the values have variance 2.5; 1 / 5 + 1 / 4 of it is 1.125; t with 4 degrees of freedom."""
    found = rule.estimated([1.0, 2.0, 3.0, 4.0, 5.0], overlap=0.25)
    assert found == pytest.approx((3.0, sqrt(1.125), 5))
    assert found.interval() == pytest.approx((3 - 2.776445 * 1.0606602, 3 + 2.776445 * 1.0606602), abs=1e-6)


@pytest.mark.parametrize("bound", [-0.3, 0.1, 2.0])
def test_separate_seeds_have_the_interval_and_the_p_values_of_student(rule, bound):
    values = np.array([0.3, -0.2, 0.7, 0.4])
    found, tested = rule.estimated(values), stats.ttest_1samp(values, bound, alternative="greater")
    assert found.above(bound) == pytest.approx(tested.pvalue, abs=1e-12)
    assert found.below(bound) == pytest.approx(1 - tested.pvalue, abs=1e-12)
    assert found.interval() == pytest.approx(tuple(stats.ttest_1samp(values, 0).confidence_interval(0.95)))


def test_holm_is_the_closed_test_of_all_intersections(rule):
    """A hypothesis is rejected if every set of hypotheses that contains it is, by Bonferroni."""
    rng = np.random.RandomState(0)
    for n in (1, 2, 3, 5, 6):
        p = rng.uniform(size=n) ** 4
        sets = [each for size in range(1, n + 1) for each in combinations(range(n), size)]
        tests = {each: min(1.0, len(each) * min(p[list(each)])) for each in sets}
        closed = [max(value for each, value in tests.items() if i in each) for i in range(n)]
        assert rule.holm(p) == pytest.approx(closed, abs=1e-15)


def test_an_interval_within_the_margin_is_no_difference_even_if_it_leaves_out_zero(rule):
    reach = 2.7764451 * 0.001
    for mean, more in {
        0.5: "confirmed",
        NATS - reach + 1e-5: "confirmed",  # beyond the margin, and above zero
        NATS - reach - 1e-5: "no difference",
        reach + 1e-5: "no difference",
        0.0: "no difference",
        -0.5: "refuted",
    }.items():
        assert verdict_of(rule, "more", mean) == more, mean
    assert verdict_of(rule, "more", 0.0, error=0.01) == "undecided"
    assert verdict_of(rule, "more", 0.02, error=0.01) == "undecided"


def test_levels_and_denials_use_the_same_margin(rule):
    """A denied gain is not refuted by a loss, but by a gain beyond the margin."""
    means = (-0.5, -0.005, 0.0, 0.005, 0.5)
    expected = {
        "level": ("refuted", "confirmed", "confirmed", "confirmed", "refuted"),
        "no more": ("confirmed", "confirmed", "confirmed", "confirmed", "refuted"),
        "no less": ("refuted", "confirmed", "confirmed", "confirmed", "confirmed"),
    }
    for says, verdicts in expected.items():
        assert tuple(verdict_of(rule, says, mean) for mean in means) == verdicts
        assert verdict_of(rule, says, -NATS if says == "no less" else NATS) == "undecided"
        wide = "undecided" if says == "level" else "confirmed"
        assert verdict_of(rule, says, {"no more": -1.0, "no less": 1.0}.get(says, 0), error=0.1) == wide
    assert verdict_of(rule, "level", 0.015, unit="NPMI") == "confirmed"
    assert verdict_of(rule, "more", log(1.05), unit="times") == "no difference"
    assert verdict_of(rule, "more", log(1.2), unit="times") == "confirmed"


def test_a_claim_of_its_own_range_is_confirmed_inside_and_refuted_outside(rule):
    limits = (-1.0, 1.0)
    means = {"within": 0.9, "outside": -1.1, "at": 1.0}
    found = rule.verdicts_of({name: [rule.Estimate(x, 0.01, 9)] for name, x in means.items()}, limits)
    assert [verdict for verdict, _ in found.values()] == ["confirmed", "refuted", "undecided"]


def test_swapping_methods_swaps_verdicts(rule):
    rng, seen = np.random.RandomState(1), set()
    for _ in range(200):
        values = rng.normal(rng.choice([0.0, 0.008, 0.03], 4)[:, None], rng.choice([0.001, 0.02]), (4, 5))
        values *= rng.choice([-1, 1])
        for says, other in (("more", "more"), ("level", "level"), ("no more", "no less"), ("less", "less")):
            verdicts = [
                rule.verdicts_of(
                    {i: [rule.estimated(sign * row, 0.1)] for i, row in enumerate(values)},
                    rule.range_of(name, NATS),
                    name,
                    NATS,
                )
                for sign, name in ((1, says), (-1, other))
            ]
            swaps = SWAPPED if says in ("more", "less") else {}
            swapped = {i: (swaps.get(verdict, verdict), p) for i, (verdict, p) in verdicts[0].items()}
            assert verdicts[1] == swapped
            seen |= {verdict for verdict, _ in swapped.values()}
    assert seen == {"confirmed", "refuted", "no difference", "undecided"}


def test_less_is_more_of_the_negative_for_several_comparisons_too(rule):
    for means in product((-0.5, 0.0, 0.5), repeat=2):
        assert verdict_of(rule, "less", *means) == verdict_of(rule, "more", *(-x for x in means))


def test_a_case_holds_in_all_of_its_comparisons_and_fails_in_one(rule):
    assert verdict_of(rule, "more", 0.5, 0.4) == "confirmed"
    assert verdict_of(rule, "more", 0.5, -0.4) == "refuted"
    assert verdict_of(rule, "more", 0.5, 0.0) == "no difference"
    assert verdict_of(rule, "more", 0.0, -0.4) == "refuted"
    good, bad = rule.Estimate(0.5, 0.1, 5), rule.Estimate(-0.4, 0.1, 5)
    holds, fails = rule.p_values_of([good, bad], 0.0, inf)
    assert holds == pytest.approx(stats.t.sf(-4, 4)) and fails == pytest.approx(2 * stats.t.sf(4, 4))


def test_comparisons_that_are_missing_can_fail_a_claim_and_not_confirm_it(rule):
    good, bad = rule.Estimate(0.5, 0.001, 5), rule.Estimate(-0.5, 0.001, 5)
    cases = {"whole": [good], "part": [good, None], "failed": [bad, None], "none": [None]}
    found = rule.verdicts_of(cases, (0.0, inf), "more", NATS)
    assert [verdict for verdict, _ in found.values()] == ["confirmed", "undecided", "refuted", "not measured"]


def test_fewer_than_three_seeds_decide_nothing(rule):
    for says, mean in product(SAYS, (-5.0, 0.0, 5.0)):
        assert verdict_of(rule, says, mean, n=2) == "undecided"
        assert verdict_of(rule, says, mean, error=0.0, n=3) != "undecided"
    assert np.isnan(rule.estimated([1.0]).interval()).all()


def test_holm_corrects_over_cases(rule):
    """Alone, a p-value of 0.02 decides. The larger of two decides only if the smaller is below 0.0125."""
    one = rule.Estimate(stats.t.isf(0.02, 4), 1.0, 5)
    two, sure = rule.Estimate(stats.t.isf(0.015, 4), 1.0, 5), rule.Estimate(100.0, 1.0, 5)
    few = rule.Estimate(0.0, 1.0, 2)  # is not tested
    for others, verdict, p in (
        ([], "confirmed", 0.02),
        ([two], "undecided", 1.0),
        ([sure], "confirmed", 0.02),
        ([few], "confirmed", 0.02),
    ):
        cases = {i: [each] for i, each in enumerate([one, *others])}
        assert rule.verdicts_of(cases, (0.0, inf), "more", NATS)[0] == (verdict, pytest.approx(p))


def test_a_claim_says_in_how_many_cases_it_holds(rule):
    yes, no, level, open_, missing = "confirmed", "refuted", "no difference", "undecided", "not measured"
    partly = "not in general"
    for verdicts, words, general, some in (
        ([yes, yes], "confirmed", yes, yes),
        ([yes, no, no], "confirmed in 1 of 3, refuted in 2", partly, yes),
        ([yes, level], "confirmed in 1 of 2, no difference in 1", partly, yes),
        ([yes, open_], "confirmed in 1 of 2, undecided in 1", open_, yes),
        ([no, level], "refuted in 1 of 2, no difference in 1", no, no),
        ([level, level], "no difference", level, level),
        ([level, open_], "no difference in 1 of 2, undecided in 1", partly, open_),
        ([no, open_, missing], "refuted in 1 of 3, undecided in 1, not measured in 1", partly, open_),
        ([open_, missing], "undecided in 1 of 2, not measured in 1", open_, open_),
        ([missing, missing], "not measured", missing, missing),
        ([], "not judged", "not judged", "not judged"),
    ):
        assert rule.in_words(verdicts) == words
        assert (rule.overall(verdicts), rule.overall(verdicts, least=1)) == (general, some)
        assert rule.overall(verdicts, least=len(verdicts)) == general


def test_a_claim_about_almost_all_corpora_may_fail_in_one(rule):
    yes, no, level, open_, missing = "confirmed", "refuted", "no difference", "undecided", "not measured"
    for verdicts, almost_all in (
        ([yes, yes, no], yes),
        ([yes, yes, missing], yes),
        ([yes, no, open_], open_),
        ([yes, no, level], "not in general"),
        ([no, no, open_], "not in general"),
        ([no, no, no], no),
    ):
        assert rule.overall(verdicts, least=2) == almost_all


def test_each_seed_is_judged_by_the_choice_of_the_others(claims):
    found = [{0: 1.0, 1: 2.0, 2: 9.0}, {0: 3.0, 1: 4.0, 2: 0.0}]
    # The others' means: seed 0 has 5.5 and 2, seed 1 has 5 and 1.5, seed 2 has 1.5 and 3.5
    assert claims.chosen_by_others(max, found, found) == {0: 1.0, 1: 2.0, 2: 0.0}
    assert claims.chosen_by_others(min, found, found) == {0: 3.0, 1: 4.0, 2: 9.0}
    by = [{0: 0.0, 1: 0.0, 2: 0.0}, {0: 1.0, 1: 1.0, 2: 1.0}]
    assert claims.chosen_by_others(max, found, by) == found[1]
    assert claims.chosen_by_others(max, [{0: 1.0}, {0: 2.0}], [{0: 1.0}, {0: 2.0}]) == {0: 2.0}
    assert claims.chosen_by_others(max, [], []) == {}


@pytest.fixture
def some_runs(claims, script, monkeypatch):
    """Runs of two methods with three seeds, on a corpus whose splits overlap; new ones were made alone."""
    given = {"corpus": "a", "version": 2}
    rows = [
        {**given, "seed": seed, "method": method, "jobs": jobs, "n": jobs, "seconds": x, "rank": -x}
        for (method, seconds), (jobs, factor) in product(
            {"fast": (1.0, 2.0, 4.0), "slow": (2.0, 4.0, 8.0)}.items(), ((1, 1.0), (2, 3.0))
        )
        for seed, x in enumerate(factor * np.array(seconds))
    ]
    monkeypatch.setattr(claims, "columns_of", lambda *_: ["corpus", "seed", "method", "n"])
    monkeypatch.setattr(claims, "runs_of", lambda _: type("Runs", (), {"rows": dict(enumerate(rows))}))
    runs = {"study": "some", "overlap": {"a": [1, 4]}, "since": {}, "corpus": "a", "value": "seconds"}
    return {"runs": runs, "what": "{corpus}, {n}", "one": {"method": "slow"}, "each": {"n": [1, 2]}}


def test_growth_is_compared_with_a_line_in_the_logarithm_of_the_tokens(claims):
    """The share of the variance of 0, 1, 0, 1 that its line explains is 0.2. A constant number has none."""
    fit, tokens = claims.VALUES["fit by the logarithm"], [1e3, 1e4, 1e5, 1e6]
    assert fit({"trace": [tokens, [5, 7, 9, 11]]}) == pytest.approx(1.0)
    assert fit({"trace": [tokens, [0, 1, 0, 1]]}) == pytest.approx(0.2)
    assert fit({"trace": [tokens, [7, 7, 7, 7]]}) == 0.0
    assert fit({}) is None


def test_courses_of_runs_are_compared_with_their_best(claims):
    notes = [(0.1, -9.0), (0.2, -8.04), (0.4, -8.0), (0.8, -8.3)]
    row = {"trace": [{"seconds": time, "score": x, "likelihood": x} for time, x in notes]}
    assert claims.VALUES["fall from the best score"](row) == pytest.approx(0.3)
    assert claims.score_at(row, "seconds", 0.6) == pytest.approx(-8.15)
    assert claims.score_at(row, "seconds", 0.9) is None
    assert claims.VALUES["gain in the second half of the time"](row) == pytest.approx(-0.3)
    of = {"value": ["trace", "likelihood"], "within": 0.05}
    notes = [(1.0, -8.5), (2.0, -8.24), (4.0, -8.2)]
    slow = {"trace": [{"seconds": time, "likelihood": x} for time, x in notes]}
    # Both are at -8.25 or above after 0.2 s and 2 s.
    assert claims.later(claims.number(slow, of), claims.number(row, of)) == pytest.approx(np.log(10))


def test_a_choice_can_be_made_by_other_columns(claims, some_runs):
    columns, choice = some_runs["runs"] | {"method": "fast"}, {"lowest": {"n": [1, 2]}}
    assert claims.numbers_of(columns, choice) == {0: 1.0, 1: 2.0, 2: 4.0}
    other = choice | {"by": {"method": "slow", "value": "rank"}}
    assert claims.numbers_of(columns, other) == {0: 3.0, 1: 6.0, 2: 12.0}


def test_means_and_ranges_need_all_of_their_runs(claims, some_runs):
    columns = some_runs["runs"] | {"method": "fast"}
    assert claims.numbers_of(columns, {"mean": {"n": [1, 2]}}) == {0: 2.0, 1: 4.0, 2: 8.0}
    assert claims.numbers_of(columns, {"range": {"n": [1, 2]}}) == {0: 2.0, 1: 4.0, 2: 8.0}
    assert claims.numbers_of(columns, {"range": {"n": [1, 2, 3]}}) == {}


def test_ratios_are_compared_by_their_logarithms(claims, some_runs):
    (first,), (second,) = claims.cases_of(some_runs | {"over": {"method": "fast"}}).values()
    assert (first.name, second.name, first.corpus) == ("a, 1", "a, 2", "a")
    assert exp(first.estimate.mean) == pytest.approx(2) and first.estimate.error == pytest.approx(0)
    (swapped,), _ = claims.cases_of(
        some_runs | {"one": {"method": "fast"}, "over": {"method": "slow"}}
    ).values()
    assert swapped.estimate.mean == pytest.approx(-log(2))


def test_differences_are_by_seed_and_overlap_is_that_of_the_corpus(claims, some_runs):
    (first,), _ = claims.cases_of(some_runs | {"less": {"method": "fast"}}).values()
    assert first.estimate == pytest.approx((7 / 3, sqrt((1 / 3 + 1 / 4) * 7 / 3), 3))


def test_runs_made_beside_others_and_older_ones_of_a_method_may_not_count(claims, some_runs):
    timed = claims.cases_of(some_runs | {"over": {"method": "fast"}, "timed": True}).values()
    assert [each.estimate is None for (each,) in timed] == [False, True]
    some_runs["runs"]["since"] = {"slow": 3}
    older = claims.cases_of(some_runs | {"over": {"method": "fast"}}).values()
    assert [each.estimate for (each,) in older] == [None, None]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_claim_can_be_judged_and_uses_all_that_it_gives(path, rule):
    for claim in tomllib.loads(path.read_text(encoding="utf-8"))["claim"]:
        assert claim.keys() <= KEYS and {"text", "paper", "measured"} <= claim.keys(), claim
        own = bool({"above", "below"} & claim.keys())
        if "one" not in claim:
            assert claim.keys() == {"text", "paper", "measured"}, claim
            continue
        assert own != (claim.get("says") in SAYS), claim
        assert ("opposite" in claim) == claim.get("says", "").startswith("no "), claim
        assert own or claim.get("unit", "nats") in rule.MARGINS, claim
        assert ("over" in claim or "later" in claim) == (claim.get("unit") == "times"), claim


def test_splits_overlap_as_they_do_in_the_study(claims, script):
    data = tomllib.loads((FOLDER / "claims/online_em.toml").read_text(encoding="utf-8"))
    study = script("online_em_paper")
    assert data["overlap"].keys() == study.SIZES.keys() - study.DRAWN.keys()
    for row in claims.runs_of("online_em").rows.values():
        corpus, n_test = row["corpus"], study.SIZES[row["corpus"]][0]
        n_train = row["documents"][-1] // row["options"].get("passes", 1)
        assert [n_test, n_train] == data["overlap"].get(corpus, [n_test, study.DRAWN.get(corpus)])
