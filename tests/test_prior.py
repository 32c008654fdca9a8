"""Learning the priors: what documents tell, and limits of the rules (their steps: test_learned_priors.py)."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma

from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._inference._gibbs import GibbsStep
from sktopic._inference._variational import VariationalStep
from sktopic._kernels.random._rng import position_keys
from sktopic._runtime._parallel import Workers
from sktopic._topics._prior import DocPrior, PriorStatistics, bounded_step, learned_topic_word_prior
from sktopic._topics._topic_rows import TopicProbabilities

from .lda_models import mean_logs
from .reference.documents import clump_weights

PRIORS = [[0.2, 0.7], [0.05, 0.1, 2.0, 9.0], [3.0, 3.0, 3.0], [0.3] * 10, [40.0, 1.0, 0.3]]
KINDS = ["auto", "auto-symmetric"]
RULES = ["fixed-point", "gradient", "gamma"]


def documents_with_topics(alpha, n_documents=300, mean_length=20, seed=0):
    """n_dk of documents drawn from the Dirichlet-multinomial, none of them empty."""
    rng = np.random.default_rng(seed)
    lengths = rng.poisson(mean_length, n_documents) + 1
    return np.array([rng.multinomial(n, rng.dirichlet(alpha)) for n in lengths], dtype=np.float64)


def statistics_of(n, prior):
    """The PriorStatistics of documents whose topic counts (n_documents, n_components) are known."""
    return PriorStatistics.from_gains(prior, (digamma(prior + n) - digamma(prior)).sum(axis=0), n.sum(axis=1))


def telling(mean_log_theta, n_documents=7.0):
    """PriorStatistics of documents that have E[log theta] on average."""
    none = np.zeros(len(mean_log_theta))
    return PriorStatistics(n_documents * mean_log_theta, none, 0.0, n_documents)


def assert_same_statistics(one, other, rtol=1e-12):
    for name, value in vars(one).items():
        assert_allclose(getattr(other, name), value, rtol=rtol, err_msg=name)


# Sufficient statistics


def by_definition(posterior, alpha):
    """PriorStatistics of documents whose proportions have a Dirichlet posterior each."""
    gains = (alpha * (digamma(posterior) - digamma(alpha))).sum(axis=0)
    total_gain = (digamma(posterior.sum(axis=1)) - digamma(alpha.sum())).sum()
    return PriorStatistics(mean_logs(posterior).sum(axis=0), gains, total_gain, float(len(posterior)))


def test_statistics_are_what_their_definition_says_and_add_up():
    for alpha in map(np.array, PRIORS):
        n, total = documents_with_topics(alpha, 20), PriorStatistics.none(len(alpha))
        assert_same_statistics(by_definition(alpha + n, alpha), statistics_of(n, alpha), rtol=1e-11)
        for row in n:
            total = total.plus(statistics_of(row[None], alpha))
        assert_same_statistics(statistics_of(n, alpha), total)


@pytest.fixture
def workers():
    with Workers(1) as team:
        yield team


class Batch:
    """Documents, some of them empty, with topics and a prior."""

    PRIOR = np.array([0.1, 0.4, 0.8, 1.5])

    def __init__(self, workers):
        rng = np.random.default_rng(0)
        counts = rng.poisson(0.4, (15, 20)) * rng.choice([1.0, 0.5, 70.0], (15, 20))
        counts[[0, 6]] = 0.0
        self.counts, self.workers = counts, workers
        self.topics = TopicProbabilities.from_components(rng.dirichlet(np.full(20, 0.3), 4))
        self.reader = DocumentReader(canonical_counts(sp.csr_array(counts)))
        self.batch = self.reader.batch(np.arange(15))

    def infer(self, step, rows=None, **given):
        batch = self.batch if rows is None else self.reader.batch(rows)
        topics = self.topics.gather(batch.words, self.PRIOR, self.workers, dtype=np.float64)
        keys = position_keys(1, 0, batch.n_documents)
        return step(batch, topics, self.PRIOR, keys, self.workers, True, **given)


def test_variational_statistics_are_those_of_the_posteriors(workers):
    counts = Batch(workers).infer(VariationalStep(50, 1e-6))
    gamma = counts.gamma[counts.batch.lengths > 0]
    assert len(gamma) == 13
    assert_same_statistics(by_definition(gamma, Batch.PRIOR), counts.prior_statistics(), rtol=1e-9)


@pytest.mark.parametrize("drawn", [False, True], ids=["probabilities", "draws"])
def test_sampled_statistics_are_those_of_the_assignments(drawn, workers):
    """After each of three sweeps, with its own document's counts; the statistics are their mean."""
    case = Batch(workers)
    batch = case.batch
    weights = np.concatenate([clump_weights(c) for c in batch.cell_count])
    document = np.repeat(np.arange(15), np.diff(batch.clump_indptr))
    z = np.full(batch.n_clumps, -1, dtype=np.int32)
    for _ in range(3):
        statistics = case.infer(GibbsStep(0, 1, drawn), assignments=z).prior_statistics()
        n = np.zeros((15, 4))
        np.add.at(n, (document, z), weights)
        assert_same_statistics(statistics_of(n[n.sum(axis=1) > 0], Batch.PRIOR), statistics, rtol=1e-9)
    kept = [case.infer(GibbsStep(burn_in, 1, drawn)).prior_statistics() for burn_in in range(3)]
    together = case.infer(GibbsStep(0, 3, drawn)).prior_statistics()
    mean = {name: np.mean([vars(each)[name] for each in kept], axis=0) for name in vars(together)}
    assert_same_statistics(PriorStatistics(**mean), together, rtol=1e-9)


