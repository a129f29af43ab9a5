"""When a run goes on, and what an evaluation decides."""

from engiagent.agents.coordinator import ROUNDS, Gains
from engiagent.agents.protocol import Board
from engiagent.solvers.result import SolveOptions
from engiagent.text import corpus_root

DAY = corpus_root() / "battery" / "merchant_day"


def board(verdict: str) -> Board:
    empty = Board(problem=None, data=DAY, name="x", options=SolveOptions())
    return empty.having(certificate={"verdict": verdict})


def test_a_plan_that_satisfies_the_requirements_is_put_out_when_rounds_gain_nothing() -> None:
    gains = Gains()
    assert gains.evaluated(board("solved"), ())["gained"]
    for _ in range(ROUNDS):
        assert gains.exhausted() is None
        gains.evaluated(board("violated"), ())
    assert "gained nothing" in str(gains.exhausted())
    assert gains.evaluated(board("feasible"), ())["gained"]
    assert gains.exhausted() is None


def test_a_plan_that_breaks_requirements_is_never_good_enough_to_stop() -> None:
    gains = Gains()
    for verdict in ("violated", "undecided") * 3 * ROUNDS:
        gains.evaluated(board(verdict), ())
        assert gains.exhausted() is None
