"""The LDA estimators against the libraries a user would take, on any corpus.

    python benchmarks/peers.py CORPUS [--measures race draws ...] [--n-components 100 1000]

CORPUS is the name of a file CORPUS.npz in the folder named by SKTOPIC_DATA, or "docstrings". Every model is
scored by the same document completion (long Gibbs fold-in, a fifth of the tokens of at most 500 test
documents hidden). OnlineEMLDA runs with its defaults and a random_state. Each line gives both sides, measured
in this run, and their ratio; it takes the place of an old one of the same measure. Seconds are those of the
processor, in one thread (set OMP_NUM_THREADS=1), but where two are measured.

race      seconds of training until the score that tomotopy, scikit-learn and gensim end with
draws     tokens sampled per second, against tomotopy
pass      one pass over the corpus, against scikit-learn's online LDA: seconds and score
overhead  share of the mini-batch loop spent outside kernels, at batch size 100
jobs      n_jobs=2 against n_jobs=1, and whether the topics are identical
memory    peak memory of a fit at 500 topics
transform documents per second and score of transform, against scikit-learn
gibbs     tokens swept per second by CollapsedGibbsLDA, with one shard and with two, against tomotopy and lda
          on one core
variational  one pass of OnlineVariationalLDA against scikit-learn's, at the same number of iterations
family    training time and score of every estimator with its defaults, and of the peers (gensim with
          GENSIM_LDA); in a table of its own
"""

import sys
import time
from functools import partial
from inspect import isroutine

import numpy as np
from _corpora import N_TEST, default_corpus, load
from _study import Study, apart, new_parser, peak_megabytes, printed, seconds_of, timed_in
from _traces import GENSIM_LDA, add_documents, tomotopy_topics
from _versions import columns_of

from sktopic import CollapsedGibbsLDA, OnlineEMLDA, OnlineVariationalLDA, lda
from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._documents._sources import MatrixDocuments
from sktopic._estimators._plug_in import plug_in_model
from sktopic._inference._completion import mean_log_predictive
from sktopic._inference._gibbs import GibbsStep
from sktopic._kernels.random._rng import position_keys
from sktopic._runtime._parallel import Workers
from sktopic.metrics import document_completion

# Priors where samplers are compared by speed: both are the defaults of tomotopy and of lda.
PRIORS = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01}
# Seeds of which the race takes the median, and turns of which the family does.
N_SEEDS, N_TURNS = 5, 3
HEADS = {
    "peers": ["corpus", "topics", "measure", "peer", "peer's", "sktopic's", "ratio or difference"],
    "family": ["corpus", "topics", "model", "seconds of training", "score, nats per word"],
}


class Report:
    """Prints lines and writes them into the tables."""

    def __init__(self, corpus, study):
        self.corpus, self._study = corpus, study
        study.sign()

    def line(self, n_components, measure, peer, peer_value, own_value, ratio):
        """Of numbers, or words."""
        self._add("peers", [n_components, measure, peer], map(_short, (peer_value, own_value, ratio)))

    def family(self, n_components, name, seconds, score):
        self._add("family", [n_components, name], [f"{seconds:.2f}", f"{score:.4f}"])

    def _add(self, table, key, values):
        """Keep a line of a table, and write all of them that there are."""
        values = printed([str(value) for value in values])
        names = HEADS[table][len(key) + 1 :]
        self._study.cache.add((table, self.corpus, *key), dict(zip(names, values, strict=True)))
        write_tables(self._study)


def write_tables(study):
    for table, head in HEADS.items():
        rows = study.cache.select(part=table)
        columns = [*columns_of("peers", table)[1:], *head[len(columns_of("peers", table)) - 1 :]]
        cells = [[str(row[name]) for name in columns] for row in rows]
        study.write("" if table == "peers" else table, head, cells)


def _short(value):
    return f"{value:.4g}" if isinstance(value, float | np.floating) else value


def completion(components, prior, test):
    return document_completion(components, test[:N_TEST], doc_topic_prior=prior)


def tomotopy_run(train, n_components, sweeps, warm_up=0, fixed=False, seed=0):
    """Seconds of training, topics, prior and tokens per second of tomotopy's LDA on one core.

    It learns the prior of the proportions by default; fixed: both priors stay at PRIORS.
    """
    import tomotopy

    priors = {"alpha": PRIORS["doc_topic_prior"], "eta": PRIORS["topic_word_prior"]} if fixed else {}
    model = tomotopy.LDAModel(k=n_components, seed=seed, **priors)
    if fixed:
        model.optim_interval = 0
    add_documents(model, train)
    model.train(warm_up, workers=1)
    seconds, _ = seconds_of(model.train, sweeps, workers=1)
    components, prior = tomotopy_topics(model, train.shape[1]), np.asarray(model.alpha, dtype=float)
    return seconds, components, prior, train.sum() * sweeps / seconds


