"""Each wrapped unit in a system of its own does what the unit itself simulates, and balances."""

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
from engiagent.models.storage.mixed_tank import Inflow, MixedTank
from engiagent.models.storage.stratified_tank import StratifiedTank
from engiagent.models.storage.tank_parts import Immersed, Port
from engiagent.models.systems import electrical, signals, thermal
from engiagent.models.systems.module import Module
from engiagent.models.systems.simulation import Record, Simulation
from engiagent.models.systems.system import Bus, Link, System
from engiagent.models.wind import WindTurbine


def alone(module: Module, flows: tuple[str, ...]) -> System:
    """The unit on a bus with a grid."""
    members = (*(f"unit.{name}" for name in flows), "grid.exchange")
    return System(
        modules={"unit": module, "grid": electrical.grid()},
        buses=(Bus(name="mains", domain="electrical", members=members),),
    )


def assert_balanced(record: Record, scale: float = 1.0) -> None:
    assert record.worst_residual() <= 1e-9 * scale
    assert record.worst_imbalance() <= 1e-9 * scale


LOSS = QuadraticLoss(rated_power=50.0, no_load=0.5, proportional=0.02, standby=0.1)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_a_battery_behind_its_converter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    unit = Battery(energy_capacity=80.0, self_discharge=0.001, initial_energy=40.0)
    charge, discharge = rng.uniform(0, 40, (2, 6)) * rng.integers(0, 2, (2, 6))
    run = Simulation(alone(electrical.battery(unit, loss=LOSS), ("charge", "discharge")), 0.25)
    record = run.replay({"unit.charge": charge, "unit.discharge": discharge})
    lost = LOSS.loss(np.abs(charge - discharge))
    # What the converter loses is as if it were discharged without loss.
    path = unit.simulate(charge, discharge + lost, 0.25)
    assert record["unit.energy"] == pytest.approx(path, rel=1e-12)
    assert_balanced(record)


def test_pv_and_wind_follow_the_weather() -> None:
    rng = np.random.default_rng(3)
    sun, air, wind = rng.uniform(0, 1000, 8), rng.uniform(-5, 30, 8), rng.uniform(0, 30, 8)
    sun[0] = 0.0
    array = PvArray(dc_capacity=np.array([5.0, 10.0]), ac_capacity=6.0, night_power=0.01)
    run = Simulation(alone(electrical.pv(array), ("power", "night_power")), 1.0)
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
    run = Simulation(alone(electrical.wind(turbine), ("power",)), 1.0)
    record = run.replay({}, {"unit.speed": speed})
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
    run = Simulation(alone(electrical.genset(genset), ("power",)), 0.5)
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
            "grid": electrical.grid(),
            "city": signals.surroundings("thermal"),
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
    record = Simulation(with_heat(electrical.part_load_chp(engine)), 1.0).replay(
        {"unit.power": power}
    )
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
    record = Simulation(with_heat(electrical.extraction_chp(turbine)), 1.0).replay(plan)
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
    run = Simulation(alone(electrical.ev_fleet(fleet, 30.0), ("charge", "discharge")), 0.5)
    plan = {"unit.charge": charge, "unit.discharge": discharge}
    record = run.replay(plan, {"unit.distance": distance, "unit.plugged": 0.5})
    path = fleet.drive(charge, discharge, distance, 0.5, 30.0)
    assert record["unit.energy"] == pytest.approx(path)
    assert record.violations["unit.charge"] == pytest.approx(np.maximum(charge - 5.5, 0.0))
    assert record.violations["unit.empty"] == pytest.approx(np.maximum(5.0 - path[1:], 0.0))
    assert_balanced(record)


SEEDS = st.integers(0, 2**32 - 1)
MAINS = Bus(name="mains", domain="electrical", members=("heater.electric_power", "grid.exchange"))
WARM = Bus(name="warm", domain="thermal", members=("heater.heat", "tank.heating"))
SUPPLY = {"heater": thermal.heater(6.0), "grid": electrical.grid()}


