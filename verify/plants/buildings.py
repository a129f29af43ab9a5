"""Zones of buildings, networks of heat, and the air that is blown into them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from engiagent.blueprint.elements import ConstraintDef
from engiagent.blueprint.sets import IndexSet
from engiagent.models import ThermalNetwork, ThermalZone
from engiagent.models.buildings import H_MS, HeatNetwork, Link, Node, Zone5R1C
from engiagent.models.hvac.fluids import air_heat, mixed_air
from engiagent.verify.frames import EvaluationError, MissingQuantity
from engiagent.verify.plants import Entry
from engiagent.verify.plants.run import Excess, Result, Run, Trajectory
from engiagent.verify.plants.unit import Unit, known, row, size, written
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

POWERS = ("heating", "cooling")


def groups(zones: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Yield zones that exchange heat together, each group once."""
    left = list(zones)
    while left:
        group = [left.pop(0)]
        grown = True
        while grown:
            names = {zone.name for zone in group}
            touching = [
                zone
                for zone in left
                if names & set(_walls(zone)) or any(zone.name in _walls(z) for z in group)
            ]
            grown = bool(touching)
            group += touching
            left = [zone for zone in left if zone not in touching]
        yield group


def _walls(zone: Dynamics | Unit) -> Mapping[str, Any]:
    walls: Mapping[str, Any] = zone.connections.get("neighbours") or {}
    return walls


def zone_network(zones: Sequence[Unit]) -> tuple[ThermalNetwork, Floats, list[Floats | None]]:
    """Return the model of zones, their first temperatures and those of the schedule. [degC]."""
    names = [zone.name for zone in zones]
    models = tuple(
        ThermalZone(
            name=zone.name,
            capacitance=zone.need("capacitance"),
            resistance=zone.largest("resistance"),
            neighbours={
                other: zone.constant(text, "K/kW")
                for other, text in _walls(zone).items()
                if other in names
            },
        )
        for zone in zones
    )
    claimed = [zone.state("temperature")[1] for zone in zones]
    pairs = zip(zones, claimed, strict=True)
    start = [zone.start("initial_temperature", found) for zone, found in pairs]
    return ThermalNetwork(models), np.array(start), claimed


def _zones(zones: Sequence[Unit]) -> Run:
    model, start, claimed = zone_network(zones)
    plant, hours = zones[0].plant, zones[0].hours
    heats = [{word: plant.heat(zone, word) for word in POWERS} for zone in zones]
    if all(found is None for pair in heats for found in pair.values()):
        raise MissingQuantity(zones[0].names("heating")[0])
    ambient = [zone.slot("ambient_temperature") for zone in zones]
    outside = next((a for a in ambient if a is not None), np.zeros(len(hours)))
    heat = np.zeros((len(hours), len(zones)))
    for column, (zone, pair) in enumerate(zip(zones, heats, strict=True)):
        gains = zone.slot("gains")
        for sign, part in ((1.0, pair["heating"]), (-1.0, pair["cooling"]), (1.0, gains)):
            if part is not None:
                heat[:, column] += sign * part
        own = ambient[column]
        if own is not None:
            # One ambient for the zone_network; what differs enters as heat through the wall.
            heat[:, column] += (own - outside) / model.zones[column].resistance
    scheme: Any = zones[0].scheme or "exact"
    declared = model.simulate(outside, hours, heat, initial=start, scheme=scheme)
    exact = declared
    if scheme != "exact":
        exact = model.simulate(outside, hours, heat, initial=start)
    predicted = None
    if all(found is not None for found in claimed):
        before = np.column_stack([found for found in claimed if found is not None])
        predicted = _one_step(model, before, np.column_stack((outside, heat)), hours, scheme)
    states, why = [], "the sum of the units that serve it"
    for k, zone in enumerate(zones):
        after = None if predicted is None else predicted[:, k]
        path, scale = declared[:, k], float(np.max(np.abs(declared[:, k]), initial=1.0))
        states.append(zone.trajectory("temperature", path, scale, exact=exact[:, k], after=after))
    results = tuple(
        zone.result(word, found, why)
        for zone, pair in zip(zones, heats, strict=True)
        for word, found in pair.items()
        if found is not None
    )
    return Run(tuple(states), results)


