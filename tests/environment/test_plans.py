"""A plan's actions, carried out one period after the other, give its own trajectory and cost."""

from typing import Any

import numpy as np
import pytest

from engiagent import Site
from engiagent.environment.environment import Environment
from engiagent.environment.exceeding import unserved
from engiagent.errors import InputError
from tests.formulations.components.test_buildings import aired, boxed

PRICE = [0.2, 0.5, 0.2, 0.6, 0.3, 0.1, 0.4, 0.2]
LOAD = [30.0, 80.0, 60.0, 90.0, 20.0, 10.0, 70.0, 40.0]


def quarter() -> Site:
    """Return eight hours of a grid with a load."""
    site = Site("2026-06-01", "1 h", len(PRICE))
    site.add("grid", "grid", bus="power", import_price=PRICE, export_price=0.05)
    site.add("load", "load", bus="power", power=LOAD)
    return site


def followed(site: Site, *, least: int, priced: bool = True) -> tuple[Environment, Any, Any]:
    """Carry a certified plan out in the environment; compare all series and the cost.

    ``least``: how many series are compared. ``priced``: whether prices are slots of the grids.
    """
    if priced:
        site.minimise_cost()
    plan = site.solve(progress=False)
    plant = Environment(site.blueprint())

    def planned(name: str) -> Any:
        try:
            found = plan[name].values
        except (KeyError, InputError):
            return None
        return found if found.ndim == 1 else None

    actions = {n: planned(n) for n, s in plant.signals.items() if s.role == "action"}
    data = plant.run(
        lambda now: {n: float(v[now.step]) for n, v in actions.items() if v is not None}
    )
    compared = {n: planned(str(n)) for n in data if planned(str(n)) is not None}
    for name, series in compared.items():
        assert data[name].values == pytest.approx(series, abs=2e-5), name
    assert len(compared) >= least, list(compared)
    assert plant.imbalance < 1e-9
    if priced:
        cost: Any = plant.cost(data)
        assert cost["value"] == pytest.approx(plan.objective, abs=1e-4)
    return plant, data, plan


def test_demands_that_give_way() -> None:
    site = quarter()
    site.add(
        "cold",
        "curtailable_load",
        bus="power",
        power=LOAD,
        curtailable_share=0.4,
        lost_load_value=0.45,
    )
    shifts: Any = {"shift_up_max": 20.0, "shift_down_max": 15.0, "delayed_energy_max": 25.0}
    site.add("wash", "shiftable_load", bus="power", power=LOAD, **shifts, ahead_energy_max=30.0)
    site.add("press", "job", bus="power", power=12.0, duration=2, earliest=1, latest=7, runs=2)
    event = [0, 0, 0, 1, 1, 0, 0, 0]
    site.add("event", "demand_response", grid="grid", event=event, baseline=270.0, reward=0.3)
    _, data, _ = followed(site, least=10)
    assert data["cold.unmet"].values.max() == pytest.approx(36.0)
    assert data["press.begin"].values.sum() == 2
    assert data["event.reduction"].values[3] > 0


def gensets() -> Site:
    """Return a quarter whose grid is dear, so that sets run."""
    site = quarter()
    site.add("oil", "grid", bus="oil", import_price=0.08)
    return site


SETS: dict[str, dict[str, Any]] = {
    "by litres": {"fuel_slope": "0.25 l/kWh", "fuel_no_load": "2 l/h", "minimum_load": 0.3},
    "ramps, fuel of a start": {
        **{"fuel_slope": "0.25 l/kWh", "start_fuel": "0.6 l", "minimum_load": 0.25},
        **{"ramp_up": "20 kW/h", "ramp_down": "25 kW/h", "initial_power": "0 kW"},
    },
    "more of three alike than are enough, as they may not stop for so short": {
        **{"fuel_slope": "0.25 l/kWh", "fuel_no_load": "1 l/h", "count": 3, "rated_power": 30},
        **{"minimum_load": 0.2, "minimum_up_hours": "3 h"},
    },
    "by a table": {"fuel_power": [15, 30, 60], "fuel_rate": [5, 8, 15.5], "minimum_load": 0.25},
}


