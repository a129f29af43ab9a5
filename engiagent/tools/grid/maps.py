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
_COLOURS: Final = ((33, 102, 172), (230, 230, 230), (178, 24, 43))
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
    about: dict[str, str | float] = {"role": "img", "font-family": "sans-serif"}
    about |= {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}"}
    title = element("title", f"Map of {feeder.name} coloured by {colour}, {ends}")
    return element("svg", title, *drawn, **about)


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
