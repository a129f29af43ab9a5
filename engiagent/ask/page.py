"""The page of an answer: prose, findings, the plan as a graph, calls; and what notebooks show."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup, escape

from engiagent.ask.figures import shown
from engiagent.ask.plan import Plan
from engiagent.report.charts.drawing import caption, draw
from engiagent.report.charts.lanes import Bar, Lanes
from engiagent.report.charts.markup import Element, element, render
from engiagent.report.sections import (
    Cell,
    Chart,
    DataTable,
    Fact,
    Section,
    page_of_tables,
    table_with_csv,
)

if TYPE_CHECKING:  # an answer shows itself by this module
    from engiagent.ask.answers import Answered

_WIDTH: Final = 190
_HEIGHT: Final = 46
_GAP: Final = 34
_MOST_LETTERS: Final = 300
_TONES: Final = {"answered": "good", "partial": "open", "open": "open", "done": "good"}


def page(found: "Answered") -> str:
    """Return an answer as an HTML page that stands alone."""
    graph = _graph(found.plan, {call.id: call.status for call in found.calls})
    chart = Chart(1, f"The plan: {len(found.plan.steps)} calls", graph)
    numbers = [
        Fact(item["label"], shown(item["value"], item["unit"]), f"call {item['call']}")
        for item in found.findings
    ]
    sections = [
        Section(
            "Findings", tables=(_findings(found),), kind="values cards", charts=tuple(_bars(found))
        ),
        Section("Plan", charts=(chart,)),
        Section("Calls", tables=(_calls(found),), kind="cards"),
    ]
    return page_of_tables(
        found.question,
        "engiagent ask",
        sections[not found.findings :],
        lead=found.prose,
        numbers=numbers[:6],
        notes=list(notes(found)),
    )


def _bars(found: "Answered") -> Iterator[Chart]:
    """Yield a chart of bars for each unit that several findings have."""
    units: dict[str, list[Bar]] = {}
    for item in found.findings:
        value = item["value"]
        if isinstance(value, int | float) and not isinstance(value, bool):
            units.setdefault(item["unit"] or "1", []).append(Bar(item["label"], 0.0, float(value)))
    for number, (unit, bars) in enumerate((u, b) for u, b in units.items() if len(b) > 1):
        lanes = Lanes("Findings", unit, tuple(bars), base=0.0)
        yield Chart(2 + number, caption(lanes), draw(lanes, f"findings{number}"))


def notes(found: "Answered") -> Sequence[str]:
    """Return what a reader has to know beside the findings."""
    return [
        *(f"Assumed: {text}" for text in found.assumptions),
        *(f"Assumed: {item['figure']}: {item['reason']}" for item in found.plan.unused),
        *(f"Not done: {text}" for text in found.not_done),
        *(f"Struck out: {item['figure']} in “{item['context']}”" for item in found.struck_out),
        *(f"Open: {item.question}" for item in found.questions),
        *(f"Hired: {card['id']} for {', '.join(card['tools'])}" for card in found.hired),
    ]


def fragment(found: "Answered") -> str:
    """Return an answer as HTML for a notebook."""
    rows = "".join(
        f"<tr><th>{escape(item['label'])}</th><td>{escape(shown(item['value'], item['unit']))}</td>"
        f"<td>{escape(item['call'])}: {escape(item['path'])}</td></tr>"
        for item in found.findings
    )
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes(found))
    return (
        f"<p><b>{escape(found.question)}</b></p><p>{escape(found.prose)}</p>"
        f"<table>{rows}</table><ul>{listed}</ul>"
    )


def _findings(found: "Answered") -> DataTable:
    head = ("Finding", "Value", "Unit", "Call", "Path", "Artefact")
    rows = [
        (
            Cell(item["label"]),
            Cell(shown(item["value"], None), is_number=True),
            *(Cell(str(item[name] or "")) for name in ("unit", "call", "path", "artefact")),
        )
        for item in found.findings
    ]
    return table_with_csv("Findings", head, rows, "findings.csv")


def _calls(found: "Answered") -> DataTable:
    head = ("Call", "Agent", "Tool", "Arguments", "Status", "Answer")
    rows = [
        (
            *(Cell(text) for text in (call.id, call.agent, call.tool, _brief(call.arguments))),
            Cell(call.status, _TONES.get(call.status, "bad")),
            Cell(_brief(call.answer)),
        )
        for call in found.calls
    ]
    return table_with_csv("Calls", head, rows, "calls.csv")


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"


# --- the plan as a drawing -----------------------------------------------------------------------


def _graph(plan: Plan, status: Mapping[str, str]) -> Markup:
    """Return a plan as SVG: a box a step, columns by depth, arrows to what needs it."""
    places = _places(plan)
    columns = max((column for column, _ in places.values()), default=0) + 1
    rows = max((row for _, row in places.values()), default=0) + 1
    width, height = columns * (_WIDTH + _GAP), rows * (_HEIGHT + _GAP / 2)
    parts = [_arrow(places[a], places[b]) for a, b in plan.edges() if a in places and b in places]
    for step in plan.steps:
        parts += _box(places[step.id], f"{step.id} {step.tool}", f"{step.agent}", step.task)
    title = element("title", f"Plan of {len(plan.steps)} calls")
    box = f"0 0 {width:g} {height:g}"
    svg = element("svg", title, *parts, viewBox=box, role="img", width=width, height=height)
    svg.set("xmlns", "http://www.w3.org/2000/svg")
    return render(svg)


def _places(plan: Plan) -> dict[str, tuple[int, int]]:
    """Return the column and the row of each step; steps come after those that they need."""
    depth: dict[str, int] = {}
    used: dict[int, int] = {}
    found = {}
    for step in plan.steps:
        depth[step.id] = 1 + max((depth.get(name, -1) for name in step.needed()), default=-1)
        column = depth[step.id]
        found[step.id] = (column, used.get(column, 0))
        used[column] = used.get(column, 0) + 1
    return found


def _corner(place: tuple[int, int]) -> tuple[float, float]:
    return place[0] * (_WIDTH + _GAP) + 1, place[1] * (_HEIGHT + _GAP / 2) + 1


def _box(place: tuple[int, int], name: str, agent: str, task: str) -> list[Element]:
    x, y = _corner(place)
    style: dict[str, str | float] = {"fill": "none", "stroke": "currentColor", "rx": 4}
    words: dict[str, str | float] = {"fill": "currentColor", "x": x + 8, "font-size": 12}
    return [
        element("rect", element("title", task), x=x, y=y, width=_WIDTH, height=_HEIGHT, **style),
        element("text", name[:30], y=y + 19, **words),
        element("text", agent, y=y + 36, **words),
    ]


def _arrow(before: tuple[int, int], after: tuple[int, int]) -> Element:
    (x0, y0), (x1, y1) = _corner(before), _corner(after)
    start, end = (x0 + _WIDTH, y0 + _HEIGHT / 2), (x1, y1 + _HEIGHT / 2)
    head = (
        f"M {end[0] - 6:g} {end[1] - 4:g} L {end[0]:g} {end[1]:g} L {end[0] - 6:g} {end[1] + 4:g}"
    )
    path = f"M {start[0]:g} {start[1]:g} L {end[0]:g} {end[1]:g} {head}"
    return element("path", d=path, fill="none", stroke="currentColor")
