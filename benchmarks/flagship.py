"""Which choices of OnlineEMLDA decide what it predicts, beside the other mini-batch methods.

    python benchmarks/flagship.py

A designed experiment ("screen"): each factor (inference, boosting, step size, prior of topic proportions,
sweeps) is moved alone from a starting point (Gibbs sampling of 4 + 3 sweeps, a step size of decay 0.65, a
fixed prior), and pairs that may depend on each other together. Each run makes five passes over training
documents in random order, and is scored after the first and the fifth (boosted variational ones make one
pass) on documents of the training part that were held out. "first pass" has the defaults but for the step
size, and is scored likewise after one pass. "confirm": the default, settings that follow from this, and other
methods are scored on test documents.

The score is document completion with the same sampler for all; topics are also scored under another prior:
those found with a learned prior under the fixed one, others under a symmetric one as large as what
SinglePassLDA learns there. Seconds are those of the processor.
"""

import time
from functools import partial
from itertools import product
from unittest import mock

import numpy as np
from _corpora import load
from _study import Study, interval, new_parser, seconds_of
from _traces import fit_and_score

from sktopic import hdp, lda
from sktopic._topics._prior import default_prior
from sktopic.lda import _online_em
from sktopic.metrics import document_completion

N_COMPONENTS = 100
PASSES = (1, 5)
EACH_PASS = (1, 2, 3, 4, 5)
# Corpora of the experiment and of the first pass, and documents held out, if not 500
CORPORA = ("kos", "nips_uci", "20news")
FIRST_PASS_ON = (*CORPORA, "reuters21578", "enron_inbox")
N_HELD_OUT = {"nips_uci": 150}
SEEDS = (0, 1)

START = {"doc_topic_prior": None, "learning_decay": 0.65, "doc_burn_in": 4, "doc_sweeps": 3}
FIXED_POINT = {"doc_topic_prior": "auto", "prior_update": "fixed-point"}
GAMMA = {"doc_topic_prior": "auto", "prior_update": "gamma"}
LEVELS = {
    "variational": {"inference": "variational"},
    "boosted": {"boost": True},
    "decay 0.5": {"learning_decay": 0.5},
    "decay 0.75": {"learning_decay": 0.75},
    "decay 1": {"learning_decay": 1.0},
    "fixed point": FIXED_POINT,
    "Gamma rule": GAMMA,
    "15 + 5 sweeps": {"doc_burn_in": 15, "doc_sweeps": 5},
    "10 + 10 sweeps": {"doc_burn_in": 10, "doc_sweeps": 10},
}
STEPS = ("decay 0.5", "decay 0.75", "decay 1")
PRIORS = ("fixed point", "Gamma rule")
SWEEPS = ("15 + 5 sweeps", "10 + 10 sweeps")
PAIRS = [
    ("variational", "boosted"),
    *product(("variational",), STEPS),
    *product(("boosted",), STEPS),
    *product(("variational",), ("boosted",), STEPS),
    *product(("variational",), PRIORS),
    *product(("variational",), ("boosted",), PRIORS),
    *product(("variational",), ("boosted",), ("decay 1",), PRIORS),
    *product(("decay 1",), PRIORS),
    *product(("decay 0.75", "decay 1"), SWEEPS),
    *product(SWEEPS[:1], PRIORS),
]
BESIDE = {kind.__name__: kind for kind in (lda.SinglePassLDA, lda.HybridLDA, hdp.HybridHDP)}
# In the first pass: the decay of steps and the largest multiple of 1 / t, which is 4 by default.
BEFORE, SPLITS = "decay 0.65", (0, 1, 2)
FIRST_STEPS = {f"decay {decay}": {"DECAY": decay, "MOST_OVER_T": np.inf} for decay in (0.65, 0.7, 0.75)}
FIRST_STEPS |= {f"at most {n} / t": {"MOST_OVER_T": float(n)} for n in (2, 3, 4, 6, 8)}
# What is confirmed: name -> estimator, parameters, and passes after which it is scored
SINGLE = {"doc_burn_in": 10, "doc_sweeps": 10}
EARLIER = "decay 0.65, a fixed prior"  # the defaults before
CONFIRMED = {
    "default": (lda.OnlineEMLDA, {}, EACH_PASS),
    EARLIER: (lda.OnlineEMLDA, {"learning_decay": 0.65, "doc_topic_prior": None}, PASSES),
    "for one pass": (lda.OnlineEMLDA, SINGLE, (1,)),
    "SinglePassLDA": (lda.SinglePassLDA, {}, (1,)),
    "OnlineCVB0LDA": (lda.OnlineCVB0LDA, {}, PASSES),
    "HybridLDA": (lda.HybridLDA, {}, PASSES),
    "HybridHDP": (hdp.HybridHDP, {}, PASSES),
}
# Corpus -> documents to learn from at most
CONFIRMED_ON = {
    **dict.fromkeys(("kos", "nips_uci", "reuters21578", "20news", "enron_inbox")),
    "arxiv_0": 50_000,
}
LATE = ("OnlineCVB0LDA", "HybridLDA", "HybridHDP")
LARGE = ("enron_inbox", "arxiv_0")
CONFIRMED_TOPICS = (100, 20, 500)
CONFIRMED_SEEDS = (0, 1, 2)
N_TEST = 500
START_NAME = "start"
GAINS = ("default", EARLIER), ("for one pass", "SinglePassLDA"), ("default", "SinglePassLDA")
completion = partial(document_completion, burn_in=20, sweeps=20, n_jobs=1)
FIELDS = ["corpus", "split", "setting", "passes", "score", "under another prior", "seconds", "prior"]


