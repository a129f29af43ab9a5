"""Components as algebra: the equations of the smallest instance, and the physics they must obey."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.models.battery import Battery
from engiagent.models.thermal import ThermalNetwork, ThermalZone
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from tests import blueprints
from tests.written import mapping

Json = dict[str, Any]


def component(name: str, model: str, parameters: Json, **more: Any) -> Json:
    return {"name": name, "model": model, "index": "T", "parameters": parameters, **more}


def blueprint(
    components: list[Json],
    parameters: list[Json] | None = None,
    objective: str = "0[EUR]",
    constraints: list[str] | None = None,
    step: Any = "1 h",
    periods: int = 3,
    sets: list[Json] | None = None,
) -> Blueprint:
    rows = [
        {"constraint_id": f"own{k}", "forall": ["t in T"], "expression": text}
        for k, text in enumerate(constraints or [])
    ]
    time = {"name": "T", "kind": "time", "start": "00:00", "step": step, "periods": periods}
    return blueprints.blueprint(
        sets=[time, *(sets or [])],
        parameters=parameters or [],
        decision_variables=[],
        components=components,
        objective_function={"sense": "minimize", "expression": objective, "unit": "EUR"},
        constraints=rows,
    )


def series(name: str, values: Any, unit: str) -> Json:
    return {"name": name, "index": ["T"], "value": list(map(float, values)), "unit": unit}


def solved(document: Blueprint) -> xr.Dataset:
    program = compile_blueprint(document, None)
    result = solve(program, isolate=False)
    assert result.status == "optimal", result.reason
    return to_dataset(program, result)


def algebra(document: Blueprint) -> list[str]:
    """Return what is new in the expanded blueprint, one line each."""
    core = expand(document).core
    lines = [f"{p.name} = {p.value}" for p in core.parameters[len(document.core.parameters) :]]
    lines += [
        f"{v.lower} <= {v.name}[{', '.join(v.index)}] <= {v.upper}" for v in core.decision_variables
    ]
    lines += [f"{e.name}: {e.expression}" for e in core.expressions]
    return lines + [f"{c.constraint_id}: {c.expression}" for c in core.constraints]


BATTERY = mapping("""
    {energy_capacity: "10[kWh]", charge_power_max: "4[kW]", discharge_power_max: "5[kW]",
      charge_efficiency: 0.9, discharge_efficiency: 0.8, initial_energy: 5}
""")
ZONE = mapping("""
    {capacitance: 2.0, resistance: 5.0, initial_temperature: 20, ambient_temperature: outdoor}
