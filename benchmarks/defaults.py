"""How the defaults were chosen: each parameter moved away from its default, alone.

    python benchmarks/defaults.py [--only estimator=OnlineOPELDA]

Tables of other estimators than OnlineEMLDA have names of their own; the summaries have the mean over corpora
of the difference to the default. The score is the held-out nats per word by document completion, with the
same fold-in for all; for moment matching the estimator's own, which averages over the number of topics.
"""

import time
from itertools import product

import numpy as np
from _corpora import load
from _study import Study, new_parser, seconds_of

from sktopic._loading import CLASSES
from sktopic._topics._prior import default_prior, default_topic_word_prior
from sktopic.metrics import document_completion

CORPORA = ["kos", "nips1740", "reuters21578", "20news", "arxiv_0"]
FIELDS = ["n_components", "max_iter", "parameter", "value", "corpus", "score", "seconds"]


def em_variants(n_components, max_iter):
    """(parameter, shown value, keyword arguments) of each variant; the first is the default.

    Those that matter most come in every setting, the others for a single pass only. Numbers are priors that
    stay what they are, beside the default's shares that are learned.
    """
    yield "default", "", {}
    yield "doc_topic_prior", "None", {"doc_topic_prior": None}
    yield from moved("learning_decay", 0.5, 0.6, 0.7, 0.8)
    yield from scaled_priors(n_components)
    yield from moved("batch_size", 100)
    if max_iter > 1:
        return
    yield from moved("batch_size", 25)
    yield from moved("learning_offset", 0.0, 10.0)
    yield "doc_topic_prior", "1 / n_components", {"doc_topic_prior": 1 / n_components}
    for kind in ("auto", "auto-symmetric"):
        settings = {"doc_topic_prior": kind, "prior_update": "fixed-point"}
        yield "doc_topic_prior", f"{kind}, fixed point", settings
    for burn_in, sweeps in ((2, 2), (7, 3), (15, 5)):
        yield "burn-in + sweeps", f"{burn_in} + {sweeps}", {"doc_burn_in": burn_in, "doc_sweeps": sweeps}
    if n_components <= 100:  # these two take minutes each at 1000 topics, and lose
        yield from moved("average", True)
        yield from moved("inference", "variational")


def moved(parameter, *values):
    return [(parameter, value, {parameter: value}) for value in values]


def scaled_priors(n_components, words=True):
    """Multiples of the default priors."""
    priors = {"doc_topic_prior": (default_prior(n_components), (0.5, 2.0))}
    if words:
        priors["topic_word_prior"] = default_topic_word_prior(n_components), (0.25, 4.0)
    for name, (prior, factors) in priors.items():
        yield from ((name, f"{factor} x default", {name: factor * prior}) for factor in factors)


def minibatch_variants(n_components, decays):
    """What the two methods below have in common."""
    yield "default", "", {}
    yield from moved("learning_decay", *decays)
    yield from moved("learning_offset", 10.0)
    yield from moved("batch_size", 25, 100, 200)
    yield from scaled_priors(n_components)


def ope_variants(n_components, _):
    yield from minibatch_variants(n_components, (0.55, 0.75))
    yield from moved("doc_topic_prior", 1.01)
    yield from moved("max_doc_update_iter", 20, 100)
    yield from moved("bernoulli_p", 0.2, 0.8)


def cvb0_variants(n_components, _):
    yield from minibatch_variants(n_components, (0.65, 0.85))
    yield from moved("max_doc_update_iter", 1, 2, 3, 10)
    yield from moved("doc_learning_offset", 1.0, 50.0)
    yield from moved("doc_learning_decay", 0.6)


def filter_variants(n_components, _):
    yield "default", "", {}
    yield from moved("second_moment", "first")
    yield from moved("shuffle", "corpus", "document", None)
    yield from scaled_priors(n_components, words=False)
    yield from moved("doc_topic_prior", 1.0, "auto", "auto-symmetric")
    yield from moved("topic_word_prior", 0.002, 0.02, 0.05)


def number_variants(n_components, max_iter):
    yield from filter_variants(n_components, max_iter)
    yield from moved("n_components_prior", "exponential")


def triangular_variants(n_components, max_iter):
    """Around the uniform prior of the number of topics, with which the others are comparable."""
    yield from number_variants(n_components, max_iter)
    yield from moved("n_components_prior", 2.0)


