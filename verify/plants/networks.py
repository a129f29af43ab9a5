"""Buildings as networks of heat: any nodes and links, or the three nodes of ISO 13790.

A plan says its temperatures by node, as ``<name>.<node>.temperature``, or as one quantity
``<name>.temperature`` over the nodes with mass and the instants; means of periods alike.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engiagent.blueprint.sets import IndexSet
from engiagent.models.buildings.iso13790 import H_MS, Zone5R1C
from engiagent.models.buildings.network import HeatNetwork, Link, Node
from engiagent.verify.frames import EvaluationError, MissingQuantity
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Result, Run, Trajectory
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

WAYS = (("heating", "heated", "heat_bus", 1.0), ("cooling", "cooled", "cooling_bus", -1.0))
SIZES = ("mass_capacity", "mass_area", "surface_area", "window_conductance", "opaque_conductance")
BY_NODE: Mapping[str, tuple[str, ...]] = {"mean_temperature": ()}
"""What a plan may have by node, and is not asked for."""
BUSES = {"heat_bus": "heating", "cooling_bus": "cooling"}


def _execute_network(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    parts = {key: _mapping(unit, key) for key in ("nodes", "links", "boundaries", "heat")}
    nodes = tuple(
        Node(
            name=str(name),
            capacity=_number(plant, unit, part.get("capacity", 0.0), "kWh/K"),
            initial_temperature=None
            if part.get("initial_temperature") is None
            else _number(plant, unit, part["initial_temperature"], "degC"),
        )
        for name, part in parts["nodes"].items()
    )
    links = tuple(
        Link(
            one=str(part["one"]),
            other=str(part["other"]),
            conductance=_size(plant, unit, part),
            one_way=part.get("one_way") is True,
        )
        for part in parts["links"].values()
    )
    network = HeatNetwork(nodes=nodes, links=links, boundaries=tuple(map(str, parts["boundaries"])))
    boundary = {k: plant.number(unit, v, "degC") for k, v in parts["boundaries"].items()}
    heat = {k: plant.number(unit, v, "kW") for k, v in parts["heat"].items()}
    results: list[Result] = []
    excesses: list[Excess] = []
    for series, key, _, sign in WAYS:
        limits = _mapping(unit, key)
        total = np.zeros(plant.periods(unit).size)
        for node, written in limits.items():
            power = _power(plant, unit, f"{series}_{node}", series if len(limits) == 1 else None)
            most = None if written is None else plant.number(unit, written, "kW")
            excesses += _limits(plant, unit, f"{series}_{node}", power, most)
            heat[node] = heat.get(node, 0.0) + sign * power
            total = total + power
        if limits:
            results.append(plant.result(unit, series, total, "the powers into its nodes"))
    run = _run(plant, unit, network, boundary, heat, {})
    return Run(run.trajectories, (*run.results, *results), tuple(excesses))


def _execute_zone(plant: Plant, group: Sequence[Dynamics]) -> Run:
    """Run the three nodes; gains are shared among them as the standard says."""
    unit = group[0]
    sizes: dict[str, Any] = {slot: plant.need(unit, slot) for slot in SIZES}
    network = Zone5R1C(**sizes).network(plant.need(unit, "ventilation"))
    ambient = plant.series(unit, "ambient_temperature")
    supply = plant.slot(unit, "supply_temperature")
    internal, solar = plant.series(unit, "internal_gains"), plant.series(unit, "solar_gains")
    load, excesses = np.zeros(ambient.size), []
    for series, _, _, sign in WAYS:
        power = plant.claimed(unit, series)
        if power is None and series == "heating":
            raise MissingQuantity(plant.names(unit, series)[0])
        if power is not None:
            excesses += _limits(plant, unit, series, power, plant.slot(unit, f"{series}_power_max"))
            load = load + sign * power
    # ISO 13790, C.2: half of the internal gains and all of the sun reach surfaces and mass.
    mass_share = sizes["mass_area"] / sizes["surface_area"]
    lost = 1000.0 * sizes["window_conductance"] / (H_MS * sizes["surface_area"])
    radiant = 0.5 * internal + solar
    heat = {
        "air": 0.5 * internal + load,
        "surface": (1.0 - mass_share - lost) * radiant,
        "mass": mass_share * radiant,
    }
    boundary = {"ambient": ambient, "supply": ambient if supply is None else supply}
    run = _run(
        plant, unit, network, boundary, heat, {"mass": plant.need(unit, "initial_temperature")}
    )
    air = next(r for r in run.results if r.names[0] == f"{unit.name}.air.mean_temperature")
    discomfort = plant.claimed(unit, "discomfort")
    owned = np.zeros(ambient.size) if discomfort is None else np.maximum(discomfort, 0.0)
    for side, sign, words in (
        ("min", -1.0, "below its minimum"),
        ("max", 1.0, "above its maximum"),
    ):
        limit = plant.slot(unit, f"temperature_{side}")
        if limit is not None:
            amount = sign * (air.values - limit) - owned
            excesses.append(
                Excess(
                    f"{words.split()[0]}:{air.names[0]}",
                    air.names[0],
                    amount,
                    "degC",
                    1.0,
                    air.over,
                    words,
                )
            )
    return Run(run.trajectories, run.results, tuple(excesses))


def _run(
    plant: Plant,
    unit: Dynamics,
    network: HeatNetwork,
    boundary: Mapping[str, Floats],
    heat: Mapping[str, Floats],
    initial: Mapping[str, float],
) -> Run:
    """Return temperatures at instants of nodes with mass, and means of all nodes."""
    over = plant.periods(unit)
    instants = plant.instants(over)
    found = network.simulate(boundary, plant.hours(over), heat, initial=initial or None)
    heavy = [node.name for node in network.nodes if node.capacity > 0]
    trajectories, results = [], []
    for node, column in network.index.items():
        if node in heavy:
            name = f"{unit.name}.{node}.temperature"
            values = found.temperature[:, column]
            claimed = _claimed(plant, unit, "temperature", node, instants)
            scale = float(np.max(np.abs(values), initial=1.0))
            trajectories.append(
                Trajectory((name,), name, "degC", values, values, claimed, None, scale, instants)
            )
        name = f"{unit.name}.{node}.mean_temperature"
        means = found.mean_temperature[:, column]
        claimed = _claimed(plant, unit, "mean_temperature", node, over)
        results.append(Result((name,), "degC", means, over, claimed, "the heat balance of nodes"))
    return Run(tuple(trajectories), tuple(results))


def _claimed(
    plant: Plant, unit: Dynamics, word: str, node: str, over: IndexSet | None
) -> Floats | None:
    """Return what the plan says of a node, by the name of the node or as a row of the quantity."""
    if over is None:
        return None
    try:
        return plant.quantity(f"{unit.name}.{node}.{word}", over, "degC")
    except MissingQuantity:
        return plant.member(f"{unit.name}.{word}", node, over, "degC")


def _power(plant: Plant, unit: Dynamics, word: str, alone: str | None) -> Floats:
    """Return the power into a node; the only one may go by the name of the sum."""
    over = plant.periods(unit)
    for name in (word, *([] if alone is None else [alone])):
        try:
            return plant.quantity(f"{unit.name}.{name}", over, "kW")
        except MissingQuantity:
            continue
    raise MissingQuantity(f"{unit.name}.{word}")


def _limits(
    plant: Plant, unit: Dynamics, word: str, power: Floats, most: Floats | None
) -> list[Excess]:
    name, over = f"{unit.name}.{word}", plant.periods(unit)
    scale = float(np.max(np.abs(power), initial=0.0))
    found = [Excess(f"sign:{name}", name, -power, "kW", scale, over, "negative")]
    if most is not None:
        found.append(
            Excess(f"limit:{name}", name, power - most, "kW", scale, over, "above its limit")
        )
    return found


def _mapping(unit: Dynamics, key: str) -> Mapping[str, Any]:
    given = unit.connections.get(key) or {}
    if not isinstance(given, Mapping):
        raise EvaluationError(f"{unit.name}: {key} are no parts by their names")
    return given


def _number(plant: Plant, unit: Dynamics, written: Any, text: str) -> float:
    return float(plant.number(unit, written, text)[0])


def _size(plant: Plant, unit: Dynamics, part: Mapping[str, Any]) -> float:
    if "conductance" in part:
        return _number(plant, unit, part["conductance"], "kW/K")
    return 1.0 / _number(plant, unit, part["resistance"], "K/kW")


ENTRIES = {
    "rc_network": Entry(
        "rc_network",
        "building as any network of heat capacities, conductances and given temperatures",
        SLOTS["rc_network"],
        _execute_network,
        connections={
            "nodes": "by name `capacity` in kWh/K and `initial_temperature` in degC",
            "links": "by name `one`, `other` and `conductance` in kW/K or `resistance` in K/kW, "
            "`one_way` for a stream",
            "boundaries": "given temperatures by name, in degC",
            "heat": "given heat into nodes, in kW",
            "heated": "nodes that are heated, with the largest power in kW",
            "cooled": "nodes that are cooled, with the largest power in kW",
            "comfort": "bands of nodes, which requirements judge",
            "heat_bus": "from which it takes heat",
            "cooling_bus": "to which heat goes",
        },
        demands=BUSES,
        only_with=BY_NODE,
    ),
    "zone_5r1c": Entry(
        "zone_5r1c",
        "zone of ISO 13790 with air, surfaces and mass",
        SLOTS["zone_5r1c"],
        _execute_zone,
        connections={"heat_bus": "from which it takes heat", "cooling_bus": "to which heat goes"},
        demands=BUSES,
        only_with=BY_NODE,
    ),
}
