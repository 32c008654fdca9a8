"""Covariates of documents: intervals of effects, held-out scores given covariates, and a large corpus.

    python benchmarks/covariates.py

planted Documents are drawn from topics whose prior depends on a normal and a binary covariate. Topics,
        effects and documents are new for each seed, and training starts from the topics. There are three
        kinds of 95 percent intervals: of the effects in the prior, from DMRLDA; of the effects on
        proportions, from draws of DMRLDA given the covariates, and from draws of OnlineEMLDA with a learned
        prior. The truth of the last two is the regression of proportions in a large population. "Estimate" is
        the slope of the estimates on the truth, "width" the root mean square width of the intervals, both as
        a share of the true effects.
rare    Planted documents of 20 words. The second covariate is a category with 3 percent of them. Intervals of
        its effects in the prior, from DMRLDA with its defaults. "Estimate" and "width" are as above.
text    Held-out scores of models with 50 topics. The covariate is the newsgroup, the archive of the abstract
        or the year of the paper. DMRLDA, tomotopy's DMRModel and topica's DMR have one indicator for each
        category, and OnlineEMLDA has none. topica's DMR learns its prior in every tenth sweep, as tomotopy
        does by default. All are scored by the same document completion, with the prior of each category, on
        words that training documents have. Topica's STM is left out: its prior is logistic normal, so this
        completion would need another inference. Seconds are those of the processor, of the calls that train.
        Needs tomotopy, topica, and SKTOPIC_DATA.
large   Documents of 200 words from 50 topics and ten covariates, drawn in blocks, in one pass of partial_fit
        with two threads. Seconds are of partial_fit alone, by the clock.
"""

import time
from functools import partial
from itertools import product

import numpy as np
import scipy.sparse as sp
from _corpora import load, load_metadata
from _study import Study, interval, new_parser, seconds_of, shown
from _traces import fit_and_score, tomotopy_topics
from gibbs_peers import in_order, tokens_of
from scipy.special import ndtri

from sktopic._inference._completion import hide
from sktopic.inspection import estimate_effect
from sktopic.lda import DMRLDA, OnlineEMLDA
from sktopic.metrics import document_completion, match_topics

# planted
N_TOPICS, N_WORDS, N_DOCUMENTS = 5, 200, 2000
LENGTHS = (20, 50, 100)
PRIOR, SCALE = 0.3, 0.5  # of a topic without covariates; standard deviation of the effects
N_POPULATION = 200_000
KINDS = "prior, DMRLDA", "prior, DMRLDA, 20 sweeps", "proportions, DMRLDA", "proportions, OnlineEMLDA"
SWEEPS_OF_INTERVALS = {"doc_burn_in": 10, "doc_sweeps": 20}  # as the docstring advises
# rare
RARE_DOCUMENTS, RARE_SHARE, RARE_LENGTH = (300, 1000, 3000), 0.03, 20
# text
TEXTS = {"20news": "labels", "arxiv_0": "labels", "nips1740": "year"}
N_TRAIN, N_TEST, N_TEXT_TOPICS = 20_000, 2000, 50
PASSES, SWEEPS = (1, 2, 3, 5, 10, 20), (25, 50, 100, 200, 400)
PEERS = {"tomotopy": "tomotopy DMRModel", "topica": "topica DMR"}
TEXT_MODELS = "DMRLDA", "OnlineEMLDA", *PEERS.values()
# large
LARGE_TOPICS, LARGE_WORDS, LENGTH, N_COVARIATES, BLOCK = 50, 20_000, 200, 10, 10_000
SIZES = (10_000, 100_000, 1_000_000)
LARGE_MODELS = "DMRLDA", "OnlineEMLDA"

SEEDS = {"planted": range(100), "rare": range(100), "text": range(3), "large": range(1)}
HEADS = {
    "planted": ["words a document", "effects on", "estimate", "width", "coverage", "intervals"],
    "rare": ["documents", "estimate", "width", "coverage", "intervals"],
    "text": ["corpus", "model", "passes or sweeps", "seconds", "score, nats per word"],
    "text gains": [
        "corpus",
        "over OnlineEMLDA",
        *(f"over {peer}" for peer in PEERS),
        *(f"{head} {peer}" for peer in PEERS for head in ("seconds of", "times as fast as")),
    ],
    "large": ["documents", "model", "minutes", "million tokens per second", "topics", "effects"],
}


# Drawing documents


def topics_of(rng, n_topics, n_words, prior):
    return rng.dirichlet(np.full(n_words, prior), n_topics)


