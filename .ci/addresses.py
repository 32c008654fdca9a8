"""Write the addresses of pyproject.toml into texts that have placeholders for them: ``make addresses``."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXTS = "README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "GOVERNANCE.md", "CITATION.cff"
OWNER, EMAIL = "OWNER", "maintainers@example.org"


def repository_and_email():
    """Return the address of the repository and that of the maintainers, each "" if there is none."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return settings["tool"]["sktopic"]["repository"], settings["project"]["authors"][0].get("email", "")


def filled(text, repository, email):
    owner, name = repository.split("/")[-2:]
    for old, new in (
        (f"https://github.com/{OWNER}/sktopic", repository),
        (f"https://{OWNER}.github.io/sktopic", f"https://{owner}.github.io/{name}"),
        (OWNER, owner),
        (EMAIL, email),
    ):
        text = text.replace(old, new)
    return text


def faults(repository, email):
    """Yield missing or invalid addresses, and texts that have placeholders."""
    if not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", repository):
        yield (
            f'repository = "{repository}" in pyproject.toml must be the address of the repository, '
            "https://github.com/<owner>/<name>"
        )
    if not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", email) or email == EMAIL:
        yield f'email = "{email}" of the authors in pyproject.toml must be the address of the maintainers'
    for name in TEXTS:
        if re.search(f"{OWNER}|{EMAIL}", (ROOT / name).read_text(encoding="utf-8")):
            yield f"{name} has placeholders of addresses: run `make addresses`"


if __name__ == "__main__":
    addresses = repository_and_email()
    if missing := [fault for fault in faults(*addresses) if "pyproject.toml" in fault]:
        sys.exit("\n".join(missing))
    for name in TEXTS:
        path = ROOT / name
        path.write_text(filled(path.read_text(encoding="utf-8"), *addresses), encoding="utf-8")
