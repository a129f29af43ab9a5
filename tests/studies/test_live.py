"""A number changed in place is the number written down: the same program, or the same refusal."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from engiagent.blueprint import Blueprint
from engiagent.blueprint.elements import ParameterDef, SetDef, freeze
from engiagent.control import RecedingHorizon
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.components import MODELS
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.plant.site import Site
from engiagent.solvers.solving import solve
from engiagent.study.live import Live, Setting, Variation
from tests.formulations.components.test_catalogue import FULL, site_with
from tests.formulations.parametric.test_follow import assert_equal

HERE = Setting(isolate=False)
BESIDE: list[tuple[str, dict[str, Any]]] = YAML(typ="safe").load(
    Path(__file__).with_name("beside.yaml").read_text("utf-8")
)
ONE_OF = (1, 2, 5, 20, 0.5, 3, 0.1, 60)
ROWS = ((1,), (0.2, 1), (0.1, 0.2, 0.3), (1, 0.1, 0.1, 0.1, 0.1, 0.1), (1, *[0.1] * 9))


def values_for(model: str, slot: str, given: Any) -> Iterator[Any]:
    """Yield what may stand in a slot: what does already, or else something in its range."""
    known = MODELS[model].slots[slot]
    if given is not None:
        yield given
    elif known.table:
        yield from (f"({', '.join(map(str, row))})" for row in ROWS)
    else:
        yield from (x for x in (known.number, *ONE_OF) if x is not None and known.allows(x))


def plant(model: str, slots: dict[str, Any], series: str | None) -> Blueprint:
    """Return a plant of one component whose tables, and a series, are parameters."""
    blueprint = site_with(model, {k: v for k, v in slots.items() if v is not None}, 6).blueprint()
    unit = next(c for c in blueprint.core.components if c.name == "unit")
    sets, parameters, filled = list(blueprint.core.sets), list(blueprint.core.parameters), {}
    for slot, value in unit.parameters.items():
        filled[slot] = value
        if MODELS[model].slots[slot].table and str(value).startswith("("):
            row = tuple(float(x) for x in str(value).strip("()").split(",") if x.strip())
            over = f"K{len(row)}"
            if over not in [s.name for s in sets]:
                sets.append(SetDef(name=over, kind="range", start=0, stop=len(row) - 1))
        elif slot == series and isinstance(value, int | float):
            row, over = (*[float(value)] * 5, float(value) * 0.9), "T"
        else:
            continue
        filled[slot] = f"of_{slot}"
        own = MODELS[model].slots[slot].unit
        parameters.append(ParameterDef(name=filled[slot], index=(over,), value=row, unit=own))
    changed = replace(unit, parameters=freeze(filled))
    components = tuple(changed if c is unit else c for c in blueprint.core.components)
    return blueprint.with_core(
        sets=tuple(sets), parameters=tuple(parameters), components=components
    )


def cases(model: str) -> Iterator[tuple[str, bool]]:
    for slot, known in MODELS[model].slots.items():
        if slot != "curtailable":  # yes or no
            yield slot, False
            if known.series:
                yield slot, True


def live_at(model: str, slot: str, series: bool) -> Live:
    """Return the first plant with something in a slot that can be built."""
    required = {
        k: v
        for k, v in FULL[model].items()
        if getattr(MODELS[model].slots.get(k), "required", True)
    }
    bases = [
        FULL[model],
        required,
        *({**FULL[model], **more} for name, more in BESIDE if name == model),
    ]
    said: list[str] = []
    for base in bases:
        for value in values_for(model, slot, base.get(slot)):
            try:
                blueprint = plant(model, {**base, slot: value}, slot if series else None)
                owner = next(c for c in blueprint.core.components if c.name == "unit")
                name = f"unit.{slot}" if owner.parameters[slot] != f"of_{slot}" else f"of_{slot}"
                return Live(blueprint, [name], HERE)
            except EngiagentError as error:
                said.append(str(error))
    raise AssertionError(f"no {model} with {slot} could be built: {said[-12:]}")


def program_or_refusal(find: Any) -> Program | None:
    try:
        program: Program = find()
    except EngiagentError:
        return None
    return program


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_slot_moved_in_place_is_the_blueprint_with_the_number_in_it(model: str) -> None:
    for slot, series in cases(model):
        live = live_at(model, slot, series)
        [(name, base)] = live.numbers.items()
        for new in (base * 0.6, base * 1.7, base + 1, base * 0 + 1, base):
            moved = program_or_refusal(partial(live.program_at, {name: new}))
            written = program_or_refusal(partial(compile_blueprint, live.at({name: new})))
            assert (moved is None) == (written is None), f"{slot}: refused on one way only"
            if moved is not None and written is not None:
                try:
                    assert_equal(moved, written)
                except AssertionError as error:
                    raise AssertionError(f"{slot} at {new}: {error}") from None


@pytest.mark.parametrize("slot", ["capacitance", "resistance"])
def test_zones_that_border_on_each_other_are_written_out_anew(slot: str) -> None:
    site = Site(start="2025-01-01T00:00", step="1 h", periods=4)
    zone: dict[str, Any] = {"capacitance": 2, "resistance": 5, "ambient_temperature": 5}
    site.add("hall", "thermal_zone", initial_temperature=20, **zone)
    site.add("room", "thermal_zone", initial_temperature=18, neighbours={"hall": 5}, **zone)
    live = Live(site.blueprint(), [f"room.{slot}"], HERE)
    for value in (3.0, 1.0):
        new = {f"room.{slot}": np.array(value)}
        assert_equal(live.program_at(new), compile_blueprint(live.at(new)))


def car(**slots: Any) -> Blueprint:
    """Return a car that is charged at a price of 1, 2, 3 and 4 EUR/kWh."""
    site = Site(start="2025-01-01T00:00", step="1 h", periods=4)
    site.add("grid", "grid", bus="power", import_price=[1, 2, 3, 4])
    given: dict[str, Any] = {"energy_capacity": 40, "charge_power_max": 10}
    given |= {"arrival": 0, "departure": 4}
    given |= {"arrival_energy": "E_now", "required_energy": 30, "bus": "power"}
    site.add("car", "ev", **{**given, **slots})
    site.minimise("sum(grid.import[t]*grid.import_price[t]*dt(t) for t in T)", "EUR")
    now = ParameterDef(name="E_now", value=10.0, unit="kWh")
    blueprint = site.blueprint()
    return blueprint.with_core(parameters=(*blueprint.core.parameters, now))


@pytest.mark.parametrize(
    ("name", "value", "cost"),
    [
        ("car.arrival_energy", 5, 10 * 1 + 10 * 2 + 5 * 3),
        ("car.arrival_energy", 25, 5 * 1),
        ("car.required_energy", 15, 5 * 1),
        ("car.arrival", 1, 10 * 2 + 10 * 3),
        ("car.departure", 3, 10 * 1 + 10 * 2),
        ("car.charge_power_max", 20, 20 * 1),
    ],
)
def test_what_a_car_needs_is_charged_where_it_is_cheapest(
    name: str, value: float, cost: float
) -> None:
    live = Live(car(), [name], HERE)
    for at, expected in ((value, cost), (live.numbers[name], 30), (value, cost)):
        found = live.found({name: np.full(live.numbers[name].shape, float(at))})
        assert found["objective"] == pytest.approx(expected)
        assert found["status"] == "optimal"


def test_only_what_is_read_while_components_are_written_out_is_compiled_anew() -> None:
    def in_place(*names: str) -> bool:
        return Live(car(), names, HERE).is_warm

    assert in_place("car.energy_capacity") is False  # a vehicle is checked against its sessions
    assert in_place("E_now") is False
    assert in_place("grid_import_price_given")
    read: set[str] = set()
    written = expand(car(), read)
    assert written == expand(car())
    assert {type(p) for p in written.core.parameters} == {ParameterDef}
    assert "grid_import_price_given" not in read


def test_a_number_out_of_the_range_of_its_slot_is_refused_in_place_too() -> None:
    site = Site(start="2025-01-01T00:00", step="1 h", periods=4)
    site.add("unit", "battery", energy_capacity=5, initial_energy=2, charge_efficiency=0.9)
    live = Live(site.blueprint(), ["unit.charge_efficiency"], HERE)
    assert live.is_warm
    found = live.found({"unit.charge_efficiency": np.array(1.2)})
    assert found["status"] == "error"
    assert "charge_efficiency is 1.2; expected above 0, at most 1" in found["reason"]


def test_what_was_written_out_with_a_number_does_not_take_another() -> None:
    written = expand(car())
    with pytest.raises(InputError, match=r"with the number of car\.arrival_energy"):
        Live(written, ["car.arrival_energy"], HERE)
    price = "grid_import_price_given"
    live = Live(written, [price], HERE)
    assert live.found({price: live.numbers[price] * 2})["objective"] == pytest.approx(60)


def test_a_loop_plans_with_the_energy_that_a_car_has_now() -> None:
    blueprint = car()
    given = {"grid_import_price_given": [1.0, 2, 3, 4]}
    fixed = [p.name for p in expand(blueprint).core.parameters if p.name not in given]
    states = {"car.state_of_charge": "E_now"}
    runner = RecedingHorizon(blueprint, state=states, forecasts=given, fixed=fixed)
    for energy, cost in ((10.0, 30), (25.0, 5), (10.0, 30)):
        again = RecedingHorizon(blueprint, state=states, forecasts=given, fixed=fixed)
        assert again.step({"E_now": energy}).objective == pytest.approx(cost)
    assert runner.parametric.in_place is False


def test_numbers_in_units_by_label_stand_in_the_unit_of_the_first() -> None:
    core: dict[str, Any] = {
        "sets": [{"name": "K", "kind": "labels", "elements": ["a", "b"]}],
        "parameters": [
            {"name": "least", "index": ["K"], "value": [3, 2], "unit": {"a": "kW", "b": "MW"}}
        ],
        "decision_variables": [{"name": "x", "index": ["k in K"], "lower": 0, "unit": "kW"}],
        "constraints": [
            {"constraint_id": "R", "name": "r", "forall": ["k in K"], "hard": True}
            | {"expression": "x[k] >= least[k]", "category": "Physical Laws"}
        ],
        "objective_function": {
            "sense": "minimize",
            "expression": "sum(x[k] for k in K)",
            "unit": "kW",
        },
    }
    about = {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {"problem_essence": "least"},
    }
    live = Live(Blueprint.from_dict({**about, "core_model_elements": core}), ["least"], HERE)
    double = live.moved(Variation("least", (2.0,), factor=True), 2.0)
    assert live.found({"least": double})["objective"] == pytest.approx(2 * 2003)
    fresh = solve(compile_blueprint(live.at({"least": double})), isolate=False)
    assert fresh.objective == pytest.approx(2 * 2003)
