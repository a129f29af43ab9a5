"""What is drawn of a plan: balances that add up, bands, profiles, the turns of a run."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import xarray

from engiagent.blueprint import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.report.charts import HeatMap, Lanes, Panel, draw, plan_panels, route_chart
from engiagent.report.charts.panels import stacked
from tests.blueprints import blueprint, constraint, goal


@dataclass(frozen=True)
class Drawn:
    """A plan as it is drawn."""

    solution: xarray.Dataset | None
    blueprint: Blueprint | None
    elaboration: Elaboration | None


def variable(name: str, index: list[str], unit: str = "kW", **more: Any) -> dict[str, Any]:
    return {"name": name, "index": index, "type": "continuous", "unit": unit, **more}


def plan_of(core: dict[str, Any], values: dict[str, Any]) -> Drawn:
    """Return a plan whose values are given by variable, by the order of its sets."""
    made = blueprint(**{"objective_function": goal("0", "1"), **core})
    data = {}
    for item in core["decision_variables"]:
        dims = [text.split(" in ")[-1] for text in item["index"]]
        attrs = {"units": item["unit"], "quantity": item.get("quantity", item["name"])}
        data[item["name"]] = (dims, np.array(values[item["name"]], dtype=float), attrs)
    return Drawn(xarray.Dataset(data), made, Elaboration(made.core))


def panels_of(plan: Drawn) -> list[Panel]:
    return [chart for chart in plan_panels(plan) if isinstance(chart, Panel)]


TIME = {"name": "T", "kind": "time", "start": "2025-07-01T00:00", "step": "1 h", "periods": 3}


def dispatch() -> Drawn:
    core = {
        "sets": [TIME, {"name": "G", "kind": "labels", "elements": ["oil", "gas"]}],
        "parameters": [
            {"name": "load", "index": ["T"], "value": [3.0, 4.0, 5.0], "unit": "MW"},
            {"name": "price", "index": ["T"], "value": [50, 60, 40], "unit": "EUR/MWh"},
        ],
        "decision_variables": [
            variable("P", ["g in G", "t in T"]),
            variable("sold", ["t in T"], "MW", quantity="grid.export"),
        ],
        "constraints": [
            constraint(
                "sum(P[g, t] for g in G) - sold[t] == load[t]",
                "t in T",
                constraint_id="B",
                name="bus",
                hard=True,
                category="Supply-Demand Balance",
            )
        ],
    }
    values = {"P": [[2000, 2500, 3000], [1500, 2500, 2000]], "sold": [0.5, 1.0, 0.0]}
    return plan_of(core, values)


def test_a_balance_is_stacked_unit_by_unit_in_one_unit_and_both_sides_are_equal() -> None:
    panel = panels_of(dispatch())[0]
    assert panel.title == "bus"
    assert panel.unit == "kW"
    areas = [curve for curve in panel.curves if curve.role == "stack"]
    assert [curve.label for curve in areas] == ["P[oil]", "P[gas]", "grid.export", "load"]
    up = sum((above - below for _, below, above in stacked(areas) if above.max() > 0), np.zeros(3))
    down = sum(
        (above - below for _, below, above in stacked(areas) if above.min() < 0), np.zeros(3)
    )
    assert up.tolist() == [3500.0, 5000.0, 5000.0]
    assert down.tolist() == [-3500.0, -5000.0, -5000.0]


def zone(high: list[float]) -> Panel:
    core = {
        "sets": [TIME, {"name": "I", "kind": "instants", "of": "T"}],
        "parameters": [{"name": "top", "index": ["I"], "value": high, "unit": "degC"}],
        "decision_variables": [
            variable(
                "temperature",
                ["i in I"],
                "degC",
                lower=20.0,
                upper="top[i]",
                quantity="room.temperature",
                role="state",
            )
        ],
        "constraints": [],
    }
    return panels_of(plan_of(core, {"temperature": [20.5, 21.0, 22.0, 21.5]}))[0]


def test_the_limits_of_a_temperature_are_a_band_and_it_is_a_line() -> None:
    panel = zone([22.0, 22.0, 23.0, 23.0])
    (band,) = panel.bands
    # Steps between the four instants; from one limit to another the wider holds.
    assert band.shape == "step"
    assert band.low.tolist() == [20.0] * 3
    assert band.high.tolist() == [22.0, 23.0, 23.0]
    assert [(curve.label, curve.shape) for curve in panel.curves] == [("room.temperature", "line")]


def feeder() -> Drawn:
    branches = [["plant", "mill"], ["mill", "farm"], ["mill", "school"]]
    core = {
        "sets": [
            TIME,
            {"name": "N", "kind": "labels", "elements": ["plant", "school", "mill", "farm"]},
            {"name": "L", "kind": "tuples", "of": ["N", "N"], "elements": branches},
        ],
        "parameters": [],
        "decision_variables": [
            variable(
                "v",
                ["n in N", "t in T"],
                "kV**2",
                lower=81.0,
                upper=121.0,
                quantity="node.squared_voltage",
            )
        ],
        "constraints": [],
    }
    values = [[100.0] * 3, [81.0, 90.25, 96.04], [94.09] * 3, [110.25, 100.0, 102.01]]
    return plan_of(core, {"v": values})


def test_a_profile_shows_the_extremes_at_every_bus_as_roots_of_squares() -> None:
    panel = panels_of(feeder())[0]
    assert (panel.title, panel.unit) == ("node: voltage along the feeder", "kV")
    assert panel.axis.labels == ("plant", "school", "mill", "farm")
    lowest, highest, *limits = panel.curves
    assert lowest.values.tolist() == pytest.approx([10.0, 9.0, 9.7, 10.0])
    assert highest.values.tolist() == pytest.approx([10.0, 9.8, 9.7, 10.5])
    assert sorted(float(curve.values[0]) for curve in limits) == [9.0, 11.0]


def test_the_turns_of_a_run_are_told_in_order() -> None:
    good = {"status": "done", "summary": "the text is complete", "faults": []}
    bad = {"status": "fault", "summary": "2 <findings>", "faults": [{"kind": "units"}]}
    lines: list[dict[str, Any]] = [
        {"event": "stage", "stage": "load"},
        {"event": "route", "target": "analyzer", "decided_by": "main way", "outcome": good},
        {"event": "route", "target": "modeler", "decided_by": "main way", "outcome": bad},
        {"event": "route", "target": "analyzer", "decided_by": "taxonomy", "outcome": None},
    ]
    chart = route_chart(lines)
    assert [bar.lane for bar in chart.bars] == ["analyzer", "modeler", "analyzer"]
    assert [bar.good for bar in chart.bars] == [True, False, False]
    assert [chart.series[bar.series] for bar in chart.bars][1:] == ["main way", "taxonomy"]
    assert "2 &lt;findings&gt;" in draw(chart, "x")


def test_only_limits_that_are_stated_are_drawn_as_limits() -> None:
    # The sun that there is, and a power that is worked out from it, are data; 5 kW is a limit.
    core = {
        "sets": [TIME],
        "parameters": [
            {"name": "sun", "index": ["T"], "value": [0.0, 3.0, 4.0], "unit": "kW"},
            {"name": "never", "value": "max(sun[t] for t in T) + 1[kW]", "unit": "kW"},
            {"name": "most", "value": 5.0, "unit": "kW"},
        ],
        "decision_variables": [
            variable("pv", ["t in T"], lower=0, upper="sun[t]"),
            variable("sold", ["t in T"], lower=0, upper="never"),
            variable("bought", ["t in T"], lower=0, upper="most"),
        ],
        "constraints": [],
    }
    values = {"pv": [0.0, 3.0, 4.0], "sold": [0.0, 1.0, 2.0], "bought": [4.0, 2.0, 0.0]}
    panels = panels_of(plan_of(core, values))
    limits = [c.label for panel in panels for c in panel.curves if c.role == "limit"]
    assert limits == ["upper limit of bought"]


def test_what_is_on_or_off_has_a_bar_for_each_time_that_it_is_on() -> None:
    core = {
        "sets": [TIME],
        "parameters": [],
        "decision_variables": [
            {"name": "on", "index": ["t in T"], "type": "binary", "unit": "1", "quantity": "ch.on"}
        ],
        "constraints": [],
    }
    (lanes,) = plan_panels(plan_of(core, {"on": [1.0, 0.0, 0.9999999]}))
    assert isinstance(lanes, Lanes)
    assert lanes.axis is not None
    starts = lanes.axis.edges.tolist()
    assert [(bar.lane, bar.start, bar.stop) for bar in lanes.bars] == [
        ("ch.on", starts[0], starts[1]),
        ("ch.on", starts[2], starts[3]),
    ]
    assert "from 2025-07-01 00:00 to 2025-07-01 01:00" in draw(lanes, "x")


def test_a_year_is_a_duration_curve_and_a_heat_map() -> None:
    hours = 8760
    values = np.random.default_rng(1).gamma(2.0, 50.0, hours)
    core = {
        "sets": [TIME | {"start": "2025-01-01T00:00", "periods": hours}],
        "parameters": [],
        "decision_variables": [variable("load", ["t in T"], lower=0, upper=2000)],
        "constraints": [],
    }
    curve, heat = plan_panels(plan_of(core, {"load": values}))
    assert isinstance(curve, Panel)
    (line,) = [item for item in curve.curves if item.role == "series"]
    assert line.values.tolist() == sorted(values, reverse=True)
    # The area below a duration curve is the energy.
    assert np.sum(line.values * np.diff(line.places)) == pytest.approx(values.sum())
    assert isinstance(heat, HeatMap)
    assert np.array_equal(heat.grid(), values.reshape(365, 24).T)
    weeks = heat.grid(7)
    assert weeks.shape == (24, 53)
    assert weeks[5, 0] == pytest.approx(values[5 : 7 * 24 : 24].mean())
    assert len(draw(heat, "x")) < 150_000
