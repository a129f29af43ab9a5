"""Key figures of plans, each against a plain computation from the plan's own numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.blueprint import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.formulations.expansion import expand
from engiagent.plant.site import Site
from engiagent.report import render_report
from engiagent.run.keyfigures import KeyFigures, key_figures
from engiagent.solvers.arrays import NamedArray, SolutionArrays
from tests.blueprints import document, goal, variable
from tests.cli.asking import answer, invoke

UNEVEN = ("1 h", "30 min", "15 min", "2 h")
HOURS = np.array([1.0, 0.5, 0.25, 2.0])
POWERS = st.lists(st.floats(0.0, 100.0), min_size=4, max_size=4).map(np.array)


def home(step: Any = UNEVEN, start: str = "2025-07-01T00:00", **about: Any) -> Site:
    """A battery of 40 kWh, an array and a load on one bus with a grid."""
    site = Site(start, list(step), len(step), **about)
    site.add("grid", "grid", bus="home", import_power_max=200, export_power_max=200)
    site.add("load", "load", bus="home", power=[10.0] * len(step))
    site.add("roof", "generator_profile", bus="home", available_power=[100.0] * len(step))
    site.add(
        "battery",
        "battery",
        bus="home",
        energy_capacity="0.04 MWh",
        initial_energy=20,
        charge_power_max=100,
        discharge_power_max=100,
    )
    site.minimise_cost({"grid": 0.3}, {"grid": 0.1})
    return site


def planned(blueprint: Blueprint, **series: Any) -> KeyFigures:
    """Return the figures of a plan that is made up of series by quantity."""
    written = expand(blueprint)
    elaboration = Elaboration(written.core, None)
    arrays = {}
    core = written.core
    items: tuple[Any, ...] = (*core.decision_variables, *core.expressions)
    for item in items:
        if item.quantity not in series:
            continue
        dims = tuple(binder.set for binder in elaboration.binders(item.index))
        attrs = {"units": item.unit, "quantity": item.quantity}
        arrays[item.name] = NamedArray(
            item.name, dims, np.asarray(series[item.quantity], dtype=np.float64), attrs
        )
    attrs = {"objective": 7.0, "objective_unit": "EUR", "sense": "minimize"}
    return key_figures(elaboration, SolutionArrays(arrays, {}, attrs))


def one(found: KeyFigures, name: str) -> float | None:
    """Return the only figure of a name."""
    (figure,) = found.named(name)
    return figure.value


@given(drawn=POWERS, charge=POWERS, discharge=POWERS, used=POWERS)
@settings(max_examples=30, deadline=None)
def test_figures_of_a_plan_are_sums_of_its_numbers_over_uneven_steps(
    drawn: Any, charge: Any, discharge: Any, used: Any
) -> None:
    load = np.full(4, 10.0)
    surplus = drawn + discharge + used - charge - load
    imported = drawn + np.maximum(-surplus, 0.0)
    exported = np.maximum(surplus, 0.0)
    content = 20.0 + np.append(0.0, np.cumsum((charge - discharge) * HOURS)) - np.arange(5.0)
    found = planned(
        home().blueprint(),
        **{
            "grid.import": imported,
            "grid.export": exported,
            "load.power": load,
            "roof.power": used,
            "battery.charge": charge,
            "battery.discharge": discharge,
            "battery.state_of_charge": content,
        },
    )
    energies = {
        "import": imported @ HOURS,
        "export": exported @ HOURS,
        "consumption": 37.5,
        "generation": used @ HOURS,
        "charged": charge @ HOURS,
        "discharged": discharge @ HOURS,
    }
    for name, energy in energies.items():
        assert one(found, name) == pytest.approx(energy, abs=1e-6), name
    sources = sum(one(found, name) or 0.0 for name in ("import", "generation", "discharged"))
    uses = sum(one(found, name) or 0.0 for name in ("export", "consumption", "charged"))
    assert sources == pytest.approx(uses, abs=1e-6)

    generated = energies["generation"]
    own = one(found, "self_consumption")
    if round(generated, 9) > 0.0:
        assert own == pytest.approx(max(0.0, 1.0 - energies["export"] / generated), abs=1e-6)
    else:
        assert own is None
    share = max(0.0, 1.0 - energies["import"] / 37.5)
    assert one(found, "self_sufficiency") == pytest.approx(share, abs=1e-6)

    (peak,) = found.named("peak_import")
    assert peak.value == pytest.approx(imported.max(), abs=1e-6)
    starts = ("2025-07-01T00:00", "2025-07-01T01:00", "2025-07-01T01:30", "2025-07-01T01:45")
    assert peak.at == (starts[int(imported.argmax())] if imported.max() > 0 else None)

    moved = energies["charged"] + energies["discharged"]
    assert one(found, "throughput") == pytest.approx(moved, abs=1e-6)
    assert one(found, "full_cycles") == pytest.approx(energies["discharged"] / 40.0, abs=1e-6)
    assert one(found, "losses") == pytest.approx(4.0, abs=1e-6)  # a kWh in every period


@pytest.mark.parametrize(
    ("day", "hours"), [("2025-03-30", 23), ("2025-10-26", 25), ("2025-07-01", 24)]
)
def test_days_of_23_and_25_hours_have_their_energy(day: str, hours: int) -> None:
    site = home(["1 h"] * hours, f"{day}T00:00", zone="Europe/Berlin")
    solution = site.solve(progress=False)
    assert one(solution.figures, "consumption") == pytest.approx(10.0 * hours)
    assert "consumption" in repr(solution.figures)
    peak = solution.figures.named("peak_export")[0]
    assert peak.at is not None
    assert peak.at.startswith(day)


def room(**rule: Any) -> Site:
    site = Site("2025-07-01T00:00", ["1 h", "30 min", "2 h"], 3)
    site.add("grid", "grid", bus="home")
    site.add(
        "room",
        "thermal_zone",
        capacitance=2,
        resistance=5,
        initial_temperature=20,
        ambient_temperature=[5.0, 5.0, 5.0],
    )
    site.add("heater", "heater", bus="home", connections={"zone": "room"}, cop=3)
    if rule:
        site.require(**rule)
    return site


TEMPERATURES = [20.0, 18.0, 21.0, 25.0]


@pytest.mark.parametrize("penalty", [None, 4.0])
def test_discomfort_is_the_time_integral_outside_a_band_hard_or_soft(penalty: float | None) -> None:
    rule = "19[degC] <= room_temperature[i] <= 24[degC]"
    site = room(expression=rule, over="i in I", penalty=penalty)
    found = planned(site.blueprint(), **{"zone.room.temperature": TEMPERATURES})
    # one kelvin below at the second instant, one above at the last, by trapezoids
    assert one(found, "discomfort_below") == pytest.approx(0.5 * 1.0 + 0.5 * 0.5)
    assert one(found, "discomfort_above") == pytest.approx(0.5 * 2.0)
    kept = planned(site.blueprint(), **{"zone.room.temperature": [20.0, 21.0, 22.0, 23.0]})
    assert (one(kept, "discomfort_below"), one(kept, "discomfort_above")) == (0.0, 0.0)


def test_the_soft_band_of_slots_counts_without_its_slack() -> None:
    site = Site("2025-01-01T00:00", ["1 h", "2 h"], 2)
    site.add("grid", "grid", bus="heat")
    site.add(
        "house",
        "rc_network",
        heat_bus="heat",
        options={"soft": True},
        connections={
            "nodes": {"air": {"capacity": 2, "initial_temperature": 20}},
            "links": {"wall": {"one": "air", "other": "out", "conductance": 0.1}},
            "boundaries": {"out": 0},
            "heated": {"air": 5},
            "comfort": {"air": {"low": 20, "high": 24}},
        },
    )
    mean = [[19.0, 18.5]]
    discomfort = [9.0, 9.0]  # more than there is: a slack is no measure
    found = planned(
        site.blueprint(), **{"house.mean_temperature": mean, "house.discomfort.air": discomfort}
    )
    assert one(found, "discomfort_below") == pytest.approx(1.0 * 1.0 + 1.5 * 2.0)
    assert one(found, "discomfort_above") == 0.0


def test_emissions_and_fuel_of_a_set_are_told() -> None:
    site = Site("2025-07-01T00:00", ["1 h", "30 min"], 2)
    site.add("load", "load", bus="island", power=[4.0, 6.0])
    site.add("diesel", "genset", bus="island", rated_power=10, fuel_slope=0.3, emission_factor=2.7)
    site.require("diesel_power[t] >= 0[kW]")
    site.minimise_cost({})
    found = site.solve(progress=False).figures
    assert one(found, "generation") == pytest.approx(7.0)
    assert one(found, "emissions") == pytest.approx(7.0 * 0.3 * 2.7)


def test_a_capacity_that_the_plan_chooses_counts_in_cycles() -> None:
    blueprint = document(
        sets=[{"name": "T", "kind": "time", "start": "00:00", "step": "30 min", "periods": 2}],
        decision_variables=[variable("E", unit="MWh", quantity="battery.energy_capacity")],
        components=[
            {
                "name": "battery",
                "model": "battery",
                "parameters": {"energy_capacity": "E", "initial_energy": 0},
            }
        ],
        objective_function=goal("E", "MWh"),
    )
    found = planned(
        Blueprint.from_dict(blueprint),
        **{
            "battery.energy_capacity": 0.008,
            "battery.charge": [8.0, 0.0],
            "battery.discharge": [0.0, 4.0],
            "battery.state_of_charge": [0.0, 4.0, 2.0],
        },
    )
    assert one(found, "full_cycles") == pytest.approx(2.0 / 8.0)
    assert one(found, "losses") == pytest.approx(0.0)


def test_flows_of_a_feeder_close_the_balances_of_its_buses() -> None:
    site = Site("2025-07-01T00:00", ["1 h", "15 min", "2 h"], 3)
    site.add("grid", "grid", bus="sub", import_power_max=500, export_power_max=500)
    line = {"resistance": 0.01, "reactance": 0.01, "ampacity": 400}
    lines = {
        "one": {"from": "sub", "to": "mid", **line},
        "two": {"from": "mid", "to": "end", **line},
    }
    buses = dict.fromkeys(("sub", "mid", "end"), 0.4)
    joined = {"source": "sub", "buses": buses, "lines": lines}
    site.add("net", "feeder", options={"scheme": "linear"}, connections=joined)
    site.add("load", "load", bus="mid", power=[3.0, 8.0, 9.0])
    site.add("roof", "generator_profile", bus="end", available_power=[0.0, 20.0, 3.0])
    site.minimise_cost({"grid": 0.3}, {"grid": 0.1})
    found = site.solve(progress=False).figures
    into = {"import": 1.0, "generation": 1.0, "export": -1.0, "consumption": -1.0, "flow": 1.0}
    for bus in buses:
        here = [figure for figure in found.physical if figure.bus == bus]
        assert {"flow"} <= {figure.name for figure in here}
        total = sum(into[figure.name] * (figure.value or 0.0) for figure in here)
        assert total == pytest.approx(0.0, abs=1e-6)
    assert [figure.component for figure in found.named("import")] == ["grid"]
    assert not found.named("self_sufficiency")  # what the feeder brings cannot be told apart


def test_units_over_labels_are_summed_and_scenarios_have_no_energy() -> None:
    plain: dict[str, Any] = {"connections": {"bus": "x"}, "index": "T", "parameters": {}}
    parts = [
        {"name": "grid", "model": "grid", **plain},
        {"name": "load", "model": "load", **plain, "parameters": {"power": 4}},
        {
            "name": "set",
            "model": "generator_profile",
            **plain,
            "parameters": {"available_power": 2},
            "index": ["k in K", "t in T"],
        },
    ]
    sets = [
        {"name": "T", "kind": "time", "start": "00:00", "step": "30 min", "periods": 2},
        {"name": "K", "kind": "labels", "elements": ["a", "b"]},
        {"name": "S", "kind": "scenario", "elements": ["u", "v"]},
    ]
    core = document(sets=sets, components=parts)
    flows = {"grid.import": [2.0, 1.0], "grid.export": [0.0, 0.0], "load.power": [4.0, 4.0]}
    found = planned(Blueprint.from_dict(core), **flows, **{"set.power": [[1.0, 1.0], [1.0, 2.0]]})
    assert one(found, "generation") == pytest.approx(2.5)

    for part in parts[:2]:
        part["index"] = ["s in S", "t in T"]
    both = {name: [values, values] for name, values in flows.items()}
    found = planned(Blueprint.from_dict(core), **both, **{"set.power": [[1.0, 1.0], [1.0, 2.0]]})
    assert not found.physical


def test_json_console_and_report_of_a_run_show_them(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(home().blueprint().to_json(), encoding="utf-8")
    ran = invoke("solve", tmp_path / "plan.json", "--out", tmp_path / "run", "--json")
    assert ran.exit_code == 0, ran.stderr
    found = answer(ran)["figures"]
    names = [figure["name"] for figure in found]
    assert names[0] == "objective"
    assert found[0]["value"] == pytest.approx(answer(ran)["objective"]["value"])
    assert {"import", "export", "self_consumption", "full_cycles"} <= set(names)
    assert "  figures    export " in ran.stderr
    checked = invoke("check", tmp_path / "run", "--json")
    assert answer(checked)["figures"] == found
    page = render_report(tmp_path / "run")
    assert page.index("Key figures") < page.index("<svg")
    exported = next(figure["value"] for figure in found if figure["name"] == "export")
    assert f"<dt>Export</dt><dd>{exported:g}\u00a0kWh <small>grid, bus home</small>" in page
