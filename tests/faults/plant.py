"""Plant one-line faults in the library, one after the other, and see whether a test finds each.

    python tests/faults/plant.py --scratch /tmp/faults

The faults are drawn by a seeded generator over kernels, base classes, estimators and functions: an operator,
a comparison, a constant or a name exchanged, arguments swapped, a copy, a check or a line removed. Nothing is
changed in the checkout: its tracked files are copied to the scratch folder, built there once, and each fault
is put into this copy and taken out again. A fault that does not compile is replaced by the next one drawn.

Tests run with ``pytest -x``: first the files named as the module of the fault, those that import it and, for
Python, those of all estimators, then the others. With --contexts, the tests of a line of Python are those
that run it, as coverage has recorded (``pytest --cov --cov-context=test``), the most special ones first. A
hang counts as caught. Results are appended to ``results.jsonl`` in the scratch folder, one line a fault, and
a second call resumes.
"""

import argparse
import ast
import collections
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNELS = Path("sktopic/_kernels")
TRANSLATED = Path("build/kernels-0")  # where setup.py puts what Cython writes
# How many of sixty faults each part gets.
PARTS = {"kernels": 24, "base": 16, "estimators": 15, "functions": 5}
# Seconds of a processor for the tests that concern a fault most, and for all others. Waiting may take longer.
NEAR_LIMIT, FAR_LIMIT, PATIENCE = 150, 1500, 6
# A test that takes longer than these seconds hangs.
LONGEST_TEST = 30
OUT_OF_TIME = "out of time"
COMMON = ("test_common", "test_bad_input")
CODE = (".py", ".pyx", ".pxd", ".h")
# Strings and comments, which are blanked before rules are applied; in C also directives.
TEXT = r"""\"{3}.*?\"{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
BLANKED_IN_C = re.compile(rf"{TEXT}|//[^\n]*|/\*.*?\*/|^ *#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE)
BLANKED = re.compile(rf"{TEXT}|#[^\n]*", re.DOTALL)
EXCHANGED = {
    "+": "-", "-": "+", "*": "/", "/": "*", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
    "==": "!=", "!=": "==", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
    "&&": "||", "||": "&&", "and": "or", "or": "and",
    "True": "False", "False": "True", "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum",
    "zeros": "ones", "ones": "zeros", "log": "log1p", "exp": "expm1", "first": "last", "last": "first",
}  # fmt: skip
OPERATORS = "|".join(re.escape(each) for each in EXCHANGED if not each.isalpha())
NAMES = "|".join(each for each in EXCHANGED if each.isalpha())
# Kinds of faults: what is replaced in a line, and by what.
RULES = [
    ("exchanged", rf"(?<= )({OPERATORS})(?= |$)", lambda match: EXCHANGED[match[0]]),
    ("exchanged", rf"\b(?<!->)(?<!\.(?=first|last))({NAMES})\b", lambda match: EXCHANGED[match[0]]),
    ("sign", r"(?<=[(\[{ :=])(?<!except.)(?<!except..)-(?=[\w(])", ""),
    ("constant", r"(?<![\w.])(?<!e-)\d+(?![\w.])", lambda match: str(int(match[0]) + 1)),
    ("constant", r"(?<![\w.])1(?![\w.])", "0"),
    ("constant", r"(?<![\w.])(\d+\.\d*(e[-+]?\d+)?|\d+e[-+]?\d+)", r"(1.1 * \g<0>)"),
    (
        "constant",
        r"(?<=\b0x)([0-9a-fA-F]*)([0-9a-fA-F])\b",
        lambda match: match[1] + ("1" if match[2] == "0" else "0"),
    ),
    ("axis", r"(?<=\baxis=)[01]", lambda match: str(1 - int(match[0]))),
    ("not", r"\bnot (?!in\b)", ""),
    ("copy", r"\.copy\(\)", ""),
    ("key", r"\b\w+_KEY\b(?! =)", lambda match: "2" if match[0] == "FIT_KEY" else "1"),
    ("range", r"(?<=\brange\()\w+(?=\))", r"\g<0> - 1"),
    ("swapped", r"\b(?!f?max\b|f?min\b|maximum\b|minimum\b)(\w+)\((\w+), (\w+)(?=[,)])", r"\1(\3, \2"),
    ("index", r"(?<=[\w\])]\[)[a-z]\w*(?=\])", r"\g<0> - 1"),
]
NO_RULES = re.compile(r"\s*(import|from|cimport|class|cdef extern|ctypedef)\b|\s*@")
DECLARATION = re.compile(r"(def|cdef|cpdef|static|CLONED)\b.*[(,:{]$")
DOES = re.compile(r"[\w.\[\], :]+ [-+*/]?=( |$)|[\w.]+\(|continue$|break$")
OPENS = re.compile(r"(cdef|def|class|ctypedef|if|for|while|elif|return|with|assert)\b")


@dataclass
class Fault:
    """One line of a file, as it is and as it will be."""

    path: str
    line: int
    kind: str
    before: str
    after: str

    @property
    def key(self):
        return f"{self.path}:{self.line}: {self.before.strip()} -> {self.after.strip()}"


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def part_of(path):
    if KERNELS in path.parents:
        return "kernels"
    family = path.parts[1]
    if family in ("lda", "hdp", "moment_matching"):
        return "estimators"
    return "base" if len(path.parts) == 2 or family.startswith("_") else "functions"


def faults_of(path):
    """All faults that can be planted in a file."""
    text, is_c = (ROOT / path).read_text(), path.suffix == ".h"
    blanked = BLANKED_IN_C if is_c else BLANKED
    code = blanked.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), text).split("\n")
    found = []

    def add(kind, after):
        if after != line:
            found.append(Fault(str(path), number + 1, kind, line, after))

    for number, (line, bare) in enumerate(zip(text.split("\n"), code)):
        statement, indent = bare.strip("\0 "), line[: len(line) - len(line.lstrip())]
        if not NO_RULES.match(line):
            for kind, pattern, new in RULES:
                if DECLARATION.match(statement) and kind in ("exchanged", "constant", "swapped"):
                    continue
                for match in re.finditer(pattern, bare):
                    replacement = new(match) if callable(new) else match.expand(new)
                    add(kind, line[: match.start()] + replacement + line[match.end() :])
        is_whole = all(statement.count(one) == statement.count(other) for one, other in ("()", "[]"))
        if is_c:
            if indent and re.match(r"[\w\[\]>.*-]+ ([-+*/]?=) .*;$", statement):
                add("line dropped", indent + ";")
        elif indent and is_whole and DOES.match(statement) and not OPENS.match(statement):
            if not statement.endswith((",", "(", "\\", ":")):
                add("line dropped", f"{indent}pass")
        elif re.match(r"if .*:$", statement) and "raise" in code[number + 1]:
            add("check removed", f"{indent}if False:")
    return found


def draws(seed, under=""):
    """Faults in the order in which they are tried: parts by their share, then a kind, then a place.

    under : regular expression that paths match from their start
    """
    rng = random.Random(seed)
    paths = [Path(line) for line in git("ls-files", "sktopic").decode().split()]
    by_part = {part: {} for part in PARTS}
    for path in paths:
        if path.suffix in CODE and path.name != "__init__.py" and re.match(under, str(path)):
            for fault in faults_of(path):
                by_part[part_of(path)].setdefault(fault.kind, []).append(fault)
    order = [part for part, share in PARTS.items() if by_part[part] for _ in range(share)]
    rng.shuffle(order)
    while any(by_part.values()):
        for part in filter(by_part.get, order):
            kinds = by_part[part]
            kind = rng.choice(sorted(kinds))
            yield part, kinds[kind].pop(rng.randrange(len(kinds[kind])))
            if not kinds[kind]:
                del kinds[kind]


def run(command, folder, limit, environment):
    """Return (exit status, output); None as status where the seconds of the limit were up."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
    )
    try:
        output, _ = process.communicate(timeout=PATIENCE * limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]
    return None if process.returncode == -signal.SIGKILL else process.returncode, output