def _one_step(
    model: ThermalNetwork, known: Floats, inputs: Floats, hours: Floats, scheme: Any
) -> Floats:
    """Return what follows from each of the schedule's states after one step."""
    predicted = np.empty((len(hours), known.shape[1]))
    for step in np.unique(hours):
        rows = np.flatnonzero(hours == step)
        a, b = model.discretise(float(step), scheme)
        predicted[rows] = known[rows] @ a.T + inputs[rows] @ b.T
    return predicted


def _zone_rows(unit: Unit) -> Iterator[ConstraintDef]:
    """Yield the dynamics of a zone without neighbours; what several do is left to requirements."""
    over = unit.periods
    instants, state = unit.instants, known(unit, "temperature")
    if unit.connections.get("neighbours") or instants is None or state is None:
        return
    model, start, _ = zone_network([unit])
    hours = unit.hours
    ambient = written(unit, "ambient_temperature")
    if not (hours == hours[0]).all() or ambient is None:
        return
    scheme: Any = unit.scheme or "exact"
    keep, drive = model.discretise(float(hours[0]), scheme)
    sources = [
        f"{sign}{name}[t]"
        for sign, word in (("+", "heating"), ("-", "cooling"))
        if (name := known(unit, word)) is not None
    ]
    gains = written(unit, "gains")
    heat = " ".join([*sources, *([] if gains is None else [f"+{gains}"])])
    if not sources:
        return
    zero = "0[degC]"
    text = (
        f"{state}[t+1] - {zero} == {float(keep[0, 0])!r}*({state}[t] - {zero})"
        f" + {float(drive[0, 0])!r}*({ambient} - {zero})"
        f" + {float(drive[0, 1])!r}[K/kW]*({heat.lstrip('+')})"
    )
    yield row(f"{unit.name} dynamics", text, over.name)
    if unit.parameters.get("initial_temperature") is not None:
        text = f"{state}[first({instants.name})] == {float(start[0])!r}[degC]"
        yield row(f"{unit.name} start", text, None)


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


def _network(unit: Unit) -> Run:
    network, boundary, heat = network_parts(unit)
    results: list[Result] = []
    excesses: list[Excess] = []
    for series, key, _, sign in WAYS:
        limits = _mapping(unit, key)
        total = np.zeros(unit.periods.size)
        for node, limit in limits.items():
            power = _power(unit, f"{series}_{node}", series if len(limits) == 1 else None)
            most = None if limit is None else unit.number(limit, "kW")
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


def _zone_5r1c(unit: Unit) -> Run:
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
        return unit.plant.quantity(f"{unit.name}.{node}.{word}", over, "degC", unit.element)
    except MissingQuantity:
        return unit.plant.member(f"{unit.name}.{word}", node, over, "degC", unit.element)


def _power(unit: Unit, word: str, alone: str | None) -> Floats:
    """Return the power into a node; the only one may go by the name of the sum."""
    over = unit.periods
    for name in (word, *([] if alone is None else [alone])):
        try:
            return unit.plant.quantity(f"{unit.name}.{name}", over, "kW", unit.element)
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


OUTDOOR: Final = "outdoor_temperature"
Band = tuple[str, Floats, Floats | float | None, Floats | float | None]