def test_documents_without_words_tell_nothing(workers):
    for step in (VariationalStep(5, 0.0), GibbsStep(1, 1)):
        statistics = Batch(workers).infer(step, np.array([0, 6])).prior_statistics()
        assert_same_statistics(PriorStatistics.none(4), statistics)


# Limits of the rules


def test_steps_are_held_between_half_and_twice_the_value():
    assert_array_equal(bounded_step(np.array([1.0, 1.0, 1.0]), np.array([-5.0, 0.25, 5.0])), [0.5, 1.25, 2.0])
    assert_array_equal(bounded_step(np.array([1.5e-6, 6e3]), np.array([-1.0, 1e9])), [1e-6, 1e4])
    for kind in KINDS:
        learner, prior = DocPrior(kind, "gradient"), np.full(3, 0.5)
        _, far = learner.update(learner.initial(prior), prior, telling(np.full(3, -1e5)), 1.0, 100.0)
        assert_array_equal(far, 0.25)


def test_learned_priors_stay_inside_their_range():
    for rule, kind in product(RULES, KINDS):
        for mean_log, gain, bound in ((-1e12, 0.0, 1e-6), (-1e-12, 1e12, 1e4)):
            learner, prior = DocPrior(kind, rule, 1.0, 0.0), np.full(4, 0.5)
            averages = learner.initial(prior)
            statistics = telling(np.full(4, mean_log))
            statistics.topic_gains, statistics.total_gain = np.full(4, gain), 1.0
            for _ in range(200):
                averages, prior = learner.update(averages, prior, statistics, 1.0, 1000.0)
                assert np.all((prior >= 1e-6) & (prior <= 1e4))
            assert_allclose(prior, bound, err_msg=f"{rule} {kind}")


def test_prior_of_one_topic_stays_as_it_is():
    """Its proportion is one, whatever the prior: nothing is learned, and nothing goes wrong."""
    prior = np.array([0.7])
    statistics = statistics_of(np.array([[3.0], [8.0]]), prior)
    for rule, kind in product(RULES, KINDS):
        learner = DocPrior(kind, rule, 1.0, 0.0)
        _, learned = learner.update(learner.initial(prior), prior, statistics, 1.0, 9.0)
        assert_allclose(learned, prior, rtol=1e-9, err_msg=f"{rule} {kind}")
    for rule in RULES[:2]:  # nor of topics of one word
        assert_allclose(learned_topic_word_prior(rule, 0.0, 1, 0.3, 1.0), 0.3, rtol=1e-9)


# The shares


def test_no_share_is_lost_and_nothing_but_the_sum_is_kept_without_documents():
    prior, learner = np.array([0.2, 0.3, 0.5]), DocPrior("auto", "shares")
    statistics, averages = PriorStatistics(np.zeros(3), np.array([0.0, 6.0, 2.0]), 3.0, 7.0), prior
    for _ in range(50):
        averages, prior = learner.update(averages, prior, statistics, 1.0, 100.0)
    assert_allclose(prior, [0.01 / 3, 0.7425 + 0.01 / 3, 0.2475 + 0.01 / 3], rtol=1e-12)
    # Of fewer topics, when some were dropped
    after, learned = learner.update(averages[:2], prior[:2], PriorStatistics.none(2), 0.5, 100.0)
    assert_array_equal(after, averages[:2])
    assert_allclose(learned.sum(), prior[:2].sum(), rtol=1e-12)
