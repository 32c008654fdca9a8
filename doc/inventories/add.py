"""Add names to the inventories of other projects' documentation, from their files `objects.inv`:

    python doc/inventories/add.py PROJECT objects.inv NAME...

Pages are built without a network, so that what they link of other projects is listed here: name, kind and
place below the project's address (which is in `doc/_ext/other_projects.py`). The files are in Debian's
packages python3-doc, python-scipy-doc and so on, or on the sites.
"""

import sys
import zlib
from pathlib import Path


def lines_of(inventory):
    """The entries of a file made by Sphinx, a line each."""
    header, body = Path(inventory).read_bytes().split(b"zlib.\n", 1)
    assert header.startswith(b"# Sphinx inventory version 2"), inventory
    return zlib.decompress(body).decode().splitlines()


def main(project, inventory, *names):
    known = Path(__file__).with_name(f"{project}.txt")
    lines = set(known.read_text().splitlines()) if known.exists() else set()
    kinds = (" py:", " std:term ", " std:label ")
    for name in names:
        found = [line for line in lines_of(inventory) if any(line.startswith(name + kind) for kind in kinds)]
        print(*(found or [f"{name}: not found"]), sep="\n")
        lines.update(found)
    known.write_text("".join(f"{line}\n" for line in sorted(lines)))


if __name__ == "__main__":
    main(*sys.argv[1:])
