"""Sphinx configuration; ``make doc`` builds with warnings as errors and without network access."""

import re
import tomllib
from pathlib import Path

import sktopic

project = "sktopic"
author = "The sktopic developers"
copyright = "2026, The sktopic developers"
version = release = sktopic.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "myst_parser",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "auto_examples/**.ipynb", "auto_examples/**.py"]
templates_path = ["_templates"]
default_role = "literal"

urls = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]["urls"]

html_theme = "pydata_sphinx_theme"
html_baseurl = urls["Documentation"]
html_title = "sktopic"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "github_url": urls["Repository"],
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
}

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^(?!plot_)",
    "abort_on_example_error": True,
    "backreferences_dir": None,
    "capture_repr": (),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "parallel": 2,
    "plot_gallery": "True",
}


def skip_inherited(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds to every estimator; its docstrings refer to its own pages."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing|set_output", name) else None


def escape_fitted_names(app, what, name, obj, options, lines):
    """Keep names such as components_ from being read as links."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[number] = re.sub(r"(`+.*?`+)|(?<!\w)(\w+)_(?![\w`])", _escaped, line)


def _escaped(match):
    return match[1] or rf"{match[2]}\_"


def setup(app):
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("autodoc-process-docstring", escape_fitted_names, priority=900)  # after numpydoc
