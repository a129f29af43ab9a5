"""CasADi's further solvers, as ``casadi-<plugin>``: quadratic programs, and nonlinear ones by SQP.

The same arrays go to each through ``casadi.conic``; what comes back is examined like that of any
other solver of convex programs.
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
from engiagent.solvers.adapter import Adapter, Feature, Need, Watch, distribution_version
from engiagent.solvers.casadi.nlp import Method, solve_nlp
from engiagent.solvers.convex.outcome import Ending, conclude
from engiagent.solvers.convex.quadratic import quadratic
from engiagent.solvers.quiet import quiet
from engiagent.solvers.result import SolveOptions, SolverResult

REQUIRES: Final = ("casadi",)
CONTINUOUS: Final[dict[ProblemClass, Need]] = {"LP": "convex", "QP": "convex"}
QUADRATIC: Final[dict[ProblemClass, Need]] = {"QP": "convex"}
LOCAL: Final[dict[ProblemClass, Need]] = {"LP": "any", "QP": "any", "SOCP": "any", "NLP": "any"}
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


def _proxqp(options: SolveOptions) -> dict[str, Any]:
    return {"proxqp": {"eps_abs": 1e-9, "eps_rel": 0.0, "max_iter": 10_000}}


def _qpoases(options: SolveOptions) -> dict[str, Any]:
    settings: dict[str, Any] = {"printLevel": "none", "sparse": True, "nWSR": MOST_STEPS}
    if options.time_limit is not None:
        settings["CPUtime"] = float(options.time_limit)
    return settings


PLUGINS: Final = {
    "proxqp": Plugin("ProxQP", QUADRATIC, _proxqp, {}),
    "qpoases": Plugin("qpOASES", CONTINUOUS, _qpoases, {"time_limit": "`CPUtime`"}),
}
SQP: Final = Method(
    "sqpmethod",
    "SQP of CasADi",
    lambda options: {
        "qpsol": "qrqp",
        "qpsol_options": {
            "print_header": False,
            "print_iter": False,
            "print_info": False,
            "error_on_fail": False,
        },
        "convexify_strategy": "regularize",
        "tol_pr": 1e-9,
        "tol_du": 1e-9,
        "max_iter": 300,
        "print_header": False,
        "print_iteration": False,
        "print_status": False,
    },
    {"Solve_Succeeded": "solved", "Infeasible_Problem_Detected": "stuck"},
)
SQP_FEATURES: Final[frozenset[Feature]] = frozenset(
    {"duals", "farkas", "start", "interrupt", "kinked"}
)
SQP_OPTIONS: Final = {**COMMON, "seed": "of the starts after the first", "start": "the first start"}
UNFIT: Final = {
    "cbc": "the backends highs and scip take what it takes, and hand over the bound that it keeps",
    "clp": "the backend highs takes what it takes",
    "osqp": "use the backend osqp",
    "piqp": "use the backend piqp",
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
    if plugin == SQP.plugin:
        solve = partial(_solve_nonlinear, SQP)
        return Adapter(
            f"casadi-{plugin}", SQP.name, LOCAL, SQP_FEATURES, SQP_OPTIONS, REQUIRES, solve
        )
    if plugin in UNFIT:
        raise EngiagentError(f"CasADi's {plugin} is not offered: {UNFIT[plugin]}")
    if plugin not in PLUGINS:
        names = ", ".join([*PLUGINS, SQP.plugin])
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
    if "LP" not in PLUGINS[plugin].classes and program.is_linear:
        name = PLUGINS[plugin].name
        raise EngiagentError(f"{name} calls linear programs infeasible; choose another")
    result = conclude(program, options, _run(plugin, program, options))
    return replace(result, seconds=time.perf_counter() - started)


def _solve_nonlinear(
    method: Method, program: Program, options: SolveOptions, watch: Watch | None = None
) -> SolverResult:
    return solve_nlp(program, options, watch, method)


def _run(plugin: str, program: Program, options: SolveOptions) -> Ending:
    import casadi

    found = PLUGINS[plugin]
    data = quadratic(program, found.name)
    h, a = casadi.DM(data.p.tocsc()), casadi.DM(data.a.tocsc())
    settings = {"error_on_fail": False, "print_time": False, **found.settings(options)}
    if plugin == "qpoases" and not program.row_count:
        settings["sparse"] = False  # its sparse mode needs rows
    version = distribution_version("casadi") or "unknown"
    try:
        shape = {"h": h.sparsity(), "a": a.sparsity()}
        with quiet():
            solver = casadi.conic("solver", plugin, shape, settings)
            answer = solver(
                h=h,
                g=data.c,
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
        row_dual=-data.sign * np.asarray(answer["lam_a"], dtype=np.float64).ravel(),
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
