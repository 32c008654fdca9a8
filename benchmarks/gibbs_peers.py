"""Other libraries, on planted cells and on text, and criteria for the number of topics.

    python benchmarks/gibbs_peers.py [--only part=engines corpus=kos n_components=100]

cells   Planted accessible peaks: 1000 cells, 10 topics, counts set to one. The samplers that pycisTopic runs
        (lda, tomotopy; RustMallet has that of MALLET) with its settings, priors 50 / K and 0.1 and 150
        sweeps, and CollapsedGibbsLDA with the same ones; OnlineEMLDA with its defaults.
text    KOS with 100 topics; every library with its defaults, CollapsedGibbsLDA with learned priors and the
        1000 sweeps of the others.
number  Criteria for several numbers of topics of OnlineEMLDA, on the cells.
engines Score against time of ENGINES, on CORPORA. Each is trained from scratch with one pass, then with as
        many as take a part of the budget of processor seconds (BUDGETS, SHARES), equal for all, if these are
        at least twice as many. A run that no longer raises the score is the last. Engines take turns. Later
        seeds have the passes of the first. Tables and picture have medians over the seeds, and at 50 topics
        means of NPMI and diversity of the run with the best score. Settings are defaults; samplers learn
        their priors if they can, after a quarter of the sweeps at most. gensim runs with 64-bit numbers, too:
        on Intel processors, many of its 32-bit ones are denormal, which takes time. Figures of WarpLDA and
        MALLET are those of engines.toml, from another machine, where they are of the same test documents. Of
        arXiv, the first 30,000 abstracts are used. With many topics, slow engines are measured on ONE_CORPUS
        with one seed. Engines that read words do not know those without tokens in training, which lowers
        their scores a little.
early   OnlineEMLDA, trained from scratch on the first documents alone, in runs of their own: what it needs
        to reach a score of others, if that takes less than a pass.

Seconds are those of the processor, of the call that trains. All models are scored by the same document
completion of held-out documents, with their topics and prior. Similarity is the mean cosine of matched topics
and those that drew the cells. benchmarks/README.md says how to install the packages of all engines.
"""

import logging
import tempfile
import tomllib
from collections.abc import Callable
from contextlib import chdir
from functools import partial
from importlib.metadata import version
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _corpora import N_TEST, load
from _pictures import finish, panels, styles
from _study import Study, new_parser, seconds_of, shown
from _traces import GENSIM_LDA
from engines import FEWER_TESTED, FOUND, MOST_DOCUMENTS

from sktopic.datasets import make_lda_documents
from sktopic.lda import CollapsedGibbsLDA, OnlineEMLDA
from sktopic.metrics import (
    arun_2010,
    cao_juan_2009,
    coherence,
    document_completion,
    match_topics,
    topic_diversity,
)

PLANTED = 10
N_CELLS, N_TEST_CELLS = 1000, 300
# Of pycisTopic: the sum of the prior of topics, the prior of words, and sweeps.
ALPHA_SUM, ETA, SWEEPS = 50.0, 0.1, 150
TEXT_TOPICS = 100
NUMBERS = (4, 6, 8, 10, 12, 15, 20, 30)
SEEDS = {"cells": 3, "text": 1, "number": 3, "engines": 3, "early": 3}


def cells():
    """Training cells, test cells and the planted topics."""
    bunch = make_lda_documents(
        N_CELLS + N_TEST_CELLS,
        n_features=10_000,
        n_components=PLANTED,
        mean_length=1000,
        topic_word_prior=0.1,
        random_state=0,
    )
    X = bunch.data
    X.data[:] = 1
    return X[:N_CELLS], X[N_CELLS:], bunch.components


def tokens_of(X):
    """The documents as lists of names of their columns."""
    words = [f"w{column}" for column in range(X.shape[1])]
    return [
        [words[column] for column in np.repeat(X.indices[first:end], X.data[first:end])]
        for first, end in pairwise(X.indptr)
    ]


def in_order(topics, words, n_features):
    """Topics with their columns in the order of X; words that a library does not know have none."""
    ordered = np.zeros((len(topics), n_features))
    ordered[:, [int(word[1:]) for word in words]] = topics
    return ordered


# Each takes counts, their tokens, a seed and settings, and returns topics, prior and seconds.


def of_lda(X, tokens, seed, settings):
    import lda

    logging.getLogger("lda").setLevel(logging.WARNING)
    model = lda.LDA(random_state=seed, refresh=10**6, **settings)
    seconds, _ = seconds_of(model.fit, X)
    return model.topic_word_, settings["alpha"], seconds


