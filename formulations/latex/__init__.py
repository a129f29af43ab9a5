"""Blueprints as LaTeX documents."""

from engiagent.formulations.latex.document import emit_latex

__all__ = ["emit_latex"]
