"""Whether equal seeds give equal topics on other machines and from other compilers.

    python benchmarks/platforms.py fit HERE.npz                    on each of them
    python benchmarks/platforms.py compare [--update] aarch64=THERE.npz ... HERE.npz

"fit" trains every estimator with random_state=0 on a small corpus that is drawn with integers alone, so that
it is the same everywhere, and keeps the counts and the topics. "compare" writes platforms_seeds.csv: for each
estimator the largest relative difference of an entry of components_ from that in the last file. It refuses
files of other counts. The table goes to benchmarks/output/, or with --update to doc/benchmarks/.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np

import sktopic

FOLDER = Path(__file__).parent
COUNTS = "X"  # what the file has beside the topics of estimators
SWEEPS = 20  # of those that sweep over a corpus
ESTIMATORS = [name for name in sktopic.__all__ if name.endswith(("LDA", "HDP"))]


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
        model = getattr(sktopic, name)(random_state=0)
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


def compare(files, folder):
    names, paths = zip(*(file.rpartition("=")[::2] for file in files))
    *others, here = (np.load(path) for path in paths)
    if not all(np.array_equal(there[COUNTS], here[COUNTS]) for there in others):
        raise SystemExit("the files are of other documents")
    folder.mkdir(exist_ok=True)
    with (folder / "platforms_seeds.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["estimator", *names[:-1]])
        for name in ESTIMATORS:
            table.writerow([name, *(difference(there[name], here[name]) for there in others)])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="write to doc/benchmarks")
    parser.add_argument("task", choices=["fit", "compare"])
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    if arguments.task == "fit":
        fit(arguments.files[0])
    else:
        folder = FOLDER.parent / "doc" / "benchmarks" if arguments.update else FOLDER / "output"
        compare(arguments.files, folder)


if __name__ == "__main__":
    main()
