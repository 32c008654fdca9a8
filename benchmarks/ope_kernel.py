"""How much of the gradient the document step of OnlineOPELDA computes, in time.

    python benchmarks/ope_kernel.py

Documents of KOS, NIPS and arXiv are inferred with topics that OnlineEMLDA finds in them, by the kernel as it
is and with the whole gradient in every iteration; both choose the same vertices, which is checked.
Microseconds are those of a document, on one core.
"""

from itertools import product

import numpy as np
from _corpora import load
from _study import Study, new_parser, seconds_of

from sktopic import OnlineEMLDA
from sktopic._documents._matrices import DocumentReader, canonical_counts
from sktopic._kernels.lda._ope import draw_choices, maximise_documents
from sktopic._runtime._parallel import Workers

N_ITER, P, N_DOCUMENTS = 50, 0.5, 1000


def microseconds(batch, rows, alpha, n_iter, lazy):
    """Of one document, the best of three runs; and theta."""
    prior = np.full(rows.shape[1], alpha)
    start, choices = draw_choices(np.arange(batch.n_documents, dtype=np.uint64), rows.shape[1], n_iter, P)
    given = batch.indptr, batch.cell_word, batch.cell_count, rows, prior, start, choices, P
    times, found = zip(*(seconds_of(maximise_documents, *given, lazy) for _ in range(3)))
    return 1e6 * min(times) / batch.n_documents, found[0][0]


def rows_of_table():
    for corpus, n_topics in product(("kos", "nips_uci", "arxiv_0"), (100, 1000)):
        train = load(corpus)[0][:N_DOCUMENTS]
        model = OnlineEMLDA(n_topics, random_state=0, max_iter=2).fit(train)
        counts = canonical_counts(train.astype(np.float64))
        batch = DocumentReader(counts).batch(np.arange(counts.shape[0]))
        with Workers(1) as workers:
            rows = model._topic_probabilities().gather(batch.words, model.doc_topic_prior_, workers).rows
        for alpha in (0.01, 1.5):
            first, _ = microseconds(batch, rows, alpha, 0, True)
            lazy, theta = microseconds(batch, rows, alpha, N_ITER, True)
            full, expected = microseconds(batch, rows, alpha, N_ITER, False)
            np.testing.assert_array_equal(theta, expected)
            words = len(batch.cell_word) / batch.n_documents
            row = [corpus, f"{words:.0f}", n_topics, alpha, *(f"{x:.1f}" for x in (first, lazy, full))]
            row.append(f"{full / lazy:.1f}")
            print(*row, sep=" | ", flush=True)
            yield row


def main():
    study = Study("ope_kernel", new_parser(__doc__).parse_args())
    study.sign()
    head = ["corpus", "distinct words a document", "topics", "doc_topic_prior", "first gradient"]
    head += ["50 iterations", "50 iterations, whole gradient", "ratio"]
    study.write("", head, rows_of_table())


if __name__ == "__main__":
    main()
