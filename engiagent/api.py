"""What a user imports: ``from engiagent import Problem``; loaded when it is first asked for."""

from engiagent.blueprint import Blueprint
from engiagent.control import RecedingHorizon
from engiagent.formulations.compile import compile_blueprint
from engiagent.notebook.difference import diff
from engiagent.notebook.run import Run
from engiagent.plant.site import Site
from engiagent.plant.sizing import Size
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solving import solve
from engiagent.text import Problem
from engiagent.verify.checking import check

__all__ = [
    "Blueprint",
    "Problem",
    "RecedingHorizon",
    "Run",
    "Site",
    "Size",
    "SolveOptions",
    "check",
    "compile_blueprint",
    "diff",
    "solve",
]
