"""Whatever else CasADi carries, as ``casadi:<plugin>``: SQP methods, fatrop, solvers of QPs.

They get the same graph as IPOPT, through ``nlpsol`` or, where that has no such plugin, ``qpsol``.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from engiagent.formulations.classify import ProblemClass
from engiagent.solvers.adapter import Adapter, Need
from engiagent.solvers.casadi import ipopt

QUADRATIC: Final[dict[ProblemClass, Need]] = {"LP": "convex", "QP": "convex"}
_INNER: Final = {"print_iter": False, "print_header": False, "error_on_fail": False}
SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "fatrop": {"fatrop": {"print_level": 0, "tol": 1e-9, "max_iter": 1000}},
    "sqpmethod": {
        "qpsol": "qrqp",
        "qpsol_options": _INNER,
        "print_header": False,
        "print_iteration": False,
        "print_status": False,
        "tol_pr": 1e-9,
        "tol_du": 1e-7,
        "max_iter": 500,
    },
    "qrqp": {"print_iter": False, "print_header": False},
    "qpoases": {"printLevel": "none", "sparse": True, "nWSR": 200_000},
    "proxqp": {"proxqp": {"eps_abs": 1e-9, "eps_rel": 0.0, "max_iter": 10_000}},
    "osqp": {"osqp": {"verbose": False, "eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 200_000}},
    "highs": {"highs": {"output_flag": False}},
}
"""Quiet and exact; a plugin that is not named here runs with its own defaults."""
CONIC: Final = ("daqp", "highs", "hpipm", "osqp", "proxqp", "qpoases", "qrqp", "superscs")


def member(plugin: str) -> Adapter:
    """Return the adapter of one of CasADi's plugins."""
    return Adapter(
        f"casadi:{plugin}",
        f"CasADi ({plugin})",
        QUADRATIC if plugin in CONIC else ipopt.CLASSES,
        frozenset({"duals", "farkas"} if plugin in CONIC else {"duals", "farkas", "start"}),
        {name: ipopt.OPTIONS[name] for name in ("gap", "seed", "threads", "start")},
        ipopt.REQUIRES,
        partial(ipopt.solve_here, plugin=plugin, settings=SETTINGS.get(plugin, {})),
    )
