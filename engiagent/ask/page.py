"""The page of an answer: prose, findings, calls; and what notebooks show."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from markupsafe import escape

from engiagent.ask.answers import shown
from engiagent.report.sections import Fact, Section, page_of_tables
from engiagent.report.tables import Cell, DataTable, table_with_csv

if TYPE_CHECKING:  # an answer shows itself by this module
    from engiagent.ask.answers import Answered

_MOST_LETTERS: Final = 300
_TONES: Final = {"answered": "good", "partial": "open", "open": "open", "done": "good"}


def page(found: "Answered") -> str:
    """Return an answer as an HTML page that stands alone."""
    numbers = [
        Fact(item["label"], shown(item["value"], item["unit"]), f"call {item['call']}")
        for item in found.findings
    ]
    sections = [
        Section("Findings", tables=(_findings(found),), kind="values cards"),
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
