"""A plan as it was stored, back as arrays in the order of a program's columns and rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engiagent.formulations.program import Block, Program
from engiagent.formulations.values import Floats
from engiagent.solvers.arrays import AnySolution
from engiagent.solvers.result import SolverResult
from engiagent.solvers.solution import row_names


def stored_result(program: Program, solution: AnySolution) -> SolverResult | None:
    """Return the plan and the multipliers of a solution file; None where it holds no plan.

    What lowering put into the program is not stored; such columns and rows are NaN.
    """
    named = [(block.name, block) for block in program.columns if not block.generated]
    if any(name not in solution for name, _ in named):
        return None
    rows = list(zip(row_names(program), program.rows, strict=True))
    plain = [(name, block) for name, block in rows if not block.generated]
    account: Mapping[str, Any] = solution.attrs
    x = _gathered(solution, "", named, program.column_count)
    if x is None:
        return None
    priced = any(str(name).startswith(("dual__", "reduced_cost__")) for name in solution.variables)
    return SolverResult(
        status=account.get("status", "feasible"),
        reason=str(account.get("reason", "")),
        is_mip=bool(account.get("is_mip", program.is_mip)),
        solver=str(account.get("solver", "")),
        solver_version=str(account.get("solver_version", "")),
        x=x,
        row_dual=_gathered(solution, "dual__", plain, program.row_count) if priced else None,
        column_dual=_gathered(solution, "reduced_cost__", named, program.column_count)
        if priced
        else None,
        objective=float(account["objective"]) if "objective" in account else None,
    )


def _gathered(
    solution: AnySolution, prefix: str, blocks: list[tuple[str, Any]], size: int
) -> Floats | None:
    """Return one array of what is stored by block, NaN for absent ones; None if a shape differs."""
    result = np.full(size, np.nan)
    for name, block in blocks:
        if f"{prefix}{name}" not in solution:
            continue
        values = np.asarray(solution.variables[f"{prefix}{name}"].values, dtype=np.float64)
        if values.shape != tuple(block.shape):
            return None
        result[block.start : block.stop] = _of_block(values, block)
    return result


def _of_block(values: Floats, block: Block) -> Floats:
    flat = values.reshape(-1)
    return flat if block.positions is None else flat[block.positions]
