"""The blueprint as a reader sees it: symbols, formulas, data with their sources, assumptions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.blueprint.document import (
    Blueprint,
    ConstraintDef,
    ObjectiveDef,
    ParameterDef,
    SetDef,
    VariableDef,
    thaw,
)
from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import EngiagentError
from engiagent.report import words
from engiagent.report.artefacts import Run

MOST = 300


@dataclass(frozen=True)
class Row:
    """A line of the model: its symbol or formula, what it means, and its domain or place."""

    name: str
    formula: str
    meaning: str
    detail: str = ""


@dataclass(frozen=True)
class Datum:
    """A parameter with its value and source."""

    name: str
    description: str
    value: str
    unit: str
    source: str


@dataclass(frozen=True)
class Model:
    """Everything of a blueprint that the page shows."""

    objective: str
    parts: tuple[tuple[str, tuple[Row, ...]], ...]  # tables by their titles
    data: tuple[Datum, ...]
    left_out: int


def build_model(run: Run) -> Model | None:
    """Return the model of a run, or None when it has no blueprint."""
    if run.blueprint is None:
        return None
    core = run.blueprint.core
    goal = core.objective_function
    sections = (core.decision_variables, core.expressions, core.constraints, core.parameters)
    expressions = (
        Row(
            item.name,
            _line(
                f"{_indexed(item.name, item.index)} == {item.expression}", item.index, item.where
            ),
            item.description or "",
            words.unit(item.unit),
        )
        for item in core.expressions[:MOST]
    )
    return Model(
        objective=f"{goal.sense} {_headline(goal)}" if goal else "",
        parts=(
            ("Constraints", tuple(map(_constraint, core.constraints[:MOST]))),
            ("Decision variables", tuple(map(_variable, core.decision_variables[:MOST]))),
            ("Named expressions", tuple(expressions)),
            ("Sets", tuple(map(_set, core.sets[:MOST]))),
        ),
        data=tuple(_datum(item, run.elaboration) for item in core.parameters[:MOST]),
        left_out=sum(max(len(section) - MOST, 0) for section in sections),
    )


def _line(expression: str, binders: tuple[str, ...], where: str | None) -> str:
    """Return an expression with its binders and its condition."""
    return ", ".join((expression, *binders)) + (f", where {where}" if where else "")


def _headline(goal: ObjectiveDef) -> str:
    """Return the expression of an objective; of several goals their weighted sum, or the first."""
    if goal.expression is not None:
        return goal.expression
    if goal.combination not in (None, "weighted"):
        return goal.terms[0].expression
    weights = (f"{term.weight}*" if term.weight is not None else "" for term in goal.terms)
    signs = ("-" if term.sense not in (None, goal.sense) else "" for term in goal.terms)
    parts = zip(signs, weights, goal.terms, strict=True)
    return " + ".join(f"{sign}{weight}({term.expression})" for sign, weight, term in parts)


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
        override = thaw(getattr(item, "unit_override", None))
        if override:
            given = override if isinstance(override, Mapping) else {"unit": override}
            unit, reason = words.unit(given.get("unit")), str(given.get("reason") or "")
            yield f"{item.name} is read in {unit}", reason
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


def _set(item: SetDef) -> Row:
    of = ", ".join(item.of) if isinstance(item.of, tuple) else item.of
    shown = ["–".join(map(str, e)) if isinstance(e, tuple) else str(e) for e in item.elements[:12]]
    labels = ", ".join(shown) + (" …" if len(item.elements) > 12 else "")
    zone, where = (
        (f", {item.zone}" if item.zone else ""),
        (f" where {item.where}" if item.where else ""),
    )
    detail = {
        "time": f"{item.periods} periods of {item.step} from {item.start}{zone}",
        "instants": f"the edges of {of}",
        "periods": f"{item.periods} periods",
        "range": f"{item.start} to {item.stop}",
        "subset": f"of {of}{where}",
        "union": f"of {of}",
    }.get(item.kind, f"from {item.data}" if item.data else labels)
    return Row(item.name, item.name, item.description or item.kind, detail)


def _variable(item: VariableDef) -> Row:
    lower = "" if item.lower is None else f"{item.lower} <= "
    upper = "" if item.upper is None else f" <= {item.upper}"
    formula = _line(f"{lower}{_indexed(item.name, item.index)}{upper}", item.index, item.where)
    meaning = item.description or item.quantity or ""
    if item.description and item.quantity:
        meaning = f"{item.description} ({item.quantity})"
    kind = "" if item.type == "continuous" else item.type
    return Row(item.name, formula, meaning, ", ".join(filter(None, (kind, words.unit(item.unit)))))


def _indexed(name: str, index: tuple[str, ...]) -> str:
    binders = [text.partition(" in ")[0] if " in " in text else "" for text in index]
    if not index or not all(binders):
        return name
    return f"{name}[{', '.join(binder.strip('() ') for binder in binders)}]"


def _constraint(item: ConstraintDef) -> Row:
    reference = thaw(item.source_reference)
    soft = "soft" if item.hard is False else ""
    meaning = " · ".join(filter(None, (item.name or item.description, item.category, soft)))
    detail = words.source(reference) if reference is not None else ""
    return Row(item.constraint_id, _line(item.expression, item.forall, item.where), meaning, detail)


def _datum(item: ParameterDef, elaboration: Elaboration | None) -> Datum:
    return Datum(
        name=item.name,
        description=item.description or words.spoken(item.name),
        value=shown_value(item, elaboration),
        unit=words.unit(item.unit) or ("by element" if isinstance(item.unit, Mapping) else ""),
        source=words.source(thaw(item.source_reference)),
    )


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
