"""The key figures of a plan in words, for the top of a report."""

from typing import Final

from engiagent.report import words
from engiagent.report.sections import Fact
from engiagent.run.keyfigures import Figure, KeyFigures

MOST: Final = 60
_NAMES: Final = {
    "peak_import": "Largest import",
    "peak_export": "Largest export",
    "self_consumption": "Own generation used here",
    "self_sufficiency": "Own share of the consumption",
    "throughput": "Charged and discharged",
    "full_cycles": "Full cycles",
    "losses": "Lost in storage",
    "discomfort_below": "Too cold",
    "discomfort_above": "Too warm",
}
"""What a figure is called where its own name says too little."""


def key_facts(found: KeyFigures) -> tuple[list[Fact], int]:
    """Return key figures as facts, and how many more there are."""
    return [_fact(figure, found) for figure in found.all[:MOST]], max(len(found.all) - MOST, 0)


def _fact(figure: Figure, found: KeyFigures) -> Fact:
    plain = figure.name.replace("_", " ").capitalize()
    name = _NAMES.get(figure.name, plain)
    is_cost = figure is found.cost
    bus, moment = figure.bus and f"bus {figure.bus}", figure.at and figure.at.replace("T", " ")
    places = ", ".join(place for place in (figure.component, bus, moment) if place)
    value = words.quantity(figure.value, figure.unit, 9 if is_cost else 6)
    if figure.name in ("self_consumption", "self_sufficiency"):
        value = words.percent(figure.value) or "–"
    return Fact(name, value, words.sense(found.sense) if is_cost else places, is_lead=is_cost)
