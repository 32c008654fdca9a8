"""Links into the documentation of other projects, found without a network in `doc/inventories/`."""

import zlib
from pathlib import Path

from sphinx.util import logging

logger = logging.getLogger(__name__)

ADDRESSES = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "sklearn": "https://scikit-learn.org/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
    "dask": "https://docs.dask.org/en/stable/",
    "distributed": "https://distributed.dask.org/en/stable/",
    "joblib": "https://joblib.readthedocs.io/en/stable/",
    "matplotlib": "https://matplotlib.org/stable/",
}


def write_inventories(app, config):
    """As the files that intersphinx reads."""
    folder = Path(app.doctreedir, "inventories")
    folder.mkdir(parents=True, exist_ok=True)
    for project, address in ADDRESSES.items():
        entries = Path(app.confdir, "inventories", f"{project}.txt").read_bytes()
        header = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n# zlib.\n"
        file = folder / f"{project}.inv"
        file.write_bytes(header.encode() + zlib.compress(entries))
        config.intersphinx_mapping[project] = (address, str(file))


def warn_of_missing(app, domain, node):
    """A name of these projects has to have an entry, others only where Sphinx would warn anyway."""
    project, _, rest = node["reftarget"].partition(".")
    if rest and project in ADDRESSES:
        logger.warning("doc/inventories/%s.txt has no %s", project, node["reftarget"], location=node)
    return None if node.get("refwarn") else True


def setup(app):
    app.setup_extension("sphinx.ext.intersphinx")
    app.connect("config-inited", write_inventories, priority=400)
    app.connect("warn-missing-reference", warn_of_missing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
