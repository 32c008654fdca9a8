"""Sphinx configuration; ``make doc`` builds with warnings as errors and without network access."""

import sys
from importlib.metadata import metadata
from pathlib import Path
from urllib.parse import urlsplit

import sktopic

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "sktopic"
author = "The sktopic developers"
copyright = "2026, The sktopic developers"
version = release = sktopic.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_parser",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # Those of doc/_ext.
    "api_pages",
    "figures",
    "gallery",
    "language_models",
    "mathml",
    "other_projects",
    "page_data",
    "search_words",
]
exclude_patterns = [
    "_build",
    "_templates",
    "llms.md",
    "README.md",
    "sg_execution_times.rst",
    "auto_examples/**.ipynb",
    "auto_examples/**.py",
]
nitpicky = True  # each name is looked for: other_projects decides for which a warning is due
templates_path = ["_templates"]
default_role = "literal"

# Addresses of the repository and of the pages in the metadata. Without them, no page links to either.
urls = dict(entry.split(", ", 1) for entry in metadata("sktopic").get_all("Project-URL", []))
repository = urls.get("Repository", "")

html_theme = "pydata_sphinx_theme"
html_baseurl = urls.get("Documentation", "")
html_title = "sktopic"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_domain_indices = False
html_copy_source = False
html_math_renderer = "mathml"
html_context = {"repository": repository, "site_folder": urlsplit(html_baseurl).path}
html_sidebars = {name: [] for name in ("index", "getting_started", "tutorial", "404", "search", "genindex")}
html_theme_options = {
    "logo": {"text": "sktopic", "alt_text": "sktopic, first page"},
    "github_url": repository,
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc", "source-link"], "index": [], "404": []},
    "footer_start": ["copyright"],
    "footer_end": ["page-foot"],
}

# Copies of code leave out prompts and output.
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

# Types of parameters are links, into scikit-learn's glossary where it has the word.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {
    "bool": ":class:`python:bool`",
    "array-like": ":term:`sklearn:array-like`",
    "estimator": ":term:`sklearn:estimator`",
    "path-like": ":term:`path-like <python:path-like object>`",
    "csr_array": "scipy.sparse.csr_array",
    "csr_matrix": "scipy.sparse.csr_matrix",
    "Generator": "numpy.random.Generator",
    "Bunch": "sklearn.utils.Bunch",
    "DataFrame": "pandas.DataFrame",
    "Axes": "matplotlib.axes.Axes",
    "Figure": "matplotlib.figure.Figure",
    "SubFigure": "matplotlib.figure.SubFigure",
    "Corpus": "sktopic.datasets.Corpus",
}

# Sections of the gallery, in their order.
SECTIONS = ("first_steps", "reading", "shaping", "choosing", "streams")

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": [f"../examples/{section}" for section in SECTIONS],
    "doc_module": ("sktopic",),
    "thumbnail_size": (480, 336),
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^(?!plot_)",
    "abort_on_example_error": True,
    "backreferences_dir": "generated/backreferences",
    "capture_repr": (),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 3600,  # of the machine that builds: examples/README.rst says what to expect
    "write_computation_times": False,
    "reset_modules": ("matplotlib", "seaborn", "gallery.load_docstrings_once"),
    "parallel": 2,
    "plot_gallery": "True",
}
