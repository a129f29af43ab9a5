"""Blueprints as LaTeX documents, and as formulas."""

from engiagent.formulations.latex.document import Formula, emit_latex, formulas

__all__ = ["Formula", "emit_latex", "formulas"]
