"""Colours for blocks in languages that Pygments does not know."""

from typing import Any

from pygments.lexers import PythonLexer, TextLexer
from sphinx.application import Sphinx

LEXERS = {"expr": PythonLexer, "condition": PythonLexer, "csv": TextLexer}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the languages."""
    for name, lexer in LEXERS.items():
        app.add_lexer(name, lexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
