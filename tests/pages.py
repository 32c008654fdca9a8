"""The pages of the documentation that are written by hand, and modules beside them and beside the package."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXTS = (
    "README.md",
    "CONTRIBUTING.md",
    "GOVERNANCE.md",
    "MAINTAINING.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "sktopic/_kernels/README.md",
    "tests/README.md",
)
MADE = {"_build", "_templates", "auto_examples", "generated"}  # folders of doc/ with what is built or no page


def written_pages():
    """All texts of doc/ that nobody generates, those of other folders, and the texts between examples."""
    doc = ROOT / "doc"
    found = [
        page
        for suffix in ("rst", "md")
        for page in doc.rglob(f"*.{suffix}")
        if page.name != "sg_execution_times.rst" and not MADE & set(page.relative_to(doc).parts)
    ]
    texts = [ROOT / name for name in TEXTS] + [*(ROOT / "examples").rglob("README.rst")]
    return sorted([*found, *texts])


def module_at(path):
    """Import a module that is in no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
