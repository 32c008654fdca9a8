"""Topics that may be dropped, judged on the corpus.

Documents that have much of such a topic are inferred without it, once. In the others it becomes part of one
other topic. What batches would then leave behind says what the bound would be.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sktopic._runtime._arrays import columns_of
from sktopic._runtime._parallel import Workers
from sktopic.hdp._document_inference import DocumentInference, start_without
from sktopic.hdp._memoized._corpus import MemoizedCorpus
from sktopic.hdp._memoized._merges import Merge
from sktopic.hdp._memoized._summaries import BatchSummary, CellTopics, summed

# Tokens of a topic from which on a document is inferred without it.
MANY_TOKENS = 0.5


@dataclass
class Delete:
    """A topic that goes.

    Attributes
    ----------
    topic, into : its number, and that of the topic which gets its weight, and its tokens where they are few
    found : dict from batches to the BatchSummary that they would leave behind, where that is another
    """

    topic: int
    into: int
    found: dict = field(default_factory=dict)

    @classmethod
    def planned(cls, sizes, free, topic):
        """That of a topic, which goes into the one of those in free with which it would be merged best.

        sizes : PairSizes of the corpus
        """
        others = [int(k) for k in free if k != topic]
        gains = [sizes.gains(topic, k)[0] for k in others]
        return cls(topic, others[int(np.argmax(gains))])

    def see(self, b, cells, again):
        """Take the CellTopics of a batch; again : InferredAgain, its documents."""
        entries = cells.topic == self.topic
        if not entries.any():
            return
        batch = cells.batch
        document = batch.cell_document()[cells.cell()]
        tokens = np.bincount(document[entries], weights=cells.tokens[entries], minlength=batch.n_documents)
        anew = tokens >= MANY_TOKENS
        self.found[b] = BatchSummary.of(self._joined(cells, ~anew[document]))
        if anew.any():
            without = again.without(self.topic, cells, anew)
            self.found[b] = self.found[b].with_documents(np.flatnonzero(anew), BatchSummary.of(without))

    def _joined(self, cells, some):
        """CellTopics of some entries only, in which the topic is part of another."""
        topic = np.where(cells.topic == self.topic, self.into, cells.topic)[some]
        cell, topic, tokens = summed(cells.cell()[some], topic, cells.tokens[some], cells.n_topics)
        bounds = np.searchsorted(cell, np.arange(len(cells.bounds)))
        return CellTopics(cells.batch, bounds, topic, tokens, cells.n_topics)

    def done(self, corpus):
        """The MemoizedCorpus without the topic."""
        without = corpus.with_summaries(self.found)
        merge = Merge(self.into, self.topic, 0.0, dict.fromkeys(range(len(corpus.summaries)), 0.0))
        without.move([merge], [])
        return without


@dataclass(frozen=True)
class InferredAgain:
    """The documents of a batch, which can be inferred without some topic.

    Attributes
    ----------
    reader, rows : DocumentReader, and the numbers of its documents
    corpus : MemoizedCorpus
    infer : DocumentInference
    workers : Workers
    """

    reader: Any
    rows: np.ndarray
    corpus: MemoizedCorpus
    infer: DocumentInference
    workers: Workers

    def without(self, topic, cells, anew):
        """CellTopics of some of the documents (n_documents,) without a topic; cells : CellTopics of all."""
        state, kept = self.corpus.topics, np.arange(cells.n_topics) != topic
        batch, prior = self.reader.batch(self.rows[anew]), state.prior
        gathered = self.corpus.geometric_topics().gather(batch.words, prior, self.workers)
        gathered = replace(gathered, rows=columns_of(gathered.rows, kept))
        tokens = cells.by_document().toarray()[anew]
        start = prior[kept] + start_without(batch, tokens, kept)
        step = self.infer.step(state.rest + prior[topic])
        counts = step(batch, gathered, prior[kept], None, self.workers, gamma=start)
        found = CellTopics.of(counts, self.workers)
        return replace(found, topic=np.flatnonzero(kept)[found.topic], n_topics=len(kept))
