"""Buildings as networks of any size: the plan's temperatures are those of the simulation."""

from typing import Any

import numpy as np
import pytest

from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.models.buildings import H_MS, Zone5R1C
from engiagent.plant.site import Site
from tests.formulations.components.plans import executed, plan_of, solved
from tests.written import mapping

OUT = [-5.0, 0.0, 3.0, -2.0]


def house(step: Any, comfort: Any, **more: Any) -> Site:
    site = Site(start="2025-01-01T00:00", step=step, periods=4)
    site.parameter("outside", OUT, "degC")
    site.parameter("sun", [0.0, 1.5, 2.0, 0.0], "kW")
    site.add("source", "grid", bus="warm", import_power_max=30, export_power_max=0)
    site.add(
        "house",
        "rc_network",
        heat_bus="warm",
        nodes={
            "hall": {"capacity": 1.5, "initial_temperature": 20},
            "wall": {"capacity": 8, "initial_temperature": 17},
            "skin": {},
            "slab": {"capacity": "20 [kWh/K]", "initial_temperature": 21},
        },
        links={
            "a": {"one": "hall", "other": "skin", "conductance": 0.9},
            "b": {"one": "skin", "other": "wall", "resistance": 2},
            "c": {"one": "wall", "other": "out", "conductance": 0.15},
            "d": {"one": "hall", "other": "out", "conductance": 0.06},
            "e": {"one": "slab", "other": "hall", "conductance": 0.4},
        },
        boundaries={"out": "outside"},
        heat={"skin": "0.6*sun[t]", "hall": "0.4*sun[t]"},
        heated={"hall": 6, "slab": 8},
        comfort=comfort,
        **more,
    )
    site.minimise_cost({"source": [0.1, 0.4, 0.2, 0.5]})
    return site


@pytest.mark.parametrize("step", ["1 h", ["1 h", "30 min", "2 h", "1 h"]])
def test_a_network_of_any_kind_follows_its_simulation(step: Any) -> None:
    data = executed(house(step, {"hall": {"low": 20.5, "high": 24}}))
    assert set(data.house_nodes.values) == {"hall", "wall", "skin", "slab"}
    hall = data.house_mean_temperature.sel(house_nodes="hall").values
    assert hall.min() >= 20.5 - 1e-6
    assert hall.max() <= 24 + 1e-6
    np.testing.assert_allclose(data.source_import, data.house_heating, atol=1e-9)


def test_a_long_row_of_rooms_is_exact_and_keeps_its_coefficients_apart() -> None:
    count = 24
    ends = [(f"n{k}", f"n{k + 1}", 0.2) for k in range(count - 1)] + [("n0", "out", 0.3)]
    site = Site(start="2025-01-01T00:00", step="15 min", periods=3)
    site.add(
        "row",
        "rc_network",
        boundaries={"out": -5},
        heated={f"n{count - 1}": 5},
        nodes={f"n{k}": {"capacity": 2 + k % 3, "initial_temperature": 20} for k in range(count)},
        links={
            f"l{k}": {"one": a, "other": b, "conductance": g} for k, (a, b, g) in enumerate(ends)
        },
        comfort={f"n{count - 1}": {"low": 20.1}},
    )
    site.minimise("sum(row_heating[t]*dt(t) for t in T)", "kWh")
    assert executed(site).row_temperature.sizes["row_masses"] == count


def test_a_band_that_cannot_be_held_is_left_when_soft() -> None:
    band = {"hall": {"low": 35}}
    assert plan_of(house("1 h", band)).attrs["status"] == "infeasible"
    site = house("1 h", band, soft=True)
    site.minimise("sum(house_discomfort_hall[t] for t in T)", "K")
    data = solved(site)
    hall = data.house_mean_temperature.sel(house_nodes="hall").values
    np.testing.assert_allclose(data.house_discomfort_hall, np.maximum(35 - hall, 0), atol=1e-6)


def aired(outdoor: list[float], **more: Any) -> Site:
    site = Site(start="2025-05-01T00:00", step="1 h", periods=len(outdoor))
    site.add("grid", "grid", bus="site", import_power_max=50, export_power_max=0)
    site.add("plant", "grid", bus="cold", import_power_max=50, export_power_max=0)
    site.add("hall", "thermal_zone", capacitance=5, initial_temperature=24, gains=10)
    site.add(
        "ahu",
        "air_handler",
        bus="site",
        cooling_bus="cold",
        zone="hall",
        rated_flow=2,
        outdoor_temperature=outdoor,
        supply_temperature_min=13,
        supply_temperature_max=20,
        cooling_power_max=30,
        **more,
    )
    site.require("hall_temperature[t+1] == 24[degC]")
    site.minimise_cost({"grid": 0.3, "plant": 0.1})
    return site


