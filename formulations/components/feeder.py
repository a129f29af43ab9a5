r"""A radial distribution feeder: voltages and line limits between the buses that units are on.

.. math::
    P_j &= p_j + \sum_{k} P_k + r_j \ell_j, \qquad Q_j = q_j + \sum_k Q_k + x_j \ell_j, \\
    v_j &= v_i - 2 (r_j P_j + x_j Q_j) + (r_j^2 + x_j^2)\,\ell_j, \qquad
    V_{\min}^2 \le v_j \le V_{\max}^2

with the flows :math:`P, Q` into the branch from :math:`i` to :math:`j`, the squares :math:`v` of
the voltage and :math:`\ell` of the current. Scheme ``socp`` has the losses by the relaxation
:math:`\ell_j v_i \ge P_j^2 + Q_j^2`, exact where more losses never pay. Scheme ``linear``
(LinDistFlow) leaves them out, :math:`\ell = 0`, and keeps apparent powers inside a polygon of 16
sides in the circle of the rating, by at most 2 % too strict. It is for screening: the checker
executes every plan by AC power flow, where the losses have to be bought.

Source: M. E. Baran and F. F. Wu, doi:10.1109/61.25627.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engiagent.blueprint.elements import Json, SetDef
from engiagent.formulations.components.fragment import CAPACITY, OPERATION, Terminal, balance
from engiagent.formulations.components.reader import Reader
from engiagent.models.grids import Bus, Feeder, Line, Transformer
from engiagent.models.grids.tree import Tree
from engiagent.models.ranges import ParameterError
from engiagent.slots import Slot

SIDES = 16
LINE = {"resistance": "ohm", "reactance": "ohm", "susceptance": "uS", "ampacity": "A"}
TRANSFORMER = {
    "rated_power": "kVA",
    "from_voltage": "kV",
    "to_voltage": "kV",
    "short_circuit_voltage": "1",
    "load_loss": "kW",
    "no_load_current": "1",
    "no_load_loss": "kW",
    "tap": "1",
}


@dataclass(frozen=True)
class Branch:
    """A bus and the branch above it; impedances per MW, referred to the source."""

    # bus, parent: names
    bus: str
    parent: str
    # resistance, reactance: [p.u. at 1 MVA]
    resistance: float
    reactance: float
    rating: float  # apparent power at nominal voltage; infinite for none. [kVA]
    current_square: float  # the square of the rating as a current. [p.u. at 1 MVA]


@dataclass(frozen=True)
class Layout:
    """A feeder as a tree: branches, and shunts and squares of ratios by bus."""

    source: str
    branches: tuple[Branch, ...]
    shunts: Mapping[str, complex]
    factors: Mapping[str, float]

    def below(self, bus: str) -> tuple[Branch, ...]:
        """Return the branches that begin at a bus."""
        return tuple(b for b in self.branches if b.parent == bus)


def feeder(reader: Reader) -> None:
    """Add a feeder; see the module."""
    lossy = reader.scheme() == "socp"
    layout = _layout(reader)
    _variables(reader, layout, lossy)
    for branch in layout.branches:
        _branch(reader, layout, branch, lossy)
    _outputs(reader, layout, lossy)
    _terminals(reader, layout, lossy)


def _at(reader: Reader, series: str, bus: str) -> str:
    return f"{reader.name}_{series}['{bus}', t]"


def _shunt(reader: Reader, layout: Layout, bus: str, part: str, lossy: bool) -> str:
    """Return what a bus's shunts draw, active [kW] or reactive [kvar]; nothing for none."""
    y = layout.shunts[bus]
    power = y.real if part == "active" else -y.imag
    if power == 0.0:
        return ""
    unit = "kW" if part == "active" else "kvar"
    # LinDistFlow takes them at nominal voltage, which is the square of the ratio here.
    square = _at(reader, "square_voltage", bus) if lossy else repr(layout.factors[bus])
    return f"{1000.0 * power!r}[{unit}]*{square}"


def _variables(reader: Reader, layout: Layout, lossy: bool) -> None:
    name = reader.name
    below, nodes = f"{name}_branches", f"{name}_nodes"
    names = tuple(b.bus for b in layout.branches)
    sets = (
        SetDef(name=below, kind="labels", elements=names),
        SetDef(name=nodes, kind="labels", elements=(layout.source, *names)),
    )
    most = reader.text("maximum_loading")
    top = max((b.rating for b in layout.branches), default=math.inf)
    bound = f"{most}*{top!r}[kVA]" if math.isfinite(top) else None
    squares = list(layout.factors.values())
    low = f"({reader.text('minimum_voltage')})**2*{min(squares)!r}"
    high = f"({reader.text('maximum_voltage')})**2*{max(squares)!r}"
    least = f"-{bound}" if bound else None
    referred = "square of the voltage, referred to the source,"
    rows: list[tuple[str, str, str | int | None, str | None, str]] = [
        ("flow", below, least, bound, "power into the branch to"),
        ("reactive_flow", below, least, bound, "reactive power into the branch to"),
        ("square_voltage", nodes, low, high, referred),
    ]
    if lossy:
        rows.append(("square_current", below, 0, None, "square of the current to"))
    reader.added.extend(sets)
    for series, over, lower, upper, words in rows:
        index = (f"b in {over}", *reader.periods)
        text = f"{words} a bus"
        reader.variable(series, text, lower=lower, upper=upper, index=index)


