"""Systems run closed loop: balances hold, and a replay is what the units themselves simulate."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models import Battery
from engiagent.models.buildings.network import HeatNetwork, Node
from engiagent.models.buildings.network import Link as HeatLink
from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.systems import electrical, signals, thermal
from engiagent.models.systems.module import Module
from engiagent.models.systems.simulation import Record, Simulation
from engiagent.models.systems.system import Bus, Link, System

PERIODS = 24
HOURS = np.arange(PERIODS)
AMBIENT = 3.0 - 6.0 * np.cos(2 * np.pi * (HOURS - 14) / 24 + np.pi)
SUN = np.maximum(0.0, 5.0 * np.sin(np.pi * (HOURS - 6) / 12)) * ((HOURS >= 6) & (HOURS < 18))
COP = 3.0 + 0.05 * AMBIENT
DEMAND = 0.4 + 0.3 * (HOURS % 5)
OUTSIDE = {"pv.profile": SUN, "load.power": DEMAND, "pump.cop": COP}

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
        Node(name="attic", capacity=1.0, initial_temperature=15.0),
    ),
    links=(
        HeatLink(one="living", other="ambient", conductance=1 / 6),
        HeatLink(one="attic", other="ambient", conductance=1 / 8),
        HeatLink(one="living", other="attic", conductance=1 / 3),
    ),
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


def worst(series: Mapping[str, Floats]) -> float:
    return max(float(np.abs(values).max()) for values in series.values())


def broken(record: Record) -> dict[str, float]:
    """The limits broken by more than rounding, each with its largest amount."""
    amounts = {name: float(np.max(v)) for name, v in record.violations.items()}
    return {name: amount for name, amount in amounts.items() if amount > 1e-9}


def house(**changes: object) -> System:
    parts: dict[str, object] = {
        "modules": {
            "weather": signals.profile(AMBIENT, "degC", "thermal"),
            "grid": electrical.grid(import_power_max=9.0),
            "rooms": thermal.heat_network(ROOMS, ("living", "attic")),
            "battery": electrical.battery(BATTERY),
            "pv": electrical.source(),
            "load": electrical.load(),
            "pump": thermal.heater(3.0),
            "chiller": thermal.cooler(2.0, cop=2.5),
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
def test_no_energy_comes_from_nowhere_and_every_unit_is_its_model(seed: int, hours: float) -> None:
    plan = random_plan(seed)
    record = Simulation(house(), hours).replay(plan, OUTSIDE)
    assert worst(record.residuals) <= 1e-9
    assert worst(record.imbalances) <= 1e-9
    # And over the whole house: what came in and did not go out is in the battery and the walls.
    content = record["battery.energy"] + 4.0 * record["rooms.living.temperature"]
    content = content + 1.0 * record["rooms.attic.temperature"]
    came, went = (np.sum(list(part.values()), axis=0) for part in (record.entered, record.left))
    net = (came - went) * hours
    scale = np.abs(content).max() + np.abs(net).sum()
    assert np.abs(np.diff(content) - net).max() <= 1e-9 * scale
    energy = BATTERY.simulate(plan["battery.charge"], plan["battery.discharge"], hours)
    assert record["battery.energy"] == pytest.approx(energy, rel=1e-12, abs=1e-9)
    heat = COP * plan["pump.electric_power"] - 2.5 * plan["chiller.electric_power"]
    rooms = ROOMS.simulate({"ambient": AMBIENT}, hours, {"living": heat})
    temperature = np.column_stack([record[f"rooms.{n}.temperature"] for n in ("living", "attic")])
    assert temperature == pytest.approx(rooms.temperature, rel=1e-9, abs=1e-9)
    exchange = DEMAND + plan["battery.charge"] - plan["battery.discharge"]
    exchange += plan["pump.electric_power"] + plan["chiller.electric_power"]
    exchange -= SUN - plan["pv.curtailed"]
    assert record["grid.import"] - record["grid.export"] == pytest.approx(exchange, abs=1e-12)
    assert record.units["rooms.living.temperature"] == "degC"


def test_limits_are_reported_and_not_enforced() -> None:
    plan = {name: np.zeros(2) for name in random_plan(0)}
    plan["battery.charge"] = np.array([6.0, 0.0])
    plan["pump.electric_power"] = np.array([0.0, 3.5])
    record = Simulation(house(), 1.0).replay(plan, {name: v[:2] for name, v in OUTSIDE.items()})
    assert record.violations["battery.charge"] == pytest.approx([2.0, 0.0])
    assert record["battery.energy"][1] > 8.0
    assert record.violations["battery.full"][0] == pytest.approx(record["battery.energy"][1] - 8.0)
    beyond = broken(record)
    assert beyond.keys() == {"battery.charge", "battery.full", "pump.electric_power"}
    assert beyond["pump.electric_power"] == pytest.approx(0.5)


def test_a_thermostat_keeps_a_house_in_its_band_and_a_battery_rule_uses_the_sun() -> None:
    def greedy(read: dict[str, float]) -> dict[str, float]:
        surplus = read["sun"] - read["demand"] - read["pump"]
        room = (8.0 - read["energy"]) / 0.94 / 0.25
        content = (read["energy"] - 0.5) * 0.95 / 0.25
        return {
            "charge": max(0.0, min(surplus, 4.0, room)),
            "discharge": max(0.0, min(-surplus, 4.0, content)),
        }

    weather = {"weather": signals.profile(np.repeat(AMBIENT, 4), "degC", "thermal")}
    outside = {name: np.repeat(values, 4) for name, values in OUTSIDE.items()}
    controllers = {
        "thermostat": signals.thermostat(3.0),
        "greedy": signals.controller(
            dict.fromkeys(("sun", "demand", "pump"), "kW") | {"energy": "kWh"},
            {"charge": "kW", "discharge": "kW"},
            greedy,  # type: ignore[arg-type]
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
    system = house(modules={**house().modules, **weather, **controllers}, links=links)
    assert sorted(system.actions) == [
        "chiller.electric_power",
        "pv.curtailed",
        "thermostat.set_point",
    ]
    record = Simulation(system, 0.25).replay(
        {"thermostat.set_point": 20.0, "chiller.electric_power": 0.0}, outside
    )
    living = record["rooms.living.temperature"]
    assert living.min() > 19.0
    assert living.max() < 21.0
    assert set(np.unique(record["pump.electric_power"])) == {0.0, 3.0}
    assert worst(record.imbalances) < 1e-9
    assert broken(record) == {}
    # What the controllers did is a plan; replayed without them it gives the same house.
    plan = {name: record[name] for name in house().actions if name != "pv.curtailed"}
    again = Simulation(house(modules={**house().modules, **weather}), 0.25).replay(plan, outside)
    for name, values in again.series.items():
        assert values == pytest.approx(record[name], abs=1e-12), name


def metered(*sensors: Module) -> System:
    names = [f"s{k}" for k in range(len(sensors))]
    return System(
        modules={
            "truth": signals.profile(np.full(500, 20.0), "degC", "thermal"),
            **dict(zip(names, sensors, strict=True)),
        },
        links=tuple(Link("truth.value", f"{name}.true") for name in names),
    )


def test_noise_is_in_sensors_only_and_follows_the_seed() -> None:
    noisy = signals.sensor("degC", bias=0.3, deviation=0.5)
    run = Simulation(metered(noisy, noisy, signals.sensor("degC")), 0.25)
    records = [run.replay({}, periods=500, seed=seed) for seed in (1, 1, 2)]
    first, same, other = (record["s0.reading"] for record in records)
    assert (first == same).all()
    assert (first != other).any()
    # Mean and deviation within four standard errors.
    assert first.mean() == pytest.approx(20.3, abs=4 * 0.5 / np.sqrt(500))
    assert first.std() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(1000))
    assert abs(np.corrcoef(first, records[0]["s1.reading"])[0, 1]) < 0.3
    assert (records[0]["s2.reading"] == 20.0).all()


@settings(max_examples=25)
@given(st.permutations(range(8)), st.integers(0, 2**32 - 1))
def test_the_order_in_which_modules_are_named_means_nothing(order: list[int], seed: int) -> None:
    plan = {name: series[:3] for name, series in random_plan(5).items()}
    outside = {name: values[:3] for name, values in OUTSIDE.items()}
    noisy = {**house().modules, "thermometer": signals.sensor("degC", deviation=0.2)}
    del noisy["chiller"], plan["chiller.electric_power"]
    wires = {
        "buses": (
            replace(ELECTRIC, members=tuple(m for m in ELECTRIC.members if "chiller" not in m)),
            house().buses[1],
        ),
        "links": (*house().links, Link("rooms.living.temperature", "thermometer.true")),
    }
    first = Simulation(house(modules=noisy, **wires), 1.0).replay(plan, outside, seed=seed)
    turned = house(modules={name: noisy[name] for name in [list(noisy)[k] for k in order]}, **wires)
    again = Simulation(turned, 1.0).replay(plan, outside, seed=seed)
    assert first.series.keys() == again.series.keys()
    for name, values in first.series.items():
        assert (values == again[name]).all(), name


def test_a_plan_with_its_own_import_shows_its_error_on_the_bus() -> None:
    members = tuple(m for m in ELECTRIC.members if m != "grid.exchange")
    wide = (*members, "grid.import", "grid.export")
    system = house(
        modules={**house().modules, "grid": electrical.grid(planned=True)},
        buses=(replace(ELECTRIC, members=wide), *house().buses[1:]),
    )
    plan = {name: np.zeros(PERIODS) for name in system.actions} | {"grid.export": SUN}
    wrong = DEMAND.copy()
    wrong[5] -= 0.25
    record = Simulation(system, 1.0).replay(plan | {"grid.import": wrong}, OUTSIDE)
    assert record.residuals["electric"][5] == pytest.approx(-0.25)
    record.residuals["electric"][5] = 0.0
    assert worst(record.residuals) == pytest.approx(0.0, abs=1e-12)


def test_reset_and_step_are_the_replay_and_a_refused_step_changes_nothing() -> None:
    plan = random_plan(11)
    run = Simulation(house(), 1.0)
    record = run.replay(plan, OUTSIDE, initial={"battery.energy": 2.0})
    seen = run.reset({"battery.energy": 2.0})
    assert float(seen["battery.energy"]) == 2.0
    assert float(seen["weather.value"]) == pytest.approx(AMBIENT[0])
    for period in range(PERIODS):
        now = [{name: v[period] for name, v in part.items()} for part in (plan, OUTSIDE)]
        step = run.step(*now)
        assert float(step.outputs["grid.import"]) == record["grid.import"][period]
    before = run.state()
    assert float(before["battery.energy"]) == record["battery.energy"][-1]
    now[0]["pump.electric_power"] = float("nan")
    with pytest.raises(ParameterError, match=r"pump\.electric_power is nan kW; give finite"):
        run.step(*now)
    assert run.state() == before


def test_houses_behind_their_meters_make_a_cluster() -> None:
    inside = {**house().modules, "grid": electrical.meter()}
    street = (
        "h1.grid.import",
        "h1.grid.export",
        "h2.grid.import",
        "h2.grid.export",
        "mains.exchange",
    )
    cluster = System(
        modules={
            "h1": house(modules=inside),
            "h2": house(modules=inside),
            "mains": electrical.grid(),
        },
        buses=(Bus(name="street", domain="electrical", members=street),),
    )
    plans = {name: random_plan(seed) for name, seed in (("h1", 1), ("h2", 2))}
    plan, outside = (
        {f"{name}.{key}": v for name, one in parts.items() for key, v in one.items()}
        for parts in (plans, {"h1": OUTSIDE, "h2": OUTSIDE})
    )
    record = Simulation(cluster, 1.0).replay(plan, outside)
    assert worst(record.imbalances) < 1e-9
    assert worst(record.residuals) < 1e-9
    exchange = np.zeros(PERIODS)
    for name in ("h1", "h2"):
        alone = Simulation(house(), 1.0).replay(plans[name], OUTSIDE)
        exchange += alone["grid.import"] - alone["grid.export"]
        assert record[f"{name}.battery.energy"] == pytest.approx(alone["battery.energy"])
    mains = record["mains.import"] - record["mains.export"]
    assert mains == pytest.approx(exchange, abs=1e-9)
