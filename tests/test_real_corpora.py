"""A few quick checks on real corpora, where they are at hand (see conftest.py)."""

import warnings

import numpy as np
import pytest

from sktopic import lda
from sktopic._documents._input_messages import CorpusSummary
from sktopic._documents._matrices import as_documents
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion

from .registry import defaults, each, having, new

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def kos(load_corpus):
    return load_corpus("kos")


# Passes over kos that make it as good as online EM by three
PASSES = {"CollapsedGibbsLDA": 40, "LangevinLDA": 5, "SinglePassLDA": 1}


@pytest.fixture(scope="module")
def kos_reference(kos):
    """Scores of online EM with 20 topics, and of one topic. Most topics have a best word of their own."""
    models = [OnlineEMLDA(k, random_state=0, max_iter=3).fit(kos.train[::2]) for k in (20, 1)]
    scores = [document_completion(model, kos.test) for model in models]
    assert scores[0] >= -7.6 and len(set(models[0].components_.argmax(axis=1))) > 12
    return scores


@each(defaults(lambda estimator: type(estimator).__name__ in lda.__all__))
def test_every_method_learns_kos(kos, kos_reference, estimator):
    """From every second document: within 0.25 nats per hidden word of online EM, and 0.1 above one topic."""
    online_em, unigram = kos_reference
    passes = PASSES.get(type(estimator).__name__, 3)
    batch_size = having(estimator, batch_size=0) and estimator.batch_size
    model = new(estimator, n_components=20, max_iter=passes, batch_size=batch_size, learning_rate=0.1)
    model.fit(kos.train[::2])
    score = document_completion(model, kos.test)
    assert score > max(online_em - 0.25, unigram + 0.1)
    assert model.score(kos.test) == pytest.approx(score, abs=0.1)


@pytest.mark.parametrize(
    "name", ["20news", "arxiv_0", "enron_inbox", "kos", "nips1740", "nips_uci", "reuters21578"]
)
def test_words_in_rows_are_told_from_documents(load_corpus, name):
    rng = np.random.default_rng(0)
    train = load_corpus(name).train
    for X in (train, train[rng.choice(train.shape[0], 1000, replace=False)]):
        commonest = np.argsort(-X.sum(axis=0), kind="stable")[:1000]
        for matrix, n_warnings in ((X, 0), (X[:, commonest], 0), (X.T.tocsr(), 1)):
            summary = CorpusSummary()
            summary.include(as_documents(matrix))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                summary.warn_of_other_values("a model")
            assert [str(each.message)[:26] for each in caught] == ["X seems to be transposed: "] * n_warnings
