"""Scores and times with chains of documents that start from draws from words alone, and without.

    python benchmarks/document_starts.py

OnlineEMLDA with its defaults, beside one that in training makes a first sweep, which assigns the tokens of a
document one after the other. Scores are document completion on at most 1000 test documents, with the same
fold-in for both; gains are means over seeds, with intervals of 95 percent (Student's t); times are those of
the processor in training.
"""

from dataclasses import replace
from itertools import product

import numpy as np
from _corpora import load
from _study import Study, interval, new_parser, seconds_of

from sktopic._inference._gibbs import GibbsStep
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion

CORPORA = ("kos", "nips_uci", "20news", "reuters21578")
ALL_COMPONENTS = (20, 100, 300, 1000)
N_TEST, SEEDS = 1000, range(3)
HEAD = ["corpus", "topics", "seeds", "score", "gain", "times as long"]


class TokenByToken(OnlineEMLDA):
    """One whose chains start with a sweep."""

    def _method(self):
        return replace(super()._method(), inference=GibbsStep(self.doc_burn_in, self.doc_sweeps))


def measured(corpus, n_components, seed):
    """Scores and seconds of both."""
    train, test, _ = load(corpus)
    row = {"scores": [], "seconds": []}
    for model in (OnlineEMLDA, TokenByToken):
        seconds, found = seconds_of(model(n_components, random_state=seed).fit, train)
        row["seconds"].append(round(seconds, 2))
        prior = found.doc_topic_prior_
        score = document_completion(found.components_, test[:N_TEST], doc_topic_prior=prior)
        row["scores"].append(round(score, 5))
    return row


def write_tables(study):
    table = []
    for cell in product(CORPORA, ALL_COMPONENTS):
        rows = study.cache.found((*cell, seed) for seed in SEEDS)
        if rows:
            scores, seconds = (np.array([row[name] for row in rows]) for name in ("scores", "seconds"))
            mean, low, _ = interval(scores[:, 0] - scores[:, 1])
            longer = seconds[:, 0].sum() / seconds[:, 1].sum()
            gain = f"{mean:+.3f} ± {mean - low:.3f}"
            table.append([*cell, len(rows), f"{scores[:, 0].mean():.3f}", gain, f"{longer:.2f}"])
    study.write("", HEAD, table)


def main():
    study = Study("document_starts", new_parser(__doc__, runs=True, jobs=1).parse_args())
    study.measure(measured, [(*cell, seed) for seed, *cell in product(SEEDS, CORPORA, ALL_COMPONENTS)])
    write_tables(study)


if __name__ == "__main__":
    main()
