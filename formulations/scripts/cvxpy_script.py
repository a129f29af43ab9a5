"""A blueprint as a standalone CVXPY script: linear, convex quadratic and MILP."""

from pathlib import Path
from typing import Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import Program
from engiagent.formulations.scripts.algebra import (
    Algebra,
    Dialect,
    about,
    body,
    head,
    listed,
    main,
    number,
    refuse_conditional,
    row_sections,
    side,
)

SOLVERS: Final = {"LP": "cp.HIGHS", "MILP": "cp.HIGHS", "QP": "cp.CLARABEL", "SOCP": "cp.CLARABEL"}


# CVXPY's rules want a quadratic form as a whole.
CVXPY: Final = Dialect(
    array="np.array",
    nothing="cp.Constant(np.zeros({count}))",
    matrix="sp.csr_array(({data}, {indices}, {starts}), shape={shape})",
    functions={},
    times="cp.multiply({0}, {1})",
    total="cp.sum({0})",
    quadratic="cp.quad_form({vector}, cp.psd_wrap({matrix}))",
)


def emit_cvxpy(blueprint: Blueprint, folder: Path | str | None = None) -> str:
    """Return a Python script that builds and solves the blueprint with CVXPY, or refuse it."""
    program = compile_blueprint(blueprint, folder)
    refuse_conditional(program, "CVXPY")
    found = classify(program)
    if program.nonlinear:
        text = f"{program.nonlinear[0].atom.function} is neither linear nor quadratic"
        raise EngiagentError(f"a CVXPY script cannot say it: {text}; emit casadi or pyomo")
    if found.convexity != "convex" or found.problem_class not in SOLVERS:
        reasons = "; ".join(found.reasons)
        kind = f"{found.convexity} {found.problem_class}"
        raise EngiagentError(f"CVXPY takes convex programs; this is a {kind}: {reasons}")
    forms = found.quadratic
    if forms is not None and not np.all(forms.convex | forms.concave):
        text = "a product makes a cone only with the bounds of its factors; write it as a norm"
        raise EngiagentError(f"a CVXPY script cannot say it: {text}")
    algebra = Algebra(program, CVXPY)
    objective = f"cp.{program.sense.capitalize()}({algebra.objective()})"
    rows = ["constraints = []", *_bounds(program, algebra)]
    for title, text, low, high in row_sections(algebra):
        rows += [title, *_relations(text, low, high)]
    parts = {
        "Decision variables": _variables(program, algebra),
        "Coefficients": algebra.lines,
        "Constraints": rows,
        f"Objective: {program.objective_name} [{program.objective_unit}]": [
            f"problem = cp.Problem({objective}, constraints)"
        ],
    }
    solve = _SOLVE.format(solver=SOLVERS[found.problem_class])
    end = main(algebra, "variable.value", "element")
    return head(blueprint, _NEEDS, _IMPORTS) + body(parts) + solve + end


def _variables(program: Program, algebra: Algebra) -> list[str]:
    lines = []
    for block in program.columns:
        whole = program.integrality[block.start : block.stop]
        kind = ", integer=True" if whole.all() and len(whole) else ""
        name = algebra.of_block[block]
        lines.append(f"{name} = cp.Variable({block.size}{kind})  # {about(block)}".rstrip())
    return lines


def _bounds(program: Program, algebra: Algebra) -> list[str]:
    lines = []
    for block in program.columns:
        name = algebra.of_block[block]
        low = program.column_lower[block.start : block.stop]
        high = program.column_upper[block.start : block.stop]
        lines += _relations(name, low, high)
    return lines


def _relations(text: str, low: np.ndarray, high: np.ndarray) -> list[str]:
    """Return the lines that hold an expression between its sides."""
    if not len(low):
        return []
    if np.array_equal(low, high):
        return [f"constraints.append({text} == {side(low, 'np.array')})"]
    lines = []
    for values, op in ((low, ">="), (high, "<=")):
        there = np.flatnonzero(np.isfinite(values))
        if len(there) == len(values):
            lines.append(f"constraints.append({text} {op} {side(values, 'np.array')})")
        elif len(there):
            limit = f"np.array({listed(values[there])})"
            lines.append(f"constraints.append(({text})[{there.tolist()}] {op} {limit})")
        if np.any(np.isposinf(values) if op == ">=" else np.isneginf(values)):
            raise EngiagentError(f"a bound of {number(values[0])} leaves nothing")
    return lines


_NEEDS: Final = """only CVXPY: pip install cvxpy highspy
The rows are those of the compiled program; variables that it put in stand among the others."""
_IMPORTS: Final = """
import cvxpy as cp
import numpy as np
import scipy.sparse as sp
"""
_SOLVE: Final = '''


# --- Solve --------------------------------------------------------------------------------------
def best():
    """Solve the problem; how that ended, and the value of the objective."""
    problem.solve(solver={solver})
    return problem.status, None if problem.value is None else float(problem.value)
'''