def settings():
    """The settings of the experiment: names of the levels that are moved."""
    return [(START_NAME,), *((name,) for name in LEVELS), *PAIRS]


def new_model(setting, seed, n_documents):
    if setting[0] in BESIDE:
        model = BESIDE[setting[0]](N_COMPONENTS, random_state=seed)
    else:
        moved = dict(START)
        for name in setting:
            moved |= LEVELS.get(name, {})
        model = lda.OnlineEMLDA(N_COMPONENTS, random_state=seed, **moved)
    return model.set_params(total_samples=n_documents)


def split(corpus, seed):
    """Documents to learn from and to score, both of the training part."""
    documents, _, _ = load(corpus)
    order = np.random.RandomState(seed).permutation(documents.shape[0])
    n = N_HELD_OUT.get(corpus, 500)
    return documents[order[n:]], documents[order[:n]]


def measure_first_pass(name, corpus, seed):
    """The row of a run with other step sizes in its only pass."""
    train, held_out = split(corpus, seed)
    model = lda.OnlineEMLDA(N_COMPONENTS, max_iter=1, random_state=seed)
    with mock.patch.multiple(_online_em, **FIRST_STEPS[name]):
        seconds, _ = seconds_of(model.fit, train)
    return {"score": round(float(completion(model, held_out)), 4), "seconds": round(seconds, 2)}


def passes_of(setting):
    """After which passes a setting is scored."""
    return PASSES[:1] if {"variational", "boosted"} <= set(setting) else PASSES


def measure(setting, corpus, seed, other):
    """The row of a run; other: a prior to score topics under, beside that of the estimator."""
    train, held_out = split(corpus, seed)
    passes = passes_of(setting)
    n = train.shape[0]
    model, seconds, order = new_model(setting, seed, n), 0.0, np.random.RandomState(seed)
    row = {"score": [], "other": [], "time": []}
    for i in range(1, max(passes) + 1):
        shuffled = train[order.permutation(n)]
        start = time.process_time()
        model.partial_fit(shuffled)
        seconds += time.process_time() - start
        if i in passes:
            for name, prior in (("score", None), ("other", other)):
                score = completion(model, held_out, doc_topic_prior=prior)
                row[name].append(round(float(score), 4))
            row["time"].append(round(seconds, 2))
    return {**row, "seconds": round(seconds, 2), "prior": round(float(model.doc_topic_prior_.sum()), 3)}


def measure_confirmed(name, corpus, n_components, seed):
    """The row of a run to confirm."""
    train, test, _ = load(corpus)
    choice = np.random.RandomState(seed)
    train = train[choice.permutation(train.shape[0])[: CONFIRMED_ON[corpus]]]
    test = test[choice.permutation(test.shape[0])[:N_TEST]]
    kind, parameters, passes = CONFIRMED[name]
    model = kind(n_components, random_state=seed, **parameters)
    noted = fit_and_score(model, train, partial(completion, X=test), passes)
    return {
        "score": [round(score, 4) for score, _ in noted],
        "time": [round(seconds, 2) for _, seconds in noted],
        "seconds": round(noted[-1][1], 2),
    }


