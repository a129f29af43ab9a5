r"""A building as any number of nodes, links and given temperatures, solved exactly over a step.

.. math::
    C_i \frac{dT_i}{dt} = \sum_j G_{ij} (T_j - T_i) + \sum_b G_{ib} (T_b - T_i) + \dot Q_i

Nodes without capacity follow the others at once. Heat goes into the nodes that ``heated`` names, at
most the power that stands there, and out of those of ``cooled``; on a bus of heat or cold it is
taken from there. ``comfort`` holds the mean temperature of nodes in a band; with the option
``soft`` the band may be left by the quantity ``discomfort``. See ``heat_network`` for the step.
"""

from collections.abc import Mapping
from typing import Any

from engiagent.blueprint.document import Json
from engiagent.formulations.components.fragment import balance
from engiagent.formulations.components.heat_network import Inputs, comfort, network_of
from engiagent.formulations.components.reader import Reader
from engiagent.models.buildings.network import HeatNetwork, Link, Node
from engiagent.models.ranges import ParameterError
from engiagent.slots import Slot

WAYS = (("heating", "heated", "heat_bus"), ("cooling", "cooled", "cooling_bus"))


def declare(reader: Reader) -> None:
    """Add the algebra of a network of rooms and walls."""
    network, initial = _network(reader)
    names = tuple(network.index)
    heats: dict[str, list[str]] = {}
    minus: dict[str, list[str]] = {}
    for node, written in _mapping(reader, "heat", names).items():
        heats.setdefault(node, []).append(_text(reader, f"heat into {node}", written, "kW"))
    for series, group, port in WAYS:
        into = heats if series == "heating" else minus
        _power(reader, series, _mapping(reader, group, names), port, into)
    heat = {
        node: balance(heats.get(node, []), minus.get(node, []))
        for node in names
        if node in heats or node in minus
    }
    boundary = {
        name: _text(reader, f"temperature of {name}", written, "degC")
        for name, written in _mapping(reader, "boundaries").items()
    }
    network_of(reader, network, Inputs(boundary, heat, initial))
    for node, band in _mapping(reader, "comfort", names).items():
        if not isinstance(band, Mapping) or not set(band) <= {"low", "high"}:
            raise reader.wrong(
                f"cannot read the comfort of {node}", repr(band), "low and high, in degC"
            )
        limits = {side: _text(reader, f"{side} of {node}", band[side], "degC") for side in band}
        mean = f"{reader.name}_mean_temperature['{node}', t]"
        comfort(reader, mean, limits.get("low"), limits.get("high"), f"_{node}")


def _power(
    reader: Reader, series: str, limits: Mapping[str, Json], port: str, into: dict[str, list[str]]
) -> None:
    """Add the heating or cooling of every node that has one, and their sum on the bus."""
    names, tops = [], []
    for node, written in limits.items():
        most = None if written is None else _text(reader, f"{series} of {node}", written, "kW")
        words = f"{series} into {node}"
        names.append(reader.variable(f"{series}_{node}", words, unit="kW", upper=most))
        tops.append(most)
        into.setdefault(node, []).append(names[-1])
    if not names:
        return
    total = reader.expression(series, balance(names), series)
    limit = None if any(top is None for top in tops) else balance(t for t in tops if t is not None)
    reader.terminal(total, limit, supplies=False, port=port)


def _network(reader: Reader) -> tuple[HeatNetwork, dict[str, str]]:
    nodes, initial = [], {}
    given = _mapping(reader, "nodes")
    if not given:
        raise reader.wrong("it has no nodes", expected="connections: nodes and links")
    for name, part in given.items():
        part = _known(reader, name, part, ("capacity", "initial_temperature"))
        size = _number(reader, f"capacity of {name}", part.get("capacity", 0), "kWh/K")
        nodes.append((str(name), size))
        if "initial_temperature" in part:
            what = f"initial temperature of {name}"
            initial[str(name)] = _text(reader, what, part["initial_temperature"], "degC")
    links = []
    for name, part in _mapping(reader, "links").items():
        part = _known(reader, name, part, ("one", "other", "conductance", "resistance", "one_way"))
        if ("conductance" in part) == ("resistance" in part) or not {"one", "other"} <= set(part):
            raise reader.wrong(
                f"cannot read the link {name}", expected="one, other, and conductance or resistance"
            )
        if "conductance" in part:
            size = _number(reader, f"conductance of {name}", part["conductance"], "kW/K")
        else:
            ohm = _number(reader, f"resistance of {name}", part["resistance"], "K/kW")
            if not ohm > 0:
                raise reader.wrong(
                    f"the resistance of {name} is {ohm:g} K/kW", expected="above 0 K/kW"
                )
            size = 1.0 / ohm
        links.append((str(part["one"]), str(part["other"]), size, part.get("one_way") is True))
    try:
        return HeatNetwork(
            nodes=tuple(Node(name=name, capacity=size) for name, size in nodes),
            links=tuple(Link(one=a, other=b, conductance=g, one_way=w) for a, b, g, w in links),
            boundaries=tuple(map(str, _mapping(reader, "boundaries"))),
        ), initial
    except ParameterError as error:
        raise reader.wrong(f"its network does not fit: {error}") from None


def _mapping(
    reader: Reader, connection: str, nodes: tuple[str, ...] | None = None
) -> Mapping[str, Any]:
    given = reader.connection(connection) or {}
    if not isinstance(given, Mapping):
        raise reader.wrong(f"cannot read {connection}", repr(given), "parts by their names")
    for name in given:
        if (nodes is not None and name not in nodes) or not name.isidentifier():
            known = ", ".join(nodes or ()) or "letters, digits and underscores"
            raise reader.wrong(f"{connection} names {name!r}", expected=known)
    return given


def _known(reader: Reader, name: str, part: Any, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(part, Mapping) or not set(part) <= set(known):
        raise reader.wrong(f"cannot read {name}", repr(part), ", ".join(known))
    return part


def _text(reader: Reader, what: str, written: Json, unit: str) -> str:
    """Return a value of a part as an expression in ``t``."""
    return reader.part({what: written}, {what: Slot(unit, "series")}).text(what)


def _number(reader: Reader, what: str, written: Json, unit: str) -> float:
    return reader.evaluated(_text(reader, what, written, unit), unit)