def _branch(reader: Reader, layout: Layout, branch: Branch, lossy: bool) -> None:
    """Add drop, reactive balance and limits of the branch above a bus."""
    bus, parent = branch.bus, branch.parent
    r, x = repr(branch.resistance), repr(branch.reactance)
    flow, reactive = (_at(reader, series, bus) for series in ("flow", "reactive_flow"))
    square, above = (_at(reader, "square_voltage", b) for b in (bus, parent))
    current = _at(reader, "square_current", bus)
    drop = f"2*({r}*{flow} + {x}*{reactive})/1[MW]"
    back = f" + {branch.resistance**2 + branch.reactance**2!r}*{current}" if lossy else ""
    drawn = [f"({_written(reader, bus)})"] if bus in _reactive(reader) else []
    drawn += [_at(reader, "reactive_flow", b.bus) for b in layout.below(bus)]
    drawn += [text] if (text := _shunt(reader, layout, bus, "reactive", lossy)) else []
    drawn += [f"{x}[MW]*{current}"] if lossy else []
    reader.row(f"{bus}_drop", f"{square} == {above} - {drop}{back}", f"voltage at {bus}")
    reader.row(
        f"{bus}_reactive",
        f"{reactive} == {balance(drawn) if drawn else '0[kvar]'}",
        f"reactive balance of {bus}",
        "Supply-Demand Balance",
    )
    _band(reader, layout, bus)
    most = reader.text("maximum_loading")
    if lossy:
        cone = f"{flow}**2 + {reactive}**2 <= 1[MW**2]*{current}*{above}"
        reader.row(f"{bus}_cone", cone, f"current to {bus}")
        if math.isfinite(branch.current_square):
            limit = f"{current} <= ({most})**2*{branch.current_square!r}"
            reader.row(f"{bus}_loading", limit, f"loading to {bus}", CAPACITY)
    elif math.isfinite(branch.rating):
        _polygon(reader, branch, flow, reactive, most)


def _band(reader: Reader, layout: Layout, bus: str) -> None:
    low = reader.text("minimum_voltage")
    high = reader.text("maximum_voltage")
    factor = repr(layout.factors[bus])
    text = f"({low})**2*{factor} <= {_at(reader, 'square_voltage', bus)} <= ({high})**2*{factor}"
    reader.row(
        f"{bus}_band",
        text,
        f"voltage band of {bus}",
        OPERATION,
        of="minimum_voltage maximum_voltage",
    )


def _polygon(reader: Reader, branch: Branch, flow: str, reactive: str, most: str) -> None:
    inner = branch.rating * math.cos(math.pi / SIDES)
    for side in range(SIDES):
        angle = 2.0 * math.pi * (side + 0.5) / SIDES
        along = f"{math.cos(angle)!r}*{flow} + {math.sin(angle)!r}*{reactive}"
        text = f"{along} <= {most}*{inner!r}[kVA]"
        reader.row(
            f"{branch.bus}_loading_{side}",
            text,
            f"loading to {branch.bus}",
            CAPACITY,
            of="maximum_loading",
        )


def _outputs(reader: Reader, layout: Layout, lossy: bool) -> None:
    """Add source voltage, voltages by bus, import and losses."""
    held = reader.text("source_voltage")
    source = _at(reader, "square_voltage", layout.source)
    reader.row("source", f"{source} == ({held})**2", "voltage at the source", of="source_voltage")
    for bus, factor in layout.factors.items():
        text = f"sqrt({_at(reader, 'square_voltage', bus)}/{factor!r})"
        own = f"{reader.name}.{bus}.voltage"
        reader.expression(f"{bus}_voltage", text, f"voltage at {bus}", unit="1", quantity=own)
    drawn = [_at(reader, "flow", b.bus) for b in layout.below(layout.source)]
    shunt = _shunt(reader, layout, layout.source, "active", lossy)
    reader.expression(
        "import", balance([*drawn, *([shunt] if shunt else [])]), "power from the source"
    )
    if lossy:
        lost = [
            f"{b.resistance!r}[MW]*{_at(reader, 'square_current', b.bus)}" for b in layout.branches
        ]
        shunts = [s for b in layout.factors if (s := _shunt(reader, layout, b, "active", lossy))]
        reader.expression("losses", balance([*lost, *shunts]), "losses")


