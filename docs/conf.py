"""Sphinx settings: pages are Markdown, the reference is read from docstrings."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import latens

project = "latens"
author = "The latens developers"
release = version = latens.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
# design, status, tried and documents are records of the project, read in its repository
exclude_patterns = [
    "_build",
    "models/README.md",
    "design.md",
    "status.md",
    "tried.md",
    "documents.md",
    "examples",
    "gallery/*.ipynb",
    "gallery/*.py",
    "_templates",
]
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,  # a page that fetches scripts
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "capture_repr": (),  # what is printed is shown, and not what the last line happens to return
}
templates_path = ["_templates"]
autosummary_generate = True
html_math_renderer = "mathml"  # in the page itself: nothing is fetched to show an equation
myst_enable_extensions = ["dollarmath"]
html_theme = "pydata_sphinx_theme"
html_title = "latens"  # with version and more words it would lie over the entries of a narrow page
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "coming_from": []},  # whose tables want its width
}
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_sourcelink = False
html_use_index = False  # the reference by object and the search find names; one page of all would be 11,000 px high
autodoc_typehints = "none"
# scikit-learn's own methods are described in its documentation, to whose pages their texts refer.
VERBS = ("fit", "partial_fit", "predict", "predict_proba", "transform", "inverse_transform", "score")
REQUESTS = [f"set_{verb}_request" for verb in VERBS]
FOREIGN = ["fit_transform", "get_metadata_routing", "get_params", "set_output", "set_params", *REQUESTS]
autosummary_context = {"foreign": FOREIGN}
autodoc_default_options = {"exclude-members": ", ".join(FOREIGN)}
napoleon_use_rtype = False
napoleon_use_ivar = True  # attributes that are properties too would be listed twice
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing", "config.cache"]


def _inline_math(writer, node):
    writer.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _block_math(writer, node):
    writer.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    """Equations become MathML while the documentation is built."""
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
