"""Topics as documents see them: probabilities of words, computed for the words that are asked for."""

from dataclasses import dataclass

import numpy as np

from sktopic._kernels._groups import LeftOut, SparseRows
from sktopic._kernels.topics._gathering import BLOCK_SIZE, gather_geometric, gather_topics
from sktopic._runtime._arrays import real_numbers, row_blocks, rows_of
from sktopic._topics._topic_word_prior import PriorEntries, ScaledEntries

# The part of a document's token that stays in a topic where its own tokens are left out.
LEAST_LEFT = 1e-6


@dataclass
class GatheredTopics:
    """Topic rows of some words, as document steps want them (see _kernels.topics._gathering.gather_topics).

    Attributes
    ----------
    rows : (n_words, n_components) probabilities phi[w], or geometric means of them, scaled to
        phi[w] @ prior = 1
    cumulative : (n_words, n_blocks) cumulative sums over blocks of topics of rows * prior
    log_norm : (n_words,) log(phi[w] @ prior) before scaling
    left_out : what the documents themselves have added to phi, if they have
    lists : SparseRows in the place of rows and cumulative, which are empty then; or None
    """

    rows: np.ndarray
    cumulative: np.ndarray
    log_norm: np.ndarray
    left_out: LeftOut | None = None
    lists: SparseRows | None = None

    def in_doubles(self):
        """The same in float64, in which kernels then add up."""
        rows, cumulative = (array.astype(np.float64, copy=False) for array in (self.rows, self.cumulative))
        lists = self.lists
        if lists is not None:
            precise = {name: getattr(lists, name).astype(np.float64) for name in ("value", "cumulative")}
            lists = lists._replace(**precise)
        return GatheredTopics(rows, cumulative, self.log_norm, self.left_out, lists)

    @property
    def size(self):
        """Numbers of rows."""
        return self.rows.size if self.lists is None else len(self.lists.value)

    def dense_rows(self):
        """Rows of all words, also where there are lists."""
        if self.lists is None:
            return self.rows
        return self.rows_of(np.arange(len(self.log_norm))).astype(self.rows.dtype, copy=False)

    def rows_of(self, words):
        """Rows of some of the words, ndarray of shape (n, n_components)."""
        if self.lists is None:
            return self.rows[words]
        lists = self.lists
        rows = lists.rest[words, None] * lists.shares + lists.even[words, None] * lists.units
        lengths = lists.start[np.add(words, 1)] - lists.start[words]
        row = np.repeat(np.arange(len(rows)), lengths)
        first = np.cumsum(lengths) - lengths
        entry = np.arange(lengths.sum()) + np.repeat(lists.start[words] - first, lengths)
        rows[row, lists.topic[entry]] += lists.value[entry]
        return rows


def part_of(left_out, documents):
    """What is left out for a slice of documents, given that for all of them, which may be None."""
    return None if left_out is None else left_out._replace(often=left_out.often[documents])


def left_out_of(topics, often, log_norm):
    """LeftOut of documents that are in the topics so often; None for topics that are not made of tokens.

    log_norm : of the rows that are gathered
    """
    if topics.token is None:
        return None
    # Never zero, so that draws remain possible.
    smoothing = np.maximum(topics.offset, LEAST_LEFT * often.max(initial=0.0) * topics.token)
    return LeftOut(often, topics.token, smoothing, np.exp(-log_norm))


@dataclass
class TopicProbabilities:
    """phi[w, k] = store[w, k] * scale[k] + offset[k], computed for the words asked for.

    entries, if there are any, take the place of the offset of some words in some topics: in `rows`,
    `components` and `gather`, which are all that is asked of models with such priors. owner is what the
    arrays must not outlive, a snapshot of a model that would else train on in them. token is what a token of
    the corpus adds to phi, where topics are made of tokens.
    """

    store: np.ndarray
    scale: np.ndarray
    offset: np.ndarray
    entries: ScaledEntries | None = None
    owner: object = None
    token: np.ndarray | None = None

    @classmethod
    def from_components(cls, components):
        """From probabilities of shape (n_components, n_features)."""
        n_components = len(components)
        store = np.ascontiguousarray(components.T, dtype=np.float64)
        return cls(store, np.ones(n_components), np.zeros(n_components))

    def rows(self, words):
        """phi of the words, ndarray of shape (n_words, n_components), float64."""
        return _rows(self, words)

    def components(self):
        """phi of all words, ndarray of shape (n_components, n_features), rows summing to one."""
        with np.errstate(under="ignore"):  # of words that a topic has next to nothing of
            components = self.store.T * self.scale[:, None]
        components += self.offset[:, None]
        if self.entries is not None:
            word, k, value = self.entries.at(np.arange(len(self.store)))
            components[k, word] = self.store[word, k] * self.scale[k] + value
        components /= components.sum(axis=1, keepdims=True)
        return components

    def gather(self, words, prior, workers, dtype=np.float32):
        """phi of the words scaled to phi @ prior = 1, with the sums that draws need."""
        return _gather(gather_topics, self, words, (prior,), workers, dtype)

    gather_rows = gather


