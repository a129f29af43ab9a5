"""Programs whose numbers follow parameters in place, compiled once and updated in microseconds."""

from engiagent.formulations.parametric.compiler import StructureError
from engiagent.formulations.parametric.program import ParametricProgram, compile_parametric

__all__ = ["ParametricProgram", "StructureError", "compile_parametric"]