def run_first_pass(study):
    runs = [("first pass", *each) for each in product(FIRST_STEPS, FIRST_PASS_ON, SPLITS)]
    study.measure({"first pass": measure_first_pass}, runs)


def confirm_all(study):
    runs = product(CONFIRMED_TOPICS, CONFIRMED_SEEDS, CONFIRMED_ON, CONFIRMED)
    runs = [("confirm", name, corpus, k, seed) for k, seed, corpus, name in runs]
    runs.sort(key=lambda run: (run[2] in LARGE, run[3] != CONFIRMED_TOPICS[0], run[1] in LATE, run[4]))
    study.measure({"confirm": measure_confirmed}, runs)  # quick ones first


def confirmed_scores(cache, name, corpus, n_components, n_passes, value="score"):
    """By seed."""
    if n_passes not in CONFIRMED[name][2]:
        return {}
    rows = cache.found(("confirm", name, corpus, n_components, seed) for seed in CONFIRMED_SEEDS)
    return {row["seed"]: row[value][CONFIRMED[name][2].index(n_passes)] for row in rows}


def write_confirmed(study):
    """Mean scores and seconds, and what settings gain over others, with intervals over seeds."""
    cache, table, gains = study.cache, [], []
    for k, corpus, n in product(sorted(CONFIRMED_TOPICS), CONFIRMED_ON, PASSES):
        for name in CONFIRMED:
            scores = confirmed_scores(cache, name, corpus, k, n)
            if scores:
                seconds = confirmed_scores(cache, name, corpus, k, n, "time")
                score, time_ = np.mean(list(scores.values())), np.mean(list(seconds.values()))
                table.append([corpus, k, n, name, f"{score:.4f}", f"{time_:.2f}", len(scores)])
        for name, beside in GAINS:
            scores, others = (confirmed_scores(cache, each, corpus, k, n) for each in (name, beside))
            both = sorted(set(scores) & set(others))
            if both:
                mean, low, high = interval([scores[seed] - others[seed] for seed in both])
                seconds = [means(cache, both, each, corpus, k, n)[1] for each in (name, beside)]
                bounds = f"{low:+.3f} to {high:+.3f}" if len(both) > 1 else ""
                ratio = f"{seconds[0] / seconds[1]:.2f}"
                gains.append([corpus, k, n, name, beside, f"{mean:+.4f}", bounds, ratio, len(both)])
    study.write("defaults", ["corpus", "topics", "passes", "setting", "score", "seconds", "seeds"], table)
    head = ["corpus", "topics", "passes", "setting", "less", "gain", "interval", "times the seconds", "seeds"]
    study.write("gains", head, gains)


def write_equal_time(study):
    """What other methods reach, beside the default after as many passes as take no more time, or one."""
    cache, table = study.cache, []
    for k, corpus, name in product(sorted(CONFIRMED_TOPICS), CONFIRMED_ON, ("SinglePassLDA", *LATE)):
        for n in PASSES:
            other = confirmed_scores(cache, name, corpus, k, n)
            both = [seed for seed in confirmed_scores(cache, "default", corpus, k, 1) if seed in other]
            if not both:
                continue
            score, seconds = means(cache, both, name, corpus, k, n)
            own = [(i, *means(cache, both, "default", corpus, k, i)) for i in EACH_PASS]
            quick = [each for each in own if each[2] <= seconds] or own[:1]
            i, own_score, own_seconds = quick[-1]
            cells = [f"{own_score:.4f}", f"{own_seconds:.2f}", f"{own_score - score:+.4f}", len(both)]
            table.append([corpus, k, name, n, f"{score:.4f}", f"{seconds:.2f}", i, *cells])
    head = ["corpus", "topics", "method", "passes", "score", "seconds"]
    head += ["passes of the default", "its score", "its seconds", "ahead by", "seeds"]
    study.write("equal_time", head, table)


