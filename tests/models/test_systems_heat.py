"""Machines and buildings of :mod:`engiagent.models` in systems: their own numbers, balanced."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models.buildings.network import HeatNetwork, Node
from engiagent.models.buildings.network import Link as HeatLink
from engiagent.models.hvac.boiler import CONDENSING_CURVE, Boiler
from engiagent.models.hvac.chiller import Chiller
from engiagent.models.hvac.curves import Biquadratic, Polynomial
from engiagent.models.hvac.heat_pump import CarnotCop, HeatPump
from engiagent.models.ranges import ParameterError
from engiagent.models.systems.buildings import HeatNetworkModule
from engiagent.models.systems.electrical import GridModule
from engiagent.models.systems.hvac import BoilerModule, ChillerModule, HeatPumpModule
from engiagent.models.systems.module import Module
from engiagent.models.systems.signals import ProfileModule, ProportionalIntegralModule
from engiagent.models.systems.system import System
from engiagent.models.systems.wiring import Bus, Link

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
            "weather": ProfileModule(AMBIENT, "degC", "thermal"),
            "house": HeatNetworkModule(BUILDING, ("air",)),
            "pump": HeatPumpModule(PUMP),
            "grid": GridModule(),
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
    record = (
        heated()
        .initialize(hours)
        .replay({"pump.load": load}, {"pump.sink": sink, "house.air.gains": gains, **WEATHER})
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
    pi = ProportionalIntegralModule(unit="degC", gain=0.5, reset_hours=1.0, maximum=9.0)
    record = (
        heated(pi=pi)
        .initialize(0.25)
        .replay({"pi.set_point": 21.0}, {"pump.sink": 35.0, **WEATHER}, periods=PERIODS)
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
            "chiller": ChillerModule(chiller, condenser_bus=True),
            "pump": HeatPumpModule(PUMP, source_bus=True),
            "boiler": BoilerModule(
                Boiler(
                    rated_capacity=20.0, rated_efficiency=0.89, efficiency_curve=CONDENSING_CURVE
                )
            ),
            "hall": HeatNetworkModule(BUILDING, ("air", "slab")),
            "grid": GridModule(),
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
    record = system.initialize(0.25).replay(loads, given_)
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
        HeatNetworkModule(BUILDING, ("attic",))
