"""From what a solver of convex programs hands back to a result that can be relied on.

A solver's word is not enough: feasibility and gap are recomputed, and only what is within
:data:`ACCEPTED` is called optimal. Whether a program with linear rows has any point is asked of
HiGHS, which proves the answer.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engiagent.formulations.classify import has_convex_products
from engiagent.formulations.program import NO_PRODUCTS, Program
from engiagent.formulations.values import Floats
from engiagent.solvers import linear
from engiagent.solvers.convex.curvature import of_objective
from engiagent.solvers.convex.derivatives import matrix
from engiagent.solvers.convex.optimality import Account, Multipliers, examine
from engiagent.solvers.convex.polish import polished
from engiagent.solvers.objectives import without_objective
from engiagent.solvers.result import SolveOptions, SolverResult, Status

ACCEPTED: Final = 1e-6
"""Largest relative violation and gap of what is called optimal."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a solver ended, in one of a few words."""

    # ``solved`` (perhaps not to the last digit), ``infeasible``, ``unbounded``, ``limit``,
    # ``interrupted`` or ``failed``
    kind: str
    words: str  # the solver's own words for it
    solver: str
    version: str
    iterations: int = 0
    x: Floats | None = None
    row_dual: Floats | Multipliers | None = None
    ray: Floats | None = None


def conclude(program: Program, options: SolveOptions, ending: Ending) -> SolverResult:
    """Return the result that an ending amounts to.

    ``program``: a convex program. ``options``: limits of the proof that an infeasible program has
    no point. ``ending``: what the solver says.
    """
    if ending.kind == "infeasible":
        return _infeasible(program, options, ending)
    if ending.kind == "unbounded":
        return _unbounded(program, options, ending)
    account = account_of(program, ending)
    if account is not None and account.violation <= ACCEPTED and account.gap <= ACCEPTED:
        return _with_point(ending, "optimal", "optimal", account)
    if ending.kind not in ("limit", "interrupted") and has_linear_rows(program):
        told = _settled(program, options, ending)
        if told is not None:
            return told
    found = account is not None and account.violation <= ACCEPTED
    kept = "the best schedule so far is kept" if found else "no schedule found"
    status: Status
    if ending.kind == "limit":
        status, reason = ("feasible" if found else "limit"), f"{ending.words}, {kept}"
    elif ending.kind == "interrupted":
        status, reason = "interrupted", f"{ending.words}, {kept}"
    elif found and account is not None:
        status = "feasible"
        reason = f"{ending.words}, but a gap of {account.gap:.1e} to the proven bound is left"
        if account.bound is None:
            reason = f"{ending.words}, but its duals prove no bound"
    else:
        off = "" if account is None else f"; its point breaks a limit by {account.violation:.1e}"
        status, reason = "error", f"{ending.words}{off}"
    if found and account is not None:
        return _with_point(ending, status, reason, account)
    return plain(ending, status, reason)


def plain(ending: Ending, status: Status, reason: str) -> SolverResult:
    """Return a result without a point."""
    return SolverResult(
        status=status,
        reason=reason,
        is_mip=False,
        solver=ending.solver,
        solver_version=ending.version,
        iterations=ending.iterations,
    )


def has_linear_rows(program: Program) -> bool:
    """Return whether every row is linear."""
    outside = all((part.row_numbers() < 0).all() for part in program.nonlinear)
    return outside and not len(program.products.of_rows().rows)


def account_of(program: Program, ending: Ending) -> Account | None:
    """Return what the point of an ending is worth, polished; None without a finite point."""
    if ending.x is None or not np.all(np.isfinite(ending.x)):
        return None
    x = np.clip(ending.x, program.column_lower, program.column_upper)
    dual = np.zeros(program.row_count) if ending.row_dual is None else ending.row_dual
    return polished(program, examine(program, x, dual))


def _with_point(ending: Ending, status: Status, reason: str, account: Account) -> SolverResult:
    return replace(
        plain(ending, status, reason),
        x=account.x,
        row_dual=account.row_dual,
        column_dual=account.column_dual,
        objective=account.objective,
        bound=account.bound,
        gap=None if account.bound is None else account.gap,
    )


def _feasibility(program: Program, options: SolveOptions) -> SolverResult:
    """Ask HiGHS whether a program with linear rows has any point."""
    bare = replace(without_objective(program), products=NO_PRODUCTS, offset=0.0)
    return linear.solve_here(bare, replace(options, start=None, log=None))


def _infeasible(program: Program, options: SolveOptions, ending: Ending) -> SolverResult:
    if not has_linear_rows(program):
        reason = f"no point satisfies all constraints, says {ending.solver} ({ending.words})"
        return plain(ending, "infeasible", reason)
    found = _feasibility(program, options)
    if found.status == "infeasible":
        return replace(plain(ending, "infeasible", found.reason), farkas=found.farkas)
    if found.x is None:
        reason = f"{ending.words}, which HiGHS does not confirm: {found.reason}"
        return plain(ending, "error", reason)
    reason = f"{ending.words}, but HiGHS has a point that satisfies all constraints"
    return plain(ending, "error", reason)