class Copy:
    """The checkout's tracked files in a folder of their own, built, with what the build made put by."""

    def __init__(self, folder):
        self.tree = folder / "tree"
        self.kept = folder / "kept"
        self.translated = folder / "translated"
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(self.tree),
            "CC": "ccache gcc" if shutil.which("ccache") else "gcc",
            "CCACHE_NOHASHDIR": "1",
        }

    def create(self):
        if self.kept.exists():  # a call that was interrupted may have left a fault
            for name in git("ls-files", "sktopic/*.py").decode().splitlines():
                shutil.copy2(ROOT / name, self.tree / name)
            self.put_all_back()
            return
        for name in git("ls-files").decode().splitlines():
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.tree / name)
        # Faults are compiled without optimizing: that takes most of the time, and finds no more.
        setup = self.tree / "setup.py"
        setup.write_text(setup.read_text().replace('"-O3"', '"-O1", "-g0"'))
        # What the checkout has built is not built again, unless it is older than its source.
        self.put_back(ROOT / KERNELS)
        status, output = self.build()
        if status != 0:
            sys.exit(output)
        shutil.copytree(self.tree / TRANSLATED, self.translated)
        shutil.copytree(self.tree / KERNELS, self.kept)

    def put_back(self, folder):
        """Take kernels and what was built from there; setuptools looks for it in a folder of its own."""
        library = f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
        for place in (self.tree / "build" / library / KERNELS, self.tree / KERNELS):
            shutil.copytree(folder, place, dirs_exist_ok=True)

    def put_all_back(self):
        """Take also what was translated: the next build would compile a translation that has a fault."""
        self.put_back(self.kept)
        shutil.copytree(self.translated, self.tree / TRANSLATED, dirs_exist_ok=True)

    def built(self):
        return [library.stat().st_mtime for library in (self.tree / KERNELS).rglob("*.so")]

    def build(self):
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "-j2"]
        return run(command, self.tree, 1200, self.environment)

    def plant(self, fault):
        """Put the fault in; whether the result compiles."""
        path = self.tree / fault.path
        lines = path.read_text().split("\n")
        assert lines[fault.line - 1] == fault.before
        lines[fault.line - 1] = fault.after
        text = "\n".join(lines)
        path.write_text(text)
        if path.suffix == ".py":
            with suppress(SyntaxError):
                return bool(ast.parse(text).body)
            return False
        before = self.built()
        is_built = self.build()[0] == 0
        if is_built and before == self.built():
            sys.exit(f"{path} was changed, but nothing was built")
        return is_built

    def restore(self, fault):
        if Path(fault.path).suffix == ".py":
            shutil.copy2(ROOT / fault.path, self.tree / fault.path)
        else:
            self.put_all_back()

    def test(self, arguments, limit):
        """Return the first test that fails, "a hang", "out of time", or None."""
        pytest = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
        timeout = ["-o", f"faulthandler_timeout={LONGEST_TEST}", "-o", "faulthandler_exit_on_timeout=true"]
        command = [*pytest, *timeout, *arguments]
        status, output = run(command, self.tree, limit, self.environment)
        if "Timeout (" in output:
            return "a hang"
        if status in (None, 0, 5):
            return OUT_OF_TIME if status is None else None
        if "ERROR: not found:" in output:
            raise RuntimeError(f"tests of another version of the suite were chosen:\n{output}")
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)", output, re.MULTILINE)
        if failed:
            return failed[0]
        return "a crash" if status < 0 or status > 128 or "crashed" in output else f"status {status}"