def write_first_pass(study):
    """Step sizes in the first pass: gains over those of decay 0.65 alone, with intervals over splits."""
    table = []
    for setting, corpus in product(FIRST_STEPS, FIRST_PASS_ON):
        runs = [[("first pass", name, corpus, seed) for seed in SPLITS] for name in (setting, BEFORE)]
        own, before = ([row["score"] for row in study.cache.found(each)] for each in runs)
        if setting != BEFORE and len(own) == len(before) == len(SPLITS):
            mean, low, high = interval(np.subtract(own, before))
            table.append([setting, corpus, f"{mean:+.4f}", f"{low:+.3f} to {high:+.3f}", len(SPLITS)])
    study.write("first_pass", ["first pass with", "corpus", "gain", "interval", "splits"], table)


def means(cache, seeds, *cells):
    """Of score and seconds over some seeds."""
    found = (confirmed_scores(cache, *cells, value) for value in ("score", "time"))
    return [float(np.mean([each[seed] for seed in seeds])) for each in found]


def learns(setting):
    return any(name in PRIORS for name in setting) or setting[0] in BESIDE


def run_all(study):
    """Measure split by split, single levels first; before all what tells the other prior."""
    first = ("SinglePassLDA",)
    others = [*settings(), *((name,) for name in BESIDE if name not in first)]

    def other_prior(run):
        _, setting, corpus, seed = run
        if setting == first or learns(setting):
            return (default_prior(N_COMPONENTS),)
        return (study.cache.get("screen", first, corpus, seed)["prior"] / N_COMPONENTS,)

    for seed, of in product(SEEDS, ([first], others)):
        runs = [("screen", each, corpus, seed) for each in of for corpus in CORPORA]
        study.measure({"screen": measure}, runs, other_prior)


def differences(cache, setting, beside, i, name="score"):
    """Of the scores of two settings after the pass numbered i, one for each corpus and split there is."""
    found = []
    for corpus, seed in product(CORPORA, SEEDS):
        rows = [cache.get("screen", each, corpus, seed) for each in (setting, beside)]
        if all(row and i < len(row[name]) for row in rows):
            found.append((corpus, rows[0][name][i] - rows[1][name][i]))
    return found


def without(setting, i):
    """A setting with one level less."""
    return (*setting[:i], *setting[i + 1 :]) or (START_NAME,)


def effect(found):
    """Cells of a table: the mean of differences, its interval, and the means of the corpora."""
    if not found:
        return [""] * (2 + len(CORPORA))
    mean, low, high = interval([value for _, value in found])
    cells = [f"{mean:+.3f}", f"{low:+.3f} to {high:+.3f}" if len(found) > 1 else ""]
    for corpus in CORPORA:
        values = [value for name, value in found if name == corpus]
        cells.append(f"{np.mean(values):+.3f}" if values else "")
    return cells


def write_scores(study):
    table = []
    for setting in [*settings(), *((name,) for name in BESIDE)]:
        for corpus, seed in product(CORPORA, SEEDS):
            row = study.cache.get("screen", setting, corpus, seed)
            if row:
                for i, n in enumerate(passes_of(setting)):
                    scores = row["score"][i], row["other"][i], row["time"][i], row["prior"]
                    table.append([corpus, seed, " + ".join(setting), n, *scores])
    study.write("scores", FIELDS, table)
    effects = []
    for setting in settings()[1:]:
        for i, level in enumerate(setting):
            beside = without(setting, i)
            cells = [level, "" if beside == (START_NAME,) else " + ".join(beside)]
            for at in range(len(PASSES)):
                cells += effect(differences(study.cache, setting, beside, at))
            if any(cells[2:]):
                effects.append(cells)
    names = ["1 pass", "5 passes"]
    head = [cell for n in names for cell in (n, f"interval, {n}", *(f"{c}, {n}" for c in CORPORA))]
    study.write("effects", ["level", "with", *head], effects)


def main():
    study = Study("flagship", new_parser(__doc__, runs=True).parse_args())
    run_all(study)
    run_first_pass(study)
    confirm_all(study)
    write_tables(study)


def write_tables(study):
    for write in (write_scores, write_first_pass, write_confirmed, write_equal_time):
        write(study)


if __name__ == "__main__":
    main()
