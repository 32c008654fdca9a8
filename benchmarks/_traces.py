"""Scores of models while they are trained, by processor time; with the HDPs of two other libraries."""

import time
from contextlib import contextmanager, suppress
from functools import partial
from unittest.mock import patch

import numpy as np
from sklearn.base import clone

from sktopic._training._monitor import FitMonitor
from sktopic._training._sweeps import SweepTrainer
from sktopic.metrics import document_completion

SEED = 0
PEER_SWEEPS, PEER_CHUNKS = 800, 300
# Settings of gensim's LDA: a learned prior, and 64-bit numbers. Many of its 32-bit numbers are denormal, and
# slow on Intel processors.
GENSIM_LDA = {"alpha": "auto", "dtype": np.float64}


def completion(model, test, prior=None):
    return round(float(document_completion(model, test, doc_topic_prior=prior)), 4)


def fit_and_score(model, train, score, passes, **given):
    """After some passes of fit(train, **given), score(model) and the seconds that the fit has taken."""
    after_epoch, noted, outside, begun = FitMonitor.after_epoch, [], 0.0, time.process_time()

    def run(monitor):
        nonlocal outside
        now = time.process_time()
        if monitor.estimator.n_iter_ in passes:
            noted.append((float(score(monitor.estimator)), now - begun - outside))
        outside += time.process_time() - now
        return after_epoch(monitor)

    with patch.object(FitMonitor, "after_epoch", run):
        clone(model).set_params(max_iter=max(passes)).fit(train, **given)
    return noted


class Stop(KeyboardInterrupt):
    """The time of a run is over; `fit` leaves what it has learned, as after Ctrl-C."""


class Trace:
    """Notes the score at times that grow by a factor, with the clock stopped meanwhile."""

    def __init__(self, seconds, first=0.05, factor=1.35):
        self.rows, self._limit, self._next, self._factor = [], seconds, first, factor
        self._outside, self._start = 0.0, time.process_time()

    @property
    def seconds(self):
        return time.process_time() - self._start - self._outside

    def due(self):
        return self.seconds >= self._next

    def note(self, score, **more):
        """score(), and what else can be called, is called, and the clock does not see it."""
        now, before = self.seconds, time.process_time()
        more = {name: value() if callable(value) else value for name, value in more.items()}
        self.rows.append({"seconds": round(now, 3), "score": score(), **more})
        self._outside += time.process_time() - before
        while self._next <= now:
            self._next *= self._factor

    def end(self):
        """Let the run stop at the next check."""
        self._limit = -np.inf

    def check(self):
        if self.seconds > self._limit:
            raise Stop


def note(trace, model, test):
    """Let a trace have score, topics and documents seen of a model."""
    seen = int(model.n_samples_seen_)
    trace.note(lambda: completion(model, test), topics=int(model.n_components_), documents=seen)


@contextmanager
def traced(trace, test, noting=note, chain=None):
    """Let a trace have, by noting, scores of the model that is trained in the block, until it stops that.

    chain : a batch sampler, which is traced by its sweeps
    """
    owner, name = (FitMonitor, "after_update") if chain is None else (SweepTrainer, "after_sweep")
    after = getattr(owner, name)

    def run(trained, number):
        after(trained, number)
        if trace.due():
            noting(trace, trained.estimator if chain is None else chain, test)
        trace.check()

    with patch.object(owner, name, run), suppress(Stop):
        yield


def trace_of(model, counts, test, seconds, noting=note, by_sweeps=False, fit=None, **rhythm):
    """The trace of a fit that is stopped after some seconds; fit: a function in place of its own."""
    trace = Trace(seconds, **rhythm)
    with traced(trace, test, noting, model if by_sweeps else None):
        (fit or model.fit)(counts)
    noting(trace, model, test)
    return trace.rows


trace_of_sweeps = partial(trace_of, by_sweeps=True)