def proportions(rng, prior):
    theta = rng.standard_gamma(prior)
    return theta / theta.sum(axis=1, keepdims=True)


def documents(rng, theta, topics, lengths):
    """Draw counts, csr_matrix of shape (n_documents, n_words)."""
    of_topics = rng.multinomial(lengths, theta)
    row = np.concatenate([np.repeat(np.arange(len(theta)), n) for n in of_topics.T])
    numbers = zip(topics, of_topics.sum(axis=0))
    column = [rng.choice(len(topic), n, p=topic).astype(np.int32) for topic, n in numbers]
    ones = np.ones(len(row), dtype=np.int32)
    return sp.coo_matrix((ones, (row, np.concatenate(column))), (len(theta), topics.shape[1])).tocsr()


# planted


def covariates_of(rng, n_documents, share=0.5):
    return np.column_stack([rng.normal(size=n_documents), rng.random(n_documents) < share]).astype(float)


def prior_given(D, effects):
    return PRIOR * np.exp(D @ effects.T)


def slopes(D, effects):
    """Regression of the mean proportions on covariates (n_covariates, n_topics)."""
    prior = prior_given(D, effects)
    design = np.column_stack([np.ones(len(D)), D])
    return np.linalg.lstsq(design, prior / prior.sum(axis=1, keepdims=True), rcond=None)[0][1:]


def in_prior(model, topics):
    """Estimates, lower and upper bounds, (n_covariates, n_topics, 3), of the effects in the prior."""
    effects, reach = model.covariate_effects_, ndtri(0.975) * model.covariate_effects_stderr_
    bounds = np.stack([effects, effects - reach, effects + reach], axis=2)
    return bounds[match_topics(topics, model).second].swapaxes(0, 1)


def of_table(table, model, topics):
    """The same of a table of effects on proportions."""
    bounds = table[table["covariate"] != "(intercept)"][["effect", "low", "high"]].to_numpy()
    return bounds.reshape(-1, N_TOPICS, 3)[:, match_topics(topics, model).second]


def planted(rng, n_documents, length, share=0.5):
    """Topics, effects (n_topics, n_covariates), covariates and counts."""
    topics, effects = topics_of(rng, N_TOPICS, N_WORDS, 0.1), rng.normal(0, SCALE, (N_TOPICS, 2))
    D = covariates_of(rng, n_documents, share)
    theta = proportions(rng, prior_given(D, effects))
    return topics, effects, D, documents(rng, theta, topics, rng.poisson(length, n_documents))


def sums_of(truth, bounds):
    """The sums that `shares_of` reads."""
    estimate, low, high = np.moveaxis(bounds, -1, 0)
    covered = (low <= truth) & (truth <= high)
    sums = [truth.size, covered.sum(), (estimate * truth).sum()]
    sums += [(truth**2).sum(), ((high - low) ** 2).sum()]
    return [round(float(value), 6) for value in sums]


def shares_of(sums):
    """The cells estimate, width, coverage and intervals of the sums of several runs."""
    n, covered, products, squares, widths = np.sum(sums, axis=0)
    estimate, width = products / squares, np.sqrt(widths / squares)
    return f"{estimate:.2f}", f"{width:.2f}", f"{covered / n:.3f}", f"{n:.0f}"


def measure_planted(length, seed):
    """The row of a run: sums, of each kind."""
    rng = np.random.default_rng([length, seed])
    topics, effects, D, X = planted(rng, N_DOCUMENTS, length)
    on_proportions = slopes(covariates_of(rng, N_POPULATION), effects)
    settings = {"components_init": topics, "max_iter": 10, "random_state": seed}
    given = DMRLDA(N_TOPICS, **settings).fit(X, covariates=D)
    longer = DMRLDA(N_TOPICS, **SWEEPS_OF_INTERVALS, **settings).fit(X, covariates=D)
    plain = OnlineEMLDA(N_TOPICS, prior_update="fixed-point", **settings).fit(X)
    found = [
        (effects.T, in_prior(given, topics)),
        (effects.T, in_prior(longer, topics)),
        (on_proportions, of_table(estimate_effect(given, X, D, model_covariates=D), given, topics)),
        (on_proportions, of_table(estimate_effect(plain, X, D), plain, topics)),
    ]
    return {kind: sums_of(truth, bounds) for kind, (truth, bounds) in zip(KINDS, found)}


def write_planted(study):
    rows = []
    for length, kind in product(LENGTHS, KINDS):
        runs = study.cache.select(part="planted", words=length)
        if runs:
            rows.append([length, kind, *shares_of([run[kind] for run in runs])])
    study.write("planted", HEADS["planted"], rows)


