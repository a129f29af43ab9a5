r"""Heat networks as algebra: the exact step of nodes with mass, and means of all nodes.

.. math::
    C_i \frac{dT_i}{dt} = \sum_j G_{ij} (T_j - T_i) + \sum_b G_{ib} (T_b - T_i) + \dot Q_i, \qquad
    T_{k,t+1} = \sum_j A_{kj} T_{j,t} + \sum_b D_{kb} T_{b,t} + \sum_h D_{kh} \dot Q_{h,t}

in degrees Celsius, with the matrices of ``HeatNetwork.discretise``, which hold temperatures at the
boundaries and heat over a step; the means over the step follow alike. Nodes without capacity follow
the others at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.elements import FrozenMap, Json, SetDef
from engiagent.formulations.components.fragment import REQUIREMENT, balance
from engiagent.formulations.components.reader import Reader
from engiagent.models.buildings import H_MS, HeatNetwork, Link, Node, Zone5R1C
from engiagent.models.ranges import ParameterError
from engiagent.slots import Slot

NOTHING: Final = 1e-11
"""What an entry is worth over the largest one to be stored: 1e-10 K over ten kelvin."""
ZERO: Final = "0[degC]"
SIZES: Final = (
    "mass_capacity",
    "mass_area",
    "surface_area",
    "window_conductance",
    "opaque_conductance",
)
Floats = npt.NDArray[np.float64]


def rc_network(reader: Reader) -> None:
    """Add a building as any number of nodes, links and given temperatures.

    Heat goes into the nodes that ``heated`` names, at most the power that stands there, and out of
    those of ``cooled``; on a bus of heat or cold it is taken from there. ``comfort`` holds the mean
    temperature of nodes in a band; with the option ``soft`` the band may be left by the quantity
    ``discomfort``.
    """
    network, initial = _network(reader)
    names = tuple(network.index)
    plus: dict[str, list[str]] = {name: [] for name in names}
    minus: dict[str, list[str]] = {name: [] for name in names}
    for node, written in _mapping(reader, "heat", names).items():
        plus[node].append(_text(reader, f"heat into {node}", written, "kW"))
    for series, group, port, into in (
        ("heating", "heated", "heat_bus", plus),
        ("cooling", "cooled", "cooling_bus", minus),
    ):
        for node, power in _powers(reader, series, _mapping(reader, group, names), port):
            into[node].append(power)
    heat = {n: balance(plus[n], minus[n]) for n in names if plus[n] or minus[n]}
    boundary = {
        name: _text(reader, f"temperature of {name}", written, "degC")
        for name, written in _mapping(reader, "boundaries").items()
    }
    _stepped(reader, network, Inputs(boundary, heat, initial))
    for node, band in _mapping(reader, "comfort", names).items():
        if not isinstance(band, Mapping) or not set(band) <= {"low", "high"}:
            expected = "{low: 20 degC, high: 24 degC}, or one of them"
            raise reader.wrong(f"cannot read the comfort of {node}", repr(band), expected)
        limits = {side: _text(reader, f"{side} of {node}", band[side], "degC") for side in band}
        _comfort(reader, node, limits.get("low"), limits.get("high"), f"_{node}")


def zone_5r1c(reader: Reader) -> None:
    """Add a zone of ISO 13790: five conductances and one capacity, with the set points as a band.

    Air, surfaces and mass; gains are shared among them as the standard says. The band holds the
    mean temperature of the air; the step is exact and not the standard's Crank–Nicolson one.
    Heating and cooling are decisions, on a bus of heat or cold taken from there. With the option
    ``soft`` the band may be left by the quantity ``discomfort``.
    """
    sizes: dict[str, Any] = {slot: reader.number(slot) for slot in SIZES}
    try:
        network = Zone5R1C(**sizes).network(reader.number("ventilation"))
    except ParameterError as error:
        raise reader.wrong(f"its sizes do not fit: {error}") from None
    load = []
    for way, port in (("heating", "heat_bus"), ("cooling", "cooling_bus")):
        slot = f"{way}_power_max"
        if way == "heating" or reader.given(slot):
            load.append(reader.exchange(way, way, slot, supplies=False, port=port))
    ratio = sizes["mass_area"] / sizes["surface_area"]
    lost = sizes["window_conductance"] / (H_MS * sizes["surface_area"] / 1000.0)
    internal, outside = reader.text("internal_gains"), reader.text("ambient_temperature")
    radiant = f"(0.5*{internal} + {reader.optional('solar_gains') or '0[kW]'})"
    heat = {
        "air": f"0.5*{internal} + {' - '.join(load)}",
        "surface": f"{1.0 - ratio - lost!r}*{radiant}",
        "mass": f"{ratio!r}*{radiant}",
    }
    boundary = {"ambient": outside, "supply": reader.optional("supply_temperature") or outside}
    inputs = Inputs(boundary, heat, {"mass": reader.text("initial_temperature")})
    low, high = reader.optional("temperature_min"), reader.optional("temperature_max")
    _stepped(reader, network, inputs)
    _comfort(reader, "air", low, high)


# -- the step -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inputs:
    """What acts on a network, as expressions in ``t``."""

    boundary: Mapping[str, str]  # temperatures by the names of the boundaries. [degC]
    heat: Mapping[str, str]  # heat into nodes by their names. [kW]
    initial: Mapping[str, str]  # temperatures of the nodes with mass at the start. [degC]


def _stepped(reader: Reader, network: HeatNetwork, inputs: Inputs) -> None:
    """Add states, their exact step and means of all nodes.

    The series are ``temperature`` at instants over the nodes with mass and ``mean_temperature``
    over all nodes. Raises InputError when a node with mass lacks its first temperature.
    """
    nodes = tuple(node.name for node in network.nodes)
    heavy = tuple(node.name for node in network.nodes if node.capacity > 0)
    missing = [name for name in heavy if name not in inputs.initial]
    if missing:
        raise reader.wrong(f"the node {missing[0]} has no initial_temperature")
    name, temperature = reader.name, f"{reader.name}_temperature"
    for group, members in (("nodes", nodes), ("masses", heavy)):
        reader.added.append(SetDef(name=f"{name}_{group}", kind="labels", elements=members))
    over, index = f"k in {name}_masses", f"i in {reader.instants}"
    words = "temperature of the nodes of {} with mass"
    reader.variable("temperature", words, lower=None, role="state", index=(over, index))
    for k, node in enumerate(heavy):
        text = f"{temperature}['{node}', first({reader.instants})] == {inputs.initial[node]}"
        reader.row(f"initial_{k}", text, f"temperature of {node} of {{}} at the start", index=())
    lengths, kind = np.unique(reader.hours(), return_inverse=True)
    if len(lengths) > 1:
        _table(reader, "step_kind", "1", (reader.time,), tuple(map(float, kind)))
    means = []
    for number, length in enumerate(lengths):
        tail = "" if len(lengths) == 1 else f"_{number}"
        where = f"{name}_step_kind[t] == {number}" if tail else None
        try:
            exact = network.discretise(float(length))
        except ParameterError as error:
            raise reader.wrong(f"its network has no step: {error}") from None
        maps = _Maps(reader, network, inputs, heavy)
        step = maps.add(f"after{tail}", "masses", heavy, exact.transition, exact.drive)
        text = f"{temperature}[k, t+1] == {ZERO} + {step}"
        at = (over, f"t in {reader.time}")
        reader.row(f"dynamics{tail}", text, "heat balance", where=where, index=at)
        # Nodes without mass follow the means of the others.
        spread = exact.spread @ exact.mean_drive + exact.direct
        found = maps.add(
            f"mean{tail}", "nodes", nodes, exact.spread @ exact.mean_transition, spread
        )
        means.append(f"({ZERO} + {found})")
    mean = means.pop()
    for number in reversed(range(len(means))):
        mean = f"({means[number]} if {name}_step_kind[t] == {number} else {mean})"
    index, words = f"k in {name}_nodes", "mean temperature over a period of all nodes"
    reader.expression("mean_temperature", mean, words, index=(index, f"t in {reader.time}"))


@dataclass(frozen=True)
class _Maps:
    """Linear maps from masses and inputs, added as parameters."""

    reader: Reader
    network: HeatNetwork
    inputs: Inputs
    heavy: tuple[str, ...]

    def add(
        self, what: str, group: str, rows: tuple[str, ...], transition: Floats, drive: Floats
    ) -> str:
        """Add the parameters of one map, and return what it gives above 0 degC for a row ``k``."""
        reader, name, over = self.reader, self.reader.name, f"{self.reader.name}_{group}"
        transition, drive = _without_rounding(transition), _without_rounding(drive)

        def column(suffix: str, unit: str, place: int) -> str:
            values = FrozenMap({row: float(drive[i, place]) for i, row in enumerate(rows)})
            _table(reader, suffix, unit, (over,), values)
            return f"{name}_{suffix}[k]"

        table = {
            row: {col: float(transition[i, j]) for j, col in enumerate(self.heavy)}
            for i, row in enumerate(rows)
        }
        masses = f"{name}_masses"
        _table(reader, f"{what}_by_mass", "1", (over, masses), FrozenMap(table))
        above = f"({name}_temperature[j, t] - {ZERO})"
        terms = [f"sum({name}_{what}_by_mass[k, j]*{above} for j in {masses})"]
        for place, boundary in enumerate(self.network.boundaries):
            factor = column(f"{what}_by_{boundary}", "1", place)
            terms.append(f"{factor}*({self.inputs.boundary[boundary]} - {ZERO})")
        first = len(self.network.boundaries)
        for number, (node, heat) in enumerate(self.inputs.heat.items()):
            place = first + self.network.index[node]
            factor = column(f"{what}_by_heat_{number}", "K/kW", place)
            terms.append(f"{factor}*({heat})")
        return " + ".join(terms)


def _without_rounding(matrix: Floats) -> Floats:
    """Return a matrix without entries that no digit of a temperature depends on.

    Between distant nodes the exponential leaves numbers that solvers refuse as coefficients.
    """
    return np.where(np.abs(matrix) < NOTHING * np.abs(matrix).max(), 0.0, matrix)


def _table(reader: Reader, suffix: str, unit: str, index: tuple[str, ...], value: Json) -> None:
    note = "matrix exponential of capacities and conductances"
    reader.derived(suffix, unit, value, "of the exact step of {}", note=note, index=index)


def _comfort(
    reader: Reader, node: str, low: str | None, high: str | None, suffix: str = ""
) -> None:
    """Add a band for a node's mean temperature: hard, or broken by ``discomfort`` when ``soft``."""
    soft, slack = reader.flag("soft"), ""
    if low is None and high is None:
        return
    if soft:
        quantity = f"{reader.name}.discomfort{suffix.replace('_', '.', 1)}"
        words = "kelvin outside the band"
        slack = reader.variable(
            f"discomfort{suffix}", words, quantity=quantity, unit="K", role="auxiliary"
        )
    mean = f"{reader.name}_mean_temperature['{node}', t]"
    for side, limit, op, sign in (("low", low, ">=", "-"), ("high", high, "<=", "+")):
        if limit is not None:
            text = f"{mean} {op} {limit}" + (f" {sign} {slack}" if soft else "")
            words = f"comfort of {{}}, {side} side"
            reader.row(f"comfort_{side}{suffix}", text, words, REQUIREMENT)


