"""The pages of the documentation that are written by hand."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
MADE = {"_build", "_templates", "auto_examples", "generated"}  # folders of doc/ with what is built or no page


def written_pages():
    """README.md and CONTRIBUTING.md, all in doc/ that nobody generates, and the texts between examples."""
    doc = ROOT / "doc"
    found = [
        page
        for suffix in ("rst", "md")
        for page in doc.rglob(f"*.{suffix}")
        if page.name != "sg_execution_times.rst" and not MADE & set(page.relative_to(doc).parts)
    ]
    texts = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "examples").rglob("README.rst")]
    return sorted([*found, *texts])
