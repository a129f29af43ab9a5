"""Objective and constraints as formulas alone, for a page or a notebook that sets mathematics."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engiagent.blueprint.document import Blueprint, ObjectiveDef
from engiagent.formulations.expansion import expand
from engiagent.formulations.latex.expressions import Printer

_GROUPS = (
    "sets",
    "parameters",
    "decision_variables",
    "expressions",
    "definitions",
    "equations",
    "draws",
)


@dataclass(frozen=True)
class Formula:
    """A formula of a blueprint.

    Attributes
    ----------
    name
        Of what it states.
    lines
        In LaTeX's mathematics, the later ones being the continuation of the first.
    for_all
        The elements that it holds for, empty for a single statement.
    """

    name: str
    lines: tuple[str, ...]
    for_all: str = ""


def formulas(blueprint: Blueprint) -> tuple[Formula, ...]:
    """Return the formulas of a blueprint: definitions, objective, constraints.

    Raises
    ------
    EngiagentError
        When a component or an expression cannot be read.
    """
    core = expand(blueprint).core if blueprint.kind == "programme" else blueprint.core
    items = [item for group in _GROUPS for item in getattr(core, group, ())]
    printer = Printer({item.name: getattr(item, "symbol", None) for item in items})
    found: list[Formula] = []
    if core.objective_function is not None:
        found += _objective(core.objective_function, printer)
    for group in ("expressions", "definitions"):
        for item in getattr(core, group, ()):
            left = printer.name(item.name, _indices(item.index))
            body = printer.lines(item.expression)
            lines = (f"{left} = {body[0]}", *body[1:])
            where = getattr(item, "where", None)
            found.append(Formula(item.name, lines, _for_all(item.index, where, printer)))
    for item in core.constraints:
        lines = tuple(printer.lines(item.expression))
        for_all = _for_all(item.forall, item.where, printer)
        found.append(Formula(item.name or item.constraint_id, lines, for_all))
    return tuple(found)


def _objective(objective: ObjectiveDef, printer: Printer) -> Iterator[Formula]:
    stated = [(objective.name or "objective", objective.sense, objective.expression)]
    stated += [(t.name, t.sense or objective.sense, t.expression) for t in objective.terms]
    for name, sense, expression in stated:
        if expression is not None:
            word = r"\max" if sense == "maximize" else r"\min"
            body = printer.lines(expression)
            yield Formula(name, (rf"{word} \quad {body[0]}", *body[1:]))


def _indices(index: Sequence[str]) -> list[str]:
    return [item.partition(" in ")[0].strip("() ") if " in " in item else item for item in index]


def _for_all(index: Sequence[str], where: str | None, printer: Printer) -> str:
    text = ",\\; ".join(printer.binder(item) for item in index)
    return f"{text} : {printer.text(where)}" if where else text
