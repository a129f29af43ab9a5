"""What cannot be connected says why; what is left open can be asked for."""

from collections.abc import Mapping

import numpy as np
import pytest

from engiagent.models import Battery
from engiagent.models.ranges import ParameterError
from engiagent.models.systems import electrical, signals, thermal
from engiagent.models.systems.module import (
    Module,
    Outcome,
    Port,
    State,
    WiringError,
    action,
    balance,
    observation,
)
from engiagent.models.systems.simulation import Simulation
from engiagent.models.systems.system import Bus, Link, System
from tests.models.test_systems import worst

MODULES: dict[str, Module | System] = {
    "battery": electrical.battery(Battery(energy_capacity=10.0, initial_energy=5.0)),
    "load": electrical.load(),
    "grid": electrical.grid(),
    "grid2": electrical.grid(),
    "heater": thermal.heater(),
    "thermostat": signals.thermostat(2.0),
    "warm": signals.profile([1.0, 2.0], "degC", "thermal"),
    "price": signals.profile([1.0, 2.0], "EUR/kWh"),
}


def bus(*members: str, domain: str = "electrical", name: str = "b") -> Bus:
    return Bus(name=name, domain=domain, members=members)  # type: ignore[arg-type]


WRONG = [
    # links
    ([], [("warm.valu", "thermostat.temperature")], "'warm.valu'; known here: warm.value"),
    ([], [("warm.value", "stove.temperature")], "names the port 'stove.temperature'"),
    ([], [("thermostat.temperature", "thermostat.set_point")], "is an input; a link starts at"),
    ([], [("warm.value", "heater.heat")], "heater.heat is an output; a link ends at an input"),
    ([], [("price.value", "thermostat.temperature")], "is in EUR/kWh, .* in degC"),
    ([], [("heater.heat", "load.power")], "heater.heat is thermal, load.power is electrical"),
    (
        [],
        [("warm.value", "thermostat.temperature"), ("warm.value", "thermostat.temperature")],
        "fed by warm.value and by warm.value; an input has one supplier",
    ),
    ([], [("battery.charge", "grid.exchange")], "grid.exchange is what is left on a bus"),
    # buses
    ([bus("battery.energy")], [], "battery.energy, which is no flow but a signal in kWh"),
    ([bus("heater.heat", "grid.exchange")], [], "b is electrical, its member heater.heat is ther"),
    (
        [bus("load.power", "grid.exchange", "grid2.exchange")],
        [],
        "leaves its balance to grid.exchange and grid2.exchange; one member can take",
    ),
    (
        [bus("load.power", "grid.exchange"), bus("load.power", name="c")],
        [],
        "load.power is on the bus b and on the bus c; a flow counts once",
    ),
    ([bus("load.power"), bus("battery.charge")], [], "the bus b is given twice"),
    ([bus("load.powr")], [], "the bus b names the port 'load.powr'; known here: load.power"),
]


@pytest.mark.parametrize(("buses", "links", "message"), WRONG)
def test_wrong_connections_say_what_is_wrong(
    buses: list[Bus], links: list[tuple[str, str]], message: str
) -> None:
    with pytest.raises(WiringError, match=message):
        System(modules=MODULES, buses=tuple(buses), links=tuple(Link(*pair) for pair in links))


def test_a_flow_to_nowhere_is_refused() -> None:
    system = System(
        modules={"heater": thermal.heater(), "grid": electrical.grid()},
        buses=(bus("heater.electric_power", "grid.exchange"),),
    )
    with pytest.raises(WiringError, match=r"heater\.heat: no bus has this flow"):
        Simulation(system, 1.0)
    with pytest.raises(ParameterError, match=r"the step is 0.0 h; give a number above 0"):
        Simulation(system, 0.0)


def test_an_algebraic_loop_is_named() -> None:
    """The command follows from the heat of the period, and the heat from the command."""
    feedback = signals.controller(
        reads={"heat": "kW"}, commands={"power": "kW"}, rule=lambda read: {"power": read["heat"]}
    )
    with pytest.raises(
        WiringError,
        match=r"algebraic loop: heater waits for rule waits for heater, through rule.power, "
        r"heater.heat; read a state",
    ):
        System(
            modules={"heater": thermal.heater(), "rule": feedback},
            links=(Link("heater.heat", "rule.heat"), Link("rule.power", "heater.electric_power")),
        )


def test_names_of_modules_have_no_dot() -> None:
    with pytest.raises(WiringError, match=r"'a\.b' is empty or has a dot"):
        System(modules={"a.b": electrical.grid()})