def near(tree, fault):
    """Return the test files that concern a fault most, and all.

    These are those that are named as its module or import it, and for Python those of all estimators.
    """
    folder, module = Path(fault.path).parent.name, Path(fault.path).stem
    imported = re.compile(rf"\b{folder}(\.| import [\w, ]*\b){module}\b")
    files = sorted(file.relative_to(tree) for file in (tree / "tests").glob("**/test_*.py"))
    named = [file for file in files if module.strip("_") in file.stem]
    importing = [file for file in files if imported.search((tree / file).read_text())]
    common = [file for file in files if file.stem in COMMON and part_of(Path(fault.path)) != "kernels"]
    return list(dict.fromkeys([*named, *importing, *common])) or ["tests/kernels"], files


class Contexts:
    """Which tests run which lines, from a file of coverage that was measured in this checkout."""

    def __init__(self, path):
        from coverage import CoverageData

        self._data = CoverageData(str(path))
        self._data.read()
        if not any(Path(file).is_relative_to(ROOT) for file in self._data.measured_files()):
            raise argparse.ArgumentTypeError(f"{path} has no file of {ROOT}; it was measured elsewhere")
        self._n_lines = collections.Counter()  # by test
        for file in self._data.measured_files():
            for tests in self._data.contexts_by_lineno(file).values():
                self._n_lines.update(tests)

    def tests(self, fault):
        """Those that run the statement, those first that run the fewest other lines.

        Where importing alone runs it, they are those of defaults, and then all of the file, if there are any.
        """
        lines = self._data.contexts_by_lineno(str(ROOT / fault.path))
        nodes = ast.walk(ast.parse((ROOT / fault.path).read_text()))
        around = [node for node in nodes if isinstance(node, ast.stmt | ast.excepthandler)]
        around = [node for node in around if node.lineno <= fault.line <= node.end_lineno]
        first = max((node.lineno for node in around), default=fault.line)
        running = {test for line in range(first, fault.line + 1) for test in lines.get(line, ()) if test}
        of_import = [] if running else ["tests/test_docstrings.py"]
        running = running or {test for tests in lines.values() for test in tests if test}
        ordered = sorted(running, key=lambda test: (self._n_lines[test], test))
        return [*of_import, *dict.fromkeys(test.rpartition("|")[0] for test in ordered)] if running else []