def add_documents(model, counts, **more):
    """Give documents to a model of tomotopy, whose words are the numbers of columns."""
    words = [str(i) for i in range(counts.shape[1])]
    for row in counts:
        model.add_doc(
            [words[i] for i, count in zip(row.indices, row.data) for _ in range(int(count))], **more
        )


def tomotopy_topics(model, n_features, topics=None, **more):
    """Probabilities of words in topics; some are not known to the model."""
    topics = range(model.k) if topics is None else topics
    components = np.full((len(topics), n_features), 1e-12)
    columns = [int(word) for word in model.used_vocabs]
    components[:, columns] = [model.get_topic_word_dist(k, **more) for k in topics]
    return components


def tomotopy_trace(train, test, seconds, seed, start, **rhythm):
    """Its HDP with its defaults, PEER_SWEEPS at most."""
    import tomotopy

    model = tomotopy.HDPModel(initial_k=start, seed=seed)
    add_documents(model, train)
    trace = Trace(seconds, **rhythm)
    try:
        for _ in range(PEER_SWEEPS // 10):
            model.train(10, workers=1)
            if trace.due():
                trace.note(lambda: tomotopy_score(model, train.shape[1], test), topics=model.live_k)
            trace.check()
    except Stop:
        pass
    trace.note(lambda: tomotopy_score(model, train.shape[1], test), topics=model.live_k)
    return trace.rows


def tomotopy_score(model, n_features, test):
    live = [k for k in range(model.k) if model.is_live_topic(k)]
    components = tomotopy_topics(model, n_features, live)
    shares = np.asarray(model.get_count_by_topics(), dtype=float)[live]
    return completion(components, test, model.alpha * shares / shares.sum())


class FirstChunk(list):
    """The first documents of a corpus of some length, which the start of gensim's topics depends on."""

    def __len__(self):
        return self.n_documents


def gensim_chunk(counts):
    from gensim.matutils import Sparse2Corpus

    return list(Sparse2Corpus(counts, documents_columns=False))


def gensim_model(parts, n_documents, **settings):
    """Its HdpModel after some batches of a corpus."""
    from gensim.models import HdpModel

    first, names = FirstChunk(gensim_chunk(parts[0])), {i: str(i) for i in range(parts[0].shape[1])}
    first.n_documents = n_documents
    model = HdpModel(first, names, max_chunks=1, **settings)
    for part in parts[1:]:
        model.update_chunk(gensim_chunk(part))
    return model


def gensim_trace(train, test, seconds, seed, start, settings=None, **rhythm):
    """Its HdpModel with its defaults but for some settings, PEER_CHUNKS at most."""
    settings, trace = settings or {}, Trace(seconds, **rhythm)
    size = settings.get("chunksize", 256)
    parts = [train[first : first + size] for first in range(0, train.shape[0], size)]
    chunks = [gensim_chunk(part) for part in parts]
    model = gensim_model(parts[:1], train.shape[0], T=start, random_state=seed, **settings)

    def noted(chunk):
        seen = chunk // len(chunks) * train.shape[0] + min(chunk % len(chunks) * size, train.shape[0])
        trace.note(lambda: gensim_best(model, test)[0], topics=start, chunks=chunk, documents=seen)

    with suppress(Stop):
        for i in range(1, PEER_CHUNKS):
            model.update_chunk(chunks[i % len(chunks)])
            if trace.due():
                noted(i + 1)
            trace.check()
    noted(i + 1)
    return trace.rows


def gensim_best(model, test):
    """Score, topics and prior; of its learned prior and 1 / topics, the one that scores better."""
    model.update_expectations()
    topics = model.get_topics()
    learned = np.maximum(model.hdp_to_lda()[0], 1e-10)  # of topics that are not in use it underflows
    priors = learned, np.full(len(topics), 1 / len(topics))
    scores = [completion(topics, test, prior) for prior in priors]
    return max(scores), topics, priors[int(np.argmax(scores))]


PEER_TRACES = {"tomotopy": tomotopy_trace, "gensim": gensim_trace}
# Topics that they begin with, or have at most, by default.
PEER_STARTS = {"tomotopy": 2, "gensim": 150}