def sklearn_lda(n_components, **settings):
    from sklearn.decomposition import LatentDirichletAllocation

    return LatentDirichletAllocation(n_components, random_state=0, **settings)


def gensim_run(train, n_components):
    """Seconds of training, topics and prior of gensim's LDA."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    corpus = Sparse2Corpus(train, documents_columns=False)
    names = {i: str(i) for i in range(train.shape[1])}
    settings = {"id2word": names, "passes": 5, "random_state": 0, **GENSIM_LDA}
    seconds, model = seconds_of(LdaModel, corpus, n_components, **settings)
    return seconds, model.get_topics(), model.alpha


def own_seconds(train, test, n_components, goal, seed):
    """Seconds of training until the goal, and the score then; what fit does, piece by piece."""
    model = OnlineEMLDA(n_components, batch_size=50, random_state=seed, total_samples=train.shape[0])
    chunk, rng = 8 * model.batch_size, np.random.RandomState(seed)
    seconds = 0.0
    for _ in range(model.max_iter):
        shuffled = train[rng.permutation(train.shape[0])]
        for first in range(0, train.shape[0], chunk):
            seconds += seconds_of(model.partial_fit, shuffled[first : first + chunk])[0]
            score = document_completion(model, test[:N_TEST])
            if score >= goal:
                return seconds, score
    return np.inf, score


def race(report, train, test, n_components):
    """Seconds to reach the score each peer ends with."""
    sweeps = 400 if n_components < 500 else 150
    peers = {}
    seconds, components, prior, _ = tomotopy_run(train, n_components, sweeps)
    peers[f"tomotopy {sweeps} sweeps"] = seconds, completion(components, prior, test)
    if n_components < 500:
        sklearn = sklearn_lda(n_components, max_iter=60, learning_method="batch")
        seconds, model = seconds_of(sklearn.fit, train)
        peers["scikit-learn batch 60 iterations"] = seconds, completion(model, None, test)
        seconds, components, prior = gensim_run(train, n_components)
        peers["gensim 5 passes"] = seconds, completion(components, prior, test)
    for peer, (seconds, goal) in peers.items():
        runs = [own_seconds(train, test, n_components, goal, seed) for seed in range(N_SEEDS)]
        own, score = np.median(runs, axis=0)
        report.line(n_components, "score", peer, goal, score, score - goal)
        name = f"seconds to it, median of {N_SEEDS}"
        report.line(n_components, name, peer, seconds, own, seconds / own)


def draws(report, train, test, n_components):
    """Tokens sampled per second in the document step, by a trained model."""
    model = OnlineEMLDA(n_components, batch_size=50, random_state=0, max_iter=2).fit(train)
    reader = DocumentReader(canonical_counts(train.astype(np.float64)))
    own, peer = [], []
    for _ in range(3):
        peer.append(tomotopy_run(train, n_components, 40 if n_components < 500 else 10)[3])
        seconds, n_draws = 0.0, 0
        with Workers(1) as workers:
            for first in range(0, min(train.shape[0], 5000), model.batch_size):
                rows = np.arange(first, min(first + model.batch_size, train.shape[0]))
                batch = reader.batch(rows)
                topics = model._topic_probabilities().gather(batch.words, model.doc_topic_prior_, workers)
                keys = position_keys(first, 0, len(rows))
                step = GibbsStep(model.doc_burn_in, model.doc_sweeps)
                seconds += seconds_of(step, batch, topics, model.doc_topic_prior_, keys, workers)[0]
                n_draws += batch.n_clumps * (model.doc_burn_in + model.doc_sweeps)
        own.append(n_draws / seconds)
    medians(report, n_components, "token draws per second", "tomotopy", peer, own)


def medians(report, n_components, measure, peer, theirs, ours):
    """A line of speeds that were measured in turn."""
    ratio = np.median(np.array(ours) / np.array(theirs))
    report.line(n_components, measure, peer, np.median(theirs), np.median(ours), ratio)


def one_pass(report, train, test, n_components):
    """One pass over the corpus."""
    own_seconds, own = seconds_of(OnlineEMLDA(n_components, random_state=0, max_iter=1).fit, train)
    sklearn = sklearn_lda(n_components, max_iter=1, learning_method="online")
    peer_seconds, peer = seconds_of(sklearn.fit, train)
    own_score, peer_score = completion(own, None, test), completion(peer, None, test)
    name = "scikit-learn online"
    report.line(n_components, "score after one pass", name, peer_score, own_score, own_score - peer_score)
    ratio = peer_seconds / own_seconds
    report.line(n_components, "seconds of one pass", name, peer_seconds, own_seconds, ratio)


def kernel_places():
    """Return where the package finds its kernels, (module, name) of each."""
    modules = [module for name, module in sys.modules.items() if name.startswith("sktopic.")]
    return [
        (module, name)
        for module in modules
        for name, value in vars(module).items()
        if getattr(value, "__module__", "").startswith("sktopic._kernels") and isroutine(value)
    ]


def overhead(report, train, test, n_components):
    """Share of the mini-batch loop outside kernels."""
    model = OnlineEMLDA(n_components, random_state=0, max_iter=1, batch_size=100)
    part = train[:20000].astype(np.float64)
    model.partial_fit(part[:1])
    with timed_in(dict(enumerate(kernel_places()))) as spent:
        total, _ = seconds_of(model.partial_fit, part)
    outside = 1 - sum(map(sum, spent.values())) / total
    report.line(n_components, "share of time outside kernels", "-", "-", outside, "-")


def jobs(report, train, test, n_components):
    """Speed-up of two threads, several times in turn."""
    for batch_size in (1000, 100):
        ratios, settings = [], {"random_state": 0, "max_iter": 1, "batch_size": batch_size}
        for _ in range(3):
            models = [OnlineEMLDA(n_components, **settings, n_jobs=n_jobs) for n_jobs in (1, 2)]
            seconds = [seconds_of(model.fit, train, clock=time.perf_counter)[0] for model in models]
            ratios.append(seconds[0] / seconds[1])
            same = np.array_equal(models[0].components_, models[1].components_)
        measure = f"n_jobs=2 over n_jobs=1, batch_size {batch_size}, identical: {same}"
        report.line(n_components, measure, "n_jobs=1", *seconds, np.median(ratios))


def peak_of_fit(corpus, n_components):
    """In a process of its own: MB of a fit above those after the imports, and of the counts."""
    OnlineEMLDA(2, random_state=0).fit(np.ones((2, 2)))
    start, (train, _, _) = peak_megabytes(), load(corpus)
    OnlineEMLDA(n_components, random_state=0, max_iter=1).fit(train)
    size = sum(array.nbytes for array in (train.data, train.indices, train.indptr)) / 2**20
    return peak_megabytes() - start, size


def memory(report, train, test, _):
    """Peak memory of a fit above that after the imports, against X + 3 (8 V K) + 60 MB."""
    peak, size = apart(peak_of_fit, report.corpus, 500)
    allowed = size + 3 * 8 * train.shape[1] * 500 / 2**20 + 60
    report.line(500, "peak MB, against X + 3 (8 V K) + 60 MB", "-", allowed, peak, peak / allowed)


def transform(report, train, test, n_components):
    """Documents per second of transform, and the score with each library's own transform."""
    own = OnlineEMLDA(n_components, random_state=0, max_iter=1).fit(train)
    peer = sklearn_lda(n_components, max_iter=1, learning_method="online").fit(train)
    own_seconds, peer_seconds = [], []
    for _ in range(3):
        own_seconds.append(seconds_of(own.transform, test)[0])
        peer_seconds.append(seconds_of(peer.transform, test)[0])
    speeds = (test.shape[0] / np.array(seconds) for seconds in (peer_seconds, own_seconds))
    name = "scikit-learn online"
    medians(report, n_components, "transform, documents per second", name, *speeds)
    with Workers(1) as workers:
        counts = canonical_counts(test.astype(np.float64))
        groups, topics = MatrixDocuments(counts).groups(), plug_in_model(peer, None)[0]
        peer_score = mean_log_predictive(groups, topics, peer.transform, workers).value()
    own_score = own.score(test)
    gain = own_score - peer_score
    report.line(n_components, "score with its own transform", name, peer_score, own_score, gain)


