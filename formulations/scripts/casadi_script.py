"""A blueprint as a standalone CasADi script: its conic plugins for linear, IPOPT for curved."""

from pathlib import Path
from typing import Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.functions import ELEMENTARY
from engiagent.errors import EngiagentError
from engiagent.formulations.classify import classify, has_roots
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
    refuse_conditional,
    row_sections,
)

LINEAR: Final = 'ca.qpsol("solver", "highs", problem, {options})'
BESIDE_A_TIP: Final = 1e-3
"""Where a search begins that has roots, which often have no slope at zero."""
CURVED: Final = 'ca.nlpsol("solver", "ipopt", problem, {options})'


CASADI: Final = Dialect(
    array="ca.DM",
    nothing="ca.DM.zeros({count})",
    matrix="ca.DM(sp.csc_matrix(sp.csr_array(({data}, {indices}, {starts}), shape={shape})))",
    functions={name: f"ca.{name}" for name in ELEMENTARY},
    times="{0} * {1}",
    total="ca.sum1({0})",
)


def emit_casadi(blueprint: Blueprint, folder: Path | str | None = None) -> str:
    """Return a Python script that builds and solves the blueprint with CasADi.

    Linear and mixed-integer linear programs go to HiGHS, everything else without whole numbers to
    IPOPT, whose optimum is a local one unless the program is convex.

    Raises BlueprintError, MissingDataError when the blueprint cannot be compiled; EngiagentError
    when the program has several objectives or conditional rows, or is curved with whole numbers.
    """
    program = compile_blueprint(blueprint, folder)
    refuse_conditional(program, "CasADi")
    if program.is_mip and not program.is_linear:
        kind = classify(program).problem_class
        raise EngiagentError(f"this is a {kind}; CasADi's solvers take whole numbers only in MILP")
    algebra = Algebra(program, CASADI)
    objective = algebra.objective()
    if program.sense == "maximize":
        objective = f"-({objective})"
    rows = ["rows, lower, upper = [], [], []"]
    for title, text, low, high in row_sections(algebra):
        rows += [title, f"rows.append({text})", f"lower += {_side(low)}", f"upper += {_side(high)}"]
    sense = "" if program.sense == "minimize" else ", which is maximised, so minus it is minimised"
    parts = {
        "Decision variables": _variables(program, algebra),
        "Coefficients": algebra.lines,
        "Constraints: lower <= row <= upper": rows,
        f"Objective: {program.objective_name} [{program.objective_unit}]{sense}": [
            f"objective = {objective}"
        ],
    }
    solve, schedule = _solve(program), "schedule[slice(*variable)]"
    end = main(algebra, schedule, "element", lambda block: f"({block.start}, {block.stop})")
    return head(blueprint, _NEEDS, _IMPORTS) + body(parts) + solve + end


def _variables(program: Program, algebra: Algebra) -> list[str]:
    lines = []
    for block in program.columns:
        name = algebra.of_block[block]
        lines.append(f'{name} = ca.MX.sym("{name}", {block.size})  # {about(block)}'.rstrip())
    names = ", ".join(algebra.of_block[block] for block in program.columns)
    lines.append(f"x = ca.vertcat({names})")
    for word, values in (("lowest", program.column_lower), ("highest", program.column_upper)):
        lines.append(f"{word} = []")
        for block in program.columns:
            lines.append(f"{word} += {_side(values[block.start : block.stop])}")
    return lines


def _side(values: np.ndarray) -> str:
    if len(values) > 1 and np.all(values == values[0]):
        return f"{listed(values[:1])} * {len(values)}"
    return listed(values)


def _solve(program: Program) -> str:
    options = '{"error_on_fail": False}'
    solver = LINEAR
    if not program.is_linear:
        solver, options = CURVED, '{"ipopt": {"tol": 1e-9, "print_level": 0}, "print_time": False}'
    elif program.is_mip:
        options = '{"discrete": discrete, "error_on_fail": False}'
    whole = ""
    if program.is_mip:
        flags = [
            f"[{bool(program.integrality[b.start])}] * {b.size}" for b in program.columns if b.size
        ]
        whole = f"    discrete = {' + '.join(flags)}\n"
    sign = "-" if program.sense == "maximize" else ""
    call = solver.format(options=options)
    start = BESIDE_A_TIP if has_roots(program) else 0.0
    return _SOLVE.format(solver=call, whole=whole, sign=sign, start=start)


_NEEDS: Final = """only CasADi: pip install casadi scipy
The rows are those of the compiled program; variables that it put in stand among the others."""
_IMPORTS: Final = """
import casadi as ca
import scipy.sparse as sp

infinity = float("inf")
"""
_SOLVE: Final = '''


# --- Solve --------------------------------------------------------------------------------------
schedule = []


def best():
    """Solve the problem; how that ended, and the value of the objective."""
    problem = {{"x": x, "f": objective, "g": ca.densify(ca.vertcat(*rows))}}
{whole}    solver = {solver}
    limits = [*zip(lowest, highest), *zip(lower, upper)]
    if any(low > high for low, high in limits):
        return "infeasible: limits contradict each other", None
    start = [min(max({start}, low), high) for low, high in zip(lowest, highest)]
    result = solver(x0=start, lbx=lowest, ubx=highest, lbg=lower, ubg=upper)
    if not solver.stats()["success"]:
        return str(solver.stats()["return_status"]), None
    schedule.extend(result["x"].full().reshape(-1))
    return "optimal", {sign}float(result["f"])
'''