def _handle(unit: Unit) -> Run:
    """Keep flow, share of outdoor air, supply temperature and coils; the rest follows."""
    rated = unit.need("rated_flow")
    flow, share = unit.decision("flow"), unit.decision("outdoor_share")
    supply, outdoor = unit.decision("supply_temperature"), unit.series(OUTDOOR)
    heat, cold = (unit.optional(f"{way}_coil") for way in ("heating", "cooling"))
    served = _served(unit, flow)
    taken = sum(air_heat(f, mixed_air(share, outdoor, zone), supply) for f, zone in served)
    balance = f"heat balance of the coils of {unit.name}"
    words = "the air does not take up what the coils give, off"
    gap = np.abs(np.asarray(taken) - (heat - cold))
    scale = max(size(np.asarray(taken)), size(heat - cold))
    excesses = [unit.fault("coils", balance, gap, "kW", scale, words)]
    power = unit.need("rated_power") * (flow / rated) ** 3
    use = np.asarray(sum(air_heat(part, supply, zone) for part, zone in served))
    results = [
        unit.result("cooling", use, "its flow and temperatures"),
        unit.result("electric_power", power, "its flow"),
    ]
    if unit.connections.get("zone") is None:
        total = np.asarray(sum(part for part, _ in served))
        name, words = f"flow of {unit.name}", "not the sum of its boxes', off"
        scale = max(size(flow), size(total))
        excesses.append(unit.fault("flows", name, np.abs(flow - total), "kg/s", scale, words))
    else:
        mixed = mixed_air(share, outdoor, served[0][1])
        results.append(unit.result("mixed_temperature", mixed, "its share of outdoor air"))
    bands: list[Band] = [("flow", flow, unit.need("minimum_flow") * rated, rated)]
    for word, series in (("outdoor_share", share), ("supply_temperature", supply)):
        bands.append((word, series, unit.slot(f"{word}_min"), unit.slot(f"{word}_max")))
    for way, series in (("heating", heat), ("cooling", cold)):
        bands.append((f"{way}_coil", series, 0.0, unit.slot(f"{way}_power_max")))
    return Run((), tuple(results), (*excesses, *_outside(unit, bands)))


def _reheat(unit: Unit) -> Run:
    """Keep the flow and the reheat of a box; what it does to the zone follows."""
    flow, heat = unit.decision("flow"), unit.optional("reheat")
    supply = partner(unit, "air_handler", "air_handler").decision("supply_temperature")
    cooling = air_heat(flow, supply, _room(unit)) - heat
    bands: list[Band] = [
        ("flow", flow, unit.slot("flow_min"), unit.slot("flow_max")),
        ("reheat", heat, 0.0, unit.slot("reheat_max")),
    ]
    warmest = unit.slot("discharge_temperature_max")
    if warmest is not None:
        bands.append(("reheat", heat, None, air_heat(flow, supply, warmest)))
    result = unit.result("cooling", cooling, "its flow, reheat and temperatures")
    return Run((), (result,), tuple(_outside(unit, bands)))


def _outside(unit: Unit, bands: Iterable[Band]) -> Iterator[Excess]:
    for word, series, low, high in bands:
        if low is not None:
            text = "below its least value"
            yield unit.excess("least", word, low - series, size(series), text)
        if high is not None:
            yield unit.excess("limit", word, series - high, size(series), "above its limit")


def _served(unit: Unit, flow: Floats) -> list[tuple[Floats, Floats]]:
    """Return the flow into every zone that gets air, and its temperature."""
    if unit.connections.get("zone") is not None:
        return [(flow, _room(unit))]
    boxes = [
        unit.plant.of(u)
        for u in unit.plant.units
        if u.model == "vav_box" and u.connections.get("air_handler") == unit.name
    ]
    if not boxes:
        raise EvaluationError(f"{unit.name} serves no zone; connect it to a thermal_zone or boxes")
    return [(box.decision("flow"), _room(box)) for box in boxes]


def _room(unit: Unit) -> Floats:
    """Return the temperature of the zone at the start of each period, as the plan has it."""
    word, found = partner(unit, "zone", "thermal_zone").state("temperature")
    if found is None:
        raise MissingQuantity(word)
    return found[:-1]


def partner(unit: Unit, port: str, model: str) -> Unit:
    """Return the unit of a model to which a connection leads."""
    name = unit.connections.get(port)
    found = next((u for u in unit.plant.units if u.name == name and u.model == model), None)
    if found is None:
        raise EvaluationError(f"{unit.name} is connected to no {model}; name one as its {port}")
    return unit.plant.of(found)


ENTRIES = {
    "thermal_zone": Entry(groups=groups, together=_zones, rows=_zone_rows),
    "rc_network": Entry(_network, demands=BUSES, only_with=BY_NODE),
    "zone_5r1c": Entry(_zone_5r1c, demands=BUSES, only_with=BY_NODE),
    "air_handler": Entry(
        _handle,
        supplies={"zone": "cooling"},
        demands={
            "bus": "electric_power",
            "heat_bus": "heating_coil",
            "cooling_bus": "cooling_coil",
        },
    ),
    "vav_box": Entry(_reheat, supplies={"zone": "cooling"}, demands={"heat_bus": "reheat"}),
}
