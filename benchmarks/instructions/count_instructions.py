"""Count the processor's instructions in the cases of cases.py, and compare them with the stored counts.

    python benchmarks/instructions/count_instructions.py [CASE ...] [--update]

Needs Valgrind and a C compiler. Each case runs in a process of its own. Callgrind counts instructions one by
one, so that other work on the machine does not change the counts. Valgrind shows all x86-64 processors with
AVX2 as the same one, so that libraries choose the same code on each of them.

counts.json has the stored counts. A count that differs by more than 5 percent is a failure, also if it is
lower: store it with --update, so that it cannot rise again. environment.txt has what else decides the counts:
compiler, Python and libraries. Counts from another environment are not compared. pip takes the file as a
constraint.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from pathlib import Path

from cases import CASES

FOLDER = Path(__file__).parent
COUNTS, ENVIRONMENT = FOLDER / "counts.json", FOLDER / "environment.txt"
PACKAGES = "Cython", "joblib", "numpy", "scikit-learn", "scipy", "setuptools", "threadpoolctl", "tqdm"
MOST = 0.05
# What the caller's variables, other threads or random hashes would change.
VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OPENBLAS_CORETYPE": "Haswell",
    "PYTHONHASHSEED": "0",
    "PYTHONPATH": str(FOLDER.parent.parent),
    "PYTHONWARNINGS": "ignore",  # of small corpora
}
CALLGRIND = ["valgrind", "--tool=callgrind", "--instr-atstart=no"]


def environment():
    """What decides the counts beside the code, as a file of constraints for pip."""
    # Patch versions of Python and compiler are left out: updates of a Debian release mend errors only. If one
    # changes a count, the comparison fails. The name of the compiler tells Debian's Python from other builds,
    # whose interpreters need other numbers of instructions.
    compiler = sysconfig.get_config_var("CC").split()[0]
    version = subprocess.check_output([compiler, "-dumpversion"], text=True).strip()
    python, _, _ = platform.python_version().rpartition(".")
    system = platform.freedesktop_os_release()["PRETTY_NAME"]
    lines = [f"# {system}, {platform.machine()}, {compiler} {version}, Python {python}"]
    return "\n".join([*lines, *(f"{name}=={metadata.version(name)}" for name in PACKAGES), ""])


def compiled(folder):
    """The library that tells Callgrind where a case begins and ends."""
    library = Path(folder, "region.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, FOLDER / "region.c"], check=True)
    return library


def count(program, library, folder):
    """Instructions between the calls of the library in a Python program and its arguments."""
    run = partial(subprocess.run, check=True, env={"PATH": os.environ["PATH"], **VARIABLES})
    command = [sys.executable, *program, library]
    run(command)  # compiles the modules that are imported, and shows the error of a case that fails
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        run([*CALLGRIND, f"--callgrind-out-file={file.name}", *command], capture_output=True)
        return int(re.search(r"^totals: (\d+)$", Path(file.name).read_text(), re.M)[1])


def counts(cases):
    """Case -> instructions."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(len(os.sched_getaffinity(0))) as executor,
    ):
        library = compiled(folder)
        programs = ([FOLDER / "cases.py", case] for case in cases)
        found = executor.map(partial(count, library=library, folder=folder), programs)
        return dict(zip(cases, found, strict=True))


def faults(now, stored):
    """Lines about counts that differ from the stored ones by more than MOST, or have none."""
    for case in sorted({*now, *stored}):
        if case not in stored or case not in now:
            yield f"{case}: {'not stored' if case in now else 'not measured'}"
        elif not 1 - MOST <= now[case] / stored[case] <= 1 + MOST:
            yield f"{case}: {now[case] / stored[case] - 1:+.1%}, {stored[case]:,} -> {now[case]:,}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--update", action="store_true", help="store the counts")
    arguments = parser.parse_args()
    if arguments.update and arguments.cases:
        parser.error("--update stores the counts of all cases")
    chosen, here = arguments.cases or list(CASES), environment()
    stored = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    if not arguments.update and here != ENVIRONMENT.read_text():
        raise SystemExit(f"The counts of {ENVIRONMENT} are not comparable with those here:\n{here}")
    found = counts(chosen)
    for case, number in found.items():
        change = f" {number / stored[case] - 1:+.2%}" if case in stored else ""
        print(f"{number:15,} {case}{change}")
    if arguments.update:
        COUNTS.write_text(json.dumps(found, indent=1) + "\n")
        ENVIRONMENT.write_text(here)
    elif lines := [*faults(found, {case: n for case, n in stored.items() if case in chosen})]:
        raise SystemExit("\n".join(["Counts changed by more than 5 percent:", *lines]))


if __name__ == "__main__":
    main()
