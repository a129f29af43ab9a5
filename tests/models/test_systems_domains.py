"""Clusters on a feeder, water, and heat that is divided."""

import numpy as np
import pytest

from engiagent.models import Heater
from engiagent.models.grids import Bus as FeederBus
from engiagent.models.grids import Feeder, Line
from engiagent.models.systems.electrical import FeederModule, GridModule, MeterModule
from engiagent.models.systems.heating import HeaterModule, RoomsModule
from engiagent.models.systems.junctions import (
    SplitterModule,
    WaterStoreModule,
    WaterSupplyModule,
    WaterUseModule,
)
from engiagent.models.systems.system import System
from engiagent.models.systems.wiring import Bus
from tests.models.test_systems import PERIODS, ROOMS, house, random_plan


def test_houses_on_a_feeder_make_a_cluster() -> None:
    """Nested systems, each behind its meter, on an AC power flow."""
    feeder = Feeder(
        buses=tuple(FeederBus(name=name, nominal_voltage=0.4) for name in ("station", "h1", "h2")),
        lines=tuple(
            Line(
                name=f"c{end}",
                from_bus=begin,
                to_bus=end,
                resistance=0.05,
                reactance=0.01,
                ampacity=100.0,
            )
            for begin, end in (("station", "h1"), ("h1", "h2"))
        ),
        source="station",
    )
    inside = {**house().modules, "grid": MeterModule()}
    cluster = System(
        modules={
            "h1": house(modules=inside),
            "h2": house(modules=inside),
            "feeder": FeederModule(feeder),
        },
        buses=tuple(
            Bus(
                name=f"at_{name}",
                domain="electrical",
                members=(f"{name}.grid.import", f"{name}.grid.export", f"feeder.{name}.supply"),
            )
            for name in ("h1", "h2")
        ),
    )
    plans = {name: random_plan(seed) for name, seed in (("h1", 1), ("h2", 2))}
    plan = {f"{name}.{key}": v for name, one in plans.items() for key, v in one.items()}
    record = cluster.initialize(1.0).replay(plan)
    assert record.worst_imbalance() < 1e-9
    assert record.worst_residual() < 1e-9
    exchange = np.zeros((PERIODS, 3))
    for place, name in enumerate(("h1", "h2"), start=1):
        alone = house().initialize(1.0).replay(plans[name])
        exchange[:, place] = alone["grid.import"] - alone["grid.export"]
        assert record[f"{name}.battery.energy"] == pytest.approx(alone["battery.energy"])
    flow = feeder.flow(exchange)
    assert record["feeder.import"] == pytest.approx(flow.import_active, abs=1e-9)
    assert record["feeder.h2.voltage"] == pytest.approx(flow.voltage[:, 2], abs=1e-12)
    assert record["feeder.ch2.loading"] == pytest.approx(flow.loading[:, 1], abs=1e-12)


def test_water_is_counted_like_energy() -> None:
    system = System(
        modules={
            "mains": WaterSupplyModule(flow_max=1.0),
            "tank": WaterStoreModule(capacity=5000.0, initial=1000.0),
            "garden": WaterUseModule(),
            "kitchen": WaterUseModule(),
        },
        buses=(
            Bus(
                name="pipe",
                domain="water",
                members=("mains.flow", "tank.filling", "garden.flow", "kitchen.flow"),
            ),
        ),
    )
    record = system.initialize(0.5).replay(
        {"mains.flow": [1.2, 0.0]}, {"garden.flow": [0.2, 0.5], "kitchen.flow": 0.1}
    )
    assert record["tank.content"] == pytest.approx([1000.0, 2620.0, 1540.0])
    assert record.broken_limits() == {"mains.flow": pytest.approx(0.2)}
    assert record.worst_imbalance() < 1e-9
    assert record.entered["water"] == pytest.approx([1.2, 0.0])


def test_a_splitter_divides_what_is_left() -> None:
    system = System(
        modules={
            "boiler": HeaterModule(Heater(cop=0.9)),
            "grid": GridModule(),
            "manifold": SplitterModule(domain="thermal", shares={"up": 0.75, "down": 0.25}),
            "rooms": RoomsModule(ROOMS),
        },
        buses=(
            Bus(name="e", domain="electrical", members=("boiler.electric_power", "grid.exchange")),
            Bus(name="w", domain="thermal", members=("boiler.heat", "manifold.whole")),
            Bus(name="u", domain="thermal", members=("manifold.up", "rooms.attic.heating")),
            Bus(name="d", domain="thermal", members=("manifold.down", "rooms.living.heating")),
        ),
    )
    step = system.initialize(1.0).step({"boiler.electric_power": 10.0}, {"rooms.ambient": 0.0})
    assert float(step.outputs["rooms.attic.heating"]) == pytest.approx(6.75)
    assert float(step.left["energy"] - step.entered["energy"]) < 10.0
    assert max(abs(v) for v in step.imbalances.values()) < 1e-9