@settings(max_examples=25)
@given(SEEDS, st.sampled_from([0.1, 1.0]))
def test_a_mixed_tank_with_draws(seed: int, hours: float) -> None:
    rng = np.random.default_rng(seed)
    tank = MixedTank(mass=300.0, loss_conductance=0.002, temperature_max=70.0)
    power, draw, cold = rng.uniform(0, 6, 10), rng.uniform(0, 0.1, 10), rng.uniform(5, 15, 10)
    system = System(modules={"tank": thermal.mixed_tank(tank, 55.0), **SUPPLY}, buses=(MAINS, WARM))
    record = Simulation(system, hours).replay(
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
    system = System(modules={"tank": thermal.mixed_tank(tank, 50.0)})
    record = Simulation(system, 0.5).replay({}, {"tank.draw": [[0.01, 0.0]] * 4})
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
    module = thermal.stratified_tank(
        tank,
        pipes=("taps",),
        exchangers=("solar",),
        heated_layer=1,
        initial=np.linspace(60.0, 40.0, 6),
    )
    outside = signals.surroundings("thermal")
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
    record = Simulation(system, 0.25).replay(
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
    layers = np.linspace(60.0, 40.0, 6)
    for n in range(5):
        done = tank.step(
            layers,
            step_hours=0.25,
            flows=[draw[n]],
            inlets=[10.0],
            exchanger_flows=[sun[n]],
            exchanger_inlets=[hot[n]],
            heat=heat[n],
        )
        layers = done.temperature
        assert record["tank.temperature"][n + 1] == pytest.approx(layers, rel=1e-12)
        assert record["tank.taps.outlet"][n] == pytest.approx(done.outlets[0], rel=1e-12)
        assert record["roof.exchange"][n] == pytest.approx(done.exchanger_heat[0], abs=1e-12)
    assert (record["users.exchange"] <= 0).all()
    assert record.worst_imbalance() <= 1e-9
    assert record.worst_residual() <= 1e-12


def test_names_fit_the_tank() -> None:
    tank = StratifiedTank(mass=800.0, layers=4, ports=(Port(inlet=3, outlet=0),))
    with pytest.raises(ParameterError, match="1 ports and 0 names for them"):
        thermal.stratified_tank(tank)
    with pytest.raises(ParameterError, match=r"heated layer is 4; give 0 \(top\) to 3"):
        thermal.stratified_tank(tank, pipes=("taps",), heated_layer=4)
    many = StratifiedTank(mass=np.array([800.0, 900.0]), layers=4)
    with pytest.raises(ParameterError, match="several units; give each a module"):
        thermal.stratified_tank(tank=many)


def cold_store(module: Module, members: tuple[str, ...]) -> System:
    """Ice between a thermal bus and surroundings that take and give all."""
    names = tuple(f"ice.{name}" for name in members)
    return System(
        modules={"ice": module, "loop": signals.surroundings("thermal")},
        buses=(Bus(name="brine", domain="thermal", members=(*names, "loop.exchange")),),
    )


def test_ice_freezes_and_melts() -> None:
    curve = (0.0, 0.09, -0.15, 0.612, -0.324, -0.216)
    tank = IceTankCurves(
        energy_capacity=1000.0, charge_curve=curve, discharge_curve=curve, loss_rate=0.001
    )
    run = Simulation(cold_store(thermal.ice_tank(tank, 500.0), ("charge", "discharge")), 1.0)
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
            "fan": thermal.fan(fan),
            "pump": thermal.pump(pump, curve),
            "grid": electrical.grid(),
            "air": signals.surroundings("thermal"),
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
    record = Simulation(system, 1.0).replay(
        {"fan.flow": [5.0, 2.5, 6.0], "pump.speed": [1.0, 0.5, 0]}
    )
    assert record["fan.electric_power"] == pytest.approx(fan.power([5.0, 2.5, 6.0]))
    assert record["pump.flow"] == pytest.approx([0.02, 0.01, 0.0])
    # The affinity laws: half the speed, an eighth of the power.
    assert record["pump.electric_power"] == pytest.approx([6.875, 6.875 / 8, 0.0], abs=1e-9)
    assert record.broken_limits() == {"fan.flow": pytest.approx(1.0)}
    assert record.worst_imbalance() <= 1e-9


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
PERIODS = 48
AMBIENT = 2.0 + 5.0 * np.sin(np.arange(PERIODS) / 4)
WEATHER = {"house.ground": 10.0, "house.supply": 17.0}


def heated(**more: Module) -> System:
    links = [Link("weather.value", "house.ambient"), Link("weather.value", "pump.source")]
    if "pi" in more:
        links += [Link("house.air.temperature", "pi.reading"), Link("pi.command", "pump.load")]
    return System(
        modules={
            "weather": signals.profile(AMBIENT, "degC", "thermal"),
            "house": thermal.heat_network(BUILDING, ("air",)),
            "pump": thermal.heat_pump(PUMP),
            "grid": electrical.grid(),
            **more,
        },
        buses=(
            Bus(
                name="mains", domain="electrical", members=("pump.electric_power", "grid.exchange")
            ),
            Bus(name="warm", domain="thermal", members=("pump.heat", "house.air.heating")),
        ),
        links=tuple(links),
    )


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.5, 2.0]))
def test_a_building_with_a_heat_pump_is_what_both_simulate(seed: int, hours: float) -> None:
    rng = np.random.default_rng(seed)
    load, gains = rng.uniform(0, 12, PERIODS), rng.uniform(0, 2, PERIODS)
    sink = rng.uniform(30, 50, PERIODS)
    record = Simulation(heated(), hours).replay(
        {"pump.load": load}, {"pump.sink": sink, "house.air.gains": gains, **WEATHER}
    )
    done = PUMP.operate(load, source=AMBIENT, sink=sink)
    assert record["grid.import"] == pytest.approx(done.power, rel=1e-12)
    assert record.violations["pump.unmet"] == pytest.approx(done.unmet, abs=1e-12)
    run = BUILDING.simulate(
        {"ambient": AMBIENT, "ground": 10.0, "supply": 17.0}, hours, {"air": done.heat + gains}
    )
    for place, node in ((1, "slab"), (2, "walls")):
        assert record[f"house.{node}.temperature"] == pytest.approx(
            run.temperature[:, place], rel=1e-9
        )
    assert record["house.air.temperature"][1:] == pytest.approx(run.temperature[1:, 0], rel=1e-9)
    assert record["house.air.mean_temperature"] == pytest.approx(
        run.mean_temperature[:, 0], rel=1e-9
    )
    assert record.worst_imbalance() <= 1e-9
    assert record.worst_residual() <= 1e-9


