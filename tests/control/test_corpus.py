"""The runner controls the corpus's own storage and heating problems as they are written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.control import RecedingHorizon
from engiagent.formulations.expansion import expand
from engiagent.text import corpus_root
from engiagent.text.problem import Problem

CORPUS = corpus_root()
CASES: tuple[tuple[str, dict[str, str], int], ...] = (
    ("battery/merchant_day", {"battery.state_of_charge": "E_start"}, 4),
    ("battery/behind_the_meter_shop", {"battery.state_of_charge": "E_start"}, 4),
    ("thermal/office_heat_pump", {"zone.temperature": "T_start"}, 4),
    (
        "thermal/two_zone_workshop",
        {"zone.hall.temperature": "T0_hall", "zone.office.temperature": "T0_office"},
        4,
    ),
    ("thermal/cold_snap_infeasible", {"zone.temperature": "T_start"}, 3),
)


def series_of(blueprint: Blueprint, folder: Path) -> dict[str, Any]:
    """Return the moving parameters' own values; the loop repeats them day after day."""
    elaboration = Elaboration(blueprint.core, folder)
    return {
        p.name: elaboration.table(p.name).values
        for p in blueprint.core.parameters
        if p.index
        and not isinstance(p.value, str)
        and (p.type or "number") == "number"
        and {"T", "I"} & set(elaboration.symbols[p.name].dims)
    }


@pytest.mark.parametrize(("problem", "state", "steps"), CASES, ids=[c[0] for c in CASES])
def test_a_corpus_problem_runs_as_a_loop(problem: str, state: dict[str, str], steps: int) -> None:
    folder = CORPUS / problem
    given = expand(Blueprint.load(folder / "expert" / "blueprint.json"))
    data = Problem.load(folder).folder
    runner = RecedingHorizon(
        given, data, state=state, forecasts=series_of(given, data), end="repeat"
    )
    start = {name: runner.parametric.value(name) for name in state.values()}
    loop = runner.run(steps, start)
    assert len(loop.controls) == steps
    infeasible = "infeasible" in problem
    outcomes = {c.outcome for c in loop.controls}
    assert "relaxed" in outcomes if infeasible else outcomes == {"optimal"}, outcomes
    for control in loop.controls:
        assert all(np.isfinite(v).all() for v in control.values.values())
        assert bool(control.relaxations) == (control.outcome == "relaxed")
