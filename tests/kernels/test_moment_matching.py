"""Moment matching: golden posteriors, the moments of the mixture, samples of it, and extremes."""

from decimal import Context, Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktopic._kernels.moments._matching import (
    DEGENERATE,
    FIRST,
    FIXED,
    SECOND,
    SUM,
    TRIANGULAR,
    filter_tokens,
    infer_documents,
    list_tokens,
    permutation,
)
from sktopic.moment_matching._tokens import Tokens
from tests.kernels.tools import golden, joined, random_corpus, random_topics
from tests.reference import moment_matching as reference

GOLDEN = golden("bmm")
for_each_model = pytest.mark.parametrize(
    "model", [FIXED, DEGENERATE, TRIANGULAR], ids=["fixed", "degenerate", "triangular"]
)
for_each_match = pytest.mark.parametrize("match", [FIRST, SUM, SECOND], ids=["first", "sum", "second"])
for_first_and_sum = pytest.mark.parametrize("match", [FIRST, SUM], ids=["first", "sum"])


class Posterior:
    """All that filter_tokens changes. beta (n_topics, n_features) are parameters; alpha is start at first."""

    def __init__(self, model, match, start, gamma, beta, n_documents=1):
        self.model, self.match = model, match
        self.start = np.array(start, dtype=float)
        self.alpha = np.tile(self.start, (n_documents, 1))
        self.gamma = np.array(gamma, dtype=float)
        self.lag = np.zeros(len(self.gamma))
        self.sums = beta.sum(axis=1)
        self.store = np.ascontiguousarray((beta / self.sums[:, None]).T)
        self.scale = np.ones(len(beta))
        self.spread = 1.0 - (self.store**2).sum(axis=0)
        self.marginal = np.zeros(2)

    def filter(self, word, weight=1.0, document=0, begins=False, with_predictive=True):
        """The probability of each token; tokens of weight one of a document that goes on, unless told."""
        given = (document, np.int32), (word, np.int32), (weight, np.float64), (begins, np.uint8)
        tokens = Tokens(*(np.array(np.broadcast_to(x, len(word)), dtype) for x, dtype in given))
        predictive = np.empty(len(word) if with_predictive else 0)
        documents = self.start, self.alpha, self.gamma, self.lag
        filter_tokens(self.model, self.match, tokens, self, *documents, self.marginal, predictive)
        return predictive

    @property
    def mean(self):
        return (self.store * self.scale).T

    @property
    def beta(self):
        return self.mean * self.sums[:, None]

    @property
    def probabilities(self):
        return self.gamma * 2.0 ** (-512.0 * self.lag)


def assert_sound(posterior):
    """Every parameter is a positive number, and means sum to one."""
    for name in "alpha", "gamma", "lag", "store", "scale", "sums", "spread", "marginal":
        array = getattr(posterior, name)
        assert np.all(np.isfinite(array)), name
        assert np.all(array > 0) or name in ("gamma", "lag", "store", "marginal"), name
    assert np.all(posterior.mean > 0)
    assert_allclose(posterior.mean.sum(axis=1), 1.0, rtol=1e-10)
    if posterior.model != FIXED:
        assert_allclose(posterior.probabilities.sum(), 1.0, rtol=1e-10)


def size_of(model, n_topics):
    return n_topics * (n_topics + 1) // 2 if model == TRIANGULAR else n_topics


def random_posterior(rng, model, match, n_topics, n_words, n_documents=1):
    gamma = np.ones(1) if model == FIXED else rng.dirichlet(np.ones(n_topics))
    start = rng.gamma(2.0, 0.5, size_of(model, n_topics)) + 0.05
    beta = rng.gamma(1.0, 1.0, (n_topics, n_words)) + 0.05
    return Posterior(model, match, start, gamma, beta, n_documents)


def decimals(array):
    """The same numbers, to be worked on with many digits."""
    exact = np.array([Decimal(float(x)) for x in np.ravel(array)], dtype=object)
    return exact.reshape(np.shape(array))


def filter_exactly(posterior, word, weight, document, begins):
    """alpha, gamma, beta and the probabilities of tokens, as the reference with 150 digits has them."""
    weight, start = decimals(weight), decimals(posterior.start)
    state = decimals(posterior.alpha), decimals(posterior.gamma), decimals(posterior.beta)
    with localcontext(Context(prec=150)):
        exact = reference.filter_tokens(
            posterior.model, posterior.match, document, word, weight, begins, start, *state
        )
    return [array.astype(float) for array in exact]


