"""The blueprint as a reader sees it: symbols, formulas, data with their sources, assumptions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from markupsafe import Markup

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
from engiagent.report import mathml, words
from engiagent.report.artefacts import Run

MOST = 300


@dataclass(frozen=True)
class Row:
    """A line of the model: its symbol or formula, what it means, and its domain or place."""

    name: str
    formula: Markup
    meaning: str
    detail: str = ""


@dataclass(frozen=True)
class Datum:
    """A parameter with its value and source."""

    symbol: Markup
    description: str
    value: str
    unit: str
    source: str


@dataclass(frozen=True)
class Model:
    """Everything of a blueprint that the page shows."""

    objective: Markup | None
    sets: tuple[Row, ...]
    variables: tuple[Row, ...]
    expressions: tuple[Row, ...]
    constraints: tuple[Row, ...]
    data: tuple[Datum, ...]
    left_out: int


def build_model(run: Run) -> Model | None:
    """Return the model of a run, or None when it has no blueprint."""
    if run.blueprint is None:
        return None
    core = run.blueprint.core
    goal = core.objective_function
    sections = (core.decision_variables, core.expressions, core.constraints, core.parameters)
    return Model(
        objective=mathml.objective(goal.sense, _headline(goal)) if goal else None,
        sets=tuple(_set(item) for item in core.sets[:MOST]),
        variables=tuple(_variable(item) for item in core.decision_variables[:MOST]),
        expressions=tuple(
            Row(
                item.name,
                mathml.constraint(
                    f"{_indexed(item.name, item.index)} == {item.expression}",
                    item.index,
                    item.where,
                ),
                item.description or "",
                words.unit(item.unit),
            )
            for item in core.expressions[:MOST]
        ),
        constraints=tuple(_constraint(item) for item in core.constraints[:MOST]),
        data=tuple(_datum(item, run.elaboration) for item in core.parameters[:MOST]),
        left_out=sum(max(len(section) - MOST, 0) for section in sections),
    )


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
    if run.blueprint is None:
        return []
    return list(dict.fromkeys(_assumptions(run.blueprint)))


def _assumptions(blueprint: Blueprint) -> Iterator[tuple[str, str]]:
    core = blueprint.core
    declared: tuple[tuple[Any, ...], ...] = (
        core.parameters,
        core.decision_variables,
        core.constraints,
        core.sets,
        core.components,
    )
    for item in chain.from_iterable(declared):
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
    if not isinstance(reference, Mapping) or depth > 5:
        return
    if reference.get("kind") == "assumption":
        yield str(reference.get("reason") or "")
    parts = reference.get("of")
    for part in parts if isinstance(parts, list) else [parts]:
        yield from _reasons(part, depth + 1)


def _set(item: SetDef) -> Row:
    detail = {
        "time": f"{item.periods} periods of {item.step} from {item.start}"
        + (f", {item.zone}" if item.zone else ""),
        "instants": f"the edges of {item.of}",
        "periods": f"{item.periods} periods",
        "range": f"{item.start} to {item.stop}",
        "subset": f"of {item.of}" + (f" where {item.where}" if item.where else ""),
        "union": f"of {', '.join(item.of) if isinstance(item.of, tuple) else item.of}",
    }.get(item.kind, _elements(item))
    return Row(item.name, mathml.symbol(item.name), item.description or item.kind, detail)


def _elements(item: SetDef) -> str:
    if item.data:
        return f"from {item.data}"
    shown = ["–".join(map(str, e)) if isinstance(e, tuple) else str(e) for e in item.elements[:12]]
    return ", ".join(shown) + (" …" if len(item.elements) > 12 else "")


def _variable(item: VariableDef) -> Row:
    text = _indexed(item.name, item.index)
    lower = "" if item.lower is None else f"{_bound(item.lower)} <= "
    upper = "" if item.upper is None else f" <= {_bound(item.upper)}"
    formula = mathml.constraint(f"{lower}{text}{upper}", item.index, item.where)
    meaning = item.description or item.quantity or ""
    if item.description and item.quantity:
        meaning = f"{item.description} ({item.quantity})"
    kind = "" if item.type == "continuous" else item.type
    return Row(
        item.name, formula, meaning, ", ".join(x for x in (kind, words.unit(item.unit)) if x)
    )


def _bound(value: int | float | str) -> str:
    return f"({value})" if isinstance(value, str) else repr(value)


def _indexed(name: str, index: tuple[str, ...]) -> str:
    binders = [text.partition(" in ")[0] if " in " in text else "" for text in index]
    if not index or not all(binders):
        return name
    return f"{name}[{', '.join(binder.strip('() ') for binder in binders)}]"


def _constraint(item: ConstraintDef) -> Row:
    formula = mathml.constraint(item.expression, item.forall, item.where)
    reference = thaw(item.source_reference)
    parts = [item.name or item.description or "", item.category or ""]
    if item.hard is False:
        parts.append("soft")
    detail = words.source(reference) if reference is not None else ""
    return Row(item.constraint_id, formula, " · ".join(p for p in parts if p), detail)


def _datum(item: ParameterDef, elaboration: Elaboration | None) -> Datum:
    unit = item.unit
    shown = words.unit(unit) if isinstance(unit, str) else ("by element" if unit else "")
    return Datum(
        symbol=mathml.symbol(item.name),
        description=item.description or words.spoken(item.name),
        value=shown_value(item, elaboration),
        unit=shown,
        source=words.source(thaw(item.source_reference)),
    )


def shown_value(item: ParameterDef, elaboration: Elaboration | None) -> str:
    """Return what a parameter is worth, in its own unit: a number, a few, or their range."""
    return _evaluated(item, elaboration) or _value(item)


def _evaluated(item: ParameterDef, elaboration: Elaboration | None) -> str:
    """Return what a formula or a file comes to; nothing where it is written out or has no value."""
    is_written = item.value is not None and not isinstance(item.value, str)
    if elaboration is None or is_written or item.status == "missing":
        return ""
    try:
        values = np.asarray(elaboration.table(item.name).values)
    except EngiagentError:
        return ""
    if not np.issubdtype(values.dtype, np.number):
        return ""
    return _range([float(value) for value in values.reshape(-1)])


def _value(item: ParameterDef) -> str:
    if item.status == "missing":
        return "missing"
    if item.value is None:
        return item.data or "–"
    value = thaw(item.value)
    if isinstance(value, int | float):
        return words.number(value, 9)
    if isinstance(value, str):
        return value
    return _range(list(_numbers(value))) or "labels"


def _range(values: list[float]) -> str:
    """Return a few values as they are, many as their range; nothing for none."""
    known = [value for value in values if value == value]
    if len(known) <= 6:
        return ", ".join(words.number(value, 9 if len(known) == 1 else 6) for value in known)
    low, high = min(known), max(known)
    return f"{len(known)} values from {words.number(low)} to {words.number(high)}"


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float):
        yield float(value)
