"""The comparison of Dupuy and Bach (2017) again: online EM and the methods it was compared with.

    python benchmarks/online_em_paper.py [--short] [--jobs 2] [--figures topics stream ...]

Needs SKTOPIC_DATA. Every run is kept, so that an interrupted study goes on where it stopped; tables and
pictures are drawn from the runs. All of it goes to benchmarks/output/, or with --update to doc/benchmarks/
and benchmarks/runs/. --short takes some minutes with few documents, to see that all works.

topics    figures 1 and 14: held-out log-perplexity against the number of topics
stream    figures 4 and 15: the same against documents seen, at the largest number of topics
boosting  figures 6 and 7: one global step a batch, or one after every local iteration (++)
steps     figures 8 and 9: exponents of the step size, with and without averaging of the topics
bound     figure 12: the evidence lower bound of the variational Bayesian methods
hdp       figures 5 and 16: G-OEM and VarGibbs for LDA and for the HDP, against documents seen
prior     figure 13: ways to learn the prior of the topic proportions
equal     VarGibbs with the topic prior of G-OEM, beside both, at the largest number of topics
time      table 3: processor time of training
more      figure 1 beyond 128 topics; and runs with 10 and 20 on synthetic data, for the claims alone
variants  one setting moved, with what that changes (see VARIANTS): figures 2, 10, 12 top, table 5 and others
words     table 4: words of topics, and their NPMI

The settings are the paper's: mini-batches of 100 documents, one pass, 20 local passes for each document,
step size t^-1/2 where it is free, medians over random splits with the third and seventh decile. Departures:
LDS has 20 local passes too (the paper gives it 200, which are a variant here) and the step sizes that are its
defaults here; when a prior is learned, its starting value counts like ten batches; VarGibbs and LDS have the
fixed prior that the paper gives SGS. HDPs start from two topics, as in the paper, with concentrations 1 and
10; VarGibbs for the HDP from as many as LDA has, too. Figures 10 and 11 multiply the step size by a number,
which ours does not have: here learning_offset is moved with the exponent.

Log-perplexity is minus the left-to-right log-likelihood of held-out documents, here in nats per word.
"""

import json
import time
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from _corpora import load
from _study import DECILES, Pool, Study, finish, interval, line, new_parser, panels, spread, styles

from sktopic import hdp, lda
from sktopic._topics._prior import default_topic_word_prior
from sktopic.datasets import make_lda_documents
from sktopic.metrics import coherence, left_to_right, topic_diversity
from sktopic.seeding import document_components

BATCH = 100
PASSES = 20
TOPICS = (8, 16, 32, 64, 128)
SEEDS = range(5)

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
SMALL = ("synthetic", "kos")

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
# These keep the prior fixed: at the mean of what G-OEM learns on the same split.
FIXED_PRIOR = ("VarGibbs", "SGS", "LDS")

# Beyond the first figure, and one setting moved, on fewer corpora and splits.
FEW, FEW_SEEDS = ("kos", "reuters21578"), range(3)
MORE_TOPICS = (256, 512)
N_WORDS, N_SHOWN = 15, 8


class Variant(NamedTuple):
    """Settings that are moved; besides parameters of the estimator there are passes, start and words."""

    methods: tuple
    settings: tuple
    topics: tuple = ()  # the most, unless given
    corpora: tuple = FEW


