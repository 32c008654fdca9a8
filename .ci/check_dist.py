"""Refuse wheels and source distributions that are too large, or have too much or too little in them.

Their paths are the arguments: ``python .ci/check_dist.py dist/*``.
"""

import re
import sys
import tarfile
import zipfile
from pathlib import Path

MOST = 5_000_000  # bytes: each has two
# Suffixes of what a wheel has in sktopic/; kernels are compiled, and there are stubs to read.
INSTALLED = {".py", ".pyi", ".typed", ".so", ".pyd", ".html", ".css", ".js"}
FOLDERS = ".ci", ".clusterfuzzlite", ".github", "benchmarks", "doc", "examples", "recipe", "sktopic", "tests"
GENERATED = (
    r"\.(so|pyd|pyc)$|^sktopic/_kernels/.*\.c$|^doc/sg_execution_times\.rst$"
    r"|^(benchmarks/output|doc/_build|doc/auto_examples|doc/generated)/"
)
ROOT = Path(__file__).parent.parent


def faults_of_wheel(names):
    for name in names:
        inside, suffix = name.partition("/")[0], Path(name).suffix
        if inside == "sktopic" and suffix not in INSTALLED:
            yield f"{name} has no place in a wheel"
        elif not re.fullmatch(r"sktopic|sktopic-[^/]*\.dist-info", inside):
            yield f"{name} is outside of sktopic/"
    kernels = {name.partition(".")[0] for name in names if re.search(r"\.(so|pyd)$", name)}
    sources = ROOT.glob("sktopic/_kernels/**/*.pyx")
    wanted = {path.relative_to(ROOT).with_suffix("").as_posix() for path in sources}
    wanted.add("sktopic/_kernels/_cyutility")
    yield from (f"kernel {name} is missing" for name in sorted(wanted - kernels))
    yield from (f"kernel {name} has no source" for name in sorted(kernels - wanted))


def in_checkout():
    """Files that belong into a source distribution."""
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file())
    names = {path.relative_to(ROOT).as_posix() for path in paths}
    return {name for name in names if not re.search(GENERATED, name)} | {"Makefile"}


def faults_of_source(names):
    names = {name.partition("/")[2] for name in names}
    yield from (f"{name} is generated" for name in sorted(names) if re.search(GENERATED, name))
    known = {*FOLDERS, "sktopic.egg-info"}
    others = [name for name in sorted(names) if "/" in name and name.partition("/")[0] not in known]
    yield from (f"{name} is not part of the source distribution" for name in others)
    yield from (f"{name} is missing" for name in sorted(in_checkout() - names))


def faults(path):
    size = path.stat().st_size
    if size > MOST:
        yield f"{size} bytes, at most {MOST} are allowed"
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            yield from faults_of_wheel([info.filename for info in wheel.infolist() if not info.is_dir()])
    else:
        with tarfile.open(path) as source:
            yield from faults_of_source([member.name for member in source if member.isfile()])


def refusal(paths):
    """Return the faults of the files, or None if there are none."""
    found = [f"{path.name}: {fault}" for path in paths for fault in faults(path)]
    return "\n".join(found) or None if paths else "no files were named"


if __name__ == "__main__":
    given = [Path(name) for name in sys.argv[1:]]
    for path in given:
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    sys.exit(refusal(given))
