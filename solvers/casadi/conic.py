"""CasADi's solvers of linear and quadratic programs, as ``casadi-<plugin>``.

The same arrays go to each through ``casadi.conic``; what comes back is examined like that of any
other solver of convex programs. Nonlinear methods of CasADi are found here by the same names.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers import linear
from engiagent.solvers.adapter import Adapter, Feature, Need, Watch, distribution_version
from engiagent.solvers.casadi import methods
from engiagent.solvers.convex.derivatives import matrix
from engiagent.solvers.convex.optimality import violation_of
from engiagent.solvers.convex.outcome import ACCEPTED, Ending, conclude, plain
from engiagent.solvers.convex.quadratic import quadratic
from engiagent.solvers.quiet import quiet
from engiagent.solvers.result import SolveOptions, SolverResult

REQUIRES: Final = ("casadi",)
CONTINUOUS: Final[dict[ProblemClass, Need]] = {"LP": "convex", "QP": "convex"}
QUADRATIC: Final[dict[ProblemClass, Need]] = {"QP": "convex"}
LINEAR: Final[dict[ProblemClass, Need]] = {"LP": "convex"}
MIXED: Final[dict[ProblemClass, Need]] = {"LP": "convex", "MILP": "any"}
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "farkas", "ray", "global"})
COMMON: Final = {
    "gap": "convex programs are solved to 1e-9 whatever it says",
    "seed": "makes no random choices",
    "threads": "runs on one thread",
}
MOST_STEPS: Final = 200_000


@dataclass(frozen=True)
class Plugin:
    """One solver behind ``casadi.conic``.

    Attributes
    ----------
    classes
        What it takes.
    settings
        Its options for given :class:`SolveOptions`.
    options
        Those of :class:`SolveOptions` that it honours besides :data:`COMMON`, and how.
    """

    name: str
    classes: Mapping[ProblemClass, Need]
    settings: Callable[[SolveOptions], dict[str, Any]]
    options: Mapping[str, str]


def _cbc(options: SolveOptions) -> dict[str, Any]:
    inner: dict[str, Any] = {"logLevel": 0, "ratioGap": options.gap}
    if options.time_limit is not None:
        inner["sec"] = float(options.time_limit)
    return {"cbc": inner}


def _osqp(options: SolveOptions) -> dict[str, Any]:
    inner: dict[str, Any] = {
        "verbose": False,
        "eps_abs": 1e-9,
        "eps_rel": 1e-9,
        "max_iter": MOST_STEPS,
        "eps_prim_inf": 1e-9,
        "eps_dual_inf": 1e-9,
    }
    return {"osqp": inner}


def _proxqp(options: SolveOptions) -> dict[str, Any]:
    return {"proxqp": {"eps_abs": 1e-9, "eps_rel": 0.0, "max_iter": 10_000}}


def _piqp(options: SolveOptions) -> dict[str, Any]:
    return {"piqp": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 500}}


def _qpoases(options: SolveOptions) -> dict[str, Any]:
    settings: dict[str, Any] = {"printLevel": "none", "sparse": True, "nWSR": MOST_STEPS}
    if options.time_limit is not None:
        settings["CPUtime"] = float(options.time_limit)
    return settings


PLUGINS: Final = {
    "cbc": Plugin("CBC", MIXED, _cbc, {"time_limit": "`sec`", "gap": "`ratioGap`"}),
    "clp": Plugin("CLP", LINEAR, lambda options: {}, {}),
    "osqp": Plugin("OSQP of CasADi", CONTINUOUS, _osqp, {}),
    "proxqp": Plugin("ProxQP", QUADRATIC, _proxqp, {}),
    "piqp": Plugin("PIQP of CasADi", CONTINUOUS, _piqp, {}),
    "qpoases": Plugin("qpOASES", CONTINUOUS, _qpoases, {"time_limit": "`CPUtime`"}),
}
UNFIT: Final = {
    "highs": "the backend highs is a newer one, and the two cannot be loaded into one process",
    "sleqp": "it loads a HiGHS of its own, which keeps the backend highs from loading",
    "hpipm": "it takes only programs in stages, each coupled to the next; the backend fatrop does",
    "bonmin": "it finds only local optima of nonconvex programs; the backend scip finds the best",
    "fatrop": "use the backend fatrop",
    "daqp": "it returned wrong points for ordinary programs; qpoases is of its kind",
    "qrqp": "it returned wrong points for ordinary programs; qpoases is of its kind",
    "ipqp": "it did not converge on ordinary programs; piqp is of its kind",
    "superscs": "it did not converge on ordinary programs; the backend scs is of its kind",
}
"""Plugins of the wheel that were tried and are not offered, and why."""


def member(plugin: str) -> Adapter:
    """Return the adapter of one of CasADi's solvers.

    Raises
    ------
    EngiagentError
        When CasADi has none of that name, or none that can be relied on.
    """
    if plugin in methods.METHODS:
        return methods.member(plugin)
    if plugin in UNFIT:
        raise EngiagentError(f"CasADi's {plugin} is not offered: {UNFIT[plugin]}")
    if plugin not in PLUGINS:
        names = ", ".join([*PLUGINS, *methods.METHODS])
        raise EngiagentError(f"CasADi has no solver {plugin!r} here; choose one of {names}")
    found = PLUGINS[plugin]
    return Adapter(
        f"casadi-{plugin}",
        found.name,
        found.classes,
        FEATURES,
        {**COMMON, **found.options},
        REQUIRES,
        partial(_solve, plugin),
    )


def _solve(
    plugin: str, program: Program, options: SolveOptions, watch: Watch | None = None
) -> SolverResult:
    """Solve a checked program in this process."""
    started = time.perf_counter()
    found = PLUGINS[plugin]
    if program.is_mip:
        result = _mixed(plugin, program, options)
    else:
        _needs_class(found, program)
        result = conclude(program, options, _run(plugin, program, options))
    return replace(result, seconds=time.perf_counter() - started)


def _needs_class(found: Plugin, program: Program) -> None:
    if "QP" not in found.classes and not program.is_linear:
        raise EngiagentError(f"{found.name} cannot take this program: it is not linear")
    if "LP" not in found.classes and program.is_linear:
        raise EngiagentError(f"{found.name} calls linear programs infeasible; choose another")


def _run(plugin: str, program: Program, options: SolveOptions) -> Ending:
    import casadi

    found = PLUGINS[plugin]
    if program.is_mip:
        sign = -1.0 if program.sense == "maximize" else 1.0
        n = program.column_count
        h, c, a = casadi.DM(n, n), sign * program.cost, casadi.DM(matrix(program).tocsc())
    else:
        data = quadratic(program, found.name)
        sign, c = data.sign, data.c
        h, a = casadi.DM(data.p.tocsc()), casadi.DM(data.a.tocsc())
    settings = {"error_on_fail": False, "print_time": False, **found.settings(options)}
    if plugin == "qpoases" and not program.row_count:
        settings["sparse"] = False  # its sparse mode needs rows
    if program.is_mip:
        settings["discrete"] = program.integrality.tolist()
    version = distribution_version("casadi") or "unknown"
    try:
        shape = {"h": h.sparsity(), "a": a.sparsity()}
        with quiet():
            solver = casadi.conic("solver", plugin, shape, settings)
            answer = solver(
                h=h,
                g=c,
                a=a,
                lba=program.row_lower,
                uba=program.row_upper,
                lbx=program.column_lower,
                ubx=program.column_upper,
            )
    except RuntimeError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return Ending(
            kind="failed",
            words=f"{found.name} gave up: {lines[-1][:200]}",
            solver=found.name,
            version=version,
        )
    stats = solver.stats()
    x = np.asarray(answer["x"], dtype=np.float64).ravel()
    status = str(stats.get("return_status", stats.get("unified_return_status")))
    kind = _kind(status, bool(stats["success"]), str(stats.get("unified_return_status")))
    words = f"{found.name} ended with {status}"
    if kind == "limit" and options.time_limit is not None:
        words = f"time limit of {options.time_limit:g} s reached"
    return Ending(
        kind=kind,
        words=words,
        solver=found.name,
        version=version,
        iterations=max(0, int(stats.get("iter_count", 0))),
        x=x,
        row_dual=-sign * np.asarray(answer["lam_a"], dtype=np.float64).ravel(),
    )


def _kind(status: str, success: bool, unified: str) -> str:
    """Return the kind of an ending; the words of all plugins are told apart here."""
    word = status.lower()
    if "dual" in word and "infeasible" in word:
        return "unbounded"
    if "infeasible" in word:
        return "infeasible"
    if "unbounded" in word:
        return "unbounded"
    if "time" in word and "limit" in word:
        return "limit"
    if success:
        return "solved"
    return "limit" if unified == "SOLVER_RET_LIMITED" and "time" in word else "failed"


def _mixed(plugin: str, program: Program, options: SolveOptions) -> SolverResult:
    """Solve a mixed-integer linear program; whole numbers are then fixed and the rest solved."""
    found = PLUGINS[plugin]
    if "MILP" not in found.classes or not program.is_linear:
        raise EngiagentError(
            f"{found.name} cannot take this program: it has variables that take whole numbers only"
            + ("" if program.is_linear else " and parts that are not linear")
        )
    ending = _run(plugin, program, options)
    ready = ending.x is not None and bool(np.all(np.isfinite(ending.x)))
    exact = _with_whole_numbers(program, options, ending.x) if ready else None
    # CBC ends so at its gap, and CasADi takes that for a failure.
    at_gap = ending.words.endswith("ended with finished")
    stopped = ending.kind in ("solved", "limit", "interrupted") or at_gap
    if exact is None or exact.x is None or exact.objective is None or not stopped:
        if ending.kind == "solved":
            reason = f"{ending.words}, but its whole numbers leave no schedule"
            return _plain(program, ending, "error", reason)
        if ending.kind == "limit":
            return _plain(program, ending, "limit", f"{ending.words}, no schedule found")
        # Whether there is none or no best one, and the proof, is left to the solver that tells.
        told = linear.solve_here(program, options)
        return (
            replace(
                _plain(program, ending, told.status, told.reason), farkas=told.farkas, ray=told.ray
            )
            if told.x is None
            else _plain(program, ending, "error", f"{ending.words}, but HiGHS has a schedule")
        )
    status, reason, gap, bound = "optimal", "optimal", None, None
    if ending.kind == "solved":
        # CasADi does not hand the bound on; that it ended within its gap is CBC's word for it.
        sign = -1.0 if program.sense == "maximize" else 1.0
        gap, bound = options.gap, exact.objective - sign * options.gap * abs(exact.objective)
    else:
        status, reason = "feasible", f"{ending.words}, the best schedule so far is kept"
    return replace(
        _plain(program, ending, status, reason),
        x=exact.x,
        row_dual=exact.row_dual,
        column_dual=exact.column_dual,
        objective=exact.objective,
        bound=bound,
        gap=gap,
    )


def _plain(program: Program, ending: Ending, status: Any, reason: str) -> SolverResult:
    return replace(plain(ending, status, reason), is_mip=program.is_mip)


def _with_whole_numbers(
    program: Program, options: SolveOptions, x: Floats | None
) -> SolverResult | None:
    if x is None:
        return None
    whole = program.integrality
    values = np.where(whole, np.round(x), x)
    inside = np.clip(values, program.column_lower, program.column_upper)
    if violation_of(program.activity_at(inside), program.row_lower, program.row_upper) > 1e3 * (
        ACCEPTED
    ):
        return None
    fixed = replace(
        program,
        integrality=np.zeros_like(whole),
        column_lower=np.where(whole, inside, program.column_lower),
        column_upper=np.where(whole, inside, program.column_upper),
    )
    return linear.solve_here(fixed, replace(options, start=None, log=None))