def test_an_economiser_cools_as_far_as_the_outdoor_air_can() -> None:
    data = solved(aired([15.0, 20.0, 30.0]))
    np.testing.assert_allclose(data.ahu_cooling, 10, atol=1e-4)
    full = 2 * 1.006
    # Free at 15 degC; at 20 all outdoor air and the full flow leave 10 - 4 m c; at 30 none is let
    # in, and the coil takes what the room gives.
    np.testing.assert_allclose(data.ahu_cooling_coil, [0, 10 - 4 * full, 10], atol=1e-3)
    assert float(data.ahu_outdoor_share[1]) == pytest.approx(1, abs=1e-4)
    assert float(data.ahu_outdoor_share[2]) == pytest.approx(0, abs=1e-3)


def test_an_air_handler_balances_its_air_and_pays_its_fan() -> None:
    data = solved(aired([30.0, 32.0], rated_power=3, outdoor_share_min=0.2, minimum_flow=0.3))
    stream = data.ahu_flow.values * 1.006
    out, zone = np.array([30.0, 32.0]), data.hall_temperature.values[:-1]
    mixed = data.ahu_outdoor_share.values * out + (1 - data.ahu_outdoor_share.values) * zone
    np.testing.assert_allclose(data.ahu_mixed_temperature, mixed, atol=1e-5)
    coil = stream * (mixed - data.ahu_supply_temperature.values)
    np.testing.assert_allclose(data.ahu_cooling_coil, coil, atol=1e-4)
    np.testing.assert_allclose(data.ahu_electric_power, 3 * (data.ahu_flow / 2) ** 3, atol=1e-5)
    # The fan costs by the cube of the flow, the coil nothing by its temperature: it is coldest.
    np.testing.assert_allclose(data.ahu_supply_temperature, 13, atol=1e-3)


def test_an_air_handler_without_a_zone_is_refused() -> None:
    site = Site(start="00:00", step="1 h", periods=2)
    site.add(
        "ahu",
        "air_handler",
        rated_flow=1,
        outdoor_temperature=5,
        supply_temperature_min=13,
        supply_temperature_max=20,
    )
    with pytest.raises(EngiagentError, match="it serves no zone"):
        expand(site.blueprint())


def boxed(**more: Any) -> Site:
    """Return an office that is cooled and a lobby whose box warms the same air again."""
    site = Site(start="2025-07-01T00:00", step="1 h", periods=2)
    site.add("grid", "grid", bus="site", import_power_max=50, export_power_max=0)
    site.add("plant", "grid", bus="cold", import_power_max=50, export_power_max=0)
    site.add("boiler", "grid", bus="heat", import_power_max=50, export_power_max=0)
    site.add("office", "thermal_zone", capacitance=5, initial_temperature=24, gains=8)
    site.add("lobby", "thermal_zone", capacitance=5, initial_temperature=24, gains=1)
    site.add(
        "ahu",
        "air_handler",
        bus="site",
        cooling_bus="cold",
        rated_flow=2,
        rated_power=3,
        outdoor_temperature=30,
        supply_temperature_min=14,
        supply_temperature_max=18,
        cooling_power_max=30,
        outdoor_share_min=0.2,
    )
    site.add("east", "vav_box", air_handler="ahu", zone="office", flow_max=1.5)
    given: dict[str, Any] = mapping("""
        {air_handler: ahu, flow_min: 0.3, flow_max: 1, reheat_max: 5, discharge_temperature_max: 32}
    """)
    site.add("west", "vav_box", zone="lobby", heat_bus="heat", **(given | more))
    site.require("office_temperature[t+1] == 24[degC]")
    site.require("lobby_temperature[t+1] == 24[degC]")
    site.minimise_cost({"grid": 0.3, "plant": 0.1, "boiler": 0.1})
    return site


def test_boxes_share_the_air_of_one_handler_and_reheat_what_is_too_cold() -> None:
    data = solved(boxed())
    supply = data.ahu_supply_temperature.values
    # At its least flow the lobby's box heats what its air cools beyond the gains of the room.
    np.testing.assert_allclose(data.west_flow, 0.3, atol=1e-4)
    np.testing.assert_allclose(data.west_reheat, 0.3 * 1.006 * (24 - supply) - 1, atol=1e-4)
    np.testing.assert_allclose(data.west_cooling, 1, atol=1e-5)
    np.testing.assert_allclose(data.east_cooling, 8, atol=1e-5)
    np.testing.assert_allclose(data.ahu_flow, data.east_flow + data.west_flow, atol=1e-6)
    mixed = 24 + 0.2 * (30 - 24)  # both rooms have 24 degC
    coil = data.ahu_flow * 1.006 * (mixed - supply)
    np.testing.assert_allclose(data.ahu_cooling_coil, coil, atol=1e-4)


def test_a_box_that_may_not_blow_warm_cannot_hold_its_room() -> None:
    data = plan_of(boxed(discharge_temperature_max=19))
    assert data.attrs["status"] not in ("optimal", "feasible")


def test_a_box_without_its_handler_and_a_handler_with_zone_and_boxes_are_refused() -> None:
    with pytest.raises(EngiagentError, match="names no air_handler of its time set"):
        expand(boxed(air_handler="east").blueprint())
    site = boxed()
    site.add(
        "other",
        "air_handler",
        rated_flow=1,
        outdoor_temperature=5,
        zone="lobby",
        supply_temperature_min=13,
        supply_temperature_max=20,
    )
    site.add("third", "vav_box", air_handler="other", zone="office", flow_max=1)
    with pytest.raises(EngiagentError, match="it serves a zone and boxes"):
        expand(site.blueprint())


