"""The key figures of a plan in words, for the top of a report."""

from typing import Final

from engiagent.report import words
from engiagent.report.sections import Cell, DataTable, Fact, table_with_csv
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
    """Return key figures of the whole plan as facts, and how many more there are."""
    whole = [figure for figure in found.all if figure.horizon is None]
    facts = [
        Fact(figure_name(f.name), _value(f, 9), words.sense(found.sense), is_lead=True)
        if f is found.cost
        else Fact(figure_name(f.name), _value(f), _places(f, (f.at or "").replace("T", " ")))
        for f in whole[:MOST]
    ]
    return facts, max(len(whole) - MOST, 0)


def of_horizons(found: KeyFigures) -> DataTable | None:
    """Return the key figures of each representative horizon beside those of the year."""
    weights = {f.horizon: f.weight for f in found.physical if f.horizon is not None}
    if not weights:
        return None
    columns = [[f for f in found.physical if f.horizon == name] for name in (None, *weights)]
    rows = [
        (
            Cell(figure_name(same[0].name), note=_places(same[0])),
            *(Cell(_value(figure), is_number=True) for figure in same),
        )
        for same in zip(*columns, strict=True)
    ]
    head = ("Key figure", "Year", *(f"{name}, × {weight:g}" for name, weight in weights.items()))
    return table_with_csv("Key figures of the year and of each horizon", head, rows, "horizons.csv")


def figure_name(name: str) -> str:
    """Return what a figure is called."""
    return _NAMES.get(name, name.replace("_", " ").capitalize())


def _places(figure: Figure, moment: str = "") -> str:
    return ", ".join(filter(None, (figure.component, figure.bus and f"bus {figure.bus}", moment)))


def _value(figure: Figure, digits: int = 6) -> str:
    if figure.name in ("self_consumption", "self_sufficiency"):
        return words.percent(figure.value) or "–"
    return words.quantity(figure.value, figure.unit, digits)