""")
OUTDOOR = series("outdoor", [0, 2, 4], "degC")


# --- the equations, word for word --------------------------------------------------------------


def test_algebra_of_a_battery() -> None:
    assert algebra(blueprint([component("b", "battery", BATTERY)])) == [
        "0 <= b_charge[t in T] <= 4[kW]",
        "0 <= b_discharge[t in T] <= 5[kW]",
        "0 <= b_state_of_charge[i in I] <= 10[kWh]",
        "b_dynamics: b_state_of_charge[t+1] == b_state_of_charge[t] + "
        "(b_charge[t]*0.9 - b_discharge[t]/0.8)*dt(t)",
        "b_initial: b_state_of_charge[first(I)] == 5[kWh]",
    ]


def test_algebra_of_a_zone_with_a_heat_pump() -> None:
    parts = [
        component("zone", "thermal_zone", ZONE),
        component(
            "pump", "heater", {"electric_power_max": 3, "cop": 3.5}, connections={"zone": "zone"}
        ),
    ]
    assert algebra(blueprint(parts, [OUTDOOR])) == [
        "zone_coldest = min(20[degC], min(outdoor[t] for t in T)) - 1[K]",
        "zone_warmest = max(20[degC], max(outdoor[t] + 5.0[K/kW]*(3.5*3[kW]) for t in T)) + 1[K]",
        "zone_decay = exp(-dt(t)/(5.0[K/kW]*2.0[kWh/K]))",
        "zone_coldest <= zone_temperature[i in I] <= zone_warmest",
        "0 <= pump_electric_power[t in T] <= 3[kW]",
        "zone_heating: pump_heat[t]",
        "pump_heat: 3.5*pump_electric_power[t]",
        "zone_initial: zone_temperature[first(I)] == 20[degC]",
        "zone_dynamics: zone_temperature[t+1] - outdoor[t] == "
        "zone_decay[t]*(zone_temperature[t] - outdoor[t]) "
        "+ 5.0[K/kW]*(1 - zone_decay[t])*(zone_heating[t])",
    ]


def test_algebra_of_a_site() -> None:
    parts = [
        component("g", "grid", {"import_power_max": "P"}, connections={"bus": "site"}),
        component("l", "load", {"power": "demand"}, connections={"bus": "site"}),
        component(
            "p", "generator_profile", {"available_power": "sun"}, connections={"bus": "site"}
        ),
    ]
    numbers = [
        {"name": "P", "value": 1, "unit": "MW"},
        series("demand", [1, 2, 3], "kW"),
        series("sun", [0, 1, 0], "kW"),
    ]
    assert algebra(blueprint(parts, numbers)) == [
        "0 <= g_import[t in T] <= P",
        "0 <= g_export[t in T] <= max(sun[t] + P - demand[t], 0[kW])",
        "0 <= p_power[t in T] <= sun[t]",
        "l_power: demand[t]",
        "p_curtailed: sun[t] - p_power[t]",
        "balance_site: g_import[t] + p_power[t] == g_export[t] + l_power[t]",
    ]


# --- expanding ---------------------------------------------------------------------------------


def site(**options: Any) -> Blueprint:
    bus = {"connections": {"bus": "site"}}
    return blueprint(
        [
            component("grid", "grid", {"import_power_max": 20, "export_power_max": 8}, **bus),
            component("house", "load", {"power": "demand"}, **bus),
            component("pv", "generator_profile", {"available_power": "sun"}, **bus),
            component("battery", "battery", BATTERY, **bus, **options),
            component("zone", "thermal_zone", {**ZONE, "gains": "0.5*sun[t]"}),
            component(
                "heater",
                "heater",
                {"electric_power_max": 6, "cop": 3},
                connections={"bus": "site", "zone": "zone"},
            ),
            component(
                "cooler",
                "cooler",
                {"electric_power_max": 2, "cop": 3},
                connections={"bus": "site", "zone": "zone"},
            ),
        ],
        [
            OUTDOOR,
            series("demand", [1, 2, 3], "kW"),
            series("sun", [0, 6, 1], "kW"),
            series("price", [0.3, 0.1, 0.4], "EUR/kWh"),
        ],
        "sum((price[t]*grid_import[t] - 0.05[EUR/kWh]*grid_export[t])*dt(t) for t in T)",
        ["19[degC] <= zone_temperature[t+1] <= 22[degC]"],
    )


def test_expanding_is_idempotent_and_leaves_its_input_alone() -> None:
    before = site()
    text = before.to_json()
    once = expand(before)
    assert before.to_json() == text
    assert expand(once) is once
    assert all(c.expanded for c in once.core.components)
    assert Blueprint.from_json(once.to_json()) == once


def test_expanding_uses_the_instants_that_are_there() -> None:
    document = blueprint(
        [component("b", "battery", BATTERY)],
        sets=[{"name": "Edges", "kind": "instants", "of": "T"}],
    )
    core = expand(document).core
    assert [s.name for s in core.sets] == ["T", "Edges"]
    assert core.decision_variables[2].index == ("i in Edges",)


def test_an_expanded_site_has_no_finding_and_finite_bounds() -> None:
    document = expand(site(options={"exclusive_on": "T"}))
    assert not [d for d in analyse(document, None).diagnostics if d.severity == "error"]
    for variable in document.core.decision_variables:
        assert variable.lower is not None
        assert variable.upper is not None


# --- physics: what the optimiser believes is what the simulator does ------------------------------

efficiencies = st.floats(0.5, 1.0)
steps = st.sampled_from(["1 h", "15 min", ["30 min", "2 h", "45 min"]])


def hours(step: Any) -> list[float]:
    known = {"1 h": 1.0, "15 min": 0.25, "30 min": 0.5, "2 h": 2.0, "45 min": 0.75}
    return [known[s] for s in (step if isinstance(step, list) else [step] * 3)]


@settings(max_examples=25, deadline=None)
@given(
    efficiencies,
    efficiencies,
    st.sampled_from([None, 0.0, 0.01, 0.3]),
    st.sampled_from(["exact", "euler"]),
    steps,
    st.lists(st.floats(-1, 1), min_size=6, max_size=6),
)
def test_battery_states_are_those_of_the_simulation(
    into: float, out: float, loss: float | None, scheme: str, step: Any, weights: list[float]
) -> None:
    parameters = {**BATTERY, "charge_efficiency": into, "discharge_efficiency": out}
    if loss is not None:
        parameters["self_discharge"] = "loss"
    document = blueprint(
        [component("b", "battery", parameters, options={"scheme": scheme})],
        [
            series("u", weights[:3], "EUR/kW"),
            series("v", weights[3:], "EUR/kW"),
            {"name": "loss", "value": loss or 0.0, "unit": "1/h"},
        ],
        "sum(u[t]*b_charge[t] + v[t]*b_discharge[t] for t in T)",
        step=step,
    )
    data = solved(document)
    unit = Battery(
        energy_capacity=10.0,
        charge_efficiency=into,
        discharge_efficiency=out,
        self_discharge=loss or 0.0,
        initial_energy=5.0,
    )
    states = unit.simulate(
        data.b_charge.values,
        data.b_discharge.values,
        hours(step),
        scheme=scheme,  # type: ignore[arg-type]
    )
    np.testing.assert_allclose(data.b_state_of_charge, states, atol=1e-7)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["exact", "euler", "implicit"]),
    steps,
    st.booleans(),
    st.lists(st.floats(0.2, 5), min_size=5, max_size=5),
    st.lists(st.floats(0, 10), min_size=6, max_size=6),
    st.sampled_from([-4.0, 0.0, 3.0]),
)
def test_zone_temperatures_are_those_of_the_simulation(
    scheme: str, step: Any, coupled: bool, numbers: list[float], heat: list[float], gains: float
) -> None:
    first, second, r1, r2, wall = numbers
    first, second, r1, r2, wall = 4 * first + 3, 4 * second + 3, r1 + 0.5, r2 + 0.5, wall + 1
    neighbours = {"connections": {"neighbours": {"b": f"{wall}[K/kW]"}}} if coupled else {}
    zone = {**ZONE, "gains": gains, "heating_power_max": 10}
    document = blueprint(
        [
            component(
                "a",
                "thermal_zone",
                {**zone, "capacitance": first, "resistance": r1},
                options={"scheme": scheme},
                **neighbours,
            ),
            component(
                "b",
                "thermal_zone",
                {**zone, "capacitance": second, "resistance": r2},
                options={"scheme": scheme},
            ),
        ],
        [OUTDOOR, series("qa", heat[:3], "kW"), series("qb", heat[3:], "kW")],
        constraints=["a_heating[t] == qa[t]", "b_heating[t] == qb[t]"],
        step=step,
    )
    data = solved(document)
    network = ThermalNetwork(
        (
            ThermalZone(
                name="a",
                capacitance=first,
                resistance=r1,
                neighbours={"b": wall} if coupled else {},
            ),
            ThermalZone(name="b", capacitance=second, resistance=r2),
        )
    )
    expected = network.simulate(
        [0.0, 2.0, 4.0],
        hours(step),
        np.column_stack([heat[:3], heat[3:]]) + gains,
        initial=[20.0, 20.0],
        scheme=scheme,  # type: ignore[arg-type]
    )
    np.testing.assert_allclose(data.a_temperature, expected[:, 0], atol=1e-6)
    np.testing.assert_allclose(data.b_temperature, expected[:, 1], atol=1e-6)


def test_an_outdoor_temperature_of_its_own_acts_like_the_heat_it_brings() -> None:
    walls = {"neighbours": {"b": 3}}
    other = {**ZONE, "ambient_temperature": "warm"}
    warm = series("warm", [5, 7, 9], "degC")
    same = {**ZONE, "gains": "(warm[t] - outdoor[t])/5[K/kW]"}
    runs = [
        solved(
            blueprint(
                [
                    component(
                        "a", "thermal_zone", {**ZONE, "heating_power_max": 0}, connections=walls
                    ),
                    component("b", "thermal_zone", second),
                ],
                [OUTDOOR, warm],
            )
        )
        for second in (other, same)
    ]
    np.testing.assert_allclose(runs[0].a_temperature, runs[1].a_temperature, atol=1e-9)
    np.testing.assert_allclose(runs[0].b_temperature, runs[1].b_temperature, atol=1e-9)


def test_a_room_that_nothing_heats_gets_no_heat() -> None:
    parts = [
        component("heated", "thermal_zone", ZONE, connections={"neighbours": {"store": 4}}),
        component("store", "thermal_zone", ZONE),
        component("stove", "heater", {"electric_power_max": 9}, connections={"zone": "heated"}),
    ]
    core = expand(blueprint(parts, [OUTDOOR])).core
    names = {v.name for v in core.decision_variables} | {e.name for e in core.expressions}
    assert "heated_heating" in names
    assert "store_heating" not in names


def test_derived_numbers_keep_their_sources_through_json() -> None:
    def quoted(name: str, unit: str, *quotes: str) -> Json:
        spans = [{"kind": "text", "span": [0, len(q)], "quote": q} for q in quotes]
        source = spans[0] if len(spans) == 1 else spans
        return {"name": name, "value": 4, "unit": unit, "source_reference": source}

    zone = {**ZONE, "capacitance": "C", "resistance": "R"}
    for walls in ({}, {"neighbours": {"b": 4}}):
        document = blueprint(
            [
                component("a", "thermal_zone", zone, connections=walls),
                component("b", "thermal_zone", {**ZONE, "resistance": "R"}),
            ],
            [OUTDOOR, quoted("C", "kWh/K", "4 kWh/K"), quoted("R", "K/kW", "4 K", "per kW")],
        )
        expanded = expand(document)
        assert Blueprint.from_json(expanded.to_json()) == expanded
        derived = [p for p in expanded.core.parameters if p.name.startswith("a_")]
        assert derived
        assert all("4 K" in str(p.source_reference) for p in derived)


def test_missing_numbers_of_coupled_rooms_stay_missing() -> None:
    parts = [
        component(
            "a", "thermal_zone", {**ZONE, "capacitance": "C"}, connections={"neighbours": {"b": 4}}
        ),
        component("b", "thermal_zone", ZONE),
    ]
    numbers = [OUTDOOR, {"name": "C", "status": "missing", "unit": "kWh/K"}]
    parameters = {p.name: p.status for p in expand(blueprint(parts, numbers)).core.parameters}
    assert parameters["a_from_b"] == parameters["b_heat_a"] == "missing"


# --- one direction at a time ---------------------------------------------------------------------

BURN = "sum(pay[t]*(b_charge[t] - b_discharge[t])*dt(t) for t in T)"
PAY = series("pay", [-1, -1, -1], "EUR/kWh")


def test_exclusive_directions_exclude_each_other_only_where_asked() -> None:
    some = {"name": "Some", "kind": "subset", "of": "T", "where": "pos(t) >= 1"}
    part = component("b", "battery", BATTERY, options={"exclusive_on": "Some"})
    data = solved(blueprint([part], [PAY], BURN, sets=[some]))
    both = np.minimum(data.b_charge.values, data.b_discharge.values)
    np.testing.assert_allclose(both[1:], 0.0, atol=1e-9)
    assert both[0] > 0.5  # burning energy at a negative price pays, and nothing forbids it here


def test_exclusive_grid_cannot_trade_in_a_circle() -> None:
    bus = {"connections": {"bus": "s"}}
    parts = [
        component("b", "battery", BATTERY, **bus),
        component("house", "load", {"power": 2}, **bus),
    ]
    objective = "sum(-1[EUR/kWh]*g_export[t]*dt(t) + 0.5[EUR/kWh]*g_import[t]*dt(t) for t in T)"
    grid = component("g", "grid", {}, **bus, options={"exclusive_on": "T"})
    data = solved(blueprint([grid, *parts], [], objective))
    np.testing.assert_allclose(
        np.minimum(data.g_import.values, data.g_export.values), 0.0, atol=1e-9
    )


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.floats(-3, 6), min_size=3, max_size=3),
    st.lists(st.floats(-1, 8), min_size=3, max_size=3),
    st.lists(st.floats(-1, 1), min_size=3, max_size=3),
    st.booleans(),
)
def test_an_implied_grid_limit_never_cuts_anything_off(
    demand: list[float], sun: list[float], price: list[float], curtailable: bool
) -> None:
    bus = {"connections": {"bus": "s"}}
    sun = [max(value, 0.0) for value in sun] if curtailable else sun
    objectives = []
    for limits in ({"export_power_max": 9}, {"export_power_max": 9, "import_power_max": 1000}):
        document = blueprint(
            [
                component("g", "grid", limits, **bus),
                component("b", "battery", BATTERY, **bus),
                component("house", "load", {"power": "demand"}, **bus),
                component(
                    "pv",
                    "generator_profile",
                    {"available_power": "sun"},
                    **bus,
                    options={"curtailable": curtailable},
                ),
            ],
            [
                series("demand", demand, "kW"),
                series("sun", sun, "kW"),
                series("p", price, "EUR/kWh"),
            ],
            "sum(p[t]*(g_import[t] - 0.9*g_export[t])*dt(t) for t in T)",
        )
        program = compile_blueprint(document, None)
        result = solve(program, isolate=False)
        objectives.append((result.status, result.objective))
    assert objectives[0][0] == objectives[1][0]
    if objectives[0][0] == "optimal":
        assert objectives[0][1] == pytest.approx(objectives[1][1], abs=1e-7)


def test_a_surplus_that_nobody_can_take_is_infeasible_by_its_balance() -> None:
    bus = {"connections": {"bus": "s"}}
    document = blueprint(
        [
            component("g", "grid", {"export_power_max": 1}, **bus),
            component(
                "pv",
                "generator_profile",
                {"available_power": 5},
                **bus,
                options={"curtailable": False},
            ),
        ]
    )
    result = solve(compile_blueprint(document, None), isolate=False)
    assert result.status == "infeasible"
    assert result.farkas is not None


# --- what can be wrong ---------------------------------------------------------------------------


REFUSED = YAML(typ="safe").load(
    Path(__file__).with_name("refused_components.yaml").read_text("utf-8")
)


@pytest.mark.parametrize(
    ("parts", "message"),
    [case[1:] for case in REFUSED["cases"]],
    ids=[case[0] for case in REFUSED["cases"]],
)
def test_a_component_that_cannot_be_expanded_says_why(parts: list[Any], message: str) -> None:
    taken = {"name": "outdoor_power", "value": 1, "unit": "kW"}
    components = [
        component(name, model, slots) | dict(*more) for name, model, slots, *more in parts
    ]
    with pytest.raises(EngiagentError) as caught:
        expand(blueprint(components, [OUTDOOR, taken]))
    assert message in str(caught.value)
