"""The documents that were seen last, with the topics that their tokens were drawn to."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from sktopic._kernels._documents import clump_bounds
from sktopic._kernels._groups import TokensByDocument


@dataclass(frozen=True)
class TopicTokens:
    """Tokens of a topic in some documents, in the order of these.

    Attributes
    ----------
    word, size, document : (n_tokens,) int32, float64, int64
    document_weight : (n_all_documents,) as how many documents each counts
    place : (n_tokens,) int64, where each is in the window
    """

    word: np.ndarray
    size: np.ndarray
    document: np.ndarray
    document_weight: np.ndarray
    place: np.ndarray

    def __len__(self):
        return len(self.word)

    def bounds(self):
        """Those of the tokens of each document that has some."""
        return np.append(np.flatnonzero(np.diff(self.document, prepend=-1)), len(self))

    def by_document(self):
        """The same, as _kernels._topic_sides takes them."""
        first = self.bounds()
        return TokensByDocument(first, self.word, self.size, self.document_weight[self.document[first[:-1]]])

    def weights(self):
        """(n_tokens,) sizes, as often as their documents count."""
        return self.size * self.document_weight[self.document]

    def times(self, factor):
        """The same where each document counts as so many times as many."""
        return replace(self, document_weight=factor * self.document_weight)

    def part(self, chosen):
        columns = (array[chosen] for array in (self.word, self.size, self.document))
        return TopicTokens(*columns, self.document_weight, self.place[chosen])


def joined(topics):
    """The tokens of several topics (list of TopicTokens), and the number in the list of each token's."""
    order = np.argsort(np.concatenate([tokens.document for tokens in topics]), kind="stable")
    word, size, document, place = (
        np.concatenate([getattr(tokens, name) for tokens in topics])[order]
        for name in ("word", "size", "document", "place")
    )
    number = np.repeat(np.arange(len(topics)), [len(tokens) for tokens in topics])[order]
    return TopicTokens(word, size, document, topics[0].document_weight, place), number


def word_counts(topics, n_features):
    """Tokens of words in topics (list of TopicTokens): csr_array of shape (n_topics, n_features)."""
    row = np.repeat(np.arange(len(topics)), [len(tokens) for tokens in topics])
    word = np.concatenate([tokens.word for tokens in topics])
    weight = np.concatenate([tokens.weights() for tokens in topics])
    return sp.csr_array((weight, (row, word)), shape=(len(topics), n_features))


def document_counts(topics):
    """Tokens of topics (list of TopicTokens) in documents: csr_array of shape (n_documents, n_topics)."""
    column = np.repeat(np.arange(len(topics)), [len(tokens) for tokens in topics])
    document = np.concatenate([tokens.document for tokens in topics])
    size = np.concatenate([tokens.size for tokens in topics])
    shape = len(topics[0].document_weight), len(topics)
    return sp.csr_array((size, (document, column)), shape=shape)


@dataclass(frozen=True)
class Window:
    """Documents with the topics of their tokens (clumps).

    It grows by documents behind those that there are, in arrays that have room for some more.

    Attributes
    ----------
    word, topic, size : (room,) int32, int32 and float64, of each token
    length, document_weight : (room,) tokens of each document, int64, and as how many it counts
    used : (2,) tokens and documents that there are, int64
    """

    word: np.ndarray
    topic: np.ndarray
    size: np.ndarray
    length: np.ndarray
    document_weight: np.ndarray
    used: np.ndarray

    @classmethod
    def empty(cls):
        dtypes = np.int32, np.int32, np.float64, np.int64, np.float64
        return cls(*(np.empty(0, dtype=dtype) for dtype in dtypes), np.zeros(2, dtype=np.int64))

    def with_batch(self, batch, topic):
        """With the documents of a batch, and the topic of each of its clumps."""
        _, size = batch.clumps()
        word = np.repeat(batch.words[batch.cell_word], np.diff(clump_bounds(batch.cell_count)))
        weight = np.ones(batch.n_documents) if batch.sample_weight is None else batch.sample_weight
        n_tokens, n_documents = self.used
        return Window(
            _appended(self.word, n_tokens, word),
            _appended(self.topic, n_tokens, topic),
            _appended(self.size, n_tokens, size),
            _appended(self.length, n_documents, np.diff(batch.clump_indptr)),
            _appended(self.document_weight, n_documents, weight),
            self.used + [len(word), batch.n_documents],
        )

    def is_consistent(self, n_features, n_topics):
        """Whether arrays of these types can be a window of such topics: they may come from a file."""
        n_tokens, n_documents = self.used
        word, topic, size = (array[:n_tokens] for array in (self.word, self.topic, self.size))
        length, weight = self.length[:n_documents], self.document_weight[:n_documents]
        return (
            n_tokens == len(word)
            and n_documents == len(length) > 0
            and np.all(length >= 0)
            and length.sum() == n_tokens
            and all(((a >= 0) & (a < n)).all() for a, n in ((word, n_features), (topic, n_topics)))
            and all(((a > 0.0) & (a < np.inf)).all() for a in (size, weight))
        )

    @property
    def n_tokens(self):
        return int(self.used[0])

    @property
    def n_documents(self):
        """By weight."""
        return float(self.document_weight[: self.used[1]].sum())

    def topics(self, n_topics):
        """TopicTokens of each topic."""
        n_tokens, n_documents = self.used
        topic = self.topic[:n_tokens]
        order = np.argsort(topic, kind="stable")
        document = np.repeat(np.arange(n_documents), self.length[:n_documents])[order]
        given = self.word[:n_tokens][order], self.size[:n_tokens][order], document
        tokens = TopicTokens(*given, self.document_weight[:n_documents], order)
        bounds = np.searchsorted(topic[order], np.arange(n_topics + 1))
        return [tokens.part(slice(a, b)) for a, b in pairwise(bounds)]


def _appended(array, n_used, more):
    """An array with more behind its first n_used entries: the same one, where it has room."""
    n = n_used + len(more)
    if n > len(array) or not array.flags.writeable:
        array, old = np.empty(2 * n, dtype=array.dtype), array
        array[:n_used] = old[:n_used]
        array[n:] = 0
    array[n_used:n] = more
    return array