# -- reading --------------------------------------------------------------------------------------


def _powers(
    reader: Reader, series: str, limits: Mapping[str, Json], port: str
) -> list[tuple[str, str]]:
    """Add the heating or cooling of every node that has one, and their sum on the bus."""
    found, tops = [], []
    for node, written in limits.items():
        most = None if written is None else _text(reader, f"{series} of {node}", written, "kW")
        words = f"{series} into {node}"
        found.append((node, reader.variable(f"{series}_{node}", words, unit="kW", upper=most)))
        tops += [most] if most is not None else []
    if found:
        total = reader.expression(series, balance(power for _, power in found), series)
        limit = balance(tops) if len(tops) == len(found) else None
        reader.terminal(total, limit, supplies=False, port=port)
    return found


def _network(reader: Reader) -> tuple[HeatNetwork, dict[str, str]]:
    nodes, initial, links = [], {}, []
    given = _mapping(reader, "nodes")
    if not given:
        raise reader.wrong("it has no nodes", expected="connections: nodes and links")
    for name, part in given.items():
        _refuse_odd(reader, name, part, ("capacity", "initial_temperature"))
        size = _number(reader, f"capacity of {name}", part.get("capacity", 0), "kWh/K")
        nodes.append((str(name), size))
        if "initial_temperature" in part:
            what = f"initial temperature of {name}"
            initial[str(name)] = _text(reader, what, part["initial_temperature"], "degC")
    for name, part in _mapping(reader, "links").items():
        _refuse_odd(reader, name, part, ("one", "other", "conductance", "resistance", "one_way"))
        if ("conductance" in part) == ("resistance" in part) or not {"one", "other"} <= set(part):
            expected = "one, other, and conductance or resistance"
            raise reader.wrong(f"cannot read the link {name}", expected=expected)
        if "conductance" in part:
            size = _number(reader, f"conductance of {name}", part["conductance"], "kW/K")
        else:
            ohm = _number(reader, f"resistance of {name}", part["resistance"], "K/kW")
            if not ohm > 0:
                text = f"the resistance of {name} is {ohm:g} K/kW"
                raise reader.wrong(text, expected="above 0 K/kW")
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


def _refuse_odd(reader: Reader, name: str, part: Any, known: tuple[str, ...]) -> None:
    if not isinstance(part, Mapping) or not set(part) <= set(known):
        raise reader.wrong(f"cannot read {name}", repr(part), ", ".join(known))


def _text(reader: Reader, what: str, written: Json, unit: str) -> str:
    """Return a value of a part as an expression in ``t``."""
    return reader.part({what: written}, {what: Slot(unit, "series")}).text(what)


def _number(reader: Reader, what: str, written: Json, unit: str) -> float:
    return reader.evaluated(_text(reader, what, written, unit), unit)
