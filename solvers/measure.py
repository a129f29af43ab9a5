"""An objective measured in a unit in which its costs are far from the tolerances of solvers.

Solvers take a reduced cost below some 1e-7 for none, whatever the range of its column. Where
energies are counted in joules and money in millions, that is all there is of a cost, and a point
far from the best one is called optimal. So the objective is multiplied by a power of two, which
rounds nothing, before a solver gets it.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from engiagent.formulations.program import OBJECTIVE, Products, Program
from engiagent.solvers.result import Floats, OnProgress, Progress, SolverResult, relative_gap

TOLERANCE: Final = 1e-7
"""Reduced costs that solvers take for none."""
SHARE: Final = 1e-3
"""Of what a typical column can change in the objective, the most that a tolerance may hide."""
SMALL: Final = 1e-6
PLAIN: Final = 1e-4
"""Costs below ``SMALL`` are brought up to this."""
LARGEST: Final = 1e6
"""Costs are brought up to this at most."""
ASKED: Final = 1000
"""About so many columns stand for all where a typical one is sought."""


def factor_of(program: Program) -> float:
    """Return the power of two by which to multiply the objective; 1 with functions in it."""
    size = np.abs(program.cost)
    most = float(size.max(initial=0.0))
    if not most or any((part.row_numbers() == OBJECTIVE).any() for part in program.nonlinear):
        return 1.0
    wanted = 1.0
    least = float(size.min(initial=np.inf, where=size > 0))
    if least < SMALL:
        wanted = PLAIN / least
    width = program.column_upper - program.column_lower
    widest = float(width.max(initial=0.0, where=width < np.inf))
    typical = _typical_swing(size, width)
    if typical and TOLERANCE * widest > SHARE * typical:
        wanted = max(wanted, widest / typical)
    wanted = min(wanted, LARGEST / most)
    return 2.0 ** float(np.floor(np.log2(wanted))) if wanted > 1.0 else 1.0


def _typical_swing(size: Floats, width: Floats) -> float:
    """Return what a column with bounds changes in the objective, the median; 0 without any."""
    costly = np.flatnonzero((size > 0) & (width > 0) & (width < np.inf))
    some = costly[:: max(1, len(costly) // ASKED)]
    return float(np.median(size[some] * width[some])) if len(some) else 0.0


def multiplied(program: Program, factor: float) -> Program:
    """Return a program without functions in its objective with the objective multiplied."""
    products = program.products
    values = np.where(products.rows == OBJECTIVE, factor, 1.0) * products.values
    return replace(
        program,
        cost=factor * program.cost,
        offset=factor * program.offset,
        products=Products(products.rows, products.first, products.second, values),
    )


def divided(program: Program, result: SolverResult, factor: float) -> SolverResult:
    """Return the result of a multiplied program as that of the program itself."""
    objective = None if result.x is None else program.objective_at(result.x)
    bound = None if result.bound is None else result.bound / factor
    gap = None if objective is None or bound is None else relative_gap(objective, bound)
    return replace(
        result,
        objective=objective,
        bound=bound,
        gap=gap,
        row_dual=None if result.row_dual is None else result.row_dual / factor,
        column_dual=None if result.column_dual is None else result.column_dual / factor,
    )


def told_divided(on_progress: OnProgress | None, factor: float) -> OnProgress | None:
    """Return what takes reports of a multiplied program and passes on those of the program."""
    if on_progress is None:
        return None

    def tell(progress: Progress) -> None:
        objective, bound = progress.objective, progress.bound
        on_progress(
            replace(
                progress,
                objective=None if objective is None else objective / factor,
                bound=None if bound is None else bound / factor,
            )
        )

    return tell