ALL_SETTINGS = [(max_iter, n_components) for max_iter in (1, 3) for n_components in (20, 100, 1000)]
# Estimator -> name of its tables, variants, and (passes, topics)
STUDIES = {
    "OnlineEMLDA": ("", em_variants, ALL_SETTINGS),
    "OnlineOPELDA": ("ope", ope_variants, [(3, 20), (3, 100)]),
    "OnlineCVB0LDA": ("cvb0", cvb0_variants, [(3, 20), (3, 100)]),
    "MomentMatchingLDA": ("moment_matching", filter_variants, [(1, 20), (1, 100)]),
    "DegenerateDirichletLDA": ("degenerate", number_variants, [(1, 100)]),
    "TriangularDirichletLDA": ("triangular", triangular_variants, [(1, 50)]),
}
NUMBER_VARIANTS = number_variants, triangular_variants
# What "default" stands for, where it is not the default in all.
BASES = {"TriangularDirichletLDA": {"n_components_prior": "uniform"}}


def measured(study, estimator):
    """Everything measured so far of an estimator: cells of the first fields -> row."""
    rows = study.cache.select(estimator=estimator)
    return {tuple(str(row[name]) for name in FIELDS[:5]): row for row in rows}


def write_table(study, estimator):
    """Every run, and the mean over corpora of each variant's score less the default's."""
    name, variants, _ = STUDIES[estimator]
    rows = measured(study, estimator)
    head = [*FIELDS, "topics found"] if variants in NUMBER_VARIANTS else FIELDS
    found = {cells: [row["topics"]] if "topics" in row else [] for cells, row in rows.items()}
    cells_of = ([*cells, f"{row['score']:.4f}", f"{row['seconds']:.2f}"] for cells, row in rows.items())
    study.write(name, head, ([*cells, *more] for cells, more in zip(cells_of, found.values())))
    scores = {cells: row["score"] for cells, row in rows.items()}
    settings = sorted({key[:2] for key in scores}, key=lambda setting: tuple(map(int, setting)))
    passes = {"1": "1 pass"}
    heads = [f"{k} topics, {passes.get(n, n + ' passes')}" for k, n in settings]
    table = []
    for variant in dict.fromkeys(key[2:4] for key in scores if key[2] != "default"):
        cells = []
        for setting in settings:
            gains = [
                scores[(*setting, *variant, corpus)] - scores[(*setting, "default", "", corpus)]
                for corpus in CORPORA
                if (*setting, *variant, corpus) in scores
            ]
            cells.append(f"{np.mean(gains):+.3f}" if len(gains) == len(CORPORA) else "")
        table.append([*variant, *cells])
    study.write(f"{name}_summary" if name else "summary", ["parameter", "value", *heads], table)


def new_model(estimator, n_components, max_iter, given):
    model = CLASSES[estimator](n_components, random_state=0, **{**BASES.get(estimator, {}), **given})
    return model.set_params(max_iter=max_iter) if hasattr(model, "max_iter") else model


def score_of(model, test):
    if hasattr(model, "max_iter"):
        return document_completion(model, test, burn_in=20, sweeps=20)
    return model.score(test)


def runs_of(estimator):
    """Run -> what is moved."""
    _, variants, settings = STUDIES[estimator]
    return {
        (estimator, n_components, max_iter, parameter, str(value), corpus): given
        for (max_iter, n_components), corpus in product(settings, CORPORA)
        for parameter, value, given in variants(n_components, max_iter)
    }


def measure(estimator, n_components, max_iter, parameter, value, corpus, given):
    """The row of a run."""
    train, test, _ = load(corpus)
    model = new_model(estimator, n_components, max_iter, given)
    seconds, _ = seconds_of(model.fit, train, clock=time.perf_counter)
    row = {"score": round(float(score_of(model, test[:500])), 4), "seconds": round(seconds, 2)}
    if STUDIES[estimator][1] in NUMBER_VARIANTS:
        row["topics"] = int(model.n_components_)
    return row


def main():
    study = Study("defaults", new_parser(__doc__, runs=True, jobs=1).parse_args())
    for estimator in STUDIES:
        runs = runs_of(estimator)
        study.measure(measure, runs, lambda run, runs=runs: (runs[run],))
    write_tables(study)


def write_tables(study):
    for estimator in STUDIES:
        if study.cache.select(estimator=estimator):
            write_table(study, estimator)


if __name__ == "__main__":
    main()
