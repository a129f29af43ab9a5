"""What all adapters of convex programs have in common, on random programs and on broken ones."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engiagent.errors import EngiagentError
from engiagent.solvers.adapter import Adapter
from engiagent.solvers.convex.optimality import examine
from engiagent.solvers.convex.outcome import Ending, conclude
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import SolveOptions
from tests.solvers.convex.programs import affine, column, function, make, random_quadratic

piqp, clarabel, osqp, scs = (adapter(name) for name in ("piqp", "clarabel", "osqp", "scs"))
INF = np.inf
QUADRATIC = [piqp, clarabel, osqp, scs]
CONIC = [clarabel, scs]


@pytest.mark.parametrize("solver", QUADRATIC)
def test_what_is_not_convex_is_refused(solver: Adapter) -> None:
    bent = make([0, 0], [1, 1], affine([1, 1]), products=[(-1, 1, 0, 1.0)])
    with pytest.raises(EngiagentError, match="not convex"):
        solver.solve_here(bent, SolveOptions())
    whole = make([0], [1], affine([1]), integers=[0])
    with pytest.raises(EngiagentError, match="whole numbers"):
        solver.solve_here(whole, SolveOptions())


@pytest.mark.parametrize("solver", CONIC)
def test_functions_are_left_to_other_solvers(solver: Adapter) -> None:
    rows = [(function("log", column(0)), -INF, 1.0)]
    with pytest.raises(EngiagentError, match="log in the log"):
        solver.solve_here(make([0.1, 0.1], [9, 9], affine([1, 1]), rows), SolveOptions())


def test_a_wrong_claim_is_not_repeated() -> None:
    """A solver that says `solved` and lies is found out."""
    program = random_quadratic(2)
    best: Any = clarabel.solve_here(program, SolveOptions())

    def ended(x: Any, dual: Any) -> str:
        ending = Ending(
            kind="solved",
            words="it ended with solved",
            solver="Liar",
            version="1",
            x=x,
            row_dual=dual,
        )
        return conclude(program, SolveOptions(), ending).status

    assert ended(best.x, best.row_dual) == "optimal"
    assert ended(np.full(12, np.nan), best.row_dual) == "error"
    assert ended(np.full(12, 100.0), best.row_dual) == "error"
    other: Any = piqp.solve_here(replace(program, cost=-program.cost), SolveOptions())
    inner = 0.9 * best.x + 0.1 * other.x
    assert ended(inner, np.zeros(8)) in ("feasible", "optimal")
    account = examine(program, inner, np.zeros(8))
    assert account.bound is None or account.bound <= best.objective + 1e-9


def test_the_bound_holds_for_any_multipliers() -> None:
    """Weak duality, whatever the multipliers, at whatever point."""
    random = np.random.default_rng(0)
    for seed in range(5):
        program = random_quadratic(seed)
        best: Any = clarabel.solve_here(program, SolveOptions()).objective
        for _ in range(20):
            x = random.uniform(program.column_lower, program.column_upper)
            account = examine(program, x, random.normal(size=8) * 3)
            assert account.bound is not None
            assert account.bound <= best + 1e-9


def test_a_bound_from_tangents_needs_the_right_side() -> None:
    """Multipliers of bounds that do not exist count nothing, and NaN never passes."""
    program = make([-INF], [INF], affine([1.0]), [(affine([1.0]), 2.0, INF)])
    good = examine(program, np.array([2.0]), np.array([1.0]))
    assert good.bound == pytest.approx(2.0)
    assert good.violation == 0.0
    wrong = examine(program, np.array([2.0]), np.array([-1.0]))
    assert wrong.bound is None
    assert wrong.row_dual == pytest.approx([0.0])
    assert examine(program, np.array([np.nan]), np.array([1.0])).violation == np.inf