def home() -> System:
    return System(
        modules={
            "battery": electrical.battery(Battery(energy_capacity=10.0, initial_energy=5.0)),
            "load": electrical.load(),
            "pv": electrical.source(),
            "sun": signals.profile([1.0, 2.0, 3.0], "kW"),
            "grid": electrical.grid(),
        },
        buses=(
            bus("battery.charge", "battery.discharge", "load.power", "pv.power", "grid.exchange"),
        ),
        links=(Link("sun.value", "pv.profile"),),
    )


def test_a_system_says_what_it_needs_and_shows() -> None:
    system = home()
    assert {name: port.unit for name, port in system.actions.items()} == {
        "battery.charge": "kW",
        "battery.discharge": "kW",
        "pv.curtailed": "kW",
    }
    assert list(system.disturbances) == ["load.power"]
    assert {name: state.unit for name, state in system.states.items()} == {
        "battery.energy": "kWh",
        "sun.period": "1",
    }
    assert system.observations["battery.energy"].unit == "kWh"
    assert system.observations["grid.import"].shape == ()
    cluster = System(modules={"a": home(), "b": home()})
    assert list(cluster.disturbances) == ["a.load.power", "b.load.power"]
    assert [bus.name for bus in cluster.all_buses] == ["a.b", "b.b"]


PLAN = {"battery.charge": 0.0, "battery.discharge": 0.0}
WRONG_RUNS = [
    ({"battery.charge": 0.0}, {"load.power": 1.0}, "action battery.discharge is missing"),
    (PLAN, {}, "the disturbance load.power is missing"),
    (PLAN | {"battery.chrge": 1.0}, {"load.power": 1.0}, "battery.chrge is no open action; open"),
    (PLAN, {"load.power": [1.0, np.inf]}, "period 1: load.power is inf kW; give finite"),
    (PLAN | {"battery.charge": [1.0, 2.0]}, {"load.power": [1.0] * 3}, "has 2 periods, load.power"),
    (PLAN, {"load.power": 1.0}, "no series says how many periods there are; give periods="),
    (PLAN, {"load.power": [1.0] * 4}, "period 3: sun: the series has 3 periods"),
]


