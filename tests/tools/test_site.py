"""Tools of sites: the case of a paper by two routes, every tool, wrong arguments, undo, plans."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from engiagent.environment.controllers import by_rules, joined, ruled
from engiagent.environment.environment import Environment
from engiagent.tools import Session, Tool, tools
from engiagent.tools.registry import groups
from tests.cli.asking import answer, invoke

SITE = "cluster building hvac der controller disturbance environment"
ELEVEN = ["config", *SITE.split(), "simulation", "analysis", "comparison"]
NAMES = [name for group in ELEVEN for name in groups()[group]]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def done(session: Session, tool: str, **arguments: Any) -> dict[str, Any]:
    seen = session.call(tool, arguments)
    assert seen.status == "done", (tool, seen.content)
    Draft202012Validator(tools()[tool].returns).validate(seen.content)
    for path in seen.artefacts:
        assert (session.root / path).is_file()
    return dict(seen.content)


def small(session: Session) -> None:
    """Make the reference test building over six hours."""
    done(session, "config_create", name="ref")
    done(session, "environment_update", days=0.25, step=30)


# -- the case of the paper ------------------------------------------------------------------------


def told(folder: Path, *words: str) -> dict[str, Any]:
    """Call a tool from the command line, in a session on disk, as another process would."""
    result = invoke("tool", *words, "--session", folder, "--json")
    assert result.exit_code == 0, result.stderr
    return dict(answer(result)["answer"])


def by_hand(folder: Path, cop: float, battery: float, shift: dict[str, str]) -> Environment:
    """Return the reference test building from a plant file that this test writes."""
    hours = np.arange(288) / 4.0 % 24.0 + 0.125
    outside = 27.0 + 6.0 * np.cos(2.0 * np.pi * (hours - 15.0) / 24.0)
    sun = 850.0 * np.maximum(0.0, np.sin(np.pi * (hours - 5.0) / 16.0)) * (abs(hours - 13.0) < 8.0)
    price = np.where((hours > 16.0) & (hours < 21.0), 0.4, 0.2)
    people = np.where((hours > 8.0) & (hours < 18.0), 2.0, 0.0)
    rows = zip(outside, sun, price, people, strict=True)
    folder.mkdir()
    table = "out [degC],sun [W/m2],price [EUR/kWh],people [kW]\n"
    table += "".join(",".join(f"{value:.12g}" for value in row) + "\n" for row in rows)
    (folder / "day.csv").write_text(table)
    (folder / "plant.yaml").write_text(
        f"""
