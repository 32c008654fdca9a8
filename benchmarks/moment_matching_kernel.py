"""Time of one token in the moment-matching models, and of the same update by NumPy.

    python benchmarks/moment_matching_kernel.py

Of 100 topics, on one core:

- tokens of Reuters with its 7720 most frequent words, document by document, each mixed: the first ones (all
numbers of topics are equally probable) and some after 300,000 (few are). NumPy changes the parameters of all
topics and words for every token: once in place, by the same formulas as the kernel, and once from the moments
of all of them, as the paper has it. That all end in the same state is checked. - the kernel alone with
vocabularies of 1,000 to 100,000 words, drawn with Zipf's frequencies or uniformly.

All are measured in turns, and the fastest of all rounds counts, with the median beside it.
"""

from itertools import product
from types import SimpleNamespace

import numpy as np
from _corpora import load
from _study import Study, new_parser, one_thread, printed, seconds_of

from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._kernels.moments import _matching
from sktopic._kernels.moments._matching import DEGENERATE, FIXED, TRIANGULAR, filter_tokens, list_tokens
from sktopic._kernels.random._rng import position_keys

K, V = 100, 7720
N_ROUNDS, N_CHECKED, N_NUMPY, N_KERNEL, N_BEFORE = 7, 100, 200, 20_000, 300_000
VOCABULARIES = (1_000, 10_000, 100_000)
ALPHA = K**-0.55
MODELS = {"basic": FIXED, "DDM": DEGENERATE, "TDM": TRIANGULAR}