def sweeps_per_second(model, counts, n_warm, n_timed, clock=time.process_time):
    """Tokens swept per second by a collapsed sampler, after some sweeps of the same call."""
    seconds = []
    for n_sweeps in (n_warm, n_warm + n_timed):
        model.set_params(max_iter=n_sweeps)
        seconds.append(seconds_of(model.fit, counts, clock=clock)[0])
    return counts.sum() * n_timed / (seconds[1] - seconds[0])


def gibbs(report, train, test, n_components):
    """Tokens swept per second by collapsed Gibbs sampling with the same fixed priors, three times in turn."""
    settings = {"n_draws": 1, "evaluate_every": 0, "random_state": 0, **PRIORS}
    warm, more = (40, 80) if n_components < 500 else (10, 20)
    own, two, tomotopy, python = [], [], [], []
    for _ in range(3):
        own.append(sweeps_per_second(CollapsedGibbsLDA(n_components, **settings), train, warm, more))
        shards = CollapsedGibbsLDA(n_components, n_shards=2, n_jobs=2, **settings)
        two.append(sweeps_per_second(shards, train, warm, more, time.perf_counter))
        tomotopy.append(tomotopy_run(train, n_components, more, warm, fixed=True)[3])
        python.append(lda_package_run(train, n_components, 6))
    for name, peer in (("tomotopy", tomotopy), ("lda", python)):
        for shards, ours in (("", own), (", two shards on two cores", two)):
            medians(report, n_components, f"tokens per second, collapsed Gibbs{shards}", name, peer, ours)


