"""The door to the exact method for storage chains."""

import time
from dataclasses import replace
from typing import Final

import numpy as np

from engiagent import __version__
from engiagent.errors import EngiagentError
from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers.adapter import Feature, Need, Watch
from engiagent.solvers.chain.evaluation import evaluate
from engiagent.solvers.chain.model import Model, UnsuitableError, build_model
from engiagent.solvers.chain.proof import prove
from engiagent.solvers.chain.recursions import SHORT, Kernel, choose_kernel, keep_memory
from engiagent.solvers.result import SolveOptions, SolverResult, relative_gap
from engiagent.solvers.structure.chain import StorageChain, find_chain
from engiagent.solvers.structure.entries import Floats

NAME: Final = "engiagent storage chain"
CLASSES: Final[dict[ProblemClass, Need]] = {"LP": "convex"}
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "global"})
OPTIONS: Final = {
    "time_limit": "takes less than a second",
    "gap": "exact",
    "threads": "uses one",
    "seed": "makes no random choices",
}
REQUIRES: Final = ()
VERSION: Final = __version__
PROVEN = 1e-9


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a program that is a storage chain; EngiagentError when the program is none."""
    result = try_chain(program, options)
    if result is None:
        raise EngiagentError(
            "the backend chain takes only a store, or several that share nothing; "
            "leave the choice of the backend open"
        )
    return result


def try_chain(program: Program, options: SolveOptions) -> SolverResult | None:
    """Return the optimum of a storage chain, or None when the program is none."""
    if not program.is_linear or program.is_mip or program.goals:
        return None
    found = find_chain(program)
    return None if found is None else solve_chain(program, found)


def solve_chain(
    program: Program, chain: StorageChain, *, kernel: Kernel | None = None
) -> SolverResult | None:
    """Solve a program that is made of storage chains, exactly.

    ``program``: the program, as :func:`engiagent.solvers.validate.check_program` accepts it.
    ``chain``: what :func:`engiagent.solvers.structure.recognise` found in it. ``kernel``: ``plain``
    or ``numba``; None chooses.

    Returns an optimum whose multipliers prove it to a relative 1e-9, or None: then nothing is said
    about the program, and the ordinary solver has to be asked.
    """
    started = time.perf_counter()
    kernel = kernel or choose_kernel(chain.steps)
    if chain.steps > SHORT:
        keep_memory()
    try:
        model = build_model(program, chain)
        found = evaluate(model, kernel)
    except UnsuitableError:
        return None
    if found is None:
        return None
    result = _proven(model, *found)
    return None if result is None else replace(result, seconds=time.perf_counter() - started)


def _proven(model: Model, x: Floats, y: Floats, reduced: Floats) -> SolverResult | None:
    program, sign = model.program, model.sign
    np.clip(x, program.column_lower, program.column_upper, out=x)
    cost = model.cost[: program.column_count]
    proof = prove(program, model.chain.entries, cost, (x, y, reduced))
    if not (proof.gap <= PROVEN and proof.residual <= PROVEN):
        return None
    for prices in (y, reduced):
        np.multiply(prices, sign, out=prices)
        np.add(prices, 0.0, out=prices)  # no negative zeros
    objective = sign * proof.objective + program.offset
    bound = sign * proof.bound + program.offset
    return SolverResult(
        status="optimal",
        reason="optimal",
        is_mip=False,
        solver=NAME,
        solver_version=__version__,
        x=x,
        row_dual=y,
        column_dual=reduced,
        objective=objective,
        bound=bound,
        gap=relative_gap(objective, bound),
    )