def of_tomotopy(X, tokens, seed, settings):
    import tomotopy

    sweeps, optim_interval = settings.pop("sweeps"), settings.pop("optim_interval", 0)
    model = tomotopy.LDAModel(seed=seed, **settings)
    model.optim_interval = optim_interval
    for document in tokens:
        model.add_doc(document)
    seconds, _ = seconds_of(model.train, sweeps, workers=1)
    topics = [model.get_topic_word_dist(k) for k in range(model.k)]
    return in_order(topics, model.used_vocabs, X.shape[1]), model.alpha, seconds


TOPICA_FIT = "iters", "num_samples", "sample_interval"  # the others are settings of the model


def of_topica(X, tokens, seed, settings):
    """Its LDA, OnlineLDA or HDP; the prior of a topic of an HDP is in proportion to its tokens."""
    import topica

    corpus, name = topica.Corpus.from_documents(tokens), settings.pop("model")
    of_fit = {key: settings.pop(key) for key in TOPICA_FIT if key in settings}
    seconds, model = seconds_of(getattr(topica, name)(seed=seed, **settings).fit, corpus, **of_fit)
    shares = np.average(model.doc_topic, axis=0, weights=model.doc_lengths) if name == "HDP" else 1
    return in_order(model.topic_word, model.vocabulary, X.shape[1]), model.alpha * shares, seconds


def of_pyrmallet(X, tokens, seed, settings):
    from pyrmallet import _rust_mallet

    corpus = _rust_mallet.Corpus.from_strings([" ".join(document) for document in tokens], token_regex=r"\S+")
    seconds, model = seconds_of(_rust_mallet.train, corpus, seed=seed, **settings)
    return in_order(model.topic_word_matrix(), model.vocabulary, X.shape[1]), model.alpha, seconds


def of_scikit_learn(X, tokens, seed, settings):
    from sklearn.decomposition import LatentDirichletAllocation

    seconds, model = seconds_of(LatentDirichletAllocation(random_state=seed, **settings).fit, X)
    return model.components_, model.doc_topic_prior_, seconds


def of_gensim(X, tokens, seed, settings):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    settings |= {"id2word": {i: str(i) for i in range(X.shape[1])}, "random_state": seed}
    seconds, model = seconds_of(LdaModel, list(Sparse2Corpus(X, documents_columns=False)), **settings)
    return model.get_topics(), model.alpha, seconds


def of_bigartm(X, tokens, seed, settings):
    """It writes its log into the working directory."""
    import artm

    passes = settings.pop("passes")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        data = Path(folder, "documents")
        data.write_text("".join(f"{i} {' '.join(document)}\n" for i, document in enumerate(tokens)))
        batches = artm.BatchVectorizer(data_path=str(data), data_format="vowpal_wabbit", target_folder=folder)
        model = artm.LDA(seed=seed, dictionary=batches.dictionary, num_processors=1, **settings)
        seconds, _ = seconds_of(model.fit_offline, batches, passes)
    topics = model.phi_
    words = [word for _, word in topics.index]
    return in_order(topics.to_numpy().T, words, X.shape[1]), model.alpha, seconds


def of_vowpal_wabbit(X, tokens, seed, settings):
    """Words are numbers, and the table has a power of two of them. The constructor trains."""
    import vowpalwabbit

    parts = [slice(*ends) for ends in pairwise(X.indptr)]
    documents = (zip(X.indices[part], X.data[part], strict=True) for part in parts)
    lines = (" ".join(f"{word}:{count}" for word, count in document) for document in documents)
    with tempfile.TemporaryDirectory() as folder:
        data, topics = Path(folder, "documents"), Path(folder, "topics")
        data.write_text("".join(f"| {line}\n" for line in lines))
        settings |= {"data": str(data), "cache_file": f"{data}.cache", "readable_model": str(topics)}
        settings |= {"bit_precision": (X.shape[1] - 1).bit_length(), "lda_D": X.shape[0], "random_seed": seed}
        flags = dict.fromkeys(("quiet", "holdout_off", "kill_cache"), True)
        seconds, model = seconds_of(vowpalwabbit.Workspace, **settings, **flags)
        model.finish()
        weights, n_topics = np.full((X.shape[1], settings["lda"]), np.nan), settings["lda"]
        with topics.open() as lines:
            for word, *row in map(str.split, lines):
                if len(row) == n_topics and int(word) < len(weights):
                    weights[int(word)] = row
    assert not np.isnan(weights).any()
    return weights.T, settings["lda_alpha"], seconds