def _unbounded(program: Program, options: SolveOptions, ending: Ending) -> SolverResult:
    """Call a program unbounded when it has a point and a direction that improves it."""
    ray = None if ending.ray is None else _as_ray(program, ending.ray)
    if program.nonlinear or not has_linear_rows(program):
        reason = f"the objective improves without end, says {ending.solver} ({ending.words})"
        return replace(plain(ending, "unbounded", reason), ray=ray)
    found = _feasibility(program, options)
    if found.status == "infeasible":
        return replace(plain(ending, "infeasible", found.reason), farkas=found.farkas)
    ray = recession_ray(program)
    if ray is not None:
        return replace(plain(ending, "unbounded", linear.unbounded_reason(program, ray)), ray=ray)
    return plain(ending, "error", f"{ending.words}, but nothing improves the objective endlessly")


def _settled(program: Program, options: SolveOptions, ending: Ending) -> SolverResult | None:
    """Return that a program with linear rows is infeasible or unbounded, when that is why."""
    found = _feasibility(program, options)
    if found.status == "infeasible":
        return replace(plain(ending, "infeasible", found.reason), farkas=found.farkas)
    ray = None if program.nonlinear else recession_ray(program)
    if found.x is None or ray is None:
        return None
    return replace(plain(ending, "unbounded", linear.unbounded_reason(program, ray)), ray=ray)


def recession_ray(program: Program) -> Floats | None:
    """Return a direction that keeps rows and bounds and improves the objective without end.

    For linear rows and a convex quadratic objective with Hessian P: a direction d with
    ``P d = 0`` that the bounds allow and along which the cost falls, by a linear program.
    None when there is no such direction, so that the objective is bounded or nothing is feasible.
    """
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    sign = -1.0 if program.sense == "maximize" else 1.0
    rows = matrix(program)
    low, high = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
    curvature = of_objective(program)
    bent = np.flatnonzero(np.diff(curvature.indptr))
    left = vstack([rows[high], -rows[low]], format="csr")
    flat = curvature[bent]
    bounds = np.column_stack(
        [
            np.where(np.isfinite(program.column_lower), 0.0, -1.0),
            np.where(np.isfinite(program.column_upper), 0.0, 1.0),
        ]
    )
    found = linprog(
        sign * program.cost,
        A_ub=left,
        b_ub=np.zeros(left.shape[0]),
        A_eq=flat,
        b_eq=np.zeros(len(bent)),
        bounds=bounds,
    )
    if found.status != 0 or sign * float(program.cost @ found.x) >= -ACCEPTED * float(
        np.max(np.abs(program.cost), initial=0.0)
    ):
        return None
    return _as_ray(program, np.asarray(found.x, dtype=np.float64))


def _as_ray(program: Program, direction: Floats) -> Floats | None:
    """Return a direction scaled to size 1 when it keeps the linear rows and bounds, else None."""
    size = float(np.max(np.abs(direction), initial=0.0))
    if not (np.isfinite(size) and size > 0):
        return None
    ray = direction / size
    ray[np.abs(ray) < ACCEPTED] = 0.0
    moves = matrix(program) @ ray
    kept = _recedes(moves, program.row_lower, program.row_upper) and _recedes(
        ray, program.column_lower, program.column_upper
    )
    return ray + 0.0 if kept else None


def _recedes(moves: Floats, lower: Floats, upper: Floats) -> bool:
    down = (moves >= -ACCEPTED) | ~np.isfinite(lower)
    up = (moves <= ACCEPTED) | ~np.isfinite(upper)
    return bool(np.all(down & up))


def refusal(program: Program) -> str | None:
    """Return why a solver of quadratic programs cannot take a program, None when it can."""
    reason = discrete_refusal(program)
    if reason is not None:
        return reason
    if program.nonlinear:
        return "it has functions that are neither linear nor quadratic"
    if len(program.products.of_rows().rows):
        return "it has products of variables in constraints"
    sign = -1.0 if program.sense == "maximize" else 1.0
    if not has_convex_products(program):
        return f"its objective is not {'concave' if sign < 0 else 'convex'}"
    return None


def discrete_refusal(program: Program) -> str | None:
    """Return why a continuous solver cannot take a program, None when it can."""
    if program.is_mip:
        return "it has variables that take whole numbers only"
    if len(program.indicators.rows):
        return "it has rows that hold only conditionally"
    if program.sos1:
        return "it has groups of variables of which only one may differ from zero"
    return None
