"""The blueprint as a reader sees it: data with their sources, and assumptions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ParameterDef, thaw
from engiagent.errors import EngiagentError
from engiagent.report import words
from engiagent.report.artefacts import Run

MOST = 300


@dataclass(frozen=True)
class Datum:
    """A parameter with its value and source."""

    name: str
    description: str
    value: str
    unit: str
    source: str


def data(run: Run) -> list[Datum]:
    """Return the first parameters of a run's blueprint."""
    parameters = run.blueprint.core.parameters if run.blueprint is not None else ()
    return [
        Datum(
            name=item.name,
            description=item.description or words.spoken(item.name),
            value=shown_value(item, run.elaboration),
            unit=words.unit(item.unit) or ("by element" if isinstance(item.unit, Mapping) else ""),
            source=words.source(thaw(item.source_reference)),
        )
        for item in parameters[:MOST]
    ]


def assumptions(run: Run) -> list[tuple[str, str]]:
    """Return what the problem does not say and was assumed, with reasons; single numbers first."""
    return [] if run.blueprint is None else list(dict.fromkeys(_assumptions(run.blueprint)))


def _assumptions(blueprint: Blueprint) -> Iterator[tuple[str, str]]:
    core = blueprint.core
    declared: tuple[Any, ...] = (
        *core.parameters,
        *core.decision_variables,
        *core.constraints,
        *core.sets,
        *core.components,
    )
    for item in declared:
        for reason in _reasons(thaw(item.source_reference)):
            yield _stated(item), reason
        given = thaw(getattr(item, "unit_override", None))
        if given:
            given = given if isinstance(given, Mapping) else {"unit": given}
            reason = str(given.get("reason") or "")
            yield f"{item.name} is read in {words.unit(given.get('unit'))}", reason
    extended = blueprint.extended_analysis_and_robustness
    for entry in extended.key_assumptions if extended else ():
        if isinstance(entry, Mapping):
            yield str(entry.get("content", "")), str(entry.get("justification") or "")
        else:
            yield str(entry), ""


def _stated(item: Any) -> str:
    if isinstance(item, ParameterDef):
        about = f" ({item.description})" if item.description else ""
        return f"{item.name} = {_value(item)} {words.unit(item.unit)}".rstrip() + about
    return str(getattr(item, "name", None) or getattr(item, "constraint_id", ""))


def _reasons(reference: Any, depth: int = 0) -> Iterator[str]:
    """Yield the reasons of assumptions, also where a number is derived from an assumed one."""
    if isinstance(reference, list) and depth <= 5:
        for part in reference:
            yield from _reasons(part, depth + 1)
    if isinstance(reference, Mapping) and depth <= 5:
        if reference.get("kind") == "assumption":
            yield str(reference.get("reason") or "")
        parts = reference.get("of")
        yield from _reasons(parts if isinstance(parts, list) else [parts], depth + 1)


def shown_value(item: ParameterDef, elaboration: Elaboration | None) -> str:
    """Return what a parameter is worth, in its own unit: a number, a few, or their range.

    Of a formula or a file it is what that comes to.
    """
    is_written = item.value is not None and not isinstance(item.value, str)
    if elaboration is None or is_written or item.status == "missing":
        return _value(item)
    try:
        values = np.asarray(elaboration.table(item.name).values)
    except EngiagentError:
        return _value(item)
    known = np.issubdtype(values.dtype, np.number) and values.size
    return _range(values.reshape(-1).astype(float).tolist()) if known else _value(item)


def _value(item: ParameterDef) -> str:
    if item.status == "missing":
        return "missing"
    value = thaw(item.value)
    if value is None or isinstance(value, str):
        return value or item.data or "–"
    return _range(list(_numbers(value))) or "labels"


def _range(values: list[float]) -> str:
    """Return a few values as they are, many as their range; nothing for none."""
    known = [value for value in values if value == value]
    if len(known) <= 6:
        return ", ".join(words.number(value, 9 if len(known) == 1 else 6) for value in known)
    low, high = min(known), max(known)
    return f"{len(known)} values from {words.number(low)} to {words.number(high)}"


def _numbers(value: Any) -> Iterator[float]:
    for item in (
        value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    ):
        yield from _numbers(item)
    if isinstance(value, int | float):
        yield float(value)
