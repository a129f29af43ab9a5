"""Buildings as networks of heat: any nodes and links, or the three nodes of ISO 13790.

A plan says its temperatures by node, as ``<name>.<node>.temperature``, or as one quantity
``<name>.temperature`` over the nodes with mass and the instants; means of periods alike.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engiagent.blueprint.sets import IndexSet
from engiagent.models.buildings import H_MS, HeatNetwork, Link, Node, Zone5R1C
from engiagent.verify.frames import EvaluationError, MissingQuantity
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Result, Run, Trajectory
from engiagent.verify.plants.unit import Unit
from engiagent.verify.values import Floats

WAYS = (("heating", "heated", "heat_bus", 1.0), ("cooling", "cooled", "cooling_bus", -1.0))
SIZES = ("mass_capacity", "mass_area", "surface_area", "window_conductance", "opaque_conductance")
BY_NODE: Mapping[str, tuple[str, ...]] = {"mean_temperature": ()}
"""What a plan may have by node, and is not asked for."""
BUSES = {"heat_bus": "heating", "cooling_bus": "cooling"}


def network_parts(unit: Unit) -> tuple[HeatNetwork, dict[str, Floats], dict[str, Floats]]:
    """Return a network with its given temperatures [degC] and its given heat [kW] by period."""
    parts = {key: _mapping(unit, key) for key in ("nodes", "links", "boundaries", "heat")}
    nodes = tuple(
        Node(
            name=str(name),
            capacity=unit.constant(part.get("capacity", 0.0), "kWh/K"),
            initial_temperature=None
            if part.get("initial_temperature") is None
            else unit.constant(part["initial_temperature"], "degC"),
        )
        for name, part in parts["nodes"].items()
    )
    links = tuple(
        Link(
            one=str(part["one"]),
            other=str(part["other"]),
            conductance=_size(unit, part),
            one_way=part.get("one_way") is True,
        )
        for part in parts["links"].values()
    )
    network = HeatNetwork(nodes=nodes, links=links, boundaries=tuple(map(str, parts["boundaries"])))
    boundary = {k: unit.number(v, "degC") for k, v in parts["boundaries"].items()}
    heat = {k: unit.number(v, "kW") for k, v in parts["heat"].items()}
    return network, boundary, heat


def _execute_network(unit: Unit) -> Run:
    network, boundary, heat = network_parts(unit)
    results: list[Result] = []
    excesses: list[Excess] = []
    for series, key, _, sign in WAYS:
        limits = _mapping(unit, key)
        total = np.zeros(unit.periods.size)
        for node, written in limits.items():
            power = _power(unit, f"{series}_{node}", series if len(limits) == 1 else None)
            most = None if written is None else unit.number(written, "kW")
            excesses += unit.between(f"{series}_{node}", power, most, unit="kW")
            heat[node] = heat.get(node, 0.0) + sign * power
            total = total + power
        if limits:
            results.append(unit.result(series, total, "the powers into its nodes"))
    run = _run(unit, network, boundary, heat, {})
    return Run(run.trajectories, (*run.results, *results), tuple(excesses))


def zone_parts(unit: Unit) -> tuple[HeatNetwork, dict[str, Floats], dict[str, Floats]]:
    """Return the three nodes of ISO 13790 with given temperatures and gains, as network_parts."""
    sizes = unit.numbers(*SIZES)
    network = Zone5R1C(**sizes).network(unit.need("ventilation"))
    ambient, supply = unit.series("ambient_temperature"), unit.slot("supply_temperature")
    internal, solar = unit.series("internal_gains"), unit.series("solar_gains")
    # ISO 13790, C.2: half of the internal gains and all of the sun reach surfaces and mass.
    mass_share = sizes["mass_area"] / sizes["surface_area"]
    lost = 1000.0 * sizes["window_conductance"] / (H_MS * sizes["surface_area"])
    radiant = 0.5 * internal + solar
    heat = {
        "air": 0.5 * internal,
        "surface": (1.0 - mass_share - lost) * radiant,
        "mass": mass_share * radiant,
    }
    return network, {"ambient": ambient, "supply": ambient if supply is None else supply}, heat


def _execute_zone(unit: Unit) -> Run:
    """Run the three nodes."""
    network, boundary, heat = zone_parts(unit)
    excesses: list[Excess] = []
    for series, _, _, sign in WAYS:
        power = unit.claimed(series)
        if power is None and series == "heating":
            raise MissingQuantity(f"{unit.name}.{series}")
        if power is not None:
            excesses += unit.between(series, power, unit.slot(f"{series}_power_max"))
            heat["air"] = heat["air"] + sign * power
    run = _run(unit, network, boundary, heat, {"mass": unit.need("initial_temperature")})
    air = next(r for r in run.results if r.names[0] == f"{unit.name}.air.mean_temperature")
    owned = np.maximum(unit.optional("discomfort"), 0.0)
    for kind, side, sign in (("below", "min", -1.0), ("above", "max", 1.0)):
        limit, word = unit.slot(f"temperature_{side}"), "air.mean_temperature"
        if limit is not None:
            amount, words = sign * (air.values - limit) - owned, f"{kind} its {side}imum"
            excesses.append(unit.excess(kind, word, amount, 1.0, words))
    return Run(run.trajectories, run.results, tuple(excesses))


def _run(
    unit: Unit,
    network: HeatNetwork,
    boundary: Mapping[str, Floats],
    heat: Mapping[str, Floats],
    initial: Mapping[str, float],
) -> Run:
    """Return temperatures at instants of nodes with mass, and means of all nodes."""
    over = unit.periods
    instants = unit.instants
    found = network.simulate(boundary, unit.hours, heat, initial=initial or None)
    heavy = [node.name for node in network.nodes if node.capacity > 0]
    trajectories, results = [], []
    for node, column in network.index.items():
        if node in heavy:
            name = f"{unit.name}.{node}.temperature"
            values = found.temperature[:, column]
            claimed = _claimed(unit, "temperature", node, instants)
            scale = float(np.max(np.abs(values), initial=1.0))
            trajectories.append(
                Trajectory((name,), name, "degC", values, values, claimed, None, scale, instants)
            )
        name = f"{unit.name}.{node}.mean_temperature"
        means = found.mean_temperature[:, column]
        claimed = _claimed(unit, "mean_temperature", node, over)
        results.append(Result((name,), "degC", means, over, claimed, "the heat balance of nodes"))
    return Run(tuple(trajectories), tuple(results))


def _claimed(unit: Unit, word: str, node: str, over: IndexSet | None) -> Floats | None:
    """Return what the plan says of a node, by the name of the node or as a row of the quantity."""
    if over is None:
        return None
    try:
        return unit.plant.quantity(f"{unit.name}.{node}.{word}", over, "degC")
    except MissingQuantity:
        return unit.plant.member(f"{unit.name}.{word}", node, over, "degC")


def _power(unit: Unit, word: str, alone: str | None) -> Floats:
    """Return the power into a node; the only one may go by the name of the sum."""
    over = unit.periods
    for name in (word, *([] if alone is None else [alone])):
        try:
            return unit.plant.quantity(f"{unit.name}.{name}", over, "kW")
        except MissingQuantity:
            continue
    raise MissingQuantity(f"{unit.name}.{word}")


def _mapping(unit: Unit, key: str) -> Mapping[str, Any]:
    given = unit.connections.get(key) or {}
    if not isinstance(given, Mapping):
        raise EvaluationError(f"{unit.name}: {key} are no parts by their names")
    return given


def _size(unit: Unit, part: Mapping[str, Any]) -> float:
    if "conductance" in part:
        return unit.constant(part["conductance"], "kW/K")
    return 1.0 / unit.constant(part["resistance"], "K/kW")


ENTRIES = {
    "rc_network": Entry(_execute_network, demands=BUSES, only_with=BY_NODE),
    "zone_5r1c": Entry(_execute_zone, demands=BUSES, only_with=BY_NODE),
}