class State:
    """The posterior, as the kernel has it."""

    def __init__(self, model, n_features):
        self.model = model
        self.store = 1.0 + 0.5 * np.random.RandomState(0).uniform(-1.0, 1.0, size=(n_features, K))
        masses = self.store.sum(axis=0)
        self.store /= masses
        self.scale, self.sums = np.ones(K), n_features**-0.5 * masses
        self.spread = 1.0 - (self.store**2).sum(axis=0)
        self.gamma, self.lag = np.full(K, 1.0 / K), np.zeros(K)
        self.start = np.full(K * (K + 1) // 2 if model == TRIANGULAR else K, ALPHA)
        self.alpha, self.marginal = self.start[None].copy(), np.zeros(2)

    def filter(self, sum_match, tokens):
        """One document's alpha is all there is: documents come one after the other."""
        word, begins = tokens
        document, weight = np.zeros(len(word), dtype=np.int32), np.ones(len(word))
        tokens = SimpleNamespace(document=document, word=word, weight=weight, begins=begins)
        names = ("start", "alpha", "gamma", "lag", "marginal")
        given = {"model": self.model, **{name: getattr(self, name) for name in names}}
        match, unwanted = _matching.SUM if sum_match else _matching.FIRST, np.empty(0)
        filter_tokens(match=match, tokens=tokens, topics=self, predictive=unwanted, **given)


class PlainState:
    """The same by NumPy: every token changes the parameters of all topics and words.

    in_place: by one multiplication of each, else by way of their moments.
    """

    def __init__(self, state, in_place):
        self.model, self.start = state.model, state.start
        self._update_topics = self._topics if in_place else self._topics_by_moments
        self.spare = [np.zeros((K, len(state.store))) for _ in range(0 if in_place else 2)]
        self.beta = np.ascontiguousarray((state.store * (state.scale * state.sums)).T)
        self.sums, self.squares = state.sums.copy(), 1.0 - state.spread
        self.gamma = np.where(state.lag > 0, 0.0, state.gamma)
        self.alpha = self._document(state.alpha[0])

    def _document(self, values):
        """Of the triangular model, a row for each number of topics; zero for topics beyond."""
        if self.model != TRIANGULAR:
            return values.copy()
        rows = np.zeros((K, K))
        rows[np.tril_indices(K)] = values
        return rows

    def filter(self, sum_match, tokens):
        update = {FIXED: self._fixed, DEGENERATE: self._degenerate, TRIANGULAR: self._triangular}[self.model]
        for w, begins in zip(*tokens):
            if begins:
                self.alpha = self._document(self.start)
            b = self.beta[:, w] / self.sums
            self._update_topics(w, b, update(b, sum_match), sum_match)

    def _topics(self, w, b, p, sum_match):
        A, r = self.sums, p / (self.sums + 1.0)
        if sum_match:
            s = self.squares
            total = matched_sum_all(A, p, s, b, 1.0)
            self.squares = (1.0 - r) ** 2 * s + 2.0 * (1.0 - r) * r * b + r**2
        else:
            total = matched_sum_one(A, p, self.beta[:, 0] / A, float(w == 0))
        self.beta *= (total * (1.0 - r) / A)[:, None]
        self.beta[:, w] += total * r
        self.sums = total

    def _topics_by_moments(self, w, b, p, sum_match):
        """Equations 14, 15 and 7, without new arrays of that size."""
        A, beta, mean = self.sums, self.beta, self.spare[0]
        missed, hit = (1.0 - p) / A, p / (A + 1.0)
        np.multiply(beta, (missed + hit)[:, None], out=mean)
        mean[:, w] += hit
        missed, hit = missed / (A + 1.0), hit / (A + 2.0)
        part = slice(None) if sum_match else slice(1)  # the words whose second moments are matched
        square = np.add(beta[:, part], 1.0, out=self.spare[1][:, part])
        square *= beta[:, part]
        square *= (missed + hit)[:, None]
        if sum_match or w == 0:
            square[:, w] += 2.0 * hit * (beta[:, w] + 1.0)
        first, second = mean[:, part].sum(axis=1), square.sum(axis=1)
        total = guarded(first - second, second - np.einsum("tw,tw->t", mean[:, part], mean[:, part]), A)
        mean *= total[:, None]
        self.sums, self.beta, self.spare[0] = total, mean, beta

    def _fixed(self, b, sum_match):
        A, product = self.alpha.sum(), self.alpha * b
        mean, p = self.alpha / A, product / product.sum()
        if sum_match:
            total = matched_sum_all(A, 1.0, mean @ mean, mean @ p, p @ p)
        else:
            total = matched_sum_one(A, 1.0, mean[0], p[0])
        r = 1.0 / (A + 1.0)
        self.alpha = np.maximum(total * ((1.0 - r) * mean + r * p), 1e-20)
        return p

    def _degenerate(self, b, sum_match):
        """Sums over the number of topics of what it makes the first and second moments of proportions."""
        alpha = self.alpha
        A, product = np.cumsum(alpha), alpha * b
        C = np.cumsum(product)
        self.gamma = self.gamma * (C / A)
        self.gamma /= self.gamma.sum()
        first = self.gamma / (A + 1.0)
        second = first / (A + 2.0)
        terms = np.stack([self.gamma / C, first, first / C, second, second / C])
        hit, first, first_hit, second, second_hit = np.cumsum(terms[:, ::-1], axis=1)[:, ::-1]
        mean = alpha * first + product * first_hit
        square = (alpha + 1.0) * (alpha * second + 2.0 * product * second_hit)
        part = slice(None) if sum_match else slice(1)
        mean_part, square_part = mean[part], square[part]
        total = (mean_part - square_part).sum() / (square_part - mean_part**2).sum()
        self.alpha = np.maximum(total * mean, 1e-20)
        return product * hit

    def _triangular(self, b, sum_match):
        alpha = self.alpha
        A, C = alpha.sum(axis=1), alpha @ b
        self.gamma = self.gamma * (C / A)
        self.gamma /= self.gamma.sum()
        g = self.gamma
        p = b * ((g / C) @ alpha)
        if sum_match:
            squared = alpha**2
            s, H, Q = squared.sum(axis=1) / A**2, squared @ b / (A * C), squared @ b**2 / C**2
            total = matched_sum_all(A, g, s, H, Q)
        else:
            total = matched_sum_one(A, g, alpha[:, 0] / A, alpha[:, 0] * b[0] / C)
        r = g / (A + 1.0)
        u, v = total * (1.0 - r) / A, total * r / C
        u[0], v[0] = 1.0, 0.0  # of one topic there is nothing to learn
        alpha *= u[:, None] + v[:, None] * b
        return p


# The formulas are in _kernels/moments/_token_update.h.


def matched_sum_one(A, g, m, q):
    v, w = 1.0 / (A + 1.0), 1.0 / (A + 2.0)
    miss = (1.0 - g) * m * (1.0 - m) * v
    hit = g * v * v * w * A * ((1.0 - q) * m * (A * (1.0 - m) + 1.0) + q * (A * m + 1.0) * (1.0 - m))
    between = v * v * g * (q * (1.0 - q) + (1.0 - g) * (q - m) ** 2)
    return guarded(miss * A + hit * (A + 1.0), miss + hit + between, A)


def matched_sum_all(A, g, s, H, Q):
    v = 1.0 / (A + 1.0)
    miss = (1.0 - g) * (1.0 - s) * v
    hit = g * A * (A * (1.0 - s) + 2.0 * (1.0 - H)) * v / (A + 2.0)
    between = v * v * g * ((1.0 - Q) + (1.0 - g) * (Q - 2.0 * H + s))
    return guarded(miss * A + hit, miss + hit * v + between, A)


def guarded(above, below, old):
    with np.errstate(divide="ignore", invalid="ignore"):
        total = above / below
    return np.where((total > 0.0) & (total < 1e300), total, old)


def reuters_tokens():
    """Words, and whether a document begins with them; documents in the order of the corpus."""
    train = load("reuters21578")[0]
    frequent = np.argsort(-np.asarray(train.sum(axis=0)).ravel(), kind="stable")[:V]
    counts = canonical_counts(train[:, np.sort(frequent)].astype(np.float64))
    batch = DocumentReader(counts).batch(np.arange(counts.shape[0]))
    keys = position_keys(0, 0, batch.n_documents)
    document, word, _ = list_tokens(batch.indptr, batch.cell_word, batch.cell_count, keys)
    return np.ascontiguousarray(batch.words[word]), np.diff(document, prepend=-1).astype(np.uint8)


def drawn_tokens(n_features, zipf, n_tokens, length=100):
    """The same of words without topics, frequent ones anywhere in the vocabulary."""
    rng = np.random.RandomState(0)
    frequency = 1.0 / np.arange(1, n_features + 1) if zipf else np.ones(n_features)
    word = rng.choice(n_features, size=n_tokens, p=frequency / frequency.sum())
    word = rng.permutation(n_features)[word].astype(np.int32)
    return word, (np.arange(n_tokens) % length == 0).astype(np.uint8)


def some(tokens, first, n):
    return tuple(part[first : first + n] for part in tokens)


def microseconds(state, sum_match, tokens):
    """Of one token, in this process."""
    return 1e6 * seconds_of(state.filter, sum_match, tokens)[0] / len(tokens[0])


def check_agreement(kernel, plain):
    np.testing.assert_allclose((kernel.store * (kernel.scale * kernel.sums)).T, plain.beta, rtol=1e-6)
    alpha = plain.alpha if kernel.model != TRIANGULAR else plain.alpha[np.tril_indices(K)]
    np.testing.assert_allclose(kernel.alpha[0], np.maximum(alpha, 1e-20), rtol=1e-5)


def against_numpy(model, sum_match, tokens, n_before):
    """Microseconds of a token in each round, after n_before: kernel, NumPy in place and by moments."""
    kernel = State(model, V)
    kernel.filter(sum_match, some(tokens, 0, n_before))
    states = [kernel, PlainState(kernel, True), PlainState(kernel, False)]
    for state in states:
        state.filter(sum_match, some(tokens, n_before, N_CHECKED))
    for plain in states[1:]:
        check_agreement(kernel, plain)
    times = []
    for i in range(N_ROUNDS):
        given = some(tokens, n_before + N_CHECKED + i * N_KERNEL, N_KERNEL)
        parts = given, some(given, 0, N_NUMPY), some(given, 0, N_NUMPY)
        times.append([microseconds(state, sum_match, part) for state, part in zip(states, parts)])
    return np.array(times).T


def by_vocabulary(model, sum_match, zipf):
    """Microseconds of a token in each round, for each size of the vocabulary."""
    states = [State(model, n_features) for n_features in VOCABULARIES]
    n_tokens = N_KERNEL * (N_ROUNDS + 1)
    tokens = [drawn_tokens(n_features, zipf, n_tokens) for n_features in VOCABULARIES]
    times = []
    for first in range(0, n_tokens, N_KERNEL):
        pairs = zip(states, tokens)
        times.append([microseconds(state, sum_match, some(own, first, N_KERNEL)) for state, own in pairs])
    return np.array(times[1:]).T


def shown(times):
    return f"{times.min():.2f}", f"{np.median(times):.2f}"


def rows_of_table():
    """Rows as they are measured."""
    tokens, matches = reuters_tokens(), {"first": False, "sum": True}
    for (name, model), match, before in product(MODELS.items(), matches, (0, N_BEFORE)):
        kernel, *plain = against_numpy(model, matches[match], tokens, before)
        ratios = [f"{times.min() / kernel.min():.0f}" for times in plain]
        numpy_times = [f"{times.min():.0f}" for times in plain]
        words = f"Reuters, after {before} tokens"
        yield name, match, V, words, *shown(kernel), *numpy_times, *ratios, ""
    for (name, model), match, words in product(MODELS.items(), matches, ("Zipf", "uniform")):
        found = by_vocabulary(model, matches[match], words == "Zipf")
        for n_features, times in zip(VOCABULARIES, found):
            growth = f"{times.min() / found[0].min():.2f}"
            yield name, match, n_features, words, *shown(times), "", "", "", "", growth


def main():
    study = Study("moment_matching_kernel", new_parser(__doc__).parse_args())
    study.sign()
    one_thread()
    head = ["model", "second moment", "vocabulary", "words", "microseconds a token", "median"]
    head += ["NumPy in place", "NumPy by moments", "ratio in place", "ratio by moments"]
    head += [f"over that of {VOCABULARIES[0]} words"]
    study.write("", head, map(printed, rows_of_table()))


if __name__ == "__main__":
    main()