def measure_rare(n_documents, seed):
    topics, effects, D, X = planted(
        np.random.default_rng([n_documents, seed]), n_documents, RARE_LENGTH, RARE_SHARE
    )
    model = DMRLDA(N_TOPICS, components_init=topics, random_state=seed).fit(X, covariates=D)
    return {"category": sums_of(effects[:, 1], in_prior(model, topics)[1])}


def write_rare(study):
    of = {n: study.cache.select(part="rare", documents=n) for n in RARE_DOCUMENTS}
    rows = [[n, *shares_of([run["category"] for run in runs])] for n, runs in of.items() if runs]
    study.write("rare", HEADS["rare"], rows)


# text


def labeled(corpus):
    """Counts and categories of training documents and of test documents, with the words of the former."""
    (X, X_test, _), (groups, test_groups) = load(corpus), load_metadata(corpus, TEXTS[corpus])
    X, X_test = X[:N_TRAIN], X_test[:N_TEST]
    known = np.unique(X.indices)
    return (X[:, known], groups[:N_TRAIN]), (X_test[:, known], test_groups[:N_TEST])


def completion_given(components, prior_of, X, groups):
    """Score documents whose prior depends on their group, in nats per hidden word."""
    total = n_words = 0.0
    for group in np.unique(groups):
        rows = X[groups == group]
        hidden = hide(rows)[1].sum()
        total += hidden * document_completion(components, rows, doc_topic_prior=prior_of(group))
        n_words += hidden
    return float(total / n_words)


def indicators(groups, categories):
    return (np.asarray(groups)[:, None] == categories).astype(float)


def prior_of_groups(intercept, effects, categories):
    """The prior of a group, as a function, whose logarithm is linear in indicators of the categories."""
    return lambda group: np.exp(intercept + effects @ indicators([group], categories)[0])


def of_dmr(train, groups, score, seed):
    categories = np.unique(groups)

    def scored(model):
        prior_of = prior_of_groups(model.intercept_, model.covariate_effects_, categories)
        return score(model.components_, prior_of)

    model, given = DMRLDA(N_TEXT_TOPICS, random_state=seed), indicators(groups, categories)
    return PASSES, fit_and_score(model, train, scored, PASSES, covariates=given)


def of_online(train, groups, score, seed):
    def scored(model):
        return score(model.components_, lambda group: model.doc_topic_prior_)

    return PASSES, fit_and_score(OnlineEMLDA(N_TEXT_TOPICS, random_state=seed), train, scored, PASSES)


def of_tomotopy(train, groups, score, seed):
    import tomotopy

    model, names = tomotopy.DMRModel(k=N_TEXT_TOPICS, seed=seed), np.arange(train.shape[1]).astype(str)
    for row, group in zip(train, groups):
        model.add_doc(names[np.repeat(row.indices, row.data)], metadata=str(group))
    seconds, noted = 0.0, []
    for sweeps in np.diff(SWEEPS, prepend=0):
        seconds += seconds_of(model.train, int(sweeps), workers=1)[0]
        components = tomotopy_topics(model, train.shape[1])
        noted.append((score(components, lambda group: np.array(model.get_topic_prior(str(group)))), seconds))
    return SWEEPS, noted


def of_topica(train, groups, score, seed):
    """Each number of sweeps is a run of its own, because a fit cannot be continued."""
    import topica

    categories = np.unique(groups)
    corpus, given = topica.Corpus.from_documents(tokens_of(train)), indicators(groups, categories)
    noted = []
    for sweeps in SWEEPS:
        model = topica.DMR(N_TEXT_TOPICS, seed=seed, optimize_interval=10, burn_in=10)
        seconds, _ = seconds_of(model.fit, corpus, given, iters=sweeps, keep_theta_draws=False)
        components = in_order(model.topic_word, model.vocabulary, train.shape[1])
        intercept, effects = model.feature_effects[:, 0], model.feature_effects[:, 1:]
        noted.append((score(components, prior_of_groups(intercept, effects, categories)), seconds))
    return SWEEPS, noted


TRAINED = dict(zip(TEXT_MODELS, (of_dmr, of_online, of_tomotopy, of_topica)))


def measure_text(corpus, model, seed):
    """The row of a run: passes or sweeps, scores and seconds."""
    (X, groups), test = labeled(corpus)
    score = partial(completion_given, X=test[0], groups=test[1])
    numbers, noted = TRAINED[model](X, groups, score, seed)
    scores, seconds = zip(*noted)
    rounded = {"scores": np.round(scores, 5).tolist(), "times": np.round(seconds, 3).tolist()}
    return {"passes": list(numbers), **rounded}


