"""Write the comparison of libraries in README.md: table and text of doc/index.rst, with their figures.

python doc/write_readme.py
"""

import csv
import re
import sys
import textwrap
from pathlib import Path

DOC = Path(__file__).parent
sys.path.insert(0, str(DOC / "_ext"))
from figures import KNOWN, shown  # noqa: E402

README = DOC.parent / "README.md"
HEADING = "Compared with other libraries"


def section_of(page):
    """From the heading to the next one, figures in their places."""
    text = re.search(rf"{HEADING}\n-+\n(.*?)\n\n\w+\n-+\n", page, re.S)[1]
    statements, rest = re.search(r"\.\. figures::\n\n((?:   [^\n]*\n)+)\n(.*)", text, re.S).groups()
    names = dict(KNOWN)
    exec(textwrap.dedent(statements), names)
    return re.sub(":figure:`(.*?)`", lambda found: shown(found[1], names), rest)


def in_markdown(section):
    pattern = r"csv-table::\n(?:   :[^\n]*\n)+\n((?:   [^\n]*\n)+)\n(.*)"
    cells, text = re.search(pattern, section, re.S).groups()
    head, *rows = csv.reader(map(str.strip, cells.splitlines()), skipinitialspace=True)
    lines = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    text = re.sub(r":doc:`.*?`", 'the page "Benchmarks"', text)
    for block in re.split(r"\n(?=- |\n)", text):  # paragraphs and items of lists
        is_item = block.startswith("- ")
        wrapped = textwrap.wrap(" ".join(block.split()), 120, subsequent_indent="  " if is_item else "")
        lines += wrapped if is_item else ["", *wrapped]
    return "\n".join(lines)


def readme():
    """Its text, with the section as it should be."""
    section = in_markdown(section_of((DOC / "index.rst").read_text(encoding="utf-8")))
    pattern = rf"(## {HEADING}\n\n).*?(\n\n## )"
    text = README.read_text(encoding="utf-8")
    return re.sub(pattern, lambda found: f"{found[1]}{section}{found[2]}", text, flags=re.S)


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
