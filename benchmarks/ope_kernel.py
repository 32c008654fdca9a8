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
RUNS = list(product(("kos", "nips_uci", "arxiv_0"), (100, 1000), (0.01, 1.5)))


def microseconds(batch, rows, alpha, n_iter, lazy):
    """Of one document, the best of three runs; and theta."""
    prior = np.full(rows.shape[1], alpha)
    start, choices = draw_choices(np.arange(batch.n_documents, dtype=np.uint64), rows.shape[1], n_iter, P)
    given = batch.indptr, batch.cell_word, batch.cell_count, rows, prior, start, choices, P
    times, found = zip(*(seconds_of(maximise_documents, *given, lazy) for _ in range(3)))
    return 1e6 * min(times) / batch.n_documents, found[0][0]


def measured(corpus, n_components, doc_topic_prior):
    """Microseconds of a document, and how many distinct words one has."""
    train = load(corpus)[0][:N_DOCUMENTS]
    model = OnlineEMLDA(n_components=n_components, random_state=0, max_iter=2).fit(train)
    counts = canonical_counts(train.astype(np.float64))
    batch = DocumentReader(counts).batch(np.arange(counts.shape[0]))
    with Workers(1) as workers:
        rows = model._topic_probabilities().gather(batch.words, model.doc_topic_prior_, workers).rows
    first, _ = microseconds(batch, rows, doc_topic_prior, 0, True)
    lazy, theta = microseconds(batch, rows, doc_topic_prior, N_ITER, True)
    full, expected = microseconds(batch, rows, doc_topic_prior, N_ITER, False)
    np.testing.assert_array_equal(theta, expected)
    return {"first": first, "lazy": lazy, "full": full, "words": len(batch.cell_word) / batch.n_documents}


def write_tables(study):
    head = ["corpus", "distinct words a document", "topics", "doc_topic_prior", "first gradient"]
    head += ["50 iterations", "50 iterations, whole gradient", "ratio"]
    table = []
    for row in study.cache.found(RUNS):
        run = row["corpus"], f"{row['words']:.0f}", row["n_components"], row["doc_topic_prior"]
        times = row["first"], row["lazy"], row["full"], row["full"] / row["lazy"]
        table.append([*run, *(f"{x:.1f}" for x in times)])
    study.write("", head, table)


def main():
    study = Study("ope_kernel", new_parser(__doc__, runs=True, jobs=1).parse_args())
    study.measure(measured, RUNS)
    write_tables(study)


if __name__ == "__main__":
    main()