ZONE: dict[str, Any] = mapping("""
    {mass_capacity: 4.58, mass_area: 250.0, surface_area: 450.0, window_conductance: 0.0165,
      opaque_conductance: 0.04}
""")


def zone(**more: Any) -> Site:
    site = Site(start="2025-01-01T00:00", step="1 h", periods=4)
    given: dict[str, Any] = {
        **ZONE,
        "ventilation": 0.05,
        "ambient_temperature": OUT,
        "initial_temperature": 20,
        "internal_gains": 0.3,
        "solar_gains": [0.0, 1.0, 2.0, 0.0],
        **more,
    }
    site.add("zone", "zone_5r1c", **given)
    site.minimise("sum(zone_heating[t]*dt(t) for t in T)", "kWh")
    return site


def test_a_zone_of_the_standard_needs_the_heat_of_its_simulation() -> None:
    data = solved(zone(temperature_min=20))
    network, mass = Zone5R1C(**ZONE).network(0.05), 20.0
    ratio = ZONE["mass_area"] / ZONE["surface_area"]
    lost = 1000.0 * ZONE["window_conductance"] / (H_MS * ZONE["surface_area"])
    needs, airs = [], []
    for out, sun in zip(np.broadcast_to(OUT, 4), (0.0, 1.0, 2.0, 0.0), strict=True):
        radiant = 0.15 + sun
        gains = {"surface": (1 - ratio - lost) * radiant, "mass": ratio * radiant}
        around = {"ambient": float(out), "supply": float(out)}
        # The mean temperature of the air is linear in the load.
        free, more = (
            network.simulate(around, 1.0, {"air": 0.15 + load, **gains}, initial={"mass": mass})
            for load in (0.0, 1.0)
        )
        air = free.mean_temperature[0, 0]
        rise = more.mean_temperature[0, 0] - air
        needs.append(max((20.0 - air) / rise, 0.0))
        airs.append(air + rise * needs[-1])
        ends = [run.temperature[-1, network.index["mass"]] for run in (free, more)]
        mass = ends[0] + needs[-1] * (ends[1] - ends[0])
    # What is the least heat for a constant set point is what a thermostat gives, except that a
    # plan may store heat for a later hour, which costs more in all.
    np.testing.assert_allclose(data.zone_heating, needs, atol=1e-5)
    np.testing.assert_allclose(data.zone_mean_temperature.sel(zone_nodes="air"), airs, atol=1e-5)


def test_a_zone_precools_where_power_is_cheap() -> None:
    site = Site(start="2025-07-01T00:00", step="1 h", periods=4)
    site.add("grid", "grid", bus="site", import_power_max=20, export_power_max=0)
    site.add("chiller", "chiller", bus="site", cooling_bus="cold", rated_capacity=12, rated_cop=3)
    site.add(
        "hall",
        "zone_5r1c",
        cooling_bus="cold",
        **ZONE,
        ventilation=0.1,
        ambient_temperature=34,
        initial_temperature=24,
        internal_gains=2.0,
        temperature_max=25,
        heating_power_max=0,
        cooling_power_max=12,
    )
    site.minimise_cost({"grid": [0.1, 0.1, 0.9, 0.9]})
    data = solved(site)
    np.testing.assert_allclose(data.chiller_cooling, data.hall_cooling, atol=1e-8)
    assert data.hall_cooling.values[1] > data.hall_cooling.values[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": {}}, "it has no nodes"),
        ({"nodes": {"a": {"capacity": 0}}}, "no node has a capacity"),
        ({"nodes": {"a": {"capacity": 1}}}, "the node a has no initial_temperature"),
        ({"nodes": {"a": {"capacity": -1}}}, "does not fit"),
        ({"links": {"x": {"one": "a", "other": "b", "conductance": 1}}}, "does not fit"),
        ({"links": {"x": {"one": "a", "other": "out"}}}, "cannot read the link x"),
        ({"heated": {"attic": 3}}, "heated names 'attic'; expected a"),
        ({"comfort": {"a": 20}}, "cannot read the comfort of a"),
        ({"comfort": {"a": {"low": "3 bar"}}}, "low of a"),
    ],
)
def test_a_network_that_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {
        "nodes": {"a": {"capacity": 1, "initial_temperature": 20}},
        "boundaries": {"out": 5},
        "links": {"x": {"one": "a", "other": "out", "conductance": 1}},
    }
    site = Site(start="00:00", step="1 h", periods=2)
    site.add("net", "rc_network", **{**good, **change})
    with pytest.raises(EngiagentError, match="component net") as caught:
        expand(site.blueprint())
    assert message in str(caught.value)


def test_sizes_of_a_zone_that_cannot_be_are_refused() -> None:
    with pytest.raises(EngiagentError, match=r"component zone .* its sizes do not fit"):
        expand(zone(opaque_conductance=9).blueprint())
