"""Every wrapped unit balances under any inputs; its limits and its links do what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models import Battery
from engiagent.models.battery_losses import QuadraticLoss
from engiagent.models.buildings.network import HeatNetwork, Node
from engiagent.models.buildings.network import Link as HeatLink
from engiagent.models.hvac.boiler import CONDENSING_CURVE, Boiler
from engiagent.models.hvac.chiller import Chiller
from engiagent.models.hvac.curves import Biquadratic, Polynomial
from engiagent.models.hvac.heat_pump import CarnotCop, HeatPump
from engiagent.models.ranges import ParameterError
from engiagent.models.systems import electrical, signals, thermal
from engiagent.models.systems.module import Module, Outcome, action
from engiagent.models.systems.simulation import Simulation
from engiagent.models.systems.system import Bus, Link, System
from tests.models.test_systems import broken, worst

BUILDING = HeatNetwork(
    nodes=(
        Node(name="air", initial_temperature=20.0),
        Node(name="slab", capacity=4.0, initial_temperature=21.0),
        Node(name="walls", capacity=6.0, initial_temperature=18.0),
    ),
    links=(
        HeatLink(one="supply", other="air", conductance=0.05, one_way=True),
        HeatLink(one="ambient", other="walls", conductance=0.15),
        HeatLink(one="walls", other="air", conductance=0.6),
        HeatLink(one="slab", other="air", conductance=0.8),
        HeatLink(one="ground", other="slab", conductance=0.03),
    ),
    boundaries=("ambient", "ground", "supply"),
)
PUMP = HeatPump(
    rated_capacity=9.0,
    cop_map=CarnotCop(fraction=0.5, sink_approach=5.0),
    minimum_part_load=0.3,
    standby_power=0.02,
)
EVEN = Biquadratic((1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
CHILLER = Chiller(
    rated_capacity=50.0,
    rated_cop=5.0,
    capacity_curve=EVEN,
    eir_curve=EVEN,
    part_load_curve=Polynomial((0.2, 0.3, 0.5)),
    minimum_part_load=0.1,
    heat_to_condenser=0.9,
)
BOILER = Boiler(rated_capacity=20.0, rated_efficiency=0.89, efficiency_curve=CONDENSING_CURVE)
SETS = {
    "battery": electrical.battery(
        Battery(energy_capacity=80.0, self_discharge=0.001, initial_energy=40.0),
        loss=QuadraticLoss(rated_power=50.0, no_load=0.5, proportional=0.02, standby=0.1),
    ),
    "building": thermal.heat_network(BUILDING, ("air", "slab")),
    "heat pump": thermal.heat_pump(PUMP, source_bus=True),
    "chiller": thermal.chiller(CHILLER),
    "boiler": thermal.boiler(BOILER),
    "boilers": thermal.several(thermal.boiler(BOILER), 3, 20.0),
}
# What the inputs are drawn from where 0 to 10 is not what they mean.
RANGES: dict[str, tuple[float, float]] = {
    "sink": (30, 50),
    "leaving": (5, 12),
    "entering": (20, 32),
    "water": (30, 80),
}


def alone(module: Module) -> System:
    """Every flow of the unit on a bus with something that takes it or gives it."""
    modules, buses = {"unit": module}, []
    for port in module.ports:
        if port.way is None:
            continue
        other, flow = f"by_{port.name.replace('.', '_')}", "exchange"
        if port.is_free:
            flow = "flow"
            modules[other] = Module(
                ports=(action("flow", "kW", port.domain, way="gives", shape=port.shape),),
                step=lambda state, inputs, hours: Outcome(entered=float(inputs["flow"].sum())),
            )
        else:
            modules[other] = signals.surroundings(port.domain)
        members = (f"unit.{port.name}", f"{other}.{flow}")
        buses.append(Bus(name=other, domain=port.domain, members=members))
    return System(modules=modules, buses=tuple(buses))


@pytest.mark.parametrize("name", SETS)
@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0]))
def test_every_unit_balances(name: str, seed: int, hours: float) -> None:
    rng, system = np.random.default_rng(seed), alone(SETS[name])

    def drawn(ports: dict[str, object]) -> dict[str, np.ndarray]:
        return {
            full: rng.uniform(*RANGES.get(full.rpartition(".")[2], (0, 10)), (6, *port.shape))  # type: ignore[attr-defined]
            for full, port in ports.items()
        }

    record = Simulation(system, hours).replay(
        drawn(dict(system.actions)), drawn(dict(system.disturbances))
    )
    assert worst(record.imbalances) <= 1e-9 * 1000.0
    assert worst(record.residuals) <= 1e-9


def test_a_building_with_a_heat_pump_under_a_rule_is_what_both_simulate() -> None:
    periods = 48
    ambient = 2.0 + 5.0 * np.sin(np.arange(periods) / 4)
    system = System(
        modules={
            "weather": signals.profile(ambient, "degC", "thermal"),
            "house": thermal.heat_network(BUILDING, ("air",)),
            "pump": thermal.heat_pump(PUMP),
            "grid": electrical.grid(),
            "rule": signals.controller(
                {"reading": "degC"},
                {"command": "kW"},
                lambda read: {"command": min(max(4.0 * (22.0 - read["reading"]), 0.0), 9.0)},
            ),
        },
        buses=(
            Bus(
                name="mains", domain="electrical", members=("pump.electric_power", "grid.exchange")
            ),
            Bus(name="warm", domain="thermal", members=("pump.heat", "house.air.heating")),
        ),
        links=(
            Link("weather.value", "house.ambient"),
            Link("weather.value", "pump.source"),
            Link("house.air.temperature", "rule.reading"),
            Link("rule.command", "pump.load"),
        ),
    )
    record = Simulation(system, 0.25).replay(
        {}, {"pump.sink": 35.0, "house.ground": 10.0, "house.supply": 17.0}, periods=periods
    )
    assert broken(record) == {}
    done = PUMP.operate(record["rule.command"], source=ambient, sink=35.0)
    assert record["grid.import"] == pytest.approx(done.power, rel=1e-12)
    run = BUILDING.simulate(
        {"ambient": ambient, "ground": 10.0, "supply": 17.0}, 0.25, {"air": done.heat}
    )
    assert record["house.slab.temperature"] == pytest.approx(run.temperature[:, 1], rel=1e-9)
    assert record["house.air.mean_temperature"] == pytest.approx(
        run.mean_temperature[:, 0], rel=1e-9
    )


def test_rooms_are_nodes() -> None:
    with pytest.raises(ParameterError, match="no node 'attic' for a room; known: air, slab, walls"):
        thermal.heat_network(BUILDING, ("attic",))
