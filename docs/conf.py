"""Sphinx settings: pages are Markdown, the reference is read from docstrings."""

import latens

project = "latens"
author = "The latens developers"
release = version = latens.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "models/README.md", "examples", "gallery/*.ipynb", "gallery/*.py"]
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
}
html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_sourcelink = False
autodoc_typehints = "none"
# scikit-learn's own methods are described in its documentation, to whose pages their texts refer.
REQUESTS = [
    f"set_{verb}_request" for verb in ("fit", "partial_fit", "predict", "transform", "inverse_transform", "score")
]
FOREIGN = ["fit_transform", "get_metadata_routing", "get_params", "set_output", "set_params", *REQUESTS]
autodoc_default_options = {"exclude-members": ", ".join(FOREIGN)}
napoleon_use_rtype = False
napoleon_use_ivar = True  # attributes that are properties too would be listed twice
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing", "config.cache"]
