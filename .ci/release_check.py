"""Refuse to release what is not ready: ``make release-check``, before the tag is set and in the release.

It checks the addresses of the repository and of the maintainers, changes that are not committed, the date
of the version in CHANGELOG.md and CITATION.cff, and the tag: it must be new, or point to this commit.
tests/test_release.py checks at any time what has to agree between files.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import addresses

ROOT = Path(__file__).parent.parent


def git(*arguments):
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if run.returncode > 1 or run.stderr:
        sys.exit(run.stderr)
    return run.stdout.splitlines()


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def version():
    return re.search(r'^__version__ = "(.+)"$', read("sktopic/__init__.py"), re.M)[1]


def dated():
    """Return the date of the version in CHANGELOG.md, or None while it is unreleased."""
    found = re.search(rf"^## \[{re.escape(version())}\] - (\d{{4}}-\d\d-\d\d)$", read("CHANGELOG.md"), re.M)
    return found and found[1]


def faults():
    yield from addresses.faults(*addresses.repository_and_email())
    for line in git("status", "--porcelain"):
        yield f"not committed: {line}"
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version()):
        yield f"the version {version()} must look like 1.2.3 or 1.2.3rc1"
    if dated() is None:
        yield f"CHANGELOG.md has no date for {version()}"
    elif f'\ndate-released: "{dated()}"\n' not in read("CITATION.cff"):
        yield f"CITATION.cff must have the date of CHANGELOG.md, {dated()}"
    tag = f"v{version()}"
    if git("tag", "--list", tag) and tag not in git("tag", "--points-at", "HEAD"):
        yield f"the tag {tag} points to another commit"
    if os.environ.get("GITHUB_REF_TYPE") == "tag" and os.environ["GITHUB_REF_NAME"] != tag:
        yield f"the tag is {os.environ['GITHUB_REF_NAME']}, but the version is {version()}"


if __name__ == "__main__":
    found = list(faults())
    sys.exit("\n".join(["Not ready:", *found]) if found else print(f"sktopic {version()} is ready"))
