"""Blueprints as LaTeX documents, and as formulas."""

from engiagent.formulations.latex.document import emit_latex
from engiagent.formulations.latex.statements import Formula, formulas

__all__ = ["Formula", "emit_latex", "formulas"]