def of_ours(estimator):
    def fitted(X, tokens, seed, settings):
        seconds, model = seconds_of(estimator(random_state=seed, n_jobs=1, **settings).fit, X)
        return model.components_, model.doc_topic_prior_, seconds

    return fitted


ALPHA = ALPHA_SUM / PLANTED
PRIORS = {"alpha": ALPHA, "eta": ETA}
MALLET = {"num_topics": PLANTED, "iterations": SWEEPS, "alpha_sum": ALPHA_SUM, "beta": ETA}
MALLET |= {"optimize_interval": 0, "num_samples": 1, "sample_interval": 1}
GIBBS = {"n_components": PLANTED, "max_iter": SWEEPS, "n_draws": 1}
GIBBS |= {"doc_topic_prior": ALPHA, "topic_word_prior": ETA}
AUTO = {"doc_topic_prior": "auto", "topic_word_prior": "auto"}
LEARNING = {"n_components": TEXT_TOPICS, "max_iter": 1000, **AUTO}
MODELS = {
    "cells": {
        "lda": (of_lda, {"n_topics": PLANTED, "n_iter": SWEEPS, **PRIORS}),
        "tomotopy": (of_tomotopy, {"k": PLANTED, "sweeps": SWEEPS, **PRIORS}),
        "RustMallet": (of_pyrmallet, MALLET),
        "CollapsedGibbsLDA": (of_ours(CollapsedGibbsLDA), GIBBS),
        "OnlineEMLDA": (of_ours(OnlineEMLDA), {"n_components": PLANTED}),
    },
    "text": {
        "topica": (of_topica, {"model": "LDA", "num_topics": TEXT_TOPICS, "iters": 1000}),
        "RustMallet": (of_pyrmallet, {"num_topics": TEXT_TOPICS}),
        "CollapsedGibbsLDA": (of_ours(CollapsedGibbsLDA), LEARNING),
        "OnlineEMLDA": (of_ours(OnlineEMLDA), {"n_components": TEXT_TOPICS}),
    },
}


class Engine(NamedTuple):
    """A model of another library, or of ours.

    package : name on the package index
    train : one of the functions above
    topics : name of the setting for the number of topics, or None if it is found
    passes : name of the setting for the number of passes, or a function from this number to settings
    settings : the others
    most_topics : largest number of topics that is measured on all corpora. With more, a pass takes much
        longer than the budget, so only seed 0 on ONE_CORPUS is measured.
    """

    package: str
    train: Callable
    topics: str | None
    passes: str | Callable
    settings: dict
    most_topics: int = 10_000

    def given(self, n_components, passes):
        """All settings."""
        of_passes = self.passes(passes) if callable(self.passes) else {self.passes: passes}
        return {**self.settings, **({self.topics: n_components} if self.topics else {}), **of_passes}


