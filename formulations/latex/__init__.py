"""Blueprints as LaTeX documents, and as formulas."""

from engiagent.formulations.latex.aligned import Formula, formulas
from engiagent.formulations.latex.document import emit_latex

__all__ = ["Formula", "emit_latex", "formulas"]
