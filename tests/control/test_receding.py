"""A closed loop is the plan when nothing disturbs it, and says what it gives up when it must."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import xarray

from engiagent.blueprint.document import Blueprint
from engiagent.control import ControlError, RecedingHorizon
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.models.battery import Battery
from engiagent.models.thermal import ThermalNetwork, ThermalZone
from engiagent.solvers.session import Session
from tests.blueprints import blueprint, constraint, parameter, variable

HOURS = 12
T, I = "t in T", "i in I"  # noqa: E741
PRICES = 60 + 40 * np.sin(np.arange(60) / 3.0)


def day(periods: int = HOURS) -> list[dict[str, Any]]:
    time = {"name": "T", "kind": "time", "start": "2025-07-01T00:00", "step": "1 h", "zone": "UTC"}
    return [time | {"periods": periods}, {"name": "I", "kind": "instants", "of": "T"}]


def goal(name: str, unit: str, expression: str) -> dict[str, str]:
    return {"name": name, "sense": "minimize", "unit": unit, "expression": expression}


def battery(**objective: str) -> Blueprint:
    """Return arbitrage with a battery of 100 kWh that must not fall below 10 kWh."""
    return blueprint(
        sets=day(),
        parameters=[
            parameter("price", PRICES[:HOURS].tolist(), "EUR/MWh", "T"),
            parameter("now", 50, "kWh"),
        ],
        decision_variables=[
            variable("energy", I, unit="kWh", lower=10, upper=100, role="state")
            | {"quantity": "battery.state_of_charge"},
            variable("into", T, upper=25, quantity="battery.charge"),
            variable("out", T, upper=25, quantity="battery.discharge"),
        ],
        expressions=[
            {"name": "bill", "index": [T], "unit": "EUR"}
            | {"expression": "price[t]*(into[t] - out[t])*dt(t)"}
        ],
        constraints=[
            constraint("energy[first(I)] == now", constraint_id="start"),
            constraint(
                "energy[t+1] == energy[t] + (0.95*into[t] - out[t]/0.95)*dt(t)",
                T,
                constraint_id="store",
            ),
        ],
        objective_function=goal("cost", "EUR", "sum(bill[t] for t in T)") | objective,
    )


BATTERY = Battery(energy_capacity=100.0, charge_efficiency=0.95, discharge_efficiency=0.95)
STORE = {"battery.state_of_charge": "now"}


def store(states: Any, controls: Any, _: Any) -> dict[str, Any]:
    """Return the energy of the battery some hours later."""
    into, out = (np.atleast_1d(controls[name]) for name in ("into", "out"))
    return {"now": BATTERY.simulate(into, out, 1.0, initial_energy=float(states["now"]))[-1]}


def zone(**more: Any) -> Blueprint:
    """Return a room of 2 kWh/K behind 5 K/kW, kept at 20 degC or more with up to 4 kW."""
    decay = float(np.exp(-1 / 10))
    return blueprint(
        sets=day(),
        parameters=[
            parameter("outside", [0.0] * HOURS, "degC", "T"),
            parameter("now", 21, "degC"),
            parameter("least", [20.0] * (HOURS + 1), "degC", "I"),
        ],
        decision_variables=[
            variable("room", I, unit="degC", lower=5, upper=40, role="state"),
            variable("heat", T, upper=4, role="decision"),
        ],
        constraints=[
            constraint("room[first(I)] == now", constraint_id="start"),
            constraint(
                f"room[t+1] - outside[t] == {decay}*(room[t] - outside[t])"
                f" + {1 - decay}*5[K/kW]*heat[t]",
                T,
                constraint_id="wall",
            ),
            constraint("room[i] >= least[i]", I, constraint_id="comfort"),
        ],
        objective_function=goal("energy", "kWh", "sum(heat[t]*dt(t) for t in T)"),
        **more,
    )


ROOM = ThermalNetwork((ThermalZone(name="room", capacitance=2.0, resistance=5.0),))


def walls(states: Any, controls: Any, disturbances: Any) -> dict[str, Any]:
    """Return the temperature of the room an hour later."""
    heat, outside = (np.atleast_1d(v) for v in (controls["heat"], disturbances["outside"]))
    first = [float(states["now"])]
    return {"now": ROOM.simulate(outside, 1.0, heating=heat[:, None], initial=first)[-1, 0]}


COLD = {"outside": np.zeros(60), "least": np.full(61, 20.0)}


def trading(given: Blueprint | None = None, **more: Any) -> RecedingHorizon:
    """Return what controls the battery."""
    told: dict[str, Any] = {"state": STORE, "forecasts": {"price": PRICES}} | more
    return RecedingHorizon(given or battery(), **told)


def heating(given: Any = None, **more: Any) -> RecedingHorizon:
    """Return what controls the room; ``given`` is its blueprint, or the document of that."""
    own = Blueprint.from_dict(given) if isinstance(given, dict) else given or zone()
    told: dict[str, Any] = {"state": {"room": "now"}, "forecasts": COLD} | more
    return RecedingHorizon(own, **told)


def test_the_first_control_is_that_of_the_plan() -> None:
    runner = trading()
    control = runner.step({"now": 50.0})
    plan = Session(compile_blueprint(battery())).solve()
    assert control.outcome == "optimal"
    assert control.objective == pytest.approx(plan.objective)
    program = compile_blueprint(battery())
    assert plan.x is not None
    for name in ("into", "out"):
        first = plan.x[program.column_block(name).start]
        assert control.values[name] == pytest.approx(first)
    assert control.units == {"into": "kW", "out": "kW"}
    assert control.quantities["into"] == "battery.charge"


def test_the_physics_of_the_plant_and_the_algebra_of_the_plan_agree() -> None:
    loops = [trading(plant=plant).run(20, {"now": 50.0}) for plant in (None, store)]
    xarray.testing.assert_allclose(loops[0].log, loops[1].log, rtol=1e-7, atol=1e-6)
    assert loops[0].cost == pytest.approx(loops[1].cost, rel=1e-7)


def test_with_a_horizon_that_sees_all_the_loop_costs_what_one_plan_does() -> None:
    """At a constant end the tail of an optimal plan is optimal (Bellman)."""
    runner = heating(plant=walls)
    loop = runner.run(20, {"now": 25.0})
    # Heat is worth as much at any hour: the least is to coast to 20 degC and to hold it there.
    room = loop.log["now"].values
    assert room[-1] == pytest.approx(20.0, abs=1e-6)
    assert np.all(np.diff(room) <= 1e-6)
    assert np.all(room >= 20.0 - 1e-6)
    held = 20.0 / 5.0
    assert loop.log["heat"].values[-1] == pytest.approx(held, abs=1e-6)
    assert loop.cost == pytest.approx(float(loop.log["heat"].sum()), rel=1e-9)


def test_several_periods_at_once() -> None:
    loop = trading(step=3, plant=store).run(5, {"now": 50.0})
    assert loop.log["into"].dims == ("step", "period")
    assert loop.log["price"].values.ravel() == pytest.approx(PRICES[:15])
    again = BATTERY.simulate(
        loop.log["into"].values.ravel(), loop.log["out"].values.ravel(), 1.0, initial_energy=50.0
    )
    assert again[::3][:-1] == pytest.approx(loop.log["now"].values)
    assert again[-1] == pytest.approx(float(loop.state["now"]))


@pytest.mark.parametrize("measured", [10.0 - 1e-4, 8.0, 0.0])
def test_a_state_below_its_bound_recovers_monotonically(measured: float) -> None:
    runner = trading(plant=store)
    loop = runner.run(4, {"now": measured})
    first = loop.controls[0]
    assert first.outcome == "relaxed"
    assert first.relaxations[0].limit == "energy"
    assert first.relaxations[0].amount == pytest.approx(10.0 - measured, abs=1e-7)
    assert first.relaxations[0].unit == "kWh"
    assert "energy[2025-07-01T00:00]" in first.relaxations[0].place
    energy = loop.log["now"].values
    assert np.all(np.diff(np.maximum(10.0 - energy, 0.0)) <= 1e-6)
    assert loop.controls[1].outcome == "optimal"
    assert energy[1] >= 10.0 - 1e-6


def test_a_cold_room_heats_with_all_it_has_and_reports_each_degree() -> None:
    runner = heating(plant=walls)
    outside = np.full(60, -5.0)
    loop = runner.run(
        6,
        {"now": 18.0},
        disturbances={"outside": outside},
        forecast=lambda _: {"outside": np.full(HOURS, -5.0)},
    )
    first = loop.controls[0]
    assert first.outcome == "relaxed"
    assert {r.limit for r in first.relaxations} == {"comfort"}
    # At full power the room tends to -5 + 4*5 = 15 degC: comfort is out of reach for good.
    hours = np.arange(HOURS + 1)
    plan = 15.0 + 3.0 * np.exp(-hours / 10)
    expected = {k: 20.0 - plan[k] for k in range(HOURS + 1)}
    amounts = [r.amount for r in first.relaxations]
    assert sorted(amounts) == pytest.approx(sorted(expected.values()), rel=1e-6)
    assert np.all(loop.log["heat"].values == pytest.approx(4.0, abs=1e-6))
    assert loop.log["relaxed__comfort"].attrs["units"] == "K"


def test_what_may_be_given_up_first_is_given_up_first() -> None:
    """Two floors contradict a heater's limit: only the first class gives way when it can."""
    document = zone().to_dict()
    constraints = document["core_model_elements"]["constraints"]
    constraints.append(
        {"constraint_id": "frost", "forall": [I], "expression": "room[i] >= 16[degC]"}
    )
    strict = document
    for limits, expected in (
        ([["comfort"], ["frost"]], {"comfort"}),
        ([["comfort", "frost"]], {"comfort"}),
        ([["comfort"]], {"comfort"}),
    ):
        runner = heating(strict, limits=limits)
        control = runner.step({"now": 17.0})
        assert {r.limit for r in control.relaxations} == expected
    colder = {"outside": np.full(60, -20.0), "least": np.full(61, 20.0)}
    runner = heating(strict, forecasts=colder, limits=[["comfort"], ["frost"]])
    control = runner.step({"now": 17.0})
    assert {r.limit for r in control.relaxations} == {"comfort", "frost"}


