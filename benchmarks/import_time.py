"""How long the first import of a process takes.

    python benchmarks/import_time.py

Each statement runs in N_RUNS new interpreters, in turn with the others. The table has the median of the
processor's seconds, which leave out the start of the interpreter. All files have been read and compiled
before. Modules are those that the statement adds.
"""

import os
import subprocess
import sys

import numpy as np
from _study import Study, new_parser

N_RUNS = 15
STATEMENTS = [
    "import sktopic",
    "from sktopic import OnlineEMLDA",
    "from sklearn.decomposition import LatentDirichletAllocation",
    "from gensim.models import LdaModel",
    "from tomotopy import LDAModel",
    "from topica import LDA",
]
PROGRAM = """
import sys, time
before, start = len(sys.modules), time.process_time()
{}
print(time.process_time() - start, len(sys.modules) - before)
"""


def measured(statement):
    """Seconds and modules, in a new interpreter."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM.format(statement)]
    compiling = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=compiling)
    return [float(word) for word in done.stdout.split()]


def main():
    study = Study("import_time", new_parser(__doc__).parse_args())
    study.sign()
    rounds = [[measured(statement) for statement in STATEMENTS] for _ in range(1 + N_RUNS)]
    medians = np.median(rounds[1:], axis=0)  # the first round reads and compiles the files
    rows = zip(STATEMENTS, medians, strict=True)
    table = [[statement, f"{seconds:.3f}", f"{modules:.0f}"] for statement, (seconds, modules) in rows]
    study.write("", ["statement", "seconds", "modules"], table)


if __name__ == "__main__":
    main()