def write_texts(study):
    rows, gains = [], []
    for corpus in TEXTS:
        of = {name: study.cache.select(part="text", corpus=corpus, model=name) for name in TEXT_MODELS}
        for name, runs in of.items():
            for i, number in enumerate(runs[0]["passes"] if runs else ()):
                score, seconds = (np.mean([run[key][i] for run in runs]) for key in ("scores", "times"))
                rows.append([corpus, name, number, f"{seconds:.1f}", f"{score:.4f}"])
        if all(of.values()):
            last = {name: np.array([run["scores"][-1] for run in runs]) for name, runs in of.items()}
            less = [interval(last["DMRLDA"] - last[name]) for name in TEXT_MODELS[1:]]
            cells = [f"{round(mean, 3) + 0.0:+.3f} ± {mean - low:.3f}" for mean, low, _ in less]
            times = [cell for peer in PEERS.values() for cell in speeds(of["DMRLDA"], of[peer])]
            gains.append([corpus, *cells, *times])
    study.write("text", HEADS["text"], rows)
    study.write("text gains", HEADS["text gains"], gains)


def speeds(ours, theirs):
    """Seconds that a peer takes to its best score, and how often ours reach it in this time."""
    best = [int(np.argmax(run["scores"])) for run in theirs]
    seconds = np.median([run["times"][i] for run, i in zip(theirs, best)])
    goal = np.mean([run["scores"][i] for run, i in zip(theirs, best)])
    pairs = [zip(run["times"], run["scores"]) for run in ours]
    reached = [next((time for time, score in run if score >= goal), np.nan) for run in pairs]
    return f"{seconds:.1f}", *shown([seconds / np.median(reached)], ".1f")


# large


def measure_large(n_documents, model, seed):
    """The row of a run: seconds by the clock, similarity of topics, and correlation of effects."""
    rng = np.random.default_rng(seed)
    topics = topics_of(rng, LARGE_TOPICS, LARGE_WORDS, 0.02)
    effects = rng.normal(0, SCALE, (LARGE_TOPICS, N_COVARIATES))
    estimators = {"DMRLDA": DMRLDA, "OnlineEMLDA": OnlineEMLDA}
    fitted = estimators[model](LARGE_TOPICS, total_samples=n_documents, n_jobs=2, random_state=seed)
    seconds = 0.0
    for _ in range(n_documents // BLOCK):
        D = rng.normal(size=(BLOCK, N_COVARIATES))
        theta = proportions(rng, 0.1 * np.exp(D @ effects.T))
        X = documents(rng, theta, topics, np.full(BLOCK, LENGTH))
        given = {"covariates": D} if model == "DMRLDA" else {}
        seconds += seconds_of(fitted.partial_fit, X, clock=time.perf_counter, **given)[0]
    match = match_topics(topics, fitted)
    row = {"seconds": round(seconds, 2), "similarity": round(float(match.similarity.mean()), 4)}
    if model == "DMRLDA":
        found = fitted.covariate_effects_[match.second]
        row["effects"] = round(float(np.corrcoef(found.ravel(), effects.ravel())[0, 1]), 4)
    return row


def write_large(study):
    rows = []
    for n_documents, model in product(SIZES, LARGE_MODELS):
        for run in study.cache.select(part="large", documents=n_documents, model=model):
            rate = n_documents * LENGTH / run["seconds"] / 1e6
            cells = f"{run['seconds'] / 60:.2f}", f"{rate:.2f}", f"{run['similarity']:.3f}"
            rows.append([n_documents, model, *cells, *shown([run.get("effects", np.nan)], ".3f")])
    study.write("large", HEADS["large"], rows)


def write_tables(study):
    write_planted(study)
    write_rare(study)
    write_texts(study)
    write_large(study)


def main():
    study = Study("covariates", new_parser(__doc__, runs=True, jobs=1).parse_args())
    parts = {
        "planted": (measure_planted, LENGTHS),
        "rare": (measure_rare, RARE_DOCUMENTS),
        "text": (measure_text, TEXTS, TEXT_MODELS),
        "large": (measure_large, SIZES, LARGE_MODELS),
    }
    runs = [
        (part, *cell, seed)
        for part, (_, *cells) in parts.items()
        for seed, *cell in product(SEEDS[part], *cells)
    ]
    study.measure({part: measure for part, (measure, *_) in parts.items()}, runs)
    write_tables(study)


if __name__ == "__main__":
    main()