def test_without_limits_that_help_the_previous_plan_goes_on_and_then_it_ends() -> None:
    broken = {"now": 90.0}  # above the room's own bound, which may not give way
    with pytest.raises(ControlError, match="limits"):
        heating(limits=[["comfort"]]).step(broken)
    runner = heating(limits=[["comfort"]])
    before = runner.step({"now": 21.0})
    program, plan = runner.program, before.result.x
    assert plan is not None
    start = program.column_block("heat").start
    for ahead in range(1, HOURS):
        control = runner.step(broken)
        assert control.outcome == "previous plan"
        assert control.values["heat"] == pytest.approx(plan[start + ahead])
    with pytest.raises(ControlError, match="no control"):
        runner.step(broken)


def test_a_state_outside_by_less_than_solvers_can_tell_is_no_breach() -> None:
    runner = trading()
    control = runner.step({"now": 10.0 - 1e-9})
    assert control.outcome == "optimal"
    assert control.relaxations == ()


@pytest.mark.parametrize("kind", ["quadratic", "with whole numbers"])
def test_limits_give_way_in_other_classes_too(kind: str) -> None:
    document = zone().to_dict()
    core = document["core_model_elements"]
    if kind == "quadratic":
        goal = "sum(heat[t]**2*1[kWh/kW**2] for t in T)"
        core["objective_function"]["expression"] = goal
    else:
        core["decision_variables"].append({"name": "on", "index": [T], "type": "binary"})
        core["constraints"].append(
            {"constraint_id": "switch", "forall": [T], "expression": "heat[t] <= 4[kW]*on[t]"}
        )
    runner = heating(document, plant=walls)
    loop = runner.run(4, {"now": 19.0})
    # 4 kW holds 20 degC against 0 degC outside, so the way back takes for ever, but never widens.
    assert loop.controls[0].outcome == "relaxed"
    worst = loop.log["relaxed__comfort"].values
    assert worst[0] == pytest.approx(1.0, abs=1e-6)
    assert np.all(np.diff(worst) < 0)
    assert loop.log["heat"].values == pytest.approx(np.full(4, 4.0), abs=1e-5)