title: by hand
horizon: {{start: 2026-07-06T00:00, step: 15 min, periods: 288}}
components:
  grid: {{model: grid, import_price: day.csv#price, export_price: 0.08 EUR/kWh}}
  room: {{model: thermal_zone, capacitance: 4 kWh/K, resistance: 1.5 K/kW,
          initial_temperature: 23 degC, ambient_temperature: day.csv#out, gains: day.csv#people}}
  appliances: {{model: load, power: 1 kW}}
  cooling: {{model: cooler, zone: room, electric_power_max: 3 kW, cop: {cop}}}
  pv: {{model: pv, dc_capacity: 5 kW, irradiance: day.csv#sun, air_temperature: day.csv#out}}
  battery: {{model: battery, energy_capacity: {battery} kWh, initial_energy: 5 kWh,
            charge_power_max: 5 kW, discharge_power_max: 5 kW,
            charge_efficiency: 0.95, discharge_efficiency: 0.95}}
goal: {{minimize: cost}}
"""
    )
    return Environment.load(folder / "plant.yaml")


def test_the_case_of_the_paper_by_tools_equals_a_script_on_the_environment(tmp_path: Path) -> None:
    work = tmp_path / "work"
    told(work, "config_create", "name=ref")
    told(work, "simulation_run", "name=baseline")
    told(work, "hvac_update", "id=cooling", "cop=4.5")
    told(work, "der_update", "id=battery", "energy_capacity=20 kWh")
    told(work, "simulation_run", "name=upgrade")
    told(
        work,
        "controller_update",
        "id=comfort",
        "precooling=2 K",
        "precooling_start=14",
        "precooling_hours=120 min",
    )
    told(work, "simulation_run", "name=precooled")
    found = told(work, "comparison_comprehensive", "results=baseline,upgrade,precooled")
    figures = {(f["name"], f["component"]): f for f in found["figures"]}
    cases: dict[str, tuple[float, float, dict[str, str]]] = {
        "baseline": (3.2, 10.0, {}),
        "upgrade": (4.5, 20.0, {}),
        "precooled": (4.5, 20.0, {"00:00": "0 K", "14:00": "-2 K", "16:00": "0 K"}),
    }
    assert found["results"] == list(cases)
    records = []
    for name, (cop, battery, shift) in cases.items():
        site = by_hand(tmp_path / name, cop, battery, shift)
        rule: dict[str, Any] = {
            "thermostat": "zone.room.temperature",
            "between": ["23.5 degC", "24.5 degC"],
            **{"on": 3.0, "cooling": "yes", **({"shift": shift} if shift else {})},
        }
        rules = by_rules({"cooling.electric_power": rule}, site.signals)
        records.append(site.run(joined(ruled("self-consumption", site), rules)))
    drawn = [float(r["grid.import"].sum()) / 4.0 for r in records]
    cost = [
        float((r["grid.import"] * r["grid.import_price"]).sum() - 0.08 * r["grid.export"].sum()) / 4
        for r in records
    ]
    assert figures["import", "campus"]["values"] == pytest.approx(drawn, abs=1e-6)
    assert figures["energy_cost", "campus"]["values"] == pytest.approx(cost, abs=1e-6)
    assert figures["energy_cost", "campus"]["percent"][1] == pytest.approx(
        100.0 * (cost[1] / cost[0] - 1.0)
    )
    used = [float(r["cooling.electric_power"].sum()) / 4.0 for r in records]
    assert figures["consumption", "cooling"]["values"] == pytest.approx(used, abs=1e-6)
    assert used[1] < used[0]
    in_window = np.tile((np.arange(96) >= 64) & (np.arange(96) < 84), 3)
    net = [(r["grid.import"] - r["grid.export"]).values[in_window] for r in records]
    shed = {f["scenario"]: f["shed_kwh"] for f in found["flexibility"]}
    assert shed["precooled"] == pytest.approx(float((net[0] - net[2]).sum()) / 4.0, abs=1e-6)
    changed = {c["path"] for c in told(work, "config_diff")["changes"]}
    assert {"components.cooling.cop", "components.battery.energy_capacity"} < changed


# -- every tool -----------------------------------------------------------------------------------


def calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Read calls of tools: one a line, its name and its arguments in YAML."""
    rows = (row.partition(" ") for row in text.strip().splitlines())
    return [
        (name, YAML(typ="safe", pure=True).load(arguments or "{}")) for name, _, arguments in rows
    ]


EVERY = calls("""
config_create {name: plain, template: empty, title: A street}
cluster_add {id: street, import_power_max: 40}
cluster_add {id: spare}
cluster_update {id: street, export_power_max: 20}
cluster_select {id: street}
cluster_query
cluster_remove {id: spare}
building_add {id: home}
building_add {id: shop, cluster: street}
building_update {id: shop, title: Shop}
building_select {id: home}
building_query {id: home}
building_add_thermal_zone {id: flat, capacitance: 3, resistance: 4, initial_temperature: 21, \
    comfort_min: 19, comfort_max: 26}
building_add_thermal_zone {id: attic, capacitance: 1, initial_temperature: 20, \
    neighbours: [flat=3 K/kW]}
building_update {id: home, zone: flat, others: [resistance=5 K/kW]}
building_add_electrical_zone {id: sockets, power: use.csv#kW}
building_add_water_zone {id: tank, heat_bus: heat, mass: 200, initial_temperature: 50, \
    use: 0.002, use_temperature: 40}
building_add_electrical_zone {id: wallbox, building: shop, power: 2}
building_remove_zone {id: wallbox}
building_remove {id: shop}
hvac_add {id: pump, kind: heat_pump, heat_bus: heat, rated_capacity: 6, cop: 3}
hvac_add {id: radiator, kind: emitter, heat_bus: heat, zone: flat, power_max: 5}
hvac_add {id: old, kind: heater, zone: flat}
hvac_update {id: pump, others: [standby_power=20 W]}
hvac_select {id: radiator}
hvac_query {kind: heat_pump}
hvac_assign_to_buildings {id: pump, buildings: [home]}
hvac_remove {id: old}
der_add {id: roof, kind: pv, dc_capacity: 4}
der_add {id: store, kind: battery, energy_capacity: 6, initial_energy: 3, charge_power_max: 3, \
    discharge_power_max: 3}
der_add {id: mill, kind: generator_profile, available_power: 1}
der_update {id: store, energy_capacity: 8}
der_select {id: store}
der_query
der_assign_to_buildings {id: roof, buildings: [home]}
der_remove {id: mill}
disturbance_add_weather {id: mild, temperature: 8, amplitude: 4, irradiance_max: 400}
disturbance_add_price {id: flat_rate, import_price: 0.3}
disturbance_add_occupancy {id: family, people: 3, heat_per_person: 80, present_from: 17, \
    present_until: 8}
disturbance_add_price {id: other, import_price: 0.2}
disturbance_update {id: mild, temperature: 9}
disturbance_query {id: mild}
disturbance_remove {id: other}
environment_add {id: winter, start: '2026-02-02', step: 30, weather: mild}
environment_add {id: spring, start: '2026-04-02'}
environment_update {id: winter, days: 0.5}
environment_select {id: winter}
environment_query
environment_remove {id: spring}
disturbance_select {id: flat_rate}
disturbance_select {id: family}
controller_add_hvac {id: warm, systems: [pump], heating_setpoint: 21}
controller_add_der {id: own, systems: [store]}
controller_add_der {id: clock, kind: schedule, systems: [store], charge_start: 1, charge_hours: 2}
controller_update {id: warm, setback: 3, setback_start: 22, setback_hours: 7}
controller_query
controller_remove {id: clock}
controller_assign_to_system {id: warm, systems: [radiator]}
config_validate
config_query {path: components.store}
simulation_run
config_create {name: ref}
config_set_active {name: plain}
config_list
config_save {folder: saved/plain}
config_load {path: saved/plain/configuration.yaml, name: again}
config_load {path: saved/plain/plant.yaml, name: plant}
config_set_active {name: again}
der_update {id: store, energy_capacity: 20}
config_diff
simulation_run {name: bigger, seed: 1}
simulation_get_status
simulation_list_results
simulation_query {signals: [store.state_of_charge]}
simulation_save {folder: kept, name: bigger}
analysis_comfort
analysis_energy
analysis_cost
analysis_comprehensive
analysis_peak
analysis_flexibility {windows: ['06:00..09:00']}
comparison_comfort {results: [run1, bigger]}
comparison_energy {results: [run1, bigger]}
comparison_cost {results: [run1, bigger]}
comparison_flexibility {results: [run1, bigger]}
comparison_comprehensive {results: [run1, bigger]}
comparison_peak {results: [run1, bigger]}
comparison_rank {results: [run1, bigger]}
config_undo
optimise_schedule
certify
simulation_remove {name: run1}
""")


def test_every_tool_works_and_answers_as_its_schema_has_it(session: Session) -> None:
    table = "time,kW\n" + "".join(f"2026-02-02T{h:02}:00,{0.2 + h % 5 / 10}\n" for h in range(12))
    (session.root / "use.csv").write_text(table.replace("kW", "kW [kW]"))
    assert {*NAMES, "optimise_schedule", "certify"} == {name for name, _ in EVERY}
    for name, arguments in EVERY:
        before = session.state
        done(session, name, **arguments)
        if tools()[name].access == "read":
            assert session.state is before
        made = session.graph.nodes[-1].writes
        assert set(made) <= set(tools()[name].writes)
    done(session, "config_set_active", name="plant")
    assert done(session, "config_validate")["valid"]


WRONG: dict[str, Any] = {
    "number": "warm",
    "integer": 1.5,
    "boolean": "perhaps",
    "string": 7,
    "array": "one",
    "object": 3,
}


def spoilt(schema: dict[str, Any]) -> list[Any]:
    """Return values that a schema does not allow: type, word, range."""
    kind = schema.get("anyOf", [schema])[0].get("type", "string")
    found = [WRONG[kind], None, {"a": 1} if kind != "object" else []]
    found += ["no such word"] if "enum" in schema else []
    limits = schema.get("anyOf", [schema])[0]
    found += [limits["minimum"] - 1.0] if "minimum" in limits else []
    found += [limits["maximum"] + 1.0] if "maximum" in limits else []
    return found + ([limits["exclusiveMinimum"]] if "exclusiveMinimum" in limits else [])


@pytest.mark.parametrize("group", ELEVEN)
def test_a_wrong_argument_is_refused_with_what_is_right_and_changes_nothing(
    session: Session, group: str
) -> None:
    small(session)
    state, graph = session.state, session.graph
    for tool in (tools()[name] for name in groups()[group]):
        unknown = session.call(tool.name, {"colour": "red"})
        assert unknown.status == "failed"
        for argument in tool.arguments:
            rest = {a.name: _fitting(a.schema) for a in tool.arguments if a.required}
            for value in spoilt(argument.schema):
                seen = session.call(tool.name, {**rest, argument.name: value})
                assert seen.status == "failed", (tool.name, argument.name, value)
                error = str(seen.content["error"])
                assert argument.name in error
                assert "expected" in error
                assert all(str(word) in error for word in argument.schema.get("enum", ()))
        if any(a.required for a in tool.arguments):
            assert session.call(tool.name, {}).status == "failed"
    assert session.state is state
    assert session.graph is graph


def _fitting(schema: dict[str, Any]) -> Any:
    kinds = {"number": 1.0, "array": ["a"], "boolean": True}
    if r"\d{4}" in schema.get("pattern", ""):
        return "2026-07-06"
    return schema["enum"][0] if "enum" in schema else kinds.get(schema["type"], "a")


QUANTITIES = [
    (tool, argument)
    for tool in (tools()[name] for name in NAMES)
    for argument in tool.arguments
    if argument.unit not in (None, "1") and not tool.name.startswith(("analysis", "comparison"))
]


@settings(max_examples=25)
@given(st.sampled_from(QUANTITIES))
def test_a_unit_of_another_dimension_is_refused_on_the_command_line(pair: tuple[Tool, Any]) -> None:
    tool, argument = pair
    result = invoke("tool", tool.name, f"{argument.name}=3 lm", "--json")
    assert result.exit_code == 2
    error = answer(result)["error"]
    assert argument.name in error
    assert f"[{argument.unit}]" in error


# What the refusal names, and the call.
REFUSED = """
cooling | hvac_update {id: chiller}
cop | hvac_update {id: cooling, dc_capacity: 3}
another id | hvac_add {id: room, kind: heater}
room | hvac_add {id: new, kind: cooler, zone: hall}
rated_cop | hvac_add {id: new, kind: chiller, zone: room, rated_capacity: 1}
initial_energy | der_add {id: new, kind: battery, energy_capacity: 3}
buildings | der_add {id: new, kind: pv, dc_capacity: 3, building: x}
a number | der_update {id: battery, others: [cycles_max=3 kW]}
charge_efficiency | der_update {id: battery, others: [charge_efficency=0.9]}
office | der_update {id: battery, buildings: [annex]}
cooling | building_remove {id: office}
office | cluster_remove {id: campus}
cooling | building_remove_zone {id: room}
two_rates | environment_update {price: hot_days}
no date | environment_update {start: '2026-02-30'}
temperature | disturbance_update {id: hot_days, people: 3}
high_price | disturbance_add_price {id: p, form: two_rates, import_price: 1}
own folder | disturbance_add_weather {id: w, form: file, file: ../w.epw}
cooler | controller_add_hvac {id: c, systems: [pv], cooling_setpoint: 3}
cooling_setpoint | controller_add_hvac {id: c, systems: [cooling]}
precooling_start | controller_update {id: comfort, precooling: 2}
beside ref | config_create {name: ref}
ref | config_set_active {name: other}
battery | config_query {path: components.battrey}
own folder | config_save {folder: ../out}
no such file | config_load {path: nothing.yaml, name: x}
components.a | config_load {path: odd.yaml, name: x}
summer | config_load {path: loose.yaml, name: x}
K/kW | building_add_thermal_zone {id: a, capacitance: 3, initial_temperature: 20, \
    neighbours: [room=2 kW]}
simulation_run | simulation_remove {name: x}
two or more | comparison_cost {results: [a]}
optimise_schedule | certify {name: x}
"""


@pytest.mark.parametrize("row", REFUSED.strip().splitlines())
def test_what_cannot_be_is_told_with_what_can(session: Session, row: str) -> None:
    named, _, call = row.partition(" | ")
    ((tool, arguments),) = calls(call)
    small(session)
    odd = "schema: engiagent-configuration/1\ncomponents: {a: {model: steam_engine}}\n"
    (session.root / "odd.yaml").write_text(odd)
    loose = "schema: engiagent-configuration/1\nselected: {environment: summer}\n"
    (session.root / "loose.yaml").write_text(loose)
    state, files = session.state, sorted(session.root.rglob("*"))
    seen = session.call(tool, arguments)
    assert seen.status == "failed"
    assert named in seen.content["error"]
    assert session.state is state
    assert sorted(session.root.rglob("*")) == files


# -- undo, staleness, plans -----------------------------------------------------------------------

WRITES = calls("""
hvac_update {id: cooling, cop: 4.5}
der_update {id: battery, energy_capacity: 20}
der_remove {id: pv}
controller_update {id: comfort, cooling_setpoint: 23}
controller_remove {id: comfort}
building_add {id: annex, cluster: campus}
environment_update {days: 1}
disturbance_update {id: hot_days, amplitude: 2}
cluster_update {id: campus, import_power_max: 9}
config_create {name: second, template: empty}
config_set_active {name: ref}
""")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(st.sampled_from(WRITES), min_size=1, max_size=8))
def test_undo_after_any_write_restores_the_site(
    session: Session, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    own = Session(session.root)
    done(own, "config_create", name="ref")
    past = []
    for name, arguments in calls:
        before = deepcopy(own.state.get("site").to_dict())
        if own.call(name, arguments).status == "done":
            past.append(before)
    for before in reversed(past):
        done(own, "config_undo")
        assert own.state.get("site").to_dict() == before


def test_a_named_result_is_never_stale_and_the_latest_is_blocked_once(session: Session) -> None:
    small(session)
    done(session, "simulation_run")
    cost = done(session, "analysis_cost")
    done(session, "hvac_update", cop=4.5)
    seen = session.call("analysis_cost")
    assert (seen.status, seen.content["first"]) == ("blocked", "simulation_run")
    assert done(session, "analysis_cost", name="run1") == cost
    assert done(session, "analysis_cost") == cost  # who insists is let through
    done(session, "simulation_run")
    assert done(session, "analysis_cost")["result"] == "run2"


def test_no_control_is_cheaper_than_the_plan_and_plans_in_a_loop_come_close(
    session: Session,
) -> None:
    small(session)
    done(session, "environment_update", days=0.5, step=60)
    rules = done(session, "simulation_run", name="rules")["cost"]["value"]
    plan = done(session, "optimise_schedule")
    assert plan["verdict"] == "certified"
    assert done(session, "certify")["objective"]["value"] == pytest.approx(
        plan["objective"]["value"]
    )
    done(session, "controller_add_der", id="best", kind="optimal", systems=["battery"])
    loop = done(session, "simulation_run", name="loop")
    assert loop["controllers"] == ["best"]
    assert plan["objective"]["value"] - 1e-6 <= loop["cost"]["value"] <= rules
    ranking = done(session, "comparison_rank", results=["rules", "loop"])["ranking"]
    assert [row["result"] for row in ranking] == ["loop", "rules"]


def test_a_plan_is_compared_with_a_simulation(session: Session) -> None:
    small(session)
    done(session, "simulation_run", name="rules")
    best = done(session, "optimise_schedule", name="best")["objective"]["value"]
    found = done(session, "comparison_cost", results=["rules", "best"])
    (cost,) = (f for f in found["figures"] if f["name"] == "energy_cost")
    assert cost["values"][1] == pytest.approx(best)
    assert cost["values"][1] <= cost["values"][0] + 1e-6
    ranking = done(session, "comparison_rank", results=["rules", "best"])["ranking"]
    assert {row["result"] for row in ranking} == {"rules", "best"}


def test_weather_and_prices_of_files_are_those_of_the_formula(session: Session) -> None:
    small(session)
    done(session, "simulation_run", name="formula")
    made = (session.root / "results/formula/series.csv").read_text()
    (session.root / "data.csv").write_text(made)
    done(
        session,
        "disturbance_add_weather",
        id="w",
        form="file",
        file="data.csv",
        temperature_column="weather_temperature",
        irradiance_column="weather_irradiance",
    )
    done(
        session,
        "disturbance_add_price",
        id="p",
        form="file",
        file="data.csv",
        column="import_price",
        export_price=0.08,
    )
    done(session, "environment_update", weather="w", price="p")
    done(session, "simulation_run", name="files")
    found = done(session, "comparison_comprehensive")
    assert all(
        d == pytest.approx(0.0, abs=1e-9) for f in found["figures"] for d in f["differences"]
    )


def test_the_plant_file_of_a_configuration_is_simulated_as_it_is(session: Session) -> None:
    small(session)
    cost = done(session, "simulation_run")["cost"]["value"]
    done(session, "config_save", folder="out")
    rules = ["--controller", "self-consumption", "--controller", session.root / "out/control.yaml"]
    to = session.root / "again"
    result = invoke("simulate", session.root / "out/plant.yaml", *rules, "--out", to, "--json")
    assert answer(result)["cost"]["value"] == pytest.approx(cost)
    done(session, "config_load", path="out/plant.yaml", name="loaded")
    plan = done(session, "optimise_schedule")["objective"]["value"]
    done(session, "config_set_active", name="ref")
    assert done(session, "optimise_schedule")["objective"]["value"] == pytest.approx(plan)


def test_a_cluster_of_plant_files_is_loaded_with_its_buildings(session: Session) -> None:
    small(session)
    done(session, "config_save", folder="street")
    (session.root / "street/all.yaml").write_text(
        "title: Street\nhorizon: {step: 30 min, start: 2026-07-06T00:00, periods: 12}\n"
        "buildings: {north: plant.yaml, south: plant.yaml}\n"
        "limit: {import: 9 kW, at: campus}\ngoal: {minimize: cost}\n"
    )
    one = done(session, "optimise_schedule")["objective"]["value"]
    made = done(session, "config_load", path="street/all.yaml", name="street")["contents"]
    assert (made["buildings"], len(made["components"])) == (["north", "south"], 10)
    done(session, "hvac_query", id="south_cooling")
    assert done(session, "optimise_schedule")["objective"]["value"] == pytest.approx(2.0 * one)
