"""Pictures of feeders: the topology coloured by a result, voltage along the feeder, GeoJSON."""

import csv
import io
import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.io.schemawords import COUNT, NUMBER, TEXT, maybe, record
from engiagent.report.charts.markup import Element, element, render
from engiagent.tools.grid.feeders import Feeder, Flow
from engiagent.tools.grid.flows import PACK, apply, situated
from engiagent.tools.modelling import plain
from engiagent.tools.places import below, inside
from engiagent.tools.registry import Json, Outcome, State, tool
from engiagent.tools.site.arguments import stated

GROUP: Final = "grid"
_WIDTH: Final = 760.0
_HEIGHT: Final = 520.0
_EDGE: Final = 30.0
_KEY: Final = 60.0
_COLOURS: Final = ((33, 102, 172), (230, 230, 230), (178, 24, 43))
"""From low over middle to high, to be told apart by the colour-blind too."""
_PHASES: Final = {"1": "#1b6ca8", "2": "#b2562a", "3": "#4f7d3a"}
_UNITS: Final = {"voltage": "p.u.", "loading": "1", "curtailed": "kW", "slack": "A"}


def _values(feeder: Feeder, flow: Flow, given: Json, state: State) -> dict[str, float]:
    """Return what the map shows, by bus or branch."""
    colour = given.get("colour", "voltage")
    if colour == "loading":
        pairs = zip(flow.branches.names, flow.branches.loading, strict=True)
        return {name: float(share) for name, share in pairs if np.isfinite(share)}
    if colour == "voltage":
        found: dict[str, list[float]] = {}
        for node, value in flow.voltages.items():
            found.setdefault(node.partition(".")[0], []).append(abs(value))
        return {bus: max(own, key=lambda v: abs(v - 1)) for bus, own in found.items()}
    if "values" not in given:
        raise InputError(f"a map of what is {colour} needs values", expected="values=FILE.csv")
    rows = list(csv.DictReader(io.StringIO(inside(state.root, given["values"]).read_text("utf-8"))))
    sums: dict[str, float] = {}
    for row in rows:
        try:
            own = (
                float(row["available_kw"]) - float(row["power_kw"])
                if colour == "curtailed"
                else float(row["slack_a"])
            )
        except (KeyError, TypeError, ValueError):
            wanted = "node, available_kw, power_kw" if colour == "curtailed" else "node, slack_a"
            raise InputError("the table cannot be read", given["values"], expected=wanted) from None
        bus = feeder.known(row["node"]).partition(".")[0]
        sums[bus] = sums.get(bus, 0.0) + own
    return sums


def places(feeder: Feeder) -> dict[str, tuple[float, float]]:
    """Return where buses are: their coordinates, else layers of a tree from the source.

    A bus without coordinates stands at the mean of its neighbours that have some.
    """
    known = dict(feeder.coordinates)
    links: dict[str, list[str]] = {bus: [] for bus in feeder.bases}
    for branch in feeder.branches:
        links[branch.ends[0]].append(branch.ends[1])
        links[branch.ends[1]].append(branch.ends[0])
    if len(known) < len(links) / 2:
        return _layers(links)
    left = [bus for bus in links if bus not in known]
    for _ in left:
        for bus in [b for b in left if b not in known]:
            near = [known[n] for n in links[bus] if n in known]
            if near:
                known[bus] = (
                    float(np.mean([x for x, _ in near])),
                    float(np.mean([y for _, y in near])),
                )
    return {bus: known[bus] for bus in links if bus in known}


def _layers(links: Mapping[str, list[str]]) -> dict[str, tuple[float, float]]:
    depth, found = {next(iter(links)): 0}, {}
    rows: dict[int, int] = {}
    queue = deque(depth)
    while queue:
        bus = queue.popleft()
        row = rows.setdefault(depth[bus], 0)
        rows[depth[bus]] = row + 1
        found[bus] = (float(depth[bus]), float(row))
        for other in links[bus]:
            if other not in depth:
                depth[other] = depth[bus] + 1
                queue.append(other)
    return found


def _shade(value: float, low: float, middle: float, high: float) -> str:
    if value <= middle:
        share = 0.0 if middle == low else (middle - value) / (middle - low)
        ends = (_COLOURS[1], _COLOURS[0])
    else:
        share = 0.0 if high == middle else (value - middle) / (high - middle)
        ends = (_COLOURS[1], _COLOURS[2])
    share = min(max(share, 0.0), 1.0)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))


