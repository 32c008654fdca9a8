"""The comparison of Dupuy and Bach (2017) again: online EM and the methods it was compared with.

    python benchmarks/online_em_paper.py [--figures topics stream ...]

topics    figures 1 and 14: held-out log-perplexity against the number of topics
stream    figures 4 and 15: the same against documents seen and time, at the largest number of topics
long      the same on all 490,000 abstracts of arXiv as one stream, and the bound with few topics and many
boosting  figures 6 and 7: one global step a batch, or one after every local iteration (++)
steps     figures 8 and 9: exponents of the step size, with and without averaging of the topics
bound     figure 12: the evidence lower bound of variational Bayesian methods, and without the term of topics
hdp       figures 5 and 16: G-OEM and VarGibbs for LDA and for the HDP, against documents seen
prior     figure 13: ways to learn the prior of the topic proportions
time      table 3: processor time of training, all methods in turn; give it --jobs 1
more      figure 1 beyond 128 topics; and for the claims alone, synthetic data with 10 and 20 topics, and of
          200,000 documents
seeds     further splits of runs that claims compare, where the usual number leaves the claim open
variants  one setting moved, with what that changes (see VARIANTS): figures 2, 10, 12 top, table 5 and others
words     table 4: words of topics, and their NPMI
frequent  the largest number of topics of figures 1, 6 and 7 with the most frequent words alone (see FREQUENT)

The settings are the paper's: mini-batches of 100 documents, one pass, 20 local passes for each document, step
size t^-1/2 where it is free, medians over random splits with the third and seventh decile. G-OEM draws topics
of tokens from their words (algorithm 2), then makes 20 sweeps. With averaging, topics and prior are means of
all updates. HDPs start from two topics with concentrations 1 and 10, and batches add any number of topics.
Boosted Gibbs sampling makes a global step by each sweep, or by the mean of those so far (a variant).

Departures: LDS has 20 local passes and its default step sizes (the paper's 200 passes, and step sizes of
G-OEM, are variants); a learned prior's starting value counts like ten batches (a variant: one), and
E[log theta] is averaged over the last quarter of sweeps, as topics are; VarGibbs and LDS have the fixed prior
that the paper gives SGS; figures 10 and 11 move learning_offset with the exponent. Log-perplexity is minus
the left-to-right log-likelihood of held-out documents in nats per word.
"""

import time
from functools import cache
from itertools import product
from typing import NamedTuple
from unittest import mock

import numpy as np
import scipy.sparse as sp
from _corpora import load
from _pictures import finish, line, panels, save, styles
from _study import DECILES, Study, interval, new_parser, shown, spread

from sktopic import hdp, lda
from sktopic._topics._prior import PRIOR_INERTIA, default_topic_word_prior
from sktopic.datasets import make_lda_documents
from sktopic.lda import _minibatch_method
from sktopic.metrics import coherence, left_to_right, topic_diversity
from sktopic.seeding import document_components

BATCH = 100
PASSES = 20
TOPICS, MOST = (8, 16, 32, 64, 128), 128
SEEDS = range(5)
# Where the interval from five crosses a margin of a claim.
MANY_SEEDS = range(10)
# Of synthetic data, which are drawn anew. Splits of a corpus share documents, so more of them add little.
DRAWN_SEEDS = range(30)

# Most frequent words, for claims that depend on rare ones. The paper's vocabularies have 1,500 to 21,000
# tokens a word on average, the whole ones here 68 to 379, and these words 297 to 4,422.
FREQUENT = 1000
# Test documents, the longest that is taken, and particles: a document of N tokens costs N^2 / 2 draws a
# particle.
CORPORA = {
    "synthetic": (500, 1000, 10),
    "kos": (200, 1000, 10),
    "reuters21578": (200, 1000, 10),
    "20news": (200, 1000, 10),
    "nips_uci": (50, 10_000, 2),
    "arxiv_0": (500, 1000, 10),
}
# All files of arXiv as one stream, and methods that are compared there.
WHOLE, ON_WHOLE = "arxiv_all", ("G-OEM", "V-OEM++", "SPLDA", "OLDA")
# Documents of synthetic data. The paper has a million.
DRAWN = {"synthetic": 20_000, "synthetic_long": 200_000}
SIZES = {**CORPORA, WHOLE: CORPORA["arxiv_0"], "synthetic_long": CORPORA["synthetic"]}