def test_a_heat_pump_with_a_curved_characteristic() -> None:
    """Heat is 3 p - p²/10; what holds the room at its floor follows from that in closed form."""
    document = zone().to_dict()
    core = document["core_model_elements"]
    core["decision_variables"].append(
        {"name": "draw", "index": [T], "unit": "kW", "lower": 0, "upper": 2, "role": "decision"}
    )
    core["constraints"].append(
        constraint("heat[t] == 3*draw[t] - draw[t]**2*0.1[1/kW]", T, constraint_id="pump")
    )
    core["objective_function"]["expression"] = "sum(draw[t]*dt(t) for t in T)"
    runner = heating(document, plant=walls)
    held = runner.run(2, {"now": 20.0}).controls[-1]
    assert held.values["heat"] == pytest.approx(4.0, abs=1e-4)
    assert held.values["draw"] == pytest.approx(15 - np.sqrt(225 - 40), abs=1e-4)
    cold = runner.step({"now": 19.0})
    assert cold.outcome == "relaxed"
    assert cold.relaxations[0].amount == pytest.approx(1.0, abs=1e-6)


def test_what_really_comes_replaces_the_first_forecast_only() -> None:
    runner = trading(plant=store, end="hold")
    truth = PRICES + 5.0
    loop = runner.run(8, {"now": 50.0}, disturbances={"price": truth})
    assert loop.log["price"].values == pytest.approx(truth[:8])
    window = runner.parametric.value("price")
    assert window[0] == truth[7]
    assert window[1:] == pytest.approx(PRICES[8 : 8 + HOURS - 1])