def topology(feeder: Feeder, values: Mapping[str, float], colour: str) -> Element:
    """Return the map of a feeder as SVG, coloured by values of buses or branches."""
    where = places(feeder)
    x, y = (np.array([p[k] for p in where.values()]) for k in (0, 1))
    wide, high = (max(float(np.ptp(v)), 1e-9) for v in (x, y))
    scale = min((_WIDTH - 2 * _EDGE) / wide, (_HEIGHT - 2 * _EDGE - _KEY) / high)
    at = {
        bus: (_EDGE + (px - x.min()) * scale, _HEIGHT - _KEY - _EDGE - (py - y.min()) * scale)
        for bus, (px, py) in where.items()
    }
    least, most = min(values.values(), default=0.0), max(values.values(), default=1.0)
    middle = min(max(1.0, least), most) if colour == "voltage" else least
    drawn: list[Element] = []
    for branch in feeder.branches:
        if branch.ends[0] in at and branch.ends[1] in at:
            (ax, ay), (bx, by) = at[branch.ends[0]], at[branch.ends[1]]
            tone = "#888"
            if branch.name in values:
                tone = _shade(values[branch.name], least, middle, most)
            phases = sum(node != "0" for node in branch.nodes) // 2
            line: dict[str, str | float] = {"x1": ax, "y1": ay, "x2": bx, "y2": by, "stroke": tone}
            title = element("title", f"{branch.name}{_said(values.get(branch.name), colour)}")
            drawn.append(element("line", title, **line, **{"stroke-width": 1 + phases}))
    for bus, (px, py) in at.items():
        own = values.get(bus)
        fill = "#fff" if own is None else _shade(own, least, middle, most)
        title = element("title", f"{bus}{_said(own, colour)}")
        size = 3.0 if own is None else 5.0
        drawn.append(element("circle", title, cx=px, cy=py, r=size, fill=fill, stroke="#555"))
        if len(at) <= 60:
            drawn.append(_word(bus, px + 7, py - 5))
    drawn += _scale(least, middle, most, _UNITS[colour])
    ends = f"from {least:.4g} to {most:.4g} {_UNITS[colour]}"
    return _picture(f"Map of {feeder.name} coloured by {colour}, {ends}", drawn)


def _picture(label: str, drawn: Sequence[Element]) -> Element:
    about: dict[str, str | float] = {"role": "img", "font-family": "sans-serif"}
    about |= {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}"}
    return element("svg", element("title", label), *drawn, **about)


def _word(text: str, x: float, y: float, **more: str | float) -> Element:
    about: dict[str, str | float] = {"fill": "currentColor", "font-size": 12, **more}
    return element("text", text, x=x, y=y, **about)


def _said(value: float | None, colour: str) -> str:
    return "" if value is None else f": {value:.5g} {_UNITS[colour]}"


def _scale(least: float, middle: float, most: float, unit: str) -> list[Element]:
    found = []
    for k in range(60):
        value = least + (most - least) * k / 59
        place = {"x": _EDGE + 4 * k, "y": _HEIGHT - 40, "width": 4.2, "height": 10}
        found.append(element("rect", **place, fill=_shade(value, least, middle, most)))
    for value, x in ((least, _EDGE), (most, _EDGE + 240)):
        anchor = "middle" if value == most else "start"
        found.append(_word(f"{value:.4g} {unit}", x, _HEIGHT - 14, **{"text-anchor": anchor}))
    return found


def distances(feeder: Feeder) -> dict[str, float]:
    """Return how far buses are from the source along the lines, in the lines' own length."""
    links: dict[str, list[tuple[str, float]]] = {bus: [] for bus in feeder.bases}
    for branch in feeder.branches:
        links[branch.ends[0]].append((branch.ends[1], branch.length))
        links[branch.ends[1]].append((branch.ends[0], branch.length))
    first = next(iter(links))
    found, queue = {first: 0.0}, deque([first])
    while queue:
        bus = queue.popleft()
        for other, length in links[bus]:
            if other not in found:
                found[other] = found[bus] + length
                queue.append(other)
    return found