def search(copy, fault, options):
    """The first test that fails, and whether all tests were run."""
    chosen, files = near(copy.tree, fault)
    if options.contexts and fault.path.endswith(".py") and (tests := options.contexts.tests(fault)):
        listed = copy.tree.parent / "chosen.txt"
        listed.write_text("\n".join(tests))
        chosen = [f"@{listed}"]
    caught = copy.test(map(str, chosen), NEAR_LIMIT)
    is_caught = caught not in (None, OUT_OF_TIME)
    if is_caught or options.near:
        return caught, is_caught
    return copy.test([*options.workers, *map(str, files), "sktopic"], FAR_LIMIT), True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scratch", type=Path, required=True, help="folder of the copy and the results")
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--under", default="", help="regular expression for the start of paths")
    parser.add_argument("--near", action="store_true", help="run only the tests that concern a fault most")
    parser.add_argument("--contexts", type=Contexts, help="a file .coverage made with contexts")
    parser.add_argument("--workers", default="0", help="processes for the tests that come last")
    options = parser.parse_args()
    options.scratch = options.scratch.resolve()
    file = options.scratch / "results.jsonl"
    results = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    options.scratch.mkdir(parents=True, exist_ok=True)
    copy = Copy(options.scratch)
    copy.create()
    done = {Fault(**result["fault"]).key: result for result in results}
    options.workers = ["-n", options.workers] if options.workers != "0" else []
    n_planted = 0
    seen = set()
    for part, fault in draws(options.seed, options.under):
        if n_planted == options.faults:
            break
        if fault.key in seen:
            continue
        seen.add(fault.key)
        if fault.key in done and (options.near or done[fault.key]["complete"]):
            n_planted += done[fault.key]["compiled"]
            continue
        start = time.time()
        result = {"part": part, "fault": vars(fault), "caught": None, "complete": True}
        try:
            result["compiled"] = copy.plant(fault)
            if result["compiled"]:
                n_planted += 1
                result["caught"], result["complete"] = search(copy, fault, options)
        finally:
            copy.restore(fault)
        result["seconds"] = round(time.time() - start)
        with file.open("a") as lines:
            lines.write(json.dumps(result) + "\n")
        outcome = result["caught"] or "NOT CAUGHT"
        if not result["compiled"]:
            outcome = "does not compile"
        print(f"{n_planted:3} {result['seconds']:5} s  {fault.key}\n            {outcome}", flush=True)


if __name__ == "__main__":
    main()