def lda_package_run(train, n_components, sweeps):
    """Tokens per second of the PyPI package lda, by the difference of two runs."""
    import logging

    import lda as peer

    logging.getLogger("lda").setLevel(logging.WARNING)
    counts, seconds = train.toarray().astype(np.int64), []
    settings = {"alpha": PRIORS["doc_topic_prior"], "eta": PRIORS["topic_word_prior"], "refresh": 10**6}
    for n_iter in (1, 1 + sweeps):
        model = peer.LDA(n_topics=n_components, n_iter=n_iter, random_state=0, **settings)
        seconds.append(seconds_of(model.fit, counts)[0])
    return counts.sum() * sweeps / (seconds[1] - seconds[0])


def variational(report, train, test, n_components):
    """One pass of online variational Bayes, twenty iterations for each document."""
    settings = {"max_iter": 1, "batch_size": 128, "max_doc_update_iter": 20, "mean_change_tol": 0.0}
    part = train[:10_000].astype(np.float64)
    own, peer = [], []
    for _ in range(3):
        model = OnlineVariationalLDA(n_components, components_init=None, random_state=0, **settings)
        own.append(seconds_of(model.fit, part)[0])
        peer.append(seconds_of(sklearn_lda(n_components, learning_method="online", **settings).fit, part)[0])
    measure = f"seconds of one pass, {part.shape[0]} documents, 20 iterations"
    ratio = np.median(np.array(peer) / np.array(own))
    report.line(n_components, measure, "scikit-learn online", np.median(peer), np.median(own), ratio)


def family(report, train, test, n_components):
    """Every estimator and every peer with its defaults: seconds of training, median of turns, and score."""

    def fitted(model):
        seconds, model = seconds_of(model.fit, train)
        return seconds, model, None

    sweeps = 400 if n_components < 500 else 150
    runs = {name: partial(fitted, getattr(lda, name)(n_components, random_state=0)) for name in lda.__all__}
    runs[f"tomotopy LDAModel, {sweeps} sweeps"] = lambda: tomotopy_run(train, n_components, sweeps)[:3]
    for method, passes in (("online", 5), ("batch", 10)):
        sklearn = sklearn_lda(n_components, learning_method=method, max_iter=passes)
        runs[f"scikit-learn, {method}, {passes} passes"] = partial(fitted, sklearn)
    runs["gensim LdaModel, 5 passes"] = partial(gensim_run, train, n_components)
    turns = [{name: run() for name, run in runs.items()} for _ in range(N_TURNS)]
    for name, (_, model, prior) in turns[-1].items():
        seconds = np.median([turn[name][0] for turn in turns])
        report.family(n_components, name, seconds, completion(model, prior, test))


MEASURES = {
    "race": race,
    "draws": draws,
    "pass": one_pass,
    "overhead": overhead,
    "jobs": jobs,
    "memory": memory,
    "transform": transform,
    "gibbs": gibbs,
    "variational": variational,
    "family": family,
}


def main():
    parser = new_parser(__doc__)
    parser.add_argument("corpus", nargs="?", default=default_corpus())
    parser.add_argument("--measures", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--n-components", nargs="+", type=int, default=[100])
    arguments = parser.parse_args()
    report = Report(arguments.corpus, Study("peers", arguments))
    train, test, _ = load(arguments.corpus)
    for n_components in arguments.n_components:
        for measure in arguments.measures:
            MEASURES[measure](report, train, test, n_components)


if __name__ == "__main__":
    main()
