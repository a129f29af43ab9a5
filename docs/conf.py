"""How the pages become a site: ``make docs``. Nothing in it asks for anything from outside."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from engiagent import __version__

project = "engiagent"
author = "The engiagent authors"
version = release = __version__
copyright = f"{author}; Apache-2.0"

extensions = ["myst_parser", "mathml", "blocks", "others"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_ext", "_build"]

myst_enable_extensions = ["dollarmath"]
myst_dmath_allow_space = False  # "74 500 $" is money
myst_dmath_allow_digits = False
myst_heading_anchors = 4
myst_heading_slug_func = "headings.anchor"
suppress_warnings = ["misc.highlighting_failure"]  # a JSON example may leave out parts with "…"

html_theme = "furo"
html_title = f"engiagent {version}"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_math_renderer = "mathml"