def _terminals(reader: Reader, layout: Layout, lossy: bool) -> None:
    for branch in layout.branches:
        flow = _at(reader, "flow", branch.bus)
        reader.added.append(Terminal(branch.parent, flow, False, None))
        arriving = flow
        if lossy:
            current = _at(reader, "square_current", branch.bus)
            arriving = f"({flow} - {branch.resistance!r}[MW]*{current})"
        reader.added.append(Terminal(branch.bus, arriving, True, None))
    for bus in layout.factors:
        if shunt := _shunt(reader, layout, bus, "active", lossy):
            reader.added.append(Terminal(bus, shunt, False, None))


def _reactive(reader: Reader) -> Mapping[str, Json]:
    given = reader.connection("reactive") or {}
    if not isinstance(given, Mapping):
        raise reader.wrong("cannot read reactive", repr(given), "reactive demand by bus, in kvar")
    return given


def _written(reader: Reader, bus: str) -> str:
    """Return a bus's reactive demand as an expression."""
    return reader.part({bus: _reactive(reader)[bus]}, {bus: Slot("kvar", "series")}).text(bus)


def _layout(reader: Reader) -> Layout:
    feeder = _feeder(reader)
    if not feeder.radial:
        raise reader.wrong("it is meshed", expected="a tree; open the tie lines")
    network = feeder.network
    tree = Tree.of(network)
    names = feeder.bus_names
    for bus in (*names, *_reactive(reader)):
        if not bus.isidentifier() or bus not in names:
            raise reader.wrong(
                f"{bus!r} is no bus of it that can be named",
                expected="letters, digits and underscores",
            )
    branches = []
    for layer in tree.layers:
        for j in map(int, layer):
            i = int(tree.parent[j])
            ends = zip(network.begin, network.end, strict=True)
            k, down = next((k, e == j) for k, (b, e) in enumerate(ends) if {b, e} == {i, j})
            ampacity = float(network.ampacity[k, 1 if down else 0])
            current = ampacity / float(network.base_current[j]) / float(abs(tree.factor[j]))
            z = tree.impedance[j]
            branches.append(
                Branch(
                    names[j],
                    names[i],
                    float(z.real),
                    float(z.imag),
                    math.sqrt(3.0) * float(network.nominal[j]) * ampacity,
                    current**2,
                )
            )
    order = (tree.source, *(int(j) for layer in tree.layers for j in layer))
    return Layout(
        names[tree.source],
        tuple(branches),
        {names[j]: complex(tree.admittance[j]) for j in order},
        {names[j]: float(abs(tree.factor[j]) ** 2) for j in order},
    )


def _feeder(reader: Reader) -> Feeder:
    buses, source = reader.connection("buses"), reader.connection("source")
    if not isinstance(buses, Mapping) or source is None:
        needed = "connections: buses (name: nominal voltage in kV) and source"
        raise reader.wrong("it has no buses or no source", expected=needed)
    try:
        return Feeder(
            buses=tuple(
                Bus(name=str(name), nominal_voltage=_number(reader, value, "kV", f"buses.{name}"))
                for name, value in buses.items()
            ),
            source=str(source),
            lines=tuple(Line(**part) for part in _parts(reader, "lines", LINE)),
            transformers=tuple(
                Transformer(**part) for part in _parts(reader, "transformers", TRANSFORMER)
            ),
        )
    except (ParameterError, TypeError) as error:
        raise reader.wrong(f"its parts do not fit: {error}") from None


def _parts(reader: Reader, group: str, units: Mapping[str, str]) -> list[dict[str, Any]]:
    result = []
    given = reader.connection(group) or {}
    if not isinstance(given, Mapping):
        raise reader.wrong(f"cannot read {group}", expected="parts by their names")
    for name, part in given.items():
        odd = (
            None
            if not isinstance(part, Mapping)
            else next((key for key in part if key not in (*units, "from", "to")), None)
        )
        if not isinstance(part, Mapping) or odd is not None or not {"from", "to"} <= set(part):
            raise reader.wrong(
                f"cannot read {name} of {group}", odd, ", ".join(("from", "to", *units))
            )
        numbers = {
            key: _number(reader, part[key], unit, f"{group}.{name}.{key}")
            for key, unit in units.items()
            if key in part
        }
        ends = {"name": str(name), "from_bus": str(part["from"]), "to_bus": str(part["to"])}
        result.append({**ends, **numbers})
    return result


def _number(reader: Reader, written: Json, unit: str, what: str) -> float:
    """Return a number of a part; a bare one has the unit of its field already."""
    if isinstance(written, int | float) and not isinstance(written, bool):
        return float(written)
    if unit == "uS":  # no unit of the language
        return 1e6 * reader.evaluated(str(written), "A/V", what)
    return reader.evaluated(str(written), unit, what)
