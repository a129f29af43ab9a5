"""Pictures of feeders: the topology coloured by a result, voltage along the feeder, GeoJSON."""

import csv
import io
import itertools
import json
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.report.charts import Axis, Curve, Panel, document
from engiagent.report.charts.markup import Element, element, render
from engiagent.tools.grid.feeders import Feeder, Flow
from engiagent.tools.grid.flows import PACK, apply, situated
from engiagent.tools.modelling import plain
from engiagent.tools.places import inside, write_new
from engiagent.tools.registry import Json, Outcome, State, shape, tool
from engiagent.tools.site.arguments import stated

GROUP: Final = "grid"
_WIDTH: Final = 760.0
_HEIGHT: Final = 520.0
_EDGE: Final = 30.0
_KEY: Final = 60.0
Tone = tuple[int, int, int]
_COLOURS: Final[tuple[Tone, ...]] = ((33, 102, 172), (230, 230, 230), (178, 24, 43))
"""From low over middle to high, to be told apart by the colour-blind too."""
_UNITS: Final = {"voltage": "p.u.", "loading": "1", "curtailed": "kW", "slack": "A"}


def _values(feeder: Feeder, flow: Flow, given: Json, state: State) -> dict[str, float]:
    """Return what the map shows, by bus or branch."""
    colour = given.get("colour", "voltage")
    if colour == "loading":
        return dict(flow.loading)
    if colour == "voltage":
        found: dict[str, list[float]] = {}
        for node, value in flow.voltages.items():
            found.setdefault(node.partition(".")[0], []).append(abs(value))
        return {bus: max(own, key=lambda v: abs(v - 1)) for bus, own in found.items()}
    if "values" not in given:
        raise InputError(f"a map of what is {colour} needs values", expected="values=FILE.csv")
    wanted = ("available_kw", "power_kw") if colour == "curtailed" else ("slack_a",)
    text = inside(state.root, given["values"]).read_text("utf-8")
    sums: dict[str, float] = {}
    for row in csv.DictReader(io.StringIO(text)):
        try:
            bus = feeder.known(row["node"]).partition(".")[0]
            first, *rest = (float(row[name]) for name in wanted)
        except (AttributeError, KeyError, TypeError, ValueError):
            expected = ", ".join(("node", *wanted))
            raise InputError("it cannot be read", given["values"], expected=expected) from None
        sums[bus] = sums.get(bus, 0.0) + first - sum(rest)
    return sums


def places(feeder: Feeder) -> dict[str, tuple[float, float]]:
    """Return where buses are: their coordinates, else layers of a tree from the source.

    A bus without coordinates stands at the mean of its neighbours that have some.
    """
    known = dict(feeder.coordinates)
    if len(known) < len(feeder.bases) / 2:
        rows: Counter[int] = Counter()
        for bus, depth, _ in _walked(feeder):
            known[bus] = (float(depth), float(rows[depth]))
            rows[depth] += 1
        return known
    for _ in feeder.bases:
        for bus in [b for b in feeder.bases if b not in known]:
            ends = (branch.ends for branch in feeder.branches if bus in branch.ends)
            near = [known[n] for n in itertools.chain(*ends) if n in known]
            if near:
                x, y = np.mean(near, axis=0)
                known[bus] = (float(x), float(y))
    return {bus: known[bus] for bus in feeder.bases if bus in known}


def _walked(feeder: Feeder) -> Iterator[tuple[str, int, float]]:
    """Yield the buses from the source on, each with how many branches and how far away it is."""
    links: dict[str, list[tuple[str, float]]] = {bus: [] for bus in feeder.bases}
    for branch in feeder.branches:
        for here, there in (branch.ends, branch.ends[::-1]):
            links[here].append((there, branch.length))
    first = next(iter(links))
    seen, queue = {first}, deque([(first, 0, 0.0)])
    while queue:
        bus, depth, far = queue.popleft()
        yield bus, depth, far
        for other, length in links[bus]:
            if other not in seen:
                seen.add(other)
                queue.append((other, depth + 1, far + length))


def _shade(value: float, stops: Mapping[float, Tone]) -> str:
    """Return the colour of a value between those of some values."""
    tones = zip(*stops.values(), strict=True)
    return "#" + "".join(f"{round(np.interp(value, list(stops), part)):02x}" for part in tones)