@pytest.mark.parametrize(("end", "last"), [("hold", PRICES[14]), ("repeat", PRICES[0])])
def test_beyond_the_end_of_a_series(end: Any, last: float) -> None:
    runner = trading(forecasts={"price": PRICES[:15]}, end=end)
    runner.run(5, {"now": 50.0})
    assert runner.parametric.value("price")[-1] == last
    with pytest.raises(InputError, match="at step 4"):
        trading(forecasts={"price": PRICES[:15]}).run(5, {"now": 50.0})


def test_a_series_that_would_stand_still_is_refused_unless_it_is_named_fixed() -> None:
    with pytest.raises(InputError, match="price differs along the horizon"):
        RecedingHorizon(battery(), state=STORE).step({"now": 50.0})
    fixed = RecedingHorizon(battery(), state=STORE, fixed=["price"])
    assert fixed.step({"now": 50.0}).outcome == "optimal"
    given = RecedingHorizon(battery(), state=STORE)
    assert given.step({"now": 50.0}, {"price": PRICES[:HOURS]}).outcome == "optimal"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"state": {}}, "no state"),
        ({"state": {"nothing": "now"}}, "no variable and no quantity 'nothing'"),
        ({"state": {"energy": "nothing"}}, "no parameter 'nothing'"),
        ({"state": {"into": "now"}}, "different things"),
        ({"forecasts": {"now": [1.0]}}, "no parameter along the horizon"),
        ({"forecasts": {"price": np.ones((3, 3))}}, "wrong shape"),
        ({"forecasts": {"price": [np.nan] * 20}}, "not finite"),
        ({"step": 0}, "step is 0"),
        ({"step": 99}, "step is 99"),
        ({"limits": [["nothing"]]}, "'nothing' that could be relaxed"),
    ],
)
def test_wrong_set_ups_are_refused(arguments: Mapping[str, Any], message: str) -> None:
    with pytest.raises(EngiagentError, match=message):
        trading(**{"forecasts": {}, **arguments})