# What the paper's methods have in common, and what each is here.
LOOP = {"batch_size": BATCH, "max_iter": 1}
STEP = {"learning_decay": 0.5, "learning_offset": 0.0}
GIBBS = {"doc_burn_in": PASSES - PASSES // 4, "doc_sweeps": PASSES // 4}
VARIATIONAL = {"max_doc_update_iter": PASSES, "mean_change_tol": 0.0}
FIXED_POINT = {"doc_topic_prior": "auto", "prior_update": "fixed-point"}
ONLINE_EM = {
    "G-OEM": {},
    "G-OEM++": {"boost": True},
    "V-OEM": {"inference": "variational", **VARIATIONAL},
    "V-OEM++": {"inference": "variational", "boost": True, **VARIATIONAL},
}
METHODS = ("G-OEM", "V-OEM++", "OLDA", "VarGibbs", "SVB", "SPLDA", "SGS", "LDS")
# The method of runs that train all of them, one after the other, several times. What slows down the machine
# for a while then slows down all, and medians leave it out.
IN_TURN, REPEATS = "all in turn", 3
# With those that boosting is compared in.
WITH_BOOSTING = (*METHODS, "V-OEM", "G-OEM++")
# These keep the prior fixed: at the mean of what G-OEM learns on the same split.
FIXED_PRIOR = ("VarGibbs", "SGS", "LDS")

# Beyond the first figure, and one setting moved, on fewer corpora and splits.
FEW, FEW_SEEDS = ("kos", "reuters21578"), range(3)
MORE_TOPICS = (256, 512)
N_WORDS, N_SHOWN = 15, 8


class Variant(NamedTuple):
    """Settings that are moved; besides parameters of the estimator those that `parts_of` takes out."""

    methods: tuple
    settings: tuple
    topics: tuple = ()  # the most, unless given
    corpora: tuple = FEW
    seeds: range = FEW_SEEDS


LOCAL = [{"max_doc_update_iter": n} for n in (10, 100)]
SWEEPS = [{"doc_burn_in": n - n // 4, "doc_sweeps": n // 4} for n in (50, 100)]
STEP_SIZES = product((0.5, 1.0), (0.0, 10.0, 100.0))
OLDA_STEPS = [{"learning_decay": kappa, "learning_offset": tau} for kappa, tau in STEP_SIZES]
SWEEPS_OF_LDS = {"doc_burn_in": 150, "doc_sweeps": 50}
# Section 6.2.6 of the paper: parameters of LDS are as close as possible to those of G-OEM. It does not give
# the factor of the steps; one is ours.
LDS_OF_PAPER = {"learning_rate": 1.0, **STEP, **SWEEPS_OF_LDS}
SMALL_STEPS = {"learning_offset": 10.0}
LONG, GIVEN = {"max_doc_update_iter": 200, "passes": 4}, {"doc_topic_prior": "G-OEM"}
VARIANTS = {
    "mini-batches of 50": Variant(("G-OEM", "V-OEM++", "OLDA", "SPLDA"), ({"batch_size": 50},)),
    "local passes (figure 2)": Variant(("OLDA",), LOCAL, topics=(8, 32, 128), seeds=MANY_SEEDS),
    "local sweeps (section 6.2.3)": Variant(("G-OEM",), SWEEPS, seeds=MANY_SEEDS),
    "200 local passes of LDS (section 6)": Variant(("LDS",), (SWEEPS_OF_LDS,), (8, 128), ("kos",)),
    "200 local passes of LDS, steps of G-OEM": Variant(
        ("LDS",), (LDS_OF_PAPER,), TOPICS, ("synthetic", *FEW), MANY_SEEDS
    ),
    "200 local passes of LDS, steps of G-OEM, 512 topics": Variant(
        ("LDS",), (LDS_OF_PAPER,), (512,), (*FEW, "arxiv_0")
    ),
    "step sizes of OLDA (figure 10)": Variant(("OLDA",), OLDA_STEPS[1:], corpora=(*FEW, "arxiv_0")),
    "200 local passes, four passes (table 5, figure 12)": Variant(
        ("OLDA", "SVB"), (LONG,), topics=(8, 32), seeds=MANY_SEEDS
    ),
    "200 local passes, four passes, on arXiv": Variant(
        ("OLDA", "SVB"), (LONG,), topics=(8, 32), corpora=("arxiv_0",), seeds=SEEDS
    ),
    "the topic prior of 128 topics": Variant(
        ("OLDA", "SVB"), ({"topic_word_prior": default_topic_word_prior(MOST)},), (8,), seeds=MANY_SEEDS
    ),
    "the mean of sweeps": Variant(("G-OEM++",), ({"boost": "mean"},), corpora=tuple(CORPORA), seeds=SEEDS),
    "the topic prior of G-OEM": Variant(
        ("VarGibbs",), ({"topic_word_prior": default_topic_word_prior(MOST)},)
    ),
    "no inertia of the prior": Variant(("G-OEM", "V-OEM++", "OLDA", "SVB"), ({"inertia": 1},)),
    "steps of 1/t": Variant(("G-OEM", "G-OEM++", "V-OEM++"), ({"learning_decay": 1.0},)),
    "a start from documents": Variant(("G-OEM", "V-OEM++", "SPLDA", "OLDA"), ({"start": "documents"},)),
    "that and small first steps": Variant(
        ("OLDA",), ({"start": "documents", **SMALL_STEPS},), (8, MOST), seeds=MANY_SEEDS
    ),
    "the prior fixed at that of G-OEM": Variant(("G-OEM", "V-OEM++", "OLDA", "SVB", "SPLDA"), (GIVEN,)),
}


HIERARCHICAL = {"G-OEM HDP": hdp.OnlineEMHDP, "VarGibbs HDP": hdp.TruncationFreeHDP}
BIRTHS = {"G-OEM HDP": {"min_birth_tokens": 0.0}, "VarGibbs HDP": {}}
CONCENTRATIONS = {"topic_concentration": 1.0, "doc_concentration": 10.0}


def new_model(method, n_components, seed, total_samples, prior, options):
    """The estimator of a method's name, set as in the paper but for the options."""
    learned = {"doc_topic_prior": "auto", "prior_update": "gradient", "components_init": None}
    fixed = {"doc_topic_prior": prior}
    if method in ONLINE_EM:
        kind, settings = lda.OnlineEMLDA, {**STEP, **GIBBS, **FIXED_POINT, **ONLINE_EM[method]}
    elif method in HIERARCHICAL:
        kind, settings = HIERARCHICAL[method], {**STEP, **GIBBS, **CONCENTRATIONS, **BIRTHS[method]}
    else:
        kind, settings = {
            "OLDA": (lda.OnlineVariationalLDA, {**STEP, **VARIATIONAL, **learned}),
            "SVB": (lda.StreamingVariationalLDA, {**VARIATIONAL, **learned}),
            "SPLDA": (lda.SinglePassLDA, VARIATIONAL),
            "VarGibbs": (lda.HybridLDA, {**STEP, **GIBBS, **fixed}),
            "SGS": (lda.StreamingGibbsLDA, {"doc_burn_in": PASSES - 1, **fixed}),
            "LDS": (lda.LangevinLDA, {**GIBBS, **fixed}),
        }[method]
    settings = {"n_components": n_components, "random_state": seed, **LOOP, **settings, **options}
    if method == "G-OEM":  # draws from words take the place of its first sweep
        settings["doc_burn_in"] += 1
    model = kind(**settings)
    has_total = "total_samples" in model.get_params()
    return model.set_params(total_samples=total_samples) if has_total else model


def trained(model, counts, marks, after=lambda: None):
    """Train to each mark, in documents seen, and yield the seconds of the processor so far.

    Passes over the counts follow each other. after() is called after each batch.
    """
    n, seen, seconds = counts.shape[0], 0, 0.0
    for mark in marks:
        start, earlier = time.process_time(), seen // n * n  # documents of passes before
        for first in range(seen, mark, model.batch_size):
            model.partial_fit(counts[first - earlier : min(first + model.batch_size, mark) - earlier])
            after()
        seconds, seen = seconds + time.process_time() - start, mark
        yield seconds


@cache
def true_topics():
    """As in the paper's section 6.2.4: ten topics found by OLDA in a real corpus, cut to 1000 words."""
    train, _, _ = load("arxiv_0")
    words = frequent_words(train, 1000)
    model = lda.OnlineVariationalLDA(10, max_iter=1, batch_size=BATCH, components_init=None, random_state=0)
    topics = model.fit(train[:20_000]).components_[:, words]
    return topics / topics.sum(axis=1, keepdims=True)


def frequent_words(counts, n):
    """The columns of the n most frequent words, in their order."""
    return np.sort(np.argsort(-np.asarray(counts.sum(axis=0)).ravel(), kind="stable")[:n])


def synthetic(n_documents, seed):
    settings = {"components": true_topics(), "mean_length": 60, "doc_topic_prior": 0.1, "random_state": seed}
    return make_lda_documents(n_documents, **settings).data


def split(corpus, seed, n_words=None):
    """Training and test counts, of the most frequent words if asked: another random split for every seed."""
    n_test, longest, _ = SIZES[corpus]
    if corpus in DRAWN:
        counts = synthetic(DRAWN[corpus] + n_test, seed)
    else:
        files = [f"arxiv_{i}" for i in range(5)] if corpus == WHOLE else [corpus]
        counts = sp.vstack([part for file in files for part in load(file)[:2]], format="csr")
    if n_words is not None:
        counts = counts[:, frequent_words(counts, n_words)]
    order = np.random.RandomState(seed).permutation(counts.shape[0])
    lengths = np.asarray(counts.sum(axis=1)).ravel()[order]
    held_out = np.zeros(len(order), dtype=bool)
    held_out[np.flatnonzero((lengths > 0) & (lengths <= longest))[:n_test]] = True
    return counts[order[~held_out]], counts[order[held_out]]


def checkpoints(n_documents):
    """Documents seen at which a stream is scored: powers of two batches, and the end."""
    marks = [BATCH * 2**i for i in range(20) if BATCH * 2**i < n_documents]
    return [*marks, n_documents]


def measure(corpus, seed, method, n_components, options, stream, prior):
    """The row of a run."""
    train, test = split(corpus, seed, options.get("vocabulary"))
    n, particles = train.shape[0], SIZES[corpus][2]
    n_passes, n_words, inertia, settings = parts_of(options, train, n_components, seed, prior)
    model = new_model(method, n_components, seed, n, prior, settings)
    marks = checkpoints(n) if stream else [n * (i + 1) for i in range(n_passes)]
    clock, curve, bounds, priors = [], [], [], []
    note = (lambda: priors.append(model.doc_topic_prior_)) if options.get("average") else (lambda: None)
    with mock.patch.object(_minibatch_method, "PRIOR_INERTIA", inertia):
        for seconds in trained(model, train, marks, after=note):
            clock.append(seconds)
            prior = np.mean(priors, axis=0) if priors else None
            curve.append(-left_to_right(model, test, doc_topic_prior=prior, n_particles=particles))
            if hasattr(model, "elbo"):
                bounds.append(bound_per_word(model, test, ENDLESS if options.get("bound") else n))
    return {
        "documents": marks,
        "log_perplexity": [round(value, 4) for value in curve],
        **({"bound": [round(value, 4) for value in bounds]} if bounds else {}),
        "seconds": round(clock[-1], 2),
        "prior": round(float(model.doc_topic_prior_.mean()), 5),
        "topics": int(model.n_components_),
        **(words_of(model, corpus, train, n_words, seed) if n_words else {}),
    }


def measure_in_turn(corpus, seed, _method, n_components, _options, _stream, prior, curves):
    """Seconds of all methods at the checkpoints of a stream; what each attains in the time of OLDA's pass.

    curves : method -> log-perplexity at the checkpoints, or None. Between these it is a line in the logarithm
        of the seconds; before the first and after the last it is level.
    """
    train, _ = split(corpus, seed)
    marks, clocks = checkpoints(train.shape[0]), {method: [] for method in METHODS}
    for _, method in product(range(REPEATS), METHODS):
        model = new_model(method, n_components, seed, train.shape[0], prior, {})
        clocks[method].append(list(trained(model, train, marks)))
    clock = {method: np.median(repeats, axis=0) for method, repeats in clocks.items()}
    end = np.log(clock["OLDA"][-1])
    attained = {m: np.interp(end, np.log(clock[m]), curve) if curve else None for m, curve in curves.items()}
    return {
        "documents": marks,
        "clock": {method: [round(float(x), 4) for x in seconds] for method, seconds in clock.items()},
        "attained": {method: x if x is None else round(float(x), 4) for method, x in attained.items()},
    }


def parts_of(options, train, n_components, seed, prior):
    """Passes, first words that are noted, batches that a prior's start counts like, and parameters."""
    settings = {name: value for name, value in options.items() if name not in ("vocabulary", "bound")}
    n_passes, n_words = settings.pop("passes", 1), settings.pop("words", 0)
    inertia = settings.pop("inertia", PRIOR_INERTIA)
    if settings.pop("start", None) == "documents":
        settings["components_init"] = document_components(train, n_components, random_state=seed)
    if settings.get("doc_topic_prior") == "G-OEM":
        settings["doc_topic_prior"] = prior
    return n_passes, n_words, inertia, settings


def words_of(model, corpus, train, n_words, seed):
    """NPMI and diversity of ten words; of one seed, the first words of the largest topics, largest first."""
    vocabulary, order = load(corpus)[2], np.argsort(-model.topic_word_counts_.sum(axis=1))[:N_SHOWN]
    words = [list(map(str, vocabulary[np.argsort(-model.components_[k])[:n_words]])) for k in order]
    return {
        "npmi": round(float(coherence(model, train)), 4),
        "diversity": round(float(topic_diversity(model, n_words=10)), 4),
        **({"words": words} if seed == SEEDS[0] else {}),
    }


def bound_per_word(model, test, total_samples):
    """The bound on a corpus of that size, of which the test documents are a sample (Hoffman et al., 2010)."""
    return model.elbo(test, total_samples=total_samples) / (test.sum() * total_samples / test.shape[0])


# The studies: which runs each is made of.

# In a corpus without end, the bound per word is that of documents: all words share the term of the topics.
ENDLESS, OF_DOCUMENTS = 1e12, {"bound": "documents"}

STEP_TOPICS, DECAYS = {"synthetic": (5, 10, 20), "kos": (8, 32, 128)}, (0.0, 0.25, 0.5, 0.75, 1.0)
TIME_SEEDS = {"synthetic": SEEDS, "arxiv_0": SEEDS}
# Name -> (method, topics at the start) of figure 5.
HDP_CURVES = {
    **{f"{method}, {MOST} topics": (method, MOST) for method in ("G-OEM", "VarGibbs")},
    **{f"{method} from 2": (method, 2) for method in HIERARCHICAL},
    f"VarGibbs HDP from {MOST}": ("VarGibbs HDP", MOST),
}
PRIOR_RULES = {
    "fixed at the truth": {"doc_topic_prior": 0.1},
    "fixed point": {},
    "Gamma prior": {"prior_update": "gamma"},
}
TRUE = product(("synthetic",), (10, 20), FEW_SEEDS, METHODS)
TRUE_LONG = (
    *product(("synthetic_long",), (10, 20), MANY_SEEDS, ("G-OEM", "SPLDA", "OLDA", "VarGibbs", "SGS")),
    *product(("synthetic_long",), TOPICS, MANY_SEEDS, ("SVB",)),
)
REAL = tuple(corpus for corpus in CORPORA if corpus != "synthetic")
# Corpora, numbers of topics and methods of claims that need all the seeds: whether LDS overfits and is
# behind, whether more topics harm variational methods, whether more than a hundred help, time, and boosting;
# and whether VarGibbs is level with G-OEM. Then the true number of topics, by synthetic data.
OPEN = (
    (("synthetic", *FEW, "20news"), TOPICS, ("LDS",)),
    (("synthetic",), (8, 16, 32), METHODS),
    ((*FEW, "20news", "nips_uci"), (8, 16, MOST), ("OLDA", "SVB")),
    (FEW, (MOST,), ("G-OEM", "V-OEM++", "SPLDA")),
    (FEW, (512,), METHODS),
    (FEW, (MOST,), ("OLDA",)),
    (("nips_uci",), (MOST,), METHODS),
    (("20news",), (MOST,), ("V-OEM++",)),
    (REAL, (8, 16), ("G-OEM", "VarGibbs")),
    (("nips_uci", "arxiv_0"), (32,), ("G-OEM", "VarGibbs")),
    (("synthetic",), (64,), ("OLDA", "SGS")),
    (("nips_uci",), (64,), ("LDS",)),
    (("arxiv_0",), (MOST,), ("V-OEM++", "VarGibbs")),
)
# Corpora with more than ten thousand documents, for which streams are scored.
LARGE = ("reuters21578", "20news", "arxiv_0")
OPEN_WITH_DRAWN = ("G-OEM", "SPLDA", "OLDA", "VarGibbs", "SGS")
OPEN_BOOSTING, OPEN_HDP = ("kos", "20news"), ("synthetic", "kos", "nips_uci")


def cells_of(variant):
    """(corpus, method, topics, settings) of each comparison with what is not moved."""
    return product(variant.corpora, variant.methods, variant.topics or (MOST,), variant.settings)


def usual_run(corpus, seed, method, n_components):
    """The run in which nothing is moved."""
    return corpus, seed, method, n_components, {}, n_components == MOST


STUDIES = {
    "topics": [usual_run(c, s, m, k) for c, k, s, m in product(CORPORA, TOPICS, SEEDS, METHODS)],
    "long": [usual_run(WHOLE, s, m, MOST) for s, m in product(FEW_SEEDS, ON_WHOLE)]
    + [usual_run(WHOLE, s, *run) for s, run in product(FEW_SEEDS, (("OLDA", 8), ("SVB", 8), ("SVB", MOST)))],
    "boosting": [
        (c, s, m, k, {}, False) for c, k, s, m in product(CORPORA, TOPICS, SEEDS, ("G-OEM++", "V-OEM"))
    ],
    "bound": [
        (c, s, m, k, OF_DOCUMENTS, False) for c, k, s, m in product(CORPORA, TOPICS, SEEDS, ("OLDA", "SVB"))
    ],
    "time": [(c, s, IN_TURN, MOST, {}, True) for c in CORPORA for s in TIME_SEEDS.get(c, MANY_SEEDS)],
    "steps": [
        (corpus, s, "G-OEM", k, {"learning_decay": decay, "average": average}, False)
        for corpus, few in STEP_TOPICS.items()
        for k, s, decay, average in product(few, MANY_SEEDS, DECAYS, (False, True))
    ],
    "hdp": [(c, s, *run, {}, True) for c, s, run in product(CORPORA, SEEDS, HDP_CURVES.values())],
    "prior": [
        ("synthetic", s, m, 10, {**rule, "learning_decay": decay}, False)
        for s, m, rule, decay in product(DRAWN_SEEDS, ONLINE_EM, PRIOR_RULES.values(), (0.5, 1.0))
    ],
    "variants": [
        (c, s, m, k, settings, False)
        for variant in VARIANTS.values()
        for s in variant.seeds
        for c, m, k, settings in cells_of(variant)
    ],
    "beside": [
        usual_run(c, s, m, k)
        for variant in VARIANTS.values()
        for s in variant.seeds
        for c, m, k, _ in cells_of(variant)
        if m in METHODS
    ],
    "words": [
        (c, s, m, MOST, {"words": N_WORDS}, False) for c, s, m in product(FEW, FEW_SEEDS, ("G-OEM", "OLDA"))
    ],
    "frequent": [
        (c, s, m, MOST, {"vocabulary": FREQUENT}, c in LARGE)
        for s, c, m in product(MANY_SEEDS, REAL, WITH_BOOSTING)
        if s in SEEDS or c != "arxiv_0"
    ],
    "more": [
        (c, s, m, k, {}, False) for c, k, s, m in (*TRUE, *product(FEW, MORE_TOPICS, FEW_SEEDS, METHODS))
    ]
    + [usual_run("arxiv_0", s, m, MORE_TOPICS[-1]) for s, m in product(FEW_SEEDS, METHODS)]
    + [usual_run("arxiv_0", s, "V-OEM++", MORE_TOPICS[-1]) for s in SEEDS]
    + [usual_run(c, s, m, k) for c, k, s, m in TRUE_LONG],
    "seeds": [
        usual_run(c, s, m, k)
        for corpora, numbers, methods in OPEN
        for s, c, k, m in product(MANY_SEEDS, corpora, numbers, methods)
    ]
    + [usual_run("synthetic", s, m, k) for s, m, k in product(DRAWN_SEEDS, OPEN_WITH_DRAWN, (10, 20))]
    + [(c, s, "V-OEM", MOST, {}, False) for c, s in product(OPEN_BOOSTING, MANY_SEEDS)]
    + [("nips_uci", s, "OLDA", k, OF_DOCUMENTS, False) for s, k in product(MANY_SEEDS, (8, MOST))]
    + [("arxiv_0", s, "SVB", 32, settings, False) for s, settings in product(MANY_SEEDS, ({}, LONG))]
    + [(c, s, m, 2, {}, True) for c, s, m in product(OPEN_HDP, MANY_SEEDS, HIERARCHICAL)],
}


def has_given_prior(run):
    return run[2] in FIXED_PRIOR or run[4].get("doc_topic_prior") == "G-OEM"


def tells_prior(run):
    """The run of G-OEM on the same split."""
    corpus, seed, _, n_components, options, stream = run
    if "vocabulary" in options:
        return corpus, seed, "G-OEM", n_components, options, stream
    return usual_run(corpus, seed, "G-OEM", n_components)


def curves_of(cache, corpus, seed, n_components):
    """Method -> log-perplexity along the stream of a split, or None."""
    rows = {method: cache.get(*usual_run(corpus, seed, method, n_components)) for method in METHODS}
    return {method: row["log_perplexity"] if row else None for method, row in rows.items()}


def run_all(study, runs):
    """Measure split by split, methods with a given prior after the runs that tell it, and times last."""
    in_turn = [run for run in runs if run[2] == IN_TURN]
    given = [run for run in runs if has_given_prior(run)]
    others = [run for run in runs if run[2] != IN_TURN and not has_given_prior(run)]
    others += [tells_prior(run) for run in given + in_turn if run not in study.cache]

    def prior_of(run):
        return (study.cache.get(*tells_prior(run))["prior"],)

    def prior_and_curves_of(run):
        corpus, seed, _, n_components, *_ = run
        return *prior_of(run), curves_of(study.cache, corpus, seed, n_components)

    for seed, (some, prior) in product(DRAWN_SEEDS, ((others, lambda _: (None,)), (given, prior_of))):
        study.measure(measure, [run for run in some if run[1] == seed], prior)
    study.measure(measure_in_turn, in_turn, prior_and_curves_of)


# Tables and pictures, from what the cache has.


def runs_of(cache, corpus, method, n_components, options=None, stream=False, seeds=SEEDS):
    """The rows of all seeds that have been measured."""
    return cache.found((corpus, seed, method, n_components, options or {}, stream) for seed in seeds)


def last(rows, name="log_perplexity"):
    return [row[name][-1] for row in rows]


STYLES = styles(WITH_BOOSTING)


LOSS = "log-perplexity, nats per word"


def label(axes, xlabel, ylabel="nats per word", **more):
    for axis in axes.values():
        axis.set(xlabel=xlabel, ylabel=ylabel, **more)


def by_topics(cache, corpus, method, name="log_perplexity"):
    """Number of topics -> what all seeds end with."""
    found = {}
    for k in (*TOPICS, *MORE_TOPICS):
        rows = runs_of(cache, corpus, method, k, stream=k == MOST and method in METHODS)
        if rows:
            found[k] = last(rows, name)
    return found


def topics_axis(axis, numbers):
    axis.set_xscale("log", base=2)
    axis.set_xticks(numbers, [str(k) for k in numbers])


def draw_against_topics(study, methods, name):
    figure, axes = panels(list(CORPORA))
    rows = []
    for corpus, axis in axes.items():
        table = {method: by_topics(study.cache, corpus, method) for method in methods}
        for method, found in table.items():
            if found:
                line(axis, list(found), list(found.values()), method, STYLES[method])
            rows += [[corpus, method, k, *shown(spread(v)), len(v)] for k, v in found.items()]
        topics_axis(axis, sorted({k for found in table.values() for k in found}))
    label(axes, "topics")
    finish(figure, study.path(f"_{name}.svg"))
    study.write(name, ["corpus", "method", "topics", LOSS, *DECILES, "splits"], rows)


def runs_in_turn(cache, corpus):
    return runs_of(cache, corpus, IN_TURN, MOST, stream=True, seeds=MANY_SEEDS)


def draw_stream(study):
    """Log-perplexity of streams, against documents seen and against the time of all methods in turn."""
    of_all = product((*CORPORA, WHOLE), METHODS)
    streams = {of: runs_of(study.cache, *of, MOST, stream=True) for of in of_all}
    streams = {of: runs for of, runs in streams.items() if runs}
    documents = {of: runs[0]["documents"] for of, runs in streams.items()}
    curves = {of: [row["log_perplexity"] for row in runs] for of, runs in streams.items()}
    timed = {(corpus, method): runs_in_turn(study.cache, corpus) for corpus, method in streams}
    clocks = {
        (corpus, method): np.median([row["clock"][method] for row in rows], axis=0)
        for (corpus, method), rows in timed.items()
        if rows
    }
    draw_curves(study, "stream", "documents", "documents seen", documents, curves)
    draw_curves(study, "clock", "seconds", "seconds of training", clocks, curves)


def draw_curves(study, name, column, xlabel, points, curves):
    """points, curves : (corpus, method) -> x, and log-perplexity there for each split."""
    rows = []
    figure, axes = panels(list(dict.fromkeys(corpus for corpus, _ in points)) or [""])
    for (corpus, method), x in points.items():
        of_splits = curves[corpus, method]
        line(axes[corpus], x, list(np.transpose(of_splits)), method, STYLES[method])
        rows.extend([corpus, method, f"{n:g}", f"{v:.4f}"] for n, v in zip(x, np.median(of_splits, axis=0)))
    label(axes, xlabel, xscale="log")
    study.write(name, ["corpus", "method", column, LOSS], rows)
    if points:
        finish(figure, study.path(f"_{name}.svg"))


def draw_hdp(study):
    """Figure 5; in its table the log-perplexity at the end."""
    figure, axes = panels(list(CORPORA))
    rows, looks = [], styles(HDP_CURVES)
    for corpus, (name, run) in product(CORPORA, HDP_CURVES.items()):
        found = runs_of(study.cache, corpus, *run, stream=True)
        if found:
            values = np.array([row["log_perplexity"] for row in found])
            line(axes[corpus], found[0]["documents"], list(values.T), name, looks[name])
            counts = " ".join(str(row.get("topics", run[1])) for row in found)
            rows.append([corpus, name, *shown(spread(values[:, -1])), len(found), counts])
    label(axes, "documents seen", xscale="log")
    finish(figure, study.path("_hdp.svg"))
    study.write("hdp", ["corpus", "method", LOSS, *DECILES, "splits", "topics at the end"], rows)


def draw_bound(study):
    figure, axes = panels(list(CORPORA))
    rows = []
    for corpus, method in product((*CORPORA, WHOLE), ("OLDA", "SVB")):
        found = by_topics(study.cache, corpus, method, "bound")
        found = {k: values for k, values in found.items() if k in TOPICS}
        if found and corpus in axes:
            line(axes[corpus], list(found), list(found.values()), method, STYLES[method])
        for k, values in found.items():
            rest = last(runs_of(study.cache, corpus, method, k, OF_DOCUMENTS), "bound")
            medians = [f"{np.median(x):.4f}" if x else "" for x in (values, rest)]
            rows.append([corpus, method, k, *medians, len(values)])
    for axis in axes.values():
        topics_axis(axis, TOPICS)
    label(axes, "topics", "bound, nats per word")
    finish(figure, study.path("_bound.svg"))
    head = ["corpus", "method", "topics", "bound, nats per word", "without the term of topics", "splits"]
    study.write("bound", head, rows)


def draw_steps(study):
    iterates = {False: "last iterate", True: "average"}
    figure, axes = panels([f"{c}, {a}" for c in STEP_TOPICS for a in iterates.values()], 2)
    rows = []
    for corpus, average in product(STEP_TOPICS, iterates):
        axis = axes[f"{corpus}, {iterates[average]}"]
        for i, k in enumerate(STEP_TOPICS[corpus]):
            settings = [{"learning_decay": decay, "average": average} for decay in DECAYS]
            found = [last(runs_of(study.cache, corpus, "G-OEM", k, s, seeds=MANY_SEEDS)) for s in settings]
            if all(found):
                line(axis, DECAYS, found, f"{k} topics", {"color": f"C{i}", "marker": "."})
                yes = "yes" if average else "no"
                for decay, values in zip(DECAYS, found):
                    rows.append([corpus, k, decay, yes, f"{np.median(values):.4f}", len(values)])
        axis.legend(frameon=False)
    label(axes, "exponent of the step size")
    save(figure, study.path("_steps.svg"))
    study.write("steps", ["corpus", "topics", "learning_decay", "average", LOSS, "splits"], rows)


def write_prior(study):
    rows = []
    for decay, rule, method in product((0.5, 1.0), PRIOR_RULES, ONLINE_EM):
        settings = {**PRIOR_RULES[rule], "learning_decay": decay}
        runs = runs_of(study.cache, "synthetic", method, 10, settings, seeds=DRAWN_SEEDS)
        if runs:
            rows.append([method, decay, rule, *shown(spread(last(runs))), len(runs)])
    study.write("prior", ["method", "learning_decay", "prior", LOSS, *DECILES, "splits"], rows)


def write_variants(study):
    """What a setting adds to log-perplexity on the same splits, with the reach of the interval."""
    corpora = list(dict.fromkeys(corpus for variant in VARIANTS.values() for corpus in variant.corpora))
    rows = {}
    for name, variant in VARIANTS.items():
        for corpus, method, k, settings in cells_of(variant):
            usual = k == MOST and method in METHODS
            moved, beside = (
                [last(runs_of(study.cache, corpus, method, k, *which, seeds=[seed])) for seed in MANY_SEEDS]
                for which in ((settings,), (None, usual))
            )
            less = [a[0] - b[0] for a, b in zip(moved, beside) if a and b]
            if less:
                setting = ", ".join(f"{parameter}={value}" for parameter, value in settings.items())
                mean, low, _ = interval(less)
                cell = f"{mean:+.3f}" + (f" ± {mean - low:.3f}" if len(less) > 1 else "")
                rows.setdefault((name, method, k, setting), {})[corpus] = f"{cell} ({len(less)})"
    table = [[*key, *(cells.get(corpus, "") for corpus in corpora)] for key, cells in rows.items()]
    study.write("variants", ["moved", "method", "topics", "settings", *corpora], table)


def write_common(study):
    """All methods with the same fixed prior on each split, which is what G-OEM learns there."""
    rows = []
    for corpus in FEW:
        found = {}
        for method in METHODS:
            which = (None, True) if method in FIXED_PRIOR else ({"doc_topic_prior": "G-OEM"}, False)
            each = [runs_of(study.cache, corpus, method, MOST, *which, seeds=[s]) for s in FEW_SEEDS]
            found[method] = [last(rows_of_seed) for rows_of_seed in each]
        complete = [i for i in range(len(FEW_SEEDS)) if all(values[i] for values in found.values())]
        for method in METHODS if complete else ():
            values, beside = (np.array([found[name][i][0] for i in complete]) for name in (method, "G-OEM"))
            rows.append([corpus, method, *shown([values.mean(), *interval(values - beside)]), len(complete)])
    head = ["corpus", "method", LOSS, "less G-OEM", "95 percent interval from", "to", "splits"]
    study.write("common", head, rows)


def write_passes(study):
    """Figure 12 top: means after each of four passes with 200 local ones."""
    rows = []
    cells = [cell for variant in VARIANTS.values() for cell in cells_of(variant) if "passes" in cell[3]]
    for corpus, method, k, settings in cells:
        found = runs_of(study.cache, corpus, method, k, settings, seeds=MANY_SEEDS)
        for name in ("bound", "log_perplexity") if found else ():
            means = shown(np.mean([row[name] for row in found], axis=0))
            rows.append([corpus, method, k, name.replace("_", "-"), *means, len(found)])
    passes = [f"after pass {i + 1}" for i in range(4)]
    study.write("passes", ["corpus", "method", "topics", "nats per word", *passes, "splits"], rows)


def write_frequent(study):
    """Log-perplexity at the end, with the most frequent words alone."""
    rows = []
    for corpus, method in product(REAL, WITH_BOOSTING):
        of = corpus, method, MOST, {"vocabulary": FREQUENT}
        found = runs_of(study.cache, *of, stream=corpus in LARGE, seeds=MANY_SEEDS)
        if found:
            rows.append([corpus, method, *shown(spread(last(found))), len(found)])
    study.write("frequent", ["corpus", "method", LOSS, *DECILES, "splits"], rows)


def write_words(study):
    """NPMI and diversity of both methods; the first words of large topics, of the first split."""
    rows, words = [], []
    for corpus, method in product(FEW, ("G-OEM", "OLDA")):
        found = runs_of(study.cache, corpus, method, MOST, {"words": N_WORDS})
        if found:
            means = [interval([row[name] for row in found]) for name in ("npmi", "diversity")]
            rows.append([corpus, method, *shown(np.ravel(means)), len(found)])
            words += [[corpus, method, " ".join(each)] for each in found[0]["words"]]
    measures = [name for each in ("NPMI", "diversity") for name in (each, f"{each} from", f"{each} to")]
    study.write("npmi", ["corpus", "method", *measures, "splits"], rows)
    study.write("words", ["corpus", "method", "first words of a topic"], words)


def write_time(study):
    """Table 3: medians over splits of what one pass takes, with all methods in turn."""
    timed = {corpus: runs_in_turn(study.cache, corpus) for corpus in CORPORA}
    rows = []
    for method in METHODS:
        seconds = [[row["clock"][method][-1] for row in found] for found in timed.values()]
        rows.append([method, *(f"{np.median(each):.3g}" if each else "" for each in seconds)])
    study.write("time", ["seconds of training", *timed], rows)


def write_tables(study):
    """Everything that the runs in the cache allow."""
    draw_against_topics(study, METHODS, "topics")
    draw_against_topics(study, tuple(ONLINE_EM), "boosting")
    for write in (draw_stream, draw_hdp, draw_bound, draw_steps, write_prior, write_variants):
        write(study)
    for write in (write_common, write_passes, write_frequent, write_words, write_time):
        write(study)


def main():
    parser = new_parser(__doc__, runs=True)
    parser.add_argument("--figures", nargs="+", choices=STUDIES, default=STUDIES, help="measure these")
    arguments = parser.parse_args()
    study = Study("online_em", arguments)
    run_all(study, [run for name in arguments.figures for run in STUDIES[name]])
    write_tables(study)


if __name__ == "__main__":
    main()
