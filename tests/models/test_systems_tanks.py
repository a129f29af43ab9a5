"""Tanks, ice, fans and pumps in systems: their own numbers, with every flow on a bus."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models import Heater
from engiagent.models.hvac.curves import Polynomial
from engiagent.models.hvac.turbomachines import PartLoadFan, SystemCurve, Turbomachine
from engiagent.models.ranges import ParameterError
from engiagent.models.storage.ice_tank import IceTankCurves
from engiagent.models.storage.mixed_tank import Inflow, MixedTank
from engiagent.models.storage.stratified_tank import StratifiedTank
from engiagent.models.storage.tank_parts import Immersed, Port
from engiagent.models.systems.electrical import GridModule
from engiagent.models.systems.heating import HeaterModule
from engiagent.models.systems.ice import IceTankModule
from engiagent.models.systems.junctions import SurroundingsModule
from engiagent.models.systems.machines import FanModule, PumpModule
from engiagent.models.systems.module import Module
from engiagent.models.systems.system import System
from engiagent.models.systems.tanks import MixedTankModule, StratifiedTankModule
from engiagent.models.systems.wiring import Bus

SEEDS = st.integers(0, 2**32 - 1)
MAINS = Bus(name="mains", domain="electrical", members=("heater.electric_power", "grid.exchange"))
WARM = Bus(name="warm", domain="thermal", members=("heater.heat", "tank.heating"))
SUPPLY = {"heater": HeaterModule(Heater(electric_power_max=6.0)), "grid": GridModule()}


@settings(max_examples=25)
@given(SEEDS, st.sampled_from([0.1, 1.0]))
def test_a_mixed_tank_with_draws(seed: int, hours: float) -> None:
    rng = np.random.default_rng(seed)
    tank = MixedTank(mass=300.0, loss_conductance=0.002, temperature_max=70.0)
    power, draw, cold = rng.uniform(0, 6, 10), rng.uniform(0, 0.1, 10), rng.uniform(5, 15, 10)
    system = System(modules={"tank": MixedTankModule(tank, 55.0), **SUPPLY}, buses=(MAINS, WARM))
    record = system.initialize(hours).replay(
        {"heater.electric_power": power}, {"tank.draw": draw, "tank.cold": cold}
    )
    path = tank.simulate(
        55.0, step_hours=hours, heat=power, inflows=(Inflow(flow=draw, temperature=cold),)
    )
    assert record["tank.temperature"] == pytest.approx(path.temperature, rel=1e-12)
    assert record["tank.mean_temperature"] == pytest.approx(path.mean_temperature, rel=1e-12)
    assert record.worst_imbalance() <= 1e-9
    assert record.violations["tank.temperature"] == pytest.approx(
        np.maximum(path.temperature[1:] - 70.0, 0.0)
    )


def test_several_mixed_tanks_are_one_module() -> None:
    tank = MixedTank(mass=np.array([100.0, 200.0]), loss_conductance=0.001)
    system = System(modules={"tank": MixedTankModule(tank, 50.0)})
    record = system.initialize(0.5).replay({}, {"tank.draw": [[0.01, 0.0]] * 4})
    assert record["tank.temperature"].shape == (5, 2)
    assert record["tank.temperature"][-1, 0] < record["tank.temperature"][-1, 1] < 50.0
    assert record.worst_imbalance() <= 1e-9


@settings(max_examples=25)
@given(SEEDS, st.sampled_from(["exact", "implicit"]))
def test_a_stratified_tank_with_pipes_and_a_coil(seed: int, scheme: str) -> None:
    rng = np.random.default_rng(seed)
    tank = StratifiedTank(
        mass=800.0,
        layers=6,
        loss_conductance=0.003,
        ports=(Port(inlet=5, outlet=0),),
        exchangers=(Immersed(layers=(3, 4, 5), conductance=0.5),),
        scheme=scheme,  # type: ignore[arg-type]
    )
    module = StratifiedTankModule(
        tank=tank,
        pipes=("taps",),
        exchangers=("solar",),
        heated_layer=1,
        initial=np.linspace(60.0, 40.0, 6),
    )
    outside = SurroundingsModule(domain="thermal")
    system = System(
        modules={"tank": module, "users": outside, "roof": outside, **SUPPLY},
        buses=(
            MAINS,
            WARM,
            Bus(name="taps", domain="thermal", members=("tank.taps.heat", "users.exchange")),
            Bus(name="coil", domain="thermal", members=("tank.solar.heat", "roof.exchange")),
        ),
    )
    power, draw = rng.uniform(0, 6, 5), rng.uniform(0, 0.05, 5)
    sun, hot = rng.uniform(0, 0.1, 5), rng.uniform(30, 80, 5)
    record = system.initialize(0.25).replay(
        {"heater.electric_power": power},
        {
            "tank.taps.flow": draw,
            "tank.taps.inlet": 10.0,
            "tank.solar.flow": sun,
            "tank.solar.inlet": hot,
        },
    )
    heat = np.zeros((5, 6))
    heat[:, 1] = power
    path = tank.simulate(
        np.linspace(60.0, 40.0, 6),
        step_hours=0.25,
        periods=5,
        flows=[draw],
        inlets=[10.0],
        exchanger_flows=[sun],
        exchanger_inlets=[hot],
        heat=heat,
    )
    assert record["tank.temperature"] == pytest.approx(path.temperature, rel=1e-12)
    assert record["tank.taps.outlet"] == pytest.approx(path.outlets[:, 0], rel=1e-12)
    assert record["roof.exchange"] == pytest.approx(path.exchanger_heat[:, 0], abs=1e-12)
    assert (record["users.exchange"] <= 0).all()
    assert record.worst_imbalance() <= 1e-9
    assert record.worst_residual() <= 1e-12


def test_names_fit_the_tank() -> None:
    tank = StratifiedTank(mass=800.0, layers=4, ports=(Port(inlet=3, outlet=0),))
    with pytest.raises(ParameterError, match="1 ports and 0 names for them"):
        StratifiedTankModule(tank=tank)
    with pytest.raises(ParameterError, match=r"heated layer is 4; give 0 \(top\) to 3"):
        StratifiedTankModule(tank=tank, pipes=("taps",), heated_layer=4)
    many = StratifiedTank(mass=np.array([800.0, 900.0]), layers=4)
    with pytest.raises(ParameterError, match="several units; give each a module"):
        StratifiedTankModule(tank=many)


def cold_store(module: Module, members: tuple[str, ...]) -> System:
    """Ice between a thermal bus and surroundings that take and give all."""
    names = tuple(f"ice.{name}" for name in members)
    return System(
        modules={"ice": module, "loop": SurroundingsModule(domain="thermal")},
        buses=(Bus(name="brine", domain="thermal", members=(*names, "loop.exchange")),),
    )


def test_ice_freezes_and_melts() -> None:
    curve = (0.0, 0.09, -0.15, 0.612, -0.324, -0.216)
    tank = IceTankCurves(
        energy_capacity=1000.0, charge_curve=curve, discharge_curve=curve, loss_rate=0.001
    )
    run = cold_store(IceTankModule(tank, 500.0), ("charge", "discharge")).initialize(1.0)
    record = run.replay({"ice.charge": [100.0, 0.0, 900.0], "ice.discharge": [0.0, 80.0, 0.0]})
    first = tank.step(500.0, charge=100.0, discharge=0.0, step_hours=1.0)
    assert record["ice.energy"][1] == pytest.approx(float(first.energy))
    assert record["loop.exchange"] == pytest.approx([-100.0, 80.0, -900.0])
    assert record.worst_imbalance() <= 1e-9 * 1000.0
    assert record.violations["ice.energy"][:2].tolist() == [0.0, 0.0]
    assert record.broken_limits()["ice.energy"] == pytest.approx(record["ice.energy"][3] - 1000.0)
    assert record.violations["ice.charge"][2] > 700.0


def test_fan_and_pump_take_what_their_curves_say() -> None:
    fan = PartLoadFan(rated_flow=5.0, rated_power=4.0, heat_fraction=0.9)
    pump = Turbomachine(
        pressure_curve=Polynomial((300.0, 0.0, -2.0e5)),
        efficiency_curve=Polynomial((0.0, 50.0, -900.0)),
        flow_max=0.035,
    )
    curve = SystemCurve.through(flow=0.02, pressure=220.0)
    system = System(
        modules={
            "fan": FanModule(fan),
            "pump": PumpModule(pump, curve),
            "grid": GridModule(),
            "air": SurroundingsModule(domain="thermal"),
        },
        buses=(
            Bus(
                name="mains",
                domain="electrical",
                members=("fan.electric_power", "pump.electric_power", "grid.exchange"),
            ),
            Bus(name="duct", domain="thermal", members=("fan.heat", "air.exchange")),
        ),
    )
    record = system.initialize(1.0).replay(
        {"fan.flow": [5.0, 2.5, 6.0], "pump.speed": [1.0, 0.5, 0]}
    )
    assert record["fan.electric_power"] == pytest.approx(fan.power([5.0, 2.5, 6.0]))
    assert record["pump.flow"] == pytest.approx([0.02, 0.01, 0.0])
    # The affinity laws: half the speed, an eighth of the power.
    assert record["pump.electric_power"] == pytest.approx([6.875, 6.875 / 8, 0.0], abs=1e-9)
    assert record.broken_limits() == {"fan.flow": pytest.approx(1.0)}
    assert record.worst_imbalance() <= 1e-9
