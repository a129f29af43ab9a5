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
from engiagent.solvers.convex.optimality import Account, examine, polished
from engiagent.solvers.goals import without_objective
from engiagent.solvers.result import SolveOptions, SolverResult, Status

ACCEPTED: Final = 1e-6
"""Largest relative violation and gap of what is called optimal."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a solver ended, in one of a few words."""

    # ``solved`` (perhaps not to the last digit), ``infeasible``, ``unbounded``, ``limit`` or
    # ``failed``
    kind: str
    words: str  # the solver's own words for it
    solver: str
    version: str
    iterations: int = 0
    x: Floats | None = None
    row_dual: Floats | None = None


def conclude(program: Program, options: SolveOptions, ending: Ending) -> SolverResult:
    """Return the result that an ending of a convex program amounts to."""
    if ending.kind in ("infeasible", "unbounded"):
        return _without_optimum(program, options, ending)
    account = account_of(program, ending)
    found = account is not None and account.violation <= ACCEPTED
    if account is not None and found and account.gap <= ACCEPTED:
        return with_point(ending, "optimal", "optimal", account)
    if ending.kind != "limit" and has_linear_rows(program):
        point = _feasibility(program, options)
        if point.status == "infeasible":
            return replace(plain(ending, "infeasible", point.reason), farkas=point.farkas)
    kept = "the best schedule so far is kept" if found else "no schedule found"
    status: Status
    if ending.kind == "limit":
        status, reason = ("feasible" if found else "limit"), f"{ending.words}, {kept}"
    elif account is not None and found:
        status = "feasible"
        reason = f"{ending.words}, but a gap of {account.gap:.1e} to the proven bound is left"
        if account.bound is None:
            reason = f"{ending.words}, but its duals prove no bound"
    else:
        off = "" if account is None else f"; its point breaks a limit by {account.violation:.1e}"
        status, reason = "error", f"{ending.words}{off}"
    if account is not None and found:
        return with_point(ending, status, reason, account)
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


def with_point(ending: Ending, status: Status, reason: str, account: Account) -> SolverResult:
    """Return a result with the point of an account, its duals and its bound."""
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


def _without_optimum(program: Program, options: SolveOptions, ending: Ending) -> SolverResult:
    """Return what a solver's word that there is no point, or no best one, amounts to."""
    what = "no point satisfies all constraints"
    if ending.kind == "unbounded":
        what = "the objective improves without end"
    said = plain(ending, "infeasible", f"{what}, says {ending.solver} ({ending.words})")
    if ending.kind == "unbounded":
        said = replace(said, status="unbounded")
    if not has_linear_rows(program):
        return said
    point = _feasibility(program, options)
    if point.status == "infeasible":
        return replace(plain(ending, "infeasible", point.reason), farkas=point.farkas)
    if ending.kind == "unbounded":
        return said
    reason = f"{ending.words}, but HiGHS has a point that satisfies all constraints"
    if point.x is None:
        reason = f"{ending.words}, which HiGHS does not confirm: {point.reason}"
    return plain(ending, "error", reason)


def refusal(program: Program) -> str | None:
    """Return why a solver of quadratic programs cannot take a program, None when it can."""
    reason = discrete_refusal(program)
    if reason is not None:
        return reason
    if program.nonlinear:
        return "it has functions that are neither linear nor quadratic"
    if len(program.products.of_rows().rows):
        return "it has products of variables in constraints"
    if not has_convex_products(program):
        return f"its objective is not {'concave' if program.sense == 'maximize' else 'convex'}"
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
