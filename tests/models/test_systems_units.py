"""Each wrapped unit in a system of its own does what the unit itself simulates, and balances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models.battery_losses import QuadraticLoss
from engiagent.models.battery_system import BatteryState, BatterySystem
from engiagent.models.chp import ExtractionChp, PartLoadChp
from engiagent.models.ev import EvFleet
from engiagent.models.genset import Genset
from engiagent.models.pv import PvArray
from engiagent.models.systems.batteries import BatterySystemModule
from engiagent.models.systems.electrical import GridModule
from engiagent.models.systems.generation import ExtractionChpModule, GensetModule, PartLoadChpModule
from engiagent.models.systems.junctions import SurroundingsModule
from engiagent.models.systems.module import Module
from engiagent.models.systems.record import Record
from engiagent.models.systems.renewables import PvModule, WindModule
from engiagent.models.systems.system import System
from engiagent.models.systems.vehicles import EvFleetModule
from engiagent.models.systems.wiring import Bus
from engiagent.models.wind import WindTurbine


def alone(module: Module, electrical: tuple[str, ...]) -> System:
    """The unit on a bus with a grid."""
    members = (*(f"unit.{name}" for name in electrical), "grid.exchange")
    return System(
        modules={"unit": module, "grid": GridModule()},
        buses=(Bus(name="mains", domain="electrical", members=members),),
    )


def assert_balanced(record: Record, scale: float = 1.0) -> None:
    assert record.worst_residual() <= 1e-9 * scale
    assert record.worst_imbalance() <= 1e-9 * scale


LOSS = QuadraticLoss(rated_power=50.0, no_load=0.5, proportional=0.02, standby=0.1)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(), (3,)]), st.sampled_from([np.inf, 0.4]))
def test_batteries_behind_converters(seed: int, units: tuple[int, ...], warmth: float) -> None:
    rng = np.random.default_rng(seed)
    battery = BatterySystem(
        energy_capacity=rng.uniform(50, 100, units),
        charge_loss=LOSS,
        discharge_loss=LOSS,
        self_discharge=0.001,
        heat_capacity=warmth,
        heat_transfer=0.02,
        heat_fraction=0.7,
    )
    start = BatteryState(energy=40.0, temperature=15.0)
    charge, discharge = rng.uniform(0, 40, (2, 6, *units)) * rng.integers(0, 2, (2, 6, *units))
    ambient = rng.uniform(-5, 30, 6)
    run = alone(BatterySystemModule(battery, start), ("charge", "discharge")).initialize(0.25)
    record = run.replay(
        {"unit.charge": charge, "unit.discharge": discharge}, {"unit.ambient": ambient}
    )
    around = ambient.reshape(-1, *(1 for _ in units)) + np.zeros_like(charge)
    path = battery.simulate(charge, discharge, 0.25, start, around)
    assert record["unit.energy"] == pytest.approx(path.energy, rel=1e-12)
    assert record["unit.temperature"] == pytest.approx(path.temperature, rel=1e-12)
    assert_balanced(record)


def test_pv_and_wind_follow_the_weather() -> None:
    rng = np.random.default_rng(3)
    sun, air, wind = rng.uniform(0, 1000, 8), rng.uniform(-5, 30, 8), rng.uniform(0, 30, 8)
    sun[0] = 0.0
    array = PvArray(dc_capacity=np.array([5.0, 10.0]), ac_capacity=6.0, night_power=0.01)
    run = alone(PvModule(array), ("power", "night_power")).initialize(1.0)
    record = run.replay(
        {"unit.curtailed": [[0.0, 0.1]] * 8},
        {"unit.irradiance": sun, "unit.air_temperature": air, "unit.wind_speed": wind},
    )
    done = array.output(sun[:, None], air[:, None], wind[:, None])
    assert record["unit.power"] == pytest.approx(done.ac_power - [0.0, 0.1], abs=1e-12)
    assert record["grid.export"] - record["grid.import"] == pytest.approx(
        (done.ac_power - done.night_power).sum(axis=1) - 0.1, abs=1e-12
    )
    assert record.violations["unit.curtailed"][0] == pytest.approx([0.0, 0.1])
    assert_balanced(record)
    turbine = WindTurbine(speeds=(3.0, 12.0, 25.0), powers=(0.0, 9.0, 9.0), restart_speed=20.0)
    speed = np.array([10.0, 26.0, 22.0, 19.0, 24.0, 2.0])
    record = (
        alone(WindModule(turbine), ("power",)).initialize(1.0).replay({}, {"unit.speed": speed})
    )
    running = turbine.running(speed)
    assert record["unit.running"][1:].astype(bool).tolist() == running.tolist()
    assert record["unit.power"] == pytest.approx(turbine.power(speed, running=running))
    assert record["unit.power"][2] == 0.0
    assert_balanced(record)


def test_a_generating_set_burns_what_it_simulates() -> None:
    genset = Genset(
        rated_power=100.0,
        fuel_no_load=4.0,
        fuel_slope=0.24,
        heating_value=9.96,
        start_fuel=1.0,
        minimum_load=0.3,
        ramp_up=80.0,
        minimum_up_hours=2.0,
        emission_factor=2.64,
    )
    power = np.array([0.0, 60.0, 20.0, 0.0, 50.0, 90.0, 95.0])
    running = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    run = alone(GensetModule(genset), ("power",)).initialize(0.5)
    record = run.replay({"unit.power": power, "unit.running": running})
    path = genset.simulate(power, running, 0.5)
    excess = genset.excess(power, running, 0.5)
    assert record["unit.fuel"] * 0.5 == pytest.approx(path.fuel)
    assert record["unit.emissions"] * 0.5 == pytest.approx(path.emissions)
    assert record["unit.start"].astype(bool).tolist() == path.starts.tolist()
    for name, values in vars(excess).items():
        assert record.violations[f"unit.{name}"] == pytest.approx(values), name
    assert record.broken_limits().keys() == {"unit.below_minimum", "unit.too_short"}
    assert_balanced(record, 100.0)
    # Power of a standing set comes from nowhere, and the books say so.
    record = run.replay({"unit.power": [5.0], "unit.running": 0.0})
    assert record.imbalances["unit.energy"][0] == pytest.approx(-5.0)


def with_heat(module: Module) -> System:
    """The unit between a grid and a network that takes all its heat."""
    return System(
        modules={
            "unit": module,
            "grid": GridModule(),
            "city": SurroundingsModule(domain="thermal"),
        },
        buses=(
            Bus(name="mains", domain="electrical", members=("unit.power", "grid.exchange")),
            Bus(name="warm", domain="thermal", members=("unit.heat", "city.exchange")),
        ),
    )


def test_combined_heat_and_power_gives_both() -> None:
    engine = PartLoadChp(
        rated_power=100.0,
        load=(0.5, 1.0),
        electric_efficiency=(0.32, 0.36),
        thermal_efficiency=(0.55, 0.5),
    )
    power = np.array([0.0, 50.0, 75.0, 100.0, 20.0, 110.0])
    record = with_heat(PartLoadChpModule(engine)).initialize(1.0).replay({"unit.power": power})
    done = engine.output(power)
    assert record["city.exchange"] == pytest.approx(-done.heat)
    assert record["unit.fuel"] == pytest.approx(done.fuel)
    assert record.violations["unit.below_minimum"].tolist() == [0, 0, 0, 0, 30, 0]
    assert record.violations["unit.above_rated"].tolist() == [0, 0, 0, 0, 0, 10]
    assert_balanced(record, 100.0)
    turbine = ExtractionChp(
        condensing_power_max=100.0,
        condensing_power_min=40.0,
        power_loss=0.15,
        power_to_heat=0.6,
        fuel_slope=2.5,
        fuel_no_load=20.0,
    )
    plan = {"unit.power": [85.0, 50.0, 0.0], "unit.heat": [100.0, 100.0, 0.0]}
    record = with_heat(ExtractionChpModule(turbine)).initialize(1.0).replay(plan)
    assert record["unit.fuel"].tolist() == [270.0, 182.5, 0.0]
    assert record.violations["unit.region"] == pytest.approx([0.0, 10.0, 0.0], abs=1e-9)
    assert_balanced(record, 100.0)


def test_vehicles_charge_and_drive() -> None:
    fleet = EvFleet(
        energy_capacity=[50.0, 60.0],
        charge_power_max=11.0,
        discharge_power_max=[0.0, 10.0],
        charge_efficiency=0.9,
        discharge_efficiency=0.92,
        consumption=0.2,
        minimum_energy=5.0,
    )
    rng = np.random.default_rng(5)
    charge, discharge = rng.uniform(0, 11, (2, 12, 2)) * rng.integers(0, 2, (2, 12, 2))
    distance = rng.uniform(0, 15, (12, 2))
    run = alone(EvFleetModule(fleet, 30.0), ("charge", "discharge")).initialize(0.5)
    plan = {"unit.charge": charge, "unit.discharge": discharge}
    record = run.replay(plan, {"unit.distance": distance, "unit.plugged": 0.5})
    path = fleet.drive(charge, discharge, distance, 0.5, 30.0)
    assert record["unit.energy"] == pytest.approx(path)
    assert record.violations["unit.charge"] == pytest.approx(np.maximum(charge - 5.5, 0.0))
    assert record.violations["unit.empty"] == pytest.approx(np.maximum(5.0 - path[1:], 0.0))
    assert_balanced(record)