def profile(feeder: Feeder, flow: Flow, low: float, high: float) -> Element:
    """Return the voltages of the nodes over the distance from the source as SVG."""
    far = distances(feeder)
    sizes = {n: abs(v) for n, v in flow.voltages.items() if n.partition(".")[0] in far}
    least, most = min([low, *sizes.values()]) - 0.005, max([high, *sizes.values()]) + 0.005
    length = max(far.values()) or 1.0

    def at(bus: str, value: float) -> tuple[float, float]:
        x = 60 + (_WIDTH - 90) * far[bus] / length
        return x, 20 + (_HEIGHT - 80) * (most - value) / (most - least)

    drawn = []
    for limit in (low, high):
        y = at(next(iter(far)), limit)[1]
        line: dict[str, str | float] = {"x1": 60, "x2": _WIDTH - 30, "y1": y, "y2": y}
        drawn.append(element("line", **line, stroke="#777", **{"stroke-dasharray": "5 4"}))
        drawn.append(_word(f"{limit:g}", 20, y + 4))
    for branch in feeder.branches:
        a, b = branch.ends
        for phase, tone in _PHASES.items():
            nodes = f"{a}.{phase}", f"{b}.{phase}"
            if all(node in branch.nodes and node in sizes for node in nodes):
                (ax, ay), (bx, by) = at(a, sizes[nodes[0]]), at(b, sizes[nodes[1]])
                title = element("title", f"{branch.name}, phase {phase}")
                drawn.append(element("line", title, x1=ax, y1=ay, x2=bx, y2=by, stroke=tone))
    for node, value in sizes.items():
        bus, _, phase = node.partition(".")
        x, y = at(bus, value)
        title = element("title", f"{node}: {value:.5g} p.u.")
        drawn.append(element("circle", title, cx=x, cy=y, r=2.5, fill=_PHASES.get(phase, "#777")))
    for k, (phase, tone) in enumerate(_PHASES.items()):
        drawn.append(_word(f"phase {phase}", 60 + 90 * k, _HEIGHT - 12, fill=tone))
    far_end = f"{length:.4g} from the source"
    drawn.append(_word(far_end, _WIDTH - 30, _HEIGHT - 32, **{"text-anchor": "end"}))
    ends = f"from {min(sizes.values()):.4f} to {max(sizes.values()):.4f} p.u."
    return _picture(f"Voltages of {feeder.name} along the feeder, {ends}", drawn)


def geojson(feeder: Feeder, values: Mapping[str, float], colour: str) -> str:
    """Return buses and branches as GeoJSON, with a value where there is one."""
    where = places(feeder)
    features: list[Any] = []
    for bus, place in where.items():
        own = {"name": bus, colour: values.get(bus)}
        shape = {"type": "Point", "coordinates": list(place)}
        features.append({"type": "Feature", "properties": own, "geometry": shape})
    for branch in feeder.branches:
        if all(end in where for end in branch.ends):
            own = {"name": branch.name, colour: values.get(branch.name)}
            shape = {"type": "LineString", "coordinates": [list(where[e]) for e in branch.ends]}
            features.append({"type": "Feature", "properties": own, "geometry": shape})
    return json.dumps({"type": "FeatureCollection", "features": features})


def _written(state: State, given: Json, text: str) -> str:
    path = below(state.root, given["file"])
    if path.exists():
        raise InputError("there is such a file already", given["file"], expected="a new one")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text)
    return path.relative_to(state.root).as_posix()


@tool(
    "write",
    *stated("feeder", "state", "picture", pack=PACK),
    returns=record(
        {
            "case": TEXT,
            "colour": TEXT,
            "least": maybe(NUMBER),
            "most": maybe(NUMBER),
            "buses": COUNT,
        }
    ),
    repeatable=False,
)
def grid_map(state: State, given: Json) -> Outcome:
    """Draw the topology of a feeder coloured by a result: SVG, or GeoJSON by the file's ending."""
    colour = given.get("colour", "voltage")
    with situated(state, given) as (feeder, situation):
        flow = apply(feeder, situation)
        values = _values(feeder, flow, given, state)
        geographic = given["file"].endswith(("json", "geojson"))
        text = (
            geojson(feeder, values, colour)
            if geographic
            else str(render(topology(feeder, values, colour)))
        )
        least, most = min(values.values(), default=math.nan), max(values.values(), default=math.nan)
        content = {
            **{"case": feeder.name, "colour": colour, "buses": len(places(feeder))},
            **{"least": least if values else None, "most": most if values else None},
        }
    return Outcome(plain(content), {}, (_written(state, given, text),))


@tool(
    "write",
    *stated("feeder", "state", "bands", "picture file", pack=PACK),
    returns=record({"case": TEXT, "lowest_pu": NUMBER, "highest_pu": NUMBER}),
    repeatable=False,
)
def grid_profile(state: State, given: Json) -> Outcome:
    """Draw the voltages of all nodes over their distance from the source, by phase, as SVG."""
    with situated(state, given) as (feeder, situation):
        flow = apply(feeder, situation)
        drawn = profile(feeder, flow, given.get("low", 0.95), given.get("high", 1.05))
        sizes = [abs(v) for v in flow.voltages.values()]
        content = {"case": feeder.name, "lowest_pu": min(sizes), "highest_pu": max(sizes)}
    return Outcome(plain(content), {}, (_written(state, given, str(render(drawn))),))