def of_sweeps(name, passes):
    """Settings of RustMallet and topica: up to five samples, which follow the other sweeps."""
    n_samples, interval = min(max(passes // 5, 1), 5), max(passes // 25, 1)
    drawn = {"num_samples": n_samples, "sample_interval": interval, "burn_in": passes // 4}
    return {name: passes - n_samples * interval, **drawn}


VB = {"learning_method": "online"}
BATCHES = {"minibatch": 256, "power_t": 0.5, "lda_alpha": 0.1, "initial_t": 1}
LEARNED = {"optimize_interval": 10}
TOPICA, WARP = {"model": "LDA", **LEARNED}, {"model": "LDA", "sampler": "warp", **LEARNED}
GROWING = {"model": "HDP", "alpha": 1.0, "gamma": 1.0}  # with its defaults: one topic after 10 sweeps of KOS
ITERS, ITERATIONS = partial(of_sweeps, "iters"), partial(of_sweeps, "iterations")
ENGINES = {
    "OnlineEMLDA": Engine("sktopic", of_ours(OnlineEMLDA), "n_components", "max_iter", {}),
    "CollapsedGibbsLDA": Engine("sktopic", of_ours(CollapsedGibbsLDA), "n_components", "max_iter", AUTO),
    "scikit-learn": Engine("scikit-learn", of_scikit_learn, "n_components", "max_iter", VB, 1000),
    "gensim": Engine("gensim", of_gensim, "num_topics", "passes", {"alpha": "auto"}, 1000),
    "gensim, 64 bits": Engine("gensim", of_gensim, "num_topics", "passes", GENSIM_LDA, 1000),
    "tomotopy": Engine("tomotopy", of_tomotopy, "k", "sweeps", {"optim_interval": 10}),
    "topica, sparse": Engine("topica", of_topica, "num_topics", ITERS, TOPICA),
    "topica, warp": Engine("topica", of_topica, "num_topics", ITERS, WARP),
    "topica, online": Engine("topica", of_topica, "num_topics", "iters", {"model": "OnlineLDA"}, 100),
    "topica, HDP": Engine("topica", of_topica, None, "iters", GROWING),
    "RustMallet": Engine("pyrmallet", of_pyrmallet, "num_topics", ITERATIONS, LEARNED),
    "BigARTM": Engine("bigartm10", of_bigartm, "num_topics", "passes", {}, 1000),
    "Vowpal Wabbit": Engine("vowpalwabbit", of_vowpal_wabbit, "lda", "passes", BATCHES, 1000),
    "lda": Engine("lda", of_lda, "n_topics", "n_iter", {"alpha": 0.1, "eta": 0.01}, 1000),
}
OURS = "OnlineEMLDA"  # with which others are compared
# With the largest number of topics: topica refuses more topics than words, and KOS has fewer than 10,000.
CORPORA = {"kos": 1000}
CORPORA |= dict.fromkeys(("nips1740", "reuters21578", "20news", "enron_inbox", "arxiv_0"), 10_000)
ONE_CORPUS = "20news"  # of slow engines with many topics
READ_TOPICS = 50  # at which coherence and diversity are measured
# By the number of topics: processor seconds of the longest run.
BUDGETS = {READ_TOPICS: 4, 100: 10, 1000: 10, 10_000: 32}
SHARES = 1 / 16, 1 / 4, 1, 1  # the last one again, for engines that take long to begin
EARLY = 1 / 16, 1 / 4  # of the documents
LEAST_RISE, LEARNED_RISE = 0.002, 0.02  # of the score, of the last run and since the first
MODEL_HEAD = ["seconds of training", "score, nats per word"]
BEST_HEAD = [
    "corpus",
    "topics",
    "engine",
    "release",
    "seeds",
    "budget, s",
    "still rises",
    "passes",
    *MODEL_HEAD,
]
BEST_HEAD += ["score of ours by then", "seconds of ours", "times as fast"]
BEST_HEAD += ["seconds of ours, with parts of a pass", "times as fast, with parts of a pass"]
HEADS = {
    "cells": ["model", *MODEL_HEAD, "similarity to the planted topics"],
    "text": ["model", *MODEL_HEAD],
    "number": ["topics", "score, nats per word", "Arun et al. 2010", "Cao et al. 2009"],
}
MEASURES = {"cells": ["score", "similarity"], "text": ["score"], "number": ["score", "arun", "cao"]}


def trained(train, X, tokens, X_test, seed, settings):
    """Topics, and the row of a run."""
    topics, prior, seconds = train(X, tokens, seed, dict(settings))
    topics = topics / topics.sum(axis=1, keepdims=True) + 1e-12  # for words that have no tokens
    score = document_completion(topics, X_test, doc_topic_prior=prior)
    return topics, {"seconds": round(seconds, 3), "score": round(score, 5)}


def measure(part, name, seed):
    """The row of a run; of "number" the name is the number of topics."""
    X, X_test, planted = load("kos") if part == "text" else cells()
    if part == "number":
        seconds, model = seconds_of(OnlineEMLDA(name, random_state=seed, n_jobs=1).fit, X)
        arun = arun_2010(model, X, proportions=model.transform(X))
        measured = {"arun": round(arun, 5), "cao": round(cao_juan_2009(model), 5)}
        score = round(document_completion(model, X_test), 5)
        return {"seconds": round(seconds, 3), "score": score, **measured}
    train, settings = MODELS[part][name]
    topics, row = trained(train, X, tokens_of(X), X_test, seed, settings)
    if part == "cells":
        row["similarity"] = round(float(match_topics(topics, planted).similarity.mean()), 5)
    return row


def lengths(rows, budget):
    """Passes of each run: one, then as many as take shares of the budget, at the speed of the run before."""
    yield 1
    for share in SHARES:
        last = rows[-1]
        passes = int(share * budget / last["seconds"] * last["passes"])
        if passes >= 2 * last["passes"] and not levelled(rows):
            yield passes


def levelled(rows):
    """Whether the last run did not raise the score, once it had risen: a sampler's first sweeps may not."""
    *scores, last = (row["score"] for row in rows)
    best = max(scores, default=-np.inf)
    return bool(scores and best > scores[0] + LEARNED_RISE and last < best + LEAST_RISE)


def documents_of(corpus):
    """Counts to train on and to score."""
    X, X_test, _ = load(corpus)
    return X[:MOST_DOCUMENTS], X_test[:N_TEST]


def curve(corpus, n_components, name, seed, passes=()):
    """The row of the runs of an engine: passes, seconds and scores of each.

    passes : those of the runs, or () to choose them
    """
    X, X_test = documents_of(corpus)
    engine, tokens, rows, best = ENGINES[name], tokens_of(X), [], None
    for n in passes or lengths(rows, BUDGETS[n_components]):
        given = engine.given(n_components, n)
        topics, row = trained(engine.train, X, tokens, X_test, seed, given)
        if not rows or row["score"] > max(each["score"] for each in rows):
            best = topics
        rows.append({"passes": n, **row})
    found = {key: [row[key] for row in rows] for key in rows[0]}
    found |= {"levelled": levelled(rows), "release": version(engine.package)}
    if n_components == READ_TOPICS:
        found["npmi"], found["diversity"] = round(coherence(best, X), 5), round(topic_diversity(best), 5)
    return found


def early(corpus, n_components, seed):
    """The row of OURS, trained on parts of the documents: seconds and scores of each."""
    X, X_test = documents_of(corpus)
    engine, rows = ENGINES[OURS], []
    for part in EARLY:
        some, given = X[: round(part * X.shape[0])], engine.given(n_components, 1)
        rows.append(trained(engine.train, some, (), X_test, seed, given)[1])
    return {key: [row[key] for row in rows] for key in rows[0]}


def passes_of_first(study, run):
    """The last argument of `curve`: the passes of the first seed."""
    if run[0] != "engines" or run[-1] == 0:
        return ()
    if (first := study.cache.get(*run[:-1], 0)) is None:
        raise SystemExit(f"Measure seed 0 of {run} first.")
    return (first["passes"],)


def runs_of(part):
    """An engine that finds the number of topics runs once, beside those with TEXT_TOPICS."""
    if part == "engines":
        grid = product(range(SEEDS[part]), CORPORA, BUDGETS, ENGINES)
        return [(part, *run, seed) for seed, *run in grid if runs_on(*run, seed)]
    if part == "early":
        grid = product(range(SEEDS[part]), CORPORA, BUDGETS)
        return [(part, *run, seed) for seed, *run in grid if runs_on(*run, OURS, seed)]
    return [(part, name, seed) for seed, name in product(range(SEEDS[part]), MODELS.get(part, NUMBERS))]


def runs_on(corpus, n_components, name, seed):
    engine = ENGINES[name]
    if not engine.topics:
        return n_components == TEXT_TOPICS
    if n_components > engine.most_topics and (corpus, seed) != (ONE_CORPUS, 0):
        return False
    return n_components <= CORPORA[corpus]


def write_tables(study):
    """Medians of seconds and means of the rest, over seeds."""
    for part, head in HEADS.items():
        table = []
        for name in MODELS.get(part, NUMBERS):
            found = study.cache.found((part, name, seed) for seed in range(SEEDS[part]))
            if len(found) == SEEDS[part]:
                means = [f"{np.mean([row[key] for row in found]):.4f}" for key in MEASURES[part]]
                seconds = f"{np.median([row['seconds'] for row in found]):.1f}"
                table.append([name, *means] if part == "number" else [name, seconds, *means])
        study.write(part, head, table)
    write_engines(study)


def curves(study):
    """(corpus, topics) -> engine -> points (passes, seconds, score), medians over the seeds.

    Passes are below 1 for parts of the documents, and "" for engines that were measured on another machine.
    """
    apart, found = tomllib.loads(FOUND.read_text()), {}
    for corpus, n_components, name in product(CORPORA, BUDGETS, ENGINES):
        if rows := seeds_of(study, corpus, n_components, name):
            points = medians(rows[0]["passes"], rows)
            if name == OURS:
                runs = (("early", corpus, n_components, seed) for seed in range(SEEDS["early"]))
                points = [*medians(EARLY, study.cache.found(runs)), *points]
            found.setdefault((corpus, n_components), {})[name] = points
    for (corpus, n_components), of in found.items():
        if (corpus, n_components) in FEWER_TESTED:
            continue
        for name, (score, seconds) in apart.get(corpus, {}).get(str(n_components), {}).items():
            of[f"{name}, another machine"] = [("", seconds, score)]
    return found


def medians(passes, rows):
    """Points (passes, seconds, score), medians over the rows; none without rows."""
    if not rows:
        return []
    both = (np.median([row[key] for row in rows], axis=0) for key in ("seconds", "score"))
    return [*zip(passes, *both, strict=True)]


def seeds_of(study, corpus, n_components, name):
    runs = (("engines", corpus, n_components, name, seed) for seed in range(SEEDS["engines"]))
    return study.cache.found(runs)


def best_rows(study, found):
    """Of each engine, its best score; what OURS has reached by then, and its shortest run with that score."""
    for (corpus, n_components), of in found.items():
        for name, points in of.items():
            passes, seconds, score = max(points, key=lambda point: point[2])
            rows = seeds_of(study, corpus, n_components, name) if name in ENGINES else []
            about = ("",) * 4
            if rows:
                rises = ("no" if rows[0]["levelled"] else "yes") if len(rows[0]["passes"]) > 1 else ""
                about = rows[0]["release"], len(rows), BUDGETS[n_components], rises
            own = of.get(OURS, ())
            whole = [point for point in own if point[0] >= 1]
            by_then = max((its for _, t, its in whole if t <= seconds), default=np.nan)
            beside = [*shown([by_then])]
            for runs in (whole, own):
                until = min((t for _, t, its in runs if its >= score), default=np.nan)
                beside += [*shown([until], ".2f"), *shown([seconds / until], ".2f")]
            yield corpus, n_components, name, *about, passes, f"{seconds:.2f}", f"{score:.4f}", *beside


def write_engines(study):
    found = curves(study)
    table = [
        [corpus, n_components, name, passes, f"{seconds:.2f}", f"{score:.4f}"]
        for (corpus, n_components), of in found.items()
        for name, points in of.items()
        for passes, seconds, score in points
    ]
    study.write("engines", ["corpus", "topics", "engine", "passes", *MODEL_HEAD], table)
    study.write("engines best", BEST_HEAD, [*best_rows(study, found)])
    table = []
    for corpus, name in product(CORPORA, ENGINES):
        if rows := seeds_of(study, corpus, READ_TOPICS, name):
            means = [np.mean([row[key] for row in rows]) for key in ("npmi", "diversity")]
            table.append([corpus, name, len(rows), *(f"{mean:.3f}" for mean in means)])
    study.write("engines read", ["corpus", "engine", "seeds", "NPMI", "diversity"], table)


def draw(study):
    found = curves(study)
    in_rows = sorted(found, key=lambda key: key[1] == 10_000)  # each corpus has a row; not all have these
    titles = {key: f"{key[0]}, {key[1]} topics" for key in in_rows}
    figure, axes = panels([*titles.values()])
    width, height = figure.get_size_inches()
    figure.set_size_inches(max(width, 8), height + 1)  # room for the legend
    style = styles(dict.fromkeys([*ENGINES, *(name for of in found.values() for name in of)]))
    for number, kind in enumerate(style.values()):
        kind["marker"] = ".x"[number // 10]  # as colors come again
    for key, of in found.items():
        for name, points in of.items():
            _, seconds, scores = zip(*points, strict=True)
            axes[titles[key]].semilogx(seconds, scores, label=name, **style[name])
        axes[titles[key]].set(xlabel="seconds", ylabel="nats per word")
        axes[titles[key]].xaxis.set_minor_formatter("")  # labels between powers of ten would overlap
    finish(figure, study.path("_engines.svg"))


def main():
    study = Study("gibbs_peers", new_parser(__doc__, runs=True, jobs=1).parse_args())
    functions = {part: partial(measure, part) for part in HEADS} | {"engines": curve, "early": early}
    runs = [run for part in functions for run in runs_of(part)]
    study.measure(functions, [run for run in runs if run[-1] == 0])
    study.measure(functions, [run for run in runs if run[-1] > 0], partial(passes_of_first, study))
    write_tables(study)
    if study.cache.select(part="engines"):
        draw(study)


if __name__ == "__main__":
    main()
