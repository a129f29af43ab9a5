"""A time limit bounds what a run begins, and a run costs as much per row however many there are."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from time import monotonic

from engiagent.agents.running import Run, RunOutcome
from engiagent.blueprint import Blueprint
from engiagent.run.folder import EXPLANATION, OPINION, REPORT, SCRIPT, RunFolder, read_record
from engiagent.solvers.result import SolveOptions
from tests.blueprints import Json, blueprint, constraint, goal, variable


def packing(size: int) -> Blueprint:
    """Return a programme of binaries whose best plan no bound proves at once."""
    left, half = weighted(10, size)
    worth, _ = weighted(1, size, seed=2)
    return blueprint(
        decision_variables=binaries(size),
        constraints=rows([f"{text} <= {most}" for text, most in zip(left, half, strict=True)]),
        objective_function=goal(worth[0], "1", "maximize"),
    )


def weighted(count: int, size: int, seed: int = 1) -> tuple[list[str], list[int]]:
    """Return weighted sums of binaries, and half of the sum of the weights of each."""
    drawn = Random(seed)
    weights = [[drawn.randint(1, 99) for _ in range(size)] for _ in range(count)]
    texts = [" + ".join(f"{w}*b{k}" for k, w in enumerate(row)) for row in weights]
    return texts, [sum(row) // 2 for row in weights]


def binaries(size: int) -> list[Json]:
    return [variable(f"b{k}", type="binary", unit="1") for k in range(size)]


def rows(texts: list[str]) -> list[Json]:
    return [constraint(text, constraint_id=f"C{k}") for k, text in enumerate(texts)]


def solved(
    given: Blueprint, out: Path, limit: float | None, clock: Callable[[], float] = monotonic
) -> RunOutcome:
    folder = RunFolder.create(out, "limited", {})
    run = Run(folder, None, SolveOptions(time_limit=limit), None, clock=clock)
    return run.guarded(lambda: run.from_blueprint_file(given, out))


def test_after_the_limit_nothing_is_begun_that_the_verdict_does_not_hang_on(tmp_path: Path) -> None:
    slow = count(0.0, 1000.0).__next__  # every look at the clock is 1000 s after the one before
    in_time, late = (
        solved(packing(36), tmp_path / name, 600.0, clock)
        for name, clock in {"in time": monotonic, "late": slow}.items()
    )
    # Two solvers that agree prove more than one: what is left out makes no verdict better.
    assert (in_time.verdict, late.verdict) == ("certified", "feasible")
    assert late.objective == in_time.objective
    for name in (OPINION, EXPLANATION, SCRIPT):
        assert (in_time.folder / name).exists()
        assert not (late.folder / name).exists()
        assert f"the time limit has passed, so there is no {name}" in late.notes
    assert read_record(late.folder)["left_out"] == [OPINION, EXPLANATION, SCRIPT]
    reports = [(outcome.folder / REPORT).read_text("utf-8") for outcome in (in_time, late)]
    assert ["Limits in force" in report for report in reports] == [True, False]
