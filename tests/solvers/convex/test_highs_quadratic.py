"""HiGHS on quadratic programs: its word is never enough."""

import pytest

from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solving import solve
from tests.solvers.conformance.test_agreement import Draw, qp


@pytest.mark.parametrize("seed", [*range(12), 167, 324, 355])
def test_what_highs_calls_optimal_is_proven_or_not_called_so(seed: int) -> None:
    """It calls a point of seed 167 optimal that is off by the size of the objective.

    With seeds 324 and 355 it goes round in circles until no memory is left.
    """
    program = qp(Draw(seed))
    found = solve(program, SolveOptions(backend="highs"), isolate=False)
    sure = solve(program, SolveOptions(backend="clarabel"), isolate=False)
    if found.status == "optimal":
        assert found.objective == pytest.approx(sure.objective, rel=1e-5, abs=1e-5)
        assert found.gap is not None
        assert found.gap <= 1e-6
    elif found.status != "infeasible":
        assert "HiGHS's method for quadratic programs failed; piqp" in found.reason