def topology(feeder: Feeder, values: Mapping[str, float], colour: str) -> Element:
    """Return the map of a feeder as SVG, coloured by values of buses or branches."""
    where = places(feeder)
    points = np.array(list(where.values()))
    room = np.array([_WIDTH - 2 * _EDGE, _HEIGHT - 2 * _EDGE - _KEY])
    scale = min(room / np.maximum(np.ptp(points, axis=0), 1e-9))
    placed = _EDGE + (points - points.min(axis=0)) * scale
    placed[:, 1] = _HEIGHT - _KEY - placed[:, 1]
    at = dict(zip(where, placed.tolist(), strict=True))
    least, most = min(values.values(), default=0.0), max(values.values(), default=1.0)
    middle = min(max(1.0, least), most) if colour == "voltage" else least
    tones = {least: _COLOURS[0], most: _COLOURS[2], middle: _COLOURS[1]}
    stops, unit = dict(sorted(tones.items())), _UNITS[colour]

    def title(name: str) -> Element:
        said = f": {values[name]:.5g} {unit}" if name in values else ""
        return element("title", f"{name}{said}")

    drawn: list[Element] = []
    for branch in feeder.branches:
        if branch.ends[0] in at and branch.ends[1] in at:
            (ax, ay), (bx, by) = at[branch.ends[0]], at[branch.ends[1]]
            tone = _shade(values[branch.name], stops) if branch.name in values else "#888"
            wide = 1 + sum(node != "0" for node in branch.nodes) // 2
            line: dict[str, str | float] = {"x1": ax, "y1": ay, "x2": bx, "y2": by, "stroke": tone}
            drawn.append(element("line", title(branch.name), **line, stroke_width=wide))
    for bus, (px, py) in at.items():
        fill, size = (_shade(values[bus], stops), 5.0) if bus in values else ("#fff", 3.0)
        circle: dict[str, str | float] = {"cx": px, "cy": py, "r": size, "fill": fill}
        drawn.append(element("circle", title(bus), **circle, stroke="#555"))
        if len(at) <= 60:
            drawn.append(_word(bus, px + 7, py - 5))
    for k, value in enumerate(np.linspace(least, most, 60).tolist()):
        place = {"x": _EDGE + 4 * k, "y": _HEIGHT - 40, "width": 4.2, "height": 10}
        drawn.append(element("rect", **place, fill=_shade(value, stops)))
    for value, x, anchor in ((least, _EDGE, "start"), (most, _EDGE + 240, "middle")):
        drawn.append(_word(f"{value:.4g} {unit}", x, _HEIGHT - 14, text_anchor=anchor))
    ends = f"from {least:.4g} to {most:.4g} {unit}"
    about: dict[str, str | float] = {"role": "img", "font-family": "sans-serif"}
    about |= {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}"}
    head = element("title", f"Map of {feeder.name} coloured by {colour}, {ends}")
    return element("svg", head, *drawn, **about)


def _word(text: str, x: float, y: float, **more: str | float) -> Element:
    about: dict[str, str | float] = {"fill": "currentColor", "font-size": 12, **more}
    return element("text", text, x=x, y=y, **about)


def profile(feeder: Feeder, flow: Flow, low: float, high: float) -> Panel:
    """Return the voltages of the nodes over the distance from the source, a line a branch."""
    far = {bus: length for bus, _, length in _walked(feeder)}
    ends = np.array([0.0, max(far.values()) or 1.0])
    curves = [
        Curve(name, ends, np.full(2, limit), "line", "limit")
        for name, limit in (("lowest allowed", low), ("highest allowed", high))
    ]
    for phase in "123":
        points: list[tuple[float, float]] = []
        for branch in feeder.branches:
            nodes = [f"{bus}.{phase}" for bus in branch.ends]
            if (
                all(n in branch.nodes and n in flow.voltages for n in nodes)
                and branch.ends[0] in far
            ):
                pairs = zip(branch.ends, nodes, strict=True)
                points += [(far[bus], abs(flow.voltages[node])) for bus, node in pairs]
                points.append((points[-1][0], np.nan))  # a gap before the next branch
        if points:
            x, y = np.transpose(points)
            curves.append(Curve(f"phase {phase}", x, y, "line", marks=True))
    axis = Axis("distance from the source", "value", np.zeros(0), ())
    title = f"{feeder.name}: voltages along the feeder"
    return Panel(title, "p.u.", axis, tuple(curves), close=True)


def geojson(feeder: Feeder, values: Mapping[str, float], colour: str) -> str:
    """Return buses and branches as GeoJSON, with a value where there is one."""
    where = places(feeder)
    shapes: Any = {bus: ("Point", place) for bus, place in where.items()}
    for branch in feeder.branches:
        if all(end in where for end in branch.ends):
            shapes[branch.name] = ("LineString", [where[end] for end in branch.ends])
    features = [
        {"type": "Feature", "properties": {"name": name, colour: values.get(name)}}
        | {"geometry": {"type": kind, "coordinates": place}}
        for name, (kind, place) in shapes.items()
    ]
    return json.dumps({"type": "FeatureCollection", "features": features})


@tool(
    "write",
    *stated("feeder", "state", "picture", pack=PACK),
    returns=shape("case colour: text; least most: number or null; buses: count"),
    repeatable=False,
)
def grid_map(state: State, given: Json) -> Outcome:
    """Draw the topology of a feeder coloured by a result: SVG, or GeoJSON by the file's ending."""
    colour = given.get("colour", "voltage")
    with situated(state, given) as (feeder, situation):
        flow = apply(feeder, situation)
        values = _values(feeder, flow, given, state)
        if given["file"].endswith("json"):
            text = geojson(feeder, values, colour)
        else:
            text = str(render(topology(feeder, values, colour)))
        content = {
            **{"case": feeder.name, "colour": colour, "buses": len(places(feeder))},
            "least": min(values.values(), default=None),
            "most": max(values.values(), default=None),
        }
    return Outcome(plain(content), {}, (write_new(state.root, given["file"], text),))


@tool(
    "write",
    *stated("feeder", "state", "bands", "picture file", pack=PACK),
    returns=shape("case: text; lowest_pu highest_pu: number"),
    repeatable=False,
)
def grid_profile(state: State, given: Json) -> Outcome:
    """Draw the voltages of all nodes over their distance from the source, by phase, as SVG."""
    with situated(state, given) as (feeder, situation):
        flow = apply(feeder, situation)
        drawn = profile(feeder, flow, given.get("low", 0.95), given.get("high", 1.05))
        text = document([drawn], drawn.title)
        sizes = [abs(v) for v in flow.voltages.values()]
        content = {"case": feeder.name, "lowest_pu": min(sizes), "highest_pu": max(sizes)}
    return Outcome(plain(content), {}, (write_new(state.root, given["file"], text),))
