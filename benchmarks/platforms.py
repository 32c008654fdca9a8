"""Whether equal seeds give equal topics on other machines and from other compilers.

    python benchmarks/platforms.py --fit HERE.npz                  on each of them
    python benchmarks/platforms.py [--update] --compare aarch64=THERE.npz ... HERE.npz

"--fit" trains every estimator with random_state=0 on a small corpus that is drawn with integers alone, and
keeps the counts and the topics. "--compare" writes, for each estimator, the largest relative difference of an
entry of components_ from that in the last file. Other columns stay in the table. It refuses files of other
counts.
"""

import sys

import numpy as np
from _results import read_tables
from _study import Study, new_parser

from sktopic._loading import CLASSES

COUNTS = "X"  # what the file has beside the topics of estimators
SWEEPS = 20  # of those that sweep over a corpus
ESTIMATORS = sorted(CLASSES)


def counts(n_docs=300, n_topics=10, words_of_topic=20, words_per_part=40):
    """Documents of one or two topics, which have words of their own, the first ones most often."""
    rng = np.random.Generator(np.random.PCG64(0))
    topics = rng.integers(n_topics, size=(n_docs, 2, 1))
    words = rng.integers(words_of_topic, size=(n_docs, 2, words_per_part, 2)).min(axis=-1)
    X = np.zeros((n_docs, n_topics * words_of_topic), dtype=np.int64)
    np.add.at(X, (np.arange(n_docs)[:, None, None], topics * words_of_topic + words), 1)
    return X


def fit(path, estimators=ESTIMATORS):
    X = counts()
    topics = {COUNTS: X}
    for name in estimators:
        model = CLASSES[name](random_state=0)
        if "n_components" in model.get_params():
            model.set_params(n_components=10)
        if name.startswith("CollapsedGibbs"):
            model.set_params(max_iter=SWEEPS)
        topics[name] = model.fit(X).components_
        print(f"{name}: {topics[name].shape[0]} topics", file=sys.stderr)
    np.savez(path, **topics)


def difference(ours, theirs):
    if ours.shape != theirs.shape:
        return f"{ours.shape[0]} and {theirs.shape[0]} topics"
    if np.array_equal(ours, theirs):
        return "the same bits"
    return f"{np.max(np.abs(ours - theirs) / np.maximum(ours, theirs)):.0e}"


def compare(study, files):
    names, paths = zip(*(file.rpartition("=")[::2] for file in files))
    *others, here = (np.load(path) for path in paths)
    if not all(np.array_equal(there[COUNTS], here[COUNTS]) for there in others):
        raise SystemExit("the files are of other documents")
    kept = {row["estimator"]: row for row in read_tables(study.path(".csv")).get("seeds", ())}
    rows = [
        kept.get(name, {})
        | {"estimator": name}
        | {column: difference(there[name], here[name]) for column, there in zip(names, others)}
        for name in ESTIMATORS
    ]
    header = list(dict.fromkeys(column for row in rows for column in row))
    study.write("seeds", header, [[row.get(column, "") for column in header] for row in rows])


def main():
    parser = new_parser(__doc__)
    task = parser.add_mutually_exclusive_group()
    task.add_argument("--fit", metavar="FILE", help="train all estimators, and keep their topics there")
    task.add_argument("--compare", nargs="+", metavar="NAME=FILE", help="write the table of these")
    arguments = parser.parse_args()
    study = Study("platforms", arguments)
    if arguments.fit:
        fit(arguments.fit)
    elif arguments.compare:
        compare(study, arguments.compare)
    else:
        parser.error("--fit or --compare is needed")


if __name__ == "__main__":
    main()
