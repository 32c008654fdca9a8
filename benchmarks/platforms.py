"""Whether equal seeds give equal topics on other machines and from other compilers.

    python benchmarks/platforms.py fit HERE.npz                    on each of them
    python benchmarks/platforms.py compare [--update] aarch64=THERE.npz ... HERE.npz

"fit" trains every estimator with random_state=0 on some of the docstrings of NumPy, SciPy and scikit-learn,
whose versions have to be the same, and keeps the topics and the counts. "compare" writes platforms_seeds.csv:
for each estimator the largest relative difference of an entry of components_ from that in the last file. It
refuses files of other counts. The table goes to benchmarks/output/, or with --update to doc/benchmarks/.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import sktopic
from sktopic.datasets import load_docstrings

FOLDER = Path(__file__).parent
COUNTS = "X"  # what the file has beside the topics of estimators
SWEEPS = 20  # of those that sweep over a corpus
ESTIMATORS = [name for name in sktopic.__all__ if name.endswith(("LDA", "HDP"))]


def fit(path, estimators=ESTIMATORS):
    texts = load_docstrings().data[::16]
    X = CountVectorizer(min_df=2, stop_words="english").fit_transform(texts)
    topics = {COUNTS: X.toarray()}
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