def test_a_pi_controller_holds_a_room_without_mass_by_a_heat_pump() -> None:
    pi = signals.proportional_integral("degC", gain=0.5, reset_hours=1.0, maximum=9.0)
    record = Simulation(heated(pi=pi), 0.25).replay(
        {"pi.set_point": 21.0}, {"pump.sink": 35.0, **WEATHER}, periods=PERIODS
    )
    assert record["house.air.temperature"][16:] == pytest.approx(21.0, abs=0.6)
    assert record.worst_imbalance() <= 1e-9
    assert record.broken_limits() == {}


def test_a_chiller_is_the_source_of_a_heat_pump() -> None:
    """Over one thermal bus; a boiler helps out."""
    even = Biquadratic((1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    chiller = Chiller(
        rated_capacity=50.0,
        rated_cop=5.0,
        capacity_curve=even,
        eir_curve=even,
        part_load_curve=Polynomial((0.2, 0.3, 0.5)),
        minimum_part_load=0.1,
        heat_to_condenser=0.9,
    )
    system = System(
        modules={
            "chiller": thermal.chiller(chiller, condenser_bus=True),
            "pump": thermal.heat_pump(PUMP, source_bus=True),
            "boiler": thermal.boiler(
                Boiler(
                    rated_capacity=20.0, rated_efficiency=0.89, efficiency_curve=CONDENSING_CURVE
                )
            ),
            "hall": thermal.heat_network(BUILDING, ("air", "slab")),
            "grid": electrical.grid(),
        },
        buses=(
            Bus(
                name="mains",
                domain="electrical",
                members=("chiller.electric_power", "pump.electric_power", "grid.exchange"),
            ),
            Bus(
                name="loop", domain="thermal", members=("chiller.heat_rejected", "pump.source_heat")
            ),
            Bus(name="cold", domain="thermal", members=("chiller.cooling", "hall.air.cooling")),
            Bus(
                name="warm",
                domain="thermal",
                members=("pump.heat", "boiler.heat", "hall.slab.heating"),
            ),
        ),
    )
    given_ = {
        "chiller.leaving": 7.0,
        "chiller.entering": 29.0,
        "pump.source": 29.0,
        "pump.sink": 40.0,
        "boiler.water": 45.0,
        "hall.ambient": 25.0,
        "hall.ground": 10.0,
        "hall.supply": 20.0,
    }
    loads = {"chiller.load": [10.0, 60.0], "pump.load": [5.0, 9.0], "boiler.load": [3.0, 25.0]}
    record = Simulation(system, 0.25).replay(loads, given_)
    assert record.worst_imbalance() <= 1e-9
    # The loop has nothing that balances it: what the pump does not take is left over, and said.
    left = record["chiller.heat_rejected"] - record["pump.source_heat"]
    assert record.residuals["loop"] == pytest.approx(left)
    assert left.min() > 1.0
    assert record.broken_limits() == {
        "chiller.unmet": pytest.approx(10.0),
        "boiler.unmet": pytest.approx(5.0),
    }
    assert record["boiler.heat"].tolist() == [3.0, 20.0]


def test_rooms_are_nodes() -> None:
    with pytest.raises(ParameterError, match="no node 'attic' for a room; known: air, slab, walls"):
        thermal.heat_network(BUILDING, ("attic",))
