"""Time to the best scores of fast LDA engines, which were measured on another machine (see engines.toml).

    python benchmarks/engines.py

OnlineEMLDA is fitted here, on one core, with as few passes as reach each score: medians of three seeds. The
first 30,000 abstracts of arXiv are used.
"""

import tomllib
from pathlib import Path

import numpy as np
from _corpora import N_TEST, load
from _study import Study, new_parser, seconds_of

from sktopic import OnlineEMLDA
from sktopic.metrics import document_completion

FOUND = Path(__file__).with_suffix(".toml")
# Test documents of those engines, where they are not N_TEST.
FEWER_TESTED = {("nips1740", 1000): 100}
MOST_DOCUMENTS, PASSES, SEEDS = 30_000, (1, 2, 3, 5), range(3)
HEAD = [
    "corpus",
    "topics",
    "engine",
    "its score",
    "its seconds",
    "passes",
    "score",
    "seconds",
    "times as fast",
]


def fitted(train, test, n_components, passes):
    """Median score and seconds of OnlineEMLDA."""
    found = []
    for seed in SEEDS:
        model = OnlineEMLDA(n_components, max_iter=passes, random_state=seed)
        seconds, _ = seconds_of(model.fit, train)
        prior = model.doc_topic_prior_
        found.append((document_completion(model.components_, test, doc_topic_prior=prior), seconds))
    return np.median(found, axis=0)


def rows(corpus, n_components, engines):
    train, test, _ = load(corpus)
    test = test[: FEWER_TESTED.get((corpus, n_components), N_TEST)]
    for passes in PASSES:
        if not engines:
            return
        score, seconds = fitted(train[:MOST_DOCUMENTS], test, n_components, passes)
        print(corpus, n_components, passes, f"{score:.4f} {seconds:.2f}", flush=True)
        for engine in [engine for engine, (best, _) in engines.items() if best <= score]:
            best, its = engines.pop(engine)
            ratio = f"{its / seconds:.0f}"
            yield corpus, n_components, engine, best, its, passes, f"{score:.3f}", f"{seconds:.2f}", ratio


def main():
    study = Study("engines", new_parser(__doc__).parse_args())
    study.sign()
    table = [
        row
        for corpus, found in tomllib.loads(FOUND.read_text()).items()
        for n_components, engines in found.items()
        for row in rows(corpus, int(n_components), engines)
    ]
    study.write("main", HEAD, table)


if __name__ == "__main__":
    main()