def update_exactly(posterior, w, c=1.0):
    return filter_exactly(posterior, [w], [c], [0], [False])


def normalized(array):
    return array / array.sum(axis=-1, keepdims=True)


# Golden arrays


GOLDEN_MODELS = {"basic": FIXED, "ddm": DEGENERATE, "tdm": TRIANGULAR}


def pack(alpha):
    """Golden alpha, (number of topics, document, topic) in the triangular model, as the kernel has it."""
    if alpha.ndim == 2:
        return alpha
    return np.concatenate([alpha[k][:, : k + 1] for k in range(len(alpha))], axis=1)


@pytest.mark.parametrize("match", ["one", "sum"])
@pytest.mark.parametrize("name", GOLDEN_MODELS)
def test_golden_posterior(name, match):
    """After the first tokens and after all, document by document and mixed."""
    gamma, beta = GOLDEN.get(f"{name}_gamma0", np.ones(1)), GOLDEN[f"{name}_beta0"]
    for order, tokens, n, suffix in (
        ("doc", "tok", 1, "_after1"),
        ("doc", "tok", 50, "_after50"),
        ("doc", "tok", None, ""),
        ("mix", "mix", None, ""),
    ):
        posterior = Posterior(GOLDEN_MODELS[name], match == "sum", [], gamma, beta)
        posterior.alpha = pack(GOLDEN[f"{name}_alpha0"]).copy()
        predictive = posterior.filter(GOLDEN[f"{tokens}_word"][:n], document=GOLDEN[f"{tokens}_doc"][:n])
        found = {"alpha": posterior.alpha, "beta": posterior.beta}
        found |= {"gamma": posterior.probabilities} if posterior.model != FIXED else {}
        found |= {"c": predictive} if n is None else {}
        for what, array in found.items():
            expected = GOLDEN[f"{name}_{match}_{order}_{what}{suffix}"]
            expected = pack(expected) if what == "alpha" else expected
            assert_allclose(array, expected, rtol=1e-8, atol=1e-15, err_msg=what)


@pytest.mark.parametrize("name", GOLDEN_MODELS)
def test_golden_held_out_documents(name):
    model, beta = GOLDEN_MODELS[name], GOLDEN[f"{name}_one_mix_beta"]
    rows = np.ascontiguousarray(normalized(beta).T)
    gamma = np.ones(len(beta)) if model == FIXED else GOLDEN[f"{name}_one_mix_gamma"]
    start, word = np.ones(size_of(model, len(beta))), GOLDEN["held_word"].astype(np.int32)
    indptr, alpha = np.searchsorted(GOLDEN["held_doc"], np.arange(4)), np.empty((3, len(start)))
    theta = infer_documents(model, FIRST, indptr, word, np.ones(len(word)), rows, gamma, start, alpha)
    assert_allclose(alpha, pack(GOLDEN[f"{name}_held_alpha"]), rtol=1e-8, atol=1e-15)
    assert_allclose(theta, GOLDEN[f"{name}_held_theta"], rtol=1e-8, atol=1e-15)


@pytest.mark.slow
def test_reference_has_the_numbers_of_the_published_program():
    """After the four changes that the page about the golden arrays lists."""
    gamma, beta = GOLDEN["ddm_gamma0"], GOLDEN["ddm_beta0"]
    alpha, probabilities = np.ones((30, 6)), []
    for d, w in zip(GOLDEN["tok_doc"], GOLDEN["tok_word"]):
        b = beta[:, w] / beta.sum(axis=1)
        gamma = reference.posterior(DEGENERATE, alpha[d], gamma, b)[0].sum(axis=1)
        joint, probability = reference.posterior(DEGENERATE, alpha[d], gamma, b)
        alpha[d] = reference.match_proportions(DEGENERATE, SECOND, alpha[d], joint, 1)
        beta = reference.match_topics(SECOND, beta, joint, w, 1)
        probabilities.append(probability)
    for what, array in {"alpha": alpha, "beta": beta, "gamma": gamma, "px": probabilities}.items():
        assert_allclose(array, GOLDEN[f"published_ddm_{what}"], rtol=1e-8, atol=1e-15, err_msg=what)


# The twin


def random_tokens(rng, n_words, most):
    """document, word, weight and begins; four documents of one and more tokens, that take turns."""
    document = np.repeat(np.arange(4), [1, *rng.integers(2, most + 1, 3)])
    rng.shuffle(document)
    begins = np.zeros(len(document), dtype=np.uint8)
    begins[np.unique(document, return_index=True)[1]] = 1
    weight = rng.choice([1.0, 1.0, 0.3, 1e-3, 1e-300, 2.5, 17.0], len(document))
    return document, rng.integers(0, n_words, len(document)), weight, begins