@dataclass
class GeometricTopics:
    """exp E[log phi] under a Dirichlet posterior for each topic, of parameters store * scale + offset.

    It is what mean-field inference puts in the place of phi; norm is psi of the parameters' sums, and entries
    are as in TopicProbabilities.
    """

    store: np.ndarray
    scale: np.ndarray
    offset: np.ndarray
    norm: np.ndarray
    entries: PriorEntries | None = None

    token = None  # nothing is left out of these means

    def gather(self, words, prior, workers, dtype=np.float32):
        """As TopicProbabilities.gather."""
        return _gather(gather_geometric, self, words, (self.norm, prior), workers, dtype)


def _rows(topics, words):
    """store * scale + offset of the words, float64; or store * scale + entry."""
    rows = rows_of(topics.store, words)
    with np.errstate(under="ignore"):  # of words that a topic has next to nothing of
        for some in row_blocks(rows):
            rows[some] = rows[some] * topics.scale + topics.offset
    if topics.entries is not None:
        position, k, value = topics.entries.at(words)
        rows[position, k] = topics.store[words[position], k] * topics.scale[k] + value
    return rows


def _gather(kernel, topics, words, of_topics, workers, dtype):
    """Return the GatheredTopics of a kernel of _kernels.topics._gathering.

    of_topics : its last arrays, of one entry a topic
    """
    gathered = _filled(kernel, topics.store, words, (topics.scale, topics.offset, *of_topics), workers, dtype)
    own = () if topics.entries is None else topics.entries.present(words)
    if len(own):  # few words, as a rule: they are gathered again, from rows that have the entries
        rows, positions = _rows(topics, words[own]), np.arange(len(own), dtype=np.int32)
        as_they_are = np.ones(rows.shape[1]), np.zeros(rows.shape[1])
        again = _filled(kernel, rows, positions, (*as_they_are, *of_topics), workers, dtype)
        for name in ("rows", "cumulative", "log_norm"):
            getattr(gathered, name)[own] = getattr(again, name)
    return gathered


def _filled(kernel, store, words, of_topics, workers, dtype):
    """What a kernel fills for rows of one store; of_topics : its arrays of one entry a topic."""
    n_components = store.shape[1]
    if {len(array) for array in of_topics} != {n_components} or (len(words) and words.max() >= len(store)):
        # Kernels trust their input.
        raise ValueError(f"topics of shape {store.shape} do not fit the prior or the documents.")
    gathered = GatheredTopics(
        workers.scratch.empty((len(words), n_components), dtype),
        np.empty((len(words), -(-n_components // BLOCK_SIZE)), dtype=dtype),
        np.empty(len(words)),
    )
    finite = kernel(
        store, words, *of_topics, gathered.rows, gathered.cumulative, gathered.log_norm, workers.team
    )
    check_finite(finite)
    return gathered


def check_components_init(value, n_features, n_needed=None, most=None):
    """Return topics to start from as ndarray of shape (n_given, n_features), rows summing to one.

    n_needed, most : how many there have to be, or may be
    """
    try:
        components = real_numbers(value)
    except (TypeError, ValueError):
        raise ValueError(f"components_init={value!r}: an array of finite numbers is allowed.") from None
    n = f"{n_needed}" if most is None else f"1 to {most}"
    fits = components.ndim == 2 and components.shape[1] == n_features
    if not fits or not (len(components) == n_needed if most is None else 1 <= len(components) <= most):
        raise ValueError(
            f"components_init has shape {components.shape}; {n} topics of {n_features} words are allowed."
        )
    bad = ~((components >= 0.0) & (components < np.inf))
    if bad.any():
        topic, word = np.argwhere(bad)[0]
        raise ValueError(
            f"components_init has {components[topic, word]} for word {word} of topic {topic}; finite numbers "
            "from 0 on are allowed."
        )
    # The largest number of each row is one before they are summed, which then cannot overflow.
    largest = components.max(axis=1, keepdims=True)
    if not largest.all():
        raise ValueError(
            f"components_init has nothing but zeros for topic {largest.argmin()}; topics with a number above "
            "0 are allowed."
        )
    components /= largest
    return components / components.sum(axis=1, keepdims=True)


def check_finite(finite):
    """Raise ValueError unless logarithms of probabilities of words are neither NaN nor plus infinity."""
    if not finite:
        raise ValueError("the fitted topics have words whose probability is not finite; call fit.")