@pytest.mark.parametrize("case", SETS)
def test_gensets(case: str) -> None:
    site = gensets()
    slots = {"rated_power": 60, "heating_value": "10 kWh/l", **SETS[case]}
    for slot, unit in (("fuel_power", "kW"), ("fuel_rate", "l/h")):
        if slot in slots:
            slots[slot] = site.table(slot, slots[slot], unit, over="points")
    site.add("set", "genset", bus="power", fuel_bus="oil", **slots)
    plant, data, _ = followed(site, least=5)
    assert data["set.on"].values.any()
    assert plant.built.domains["oil"] == "fuel"


def test_an_extraction_turbine() -> None:
    site = gensets()
    site.add("houses", "load", bus="heat", power=[60.0, 50.0, 40.0, 30.0, 0.0, 0.0, 45.0, 50.0])
    site.add(
        "boiler", "boiler", heat_bus="heat", fuel_bus="oil", rated_capacity=80, rated_efficiency=0.9
    )
    slots: Any = {"condensing_power_max": 60, "condensing_power_min": 25, "fuel_no_load": 4}
    slots |= {"power_loss": 0.15, "power_to_heat": 0.6, "fuel_slope": 2.6}
    site.add("steam", "extraction_chp", bus="power", heat_bus="heat", fuel_bus="oil", **slots)
    _, data, _ = followed(site, least=6)
    assert 0 < (data["steam.power"].values > 0).sum() < len(PRICE)


def test_without_a_controller_jobs_run_soon_demands_are_as_they_would_be_and_sets_rest() -> None:
    site = quarter()
    site.add("cold", "curtailable_load", bus="power", power=LOAD)
    site.add("wash", "shiftable_load", bus="power", power=LOAD, shift_up_max=20, shift_down_max=90)
    site.add("press", "job", bus="power", power=12, duration=2, earliest=1, latest=6, runs=2)
    site.add(
        "set", "genset", bus="power", rated_power=60, fuel_slope=0.25, ramp_up=20, initial_power=0
    )
    site.minimise_cost()
    plant = Environment(site.blueprint())
    data = plant.run(seconds=900)
    assert data["cold.power"].values == pytest.approx(np.repeat(LOAD, 4))
    assert data["wash.power"].values == pytest.approx(np.repeat(LOAD, 4))
    assert data["press.power"].values == pytest.approx(np.repeat([0, 1, 1, 1, 1, 0, 0, 0], 4) * 12)
    assert not data["set.power"].values.any()
    # What is beyond a limit is not done: it falls by the demand at most, and the set is slow.
    data = plant.run(lambda now: {"wash.shift_down": 90.0, "set.power": 90.0, "set.on": now.step})
    assert not data["wash.power"].values.any()
    assert data["wash.shifted_energy"].values[-1] == pytest.approx(-sum(LOAD))
    assert data["set.power"].values[:5] == pytest.approx([0, 60, 60, 60, 60])
    data = plant.run(lambda now: {"set.power": 5.0 if now.step < 2 else 90.0}, seconds=3600)
    assert data["set.power"].values[:6] == pytest.approx([5, 5, 25, 45, 60, 60])
    assert plant.imbalance < 1e-9


def test_demands_on_a_bus_of_cold_are_refused_by_name() -> None:
    site = quarter()
    slots: Any = {"rated_capacity": 50, "rated_cop": 4}
    site.add("machine", "chiller", bus="power", cooling_bus="cold", **slots)
    site.add("hall", "curtailable_load", bus="cold", power=LOAD)
    site.minimise_cost()
    with pytest.raises(InputError, match="hall is a curtailable_load on a bus of cold"):
        Environment(site.blueprint())


AIRED: dict[str, Any] = {"rated_power": 3, "outdoor_share_min": 0.2, "minimum_flow": 0.3}


@pytest.mark.parametrize(("site", "least"), [(aired([30, 32], **AIRED), 10), (boxed(), 16)])
def test_air_handlers_and_boxes(site: Site, least: int) -> None:
    _, data, plan = followed(site, least=least, priced=False)
    assert data["plant.import"].values == pytest.approx(plan["plant.import"].values, abs=1e-5)