@for_each_match
@for_each_model
@pytest.mark.parametrize(("n_topics", "n_words"), [(1, 2), (2, 1), (3, 40), (17, 2)])
def test_updates_are_those_of_the_reference(n_topics, n_words, model, match):
    """In calls in a row, the second of which has no tokens, and the last asks for no probabilities."""
    rng = np.random.default_rng(n_topics * 100 + n_words)
    posterior = random_posterior(rng, model, match, n_topics, n_words, 4)
    document, word, weight, begins = random_tokens(rng, n_words, 12 if n_topics <= 3 else 6)
    if n_topics <= 3 or model == DEGENERATE:
        exact = filter_exactly(posterior, word, weight, document, begins)
    else:  # there double precision will do, and more would take long
        state = posterior.start, posterior.alpha, posterior.gamma, posterior.beta
        exact = reference.filter_tokens(model, match, document, word, weight, begins, *state)
    alpha, gamma, beta, expected = exact
    posterior.alpha[:] = np.nan  # each document begins with start
    n = 2 * len(word) // 3
    for part in (slice(0, n), slice(n, n), slice(n, None)):
        given = word[part], weight[part], document[part], begins[part]
        predictive = posterior.filter(*given, with_predictive=part.stop == n)
        if part.stop == n:
            assert_allclose(predictive, expected[part], rtol=1e-9)
    assert_allclose(posterior.mean, normalized(beta), rtol=1e-9)
    # The distribution over a single topic or word is the same whatever its parameter.
    if n_topics > 1:
        assert_allclose(posterior.alpha, alpha, rtol=1e-9, atol=1e-15)
    if n_words > 1:
        assert_allclose(posterior.sums, beta.sum(axis=1), rtol=1e-9)
    if model != FIXED:
        assert_allclose(posterior.probabilities, gamma, rtol=1e-9)
    marginal = weight @ np.log(expected), weight.sum()
    assert_allclose(posterior.marginal, marginal, rtol=1e-9, atol=1e-12)