VARIANTS = {
    "mini-batches of 50": Variant(("G-OEM", "V-OEM++", "OLDA", "SPLDA"), ({"batch_size": 50},)),
    "local passes (figure 2)": Variant(
        ("OLDA",), tuple({"max_doc_update_iter": n} for n in (10, 100)), topics=(8, 32, 128)
    ),
    "local sweeps (section 6.2.3)": Variant(
        ("G-OEM",), tuple({"doc_burn_in": n - n // 4, "doc_sweeps": n // 4} for n in (50, 100))
    ),
    "200 local passes of LDS (section 6)": Variant(
        ("LDS",), ({"doc_burn_in": 150, "doc_sweeps": 50},), topics=(8, 128), corpora=("kos",)
    ),
    "step sizes of OLDA (figure 10)": Variant(
        ("OLDA",),
        tuple(
            {"learning_decay": kappa, "learning_offset": tau}
            for kappa in (0.5, 1.0)
            for tau in (0.0, 10.0, 100.0)
            if (kappa, tau) != (0.5, 0.0)
        ),
    ),
    "200 local passes, four passes (table 5, figure 12)": Variant(
        ("OLDA", "SVB"), ({"max_doc_update_iter": 200, "passes": 4},), topics=(8, 32)
    ),
    "steps of 1/t": Variant(
        ("G-OEM", "G-OEM++", "V-OEM++"),
        ({"learning_decay": 1.0},),
    ),
    "a start from documents": Variant(("G-OEM", "V-OEM++", "SPLDA"), ({"start": "documents"},)),
    "the prior fixed at that of G-OEM": Variant(
        ("G-OEM", "V-OEM++", "OLDA", "SVB", "SPLDA"),
        ({"doc_topic_prior": "G-OEM"},),
    ),
}


HIERARCHICAL = {"G-OEM HDP": hdp.OnlineEMHDP, "VarGibbs HDP": hdp.TruncationFreeHDP}
BIRTHS = {"G-OEM HDP": {"max_births": 1, "min_birth_tokens": 0.0}, "VarGibbs HDP": {}}
CONCENTRATIONS = {"topic_concentration": 1.0, "doc_concentration": 10.0}


def new_model(method, n_components, seed, prior, options):
    """The estimator of a method's name, set as in the paper but for the options."""
    learned = {"doc_topic_prior": "auto", "prior_update": "gradient"}
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
    return kind(**{"n_components": n_components, "random_state": seed, **LOOP, **settings, **options})


def synthetic(n_documents, seed):
    """As in the paper's section 6.2.4: ten topics found by OLDA in a real corpus, cut to 1000 words."""
    train, _, _ = load("arxiv_0")
    words = np.sort(np.argsort(-np.asarray(train.sum(axis=0)).ravel(), kind="stable")[:1000])
    model = lda.OnlineVariationalLDA(10, max_iter=1, batch_size=BATCH, random_state=0)
    topics = model.fit(train[:20_000]).components_[:, words]
    topics /= topics.sum(axis=1, keepdims=True)
    return make_lda_documents(
        n_documents, components=topics, mean_length=60, doc_topic_prior=0.1, random_state=seed
    ).data


def split(corpus, seed, short):
    """Training and test counts: another random split for every seed."""
    n_test, longest, _ = CORPORA[corpus]
    if corpus == "synthetic":
        counts = synthetic(2500 if short else 20_500, seed)
    else:
        counts = sp.vstack(load(corpus)[:2], format="csr")
    order = np.random.RandomState(seed).permutation(counts.shape[0])
    lengths = np.asarray(counts.sum(axis=1)).ravel()[order]
    if short:
        n_test = 20
    held_out = np.zeros(len(order), dtype=bool)
    held_out[np.flatnonzero((lengths > 0) & (lengths <= longest))[:n_test]] = True
    train = counts[order[~held_out]]
    return (train[:2000] if short else train), counts[order[held_out]]


def checkpoints(n_documents):
    """Documents seen at which a stream is scored: powers of two batches, and the end."""
    marks = [BATCH * 2**i for i in range(20) if BATCH * 2**i < n_documents]
    return [*marks, n_documents]


def measure(run, prior, short):
    """One run: a row of the cache."""
    corpus, seed, method, n_components, options, stream = run
    train, test = split(corpus, seed, short)
    n, particles = train.shape[0], CORPORA[corpus][2]
    n_passes, n_words, settings = parts_of(options, train, n_components, seed, prior)
    model = new_model(method, n_components, seed, prior, settings)
    model.set_params(**({"total_samples": n} if "total_samples" in model.get_params() else {}))
    marks = checkpoints(n) if stream else [n * (i + 1) for i in range(n_passes)]
    seconds, curve, bounds, seen = 0.0, [], [], 0
    for mark in marks:
        start, earlier = time.process_time(), seen // n * n  # documents of passes before
        for first in range(seen, mark, model.batch_size):
            model.partial_fit(train[first - earlier : min(first + model.batch_size, mark) - earlier])
        seconds += time.process_time() - start
        seen = mark
        curve.append(-left_to_right(model, test, n_particles=particles))
        if hasattr(model, "elbo"):
            bounds.append(bound_per_word(model, test, n))
    return {
        "run": key_of(run),
        "documents": marks,
        "log_perplexity": [round(value, 4) for value in curve],
        **({"bound": [round(value, 4) for value in bounds]} if bounds else {}),
        "seconds": round(seconds, 2),
        "prior": round(float(model.doc_topic_prior_.mean()), 5),
        "topics": int(model.n_components_),
        **(words_of(model, corpus, train, n_words, seed) if n_words else {}),
    }


def parts_of(options, train, n_components, seed, prior):
    """Passes, first words that are noted, and parameters of the estimator."""
    settings = dict(options)
    n_passes, n_words = settings.pop("passes", 1), settings.pop("words", 0)
    if settings.pop("start", None) == "documents":
        settings["components_init"] = document_components(train, n_components, random_state=seed)
    if settings.get("doc_topic_prior") == "G-OEM":
        settings["doc_topic_prior"] = prior
    return n_passes, n_words, settings


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


def key_of(run):
    corpus, seed, method, n_components, options, stream = run
    return json.dumps([corpus, seed, method, n_components, sorted(options.items()), stream])


# The studies: which runs each is made of.


def topics_runs(corpora, topics, seeds):
    for corpus, k, seed, method in product(corpora, topics, seeds, METHODS):
        yield corpus, seed, method, k, {}, k == max(topics)


def boosting_runs(corpora, topics, seeds):
    for corpus, k, seed, method in product(corpora, topics, seeds, ("G-OEM++", "V-OEM")):
        yield corpus, seed, method, k, {}, False


def steps_runs(corpora, topics, seeds):
    for corpus in (name for name in SMALL if name in corpora):
        few = (5, 10, 20) if corpus == "synthetic" else (8, 32, 128)
        for k, seed, decay, average in product(few, seeds, (0.0, 0.25, 0.5, 0.75, 1.0), (False, True)):
            yield corpus, seed, "G-OEM", k, {"learning_decay": decay, "average": average}, False


def hdp_curves(topics):
    """Name -> (method, topics at the start) of figure 5."""
    most = max(topics)
    curves = {f"{method}, {most} topics": (method, most) for method in ("G-OEM", "VarGibbs")}
    curves |= {f"{method} from 2": (method, 2) for method in HIERARCHICAL}
    return curves | {f"VarGibbs HDP from {most}": ("VarGibbs HDP", most)}


def hdp_runs(corpora, topics, seeds):
    for corpus, seed, (method, k) in product(corpora, seeds, hdp_curves(topics).values()):
        yield corpus, seed, method, k, {}, True


def equal_runs(corpora, topics, seeds):
    """VarGibbs with the topic prior that G-OEM has, which is 15 times smaller than its own."""
    prior = default_topic_word_prior(max(topics))
    for corpus, seed in product(corpora, seeds):
        yield corpus, seed, "VarGibbs", max(topics), {"topic_word_prior": prior}, True


PRIOR_RULES = {
    "fixed at the truth": {"doc_topic_prior": 0.1},
    "fixed point": {},
    "Gamma prior": {"prior_update": "gamma"},
}


def prior_runs(corpora, topics, seeds):
    if "synthetic" in corpora:
        for seed, method, rule, decay in product(seeds, ONLINE_EM, PRIOR_RULES.values(), (0.5, 1.0)):
            yield "synthetic", seed, method, 10, {**rule, "learning_decay": decay}, False


def more_runs(corpora, topics, seeds):
    true = product(("synthetic",), (10, 20), FEW_SEEDS, ("SPLDA", "OLDA", "VarGibbs", "SGS"))
    for corpus, k, seed, method in (*true, *product(FEW, MORE_TOPICS, FEW_SEEDS, METHODS)):
        if corpus in corpora and seed in seeds:
            yield corpus, seed, method, k, {}, False


def cells_of(variant, corpora, topics):
    """(corpus, method, topics, settings) of each comparison with what is not moved."""
    numbers = [k for k in variant.topics or (max(topics),) if k in topics]
    of = [corpus for corpus in variant.corpora if corpus in corpora]
    return product(of, variant.methods, numbers, variant.settings)


def variants_runs(corpora, topics, seeds):
    for seed, variant in product(FEW_SEEDS, VARIANTS.values()):
        for corpus, method, k, settings in cells_of(variant, corpora, topics):
            if seed in seeds:
                yield corpus, seed, method, k, settings, False


def words_runs(corpora, topics, seeds):
    for corpus, seed, method in product(FEW, FEW_SEEDS, ("G-OEM", "OLDA")):
        if corpus in corpora and seed in seeds:
            yield corpus, seed, method, max(topics), {"words": N_WORDS}, False


STUDIES = {
    "topics": topics_runs,
    "boosting": boosting_runs,
    "steps": steps_runs,
    "hdp": hdp_runs,
    "prior": prior_runs,
    "equal": equal_runs,
    "variants": variants_runs,
    "words": words_runs,
    "more": more_runs,
}
# Drawn from the runs of "topics".
FROM_TOPICS = ("stream", "bound", "time")


def has_given_prior(run):
    return run[2] in FIXED_PRIOR or run[4].get("doc_topic_prior") == "G-OEM"


def tells_prior(run, topics):
    """The run of G-OEM on the same split."""
    corpus, seed, _, n_components, *_ = run
    return corpus, seed, "G-OEM", n_components, {}, n_components == max(topics)


def run_all(runs, study, jobs, topics):
    """Measure what the cache does not have: split by split, so that an unfinished study has something of
    everything, and methods with a given prior after the runs that tell it."""
    unique = {key_of(run): run for run in runs}
    for run in list(unique.values()):
        if has_given_prior(run) and key_of(run) not in study.cache:
            telling = tells_prior(run, topics)
            unique[key_of(telling)] = telling
    rows = study.cache.rows
    todo = [run for key, run in unique.items() if key not in study.cache]
    with Pool(study, jobs, len(todo)) as pool:
        for seed, given in product(sorted({run[1] for run in todo}), (False, True)):
            calls = []
            for run in todo:
                if (run[1], has_given_prior(run)) == (seed, given):
                    prior = rows[key_of(tells_prior(run, topics))]["prior"] if given else None
                    calls.append((run, prior, study.short))
            pool.measure(measure, calls)


# Tables and pictures, from what the cache has.


def runs_of(cache, corpus, seeds, method, n_components, options=None, stream=False):
    """The rows of all seeds that have been measured."""
    keys = ((corpus, seed, method, n_components, options or {}, stream) for seed in seeds)
    return [cache.rows[key] for key in map(key_of, keys) if key in cache.rows]


def last(rows, name="log_perplexity"):
    return [row[name][-1] for row in rows]


STYLES = styles([*METHODS, "V-OEM", "G-OEM++"])


def by_topics(cache, corpora, topics, seeds, methods):
    """(corpus, method) -> (numbers of topics, log-perplexities of all seeds at each)."""
    table = {}
    for corpus, method in product(corpora, methods):
        found = {}
        for k in (*topics, *MORE_TOPICS):
            stream = k == max(topics) and method in METHODS
            rows = runs_of(cache, corpus, seeds, method, k, stream=stream)
            if rows:
                found[k] = last(rows)
        if found:
            table[corpus, method] = found
    return table


def draw_against_topics(study, corpora, topics, seeds, methods, name):
    table = by_topics(study.cache, corpora, topics, seeds, methods)
    figure, axes = panels(corpora)
    rows = []
    for (corpus, method), found in table.items():
        line(axes[corpus], list(found), list(found.values()), method, STYLES[method])
        for k, values in found.items():
            middle, low, high = spread(values)
            rows.append([corpus, method, k, f"{middle:.4f}", f"{low:.4f}", f"{high:.4f}", len(values)])
    for corpus, axis in axes.items():
        numbers = sorted({k for (of, _), found in table.items() if of == corpus for k in found})
        axis.set_xscale("log", base=2)
        axis.set_xticks(numbers, [str(k) for k in numbers])
        axis.set_xlabel("topics")
        axis.set_ylabel("nats per word")
    finish(figure, study.path(f"_{name}.png"))
    head = ["corpus", "method", "topics", "log-perplexity, nats per word", *DECILES, "splits"]
    study.write(name, head, rows)


def draw_stream(study, corpora, topics, seeds):
    figure, axes = panels(corpora)
    rows = []
    for corpus, method in product(corpora, METHODS):
        found = runs_of(study.cache, corpus, seeds, method, max(topics), stream=True)
        if not found:
            continue
        seen = found[0]["documents"]
        curves = np.array([row["log_perplexity"] for row in found])
        line(axes[corpus], seen, list(curves.T), method, STYLES[method])
        rows.extend([corpus, method, n, f"{np.median(v):.4f}"] for n, v in zip(seen, curves.T))
    for axis in axes.values():
        axis.set_xscale("log")
        axis.set_xlabel("documents seen")
        axis.set_ylabel("nats per word")
    finish(figure, study.path("_stream.png"))
    study.write("stream", ["corpus", "method", "documents", "log-perplexity, nats per word"], rows)


def draw_hdp(study, corpora, topics, seeds):
    """Figure 5; in its table the log-perplexity at the end."""
    figure, axes = panels(corpora)
    rows, curves = [], hdp_curves(topics)
    looks = styles(curves)
    for corpus, (name, run) in product(corpora, curves.items()):
        found = runs_of(study.cache, corpus, seeds, *run, stream=True)
        if found:
            values = np.array([row["log_perplexity"] for row in found])
            line(axes[corpus], found[0]["documents"], list(values.T), name, looks[name])
            ends = [f"{x:.4f}" for x in spread(values[:, -1])]
            counts = " ".join(str(row.get("topics", run[1])) for row in found)
            rows.append([corpus, name, *ends, len(found), counts])
    for axis in axes.values():
        axis.set(xscale="log", xlabel="documents seen", ylabel="nats per word")
    finish(figure, study.path("_hdp.png"))
    head = ["corpus", "method", "log-perplexity, nats per word", *DECILES, "splits", "topics at the end"]
    study.write("hdp", head, rows)


def draw_bound(study, corpora, topics, seeds):
    figure, axes = panels(corpora)
    rows = []
    for corpus, method in product(corpora, ("OLDA", "SVB")):
        found = {
            k: last(runs_of(study.cache, corpus, seeds, method, k, stream=k == max(topics)), "bound")
            for k in topics
        }
        found = {k: values for k, values in found.items() if values}
        if found:
            line(axes[corpus], list(found), list(found.values()), method, STYLES[method])
            rows.extend([corpus, method, k, f"{np.median(v):.4f}", len(v)] for k, v in found.items())
    for axis in axes.values():
        axis.set_xscale("log", base=2)
        axis.set_xticks(topics, [str(k) for k in topics])
        axis.set_xlabel("topics")
        axis.set_ylabel("bound, nats per word")
    finish(figure, study.path("_bound.png"))
    study.write("bound", ["corpus", "method", "topics", "bound, nats per word", "splits"], rows)


def draw_steps(study, corpora, topics, seeds):
    shown = [corpus for corpus in SMALL if corpus in corpora]
    figure, axes = panels([f"{c}, {a}" for c in shown for a in ("last iterate", "average")], 2)
    decays, rows = (0.0, 0.25, 0.5, 0.75, 1.0), []
    for corpus, average in product(shown, (False, True)):
        axis = axes[f"{corpus}, {'average' if average else 'last iterate'}"]
        for i, k in enumerate((5, 10, 20) if corpus == "synthetic" else (8, 32, 128)):
            found = [
                last(
                    runs_of(study.cache, corpus, seeds, "G-OEM", k, {"learning_decay": d, "average": average})
                )
                for d in decays
            ]
            if all(found):
                line(axis, decays, found, f"{k} topics", {"color": f"C{i}", "marker": "."})
                rows.extend(
                    [corpus, k, d, "yes" if average else "no", f"{np.median(v):.4f}", len(v)]
                    for d, v in zip(decays, found)
                )
        axis.set_xlabel("exponent of the step size")
        axis.set_ylabel("nats per word")
        axis.legend(frameon=False)
    figure.savefig(study.path("_steps.png"), dpi=100)
    head = ["corpus", "topics", "learning_decay", "average", "log-perplexity, nats per word", "splits"]
    study.write("steps", head, rows)


def draw_prior(study, seeds):
    decays = (0.5, 1.0)
    figure, axes = panels([f"learning_decay={decay}" for decay in decays])
    rows = []
    for decay, axis in zip(decays, axes.values()):
        for i, (rule, options) in enumerate(PRIOR_RULES.items()):
            for j, method in enumerate(ONLINE_EM):
                runs = runs_of(
                    study.cache, "synthetic", seeds, method, 10, {**options, "learning_decay": decay}
                )
                if runs:
                    middle, low, high = spread(last(runs))
                    label = rule if j == 0 else None
                    place, error = j + 0.2 * (i - 1), [[middle - low], [high - middle]]
                    axis.errorbar(place, middle, error, marker=".", color=f"C{i}", capsize=3, label=label)
                    rows.append(
                        [method, decay, rule, f"{middle:.4f}", f"{low:.4f}", f"{high:.4f}", len(runs)]
                    )
        axis.set_xticks(range(len(ONLINE_EM)), list(ONLINE_EM))
        axis.set_ylabel("nats per word")
    finish(figure, study.path("_prior.png"))
    head = ["method", "learning_decay", "prior", "log-perplexity, nats per word", *DECILES, "splits"]
    study.write("prior", head, rows)


def write_equal(study, corpora, topics, seeds):
    k = max(topics)
    own, equal = {}, {"topic_word_prior": default_topic_word_prior(k)}
    rows = []
    for corpus in corpora:
        for method, options in (("G-OEM", own), ("OLDA", own), ("VarGibbs", own), ("VarGibbs", equal)):
            found = runs_of(study.cache, corpus, seeds, method, k, options, stream=True)
            if found:
                name = f"{method}, topic prior of G-OEM" if options else method
                spreads = [f"{x:.4f}" for x in spread(last(found))]
                rows.append([corpus, name, k, *spreads, len(found)])
    head = ["corpus", "method", "topics", "log-perplexity, nats per word", *DECILES, "splits"]
    study.write("equal", head, rows)


def write_variants(study, seeds, topics):
    """What a setting adds to log-perplexity on the same splits, with the reach of the interval."""
    corpora = list(dict.fromkeys(corpus for variant in VARIANTS.values() for corpus in variant.corpora))
    rows = {}
    for name, variant in VARIANTS.items():
        for corpus, method, k, settings in cells_of(variant, corpora, topics):
            usual = k == max(topics) and method in METHODS
            moved, beside = (
                {seed: last(runs_of(study.cache, corpus, [seed], method, k, *which)) for seed in seeds}
                for which in ((settings,), (None, usual))
            )
            less = [a - b for seed in seeds for a, b in zip(moved[seed], beside[seed])]
            if less:
                setting = ", ".join(f"{parameter}={value}" for parameter, value in settings.items())
                mean, low, _ = interval(less)
                cell = f"{mean:+.3f}" + (f" ± {mean - low:.3f}" if len(less) > 1 else "")
                rows.setdefault((name, method, k, setting), {})[corpus] = f"{cell} ({len(less)})"
    table = [[*key, *(cells.get(corpus, "") for corpus in corpora)] for key, cells in rows.items()]
    study.write("variants", ["moved", "method", "topics", "settings", *corpora], table)


def write_common(study, topics):
    """All methods with the same fixed prior on each split, which is what G-OEM learns there."""
    rows, k = [], max(topics)
    for corpus in FEW:
        found = {}
        for method in METHODS:
            which = (None, True) if method in FIXED_PRIOR else ({"doc_topic_prior": "G-OEM"}, False)
            each = [runs_of(study.cache, corpus, [seed], method, k, *which) for seed in FEW_SEEDS]
            found[method] = [last(rows_of_seed) for rows_of_seed in each]
        complete = [i for i in range(len(FEW_SEEDS)) if all(values[i] for values in found.values())]
        for method in METHODS if complete else ():
            values, beside = (np.array([found[name][i][0] for i in complete]) for name in (method, "G-OEM"))
            numbers = [values.mean(), *interval(values - beside)]
            rows.append([corpus, method, *(f"{x:.4f}" for x in numbers), len(complete)])
    head = [
        "corpus",
        "method",
        "log-perplexity, nats per word",
        "less G-OEM",
        "95 percent interval from",
        "to",
    ]
    study.write("common", [*head, "splits"], rows)


def write_passes(study, seeds):
    """Figure 12 top: means after each of four passes with 200 local ones."""
    rows = []
    (variant,) = (each for each in VARIANTS.values() if "passes" in each.settings[0])
    for corpus, method, k in product(variant.corpora, variant.methods, variant.topics):
        found = runs_of(study.cache, corpus, seeds, method, k, variant.settings[0])
        if found:
            for name in ("bound", "log_perplexity"):
                means = np.mean([row[name] for row in found], axis=0)
                rows.append(
                    [corpus, method, k, name.replace("_", "-"), *(f"{x:.4f}" for x in means), len(found)]
                )
    head = [
        "corpus",
        "method",
        "topics",
        "nats per word",
        *(f"after pass {i + 1}" for i in range(4)),
        "splits",
    ]
    study.write("passes", head, rows)


def write_words(study, seeds, topics):
    """NPMI and diversity of both methods; the first words of large topics, of the first split."""
    rows, shown = [], []
    for corpus, method in product(FEW, ("G-OEM", "OLDA")):
        found = runs_of(study.cache, corpus, seeds, method, max(topics), {"words": N_WORDS})
        if found:
            means = [interval([row[name] for row in found]) for name in ("npmi", "diversity")]
            rows.append([corpus, method, *(f"{x:.4f}" for each in means for x in each), len(found)])
            shown += [[corpus, method, " ".join(words)] for words in found[0]["words"]]
    measures = [name for each in ("NPMI", "diversity") for name in (each, f"{each} from", f"{each} to")]
    study.write("npmi", ["corpus", "method", *measures, "splits"], rows)
    study.write("words", ["corpus", "method", "first words of a topic"], shown)


def draw_time(study, corpora, topics, seeds):
    rows = []
    for method in METHODS:
        found = [runs_of(study.cache, c, seeds, method, max(topics), stream=True) for c in corpora]
        rows.append([method, *(f"{np.median([r['seconds'] for r in f]):.1f}" if f else "" for f in found)])
    study.write("time", ["seconds of training", *corpora], rows)


def draw(study, corpora, topics, seeds):
    """Everything that the runs in the cache allow."""
    import matplotlib

    matplotlib.use("Agg")
    draw_against_topics(study, corpora, topics, seeds, METHODS, "topics")
    draw_against_topics(study, corpora, topics, seeds, tuple(ONLINE_EM), "boosting")
    draw_stream(study, corpora, topics, seeds)
    draw_hdp(study, corpora, topics, seeds)
    draw_bound(study, corpora, topics, seeds)
    draw_steps(study, corpora, topics, seeds)
    draw_prior(study, seeds)
    write_equal(study, corpora, topics, seeds)
    write_variants(study, seeds, topics)
    write_common(study, topics)
    write_passes(study, seeds)
    write_words(study, seeds, topics)
    draw_time(study, corpora, topics, seeds)


def main():
    parser = new_parser(__doc__, long=True)
    parser.add_argument("--corpora", nargs="+", choices=list(CORPORA), default=list(CORPORA))
    parser.add_argument("--figures", nargs="+", choices=[*STUDIES, *FROM_TOPICS], default=None)
    parser.add_argument(
        "--methods", nargs="+", choices=[*METHODS, *ONLINE_EM, *HIERARCHICAL], help="run these"
    )
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="splits that are run")
    arguments = parser.parse_args()
    names = [name for name in STUDIES if arguments.figures is None or name in arguments.figures]
    if arguments.figures and set(arguments.figures) & set(FROM_TOPICS) and "topics" not in names:
        names.insert(0, "topics")
    topics, seeds = ((8, 16), range(2)) if arguments.short else (TOPICS, SEEDS)
    study = Study("online_em", arguments)
    runs = [run for name in names for run in STUDIES[name](arguments.corpora, topics, seeds)]
    if arguments.methods:
        runs = [run for run in runs if run[2] in arguments.methods]
    if not arguments.draw_only:
        runs = [run for run in runs if run[1] < arguments.seeds]
        run_all(runs, study, arguments.jobs, topics)
    found = {json.loads(run)[0] for run in study.cache.rows}
    draw(study, [corpus for corpus in CORPORA if corpus in found], topics, seeds)


if __name__ == "__main__":
    main()
