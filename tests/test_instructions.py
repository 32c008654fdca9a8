"""Counts of instructions (benchmarks/instructions): what is counted, and how counts are compared."""

import json
import shutil
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks" / "instructions"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the tests run without the repository")


@pytest.fixture
def instructions(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import count_instructions

    return count_instructions


def test_counts_are_faults_from_five_percent_in_both_directions_and_if_one_is_missing(instructions):
    stored = {"a": 1000, "b": 1000, "c": 1000, "d": 1000, "gone": 1000}
    now = {"a": 1050, "b": 950, "c": 1051, "d": 949, "new": 1000}
    assert [*instructions.faults(now, stored)] == [
        "c: +5.1%, 1,000 -> 1,051",
        "d: -5.1%, 1,000 -> 949",
        "gone: not measured",
        "new: not stored",
    ]


def test_every_case_has_a_stored_count(instructions):
    stored = json.loads(instructions.COUNTS.read_text())
    assert stored.keys() == instructions.CASES.keys() and len(stored) == 10
    assert all(number > 10**6 for number in stored.values())


@pytest.fixture
def counted(instructions, monkeypatch, tmp_path):
    """Return a function that runs main() with given arguments and counts; nothing is measured."""

    def run(counts, *arguments, here="gcc\n"):
        monkeypatch.setattr(instructions, "COUNTS", tmp_path / "counts.json")
        monkeypatch.setattr(instructions, "ENVIRONMENT", tmp_path / "environment.txt")
        monkeypatch.setattr(instructions, "environment", lambda: here)
        monkeypatch.setattr(instructions, "counts", lambda cases: {case: counts[case] for case in cases})
        monkeypatch.setattr(sys, "argv", ["count_instructions", *arguments])
        instructions.main()

    return run


def test_a_change_or_another_environment_fails_until_it_is_stored(counted, instructions, tmp_path):
    """A case can be compared alone; only all of them are stored."""
    counts = dict.fromkeys(instructions.CASES, 10**9)
    counted(counts, "--update")
    counted(counts)
    more = {**counts, "import": 11 * 10**8}
    with pytest.raises(SystemExit, match=r"import: \+10.0%"):
        counted(more)
    counted(more, "transform")
    with pytest.raises(SystemExit):
        counted(more, "import", "--update")
    with pytest.raises(SystemExit, match="not comparable"):
        counted(counts, here="clang\n")
    assert json.loads((tmp_path / "counts.json").read_text()) == counts
    counted(more, "--update", here="clang\n")
    counted(more, here="clang\n")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("valgrind"), reason="Valgrind is not installed")
def test_instructions_are_those_of_the_region_alone_and_the_same_each_time(instructions, tmp_path):
    """The loops before the region, of a million rounds, are not counted."""
    program = tmp_path / "loops.py"
    program.write_text(
        "import ctypes, sys\n"
        "region = ctypes.CDLL(sys.argv[2])\n"
        "for i in range(10**6): pass\n"
        "region.start_counting()\n"
        "for i in range(int(sys.argv[1])): pass\n"
        "region.stop_counting()\n"
    )
    library = instructions.compiled(tmp_path)
    found = [instructions.count([program, str(n)], library, tmp_path) for n in (0, 20_000, 40_000, 40_000)]
    none, some, twice, again = found
    assert none < 50_000 < 10**6 < some
    assert twice - some == pytest.approx(some - none, rel=0.01)
    assert again == pytest.approx(twice, rel=1e-4)
