"""The pages of the documentation that are written by hand."""

from pathlib import Path

ROOT = Path(__file__).parent.parent


def written_pages():
    """Their paths: README.md, what language models are given, and what nobody generates in doc/."""
    folders = [ROOT / "doc", ROOT / "doc" / "guide", ROOT / "doc" / "research"]
    pages = sorted(page for folder in folders for page in folder.glob("*.rst"))
    return [
        ROOT / "README.md",
        ROOT / "doc" / "llms.md",
        *(page for page in pages if page.name != "sg_execution_times.rst"),
    ]
