"""A few quick checks on real corpora, where they are at hand (see conftest.py)."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from sktopic._documents._input_messages import CorpusSummary
from sktopic._documents._matrices import as_documents
from sktopic.lda import (
    CollapsedGibbsLDA,
    HybridLDA,
    LangevinLDA,
    OnlineCVB0LDA,
    OnlineEMLDA,
    OnlineOPELDA,
    OnlineVariationalLDA,
    SinglePassLDA,
    StreamingGibbsLDA,
    StreamingVariationalLDA,
)
from sktopic.metrics import document_completion

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def kos(load_corpus):
    return load_corpus("kos")


@pytest.fixture(scope="module")
def kos_model(kos):
    return OnlineEMLDA(100, random_state=0, max_iter=2).fit(kos.train)


def test_two_passes_over_kos_reach_the_stated_score(kos, kos_model):
    """A floor: document completion, nats per hidden word of the test documents."""
    assert document_completion(kos_model, kos.test) >= -7.45


def test_own_score_is_near_the_common_fold_in(kos, kos_model):
    assert kos_model.score(kos.test) == pytest.approx(document_completion(kos_model, kos.test), abs=0.03)


def test_fit_and_score_of_kos_do_not_depend_on_n_jobs(kos, kos_model):
    other = OnlineEMLDA(100, random_state=0, max_iter=2, n_jobs=2).fit(kos.train)
    np.testing.assert_array_equal(other.components_, kos_model.components_)
    np.testing.assert_array_equal(other.transform(kos.test), kos_model.transform(kos.test))
    assert other.score(kos.test) == kos_model.score(kos.test)


def test_topics_of_kos_are_distinct(kos, kos_model):
    """On average two topics share less than half of their probability, and most have a best word of
    their own."""
    components = kos_model.components_
    overlap = [np.minimum(components[i], components[:i]).sum(axis=1).mean() for i in range(1, 100)]
    assert np.mean(overlap) < 0.5
    assert len({kos.vocab[word] for word in components.argmax(axis=1)}) > 40


OTHERS = {
    "collapsed Gibbs": CollapsedGibbsLDA(20, max_iter=40, n_draws=3),
    "collapsed Gibbs, four shards": CollapsedGibbsLDA(20, max_iter=40, n_draws=3, n_shards=4, n_jobs=2),
    "hybrid": HybridLDA(20, max_iter=3),
    "Langevin": LangevinLDA(20, max_iter=5, learning_rate=0.1),
    "online variational": OnlineVariationalLDA(20, max_iter=3),
    "batch variational": OnlineVariationalLDA(20, max_iter=20, learning_method="batch"),
    "CVB0": OnlineCVB0LDA(20, max_iter=3),
    "OPE": OnlineOPELDA(20, max_iter=3),
    "single pass": SinglePassLDA(20, max_iter=1, max_doc_update_iter=20),
    "streaming Gibbs": StreamingGibbsLDA(20, max_iter=3),
    "streaming variational": StreamingVariationalLDA(20, max_iter=3),
}


@pytest.fixture(scope="module")
def kos_reference(kos):
    """Scores of online EM with 20 topics, and of one topic."""
    models = [OnlineEMLDA(k, random_state=0, max_iter=3).fit(kos.train) for k in (20, 1)]
    return [document_completion(model, kos.test) for model in models]


@pytest.mark.parametrize("model", OTHERS.values(), ids=OTHERS)
def test_every_method_learns_kos(kos, kos_reference, model):
    """Within 0.25 nats per hidden word of online EM, and better than one topic by 0.1."""
    online_em, unigram = kos_reference
    model = clone(model).set_params(random_state=0).fit(kos.train)
    score = document_completion(model, kos.test)
    assert score > online_em - 0.25
    assert score > unigram + 0.1
    assert model.score(kos.test) == pytest.approx(score, abs=0.1)


def test_batch_variational_bayes_never_lowers_the_bound_of_kos(kos):
    settings = {"learning_method": "batch", "random_state": 0, "max_doc_update_iter": 100}
    bounds = [
        OnlineVariationalLDA(20, max_iter=sweeps, **settings).fit(kos.train[:500]).elbo(kos.train[:500])
        for sweeps in (1, 3, 5, 7)
    ]
    assert np.all(np.diff(bounds) > 0)


@pytest.mark.parametrize("inference", ["gibbs", "variational"])
def test_short_documents_of_reuters(load_corpus, inference):
    """Documents of at most 20 words are learned from, and better than by one topic."""
    reuters = load_corpus("reuters21578")
    train = reuters.train[reuters.train.sum(axis=1) <= 20]
    test = reuters.test[reuters.test.sum(axis=1) <= 20]
    assert train.shape[0] > 500 and test.shape[0] > 200
    settings = {"inference": inference, "random_state": 0, "max_iter": 3}
    model = OnlineEMLDA(20, **settings).fit(train)
    unigram = OnlineEMLDA(1, **settings).fit(train)
    theta = model.transform(test)
    assert np.isfinite(theta).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    assert model.score(test) > unigram.score(test) + 0.1


def test_a_stream_of_chunks_of_reuters_learns_as_well_as_one_pass(load_corpus):
    reuters = load_corpus("reuters21578")
    train, test = reuters.train[:4000], reuters.test[:1000]
    settings = {"random_state": 0, "total_samples": 4000, "batch_size": 100}
    whole = OnlineEMLDA(20, max_iter=1, shuffle=False, **settings).fit(train)
    stream = OnlineEMLDA(20, **settings)
    for first in range(0, 4000, 1000):
        stream.partial_fit(train[first : first + 1000])
    np.testing.assert_array_equal(stream.components_, whole.components_)
    assert stream.score(test) == whole.score(test)


@pytest.mark.parametrize(
    "name", ["20news", "arxiv_0", "enron_inbox", "kos", "nips1740", "nips_uci", "reuters21578"]
)
def test_words_in_rows_are_told_from_documents(load_corpus, name):
    rng = np.random.default_rng(0)
    train = load_corpus(name).train
    for X in (train, train[rng.choice(train.shape[0], 1000, replace=False)]):
        commonest = np.argsort(-X.sum(axis=0), kind="stable")[:1000]
        given = {"documents": X, "documents of common words": X[:, commonest], "words": X.T.tocsr()}
        for what, matrix in given.items():
            summary = CorpusSummary()
            summary.include(as_documents(matrix))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                summary.warn_of_other_values("a model")
            assert [str(each.message)[:26] for each in caught] == ["X seems to be transposed: "] * (
                what == "words"
            )
