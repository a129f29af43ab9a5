"""What is known of the solvers that Pyomo reaches: their classes and the names of their options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from engiagent.formulations.classify import CLASSES, ProblemClass
from engiagent.solvers.adapter import Need

LINEAR: Final[dict[ProblemClass, Need]] = {"LP": "any", "MILP": "any"}
QUADRATIC: Final[dict[ProblemClass, Need]] = {
    **LINEAR,
    "QP": "convex",
    "SOCP": "convex",
    "MIQP": "convex",
    "MISOCP": "convex",
}
SMOOTH: Final[dict[ProblemClass, Need]] = {"LP": "any", "QP": "any", "SOCP": "any", "NLP": "any"}
ALL: Final[dict[ProblemClass, Need]] = dict.fromkeys(CLASSES, "any")


@dataclass(frozen=True)
class Known:
    """A solver that Pyomo reaches."""

    classes: Mapping[ProblemClass, Need] = field(default_factory=lambda: ALL)  # what it takes
    # our option → the solver's own name for it
    options: Mapping[str, str] = field(default_factory=dict)
    is_local: bool = False  # whether it proves no global optimum of a nonconvex program
    duals: bool = False  # whether multipliers come back through Pyomo
    linear_objective: bool = False  # whether a curved objective has to be put in a row


_GUROBI: Final = {"time_limit": "TimeLimit", "gap": "MIPGap", "threads": "Threads", "seed": "Seed"}
_SCIP: Final = {
    "time_limit": "limits/time",
    "gap": "limits/gap",
    "seed": "randomization/randomseedshift",
}

SOLVERS: Final[dict[str, Known]] = {
    "appsi_highs": Known(
        LINEAR,
        {
            "time_limit": "time_limit",
            "gap": "mip_rel_gap",
            "threads": "threads",
            "seed": "random_seed",
        },
        duals=True,
    ),
    "baron": Known(ALL, {"time_limit": "MaxTime", "gap": "EpsR"}),
    "bonmin": Known(ALL, {"time_limit": "bonmin.time_limit"}, is_local=True),
    "cbc": Known(
        LINEAR,
        {"time_limit": "seconds", "gap": "ratioGap", "threads": "threads", "seed": "randomCbcSeed"},
    ),
    "couenne": Known(ALL, {"time_limit": "time_limit"}),
    "cplex": Known(
        QUADRATIC,
        {
            "time_limit": "timelimit",
            "gap": "mip_tolerances_mipgap",
            "threads": "threads",
            "seed": "randomseed",
        },
        duals=True,
    ),
    "glpk": Known(LINEAR, {"time_limit": "tmlim", "gap": "mipgap"}, duals=True),
    "gurobi": Known(QUADRATIC, _GUROBI, duals=True),
    "gurobi_direct": Known(LINEAR, _GUROBI, duals=True),
    "gurobi_direct_minlp": Known(ALL, _GUROBI),
    "gurobi_persistent": Known(QUADRATIC, _GUROBI, duals=True),
    "highs": Known(
        LINEAR,
        {
            "time_limit": "time_limit",
            "gap": "mip_rel_gap",
            "threads": "threads",
            "seed": "random_seed",
        },
        duals=True,
    ),
    "ipopt": Known(SMOOTH, {"time_limit": "max_cpu_time"}, is_local=True, duals=True),
    "knitro_direct": Known(ALL, {"time_limit": "maxtime_real"}, is_local=True),
    "scip": Known(ALL, _SCIP, linear_objective=True),
    "scip_direct": Known(ALL, _SCIP, linear_objective=True),
    "scip_persistent": Known(ALL, _SCIP, linear_objective=True),
    "xpress": Known(
        QUADRATIC,
        {"time_limit": "maxtime", "gap": "miprelstop", "threads": "threads", "seed": "randomseed"},
        duals=True,
    ),
}
UNKNOWN: Final = Known()


def known(name: str) -> Known:
    """Return what is known of a solver; one that is not in the table may take anything."""
    return SOLVERS.get(name, UNKNOWN)