@for_each_match
@for_each_model
@pytest.mark.parametrize(("n_topics", "dtype"), [(1, np.float64), (3, np.float32), (17, np.float64)])
def test_inference_is_that_of_the_reference(n_topics, model, match, dtype):
    """Which computes with the same rounded rows, whose scale is of no account, in double precision."""
    rng = np.random.default_rng(n_topics)
    scale = 2.0 ** rng.integers(-20, 20, (40, 1))
    rows = (random_topics(rng, 40, n_topics) * scale).astype(dtype)
    indptr = np.cumsum([0, 1, 0, 7, 20, 3])
    word, weight = rng.integers(0, 40, 31, dtype=np.int32), rng.choice([1.0, 1.0, 0.3, 2.5], 31)
    gamma = np.ones(n_topics) if model == FIXED else rng.dirichlet(np.ones(n_topics))
    start = rng.gamma(2.0, 0.5, size_of(model, n_topics)) + 0.05
    pieces = []
    for first, last in ((0, 1), (1, 2), (2, 5)):
        tokens, alpha = slice(indptr[first], indptr[last]), np.empty((last - first, len(start)))
        given = indptr[first : last + 1], word[tokens], weight[tokens], rows, gamma, start
        theta = infer_documents(model, match, *given, alpha)
        assert_array_equal(infer_documents(model, match, *given, alpha[:1].copy()), theta)
        pieces.append((alpha, theta))
    gamma = gamma[:1] if model == FIXED else gamma
    given = indptr, word, weight, rows.astype(float), gamma, start
    expected = reference.infer_documents(model, match, *given)
    for found, wanted in list(zip(joined(pieces), expected))[n_topics == 1 :]:
        assert_allclose(found, wanted, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("shuffled", [False, True])
def test_tokens_are_those_of_the_reference(shuffled):
    corpus = random_corpus(3, counts="mixed")
    keys = corpus.keys if shuffled else corpus.keys[:0]
    pieces = []
    for first, last in corpus.pieces:
        document, *tokens = list_tokens(*corpus.piece(first, last), keys[first:last])
        pieces.append((document + np.int32(first), *tokens))
    expected = reference.list_tokens(*corpus.documents, keys)
    for array, of_reference in zip(joined(pieces), expected):
        assert array.dtype == of_reference.dtype
        assert_array_equal(array, of_reference)


def test_permutation_is_that_of_the_reference():
    for n in (0, 1, 2, 1000):
        assert_array_equal(permutation(12345, n), reference.permutation(12345, n))


# Extremes

ALPHAS = np.array(
    [
        [1.0, 1.0, 1.0, 1.0, 1.0],
        [1e-20, 1e-20, 1e-20, 1e-20, 1e-20],
        [1e9, 2e9, 3e9, 2e9, 1e9],
        [1e-3, 1e-12, 2e-8, 30.0, 0.5],
        [1e15, 1e-15, 2e-15, 1e-15, 3e-15],
        [3e-15, 1e15, 1e-15, 1e-15, 2e-15],
        [2.0, 1e-20, 1e-20, 1e-20, 1e-20],
        [1e-20, 1e-20, 5.0, 1e-20, 1e-20],
    ]
)
GAMMAS = np.array(
    [
        [0.2, 0.2, 0.2, 0.2, 0.2],
        [1 - 1e-12, 4e-13, 3e-13, 2e-13, 1e-13],
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [1e-13, 1e-12, 1 - 2e-12, 0.0, 9e-13],
        [0.5, 1e-300, 0.5, 1e-200, 1e-12],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ]
)


def extreme_posterior(model, match, alpha, gamma, seed=0):
    beta = np.random.default_rng(seed).gamma(0.5, 3.0, (5, 4)) + 1e-3
    start = np.concatenate([alpha[: k + 1] for k in range(5)]) if model == TRIANGULAR else alpha
    return Posterior(model, match, start, [1.0] if model == FIXED else gamma, beta)


@pytest.mark.slow
@for_each_model
def test_update_loses_digits_only_where_a_sum_is_matched_at_a_corner(model):
    """The share of the others is then the difference of one and a square, in the degenerate model that of two
    distances of means from a corner, which are apart by what a Dirichlet of this sum varies."""
    gammas = GAMMAS[:1] if model == FIXED else GAMMAS
    cases = [(match, *given, 1e-12) for match in (FIRST, SECOND) for given in product(ALPHAS, gammas)]
    for total, share, large in product((1e-3, 1e3), (1e-4, 1e-8), (0, 1, 4)):
        alpha = total * np.where(np.arange(5) == large, 1.0, share * np.array([1.0, 0.5, 2.0, 1.5, 0.7]))
        worst = 1e-12 + 1e-15 / share * (max(total, 1.0) if model == DEGENERATE else 1.0)
        cases += [(SUM, alpha, gamma, worst) for gamma in gammas]
    for i, (match, alpha, gamma, worst) in enumerate(cases):
        w, weight = i % 4, 1.0 if match == SUM else [1.0, 0.25, 40.0][i % 3]
        posterior = extreme_posterior(model, match, alpha, gamma, i)
        alpha, gamma, beta, predictive = update_exactly(posterior, w, weight)
        assert_allclose(posterior.filter([w], [weight]), predictive, rtol=1e-13)
        assert_allclose(posterior.alpha, alpha, rtol=worst)
        assert_allclose(posterior.beta, beta, rtol=1e-12)
        if model != FIXED:
            assert_allclose(posterior.probabilities, gamma, rtol=1e-12, atol=1e-305)


@for_each_model
def test_sum_of_which_no_digits_are_left_is_a_positive_number(model):
    for i, alpha in enumerate(ALPHAS):
        posterior = extreme_posterior(model, SUM, alpha, GAMMAS[i % len(GAMMAS)], i)
        posterior.filter([i % 4])
        assert np.all((posterior.alpha >= 1e-20) & (posterior.alpha < 1e20))
        assert_sound(posterior)


@for_first_and_sum
@pytest.mark.parametrize("total", [1e-3, 1e6])
def test_update_of_topics_loses_digits_only_at_a_corner(total, match):
    """The probability of the other words is one less that of the word, or one less all squares."""
    for share, corner, w in product((1e-2, 1e-8), (0, 1), (0, 1, 2)):
        beta = np.random.default_rng(0).uniform(0.5, 1.5, (3, 4))
        beta[:2] *= share
        beta[:2, corner] = 1.0
        posterior = Posterior(FIXED, match, [0.5, 1.0, 2.0], [1.0], total * normalized(beta))
        _, _, exact, _ = update_exactly(posterior, w)
        posterior.filter([w])
        assert_allclose(posterior.sums, exact.sum(axis=1), rtol=1e-12 + 1e-15 / share)
        assert_allclose(posterior.mean, normalized(exact), rtol=1e-12)


@for_first_and_sum
@for_each_model
def test_word_that_comes_after_many_others_is_learned(model, match):
    """The posterior of one topic is exact: beta plus counts."""
    word, begins = np.random.default_rng(1).integers(0, 3, 300_000), np.arange(300_000) % 1000 == 0
    for n_topics in (1, 3):
        posterior = random_posterior(np.random.default_rng(1), model, match, n_topics, 4)
        beta = posterior.beta
        posterior.filter(word, begins=begins)
        assert_sound(posterior)
        if n_topics == 1:
            assert_allclose(posterior.beta[0], beta[0] + np.bincount(word, minlength=4), rtol=1e-9)
        alpha, _, beta, expected = update_exactly(posterior, 3)
        predictive = posterior.filter([3])
        assert 0 < predictive[0] < 1e-3
        assert_allclose(predictive, expected, rtol=1e-10)
        assert_allclose(posterior.alpha, alpha, rtol=1e-7, atol=1e-15)
        assert_allclose(posterior.beta, beta, rtol=1e-7)


@for_first_and_sum
def test_tokens_that_outweigh_all_before_leave_the_others_their_share(match):
    """Of rising weights each outweighs all before, until a word has a probability below 1e-114."""
    beta = np.array([[0.5, 0.1, 2.0, 0.3]])
    for weight in ([1e3], [1e10], [1e18], 100.0 ** np.arange(58)):
        word, posterior = np.arange(len(weight)) % 3, Posterior(FIXED, match, [1.0], [1.0], beta)
        posterior.filter(word, weight)
        exact = beta + np.bincount(word, weights=weight, minlength=4)
        assert posterior.scale[0] > 1e-100
        assert_allclose(posterior.mean, normalized(exact), rtol=1e-9)


@for_each_match
@for_each_model
def test_long_documents_leave_a_sound_posterior(model, match):
    """Also of a number of topics that has no probability and gets none."""
    rng = np.random.default_rng(0)
    topics, posterior = random_topics(rng, 30, 5, 0.1), random_posterior(rng, model, match, 10, 30)
    if model != FIXED:
        posterior.gamma[[1, 3]] = 0.0
        posterior.gamma /= posterior.gamma.sum()
    for weight in [0.1, 100.0] * 20:
        word = rng.choice(30, 200, p=topics @ rng.dirichlet(np.full(5, 0.1)))
        posterior.filter(word, weight, begins=np.arange(200) == 0)
    assert_sound(posterior)
    assert posterior.sums.min() > 1
    if model != FIXED:
        assert_array_equal(posterior.probabilities[[1, 3]], 0.0)
    if match == SUM:
        assert_allclose(posterior.spread, 1.0 - (posterior.mean**2).sum(axis=1), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("model", [DEGENERATE, TRIANGULAR], ids=["degenerate", "triangular"])
def test_number_of_topics_that_has_long_been_out_of_the_question_comes_back(model):
    """From less than the smallest double, through documents of one token each."""
    alpha = np.array([1e-4, 0.1, 1.0])
    start = np.concatenate([alpha[:1], alpha[:2], alpha]) if model == TRIANGULAR else alpha
    beta = 1e4 * normalized(np.array([[1e-6, 1.0, 0.5], [1.0, 1e-3, 0.1], [1.0, 2e-3, 0.2]]))
    posterior = Posterior(model, FIRST, start, np.full(3, 1 / 3), beta)
    state = [decimals(posterior.alpha), decimals(posterior.gamma), decimals(beta)]
    exact_start, trace = decimals(start), []
    for w, n in ((0, 30), (0, 50), (1, 100), (2, 3), (1, 200)):
        word, begins = np.full(n, w), np.ones(n, dtype=np.uint8)
        posterior.filter(word, begins=begins)
        tokens = np.zeros(n, dtype=int), word, decimals(np.ones(n)), begins
        with localcontext(Context(prec=40)):
            *state, _ = reference.filter_tokens(model, FIRST, *tokens, exact_start, *state)
            expected = [float(gamma.ln()) for gamma in state[1]]
        trace.append(np.log(posterior.gamma) - 512 * np.log(2.0) * posterior.lag)
        assert_allclose(trace[-1], expected, rtol=1e-11, atol=1e-11)
    assert trace[1][0] < -1000
    assert posterior.probabilities[0] > 0.99
    assert_allclose(posterior.beta, state[2].astype(float), rtol=1e-9)
