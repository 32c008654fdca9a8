"""The last documents of a stream, with the topics that their tokens were drawn to."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from sktopic._kernels._groups import TokensByDocument
from sktopic._runtime._arrays import are_lengths
from sktopic._state._fields import State, array, array_fields, changed, count, number

# Number of documents in the first window of a stream, and largest number of tokens in a window.
FIRST_WINDOW, MOST_TOKENS = 250, 1 << 22
# Arrays of TopicTokens with one entry for each token.
OF_TOKENS = ("word", "size", "document")


@dataclass(frozen=True)
class TopicTokens:
    """Tokens of a topic in some documents, sorted by document.

    Attributes
    ----------
    word, size, document : (n_tokens,) int32, float64, int64
    sample_weight : (n_all_documents,) weight of each document, as users give it
    times : number of documents of the corpus per document of the window
    """

    word: np.ndarray
    size: np.ndarray
    document: np.ndarray
    sample_weight: np.ndarray
    times: float = 1.0

    def __len__(self):
        return len(self.word)

    @property
    def number(self):
        """Number of the tokens in the window, by the weights of their documents."""
        return float(self.sample_weight[self.document].sum())

    @cached_property
    def by_document(self):
        """The arrays as TokensByDocument."""
        begins = np.flatnonzero(np.diff(self.document, prepend=-1))
        documents = self.document[begins]
        return TokensByDocument(
            document=documents,
            first=np.append(begins, len(self)),
            word=self.word,
            size=self.size,
            document_weight=self.weight_of(documents),
            copy_weight=self.copy_weight_of(documents),
        )

    def weight_of(self, documents):
        """Return as how many documents of the corpus each of these counts."""
        return self.times * self.sample_weight[documents]

    def copy_weight_of(self, documents):
        """Return the part of this of one copy of each document; the other copies are other documents."""
        return self.times * np.minimum(self.sample_weight[documents], 1.0)

    def weights(self):
        """Sizes times document weights, (n_tokens,)."""
        return self.size * self.weight_of(self.document)

    def part(self, chosen):
        return replace(self, **{name: getattr(self, name)[chosen] for name in OF_TOKENS})


def concatenated(topics, name):
    """Concatenate the named arrays of a list of TopicTokens."""
    return np.concatenate([getattr(tokens, name) for tokens in topics])


def numbers(topics):
    """Return, for each token of a list of TopicTokens, the position of its topic in the list."""
    return np.repeat(np.arange(len(topics)), [len(tokens) for tokens in topics])


def joined(topics):
    """Join the tokens of several topics; return them with the position of each token's topic in the list."""
    order = np.argsort(concatenated(topics, "document"), kind="stable")
    of_all = replace(topics[0], **{name: concatenated(topics, name)[order] for name in OF_TOKENS})
    return of_all, numbers(topics)[order]


def word_counts(topics, n_features):
    """Count tokens of words in topics (list of TopicTokens): csr_array of shape (n_topics, n_features)."""
    weight = np.concatenate([tokens.weights() for tokens in topics])
    place = numbers(topics), concatenated(topics, "word")
    return sp.csr_array((weight, place), shape=(len(topics), n_features))


@dataclass(frozen=True, eq=False, kw_only=True)
class Window(State):
    """Documents with the topics of their tokens (clumps).

    New documents are appended, in arrays with spare capacity.

    Attributes
    ----------
    word, topic, size : (capacity,) int32, int32 and float64, of each token
    length, document_weight : (capacity,) number of tokens, int64, and weight of each document
    n_tokens, n_documents : number of tokens and documents
    last_moves : number of documents seen at the last moves
    """

    word: np.ndarray = array(np.int32, "window tokens")
    topic: np.ndarray = array(np.int32, "window tokens")
    size: np.ndarray = array(np.float64, "window tokens")
    length: np.ndarray = array(np.int64, "window documents")
    document_weight: np.ndarray = array(np.float64, "window documents")
    n_tokens: int = count()
    n_documents: int = count()
    last_moves: float = number()

    @classmethod
    def empty(cls, last_moves):
        arrays = {name: np.empty(0, declared.dtype) for name, declared in array_fields(cls).items()}
        return cls(**arrays, n_tokens=0, n_documents=0, last_moves=float(last_moves))

    def with_batch(self, batch, topic):
        """Return the window with the documents of a batch, and the topics of their clumps."""
        word, (_, size) = batch.clump_words(), batch.clumps()
        weight = np.ones(batch.n_documents) if batch.sample_weight is None else batch.sample_weight
        n_tokens, n_documents = self.n_tokens, self.n_documents
        return changed(
            self,
            word=_appended(self.word, n_tokens, word),
            topic=_appended(self.topic, n_tokens, topic),
            size=_appended(self.size, n_tokens, size),
            length=_appended(self.length, n_documents, np.diff(batch.clump_indptr)),
            document_weight=_appended(self.document_weight, n_documents, weight),
            n_tokens=n_tokens + len(word),
            n_documents=n_documents + batch.n_documents,
        )

    def check(self):
        """Raise ValueError if parts are missing or do not fit together, as in a damaged file."""
        if any(getattr(self, field.name) is None for field in fields(self)):
            raise ValueError("a part of the window of documents is missing")
        if self.n_tokens > len(self.word) or self.n_documents > len(self.length):
            raise ValueError("the window of documents exceeds its capacity")

    def check_tokens(self, n_features, n_topics):
        """Raise ValueError for arrays that cannot be a window of these topics."""
        word, topic, size = (array[: self.n_tokens] for array in (self.word, self.topic, self.size))
        length, weight = self.length[: self.n_documents], self.document_weight[: self.n_documents]
        fits = (
            len(length) > 0
            and are_lengths(length, self.n_tokens)
            and all(((a >= 0) & (a < n)).all() for a, n in ((word, n_features), (topic, n_topics)))
            and all(((a > 0.0) & (a < np.inf)).all() for a in (size, weight))
        )
        if not fits:
            raise ValueError(
                "the fitted state is damaged: the topics of the documents seen last do not fit. "
                "Load it from an intact file, or call fit."
            )

    @property
    def total_weight(self):
        """Total weight of the documents."""
        return float(self.document_weight[: self.n_documents].sum())

    def topics(self, n_topics):
        """Return the TopicTokens of each topic."""
        n_tokens, n_documents = self.n_tokens, self.n_documents
        topic = self.topic[:n_tokens]
        order = np.argsort(topic, kind="stable")
        tokens = TopicTokens(
            word=self.word[:n_tokens][order],
            size=self.size[:n_tokens][order],
            document=np.repeat(np.arange(n_documents), self.length[:n_documents])[order],
            sample_weight=self.document_weight[:n_documents],
        )
        bounds = np.searchsorted(topic[order], np.arange(n_topics + 1))
        return [tokens.part(slice(a, b)) for a, b in pairwise(bounds)]


def _appended(array, n_used, more):
    """Append more to the first n_used entries of an array, in place if it has capacity."""
    n = n_used + len(more)
    if n > len(array) or not array.flags.writeable:
        array, old = np.empty(2 * n, dtype=array.dtype), array
        array[:n_used] = old[:n_used]
        array[n:] = 0
    array[n_used:n] = more
    return array
