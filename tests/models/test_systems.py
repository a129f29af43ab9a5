"""Systems run closed loop: balances hold whatever is asked, and every unit is its model."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models import Battery
from engiagent.models.battery import QuadraticLoss
from engiagent.models.buildings import HeatNetwork, Link, Node
from engiagent.models.engines import ExtractionChp, Genset, PartLoadChp
from engiagent.models.ev import Sessions, Vehicle
from engiagent.models.hvac.curves import Biquadratic, Table
from engiagent.models.hvac.fluids import PartLoadFan, YorkCalcTower
from engiagent.models.hvac.machines import Boiler, CarnotCop, Chiller, HeatPump
from engiagent.models.ranges import ParameterError
from engiagent.models.storage import MixedTank
from engiagent.models.systems import electrical, thermal
from engiagent.models.systems.system import (
    Bus,
    Module,
    Outcome,
    Port,
    Simulation,
    Step,
    System,
    WiringError,
    observation,
)

BATTERY = Battery(
    energy_capacity=8.0,
    charge_power_max=4.0,
    discharge_power_max=4.0,
    charge_efficiency=0.94,
    discharge_efficiency=0.95,
    self_discharge=0.004,
    initial_energy=4.0,
)
ROOMS = HeatNetwork(
    nodes=(
        Node(name="living", capacity=4.0, initial_temperature=20.0),
        Node(name="wall", initial_temperature=18.0),
        Node(name="attic", capacity=1.0, initial_temperature=15.0),
    ),
    links=(
        Link(one="living", other="wall", conductance=1 / 3),
        Link(one="wall", other="ambient", conductance=1 / 3),
        Link(one="attic", other="ambient", conductance=1 / 8),
        Link(one="living", other="attic", conductance=1 / 3),
    ),
)


def house(order: list[int] | None = None) -> System:
    modules = {
        "grid": electrical.grid(),
        "rooms": thermal.heat_network(ROOMS, ("living", "wall"), {"wall.heating": 2.0}),
        "battery": electrical.battery(BATTERY),
        "pv": electrical.source(),
        "load": electrical.load(),
        "pump": thermal.converter(3.0),
        "chiller": thermal.converter(2.0, cooling=True),
    }
    names = [*modules]
    power = ("pv.power", "battery.charge", "battery.discharge", "load.power", "grid.exchange")
    electric = (*power, "pump.electric_power", "chiller.electric_power")
    return System(
        modules={names[k]: modules[names[k]] for k in order or range(len(names))},
        buses=(
            Bus(name="electric", domain="electrical", members=electric),
            Bus(name="warm", domain="thermal", members=("pump.heat", "rooms.living.heating")),
            Bus(name="cold", domain="thermal", members=("chiller.cooling", "rooms.living.cooling")),
            Bus(name="floor", domain="thermal", members=("rooms.wall.heating",)),
            Bus(name="spare", domain="thermal", members=("rooms.wall.cooling",)),
        ),
    )


def run(system: System, hours: float, seed: int, periods: int = 12) -> list[Step]:
    """Steps under any numbers, also beyond limits and of the wrong sign."""
    rng, simulation = np.random.default_rng(seed), Simulation(system, hours)
    outside = {"rooms.ambient", "pv.profile", "load.power", "pump.cop", "chiller.cop"}
    steps = []
    for _ in range(periods):
        plan = {name: float(rng.uniform(-1, 6)) for name in sorted(system.open("action"))}
        steps.append(simulation.step(plan, {n: float(rng.uniform(1, 5)) for n in sorted(outside)}))
    return steps


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.25, 1.0, 3.0]))
def test_no_energy_comes_from_nowhere_and_every_unit_is_its_model(seed: int, hours: float) -> None:
    steps = run(house(), hours, seed)
    for step in steps:
        floor = step.outputs["rooms.wall.heating"]
        assert step.residuals["floor"] == pytest.approx(-floor)  # nothing gives what it takes
        rest = {k: v for k, v in step.residuals.items() if k != "floor"}
        assert max(abs(v) for v in (*rest.values(), *step.imbalances.values())) <= 1e-9
        assert -1e-9 <= step.state["battery.energy"] <= 8.0 + 1e-9
        assert 0.0 <= step.outputs["pump.electric_power"] <= 3.0

    def series(name: str) -> Any:
        return np.array([step.outputs[name] for step in steps])

    energy = BATTERY.simulate(series("battery.charge"), series("battery.discharge"), hours)
    content = [step.state["battery.energy"] for step in steps]
    assert content == pytest.approx(energy[1:], rel=1e-9, abs=1e-9)
    heat = series("rooms.living.heating") - series("rooms.living.cooling")
    acting = {"living": heat, "wall": series("rooms.wall.heating")}
    path = ROOMS.simulate({"ambient": series("rooms.ambient")}, hours, acting)
    for place, room in enumerate(("living", "wall")):
        ends = [step.state[f"rooms.{room}.temperature"] for step in steps]
        assert ends == pytest.approx(path.temperature[1:, place], rel=1e-9, abs=1e-9)
        means = series(f"rooms.{room}.mean_temperature")
        assert means == pytest.approx(path.mean_temperature[:, place], rel=1e-9, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(7)))
def test_the_order_in_which_modules_are_named_means_nothing(order: list[int]) -> None:
    for one, other in zip(run(house(), 1.0, 5), run(house(order), 1.0, 5), strict=True):
        assert one.outputs == other.outputs


EVEN = Biquadratic((1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
CHILLER = Chiller(rated_capacity=9.0, rated_cop=3.0, capacity_curve=EVEN, eir_curve=EVEN)
PUMP = HeatPump(rated_capacity=8.0, cop_map=CarnotCop(fraction=0.4), standby_power=0.05)
BOILER = Boiler(rated_capacity=9.0, rated_efficiency=0.9, minimum_part_load=0.3, standby_loss=0.2)
CHP = PartLoadChp(
    rated_power=6.0, load=(0.5, 1.0), electric_efficiency=(0.3, 0.35), thermal_efficiency=(0.5, 0.5)
)
LOSSY = QuadraticLoss(rated_power=4.0, no_load=0.1, quadratic=0.05, standby=0.02)
CAR = Vehicle(energy_capacity=9.0, charge_power_max=4.0, charge_efficiency=0.9)
FAN = PartLoadFan(rated_flow=2.0, rated_power=1.0)
SET = Genset(rated_power=3.0, fuel_slope=0.25, heating_value=10.0, minimum_load=0.3, ramp_up=2.0)
SET = replace(SET, start_fuel=0.1, fuel_no_load=0.1)
TURBINE = ExtractionChp(
    condensing_power_max=6.0,
    condensing_power_min=2.0,
    power_loss=0.15,
    power_to_heat=0.6,
    fuel_slope=2.6,
)
COLD = {"domain": "thermal", "cold": True}
UNITS: dict[str, Module] = {
    "battery with a converter": electrical.battery(BATTERY, loss=LOSSY),
    "cold store": electrical.battery(BATTERY, **COLD),  # type: ignore[arg-type]
    "vehicle": electrical.vehicle(CAR, Sessions([0.3, 4.0], [2.6, 9.0], [2.0, 5.0])),
    "tank": thermal.tank(MixedTank(mass=300.0, loss_conductance=0.01), 50.0, {"charge": 3.0}),
    "cold tank": thermal.tank(MixedTank(mass=300.0), 10.0, {}, cold=True),
    "heat pump": thermal.heat_pump(PUMP),
    "stated heat pump": thermal.stated_heat_pump(8.0, 0.1, Table((0.2, 1.0), (0.3, 1.0))),
    "chiller": thermal.chiller(CHILLER),
    "chiller on a bus": thermal.chiller(CHILLER, condenser_bus=True),
    "boiler": thermal.boiler(BOILER),
    "gensets": electrical.generating_set(
        SET, lambda p: SET.fuel_rate(p, True), 3, 10.0, (1.0, 2.0)
    ),
    "turbine": thermal.turbine(TURBINE),
    "store that loses": electrical.battery(BATTERY, standing=True),
    "demand that gives way": electrical.flexible_load(3.0, 4.0),
    "job": electrical.job(3.0, 1.5, (1.0, 9.0), 2),
    "air": thermal.air_handler(FAN, 0.5, (14.0, 18.0), (3.0, 9.0), {"one": 30.0, "two": np.inf}),
    "engine": thermal.engine(CHP),
    "fans": thermal.several(thermal.fan(FAN), 3, 2.0),
    "heat pumps": thermal.several(thermal.heat_pump(PUMP), 2, 8.0),
    "tower": thermal.cooling_tower(YorkCalcTower(rated_water_flow=2.0, rated_fan_power=1.0)),
    "cooling coil": thermal.emitter(2.0, cooling=True),
}
FLOWS = dict.fromkeys(("demand", "one.flow", "two.flow", "standing"), (0, 1.5))
WITHIN = FLOWS | {
    "leaving": (6, 8),
    "sink": (30, 45),
    "source": (0, 10),
    "cop": (2, 4),
    "water": (30, 60),
}
WITHIN |= {"faded": (0, 0.5)}


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("hours", [0.25, 1.0])
def test_every_unit_balances_and_is_never_beyond_its_content(name: str, hours: float) -> None:
    rng, unit = np.random.default_rng(3), UNITS[name]
    state = unit.reset({})
    for _ in range(30):
        inputs = {
            p.name: float(rng.uniform(*WITHIN.get(p.name, (-2.0, 9.0))))
            for p in unit.ports
            if p.role != "observation"
        }
        inputs |= {n: abs(v) for n, v in inputs.items() if n in ("heat_rejected", "water_flow")}
        inputs |= unit.possible(state, inputs, hours)
        done = unit.step(state, inputs, hours)
        values = {**inputs, **done.outputs}
        net = (
            done.entered
            - done.left
            - sum(p.sign * values[p.name] for p in unit.ports if p.way and p.unit == "kW")
        )
        grown = unit.stored({**state, **done.state}) - unit.stored(state)
        assert net * hours == pytest.approx(grown, abs=1e-9)
        state = {**state, **done.state}
        least = -20.0 if name == "store that loses" else -1e-6  # which may be colder than empty
        assert least <= state.get("energy", 0.0) <= 9.0 + 1e-9


def test_as_few_of_several_run_as_are_enough() -> None:
    fans = thermal.several(thermal.fan(PartLoadFan(rated_flow=2.0, rated_power=1.0), 1.0), 3, 2.0)
    flows = [fans.step({}, {"load": load}, 1.0).outputs["flow"] for load in (0.0, 1.5, 2.5, 9.0)]
    assert flows == [0.0, 2.0, 4.0, 6.0]


def test_rooms_are_nodes() -> None:
    with pytest.raises(ParameterError, match="no node 'hall' for a room; known: living, wall, att"):
        thermal.heat_network(ROOMS, ("hall",), {})


# -- wiring ---------------------------------------------------------------------------------------


def bus(*members: str, domain: Any = "electrical", name: str = "b") -> Bus:
    return Bus(name=name, domain=domain, members=members)


PARTS = {
    "battery": electrical.battery(BATTERY),
    "load": electrical.load(),
    "grid": electrical.grid(),
    "grid2": electrical.grid(),
    "heater": thermal.converter(),
}


def test_two_members_that_balance_one_bus_are_refused() -> None:
    with pytest.raises(WiringError, match="one member can take"):
        System(modules=PARTS, buses=(bus("load.power", "grid.exchange", "grid2.exchange"),))


def test_an_algebraic_loop_is_named() -> None:
    """Each connection takes what the other one leaves."""
    two = {name: electrical.grid() for name in ("a", "b")}
    through = Module(
        ports=(
            *two["a"].ports[:1],
            Port("through", "kW", "electrical", role="observation", way="takes"),
        ),
        step=lambda state, inputs, hours: Outcome(outputs={"through": inputs["exchange"]}),
    )
    with pytest.raises(WiringError, match="algebraic loop: a waits for b waits for a"):
        System(
            modules={"a": through, "b": through},
            buses=(bus("a.exchange", "b.through"), bus("b.exchange", "a.through", name="c")),
        )


def home(**change: Module) -> System:
    modules = {"battery": PARTS["battery"], "load": PARTS["load"], "grid": PARTS["grid"], **change}
    members = (f"{n}.{p.name}" for n, m in modules.items() for p in m.ports if p.way)
    return System(modules=modules, buses=(bus(*members),))


PLAN = {"battery.charge": 0.0, "battery.discharge": 0.0}


@pytest.mark.parametrize(
    ("plan", "outside", "message"),
    [
        ({"battery.charge": 0.0}, {"load.power": 1.0}, "action battery.discharge is missing"),
        (PLAN, {}, "the disturbance load.power is missing"),
        (PLAN | {"battery.chrge": 1.0}, {"load.power": 1.0}, "battery.chrge is no open action"),
        (PLAN, {"load.power": np.inf}, "load.power is inf kW; give a finite"),
    ],
)
def test_a_wrong_step_says_what_is_wrong_and_changes_nothing(
    plan: dict[str, float], outside: dict[str, float], message: str
) -> None:
    simulation = Simulation(home(), 1.0)
    before = simulation.state()
    with pytest.raises(ParameterError, match=message):
        simulation.step(plan, outside)
    assert simulation.state() == before


def test_wrong_starts_say_what_is_wrong() -> None:
    simulation = Simulation(home(), 1.0)
    with pytest.raises(ParameterError, match=r"no state .battery\.enrgy.; known states: battery"):
        simulation.reset({"battery.enrgy": 1.0})
    with pytest.raises(ParameterError, match="battery: the initial energy is nan kWh"):
        simulation.reset({"battery.energy": np.nan})
    bare = electrical.battery(Battery(energy_capacity=1.0))
    with pytest.raises(ParameterError, match="the initial energy is missing; give it in kWh"):
        Simulation(home(battery=bare), 1.0).step(PLAN, {"load.power": 1.0})


def test_a_module_that_makes_energy_is_found() -> None:
    port = observation("power", "kW", "electrical", way="gives")
    free = Module(ports=(port,), step=lambda state, inputs, hours: Outcome(outputs={"power": 0.25}))
    step = Simulation(home(free=free), 1.0).step(PLAN, {"load.power": 1.0})
    assert step.imbalances["free"] == pytest.approx(-0.25)
    assert step.imbalances["load"] == pytest.approx(0.0)
