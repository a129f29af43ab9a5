"""When a run goes on, and what an evaluation decides."""

import pytest

from engiagent.agents.coordinator import RANKS, ROUNDS, Gains, quality
from engiagent.agents.protocol import Board
from engiagent.solvers.result import SolveOptions
from engiagent.text import corpus_root

DAY = corpus_root() / "battery" / "merchant_day"


def board(verdict: str, score: float) -> Board:
    scores = dict.fromkeys(("IE", "DR", "MO", "UH"), score)
    empty = Board(problem=None, data=DAY, name="x", options=SolveOptions())
    return empty.having(certificate={"verdict": verdict}, scores=scores)


def test_a_better_verdict_outweighs_any_scores() -> None:
    values = [quality({"verdict": v}, {"IE": s}) for v in RANKS for s in (0.0, 0.5, 1.0)]
    assert values == sorted(values)
    assert len(set(values)) == len(values)
    assert quality(None, {"IE": 1.0}) == 0.0


def test_a_plan_that_keeps_the_demands_is_put_out_when_rounds_gain_nothing() -> None:
    gains = Gains()
    assert gains.evaluated(board("feasible", 0.5), ())["gain"] == pytest.approx(
        RANKS.index("feasible") + 0.5
    )
    for _ in range(ROUNDS):
        assert gains.exhausted() is None
        gains.evaluated(board("violated", 0.9), ())
    assert "gained nothing" in str(gains.exhausted())
    assert gains.evaluated(board("feasible", 0.7), ())["gain"] == pytest.approx(0.2)
    assert gains.exhausted() is None


def test_a_plan_that_breaks_demands_is_never_good_enough_to_stop() -> None:
    gains = Gains()
    for verdict in ("violated", "undecided") * 3 * ROUNDS:
        gains.evaluated(board(verdict, 0.5), ())
        assert gains.exhausted() is None