@pytest.mark.parametrize(
    ("measurement", "message"),
    [
        ({}, "no measurement of now"),
        ({"now": np.nan}, "not a finite number"),
        ({"now": [1.0, 2.0]}, "shape"),
        ({"now": 50.0, "wind": 3.0}, "'wind'"),
    ],
)
def test_wrong_measurements_are_refused(measurement: Mapping[str, Any], message: str) -> None:
    runner = trading()
    with pytest.raises(InputError, match=message):
        runner.step(measurement)


def test_the_clock_moves_with_the_horizon() -> None:
    """Prices by the clock and the same prices as a series give one loop."""
    hours = np.arange(60) % 24
    by_clock = battery(expression="sum((3 if 7 <= hour(t) < 19 else 1)*bill[t] for t in T)")
    tariff = PRICES * np.where((hours >= 7) & (hours < 19), 3.0, 1.0)
    loops = [
        trading(given, forecasts={"price": prices}).run(30, {"now": 50.0})
        for given, prices in ((by_clock, PRICES), (battery(), tariff))
    ]
    for name in ("into", "out", "now", "stage_cost"):
        np.testing.assert_allclose(loops[0].log[name], loops[1].log[name], atol=1e-7)


def test_uneven_steps_do_not_recede() -> None:
    document = battery().to_dict()
    document["core_model_elements"]["sets"][0]["step"] = ["1 h"] * (HOURS - 1) + ["2 h"]
    with pytest.raises(InputError, match="differ in length"):
        RecedingHorizon(Blueprint.from_dict(document), state=STORE)


def test_a_state_may_be_measured_in_another_unit() -> None:
    document = battery().to_dict()
    document["core_model_elements"]["parameters"][1].update(value=0.05, unit="MWh")
    costs = [
        trading(given).run(10, {"now": now}).cost
        for given, now in ((battery(), 50.0), (Blueprint.from_dict(document), 0.05))
    ]
    assert costs[0] == pytest.approx(costs[1], rel=1e-9)
    document["core_model_elements"]["parameters"][1].update(unit="kW")
    document["core_model_elements"]["constraints"][0]["expression"] = "energy[first(I)] == now*1[h]"
    with pytest.raises(InputError, match="different things"):
        RecedingHorizon(Blueprint.from_dict(document), state=STORE)


def test_several_zones_share_a_parameter_by_label() -> None:
    given = blueprint(
        sets=[*day(4), {"name": "Z", "kind": "labels", "elements": ["a", "b"]}],
        parameters=[parameter("now", {"a": 21, "b": 19}, "degC", "Z")],
        decision_variables=[
            variable("room", "z in Z", I, unit="degC", lower=18, upper=40),
            variable("heat", T, "z in Z", upper=4),
        ],
        constraints=[
            constraint("room[z, first(I)] == now[z]", "z in Z", constraint_id="start"),
            constraint(
                "room[z, t+1] - 0[degC] == 0.9*(room[z, t] - 0[degC]) + heat[t, z]*1[K/kW]",
                "z in Z",
                T,
                constraint_id="wall",
            ),
        ],
        objective_function=goal("energy", "kWh", "sum(heat[t, z]*dt(t) for t in T for z in Z)"),
    )
    loop = RecedingHorizon(given, state={"room": "now"}).run(3, {"now": [21.0, 18.0]})
    assert loop.log["heat"].dims == ("step", "Z")
    assert loop.log["heat"].values[0] == pytest.approx([0.0, 1.8], abs=1e-6)
    assert loop.log["now"].values[1] == pytest.approx([18.9, 18.0], abs=1e-6)
    assert list(loop.log["Z"].values) == ["a", "b"]
