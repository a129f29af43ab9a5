"""Bounds of requirements that speak of yes and no."""

from itertools import product
from pathlib import Path

import pytest
import xarray as xr

from engiagent.text import Problem
from engiagent.verify.checking import check

REQUIREMENTS = """\
schema: engiagent-requirements/1
sets:
  - {name: K, kind: labels, elements: [pump, fan, lamp]}
parameters:
  - {name: worth, index: [K], value: {pump: 5, fan: 4, lamp: 3}, unit: "1"}
  - {name: power, index: [K], value: {pump: 6, fan: 5, lamp: 4}, unit: kW}
quantities:
  - {name: load.on, type: binary, quote: "on or off"}
requirements:
  - id: R1
    quote: "9 kW together at most"
    expression: "sum(power[k]*load.on[k] for k in K) <= 9[kW]"
    tolerance: "1e-6[kW]"
objective:
  sense: maximize
  unit: "1"
  expression: "sum(worth[k]*load.on[k] for k in K)"
  quote: "worth most"
"""


@pytest.mark.parametrize(("plan", "gap"), [([0, 1, 1], 0.0), ([1, 0, 0], 2 / 7)])
def test_a_yes_or_no_is_no_more_than_once(tmp_path: Path, plan: list[int], gap: float) -> None:
    text = "Each load is on or off, with 9 kW together at most. Choose what is worth most.\n"
    (tmp_path / "problem.md").write_text(text)
    (tmp_path / "requirements.yaml").write_text(REQUIREMENTS)
    schedule = xr.Dataset({"load.on": ("K", plan)}, coords={"K": ["pump", "fan", "lamp"]})
    certificate = check(
        Problem.load(tmp_path), schedule, requirements=tmp_path / "requirements.yaml"
    )
    assert certificate.bound is not None
    assert certificate.bound["value"] == pytest.approx(7.0, rel=1e-6)
    assert certificate.bound["gap"] == pytest.approx(gap, abs=1e-6)


CURVED = """\
schema: engiagent-requirements/1
sets:
  - {name: K, kind: labels, elements: [pump, fan, lamp]}
quantities:
  - {name: load.on, type: binary, quote: "on or off"}
requirements:
  - id: R1
    quote: "at most 3"
    forall: ["k in K"]
    expression: "0 <= load.level[k] <= 3*load.on[k]"
    tolerance: "1e-6"
  - id: R2
    quote: "together 4"
    expression: "sum(load.level[k] for k in K) == 4"
    tolerance: "1e-6"
objective:
  sense: minimize
  unit: "1"
  expression: "sum(5*load.on[k] + load.level[k]**POWER for k in K)"
  quote: "least"
"""


@pytest.mark.parametrize(("power", "level"), [(2, 2.0), (3, 4 / 3)])
def test_cases_with_curves_close_the_gap(tmp_path: Path, power: int, level: float) -> None:
    (tmp_path / "problem.md").write_text("Each is on or off, at most 3, together 4, least.\n")
    (tmp_path / "requirements.yaml").write_text(CURVED.replace("POWER", str(power)))
    running = round(4 / level)
    plan = {
        "load.on": ("K", [1] * running + [0] * (3 - running)),
        "load.level": ("K", [level] * running + [0.0] * (3 - running)),
    }
    certificate = check(
        Problem.load(tmp_path),
        xr.Dataset(plan, coords={"K": ["pump", "fan", "lamp"]}),
        requirements=tmp_path / "requirements.yaml",
    )
    assert certificate.bound is not None
    assert certificate.bound["value"] == pytest.approx(5 * running + running * level**power)
    assert 0 <= certificate.bound["gap"] <= 1e-6


STAGED = """\
schema: engiagent-requirements/1
sets:
  - {name: S, kind: labels, elements: [half, full]}
  - {name: K, kind: periods, periods: 4}
  - {name: J, kind: instants, of: K}
parameters:
  - {name: share, index: [S], value: {half: 0.17, full: 0.34}, unit: "1"}
  - {name: cost, index: [S], value: {half: 0.6, full: 4.6}, unit: "1"}
  - {name: outside, index: [K], value: [23, 19, 16.5, 15.5], unit: "1"}
quantities:
  - {name: fan.on, type: binary, quote: "one stage or none"}
requirements:
  - id: R1
    quote: "one stage or none"
    forall: ["k in K"]
    expression: "sum(fan.on[s, k] for s in S) <= 1"
    tolerance: "1e-9"
  - id: R2
    quote: "takes away its share"
    forall: ["k in K"]
    expression: >-
      room.level[k+1] == room.level[k]
      - sum(share[s]*fan.on[s, k] for s in S)*(room.level[k] - outside[k])
    tolerance: "1e-6"
  - id: R3
    quote: "begins at 27"
    expression: "room.level[first(J)] == 27"
    tolerance: "1e-6"
  - id: R4
    quote: "between 20 and 27"
    forall: ["j in J"]
    expression: "20 <= room.level[j] <= 27"
    tolerance: "1e-6"
objective:
  sense: minimize
  unit: "1"
  expression: "4.2*room.level[last(J)] + sum(cost[s]*fan.on[s, k] for s in S for k in K)"
  quote: "least"
"""


def test_cases_make_products_with_whole_numbers_exact(tmp_path: Path) -> None:
    (tmp_path / "problem.md").write_text(
        "A fan has one stage or none, which takes away its share. It begins at 27 and stays "
        "between 20 and 27: least.\n"
    )
    (tmp_path / "requirements.yaml").write_text(STAGED)
    plans = {}
    for stages in product(((0.0, 0.0), (0.17, 0.6), (0.34, 4.6)), repeat=4):
        levels = [27.0]
        for (share, _), outside in zip(stages, (23, 19, 16.5, 15.5), strict=True):
            levels.append(levels[-1] - share * (levels[-1] - outside))
        if min(levels) >= 20:
            plans[stages] = levels, 4.2 * levels[-1] + sum(cost for _, cost in stages)
    best = min(plans, key=lambda stages: plans[stages][1])
    for stages in (best, ((0.0, 0.0),) * 4):
        on = [[float(share == level) for share, _ in stages] for level in (0.17, 0.34)]
        plan = {"fan.on": (("S", "K"), on), "room.level": ("J", plans[stages][0])}
        certificate = check(
            Problem.load(tmp_path),
            xr.Dataset(plan, coords={"S": ["half", "full"]}),
            requirements=tmp_path / "requirements.yaml",
        )
        assert certificate.bound is not None
        assert certificate.bound["value"] == pytest.approx(plans[best][1], rel=1e-6)
