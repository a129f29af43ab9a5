"""Systems run closed loop: the books balance, and a replay is what the units themselves say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models import (
    Battery,
    Cooler,
    GeneratorProfile,
    Grid,
    Heater,
    Load,
    ThermalNetwork,
    ThermalZone,
)
from engiagent.models.ranges import ParameterError
from engiagent.models.systems.electrical import (
    BatteryModule,
    GeneratorModule,
    GridModule,
    LoadModule,
)
from engiagent.models.systems.heating import CoolerModule, HeaterModule, RoomsModule
from engiagent.models.systems.signals import (
    ControllerModule,
    ProfileModule,
    ProportionalIntegralModule,
    SensorModule,
    ThermostatModule,
)
from engiagent.models.systems.system import System
from engiagent.models.systems.wiring import Bus, Link

PERIODS = 24
HOURS = np.arange(PERIODS)
AMBIENT = 3.0 - 6.0 * np.cos(2 * np.pi * (HOURS - 14) / 24 + np.pi)
SUN = np.maximum(0.0, 5.0 * np.sin(np.pi * (HOURS - 6) / 12)) * ((HOURS >= 6) & (HOURS < 18))
COP = 3.0 + 0.05 * AMBIENT
DEMAND = 0.4 + 0.3 * (HOURS % 5)

BATTERY = Battery(
    energy_capacity=8.0,
    charge_power_max=4.0,
    discharge_power_max=4.0,
    charge_efficiency=0.94,
    discharge_efficiency=0.95,
    self_discharge=0.004,
    initial_energy=4.0,
)
ROOMS = ThermalNetwork(
    (
        ThermalZone(
            name="living",
            capacitance=4.0,
            resistance=6.0,
            initial_temperature=20.0,
            neighbours={"attic": 3.0},
        ),
        ThermalZone(name="attic", capacitance=1.0, resistance=8.0, initial_temperature=15.0),
    )
)

ELECTRIC = Bus(
    name="electric",
    domain="electrical",
    members=(
        "pv.power",
        "battery.charge",
        "battery.discharge",
        "load.power",
        "pump.electric_power",
        "chiller.electric_power",
        "grid.exchange",
    ),
)


def house(**changes: object) -> System:
    parts: dict[str, object] = {
        "modules": {
            "weather": ProfileModule(AMBIENT, "degC", "thermal"),
            "grid": GridModule(Grid(import_power_max=9.0)),
            "rooms": RoomsModule(ROOMS),
            "battery": BatteryModule(BATTERY),
            "pv": GeneratorModule(GeneratorProfile(available_power=SUN)),
            "load": LoadModule(Load(power=DEMAND)),
            "pump": HeaterModule(Heater(electric_power_max=3.0, cop=COP)),
            "chiller": CoolerModule(Cooler(electric_power_max=2.0, cop=2.5)),
        },
        "buses": (
            ELECTRIC,
            Bus(name="warm", domain="thermal", members=("pump.heat", "rooms.living.heating")),
            Bus(name="cold", domain="thermal", members=("chiller.cooling", "rooms.living.cooling")),
        ),
        "links": (Link("weather.value", "rooms.ambient"),),
    }
    return System(**(parts | changes))  # type: ignore[arg-type]


def random_plan(seed: int, periods: int = PERIODS) -> dict[str, np.ndarray]:
    """Any numbers, also beyond limits and of the wrong sign: balances hold all the same."""
    rng = np.random.default_rng(seed)
    names = ("battery.charge", "battery.discharge", "pump.electric_power", "chiller.electric_power")
    plan = {name: rng.uniform(-1, 6, periods) for name in names}
    return plan | {"pv.curtailed": rng.uniform(-1, 1, periods)}


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.25, 1.0, 3.0]))
def test_no_energy_comes_from_nowhere_under_random_actions(seed: int, hours: float) -> None:
    run = house().initialize(hours)
    record = run.replay({name: series[:8] for name, series in random_plan(seed).items()})
    assert record.worst_residual() <= 1e-9
    assert record.worst_imbalance() <= 1e-9
    # And over the whole house: what came in and did not go out is in the battery and the walls.
    content = record["battery.energy"] + 4.0 * record["rooms.living.temperature"]
    content = content + 1.0 * record["rooms.attic.temperature"]
    net = (record.entered["energy"] - record.left["energy"]) * hours
    scale = np.abs(content).max() + np.abs(net).sum()
    assert np.abs(np.diff(content) - net).max() <= 1e-9 * scale


def test_a_replay_is_what_the_units_simulate_by_themselves() -> None:
    plan = random_plan(7)
    record = house().initialize(0.5).replay(plan)
    energy = BATTERY.simulate(plan["battery.charge"], plan["battery.discharge"], 0.5)
    assert record["battery.energy"] == pytest.approx(energy, rel=1e-12, abs=1e-12)
    heating = np.zeros((PERIODS, 2))
    heating[:, 0] = COP * plan["pump.electric_power"]
    cooling = np.zeros((PERIODS, 2))
    cooling[:, 0] = 2.5 * plan["chiller.electric_power"]
    rooms = ROOMS.simulate(AMBIENT, 0.5, heating, cooling)
    assert record["rooms.living.temperature"] == pytest.approx(rooms[:, 0], rel=1e-12)
    assert record["rooms.attic.temperature"] == pytest.approx(rooms[:, 1], rel=1e-12)
    exchange = DEMAND + plan["battery.charge"] - plan["battery.discharge"]
    exchange += plan["pump.electric_power"] + plan["chiller.electric_power"]
    exchange -= SUN - plan["pv.curtailed"]
    assert record["grid.import"] - record["grid.export"] == pytest.approx(exchange, abs=1e-12)
    assert record.units["rooms.living.temperature"] == "degC"
    assert record["grid.import"].shape == (PERIODS,)


@pytest.mark.parametrize("scheme", ["exact", "euler", "implicit"])
def test_every_scheme_of_the_rooms_balances(scheme: str) -> None:
    modules = dict(house().modules) | {"rooms": RoomsModule(ROOMS, scheme)}  # type: ignore[arg-type]
    record = house(modules=modules).initialize(0.5).replay(random_plan(3))
    assert record.worst_imbalance() <= 1e-9


def test_a_room_without_outer_wall_keeps_its_heat() -> None:
    """The state matrix is singular then, which an inverse would not survive."""
    sealed = ThermalNetwork((ThermalZone(name="box", capacitance=2.0, initial_temperature=20.0),))
    system = System(
        modules={"box": RoomsModule(sealed), "heater": HeaterModule(Heater())},
        buses=(
            Bus(name="mains", domain="electrical", members=("heater.electric_power",)),
            Bus(name="air", domain="thermal", members=("heater.heat", "box.heating")),
        ),
    )
    record = system.initialize(1.0).replay(
        {"heater.electric_power": [1.0, 3.0]}, {"box.ambient": -5}
    )
    assert record["box.temperature"] == pytest.approx([20.0, 20.5, 22.0], abs=1e-12)
    assert record.worst_imbalance() < 1e-9
    # Nobody supplies the heater: the bus says so.
    assert record.residuals["mains"] == pytest.approx([-1.0, -3.0])


def test_limits_are_reported_and_not_enforced() -> None:
    plan = {name: np.zeros(2) for name in random_plan(0)}
    plan["battery.charge"] = np.array([6.0, 0.0])
    plan["pump.electric_power"] = np.array([0.0, 3.5])
    record = house().initialize(1.0).replay(plan)
    assert record.violations["battery.charge"] == pytest.approx([2.0, 0.0])
    assert record["battery.energy"][1] > 8.0
    assert record.violations["battery.full"][0] == pytest.approx(record["battery.energy"][1] - 8.0)
    broken = record.broken_limits()
    assert broken.keys() == {"battery.charge", "battery.full", "pump.electric_power"}
    assert broken["pump.electric_power"] == pytest.approx(0.5)


def test_a_thermostat_keeps_a_house_in_its_band_and_a_battery_rule_uses_the_sun() -> None:
    def greedy(read: dict[str, float]) -> dict[str, float]:
        surplus = read["sun"] - read["demand"] - read["pump"]
        room = (8.0 - read["energy"]) / 0.94 / 0.25
        content = (read["energy"] - 0.5) * 0.95 / 0.25
        return {
            "charge": max(0.0, min(surplus, 4.0, room)),
            "discharge": max(0.0, min(-surplus, 4.0, content)),
        }

    repeated = {
        "weather": ProfileModule(np.repeat(AMBIENT, 4), "degC", "thermal"),
        "pv": GeneratorModule(GeneratorProfile(available_power=np.repeat(SUN, 4))),
        "load": LoadModule(Load(power=np.repeat(DEMAND, 4))),
        "pump": HeaterModule(Heater(electric_power_max=3.0, cop=np.repeat(COP, 4))),
    }
    units = {"sun": "kW", "demand": "kW", "pump": "kW", "energy": "kWh"}
    controllers = {
        "thermostat": ThermostatModule(power=3.0, band=1.0),
        "greedy": ControllerModule(
            reads=units,
            commands={"charge": "kW", "discharge": "kW"},
            rule=greedy,  # type: ignore[arg-type]
        ),
    }
    links = (
        Link("weather.value", "rooms.ambient"),
        Link("rooms.living.temperature", "thermostat.temperature"),
        Link("thermostat.command", "pump.electric_power"),
        Link("pv.available", "greedy.sun"),
        Link("load.power", "greedy.demand"),
        Link("thermostat.command", "greedy.pump"),
        Link("battery.energy", "greedy.energy"),
        Link("greedy.charge", "battery.charge"),
        Link("greedy.discharge", "battery.discharge"),
    )
    system = house(modules={**house().modules, **repeated, **controllers}, links=links)
    assert sorted(system.actions) == [
        "chiller.electric_power",
        "pv.curtailed",
        "thermostat.set_point",
    ]
    record = system.initialize(0.25).replay(
        {"thermostat.set_point": 20.0, "chiller.electric_power": 0.0}, periods=96
    )
    living = record["rooms.living.temperature"]
    assert living.min() > 19.0
    assert living.max() < 21.0
    assert set(np.unique(record["pump.electric_power"])) == {0.0, 3.0}
    assert record.worst_imbalance() < 1e-9
    assert record.broken_limits() == {}
    idle = dict.fromkeys(("chiller.electric_power", "battery.charge", "battery.discharge"), 0.0)
    without = house(modules={**house().modules, **repeated}).initialize(0.25)
    exported = without.replay(idle | {"pump.electric_power": record["pump.electric_power"]})
    assert record["grid.export"].sum() < exported["grid.export"].sum()
    # What the controllers did is a plan; replayed without them it gives the same house.
    plan = {name: record[name] for name in house().actions if name != "pv.curtailed"}
    again = without.replay(plan)
    for name, values in again.series.items():
        assert values == pytest.approx(record[name], abs=1e-12), name


def test_a_pi_controller_settles_without_offset() -> None:
    zone = ThermalNetwork(
        (ThermalZone(name="z", capacitance=2.0, resistance=5.0, initial_temperature=10.0),)
    )
    system = System(
        modules={
            "zone": RoomsModule(zone),
            "heater": HeaterModule(Heater(electric_power_max=8.0)),
            "grid": GridModule(),
            "pi": ProportionalIntegralModule(unit="degC", gain=1.0, reset_hours=2.0, maximum=8.0),
        },
        buses=(
            Bus(name="air", domain="thermal", members=("heater.heat", "zone.heating")),
            Bus(
                name="mains",
                domain="electrical",
                members=("heater.electric_power", "grid.exchange"),
            ),
        ),
        links=(Link("zone.temperature", "pi.reading"), Link("pi.command", "heater.electric_power")),
    )
    record = system.initialize(0.1).replay(
        {"pi.set_point": 21.0}, {"zone.ambient": 0.0}, periods=400
    )
    assert record["zone.temperature"][-1] == pytest.approx(21.0, abs=1e-3)
    # 21 K over 5 K/kW.
    assert record["grid.import"][-1] == pytest.approx(4.2, abs=1e-3)
    assert record["pi.command"].max() == 8.0
    assert record["zone.temperature"].max() < 22.5


def metered(sensor: SensorModule) -> System:
    return System(
        modules={"truth": ProfileModule(np.full(500, 20.0), "degC", "thermal"), "sensor": sensor},
        links=(Link("truth.value", "sensor.true"),),
    )


def test_noise_is_in_sensors_only_and_follows_the_seed() -> None:
    run = metered(SensorModule(unit="degC", bias=0.3, deviation=0.5)).initialize(0.25)
    first, same, other = (run.replay({}, periods=500, seed=s)["sensor.reading"] for s in (1, 1, 2))
    assert (first == same).all()
    assert (first != other).any()
    # Mean and deviation within four standard errors.
    assert first.mean() == pytest.approx(20.3, abs=4 * 0.5 / np.sqrt(500))
    assert first.std() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(1000))
    quiet = metered(SensorModule(unit="degC")).initialize(0.25).replay({}, periods=5)
    assert (quiet["sensor.reading"] == 20.0).all()


@settings(max_examples=25)
@given(st.permutations(range(8)), st.integers(0, 2**32 - 1))
def test_the_order_in_which_modules_are_named_means_nothing(order: list[int], seed: int) -> None:
    plan = {name: series[:3] for name, series in random_plan(5).items()}
    noisy = {**house().modules, "thermometer": SensorModule(unit="degC", deviation=0.2)}
    del noisy["chiller"], plan["chiller.electric_power"]
    names = [list(noisy)[place] for place in order]
    wires = {
        "buses": (
            replace(ELECTRIC, members=tuple(m for m in ELECTRIC.members if "chiller" not in m)),
            house().buses[1],
        ),
        "links": (*house().links, Link("rooms.living.temperature", "thermometer.true")),
    }
    first = house(modules=noisy, **wires).initialize(1.0).replay(plan, seed=seed)
    turned = house(modules={name: noisy[name] for name in names}, **wires).initialize(1.0)
    again = turned.replay(plan, seed=seed)
    assert first.series.keys() == again.series.keys()
    for name, values in first.series.items():
        assert (values == again[name]).all(), name


def test_two_sensors_do_not_share_their_noise() -> None:
    system = System(
        modules={
            "truth": ProfileModule(np.zeros(50), "degC", "thermal"),
            "a": SensorModule(unit="degC", deviation=1.0),
            "b": SensorModule(unit="degC", deviation=1.0),
        },
        links=(Link("truth.value", "a.true"), Link("truth.value", "b.true")),
    )
    record = system.initialize(1.0).replay({}, periods=50)
    assert abs(np.corrcoef(record["a.reading"], record["b.reading"])[0, 1]) < 0.6


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_rooms_with_a_plan_of_their_own_need_no_bus(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = System(modules={"rooms": RoomsModule(ROOMS, planned=True)})
    names = [
        f"rooms.{room}.{way}" for room in ("living", "attic") for way in ("heating", "cooling")
    ]
    plan = {name: rng.uniform(0, 5, 6) for name in names}
    record = system.initialize(0.5).replay(plan, {"rooms.ambient": AMBIENT[:6]})
    heating, cooling = (np.column_stack([plan[name] for name in names[k::2]]) for k in (0, 1))
    rooms = ROOMS.simulate(AMBIENT[:6], 0.5, heating, cooling)
    assert record["rooms.attic.temperature"] == pytest.approx(rooms[:, 1], rel=1e-12)
    assert record.worst_imbalance() <= 1e-9


def test_a_plan_with_its_own_import_shows_its_error_on_the_bus() -> None:
    members = tuple(m for m in ELECTRIC.members if m != "grid.exchange")
    system = house(
        modules={**house().modules, "grid": GridModule(planned=True)},
        buses=(
            Bus(
                name="electric",
                domain="electrical",
                members=(*members, "grid.import", "grid.export"),
            ),
            *house().buses[1:],
        ),
    )
    plan = {name: np.zeros(PERIODS) for name in system.actions}
    record = system.initialize(1.0).replay(plan | {"grid.import": DEMAND, "grid.export": SUN})
    assert record.worst_residual() == pytest.approx(0.0, abs=1e-12)
    wrong = DEMAND.copy()
    wrong[5] -= 0.25
    record = system.initialize(1.0).replay(plan | {"grid.import": wrong, "grid.export": SUN})
    assert record.residuals["electric"][5] == pytest.approx(-0.25)
    assert record.worst_residual() == pytest.approx(0.25)


def test_reset_and_step_are_the_replay() -> None:
    plan = random_plan(11)
    run = house().initialize(1.0)
    record = run.replay(plan, initial={"battery.energy": 2.0})
    seen = run.reset({"battery.energy": 2.0})
    assert float(seen["battery.energy"]) == 2.0
    assert float(seen["weather.value"]) == pytest.approx(AMBIENT[0])
    for period in range(PERIODS):
        step = run.step({name: values[period] for name, values in plan.items()})
        assert float(step.outputs["grid.import"]) == record["grid.import"][period]
    assert float(run.state()["battery.energy"]) == record["battery.energy"][-1]


def test_a_refused_step_changes_nothing() -> None:
    run = house().initialize(1.0)
    run.reset()
    before = run.state()
    with pytest.raises(ParameterError, match=r"pump\.electric_power is nan kW; give finite"):
        run.step(dict.fromkeys(house().actions, 0.0) | {"pump.electric_power": float("nan")})
    assert run.state() == before