@pytest.mark.parametrize(("plan", "disturbances", "message"), WRONG_RUNS)
def test_wrong_plans_say_what_is_wrong(
    plan: Mapping[str, list[float]], disturbances: Mapping[str, list[float]], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        Simulation(home(), 1.0).replay(plan, disturbances)


def test_wrong_starts_say_what_is_wrong() -> None:
    run = Simulation(home(), 1.0)
    with pytest.raises(ParameterError, match=r"no state .battery\.enrgy.; known states: battery"):
        run.reset({"battery.enrgy": 1.0})
    with pytest.raises(ParameterError, match="battery: the initial energy is nan kWh"):
        run.reset({"battery.energy": np.nan})
    with pytest.raises(ParameterError, match=r"the initial energy has the shape \(2,\)"):
        run.reset({"battery.energy": [1.0, 2.0]})
    bare = System(
        modules={
            "battery": electrical.battery(Battery(energy_capacity=1.0)),
            "grid": electrical.grid(),
        },
        buses=(bus("battery.charge", "battery.discharge", "grid.exchange"),),
    )
    with pytest.raises(ParameterError, match="the initial energy is missing; give it in kWh"):
        Simulation(bare, 1.0).step(PLAN)
    record = Simulation(home(), 1.0).replay(PLAN, {"load.power": [1.0]})
    with pytest.raises(ParameterError, match=r"no series 'grid.imprt'; known: grid\."):
        _ = record["grid.imprt"]


def fleet(count: int, leak: float = 0.0) -> Module:
    """Many lossless stores with one number each; ``leak`` is energy that no balance sees."""
    shape = (count,)
    return Module(
        ports=(
            action("charge", "kW", "electrical", way="takes", shape=shape),
            observation("spare", "kW", "electrical", way="gives", shape=shape),
        ),
        states=(State("energy", "kWh", 0.0, shape),),
        step=lambda state, inputs, hours: Outcome(
            state={"energy": state["energy"] + hours * (inputs["charge"] - leak)},
            outputs={"spare": np.zeros(count)},
        ),
        stored=lambda state: float(state["energy"].sum()),
    )


def test_a_fleet_is_one_module_with_many_units() -> None:
    system = System(
        modules={"cars": fleet(3), "grid": electrical.grid()},
        buses=(bus("cars.charge", "cars.spare", "grid.exchange"),),
    )
    record = Simulation(system, 0.5).replay({"cars.charge": [[1.0, 2.0, 3.0], [0.0, 4.0, 0.0]]})
    assert record["cars.energy"].tolist() == [[0, 0, 0], [0.5, 1, 1.5], [0.5, 3, 1.5]]
    assert record["grid.import"].tolist() == [6.0, 4.0]
    assert worst(record.imbalances) == 0.0
    same = Simulation(system, 0.5).replay({"cars.charge": 2.0}, periods=2)
    assert same["grid.import"].tolist() == [6.0, 6.0]
    with pytest.raises(ParameterError, match=r"cars.charge has the shape \(2,\); give \(3,\)"):
        Simulation(system, 0.5).step({"cars.charge": [1.0, 2.0]})


def posts(count: int) -> Module:
    """Balances each unit of a bus by itself."""
    return Module(
        ports=(balance("power", "kW", "electrical", way="gives", shape=(count,)),),
        step=lambda state, inputs, hours: Outcome(entered=float(inputs["power"].sum())),
    )


def test_a_bus_of_many_units_balances_each() -> None:
    wires = (bus("cars.charge", "cars.spare", "posts.power"),)
    system = System(modules={"cars": fleet(2), "posts": posts(2)}, buses=wires)
    record = Simulation(system, 1.0).replay({"cars.charge": [[1.0, 5.0]]})
    assert record["posts.power"].tolist() == [[1.0, 5.0]]
    assert record.residuals["b"].tolist() == [[0.0, 0.0]]
    with pytest.raises(WiringError, match=r"posts.power has the shape \(3,\), cars.charge has"):
        System(modules={"cars": fleet(2), "posts": posts(3)}, buses=wires)


def test_a_module_that_loses_energy_is_found() -> None:
    system = System(
        modules={
            "cars": fleet(2, leak=0.125),
            "load": electrical.load(),
            "grid": electrical.grid(),
        },
        buses=(bus("cars.charge", "cars.spare", "load.power", "grid.exchange"),),
    )
    record = Simulation(system, 1.0).replay({"cars.charge": 1.0}, {"load.power": 1.0}, periods=4)
    assert record.imbalances["cars"] == pytest.approx(0.25)
    assert record.imbalances["load"] == pytest.approx(0.0)


NAN = np.asarray(np.nan)
BROKEN = [
    (Outcome(), WiringError, r"broken returned \[\]; it promises \['power'\]"),
    (Outcome(outputs={"power": NAN}), ParameterError, "broken.power came out as nan"),
    (
        Outcome(outputs={"power": np.ones(2)}),
        WiringError,
        r"broken.power came out with the shape \(2,\); it promises \(\)",
    ),
    (
        Outcome(outputs={"power": np.asarray(1.0)}, state={"x": NAN}),
        WiringError,
        r"broken returned \['x'\]; it promises \[\]",
    ),
]


@pytest.mark.parametrize(("outcome", "kind", "message"), BROKEN)
def test_a_module_that_breaks_its_promise_is_found(
    outcome: Outcome, kind: type[Exception], message: str
) -> None:
    port = observation("power", "kW", "electrical", way="gives")
    broken = Module(ports=(port,), step=lambda state, inputs, hours: outcome)
    system = System(
        modules={"broken": broken, "grid": electrical.grid()},
        buses=(bus("broken.power", "grid.exchange"),),
    )
    with pytest.raises(kind, match=message):
        Simulation(system, 1.0).step()


WRONG_MODULES = [
    (lambda: signals.profile([[1.0]], "kW"), r"a profile has the shape \(1, 1\)"),
    (lambda: signals.profile([1.0, np.nan], "kW"), "or a gap"),
    (lambda: signals.sensor("K", deviation=-1.0), "deviation of a sensor is -1.0 K"),
    (lambda: signals.thermostat(1.0, band=-1.0), "band of a thermostat is -1.0 K"),
]


@pytest.mark.parametrize(("build", "message"), WRONG_MODULES)
def test_modules_out_of_range_say_so(build: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        build()  # type: ignore[operator]


def test_wrong_ports_say_what_is_wrong() -> None:
    with pytest.raises(WiringError, match="has the domain 'steam'; known domains: electrical"):
        observation("x", "kW", "steam", way="gives")  # type: ignore[arg-type]
    with pytest.raises(WiringError, match="the flow x is in W; a flow is in kW"):
        observation("x", "W", "thermal", way="gives")
    with pytest.raises(WiringError, match="say whether it gives or takes"):
        Port(name="x", unit="kW", domain="thermal", role="balance")


def test_a_rule_keeps_its_promise() -> None:
    rule = signals.controller(reads={}, commands={"power": "kW"}, rule=lambda _: {"pwr": 1.0})
    with pytest.raises(WiringError, match=r"rule returned \['pwr'\]; it promises \['power'\]"):
        Simulation(System(modules={"rule": rule}), 1.0).step()
