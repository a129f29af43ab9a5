"""What a blueprint states as formulas: named expressions, definitions, objective, constraints."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from engiagent.blueprint.diagnostics import located
from engiagent.blueprint.document import Blueprint, ConstraintDef, ObjectiveDef
from engiagent.blueprint.elaborate import PATH
from engiagent.formulations.expansion import expand
from engiagent.formulations.latex.expressions import Printer, escaped, number, units_text

_GROUPS: Final = ("sets", "parameters", "decision_variables", "expressions", "definitions")
_RISKS: Final = {
    "expected": r"\mathbb{E}",
    "worst": r"\operatorname{worst}",
    "cvar": r"\operatorname{CVaR}",
}


@dataclass(frozen=True)
class Formula:
    """A formula of a blueprint."""

    name: str  # of what it states
    # in LaTeX's mathematics, the later ones being the continuation of the first; none where a
    # heading stands alone
    lines: tuple[str, ...]
    for_all: str = ""  # the elements that it holds for, empty for a single statement
    # section, tag: the part of a document in which it stands, and by what it is referred to there
    section: str = ""
    tag: str = ""
    # heading, notes, description: what is said of it, as LaTeX's text
    heading: str = ""
    notes: str = ""
    description: str = ""


def printer_of(core: Any) -> Printer:
    """Return a printer that knows the symbols of everything that a blueprint declares."""
    items = [item for group in _GROUPS for item in getattr(core, group, ())]
    return Printer({item.name: getattr(item, "symbol", None) for item in items})


def formulas(blueprint: Blueprint) -> tuple[Formula, ...]:
    """Return the formulas of a blueprint: objective, definitions, constraints."""
    core = expand(blueprint).core if blueprint.kind == "programme" else blueprint.core
    order = ("Objective", "Named expressions", "Definitions", "Constraints")
    found = [f for f in statements(core, printer_of(core)) if f.lines and f.section in order]
    return tuple(sorted(found, key=lambda formula: order.index(formula.section)))


def statements(core: Any, printer: Printer) -> Iterator[Formula]:
    """Yield every formula in the order of a document."""
    for group, section in (("expressions", "Named expressions"), ("definitions", "Definitions")):
        for position, d in enumerate(getattr(core, group, ())):
            with located(f"{PATH}.{group}[{position}].expression", d.name):
                first, *rest = printer.lines(d.expression)
                lines = f"{printer.declared(d.name, d.index)} = {first}", *rest
                for_all = printer.for_all(d.index, getattr(d, "where", None))
            found = Formula(d.name, lines, for_all, section, d.name, notes=units_text(d.unit))
            yield replace(found, description=d.description or "")
    if core.objective_function is not None:
        yield from _objective(core.objective_function, printer)
    for position, d in enumerate(core.constraints):
        label = d.name or d.constraint_id
        with located(f"{PATH}.constraints[{position}].expression", label):
            lines = tuple(printer.lines(d.expression))
        with located(f"{PATH}.constraints[{position}].forall", label):
            for_all = printer.for_all(d.forall, d.where)
        found = Formula(label, lines, for_all, "Constraints", d.constraint_id, escaped(label))
        yield replace(found, notes=_remarks(d), description=d.description or "")


def _objective(objective: ObjectiveDef, printer: Printer) -> Iterator[Formula]:
    """Yield the objective, which may be a heading alone, and each of several goals."""
    risk, lines = _risk_measure(objective), tuple[str, ...]()
    if objective.expression is not None:
        with located(f"{PATH}.objective_function.expression", objective.name):
            lines = _optimised(printer, objective.sense, objective.expression, risk)
    texts = [escaped(text) for text in (objective.name, objective.description) if text]
    name, notes = objective.name or "objective", units_text(objective.unit)
    yield Formula(name, lines, "", "Objective", "objective", ". ".join(texts), notes)
    if objective.terms:
        text = f"Several goals, combination: {objective.combination or 'weighted'}."
        yield Formula(name, (), section="Objective", description=text)
    for position, goal in enumerate(objective.terms):
        with located(f"{PATH}.objective_function.terms[{position}].expression", goal.name):
            sense = goal.sense or objective.sense
            lines = _optimised(printer, sense, goal.expression, risk)
        words = [(word, getattr(goal, word)) for word in ("weight", "tolerance", "limit")]
        numbers = [f"{word} {escaped(str(value))}" for word, value in words if value is not None]
        heading, notes = "; ".join([escaped(goal.name), *numbers]), units_text(goal.unit)
        found = Formula(goal.name, lines, "", "Objective", goal.name, heading, notes)
        yield replace(found, description=goal.description or "")


def _optimised(printer: Printer, sense: str, expression: str, risk: str = "") -> tuple[str, ...]:
    word = r"\max" if sense == "maximize" else r"\min"
    first, *rest = printer.lines(expression)
    return rf"{word} \quad {risk}{first}", *rest


def _risk_measure(objective: ObjectiveDef) -> str:
    """Return how the scenarios of an objective count together."""
    risk = getattr(objective, "risk", None)
    if risk is None:
        return ""
    alpha = f"_{{{number(risk.alpha)}}}" if risk.alpha is not None else ""
    return rf"{_RISKS.get(risk.measure, risk.measure)}{alpha}\; "


def _remarks(d: ConstraintDef) -> str:
    """Return the category of a constraint and whether it may be broken."""
    notes = [escaped(d.category)] if d.category else []
    penalty = getattr(d, "penalty", None)
    if d.hard is False:
        notes.append("soft")
    if penalty is not None:
        notes.append(f"penalty {escaped(str(penalty.weight))}, {penalty.form or 'linear'}")
    return "; ".join(notes)