def test_air_is_as_warm_as_the_coils_can_make_it() -> None:
    """Half outdoor air at 0 degC and a room at 20 degC; 5 kW warm 1 kg/s by 4.97 K."""
    site = Site("2026-01-10", "1 h", 2)
    site.add("grid", "grid", bus="power", import_price=0.3)
    site.add("heat", "grid", bus="heat", import_price=0.1)
    site.add("hall", "thermal_zone", capacitance=500, initial_temperature=20)
    slots: Any = {"rated_flow": 1, "rated_power": 2, "minimum_flow": 0.5, "heating_power_max": 5}
    slots |= {"supply_temperature_min": 12, "supply_temperature_max": 35, "outdoor_temperature": 0}
    site.add("ahu", "air_handler", bus="power", heat_bus="heat", zone="hall", **slots)
    site.minimise_cost()
    plant = Environment(site.blueprint())
    wanted = {"ahu.flow": 9.0, "ahu.outdoor_share": 0.5, "ahu.supply_temperature": 30.0}
    done = plant.step(wanted)
    assert done["ahu.flow"] == 1.0
    assert done["ahu.mixed_temperature"] == pytest.approx(10.0)
    assert done["ahu.supply_temperature"] == pytest.approx(10.0 + 5.0 / 1.006)
    assert done["heat.import"] == pytest.approx(5.0)
    assert done["ahu.electric_power"] == 2.0
    # Without a controller it turns over what it has to, with air that needs no coil.
    plant.reset()
    done = plant.step({})
    assert (done["ahu.flow"], done["ahu.heating_coil"], done["ahu.outdoor_share"]) == (0.5, 0, 0)
    assert done["ahu.electric_power"] == pytest.approx(2.0 / 8.0)


@pytest.mark.parametrize("bus", ["heat", "cooling"])
def test_a_tank_of_two_zones(bus: str) -> None:
    site = quarter()
    machine: Any = {"rated_capacity": 60}
    if bus == "heat":
        site.add("pump", "heat_pump", bus="power", heat_bus="wet", cop=3, **machine)
    else:
        site.add("pump", "chiller", bus="power", cooling_bus="wet", rated_cop=4, **machine)
    site.add("houses", "load", bus="wet", power=LOAD[::-1])
    slots: Any = {"hot_temperature": 60, "cold_temperature": 30, "initial_fraction": 0.3}
    slots |= {"loss_conductance": 0.05, "ambient_temperature": 15 if bus == "heat" else 75}
    slots |= {f"{bus}_bus": "wet", "mass": 3000}
    site.add("tank", "two_zone_tank", **slots)
    _, data, _ = followed(site, least=5)
    assert data["tank.charge"].values.any()


def test_a_pump_gives_what_its_circuit_takes_and_what_it_cannot_is_unserved() -> None:
    site = quarter()
    site.add("pump", "pump", bus="power", rated_flow=15, rated_power=5)
    site.add(
        "machine", "chiller", heat_bus="warm", cooling_bus="cold", rated_capacity=9, rated_cop=4
    )
    site.add("hall", "load", bus="cold", power=4)
    tower: Any = {"rated_fan_power": 10, "wet_bulb_temperature": 20}
    tower |= {"rated_water_flow": 20, "water_flow": [20.0, 10, 5, 4, 12, 15, 18, 20]}
    site.add("tower", "cooling_tower", bus="power", heat_bus="warm", **tower)
    site.minimise_cost()
    plant = Environment(site.blueprint(), flows={"condenser": ["pump.flow", "tower.water_flow"]})
    data = plant.run()
    water = np.array(tower["water_flow"])
    assert data["pump.flow"].values == pytest.approx(np.minimum(water, 15.0))
    power = 5.0 * (np.minimum(water, 15.0) / 15.0) ** 3 + 10.0
    assert data["grid.import"].values == pytest.approx(power + LOAD)
    assert data["condenser.unserved"].attrs["units"] == "kg/s"
    assert data["condenser.unserved"].values == pytest.approx(np.maximum(water - 15.0, 0.0))
    (note,) = unserved(data)
    assert note.startswith("46.8 t (up to 5 kg/s) were taken that nothing made")
    assert plant.domains["condenser"] == "water"
    assert plant.imbalance < 1e-9
    with pytest.raises(InputError, match=r"condenser: tower.speed is no flow; .*tower.water_flow"):
        Environment(site.blueprint(), flows={"condenser": ["tower.speed"]})
