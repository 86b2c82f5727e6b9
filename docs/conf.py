"""Sphinx settings: pages are Markdown, the reference is read from docstrings."""

import latens

project = "latens"
author = "The latens developers"
release = version = latens.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["_build", "models/README.md"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_show_sourcelink = False
autodoc_typehints = "none"
napoleon_use_rtype = False
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]
