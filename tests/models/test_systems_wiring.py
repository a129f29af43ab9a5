"""What cannot be connected says why; what is left open can be asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest

from engiagent.models import Battery, GeneratorProfile, Grid, Heater, Load
from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.systems.electrical import (
    BatteryModule,
    GeneratorModule,
    GridModule,
    LoadModule,
)
from engiagent.models.systems.heating import HeaterModule
from engiagent.models.systems.junctions import SplitterModule, WaterSupplyModule, WaterUseModule
from engiagent.models.systems.module import Module, Outcome
from engiagent.models.systems.ports import (
    Port,
    State,
    Values,
    WiringError,
    action,
    balance,
    disturbance,
    output,
)
from engiagent.models.systems.signals import (
    ControllerModule,
    ProfileModule,
    ProportionalIntegralModule,
    SensorModule,
    ThermostatModule,
)
from engiagent.models.systems.system import System
from engiagent.models.systems.wiring import Bus, Link

MODULES: dict[str, Module | System] = {
    "battery": BatteryModule(Battery(energy_capacity=10.0, initial_energy=5.0)),
    "load": LoadModule(),
    "grid": GridModule(),
    "grid2": GridModule(),
    "heater": HeaterModule(Heater()),
    "thermostat": ThermostatModule(power=2.0),
    "warm": ProfileModule([1.0, 2.0], "degC", "thermal"),
    "price": ProfileModule([1.0, 2.0], "EUR/kWh"),
    "water": WaterSupplyModule(),
    "use": WaterUseModule(),
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
    ([], [("heater.cop", "load.power")], "heater.cop is thermal, load.power is electrical"),
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
        "leaves its balance to grid.exchange and grid2.exchange; one member .* splitter",
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


def test_one_bus_keeps_one_unit() -> None:
    @dataclass(frozen=True)
    class Odd(WaterUseModule):
        @property
        def ports(self) -> tuple[Port, ...]:
            return (disturbance("flow", "kW", "water", way="takes"),)

    with pytest.raises(WiringError, match="joins flows in kW and kg/s; keep to one unit"):
        System(
            modules={"a": WaterSupplyModule(), "b": Odd()},
            buses=(bus("a.flow", "b.flow", domain="water"),),
        )


def test_a_flow_to_nowhere_is_refused() -> None:
    system = System(
        modules={"heater": HeaterModule(Heater()), "grid": GridModule()},
        buses=(bus("heater.electric_power", "grid.exchange"),),
    )
    with pytest.raises(WiringError, match=r"heater\.heat: no bus has this flow"):
        system.initialize(1.0)
    with pytest.raises(ParameterError, match=r"the step is 0.0 h; give a number above 0"):
        system.initialize(0.0)


def test_an_algebraic_loop_is_named() -> None:
    """The command follows from the heat of the period, and the heat from the command."""
    feedback = ControllerModule(
        reads={"heat": "kW"}, commands={"power": "kW"}, rule=lambda read: {"power": read["heat"]}
    )
    with pytest.raises(
        WiringError,
        match=r"algebraic loop: heater waits for rule waits for heater, through rule.power, "
        r"heater.heat; read a state",
    ):
        System(
            modules={"heater": HeaterModule(Heater()), "rule": feedback},
            links=(Link("heater.heat", "rule.heat"), Link("rule.power", "heater.electric_power")),
        )


def test_names_of_modules_have_no_dot() -> None:
    with pytest.raises(WiringError, match=r"'a\.b' is empty or has a dot"):
        System(modules={"a.b": GridModule()})


def home() -> System:
    return System(
        modules={
            "battery": BatteryModule(Battery(energy_capacity=10.0, initial_energy=5.0)),
            "load": LoadModule(),
            "pv": GeneratorModule(GeneratorProfile(available_power=[1.0, 2.0, 3.0])),
            "grid": GridModule(Grid()),
        },
        buses=(
            bus("battery.charge", "battery.discharge", "load.power", "pv.power", "grid.exchange"),
        ),
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
        "pv.period": "1",
    }
    assert system.observations["battery.energy"].unit == "kWh"
    assert system.observations["grid.import"].shape == ()
    cluster = System(modules={"a": home(), "b": home()})
    assert list(cluster.disturbances) == ["a.load.power", "b.load.power"]
    assert [bus.name for bus in cluster.wiring.buses] == ["a.b", "b.b"]


PLAN = {"battery.charge": 0.0, "battery.discharge": 0.0}
WRONG_RUNS = [
    ({"battery.charge": 0.0}, {"load.power": 1.0}, "action battery.discharge is missing"),
    (PLAN, {}, "the disturbance load.power is missing"),
    (PLAN | {"battery.chrge": 1.0}, {"load.power": 1.0}, "battery.chrge is no open action; open"),
    (PLAN, {"load.power": [1.0, np.inf]}, "period 1: load.power is inf kW; give finite"),
    (PLAN | {"battery.charge": [1.0, 2.0]}, {"load.power": [1.0] * 3}, "has 2 periods, load.power"),
    (PLAN, {"load.power": 1.0}, "no series says how many periods there are; give periods="),
    (PLAN, {"load.power": [1.0] * 4}, "period 3: pv: the series of available has 3 periods"),
]


@pytest.mark.parametrize(("plan", "disturbances", "message"), WRONG_RUNS)
def test_wrong_plans_say_what_is_wrong(
    plan: Mapping[str, list[float]], disturbances: Mapping[str, list[float]], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        home().initialize(1.0).replay(plan, disturbances)


def test_wrong_starts_say_what_is_wrong() -> None:
    run = home().initialize(1.0)
    with pytest.raises(ParameterError, match=r"no state .battery\.enrgy.; known states: battery"):
        run.reset({"battery.enrgy": 1.0})
    with pytest.raises(ParameterError, match="battery: the initial energy is nan kWh"):
        run.reset({"battery.energy": np.nan})
    with pytest.raises(ParameterError, match=r"the initial energy has the shape \(2,\)"):
        run.reset({"battery.energy": [1.0, 2.0]})
    bare = System(
        modules={"battery": BatteryModule(Battery(energy_capacity=1.0)), "grid": GridModule()},
        buses=(bus("battery.charge", "battery.discharge", "grid.exchange"),),
    )
    with pytest.raises(ParameterError, match="the initial energy is missing; give it in kWh"):
        bare.initialize(1.0).step(PLAN)
    record = home().initialize(1.0).replay(PLAN, {"load.power": [1.0]})
    with pytest.raises(ParameterError, match=r"no series 'grid.imprt'; known: grid\."):
        _ = record["grid.imprt"]


@dataclass(frozen=True)
class Fleet(Module):
    """Many lossless stores with one number each; ``leak`` is energy that the books do not see."""

    count: int
    leak: float = 0.0

    @property
    def ports(self) -> tuple[Port, ...]:
        return (
            action("charge", domain="electrical", way="takes", shape=(self.count,)),
            replace(output("spare", "electrical", way="gives"), shape=(self.count,)),
        )

    @property
    def states(self) -> tuple[State, ...]:
        return (State(name="energy", unit="kWh", shape=(self.count,), initial=0.0),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        after = state["energy"] + step_hours * (inputs["charge"] - self.leak)
        return Outcome(state={"energy": after}, outputs={"spare": np.zeros(self.count)})

    def stored(self, state: Values) -> Mapping[str, float]:
        return {"energy": float(state["energy"].sum())}


def test_a_fleet_is_one_module_with_many_units() -> None:
    system = System(
        modules={"cars": Fleet(3), "grid": GridModule()},
        buses=(bus("cars.charge", "cars.spare", "grid.exchange"),),
    )
    record = system.initialize(0.5).replay({"cars.charge": [[1.0, 2.0, 3.0], [0.0, 4.0, 0.0]]})
    assert record["cars.energy"].tolist() == [[0, 0, 0], [0.5, 1, 1.5], [0.5, 3, 1.5]]
    assert record["grid.import"].tolist() == [6.0, 4.0]
    assert record.worst_imbalance() == 0.0
    same = system.initialize(0.5).replay({"cars.charge": 2.0}, periods=2)
    assert same["grid.import"].tolist() == [6.0, 6.0]
    with pytest.raises(ParameterError, match=r"cars.charge has the shape \(2,\); give \(3,\)"):
        system.initialize(0.5).step({"cars.charge": [1.0, 2.0]})


@dataclass(frozen=True)
class Chargers(Module):
    """Balances each unit of a bus by itself."""

    count: int

    @property
    def ports(self) -> tuple[Port, ...]:
        return (balance("power", "electrical", way="gives", shape=(self.count,)),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        return Outcome(entered={"energy": float(inputs["power"].sum())})


def test_a_bus_of_many_units_balances_each() -> None:
    wires = (bus("cars.charge", "cars.spare", "posts.power"),)
    system = System(modules={"cars": Fleet(2), "posts": Chargers(2)}, buses=wires)
    record = system.initialize(1.0).replay({"cars.charge": [[1.0, 5.0]]})
    assert record["posts.power"].tolist() == [[1.0, 5.0]]
    assert record.residuals["b"].tolist() == [[0.0, 0.0]]
    with pytest.raises(WiringError, match=r"posts.power has the shape \(3,\), cars.charge has"):
        System(modules={"cars": Fleet(2), "posts": Chargers(3)}, buses=wires)


def test_a_module_that_loses_energy_is_found() -> None:
    system = System(
        modules={
            "cars": Fleet(2, leak=0.125),
            "load": LoadModule(Load(power=1.0)),
            "grid": GridModule(),
        },
        buses=(bus("cars.charge", "cars.spare", "load.power", "grid.exchange"),),
    )
    record = system.initialize(1.0).replay({"cars.charge": 1.0}, periods=4)
    assert record.imbalances["cars.energy"] == pytest.approx(0.25)
    assert record.imbalances["load.energy"] == pytest.approx(0.0)
    assert record.worst_imbalance() == pytest.approx(0.25)


@dataclass(frozen=True)
class Broken(Module):
    """Returns whatever it is told to."""

    outcome: Outcome

    @property
    def ports(self) -> tuple[Port, ...]:
        return (replace(output("power", "electrical", way="gives")),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        return self.outcome


NAN: Floats = np.asarray(np.nan)
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
    system = System(
        modules={"broken": Broken(outcome), "grid": GridModule()},
        buses=(bus("broken.power", "grid.exchange"),),
    )
    with pytest.raises(kind, match=message):
        system.initialize(1.0).step()


WRONG_MODULES = [
    (lambda: ProfileModule([[1.0]], "kW"), r"a profile has the shape \(1, 1\)"),
    (lambda: ProfileModule([1.0, np.nan], "kW"), "or a gap"),
    (lambda: SensorModule(unit="K", deviation=-1.0), "deviation of a sensor is -1.0 K"),
    (lambda: ThermostatModule(power=1.0, band=-1.0), "band of a thermostat is -1.0 K"),
    (
        lambda: SplitterModule(domain="thermal", shares={"a": 0.5, "b": 0.4}),
        "the shares add up to 0.9",
    ),
    (
        lambda: ProportionalIntegralModule(unit="K", gain=1.0, reset_hours=0.0, maximum=1.0),
        "the integral time is 0.0 h",
    ),
    (
        lambda: ProportionalIntegralModule(unit="K", gain=1.0, reset_hours=1.0, maximum=-1.0),
        "limits of the command are 0.0 to -1.0 kW",
    ),
]


@pytest.mark.parametrize(("build", "message"), WRONG_MODULES)
def test_modules_out_of_range_say_so(build: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        build()  # type: ignore[operator]


def test_wrong_ports_say_what_is_wrong() -> None:
    with pytest.raises(WiringError, match="has the domain 'steam'; known domains: electrical"):
        output("x", "steam", way="gives")  # type: ignore[arg-type]
    with pytest.raises(WiringError, match="the flow x is in W; a flow is in kW or kg/s"):
        output("x", "thermal", way="gives", unit="W")
    with pytest.raises(WiringError, match="say whether it gives or takes"):
        Port(name="x", unit="kW", domain="thermal", role="balance")


def test_a_rule_keeps_its_promise() -> None:
    rule = ControllerModule(reads={}, commands={"power": "kW"}, rule=lambda _: {"pwr": 1.0})
    with pytest.raises(WiringError, match=r"rule returned \['pwr'\]; it promises \['power'\]"):
        System(modules={"rule": rule}).initialize(1.0).step()
