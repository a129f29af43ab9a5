"""Every wrapped unit balances under any inputs; its limits and its links do what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models import Battery
from engiagent.models.battery_losses import QuadraticLoss
from engiagent.models.buildings.network import HeatNetwork, Node
from engiagent.models.buildings.network import Link as HeatLink
from engiagent.models.chp import ExtractionChp, PartLoadChp
from engiagent.models.ev import EvFleet
from engiagent.models.genset import Genset
from engiagent.models.hvac.boiler import CONDENSING_CURVE, Boiler
from engiagent.models.hvac.chiller import Chiller
from engiagent.models.hvac.curves import Biquadratic, Polynomial
from engiagent.models.hvac.heat_pump import CarnotCop, HeatPump
from engiagent.models.hvac.turbomachines import PartLoadFan, SystemCurve, Turbomachine
from engiagent.models.pv import PvArray
from engiagent.models.ranges import ParameterError
from engiagent.models.storage.ice_tank import IceTankCurves
from engiagent.models.storage.mixed_tank import MixedTank
from engiagent.models.storage.stratified_tank import Immersed, Port, StratifiedTank
from engiagent.models.systems import electrical, signals, thermal
from engiagent.models.systems.module import Module, Outcome, action
from engiagent.models.systems.simulation import Simulation
from engiagent.models.systems.system import Bus, Link, System
from engiagent.models.wind import WindTurbine

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
TANK = StratifiedTank(
    mass=800.0,
    layers=6,
    loss_conductance=0.003,
    ports=(Port(inlet=5, outlet=0),),
    exchangers=(Immersed(layers=(3, 4, 5), conductance=0.5),),
)
ICE = (0.0, 0.09, -0.15, 0.612, -0.324, -0.216)
MACHINE = Turbomachine(
    pressure_curve=Polynomial((300.0, 0.0, -2.0e5)),
    efficiency_curve=Polynomial((0.0, 50.0, -900.0)),
    flow_max=0.035,
)
GENSET = Genset(
    rated_power=100.0, fuel_no_load=4.0, fuel_slope=0.24, heating_value=9.96, start_fuel=1.0
)
SETS = {
    "battery": electrical.battery(
        Battery(energy_capacity=80.0, self_discharge=0.001, initial_energy=40.0),
        loss=QuadraticLoss(rated_power=50.0, no_load=0.5, proportional=0.02, standby=0.1),
    ),
    "vehicles": electrical.ev_fleet(
        EvFleet(energy_capacity=[50.0, 60.0], charge_power_max=11.0, charge_efficiency=0.9), 30.0
    ),
    "pv": electrical.pv(
        PvArray(dc_capacity=np.array([5.0, 10.0]), ac_capacity=6.0, night_power=0.01)
    ),
    "wind": electrical.wind(WindTurbine(speeds=(3.0, 12.0, 25.0), powers=(0.0, 9.0, 9.0))),
    "engine": electrical.part_load_chp(
        PartLoadChp(
            rated_power=100.0,
            load=(0.5, 1.0),
            electric_efficiency=(0.32, 0.36),
            thermal_efficiency=(0.55, 0.5),
        )
    ),
    "turbine": electrical.extraction_chp(
        ExtractionChp(
            condensing_power_max=100.0,
            condensing_power_min=40.0,
            power_loss=0.15,
            power_to_heat=0.6,
            fuel_slope=2.5,
            fuel_no_load=20.0,
        )
    ),
    "genset": electrical.genset(GENSET),
    "building": thermal.heat_network(BUILDING, ("air", "slab")),
    "heat pump": thermal.heat_pump(PUMP, source_bus=True),
    "chiller": thermal.chiller(CHILLER),
    "boiler": thermal.boiler(BOILER),
    "mixed tank": thermal.mixed_tank(
        MixedTank(mass=np.array([100.0, 200.0]), loss_conductance=0.001), 50.0
    ),
    "layers": thermal.stratified_tank(
        TANK, pipes=("taps",), exchangers=("solar",), heated_layer=1, initial=np.linspace(60, 40, 6)
    ),
    "ice": thermal.ice_tank(
        IceTankCurves(
            energy_capacity=1000.0, charge_curve=ICE, discharge_curve=ICE, loss_rate=0.001
        ),
        500.0,
    ),
    "fan": thermal.fan(PartLoadFan(rated_flow=15.0, rated_power=4.0, heat_fraction=0.9)),
    "pump": thermal.pump(MACHINE, SystemCurve.through(flow=0.02, pressure=220.0)),
}
# What the inputs are drawn from where 0 to 10 is not what they mean.
RANGES: dict[str, tuple[float, float]] = {
    "sink": (30, 50),
    "leaving": (5, 12),
    "entering": (20, 32),
    "water": (30, 80),
}
RANGES |= {"irradiance": (0, 1000), "running": (1, 1), "speed": (0.1, 1), "plugged": (0, 1)}
RANGES |= {"density": (1, 1.3)}


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
                ports=(action("flow", domain=port.domain, way="gives", shape=port.shape),),
                step=lambda state, inputs, hours: Outcome(
                    entered={"energy": float(inputs["flow"].sum())}
                ),
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
    assert record.worst_imbalance() <= 1e-9 * 1000.0
    assert record.worst_residual() <= 1e-9


def test_limits_are_violations_and_a_set_that_stands_gives_nothing() -> None:
    run = Simulation(alone(SETS["genset"]), 1.0)
    record = run.replay({"unit.power": [5.0], "unit.running": 0.0})
    assert record.imbalances["unit.energy"][0] == pytest.approx(-5.0)
    assert record.broken_limits() == {"unit.while_standing": pytest.approx(5.0)}
    run = Simulation(alone(SETS["engine"]), 1.0)
    record = run.replay({"unit.power": [0.0, 20.0, 110.0]})
    assert record.violations["unit.below_minimum"].tolist() == [0, 30, 0]
    assert record.violations["unit.above_rated"].tolist() == [0, 0, 10]
    record = Simulation(alone(SETS["ice"]), 1.0).replay({"unit.charge": [900.0]})
    assert record.broken_limits()["unit.energy"] == pytest.approx(record["unit.energy"][1] - 1000)
    record = Simulation(alone(SETS["pump"]), 1.0).replay({"unit.speed": [1.0, 0.5, 0.0]})
    # The affinity laws: half the speed, an eighth of the power.
    assert record["unit.electric_power"] == pytest.approx([6.875, 6.875 / 8, 0.0], abs=1e-9)


def test_a_building_with_a_heat_pump_under_a_pi_controller_is_what_both_simulate() -> None:
    periods = 48
    ambient = 2.0 + 5.0 * np.sin(np.arange(periods) / 4)
    system = System(
        modules={
            "weather": signals.profile(ambient, "degC", "thermal"),
            "house": thermal.heat_network(BUILDING, ("air",)),
            "pump": thermal.heat_pump(PUMP),
            "grid": electrical.grid(),
            "pi": signals.proportional_integral("degC", gain=0.5, reset_hours=1.0, maximum=9.0),
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
            Link("house.air.temperature", "pi.reading"),
            Link("pi.command", "pump.load"),
        ),
    )
    record = Simulation(system, 0.25).replay(
        {"pi.set_point": 21.0},
        {"pump.sink": 35.0, "house.ground": 10.0, "house.supply": 17.0},
        periods=periods,
    )
    assert record["house.air.temperature"][16:] == pytest.approx(21.0, abs=0.6)
    assert record.broken_limits() == {}
    done = PUMP.operate(record["pi.command"], source=ambient, sink=35.0)
    assert record["grid.import"] == pytest.approx(done.power, rel=1e-12)
    run = BUILDING.simulate(
        {"ambient": ambient, "ground": 10.0, "supply": 17.0}, 0.25, {"air": done.heat}
    )
    assert record["house.slab.temperature"] == pytest.approx(run.temperature[:, 1], rel=1e-9)
    assert record["house.air.mean_temperature"] == pytest.approx(
        run.mean_temperature[:, 0], rel=1e-9
    )


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: thermal.stratified_tank(TANK), "1 ports and 0 names for them"),
        (
            lambda: thermal.stratified_tank(TANK, pipes=("a",), exchangers=("b",), heated_layer=6),
            r"heated layer is 6; give 0 \(top\) to 5",
        ),
        (
            lambda: thermal.stratified_tank(StratifiedTank(mass=np.array([800.0, 900.0]))),
            "several units; give each a module",
        ),
        (
            lambda: thermal.heat_network(BUILDING, ("attic",)),
            "no node 'attic' for a room; known: air, slab, walls",
        ),
    ],
)
def test_names_fit_the_unit(build: object, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        build()  # type: ignore[operator]
